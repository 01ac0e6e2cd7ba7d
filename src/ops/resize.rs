//! Weighted sums along dimensions: what average pooling and interpolation are made of.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::convert::{Format, common_format, inverse, laid_out};
use super::{creation, linalg, movement};
use crate::autograd::{Record, grads};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::pixels::{self, Weights};
use crate::kernels::resample as kernel;
use crate::kernels::taps::{self, Taps};
use crate::tensor::Tensor;

/// Resamples one dimension after the other; the last two of a float32 image at once.
pub fn resample_all(x: &Tensor, steps: &[(usize, Arc<Taps>)]) -> Result<Tensor> {
    if x.device().is_cpu() && x.rank() == 4 && common_format(&[x]) == Format::ChannelsLast {
        return resample_last(x, steps);
    }
    if let [before @ .., (down, first), (along, second)] = steps
        && x.device().is_cpu()
        && x.dtype() == DType::F32
        && down + 1 == *along
        && along + 1 == x.rank()
    {
        return resample_both(&resample_all(x, before)?, first, second);
    }
    steps.iter().try_fold(x.clone(), |out, (dim, taps)| resample(&out, *dim, taps))
}

/// Images of the CPU whose channels lie side by side, without turning them.
fn resample_last(x: &Tensor, steps: &[(usize, Arc<Taps>)]) -> Result<Tensor> {
    let order = [0, 2, 3, 1];
    let places = inverse(&order);
    let mut moved = x.alias(x.geometry().permute(&order));
    for (dim, taps) in steps {
        check_size(&moved.shape(), places[*dim], taps)?;
        moved = on_cpu(&moved, places[*dim], taps)?;
    }
    let out = moved.alias(moved.geometry().permute(&places));
    if let Some(record) = Record::new("ResampleBackward0", &[x]) {
        let back: Vec<_> = steps.iter().rev().map(|(dim, taps)| (*dim, Arc::new(taps.transposed()))).collect();
        record.finish(&out, move |c| grads([Some(resample_all(&c.grad()?, &back)?)]));
    }
    Ok(out)
}

/// The last two dimensions of a float32 tensor on the CPU.
fn resample_both(x: &Tensor, down: &Arc<Taps>, along: &Arc<Taps>) -> Result<Tensor> {
    let mut shape = x.shape();
    let last = shape.len() - 1;
    check_size(&shape, last - 1, down)?;
    check_size(&shape, last, along)?;
    (shape[last - 1], shape[last]) = (down.outputs(), along.outputs());
    let (out, _) = Tensor::uninit_with_pointer(&shape, DType::F32)?;
    let (from, to) = (Elements::contiguous(x)?, Elements::of(&out)?);
    let (first, second, work) = (down.clone(), along.clone(), x.numel().max(out.numel()));
    // SAFETY: both are contiguous float32, and `out` is new.
    guard::spread("resample", work, move || unsafe {
        kernel::apply_both(from.slice(), to.slice_mut(), &first, &second);
    })?;
    let out = if x.rank() == 4 { laid_out(out, &[x])? } else { out };
    if let Some(record) = Record::new("ResampleBackward0", &[x]) {
        let (down, along) = (Arc::new(down.transposed()), Arc::new(along.transposed()));
        record.finish(&out, move |c| grads([Some(resample_both(&c.grad()?, &down, &along)?)]));
    }
    Ok(out)
}

fn check_size(shape: &[usize], dim: usize, taps: &Taps) -> Result<()> {
    if shape.get(dim) == Some(&taps.inputs) {
        return Ok(());
    }
    error::shape(format!("resample: dimension {dim} of {shape:?} must be {}", taps.inputs))
}

/// Each output along `dim` is the weighted sum of inputs that `taps` says; float32 and float64 on the CPU.
pub fn resample(x: &Tensor, dim: usize, taps: &Arc<Taps>) -> Result<Tensor> {
    let shape = x.shape();
    check_size(&shape, dim, taps)?;
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
    let out = if x.dtype() == DType::F32 {
        Tensor::uninit_with_pointer(&shape, x.dtype())?.0
    } else {
        Tensor::zeroed(&shape, x.dtype())?
    };
    let (from, to) = (Elements::contiguous(x)?, Elements::of(&out)?);
    let (dtype, taps, work) = (x.dtype(), taps.clone(), x.numel().max(out.numel()));
    match dtype {
        // SAFETY: both are contiguous, of the dtype matched on, and `out` is new.
        DType::F32 => guard::spread("resample", work, move || unsafe {
            kernel::apply(from.slice(), to.slice_mut(), inner, &taps);
        })?,
        // SAFETY: as above.
        DType::F64 => guard::spread("resample", work, move || unsafe {
            taps::apply::<f64>(from.slice(), to.slice_mut(), inner, &taps);
        })?,
        _ => return error::dtype(format!("resample: not implemented for '{}'", dtype.scalar_type())),
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

/// Applies weighted sums along several dimensions: `[(dim, rows)]`. Rows are float64 numbers: for each output how many
/// inputs it has, then each input and its weight.
#[pyfunction]
fn _resample(input: Tensor, steps: Vec<(usize, PyBackedBytes)>) -> Result<Tensor> {
    let shape = input.shape();
    let mut ready = Vec::with_capacity(steps.len());
    for (dim, rows) in &steps {
        let taps = shape.get(*dim).and_then(|&size| Taps::read(size, rows));
        let Some(taps) = taps else {
            return error::runtime(format!("resample: an index is out of range for dimension {dim}"));
        };
        ready.push((*dim, Arc::new(taps)));
    }
    resample_all(&input, &ready)
}

/// The last two dimensions of bytes on the CPU, first along rows, then down columns; each result is rounded. The numbers
/// of `Weights::new` stand for a dimension, nothing for one that stays.
#[pyfunction]
#[pyo3(signature = (input, down, along))]
fn _resample_bytes(input: Tensor, down: Option<PyBackedBytes>, along: Option<PyBackedBytes>) -> Result<Tensor> {
    let rank = input.rank();
    if !input.device().is_cpu() || input.dtype() != DType::U8 || rank < 2 {
        return error::dtype("resample: bytes of two or more dimensions on the CPU are needed");
    }
    let mut out = input;
    for (dim, numbers) in [(rank - 1, along), (rank - 2, down)] {
        let Some(numbers) = numbers else { continue };
        let numbers: Vec<i32> = numbers.as_chunks::<4>().0.iter().map(|&bytes| i32::from_ne_bytes(bytes)).collect();
        let Some(weights) = Weights::new(out.shape()[dim], &numbers) else {
            return error::runtime(format!("resample: a weight is out of range for dimension {dim}"));
        };
        out = resample_bytes(&out, dim, weights)?;
    }
    Ok(out)
}

fn resample_bytes(x: &Tensor, dim: usize, weights: Weights) -> Result<Tensor> {
    let mut shape = x.shape();
    let width = shape[shape.len() - 1];
    let rows = dim + 1 == shape.len();
    shape[dim] = weights.outputs();
    let (out, _) = Tensor::uninit_with_pointer(&shape, DType::U8)?;
    let (from, to) = (Elements::contiguous(x)?, Elements::of(&out)?);
    let work = x.numel().max(out.numel());
    // SAFETY: both are contiguous bytes, and `out` is new.
    guard::spread("resample", work, move || unsafe {
        if rows {
            pixels::along(from.slice(), to.slice_mut(), &weights);
        } else {
            pixels::down(from.slice(), to.slice_mut(), width, &weights);
        }
    })?;
    Ok(out)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_resample, module)?)?;
    module.add_function(wrap_pyfunction!(_resample_bytes, module)?)
}
