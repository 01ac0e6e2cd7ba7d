//! Images and volumes read at any places, and both gradients (benchmarks/bars.py: grid_sample).

use rustfft::num_traits::{AsPrimitive, Float};

use super::iterate::spread_over;
use super::scratch::Shared;
use super::vector::{self, Task};
#[cfg(target_arch = "x86_64")]
use super::{narrow_grid, wide_grid};

/// An element that is read.
pub trait Real: Float + AsPrimitive<u32> + Send + Sync + 'static {}

impl<T: Float + AsPrimitive<u32> + Send + Sync + 'static> Real for T {}

/// Places that are worked on together.
const BLOCK: usize = 32;
/// Places that torch works on together.
const VECTOR: usize = 8;
/// Places of an image that one task reads at.
const TASK: usize = 1024;
/// Channels whose gradients one task adds up.
const CHANNELS: usize = 4;

#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    Linear,
    Nearest,
    Cubic,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// How to read: the sizes of depth, height and width, depth being 1 in images, and what the places mean.
#[derive(Clone, Copy)]
pub struct Reading {
    pub mode: Mode,
    pub outside: Outside,
    /// Whether -1 and 1 are the centres of the corner pixels.
    pub corners: bool,
    pub sizes: [usize; 3],
    pub volume: bool,
    pub batch: usize,
    pub channels: usize,
    /// Places in each image.
    pub places: usize,
}

/// A number kept between `least` and `most`; NaN becomes `least`.
#[inline(always)]
fn clipped<T: Float>(x: T, least: T, most: T) -> T {
    let x = if x > least { x } else { least };
    if x < most { x } else { most }
}

/// A small number or a size in the type of the elements.
#[inline(always)]
fn number<T: Float>(x: f64) -> T {
    T::from(x).unwrap_or_else(T::nan)
}

type Lane<T> = [T; BLOCK];

impl Reading {
    fn dims(&self) -> usize {
        if self.volume { 3 } else { 2 }
    }

    /// Elements of one channel.
    pub fn plane(&self) -> usize {
        self.sizes.iter().product()
    }

    /// From -1..1 to numbers of pixels, rounded in torch's order; and how fast these grow.
    #[inline(always)]
    fn pixels<T: Float>(&self, xs: &Lane<T>, size: usize) -> (Lane<T>, T) {
        let (one, half, count) = (T::one(), number::<T>(0.5), number::<T>(size as f64));
        let scale = if self.corners { count - one } else { count } * half;
        let mut places = *xs;
        for place in &mut places {
            let x = *place + one;
            *place = match (self.corners, self.volume) {
                (true, false) => x * scale,
                (true, true) => x * half * (count - one),
                (false, false) => x.mul_add(scale, -half),
                (false, true) => (x * count - one) * half,
            };
        }
        (places, scale)
    }

    /// Places moved into the image as `outside` says, and the factors of their gradients.
    #[inline(always)]
    fn inside<T: Float>(&self, places: &mut Lane<T>, turns: &mut Lane<T>, size: usize) {
        let (zero, one, count) = (T::zero(), T::one(), number::<T>(size as f64));
        *turns = [one; BLOCK];
        if self.outside == Outside::Zeros {
            return;
        }
        let span = if self.corners { count - one } else { count };
        if self.outside == Outside::Reflection && span > zero {
            let low = if self.corners { zero } else { number(-0.5) };
            let twice = span + span;
            for (place, turn) in places.iter_mut().zip(turns.iter_mut()) {
                let offset = *place - low;
                let far = offset.abs();
                let rest = far - (far / twice).trunc() * twice;
                let back = rest > span;
                *place = if back { twice - rest } else { rest } + low;
                *turn = if back != (offset < zero) { -one } else { one };
            }
        }
        for (place, turn) in places.iter_mut().zip(turns) {
            let free = *place > zero && *place < count - one;
            *turn = if free { *turn } else { zero };
            *place = clipped(*place, zero, count - one);
        }
    }
}

/// The pixels of one dimension that take part in a block of places: where, whether in the image, weights, slopes.
struct Axis<T, const K: usize> {
    at: [Lane<usize>; K],
    valid: [Lane<bool>; K],
    weight: [Lane<T>; K],
    slope: [Lane<T>; K],
    /// How fast the places grow with the coordinates, for which slopes are still to be multiplied by it.
    scale: Lane<T>,
}

