//! Products of columns and norms of float32, carried in float64 (benchmarks/bars.py: prod 0; cases.py: large_norm).
//!
//! As in `reduce`, the order depends on the shape alone. A long product of float32 soon meets subnormal numbers, which are
//! slow; in float64 it seldom does.

use std::marker::PhantomData;

use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::processor::{ask, asks_ahead};
use super::reduce::{Cascade, Plan, steps};
use super::reducers::Fold;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

const LANES: usize = 64;
const VECTOR: usize = 16;
/// Elements of one slice that a unit folds in its lanes.
const UNIT: usize = 4096;
/// Elements by which memory is asked for ahead.
const AHEAD: usize = 512;
/// Columns that are folded side by side.
const COLUMNS: usize = 256;
/// Columns whose totals stay in registers, for so many rows.
const TOGETHER: usize = 32;
const STRIPE: usize = 16;
/// Rows that a unit of columns folds.
const ROWS: usize = 128;
/// Elements that make a task worth sending to another thread.
const TASK: usize = 8192;

trait Rule: Copy + Sync {
    const EMPTY: f64;
    /// Whether slices of neighbours are folded too, not columns alone.
    const SLICES: bool = true;
    fn step<const FMA: bool>(total: f64, x: f64) -> f64;
    fn join(left: f64, right: f64) -> f64;
    fn finish(total: f64) -> f64 {
        total
    }
}

#[derive(Clone, Copy)]
struct Product;

impl Rule for Product {
    const EMPTY: f64 = 1.0;
    // In lanes of float32 they are short, and twice as fast.
    const SLICES: bool = false;
    #[inline(always)]
    fn step<const FMA: bool>(total: f64, x: f64) -> f64 {
        total * x
    }
    #[inline(always)]
    fn join(left: f64, right: f64) -> f64 {
        left * right
    }
}

#[derive(Clone, Copy)]
struct Sizes;

impl Rule for Sizes {
    const EMPTY: f64 = 0.0;
    #[inline(always)]
    fn step<const FMA: bool>(total: f64, x: f64) -> f64 {
        total + x.abs()
    }
    #[inline(always)]
    fn join(left: f64, right: f64) -> f64 {
        left + right
    }
}

#[derive(Clone, Copy)]
struct Squares;

impl Rule for Squares {
    const EMPTY: f64 = 0.0;
    #[inline(always)]
    fn step<const FMA: bool>(total: f64, x: f64) -> f64 {
        // The square of a float32 is exact in float64: both are the same.
        if FMA { x.mul_add(x, total) } else { total + x * x }
    }
    #[inline(always)]
    fn join(left: f64, right: f64) -> f64 {
        left + right
    }
    fn finish(total: f64) -> f64 {
        total.sqrt()
    }
}

/// Runs the fold where it is one of these and its slices lie well in memory; says whether it did.
///
/// # Safety
/// The plan lies inside `input`, which holds aligned float32; `output` has room for the results.
pub(super) unsafe fn fold(which: Fold, input: Memory, plan: &Plan, output: Memory) -> bool {
    match which {
        Fold::Prod => run::<Product>(input, plan, output),
        Fold::Norm(1.0) => run::<Sizes>(input, plan, output),
        Fold::Norm(2.0) => run::<Squares>(input, plan, output),
        _ => false,
    }
}

fn run<R: Rule>(input: Memory, plan: &Plan, output: Memory) -> bool {
    let Some(inner) = plan.reduced.last() else { return false };
    if plan.outputs == 0 || plan.count == 0 {
        return false;
    }
    if R::SLICES && inner.from == 1 && (inner.size >= LANES || plan.reduced.len() == 1) {
        slices::<R>(input, plan, output);
        return true;
    }
    let adjacent = plan.kept.last().is_some_and(|kept| kept.from == 1 && kept.size >= 16);
    if adjacent && plan.reduced.len() == 1 {
        columns::<R>(input, plan, output);
        return true;
    }
    false
}

fn put<R: Rule>(output: Memory, to: usize, total: f64) {
    // SAFETY: each slice has its own place in the output.
    unsafe { output.write(to, R::finish(total) as f32) };
}

fn slices<R: Rule>(input: Memory, plan: &Plan, output: Memory) {
    let Some((inner, outer)) = plan.reduced.split_last() else { return };
    let parts = inner.size.div_ceil(UNIT);
    let units = plan.count / inner.size * parts;
    let asks = asks_ahead();
    let unit = |start: usize, index: usize| {
        let (row, first) = (index / parts, index % parts * UNIT);
        let at = start + steps(outer, row).0 + first;
        // SAFETY: the plan stays inside the geometry, and a slice's elements are neighbours.
        let part = unsafe { std::slice::from_raw_parts(input.at::<f32>(at), UNIT.min(inner.size - first)) };
        let mut total = R::EMPTY;
        dispatch(Row::<R> { part, total: &mut total, asks, rule: PhantomData });
        total
    };
    let slice = |index: usize, spread: bool| {
        let (from, to) = steps(&plan.kept, index);
        let start = plan.offset + from;
        let mut cascade = Cascade::new();
        if spread && units > 1 {
            let found = gathered(units, (TASK / inner.size.min(UNIT)).max(1), R::EMPTY, |index| unit(start, index));
            found.into_iter().for_each(|total| cascade.push(total, R::join));
        } else {
            (0..units).for_each(|index| cascade.push(unit(start, index), R::join));
        }
        put::<R>(output, to, cascade.finish(R::EMPTY, R::join));
    };
    let parallel = plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE;
    if parallel && plan.outputs >= 16 {
        spread_over(plan.outputs, (TASK / plan.count).max(1), &|index| slice(index, false));
    } else {
        (0..plan.outputs).for_each(|index| slice(index, parallel));
    }
}

