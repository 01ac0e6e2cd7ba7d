//! Element-by-element loops over strided, broadcast CPU memory (benchmarks/cases.py: large_add).

use std::ops::Range;

use super::cast::{Direct, direct};
use super::iterate::{Block, PARALLEL_ABOVE, spread_over, walk, walk_blocks};
use super::scratch::Shared;
use super::vector::{Task, dispatch_narrow};
use crate::dtype::DType;

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

/// Elements of a row below which no loop of vectors pays, and of one whose elements do not lie side by side.
const TURNED: [usize; 2] = [8, 16];

/// As `each_block`, with short rows turned.
fn each_turned<const N: usize>(shape: &[usize], views: [Strided<'_>; N], call: &(dyn Fn([usize; N], Block<N>) + Sync)) {
    each_block(shape, views, &|at, block| {
        let apart = block.strides.iter().any(|&stride| stride > 1);
        block.turned_below(TURNED[usize::from(apart)], at, &call);
    });
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

/// How many rows there are, and from one to the next in each operand.
type Rows<const N: usize> = (usize, [usize; N]);

/// A row of elements, and from one to the next.
#[derive(Clone, Copy)]
pub(super) struct Line<T>(pub(super) *mut T, pub(super) usize);

impl<T: Copy> Line<T> {
    /// # Safety
    /// The element lies there.
    #[inline(always)]
    unsafe fn read(self, k: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.0.add(k * self.1).read_unaligned() }
    }

    /// # Safety
    /// As `read`.
    #[inline(always)]
    unsafe fn write(self, k: usize, value: T) {
        // SAFETY: the caller's.
        unsafe { self.0.add(k * self.1).write_unaligned(value) }
    }

    /// The row that is so many elements further.
    #[inline(always)]
    fn further(self, step: usize) -> Self {
        Self(self.0.wrapping_add(step), self.1)
    }

    /// The same with neighbours side by side, which a loop over it then knows.
    #[inline(always)]
    fn dense(self) -> Self {
        Self(self.0, 1)
    }
}

struct Row1<'f, A, R, F> {
    out: Line<R>,
    a: Line<A>,
    length: usize,
    f: &'f F,
    rows: Rows<2>,
}

impl<A: Copy, R: Copy, F: Fn(A) -> R + Copy> Task for Row1<'_, A, R, F> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (rows, [so, sa]) = self.rows;
        for _ in 0..rows {
            self.row();
            (self.out, self.a) = (self.out.further(so), self.a.further(sa));
        }
    }
}

impl<A: Copy, R: Copy, F: Fn(A) -> R + Copy> Row1<'_, A, R, F> {
    #[inline(always)]
    fn row(&self) {
        let Self { out, a, length, f, .. } = *self;
        // What it keeps stands in registers then; read from memory where one branch needs it, no loop would vectorise.
        let f = *f;
        // SAFETY: rows stay inside the geometries, which lie inside their storages.
        unsafe {
            if (out.1, a.1) != (1, 1) {
                (0..length).for_each(|k| out.write(k, f(a.read(k))));
            } else if size_of::<A>() == size_of::<R>() && out.0.cast::<A>() == a.0 {
                // In place, one pointer for both: two that are equal would look like a hazard to the vectoriser.
                let (out, a) = (out.dense(), Line(out.0.cast::<A>(), 1));
                (0..length).for_each(|k| out.write(k, f(a.read(k))));
            } else {
                let (out, a) = (out.dense(), a.dense());
                (0..length).for_each(|k| out.write(k, f(a.read(k))));
            }
        }
    }
}

/// `out = f(a)`. `out` may be `a` itself.
pub fn map1<A: Copy, R: Copy>(shape: &[usize], out: Strided<'_>, a: Strided<'_>, f: impl Fn(A) -> R + Sync + Copy) {
    each_turned(shape, [out, a], &|[o, i], Block { rows, steps, length, strides: [so, si] }| {
        // SAFETY: as above.
        let (out, a) = unsafe { (Line(out.at::<R>(o), so), Line(a.at::<A>(i), si)) };
        dispatch_narrow(Row1 { out, a, length, f: &f, rows: (rows, steps) });
    });
}

struct Row2<'f, A, B, R, F> {
    out: Line<R>,
    a: Line<A>,
    b: Line<B>,
    length: usize,
    f: &'f F,
    rows: Rows<3>,
}

impl<A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> R + Copy> Task for Row2<'_, A, B, R, F> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (rows, [so, sa, sb]) = self.rows;
        for _ in 0..rows {
            self.row();
            (self.out, self.a, self.b) = (self.out.further(so), self.a.further(sa), self.b.further(sb));
        }
    }
}

