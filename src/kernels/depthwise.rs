//! Depthwise convolutions of 3x3 with padding 1, each plane read where it lies (benchmarks/bars.py: convolutions,
//! depthwise).
//!
//! A strip is as many columns as a vector has lanes. It goes down the rows of a plane once; what lies outside of the plane
//! is left out by the parts of vectors that are read, so that nothing is copied or padded.

use super::conv::Problem;
use super::convolve::TASK;
use super::iterate::spread_over;
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{self, Work};

/// Rows and columns of the planes that windows are laid on, and of their results.
#[derive(Clone, Copy)]
struct Sizes {
    input: [usize; 2],
    output: [usize; 2],
    stride: usize,
}

impl Sizes {
    /// None where this is another kind of convolution.
    fn of(p: &Problem) -> Option<Self> {
        let stride = p.stride[2];
        let kind = p.channels == 1 && p.filters == 1 && p.kernel == [1, 3, 3] && p.dilation == [1; 3];
        let placed = p.padding == [0, 1, 1] && p.stride[1] == stride && stride <= 2 && p.input[0] == 1;
        let sizes = [1, 2].map(|dim| (p.input[dim] - 1) / stride + 1);
        (widest::has_parts() && kind && placed && p.output == [1, sizes[0], sizes[1]]).then_some(Self {
            input: [p.input[1], p.input[2]],
            output: sizes,
            stride,
        })
    }

    /// Elements of one plane, and of its results.
    fn planes(&self) -> [usize; 2] {
        [self.input, self.output].map(|[rows, columns]| rows * columns)
    }

    /// Planes that are worth a task.
    fn task(&self) -> usize {
        (2 * TASK / (9 * self.planes()[1])).max(1)
    }
}

/// `LANES` neighbours from column `at` on, zeros outside of the row.
#[derive(Clone, Copy)]
pub struct Reach<S: Simd> {
    /// Whether all of them lie inside, as most do: parts of vectors take longer.
    whole: bool,
    part: S::Part,
    at: isize,
}

impl<S: Simd> Reach<S> {
    /// # Safety
    /// As all of `Simd`.
    #[inline(always)]
    pub unsafe fn new(at: isize, width: usize) -> Self {
        // SAFETY: the caller's.
        unsafe {
            if at >= 0 && at + S::LANES as isize <= width as isize {
                return Self { whole: true, part: S::span(0, S::LANES), at };
            }
            let first = usize::try_from(-at).unwrap_or(0).min(S::LANES);
            let end = usize::try_from(width as isize - at).unwrap_or(0).clamp(first, S::LANES);
            Self { whole: false, part: S::span(first, end), at }
        }
    }

    /// All of them, where there is `room` for so many, and otherwise those inside of `width`.
    ///
    /// # Safety
    /// As all of `Simd`.
    #[inline(always)]
    pub unsafe fn within(at: usize, width: usize, room: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::new(at as isize, if at + S::LANES <= room { room } else { width }) }
    }

    /// # Safety
    /// The row has the width that the reach was made for.
    #[inline(always)]
    pub unsafe fn load(self, row: *const f32) -> S::V {
        // SAFETY: the caller's.
        unsafe {
            let from = row.wrapping_offset(self.at);
            if self.whole { S::load(from) } else { S::load_part(from, self.part) }
        }
    }

    /// # Safety
    /// As `load`.
    #[inline(always)]
    pub unsafe fn store(self, row: *mut f32, x: S::V) {
        // SAFETY: the caller's.
        unsafe {
            let to = row.wrapping_offset(self.at);
            if self.whole { S::store(to, x) } else { S::store_part(to, self.part, x) }
        }
    }
}

/// What the three elements of a window's row meet in one row of a strip.
trait Read<S: Simd>: Copy {
    /// # Safety
    /// As all of `Simd`.
    unsafe fn new(column: usize, width: usize) -> Self;
    /// # Safety
    /// The row has `width` elements.
    unsafe fn read(self, row: *const f32) -> [S::V; 3];
}

/// Neighbouring windows begin at neighbours.
#[derive(Clone, Copy)]
struct Next<S: Simd>([Reach<S>; 3]);

impl<S: Simd> Read<S> for Next<S> {
    #[inline(always)]
    unsafe fn new(column: usize, width: usize) -> Self {
        // SAFETY: the caller's.
        unsafe {
            let at = column as isize;
            Self([Reach::new(at - 1, width), Reach::new(at, width), Reach::new(at + 1, width)])
        }
    }

