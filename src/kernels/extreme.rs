//! The greatest or least value along a dimension and where it stands first (benchmarks/cases.py: large_argmax).

use std::marker::PhantomData;
use std::ops::Range;

use super::element::Element;
use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::peaks;
use super::reduce::{Loop, Plan, steps};
use super::scratch::Shared;
use super::vector::{Task, dispatch_narrow};
use crate::tensor::geometry::Geometry;

/// Elements that are compared before it is asked whether all were less.
const BLOCK: usize = 512;
const LANES: usize = 16;
const COLUMNS: usize = 64;
/// Elements of one slice that a task of its own looks through.
const PART: usize = 1 << 15;
/// Columns of float32 that are compared side by side, and rows that a unit of them takes.
const WIDE: usize = 512;
const ROWS: usize = 128;

/// Whether elements are float32, which have kernels of their own, aligned to their size.
fn is_single<T: 'static>(input: Memory) -> bool {
    std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>() && input.at::<f32>(0).is_aligned()
}

/// A slice's winner: earlier positions win among equals, and NaN wins over all.
#[derive(Clone, Copy)]
struct Best<T> {
    value: T,
    index: usize,
}

#[inline(always)]
fn better<T: Element, const MAX: bool>(new: T, old: T) -> bool {
    let beyond = if MAX { new > old } else { new < old };
    (beyond | new.is_nan()) & !old.is_nan()
}

/// Writes the winner of each slice along `dim`, and its position, in row-major order.
///
/// # Safety
/// `geometry` lies inside `input`, which holds `T`; its size at `dim` is not 0; the outputs have room for the results.
pub unsafe fn extreme<T: Element + 'static, const MAX: bool>(
    input: Memory,
    geometry: &Geometry,
    dim: usize,
    values: Memory,
    indices: Memory,
) {
    let plan = Plan::new(geometry, &[dim]);
    let step = geometry.strides.get(dim).copied().unwrap_or(1);
    let write = |to: usize, best: Best<T>| {
        // SAFETY: each slice has its own place in the outputs.
        unsafe {
            values.write(to, best.value);
            indices.write(to, best.index as i64);
        }
    };
    let parallel = plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE;
    if plan.outputs == 0 || plan.count == 0 {
        return;
    }
    if plan.count <= SHORT && (!plan.is_vertical() || plan.kept.last().is_some_and(|kept| kept.size < LANES)) {
        let together = (PART / 4 / plan.count).max(1);
        let some = |number: usize| {
            let lines = number * together..plan.outputs.min((number + 1) * together);
            dispatch_narrow(Short::<T, MAX> { input, plan: &plan, step, lines, values, indices, of: PhantomData });
        };
        if parallel {
            spread_over(plan.outputs.div_ceil(together), 1, &some);
        } else {
            (0..plan.outputs.div_ceil(together)).for_each(some);
        }
        return;
    }
    if !plan.is_vertical() {
        let slice = |index: usize, spread: bool| {
            let (from, to) = steps(&plan.kept, index);
            write(to, scan::<T, MAX>(input, plan.offset + from, plan.count, step, spread));
        };
        if parallel && plan.outputs >= LANES {
            spread_over(plan.outputs, (PART / 4 / plan.count).max(1), &|index| slice(index, false));
        } else {
            (0..plan.outputs).for_each(|index| slice(index, parallel));
        }
        return;
    }
    let Some((inner, outer)) = plan.kept.split_last() else { return };
    if is_single::<T>(input) && inner.from == 1 && inner.size >= LANES && i32::try_from(plan.count).is_ok() {
        return Tall { input, plan: &plan, inner: *inner, outer, step, values, indices }.run::<MAX>(parallel);
    }
    let blocks = inner.size.div_ceil(COLUMNS);
    let task = |index: usize| {
        let (from, to) = steps(outer, index / blocks);
        let first = index % blocks * COLUMNS;
        let width = COLUMNS.min(inner.size - first);
        let start = plan.offset + from + first * inner.from;
        let best = columns::<T, MAX>(input, start, width, inner.from, plan.count, step);
        for (column, &best) in best.iter().enumerate().take(width) {
            write(to + (first + column) * inner.to, best);
        }
    };
    let tasks = plan.outputs / inner.size * blocks;
    if parallel {
        spread_over(tasks, 1, &task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// Elements of a line up to which several are looked through in one call.
const SHORT: usize = 16;

/// Some short lines.
struct Short<'a, T, const MAX: bool> {
    input: Memory,
    plan: &'a Plan,
    step: usize,
    lines: Range<usize>,
    values: Memory,
    indices: Memory,
    of: PhantomData<T>,
}

impl<T: Element, const MAX: bool> Task for Short<'_, T, MAX> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for line in self.lines {
            let (from, to) = steps(&self.plan.kept, line);
            // SAFETY: the plan stays inside the geometry, and each line has its own place in the outputs.
            unsafe {
                let item = |at: usize| self.input.read::<T>(self.plan.offset + from + at * self.step);
                let (mut best, mut place) = (item(0), 0);
                for at in 1..self.plan.count {
                    let value = item(at);
                    let wins = better::<T, MAX>(value, best);
                    best = if wins { value } else { best };
                    place = if wins { at } else { place };
                }
                self.values.write(to, best);
                self.indices.write(to, place as i64);
            }
        }
    }
}

