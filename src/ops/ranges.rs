//! Regular sequences: `arange`, `linspace`, `logspace`. They are computed on the CPU and moved.

use bytemuck::NoUninit;
use half::{bf16, f16};
use pyo3::prelude::*;

use super::creation::{device_or_default, finish, to_device};
use super::operand::Scalar;
use crate::check;
use crate::device::DeviceArg;
use crate::dtype::{DType, DTypeArg, default_dtype};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::pointwise::filled;
use crate::kernels::ranges;
use crate::tensor::Tensor;
use crate::tensor::geometry::checked_numel;

/// A CPU tensor over a vector of elements that are laid out as `dtype`.
pub fn from_vec<T: NoUninit + Send + Sync>(values: Vec<T>, shape: &[usize], dtype: DType) -> Result<Tensor> {
    if values.is_empty() {
        return Tensor::zeroed(shape, dtype);
    }
    Tensor::from_bytes(burn_std::Bytes::from_elems(values), shape, dtype)
}

/// `length` elements of an integer dtype; the value wraps into it.
fn integers(length: usize, dtype: DType, value: impl Fn(usize) -> i64 + Sync + Send) -> Result<Tensor> {
    macro_rules! build {
        ($type:ty) => {
            guard::spread("arange", length, || filled(length, |index| value(index) as $type))
                .and_then(|values| from_vec(values, &[length], dtype))
        };
    }
    match dtype {
        DType::U8 => build!(u8),
        DType::I8 => build!(i8),
        DType::I16 => build!(i16),
        DType::I32 => build!(i32),
        DType::U16 => build!(u16),
        DType::U32 => build!(u32),
        DType::U64 => build!(u64),
        _ => build!(i64),
    }
}

/// `length` elements of a float dtype.
fn floats(length: usize, dtype: DType, value: impl Fn(usize) -> f64 + Sync + Send) -> Result<Tensor> {
    macro_rules! build {
        (|$value:ident| $narrow:expr) => {
            guard::spread("arange", length, || {
                filled(length, |index| {
                    let $value = value(index);
                    $narrow
                })
            })
            .and_then(|values| from_vec(values, &[length], dtype))
        };
    }
    match dtype {
        DType::F16 => build!(|value| f16::from_f64(value)),
        DType::BF16 => build!(|value| bf16::from_f64(value)),
        DType::F32 => build!(|value| value as f32),
        _ => build!(|value| value),
    }
}

fn check_dtype(op: &str, dtype: DType, numbers: &[Scalar]) -> Result<()> {
    use crate::dtype::Kind;
    if numbers.iter().any(|number| matches!(number, Scalar::Complex(..))) {
        return error::type_(format!("{op}: a range goes between real numbers, got a complex one"));
    }
    check::kind(op, dtype, &[Kind::Int, Kind::Float])
}

/// The number of elements of `arange`, by torch's rule.
fn arange_length(start: Scalar, end: Scalar, step: Scalar, dtype: DType) -> Result<usize> {
    let (first, last, by) = (start.as_f64(), end.as_f64(), step.as_f64());
    if by == 0.0 {
        return error::runtime("step must be nonzero");
    }
    if !first.is_finite() || !last.is_finite() || !by.is_finite() {
        return error::runtime(format!("unsupported range: {first} -> {last} by {by}"));
    }
    if (by > 0.0) != (last >= first) && first != last {
        return error::runtime(format!(
            "upper bound and lower bound inconsistent with step sign: start={first}, end={last}, step={by}"
        ));
    }
    let whole = [start, end, step].iter().all(|number| !matches!(number, Scalar::Float(_)));
    let length = if dtype == DType::I64 && whole {
        let (first, last, by) = (i128::from(start.as_i64()), i128::from(end.as_i64()), i128::from(step.as_i64()));
        ((last - first + by - by.signum()) / by).max(0) as f64
    } else {
        ((last - first) / by).ceil()
    };
    if length > (isize::MAX / 16) as f64 {
        return error::memory(format!("arange: {length} elements are more than memory can hold"));
    }
    Ok(length as usize)
}