impl<T: Real, const K: usize> Axis<T, K> {
    /// The only pixel of a dimension that is not there.
    fn whole() -> Self {
        Self {
            at: [[0; BLOCK]; K],
            valid: [[true; BLOCK]; K],
            weight: [[T::one(); BLOCK]; K],
            slope: [[T::zero(); BLOCK]; K],
            scale: [T::zero(); BLOCK],
        }
    }

    /// For the coordinates `xs`: the nearest pixel, two neighbours or four; slopes are those by the places.
    #[inline(always)]
    fn of(reading: &Reading, xs: &Lane<T>, size: usize) -> Self {
        let (mut places, scale) = reading.pixels(xs, size);
        let (one, mut turns) = (T::one(), [T::one(); BLOCK]);
        let mut axis = Self::whole();
        if K < 4 {
            reading.inside(&mut places, &mut turns, size);
        }
        if K == 1 {
            axis.slope = [[T::zero(); BLOCK]; K];
            for place in &mut places {
                *place = even(*place);
            }
            axis.place(0, &places, size);
            return axis;
        }
        let mut low = places;
        for place in &mut low {
            *place = place.floor();
        }
        for b in 0..BLOCK {
            let part = places[b] - low[b];
            if K == 2 {
                axis.scale[b] = scale * turns[b];
                (axis.weight[0][b], axis.slope[0][b]) = (one - part, -one);
                (axis.weight[1][b], axis.slope[1][b]) = (part, one);
            } else {
                axis.scale[b] = scale;
                for (k, (weight, slope)) in cubic(part).into_iter().enumerate() {
                    (axis.weight[k][b], axis.slope[k][b]) = (weight, slope);
                }
            }
        }
        for k in 0..K {
            let shift = number::<T>(k as f64 - if K == 4 { 1.0 } else { 0.0 });
            let mut at = low;
            for place in &mut at {
                *place = *place + shift;
            }
            if K == 4 {
                reading.inside(&mut at, &mut turns, size);
            }
            axis.place(k, &at, size);
        }
        axis
    }

    #[inline(always)]
    fn place(&mut self, k: usize, at: &Lane<T>, size: usize) {
        let most = number::<T>((size - 1) as f64);
        for b in 0..BLOCK {
            self.valid[k][b] = at[b] >= T::zero() && at[b] <= most;
            self.at[k][b] = AsPrimitive::<u32>::as_(clipped(at[b], T::zero(), most)) as usize;
        }
    }
}

/// Keys' cubic with a = -0.75: the weights of four neighbours at `t` after the second, and their slopes.
#[inline(always)]
fn cubic<T: Float>(t: T) -> [(T, T); 4] {
    let (a, one, two, three) = (number::<T>(-0.75), T::one(), number::<T>(2.0), number::<T>(3.0));
    let near = |x: T| ((a + two) * x - (a + three)) * x * x + one;
    let far = |x: T| (((x - number(5.0)) * x + number(8.0)) * x - number(4.0)) * a;
    let near_slope = |x: T| (three * (a + two) * x - two * (a + three)) * x;
    let far_slope = |x: T| ((three * x - number(10.0)) * x + number(8.0)) * a;
    let (u, v) = (one - t, two - t);
    [(far(t + one), far_slope(t + one)), (near(t), near_slope(t)), (near(u), -near_slope(u)), (far(v), -far_slope(v))]
}

/// Rounded to the nearest whole number, halves to the even one.
#[inline(always)]
fn even<T: Float>(x: T) -> T {
    let (down, half) = (x.floor(), number::<T>(0.5));
    let part = x - down;
    let odd = (down * half).floor() * (T::one() + T::one()) != down;
    if part > half || (part == half && odd) { down + T::one() } else { down }
}

/// The pixels of all dimensions together for a block of places.
struct Block<T> {
    /// For each combination: where it lies in a channel, whether it is in the image, its weight.
    at: Vec<Lane<usize>>,
    valid: Vec<Lane<bool>>,
    weight: Vec<Lane<T>>,
    /// The weights of x, y and z, their slopes, and what the slopes of a place are multiplied by.
    factors: [Vec<Lane<T>>; 3],
    slopes: [Vec<Lane<T>>; 3],
    scales: [Lane<T>; 3],
}

