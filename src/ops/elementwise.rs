//! Arithmetic element by element, with broadcasting and torch's type promotion.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use pyo3::prelude::*;

use super::creation::to_device;
use super::operand::{Operand, ResultType, Scalar};
use crate::autograd::{Record, grads};
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::guard;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::broadcast;

/// burn's functions of one two-operand op, per kind and for a number on the right.
pub struct Binary {
    pub name: &'static str,
    pub float: fn(DispatchTensor, DispatchTensor) -> DispatchTensor,
    pub float_scalar: fn(DispatchTensor, burn_std::Scalar) -> DispatchTensor,
    pub int: fn(DispatchTensor, DispatchTensor) -> DispatchTensor,
    pub int_scalar: fn(DispatchTensor, burn_std::Scalar) -> DispatchTensor,
}

const ADD: Binary = Binary {
    name: "add",
    float: Dispatch::float_add,
    float_scalar: Dispatch::float_add_scalar,
    int: Dispatch::int_add,
    int_scalar: Dispatch::int_add_scalar,
};
const SUB: Binary = Binary {
    name: "sub",
    float: Dispatch::float_sub,
    float_scalar: Dispatch::float_sub_scalar,
    int: Dispatch::int_sub,
    int_scalar: Dispatch::int_sub_scalar,
};
const MUL: Binary = Binary {
    name: "mul",
    float: Dispatch::float_mul,
    float_scalar: Dispatch::float_mul_scalar,
    int: Dispatch::int_mul,
    int_scalar: Dispatch::int_mul_scalar,
};
const DIV: Binary = Binary {
    name: "div",
    float: Dispatch::float_div,
    float_scalar: Dispatch::float_div_scalar,
    int: Dispatch::int_div,
    int_scalar: Dispatch::int_div_scalar,
};

/// Both operands as tensors of equal rank on one device, ready for a burn call; numbers stay numbers.
pub fn align(op: &str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let (a, b) = co_locate(a, b)?;
    crate::check::same_device(op, &[&a, &b])?;
    let (left, right) = (a.shape(), b.shape());
    if left == right {
        return Ok((a, b));
    }
    let shape = broadcast(op, &left, &right)?;
    let widest = a.dtype().size().max(b.dtype().size());
    crate::check::allocation(shape.iter().product::<usize>().saturating_mul(widest))?;
    Ok((raise(&a, shape.len()), raise(&b, shape.len())))
}

/// A rank-0 CPU tensor follows a GPU tensor to its device, as in torch.
fn co_locate(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    match (a.device(), b.device()) {
        (Device::Cpu, device) if !device.is_cpu() && a.rank() == 0 => Ok((to_device(a, device)?, b.clone())),
        (device, Device::Cpu) if !device.is_cpu() && b.rank() == 0 => Ok((a.clone(), to_device(b, device)?)),
        _ => Ok((a.clone(), b.clone())),
    }
}

/// Leading dimensions of size 1, as an alias outside the graph.
fn raise(x: &Tensor, rank: usize) -> Tensor {
    let mut geometry = x.geometry();
    if geometry.rank() == rank {
        return x.clone();
    }
    while geometry.rank() < rank {
        geometry = geometry.unsqueeze(0);
    }
    x.alias(geometry)
}

/// Computes `a op b` in `dtype` (which both already have), without recording.
pub fn raw(op: &Binary, a: &Tensor, b: &Tensor, dtype: DType) -> Result<Tensor> {
    let (a, b) = align(op.name, a, b)?;
    let device = a.device();
    let (left, right) = (a.prim()?, b.prim()?);
    let call = if dtype.is_float() { op.float } else { op.int };
    let value = guard::heavy(op.name, a.numel().max(b.numel()), move || call(left, right))?;
    Tensor::from_prim(value, dtype, device)
}

fn raw_scalar(op: &Binary, a: &Tensor, b: Scalar, dtype: DType) -> Result<Tensor> {
    let left = a.prim()?;
    let number = b.burn(dtype.kind());
    let call = if dtype.is_float() { op.float_scalar } else { op.int_scalar };
    let value = guard::heavy(op.name, a.numel(), move || call(left, number))?;
    Tensor::from_prim(value, dtype, a.device())
}

pub fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = pair_type(a, b);
    let out = if dtype == DType::Bool {
        let (left, right) = align("add", a, b)?;
        Tensor::compute("add", &[&left, &right], dtype, |mut values| {
            let right = values.swap_remove(1);
            Dispatch::bool_or(values.swap_remove(0), right)
        })?
    } else {
        raw(&ADD, &a_as(a, dtype)?, &a_as(b, dtype)?, dtype)?
    };
    if let Some(record) = Record::new("AddBackward0", &[a, b]) {
        record.finish(&out, |c| {
            let grad = c.grad()?;
            grads([Some(grad.clone()), Some(grad)])
        });
    }
    Ok(out)
}

pub fn add_scalar(a: &Tensor, b: Scalar) -> Result<Tensor> {
    let dtype = ResultType::default().with_tensor(a).with_scalar(b).get();
    let out = raw_scalar(&ADD, &a_as(a, dtype)?, b, dtype)?;
    if let Some(record) = Record::new("AddBackward0", &[a]) {
        record.finish(&out, |c| grads([Some(c.grad()?)]));
    }
    Ok(out)
}

fn pair_type(a: &Tensor, b: &Tensor) -> DType {
    ResultType::default().with_tensor(a).with_tensor(b).get()
}

