//! LSTM and GRU over a whole sequence: one small product and one pass over the gates per time (benchmarks/bars.py:
//! recurrent).
//!
//! Gates stand in torch's order: in, forget, cell, out for LSTM; reset, update, new for GRU.

use gemm::Parallelism;

use super::math;
use super::vector::{Task, dispatch};

/// Sizes of one direction of one layer: `steps` times of `batch` sequences with `hidden` elements.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub steps: usize,
    pub batch: usize,
    pub hidden: usize,
    pub reverse: bool,
}

impl Sizes {
    /// The times in the order in which they are run.
    fn order(self) -> impl DoubleEndedIterator<Item = usize> {
        let last = self.steps.saturating_sub(1);
        (0..self.steps).map(move |step| if self.reverse { last - step } else { step })
    }
}

/// `out += a @ b` for row-major `out` (m, n) and `a` (m, k); `b` has these strides of rows and columns.
fn add_product(out: &mut [f32], a: &[f32], b: &[f32], [m, n, k]: [usize; 3], [row, column]: [usize; 2]) {
    debug_assert!(out.len() >= m * n && a.len() >= m * k && b.len() >= n * k);
    let threads = if m * n * k > 1 << 20 { Parallelism::Rayon(0) } else { Parallelism::None };
    // SAFETY: the slices have room for the sizes, and `out` is apart from the others.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            true,
            a.as_ptr(),
            1,
            k as isize,
            b.as_ptr(),
            column as isize,
            row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
}

struct LstmGates<'a> {
    gates: &'a mut [f32],
    before: &'a [f32],
    cell: &'a mut [f32],
    output: &'a mut [f32],
    hidden: usize,
}

impl Task for LstmGates<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.hidden;
        let rows = self.gates.chunks_exact_mut(4 * width).zip(self.before.chunks_exact(width));
        let states = self.cell.chunks_exact_mut(width).zip(self.output.chunks_exact_mut(width));
        for ((gates, before), (cell, output)) in rows.zip(states) {
            let (enter, rest) = gates.split_at_mut(width);
            let (forget, rest) = rest.split_at_mut(width);
            let (new, leave) = rest.split_at_mut(width);
            for gate in [&mut *enter, &mut *forget, &mut *leave] {
                gate.iter_mut().for_each(|x| *x = math::sigmoid::<FMA>(*x));
            }
            new.iter_mut().for_each(|x| *x = math::tanh::<FMA>(*x));
            for k in 0..width {
                cell[k] = forget[k] * before[k] + enter[k] * new[k];
            }
            for k in 0..width {
                output[k] = leave[k] * math::tanh::<FMA>(cell[k]);
            }
        }
    }
}

/// The memory of one run: `gates` begins as the projection of the input and becomes the opened gates.
pub struct Lstm<'a> {
    pub sizes: Sizes,
    pub gates: &'a mut [f32],
    pub weight: &'a [f32],
    pub first: [&'a [f32]; 2],
    pub cells: &'a mut [f32],
    pub outputs: &'a mut [f32],
}

/// The part of one time.
fn part(time: usize, size: usize) -> std::ops::Range<usize> {
    time * size..(time + 1) * size
}

pub fn lstm(run: Lstm<'_>) {
    let Sizes { batch, hidden, .. } = run.sizes;
    let size = batch * hidden;
    let mut before: Option<usize> = None;
    for time in run.sizes.order() {
        let gates = &mut run.gates[part(time, 4 * size)];
        let (shown, old) = match before {
            Some(last) => (run.outputs[part(last, size)].to_vec(), run.cells[part(last, size)].to_vec()),
            None => (run.first[0].to_vec(), run.first[1].to_vec()),
        };
        add_product(gates, &shown, run.weight, [batch, 4 * hidden, hidden], [1, hidden]);
        let (cell, output) = (&mut run.cells[part(time, size)], &mut run.outputs[part(time, size)]);
        dispatch(LstmGates { gates, before: &old, cell, output, hidden });
        before = Some(time);
    }
}

