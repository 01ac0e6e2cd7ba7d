//! Determinants, inverses and solutions of batches of square matrices, outside the graph as in `decompositions`.

use faer::prelude::ReborrowMut;
use faer::{Mat, MatMut};
use pyo3::prelude::*;

use super::decompositions::{by_columns, copied_by_columns, each, factored, fresh, matrix, row, sizes, square};
use super::decompositions::{with_field, with_real};
use super::small_matrices::{grouped, is_small, lanes_of, seen, unpacked, written};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::factor::{self, Element};
use crate::kernels::memory::Elements;
use crate::kernels::small::{self, Word};
use crate::tensor::Tensor;

/// LU of `a` in its place, and `x` becomes the solution for the right sides that it holds.
fn solve_one<T: Element>(mut a: MatMut<'_, T>, pivots: &mut [i32], mut x: MatMut<'_, T>) -> i32 {
    let info = factor::lu(a.rb_mut(), pivots);
    for j in 0..x.ncols() {
        for (k, &pivot) in pivots.iter().enumerate() {
            let other = pivot as usize - 1;
            (x[(k, j)], x[(other, j)]) = (x[(other, j)], x[(k, j)]);
        }
    }
    factor::solve_triangular(a.as_ref(), x.rb_mut(), false, true);
    factor::solve_triangular(a.as_ref(), x, true, false);
    info
}

/// The determinant of `a`, in whose place L and U are then.
fn determinant<T: Element>(mut a: MatMut<'_, T>) -> T {
    let n = a.nrows();
    let mut pivots = vec![0; n];
    factor::lu(a.rb_mut(), &mut pivots);
    let product = (0..n).fold(T::one_impl(), |product, k| product * a[(k, k)]);
    let swaps = pivots.iter().zip(1..).filter(|&(&pivot, place)| pivot != place).count();
    if swaps % 2 == 0 { product } else { T::zero_impl() - product }
}

fn group_determinants<T: Element + Word>(from: &[T], n: usize, turned: bool, to: &mut [T]) {
    let (count, mut failed) = (to.len(), 0);
    small::run(small::Lu {
        n,
        from,
        turned,
        packed: &mut [],
        pivots: &mut [],
        determinants: to,
        right: &[],
        solutions: &mut [],
        info: &mut [],
        failed: &mut failed,
    });
    for lane in lanes_of(failed, count) {
        let one = unpacked(from, lane, n, n);
        let mut one = if turned { one.transpose().to_owned() } else { one };
        to[lane] = determinant(one.as_mut());
    }
}

/// The memory of a group of systems, as in `small::Lu`.
struct Group<'a, T> {
    n: usize,
    columns: usize,
    from: &'a [T],
    right: &'a [T],
    solutions: &'a mut [T],
    packed: &'a mut [T],
    pivots: &'a mut [i32],
    info: &'a mut [i32],
}

impl<T: Element + Word> Group<'_, T> {
    fn solve(self) {
        let (n, columns, mut failed) = (self.n, self.columns, 0);
        small::run(small::Lu {
            n,
            from: self.from,
            turned: false,
            packed: self.packed,
            pivots: self.pivots,
            determinants: &mut [],
            right: self.right,
            solutions: self.solutions,
            info: self.info,
            failed: &mut failed,
        });
        for lane in lanes_of(failed, self.info.len()) {
            let (mut one, mut swaps) = (unpacked(self.from, lane, n, n), vec![0; n]);
            let mut x = match self.right {
                [] => Mat::identity(n, n),
                right => unpacked(right, lane, n, columns),
            };
            self.info[lane] = solve_one(one.as_mut(), &mut swaps, x.as_mut());
            put(self.solutions, lane, &x);
            if !self.packed.is_empty() {
                put(self.packed, lane, &one);
                self.pivots[lane * n..(lane + 1) * n].copy_from_slice(&swaps);
            }
        }
    }
}

/// Writes one of several matrices of this size that lie column by column.
fn put<T: Element>(to: &mut [T], index: usize, from: &Mat<T>) {
    let (rows, columns) = from.shape();
    let places = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
    to.iter_mut().skip(index * rows * columns).zip(places).for_each(|(slot, at)| *slot = from[at]);
}

/// The determinants of square matrices.
#[pyfunction]
fn _det(input: Tensor) -> Result<Tensor> {
    let [found] = factored(&input, |x| {
        let (batch, n) = square("linalg.det", x)?;
        let (found, small) = (fresh(&batch, &[], x.dtype())?, is_small(x.dtype(), &batch, n, 1));
        // As torch does, which then needs no copy of another order; it decides which matrices are singular.
        let turned = x.is_contiguous() && !x.dtype().is_complex();
        let copy = match (small, turned) {
            (true, _) => x.contiguous_data()?,
            (_, true) => x.copied()?,
            _ => copied_by_columns(x)?,
        };
        let [a, d] = [Elements::of(&copy)?, Elements::of(&found)?];
        if small {
            with_real!("linalg.det", x.dtype(), T => grouped("linalg.det", &batch, n * n * n, |first, count| {
                // SAFETY: the result was made with these sizes, and each task has matrices of its own.
                let (from, to) = unsafe { (seen::<T>(&a, first, count, n * n), written(&d, first, count, 1)) };
                group_determinants(from, n, turned, to);
            }))?;
            return Ok([found]);
        }
        with_field!("linalg.det", x.dtype(), T => {
            // SAFETY: as above; the determinant of a matrix without rows is 1.
            unsafe { d.slice_mut::<T>().fill(faer::traits::ComplexField::one_impl()) };
            each("linalg.det", &batch, n * n * n, |index| {
                // SAFETY: as above.
                unsafe { row::<T>(&d, index, 1)[0] = determinant(matrix::<T>(&a, index, n, n)) }
            })
        })?;
        Ok([found])
    })?;
    Ok(found)
}