/// Columns of float32 whose neighbours are adjacent.
struct Tall<'a> {
    input: Memory,
    plan: &'a Plan,
    inner: Loop,
    outer: &'a [Loop],
    step: usize,
    values: Memory,
    indices: Memory,
}

impl Tall<'_> {
    fn run<const MAX: bool>(&self, parallel: bool) {
        let (blocks, units) = (self.inner.size.div_ceil(WIDE), self.plan.count.div_ceil(ROWS));
        let room = WIDE.min(self.inner.size);
        let tasks = self.plan.outputs / self.inner.size * blocks;
        let mut found = (vec![0.0; tasks * units * room], vec![0; tasks * units * room]);
        let (values, places) = (Shared(found.0.as_mut_ptr()), Shared(found.1.as_mut_ptr()));
        let width = |task: usize| WIDE.min(self.inner.size - task % blocks * WIDE);
        let unit = |index: usize| {
            let (task, first) = (index / units, index % units * ROWS);
            let start = self.plan.offset + steps(self.outer, task / blocks).0 + task % blocks * WIDE;
            let rows = first..self.plan.count.min(first + ROWS);
            // SAFETY: each unit has places of its own, and its rows lie inside the geometry.
            unsafe {
                let values = values.slice(index * room, width(task));
                let places = places.slice(index * room, width(task));
                let from = self.input.at::<f32>(start);
                peaks::columns(peaks::Columns::<MAX> { from, step: self.step, rows, values, places });
            }
        };
        if parallel {
            spread_over(tasks * units, 1, &unit);
        } else {
            (0..tasks * units).for_each(unit);
        }
        for task in 0..tasks {
            let of_task = task * units * room..(task + 1) * units * room;
            let to = steps(self.outer, task / blocks).1 + task % blocks * WIDE * self.inner.to;
            self.join::<MAX>(to, [width(task), room], &found.0[of_task.clone()], &found.1[of_task]);
        }
    }

    /// Writes the best of all units; earlier ones win among equals.
    fn join<const MAX: bool>(&self, to: usize, [width, room]: [usize; 2], values: &[f32], places: &[i32]) {
        for column in 0..width {
            let each = values[column..].iter().step_by(room).zip(places[column..].iter().step_by(room));
            let later =
                |best: (f32, i32), new: (f32, i32)| if peaks::better::<MAX>(new.0, best.0) { new } else { best };
            let Some((value, place)) = each.map(|(&value, &place)| (value, place)).reduce(later) else { continue };
            // SAFETY: each slice has its own place in the outputs.
            unsafe {
                self.values.write(to + column * self.inner.to, value);
                self.indices.write(to + column * self.inner.to, i64::from(place));
            }
        }
    }
}

fn scan<T: Element + 'static, const MAX: bool>(
    input: Memory,
    start: usize,
    count: usize,
    step: usize,
    spread: bool,
) -> Best<T> {
    if !spread || count <= PART {
        return part::<T, MAX>(input, start, 0, count, step);
    }
    let empty = Best { value: T::LOWEST, index: 0 };
    let parts = gathered(count.div_ceil(PART), 1, empty, |index| {
        part::<T, MAX>(input, start, index * PART, count.min((index + 1) * PART), step)
    });
    let later = |best: Best<T>, new: Best<T>| if better::<T, MAX>(new.value, best.value) { new } else { best };
    parts.into_iter().reduce(later).unwrap_or_else(|| part::<T, MAX>(input, start, 0, count, step))
}

