//! Depthwise convolutions of images whose channels lie side by side, and their gradients, as they lie
//! (benchmarks/cases.py: last_depthwise).

use std::ops::Range;

use super::conv::Problem;
use super::convolve::TASK;
use super::iterate::spread_over;
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{self, Work};

/// Parts of the gradient's rows that are summed apart; fixed, so that results do not depend on the threads.
const PARTS: usize = 16;

/// Columns of a window whose sums of products stay in registers.
const TOGETHER: usize = 8;

/// Whether each channel has one filter of its own, in two dimensions.
pub fn suits(p: &Problem) -> bool {
    let flat = (p.input[0], p.kernel[0], p.output[0], p.padding[0]) == (1, 1, 1, 0);
    p.channels == 1 && p.filters == 1 && p.groups > 1 && flat && widest::has_parts()
}

/// What meets at each place of a result along one dimension: places of what is read, and elements of the window.
struct Axis {
    pairs: Vec<[usize; 2]>,
    ends: Vec<usize>,
}

impl Axis {
    fn new(places: usize, pairs: impl Fn(usize, &mut Vec<[usize; 2]>)) -> Self {
        let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(places));
        for place in 0..places {
            pairs(place, &mut all);
            ends.push(all.len());
        }
        Self { pairs: all, ends }
    }

    /// For the results of a convolution.
    fn forward(p: &Problem, dim: usize) -> Self {
        Self::new(p.output[dim], |place, pairs| {
            for tap in 0..p.kernel[dim] {
                let at = (place * p.stride[dim] + tap * p.dilation[dim]).checked_sub(p.padding[dim]);
                pairs.extend(at.filter(|&at| at < p.input[dim]).map(|at| [at, tap]));
            }
        })
    }

    /// For the gradient of its input.
    fn backward(p: &Problem, dim: usize) -> Self {
        Self::new(p.input[dim], |place, pairs| {
            for tap in (0..p.kernel[dim]).rev() {
                let Some(reach) = (place + p.padding[dim]).checked_sub(tap * p.dilation[dim]) else { continue };
                let at = reach / p.stride[dim];
                if reach.is_multiple_of(p.stride[dim]) && at < p.output[dim] {
                    pairs.push([at, tap]);
                }
            }
        })
    }

    fn of(&self, place: usize) -> &[[usize; 2]] {
        &self.pairs[place.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[place]]
    }

    /// Whether `count` places from this one on meet the same elements of the window, each so many places after the last.
    fn is_even(&self, place: usize, count: usize, step: usize) -> bool {
        let first = self.of(place);
        place + count <= self.ends.len()
            && (1..count).all(|more| {
                let next = self.of(place + more);
                next.len() == first.len()
                    && first.iter().zip(next).all(|(a, b)| a[0] + more * step == b[0] && a[1] == b[1])
            })
    }
}

/// Rows of results that are sums over windows.
struct Sums {
    channels: usize,
    /// Columns of what is read, of the window, and of the results.
    widths: [usize; 3],
    /// Rows of what is read.
    height: usize,
    rows: Axis,
    columns: Axis,
    step: usize,
    /// Columns from which on four at a time are computed.
    even: Vec<bool>,
}

impl Sums {
    fn new([rows, columns]: [Axis; 2], channels: usize, height: usize, widths: [usize; 3], step: usize) -> Self {
        let even = (0..widths[2]).map(|column| columns.is_even(column, 4, step)).collect();
        Self { channels, widths, height, rows, columns, step, even }
    }

    /// `to` from the images `from`, by the elements of all windows, those of one place side by side.
    fn run(&self, from: &[f32], taps: &[f32], bias: Option<&[f32]>, to: &mut [f32]) {
        let (lines, line) = (self.rows.ends.len(), self.widths[2] * self.channels);
        let image = self.height * self.widths[0] * self.channels;
        let (count, to) = (to.len() / line, Shared::of(to));
        let work = line * self.rows.pairs.len() / lines.max(1) * self.columns.pairs.len() / self.widths[2].max(1);
        spread_over(count, (TASK / work.max(1)).max(1), &|index| {
            let from = &from[index / lines * image..][..image];
            widest::run(Line { sums: self, from, taps, bias, row: index % lines, to: to.at_offset(index * line) });
        });
    }
}

/// One row of results.
struct Line<'a> {
    sums: &'a Sums,
    from: &'a [f32],
    taps: &'a [f32],
    bias: Option<&'a [f32]>,
    row: usize,
    /// Apart from all other rows of results.
    to: Shared,
}

