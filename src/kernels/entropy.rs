//! Cross entropy of classes without the matrix of log-probabilities (benchmarks/bars.py: reductions).

use super::real::Real;
use super::softmax::{At, Lines, column_sums, line_sum};
use super::vector::{Task, dispatch};

/// How much a line counts that is ignored, which is not the same as a weight of zero: infinite losses times that are NaN.
pub const IGNORED: f64 = -0.0;

#[inline(always)]
fn is_ignored<T: Real>(factor: T) -> bool {
    factor == T::of(0.0) && T::of(1.0) / factor < T::of(0.0)
}

/// The scores, and for each line its class (within the size) and how much it counts.
#[derive(Clone, Copy)]
pub struct Scores<T> {
    pub lines: Lines,
    pub scores: At<T>,
    pub classes: At<i64>,
    pub factors: At<T>,
}

impl<T: Real> Scores<T> {
    /// The number of the line whose first element is the `start`-th.
    fn line(&self, start: usize) -> usize {
        let Lines { size, inner, .. } = self.lines;
        start / (size * inner) * inner + start % (size * inner)
    }
}

struct Loss<T> {
    at: Scores<T>,
    start: usize,
    columns: usize,
    losses: *mut T,
    norms: *mut T,
}

impl<T: Real> Task for Loss<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Lines { size, inner, .. } = self.at.lines;
        // SAFETY: `losses` vouches for the memory and for the classes.
        unsafe {
            let from = self.at.scores.0.add(self.start);
            let (top, total) = if inner == 1 {
                let (top, total) = line_sum::<T, FMA>(std::slice::from_raw_parts(from, size));
                ([top; 64], [total; 64])
            } else {
                column_sums::<T, FMA>(from, size, inner, self.columns)
            };
            let first = self.at.line(self.start);
            let mut shifts = total;
            shifts[..self.columns].iter_mut().for_each(|total| *total = total.logarithm::<FMA>());
            for k in 0..self.columns {
                let line = first + k;
                let class = *self.at.classes.0.add(line) as usize;
                let (shift, factor) = (shifts[k], *self.at.factors.0.add(line));
                let loss = (shift - (*from.add(class * inner + k) - top[k])) * factor;
                *self.losses.add(line) = if is_ignored(factor) { T::of(0.0) } else { loss };
                *self.norms.add(2 * line) = top[k];
                *self.norms.add(2 * line + 1) = shift;
            }
        }
    }
}

/// `-scores` at the class of each line times its factor; 0 where the class is `ignored`.
///
/// # Safety
/// The memory holds `lines` of scores, a class for each of them that is inside of its size or `ignored`, as many factors,
/// and as many places in `losses`.
pub unsafe fn picked<T: Real>(at: Scores<T>, ignored: i64, losses: *mut T) {
    let Lines { size, inner, numel } = at.lines;
    let one = |line: usize, place: usize| {
        // SAFETY: the caller vouches for the memory and for the classes.
        unsafe {
            let class = *at.classes.0.add(line);
            *losses.add(line) = if class == ignored {
                T::of(0.0)
            } else {
                T::of(-1.0) * *at.scores.0.add(place + class as usize * inner) * *at.factors.0.add(line)
            };
        }
    };
    for block in 0..numel / (size * inner) {
        (0..inner).for_each(|k| one(block * inner + k, block * size * inner + k));
    }
}

/// `-log(softmax(scores))` at the class of each line times its factor; `norms` receives each line's greatest score and the
/// logarithm of its sum of powers.
///
/// # Safety
/// All memory is valid for the lines, classes are below the size, and the results overlap nothing.
pub unsafe fn losses<T: Real>(at: Scores<T>, losses: At<T>, norms: At<T>) {
    let one = |start: usize, columns: usize| {
        let (losses, norms) = (losses, norms);
        dispatch(Loss { at, start, columns, losses: losses.0, norms: norms.0 });
    };
    at.lines.each(|start| one(start, 1), one);
}

struct Slope<T> {
    at: Scores<T>,
    start: usize,
    columns: usize,
    grads: *const T,
    norms: *const T,
    to: *mut T,
}

impl<T: Real> Task for Slope<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Lines { size, inner, .. } = self.at.lines;
        let first = self.at.line(self.start);
        // SAFETY: `slopes` vouches for the memory and for the classes.
        unsafe {
            let (from, to) = (self.at.scores.0.add(self.start), self.to.add(self.start));
            let zero = T::of(0.0);
            let (mut scale, mut top, mut shift) = ([zero; 64], [zero; 64], [zero; 64]);
            for k in 0..self.columns {
                scale[k] = *self.grads.add(first + k) * *self.at.factors.0.add(first + k);
                top[k] = *self.norms.add(2 * (first + k));
                shift[k] = *self.norms.add(2 * (first + k) + 1);
            }
            if inner == 1 {
                let (from, to) = (std::slice::from_raw_parts(from, size), std::slice::from_raw_parts_mut(to, size));
                let (scale, top, shift) = (scale[0], top[0], shift[0]);
                for (to, &x) in to.iter_mut().zip(from) {
                    *to = (x - top - shift).power::<FMA>() * scale;
                }
            } else {
                for row in 0..size {
                    let from = std::slice::from_raw_parts(from.add(row * inner), self.columns);
                    let to = std::slice::from_raw_parts_mut(to.add(row * inner), self.columns);
                    for ((((to, &x), scale), top), shift) in to.iter_mut().zip(from).zip(&scale).zip(&top).zip(&shift) {
                        *to = (x - *top - *shift).power::<FMA>() * *scale;
                    }
                }
            }
            for k in 0..self.columns {
                let slot = to.add(*self.at.classes.0.add(first + k) as usize * inner + k);
                *slot = *slot - scale[k];
            }
            self.clear_ignored(to, first, size, inner);
        }
    }
}

impl<T: Real> Slope<T> {
    /// What is ignored has no gradient, whatever its scores are.
    ///
    /// # Safety
    /// As `slopes`.
    #[inline(always)]
    unsafe fn clear_ignored(&self, to: *mut T, first: usize, size: usize, inner: usize) {
        for k in 0..self.columns {
            // SAFETY: the caller's.
            unsafe {
                if is_ignored(*self.at.factors.0.add(first + k)) {
                    (0..size).for_each(|row| *to.add(row * inner + k) = T::of(0.0));
                }
            }
        }
    }
}

/// The gradient of the scores from those of the losses.
///
/// # Safety
/// As `losses`, whose `norms` these are.
pub unsafe fn slopes<T: Real>(at: Scores<T>, grads: At<T>, norms: At<T>, to: At<T>) {
    let one = |start: usize, columns: usize| {
        let (grads, norms, to) = (grads, norms, to);
        dispatch(Slope { at, start, columns, grads: grads.0, norms: norms.0, to: to.0 });
    };
    at.lines.each(|start| one(start, 1), one);
}
