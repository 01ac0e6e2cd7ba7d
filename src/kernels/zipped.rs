//! Copies between two to four lines and the same elements in turn: a few channels that lie side by side, and images of one
//! channel each (benchmarks/cases.py: channels_first).

use super::copy::{FEW, View};
use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;
use super::vector::{Task, dispatch_narrow};

/// Lines of which each gives one of every `N` neighbours.
struct Zip<T, const N: usize> {
    from: *const T,
    step: usize,
    to: *mut T,
    length: usize,
}

impl<T: Copy, const N: usize> Task for Zip<T, N> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for at in 0..self.length {
            for line in 0..N {
                // SAFETY: as in `zip`, where it is made.
                unsafe {
                    self.to.add(at * N + line).write_unaligned(self.from.add(line * self.step + at).read_unaligned())
                };
            }
        }
    }
}

/// Lines of which each takes one of every `N` neighbours.
struct Unzip<T, const N: usize> {
    from: *const T,
    step: usize,
    to: *mut T,
    length: usize,
}

impl<T: Copy, const N: usize> Task for Unzip<T, N> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for at in 0..self.length {
            for line in 0..N {
                // SAFETY: as in `unzip`, where it is made.
                unsafe {
                    self.to.add(line * self.step + at).write_unaligned(self.from.add(at * N + line).read_unaligned())
                };
            }
        }
    }
}

/// Calls `row(to, from)` with the offsets of every row of `length` elements, the dimensions `inner` left out.
fn each(target: &View<'_>, source: &View<'_>, inner: [usize; 2], elements: usize, row: impl Fn(usize, usize) + Sync) {
    let (to, from) = (target.geometry, source.geometry);
    let outer = || (0..to.rank()).rev().filter(|dim| !inner.contains(dim));
    let count: usize = outer().map(|dim| to.shape[dim]).product();
    let row = |mut number: usize| {
        let mut at = [to.offset, from.offset];
        for dim in outer() {
            at[0] += number % to.shape[dim] * to.strides[dim];
            at[1] += number % to.shape[dim] * from.strides[dim];
            number /= to.shape[dim];
        }
        row(at[0], at[1]);
    };
    if count * elements < PARALLEL_ABOVE {
        (0..count).for_each(row);
    } else {
        spread_over(count, (PARALLEL_ABOVE / 8 / elements).max(1), &row);
    }
}

/// Copies where the last dimension has two to four elements, far apart in the source or all the same one, whose neighbours
/// lie along the one before it (pixel_shuffle, repeat_interleave); false, with nothing done, elsewhere.
pub fn zip<T: Copy + Send>(target: &View<'_>, source: &View<'_>) -> bool {
    let (to, from) = (target.geometry, source.geometry);
    let Some(outer) = to.rank().checked_sub(2) else { return false };
    let (length, lines, step) = (to.shape[outer], to.shape[outer + 1], from.strides[outer + 1]);
    let side_by_side = to.strides[outer..] == [lines, 1] && from.strides[outer] == 1 && step != 1;
    if !side_by_side || !(2..=4).contains(&lines) || length < FEW / 2 {
        return false;
    }
    let (write, read) = (Shared(target.pointer.cast::<T>()), Shared(source.pointer.cast::<T>()));
    each(target, source, [outer, outer + 1], length * lines, |to, from| {
        let (to, from) = (write.at(to), read.at(from).cast_const());
        match lines {
            2 => dispatch_narrow(Zip::<T, 2> { from, step, to, length }),
            3 => dispatch_narrow(Zip::<T, 3> { from, step, to, length }),
            _ => dispatch_narrow(Zip::<T, 4> { from, step, to, length }),
        }
    });
    true
}

/// Copies where the last dimension is dense in the target and has two to four elements of another one between its own in
/// the source (channels last to channels first); false, with nothing done, elsewhere.
pub fn unzip<T: Copy + Send>(target: &View<'_>, source: &View<'_>) -> bool {
    let (to, from) = (target.geometry, source.geometry);
    let Some(last) = to.rank().checked_sub(1) else { return false };
    let (length, lines) = (to.shape[last], from.strides[last]);
    if to.strides[last] != 1 || !(2..=4).contains(&lines) || length < FEW / 2 {
        return false;
    }
    let Some(dim) = (0..last).find(|&dim| from.strides[dim] == 1 && to.shape[dim] == lines) else { return false };
    let step = to.strides[dim];
    let (write, read) = (Shared(target.pointer.cast::<T>()), Shared(source.pointer.cast::<T>()));
    each(target, source, [dim, last], length * lines, |to, from| {
        let (to, from) = (write.at(to), read.at(from).cast_const());
        match lines {
            2 => dispatch_narrow(Unzip::<T, 2> { from, step, to, length }),
            3 => dispatch_narrow(Unzip::<T, 3> { from, step, to, length }),
            _ => dispatch_narrow(Unzip::<T, 4> { from, step, to, length }),
        }
    });
    true
}
