//! Softmax along one dimension of contiguous CPU memory, forward and backward (benchmarks/bars.py: reductions).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::real::Real;
use super::vector::{Task, dispatch};
#[cfg(target_arch = "x86_64")]
use super::{processor::passed_above, vector::is_wide, wide_rows};

/// As many independent sums as the widest vectors hold; their order does not depend on the machine.
const LANES: usize = 16;
/// Columns that are computed side by side where a line's elements are not neighbours.
const COLUMNS: usize = 64;

/// Lines of `size` elements, `inner` apart, in row-major memory of `numel` elements.
#[derive(Clone, Copy)]
pub struct Lines {
    pub numel: usize,
    pub size: usize,
    pub inner: usize,
}

#[derive(Clone, Copy)]
pub struct At<T>(pub *mut T);
// SAFETY: each line is read and written by one thread, and the tensors that own the memory outlive the call.
unsafe impl<T> Send for At<T> {}
// SAFETY: as for Send.
unsafe impl<T> Sync for At<T> {}

impl<T> At<T> {
    fn after(self, count: usize) -> *mut T {
        self.0.wrapping_add(count)
    }

    /// The same memory as elements of another type.
    pub fn cast<U>(self) -> At<U> {
        At(self.0.cast())
    }
}

impl Lines {
    /// Calls `line(start)` for each line of neighbours, or `block(start, columns)` for each block of columns.
    pub fn each(self, line: impl Fn(usize) + Sync, block: impl Fn(usize, usize) + Sync) {
        let Self { numel, size, inner } = self;
        if numel == 0 {
            return;
        }
        let outer = numel / (size * inner);
        let (count, work) = if inner == 1 { (outer, size) } else { (outer * inner.div_ceil(COLUMNS), size * COLUMNS) };
        let one = |number: usize| {
            if inner == 1 {
                return line(number * size);
            }
            let (row, part) = (number / inner.div_ceil(COLUMNS), number % inner.div_ceil(COLUMNS));
            block(row * size * inner + part * COLUMNS, COLUMNS.min(inner - part * COLUMNS));
        };
        if numel < PARALLEL_ABOVE {
            (0..count).for_each(one);
        } else {
            spread_over(count, (PARALLEL_ABOVE / 8 / work).max(1), &one);
        }
    }
}

/// Joins lanes, half of them with the other half each time: sixteen one by one would take as long as a short line.
#[inline(always)]
fn joined<T: Real>(lanes: [T; LANES], join: impl Fn(T, T) -> T) -> T {
    let eight: [T; 8] = std::array::from_fn(|k| join(lanes[k], lanes[k + 8]));
    let four: [T; 4] = std::array::from_fn(|k| join(eight[k], eight[k + 4]));
    join(join(four[0], four[2]), join(four[1], four[3]))
}

#[inline(always)]
pub fn fold<T: Real>(values: &[T], start: T, value: impl Fn(T) -> T, join: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for k in 0..LANES {
            lanes[k] = join(lanes[k], value(chunk[k]));
        }
    }
    let mut folded = joined(lanes, &join);
    for &one in rest {
        folded = join(folded, value(one));
    }
    folded
}

/// As `fold`, with what `value` gives put in the place of each element.
#[inline(always)]
pub fn fold_changed<T: Real>(values: &mut [T], start: T, value: impl Fn(T) -> T, join: impl Fn(T, T) -> T) -> T {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for k in 0..LANES {
            chunk[k] = value(chunk[k]);
            lanes[k] = join(lanes[k], chunk[k]);
        }
    }
    let mut folded = joined(lanes, &join);
    for one in rest {
        *one = value(*one);
        folded = join(folded, *one);
    }
    folded
}

/// The greater one; a NaN is not greater than anything, but makes the sum of powers NaN.
#[inline(always)]
pub fn greater<T: Real>(top: T, x: T) -> T {
    if x > top { x } else { top }
}