impl<T: Real> Block<T> {
    fn new(combinations: usize) -> Self {
        let numbers = || vec![[T::zero(); BLOCK]; combinations];
        Self {
            at: vec![[0; BLOCK]; combinations],
            valid: vec![[false; BLOCK]; combinations],
            weight: numbers(),
            factors: [numbers(), numbers(), numbers()],
            slopes: [numbers(), numbers(), numbers()],
            scales: [[T::zero(); BLOCK]; 3],
        }
    }

    /// For the places of `grid`, at most a block: `K` pixels of width and height, `Z` of depth.
    #[inline(always)]
    fn fill<const K: usize, const Z: usize>(&mut self, reading: &Reading, grid: &[T], slopes: bool) {
        let [depth, height, width] = reading.sizes;
        let mut columns = [[T::zero(); BLOCK]; 3];
        for (b, place) in grid.chunks_exact(reading.dims()).enumerate() {
            place.iter().zip(&mut columns).for_each(|(&x, column)| column[b] = x);
        }
        let xs: Axis<T, K> = Axis::of(reading, &columns[0], width);
        let ys: Axis<T, K> = Axis::of(reading, &columns[1], height);
        let zs: Axis<T, Z> = if reading.volume { Axis::of(reading, &columns[2], depth) } else { Axis::whole() };
        self.scales = [xs.scale, ys.scale, zs.scale];
        for k in 0..Z * K * K {
            let (z, y, x) = (k / (K * K), k / K % K, k % K);
            for b in 0..BLOCK {
                self.at[k][b] = (zs.at[z][b] * height + ys.at[y][b]) * width + xs.at[x][b];
                self.valid[k][b] = zs.valid[z][b] & ys.valid[y][b] & xs.valid[x][b];
                self.weight[k][b] = xs.weight[x][b] * ys.weight[y][b] * zs.weight[z][b];
            }
            if slopes {
                let weights = [xs.weight[x], ys.weight[y], zs.weight[z]];
                let rises = [xs.slope[x], ys.slope[y], zs.slope[z]];
                self.factors.iter_mut().zip(weights).for_each(|(factor, weight)| factor[k] = weight);
                self.slopes.iter_mut().zip(rises).for_each(|(slope, rise)| slope[k] = rise);
            }
        }
    }

    /// The pixels of a combination in a channel; what lies outside counts as zero.
    #[inline(always)]
    fn pixels(&self, plane: &[T], k: usize) -> Lane<T> {
        let (at, valid) = (&self.at[k], &self.valid[k]);
        debug_assert!(at.iter().all(|&at| at < plane.len()));
        let mut values = [T::zero(); BLOCK];
        for b in 0..BLOCK {
            // SAFETY: `fill` keeps every number below the sizes, whose product is the plane's length.
            let value = unsafe { *plane.get_unchecked(at[b]) };
            values[b] = if valid[b] { value } else { T::zero() };
        }
        values
    }
}

/// What a walk does with the places `first..first + count` of image `n`, whose coordinates are `grid`.
trait Step<T>: Sync {
    const SLOPES: bool;
    fn run(&self, block: &Block<T>, n: usize, channels: std::ops::Range<usize>, first: usize, count: usize);
}

/// Places of one image, for some of its channels.
struct Walk<'a, T, S> {
    reading: &'a Reading,
    grid: &'a [T],
    step: &'a S,
    n: usize,
    channels: std::ops::Range<usize>,
    places: std::ops::Range<usize>,
}

impl<T: Real, S: Step<T>> Walk<'_, T, S> {
    #[inline(always)]
    fn go<const K: usize, const Z: usize>(self) {
        let dims = self.reading.dims();
        let mut block = Block::new(Z * K * K);
        for first in self.places.clone().step_by(BLOCK) {
            let count = BLOCK.min(self.places.end - first);
            let from = (self.n * self.reading.places + first) * dims;
            block.fill::<K, Z>(self.reading, &self.grid[from..from + count * dims], S::SLOPES);
            self.step.run(&block, self.n, self.channels.clone(), first, count);
        }
    }
}

