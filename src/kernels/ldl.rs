//! The symmetric indefinite factorization of Bunch and Kaufman (1977), with LAPACK's pivots: no crate has it in that
//! form (benchmarks/cases.py has no line for it, since it is about the form).

use faer::traits::RealField;
use faer::{MatMut, MatRef};

/// float32 and float64.
pub trait Real: RealField + Copy + Send + Sync {
    fn magnitude(self) -> Self;
}

impl Real for f32 {
    fn magnitude(self) -> Self {
        self.abs()
    }
}

impl Real for f64 {
    fn magnitude(self) -> Self {
        self.abs()
    }
}

/// The row below the diagonal with the greatest absolute value in column `k`, and that value.
fn greatest_below<T: Real>(a: &MatMut<'_, T>, k: usize) -> (usize, T) {
    let mut best = (k, T::zero_impl());
    for i in k + 1..a.nrows() {
        let size = a[(i, k)].magnitude();
        if size > best.1 {
            best = (i, size);
        }
    }
    best
}

fn exchange<T: Real>(a: &mut MatMut<'_, T>, one: (usize, usize), other: (usize, usize)) {
    let held = a[one];
    a[one] = a[other];
    a[other] = held;
}

/// Which row becomes the pivot of step `k`, and whether it is a block of two.
fn choose<T: Real>(a: &MatMut<'_, T>, k: usize, alpha: T) -> (usize, bool) {
    let own = a[(k, k)].magnitude();
    let (row, column_max) = greatest_below(a, k);
    if own >= alpha * column_max {
        return (k, false);
    }
    let left = (k..row).map(|j| a[(row, j)].magnitude());
    let row_max = left.fold(greatest_below(a, row).1, |most, size| if size > most { size } else { most });
    if own >= alpha * column_max * (column_max / row_max) {
        (k, false)
    } else {
        (row, a[(row, row)].magnitude() < alpha * row_max)
    }
}

/// Exchanges rows and columns `one` and `other` of the part that is still to be factored, lower triangle only.
fn swap_symmetric<T: Real>(a: &mut MatMut<'_, T>, one: usize, other: usize, first: usize) {
    for i in other + 1..a.nrows() {
        exchange(a, (i, one), (i, other));
    }
    for j in one + 1..other {
        exchange(a, (j, one), (other, j));
    }
    exchange(a, (one, one), (other, other));
    if first < one {
        exchange(a, (one, first), (other, first));
    }
}

/// L and D in place of the lower triangle of `a`, with LAPACK's pivots: from 1, negative and twice for blocks of two.
/// Returns the first step, from 1, at which D is singular, or 0.
pub fn factor<T: Real>(a: &mut MatMut<'_, T>, alpha: T, pivots: &mut [i32]) -> i32 {
    let n = a.nrows();
    let (mut k, mut info) = (0, 0);
    while k < n {
        let nothing = a[(k, k)].magnitude().partial_cmp(&T::zero_impl()) != Some(std::cmp::Ordering::Greater)
            && greatest_below(a, k).1 == T::zero_impl();
        if nothing {
            info = if info == 0 { k as i32 + 1 } else { info };
            pivots[k] = k as i32 + 1;
            k += 1;
            continue;
        }
        let (row, double) = choose(a, k, alpha);
        let end = k + usize::from(double);
        if row != end {
            swap_symmetric(a, end, row, k);
        }
        if double {
            eliminate_two(a, k);
            pivots[k] = -(row as i32 + 1);
            pivots[k + 1] = -(row as i32 + 1);
        } else {
            eliminate_one(a, k);
            pivots[k] = row as i32 + 1;
        }
        k = end + 1;
    }
    info
}

fn eliminate_one<T: Real>(a: &mut MatMut<'_, T>, k: usize) {
    let pivot = a[(k, k)];
    for j in k + 1..a.nrows() {
        let factor = a[(j, k)] / pivot;
        for i in j..a.nrows() {
            a[(i, j)] = a[(i, j)] - a[(i, k)] * factor;
        }
    }
    for i in k + 1..a.nrows() {
        a[(i, k)] /= pivot;
    }
}

fn eliminate_two<T: Real>(a: &mut MatMut<'_, T>, k: usize) {
    let n = a.nrows();
    let corner = a[(k + 1, k)];
    let (lower, upper) = (a[(k + 1, k + 1)] / corner, a[(k, k)] / corner);
    let scale = T::one_impl() / (lower * upper - T::one_impl()) / corner;
    for j in k + 2..n {
        let first = scale * (lower * a[(j, k)] - a[(j, k + 1)]);
        let second = scale * (upper * a[(j, k + 1)] - a[(j, k)]);
        for i in j..n {
            a[(i, j)] = a[(i, j)] - a[(i, k)] * first - a[(i, k + 1)] * second;
        }
        a[(j, k)] = first;
        a[(j, k + 1)] = second;
    }
}

fn swap_rows<T: Real>(b: &mut MatMut<'_, T>, one: usize, other: usize) {
    for j in 0..b.ncols() {
        exchange(b, (one, j), (other, j));
    }
}

/// `b[row] -= the sum over i >= from of a[i, column] * b[i]`.
fn gather<T: Real>(a: MatRef<'_, T>, b: &mut MatMut<'_, T>, row: usize, column: usize, from: usize) {
    for j in 0..b.ncols() {
        let sum = (from..a.nrows()).fold(T::zero_impl(), |sum, i| sum + a[(i, column)] * b[(i, j)]);
        b[(row, j)] -= sum;
    }
}

/// `b[i] -= a[i, column] * b[column]` for all i >= from.
fn spread<T: Real>(a: MatRef<'_, T>, b: &mut MatMut<'_, T>, column: usize, from: usize) {
    for j in 0..b.ncols() {
        let value = b[(column, j)];
        for i in from..a.nrows() {
            b[(i, j)] -= a[(i, column)] * value;
        }
    }
}

/// `b` becomes the solution of `A x = b`, given what `factor` made of A; pivots lie in range and blocks are pairs.
pub fn solve<T: Real>(a: MatRef<'_, T>, pivots: &[i32], b: &mut MatMut<'_, T>) {
    let n = a.nrows();
    let place = |k: usize| pivots[k].unsigned_abs() as usize - 1;
    let mut k = 0;
    while k < n {
        if pivots[k] > 0 {
            swap_rows(b, k, place(k));
            spread(a, b, k, k + 1);
            for j in 0..b.ncols() {
                b[(k, j)] /= a[(k, k)];
            }
            k += 1;
        } else {
            swap_rows(b, k + 1, place(k));
            spread(a, b, k, k + 2);
            spread(a, b, k + 1, k + 2);
            divide_two(a, b, k);
            k += 2;
        }
    }
    while k > 0 {
        let last = k - 1;
        gather(a, b, last, last, k);
        if pivots[last] > 0 {
            k -= 1;
        } else {
            gather(a, b, last - 1, last - 1, k);
            k -= 2;
        }
        swap_rows(b, last, place(last));
    }
}

/// Solves with the block of two of D at `k`.
fn divide_two<T: Real>(a: MatRef<'_, T>, b: &mut MatMut<'_, T>, k: usize) {
    let corner = a[(k + 1, k)];
    let (upper, lower) = (a[(k, k)] / corner, a[(k + 1, k + 1)] / corner);
    let scale = T::one_impl() / (upper * lower - T::one_impl());
    for j in 0..b.ncols() {
        let (first, second) = (b[(k, j)] / corner, b[(k + 1, j)] / corner);
        b[(k, j)] = (lower * first - second) * scale;
        b[(k + 1, j)] = (upper * second - first) * scale;
    }
}
