//! New tensors, copies, and moves between dtypes and devices.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::data::fits_integer;
use super::operand::Scalar;
use super::pointwise::number_bytes;
use crate::autograd::{Record, grads};
use crate::device::{Device, DeviceArg, default_device};
use crate::dtype::{DType, DTypeArg, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::tensor::class::sizes;
use crate::tensor::geometry::{Dims, Geometry, MAX_RANK, checked_numel, strides_like};
use crate::tensor::{Tensor, device_view};

pub fn zeros(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    if device.is_cpu() {
        return Tensor::zeroed(shape, dtype);
    }
    full(shape, Scalar::Int(0), dtype, device)
}

pub fn full(shape: &[usize], value: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    if device.is_meta() {
        return Tensor::meta_of(shape, dtype);
    }
    let numel = checked_numel(shape)?;
    device.check_size(numel, dtype)?;
    crate::check::allocation(numel.saturating_mul(dtype.size()))?;
    if device.is_cpu() {
        let zero = value.is_zero() && !value.as_f64().is_sign_negative();
        if zero && !shape.is_empty() {
            return Tensor::zeroed(shape, dtype);
        }
        if let Some(element) = element(value, dtype) {
            let (out, _) = Tensor::uninit_with_pointer(shape, dtype)?;
            out.fill_cpu(element)?;
            return Ok(out);
        }
        let one = scalar_cpu(value, dtype)?;
        if shape.is_empty() {
            return Ok(one);
        }
        let (out, _) = Tensor::uninit_with_pointer(shape, dtype)?;
        out.write(&one)?;
        return Ok(out);
    }
    let stored = device_view::stored_as(dtype, device)?;
    if numel == 0 {
        return Tensor::empty_on(device, shape, dtype);
    }
    let burn = device.burn()?;
    let number = device_view::stored_number(value.as_i64(), dtype, device)?;
    let store = device_view::bool_store(device)?;
    let stored_shape = device_view::stored_shape(shape);
    let value = guard::run("full", || match dtype.kind() {
        Kind::Bool if value.is_zero() => Dispatch::bool_zeros(stored_shape, &burn, store),
        Kind::Bool => Dispatch::bool_ones(stored_shape, &burn, store),
        Kind::Int => Dispatch::int_full(stored_shape, burn_std::Scalar::Int(number), &burn, stored.into()),
        _ => Dispatch::float_full(stored_shape, value.burn(Kind::Float), &burn, stored.into()),
    })?;
    Tensor::from_prim_shaped(value, dtype, device, shape)
}

/// A number as a tensor of rank 0, for ops that write it as it is: it must fit the dtype.
pub fn number(value: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    check_fill(value, dtype)?;
    full(&[], value, dtype, device)
}

/// A number as an element of one of the dtypes that nearly all tensors have, without a tensor of its own.
pub fn element(value: Scalar, dtype: DType) -> Option<[u8; 16]> {
    let plain = match value {
        Scalar::Complex(..) => false,
        // Floats become integers as a cast makes them of what has none, NaN and infinities.
        Scalar::Float(..) => matches!(dtype, DType::F32 | DType::F64),
        _ => matches!(dtype, DType::F32 | DType::F64 | DType::I64 | DType::Bool),
    };
    if plain { number_bytes(value, dtype).ok() } else { None }
}

/// A rank-0 CPU tensor.
fn scalar_cpu(value: Scalar, dtype: DType) -> Result<Tensor> {
    let (bytes, from): (Vec<u8>, DType) = match value {
        Scalar::Bool(value) => (vec![u8::from(value)], DType::Bool),
        Scalar::Int(value) => (value.to_ne_bytes().to_vec(), DType::I64),
        Scalar::Float(value) => (value.to_ne_bytes().to_vec(), DType::F64),
        Scalar::Complex(_, im) if im != 0.0 && !dtype.is_complex() => {
            return error::runtime(format!("value cannot be converted to type {} without overflow", dtype.name()));
        }
        Scalar::Complex(re, im) => ([re.to_ne_bytes(), im.to_ne_bytes()].concat(), DType::C128),
    };
    let one = Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(bytes), &[], from)?;
    if from == dtype { Ok(one) } else { one.converted(dtype) }
}

/// A copy in its own memory; gradients pass through.
pub fn clone(x: &Tensor) -> Result<Tensor> {
    let out = x.copied()?;
    if let Some(record) = Record::new("CloneBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(c.grad()?)]));
    }
    Ok(out)
}

/// The strides of a copy of `x`: its own where it has no gaps, else those of its dimensions' order in memory.
pub fn preserved(x: &Tensor) -> Dims {
    let geometry = x.geometry();
    if geometry.is_dense() { geometry.strides } else { strides_like(&geometry.shape, &[&geometry.strides]) }
}

