//! Element-by-element loops over strided, broadcast CPU memory (benchmarks/cases.py: large_add).

use super::iterate::{Block, PARALLEL_ABOVE, walk, walk_blocks};

/// One operand: where its elements lie, counted in elements of its own type.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    pub pointer: *mut u8,
    pub strides: &'a [usize],
    pub offset: usize,
}

// SAFETY: the loops below write each element of the result from exactly one thread; operands are only read.
unsafe impl Send for Strided<'_> {}
// SAFETY: as for Send.
unsafe impl Sync for Strided<'_> {}

impl Strided<'_> {
    /// # Safety
    /// `index` lies inside the operand's geometry, and its elements are of type `T`.
    #[inline(always)]
    pub(super) unsafe fn at<T>(self, index: usize) -> *mut T {
        self.pointer.cast::<T>().wrapping_add(index)
    }
}

/// As `walk`; one short row, the usual small tensor, skips the planning.
pub(super) fn each_row<const N: usize>(
    shape: &[usize],
    views: [Strided<'_>; N],
    row: &(dyn Fn([usize; N], usize, [usize; N]) + Sync),
) {
    if let Some((at, Block { length, strides, .. })) = short_row(shape, views) {
        return row(at, length, strides);
    }
    walk(shape, views.map(|view| view.strides), views.map(|view| view.offset), row);
}

/// As `walk_blocks`, with the same way for one short row.
pub(super) fn each_block<const N: usize>(
    shape: &[usize],
    views: [Strided<'_>; N],
    block: &(dyn Fn([usize; N], Block<N>) + Sync),
) {
    if let Some((at, row)) = short_row(shape, views) {
        return block(at, row);
    }
    walk_blocks(shape, views.map(|view| view.strides), views.map(|view| view.offset), block);
}

#[inline]
fn short_row<const N: usize>(shape: &[usize], views: [Strided<'_>; N]) -> Option<([usize; N], Block<N>)> {
    match shape {
        &[length] if length < PARALLEL_ABOVE => {
            let strides = views.map(|view| view.strides.first().copied().unwrap_or(0));
            Some((views.map(|view| view.offset), Block { rows: 1, steps: [0; N], length, strides }))
        }
        _ => None,
    }
}

/// `out = f(a)`. `out` may be `a` itself.
pub fn map1<A: Copy, R: Copy>(shape: &[usize], out: Strided<'_>, a: Strided<'_>, f: impl Fn(A) -> R + Sync) {
    let same = size_of::<A>() == size_of::<R>();
    each_row(shape, [out, a], &|[o, i], length, [so, si]| {
        // SAFETY: rows stay inside the geometries, which lie inside their storages.
        unsafe {
            let (to, from) = (out.at::<R>(o), a.at::<A>(i));
            // In place, one pointer for both: two that are equal would look like a hazard to the vectoriser.
            if so == 1 && si == 1 && same && to.cast::<A>() == from {
                for k in 0..length {
                    to.add(k).write_unaligned(f(to.add(k).cast::<A>().read_unaligned()));
                }
            } else if so == 1 && si == 1 {
                for k in 0..length {
                    to.add(k).write_unaligned(f(from.add(k).read_unaligned()));
                }
            } else {
                for k in 0..length {
                    to.add(k * so).write_unaligned(f(from.add(k * si).read_unaligned()));
                }
            }
        }
    });
}

/// `out = f(a, b)` with loops for the layouts that vectorise. `out` may be `a` or `b` itself.
pub fn map2<A: Copy, B: Copy, R: Copy>(
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    b: Strided<'_>,
    f: impl Fn(A, B) -> R + Sync,
) {
    let same = size_of::<A>() == size_of::<R>();
    each_row(shape, [out, a, b], &|[o, i, j], length, [so, si, sj]| {
        // SAFETY: as in `map1`.
        unsafe {
            let (to, left, right) = (out.at::<R>(o), a.at::<A>(i), b.at::<B>(j));
            match (so, si, sj) {
                // In place, as in `map1`.
                (1, 1, 1) if same && to.cast::<A>() == left => {
                    for k in 0..length {
                        let own = to.add(k).cast::<A>().read_unaligned();
                        to.add(k).write_unaligned(f(own, right.add(k).read_unaligned()));
                    }
                }
                (1, 1, 1) => {
                    for k in 0..length {
                        to.add(k).write_unaligned(f(left.add(k).read_unaligned(), right.add(k).read_unaligned()));
                    }
                }
                (1, 1, 0) if same && to.cast::<A>() == left => {
                    let constant = right.read_unaligned();
                    for k in 0..length {
                        to.add(k).write_unaligned(f(to.add(k).cast::<A>().read_unaligned(), constant));
                    }
                }
                (1, 1, 0) => {
                    let constant = right.read_unaligned();
                    for k in 0..length {
                        to.add(k).write_unaligned(f(left.add(k).read_unaligned(), constant));
                    }
                }
                _ => {
                    for k in 0..length {
                        let value = f(left.add(k * si).read_unaligned(), right.add(k * sj).read_unaligned());
                        to.add(k * so).write_unaligned(value);
                    }
                }
            }
        }
    });
}

/// As `map2` with one loop, for functions that cost more than the walk.
pub fn map2_costly<A: Copy, B: Copy, R: Copy>(
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    b: Strided<'_>,
    f: impl Fn(A, B) -> R + Sync,
) {
    each_row(shape, [out, a, b], &|[o, i, j], length, [so, si, sj]| {
        // SAFETY: as in `map1`.
        unsafe {
            let (to, left, right) = (out.at::<R>(o), a.at::<A>(i), b.at::<B>(j));
            for k in 0..length {
                let value = f(left.add(k * si).read_unaligned(), right.add(k * sj).read_unaligned());
                to.add(k * so).write_unaligned(value);
            }
        }
    });
}

/// `out = f(a, b, c)`.
pub fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    b: Strided<'_>,
    c: Strided<'_>,
    f: impl Fn(A, B, C) -> R + Sync,
) {
    each_row(shape, [out, a, b, c], &|[o, i, j, l], length, [so, si, sj, sl]| {
        // SAFETY: as in `map1`.
        unsafe {
            let (to, first, second, third) = (out.at::<R>(o), a.at::<A>(i), b.at::<B>(j), c.at::<C>(l));
            if so == 1 && si == 1 && sj == 1 && sl == 1 {
                for k in 0..length {
                    to.add(k).write_unaligned(f(
                        first.add(k).read_unaligned(),
                        second.add(k).read_unaligned(),
                        third.add(k).read_unaligned(),
                    ));
                }
            } else {
                for k in 0..length {
                    to.add(k * so).write_unaligned(f(
                        first.add(k * si).read_unaligned(),
                        second.add(k * sj).read_unaligned(),
                        third.add(k * sl).read_unaligned(),
                    ));
                }
            }
        }
    });
}