    #[inline(always)]
    unsafe fn read(self, row: *const f32) -> [S::V; 3] {
        // SAFETY: the caller's.
        unsafe { [self.0[0].load(row), self.0[1].load(row), self.0[2].load(row)] }
    }
}

/// Windows begin at every second element.
#[derive(Clone, Copy)]
struct Second<S: Simd>([[Reach<S>; 2]; 2]);

impl<S: Simd> Read<S> for Second<S> {
    #[inline(always)]
    unsafe fn new(column: usize, width: usize) -> Self {
        let (at, far) = (2 * column as isize, S::LANES as isize);
        // SAFETY: the caller's.
        unsafe {
            let (a, b) = (Reach::new(at - 1, width), Reach::new(at - 1 + far, width));
            Self([[a, b], [Reach::new(at, width), Reach::new(at + far, width)]])
        }
    }

    #[inline(always)]
    unsafe fn read(self, row: *const f32) -> [S::V; 3] {
        // SAFETY: the caller's.
        unsafe {
            let [[a, b], [c, d]] = self.0;
            let ([before, _], [at, after]) = (S::dealt(a.load(row), b.load(row)), S::dealt(c.load(row), d.load(row)));
            [before, at, after]
        }
    }
}

/// A window with each element in all lanes. Loops instead of closures here and below: a closure that the compiler does not
/// inline has no vector instructions.
///
/// # Safety
/// As all of `Simd`.
#[inline(always)]
unsafe fn splats<S: Simd>(window: [f32; 9]) -> [S::V; 9] {
    // SAFETY: the caller's.
    unsafe {
        let mut weights = [S::splat(0.0); 9];
        for tap in 0..9 {
            weights[tap] = S::splat(window[tap]);
        }
        weights
    }
}

/// Adds the products of a window's row.
///
/// # Safety
/// As all of `Simd`.
#[inline(always)]
unsafe fn add<S: Simd>(sum: S::V, weights: &[S::V], x: [S::V; 3]) -> S::V {
    // SAFETY: the caller's.
    unsafe { S::fma(weights[2], x[2], S::fma(weights[1], x[1], S::fma(weights[0], x[0], sum))) }
}

/// The results of some planes.
struct Forward<'a> {
    sizes: Sizes,
    x: &'a [f32],
    weight: &'a [f32],
    bias: Option<&'a [f32]>,
    /// Whether windows are read from their end, as the gradient of the input reads them.
    turned: bool,
    first: usize,
    out: &'a mut [f32],
}

impl Work for Forward<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let [from, to] = self.sizes.planes();
        let windows = self.weight.as_chunks::<9>().0;
        for (index, out) in self.out.chunks_exact_mut(to).enumerate() {
            let channel = (self.first + index) % windows.len();
            let mut window = windows[channel];
            if self.turned {
                window.reverse();
            }
            let start = self.bias.map_or(0.0, |bias| bias[channel]);
            let x = &self.x[(self.first + index) * from..][..from];
            // SAFETY: the caller's.
            unsafe {
                let weights = splats::<S>(window);
                for column in (0..self.sizes.output[1]).step_by(S::LANES) {
                    match self.sizes.stride {
                        1 => strip::<S>(self.sizes, column, x, weights, S::splat(start), out),
                        _ => strip_of_two::<S>(self.sizes, column, x, weights, S::splat(start), out),
                    }
                }
            }
        }
    }
}

/// Neighbouring results: row `h` of the input is met by three rows of results.
///
/// # Safety
/// The processor has the instructions of `S`; the slices have the sizes.
#[inline(always)]
unsafe fn strip<S: Simd>(sizes: Sizes, column: usize, x: &[f32], w: [S::V; 9], start: S::V, out: &mut [f32]) {
    let [rows, width] = sizes.input;
    // SAFETY: the caller's.
    unsafe {
        let (read, write) = (Next::<S>::new(column, width), Reach::<S>::new(column as isize, width));
        let (mut above, mut here) = (start, start);
        for row in 0..rows {
            let x = read.read(x.as_ptr().add(row * width));
            above = add::<S>(above, &w[6..], x);
            if row > 0 {
                write.store(out.as_mut_ptr().add((row - 1) * width), above);
            }
            above = add::<S>(here, &w[3..6], x);
            here = add::<S>(start, &w[..3], x);
        }
        write.store(out.as_mut_ptr().add((rows - 1) * width), above);
    }
}

