//! Whether two tensors have the same elements, found out block by block (benchmarks/cases.py: large_contiguous).

use std::sync::atomic::{AtomicBool, Ordering};

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Memory;
use super::vector::{Task, dispatch_narrow};
use crate::dtype::DType;
use crate::with_number;

/// Elements between two looks at whether a difference has been found.
const BLOCK: usize = 1 << 12;

struct Differ<'a, T> {
    one: *const T,
    other: *const T,
    count: usize,
    found: &'a mut bool,
}

impl<T: Copy + PartialEq> Task for Differ<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut any = false;
        for at in 0..self.count {
            // SAFETY: `are`'s.
            any |= unsafe { self.one.add(at).read_unaligned() != self.other.add(at).read_unaligned() };
        }
        *self.found = any;
    }
}

/// Whether so many elements are equal, as their type compares them; None where it is no plain number.
///
/// # Safety
/// Both hold so many elements of the dtype, side by side.
pub unsafe fn are(one: Memory, other: Memory, count: usize, dtype: DType) -> Option<bool> {
    with_number!(dtype, T => Some(each::<T>(one, other, count)), else None)
}

fn each<T: Copy + PartialEq>(one: Memory, other: Memory, count: usize) -> bool {
    let differ = AtomicBool::new(false);
    let block = |number: usize| {
        if differ.load(Ordering::Relaxed) {
            return;
        }
        let (start, mut found) = (number * BLOCK, false);
        let count = BLOCK.min(count - start);
        dispatch_narrow(Differ::<T> { one: one.at(start), other: other.at(start), count, found: &mut found });
        if found {
            differ.store(true, Ordering::Relaxed);
        }
    };
    let blocks = count.div_ceil(BLOCK);
    let first = blocks.min(1);
    // Most that differ do so at once, and need no other thread.
    (0..first).for_each(block);
    if count < PARALLEL_ABOVE {
        (first..blocks).for_each(block);
    } else if !differ.load(Ordering::Relaxed) {
        spread_over(blocks - first, 1, &|number| block(number + first));
    }
    !differ.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_difference_is_found_wherever_it_is() {
        let ones = vec![1.0f32; 100_000];
        let same = |other: &[f32]| {
            let at = |values: &[f32]| Memory::over(values.as_ptr().cast_mut().cast());
            // SAFETY: both are as long.
            unsafe { are(at(&ones), at(other), ones.len(), DType::F32) }
        };
        assert_eq!(same(&ones.clone()), Some(true));
        for place in [0, 4095, 4096, 70_000, 99_999] {
            let mut other = ones.clone();
            other[place] = f32::NAN;
            assert_eq!(same(&other), Some(false));
        }
    }
}