impl<A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> R + Copy> Row2<'_, A, B, R, F> {
    #[inline(always)]
    fn row(&self) {
        let Self { out, a, b, length, f, .. } = *self;
        let f = *f;
        // SAFETY: as in `Row1`.
        unsafe {
            let own = size_of::<A>() == size_of::<R>() && out.0.cast::<A>() == a.0;
            match (out.1, a.1, b.1) {
                // In place, as in `Row1`.
                (1, 1, 1) if own => {
                    let (out, a, b) = (out.dense(), Line(out.0.cast::<A>(), 1), b.dense());
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k))));
                }
                (1, 1, 1) => {
                    let (out, a, b) = (out.dense(), a.dense(), b.dense());
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k))));
                }
                (1, 1, 0) if own => {
                    let (out, a, constant) = (out.dense(), Line(out.0.cast::<A>(), 1), b.read(0));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), constant)));
                }
                (1, 1, 0) => {
                    let (out, a, constant) = (out.dense(), a.dense(), b.read(0));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), constant)));
                }
                (1, 0, 1) => {
                    let (out, constant, b) = (out.dense(), a.read(0), b.dense());
                    (0..length).for_each(|k| out.write(k, f(constant, b.read(k))));
                }
                _ => (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k)))),
            }
        }
    }
}

/// `out = f(a, b)` with loops for the layouts that vectorise. `out` may be `a` or `b` itself.
pub fn map2<A: Copy, B: Copy, R: Copy>(
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    b: Strided<'_>,
    f: impl Fn(A, B) -> R + Sync + Copy,
) {
    each_turned(shape, [out, a, b], &|[o, i, j], Block { rows, steps, length, strides: [so, si, sj] }| {
        // SAFETY: as in `Row1`.
        let (out, a, b) = unsafe { (Line(out.at::<R>(o), so), Line(a.at::<A>(i), si), Line(b.at::<B>(j), sj)) };
        dispatch_narrow(Row2 { out, a, b, length, f: &f, rows: (rows, steps) });
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
        // SAFETY: as in `Row1`.
        unsafe {
            let (out, a, b) = (Line(out.at::<R>(o), so), Line(a.at::<A>(i), si), Line(b.at::<B>(j), sj));
            (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k))));
        }
    });
}

struct Row3<'f, A, B, C, R, F> {
    out: Line<R>,
    a: Line<A>,
    b: Line<B>,
    c: Line<C>,
    length: usize,
    f: &'f F,
    rows: Rows<4>,
}

impl<A: Copy, B: Copy, C: Copy, R: Copy, F: Fn(A, B, C) -> R + Copy> Task for Row3<'_, A, B, C, R, F> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (rows, [so, sa, sb, sc]) = self.rows;
        for _ in 0..rows {
            self.row();
            (self.out, self.a) = (self.out.further(so), self.a.further(sa));
            (self.b, self.c) = (self.b.further(sb), self.c.further(sc));
        }
    }
}

impl<A: Copy, B: Copy, C: Copy, R: Copy, F: Fn(A, B, C) -> R + Copy> Row3<'_, A, B, C, R, F> {
    #[inline(always)]
    fn row(&self) {
        let Self { out, a, b, c, length, f, .. } = *self;
        let f = *f;
        // SAFETY: as in `Row1`.
        unsafe {
            let own = size_of::<A>() == size_of::<R>() && out.0.cast::<A>() == a.0;
            match (out.1, a.1, b.1, c.1) {
                // In place, as in `Row1`.
                (1, 1, 1, 1) if own => {
                    let (out, a, b, c) = (out.dense(), Line(out.0.cast::<A>(), 1), b.dense(), c.dense());
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k), c.read(k))));
                }
                (1, 1, 1, 0) if own => {
                    let (out, a, b, constant) = (out.dense(), Line(out.0.cast::<A>(), 1), b.dense(), c.read(0));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k), constant)));
                }
                // The same where the last operand is what is written, as of `masked_fill_`.
                (1, 1, 0, 1) if size_of::<C>() == size_of::<R>() && out.0.cast::<C>() == c.0 => {
                    let (out, a, constant, c) = (out.dense(), a.dense(), b.read(0), Line(out.0.cast::<C>(), 1));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), constant, c.read(k))));
                }
                (1, 1, 0, 0) => {
                    let (out, a, one, other) = (out.dense(), a.dense(), b.read(0), c.read(0));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), one, other)));
                }
                (1, 1, 1, 1) => {
                    let (out, a, b, c) = (out.dense(), a.dense(), b.dense(), c.dense());
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k), c.read(k))));
                }
                (1, 1, 0, 1) => {
                    let (out, a, constant, c) = (out.dense(), a.dense(), b.read(0), c.dense());
                    (0..length).for_each(|k| out.write(k, f(a.read(k), constant, c.read(k))));
                }
                (1, 1, 1, 0) => {
                    let (out, a, b, constant) = (out.dense(), a.dense(), b.dense(), c.read(0));
                    (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k), constant)));
                }
                _ => (0..length).for_each(|k| out.write(k, f(a.read(k), b.read(k), c.read(k)))),
            }
        }
    }
}