/// As `clone`, keeping the order in which the dimensions lie in memory (`preserve_format`).
pub fn clone_like(x: &Tensor) -> Result<Tensor> {
    let out = x.copied_as(&preserved(x))?;
    if let Some(record) = Record::new("CloneBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(c.grad()?)]));
    }
    Ok(out)
}

/// The same values as another dtype, or the tensor itself when it has it already.
pub fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    let out = x.converted_as(dtype, &preserved(x))?;
    if dtype.is_differentiable()
        && let Some(record) = Record::new("ToCopyBackward0", &[x])
    {
        // The engine brings the gradient back to the input's dtype.
        record.finish(&out, |c| grads([Some(c.grad()?)]));
    }
    Ok(out)
}

/// The same values on another device, or the tensor itself when it is there already.
pub fn to_device(x: &Tensor, device: Device) -> Result<Tensor> {
    if x.device() == device {
        return Ok(x.clone());
    }
    x.need_values()?;
    let out = x.moved(device)?;
    if let Some(record) = Record::new("ToCopyBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(c.grad()?)]));
    }
    Ok(out)
}

/// The value with another dtype on another device, converted where both dtypes are known: a GPU has no float64.
pub fn to_place(x: &Tensor, dtype: DType, device: Device) -> Result<Tensor> {
    if x.device().is_cpu() { to_device(&to_dtype(x, dtype)?, device) } else { to_dtype(&to_device(x, device)?, dtype) }
}

/// The same bytes read as another dtype; sizes of the last dimension change with the element size.
pub fn view_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let core = x.core().clone();
    if core.dtype == dtype {
        return super::movement::alias(x);
    }
    if !x.device().is_cpu() && !x.is_meta() {
        return error::dtype(format!(
            "view: {} cannot be read as {} on {}; move the tensor to the CPU with .cpu() first",
            core.dtype.name(),
            dtype.name(),
            x.device().name()
        ));
    }
    let geometry = rescale(&core.geometry, core.dtype.size(), dtype.size())?;
    Ok(Tensor::new(core.storage, geometry, dtype))
}

/// The geometry in elements of another size.
fn rescale(geometry: &Geometry, from: usize, to: usize) -> Result<Geometry> {
    if from == to {
        return Ok(geometry.clone());
    }
    let mut out = geometry.clone();
    let last = match (out.shape.last_mut(), geometry.strides.last()) {
        (Some(size), Some(1)) => size,
        (None, _) => return error::runtime("view: self.dim() cannot be 0 to view elements of another size"),
        _ => return error::runtime("view: self.stride(-1) must be 1 to view elements of another size"),
    };
    let fits = (*last * from).is_multiple_of(to)
        && (geometry.offset * from).is_multiple_of(to)
        && geometry.strides.iter().rev().skip(1).all(|stride| (stride * from).is_multiple_of(to));
    if !fits {
        return error::runtime(format!(
            "view: self.size(-1), strides and offset must be divisible by {} to view elements of {to} bytes",
            to / from.min(to)
        ));
    }
    *last = *last * from / to;
    out.offset = geometry.offset * from / to;
    let count = out.strides.len();
    for stride in out.strides.iter_mut().take(count - 1) {
        *stride = *stride * from / to;
    }
    Ok(out)
}

/// Row-major memory; the tensor itself when it is so already.
pub fn contiguous(x: &Tensor) -> Result<Tensor> {
    if x.is_contiguous() { Ok(x.clone()) } else { clone(x) }
}

/// Sizes from Python: whole, not negative, and few enough dimensions.
pub fn shape_of(op: &str, size: &[isize]) -> Result<Vec<usize>> {
    if size.len() > MAX_RANK {
        return error::shape(format!("{op}: {} dimensions are too many; tensors have at most {MAX_RANK}", size.len()));
    }
    size.iter()
        .map(|&length| match usize::try_from(length) {
            Ok(length) => Ok(length),
            Err(_) => error::runtime(format!("{op}: Dimension size must be non-negative, got {length} in {size:?}")),
        })
        .collect()
}

/// The options that all creation functions share.
pub fn finish(made: Tensor, requires_grad: bool) -> Result<Tensor> {
    if requires_grad {
        made.set_requires_grad(true)?;
    }
    Ok(made)
}

pub fn device_or_default(device: Option<DeviceArg>) -> Result<Device> {
    device.map_or_else(default_device, |device| Ok(device.0))
}

