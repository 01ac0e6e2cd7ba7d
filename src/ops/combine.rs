//! Ops of two tensors and a factor, or of three tensors, in one pass over floats that nobody differentiates.

use pyo3::prelude::*;

use super::operand::{Operand, Scalar};
use super::pointwise::{Arg, Call, evaluate};
use crate::autograd::grad_enabled;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::curves::Prelu;
use crate::kernels::halves;
use crate::kernels::memory::Elements;
use crate::kernels::number::Number;
use crate::kernels::pointwise::{Strided, map1, map2, map3};
use crate::kernels::vector::Plain;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// As `suits_too`, for float32 and float64.
fn suits(tensors: &[&Tensor], inplace: bool) -> bool {
    tensors.iter().all(|x| !x.dtype().is_half()) && suits_too(tensors, inplace)
}

/// Whether all are floats of one type in the CPU's memory and leave no trace in the graph; where the first is to be
/// written to, all have its shape.
fn suits_too(tensors: &[&Tensor], inplace: bool) -> bool {
    let Some(first) = tensors.first() else { return false };
    let (dtype, shape) = (first.dtype(), first.shape());
    let traced = |x: &Tensor| x.requires_grad() || inplace && x.base().is_some_and(|base| base.requires_grad());
    dtype.is_float()
        && !(grad_enabled() && tensors.iter().any(|x| traced(x)))
        && tensors.iter().all(|x| x.dtype() == dtype && Elements::of(x).is_ok() && (!inplace || x.shape() == shape))
}

/// A number that the elements can hold, as it is rounded for them; truth values and complex numbers are left to others.
fn factor(value: Scalar, dtype: DType) -> Option<f64> {
    if !matches!(value, Scalar::Float(_) | Scalar::Int(_)) || super::creation::check_fill(value, dtype).is_err() {
        return None;
    }
    Some(value.as_f64())
}

fn settled(target: &Tensor, out: Tensor, inplace: bool) -> Tensor {
    if inplace {
        target.core().storage.bump();
    }
    out
}

