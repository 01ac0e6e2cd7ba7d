//! Factorizations of batches of matrices, outside the graph: their gradients are written in Python, in
//! `pyburn.ops.decompositions`. On a GPU the CPU does the work.

use faer::prelude::IntoConst;
use faer::{MatMut, MatRef};
use pyo3::prelude::*;
use rayon::prelude::*;

use super::fold::through_cpu;
use super::small_matrices::{is_small, small_cholesky, small_eigh, small_lu, small_svd, small_triangular};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::factor::{self, Element};
use crate::kernels::jacobi;
use crate::kernels::ldl;
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;
use crate::tensor::geometry::Dims;

/// Multiplications below which a batch is not worth several threads.
const PARALLEL_ABOVE: usize = 1 << 16;

/// Runs an expression with `$T` standing for float32 or float64.
macro_rules! with_real {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            other => {
                return error::missing(format!(
                    "{}: not implemented for '{}'; convert to float32 or float64 first",
                    $op,
                    other.scalar_type()
                ))
            }
        }
    };
}

/// As `with_real`, with complex128 too.
macro_rules! with_field {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::C128 => {
                type $T = faer::c64;
                $body
            }
            other => with_real!($op, other, $T => $body),
        }
    };
}

pub(super) use {with_field, with_real};

/// Runs a computation on the CPU in `wide`, and gives its results in the precision of `x`.
fn in_precision<const N: usize>(
    x: &Tensor,
    wide: DType,
    call: impl FnOnce(&Tensor) -> Result<[Tensor; N]>,
) -> Result<[Tensor; N]> {
    if wide == x.dtype() {
        return through_cpu(x, call);
    }
    through_cpu(x, |x| {
        let mut results = call(&x.converted(wide)?)?;
        for result in &mut results {
            *result = result.converted(match result.dtype() {
                DType::F64 => DType::F32,
                DType::C128 => DType::C64,
                other => other,
            })?;
        }
        Ok(results)
    })
}

/// As `through_cpu`, where complex64 is computed in complex128.
pub(super) fn factored<const N: usize>(
    x: &Tensor,
    call: impl FnOnce(&Tensor) -> Result<[Tensor; N]>,
) -> Result<[Tensor; N]> {
    let wide = if x.dtype() == DType::C64 { DType::C128 } else { x.dtype() };
    in_precision(x, wide, call)
}

/// Runs a computation of singular values or eigenvalues in float64 for float32 too, whose precision the small gaps
/// between values use up; half the instances of faer's largest routines are spared as well.
fn in_float64<const N: usize>(
    op: &str,
    x: &Tensor,
    call: impl FnOnce(&Tensor) -> Result<[Tensor; N]>,
) -> Result<[Tensor; N]> {
    let wide = match x.dtype() {
        DType::F32 | DType::F64 => DType::F64,
        DType::C64 | DType::C128 => DType::C128,
        other => {
            return error::missing(format!(
                "{op}: not implemented for '{}'; convert to float32 or float64 first",
                other.scalar_type()
            ));
        }
    };
    in_precision(x, wide, call)
}

