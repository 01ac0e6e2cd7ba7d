//! Strided convolutions of images whose channels lie side by side, and their gradients, as products of matrices: windows
//! are unfolded, a part that stays in the caches at a time (benchmarks/cases.py: last_strided, last_patches).

use std::ops::Range;

use super::conv::Problem;
use super::iterate::spread_over;
use super::micro::{Finish, Start};
use super::product::{Matrix, Out, Product, multiply_each};
use super::scratch::{Shared, with_scratch};
use super::simd::Simd;
use super::widest::{self, Work};

/// Floats that are unfolded at a time, and windows at least: the weight is packed anew for each part.
const ROUND: usize = 1 << 18;
const LEAST: usize = 256;
/// Floats that one task unfolds.
const TASK: usize = 1 << 13;

/// Whether this is a convolution in two dimensions whose windows begin some elements apart.
pub fn suits(p: &Problem) -> bool {
    let flat = (p.input[0], p.kernel[0], p.output[0], p.padding[0]) == (1, 1, 1, 0);
    p.groups == 1 && flat && p.stride[1].max(p.stride[2]) > 1 && p.kernel != [1; 3] && widest::has_parts()
}

/// Whether every element of the images is in one window at most.
pub fn are_apart(p: &Problem) -> bool {
    (1..3).all(|dim| p.padding[dim] == 0 && p.dilation[dim] == 1 && p.stride[dim] >= p.kernel[dim])
}

/// Elements of one window.
fn depth(p: &Problem) -> usize {
    p.kernel[1] * p.kernel[2] * p.channels
}

/// Calls with the windows of each part in turn, and memory for these.
fn parts(p: &Problem, samples: usize, mut call: impl FnMut(Range<usize>, Shared)) {
    let all = samples * p.output[1] * p.output[2];
    let each = (ROUND / depth(p)).max(LEAST).next_multiple_of(16).min(all.max(1));
    with_scratch(each * depth(p), |memory| {
        let memory = Shared::of(memory);
        (0..all).step_by(each).for_each(|first| call(first..all.min(first + each), memory));
    });
}

/// Calls with ranges of these windows, on several threads.
fn spread(p: &Problem, windows: &Range<usize>, call: &(dyn Fn(Range<usize>) + Sync)) {
    let each = (TASK / depth(p)).max(1);
    spread_over(windows.len().div_ceil(each), 1, &|task| {
        let first = windows.start + task * each;
        call(first..windows.end.min(first + each));
    });
}

/// Copies between windows and what of them lies inside of the images.
struct Copies<'a, const FOLD: bool> {
    p: &'a Problem,
    windows: Range<usize>,
    images: *mut f32,
    unfolded: *mut f32,
}

impl<const FOLD: bool> Work for Copies<'_, FOLD> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (p, line) = (self.p, self.p.kernel[2] * self.p.channels);
        let [_, height, width] = p.input;
        // SAFETY: what is inside of the images is inside of their memory, and the windows have room for all.
        unsafe {
            let mut to = self.unfolded;
            for window in self.windows {
                let (row, w) = (window / p.output[2], window % p.output[2]);
                let image = self.images.add(row / p.output[1] * height * width * p.channels);
                let (top, left) = (row % p.output[1] * p.stride[1], w * p.stride[2]);
                for i in 0..p.kernel[1] {
                    let h = (top + i * p.dilation[1]).wrapping_sub(p.padding[1]);
                    let row = image.wrapping_add(h.wrapping_mul(width * p.channels));
                    let first = left.wrapping_sub(p.padding[2]);
                    let whole = h < height && p.dilation[2] == 1 && first < width && first + p.kernel[2] <= width;
                    if whole {
                        copy::<S, FOLD>(row.add(first * p.channels), to, line);
                    } else {
                        for j in 0..p.kernel[2] {
                            let w = (left + j * p.dilation[2]).wrapping_sub(p.padding[2]);
                            let to = to.add(j * p.channels);
                            if h < height && w < width {
                                copy::<S, FOLD>(row.add(w * p.channels), to, p.channels);
                            } else if !FOLD {
                                std::slice::from_raw_parts_mut(to, p.channels).fill(0.0);
                            }
                        }
                    }
                    to = to.add(line);
                }
            }
        }
    }
}

