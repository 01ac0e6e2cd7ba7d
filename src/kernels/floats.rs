//! Sums, means, products and extremes of float32 whose slices or columns are adjacent (benchmarks/bars.py: sum, mean, amax).
//!
//! As in `reduce`, the order of additions depends on the shape alone: elements go to fixed lanes, lanes to fixed units,
//! units to a fixed tree.

use super::deep;
use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::lengths;
use super::memory::Memory;
#[cfg(target_arch = "x86_64")]
use super::processor::asks_ahead;
use super::reduce::{Cascade, Loop, Plan, steps};
use super::reducers::Fold;
use super::scratch::Shared;
use super::simd::Simd;
#[cfg(target_arch = "x86_64")]
use super::vector::is_wide;
use super::vector::{Task, dispatch};
#[cfg(target_arch = "x86_64")]
use super::wide_rows::{self, Rows};
use super::widest;
use crate::tensor::geometry::Geometry;

/// Four of the widest vectors, so that additions need not wait for one another.
const LANES: usize = 64;
/// Elements of one slice that a unit adds up in its lanes.
const UNIT: usize = 4096;
/// Columns that are folded side by side: enough for the memory to be read in long stretches.
const COLUMNS: usize = 1024;
/// Rows that a unit of columns adds up.
const ROWS: usize = 128;
/// Elements that make a task worth sending to another thread.
const TASK: usize = 8192;

trait Rule: Copy + Sync {
    const EMPTY: f32;
    fn join(left: f32, right: f32) -> f32;
    /// # Safety
    /// The processor has the instructions of `S`.
    unsafe fn join_all<S: Simd>(left: S::V, right: S::V) -> S::V;
    /// Gives `put` the number and the fold of each row, by AVX-512; asks ahead for memory, or not.
    ///
    /// # Safety
    /// The rows lie there, and the processor has it.
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide<const ASK: bool>(rows: Rows, put: impl FnMut(usize, f32));
    /// Folds rows into the totals of their columns by AVX-512, where that is worth it.
    ///
    /// # Safety
    /// As `wide`, and as many elements of each row are there as sums.
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide_columns(_from: *const f32, _step: usize, _rows: usize, _sums: &mut [f32]) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
struct Total;

impl Rule for Total {
    const EMPTY: f32 = 0.0;
    #[inline(always)]
    fn join(left: f32, right: f32) -> f32 {
        left + right
    }
    #[inline(always)]
    unsafe fn join_all<S: Simd>(left: S::V, right: S::V) -> S::V {
        // SAFETY: the caller's.
        unsafe { S::add(left, right) }
    }
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide<const ASK: bool>(rows: Rows, put: impl FnMut(usize, f32)) {
        // SAFETY: the caller's.
        unsafe { wide_rows::totals::<ASK>(rows, put) }
    }
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide_columns(from: *const f32, step: usize, rows: usize, sums: &mut [f32]) -> bool {
        // SAFETY: the caller's.
        unsafe { wide_rows::column_totals(from, step, rows, sums) };
        true
    }
}

/// Of slices alone: columns are for `deep`.
#[derive(Clone, Copy)]
struct Product;

impl Rule for Product {
    const EMPTY: f32 = 1.0;
    #[inline(always)]
    fn join(left: f32, right: f32) -> f32 {
        left * right
    }
    #[inline(always)]
    unsafe fn join_all<S: Simd>(left: S::V, right: S::V) -> S::V {
        // SAFETY: the caller's.
        unsafe { S::mul(left, right) }
    }
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide<const ASK: bool>(rows: Rows, put: impl FnMut(usize, f32)) {
        // SAFETY: the caller's.
        unsafe { wide_rows::products::<ASK>(rows, put) }
    }
}

/// The greatest (or least) number; a NaN wins.
#[derive(Clone, Copy)]
struct Extreme<const MAX: bool>;

impl<const MAX: bool> Rule for Extreme<MAX> {
    const EMPTY: f32 = if MAX { f32::NEG_INFINITY } else { f32::INFINITY };
    #[inline(always)]
    fn join(left: f32, right: f32) -> f32 {
        let better = if MAX { right > left } else { right < left };
        if better | right.is_nan() { right } else { left }
    }
    #[inline(always)]
    unsafe fn join_all<S: Simd>(left: S::V, right: S::V) -> S::V {
        // SAFETY: the caller's.
        unsafe { S::extreme::<MAX>(left, right) }
    }
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide<const ASK: bool>(rows: Rows, put: impl FnMut(usize, f32)) {
        // SAFETY: the caller's.
        unsafe { wide_rows::extremes::<ASK, MAX>(rows, put) }
    }
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide_columns(from: *const f32, step: usize, rows: usize, sums: &mut [f32]) -> bool {
        // SAFETY: the caller's.
        unsafe { wide_rows::column_extremes::<MAX>(from, step, rows, sums) };
        true
    }
}

/// Runs the fold where it is one of these and its slices lie well in memory; says whether it did.
///
/// # Safety
/// `geometry` lies inside `input`, which holds float32; `output` has room for the results.
pub unsafe fn fold(which: Fold, input: Memory, geometry: &Geometry, dims: &[usize], output: Memory) -> bool {
    let plan = Plan::new(geometry, dims);
    if !input.at::<f32>(0).is_aligned() {
        return false;
    }
    // SAFETY: the caller's.
    if which == Fold::Norm(2.0) && unsafe { lengths::fold(input, &plan, output) } {
        return true;
    }
    // SAFETY: the caller's.
    if unsafe { deep::fold(which, input, &plan, output) } {
        return true;
    }
    let Some(&reduced) = plan.reduced.last() else { return false };
    let Some(shape) = Shape::of(&plan, reduced) else { return false };
    let work = Work { input, output, plan: &plan, reduced, mean: which == Fold::Mean };
    match which {
        Fold::Sum | Fold::Mean => work.run::<Total>(shape),
        Fold::Prod => work.run::<Product>(shape),
        Fold::Max => work.run::<Extreme<true>>(shape),
        Fold::Min => work.run::<Extreme<false>>(shape),
        _ => return false,
    }
    true
}

#[derive(Clone, Copy)]
enum Shape {
    /// A slice's elements are neighbours.
    Slices,
    /// A slice is made of rows apart, the elements of each of which are neighbours.
    Runs,
    /// Neighbours belong to different slices.
    Columns,
}

impl Shape {
    fn of(plan: &Plan, reduced: Loop) -> Option<Self> {
        if plan.reduced.len() > 1 {
            return (reduced.from == 1 && reduced.size >= LANES && plan.count > 0).then_some(Self::Runs);
        }
        if reduced.from == 1 {
            return Some(Self::Slices);
        }
        let adjacent = plan.kept.last().is_some_and(|kept| kept.from == 1 && kept.size >= 16);
        adjacent.then_some(Self::Columns)
    }
}

struct Work<'a> {
    input: Memory,
    output: Memory,
    plan: &'a Plan,
    reduced: Loop,
    mean: bool,
}