/// Runs an expression with `$T` standing for float64 or complex128.
macro_rules! with_double {
    ($dtype:expr, $T:ident => $body:expr) => {
        if $dtype == DType::C128 {
            type $T = faer::c64;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}

/// The leading sizes of a batch of matrices, and its rows and columns.
pub(super) fn sizes(op: &str, x: &Tensor) -> Result<(Dims, usize, usize)> {
    let shape = x.shape();
    match shape.as_slice() {
        [batch @ .., rows, columns] => Ok((batch.iter().copied().collect(), *rows, *columns)),
        _ => {
            error::shape(format!("{op}: expected a tensor with 2 or more dimensions, got shape {:?}", shape.as_slice()))
        }
    }
}

pub(super) fn square(op: &str, x: &Tensor) -> Result<(Dims, usize)> {
    let (batch, rows, columns) = sizes(op, x)?;
    if rows != columns {
        return error::shape(format!("{op}: expected square matrices, got {rows} by {columns}"));
    }
    Ok((batch, rows))
}

/// Zeros of shape `batch` with `more` sizes behind.
pub(super) fn fresh(batch: &[usize], more: &[usize], dtype: DType) -> Result<Tensor> {
    let shape: Dims = batch.iter().chain(more).copied().collect();
    Tensor::zeroed(&shape, dtype)
}

/// Zeros of shape (`batch`, `rows`, `columns`), each matrix column by column.
pub(super) fn by_columns(batch: &[usize], rows: usize, columns: usize, dtype: DType) -> Result<Tensor> {
    let out = fresh(batch, &[columns, rows], dtype)?;
    Ok(out.alias(out.geometry().transpose(batch.len(), batch.len() + 1)))
}

/// A copy of `x`, each matrix column by column.
pub(super) fn copied_by_columns(x: &Tensor) -> Result<Tensor> {
    let (batch, rows, columns) = sizes("copy", x)?;
    let out = by_columns(&batch, rows, columns, x.dtype())?;
    out.write(x)?;
    Ok(out)
}

/// Runs `call` for each matrix; `work` is the cost of one.
pub(super) fn each(op: &str, batch: &[usize], work: usize, call: impl Fn(usize) + Sync + Send) -> Result<()> {
    let count: usize = batch.iter().product();
    if work == 0 || count == 0 {
        return Ok(());
    }
    let total = work.saturating_mul(count);
    guard::heavy(op, total, || {
        if count > 1 && total >= PARALLEL_ABOVE {
            (0..count).into_par_iter().for_each(call);
        } else {
            (0..count).for_each(call);
        }
    })
}

/// The `index`-th matrix of a batch that lies column by column.
///
/// # Safety
/// The batch has elements of `T` in matrices of these sizes, and only one task at a time uses this one.
pub(super) unsafe fn matrix<T>(memory: &Elements, index: usize, rows: usize, columns: usize) -> MatMut<'_, T> {
    let at = memory.at::<T>(memory.geometry.offset + index * rows * columns);
    // SAFETY: the caller vouches for sizes and exclusiveness; batches without elements are never visited.
    unsafe { MatMut::from_raw_parts_mut(at, rows, columns, 1, rows as isize) }
}

/// The `index`-th row of a row-major batch.
///
/// # Safety
/// As `matrix`.
#[allow(clippy::mut_from_ref)]
pub(super) unsafe fn row<T>(memory: &Elements, index: usize, length: usize) -> &mut [T] {
    let at = memory.at::<T>(memory.geometry.offset + index * length);
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(at, length) }
}

/// Packed L and U, LAPACK's pivots, and for each matrix the first column with a zero pivot, from 1.
#[pyfunction]
fn _lu(input: Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let [factors, pivots, info] = factored(&input, |x| {
        let (batch, m, n) = sizes("lu", x)?;
        if m == n && is_small(x.dtype(), &batch, n, 1) {
            return small_lu(x);
        }
        let k = m.min(n);
        let factors = copied_by_columns(x)?;
        let (pivots, info) = (fresh(&batch, &[k], DType::I32)?, fresh(&batch, &[], DType::I32)?);
        let [a, p, i] = [Elements::of(&factors)?, Elements::of(&pivots)?, Elements::of(&info)?];
        with_field!("lu", x.dtype(), T => each("lu", &batch, m * n * k, |index| {
            // SAFETY: the results were made with these sizes, and each task has an index of its own.
            unsafe { row::<i32>(&i, index, 1)[0] = factor::lu::<T>(matrix(&a, index, m, n), row(&p, index, k)) }
        }))?;
        Ok([factors, pivots, info])
    })?;
    Ok((factors, pivots, info))
}

/// Which row of the factored matrix stands at each place after LAPACK's row exchanges `pivots`.
#[pyfunction]
fn _permutation(pivots: Tensor, rows: usize) -> Result<Tensor> {
    if pivots.is_meta() {
        let mut shape = pivots.shape();
        shape.pop();
        shape.push(rows);
        return Tensor::meta_of(&shape, DType::I64);
    }
    let [order] = through_cpu(&pivots, |pivots| {
        let shape = pivots.shape();
        let Some((&steps, batch)) = shape.split_last() else {
            return error::shape("lu_unpack: expected pivots with 1 or more dimensions");
        };
        let order = fresh(batch, &[rows], DType::I64)?;
        let [p, o] = [Elements::contiguous(&pivots.converted(DType::I32)?)?, Elements::of(&order)?];
        // SAFETY: both lie row by row with these lengths, and the result is nobody else's yet.
        let (swaps, places) = unsafe { (p.slice::<i32>(), o.slice_mut::<i64>()) };
        let outside = |&pivot: &i32| pivot < 1 || pivot as usize > rows;
        if steps > rows || swaps.iter().any(outside) {
            return error::runtime("pivots passed to lu_solve must be between 1 and A.size(-2) inclusive");
        }
        if rows > 0 {
            for (index, place) in places.chunks_exact_mut(rows).enumerate() {
                place.iter_mut().zip(0..).for_each(|(slot, row)| *slot = row);
                let swaps = swaps.iter().skip(index * steps).take(steps);
                swaps.enumerate().for_each(|(step, &pivot)| place.swap(step, pivot as usize - 1));
            }
        }
        Ok([order])
    })?;
    Ok(order)
}