/// Copies `count` floats to the window, or back from it.
///
/// # Safety
/// They lie at both places, and the processor has the instructions of `S`.
#[inline(always)]
unsafe fn copy<S: Simd, const FOLD: bool>(image: *mut f32, window: *mut f32, count: usize) {
    let (from, to) = if FOLD { (window, image) } else { (image, window) };
    let whole = count / S::LANES * S::LANES;
    // SAFETY: the caller's.
    unsafe {
        for at in (0..whole).step_by(S::LANES) {
            S::store(to.add(at), S::load(from.add(at)));
        }
        if whole < count {
            let part = S::part(count - whole);
            S::store_part(to.add(whole), part, S::load_part(from.add(whole), part));
        }
    }
}

fn unfold(p: &Problem, images: Shared, windows: &Range<usize>, memory: Shared) {
    spread(p, windows, &|some| {
        let unfolded = memory.at((some.start - windows.start) * depth(p));
        widest::run(Copies::<false> { p, windows: some, images: images.at(0), unfolded });
    });
}

/// `out` (N, height, width, filters) from `x`, which lies so as well, `weight` (filters, height, width, channels) and a
/// summand for each filter.
pub fn forward(p: &Problem, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    let (images, weight, out) = (Shared::of_read(x), Shared::of_read(weight), Shared::of(out));
    let bias = bias.map(Shared::of_read);
    parts(p, x.len() / (p.input[1] * p.input[2] * p.channels), |windows, memory| {
        unfold(p, images, &windows, memory);
        let product = |_| Product {
            rows: windows.len(),
            columns: p.filters,
            depth: depth(p),
            a: Matrix::new(memory.at(0), depth(p), 1),
            b: Matrix::new(weight.at(0), depth(p), 1),
            out: Out { to: out.at(windows.start * p.filters), row: p.filters, column: 1 },
            finish: Finish { start: bias.map(|bias| Start { from: bias.at(0), row: 0, column: 1 }), ..Finish::PLAIN },
        };
        // SAFETY: the slices have the problem's sizes, and the parts' results are apart.
        unsafe { multiply_each(1, product) };
    });
}

/// The gradient of the weight (filters, height, width, channels) from `x` and that of the output.
pub fn weight_gradient(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) {
    let (images, grad, weight) = (Shared::of_read(x), Shared::of_read(grad), Shared::of(weight));
    parts(p, x.len() / (p.input[1] * p.input[2] * p.channels), |windows, memory| {
        unfold(p, images, &windows, memory);
        let product = |_| Product {
            rows: p.filters,
            columns: depth(p),
            depth: windows.len(),
            a: Matrix::new(grad.at(windows.start * p.filters), 1, p.filters),
            b: Matrix::new(memory.at(0), 1, depth(p)),
            out: Out { to: weight.at(0), row: depth(p), column: 1 },
            finish: Finish { add: windows.start > 0, ..Finish::PLAIN },
        };
        // SAFETY: as in `forward`; the parts come one after the other.
        unsafe { multiply_each(1, product) };
    });
}

/// The gradient of `x`, of which no element is in two windows, from that of the output.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) {
    if (1..3).any(|dim| p.output[dim] * p.kernel[dim] != p.input[dim]) {
        x.fill(0.0);
    }
    let samples = x.len() / (p.input[1] * p.input[2] * p.channels);
    let (images, grad, weight) = (Shared::of(x), Shared::of_read(grad), Shared::of_read(weight));
    parts(p, samples, |windows, memory| {
        let product = |_| Product {
            rows: windows.len(),
            columns: depth(p),
            depth: p.filters,
            a: Matrix::new(grad.at(windows.start * p.filters), p.filters, 1),
            b: Matrix::new(weight.at(0), 1, depth(p)),
            out: Out { to: memory.at(0), row: depth(p), column: 1 },
            finish: Finish::PLAIN,
        };
        // SAFETY: as in `forward`; memory has room for these windows.
        unsafe { multiply_each(1, product) };
        spread(p, &windows, &|some| {
            let unfolded = memory.at((some.start - windows.start) * depth(p));
            widest::run(Copies::<true> { p, windows: some, images: images.at(0), unfolded });
        });
    });
}
