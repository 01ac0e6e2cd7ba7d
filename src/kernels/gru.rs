//! GRU over a whole sequence, forwards and backwards (benchmarks/bars.py: recurrent). Gates stand in torch's order: reset,
//! update, new.

use super::math;
use super::recurrent::{Sizes, Weight, share, to_state};
use super::simd::Simd;
use super::tiles::{self, Job, ROWS, Sums, WIDEST, lanes, read, write};
use crate::{each_row_of, in_tiles};

/// The memory of one run: `bias` is that of the state's projection; `gates` and what the projection gives for the new
/// state are kept for the way back.
pub struct Gru<'a> {
    pub sizes: Sizes,
    pub given: &'a [f32],
    pub bias: Option<&'a [f32]>,
    pub weight: &'a [f32],
    pub first: &'a [f32],
    pub kept: Option<[*mut f32; 2]>,
    pub outputs: *mut f32,
}

// SAFETY: as for `Lstm`.
unsafe impl Sync for Gru<'_> {}

/// Runs a whole sequence.
///
/// # Safety
/// As `lstm`.
pub unsafe fn gru(run: &Gru<'_>) {
    let weight = Weight::<3>::of_gates(run.weight, run.sizes.hidden);
    share(run.sizes, |rows| GruPart { run, weight: &weight, rows });
}

struct GruPart<'a> {
    run: &'a Gru<'a>,
    weight: &'a Weight<3>,
    rows: std::ops::Range<usize>,
}

impl Job for GruPart<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd, const FMA: bool>(&self) {
        let sizes = self.run.sizes;
        for step in 0..sizes.steps {
            for panel in 0..sizes.hidden.div_ceil(S::LANES) {
                // SAFETY: as `gru`.
                unsafe {
                    in_tiles!(self.rows, S, 3, |row, R| self.tile::<S, FMA, R>(step, panel, row));
                }
            }
        }
    }
}

impl GruPart<'_> {
    #[inline(always)]
    unsafe fn tile<S: Simd, const FMA: bool, const R: usize>(&self, step: usize, panel: usize, row: usize) {
        let Gru { sizes, given, bias, first, kept, outputs, .. } = *self.run;
        let (hidden, start) = (sizes.hidden, panel * S::LANES);
        let now = (sizes.time(step) * sizes.batch + row) * hidden;
        // SAFETY: as `gru`; parts keep vectors inside a gate.
        unsafe {
            let part = S::part(S::LANES.min(hidden - start));
            let mut sums: Sums<S, 3> = [[S::splat(0.0); 3]; ROWS];
            if let Some(bias) = bias {
                let bias: [S::V; 3] =
                    std::array::from_fn(|gate| S::load_part(bias.as_ptr().add(gate * hidden + start), part));
                each_row_of!(R, I, {
                    sums[I] = bias;
                });
            }
            let state = sizes.at(outputs, first.as_ptr(), step.checked_sub(1), row, hidden);
            let weight = self.weight.panel(start, hidden);
            let sums = tiles::multiply::<S, 3, R>(sums, (state, hidden), weight, hidden);
            each_row_of!(R, I, {
                let own = sums[I].map(|sum| lanes::<S>(sum));
                let given: [[f32; WIDEST]; 3] = std::array::from_fn(|gate| {
                    read::<S>(given.as_ptr().add(3 * now + (3 * I + gate) * hidden + start), part)
                });
                let before = read::<S>(state.add(I * hidden + start), part);
                let mut gates = [[0.0; WIDEST]; 3];
                let mut output = [0.0; WIDEST];
                for k in 0..S::LANES {
                    gates[0][k] = math::sigmoid::<FMA>(given[0][k] + own[0][k]);
                    gates[1][k] = math::sigmoid::<FMA>(given[1][k] + own[1][k]);
                    gates[2][k] = math::tanh::<FMA>(given[2][k] + gates[0][k] * own[2][k]);
                    output[k] = gates[2][k] + gates[1][k] * (before[k] - gates[2][k]);
                }
                write::<S>(outputs.add(now + I * hidden + start), part, &output);
                if let Some([opened, new]) = kept {
                    write::<S>(new.add(now + I * hidden + start), part, &own[2]);
                    for (gate, values) in gates.iter().enumerate() {
                        write::<S>(opened.add(3 * now + (3 * I + gate) * hidden + start), part, values);
                    }
                }
            });
        }
    }
}