impl<T: Real, S: Step<T>> Task for Walk<'_, T, S> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match (self.reading.mode, self.reading.volume) {
            (Mode::Nearest, _) => self.go::<1, 1>(),
            (Mode::Linear, false) => self.go::<2, 1>(),
            (Mode::Linear, true) => self.go::<2, 2>(),
            (Mode::Cubic, false) => self.go::<4, 1>(),
            (Mode::Cubic, true) => self.go::<4, 4>(),
        }
    }
}

/// Walks all images, with tasks of a fixed size: of `channels` channels each and of `places` places.
fn walk<T: Real>(reading: &Reading, grid: &[T], step: &impl Step<T>, channels: usize, places: usize) {
    let (groups, parts) = (reading.channels.div_ceil(channels), reading.places.div_ceil(places));
    spread_over(reading.batch * groups * parts, 1, &|task| {
        let (n, rest) = (task / (groups * parts), task % (groups * parts));
        let (c, p) = (rest / parts * channels, rest % parts * places);
        vector::dispatch(Walk {
            reading,
            grid,
            step,
            n,
            channels: c..reading.channels.min(c + channels),
            places: p..reading.places.min(p + places),
        });
    });
}

struct Read<'a, T> {
    reading: &'a Reading,
    input: &'a [T],
    out: Shared<T>,
}

impl<T: Real> Step<T> for Read<'_, T> {
    const SLOPES: bool = false;

    #[inline(always)]
    fn run(&self, block: &Block<T>, n: usize, channels: std::ops::Range<usize>, first: usize, count: usize) {
        let plane = self.reading.plane();
        for c in channels {
            let number = n * self.reading.channels + c;
            let pixels = &self.input[number * plane..][..plane];
            let mut sum = [T::zero(); BLOCK];
            for (k, weight) in block.weight.iter().enumerate() {
                let values = block.pixels(pixels, k);
                for b in 0..BLOCK {
                    sum[b] = if self.reading.volume {
                        sum[b] + values[b] * weight[b]
                    } else {
                        values[b].mul_add(weight[b], sum[b])
                    };
                }
            }
            // SAFETY: each place of each channel belongs to one task.
            let to = unsafe { self.out.slice(number * self.reading.places + first, count) };
            to.copy_from_slice(&sum[..count]);
        }
    }
}

struct ByInput<'a, T> {
    reading: &'a Reading,
    grad: &'a [T],
    out: Shared<T>,
}

impl<T: Real> Step<T> for ByInput<'_, T> {
    const SLOPES: bool = false;

    #[inline(always)]
    fn run(&self, block: &Block<T>, n: usize, channels: std::ops::Range<usize>, first: usize, count: usize) {
        let plane = self.reading.plane();
        for c in channels {
            let number = n * self.reading.channels + c;
            let grad = &self.grad[number * self.reading.places + first..][..count];
            // SAFETY: each channel belongs to one task.
            let to = unsafe { self.out.slice(number * plane, plane) };
            // In torch's order: the pixels of a vector of places one after the other.
            let together = if self.reading.volume { 1 } else { VECTOR };
            for (part, grad) in grad.chunks(together).enumerate() {
                for (k, weight) in block.weight.iter().enumerate() {
                    for (b, &grad) in (part * together..).zip(grad) {
                        if block.valid[k][b] {
                            to[block.at[k][b]] = to[block.at[k][b]] + weight[b] * grad;
                        }
                    }
                }
            }
        }
    }
}

struct ByGrid<'a, T> {
    reading: &'a Reading,
    input: &'a [T],
    grad: &'a [T],
    out: Shared<T>,
}

