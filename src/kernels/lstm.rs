//! LSTM over a whole sequence, forwards and backwards (benchmarks/bars.py: recurrent). Gates stand in torch's order: in,
//! forget, cell, out.

use super::math;
use super::recurrent::{Sizes, Weight, share, to_state};
use super::simd::Simd;
use super::tiles::{self, Job, ROWS, Sums, WIDEST, lanes, read, write};
use crate::{each_row_of, in_tiles};

/// The memory of one run: `gates`, where they are kept for the way back, are the opened ones.
pub struct Lstm<'a> {
    pub sizes: Sizes,
    pub given: &'a [f32],
    pub weight: &'a [f32],
    pub first: [&'a [f32]; 2],
    pub gates: Option<*mut f32>,
    pub cells: *mut f32,
    pub outputs: *mut f32,
}

// SAFETY: parts of a batch write to places of their own, in memory that outlives the run.
unsafe impl Sync for Lstm<'_> {}

/// Runs a whole sequence.
///
/// # Safety
/// All memory has the sizes of the run, and what is written is used by nothing else.
pub unsafe fn lstm(run: &Lstm<'_>) {
    let weight = Weight::<4>::of_gates(run.weight, run.sizes.hidden);
    share(run.sizes, |rows| LstmPart { run, weight: &weight, rows });
}

struct LstmPart<'a> {
    run: &'a Lstm<'a>,
    weight: &'a Weight<4>,
    rows: std::ops::Range<usize>,
}

impl Job for LstmPart<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd, const FMA: bool>(&self) {
        let sizes = self.run.sizes;
        for step in 0..sizes.steps {
            for panel in 0..sizes.hidden.div_ceil(S::LANES) {
                // SAFETY: as `lstm`.
                unsafe {
                    in_tiles!(self.rows, S, 4, |row, R| self.tile::<S, FMA, R>(step, panel, row));
                }
            }
        }
    }
}

impl LstmPart<'_> {
    #[inline(always)]
    unsafe fn tile<S: Simd, const FMA: bool, const R: usize>(&self, step: usize, panel: usize, row: usize) {
        let Lstm { sizes, given, first, gates, cells, outputs, .. } = *self.run;
        let (hidden, start) = (sizes.hidden, panel * S::LANES);
        let before = step.checked_sub(1);
        let now = (sizes.time(step) * sizes.batch + row) * hidden;
        // SAFETY: as `lstm`; parts keep vectors inside a gate.
        unsafe {
            let part = S::part(S::LANES.min(hidden - start));
            let given = given.as_ptr().add(4 * now + start);
            let mut sums: Sums<S, 4> = [[S::splat(0.0); 4]; ROWS];
            each_row_of!(R, I, {
                for gate in 0..4 {
                    sums[I][gate] = S::load_part(given.add((4 * I + gate) * hidden), part);
                }
            });
            let state = sizes.at(outputs, first[0].as_ptr(), before, row, hidden);
            let weight = self.weight.panel(start, hidden);
            let sums = tiles::multiply::<S, 4, R>(sums, (state, hidden), weight, hidden);
            let old = sizes.at(cells, first[1].as_ptr(), before, row, hidden).wrapping_add(start);
            each_row_of!(R, I, {
                let [mut enter, mut forget, mut new, mut leave] = sums[I].map(|sum| lanes::<S>(sum));
                let old = read::<S>(old.add(I * hidden), part);
                let (mut cell, mut output) = ([0.0; WIDEST], [0.0; WIDEST]);
                for k in 0..S::LANES {
                    enter[k] = math::sigmoid::<FMA>(enter[k]);
                    forget[k] = math::sigmoid::<FMA>(forget[k]);
                    new[k] = math::tanh::<FMA>(new[k]);
                    leave[k] = math::sigmoid::<FMA>(leave[k]);
                    cell[k] = forget[k] * old[k] + enter[k] * new[k];
                    output[k] = leave[k] * math::tanh::<FMA>(cell[k]);
                }
                write::<S>(cells.add(now + I * hidden + start), part, &cell);
                write::<S>(outputs.add(now + I * hidden + start), part, &output);
                if let Some(gates) = gates {
                    let at = gates.add(4 * now + start);
                    for (gate, opened) in [enter, forget, new, leave].iter().enumerate() {
                        write::<S>(at.add((4 * I + gate) * hidden), part, opened);
                    }
                }
            });
        }
    }
}

