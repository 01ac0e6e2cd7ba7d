//! Folds over any dimensions, bit-identical from run to run (benchmarks/cases.py: large_sum, large_sum_rows).
//!
//! The order of additions depends on shape and strides alone: elements go to fixed lanes, lanes to fixed units, units to
//! a fixed tree. Threads only choose who computes a unit.

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::vector::{Task, dispatch_narrow};
use crate::tensor::geometry::Geometry;

/// How values are folded into one.
pub trait Reducer: Sync {
    type Item: Copy + Send + Sync;
    /// What steps need to know of the slice; made from its first element.
    type Context: Copy + Send + Sync;
    type Sum: Copy + Send + Sync;
    type Out: Copy;
    fn context(&self, first: Self::Item) -> Self::Context;
    fn start(&self) -> Self::Sum;
    fn step(&self, context: Self::Context, sum: Self::Sum, item: Self::Item) -> Self::Sum;
    fn merge(&self, left: Self::Sum, right: Self::Sum) -> Self::Sum;
    fn finish(&self, sum: Self::Sum, count: usize) -> Self::Out;
}

const LANES: usize = 32;
/// Elements of one slice that a unit adds up in its lanes.
const UNIT: usize = 4096;
/// Columns that are folded side by side when slices are not adjacent in memory.
const COLUMNS: usize = 64;
/// Rows that a unit of columns adds up.
const ROWS: usize = 128;
/// Elements that make a task worth sending to another thread.
const TASK: usize = 8192;

#[derive(Clone, Copy)]
pub(super) struct Loop {
    pub size: usize,
    pub from: usize,
    pub to: usize,
}

pub(super) type Loops = SmallVec<[Loop; 6]>;

/// Where the slices of a reduction lie.
pub(super) struct Plan {
    pub kept: Loops,
    pub reduced: Loops,
    pub offset: usize,
    pub outputs: usize,
    pub count: usize,
}

fn merge_loops(mut loops: Loops) -> Loops {
    loops.retain(|level| level.size != 1);
    loops.sort_by_key(|level| std::cmp::Reverse(level.from));
    let mut merged: Loops = SmallVec::new();
    for next in loops {
        match merged.last_mut() {
            Some(last) if last.from == next.from * next.size && last.to == next.to * next.size => {
                *last = Loop { size: last.size * next.size, ..next };
            }
            _ => merged.push(next),
        }
    }
    merged
}

pub(super) fn steps(loops: &[Loop], mut index: usize) -> (usize, usize) {
    // The usual case, without divisions.
    if let [level] = loops {
        return (index * level.from, index * level.to);
    }
    let (mut from, mut to) = (0, 0);
    for level in loops.iter().rev() {
        let at = index % level.size;
        index /= level.size;
        from += at * level.from;
        to += at * level.to;
    }
    (from, to)
}

impl Plan {
    pub(super) fn new(geometry: &Geometry, dims: &[usize]) -> Self {
        let (mut kept, mut reduced) = (Loops::new(), Loops::new());
        let mut to = 1;
        for (dim, (&size, &from)) in geometry.shape.iter().zip(&geometry.strides).enumerate().rev() {
            if dims.contains(&dim) {
                reduced.push(Loop { size, from, to: 0 });
            } else {
                kept.push(Loop { size, from, to });
                to *= size;
            }
        }
        let total = |loops: &Loops| loops.iter().map(|level| level.size).product();
        let (outputs, count) = (total(&kept), total(&reduced));
        Self { kept: merge_loops(kept), reduced: merge_loops(reduced), offset: geometry.offset, outputs, count }
    }

    /// Whether neighbours in memory belong to different slices.
    pub(super) fn is_vertical(&self) -> bool {
        // What is expanded has no neighbours along that dimension.
        let nearest = |loops: &Loops| loops.iter().rev().map(|level| level.from).find(|&from| from > 0);
        match (self.kept.last(), nearest(&self.reduced)) {
            (Some(kept), Some(reduced)) => kept.from < reduced,
            (Some(kept), None) => kept.from > 0 && !self.reduced.is_empty(),
            _ => false,
        }
    }
}

impl Plan {
    /// Whether slices have so few elements that what stands around a loop over them takes longer than the loop, and no vectors
    /// of neighbouring slices do better.
    fn has_short_slices(&self) -> bool {
        let few = self.reduced.len() == 1 && self.count < LANES;
        few && (!self.is_vertical() || self.kept.last().is_some_and(|kept| kept.size < 8))
    }
}

/// Adds sums pairwise in the order of arrival, as a balanced tree would.
pub(super) struct Cascade<T> {
    stack: SmallVec<[T; 8]>,
    count: u64,
}

