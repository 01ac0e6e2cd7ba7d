//! Weighted sums along dimensions: what average pooling and interpolation are made of.

use std::sync::Arc;

use pyo3::prelude::*;

use super::convert::laid_out;
use super::{creation, linalg, movement};
use crate::autograd::{Record, grads};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::taps::{self, Taps};
use crate::tensor::Tensor;

/// Each output along `dim` is the weighted sum of inputs that `taps` says; float32 and float64 on the CPU.
pub fn resample(x: &Tensor, dim: usize, taps: &Arc<Taps>) -> Result<Tensor> {
    let shape = x.shape();
    if shape.get(dim) != Some(&taps.inputs) {
        return error::shape(format!("resample: dimension {dim} of {:?} must be {}", shape.as_slice(), taps.inputs));
    }
    let out = match x.device() {
        Device::Cpu => on_cpu(x, dim, taps)?,
        Device::Meta => {
            let mut target = shape.clone();
            target[dim] = taps.outputs();
            Tensor::meta_of(&target, x.dtype())?
        }
        _ => on_device(x, dim, taps)?,
    };
    let out = if x.rank() == 4 { laid_out(out, &[x])? } else { out };
    if let Some(record) = Record::new("ResampleBackward0", &[x]) {
        let back = Arc::new(taps.transposed());
        record.finish(&out, move |c| grads([Some(resample(&c.grad()?, dim, &back)?)]));
    }
    Ok(out)
}

fn on_cpu(x: &Tensor, dim: usize, taps: &Arc<Taps>) -> Result<Tensor> {
    let mut shape = x.shape();
    let inner: usize = shape[dim + 1..].iter().product();
    shape[dim] = taps.outputs();
    let out = Tensor::zeroed(&shape, x.dtype())?;
    let (from, to) = (Elements::contiguous(x)?, Elements::of(&out)?);
    let (dtype, taps, work) = (x.dtype(), taps.clone(), x.numel().max(out.numel()));
    match dtype {
        // SAFETY: both are contiguous, of the dtype matched on, and `out` is new.
        DType::F32 => guard::heavy("resample", work, move || unsafe {
            taps::apply::<f32>(from.slice(), to.slice_mut(), inner, &taps);
        })?,
        // SAFETY: as above.
        DType::F64 => guard::heavy("resample", work, move || unsafe {
            taps::apply::<f64>(from.slice(), to.slice_mut(), inner, &taps);
        })?,
        _ => return error::dtype(format!("resample: not implemented for '{}'", dtype.name())),
    }
    Ok(out)
}

/// A GPU multiplies by the whole matrix.
fn on_device(x: &Tensor, dim: usize, taps: &Taps) -> Result<Tensor> {
    let values: Vec<u8> = taps.dense().iter().flat_map(|&weight| (weight as f32).to_ne_bytes()).collect();
    let matrix =
        Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(values), &[taps.outputs(), taps.inputs], DType::F32)?;
    let matrix = creation::to_dtype(&matrix.moved(x.device())?, x.dtype())?;
    let last = x.rank() - 1;
    let rows = movement::transpose(&x.detached(), dim, last)?;
    let product = linalg::linear(&rows, &matrix, None)?;
    movement::transpose(&product, dim, last)?.copied()
}

/// One dimension of a resampling: where it is, its size, and for each output the inputs with their weights.
type Rows = Vec<Vec<(usize, f64)>>;

/// Applies weighted sums along several dimensions: `[(dim, rows)]`.
#[pyfunction]
fn _resample(input: Tensor, steps: Vec<(usize, Rows)>) -> Result<Tensor> {
    let mut out = input;
    for (dim, rows) in steps {
        let Some(taps) = Taps::new(out.size(dim), &rows) else {
            return error::runtime(format!("resample: an index is out of range for dimension {dim}"));
        };
        out = resample(&out, dim, &Arc::new(taps))?;
    }
    Ok(out)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_resample, module)?)
}