struct LstmBack<'a> {
    gates: &'a [f32],
    before: &'a [f32],
    cell: &'a [f32],
    /// Of the output and of the cell after this time; the latter becomes that of the cell before it.
    grad_output: &'a [f32],
    grad_cell: &'a mut [f32],
    out: &'a mut [f32],
    hidden: usize,
}

impl Task for LstmBack<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.hidden;
        let states = self.before.chunks_exact(width).zip(self.cell.chunks_exact(width));
        let grads = self.grad_output.chunks_exact(width).zip(self.grad_cell.chunks_exact_mut(width));
        let gates = self.gates.chunks_exact(4 * width).zip(self.out.chunks_exact_mut(4 * width));
        for (((before, cell), (grad_output, grad_cell)), (gates, out)) in states.zip(grads).zip(gates) {
            let (enter, rest) = gates.split_at(width);
            let (forget, rest) = rest.split_at(width);
            let (new, leave) = rest.split_at(width);
            let (to_enter, rest) = out.split_at_mut(width);
            let (to_forget, rest) = rest.split_at_mut(width);
            let (to_new, to_leave) = rest.split_at_mut(width);
            for k in 0..width {
                let shown = math::tanh::<FMA>(cell[k]);
                to_leave[k] = grad_output[k] * shown * leave[k] * (1.0 - leave[k]);
                grad_cell[k] += grad_output[k] * leave[k] * (1.0 - shown * shown);
            }
            for k in 0..width {
                to_enter[k] = grad_cell[k] * new[k] * enter[k] * (1.0 - enter[k]);
                to_forget[k] = grad_cell[k] * before[k] * forget[k] * (1.0 - forget[k]);
                to_new[k] = grad_cell[k] * enter[k] * (1.0 - new[k] * new[k]);
            }
            for k in 0..width {
                grad_cell[k] *= forget[k];
            }
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
    pub grad_state: [&'a mut [f32]; 2],
    pub grad_gates: &'a mut [f32],
}

pub fn lstm_back(run: LstmGrads<'_>) {
    let Sizes { batch, hidden, .. } = run.sizes;
    let size = batch * hidden;
    let times: Vec<usize> = run.sizes.order().collect();
    let [grad_hidden, grad_cell] = run.grad_state;
    for (step, &time) in times.iter().enumerate().rev() {
        let before = match step.checked_sub(1).and_then(|step| times.get(step)) {
            Some(&last) => &run.cells[part(last, size)],
            None => run.first_cell,
        };
        for (grad, &given) in grad_hidden.iter_mut().zip(&run.grad_outputs[part(time, size)]) {
            *grad += given;
        }
        let out = &mut run.grad_gates[part(time, 4 * size)];
        dispatch(LstmBack {
            gates: &run.gates[part(time, 4 * size)],
            before,
            cell: &run.cells[part(time, size)],
            grad_output: grad_hidden,
            grad_cell: &mut *grad_cell,
            out: &mut *out,
            hidden,
        });
        grad_hidden.fill(0.0);
        add_product(grad_hidden, out, run.weight, [batch, hidden, 4 * hidden], [hidden, 1]);
    }
}

struct GruGates<'a> {
    given: &'a [f32],
    own: &'a mut [f32],
    gates: &'a mut [f32],
    before: &'a [f32],
    output: &'a mut [f32],
    hidden: usize,
}

impl Task for GruGates<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.hidden;
        let rows = self.given.chunks_exact(3 * width).zip(self.own.chunks_exact(3 * width));
        let states = self.before.chunks_exact(width).zip(self.output.chunks_exact_mut(width));
        let rows = rows.zip(self.gates.chunks_exact_mut(3 * width));
        for (((given, own), gates), (before, output)) in rows.zip(states) {
            for k in 0..2 * width {
                gates[k] = math::sigmoid::<FMA>(given[k] + own[k]);
            }
            let (opened, new) = gates.split_at_mut(2 * width);
            for k in 0..width {
                new[k] = math::tanh::<FMA>(given[2 * width + k] + opened[k] * own[2 * width + k]);
            }
            for k in 0..width {
                output[k] = new[k] + opened[width + k] * (before[k] - new[k]);
            }
        }
    }
}