fn a_as(a: &Tensor, dtype: DType) -> Result<Tensor> {
    if a.dtype() == dtype { Ok(a.clone()) } else { a.converted(dtype) }
}

pub fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = pair_type(a, b);
    let out = raw(&SUB, &a_as(a, dtype)?, &a_as(b, dtype)?, dtype)?;
    if let Some(record) = Record::new("SubBackward0", &[a, b]) {
        record.finish(&out, |c| {
            let grad = c.grad()?;
            grads([Some(grad.clone()), c.when(1, || neg(&grad))?])
        });
    }
    Ok(out)
}

pub fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = pair_type(a, b);
    let out = if dtype == DType::Bool {
        let (left, right) = align("mul", a, b)?;
        Tensor::compute("mul", &[&left, &right], dtype, |mut values| {
            let right = values.swap_remove(1);
            Dispatch::bool_and(values.swap_remove(0), right)
        })?
    } else {
        raw(&MUL, &a_as(a, dtype)?, &a_as(b, dtype)?, dtype)?
    };
    if let Some(record) = Record::new("MulBackward0", &[a, b]) {
        record.save(a).save(b).finish(&out, |c| {
            let grad = c.grad()?;
            grads([c.when(0, || mul(&grad, c.saved(1)?))?, c.when(1, || mul(&grad, c.saved(0)?))?])
        });
    }
    Ok(out)
}

pub fn mul_scalar(a: &Tensor, b: Scalar) -> Result<Tensor> {
    let dtype = ResultType::default().with_tensor(a).with_scalar(b).get();
    let out = raw_scalar(&MUL, &a_as(a, dtype)?, b, dtype)?;
    if let Some(record) = Record::new("MulBackward0", &[a]) {
        record.finish(&out, move |c| grads([Some(mul_scalar(&c.grad()?, b)?)]));
    }
    Ok(out)
}

/// True division: integers give the default float dtype.
pub fn div(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let mut dtype = pair_type(a, b);
    if !dtype.is_differentiable() {
        dtype = crate::dtype::default_dtype();
    }
    let out = raw(&DIV, &a_as(a, dtype)?, &a_as(b, dtype)?, dtype)?;
    if let Some(record) = Record::new("DivBackward0", &[a, b]) {
        record.save(a).save(b).finish(&out, |c| {
            let grad = c.grad()?;
            let below = c.saved(1)?;
            grads([
                c.when(0, || div(&grad, below))?,
                c.when(1, || neg(&mul(&grad, &div(&div(c.saved(0)?, below)?, below)?)?))?,
            ])
        });
    }
    Ok(out)
}

pub fn neg(a: &Tensor) -> Result<Tensor> {
    mul_scalar(a, Scalar::Int(-1))
}

/// Whether a float tensor holds a NaN.
pub fn has_nan(x: &Tensor) -> Result<bool> {
    if x.kind() != Kind::Float || x.numel() == 0 {
        return Ok(false);
    }
    let store = crate::tensor::device_view::bool_store(x.device())?;
    let found = Tensor::compute("isnan", &[x], DType::Bool, move |mut values| {
        Dispatch::bool_any(Dispatch::float_is_nan(values.swap_remove(0), store))
    })?;
    Ok(found.to_bytes()?.first().is_some_and(|&byte| byte != 0))
}

/// `a op b` where either may be a number; what the Python operators call.
pub fn add_operand(a: &Tensor, b: &Operand) -> Result<Tensor> {
    match b {
        Operand::Tensor(b) => add(a, b),
        Operand::Scalar(b) => add_scalar(a, *b),
    }
}

pub fn mul_operand(a: &Tensor, b: &Operand) -> Result<Tensor> {
    match b {
        Operand::Tensor(b) => mul(a, b),
        Operand::Scalar(b) => mul_scalar(a, *b),
    }
}

/// `a + alpha * b`.
pub fn add_alpha(a: &Tensor, b: &Operand, alpha: Option<Scalar>) -> Result<Tensor> {
    match (b, alpha) {
        (b, None) => add_operand(a, b),
        (Operand::Tensor(b), Some(alpha)) => add(a, &mul_scalar(b, alpha)?),
        (Operand::Scalar(b), Some(alpha)) => {
            let product = match (b, alpha) {
                (Scalar::Float(_), _) | (_, Scalar::Float(_)) => Scalar::Float(b.as_f64() * alpha.as_f64()),
                _ => Scalar::Int(b.as_i64().wrapping_mul(alpha.as_i64())),
            };
            add_scalar(a, product)
        }
    }
}

#[pymethods]
impl PyTensor {
    /// The sum, `other` multiplied by `alpha` first.
    #[pyo3(signature = (other, *, alpha=None))]
    fn add(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        add_alpha(&self.tensor, &other, alpha)
    }

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| add_operand(&self.tensor, &other))
    }

    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| add_operand(&self.tensor, &other))
    }

    fn __mul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| mul_operand(&self.tensor, &other))
    }

    fn __rmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        operator(py, other, |other| mul_operand(&self.tensor, &other))
    }
}

/// Runs a Python operator; an operand that is neither tensor nor number gives NotImplemented, so that Python goes on.
pub fn operator<'py>(
    py: Python<'py>,
    other: &Bound<'py, PyAny>,
    compute: impl FnOnce(Operand) -> Result<Tensor>,
) -> PyResult<Py<PyAny>> {
    match other.extract::<Operand>() {
        Ok(other) => Ok(compute(other)?.into_pyobject(py)?.into_any().unbind()),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => Ok(py.NotImplemented()),
        Err(error) => Err(error),
    }
}