/// The lower Cholesky factor of matrices of which the lower triangle is read, and for each matrix the order of the first minor that is not positive-definite.
#[pyfunction]
fn _cholesky(input: Tensor) -> Result<(Tensor, Tensor)> {
    let [factor, info] = factored(&input, |x| {
        let (batch, n) = square("cholesky", x)?;
        if is_small(x.dtype(), &batch, n, 1) {
            return small_cholesky(x);
        }
        let lower = copied_by_columns(x)?;
        let info = fresh(&batch, &[], DType::I32)?;
        let [a, i] = [Elements::of(&lower)?, Elements::of(&info)?];
        with_field!("cholesky", x.dtype(), T => each("cholesky", &batch, n * n * n, |index| {
            // SAFETY: as in `_lu`.
            unsafe { row::<i32>(&i, index, 1)[0] = factor::cholesky::<T>(matrix(&a, index, n, n)) }
        }))?;
        Ok([lower, info])
    })?;
    Ok((factor, info))
}

/// The solution of `a x = b` for triangular `a` of the same leading sizes as `b`.
#[pyfunction]
fn _solve_triangular(a: Tensor, b: Tensor, upper: bool, unitriangular: bool) -> Result<Tensor> {
    let op = "solve_triangular";
    crate::check::same_device(op, &[&a, &b])?;
    let ((batch, n), (other, rows, columns)) = (square(op, &a)?, sizes(op, &b)?);
    if batch != other || n != rows || a.dtype() != b.dtype() {
        return error::shape(format!(
            "{op}: a {:?} and b {:?} do not fit together",
            a.shape().as_slice(),
            b.shape().as_slice()
        ));
    }
    let [x] = factored(&b, |b| {
        let a = a.moved(crate::device::Device::Cpu)?.converted(b.dtype())?;
        if is_small(b.dtype(), &batch, n, columns) {
            return Ok([small_triangular(&a, b, upper, unitriangular)?]);
        }
        let a = a.contiguous_data()?;
        let x = copied_by_columns(b)?;
        let [left, right] = [Elements::of(&a)?, Elements::of(&x)?];
        with_field!(op, b.dtype(), T => each(op, &batch, n * n * columns, |index| {
            // SAFETY: as in `_lu`; `a` is row-major, so its matrices are the transposes of what lies there.
            unsafe {
                let a: MatRef<'_, T> = matrix::<T>(&left, index, n, n).into_const().transpose();
                factor::solve_triangular(a, matrix(&right, index, n, columns), upper, unitriangular);
            }
        }))?;
        Ok([x])
    })?;
    Ok(x)
}

/// R with reflectors below, their factors, and Q: no columns of it (mode 0), as many as R has rows (1), or all (2).
#[pyfunction]
fn _qr(input: Tensor, mode: u8) -> Result<(Tensor, Tensor, Tensor)> {
    let [packed, tau, q] = factored(&input, |x| {
        let (batch, m, n) = sizes("qr", x)?;
        let (k, dtype) = (m.min(n), x.dtype());
        let columns = [0, k, m][usize::from(mode.min(2))];
        let packed = copied_by_columns(x)?;
        let (tau, q) = (fresh(&batch, &[k], dtype)?, by_columns(&batch, m, columns, dtype)?);
        let [a, t, o] = [Elements::of(&packed)?, Elements::of(&tau)?, Elements::of(&q)?];
        with_field!("qr", dtype, T => each("qr", &batch, m * n * k, |index| {
            // SAFETY: as in `_lu`.
            unsafe {
                let q = (columns > 0).then(|| matrix::<T>(&o, index, m, columns));
                <T as Element>::qr(matrix(&a, index, m, n), row(&t, index, k), q);
            }
        }))?;
        Ok([packed, tau, q])
    })?;
    Ok((packed, tau, q))
}