impl<T: Copy> Cascade<T> {
    pub(super) fn new() -> Self {
        Self { stack: SmallVec::new(), count: 0 }
    }

    pub(super) fn push(&mut self, mut value: T, merge: impl Fn(T, T) -> T) {
        let mut level = self.count;
        while level & 1 == 1 {
            if let Some(left) = self.stack.pop() {
                value = merge(left, value);
            }
            level >>= 1;
        }
        self.stack.push(value);
        self.count += 1;
    }

    pub(super) fn finish(mut self, empty: T, merge: impl Fn(T, T) -> T) -> T {
        let Some(mut value) = self.stack.pop() else { return empty };
        while let Some(left) = self.stack.pop() {
            value = merge(left, value);
        }
        value
    }
}

/// Folds every slice of `input` along `dims` and writes one element per slice to `output`, in row-major order.
///
/// # Safety
/// `geometry` lies inside `input`, which holds `R::Item`; `output` has room for the results.
pub unsafe fn reduce<R: Reducer>(reducer: &R, input: Memory, geometry: &Geometry, dims: &[usize], output: Memory) {
    let plan = Plan::new(geometry, dims);
    if plan.outputs == 0 {
        return;
    }
    if plan.count == 0 {
        for index in 0..plan.outputs {
            // SAFETY: `output` has room for all results.
            unsafe { output.write(index, reducer.finish(reducer.start(), 0)) };
        }
    } else if plan.has_short_slices() {
        short(reducer, input, &plan, output);
    } else if plan.is_vertical() {
        vertical(reducer, input, &plan, output);
    } else {
        horizontal(reducer, input, &plan, output);
    }
}

/// Slices of a few elements, one after the other.
fn short<R: Reducer>(reducer: &R, input: Memory, plan: &Plan, output: Memory) {
    let Some(inner) = plan.reduced.first() else { return };
    let together = (TASK / plan.count).max(1);
    let some = |number: usize| {
        for index in number * together..plan.outputs.min((number + 1) * together) {
            let (from, to) = steps(&plan.kept, index);
            // SAFETY: the plan stays inside the geometry, and each slice has its own place in the output.
            unsafe {
                let item = |at: usize| input.read(plan.offset + from + at * inner.from);
                let context = reducer.context(item(0));
                let sum = (0..plan.count).fold(reducer.start(), |sum, at| reducer.step(context, sum, item(at)));
                output.write(to, reducer.finish(sum, plan.count));
            }
        }
    };
    let parts = plan.outputs.div_ceil(together);
    if plan.outputs.saturating_mul(plan.count) < PARALLEL_ABOVE {
        (0..parts).for_each(some);
    } else {
        spread_over(parts, 1, &some);
    }
}

fn horizontal<R: Reducer>(reducer: &R, input: Memory, plan: &Plan, output: Memory) {
    let parallel = plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE;
    let slice = |index: usize, spread: bool| {
        let (from, to) = steps(&plan.kept, index);
        let sum = fold_slice(reducer, input, plan, plan.offset + from, spread);
        // SAFETY: each slice has its own place in the output.
        unsafe { output.write(to, reducer.finish(sum, plan.count)) };
    };
    if parallel && plan.outputs >= LANES {
        spread_over(plan.outputs, (TASK / plan.count).max(1), &|index| slice(index, false));
    } else {
        (0..plan.outputs).for_each(|index| slice(index, parallel));
    }
}

/// The sum of the slice that starts at `start`.
fn fold_slice<R: Reducer>(reducer: &R, input: Memory, plan: &Plan, start: usize, spread: bool) -> R::Sum {
    // SAFETY: slices are not empty here, and the plan stays inside the geometry.
    let context = reducer.context(unsafe { input.read(start) });
    let Some((inner, outer)) = plan.reduced.split_last() else {
        // SAFETY: as above.
        return reducer.step(context, reducer.start(), unsafe { input.read(start) });
    };
    let rows = plan.count / inner.size;
    let (parts, together) = (inner.size.div_ceil(UNIT), (UNIT / inner.size).max(1));
    let units = if parts > 1 { rows * parts } else { rows.div_ceil(together) };
    let unit = |index: usize| {
        if parts > 1 {
            let (row, first) = (index / parts, index % parts * UNIT);
            let at = start + steps(outer, row).0 + first * inner.from;
            let mut lanes = [reducer.start(); LANES];
            fold_row(reducer, context, &mut lanes, input, at, UNIT.min(inner.size - first), inner.from);
            return join(reducer, lanes);
        }
        let range = index * together..rows.min((index + 1) * together);
        if range.len() * inner.size < LANES {
            return range.fold(reducer.start(), |sum, row| {
                let at = start + steps(outer, row).0;
                // SAFETY: the plan stays inside the geometry.
                let item = |i: usize| unsafe { input.read(at + i * inner.from) };
                (0..inner.size).fold(sum, |sum, i| reducer.step(context, sum, item(i)))
            });
        }
        let mut lanes = [reducer.start(); LANES];
        for row in range {
            fold_row(reducer, context, &mut lanes, input, start + steps(outer, row).0, inner.size, inner.from);
        }
        join(reducer, lanes)
    };
    if units == 1 {
        return unit(0);
    }
    let merge = |left, right| reducer.merge(left, right);
    let mut cascade = Cascade::new();
    if spread {
        gathered(units, 4, reducer.start(), unit).into_iter().for_each(|sum| cascade.push(sum, merge));
    } else {
        (0..units).for_each(|index| cascade.push(unit(index), merge));
    }
    cascade.finish(reducer.start(), merge)
}

