//! Depthwise convolutions of windows of 5x5 and 7x7 (benchmarks/cases.py: depthwise_5x5, depthwise_7x7).
//!
//! Rows of a plane are laid into a sheet with their padding, with a stride of two their even and odd columns apart. A strip
//! of columns goes down the sheet once: a row is read once and added to all results whose windows it is in.

use std::ops::Range;

use super::conv::Problem;
use super::convolve::TASK;
use super::depthwise::{Reach, spread};
use super::scratch::with_scratch;
use super::simd::Simd;
use super::widest::{self, Work};

/// Floats of the sheets, which stay in the second cache: of larger planes some rows at a time.
const SHEET: usize = 1 << 15;

/// A plane, its results, and how windows are laid on it.
#[derive(Clone, Copy)]
struct Plan {
    input: [usize; 2],
    output: [usize; 2],
    padding: [usize; 2],
    kernel: usize,
    stride: usize,
    /// Whether windows are read from their end, as the gradient of the input reads them.
    turned: bool,
}

impl Plan {
    /// None where this is another kind of convolution.
    fn of(p: &Problem) -> Option<Self> {
        let ([_, kernel, width], stride) = (p.kernel, p.stride[2]);
        let kind = p.channels == 1 && p.filters == 1 && kernel == width && matches!(kernel, 5 | 7);
        let flat = [p.kernel[0], p.input[0], p.output[0]] == [1; 3] && p.padding[0] == 0 && p.dilation == [1; 3];
        let placed = p.stride[1] == stride && stride <= 2;
        let [input, output, padding] = [p.input, p.output, p.padding].map(|[_, rows, columns]| [rows, columns]);
        let plan = Self { input, output, padding, kernel, stride, turned: false };
        (widest::has_parts() && kind && flat && placed && plan.is_inside()).then_some(plan)
    }

    /// The gradient of the input as a convolution of that of the output.
    fn turned(self) -> Option<Self> {
        let [above, before] = self.padding.map(|padding| (self.kernel - 1).checked_sub(padding));
        let (input, output, padding) = (self.output, self.input, [above?, before?]);
        let plan = Self { input, output, padding, turned: true, ..self };
        (self.stride == 1 && plan.is_inside()).then_some(plan)
    }

    fn is_inside(&self) -> bool {
        let ends = |dim: usize| {
            (self.output[dim].wrapping_sub(1)).saturating_mul(self.stride).saturating_add(self.kernel)
                <= self.input[dim] + 2 * self.padding[dim]
        };
        ends(0) && ends(1) && self.padding.iter().all(|&padding| padding < self.kernel)
    }

    /// Planes that are worth a task.
    fn task(&self) -> usize {
        (2 * TASK / (self.kernel * self.kernel * self.output[0] * self.output[1]).max(1)).max(1)
    }

    /// Elements of all sheets, which have room for some rows of results at least.
    fn room(&self) -> usize {
        let pitch = self.pitch(widest::lanes());
        (SHEET / (pitch * self.stride)).max(4 * self.kernel) * pitch * self.stride
    }

    /// Columns of one sheet for vectors of so many lanes.
    fn pitch(&self, lanes: usize) -> usize {
        (self.output[1].next_multiple_of(lanes) + self.kernel).next_multiple_of(lanes)
    }

    /// Lays the rows `inside` of a padded plane, `above` rows of which lie before the first, into the sheets.
    ///
    /// # Safety
    /// The processor has the instructions of `S`; the sheets have room for these rows, each `pitch` columns.
    #[inline(always)]
    unsafe fn lay<S: Simd>(&self, plane: &[f32], above: usize, inside: Range<usize>, sheets: *mut f32, sheet: usize) {
        let ([_, width], pitch) = (self.input, self.pitch(S::LANES));
        for first in (0..pitch).step_by(S::LANES) {
            let column = (first * self.stride) as isize - self.padding[1] as isize;
            // SAFETY: the caller's; what lies outside of the plane is not read.
            unsafe {
                let (near, far) = (Reach::<S>::new(column, width), Reach::<S>::new(column + S::LANES as isize, width));
                for row in inside.clone() {
                    let from = plane[(above + row - self.padding[0]) * width..][..width].as_ptr();
                    let to = sheets.add(row * pitch + first);
                    if self.stride == 1 {
                        S::store(to, near.load(from));
                    } else {
                        let [even, odd] = S::dealt(near.load(from), far.load(from));
                        S::store(to, even);
                        S::store(to.add(sheet), odd);
                    }
                }
            }
        }
    }
}

/// The results of some planes.
struct Forward<'a> {
    plan: Plan,
    x: &'a [f32],
    weight: &'a [f32],
    bias: Option<&'a [f32]>,
    /// Memory for rows of a plane: not lent in here, since a closure that is not inlined has no vector instructions.
    sheets: &'a mut [f32],
    first: usize,
    out: &'a mut [f32],
}

