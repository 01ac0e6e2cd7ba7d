//! Rows of row-major memory named by numbers: which they are, and whether they are there (benchmarks/bars.py: moving).
//! `index_take` reads them, `index_put` writes them.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Memory;
use super::vector::{Task, dispatch};
use crate::tensor::geometry::contiguous_strides;

/// How a value meets the one that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Assign,
    Add,
    Mul,
    Max,
    Min,
}

/// Which rows of a tensor, seen as `outer` stretches of `size` rows of `block` elements, one index names in each stretch.
#[derive(Clone, Copy)]
pub struct Slabs<'a> {
    pub numbers: &'a [i64],
    pub outer: usize,
    pub size: usize,
    pub block: usize,
}

/// Which elements of a row-major tensor an index of equal rank names along one dimension: one for each of its own.
#[derive(Clone)]
pub struct Along {
    /// How many there are along the dimension, and the step between them.
    pub size: usize,
    pub(super) own: usize,
    /// The index tensor's dimensions, neighbours merged where they can be, with their steps in the tensor.
    pub(super) levels: SmallVec<[Level; 4]>,
    /// Which of the levels is the dimension; none where the index is of size 1 there.
    pub(super) at: Option<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct Level {
    pub size: usize,
    pub step: usize,
}

impl Along {
    pub fn new(shape: &[usize], dim: usize, index_shape: &[usize]) -> Self {
        let strides = contiguous_strides(shape);
        let mut levels: SmallVec<[Level; 4]> = SmallVec::new();
        let mut at = None;
        for (axis, &size) in index_shape.iter().enumerate().filter(|&(_, &size)| size != 1) {
            let step = if axis == dim { 0 } else { strides.get(axis).copied().unwrap_or(0) };
            if axis == dim {
                at = Some(levels.len());
            }
            match levels.last_mut() {
                Some(last) if step != 0 && last.step == step * size => *last = Level { size: last.size * size, step },
                _ => levels.push(Level { size, step }),
            }
        }
        let own = strides.get(dim).copied().unwrap_or(1);
        Self { size: shape.get(dim).copied().unwrap_or(1), own, levels, at }
    }

    /// The numbers of the elements, for kernels that know nothing of levels.
    pub fn elements(&self, positions: &[i64]) -> Vec<i64> {
        let (row, outer) = self.row();
        let mut out = Vec::with_capacity(positions.len());
        for (number, line) in positions.chunks(row.size.max(1)).enumerate() {
            let at = start(outer, number);
            out.extend(
                line.iter()
                    .enumerate()
                    .map(|(column, &position)| (at + column * row.step) as i64 + position * self.own as i64),
            );
        }
        out
    }

    /// The last level, and those before it.
    pub(super) fn row(&self) -> (Level, &[Level]) {
        self.levels.split_last().map_or((Level { size: 1, step: 0 }, &[]), |(&row, outer)| (row, outer))
    }
}

/// How far the element with this number, counted over the levels, lies from the first.
#[inline(always)]
pub(super) fn start(levels: &[Level], mut number: usize) -> usize {
    let mut at = 0;
    for level in levels.iter().rev() {
        at += number % level.size * level.step;
        number /= level.size;
    }
    at
}

pub(super) struct Outside<'a> {
    pub numbers: &'a [i64],
    pub size: u64,
    pub found: &'a mut bool,
}

impl Task for Outside<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // Without an end in the middle this loop vectorises; negative numbers are large unsigned ones.
        *self.found = self.numbers.iter().fold(false, |any, &number| any | (number as u64 >= self.size));
    }
}

/// Whether a number is negative, or not below `size`.
pub fn is_outside(numbers: &[i64], size: usize) -> bool {
    let size = size as u64;
    if numbers.len() < PARALLEL_ABOVE {
        let mut found = false;
        dispatch(Outside { numbers, size, found: &mut found });
        return found;
    }
    let any = AtomicBool::new(false);
    let parts: Vec<&[i64]> = numbers.chunks(PART).collect();
    spread_over(parts.len(), 1, &|part| {
        let mut found = false;
        if let Some(&numbers) = parts.get(part) {
            dispatch(Outside { numbers, size, found: &mut found });
        }
        if found {
            any.store(true, Ordering::Relaxed);
        }
    });
    any.into_inner()
}

/// Elements that one task reads at least.
const PART: usize = PARALLEL_ABOVE / 4;

/// Numbers that are checked before they are used: so few that they are still in the first cache then.
pub(super) const CHECKED: usize = 2048;

/// Runs `task` over ranges of `count` things of `each` elements, on several threads where it pays.
pub(super) fn in_parts(count: usize, each: usize, task: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    let together = (PART / each.max(1)).max(1);
    if count.saturating_mul(each) < PARALLEL_ABOVE {
        return task(0..count);
    }
    spread_over(count.div_ceil(together), 1, &|part| task(part * together..count.min((part + 1) * together)));
}

/// Where values go: the rows of slabs, or elements along a dimension named by these numbers.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    Slabs(Slabs<'a>),
    Along(&'a Along, &'a [i64]),
}

/// Brings elements that are read soon into the cache: where rows come in any order, nobody else foresees them.
#[inline(always)]
pub(super) fn ask_for<T>(from: *const T, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(count * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint may be given for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(line * 64)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, count);
}

/// The numbers of the true bytes, in order.
pub fn positions(flags: &[u8]) -> Vec<i64> {
    let parts: Vec<&[u8]> = flags.chunks(PART).collect();
    let true_ones = |part: usize| parts.get(part).map_or(0, |part| part.iter().filter(|&&flag| flag != 0).count());
    let counts: Vec<usize> = (0..parts.len()).map(true_ones).collect();
    let starts: Vec<usize> = counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let total = counts.iter().sum();
    let mut out: Vec<i64> = Vec::with_capacity(total);
    let slots = Memory::over(out.as_mut_ptr().cast());
    let one = |part: usize| {
        let (Some(&start), Some(&count), Some(flags)) = (starts.get(part), counts.get(part), parts.get(part)) else {
            return;
        };
        let (mut found, mut rest) = (start, flags.iter().enumerate());
        while found < start + count
            && let Some((place, &flag)) = rest.next()
        {
            // Written without asking, and kept where the next does not come to the same slot.
            // SAFETY: `found` is below the end of this part's slots, for which there is room.
            unsafe { slots.write(found, (part * PART + place) as i64) };
            found += usize::from(flag != 0);
        }
    };
    if flags.len() < PARALLEL_ABOVE {
        (0..parts.len()).for_each(one);
    } else {
        spread_over(parts.len(), 1, &one);
    }
    // SAFETY: every part has written as many as it counted.
    unsafe { out.set_len(total) };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_along_a_dimension() {
        let along = Along::new(&[2, 3], 1, &[2, 2]);
        assert_eq!(along.elements(&[2, 0, 1, 1]), [2, 0, 4, 4]);
        let along = Along::new(&[2, 3], 0, &[1, 2]);
        assert_eq!(along.elements(&[1, 0]), [3, 1]);
    }

    #[test]
    fn negative_and_large_numbers_are_outside() {
        assert!(is_outside(&[0, -1], 4));
        assert!(is_outside(&[4], 4));
        assert!(!is_outside(&[0, 3], 4));
    }

    #[test]
    fn true_ones_have_numbers() {
        assert_eq!(positions(&[0, 1, 0, 0, 0, 1]), [1, 5]);
    }
}