impl Work<'_> {
    fn run<R: Rule>(&self, shape: Shape) {
        if self.plan.outputs == 0 {
            return;
        }
        match shape {
            Shape::Slices => self.slices::<R>(),
            Shape::Runs => self.runs::<R>(),
            Shape::Columns => self.columns::<R>(),
        }
    }

    fn is_parallel(&self) -> bool {
        self.plan.outputs.saturating_mul(self.plan.count) >= PARALLEL_ABOVE
    }

    fn put(&self, to: usize, total: f32) {
        let value = if self.mean { (f64::from(total) / self.plan.count as f64) as f32 } else { total };
        // SAFETY: each slice has its own place in the output.
        unsafe { self.output.write(to, value) };
    }

    fn slices<R: Rule>(&self) {
        #[cfg(target_arch = "x86_64")]
        if let ([level], true) = (self.plan.kept.as_slice(), is_wide::<f32>() && self.reduced.size <= UNIT) {
            let each = (TASK / self.reduced.size.max(1)).max(1);
            let some = |part: usize| {
                let (first, count) = (part * each, each.min(level.size - part * each));
                let from = self.input.at(self.plan.offset + first * level.from);
                let rows = Rows { from, step: level.from, count, length: self.reduced.size };
                // SAFETY: the plan stays inside the geometry, rows are neighbours, and the processor has AVX-512.
                unsafe { fold_rows::<R>(rows, |row, total| self.put((first + row) * level.to, total)) };
            };
            let parts = level.size.div_ceil(each);
            return if self.is_parallel() { spread_over(parts, 1, &some) } else { (0..parts).for_each(some) };
        }
        let one = |index: usize, spread: bool| {
            let (from, to) = steps(&self.plan.kept, index);
            // SAFETY: the plan stays inside the geometry, and the slice's elements are neighbours.
            let slice =
                unsafe { std::slice::from_raw_parts(self.input.at::<f32>(self.plan.offset + from), self.reduced.size) };
            self.put(to, slice_total::<R>(slice, spread));
        };
        if self.is_parallel() && self.plan.outputs >= 32 {
            spread_over(self.plan.outputs, (TASK / self.plan.count).max(1), &|index| one(index, false));
        } else {
            (0..self.plan.outputs).for_each(|index| one(index, self.is_parallel()));
        }
    }

    fn runs<R: Rule>(&self) {
        let (size, count) = (self.reduced.size, self.plan.count / self.reduced.size.max(1));
        let Some((_, outer)) = self.plan.reduced.split_last() else { return };
        let row = |index: usize| {
            let start = self.plan.offset + steps(&self.plan.kept, index / count).0 + steps(outer, index % count).0;
            // SAFETY: the plan stays inside the geometry, and a row's elements are neighbours.
            slice_total::<R>(unsafe { std::slice::from_raw_parts(self.input.at::<f32>(start), size) }, false)
        };
        let rows = self.plan.outputs * count;
        let found = if self.is_parallel() {
            gathered(rows, (TASK / size.max(1)).max(1), R::EMPTY, row)
        } else {
            (0..rows).map(row).collect()
        };
        for (index, found) in found.chunks_exact(count.max(1)).enumerate() {
            let mut cascade = Cascade::new();
            found.iter().for_each(|&total| cascade.push(total, R::join));
            self.put(steps(&self.plan.kept, index).1, cascade.finish(R::EMPTY, R::join));
        }
    }

    fn columns<R: Rule>(&self) {
        let Some((inner, outer)) = self.plan.kept.split_last() else { return };
        let (blocks, units) = (inner.size.div_ceil(COLUMNS), self.reduced.size.div_ceil(ROWS));
        let tasks = self.plan.outputs / inner.size * blocks;
        let width = |task: usize| COLUMNS.min(inner.size - task % blocks * COLUMNS);
        let add = |task: usize, unit: usize, sums: &mut [f32]| {
            let start = self.plan.offset + steps(outer, task / blocks).0 + task % blocks * COLUMNS;
            let first = unit * ROWS;
            let (from, step) = (self.input.at(start + first * self.reduced.from), self.reduced.from);
            let rows = ROWS.min(self.reduced.size - first);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the rows lie inside the geometry, and the processor has AVX-512.
            if is_wide::<f32>() && unsafe { R::wide_columns(from, step, rows, sums) } {
                return;
            }
            dispatch(Columns::<R> { from, step, rows, sums, rule: std::marker::PhantomData });
        };
        let finish = |task: usize, unit: &dyn Fn(usize, &mut [f32])| {
            let mut tree = Tree::<R>::new(width(task));
            (0..units).for_each(|index| tree.push(|sums| unit(index, sums)));
            let to = steps(outer, task / blocks).1 + task % blocks * COLUMNS * inner.to;
            for (column, &total) in tree.finish().iter().enumerate() {
                self.put(to + column * inner.to, total);
            }
        };
        let whole = |task: usize| finish(task, &|index, sums| add(task, index, sums));
        if !self.is_parallel() {
            (0..tasks).for_each(whole);
        } else if tasks >= 16 || units == 1 {
            spread_over(tasks, (TASK / (self.plan.count * COLUMNS)).max(1), &whole);
        } else {
            let mut found = vec![R::EMPTY; tasks * units * COLUMNS];
            let places = Shared(found.as_mut_ptr());
            spread_over(tasks * units, 1, &|index| {
                // SAFETY: each unit has a place of its own.
                let sums = unsafe { places.slice(index * COLUMNS, width(index / units)) };
                add(index / units, index % units, sums);
            });
            for (task, found) in found.chunks_exact(units * COLUMNS).enumerate() {
                finish(task, &|index, sums| sums.copy_from_slice(&found[index * COLUMNS..][..sums.len()]));
            }
        }
    }
}