/// `out = f(a, b, c)`.
pub fn map3<A: Copy, B: Copy, C: Copy, R: Copy>(
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    b: Strided<'_>,
    c: Strided<'_>,
    f: impl Fn(A, B, C) -> R + Sync + Copy,
) {
    each_turned(shape, [out, a, b, c], &|[o, i, j, l], Block { rows, steps, length, strides: [so, si, sj, sl] }| {
        // SAFETY: as in `Row1`.
        unsafe {
            let (out, a) = (Line(out.at::<R>(o), so), Line(a.at::<A>(i), si));
            let (b, c) = (Line(b.at::<B>(j), sj), Line(c.at::<C>(l), sl));
            dispatch_narrow(Row3 { out, a, b, c, length, f: &f, rows: (rows, steps) });
        }
    });
}

struct Fill<'f, T, F> {
    to: *mut T,
    places: Range<usize>,
    f: &'f F,
}

impl<T, F: Fn(usize) -> T> Task for Fill<'_, T, F> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for place in self.places {
            // SAFETY: there is room for all places.
            unsafe { self.to.add(place).write((self.f)(place)) };
        }
    }
}

/// What `f` says of each number below `length`.
pub fn filled<T: Copy + Send>(length: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut room = Box::<[T]>::new_uninit_slice(length);
    let (to, part) = (Shared(room.as_mut_ptr().cast::<T>()), PARALLEL_ABOVE / 4);
    let fill = |index: usize| {
        let places = index * part..((index + 1) * part).min(length);
        dispatch_narrow(Fill { to: to.at(0), places, f: &f });
    };
    let parts = length.div_ceil(part);
    if length < PARALLEL_ABOVE {
        (0..parts).for_each(fill);
    } else {
        spread_over(parts, 1, &fill);
    }
    // SAFETY: every place has been written.
    unsafe { room.assume_init() }.into_vec()
}

/// 16-bit floats that are computed with as float32 at a time.
const HALVES: usize = 1024;

/// Brings together a part of a row of 16-bit floats as float32.
///
/// # Safety
/// The part lies there, and `widen` turns such floats.
unsafe fn widened(row: Line<u16>, part: Range<usize>, widen: Direct, to: &mut [f32; HALVES]) {
    let count = part.len();
    // SAFETY: the caller's; a part is at most as long as the buffers.
    unsafe {
        if row.1 == 1 {
            return widen(row.0.add(part.start).cast(), to.as_mut_ptr().cast(), count);
        }
        let mut near = [0_u16; HALVES];
        for (slot, k) in near.iter_mut().zip(part) {
            *slot = row.read(k);
        }
        widen(near.as_ptr().cast(), to.as_mut_ptr().cast(), count);
    }
}

/// Computes a row of float32 from others.
pub(super) type RowOf<'a, const N: usize> = dyn Fn(&mut [f32], [&[f32]; N]) + Sync + 'a;

/// `out = f(inputs)` of 16-bit floats, where `f` computes rows of float32 from such: each result is rounded once.
pub fn map_halves<const N: usize, const M: usize>(
    dtype: DType,
    shape: &[usize],
    out: Strided<'_>,
    inputs: [Strided<'_>; N],
    f: &RowOf<'_, N>,
) {
    let views: [Strided<'_>; M] = std::array::from_fn(|view| if view == 0 { out } else { inputs[view - 1] });
    each_row(shape, views, &|at, length, steps| {
        // SAFETY: as in `Row1`.
        unsafe {
            let lines = std::array::from_fn(|view| Line(views[view].at::<u16>(at[view]), steps[view]));
            halves_row::<N, M>(dtype, lines, length, f);
        }
    });
}

/// One row of `map_halves`, the result first.
///
/// # Safety
/// The rows lie there, of 16-bit floats of `dtype`.
pub(super) unsafe fn halves_row<const N: usize, const M: usize>(
    dtype: DType,
    lines: [Line<u16>; M],
    length: usize,
    f: &RowOf<'_, N>,
) {
    let (Some(widen), Some(narrow)) = (direct(dtype, DType::F32), direct(DType::F32, dtype)) else { return };
    let (mut result, mut parts) = ([0.0; HALVES], [[0.0; HALVES]; N]);
    // SAFETY: the caller's; buffers are as long as a part.
    unsafe {
        for start in (0..length).step_by(HALVES) {
            let part = start..(start + HALVES).min(length);
            for (index, buffer) in parts.iter_mut().enumerate() {
                widened(lines[index + 1], part.clone(), widen, buffer);
            }
            f(&mut result[..part.len()], parts.each_ref().map(|buffer| &buffer[..part.len()]));
            if lines[0].1 == 1 {
                narrow(result.as_ptr().cast(), lines[0].0.add(start).cast(), part.len());
                continue;
            }
            let mut near = [0_u16; HALVES];
            narrow(result.as_ptr().cast(), near.as_mut_ptr().cast(), part.len());
            part.zip(near).for_each(|(k, value)| lines[0].write(k, value));
        }
    }
}
