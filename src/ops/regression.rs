//! Losses of the difference between two tensors of floats, in one pass there and one back.

use pyo3::prelude::*;

use super::activation::hardtanh;
use super::arithmetic::{mul, mul_scalar, sub};
use super::operand::Scalar;
use super::pointwise::{Arg, Call, evaluate};
use super::unary::{neg, sign};
use crate::autograd::{Record, grad_enabled, grads};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::memory::Memory;
use crate::kernels::number::Number;
use crate::kernels::pointwise::{Strided, map2, map3};
use crate::tensor::Tensor;

/// What is made of a difference.
#[derive(Clone, Copy)]
enum Curve {
    Square,
    Absolute,
    /// Half the square up to the bend, a straight line from there on, all times the scale.
    Bent {
        bend: f64,
        scale: f64,
    },
}

/// A number as the elements hold it.
fn of<T: Number>(value: f64) -> T {
    T::of(Scalar::Float(value))
}

#[inline(always)]
fn within<T: Number>(x: T, bend: T) -> T {
    Number::min(Number::max(x, bend.neg()), bend)
}

impl Curve {
    fn losses<T: Number>(self, shape: &[usize], out: Strided<'_>, [a, b]: [Strided<'_>; 2]) {
        match self {
            Self::Square => map2::<T, T, T>(shape, out, a, b, |a, b| {
                let away = a.sub(b);
                away.mul(away)
            }),
            Self::Absolute => map2::<T, T, T>(shape, out, a, b, |a, b| a.sub(b).abs()),
            Self::Bent { bend, scale } => {
                let [bend, scale, half] = [bend, scale, 0.5].map(of::<T>);
                map2::<T, T, T>(shape, out, a, b, |a, b| {
                    let away = a.sub(b);
                    let near = within(away, bend);
                    near.mul(away.sub(near.mul(half))).mul(scale)
                });
            }
        }
    }

    /// The gradient times the slope at the difference of the two others.
    fn slopes<T: Number>(self, shape: &[usize], out: Strided<'_>, [grad, a, b]: [Strided<'_>; 3]) {
        match self {
            Self::Square => {
                let two = of::<T>(2.0);
                map3::<T, T, T, T>(shape, out, grad, a, b, move |grad, a, b| a.sub(b).mul(two).mul(grad));
            }
            Self::Absolute => map3::<T, T, T, T>(shape, out, grad, a, b, |grad, a, b| a.sub(b).sign().mul(grad)),
            Self::Bent { bend, scale } => {
                let [bend, scale] = [bend, scale].map(of::<T>);
                map3::<T, T, T, T>(shape, out, grad, a, b, move |grad, a, b| {
                    within(a.sub(b), bend).mul(scale).mul(grad)
                });
            }
        }
    }

    /// The slope at the difference of the two, times one factor.
    fn scaled<T: Number>(self, shape: &[usize], out: Strided<'_>, [a, b]: [Strided<'_>; 2], factor: f64) {
        let factor = of::<T>(factor);
        match self {
            Self::Square => {
                let two = of::<T>(2.0);
                map2::<T, T, T>(shape, out, a, b, move |a, b| a.sub(b).mul(two).mul(factor));
            }
            Self::Absolute => map2::<T, T, T>(shape, out, a, b, move |a, b| a.sub(b).sign().mul(factor)),
            Self::Bent { bend, scale } => {
                let [bend, scale] = [bend, scale].map(of::<T>);
                map2::<T, T, T>(shape, out, a, b, move |a, b| within(a.sub(b), bend).mul(scale).mul(factor));
            }
        }
    }

    /// `slopes` of recorded ops.
    fn recorded(self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let away = sub(a, b)?;
        let slope = match self {
            Self::Square => mul_scalar(&away, Scalar::Float(2.0))?,
            Self::Absolute => sign(&away)?,
            Self::Bent { bend, scale } => mul_scalar(&hardtanh(&away, -bend, bend)?, Scalar::Float(scale))?,
        };
        mul(grad, &slope)
    }
}

/// Whether all are floats of one type in the CPU's memory.
fn suits(tensors: &[&Tensor]) -> bool {
    let dtype = tensors.first().map_or(DType::Bool, |first| first.dtype());
    matches!(dtype, DType::F32 | DType::F64) && tensors.iter().all(|x| x.dtype() == dtype && x.device().is_cpu())
}

fn slopes(curve: Curve, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if grad_enabled() || !suits(&[grad, a, b]) {
        return curve.recorded(grad, a, b);
    }
    let dtype = a.dtype();
    let geometry = grad.geometry();
    if geometry.numel() > 0 && geometry.strides.iter().all(|&stride| stride == 0) && a.shape() == b.shape() {
        return one_slope(curve, grad, a, b);
    }
    let args = [grad, a, b].map(Arg::Tensor);
    evaluate(
        Call { name: "sub", args, dtypes: [dtype; 3], out: dtype, into: None },
        |shape, out, views| {
            match dtype {
                DType::F32 => curve.slopes::<f32>(shape, out, views),
                _ => curve.slopes::<f64>(shape, out, views),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// `slopes` for one gradient that all losses have, as a mean or a sum gives it.
fn one_slope(curve: Curve, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (dtype, first) = (a.dtype(), Memory::first(grad)?);
    // SAFETY: the tensor has an element, of its dtype.
    let factor = unsafe { if dtype == DType::F32 { f64::from(first.read::<f32>(0)) } else { first.read::<f64>(0) } };
    evaluate(
        Call { name: "sub", args: [a, b].map(Arg::Tensor), dtypes: [dtype; 2], out: dtype, into: None },
        |shape, out, views| {
            match dtype {
                DType::F32 => curve.scaled::<f32>(shape, out, views, factor),
                _ => curve.scaled::<f64>(shape, out, views, factor),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// What the "square", the "absolute" value or the "bent" curve makes of `input - target`; None where they are not plain
/// floats of one type.
#[pyfunction]
fn _apart_losses(curve: &str, input: Tensor, target: Tensor, bend: f64, scale: f64) -> Result<Option<Tensor>> {
    let curve = match curve {
        "square" => Curve::Square,
        "absolute" => Curve::Absolute,
        "bent" => Curve::Bent { bend, scale },
        _ => return error::value(format!("{curve} is no curve of a loss")),
    };
    let (a, b) = (&input, &target);
    if !suits(&[a, b]) {
        return Ok(None);
    }
    let (dtype, args) = (a.dtype(), [a, b].map(Arg::Tensor));
    let out = evaluate(
        Call { name: "sub", args, dtypes: [dtype; 2], out: dtype, into: None },
        |shape, out, views| {
            match dtype {
                DType::F32 => curve.losses::<f32>(shape, out, views),
                _ => curve.losses::<f64>(shape, out, views),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    if let Some(record) = Record::new("MseLossBackward0", &[a, b]) {
        record.save(a).save(b).finish(&out, move |c| {
            let slope = slopes(curve, &c.grad()?, c.saved(0)?, c.saved(1)?)?;
            let other = c.when(1, || neg(&slope))?;
            grads([Some(slope), other])
        });
    }
    Ok(Some(out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_apart_losses, module)?)
}