/// Every second result of every second row: odd rows of the input are met by two rows of results.
///
/// # Safety
/// As `strip`.
#[inline(always)]
unsafe fn strip_of_two<S: Simd>(sizes: Sizes, column: usize, x: &[f32], w: [S::V; 9], start: S::V, out: &mut [f32]) {
    let ([rows, width], [results, out_width]) = (sizes.input, sizes.output);
    // SAFETY: the caller's.
    unsafe {
        let (read, write) = (Second::<S>::new(column, width), Reach::<S>::new(column as isize, out_width));
        let mut sum = start;
        for result in 0..results {
            sum = add::<S>(sum, &w[3..6], read.read(x.as_ptr().add(2 * result * width)));
            let mut next = start;
            if 2 * result + 1 < rows {
                let x = read.read(x.as_ptr().add((2 * result + 1) * width));
                sum = add::<S>(sum, &w[6..], x);
                next = add::<S>(start, &w[..3], x);
            }
            write.store(out.as_mut_ptr().add(result * out_width), sum);
            sum = next;
        }
    }
}

/// The gradient of the input of some planes whose windows are two apart.
struct Back<'a> {
    sizes: Sizes,
    grad: &'a [f32],
    weight: &'a [f32],
    first: usize,
    to: &'a mut [f32],
}

impl Work for Back<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let ([to, from], windows) = (self.sizes.planes(), self.weight.as_chunks::<9>().0);
        for (index, plane) in self.to.chunks_exact_mut(to).enumerate() {
            let window = windows[(self.first + index) % windows.len()];
            let grad = &self.grad[(self.first + index) * from..][..from];
            // SAFETY: the caller's.
            unsafe {
                let weights = splats::<S>(window);
                for column in (0..self.sizes.output[1]).step_by(S::LANES) {
                    back_strip::<S>(self.sizes, column, grad, weights, plane);
                }
            }
        }
    }
}

/// # Safety
/// As `Reach::load`.
#[inline(always)]
unsafe fn read_both<S: Simd>(reach: [Reach<S>; 2], row: *const f32) -> [S::V; 2] {
    // SAFETY: the caller's.
    unsafe { [reach[0].load(row), reach[1].load(row)] }
}

/// Writes elements of both vectors in turn.
///
/// # Safety
/// As `Reach::store`.
#[inline(always)]
unsafe fn write_mixed<S: Simd>(reach: [Reach<S>; 2], row: *mut f32, even: S::V, odd: S::V) {
    // SAFETY: the caller's.
    unsafe {
        let mixed = S::mixed(even, odd);
        reach[0].store(row, mixed[0]);
        reach[1].store(row, mixed[1]);
    }
}

/// Even rows and columns of the input meet the middle of one window, odd ones the ends of two.
///
/// # Safety
/// As `strip`.
#[inline(always)]
unsafe fn back_strip<S: Simd>(sizes: Sizes, column: usize, grad: &[f32], w: [S::V; 9], to: &mut [f32]) {
    let ([rows, width], [results, columns]) = (sizes.input, sizes.output);
    let column = column as isize;
    // SAFETY: the caller's.
    unsafe {
        let reach = [Reach::<S>::new(column, columns), Reach::<S>::new(column + 1, columns)];
        let far = 2 * column + S::LANES as isize;
        let write = [Reach::<S>::new(2 * column, width), Reach::<S>::new(far, width)];
        let (grad, to) = (grad.as_ptr(), to.as_mut_ptr());
        let mut here = read_both(reach, grad);
        for result in 0..results {
            let mut next = [S::splat(0.0); 2];
            if result + 1 < results {
                next = read_both(reach, grad.add((result + 1) * columns));
            }
            let odd = S::fma(here[1], w[3], S::mul(here[0], w[5]));
            write_mixed(write, to.add(2 * result * width), S::mul(here[0], w[4]), odd);
            if 2 * result + 1 < rows {
                let even = S::fma(next[0], w[1], S::mul(here[0], w[7]));
                let odd = S::fma(here[1], w[6], S::mul(here[0], w[8]));
                let odd = S::fma(next[1], w[0], S::fma(next[0], w[2], odd));
                write_mixed(write, to.add((2 * result + 1) * width), even, odd);
            }
            here = next;
        }
    }
}

/// The gradients of the windows of some channels.
struct Windows<'a> {
    sizes: Sizes,
    x: &'a [f32],
    grad: &'a [f32],
    channels: usize,
    first: usize,
    to: &'a mut [f32],
}

