//! Factorizations of one matrix that lies column by column, by the faer crate (benchmarks/cases.py: large_solve,
//! large_svdvals). They run on one thread each: batches are spread over threads by the caller.

use std::ops::{Mul, Sub};

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::householder;
use faer::linalg::lu::partial_pivoting::factor as lu;
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::linalg::triangular_solve as triangular;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::{ComplexField, RealField};
use faer::{Conj, MatMut, MatRef, Par, c64};

use super::complex::divide;
use super::reflect;

/// float32, float64 and complex128; complex64 is widened by the caller.
pub trait Element: ComplexField + Copy + Send + Sync + PartialEq + Sub<Output = Self> + Mul<Output = Self> {
    fn finite(self) -> bool;
    /// By which LAPACK chooses pivots: of complex numbers the sum of both parts' absolute values.
    fn size(self) -> f64;
    fn real_part(self) -> f64;
    /// The number without its imaginary part.
    fn flattened(self) -> Self;
    fn over(self, divisor: Self) -> Self;
    fn times(self, factor: f64) -> Self;
    /// R and, below its diagonal, LAPACK's reflectors in place of `a`, with their factors in `tau`; `q`, where given,
    /// becomes as many columns of the orthogonal factor as it has.
    fn qr(a: MatMut<'_, Self>, tau: &mut [Self], q: Option<MatMut<'_, Self>>);
}

macro_rules! real {
    ($($type:ty),+) => { $(
        impl Element for $type {
            fn finite(self) -> bool {
                self.is_finite()
            }
            fn size(self) -> f64 {
                self.abs().into()
            }
            fn real_part(self) -> f64 {
                self.into()
            }
            fn flattened(self) -> Self {
                self
            }
            fn over(self, divisor: Self) -> Self {
                self / divisor
            }
            fn times(self, factor: f64) -> Self {
                self * factor as $type
            }
            fn qr(a: MatMut<'_, Self>, tau: &mut [Self], q: Option<MatMut<'_, Self>>) {
                real_qr(a, tau, q);
            }
        }
    )+ };
}

real!(f32, f64);

impl Element for c64 {
    fn finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
    fn real_part(self) -> f64 {
        self.re
    }
    fn flattened(self) -> Self {
        Self::new(self.re, 0.0)
    }
    fn over(self, divisor: Self) -> Self {
        divide(self, divisor)
    }
    fn times(self, factor: f64) -> Self {
        self * factor
    }
    fn qr(a: MatMut<'_, Self>, tau: &mut [Self], q: Option<MatMut<'_, Self>>) {
        reflect::qr(a, tau, q);
    }
}

/// What LAPACK reports for a matrix that holds NaN or infinity: nothing was computed.
pub const NOT_FINITE: i32 = -1;

fn all_finite<T: Element>(a: MatRef<'_, T>) -> bool {
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)].finite()))
}

fn buffer(need: StackReq) -> MemBuffer {
    MemBuffer::new(need)
}

/// L and U in place of `a`, with LAPACK's row exchanges (from 1) in `pivots`; returns the first column, from 1, whose
/// pivot is zero, or 0.
pub fn lu<T: Element>(mut a: MatMut<'_, T>, pivots: &mut [i32]) -> i32 {
    let (m, n) = a.shape();
    let original = a.rb().to_owned();
    let (mut order, mut inverse) = (vec![0usize; m], vec![0usize; m]);
    let params = Default::default();
    let mut memory = buffer(lu::lu_in_place_scratch::<usize, T>(m, n, Par::Seq, params));
    lu::lu_in_place(a.rb_mut(), &mut order, &mut inverse, Par::Seq, MemStack::new(&mut memory), params);
    if all_finite(a.rb()) {
        exchanges(&order, pivots);
    } else {
        // faer divides by the zero pivots of a singular matrix; LAPACK leaves their columns alone.
        a.copy_from(&original);
        eliminate(a.rb_mut(), pivots);
    }
    let zero = T::zero_impl();
    (0..m.min(n)).find(|&k| a[(k, k)] == zero).map_or(0, |k| k as i32 + 1)
}

