//! Greatest and least values, alone or with their positions.

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use pyo3::prelude::*;

use super::elementwise::Arg;
use super::fold::fold;
use super::operand::Operand;
use super::reduce::{Shape, dims_of, reduced_shape};
use super::views::DimArg;
use super::{creation, elementwise, indexing, movement};
use crate::autograd::{Record, grads};
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::extreme::{extreme, hits};
use crate::kernels::memory::{Elements, Memory};
use crate::kernels::reducers::Fold;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Geometry, wrap_dim};
use crate::tensor::{Tensor, device_view, prim};
use crate::with_element;

/// Refuses slices without elements, which have no extreme.
fn check_sizes(op: &str, x: &Tensor, dims: &[usize], whole: bool) -> Result<()> {
    if x.numel() > 0 {
        return Ok(());
    }
    if whole {
        return error::runtime(format!(
            "{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with \
             the 'dim' argument."
        ));
    }
    match dims.iter().find(|&&dim| x.size(dim) == 0) {
        Some(dim) => error::index(format!("{op}(): Expected reduction dim {dim} to have non-zero size.")),
        None => Ok(()),
    }
}

/// The extreme over `dims`; its gradient is shared evenly among equal winners.
pub fn full(op: &str, max: bool, x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let out = fold(op, if max { Fold::Max } else { Fold::Min }, x, dims, keepdim)?;
    let name = match (op, max) {
        ("amax", _) => "AmaxBackward0",
        ("amin", _) => "AminBackward0",
        (_, true) => "MaxBackward1",
        (_, false) => "MinBackward1",
    };
    record_shared(name, x, &out, dims);
    Ok(out)
}

/// Records that `out` equals elements of `x` along `dims`, which share its gradient evenly.
pub fn record_shared(name: &'static str, x: &Tensor, out: &Tensor, dims: &[usize]) {
    let Some(record) = Record::new(name, &[x]) else { return };
    let (shape, dims) = (Shape::new(x, dims), dims.to_vec());
    // In torch nobody wins a NaN of amax and amin, so that the whole slice gets NaN; of max and min those that are NaN.
    let nan_wins = !matches!(name, "AmaxBackward0" | "AminBackward0");
    record.save(x).save_outputs().finish(out, move |c| {
        let share = winners(c.saved(0)?, &shape.restore(c.saved(1)?)?, &dims, nan_wins)?;
        grads([Some(elementwise::mul(&shape.restore(&c.grad()?)?, &share)?)])
    });
}

/// For each element equal to its slice's `value`, one over the number of such elements, else 0: a constant. Two NaN
/// count as equal with `nan_wins`.
pub fn winners(x: &Tensor, value: &Tensor, dims: &[usize], nan_wins: bool) -> Result<Tensor> {
    let (x, value) = (&x.detached(), &value.detached());
    let mut found = elementwise::eq(x, value)?;
    if nan_wins {
        let both_nan =
            elementwise::logical_and(Arg::from(&elementwise::ne(x, x)?), Arg::from(&elementwise::ne(value, value)?))?;
        found = elementwise::logical_or(Arg::from(&found), Arg::from(&both_nan))?;
    }
    let mask = found.converted(x.dtype())?;
    let total = fold("sum", Fold::Sum, &mask, dims, true)?;
    elementwise::div(&mask, &total)
}

/// Values and positions of the extremes along one dimension, outside the graph.
fn extremes(op: &str, max: bool, x: &Tensor, dim: usize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    if x.rank() == 0 {
        return Ok((x.copied()?, creation::zeros(&[], DType::I64, x.device())?));
    }
    let (dtype, device) = (x.dtype(), x.device());
    let target = reduced_shape(&x.shape(), &[dim], keepdim);
    if x.numel() == 0 || device.is_meta() {
        return Ok((creation::zeros(&target, dtype, device)?, creation::zeros(&target, DType::I64, device)?));
    }
    if !device.is_cpu() {
        return device_extremes(op, max, x, dim, &target);
    }
    let (values, indices) = (Tensor::zeroed(&target, dtype)?, Tensor::zeroed(&target, DType::I64)?);
    let (input, to, at, geometry) = (Memory::of(x)?, Memory::of(&values)?, Memory::of(&indices)?, x.geometry());
    // SAFETY: the geometry lies inside its storage, `dim` has elements, and the outputs were made for the results.
    guard::spread(op, x.numel(), || unsafe {
        with_element!(dtype, T => {
            if max {
                extreme::<T, true>(input, &geometry, dim, to, at);
            } else {
                extreme::<T, false>(input, &geometry, dim, to, at);
            }
            Ok(())
        }, else error::dtype(format!("{op}: not implemented for '{}'", dtype.scalar_type())))
    })??;
    Ok((values, indices))
}

fn device_extremes(op: &str, max: bool, x: &Tensor, dim: usize, target: &[usize]) -> Result<(Tensor, Tensor)> {
    let device = x.device();
    let input = if x.kind() == Kind::Bool { x.converted(DType::I64)? } else { x.clone() };
    let stored = device_view::stored_as(DType::I64, device)?;
    let (value, kind) = (input.prim()?, input.kind());
    let (values, indices) = guard::heavy(op, x.numel(), move || {
        let (value, dim) = prim::in_three(kind, value, dim);
        match (kind, max) {
            (Kind::Int, true) => Dispatch::int_max_dim_with_indices(value, dim),
            (Kind::Int, false) => Dispatch::int_min_dim_with_indices(value, dim),
            (_, true) => Dispatch::float_max_dim_with_indices(value, dim, stored.into()),
            (_, false) => Dispatch::float_min_dim_with_indices(value, dim, stored.into()),
        }
    })?;
    let values = Tensor::from_prim(values, input.dtype(), device)?;
    let values = if input.dtype() == x.dtype() { values } else { values.converted(x.dtype())? };
    let indices = Tensor::from_prim(indices, DType::I64, device)?;
    Ok((values.reshaped(target)?, indices.reshaped(target)?))
}