impl Work for Windows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let ([from, to], planes) = (self.sizes.planes(), self.grad.len() / self.sizes.planes()[1]);
        for (index, window) in self.to.as_chunks_mut::<9>().0.iter_mut().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let mut sums = [S::splat(0.0); 9];
                for plane in (self.first + index..planes).step_by(self.channels) {
                    let (x, grad) = (&self.x[plane * from..][..from], &self.grad[plane * to..][..to]);
                    for column in (0..self.sizes.output[1]).step_by(S::LANES) {
                        match self.sizes.stride {
                            1 => products::<S>(self.sizes, column, x, grad, &mut sums),
                            _ => products_of_two::<S>(self.sizes, column, x, grad, &mut sums),
                        }
                    }
                }
                for tap in 0..9 {
                    window[tap] = S::sum(sums[tap]);
                }
            }
        }
    }
}

/// # Safety
/// As all of `Simd`; there are three sums.
#[inline(always)]
unsafe fn add_products<S: Simd>(sums: &mut [S::V], factor: S::V, x: [S::V; 3]) {
    for tap in 0..3 {
        // SAFETY: the caller's.
        sums[tap] = unsafe { S::fma(factor, x[tap], sums[tap]) };
    }
}

/// # Safety
/// As `strip`.
#[inline(always)]
unsafe fn products<S: Simd>(sizes: Sizes, column: usize, x: &[f32], grad: &[f32], sums: &mut [S::V; 9]) {
    let [rows, width] = sizes.input;
    // SAFETY: the caller's.
    unsafe {
        let (read, reach) = (Next::<S>::new(column, width), Reach::<S>::new(column as isize, width));
        let (mut above, mut here) = (S::splat(0.0), reach.load(grad.as_ptr()));
        for row in 0..rows {
            let x = read.read(x.as_ptr().add(row * width));
            let below = if row + 1 < rows { reach.load(grad.as_ptr().add((row + 1) * width)) } else { S::splat(0.0) };
            add_products::<S>(&mut sums[..3], below, x);
            add_products::<S>(&mut sums[3..6], here, x);
            add_products::<S>(&mut sums[6..], above, x);
            (above, here) = (here, below);
        }
    }
}

/// # Safety
/// As `strip`.
#[inline(always)]
unsafe fn products_of_two<S: Simd>(sizes: Sizes, column: usize, x: &[f32], grad: &[f32], sums: &mut [S::V; 9]) {
    let ([rows, width], [results, out_width]) = (sizes.input, sizes.output);
    // SAFETY: the caller's.
    unsafe {
        let (read, reach) = (Second::<S>::new(column, width), Reach::<S>::new(column as isize, out_width));
        let mut here = reach.load(grad.as_ptr());
        for result in 0..results {
            let next = if result + 1 < results {
                reach.load(grad.as_ptr().add((result + 1) * out_width))
            } else {
                S::splat(0.0)
            };
            add_products::<S>(&mut sums[3..6], here, read.read(x.as_ptr().add(2 * result * width)));
            if 2 * result + 1 < rows {
                let x = read.read(x.as_ptr().add((2 * result + 1) * width));
                add_products::<S>(&mut sums[6..], here, x);
                add_products::<S>(&mut sums[..3], next, x);
            }
            here = next;
        }
    }
}

/// Calls `work` with the number of the first plane and the memory of some planes' results.
pub fn spread(out: &mut [f32], plane: usize, each: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let (planes, to) = (out.len() / plane, Shared::of(out));
    spread_over(planes.div_ceil(each), 1, &|task| {
        let first = task * each;
        // SAFETY: each task has planes of its own.
        let out = unsafe { to.slice(first * plane, each.min(planes - first) * plane) };
        work(first, out);
    });
}

/// `out` from `x`, `weight` and a summand for each channel; false where this is another kind of convolution.
pub fn forward(p: &Problem, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) -> bool {
    let Some(sizes) = Sizes::of(p) else { return false };
    spread(out, sizes.planes()[1], sizes.task(), |first, out| {
        widest::run(Forward { sizes, x, weight, bias, turned: false, first, out });
    });
    true
}

/// The gradient of the input, written to `x`, from that of the output.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    let Some(sizes) = Sizes::of(p) else { return false };
    spread(x, sizes.planes()[0], sizes.task(), |first, to| {
        if sizes.stride == 1 {
            widest::run(Forward { sizes, x: grad, weight, bias: None, turned: true, first, out: to });
        } else {
            widest::run(Back { sizes, grad, weight, first, to });
        }
    });
    true
}

/// The gradient of the weight.
pub fn weight_gradient(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) -> bool {
    let Some(sizes) = Sizes::of(p) else { return false };
    let samples = x.len() / (sizes.planes()[0] * p.groups).max(1);
    spread(weight, 9, sizes.task().div_ceil(samples.max(1)), |first, to| {
        widest::run(Windows { sizes, x, grad, channels: p.groups, first, to });
    });
    true
}