struct Row<'a, R> {
    part: &'a [f32],
    total: &'a mut f64,
    asks: bool,
    rule: PhantomData<R>,
}

impl<R: Rule> Task for Row<'_, R> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut lanes = [R::EMPTY; LANES];
        let (chunks, rest) = self.part.as_chunks::<LANES>();
        for chunk in chunks {
            if self.asks {
                (0..LANES).step_by(16).for_each(|k| ask(chunk.as_ptr().wrapping_add(AHEAD + k)));
            }
            for k in 0..LANES {
                lanes[k] = R::step::<FMA>(lanes[k], f64::from(chunk[k]));
            }
        }
        // Vectors first: a loop over single numbers takes long.
        let (vectors, rest) = rest.as_chunks::<VECTOR>();
        for k in 0..LANES / VECTOR {
            let Some(vector) = vectors.get(k) else { break };
            for j in 0..VECTOR {
                lanes[k * VECTOR + j] = R::step::<FMA>(lanes[k * VECTOR + j], f64::from(vector[j]));
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(rest) {
            *lane = R::step::<FMA>(*lane, f64::from(x));
        }
        let mut width = LANES / 2;
        while width > 0 {
            for k in 0..width {
                lanes[k] = R::join(lanes[k], lanes[k + width]);
            }
            width /= 2;
        }
        *self.total = lanes[0];
    }
}

fn columns<R: Rule>(input: Memory, plan: &Plan, output: Memory) {
    let (Some((inner, outer)), Some(reduced)) = (plan.kept.split_last(), plan.reduced.last()) else { return };
    let (blocks, units) = (inner.size.div_ceil(COLUMNS), reduced.size.div_ceil(ROWS));
    let room = COLUMNS.min(inner.size);
    let tasks = plan.outputs / inner.size * blocks;
    let width = |task: usize| COLUMNS.min(inner.size - task % blocks * COLUMNS);
    let mut found = vec![R::EMPTY; tasks * units * room];
    let places = Shared(found.as_mut_ptr());
    let unit = |index: usize| {
        let (task, first) = (index / units, index % units * ROWS);
        let start = plan.offset + steps(outer, task / blocks).0 + task % blocks * COLUMNS;
        // SAFETY: each unit has a place of its own.
        let totals = unsafe { places.slice(index * room, width(task)) };
        let (from, rows) = (input.at::<f32>(start + first * reduced.from), ROWS.min(reduced.size - first));
        dispatch(Columns::<R> { from, step: reduced.from, rows, totals, rule: PhantomData });
    };
    if plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE {
        spread_over(tasks * units, 1, &unit);
    } else {
        (0..tasks * units).for_each(unit);
    }
    for (task, found) in found.chunks_exact(units * room).enumerate() {
        let to = steps(outer, task / blocks).1 + task % blocks * COLUMNS * inner.to;
        for column in 0..width(task) {
            let total = found[column..].iter().step_by(room).fold(R::EMPTY, |total, &next| R::join(total, next));
            put::<R>(output, to + column * inner.to, total);
        }
    }
}

struct Columns<'a, R> {
    from: *const f32,
    step: usize,
    rows: usize,
    totals: &'a mut [f64],
    rule: PhantomData<R>,
}

impl<R: Rule> Task for Columns<'_, R> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (blocks, rest) = self.totals.as_chunks_mut::<TOGETHER>();
        let done = blocks.len() * TOGETHER;
        for first in (0..self.rows).step_by(STRIPE) {
            let stripe = first..self.rows.min(first + STRIPE);
            for (block, totals) in blocks.iter_mut().enumerate() {
                let mut sums = *totals;
                for row in stripe.clone() {
                    // SAFETY: the rows lie inside the geometry, as wide as there are totals.
                    let x = unsafe { &*self.from.add(row * self.step + block * TOGETHER).cast::<[f32; TOGETHER]>() };
                    for k in 0..TOGETHER {
                        sums[k] = R::step::<FMA>(sums[k], f64::from(x[k]));
                    }
                }
                *totals = sums;
            }
            for row in stripe {
                // SAFETY: as above.
                let x = unsafe { std::slice::from_raw_parts(self.from.add(row * self.step + done), rest.len()) };
                for (total, &x) in rest.iter_mut().zip(x) {
                    *total = R::step::<FMA>(*total, f64::from(x));
                }
            }
        }
    }
}