/// The greatest element of a line, and the sum of the powers of all distances from it.
#[inline(always)]
pub fn line_sum<T: Real, const FMA: bool>(from: &[T]) -> (T, T) {
    let top = fold(from, T::LOWEST, |x| x, greater);
    (top, fold(from, T::of(0.0), |x| (x - top).power::<FMA>(), |sum, x| sum + x))
}

struct Line<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
    log: bool,
}

impl<T: Real> Task for Line<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.log {
            let (top, total) = line_sum::<T, FMA>(self.from);
            let shift = total.logarithm::<FMA>();
            for (to, &x) in self.to.iter_mut().zip(self.from) {
                *to = x - top - shift;
            }
            return;
        }
        let top = fold(self.from, T::LOWEST, |x| x, greater);
        for (to, &x) in self.to.iter_mut().zip(self.from) {
            *to = (x - top).power::<FMA>();
        }
        let total = fold(self.to, T::of(0.0), |x| x, |sum, x| sum + x);
        for to in self.to.iter_mut() {
            *to = *to / total;
        }
    }
}

/// The greatest element and the sum of powers of each of some columns.
///
/// # Safety
/// `from` is valid for `columns` elements at each of `size` rows, `step` apart.
#[inline(always)]
pub unsafe fn column_sums<T: Real, const FMA: bool>(
    from: *const T,
    size: usize,
    step: usize,
    columns: usize,
) -> ([T; COLUMNS], [T; COLUMNS]) {
    let (mut top, mut total) = ([T::LOWEST; COLUMNS], [T::of(0.0); COLUMNS]);
    for k in 0..size {
        // SAFETY: the caller's.
        let row = unsafe { std::slice::from_raw_parts(from.add(k * step), columns) };
        for (top, &x) in top.iter_mut().zip(row) {
            *top = greater(*top, x);
        }
    }
    for k in 0..size {
        // SAFETY: as above.
        let row = unsafe { std::slice::from_raw_parts(from.add(k * step), columns) };
        for ((total, top), &x) in total.iter_mut().zip(&top).zip(row) {
            *total = *total + (x - *top).power::<FMA>();
        }
    }
    (top, total)
}

struct Columns<T> {
    from: *const T,
    to: *mut T,
    size: usize,
    step: usize,
    columns: usize,
    log: bool,
}

impl<T: Real> Task for Columns<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { from, to, size, step, columns, log } = self;
        // SAFETY: `softmax` vouches for the memory, and the result does not overlap the input.
        unsafe {
            let (top, total) = column_sums::<T, FMA>(from, size, step, columns);
            let mut shift = total;
            if log {
                shift.iter_mut().for_each(|total| *total = total.logarithm::<FMA>());
            }
            for k in 0..size {
                let row = std::slice::from_raw_parts(from.add(k * step), columns);
                let out = std::slice::from_raw_parts_mut(to.add(k * step), columns);
                for (((to, &x), top), shift) in out.iter_mut().zip(row).zip(&top).zip(&shift) {
                    *to = if log { x - *top - *shift } else { (x - *top).power::<FMA>() / *shift };
                }
            }
        }
    }
}

/// The softmax of each line, or its logarithm.
///
/// # Safety
/// Both are valid for all elements of `lines`, aligned, and do not overlap.
pub unsafe fn softmax<T: Real>(lines: Lines, from: At<T>, to: At<T>, log: bool) {
    let Lines { size, inner, .. } = lines;
    #[cfg(target_arch = "x86_64")]
    let streamed = lines.numel * size_of::<T>() >= passed_above();
    lines.each(
        |start| {
            #[cfg(target_arch = "x86_64")]
            if is_wide::<T>() {
                let out = wide_rows::To { to: to.after(start).cast(), streamed };
                // SAFETY: a line lies inside, `T` is float32, and the processor has AVX-512.
                return unsafe { wide_rows::softmax(from.after(start).cast(), out, size, log) };
            }
            // SAFETY: a line lies inside.
            let (from, to) = unsafe {
                (
                    std::slice::from_raw_parts(from.after(start), size),
                    std::slice::from_raw_parts_mut(to.after(start), size),
                )
            };
            dispatch(Line { from, to, log });
        },
        |start, columns| {
            dispatch(Columns { from: from.after(start), to: to.after(start), size, step: inner, columns, log });
        },
    );
}

