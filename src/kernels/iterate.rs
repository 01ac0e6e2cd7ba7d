//! Walks several strided views in step, as few long rows as possible (benchmarks/cases.py: large_contiguous).

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use smallvec::SmallVec;

use super::scratch::Shared;
use super::team;
use crate::guard;

/// Elements below which starting threads costs more than it saves.
pub const PARALLEL_ABOVE: usize = 1 << 16;

struct Loop<const N: usize> {
    size: usize,
    strides: [usize; N],
}

/// Merges dimensions that are adjacent in every view; the first view decides the order, for its locality.
fn coalesce<const N: usize>(shape: &[usize], strides: [&[usize]; N]) -> SmallVec<[Loop<N>; 6]> {
    let mut loops: SmallVec<[Loop<N>; 6]> = shape
        .iter()
        .enumerate()
        .filter(|&(_, &size)| size != 1)
        .map(|(dim, &size)| Loop { size, strides: strides.map(|view| view[dim]) })
        .collect();
    loops.sort_by(|a, b| b.strides[0].cmp(&a.strides[0]));
    let mut merged: SmallVec<[Loop<N>; 6]> = SmallVec::new();
    for next in loops {
        match merged.last_mut() {
            Some(last) if (0..N).all(|view| last.strides[view] == next.strides[view] * next.size) => {
                last.size *= next.size;
                last.strides = next.strides;
            }
            _ => merged.push(next),
        }
    }
    if merged.is_empty() {
        merged.push(Loop { size: 1, strides: [1; N] });
    }
    merged
}

/// Where the innermost rows are short and few, a longer dimension becomes the innermost one: as long as what lies between its
/// elements stays in the cache.
fn lengthened<const N: usize>(mut loops: SmallVec<[Loop<N>; 6]>) -> SmallVec<[Loop<N>; 6]> {
    let [outer @ .., next, last] = loops.as_slice() else { return loops };
    if last.size < TURNED && next.size < 2 * TURNED {
        let long = |at: &usize| (4 * TURNED..=32 * TOGETHER).contains(&outer[*at].size);
        if let Some(longest) = (0..outer.len()).filter(long).max_by_key(|&at| outer[at].size) {
            let level = loops.remove(longest);
            loops.push(level);
        }
    }
    loops
}

/// Calls `row(offsets, length, strides)` so that every element is visited once; rows may run on several threads.
pub fn rows<const N: usize>(
    shape: &[usize],
    strides: [&[usize]; N],
    offsets: [usize; N],
    row: impl Fn([usize; N], usize, [usize; N]) + Sync,
) {
    walk(shape, strides, offsets, &row);
}

type Row<'a, const N: usize> = dyn Fn([usize; N], usize, [usize; N]) + Sync + 'a;

/// The walk itself, compiled once for each number of views: with every kernel inlined, the crate takes minutes.
pub fn walk<const N: usize>(shape: &[usize], strides: [&[usize]; N], offsets: [usize; N], row: &Row<'_, N>) {
    walk_blocks(shape, strides, offsets, &|at, block| {
        block.turned_below(TURNED, at, &|mut at, block| {
            for _ in 0..block.rows {
                row(at, block.length, block.strides);
                for view in 0..N {
                    at[view] += block.steps[view];
                }
            }
        });
    });
}

/// Elements of a row below which a call for each row costs more than elements that lie apart.
const TURNED: usize = 8;

/// Rows that are turned together: what they read and write stays in the first cache until all columns are done.
const TOGETHER: usize = 128;

/// Rows of one length, each so many elements after the last in every view.
#[derive(Clone, Copy)]
pub struct Block<const N: usize> {
    pub rows: usize,
    pub steps: [usize; N],
    pub length: usize,
    pub strides: [usize; N],
}

impl<const N: usize> Block<N> {
    /// Calls with the block, or where its rows have fewer than so many elements, and are more, with its columns as rows.
    pub fn turned_below(self, length: usize, at: [usize; N], call: &dyn Fn([usize; N], Self)) {
        if self.length >= length || self.rows <= self.length {
            return call(at, self);
        }
        for first in (0..self.rows).step_by(TOGETHER) {
            let at = std::array::from_fn(|view| at[view] + first * self.steps[view]);
            let (rows, length) = (self.length, TOGETHER.min(self.rows - first));
            call(at, Self { rows, length, steps: self.strides, strides: self.steps });
        }
    }
}

type Blocks<'a, const N: usize> = dyn Fn([usize; N], Block<N>) + Sync + 'a;

