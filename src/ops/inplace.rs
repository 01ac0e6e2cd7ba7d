//! The native in-place methods, and the two steps that Python builds all other ones from.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::creation;
use super::operand::{Operand, Scalar};
use crate::autograd::inplace::{check, check_apart, check_history, is_recorded, overwrite};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

/// Writes `value` into `target`, broadcasting and converting it: `copy_`.
pub fn copy(target: &Tensor, value: &Tensor) -> Result<()> {
    check("copy_", target)?;
    check_apart("copy_", target, value, false)?;
    let value = if value.device() == target.device() {
        value.clone()
    } else {
        creation::to_place(value, target.dtype(), target.device())?
    };
    super::movement::check_expand("copy_", &value.shape(), &target.shape())?;
    overwrite(target, &value)
}

/// One number everywhere; elements that share memory get the same, so torch allows it on expanded views too.
pub fn fill(target: &Tensor, value: Scalar) -> Result<()> {
    check_history("fill_", target)?;
    // torch writes a single element of half precision without looking at the range.
    if target.numel() != 1 || !target.dtype().is_half() {
        creation::check_fill(value, target.dtype())?;
    }
    if let Some(element) = creation::element(value, target.dtype()).filter(|_| target.device().is_cpu())
        && !is_recorded(target, target)
    {
        crate::autograd::refusal::check()?;
        target.fill_cpu(element)?;
        target.core().storage.bump();
        return Ok(());
    }
    let one = creation::full(&[], value, target.dtype(), target.device())?;
    overwrite(target, &one)
}

#[pymethods]
impl PyTensor {
    /// Raises torch's error when this tensor may not be written to.
    fn _check_inplace(&self, op: &str) -> Result<()> {
        check(op, &self.tensor)
    }

    /// Raises torch's error when a tensor among `others` shares memory with this one, which is to be written to; the
    /// very same elements are fine unless `whole`.
    fn _check_apart(&self, op: &str, others: &Bound<'_, PyTuple>, whole: bool) -> Result<()> {
        for other in others {
            if let Ok(other) = other.cast::<PyTensor>() {
                check_apart(op, &self.tensor, &other.get().tensor, whole)?;
            }
        }
        Ok(())
    }

    /// Writes a result with its history into this tensor; `_check_inplace` comes first.
    fn _assign<'py>(slf: Bound<'py, Self>, op: &str, value: Tensor) -> Own<'py> {
        crate::autograd::inplace::assign(op, &slf.get().tensor, &value)?;
        Ok(slf)
    }

    /// This tensor, which has the values of `src` now.
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(slf: Bound<'py, Self>, src: Operand, non_blocking: bool) -> Own<'py> {
        let _ = non_blocking;
        match src {
            Operand::Tensor(src) => copy(&slf.get().tensor, &src)?,
            Operand::Scalar(value) => fill(&slf.get().tensor, value)?,
        }
        Ok(slf)
    }

    /// This tensor, all of whose elements are `value` now.
    fn fill_<'py>(slf: Bound<'py, Self>, value: Operand) -> Own<'py> {
        match value {
            Operand::Scalar(value) => fill(&slf.get().tensor, value)?,
            Operand::Tensor(value) => copy(&slf.get().tensor, &value)?,
        }
        Ok(slf)
    }

    /// This tensor, all of whose elements are zero now.
    fn zero_<'py>(slf: Bound<'py, Self>) -> Own<'py> {
        fill(&slf.get().tensor, Scalar::Int(0))?;
        Ok(slf)
    }
}
