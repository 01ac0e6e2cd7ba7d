//! Householder's QR of complex matrices in LAPACK's form, whose R has a real diagonal; faer's has another (benchmarks/
//! cases.py has no line for it, since it is about the form).

use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef, c64};

const ZERO: c64 = c64::new(0.0, 0.0);
const ONE: c64 = c64::new(1.0, 0.0);

/// The length of column `k` below its diagonal, without overflow on the way.
fn length_below(a: MatRef<'_, c64>, k: usize) -> f64 {
    let rows = k + 1..a.nrows();
    let largest = rows.clone().fold(0.0f64, |most, i| most.max(a[(i, k)].re.abs()).max(a[(i, k)].im.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return rows.fold(0.0, |sum, i| sum + a[(i, k)].norm_sqr()).sqrt();
    }
    rows.fold(0.0, |sum, i| sum + (a[(i, k)] / largest).norm_sqr()).sqrt() * largest
}

/// Turns column `k` into a reflector that zeroes it below its diagonal; returns the factor.
fn reflector(mut a: MatMut<'_, c64>, k: usize) -> c64 {
    let (head, below) = (a[(k, k)], length_below(a.rb(), k));
    if below == 0.0 && head.im == 0.0 {
        return ZERO;
    }
    let beta = -head.re.hypot(head.im).hypot(below).copysign(head.re);
    let scale = super::complex::divide(ONE, head - beta);
    for i in k + 1..a.nrows() {
        a[(i, k)] *= scale;
    }
    a[(k, k)] = c64::new(beta, 0.0);
    c64::new((beta - head.re) / beta, -head.im / beta)
}

/// Subtracts `factor * v (v^H x)` from column `j` of `x`, where `v` lies in column `k` of `a` below a one.
fn reflect(a: MatRef<'_, c64>, k: usize, factor: c64, mut x: MatMut<'_, c64>, j: usize) {
    let rows = k + 1..a.nrows();
    let along = rows.clone().fold(x[(k, j)], |sum, i| sum + a[(i, k)].conj() * x[(i, j)]) * factor;
    x[(k, j)] -= along;
    for i in rows {
        x[(i, j)] -= a[(i, k)] * along;
    }
}

/// As `Element::qr`.
pub fn qr(mut a: MatMut<'_, c64>, tau: &mut [c64], q: Option<MatMut<'_, c64>>) {
    let (m, n) = a.shape();
    for (k, tau) in tau.iter_mut().enumerate().take(m.min(n)) {
        *tau = reflector(a.rb_mut(), k);
        let (left, mut right) = a.rb_mut().split_at_col_mut(k + 1);
        for j in 0..n - k - 1 {
            reflect(left.rb(), k, tau.conj(), right.rb_mut(), j);
        }
    }
    let Some(mut q) = q else { return };
    q.fill(ZERO);
    for k in 0..m.min(q.ncols()) {
        q[(k, k)] = ONE;
    }
    for (k, &factor) in tau.iter().enumerate().take(m.min(n)).rev() {
        for j in k..q.ncols() {
            reflect(a.rb(), k, factor, q.rb_mut(), j);
        }
    }
}
