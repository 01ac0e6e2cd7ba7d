//! Weighted sums along one or two dimensions of float32 (benchmarks/bars.py: interpolate, avg_pool2d).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::{Shared, with_scratch};
use super::simd::Simd;
use super::taps::Taps;
use super::vector::{Task, dispatch_narrow};
use super::widest::{self, Work};
use crate::guard;

/// Lanes of the widest vectors.
const WIDEST: usize = 16;

/// The weights of a step as the kernels want them.
struct Step<'a> {
    taps: &'a Taps,
    weights: Vec<f32>,
}

impl<'a> Step<'a> {
    fn new(taps: &'a Taps) -> Self {
        Self { taps, weights: taps.weights().iter().map(|&weight| weight as f32).collect() }
    }

    /// `to` is output number `output`, vectors of inputs being `step` apart; zero where it has no inputs.
    ///
    /// # Safety
    /// All inputs lie there; the processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn sum<S: Simd>(&self, output: usize, load: impl Fn(usize) -> S::V) -> S::V {
        let (range, index) = self.taps.range(output);
        let mut pairs = index.iter().zip(&self.weights[range]);
        // SAFETY: the caller's.
        unsafe {
            let Some((&first, &weight)) = pairs.next() else { return S::splat(0.0) };
            let mut sum = S::mul(load(first), S::splat(weight));
            for (&at, &weight) in pairs {
                sum = S::fma(load(at), S::splat(weight), sum);
            }
            sum
        }
    }

    fn scratch(&self) -> usize {
        (self.taps.inputs + self.taps.outputs()) * WIDEST
    }
}

/// Sums along contiguous rows: as many rows as a vector has lanes are turned, so that each sum is one of vectors.
struct AlongRows<'a> {
    step: &'a Step<'a>,
    rows: usize,
    from: *const f32,
    to: *mut f32,
    scratch: &'a mut [f32],
}

impl Work for AlongRows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (inputs, outputs, lanes) = (self.step.taps.inputs, self.step.taps.outputs(), S::LANES);
        let (turned, sums) = self.scratch.split_at_mut(inputs * WIDEST);
        let (turned, sums) = (turned.as_mut_ptr(), sums.as_mut_ptr());
        for first in (0..self.rows).step_by(lanes) {
            let rows = lanes.min(self.rows - first);
            // SAFETY: the caller's; the scratch memory has a vector for each input and output.
            unsafe {
                let (from, to) = (self.from.add(first * inputs), self.to.add(first * outputs));
                for at in (0..inputs).step_by(lanes) {
                    let count = lanes.min(inputs - at);
                    S::transpose((from.add(at), inputs), (turned.add(at * lanes), lanes), rows, count);
                }
                for output in 0..outputs {
                    let sum = self.step.sum::<S>(output, |at| S::load(turned.add(at * lanes)));
                    S::store(sums.add(output * lanes), sum);
                }
                for at in (0..outputs).step_by(lanes) {
                    let count = lanes.min(outputs - at);
                    S::transpose((sums.add(at * lanes), lanes), (to.add(at), outputs), count, rows);
                }
            }
        }
    }
}

/// Sums of rows of `width`: some outputs of one block `[inputs, width]`.
struct AcrossRows<'a> {
    step: &'a Step<'a>,
    width: usize,
    outputs: std::ops::Range<usize>,
    from: *const f32,
    to: *mut f32,
}

impl Work for AcrossRows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let width = self.width;
        let whole = width / S::LANES * S::LANES;
        for output in self.outputs {
            // SAFETY: the caller's; parts keep loads and stores inside.
            unsafe {
                let to = self.to.add(output * width);
                for column in (0..whole).step_by(S::LANES) {
                    let sum = self.step.sum::<S>(output, |at| S::load(self.from.add(at * width + column)));
                    S::store(to.add(column), sum);
                }
                if whole < width {
                    let part = S::part(width - whole);
                    let sum = self.step.sum::<S>(output, |at| S::load_part(self.from.add(at * width + whole), part));
                    S::store_part(to.add(whole), part, sum);
                }
            }
        }
    }
}