/// The row exchanges, from 1, that bring the rows into `order` one after the other.
fn exchanges(order: &[usize], pivots: &mut [i32]) {
    let mut row_at: Vec<usize> = (0..order.len()).collect();
    let mut place_of = row_at.clone();
    for (step, (pivot, &row)) in pivots.iter_mut().zip(order).enumerate() {
        let place = place_of[row];
        *pivot = place as i32 + 1;
        let moved = row_at[step];
        row_at.swap(step, place);
        place_of[moved] = place;
        place_of[row] = step;
    }
}

/// Elimination column by column, for matrices with zero pivots or values that are not finite.
fn eliminate<T: Element>(mut a: MatMut<'_, T>, pivots: &mut [i32]) {
    let (m, n) = a.shape();
    let zero = T::zero_impl();
    for k in 0..m.min(n) {
        let mut best = k;
        for i in k + 1..m {
            if a[(i, k)].size() > a[(best, k)].size() {
                best = i;
            }
        }
        pivots[k] = best as i32 + 1;
        for j in 0..n {
            let held = a[(k, j)];
            a[(k, j)] = a[(best, j)];
            a[(best, j)] = held;
        }
        let pivot = a[(k, k)];
        if pivot == zero {
            continue;
        }
        for i in k + 1..m {
            a[(i, k)] = a[(i, k)].over(pivot);
        }
        for j in k + 1..n {
            let factor = a[(k, j)];
            for i in k + 1..m {
                a[(i, j)] = a[(i, j)] - a[(i, k)] * factor;
            }
        }
    }
}

/// The lower triangle L of `a = L L^T`, of which only the lower triangle is read; the upper one becomes zero. Returns
/// the order of the first leading minor that is not positive-definite, or 0.
pub fn cholesky<T: Element>(mut a: MatMut<'_, T>) -> i32 {
    let n = a.nrows();
    (0..n).for_each(|j| a[(j, j)] = a[(j, j)].flattened());
    let params = Default::default();
    let mut memory = buffer(llt::cholesky_in_place_scratch::<T>(n, Par::Seq, params));
    let regularization = Default::default();
    let found = llt::cholesky_in_place(a.rb_mut(), regularization, Par::Seq, MemStack::new(&mut memory), params);
    for j in 1..n {
        for i in 0..j {
            a[(i, j)] = T::zero_impl();
        }
    }
    match found {
        Ok(_) => 0,
        Err(llt::LltError::NonPositivePivot { index }) => index as i32 + 1,
    }
}

/// `b` becomes the solution of `a x = b`; the other triangle of `a` is not read, nor its diagonal where that is `unit`.
pub fn solve_triangular<T: Element>(a: MatRef<'_, T>, b: MatMut<'_, T>, upper: bool, unit: bool) {
    match (upper, unit) {
        (true, true) => triangular::solve_unit_upper_triangular_in_place(a, b, Par::Seq),
        (true, false) => triangular::solve_upper_triangular_in_place(a, b, Par::Seq),
        (false, true) => triangular::solve_unit_lower_triangular_in_place(a, b, Par::Seq),
        (false, false) => triangular::solve_lower_triangular_in_place(a, b, Par::Seq),
    }
}

/// As `Element::qr`, for real matrices: faer's reflectors are LAPACK's there.
fn real_qr<T: Element + RealField>(mut a: MatMut<'_, T>, tau: &mut [T], q: Option<MatMut<'_, T>>) {
    let (m, n) = a.shape();
    let size = m.min(n);
    let block = qr::recommended_block_size::<T>(m, n).max(1);
    let mut factors = faer::Mat::<T>::zeros(block, size);
    let params = Default::default();
    let mut memory = buffer(qr::qr_in_place_scratch::<T>(m, n, block, Par::Seq, params));
    qr::qr_in_place(a.rb_mut(), factors.as_mut(), Par::Seq, MemStack::new(&mut memory), params);
    for (k, tau) in tau.iter_mut().enumerate().take(size) {
        // faer keeps the reciprocal of LAPACK's factor, infinite for a reflector that does nothing.
        *tau = T::one_impl().over(factors[(k % block, k)]);
    }
    if let Some(mut q) = q {
        q.fill(T::zero_impl());
        for k in 0..m.min(q.ncols()) {
            q[(k, k)] = T::one_impl();
        }
        let columns = q.ncols();
        let mut memory =
            buffer(householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block, columns));
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            a.rb(),
            factors.as_ref(),
            Conj::No,
            q,
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }
}