/// What the way back of a GRU reads and writes; `own` is what the state's projection gave for the new state, `grad_state`
/// is that of the last state and becomes that of the first.
pub struct GruGrads<'a> {
    pub sizes: Sizes,
    pub gates: &'a [f32],
    pub own: &'a [f32],
    pub weight: &'a [f32],
    pub first: &'a [f32],
    pub outputs: &'a [f32],
    pub grad_outputs: &'a [f32],
    pub grad_state: *mut f32,
    pub grad_given: *mut f32,
    pub grad_own: *mut f32,
}

// SAFETY: as for `Lstm`.
unsafe impl Sync for GruGrads<'_> {}

/// Runs a whole sequence backwards.
///
/// # Safety
/// As `lstm`.
pub unsafe fn gru_back(run: &GruGrads<'_>) {
    let weight = Weight::of_state(run.weight, run.sizes.hidden, 3 * run.sizes.hidden);
    share(run.sizes, |rows| GruBack { run, weight: &weight, rows });
}

struct GruBack<'a> {
    run: &'a GruGrads<'a>,
    weight: &'a Weight<2>,
    rows: std::ops::Range<usize>,
}

impl Job for GruBack<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd, const FMA: bool>(&self) {
        let GruGrads { sizes, grad_state, grad_own, .. } = *self.run;
        let hidden = sizes.hidden;
        for step in (0..sizes.steps).rev() {
            // SAFETY: as `gru_back`.
            unsafe {
                for row in self.rows.clone() {
                    self.open::<S>(step, row);
                }
                in_tiles!(self.rows, S, 2, |row, R| {
                    let left = sizes.at(grad_own, std::ptr::null(), Some(step), row, 3 * hidden);
                    let grad = grad_state.add(row * hidden);
                    to_state::<S, R>((left, 3 * hidden), self.weight, (grad, hidden), true);
                });
            }
        }
    }
}

impl GruBack<'_> {
    /// The gradients of both projections of one sequence at one time, and the part of the state's that went past them.
    #[inline(always)]
    unsafe fn open<S: Simd>(&self, step: usize, row: usize) {
        let run = self.run;
        let (sizes, hidden) = (run.sizes, run.sizes.hidden);
        let now = (sizes.time(step) * sizes.batch + row) * hidden;
        let before = sizes.at(run.outputs.as_ptr(), run.first.as_ptr(), step.checked_sub(1), row, hidden);
        for start in (0..hidden).step_by(S::LANES) {
            // SAFETY: as `gru_back`; parts keep vectors inside a gate.
            unsafe {
                let part = S::part(S::LANES.min(hidden - start));
                let gate = |gate: usize| read::<S>(run.gates.as_ptr().add(3 * now + gate * hidden + start), part);
                let (reset, update, new) = (gate(0), gate(1), gate(2));
                let own = read::<S>(run.own.as_ptr().add(now + start), part);
                let before = read::<S>(before.add(start), part);
                let given = read::<S>(run.grad_outputs.as_ptr().add(now + start), part);
                let state = run.grad_state.add(row * hidden + start);
                let mut grad = read::<S>(state, part);
                let mut out = [[0.0; WIDEST]; 4];
                for k in 0..S::LANES {
                    let whole = grad[k] + given[k];
                    out[2][k] = whole * (1.0 - update[k]) * (1.0 - new[k] * new[k]);
                    out[0][k] = out[2][k] * own[k] * reset[k] * (1.0 - reset[k]);
                    out[1][k] = whole * (before[k] - new[k]) * update[k] * (1.0 - update[k]);
                    out[3][k] = out[2][k] * reset[k];
                    grad[k] = whole * update[k];
                }
                write::<S>(state, part, &grad);
                for (gate, place) in [0, 1, 2].into_iter().zip([0, 1, 3]) {
                    let at = 3 * now + gate * hidden + start;
                    write::<S>(run.grad_given.add(at), part, &out[gate]);
                    write::<S>(run.grad_own.add(at), part, &out[place]);
                }
            }
        }
    }
}
