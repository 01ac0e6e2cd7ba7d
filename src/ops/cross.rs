//! Cross products of vectors of three elements in the CPU's memory.

use pyo3::prelude::*;

use crate::autograd::{Record, grads};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::cross as kernel;
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// `a x b` along `dim`; both are of one shape and dtype.
fn cross(a: &Tensor, b: &Tensor, dim: usize) -> Result<Tensor> {
    let shape = a.shape();
    let plain = matches!(a.dtype(), DType::F32 | DType::F64) && a.device().is_cpu() && b.device().is_cpu();
    if !plain || a.dtype() != b.dtype() || b.shape() != shape || shape.get(dim) != Some(&3) {
        return error::shape("cross: expected floats of one dtype and shape with three elements along dim");
    }
    let inner = shape[dim + 1..].iter().product();
    let (out, _) = Tensor::uninit_with_pointer(&shape, a.dtype())?;
    let (x, y, to) = (Elements::contiguous(a)?, Elements::contiguous(b)?, Elements::of(&out)?);
    let dtype = a.dtype();
    guard::spread("cross", out.numel(), move || {
        // SAFETY: all are contiguous, of the dtype matched on, and the result is new.
        unsafe {
            match dtype {
                DType::F64 => kernel::products::<f64>(x.slice(), y.slice(), to.slice_mut(), inner),
                _ => kernel::products::<f32>(x.slice(), y.slice(), to.slice_mut(), inner),
            }
        }
    })?;
    if let Some(record) = Record::new("LinalgCrossBackward0", &[a, b]) {
        record.save(a).save(b).finish(&out, move |c| {
            let grad = c.grad()?;
            grads([c.when(0, || cross(c.saved(1)?, &grad, dim))?, c.when(1, || cross(&grad, c.saved(0)?, dim))?])
        });
    }
    Ok(out)
}

#[pymethods]
impl PyTensor {
    fn _cross(&self, other: Tensor, dim: usize) -> Result<Tensor> {
        cross(&self.tensor, &other, dim)
    }
}