/// Refuses a number that `dtype` cannot hold, as torch does wherever a number is written as it is.
pub fn check_fill(value: Scalar, dtype: DType) -> Result<()> {
    let fits = match (value, dtype.kind()) {
        (Scalar::Bool(_), _) | (_, Kind::Bool) => true,
        (Scalar::Int(value), Kind::Int) => fits_integer(i128::from(value), dtype),
        (Scalar::Float(value) | Scalar::Complex(value, _), Kind::Int) => {
            // A float below zero has no place in an unsigned dtype, though an integer wraps there.
            let signed = dtype.is_signed() || value.trunc() >= 0.0;
            // Out of range of i128 comes out as a value that is out of every dtype's range.
            !value.is_nan() && signed && fits_integer(value.trunc() as i128, dtype)
        }
        (value, _) => {
            let (number, most) = (value.as_f64().abs(), dtype.max_finite());
            !number.is_finite() || number <= most
        }
    };
    if fits {
        return Ok(());
    }
    error::runtime(format!("value cannot be converted to type {} without overflow", dtype.name()))
}

/// Raises torch's error where a dtype cannot hold a number.
#[pyfunction]
fn _check_number(value: Scalar, dtype: DTypeArg) -> Result<()> {
    check_fill(value, dtype.0)
}

/// A tensor filled with one value; without a dtype the value decides it.
#[pyfunction]
#[pyo3(signature = (op, size, value, dtype=None, device=None, requires_grad=false))]
fn _full(
    op: &str,
    size: &Bound<'_, PyTuple>,
    value: Scalar,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let shape = shape_of(op, &sizes(op, size)?)?;
    let dtype = dtype.map_or_else(|| value.dtype(), |dtype| dtype.0);
    if shape.iter().product::<usize>() != 1 || !dtype.is_half() {
        check_fill(value, dtype)?;
    }
    let device = device_or_default(device)?;
    Ok(finish(full(&shape, value, dtype, device)?, requires_grad)?)
}

/// A tensor of the shape of `input` filled with one value, in row-major order; its dtype and device where none are given.
#[pyfunction]
#[pyo3(signature = (input, value, dtype=None, device=None, requires_grad=false))]
fn _full_like(
    input: Tensor,
    value: Scalar,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let dtype = dtype.map_or_else(|| input.dtype(), |dtype| dtype.0);
    let shape = input.shape();
    if shape.iter().product::<usize>() != 1 || !dtype.is_half() {
        check_fill(value, dtype)?;
    }
    let device = if device.is_some() { device_or_default(device)? } else { input.device() };
    Ok(finish(full(&shape, value, dtype, device)?, requires_grad)?)
}

/// Raises MemoryError where so many bytes are not to be had.
#[pyfunction]
fn _check_allocation(bytes: usize) -> Result<()> {
    crate::check::allocation(bytes)
}

/// The strides that `*_like` and `clone` give a tensor of their own.
#[pyfunction]
fn _preserved_strides(input: Tensor) -> Vec<usize> {
    preserved(&input).to_vec()
}

/// A tensor with the given strides, zero everywhere.
#[pyfunction]
#[pyo3(signature = (size, stride, dtype=None, device=None, requires_grad=false))]
fn _empty_strided(
    size: Vec<isize>,
    stride: Vec<isize>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> Result<Tensor> {
    let op = "empty_strided";
    if size.len() != stride.len() {
        return error::runtime(format!(
            "{op}: mismatch in length of strides and shape, {} and {}",
            stride.len(),
            size.len()
        ));
    }
    let shape = shape_of(op, &size)?;
    let strides = stride
        .iter()
        .map(|&stride| match usize::try_from(stride) {
            Ok(stride) => Ok(stride),
            Err(_) => error::runtime(format!("{op}: Negative strides are not supported, got {stride}")),
        })
        .collect::<Result<Vec<_>>>()?;
    checked_numel(&shape)?;
    let span = shape
        .iter()
        .zip(&strides)
        .try_fold(1usize, |span, (&length, &stride)| span.checked_add(length.saturating_sub(1).checked_mul(stride)?));
    let Some(span) = span.filter(|&span| span <= isize::MAX as usize / 16) else {
        return error::runtime(format!("{op}: sizes {shape:?} and strides {strides:?} reach beyond any memory"));
    };
    let length = if shape.contains(&0) { 0 } else { span };
    let dtype = dtype.map_or_else(crate::dtype::default_dtype, |dtype| dtype.0);
    let base = zeros(&[length], dtype, device_or_default(device)?)?;
    let geometry = Geometry { shape: shape.into(), strides: strides.into(), offset: 0 };
    finish(base.alias(geometry), requires_grad)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_check_number, module)?)?;
    module.add_function(wrap_pyfunction!(_full, module)?)?;
    module.add_function(wrap_pyfunction!(_full_like, module)?)?;
    module.add_function(wrap_pyfunction!(_check_allocation, module)?)?;
    module.add_function(wrap_pyfunction!(_preserved_strides, module)?)?;
    module.add_function(wrap_pyfunction!(_empty_strided, module)?)
}