impl Work for Line<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let width = self.sums.widths[2];
        let mut column = 0;
        while column < width {
            // SAFETY: the caller's.
            unsafe {
                if self.sums.even[column] {
                    self.places::<S, 4, 2>(column);
                    column += 4;
                } else {
                    self.places::<S, 1, 4>(column);
                    column += 1;
                }
            }
        }
    }
}

/// The vector number `n` of `N`, or a part of the only one.
///
/// # Safety
/// It is there, and the processor has the instructions of `S`.
#[inline(always)]
unsafe fn read<S: Simd, const N: usize>(from: *const f32, n: usize, part: S::Part) -> S::V {
    // SAFETY: the caller's.
    unsafe {
        match N {
            1 => S::load_part(from, part),
            _ => S::load(from.add(n * S::LANES)),
        }
    }
}

impl Line<'_> {
    /// All channels of `P` neighbours, `N` vectors at a time.
    ///
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn places<S: Simd, const P: usize, const N: usize>(&self, column: usize) {
        let (channels, mut first) = (self.sums.channels, 0);
        // SAFETY: the caller's; the channels are all inside.
        unsafe {
            while first + N * S::LANES <= channels {
                self.some::<S, P, N>(column, first, S::part(S::LANES));
                first += N * S::LANES;
            }
            while first < channels {
                self.some::<S, P, 1>(column, first, S::part(S::LANES.min(channels - first)));
                first += S::LANES;
            }
        }
    }

    /// `N` vectors of channels of `P` neighbours; of the last vector a part.
    ///
    /// # Safety
    /// As `places`; the channels of the vectors and of the part are there.
    #[inline(always)]
    unsafe fn some<S: Simd, const P: usize, const N: usize>(&self, column: usize, first: usize, part: S::Part) {
        let Sums { channels, widths: [source, window, _], step, .. } = *self.sums;
        // SAFETY: the pairs lie inside of the images and the window, and the caller's.
        unsafe {
            let mut start = [S::splat(0.0); N];
            if let Some(bias) = self.bias {
                for (n, start) in start.iter_mut().enumerate() {
                    *start = read::<S, N>(bias.as_ptr().add(first), n, part);
                }
            }
            let mut sums = [start; P];
            for &[row, i] in self.sums.rows.of(self.row) {
                for &[at, j] in self.sums.columns.of(column) {
                    let from = self.from.as_ptr().add((row * source + at) * channels + first);
                    let taps = self.taps.as_ptr().add((i * window + j) * channels + first);
                    for n in 0..N {
                        let tap = read::<S, N>(taps, n, part);
                        for (p, sums) in sums.iter_mut().enumerate() {
                            let x = read::<S, N>(from.add(p * step * channels), n, part);
                            sums[n] = S::fma(x, tap, sums[n]);
                        }
                    }
                }
            }
            for (p, sums) in sums.into_iter().enumerate() {
                let to = self.to.at((column + p) * channels + first);
                for (n, sum) in sums.into_iter().enumerate() {
                    match N {
                        1 => S::store_part(to, part, sum),
                        _ => S::store(to.add(n * S::LANES), sum),
                    }
                }
            }
        }
    }
}

/// The elements of all windows, those of one place side by side.
fn taps(p: &Problem, weight: &[f32]) -> Vec<f32> {
    let each = p.kernel.iter().product::<usize>();
    (0..each).flat_map(|tap| weight[tap..].iter().step_by(each).copied()).collect()
}

/// `out` (N, height, width, channels) from `x`, which lies so as well, `weight` and a summand for each channel.
pub fn forward(p: &Problem, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    let axes = [1, 2].map(|dim| Axis::forward(p, dim));
    let widths = [p.input[2], p.kernel[2], p.output[2]];
    Sums::new(axes, p.groups, p.input[1], widths, p.stride[2]).run(x, &taps(p, weight), bias, out);
}

/// The gradient of `x` from that of the output.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) {
    let axes = [1, 2].map(|dim| Axis::backward(p, dim));
    let widths = [p.output[2], p.kernel[2], p.input[2]];
    Sums::new(axes, p.groups, p.output[1], widths, 1).run(grad, &taps(p, weight), None, x);
}