/// As `walk`, several rows at a time where one short row after the other would cost calls.
pub fn walk_blocks<const N: usize>(shape: &[usize], strides: [&[usize]; N], offsets: [usize; N], call: &Blocks<'_, N>) {
    let numel: usize = shape.iter().product();
    if numel == 0 {
        return;
    }
    let loops = lengthened(coalesce(shape, strides));
    let Some((&Loop { size: length, strides }, outer)) = loops.split_last() else {
        return;
    };
    let count: usize = outer.iter().map(|level| level.size).product();
    let (several, steps) = outer.last().map_or((1, [0; N]), |level| (level.size, level.strides));
    let start = |mut index: usize| {
        let mut at = offsets;
        for level in outer.iter().rev() {
            let step = index % level.size;
            index /= level.size;
            for view in 0..N {
                at[view] += step * level.strides[view];
            }
        }
        at
    };
    let some = |mut index: usize, end: usize| {
        while index < end {
            let rows = (several - index % several).min(end - index);
            call(start(index), Block { rows, steps, length, strides });
            index += rows;
        }
    };
    if numel < PARALLEL_ABOVE {
        some(0, count);
    } else if count == 1 {
        // As few calls as threads take parts.
        let chunk = length.div_ceil(guard::threads() * PARTS).next_multiple_of(1 << 10).max(PARALLEL_ABOVE / 4);
        spread_over(length.div_ceil(chunk), 1, &|part| {
            let first = part * chunk;
            let mut at = offsets;
            for view in 0..N {
                at[view] += first * strides[view];
            }
            call(at, Block { rows: 1, steps, length: chunk.min(length - first), strides });
        });
    } else {
        let each = (PARALLEL_ABOVE / 8 / length.max(1)).max(1);
        spread_over(count.div_ceil(each), 1, &|part| some(part * each, ((part + 1) * each).min(count)));
    }
}

/// Parts that each thread takes, so that none waits long for another.
const PARTS: usize = 8;

/// One thread's parts, and how many of them are taken; a cache line of its own.
#[repr(align(64))]
struct Share {
    taken: AtomicUsize,
    parts: Range<usize>,
}

/// How many times work was spread.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// Lets other threads see what was written past the caches.
fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Runs `task` for every number below `count` on several threads, at least `least` numbers at a time. One function for
/// all kernels: rayon's machinery compiled into each of them would make the crate slow to build.
///
/// The calling thread works too: handing all work to the pool would take as long as an op on thousands of elements.
/// A thread has the same numbers each time, and goes through them forth and back in turn: so it begins with what the op
/// before left in its cache. Then it takes from the others' what is left.
pub fn spread_over(count: usize, least: usize, task: &(dyn Fn(usize) + Sync)) {
    let threads = guard::threads();
    let size = count.div_ceil(threads * PARTS).max(least).max(1);
    let parts = count.div_ceil(size);
    let back = TURN.fetch_add(1, Ordering::Relaxed) % 2 == 1;
    // Inside of a part always forth, as processors fetch ahead.
    let run = |part: usize| (part * size..count.min((part + 1) * size)).for_each(task);
    let threads = parts.min(threads);
    if threads <= 1 {
        if back {
            (0..parts).rev().for_each(run)
        } else {
            (0..parts).for_each(run)
        }
        return settle();
    }
    if rayon::current_thread_index().is_some() {
        return (0..parts).into_par_iter().for_each(|part| {
            run(part);
            settle();
        });
    }
    let shares: SmallVec<[Share; 4]> = (0..threads)
        .map(|number| number * parts / threads..(number + 1) * parts / threads)
        .map(|parts| Share { taken: AtomicUsize::new(0), parts })
        .collect();
    let work = |first: usize| {
        for share in (first..first + threads).filter_map(|number| shares.get(number % threads)) {
            loop {
                let taken = share.taken.fetch_add(1, Ordering::Relaxed);
                if taken >= share.parts.len() {
                    break;
                }
                run(if back { share.parts.end - 1 - taken } else { share.parts.start + taken });
            }
        }
        // Once, not for each part: it waits until everything is written.
        settle();
    };
    if team::run(threads - 1, &work) {
        return;
    }
    let work = &work;
    rayon::in_place_scope(|scope| {
        (1..threads).for_each(|number| scope.spawn(move |_| work(number)));
        work(0);
    });
}

/// The results of `task` for every number below `count`, computed on several threads.
pub fn gathered<T: Copy + Send + Sync>(
    count: usize,
    least: usize,
    empty: T,
    task: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    struct Slots<T>(*mut T);
    // SAFETY: every task writes to a slot of its own.
    unsafe impl<T: Send> Sync for Slots<T> {}
    impl<T> Slots<T> {
        /// # Safety
        /// `index` is below the length, and nobody else uses this slot.
        unsafe fn put(&self, index: usize, value: T) {
            // SAFETY: the caller's.
            unsafe { self.0.add(index).write(value) }
        }
    }
    let mut out = vec![empty; count];
    let slots = Slots(out.as_mut_ptr());
    // SAFETY: numbers are below `count`, the length, and each comes once.
    spread_over(count, least, &|index| unsafe { slots.put(index, task(index)) });
    out
}

/// Gives `task` the number and the elements of each part of so many elements, on several threads, at least `least` parts
/// at a time.
pub fn spread_parts<T: Send>(all: &mut [T], size: usize, least: usize, task: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let (length, size) = (all.len(), size.max(1));
    let places = Shared::of(all);
    spread_over(length.div_ceil(size), least, &|part| {
        // SAFETY: parts are apart, and inside of the length.
        task(part, unsafe { places.slice(part * size, size.min(length - part * size)) });
    });
}