/// `max(dim)` and `min(dim)`: the gradient goes to the chosen position.
pub fn with_indices(op: &str, max: bool, x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let dim = wrap_dim(op, dim, x.rank())?;
    check_sizes(op, x, &[dim], false)?;
    let (values, indices) = extremes(op, max, x, dim, keepdim)?;
    record_chosen(if max { "MaxBackward0" } else { "MinBackward0" }, x, dim, &values, &indices, keepdim);
    Ok((values, indices))
}

/// Records that `values` are the elements of `x` at `indices` along `dim`, which was dropped unless `keepdim`.
pub fn record_chosen(name: &'static str, x: &Tensor, dim: usize, values: &Tensor, indices: &Tensor, keepdim: bool) {
    let Some(record) = Record::new(name, &[x]) else { return };
    let shape = x.shape();
    let record = record.save(indices);
    let record = if name.starts_with("Cum") { record.save(x) } else { record };
    record.finish_all(&[values], move |c| {
        let (mut grad, mut indices) = (c.grad()?, c.saved(0)?.detached());
        if !keepdim && !shape.is_empty() {
            grad = movement::unsqueeze(&grad, dim)?;
            indices = indices.alias(indices.geometry().unsqueeze(dim));
        }
        let zeros = creation::zeros(&shape, grad.dtype(), grad.device())?;
        grads([Some(indexing::scatter_add(&zeros, dim, &indices, &Operand::Tensor(grad))?)])
    });
}

/// The position of the extreme along `dim`, or in the flattened tensor.
fn position(op: &str, max: bool, x: &Tensor, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
    crate::check::kind(op, x.dtype(), &[Kind::Int, Kind::Float])?;
    let Some(dim) = dim else {
        check_sizes(op, x, &[], true)?;
        let flat = x.contiguous_data()?;
        let mut geometry = Geometry::contiguous(&[x.numel()]);
        geometry.offset = flat.geometry().offset;
        let (_, index) = extremes(op, max, &flat.alias(geometry), 0, false)?;
        let every: Vec<usize> = (0..x.rank()).collect();
        let target = reduced_shape(&x.shape(), &every, keepdim);
        return index.reshaped(&target);
    };
    let dim = wrap_dim(op, dim, x.rank())?;
    check_sizes(op, x, &[dim], false)?;
    Ok(extremes(op, max, x, dim, keepdim)?.1)
}

fn over(op: &str, max: bool, x: &Tensor, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
    let whole = match &dim {
        None => true,
        Some(DimArg::Many(dims)) => dims.is_empty(),
        Some(DimArg::One(_)) => false,
    };
    let dims = dims_of(op, dim.as_ref(), x.rank())?;
    check_sizes(op, x, &dims, whole)?;
    full(op, max, x, &dims, keepdim)
}

#[pymethods]
impl PyTensor {
    /// The greatest value over `dim`; equal winners share the gradient.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn amax(&self, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
        over("amax", true, &self.tensor, dim, keepdim)
    }

    /// The least value over `dim`; equal winners share the gradient.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn amin(&self, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
        over("amin", false, &self.tensor, dim, keepdim)
    }

    /// Where the greatest value stands along `dim`, or in the flattened tensor.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn argmax(&self, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
        position("argmax", true, &self.tensor, dim, keepdim)
    }

    /// Where the least value stands along `dim`, or in the flattened tensor.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn argmin(&self, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
        position("argmin", false, &self.tensor, dim, keepdim)
    }

    /// How many lines of these scores have their greatest one at the place that `target` says, and how many targets are
    /// no place; None unless there is one int64 for each line of `classes` floats, all on the CPU.
    fn _hits(&self, target: Tensor, classes: usize) -> Result<Option<(usize, usize)>> {
        let (x, dtype) = (&self.tensor, self.tensor.dtype());
        let fits = matches!(dtype, DType::F32 | DType::F64) && target.dtype() == DType::I64;
        let on_cpu = x.device().is_cpu() && target.device().is_cpu();
        let shaped = target.shape().len() == 1 && x.shape().as_slice() == [target.numel(), classes] && x.numel() > 0;
        if !fits || !on_cpu || !shaped {
            return Ok(None);
        }
        let (scores, target) = (Elements::contiguous(x)?, Elements::contiguous(&target)?);
        // SAFETY: both are contiguous and of these dtypes.
        Ok(Some(unsafe {
            match dtype {
                DType::F64 => hits(scores.slice::<f64>(), target.slice(), classes),
                _ => hits(scores.slice::<f32>(), target.slice(), classes),
            }
        }))
    }

    /// `max()` and `min()` without a dimension.
    fn _extreme(&self, largest: bool) -> Result<Tensor> {
        let op = if largest { "max" } else { "min" };
        over(op, largest, &self.tensor, None, false)
    }

    /// `max(dim)` and `min(dim)`: values and positions.
    fn _extreme_dim(&self, largest: bool, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        with_indices(if largest { "max" } else { "min" }, largest, &self.tensor, dim, keepdim)
    }
}