/// The gradient of the weight from `x` and that of the output.
pub fn weight_gradient(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) {
    let [images, results] = [p.input, p.output].map(|[_, height, width]| height * width * p.groups);
    let lines = grad.len() / results.max(1) * p.output[1];
    let (parts, size) = (PARTS.min(lines).max(1), weight.len());
    let mut memory = vec![0.0; parts * size];
    let sums = Shared::of(&mut memory);
    let rows = Axis::forward(p, 1);
    let least = if grad.len() < TASK / 8 { parts } else { 1 };
    spread_over(parts, least, &|part| {
        // SAFETY: each part has sums of its own.
        let to = unsafe { sums.slice(part * size, size) };
        for line in part * lines / parts..(part + 1) * lines / parts {
            let (sample, row) = (line / p.output[1], line % p.output[1]);
            let x = &x[sample * images..][..images];
            let grad = &grad[sample * results + row * p.output[2] * p.groups..][..p.output[2] * p.groups];
            for &[at, i] in rows.of(row) {
                let x = &x[at * p.input[2] * p.groups..][..p.input[2] * p.groups];
                widest::run(Products { p, x, grad, to: &mut to[i * p.kernel[2] * p.groups..] });
            }
        }
    });
    let each = size / p.groups.max(1);
    for (index, slot) in weight.iter_mut().enumerate() {
        let at = index % each * p.groups + index / each;
        *slot = memory.iter().skip(at).step_by(size).sum();
    }
}

/// Adds what one row of gradients and one of an image give to the elements of one row of the window.
struct Products<'a> {
    p: &'a Problem,
    x: &'a [f32],
    grad: &'a [f32],
    to: &'a mut [f32],
}

impl Work for Products<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let window = self.p.kernel[2];
        for tap in (0..window).step_by(TOGETHER) {
            // SAFETY: the caller's.
            unsafe {
                match window - tap {
                    1 => self.taps::<S, 1>(tap),
                    2 => self.taps::<S, 2>(tap),
                    3 => self.taps::<S, 3>(tap),
                    4 => self.taps::<S, 4>(tap),
                    5 => self.taps::<S, 5>(tap),
                    6 => self.taps::<S, 6>(tap),
                    7 => self.taps::<S, 7>(tap),
                    _ => self.taps::<S, TOGETHER>(tap),
                }
            }
        }
    }
}

impl Products<'_> {
    /// The places for which the element `tap` of the window lies inside of the image.
    fn inside(&self, tap: usize) -> Range<usize> {
        let p = self.p;
        let (reach, step) = (tap * p.dilation[2], p.stride[2]);
        let first = p.padding[2].saturating_sub(reach).div_ceil(step);
        let end = (p.input[2] + p.padding[2]).checked_sub(reach).map_or(0, |room| room.div_ceil(step));
        first..end.min(p.output[2])
    }

    /// The column of the image that an element of the window meets at a place inside of its range.
    #[inline(always)]
    fn column(&self, place: usize, tap: usize) -> usize {
        place * self.p.stride[2] + tap * self.p.dilation[2] - self.p.padding[2]
    }

    /// `T` elements from `tap` on.
    ///
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn taps<S: Simd, const T: usize>(&mut self, tap: usize) {
        let (p, channels) = (self.p, self.p.groups);
        let ranges: [Range<usize>; T] = std::array::from_fn(|t| self.inside(tap + t));
        let common = ranges.iter().fold(0..p.output[2], |all, one| all.start.max(one.start)..all.end.min(one.end));
        for first in (0..channels).step_by(S::LANES) {
            // SAFETY: the caller's; places in the ranges lie inside of the image, and channels of the part are there.
            unsafe {
                let part = S::part(S::LANES.min(channels - first));
                let to = self.to.as_mut_ptr().add(tap * channels + first);
                let mut sums = [S::splat(0.0); T];
                for (t, sum) in sums.iter_mut().enumerate() {
                    *sum = S::load_part(to.add(t * channels), part);
                }
                for place in common.clone() {
                    let grad = S::load_part(self.grad.as_ptr().add(place * channels + first), part);
                    for (t, sum) in sums.iter_mut().enumerate() {
                        let x = self.x.as_ptr().add(self.column(place, tap + t) * channels + first);
                        *sum = S::fma(S::load_part(x, part), grad, *sum);
                    }
                }
                for (t, sum) in sums.iter_mut().enumerate() {
                    for place in ranges[t].start..ranges[t].end {
                        if !common.contains(&place) {
                            let grad = S::load_part(self.grad.as_ptr().add(place * channels + first), part);
                            let x = self.x.as_ptr().add(self.column(place, tap + t) * channels + first);
                            *sum = S::fma(S::load_part(x, part), grad, *sum);
                        }
                    }
                }
                for (t, sum) in sums.into_iter().enumerate() {
                    S::store_part(to.add(t * channels), part, sum);
                }
            }
        }
    }
}
