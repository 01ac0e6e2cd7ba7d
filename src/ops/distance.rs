//! Distances between rows, outside the graph.

use pyo3::prelude::*;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::city;
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;
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

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_city_distances, module)?)
}
