//! Distances between rows, outside the graph.

use pyo3::prelude::*;

use crate::autograd::{grad_enabled, needs_grad};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::{city, cosines};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::Dims;

/// Sums of absolute differences between the rows of `x1` and those of `x2`, which have the same leading sizes: float32 on
/// the CPU.
#[pyfunction]
fn _city_distances(x1: Tensor, x2: Tensor) -> Result<Tensor> {
    let (left, right) = (x1.shape(), x2.shape());
    let ([batch @ .., rows, depth], [other @ .., columns, width]) = (left.as_slice(), right.as_slice()) else {
        return error::shape("cdist: expected matrices");
    };
    let plain = |x: &Tensor| x.dtype() == DType::F32 && x.device().is_cpu();
    if batch != other || depth != width || !plain(&x1) || !plain(&x2) {
        return error::shape("cdist: expected float32 matrices of the same leading sizes with rows of the same length");
    }
    let (rows, columns, depth) = (*rows, *columns, *depth);
    let shape: Dims = batch.iter().copied().chain([rows, columns]).collect();
    let out = Tensor::zeroed(&shape, DType::F32)?;
    let [a, b, to] = [Elements::contiguous(&x1)?, Elements::contiguous(&x2)?, Elements::of(&out)?];
    if out.numel() > 0 && depth > 0 {
        guard::spread("cdist", out.numel().saturating_mul(depth), || {
            // SAFETY: all are float32 and row-major, and the result is fresh.
            unsafe { city::distances(a.slice(), b.slice(), [rows, columns, depth], to.slice_mut()) }
        })?;
    }
    Ok(out)
}

/// The Euclidean distances of all pairs of rows of a float32 matrix in the CPU's memory, in the order of `pdist`.
#[pyfunction]
fn _pair_distances(x: Tensor) -> Result<Tensor> {
    let shape = x.shape();
    let &[rows, depth] = shape.as_slice() else { return error::shape("pdist: expected a matrix") };
    if x.dtype() != DType::F32 || !x.device().is_cpu() {
        return error::dtype("pdist: expected float32 in the CPU's memory");
    }
    let (out, _) = Tensor::uninit_with_pointer(&[rows * rows.saturating_sub(1) / 2], DType::F32)?;
    let (from, to) = (Elements::contiguous(&x)?, Elements::of(&out)?);
    guard::spread("pdist", out.numel().saturating_mul(depth), || {
        // SAFETY: both are contiguous float32, and the result is new.
        unsafe { city::pairs(from.slice(), [rows, depth], to.slice_mut()) }
    })?;
    Ok(out)
}

#[pymethods]
impl PyTensor {
    /// The cosines of the angles between the rows of two float32 tensors in row-major order on the CPU that need no
    /// gradient, outside the graph; None for others.
    fn _cosines(&self, other: Tensor, dim: isize, eps: f64) -> Result<Option<Tensor>> {
        let x = &self.tensor;
        let shape = x.shape();
        let plain = |x: &Tensor| x.dtype() == DType::F32 && x.device().is_cpu() && x.is_contiguous();
        let last = dim == -1 || dim + 1 == shape.len() as isize;
        let fits = plain(x) && plain(&other) && other.shape() == shape && last && x.numel() > 0 && x.rank() > 0;
        if !fits || (grad_enabled() && needs_grad(&[x, &other])) {
            return Ok(None);
        }
        let [rows @ .., depth] = shape.as_slice() else { return Ok(None) };
        let (out, _) = Tensor::uninit_with_pointer(rows, DType::F32)?;
        let [a, b, to] = [Elements::of(x)?, Elements::of(&other)?, Elements::of(&out)?];
        guard::spread("cosine_similarity", x.numel(), || {
            // SAFETY: all are contiguous float32, and the result is new.
            unsafe { cosines::cosines(a.slice(), b.slice(), *depth, eps as f32, to.slice_mut()) }
        })?;
        Ok(Some(out))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_city_distances, module)?)?;
    module.add_function(wrap_pyfunction!(_pair_distances, module)?)
}
