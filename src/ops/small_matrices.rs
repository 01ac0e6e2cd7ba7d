//! Batches of small real matrices, in groups of which `kernels::small` computes all at once.

use faer::Mat;

use super::decompositions::{by_columns, fresh, matrix, row, sizes, square, with_real};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::factor::{self, Element};
use crate::kernels::iterate::spread_over;
use crate::kernels::jacobi;
use crate::kernels::memory::Elements;
use crate::kernels::small::{self, LANES, LARGEST};
use crate::tensor::Tensor;

/// Multiplications of one thread's groups of small matrices.
const LEAST: usize = 1 << 12;

/// Whether a batch is computed in lanes: a single matrix fills so few that only the smallest are worth it.
pub(super) fn is_small(dtype: DType, batch: &[usize], n: usize, columns: usize) -> bool {
    let count: usize = batch.iter().product();
    let fits = n <= LARGEST && columns <= 2 * LARGEST && (count >= LANES / 4 || n <= 4);
    matches!(dtype, DType::F32 | DType::F64) && fits && n > 0 && columns > 0 && count > 0
}

/// Runs `call` with the first matrix of each group and their number; `work` is the cost of one matrix.
pub(super) fn grouped(op: &str, batch: &[usize], work: usize, call: impl Fn(usize, usize) + Sync + Send) -> Result<()> {
    let count: usize = batch.iter().product();
    guard::spread(op, work.saturating_mul(count), || {
        spread_over(count.div_ceil(LANES), (LEAST / work).max(1), &|group| {
            let first = group * LANES;
            call(first, LANES.min(count - first));
        });
    })
}

/// So many rows of a row-major batch, from one of them on.
///
/// # Safety
/// As `row`.
#[allow(clippy::mut_from_ref)]
pub(super) unsafe fn written<T>(memory: &Elements, first: usize, count: usize, length: usize) -> &mut [T] {
    let at = memory.at::<T>(memory.geometry.offset + first * length);
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts_mut(at, count * length) }
}

/// As `written`, of what is only read.
///
/// # Safety
/// The batch has so many rows of elements of `T`, which nobody writes.
pub(super) unsafe fn seen<T>(memory: &Elements, first: usize, count: usize, length: usize) -> &[T] {
    let at = memory.at::<T>(memory.geometry.offset + first * length);
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(at, count * length) }
}

/// The lanes whose bit is set.
pub(super) fn lanes_of(bits: u16, count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |lane| (bits >> lane) & 1 == 1)
}

/// One of several matrices of `n` columns that lie row by row.
pub(super) fn unpacked<T: Element>(from: &[T], index: usize, rows: usize, columns: usize) -> Mat<T> {
    Mat::from_fn(rows, columns, |i, j| from[(index * rows + i) * columns + j])
}

/// `_lu` of a batch for which `is_small` holds.
pub(super) fn small_lu(x: &Tensor) -> Result<[Tensor; 3]> {
    let (batch, n) = square("lu", x)?;
    let factors = by_columns(&batch, n, n, x.dtype())?;
    let (pivots, info) = (fresh(&batch, &[n], DType::I32)?, fresh(&batch, &[], DType::I32)?);
    let [f, a] = [Elements::contiguous(x)?, Elements::of(&factors)?];
    let [p, i] = [Elements::of(&pivots)?, Elements::of(&info)?];
    with_real!("lu", x.dtype(), T => grouped("lu", &batch, n * n * n, |first, count| {
        // SAFETY: as in `_lu`; each group has matrices of its own.
        unsafe {
            let (from, mut failed) = (seen::<T>(&f, first, count, n * n), 0);
            small::run(small::Lu {
                n,
                from,
                turned: false,
                packed: written(&a, first, count, n * n),
                pivots: written(&p, first, count, n),
                determinants: &mut [],
                right: &[],
                solutions: &mut [],
                info: written(&i, first, count, 1),
                failed: &mut failed,
            });
            for lane in lanes_of(failed, count) {
                let mut one = matrix::<T>(&a, first + lane, n, n);
                one.copy_from(unpacked(from, lane, n, n));
                row::<i32>(&i, first + lane, 1)[0] = factor::lu(one, row(&p, first + lane, n));
            }
        }
    }))?;
    Ok([factors, pivots, info])
}

/// `_cholesky` of such a batch.
pub(super) fn small_cholesky(x: &Tensor) -> Result<[Tensor; 2]> {
    let (batch, n) = square("cholesky", x)?;
    let (lower, info) = (by_columns(&batch, n, n, x.dtype())?, fresh(&batch, &[], DType::I32)?);
    let [f, a, i] = [Elements::contiguous(x)?, Elements::of(&lower)?, Elements::of(&info)?];
    with_real!("cholesky", x.dtype(), T => grouped("cholesky", &batch, n * n * n, |first, count| {
        // SAFETY: as in `_lu`; each group has matrices of its own.
        unsafe {
            let (from, mut failed) = (seen::<T>(&f, first, count, n * n), 0);
            small::run(small::Cholesky { n, from, factors: written(&a, first, count, n * n), failed: &mut failed });
            for lane in lanes_of(failed, count) {
                let mut one = matrix::<T>(&a, first + lane, n, n);
                one.copy_from(unpacked(from, lane, n, n));
                row::<i32>(&i, first + lane, 1)[0] = factor::cholesky(one);
            }
        }
    }))?;
    Ok([lower, info])
}