impl Work for Forward<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { plan, x, weight, bias, sheets, first, out } = self;
        let ([from, to], taps) = ([plan.input, plan.output].map(|[rows, columns]| rows * columns), plan.kernel.pow(2));
        let (sheet, pitch, channels) = (sheets.len() / plan.stride, plan.pitch(S::LANES), weight.len() / taps);
        let band = ((sheet / pitch - plan.kernel) / plan.stride).max(1);
        for (index, out) in out.chunks_exact_mut(to).enumerate() {
            let channel = (first + index) % channels;
            let mut window = [0.0; 49];
            window[..taps].copy_from_slice(&weight[channel * taps..][..taps]);
            if plan.turned {
                window[..taps].reverse();
            }
            let start = bias.map_or(0.0, |bias| bias[channel]);
            let plane = &x[(first + index) * from..][..from];
            for (number, out) in out.chunks_mut(band * plan.output[1]).enumerate() {
                let rows = out.len() / plan.output[1];
                let above = number * band * plan.stride;
                // Rows of the padding add nothing, and are neither laid nor read.
                let begin = plan.padding[0].saturating_sub(above);
                let end = (plan.input[0] + plan.padding[0]).saturating_sub(above);
                let inside = begin..end.min((rows - 1) * plan.stride + plan.kernel).max(begin);
                // SAFETY: the caller's; the sheets have room for a band.
                unsafe {
                    plan.lay::<S>(plane, above, inside.clone(), sheets.as_mut_ptr(), sheet);
                    let out = out.as_mut_ptr();
                    let band = Band { plan, sheets, sheet, pitch, inside, window: &window, start, out, rows };
                    match (plan.kernel, plan.stride) {
                        (5, 1) => band.run::<S, 5, 1>(),
                        (5, _) => band.run::<S, 5, 2>(),
                        (_, 1) => band.run::<S, 7, 1>(),
                        _ => band.run::<S, 7, 2>(),
                    }
                }
            }
        }
    }
}

/// Some rows of results from the sheets with the rows of the input that they need.
struct Band<'a> {
    plan: Plan,
    sheets: &'a [f32],
    sheet: usize,
    pitch: usize,
    inside: Range<usize>,
    window: &'a [f32; 49],
    start: f32,
    out: *mut f32,
    rows: usize,
}

impl Band<'_> {
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn run<S: Simd, const K: usize, const STRIDE: usize>(self) {
        let width = self.plan.output[1];
        // Two strips share what is read of the window, where there are registers for the sums of both.
        let pairs = S::LANES == 16 || K == 5;
        let mut column = 0;
        while column < width {
            // SAFETY: the caller's.
            unsafe {
                if pairs && width - column > S::LANES {
                    self.strip::<S, K, STRIDE, 2>(column);
                    column += 2 * S::LANES;
                } else {
                    self.strip::<S, K, STRIDE, 1>(column);
                    column += S::LANES;
                }
            }
        }
    }

    /// `V` vectors of columns: row `STRIDE * m + phase` is row `STRIDE * q + phase` of the windows of result `m - q`.
    ///
    /// # Safety
    /// As `run`.
    #[inline(always)]
    unsafe fn strip<S: Simd, const K: usize, const STRIDE: usize, const V: usize>(&self, column: usize) {
        let (met, width) = (K.div_ceil(STRIDE), self.plan.output[1]);
        // SAFETY: the caller's; a sheet has room for vectors that begin at any result's column and reach over a window, and
        // `out` for all rows.
        unsafe {
            let start = S::splat(self.start);
            let mut sums = [[start; V]; 7];
            let mut write = [Reach::<S>::new(column as isize, width); V];
            for v in 1..V {
                write[v] = Reach::new((column + v * S::LANES) as isize, width);
            }
            for m in 0..self.rows + met - 1 {
                for phase in 0..STRIDE {
                    let row = m * STRIDE + phase;
                    if !self.inside.contains(&row) {
                        continue;
                    }
                    let line = self.sheets.as_ptr().add(row * self.pitch + column);
                    for tap in 0..K {
                        let from = line.add(tap % STRIDE * self.sheet + tap / STRIDE);
                        let mut x = [start; V];
                        for v in 0..V {
                            x[v] = S::load(from.add(v * S::LANES));
                        }
                        for q in 0..met {
                            if q * STRIDE + phase < K {
                                let weight = S::splat(self.window[(q * STRIDE + phase) * K + tap]);
                                for v in 0..V {
                                    sums[q][v] = S::fma(weight, x[v], sums[q][v]);
                                }
                            }
                        }
                    }
                }
                if m + 1 >= met {
                    let out = self.out.add((m + 1 - met) * width);
                    for v in 0..V {
                        write[v].store(out, sums[met - 1][v]);
                    }
                }
                for q in (1..met).rev() {
                    sums[q] = sums[q - 1];
                }
                sums[0] = [start; V];
            }
        }
    }
}

fn run(plan: Plan, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) {
    spread(out, plan.output[0] * plan.output[1], plan.task(), |first, out| {
        with_scratch(plan.room(), |sheets| widest::run(Forward { plan, x, weight, bias, sheets, first, out }));
    });
}

/// `out` from `x`, `weight` and a summand for each channel; false where this is another kind of convolution.
pub fn forward(p: &Problem, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) -> bool {
    Plan::of(p).map(|plan| run(plan, x, weight, bias, out)).is_some()
}

/// The gradient of the input, written to `x`, from that of the output.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    Plan::of(p).and_then(Plan::turned).map(|plan| run(plan, grad, weight, None, x)).is_some()
}