/// Brings values near the ends of float64's range to its middle, by a power of two; returns what undoes it.
fn rescale<T: Element>(mut a: MatMut<'_, T>) -> f64 {
    let columns = 0..a.ncols();
    let largest = columns.clone().flat_map(|j| (0..a.nrows()).map(move |i| (i, j)));
    let largest = largest.fold(0.0f64, |most, at| most.max(a[at].size()));
    let exponent = largest.log2().floor().clamp(-1000.0, 1000.0);
    if largest == 0.0 || !largest.is_finite() || exponent.abs() < 300.0 {
        return 1.0;
    }
    let factor = (-exponent).exp2();
    for j in columns {
        for i in 0..a.nrows() {
            a[(i, j)] = a[(i, j)].times(factor);
        }
    }
    exponent.exp2()
}

/// Singular values in `s`, from the greatest down, and the singular vectors as columns; returns 0 or an error code.
pub fn svd<T: Element>(mut a: MatMut<'_, T>, s: &mut [f64], vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>) -> i32 {
    if !all_finite(a.rb()) {
        return NOT_FINITE;
    }
    let scale = rescale(a.rb_mut());
    let a = a.rb();
    let (m, n) = a.shape();
    let kind = |matrix: &MatMut<'_, T>| {
        if matrix.ncols() == m.min(n) { ComputeSvdVectors::Thin } else { ComputeSvdVectors::Full }
    };
    let (left, right) =
        vectors.as_ref().map_or((ComputeSvdVectors::No, ComputeSvdVectors::No), |(u, v)| (kind(u), kind(v)));
    let params = Default::default();
    let mut memory = buffer(svd::svd_scratch::<T>(m, n, left, right, Par::Seq, params));
    let (u, v) = vectors.map_or((None, None), |(u, v)| (Some(u), Some(v)));
    let mut values = vec![T::zero_impl(); s.len()];
    let diagonal = DiagMut::from_slice_mut(&mut values);
    let found = svd::svd(a, diagonal, u, v, Par::Seq, MemStack::new(&mut memory), params);
    s.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.real_part() * scale);
    i32::from(found.is_err())
}

/// Eigenvalues in `w`, from the least up, and the eigenvectors as columns of `v`, of the symmetric or Hermitian matrix
/// whose lower triangle `a` holds; returns 0 or an error code.
pub fn eigh<T: Element>(mut a: MatMut<'_, T>, w: &mut [f64], v: Option<MatMut<'_, T>>) -> i32 {
    let n = a.nrows();
    if !(0..n).all(|j| (j..n).all(|i| a[(i, j)].finite())) {
        return NOT_FINITE;
    }
    // As LAPACK does, the diagonal is taken to be real.
    for j in 0..n {
        a[(j, j)] = a[(j, j)].flattened();
        for i in 0..j {
            a[(i, j)] = T::zero_impl();
        }
    }
    let scale = rescale(a.rb_mut());
    let a = a.rb();
    let kind = if v.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let params = Default::default();
    let mut memory = buffer(evd::self_adjoint_evd_scratch::<T>(n, kind, Par::Seq, params));
    let mut values = vec![T::zero_impl(); n];
    let diagonal = DiagMut::from_slice_mut(&mut values);
    let found = evd::self_adjoint_evd(a, diagonal, v, Par::Seq, MemStack::new(&mut memory), params);
    w.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.real_part() * scale);
    i32::from(found.is_err())
}