fn part<T: Element + 'static, const MAX: bool>(
    input: Memory,
    start: usize,
    from: usize,
    to: usize,
    step: usize,
) -> Best<T> {
    // SAFETY: positions are below the slice's length, which the geometry holds.
    let item = |index: usize| -> T { unsafe { input.read(start + index * step) } };
    if step == 1 && is_single::<T>(input) {
        // SAFETY: as above; elements are float32, aligned and neighbours.
        let line = unsafe { std::slice::from_raw_parts(input.at::<f32>(start + from), to - from) };
        let index = from + peaks::place::<MAX>(line);
        return Best { value: item(index), index };
    }
    if step == 1 && input.at::<T>(0).is_aligned() && from < to {
        // SAFETY: as above; elements are aligned and neighbours.
        let line = unsafe { std::slice::from_raw_parts(input.at::<T>(start + from), to - from) };
        let mut place = 0;
        dispatch_narrow(Peak::<T, MAX> { line, place: &mut place });
        return Best { value: item(from + place), index: from + place };
    }
    let mut best = Best { value: item(from), index: from };
    for index in from..to {
        let value = item(index);
        if better::<T, MAX>(value, best.value) {
            best = Best { value, index };
        }
    }
    best
}

/// Where the winner of a line that is not empty stands first.
struct Peak<'a, T, const MAX: bool> {
    line: &'a [T],
    place: &'a mut usize,
}

impl<T: Element, const MAX: bool> Task for Peak<'_, T, MAX> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let pick = |old: T, new: T| {
            let beyond = if MAX { new > old } else { new < old };
            if beyond | new.is_nan() { new } else { old }
        };
        let (chunks, rest) = self.line.as_chunks::<LANES>();
        let mut lanes = [self.line[0]; LANES];
        for chunk in chunks {
            for (slot, &x) in lanes.iter_mut().zip(chunk) {
                *slot = pick(*slot, x);
            }
        }
        let best = lanes.into_iter().chain(rest.iter().copied()).fold(self.line[0], pick);
        *self.place = if best.is_nan() { first(self.line, |x| x.is_nan()) } else { first(self.line, |x| x == best) };
    }
}

/// The first place where something is so; without a way out inside of a chunk, so that chunks are compared as vectors.
#[inline(always)]
fn first<T: Copy>(line: &[T], is: impl Fn(T) -> bool) -> usize {
    let (chunks, _) = line.as_chunks::<LANES>();
    let before = chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |any, &x| any | is(x))).count() * LANES;
    before + line[before..].iter().take_while(|&&x| !is(x)).count()
}

fn columns<T: Element, const MAX: bool>(
    input: Memory,
    start: usize,
    width: usize,
    across: usize,
    count: usize,
    step: usize,
) -> [Best<T>; COLUMNS] {
    let mut best: [Best<T>; COLUMNS] = std::array::from_fn(|column| Best {
        // SAFETY: the first column stands in for those past the width.
        value: unsafe { input.read(start + if column < width { column * across } else { 0 }) },
        index: 0,
    });
    for row in 1..count {
        for (column, slot) in best.iter_mut().enumerate().take(width) {
            // SAFETY: row and column are inside the geometry.
            let value = unsafe { input.read(start + row * step + column * across) };
            if better::<T, MAX>(value, slot.value) {
                *slot = Best { value, index: row };
            }
        }
    }
    best
}

/// How many lines of `size` scores have their first greatest one, NaN being the greatest, at the place of their class;
/// and how many classes are no place.
pub fn hits<T: Element>(scores: &[T], classes: &[i64], size: usize) -> (usize, usize) {
    let (mut right, mut outside) = (0, 0);
    for (line, &class) in scores.chunks_exact(size).zip(classes) {
        match usize::try_from(class) {
            Ok(place) if place < size => right += usize::from(is_first_greatest(line, place)),
            _ => outside += 1,
        }
    }
    (right, outside)
}

/// Whether what stands at `place` is greater than all before it, and not less than any after it.
fn is_first_greatest<T: Element>(line: &[T], place: usize) -> bool {
    let (before, after) = line.split_at(place);
    let top = line[place];
    if top.is_nan() {
        return !before.iter().any(|x| x.is_nan());
    }
    // Without a way out inside of a block, so that a block is compared as vectors.
    before.chunks(BLOCK).all(|block| block.iter().fold(true, |less, &x| less & (x < top)))
        && after.chunks(BLOCK).all(|block| block.iter().fold(true, |less, &x| less & (x <= top)))
}