impl<T: Real> Step<T> for ByGrid<'_, T> {
    const SLOPES: bool = true;

    #[inline(always)]
    fn run(&self, block: &Block<T>, n: usize, channels: std::ops::Range<usize>, first: usize, count: usize) {
        let (plane, dims) = (self.reading.plane(), self.reading.dims());
        let [wx, wy, wz] = &block.factors;
        // In torch's order of factors and sums, fused as its compiler fuses them: slopes of neighbours cancel each other,
        // and the last digits remain.
        let others = [(wy, wz), (wx, wz), (wx, wy)];
        let mut sums = [[T::zero(); BLOCK]; 3];
        for c in channels {
            let number = n * self.reading.channels + c;
            let pixels = &self.input[number * plane..][..plane];
            let mut by = [T::zero(); BLOCK];
            by[..count].copy_from_slice(&self.grad[number * self.reading.places + first..][..count]);
            if self.reading.mode == Mode::Linear && !self.reading.volume {
                let [nw, ne, sw, se] = [0, 1, 2, 3].map(|k| block.pixels(pixels, k));
                let (e, w, s, n) = (&wx[0], &wx[1], &wy[0], &wy[2]);
                for b in 0..BLOCK {
                    let x = (se[b] - sw[b]).mul_add(n[b], (ne[b] - nw[b]) * s[b]);
                    let y = (se[b] - ne[b]).mul_add(w[b], (sw[b] - nw[b]) * e[b]);
                    sums[0][b] = x.mul_add(by[b], sums[0][b]);
                    sums[1][b] = y.mul_add(by[b], sums[1][b]);
                }
                continue;
            }
            for k in 0..block.weight.len() {
                let values = block.pixels(pixels, k);
                for d in 0..dims {
                    let (one, other, slope) = (&others[d].0[k], &others[d].1[k], &block.slopes[d][k]);
                    for b in 0..BLOCK {
                        sums[d][b] = sums[d][b] + values[b] * one[b] * other[b] * by[b] * slope[b];
                    }
                }
            }
        }
        for (sum, scale) in sums.iter_mut().zip(&block.scales) {
            for b in 0..BLOCK {
                sum[b] = sum[b] * scale[b];
            }
        }
        // SAFETY: each place belongs to one task.
        let to = unsafe { self.out.slice((n * self.reading.places + first) * dims, count * dims) };
        for (b, place) in to.chunks_exact_mut(dims).enumerate() {
            place.iter_mut().zip(&sums).for_each(|(to, sum)| *to = sum[b]);
        }
    }
}

/// `input` `[N, C, plane]` read at `grid` `[N, places, dims]`, x first: `out` `[N, C, places]`.
pub fn read<T: Real>(reading: &Reading, input: &[T], grid: &[T], out: &mut [T]) {
    let out = Shared::of(out);
    #[cfg(target_arch = "x86_64")]
    if vector::is_wide::<T>() && wide_grid::suits(reading) {
        let parts = reading.places.div_ceil(TASK);
        return spread_over(reading.batch * parts, 1, &|task| {
            let (n, first) = (task / parts, task % parts * TASK);
            let from = (input.as_ptr().cast(), grid.as_ptr().cast(), out.at(0).cast());
            // SAFETY: `T` is float32, the processor has AVX-512, and tasks write to places of their own.
            unsafe { wide_grid::read(reading, from, n, first..reading.places.min(first + TASK)) };
        });
    }
    #[cfg(target_arch = "x86_64")]
    if vector::is_fused_for::<T>() && wide_grid::suits(reading) {
        let parts = reading.places.div_ceil(TASK);
        return spread_over(reading.batch * parts, 1, &|task| {
            let (n, first) = (task / parts, task % parts * TASK);
            let from = (input.as_ptr().cast(), grid.as_ptr().cast(), out.at(0).cast());
            // SAFETY: `T` is float32, the processor has AVX2, and tasks write to places of their own.
            unsafe { narrow_grid::read(reading, from, n, first..reading.places.min(first + TASK)) };
        });
    }
    walk(reading, grid, &Read { reading, input, out }, reading.channels.max(1), TASK);
}

/// The gradient by the input, added to zeros in `out`.
pub fn by_input<T: Real>(reading: &Reading, grad: &[T], grid: &[T], out: &mut [T]) {
    let out = Shared::of(out);
    walk(reading, grid, &ByInput { reading, grad, out }, CHANNELS, reading.places.max(1));
}

/// The gradient by the grid.
pub fn by_grid<T: Real>(reading: &Reading, input: &[T], grad: &[T], grid: &[T], out: &mut [T]) {
    let out = Shared::of(out);
    walk(reading, grid, &ByGrid { reading, input, grad, out }, reading.channels.max(1), TASK);
}