/// Totals of columns, added pairwise in the order of arrival as a balanced tree would: what `Cascade` does, without
/// moving them about.
struct Tree<R> {
    width: usize,
    /// Rows of totals that wait for their neighbour.
    rows: Vec<f32>,
    count: u64,
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> Tree<R> {
    fn new(width: usize) -> Self {
        Self { width, rows: Vec::new(), count: 0, rule: std::marker::PhantomData }
    }

    fn push(&mut self, fill: impl FnOnce(&mut [f32])) {
        let last = self.rows.len();
        self.rows.resize(last + self.width, R::EMPTY);
        fill(&mut self.rows[last..]);
        (0..self.count.trailing_ones()).for_each(|_| self.join());
        self.count += 1;
    }

    /// Joins the last two rows.
    fn join(&mut self) {
        let last = self.rows.len() - self.width;
        let (rest, right) = self.rows.split_at_mut(last);
        for (left, &right) in rest[last - self.width..].iter_mut().zip(&*right) {
            *left = R::join(*left, right);
        }
        self.rows.truncate(last);
    }

    fn finish(&mut self) -> &[f32] {
        if self.rows.is_empty() {
            self.rows.resize(self.width, R::EMPTY);
        }
        while self.rows.len() > self.width {
            self.join();
        }
        &self.rows
    }
}

/// # Safety
/// As `Rule::wide`.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn fold_rows<R: Rule>(rows: Rows, put: impl FnMut(usize, f32)) {
    // SAFETY: the caller's.
    unsafe { if asks_ahead() { R::wide::<true>(rows, put) } else { R::wide::<false>(rows, put) } }
}

