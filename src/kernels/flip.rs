//! Elements in the opposite order along some dimensions (benchmarks/bars.py: flip).

use super::copy::copy_bytes;
use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Elements;
use super::scratch::Shared;
use super::vector::{Task, dispatch_narrow};

struct Turn<T> {
    from: *const T,
    to: *mut T,
    length: usize,
}

impl<T: Copy> Task for Turn<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // SAFETY: whoever makes it vouches for so many elements at both, which do not overlap.
        unsafe {
            let from = std::slice::from_raw_parts(self.from, self.length).as_rchunks::<8>();
            let to = std::slice::from_raw_parts_mut(self.to, self.length).as_chunks_mut::<8>();
            for (from, to) in from.1.iter().rev().zip(to.0) {
                let mut eight = *from;
                eight.reverse();
                *to = eight;
            }
            from.0.iter().rev().zip(to.1).for_each(|(from, to)| *to = *from);
        }
    }
}

/// # Safety
/// Both are row-major tensors of `T` and of one shape, and `to` is fresh.
unsafe fn turn<T: Copy>(from: &Elements, to: &Elements, dims: &[usize]) {
    let shape = &from.geometry.shape;
    let Some((&length, outer)) = shape.split_last() else { return };
    let last = dims.contains(&outer.len());
    let (source, target) = (Shared(from.at::<u8>(0)), Shared(to.at::<u8>(0)));
    let row = |number: usize| {
        let (mut rest, mut other, mut step) = (number, 0, 1);
        for (dim, &size) in outer.iter().enumerate().rev() {
            let place = rest % size;
            rest /= size;
            other += step * if dims.contains(&dim) { size - 1 - place } else { place };
            step *= size;
        }
        let from = source.at(0).cast::<T>().wrapping_add(from.geometry.offset + other * length);
        let to = target.at(0).cast::<T>().wrapping_add(to.geometry.offset + number * length);
        if last {
            dispatch_narrow(Turn { from, to, length });
        } else {
            // SAFETY: the caller's: rows of one length, and each is written once.
            unsafe { copy_bytes(from.cast(), to.cast(), length * size_of::<T>()) };
        }
    };
    let rows: usize = outer.iter().product();
    if rows * length < PARALLEL_ABOVE {
        (0..rows).for_each(row);
    } else {
        spread_over(rows, 1, &row);
    }
}

/// Writes `from` to the fresh `to` with the order along `dims` reversed; both are row-major and of one type and shape.
pub fn flip(from: &Elements, to: &Elements, dims: &[usize]) {
    // SAFETY: the caller's.
    unsafe {
        match from.dtype.size() {
            1 => turn::<u8>(from, to, dims),
            2 => turn::<u16>(from, to, dims),
            4 => turn::<u32>(from, to, dims),
            8 => turn::<u64>(from, to, dims),
            _ => turn::<[u64; 2]>(from, to, dims),
        }
    }
}