/// `input` is `[outer, taps.inputs, inner]` and `output`, which is written whole, `[outer, taps.outputs(), inner]`.
pub fn apply(input: &[f32], output: &mut [f32], inner: usize, taps: &Taps) {
    let (from, to) = (taps.inputs * inner, taps.outputs() * inner);
    if input.is_empty() || to == 0 {
        output.fill(0.0);
        return;
    }
    let outer = input.len() / from;
    if inner == 1
        && let Some(columns) = taps.picks()
    {
        let rows: Vec<usize> = (0..outer).collect();
        return pick_both(input, output, (&rows, columns), [outer, taps.inputs]);
    }
    let (step, result) = (Step::new(taps), Shared::of(output));
    if inner == 1 {
        let rows = (PARALLEL_ABOVE / 8 / (from + to)).max(1).next_multiple_of(WIDEST);
        spread_over(outer.div_ceil(rows), 1, &|index| {
            let first = index * rows;
            with_scratch(step.scratch(), |scratch| {
                let rows = rows.min(outer - first);
                let from = input[first * from..].as_ptr();
                widest::run(AlongRows { step: &step, rows, from, to: result.at(first * to), scratch });
            });
        });
        return;
    }
    let share = (PARALLEL_ABOVE / 8 / inner).clamp(1, taps.outputs());
    let shares = taps.outputs().div_ceil(share);
    let least = (PARALLEL_ABOVE / 8 / (share * inner)).max(1);
    spread_over(outer * shares, least, &|index| {
        let (block, first) = (index / shares, index % shares * share);
        let outputs = first..(first + share).min(taps.outputs());
        let from = input[block * from..].as_ptr();
        widest::run(AcrossRows { step: &step, width: inner, outputs, from, to: result.at(block * to) });
    });
}

/// One row of a picture of which each element is one of another.
struct Picks<'a> {
    from: &'a [f32],
    to: &'a mut [f32],
    columns: &'a [usize],
    /// Whether each is taken twice.
    doubled: bool,
}

impl Task for Picks<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.doubled {
            let (pairs, _) = self.to.as_chunks_mut::<2>();
            pairs.iter_mut().zip(self.from).for_each(|(pair, &value)| *pair = [value; 2]);
            return;
        }
        for (slot, &column) in self.to.iter_mut().zip(self.columns) {
            *slot = self.from.get(column).copied().unwrap_or_default();
        }
    }
}

/// `apply_both` where each element of the result is one of the input: rows that are the same are made once.
fn pick_both(input: &[f32], output: &mut [f32], (rows, columns): (&[usize], &[usize]), [height, width]: [usize; 2]) {
    let doubled = columns.len() == 2 * width && columns.iter().enumerate().all(|(at, &column)| column == at / 2);
    let together = (PARALLEL_ABOVE / 8 / columns.len()).clamp(1, rows.len());
    let parts = rows.len().div_ceil(together);
    let (count, result) = (input.len() / (height * width), Shared::of(output));
    spread_over(count * parts, 1, &|index| {
        let (plane, first) = (index / parts, index % parts * together);
        let mut last = None;
        for (at, &row) in rows.iter().enumerate().skip(first).take(together) {
            let start = (plane * rows.len() + at) * columns.len();
            // SAFETY: each part has rows of its own, one for each number.
            let to = unsafe { result.slice(start, columns.len()) };
            if last == Some(row) {
                // SAFETY: the row before it is this part's too.
                to.copy_from_slice(unsafe { result.slice(start - columns.len(), columns.len()) });
            } else {
                let from = &input[(plane * height + row) * width..][..width];
                dispatch_narrow(Picks { from, to, columns, doubled });
            }
            last = Some(row);
        }
    });
}

/// `input` is `[planes, down.inputs, along.inputs]`, `output` `[planes, down.outputs(), along.outputs()]`.
pub fn apply_both(input: &[f32], output: &mut [f32], down: &Taps, along: &Taps) {
    let (from, to) = (down.inputs * along.inputs, down.outputs() * along.outputs());
    if from == 0 || to == 0 {
        output.fill(0.0);
        return;
    }
    if let (Some(rows), Some(columns)) = (down.picks(), along.picks()) {
        return pick_both(input, output, (rows, columns), [down.inputs, along.inputs]);
    }
    let between = down.inputs * along.outputs();
    let planes = input.len() / from;
    if planes < 4 * guard::threads() && from + to > PARALLEL_ABOVE {
        let mut middle = vec![0.0; planes * between];
        apply(input, &mut middle, 1, along);
        apply(&middle, output, along.outputs(), down);
        return;
    }
    let (first, second, result) = (Step::new(along), Step::new(down), Shared::of(output));
    spread_over(planes, (PARALLEL_ABOVE / 8 / (from + to)).max(1), &|plane| {
        with_scratch(first.scratch() + between, |scratch| {
            let (middle, scratch) = scratch.split_at_mut(between);
            let (source, to) = (input[plane * from..].as_ptr(), result.at(plane * to));
            let middle = middle.as_mut_ptr();
            widest::run(AlongRows { step: &first, rows: down.inputs, from: source, to: middle, scratch });
            let (width, outputs) = (along.outputs(), 0..down.outputs());
            widest::run(AcrossRows { step: &second, width, outputs, from: middle, to });
        });
    });
}