/// Values from `start` up to, but not including, `end`.
#[pyfunction]
#[pyo3(signature = (start, end, step, dtype=None, device=None, requires_grad=false))]
fn _arange(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> Result<Tensor> {
    let float = [start, end, step].iter().any(|number| matches!(number, Scalar::Float(_)));
    let dtype = match dtype {
        Some(dtype) => dtype.0,
        None if float => default_dtype(),
        None => DType::I64,
    };
    check_dtype("arange", dtype, &[start, end, step])?;
    let length = arange_length(start, end, step, dtype)?;
    check::allocation(length.saturating_mul(dtype.size()))?;
    let out = if dtype.is_int() {
        let (first, by) = (start.as_i64(), step.as_i64());
        integers(length, dtype, move |index| first.wrapping_add(by.wrapping_mul(index as i64)))?
    } else {
        floats(length, dtype, stepped(start.as_f64(), step.as_f64(), length, dtype))?
    };
    finish(to_device(&out, device_or_default(device)?)?, requires_grad)
}

/// The points of `arange`, rounded as torch rounds them: in groups of lanes that count from the rounded value of their
/// first, two groups at a time, and one by one where no two groups are left.
fn stepped(start: f64, step: f64, length: usize, dtype: DType) -> impl Fn(usize) -> f64 + Sync + Send + Copy {
    let lanes = match dtype {
        DType::F32 => 8,
        DType::F64 => 4,
        _ => 1,
    };
    let grouped = length - length % (2 * lanes);
    move |index| {
        if lanes == 1 || index >= grouped {
            return step.mul_add(index as f64, start);
        }
        let lane = index % lanes;
        let base = step.mul_add((index - lane) as f64, start);
        let base = if dtype == DType::F32 { f64::from(base as f32) } else { base };
        step.mul_add(lane as f64, base)
    }
}

/// The points of `linspace`, counted from both ends towards the middle so that they are symmetric.
fn spaced(start: f64, end: f64, steps: usize, dtype: DType) -> impl Fn(usize) -> f64 + Sync + Send + Copy {
    let single = dtype.is_float() && dtype != DType::F64;
    let gaps = steps.saturating_sub(1).max(1);
    let step = if single { f64::from((end as f32 - start as f32) / gaps as f32) } else { (end - start) / gaps as f64 };
    move |index| {
        if steps == 1 {
            return start;
        }
        let (anchor, by) = if index < steps / 2 { (start, index as f64) } else { (end, -((steps - 1 - index) as f64)) };
        // torch computes in the result's own precision, and rounds once.
        if single { f64::from((by as f32).mul_add(step as f32, anchor as f32)) } else { step.mul_add(by, anchor) }
    }
}

/// `spaced` for float32, by a loop of vectors; None where that has no answer.
fn singles(start: f32, end: f32, steps: usize) -> Result<Option<Tensor>> {
    if steps < 2 {
        return Ok(None);
    }
    let step = (end - start) / (steps - 1) as f32;
    let points = guard::spread("linspace", steps, || ranges::spaced(start, end, step, steps))?;
    points.map(|points| from_vec(points, &[steps], DType::F32)).transpose()
}

fn steps_of(steps: isize, dtype: DType) -> Result<usize> {
    let Ok(steps) = usize::try_from(steps) else {
        return error::runtime(format!("number of steps must be non-negative, got {steps}"));
    };
    check::allocation(checked_numel(&[steps])?.saturating_mul(dtype.size()))?;
    Ok(steps)
}

/// The ends of a range as the dtype holds them.
fn end_of(number: Scalar, dtype: DType) -> f64 {
    if dtype.is_int() { number.as_i64() as f64 } else { number.as_f64() }
}

/// `steps` values from `start` to `end`, both included, as exponents of `base` when that is given.
#[pyfunction]
#[pyo3(signature = (start, end, steps, base=None, dtype=None, device=None, requires_grad=false))]
fn _linspace(
    start: Scalar,
    end: Scalar,
    steps: isize,
    base: Option<f64>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> Result<Tensor> {
    let dtype = dtype.map_or_else(default_dtype, |dtype| dtype.0);
    check_dtype("linspace", dtype, &[start, end])?;
    let steps = steps_of(steps, dtype)?;
    let (first, last) = (end_of(start, dtype), end_of(end, dtype));
    let point = spaced(first, last, steps, dtype);
    if base.is_none()
        && dtype == DType::F32
        && let Some(out) = singles(first as f32, last as f32, steps)?
    {
        return finish(to_device(&out, device_or_default(device)?)?, requires_grad);
    }
    let out = match (base, dtype.is_int()) {
        (None, true) => integers(steps, dtype, move |index| point(index) as i64)?,
        (None, false) => floats(steps, dtype, point)?,
        (Some(base), true) => integers(steps, dtype, move |index| base.powf(point(index)) as i64)?,
        (Some(base), false) => floats(steps, dtype, move |index| base.powf(point(index)))?,
    };
    finish(to_device(&out, device_or_default(device)?)?, requires_grad)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_arange, module)?)?;
    module.add_function(wrap_pyfunction!(_linspace, module)?)
}
