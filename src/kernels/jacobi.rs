//! Eigenvalues and singular values of many small matrices, one in each lane of vectors (benchmarks/cases.py: small_eigh,
//! small_svd).
//!
//! Jacobi's rotations make one element after the other zero, in the same order for all matrices; those that are not done
//! after some rounds, whose numbers are not finite or near the ends of the range, or which lack a rank for their vectors
//! are named in `failed` and left to `factor`.

use super::small::{LANES, Lane, apart, bits, not_finite, spread, unit};
use super::vector::Task;

/// Rows up to which rotations are faster than what `factor` does.
pub const LARGEST: usize = 8;
/// Rounds after which every known matrix is done; most take six.
const ROUNDS: usize = 20;
/// Magnitude up to which squares, and products of two of them, stay in the range.
const SQUARED: f64 = 1e140;
const SQUARED_TWICE: f64 = 1e70;
/// Elements of this share of the greatest count as zero.
const NOTHING: f64 = 1e-18;

/// The share of two columns' lengths below which their product says that they are orthogonal.
const ORTHOGONAL: f64 = 1e-15;
/// Singular values of this share of the greatest have vectors that rounding decides.
const SMALLEST: f64 = 1e-12;

/// What is wanted of up to `LANES` symmetric matrices of `n` rows.
pub struct Symmetric<'a> {
    pub n: usize,
    /// The matrices, row by row, of which the lower triangle is read.
    pub from: &'a [f64],
    /// From the least up.
    pub values: &'a mut [f64],
    /// As columns, one after the other; empty where they are not wanted.
    pub vectors: &'a mut [f64],
    pub failed: &'a mut u16,
}

/// What is wanted of up to `LANES` matrices of as many rows as columns or more.
pub struct Singular<'a> {
    pub rows: usize,
    pub columns: usize,
    /// The matrices, row by row.
    pub from: &'a [f64],
    /// Whether their transposes are meant.
    pub turned: bool,
    /// From the greatest down.
    pub values: &'a mut [f64],
    /// As columns, one after the other, as many as values; empty where they are not wanted.
    pub left: &'a mut [f64],
    pub right: &'a mut [f64],
    pub failed: &'a mut u16,
}

/// The tangents of the angles that make zero what stands across, where it is above the limit.
#[inline(always)]
fn tangents(own: Lane<f64>, other: Lane<f64>, across: Lane<f64>, limit: &Lane<f64>) -> Lane<f64> {
    Lane(std::array::from_fn(|lane| {
        let theta = (other.0[lane] - own.0[lane]) / (2.0 * across.0[lane]);
        let tangent = 1.0 / (theta.abs() + (theta * theta + 1.0).sqrt());
        let tangent = if theta < 0.0 { -tangent } else { tangent };
        if across.0[lane].abs() > limit.0[lane] { tangent } else { 0.0 }
    }))
}

#[inline(always)]
fn any_above(numbers: &Lane<f64>, limit: &Lane<f64>) -> bool {
    (0..LANES).fold(false, |any, lane| any | (numbers.0[lane].abs() > limit.0[lane]))
}

/// The greatest number of each matrix, and bits of those beyond `farthest` or below its reciprocal, or which are not finite.
#[inline(always)]
fn greatest(a: &[Lane<f64>], farthest: f64) -> (Lane<f64>, u16) {
    let most = a.iter().fold(Lane::all(0.0f64), |most, &x| most.with(x, |most, x| most.max(x.abs())));
    (most, not_finite(a) | bits(most, |most| most > farthest || (most < 1.0 / farthest && most != 0.0)))
}

/// Turns two lines by an angle of which `c` is the cosine and `s` the sine.
#[inline(always)]
fn turn(lines: &mut [Lane<f64>], p: usize, q: usize, c: Lane<f64>, s: Lane<f64>) {
    apart();
    let (one, other) = (lines[p], lines[q]);
    lines[p] = one.with(c, |x, c| x * c).with(other.with(s, |x, s| x * s), |a, b| a - b);
    lines[q] = one.with(s, |x, s| x * s).with(other.with(c, |x, c| x * c), |a, b| a + b);
}

/// Makes the element at (`p`, `q`) zero where it is above the limit.
#[inline(always)]
fn rotate(a: &mut [Lane<f64>], v: &mut [Lane<f64>], n: usize, [p, q]: [usize; 2], limit: &Lane<f64>) {
    let (own, other, across) = (a[p * n + p], a[q * n + q], a[p * n + q]);
    let tangent = tangents(own, other, across, limit);
    let c = tangent.map(|t| 1.0 / (t * t + 1.0).sqrt());
    let s = tangent.with(c, |t, c| t * c);
    let step = tangent.with(across, |t, x| t * x);
    for row in a.chunks_exact_mut(n) {
        turn(row, p, q, c, s);
    }
    for r in 0..n {
        (a[p * n + r], a[q * n + r]) = (a[r * n + p], a[r * n + q]);
    }
    a[p * n + p] = own.with(step, |x, step| x - step);
    a[q * n + q] = other.with(step, |x, step| x + step);
    (a[p * n + q], a[q * n + p]) = (Lane::all(0.0), Lane::all(0.0));
    for row in v.chunks_exact_mut(n) {
        turn(row, p, q, c, s);
    }
}