/// `_solve_triangular` of such batches.
pub(super) fn small_triangular(a: &Tensor, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
    let (op, (batch, n, columns)) = ("solve_triangular", sizes("solve_triangular", b)?);
    // Factors lie column by column, as they come.
    let columnwise = a.alias(a.geometry().transpose(batch.len(), batch.len() + 1));
    let turned = columnwise.is_contiguous();
    let a = if turned { columnwise } else { a.contiguous_data()? };
    let x = by_columns(&batch, n, columns, b.dtype())?;
    let [f, r, s] = [Elements::of(&a)?, Elements::contiguous(b)?, Elements::of(&x)?];
    with_real!(op, b.dtype(), T => grouped(op, &batch, n * n * columns, |first, count| {
        // SAFETY: as in `_lu`; each group has matrices of its own.
        unsafe {
            small::run(small::Triangular::<T> {
                n,
                from: seen(&f, first, count, n * n),
                turned,
                right: seen(&r, first, count, n * columns),
                solutions: written(&s, first, count, n * columns),
                upper,
                unit,
            });
        }
    }))?;
    Ok(x)
}

/// `_eigh` of such a batch, of float64 matrices of few rows.
pub(super) fn small_eigh(x: &Tensor, vectors: bool) -> Result<[Tensor; 3]> {
    let (batch, n) = square("eigh", x)?;
    let width = if vectors { n } else { 0 };
    let (values, columns) = (fresh(&batch, &[n], DType::F64)?, by_columns(&batch, n, width, DType::F64)?);
    let info = fresh(&batch, &[], DType::I32)?;
    let [f, w, v, i] =
        [Elements::contiguous(x)?, Elements::of(&values)?, Elements::of(&columns)?, Elements::of(&info)?];
    grouped("eigh", &batch, 8 * n * n * n, |first, count| {
        // SAFETY: as in `_lu`; each group has matrices of its own.
        unsafe {
            let (from, mut failed) = (seen::<f64>(&f, first, count, n * n), 0);
            let (values, vectors) = (written(&w, first, count, n), written(&v, first, count, n * width));
            small::run(jacobi::Symmetric { n, from, values, vectors, failed: &mut failed });
            for lane in lanes_of(failed, count) {
                let (index, mut one) = (first + lane, unpacked(from, lane, n, n));
                let vectors = (width > 0).then(|| matrix::<f64>(&v, index, n, n));
                row::<i32>(&i, index, 1)[0] = factor::eigh(one.as_mut(), row(&w, index, n), vectors);
            }
        }
    })?;
    Ok([values, columns, info])
}

/// `_svd` of such a batch, of float64 matrices of few rows or columns, whose vectors are as many as its values.
pub(super) fn small_svd(x: &Tensor, vectors: bool) -> Result<[Tensor; 4]> {
    let (batch, m, n) = sizes("svd", x)?;
    let k = m.min(n);
    let width = if vectors { k } else { 0 };
    let (u, v) = (by_columns(&batch, m, width, DType::F64)?, by_columns(&batch, n, width, DType::F64)?);
    let (s, info) = (fresh(&batch, &[k], DType::F64)?, fresh(&batch, &[], DType::I32)?);
    let [f, p, q] = [Elements::contiguous(x)?, Elements::of(&u)?, Elements::of(&v)?];
    let [d, i] = [Elements::of(&s)?, Elements::of(&info)?];
    // What is wider than high is computed as its transpose.
    let turned = m < n;
    let (long, short) = if turned { (&q, &p) } else { (&p, &q) };
    grouped("svd", &batch, 8 * m * n * k, |first, count| {
        // SAFETY: as in `_lu`; each group has matrices of its own.
        unsafe {
            let (from, mut failed) = (seen::<f64>(&f, first, count, m * n), 0);
            small::run(jacobi::Singular {
                rows: m.max(n),
                columns: k,
                from,
                turned,
                values: written(&d, first, count, k),
                left: written(long, first, count, m.max(n) * width),
                right: written(short, first, count, k * width),
                failed: &mut failed,
            });
            for lane in lanes_of(failed, count) {
                let (index, mut one) = (first + lane, unpacked(from, lane, m, n));
                let vectors = vectors.then(|| (matrix::<f64>(&p, index, m, k), matrix(&q, index, n, k)));
                row::<i32>(&i, index, 1)[0] = factor::svd(one.as_mut(), row(&d, index, k), vectors);
            }
        }
    })?;
    Ok([u, s, v, info])
}
