//! Arguments that may be a tensor or a Python number, and the dtype that combining them gives.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};

use crate::device::Device;
use crate::dtype::{DType, Kind, default_dtype};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// A Python number. It has a kind but no width of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
}

impl Scalar {
    pub fn dtype(self) -> DType {
        match self {
            Self::Bool(_) => DType::Bool,
            Self::Int(_) => DType::I64,
            Self::Float(_) => default_dtype(),
            Self::Complex(..) => default_dtype().complex(),
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Int(value) => value as f64,
            Self::Float(value) | Self::Complex(value, _) => value,
        }
    }

    /// The part along i, zero for real numbers.
    pub fn imaginary(self) -> f64 {
        if let Self::Complex(_, value) = self { value } else { 0.0 }
    }

    pub fn as_i64(self) -> i64 {
        match self {
            Self::Bool(value) => i64::from(value),
            Self::Int(value) => value,
            Self::Float(value) | Self::Complex(value, _) => value as i64,
        }
    }

    pub fn is_zero(self) -> bool {
        self.as_f64() == 0.0 && self.imaginary() == 0.0
    }

    /// The number as burn takes it for tensors of this kind.
    pub fn burn(self, kind: Kind) -> burn_std::Scalar {
        match kind {
            Kind::Float | Kind::Complex => burn_std::Scalar::Float(self.as_f64()),
            Kind::Int => burn_std::Scalar::Int(self.as_i64()),
            Kind::Bool => burn_std::Scalar::Bool(!self.is_zero()),
        }
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Scalar {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_exact_instance_of::<PyFloat>() {
            return Ok(Self::Float(object.extract()?));
        }
        if object.is_instance_of::<PyBool>() {
            return Ok(Self::Bool(object.extract()?));
        }
        if object.is_instance_of::<PyInt>() {
            return object.extract::<i64>().map(Self::Int).map_err(|_| {
                PyOverflowError::new_err("the integer does not fit in int64; use a float or a smaller number")
            });
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Self::Float(object.extract()?));
        }
        let refuse = || {
            let name = object.get_type().name().map(|name| name.to_string());
            PyTypeError::new_err(format!("expected a number, got {}", name.unwrap_or_else(|_| "an object".to_string())))
        };
        if let Ok(number) = object.cast::<PyComplex>() {
            return Ok(Self::Complex(number.real(), number.imag()));
        }
        if object.hasattr("shape")? && !is_numpy_scalar(&object)? {
            return Err(refuse());
        }
        // numpy's scalars: integers have __index__, floats __float__, booleans neither as subclass.
        if object.get_type().name()?.to_string().starts_with("bool") {
            return Ok(Self::Bool(object.is_truthy()?));
        }
        if let Ok(index) = object.call_method0("__index__") {
            return index.extract::<i64>().map(Self::Int);
        }
        // numpy's complex64 is no Python complex, and its __float__ drops the imaginary part.
        if object.get_type().name()?.to_string().starts_with("complex") {
            let (re, im) = (object.getattr("real")?.extract()?, object.getattr("imag")?.extract()?);
            return Ok(Self::Complex(re, im));
        }
        match object.call_method0("__float__") {
            Ok(float) => Ok(Self::Float(float.extract()?)),
            Err(_) => Err(refuse()),
        }
    }
}

fn is_numpy_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("dtype")? && object.getattr("shape")?.len().is_ok_and(|rank| rank == 0))
}

/// A tensor or a number.
#[derive(Clone)]
pub enum Operand {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Operand {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyTensor>() {
            return object.extract().map(Self::Tensor);
        }
        object.extract::<Scalar>().map(Self::Scalar)
    }
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Scalar> for Operand {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl Operand {
    /// The operand as a tensor of `dtype` on `device`; a number becomes rank 0.
    pub fn tensor(&self, dtype: DType, device: Device) -> Result<Tensor> {
        match self {
            Self::Tensor(tensor) => super::creation::to_dtype(tensor, dtype),
            Self::Scalar(scalar) => super::creation::full(&[], *scalar, dtype, device),
        }
    }
}

/// torch's rule: tensors with dimensions outrank rank-0 tensors, which outrank Python numbers, within one kind.
#[derive(Default, Clone, Copy)]
pub struct ResultType {
    dims: Option<DType>,
    zero: Option<DType>,
    wrapped: Option<DType>,
}

impl ResultType {
    pub fn with_tensor(mut self, tensor: &Tensor) -> Self {
        let slot = if tensor.rank() > 0 { &mut self.dims } else { &mut self.zero };
        *slot = promote_some(*slot, Some(tensor.dtype()));
        self
    }

    pub fn with_scalar(mut self, scalar: Scalar) -> Self {
        self.wrapped = promote_some(self.wrapped, Some(scalar.dtype()));
        self
    }

    pub fn with(self, operand: &Operand) -> Self {
        match operand {
            Operand::Tensor(tensor) => self.with_tensor(tensor),
            Operand::Scalar(scalar) => self.with_scalar(*scalar),
        }
    }

    pub fn get(self) -> DType {
        combine(self.dims, combine(self.zero, self.wrapped)).unwrap_or_else(default_dtype)
    }
}

fn promote_some(a: Option<DType>, b: Option<DType>) -> Option<DType> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.promote(b)),
        (a, b) => a.or(b),
    }
}

fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(high), Some(low)) => Some(match high.kind() {
            Kind::Complex => high,
            Kind::Float if low.is_complex() => high.promote(DType::C64),
            Kind::Float => high,
            Kind::Bool => high.promote(low),
            Kind::Int if low.kind() > Kind::Int => high.promote(low),
            Kind::Int => high,
        }),
        (high, low) => high.or(low),
    }
}

/// The dtype of an op over two operands.
pub fn result_type(a: &Operand, b: &Operand) -> DType {
    ResultType::default().with(a).with(b).get()
}
