//! The greatest or least value along a dimension and where it stands first (benchmarks/cases.py: large_argmax).

use super::element::Element;
use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::reduce::{Plan, steps};
use crate::tensor::geometry::Geometry;

/// Elements that are compared as a vector before the winner is looked for.
const BLOCK: usize = 512;
const LANES: usize = 16;
const COLUMNS: usize = 64;
/// Elements of one slice that a task of its own looks through.
const PART: usize = 1 << 15;

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
pub unsafe fn extreme<T: Element, const MAX: bool>(
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

fn scan<T: Element, const MAX: bool>(input: Memory, start: usize, count: usize, step: usize, spread: bool) -> Best<T> {
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

fn part<T: Element, const MAX: bool>(input: Memory, start: usize, from: usize, to: usize, step: usize) -> Best<T> {
    // SAFETY: positions are below the slice's length, which the geometry holds.
    let item = |index: usize| -> T { unsafe { input.read(start + index * step) } };
    let mut best = Best { value: item(from), index: from };
    let mut at = from;
    while at < to {
        let length = BLOCK.min(to - at);
        let wins = if step == 1 && length == BLOCK {
            better::<T, MAX>(peak::<T, MAX>(input, start + at), best.value)
        } else {
            true
        };
        if wins {
            for index in at..at + length {
                let value = item(index);
                if better::<T, MAX>(value, best.value) {
                    best = Best { value, index };
                }
            }
        }
        at += length;
    }
    best
}

/// The winner's value among `BLOCK` adjacent elements.
fn peak<T: Element, const MAX: bool>(input: Memory, start: usize) -> T {
    let mut lanes = [if MAX { T::LOWEST } else { T::HIGHEST }; LANES];
    let pick = |old: T, new: T| {
        let beyond = if MAX { new > old } else { new < old };
        if beyond | new.is_nan() { new } else { old }
    };
    for first in (0..BLOCK).step_by(LANES) {
        for (lane, slot) in lanes.iter_mut().enumerate() {
            // SAFETY: the caller has `BLOCK` elements from `start` on.
            *slot = pick(*slot, unsafe { input.read(start + first + lane) });
        }
    }
    lanes.into_iter().fold(lanes[0], pick)
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