/// What the way back of an LSTM reads and writes; `grad_state` is that of the last state and becomes that of the first.
pub struct LstmGrads<'a> {
    pub sizes: Sizes,
    pub gates: &'a [f32],
    pub weight: &'a [f32],
    pub first_cell: &'a [f32],
    pub cells: &'a [f32],
    pub grad_outputs: &'a [f32],
    pub grad_state: [*mut f32; 2],
    pub grad_gates: *mut f32,
}

// SAFETY: as for `Lstm`.
unsafe impl Sync for LstmGrads<'_> {}

/// Runs a whole sequence backwards.
///
/// # Safety
/// As `lstm`.
pub unsafe fn lstm_back(run: &LstmGrads<'_>) {
    let weight = Weight::of_state(run.weight, run.sizes.hidden, 4 * run.sizes.hidden);
    share(run.sizes, |rows| LstmBack { run, weight: &weight, rows });
}

struct LstmBack<'a> {
    run: &'a LstmGrads<'a>,
    weight: &'a Weight<2>,
    rows: std::ops::Range<usize>,
}

impl Job for LstmBack<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd, const FMA: bool>(&self) {
        let LstmGrads { sizes, grad_state, grad_gates, .. } = *self.run;
        let hidden = sizes.hidden;
        for step in (0..sizes.steps).rev() {
            // SAFETY: as `lstm_back`.
            unsafe {
                for row in self.rows.clone() {
                    self.open::<S, FMA>(step, row);
                }
                in_tiles!(self.rows, S, 2, |row, R| {
                    let left = sizes.at(grad_gates, std::ptr::null(), Some(step), row, 4 * hidden);
                    let grad = grad_state[0].add(row * hidden);
                    to_state::<S, R>((left, 4 * hidden), self.weight, (grad, hidden), false);
                });
            }
        }
    }
}

impl LstmBack<'_> {
    /// The gradients of the gates of one sequence at one time, before they were opened.
    #[inline(always)]
    unsafe fn open<S: Simd, const FMA: bool>(&self, step: usize, row: usize) {
        let LstmGrads { sizes, gates, first_cell, cells, grad_outputs, grad_state, grad_gates, .. } = *self.run;
        let hidden = sizes.hidden;
        let now = (sizes.time(step) * sizes.batch + row) * hidden;
        let before = sizes.at(cells.as_ptr(), first_cell.as_ptr(), step.checked_sub(1), row, hidden);
        for start in (0..hidden).step_by(S::LANES) {
            // SAFETY: as `lstm_back`; parts keep vectors inside a gate.
            unsafe {
                let part = S::part(S::LANES.min(hidden - start));
                let gate = |gate: usize| read::<S>(gates.as_ptr().add(4 * now + gate * hidden + start), part);
                let (enter, forget, new, leave) = (gate(0), gate(1), gate(2), gate(3));
                let cell = read::<S>(cells.as_ptr().add(now + start), part);
                let before = read::<S>(before.add(start), part);
                let given = read::<S>(grad_outputs.as_ptr().add(now + start), part);
                let [to_hidden, to_cell] = grad_state.map(|state| state.add(row * hidden + start));
                let grad = read::<S>(to_hidden, part);
                let mut grad_cell = read::<S>(to_cell, part);
                let mut out = [[0.0; WIDEST]; 4];
                for k in 0..S::LANES {
                    let grad = grad[k] + given[k];
                    let shown = math::tanh::<FMA>(cell[k]);
                    let whole = grad_cell[k] + grad * leave[k] * (1.0 - shown * shown);
                    out[0][k] = whole * new[k] * enter[k] * (1.0 - enter[k]);
                    out[1][k] = whole * before[k] * forget[k] * (1.0 - forget[k]);
                    out[2][k] = whole * enter[k] * (1.0 - new[k] * new[k]);
                    out[3][k] = grad * shown * leave[k] * (1.0 - leave[k]);
                    grad_cell[k] = whole * forget[k];
                }
                write::<S>(to_cell, part, &grad_cell);
                for (gate, out) in out.iter().enumerate() {
                    write::<S>(grad_gates.add(4 * now + gate * hidden + start), part, out);
                }
            }
        }
    }
}