/// U, the singular values, V (not transposed) and error codes; no vectors (mode 0), as many as values (1), or all (2).
#[pyfunction]
fn _svd(input: Tensor, mode: u8) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
    let [u, s, v, info] = in_float64("svd", &input, |x| {
        let (batch, m, n) = sizes("svd", x)?;
        let (k, dtype) = (m.min(n), x.dtype());
        let fits = m.max(n) <= 2 * jacobi::LARGEST && k <= jacobi::LARGEST && (mode < 2 || m == n);
        if fits && is_small(dtype, &batch, k, 1) {
            return small_svd(x, mode > 0);
        }
        let [left, right] = [[0, 0], [k, k], [m, n]][usize::from(mode.min(2))];
        let source = copied_by_columns(x)?;
        let (u, v) = (by_columns(&batch, m, left, dtype)?, by_columns(&batch, n, right, dtype)?);
        let (s, info) = (fresh(&batch, &[k], DType::F64)?, fresh(&batch, &[], DType::I32)?);
        let [a, p, q] = [Elements::of(&source)?, Elements::of(&u)?, Elements::of(&v)?];
        let [d, i] = [Elements::of(&s)?, Elements::of(&info)?];
        with_double!(dtype, T => each("svd", &batch, m * n * k, |index| {
            // SAFETY: as in `_lu`.
            unsafe {
                let vectors = (mode > 0).then(|| (matrix::<T>(&p, index, m, left), matrix(&q, index, n, right)));
                let a = matrix::<T>(&a, index, m, n);
                row::<i32>(&i, index, 1)[0] = factor::svd(a, row(&d, index, k), vectors);
            }
        }))?;
        Ok([u, s, v, info])
    })?;
    Ok((u, s, v, info))
}

/// Eigenvalues and, where `vectors`, eigenvectors of Hermitian matrices of which the lower triangle is read; error codes.
#[pyfunction]
fn _eigh(input: Tensor, vectors: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let [values, columns, info] = in_float64("eigh", &input, |x| {
        let (batch, n) = square("eigh", x)?;
        if n <= jacobi::LARGEST && is_small(x.dtype(), &batch, n, 1) {
            return small_eigh(x, vectors);
        }
        let source = copied_by_columns(x)?;
        let width = if vectors { n } else { 0 };
        let (values, columns) = (fresh(&batch, &[n], DType::F64)?, by_columns(&batch, n, width, x.dtype())?);
        let info = fresh(&batch, &[], DType::I32)?;
        let [a, w, v] = [Elements::of(&source)?, Elements::of(&values)?, Elements::of(&columns)?];
        let i = Elements::of(&info)?;
        with_double!(x.dtype(), T => each("eigh", &batch, n * n * n, |index| {
            // SAFETY: as in `_lu`.
            unsafe {
                let a = matrix::<T>(&a, index, n, n);
                let v = vectors.then(|| matrix::<T>(&v, index, n, n));
                row::<i32>(&i, index, 1)[0] = factor::eigh(a, row(&w, index, n), v);
            }
        }))?;
        Ok([values, columns, info])
    })?;
    Ok((values, columns, info))
}

/// Complex eigenvalues and, where `vectors`, eigenvectors of length 1 of square matrices; error codes.
#[pyfunction]
fn _eig(input: Tensor, vectors: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let [values, columns, info] = in_float64("eig", &input, |x| {
        let (batch, n) = square("eig", x)?;
        let source = copied_by_columns(x)?;
        let dtype = DType::C128;
        let width = if vectors { n } else { 0 };
        let (values, columns) = (fresh(&batch, &[n], dtype)?, by_columns(&batch, n, width, dtype)?);
        let info = fresh(&batch, &[], DType::I32)?;
        let [a, w, v] = [Elements::of(&source)?, Elements::of(&values)?, Elements::of(&columns)?];
        let i = Elements::of(&info)?;
        let complex = x.dtype() == DType::C128;
        each("eig", &batch, n * n * n, |index| {
            // SAFETY: as in `_lu`; a complex number is two reals.
            unsafe {
                if complex {
                    let a = matrix::<faer::c64>(&a, index, n, n);
                    let v = vectors.then(|| matrix::<faer::c64>(&v, index, n, n));
                    row::<i32>(&i, index, 1)[0] = factor::complex_eig(a, row(&w, index, n), v);
                    return;
                }
                let a = matrix::<f64>(&a, index, n, n);
                let v: &mut [f64] = if vectors { row(&v, index, 2 * n * n) } else { &mut [] };
                row::<i32>(&i, index, 1)[0] = factor::eig(a, row(&w, index, 2 * n), v);
            }
        })?;
        Ok([values, columns, info])
    })?;
    Ok((values, columns, info))
}

