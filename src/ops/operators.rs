//! Python's operators on tensors, their reflected and their in-place forms.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::operand::Operand;
use super::pointwise::Arg;
use super::{arithmetic, bitwise, compare, unary, update};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// Runs a Python operator; an operand that is neither tensor nor number gives NotImplemented, so that Python goes on.
pub fn operator<'py>(
    py: Python<'py>,
    other: &Bound<'py, PyAny>,
    compute: impl FnOnce(Arg<'_>) -> Result<Tensor>,
) -> PyResult<Py<PyAny>> {
    if let Ok(other) = other.cast::<PyTensor>() {
        let other = &other.get().tensor;
        if other.is_sealed() {
            return Ok(py.NotImplemented());
        }
        let out = compute(Arg::Tensor(other))?;
        return Ok(out.into_pyobject(py)?.into_any().unbind());
    }
    match other.extract::<Operand>() {
        Ok(other) => Ok(compute(Arg::from(&other))?.into_pyobject(py)?.into_any().unbind()),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(py.NotImplemented()),
        Err(error) => Err(error),
    }
}

/// Runs an in-place operator; what is neither tensor nor number is a TypeError.
fn assign(other: &Bound<'_, PyAny>, compute: impl FnOnce(Arg<'_>) -> Result<()>) -> PyResult<()> {
    let other = other.extract::<Operand>()?;
    Ok(compute(Arg::from(&other))?)
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::add_args(Arg::Tensor(&self.tensor), other))
    }

    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::add_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __iadd__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::add(&self.tensor, other))
    }

    fn __sub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::sub_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rsub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::sub_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __isub__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::sub(&self.tensor, other))
    }

    fn __mul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::mul_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::mul_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __imul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::mul(&self.tensor, other))
    }

    fn __truediv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::div_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rtruediv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::div_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __itruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::div(&self.tensor, other))
    }

    fn __floordiv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::floor_divide_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rfloordiv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::floor_divide_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __ifloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::floor_divide(&self.tensor, other))
    }

    fn __mod__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::remainder_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rmod__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| arithmetic::remainder_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __imod__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::remainder(&self.tensor, other))
    }

    fn __and__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_and(Arg::Tensor(&self.tensor), other))
    }

    fn __rand__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_and(other, Arg::Tensor(&self.tensor)))
    }

    fn __iand__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::bitwise_and(&self.tensor, other))
    }

    fn __or__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_or(Arg::Tensor(&self.tensor), other))
    }

    fn __ror__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_or(other, Arg::Tensor(&self.tensor)))
    }

    fn __ior__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::bitwise_or(&self.tensor, other))
    }

    fn __xor__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_xor(Arg::Tensor(&self.tensor), other))
    }

    fn __rxor__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_xor(other, Arg::Tensor(&self.tensor)))
    }

    fn __ixor__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::bitwise_xor(&self.tensor, other))
    }

    fn __lshift__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_left_shift(Arg::Tensor(&self.tensor), other))
    }

    fn __rlshift__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_left_shift(other, Arg::Tensor(&self.tensor)))
    }

    fn __ilshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::bitwise_left_shift(&self.tensor, other))
    }

    fn __rshift__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_right_shift(Arg::Tensor(&self.tensor), other))
    }

    fn __rrshift__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| bitwise::bitwise_right_shift(other, Arg::Tensor(&self.tensor)))
    }

    fn __irshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign(other, |other| update::bitwise_right_shift(&self.tensor, other))
    }

    fn __pow__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if modulo.is_some_and(|modulo| !modulo.is_none()) {
            return Ok(py.NotImplemented());
        }
        operator(py, other, |other| arithmetic::pow_args(Arg::Tensor(&self.tensor), other))
    }

    fn __rpow__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if modulo.is_some_and(|modulo| !modulo.is_none()) {
            return Ok(py.NotImplemented());
        }
        operator(py, other, |other| arithmetic::pow_args(other, Arg::Tensor(&self.tensor)))
    }

    fn __ipow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if modulo.is_some_and(|modulo| !modulo.is_none()) {
            return Err(PyTypeError::new_err("pow with a modulus is not defined for tensors"));
        }
        assign(other, |other| update::pow(&self.tensor, other))
    }

    fn __neg__(&self) -> Result<Tensor> {
        unary::neg(&self.tensor)
    }

    fn __pos__(&self) -> Result<Tensor> {
        if self.tensor.dtype() == crate::dtype::DType::Bool {
            return crate::error::dtype("The `+` operator, on a bool tensor is not supported.");
        }
        super::movement::alias(&self.tensor)
    }

    fn __abs__(&self) -> Result<Tensor> {
        unary::abs(&self.tensor)
    }

    fn __invert__(&self) -> Result<Tensor> {
        bitwise::bitwise_not(&self.tensor)
    }

    fn __richcmp__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let this = Arg::Tensor(&self.tensor);
        operator(py, other, |other| match op {
            CompareOp::Eq => compare::eq(this, other),
            CompareOp::Ne => compare::ne(this, other),
            CompareOp::Lt => compare::lt(this, other),
            CompareOp::Le => compare::le(this, other),
            CompareOp::Gt => compare::gt(this, other),
            CompareOp::Ge => compare::ge(this, other),
        })
    }
}
