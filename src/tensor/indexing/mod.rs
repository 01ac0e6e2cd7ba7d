//! `x[...]` and `x[...] = v` as torch reads them: basic items make views, index tensors copy.

mod advanced;
mod basic;
mod items;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::Tensor;
use super::class::PyTensor;
use crate::autograd::inplace;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::ops::operand::{Operand, Scalar};
use crate::ops::{creation, masked, movement};
use advanced::index_put_here;
pub use advanced::{index, index_put};
pub use basic::Indices;
use basic::{apply, is_mask};
use items::{Item, items, warn_bytes};

/// A value with more leading dimensions of size 1 than the place it goes to loses them.
fn without_leading_ones(value: &Tensor, rank: usize) -> Result<Tensor> {
    let shape = value.shape();
    let ones = shape.iter().take_while(|&&size| size == 1).count();
    let drop = shape.len().saturating_sub(rank).min(ones);
    if drop == 0 { Ok(value.clone()) } else { movement::reshape(value, shape.get(drop..).unwrap_or_default()) }
}

fn value_of(x: &Tensor, value: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Ok(Operand::Tensor(tensor.get().open()?.clone()));
    }
    match value.extract::<Scalar>() {
        Ok(scalar) => Ok(Operand::Scalar(scalar)),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(PyTypeError::new_err(format!(
            "can't assign a {} to a {} tensor; wrap it with pyburn.tensor(...)",
            value.get_type().name()?,
            x.dtype().name()
        ))),
        Err(error) => Err(error),
    }
}

/// Writes to a view, converting the value's dtype.
fn write(view: &Tensor, value: Operand) -> Result<()> {
    match value {
        Operand::Scalar(value) => crate::ops::inplace::fill(view, value),
        Operand::Tensor(value) => crate::ops::inplace::copy(view, &without_leading_ones(&value, view.rank())?),
    }
}

fn set(x: &Tensor, items: Vec<Item>, in_tuple: bool, value: Operand) -> Result<()> {
    // `x[True] = v` is a plain write, `x[False] = v` none; in a tuple they are masks.
    match items.as_slice() {
        [Item::Flag(true)] if !in_tuple => return write(&movement::unsqueeze(x, 0)?, value),
        [Item::Flag(false)] if !in_tuple => return Ok(()),
        _ => {}
    }
    let (view, indices) = apply(x, items)?;
    if indices.is_empty() {
        return write(&if view.is(x) { movement::alias(x)? } else { view }, value);
    }
    let sole_mask = indices.iter().flatten().count() == 1
        && indices.iter().flatten().any(|index| index.dtype() == DType::Bool && index.rank() > 0);
    if let (Operand::Scalar(value), true) = (&value, sole_mask)
        && let Some(mask) = spread_mask(&view, &indices)?
    {
        inplace::check("masked_fill_", &view)?;
        inplace::check_apart("masked_fill_", &view, &mask, false)?;
        if masked::fill_here(&view, &mask, *value)? {
            return Ok(());
        }
    }
    let value = match value {
        Operand::Scalar(value) => creation::number(value, x.dtype(), x.device())?,
        Operand::Tensor(value) => value,
    };
    // One mask and one value: torch fills, which converts the value's dtype.
    if sole_mask && value.numel() == 1 {
        let value = creation::to_place(&value, view.dtype(), view.device())?;
        let value = movement::reshape(&value, &[])?;
        indices.iter().flatten().try_for_each(|mask| inplace::check_apart("masked_fill_", &view, mask, false))?;
        return inplace::update("masked_fill_", &view, |x| match spread_mask(x, &indices)? {
            Some(mask) => masked::masked_fill(x, &mask, &value),
            None => index_put(x, &indices, &value, false),
        });
    }
    for other in indices.iter().flatten().chain([&value]) {
        inplace::check_apart("index_put_", &view, other, true)?;
    }
    inplace::check("index_put_", &view)?;
    index_put_here(&view, &indices, &value)
}

/// The only mask among the indices of `x` with a dimension for each that follows it; None where its sizes do not fit.
fn spread_mask(x: &Tensor, indices: &Indices) -> Result<Option<Tensor>> {
    let Some((dim, mask)) = indices.iter().enumerate().find_map(|(dim, index)| Some((dim, index.as_ref()?))) else {
        return Ok(None);
    };
    let (sizes, mut shape) = (x.shape(), mask.shape());
    if sizes.get(dim..dim + shape.len()) != Some(shape.as_slice()) {
        return Ok(None);
    }
    shape.resize(sizes.len() - dim, 1);
    movement::reshape(mask, &shape).map(Some)
}

/// `indices` of `index_put`: tensors, or None for a dimension kept whole.
#[derive(FromPyObject)]
struct IndicesArg(Vec<Option<Tensor>>);

impl IndicesArg {
    /// As `apply` lays them out: a mask is followed by None for each further dimension it spans.
    fn spread(self) -> Result<Indices> {
        if self.0.is_empty() {
            return error::value("index_put: at least one index tensor is needed");
        }
        let mut out = Vec::with_capacity(self.0.len());
        for index in self.0 {
            let extra = index.as_ref().filter(|index| is_mask(index)).map_or(0, |mask| mask.rank().saturating_sub(1));
            out.push(index);
            out.extend(std::iter::repeat_n(None, extra));
        }
        Ok(out)
    }
}

#[pymethods]
impl PyTensor {
    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.tensor;
        let items = items(index)?;
        warn_bytes(index.py(), &items)?;
        let (view, indices) = apply(x, items)?;
        if !indices.is_empty() {
            return Ok(self::index(&view, &indices)?);
        }
        Ok(if view.is(x) { movement::alias(x)? } else { view })
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let items = items(index)?;
        warn_bytes(index.py(), &items)?;
        let value = value_of(&self.tensor, value)?;
        Ok(set(&self.tensor, items, index.is_instance_of::<PyTuple>(), value)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.shape().first() {
            Some(&size) => Ok(size),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        if self.tensor.rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        PyTuple::new(py, movement::unbind(&self.tensor, 0)?)?.try_iter()
    }

    /// A copy with `values` at the index tensors, one per dimension.
    #[pyo3(signature = (indices, values, accumulate=false))]
    fn index_put(&self, indices: IndicesArg, values: Tensor, accumulate: bool) -> Result<Tensor> {
        index_put(&self.tensor, &indices.spread()?, &values, accumulate)
    }
}