/// As `eig`, for complex matrices.
pub fn complex_eig(mut a: MatMut<'_, c64>, w: &mut [c64], mut v: Option<MatMut<'_, c64>>) -> i32 {
    if !all_finite(a.rb()) {
        return NOT_FINITE;
    }
    let scale = rescale(a.rb_mut());
    let n = a.nrows();
    let kind = if v.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let params = Default::default();
    let mut memory = buffer(evd::evd_scratch::<c64>(n, ComputeEigenvectors::No, kind, Par::Seq, params));
    let values = DiagMut::from_slice_mut(w);
    let right = v.as_mut().map(|v| v.rb_mut());
    if evd::evd_cplx(a.rb(), values, None, right, Par::Seq, MemStack::new(&mut memory), params).is_err() {
        return 1;
    }
    w.iter_mut().for_each(|value| *value *= scale);
    if let Some(mut v) = v {
        (0..n).for_each(|j| normalize(v.rb_mut(), j));
    }
    0
}

/// Makes a column's length 1 and its largest element real and positive, as LAPACK does.
fn normalize(mut v: MatMut<'_, c64>, j: usize) {
    let n = v.nrows();
    let square = (0..n).fold(0.0, |sum, i| sum + v[(i, j)].norm_sqr());
    let mut largest = 0;
    for i in 1..n {
        if v[(i, j)].norm_sqr() > v[(largest, j)].norm_sqr() {
            largest = i;
        }
    }
    let pivot = v[(largest, j)];
    let turn = pivot.conj() / (pivot.norm() * square.sqrt());
    for i in 0..n {
        v[(i, j)] *= turn;
    }
    v[(largest, j)].im = 0.0;
}

/// Eigenvalues as pairs of real and imaginary parts in `w`, and where `v` is not empty the eigenvectors, of length 1,
/// one after the other as such pairs; returns 0 or an error code.
pub fn eig(mut a: MatMut<'_, f64>, w: &mut [f64], v: &mut [f64]) -> i32 {
    if !all_finite(a.rb()) {
        return NOT_FINITE;
    }
    let scale = rescale(a.rb_mut());
    let a = a.rb();
    let n = a.nrows();
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    let mut packed = faer::Mat::<f64>::zeros(n, if v.is_empty() { 0 } else { n });
    let kind = if v.is_empty() { ComputeEigenvectors::No } else { ComputeEigenvectors::Yes };
    let params = Default::default();
    let mut memory = buffer(evd::evd_scratch::<f64>(n, ComputeEigenvectors::No, kind, Par::Seq, params));
    let right = if v.is_empty() { None } else { Some(packed.as_mut()) };
    let (s_re, s_im) = (DiagMut::from_slice_mut(&mut re), DiagMut::from_slice_mut(&mut im));
    if evd::evd_real(a, s_re, s_im, None, right, Par::Seq, MemStack::new(&mut memory), params).is_err() {
        return 1;
    }
    for ((slot, &re), &im) in w.chunks_exact_mut(2).zip(&re).zip(&im) {
        slot.copy_from_slice(&[re * scale, im * scale]);
    }
    if !v.is_empty() {
        unpack(packed.as_ref(), &im, v);
    }
    0
}

/// Eigenvectors of length 1 as pairs; two conjugate ones stand as real and imaginary part in neighbouring columns.
fn unpack(packed: MatRef<'_, f64>, im: &[f64], v: &mut [f64]) {
    let (n, zero) = (packed.nrows(), 0.0);
    for (j, column) in v.chunks_exact_mut(2 * n).enumerate() {
        let first = if im[j] < zero { j.saturating_sub(1) } else { j };
        for (i, slot) in column.chunks_exact_mut(2).enumerate() {
            let imaginary = if im[j] == zero { zero } else { packed[(i, first + 1)] };
            slot.copy_from_slice(&[packed[(i, first)], if im[j] < zero { -imaginary } else { imaginary }]);
        }
        let square = column.iter().fold(zero, |sum, &x| sum + x * x);
        let length = square.sqrt();
        for x in column {
            *x /= length;
        }
    }
}