/// `a + alpha * b`, into `a` where `inplace`; None where it has to be made of other ops.
pub fn added(a: &Tensor, b: &Tensor, alpha: Scalar, inplace: bool) -> Result<Option<Tensor>> {
    let dtype = a.dtype();
    let Some(alpha) = factor(alpha, dtype).filter(|_| suits(&[a, b], inplace)) else { return Ok(None) };
    let args = [Arg::Tensor(a), Arg::Tensor(b)];
    let out = evaluate(
        Call { name: "add", args, dtypes: [dtype; 2], out: dtype, into: inplace.then_some(a) },
        |shape, out, [a, b]| {
            match dtype {
                DType::F32 => {
                    let alpha = alpha as f32;
                    map2::<f32, f32, f32>(shape, out, a, b, |a, b| a + b * alpha);
                }
                _ => map2::<f64, f64, f64>(shape, out, a, b, |a, b| a + b * alpha),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    Ok(Some(settled(a, out, inplace)))
}

#[derive(Clone, Copy)]
enum Kind {
    Lerp,
    Product,
    Quotient,
}

/// From the nearer end, so that a weight of one gives `end` exactly.
#[inline(always)]
fn lerp<T: Number>(start: T, end: T, weight: T, [half, one]: [T; 2]) -> T {
    let span = end.sub(start);
    let near = start.add(span.mul(weight));
    let far = end.sub(span.mul(one.sub(weight)));
    if weight.abs() < half { near } else { far }
}

fn three<T: Number>(kind: Kind, shape: &[usize], out: Strided<'_>, [a, b, c]: [Strided<'_>; 3], value: f64) {
    let [value, half, one] = [value, 0.5, 1.0].map(|number| T::of(Scalar::Float(number)));
    match kind {
        Kind::Lerp => map3::<T, T, T, T>(shape, out, a, b, c, |a, b, c| lerp(a, b, c, [half, one])),
        Kind::Product => map3::<T, T, T, T>(shape, out, a, b, c, |a, b, c| a.add(b.mul(c).mul(value))),
        Kind::Quotient => map3::<T, T, T, T>(shape, out, a, b, c, |a, b, c| a.add(b.div(c).mul(value))),
    }
}

/// `lerp`, `addcmul` or `addcdiv` of plain floats in one pass, into `input` where `inplace`; None where it has to be made
/// of other ops.
#[pyfunction]
fn _combined(
    name: &str,
    input: &Bound<'_, PyTensor>,
    first: &Bound<'_, PyAny>,
    second: Operand,
    value: Operand,
    inplace: bool,
) -> Result<Option<Tensor>> {
    let (kind, name) = match name {
        "lerp" => (Kind::Lerp, "lerp"),
        "addcmul" => (Kind::Product, "addcmul"),
        _ => (Kind::Quotient, "addcdiv"),
    };
    let (Ok(first), Operand::Scalar(value)) = (first.cast::<PyTensor>(), value) else { return Ok(None) };
    let (a, b) = (&input.get().tensor, &first.get().tensor);
    let dtype = a.dtype();
    let third = Arg::from(&second);
    let fits = match third {
        Arg::Tensor(c) => suits(&[a, b, c], inplace),
        Arg::Scalar(weight) => name == "lerp" && suits(&[a, b], inplace) && factor(weight, dtype).is_some(),
    };
    let Some(value) = factor(value, dtype).filter(|_| fits) else { return Ok(None) };
    let args = [Arg::Tensor(a), Arg::Tensor(b), third];
    let call = Call { name, args, dtypes: [dtype; 3], out: dtype, into: inplace.then_some(a) };
    let kernel = |shape: &[usize], out: Strided<'_>, views: [Strided<'_>; 3]| {
        match dtype {
            DType::F32 => three::<f32>(kind, shape, out, views, value),
            _ => three::<f64>(kind, shape, out, views, value),
        }
        Ok(())
    };
    let out = evaluate(call, kernel, |_, _| Ok(None))?;
    Ok(Some(settled(a, out, inplace)))
}

/// `input` above zero, `weight * input` below, of plain floats in one pass; None where it has to be made of other ops.
#[pyfunction]
fn _leaking(input: &Bound<'_, PyTensor>, weight: &Bound<'_, PyTensor>) -> Result<Option<Tensor>> {
    let (x, weight) = (&input.get().tensor, &weight.get().tensor);
    if !suits_too(&[x, weight], false) {
        return Ok(None);
    }
    let (dtype, args) = (x.dtype(), [Arg::Tensor(x), Arg::Tensor(weight)]);
    let call = Call { name: "prelu", args, dtypes: [dtype; 2], out: dtype, into: None };
    let kernel = |shape: &[usize], out: Strided<'_>, [x, weight]: [Strided<'_>; 2]| {
        match dtype {
            DType::F32 => map2::<f32, f32, f32>(shape, out, x, weight, |x, w| if x > 0.0 { x } else { x * w }),
            DType::F16 | DType::BF16 => halves::map2(dtype, shape, out, x, weight, &Prelu {}),
            _ => map2::<f64, f64, f64>(shape, out, x, weight, |x, w| if x > 0.0 { x } else { x * w }),
        }
        Ok(())
    };
    evaluate(call, kernel, |_, _| Ok(None)).map(Some)
}

/// `input` with numbers in place of NaN and the infinities, of plain floats in one pass; None where it has to be made of
/// other ops.
#[pyfunction]
fn _nan_to_num(
    input: &Bound<'_, PyTensor>,
    nan: f64,
    above: Option<f64>,
    below: Option<f64>,
) -> Result<Option<Tensor>> {
    let x = &input.get().tensor;
    if !suits_too(&[x], false) {
        return Ok(None);
    }
    let (dtype, args) = (x.dtype(), [Arg::Tensor(x)]);
    let most = dtype.max_finite();
    let (above, below) = (above.unwrap_or(most), below.unwrap_or(-most));
    let call = Call { name: "nan_to_num", args, dtypes: [dtype], out: dtype, into: None };
    macro_rules! finite {
        ($type:ty) => {{
            let [nan, above, below] = [nan, above, below].map(|number| number as $type);
            move |x: $type| {
                let number = if x == <$type>::INFINITY { above } else { x };
                let number = if x == <$type>::NEG_INFINITY { below } else { number };
                if x.is_nan() { nan } else { number }
            }
        }};
    }
    let kernel = |shape: &[usize], out: Strided<'_>, [x]: [Strided<'_>; 1]| {
        match dtype {
            DType::F32 => map1(shape, out, x, finite!(f32)),
            DType::F64 => map1(shape, out, x, finite!(f64)),
            _ => halves::map1(dtype, shape, out, x, &Plain(finite!(f32))),
        }
        Ok(())
    };
    evaluate(call, kernel, |_, _| Ok(None)).map(Some)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_combined, module)?)?;
    module.add_function(wrap_pyfunction!(_nan_to_num, module)?)?;
    module.add_function(wrap_pyfunction!(_leaking, module)?)
}