/// The memory of one run: `own` begins as the recurrent bias and becomes the projection of the state.
pub struct Gru<'a> {
    pub sizes: Sizes,
    pub given: &'a [f32],
    pub own: &'a mut [f32],
    pub gates: &'a mut [f32],
    pub weight: &'a [f32],
    pub first: &'a [f32],
    pub outputs: &'a mut [f32],
}

pub fn gru(run: Gru<'_>) {
    let Sizes { batch, hidden, .. } = run.sizes;
    let size = batch * hidden;
    let mut before: Option<usize> = None;
    for time in run.sizes.order() {
        let own = &mut run.own[part(time, 3 * size)];
        let old = match before {
            Some(last) => run.outputs[part(last, size)].to_vec(),
            None => run.first.to_vec(),
        };
        add_product(own, &old, run.weight, [batch, 3 * hidden, hidden], [1, hidden]);
        dispatch(GruGates {
            given: &run.given[part(time, 3 * size)],
            own,
            gates: &mut run.gates[part(time, 3 * size)],
            before: &old,
            output: &mut run.outputs[part(time, size)],
            hidden,
        });
        before = Some(time);
    }
}

struct GruBack<'a> {
    gates: &'a [f32],
    own: &'a [f32],
    before: &'a [f32],
    grad: &'a mut [f32],
    to_given: &'a mut [f32],
    to_own: &'a mut [f32],
    hidden: usize,
}

impl Task for GruBack<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.hidden;
        let rows = self.gates.chunks_exact(3 * width).zip(self.own.chunks_exact(3 * width));
        let states = self.before.chunks_exact(width).zip(self.grad.chunks_exact_mut(width));
        let outs = self.to_given.chunks_exact_mut(3 * width).zip(self.to_own.chunks_exact_mut(3 * width));
        for (((gates, own), (before, grad)), (to_given, to_own)) in rows.zip(states).zip(outs) {
            for k in 0..width {
                let (reset, update, new) = (gates[k], gates[width + k], gates[2 * width + k]);
                let to_new = grad[k] * (1.0 - update) * (1.0 - new * new);
                let to_reset = to_new * own[2 * width + k] * reset * (1.0 - reset);
                let to_update = grad[k] * (before[k] - new) * update * (1.0 - update);
                to_given[k] = to_reset;
                to_own[k] = to_reset;
                to_given[width + k] = to_update;
                to_own[width + k] = to_update;
                to_given[2 * width + k] = to_new;
                to_own[2 * width + k] = to_new * reset;
                grad[k] *= update;
            }
        }
    }
}

/// What the way back of a GRU reads and writes; `grad_state` is that of the last state and becomes that of the first.
pub struct GruGrads<'a> {
    pub sizes: Sizes,
    pub gates: &'a [f32],
    pub own: &'a [f32],
    pub weight: &'a [f32],
    pub first: &'a [f32],
    pub outputs: &'a [f32],
    pub grad_outputs: &'a [f32],
    pub grad_state: &'a mut [f32],
    pub grad_given: &'a mut [f32],
    pub grad_own: &'a mut [f32],
}

pub fn gru_back(run: GruGrads<'_>) {
    let Sizes { batch, hidden, .. } = run.sizes;
    let size = batch * hidden;
    let times: Vec<usize> = run.sizes.order().collect();
    let grad = run.grad_state;
    for (step, &time) in times.iter().enumerate().rev() {
        let before = match step.checked_sub(1).and_then(|step| times.get(step)) {
            Some(&last) => &run.outputs[part(last, size)],
            None => run.first,
        };
        for (grad, &given) in grad.iter_mut().zip(&run.grad_outputs[part(time, size)]) {
            *grad += given;
        }
        let to_own = &mut run.grad_own[part(time, 3 * size)];
        dispatch(GruBack {
            gates: &run.gates[part(time, 3 * size)],
            own: &run.own[part(time, 3 * size)],
            before,
            grad: &mut *grad,
            to_given: &mut run.grad_given[part(time, 3 * size)],
            to_own: &mut *to_own,
            hidden,
        });
        add_product(grad, to_own, run.weight, [batch, hidden, 3 * hidden], [hidden, 1]);
    }
}