fn fold_row<R: Reducer>(
    reducer: &R,
    context: R::Context,
    lanes: &mut [R::Sum; LANES],
    input: Memory,
    at: usize,
    length: usize,
    step: usize,
) {
    // Calls of their own, so that the compiler makes vector loops for adjacent elements.
    #[cfg(target_arch = "x86_64")]
    if step == 1 && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { fold_adjacent(reducer, context, lanes, input, at, length) };
        return;
    }
    if step == 1 {
        fold_steps(reducer, context, lanes, input, at, length, 1);
    } else {
        fold_steps(reducer, context, lanes, input, at, length, step);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fold_adjacent<R: Reducer>(
    reducer: &R,
    context: R::Context,
    lanes: &mut [R::Sum; LANES],
    input: Memory,
    at: usize,
    length: usize,
) {
    fold_steps(reducer, context, lanes, input, at, length, 1);
}

#[inline(always)]
fn fold_steps<R: Reducer>(
    reducer: &R,
    context: R::Context,
    lanes: &mut [R::Sum; LANES],
    input: Memory,
    at: usize,
    length: usize,
    step: usize,
) {
    let mut sums = *lanes;
    let whole = length / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the plan stays inside the geometry.
            *sum = reducer.step(context, *sum, unsafe { input.read(at + (first + lane) * step) });
        }
    }
    for (lane, sum) in sums.iter_mut().enumerate().take(length - whole) {
        // SAFETY: as above.
        *sum = reducer.step(context, *sum, unsafe { input.read(at + (whole + lane) * step) });
    }
    *lanes = sums;
}

fn join<R: Reducer>(reducer: &R, mut lanes: [R::Sum; LANES]) -> R::Sum {
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = lanes.split_at_mut(width);
        for (left, right) in low.iter_mut().zip(high) {
            *left = reducer.merge(*left, *right);
        }
        width /= 2;
    }
    lanes[0]
}

/// Slices side by side: whole rows of neighbours are added at a time.
fn vertical<R: Reducer>(reducer: &R, input: Memory, plan: &Plan, output: Memory) {
    let Some((inner, outer)) = plan.kept.split_last() else { return };
    let blocks = inner.size.div_ceil(COLUMNS);
    let tasks = plan.outputs / inner.size * blocks;
    let parallel = plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE;
    let task = |index: usize, spread: bool| {
        let (from, to) = steps(outer, index / blocks);
        let first = index % blocks * COLUMNS;
        let width = COLUMNS.min(inner.size - first);
        let start = plan.offset + from + first * inner.from;
        let sums = fold_columns(reducer, input, plan, start, width, inner.from, spread);
        for (column, &sum) in sums.iter().enumerate().take(width) {
            // SAFETY: each slice has its own place in the output.
            unsafe { output.write(to + (first + column) * inner.to, reducer.finish(sum, plan.count)) };
        }
    };
    if parallel && tasks >= 8 {
        spread_over(tasks, (TASK / (plan.count * COLUMNS)).max(1), &|index| task(index, false));
    } else {
        (0..tasks).for_each(|index| task(index, parallel));
    }
}