/// Packed L and D of symmetric matrices of which the lower triangle is read, LAPACK's pivots and error codes.
#[pyfunction]
fn _ldl(input: Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let [factors, pivots, info] = through_cpu(&input, |x| {
        let (batch, n) = square("ldl_factor", x)?;
        let factors = copied_by_columns(x)?;
        let (pivots, info) = (fresh(&batch, &[n], DType::I32)?, fresh(&batch, &[], DType::I32)?);
        let [a, p, i] = [Elements::of(&factors)?, Elements::of(&pivots)?, Elements::of(&info)?];
        with_real!("ldl_factor", x.dtype(), T => each("ldl_factor", &batch, n * n * n, |index| {
            let alpha = (1.0 + T::sqrt(17.0)) / 8.0;
            // SAFETY: as in `_lu`.
            unsafe {
                let found = ldl::factor::<T>(&mut matrix(&a, index, n, n), alpha, row(&p, index, n));
                row::<i32>(&i, index, 1)[0] = found;
            }
        }))?;
        Ok([factors, pivots, info])
    })?;
    Ok((factors, pivots, info))
}

/// Whether LAPACK's pivots of a symmetric factorization lie in range and name blocks of two by pairs.
fn are_pivots(pivots: &[i32]) -> bool {
    let mut rest = pivots;
    while let [first, more @ ..] = rest {
        let inside = *first != 0 && first.unsigned_abs() as usize <= pivots.len();
        rest = match more {
            _ if !inside => return false,
            [second, after @ ..] if *first < 0 && second == first => after,
            _ if *first < 0 => return false,
            _ => more,
        };
    }
    true
}

/// The solution of `A x = b`, given what `_ldl` returns for A; all have the same leading sizes.
#[pyfunction]
fn _ldl_solve(a: Tensor, pivots: Tensor, b: Tensor) -> Result<Tensor> {
    let op = "ldl_solve";
    crate::check::same_device(op, &[&a, &b])?;
    let ((batch, n), (other, rows, columns)) = (square(op, &a)?, sizes(op, &b)?);
    if batch != other || n != rows || a.dtype() != b.dtype() || pivots.numel() * n != a.numel() {
        return error::shape(format!("{op}: the factors {:?} do not fit the other side", a.shape().as_slice()));
    }
    let [x] = through_cpu(&b, |b| {
        let host = crate::device::Device::Cpu;
        let a = copied_by_columns(&a.moved(host)?)?;
        let pivots = pivots.moved(host)?.converted(DType::I32)?;
        let x = copied_by_columns(b)?;
        let [left, right, p] = [Elements::of(&a)?, Elements::of(&x)?, Elements::of(&pivots)?];
        // SAFETY: the conversion made them row-major.
        let lists = unsafe { p.slice::<i32>() };
        if n > 0 && !lists.chunks_exact(n).all(are_pivots) {
            return error::runtime("ldl_solve: the pivots are none that ldl_factor returns");
        }
        with_real!(op, b.dtype(), T => each(op, &batch, n * n * columns, |index| {
            // SAFETY: as in `_lu`.
            unsafe {
                let a = matrix::<T>(&left, index, n, n).into_const();
                ldl::solve(a, row(&p, index, n), &mut matrix(&right, index, n, columns));
            }
        }))?;
        Ok([x])
    })?;
    Ok(x)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_lu, module)?)?;
    module.add_function(wrap_pyfunction!(_cholesky, module)?)?;
    module.add_function(wrap_pyfunction!(_permutation, module)?)?;
    module.add_function(wrap_pyfunction!(_ldl, module)?)?;
    module.add_function(wrap_pyfunction!(_ldl_solve, module)?)?;
    module.add_function(wrap_pyfunction!(_solve_triangular, module)?)?;
    module.add_function(wrap_pyfunction!(_qr, module)?)?;
    module.add_function(wrap_pyfunction!(_svd, module)?)?;
    module.add_function(wrap_pyfunction!(_eigh, module)?)?;
    module.add_function(wrap_pyfunction!(_eig, module)?)
}