impl Task for Symmetric<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let n = self.n;
        let mut a = spread(self.from, n, n, true);
        for i in 0..n {
            for j in 0..i {
                a[j * n + i] = a[i * n + j];
            }
        }
        let (most, mut failed) = greatest(&a, SQUARED);
        let limit = most.map(|most| most * NOTHING);
        let mut v = if self.vectors.is_empty() { Vec::new() } else { unit(n) };
        let mut open = n > 1;
        for _ in 0..ROUNDS {
            if !open {
                break;
            }
            open = false;
            for p in 0..n {
                for q in p + 1..n {
                    open |= any_above(&a[p * n + q], &limit);
                    rotate(&mut a, &mut v, n, [p, q], &limit);
                }
            }
        }
        if open {
            failed = u16::MAX;
        }
        *self.failed = failed;
        for (lane, values) in self.values.chunks_exact_mut(n).enumerate() {
            let mut order: [usize; LARGEST] = std::array::from_fn(|k| k);
            let value = |k: usize| a[k * n + k].0[lane % LANES];
            order[..n].sort_by(|&one, &other| value(one).total_cmp(&value(other)));
            values.iter_mut().zip(order).for_each(|(slot, k)| *slot = value(k));
            let Some(vectors) = self.vectors.get_mut(lane * n * n..(lane + 1) * n * n) else { continue };
            for (column, k) in vectors.chunks_exact_mut(n).zip(order) {
                column.iter_mut().enumerate().for_each(|(i, slot)| *slot = v[i * n + k].0[lane % LANES]);
            }
        }
    }
}

/// The sums of the products of two columns.
#[inline(always)]
fn product(one: &[Lane<f64>], other: &[Lane<f64>]) -> Lane<f64> {
    let add = |sum: Lane<f64>, (x, y): (&Lane<f64>, &Lane<f64>)| sum.with(x.with(*y, |x, y| x * y), |sum, x| sum + x);
    one.iter().zip(other).fold(Lane::all(0.0), add)
}

/// Turns two columns of `length`.
#[inline(always)]
fn turn_columns(a: &mut [Lane<f64>], length: usize, [p, q]: [usize; 2], c: Lane<f64>, s: Lane<f64>) {
    for i in 0..length {
        turn(a, p * length + i, q * length + i, c, s);
    }
}

impl Task for Singular<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (m, n) = (self.rows, self.columns);
        let mut a = spread(self.from, m, n, self.turned);
        let (_, mut failed) = greatest(&a, SQUARED_TWICE);
        let mut v = if self.right.is_empty() { Vec::new() } else { unit(n) };
        let vectors = usize::from(!v.is_empty()) * n;
        let mut open = n > 1;
        for _ in 0..ROUNDS {
            if !open {
                break;
            }
            open = false;
            for p in 0..n {
                for q in p + 1..n {
                    let (one, other) = (&a[p * m..(p + 1) * m], &a[q * m..(q + 1) * m]);
                    let (own, last, across) = (product(one, one), product(other, other), product(one, other));
                    let limit = own.with(last, |x, y| (x * y).sqrt() * ORTHOGONAL);
                    open |= any_above(&across, &limit);
                    let tangent = tangents(own, last, across, &limit);
                    let c = tangent.map(|t| 1.0 / (t * t + 1.0).sqrt());
                    let s = tangent.with(c, |t, c| t * c);
                    turn_columns(&mut a, m, [p, q], c, s);
                    turn_columns(&mut v, vectors, [p, q], c, s);
                }
            }
        }
        if open {
            failed = u16::MAX;
        }
        let lengths: Vec<Lane<f64>> = a.chunks_exact(m).map(|one| product(one, one).map(f64::sqrt)).collect();
        for (lane, values) in self.values.chunks_exact_mut(n).enumerate() {
            let lane_of = lane % LANES;
            let mut order: [usize; LARGEST] = std::array::from_fn(|k| k);
            let value = |k: usize| lengths[k].0[lane_of];
            order[..n].sort_by(|&one, &other| value(other).total_cmp(&value(one)));
            values.iter_mut().zip(order).for_each(|(slot, k)| *slot = value(k));
            if vectors == 0 {
                continue;
            }
            if value(order[n - 1]) <= value(order[0]) * SMALLEST {
                failed |= 1 << lane_of;
            }
            let left = self.left.chunks_exact_mut(m).skip(lane * n).zip(order);
            for (column, k) in left.take(n) {
                column.iter_mut().zip(&a[k * m..]).for_each(|(slot, x)| *slot = x.0[lane_of] / value(k));
            }
            let right = self.right.chunks_exact_mut(n).skip(lane * n).zip(order);
            for (column, k) in right.take(n) {
                column.iter_mut().zip(&v[k * n..]).for_each(|(slot, x)| *slot = x.0[lane_of]);
            }
        }
        *self.failed = failed;
    }
}