struct LineBack<'a, T> {
    grad: &'a [T],
    y: &'a [T],
    to: &'a mut [T],
    log: bool,
}

impl<T: Real> Task for LineBack<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.log {
            let total = fold(self.grad, T::of(0.0), |x| x, |sum, x| sum + x);
            for ((to, &grad), &y) in self.to.iter_mut().zip(self.grad).zip(self.y) {
                *to = grad - y.power::<FMA>() * total;
            }
            return;
        }
        for ((to, &grad), &y) in self.to.iter_mut().zip(self.grad).zip(self.y) {
            *to = grad * y;
        }
        let total = fold(self.to, T::of(0.0), |x| x, |sum, x| sum + x);
        for ((to, &grad), &y) in self.to.iter_mut().zip(self.grad).zip(self.y) {
            *to = y * (grad - total);
        }
    }
}

struct ColumnsBack<T> {
    grad: *const T,
    y: *const T,
    to: *mut T,
    size: usize,
    step: usize,
    columns: usize,
    log: bool,
}

impl<T: Real> Task for ColumnsBack<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut total = [T::of(0.0); COLUMNS];
        for k in 0..self.size {
            let at = k * self.step;
            // SAFETY: `softmax_back` vouches for the memory.
            let (grad, y) = unsafe {
                (
                    std::slice::from_raw_parts(self.grad.add(at), self.columns),
                    std::slice::from_raw_parts(self.y.add(at), self.columns),
                )
            };
            for ((total, &grad), &y) in total.iter_mut().zip(grad).zip(y) {
                *total = *total + if self.log { grad } else { grad * y };
            }
        }
        for k in 0..self.size {
            let at = k * self.step;
            // SAFETY: as above; the result does not overlap the inputs.
            let (grad, y, to) = unsafe {
                (
                    std::slice::from_raw_parts(self.grad.add(at), self.columns),
                    std::slice::from_raw_parts(self.y.add(at), self.columns),
                    std::slice::from_raw_parts_mut(self.to.add(at), self.columns),
                )
            };
            for (((to, &grad), &y), total) in to.iter_mut().zip(grad).zip(y).zip(&total) {
                *to = if self.log { grad - y.power::<FMA>() * *total } else { y * (grad - *total) };
            }
        }
    }
}

/// The gradient of the input from that of the result `y`.
///
/// # Safety
/// As `softmax`, for all three.
pub unsafe fn softmax_back<T: Real>(lines: Lines, grad: At<T>, y: At<T>, to: At<T>, log: bool) {
    let Lines { size, inner, .. } = lines;
    lines.each(
        |start| {
            #[cfg(target_arch = "x86_64")]
            if is_wide::<T>() {
                let (grad, y) = (grad.after(start).cast::<f32>(), y.after(start).cast::<f32>());
                let to = to.after(start).cast();
                // SAFETY: as in `softmax`.
                return unsafe { wide_rows::softmax_back(grad, y, to, size, log) };
            }
            // SAFETY: a line lies inside.
            let (grad, y, to) = unsafe {
                (
                    std::slice::from_raw_parts(grad.after(start), size),
                    std::slice::from_raw_parts(y.after(start), size),
                    std::slice::from_raw_parts_mut(to.after(start), size),
                )
            };
            dispatch(LineBack { grad, y, to, log });
        },
        |start, columns| {
            let (grad, y, to) = (grad.after(start), y.after(start), to.after(start));
            dispatch(ColumnsBack { grad, y, to, size, step: inner, columns, log });
        },
    );
}