fn fold_columns<R: Reducer>(
    reducer: &R,
    input: Memory,
    plan: &Plan,
    start: usize,
    width: usize,
    step: usize,
    spread: bool,
) -> [R::Sum; COLUMNS] {
    // SAFETY: the plan stays inside the geometry; the first column stands in for those past the width.
    let first = |column: usize| unsafe { input.read(start + if column < width { column * step } else { 0 }) };
    let contexts: [R::Context; COLUMNS] = std::array::from_fn(|column| reducer.context(first(column)));
    let unit = |index: usize| {
        let mut sums = [reducer.start(); COLUMNS];
        for row in index * ROWS..plan.count.min((index + 1) * ROWS) {
            let at = start + steps(&plan.reduced, row).0;
            if step == 1 && width == COLUMNS {
                add_adjacent(reducer, &contexts, &mut sums, input, at);
            } else {
                add_row(reducer, &contexts, &mut sums, input, at, width, step);
            }
        }
        sums
    };
    let merge = |left: [R::Sum; COLUMNS], right: [R::Sum; COLUMNS]| {
        std::array::from_fn(|column| reducer.merge(left[column], right[column]))
    };
    // Rows that lie one behind the other are gone through as one.
    let behind = plan.reduced.len() == 1 && plan.reduced[0].from == width && step == 1 && width < NARROW;
    let narrow = |index: usize| {
        let rows = index * TOGETHER * ROWS..plan.count.min((index + 1) * TOGETHER * ROWS);
        add_narrow(reducer, &contexts, input, start + rows.start * width, rows.len(), width)
    };
    let (unit, rows): (&(dyn Fn(usize) -> [R::Sum; COLUMNS] + Sync), _) =
        if behind { (&narrow, TOGETHER * ROWS) } else { (&unit, ROWS) };
    let units = plan.count.div_ceil(rows);
    if units == 1 {
        return unit(0);
    }
    let mut cascade = Cascade::new();
    if spread {
        let empty = [reducer.start(); COLUMNS];
        gathered(units, 1, empty, unit).into_iter().for_each(|sum| cascade.push(sum, merge));
    } else {
        (0..units).for_each(|index| cascade.push(unit(index), merge));
    }
    cascade.finish([reducer.start(); COLUMNS], merge)
}

/// Columns that are few, and rows of such that are added at a time.
const NARROW: usize = 8;
const TOGETHER: usize = 16;

/// The sums of so few columns that several rows fill the vectors.
fn add_narrow<R: Reducer>(
    reducer: &R,
    contexts: &[R::Context; COLUMNS],
    input: Memory,
    at: usize,
    rows: usize,
    width: usize,
) -> [R::Sum; COLUMNS] {
    let repeated: [R::Context; NARROW * TOGETHER] = std::array::from_fn(|lane| contexts[lane % width]);
    let mut lanes = [reducer.start(); NARROW * TOGETHER];
    let used = width * TOGETHER;
    dispatch_narrow(Lanes {
        reducer,
        contexts: &repeated[..used],
        lanes: &mut lanes[..used],
        input,
        at,
        count: rows * width,
    });
    let mut sums = [reducer.start(); COLUMNS];
    for (column, sum) in sums.iter_mut().enumerate().take(width) {
        let each = lanes[..used].iter().skip(column).step_by(width);
        *sum = each.fold(*sum, |total, &lane| reducer.merge(total, lane));
    }
    sums
}

/// Adds elements that lie side by side to lanes in turn.
struct Lanes<'a, R: Reducer> {
    reducer: &'a R,
    contexts: &'a [R::Context],
    lanes: &'a mut [R::Sum],
    input: Memory,
    at: usize,
    count: usize,
}

impl<R: Reducer> Task for Lanes<'_, R> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { reducer, contexts, lanes, input, at, count } = self;
        for first in (0..count).step_by(lanes.len()) {
            let some = lanes.len().min(count - first);
            for (lane, (sum, &context)) in lanes[..some].iter_mut().zip(contexts).enumerate() {
                // SAFETY: the plan stays inside the geometry.
                *sum = reducer.step(context, *sum, unsafe { input.read(at + first + lane) });
            }
        }
    }
}

fn add_adjacent<R: Reducer>(
    reducer: &R,
    contexts: &[R::Context; COLUMNS],
    sums: &mut [R::Sum; COLUMNS],
    input: Memory,
    at: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { add_wide(reducer, contexts, sums, input, at) };
        return;
    }
    add_row(reducer, contexts, sums, input, at, COLUMNS, 1);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_wide<R: Reducer>(
    reducer: &R,
    contexts: &[R::Context; COLUMNS],
    sums: &mut [R::Sum; COLUMNS],
    input: Memory,
    at: usize,
) {
    add_row(reducer, contexts, sums, input, at, COLUMNS, 1);
}

#[inline(always)]
fn add_row<R: Reducer>(
    reducer: &R,
    contexts: &[R::Context; COLUMNS],
    sums: &mut [R::Sum; COLUMNS],
    input: Memory,
    at: usize,
    width: usize,
    step: usize,
) {
    for (column, (sum, &context)) in sums.iter_mut().zip(contexts).enumerate().take(width) {
        // SAFETY: the plan stays inside the geometry.
        *sum = reducer.step(context, *sum, unsafe { input.read(at + column * step) });
    }
}
