//! What LSTM and GRU over a whole sequence have in common: the weight of the state is packed once, and the gates are
//! opened where their sums are (benchmarks/bars.py: recurrent).
//!
//! Sequences of a batch know nothing of each other, so threads share out the batch and meet only at the end.

use super::iterate::spread_over;
use super::simd::Simd;
use super::tiles::{self, Columns, Job, ROWS, Sums};
use crate::{each_row_of, guard};

/// Sizes of one direction of one layer: `steps` times of `batch` sequences with `hidden` elements.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub steps: usize,
    pub batch: usize,
    pub hidden: usize,
    pub reverse: bool,
}

impl Sizes {
    /// The time that is run as the `step`-th.
    pub fn time(self, step: usize) -> usize {
        if self.reverse { self.steps - 1 - step } else { step }
    }

    /// Where the values of one sequence at the `step`-th time begin, `width` for each; those before the first stand in
    /// `first`.
    pub fn at(self, all: *const f32, first: *const f32, step: Option<usize>, row: usize, width: usize) -> *const f32 {
        match step {
            Some(step) => all.wrapping_add((self.time(step) * self.batch + row) * width),
            None => first.wrapping_add(row * width),
        }
    }
}

/// The batch, cut for the threads there are. Results do not depend on the cut.
fn cut(sizes: Sizes) -> Vec<std::ops::Range<usize>> {
    let each = sizes.batch.div_ceil(guard::threads().max(1)).max(1);
    (0..sizes.batch).step_by(each).map(|first| first..sizes.batch.min(first + each)).collect()
}

/// Runs the job of each part of the batch.
pub fn share<J: Job>(sizes: Sizes, job: impl Fn(std::ops::Range<usize>) -> J + Sync) {
    let parts = cut(sizes);
    let one = |part: usize| {
        if let Some(rows) = parts.get(part) {
            tiles::run(&job(rows.clone()));
        }
    };
    if parts.len() == 1 { one(0) } else { spread_over(parts.len(), 1, &one) }
}

/// A weight of the state as tiles read it, for all parts of a batch.
pub struct Weight<const G: usize>(Vec<f32>);

struct Packing<'a, const G: usize> {
    weight: &'a [f32],
    columns: Columns,
    to: *mut f32,
}

impl<const G: usize> Job for Packing<'_, G> {
    #[inline(always)]
    unsafe fn run<S: Simd, const FMA: bool>(&self) {
        // SAFETY: `Weight::new` has seen to the sizes.
        unsafe { tiles::pack::<S, G>(self.weight.as_ptr(), self.columns, self.to) }
    }
}

impl<const G: usize> Weight<G> {
    fn new(weight: &[f32], columns: Columns) -> Self {
        let mut to = vec![0.0; tiles::packed_len::<G>(columns)];
        tiles::run(&Packing::<'_, G> { weight, columns, to: to.as_mut_ptr() });
        Self(to)
    }

    /// The panel of the columns from `start` on, of `depth` each.
    pub fn panel(&self, start: usize, depth: usize) -> *const f32 {
        self.0.as_ptr().wrapping_add(start * G * depth)
    }

    /// Of a weight (gates times hidden, hidden): units as columns, a vector of every gate side by side.
    pub fn of_gates(weight: &[f32], hidden: usize) -> Self {
        Self::new(
            weight,
            Columns { across: hidden, along: 1, apart: hidden * hidden, size: hidden, last: hidden, depth: hidden },
        )
    }
}

impl Weight<2> {
    /// Of a weight (depth, hidden): the halves of the state's elements as groups of columns.
    pub fn of_state(weight: &[f32], hidden: usize, depth: usize) -> Self {
        let size = hidden.div_ceil(2);
        Self::new(weight, Columns { across: 1, along: hidden, apart: size, size, last: hidden - size, depth })
    }
}

/// `grad = left @ weight`, or added to it where `add`: (rows, depth) by (depth, hidden).
///
/// # Safety
/// All these elements lie there; the processor has the instructions.
#[inline(always)]
pub unsafe fn to_state<S: Simd, const R: usize>(
    (left, depth): (*const f32, usize),
    weight: &Weight<2>,
    (grad, hidden): (*mut f32, usize),
    add: bool,
) {
    let size = hidden.div_ceil(2);
    for start in (0..size).step_by(S::LANES) {
        // SAFETY: the caller's; parts keep vectors inside a row.
        unsafe {
            let part = S::part(S::LANES.min(size - start));
            let rest = S::part(S::LANES.min((hidden - size).saturating_sub(start)));
            let (low, high) = (grad.wrapping_add(start), grad.wrapping_add(size + start));
            let mut sums: Sums<S, 2> = [[S::splat(0.0); 2]; ROWS];
            if add {
                each_row_of!(R, I, {
                    sums[I][0] = S::load_part(low.wrapping_add(I * hidden), part);
                    sums[I][1] = S::load_part(high.wrapping_add(I * hidden), rest);
                });
            }
            let weight = weight.panel(start, depth);
            let sums = tiles::multiply::<S, 2, R>(sums, (left, depth), weight, depth);
            each_row_of!(R, I, {
                S::store_part(low.wrapping_add(I * hidden), part, sums[I][0]);
                S::store_part(high.wrapping_add(I * hidden), rest, sums[I][1]);
            });
        }
    }
}