/// The solutions for the right sides `b`, of the same leading sizes, or for the unit matrix; packed L and U, LAPACK's
/// pivots, and for each matrix the first column with a zero pivot, from 1. Without `b`, only the inverses and the last.
#[pyfunction]
#[pyo3(signature = (a, b=None))]
fn _solve(a: Tensor, b: Option<Tensor>) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
    let op = "linalg.solve";
    if let Some(b) = &b {
        crate::check::same_device(op, &[&a, b])?;
        let ((batch, n), (other, rows, _)) = (square(op, &a)?, sizes(op, b)?);
        if batch != other || n != rows || a.dtype() != b.dtype() {
            return error::shape(format!(
                "{op}: a {:?} and b {:?} do not fit together",
                a.shape().as_slice(),
                b.shape().as_slice()
            ));
        }
    }
    let [x, packed, pivots, info] = factored(&a, |a| {
        let b = match &b {
            Some(b) => Some(b.moved(crate::device::Device::Cpu)?.converted(a.dtype())?),
            None => None,
        };
        let (batch, n) = square(op, a)?;
        let columns = b.as_ref().map_or(n, |b| b.size(b.rank() - 1));
        if is_small(a.dtype(), &batch, n, columns) { solve_small(a, b.as_ref()) } else { solve_each(a, b.as_ref()) }
    })?;
    Ok((x, packed, pivots, info))
}

fn solve_each(a: &Tensor, b: Option<&Tensor>) -> Result<[Tensor; 4]> {
    let (batch, n) = square("linalg.solve", a)?;
    let packed = copied_by_columns(a)?;
    let x = match b {
        Some(b) => copied_by_columns(b)?,
        None => by_columns(&batch, n, n, a.dtype())?,
    };
    let columns = x.size(x.rank() - 1);
    let (pivots, info) = (fresh(&batch, &[n], DType::I32)?, fresh(&batch, &[], DType::I32)?);
    let [l, s, p, i] = [Elements::of(&packed)?, Elements::of(&x)?, Elements::of(&pivots)?, Elements::of(&info)?];
    let work = n * n * (n + columns);
    with_field!("linalg.solve", a.dtype(), T => each("linalg.solve", &batch, work, |index| {
        // SAFETY: the results were made with these sizes, and each task has an index of its own.
        unsafe {
            let mut right = matrix::<T>(&s, index, n, columns);
            if b.is_none() {
                (0..n).for_each(|k| right[(k, k)] = faer::traits::ComplexField::one_impl());
            }
            row::<i32>(&i, index, 1)[0] = solve_one(matrix::<T>(&l, index, n, n), row(&p, index, n), right);
        }
    }))?;
    Ok([x, packed, pivots, info])
}

fn solve_small(a: &Tensor, b: Option<&Tensor>) -> Result<[Tensor; 4]> {
    let ((batch, n), dtype) = (square("linalg.solve", a)?, a.dtype());
    let columns = b.map_or(n, |b| b.size(b.rank() - 1));
    // The factors are wanted for gradients; that of an inverse needs none.
    let width = if b.is_some() { n } else { 0 };
    let (x, packed) = (by_columns(&batch, n, columns, dtype)?, by_columns(&batch, n, width, dtype)?);
    let (pivots, info) = (fresh(&batch, &[width], DType::I32)?, fresh(&batch, &[], DType::I32)?);
    let right = match b {
        Some(b) => Some(Elements::contiguous(b)?),
        None => None,
    };
    let [f, l] = [Elements::contiguous(a)?, Elements::of(&packed)?];
    let [s, p, i] = [Elements::of(&x)?, Elements::of(&pivots)?, Elements::of(&info)?];
    let work = n * n * (n + columns);
    with_real!("linalg.solve", dtype, T => grouped("linalg.solve", &batch, work, |first, count| {
        // SAFETY: the results were made with these sizes, and each task has matrices of its own.
        let group = unsafe {
            Group {
                n,
                columns,
                from: seen::<T>(&f, first, count, n * n),
                right: right.as_ref().map_or(&[], |right| seen(right, first, count, n * columns)),
                solutions: written(&s, first, count, n * columns),
                packed: written(&l, first, count, n * width),
                pivots: written(&p, first, count, width),
                info: written(&i, first, count, 1),
            }
        };
        group.solve();
    }))?;
    Ok([x, packed, pivots, info])
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_det, module)?)?;
    module.add_function(wrap_pyfunction!(_solve, module)?)
}