fn slice_total<R: Rule>(slice: &[f32], spread: bool) -> f32 {
    let unit = |part: &[f32]| {
        #[cfg(target_arch = "x86_64")]
        if is_wide::<f32>() {
            let (mut found, rows) = (R::EMPTY, Rows { from: part.as_ptr(), step: 0, count: 1, length: part.len() });
            // SAFETY: the row lies there, and the processor has AVX-512.
            unsafe { fold_rows::<R>(rows, |_, total| found = total) };
            return found;
        }
        let mut total = R::EMPTY;
        widest::run(Slice::<R> { part, total: &mut total, rule: std::marker::PhantomData });
        total
    };
    if slice.len() <= UNIT {
        return unit(slice);
    }
    let mut cascade = Cascade::new();
    if spread {
        let part = |index: usize| unit(&slice[index * UNIT..slice.len().min((index + 1) * UNIT)]);
        let found = gathered(slice.len().div_ceil(UNIT), 4, R::EMPTY, part);
        found.into_iter().for_each(|total| cascade.push(total, R::join));
    } else {
        slice.chunks(UNIT).for_each(|part| cascade.push(unit(part), R::join));
    }
    cascade.finish(R::EMPTY, R::join)
}

struct Slice<'a, R> {
    part: &'a [f32],
    total: &'a mut f32,
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> widest::Work for Slice<'_, R> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (from, length) = (self.part.as_ptr(), self.part.len());
        let (count, whole) = (LANES / S::LANES, length / LANES * LANES);
        let mut lanes = [R::EMPTY; 16];
        // SAFETY: the caller's; whole vectors are read from the part, and there are as many lanes as the widest has.
        unsafe {
            // As many as the narrowest vectors need.
            let mut sums = [S::splat(R::EMPTY); LANES / 4];
            for at in (0..whole).step_by(LANES) {
                for k in 0..count {
                    sums[k] = R::join_all::<S>(sums[k], S::load(from.add(at + k * S::LANES)));
                }
            }
            // Vectors first: a loop over single numbers takes longer than all before it.
            let rest = (length - whole) / S::LANES;
            for k in 0..count {
                if k < rest {
                    sums[k] = R::join_all::<S>(sums[k], S::load(from.add(whole + k * S::LANES)));
                }
            }
            let done = whole + rest * S::LANES;
            if done < length {
                S::store(lanes.as_mut_ptr(), sums[0]);
                for (lane, &x) in lanes.iter_mut().zip(&self.part[done..]) {
                    *lane = R::join(*lane, x);
                }
                sums[0] = S::load(lanes.as_ptr());
            }
            let mut width = count / 2;
            while width > 0 {
                for k in 0..width {
                    sums[k] = R::join_all::<S>(sums[k], sums[k + width]);
                }
                width /= 2;
            }
            S::store(lanes.as_mut_ptr(), sums[0]);
        }
        let mut width = S::LANES / 2;
        while width > 0 {
            for k in 0..width {
                lanes[k] = R::join(lanes[k], lanes[k + width]);
            }
            width /= 2;
        }
        *self.total = lanes[0];
    }
}

struct Columns<'a, R> {
    from: *const f32,
    step: usize,
    rows: usize,
    sums: &'a mut [f32],
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> Task for Columns<'_, R> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.sums.len();
        // SAFETY: the rows lie inside the geometry of `Work`.
        let row = |index: usize| unsafe { std::slice::from_raw_parts(self.from.add(index * self.step), width) };
        let together = self.rows / 4 * 4;
        for first in (0..together).step_by(4) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| row(first + k));
            for ((((sum, &a), &b), &c), &d) in self.sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum = R::join(R::join(R::join(R::join(*sum, a), b), c), d);
            }
        }
        for index in together..self.rows {
            for (sum, &x) in self.sums.iter_mut().zip(row(index)) {
                *sum = R::join(*sum, x);
            }
        }
    }
}
