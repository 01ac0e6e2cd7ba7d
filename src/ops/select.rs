//! Choice by a mask (`where`) and clamping.

use super::compare;
use super::operand::Scalar;
use super::pointwise::{Arg, Call, common_type, evaluate};
use crate::autograd::{Grads, Record, grads};
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::number::Number;
use crate::kernels::pointwise::map3;
use crate::tensor::{Tensor, prim};
use crate::with_number;

/// Refuses a number that the dtype cannot hold.
fn fits(arg: Arg<'_>, dtype: DType) -> Result<()> {
    match arg {
        Arg::Scalar(value) => super::creation::check_fill(value, dtype),
        Arg::Tensor(_) => Ok(()),
    }
}

/// `a` where the mask is true, `b` elsewhere.
pub fn select(mask: &Tensor, a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    if !matches!(mask.dtype(), DType::Bool | DType::U8) {
        return error::dtype(format!(
            "where: expected condition to be a boolean tensor, but got a tensor with dtype {}",
            mask.dtype().name()
        ));
    }
    let dtype = common_type([a, b]);
    // torch writes a single element of half precision without looking at the range.
    if !dtype.is_half() {
        fits(a, dtype)?;
        fits(b, dtype)?;
    }
    let out = chosen(mask, a, b, dtype, None)?;
    record(mask, a, b, &out);
    Ok(out)
}

/// `select` outside the graph; into `target` when one is given.
pub fn chosen(mask: &Tensor, a: Arg<'_>, b: Arg<'_>, dtype: DType, target: Option<&Tensor>) -> Result<Tensor> {
    let kind = dtype.kind();
    evaluate(
        Call {
            name: "where",
            args: [Arg::Tensor(mask), a, b],
            dtypes: [DType::Bool, dtype, dtype],
            out: dtype,
            into: target,
        },
        |shape, out, [mask, a, b]| {
            macro_rules! run {
                ($T:ty) => {
                    map3::<u8, $T, $T, $T>(shape, out, mask, a, b, |m, a, b| if m != 0 { a } else { b })
                };
            }
            match dtype.size() {
                1 => run!(u8),
                2 => run!(u16),
                4 => run!(u32),
                8 => run!(u64),
                _ => run!(u128),
            }
            Ok(())
        },
        |[mask, a, b], _| {
            guard::run("where", || {
                use burn_backend::TensorMetadata;
                // burn's mask must have the result's shape.
                let shape = [&mask, &a, &b].iter().fold(Vec::new(), |shape: Vec<usize>, value| {
                    let next = value.shape();
                    let sizes = next.as_slice();
                    if shape.is_empty() {
                        sizes.to_vec()
                    } else {
                        shape.iter().zip(sizes).map(|(&x, &y)| if x == 1 { y } else { x }).collect()
                    }
                });
                let full = |kind: Kind, value| prim::expand(kind, value, burn_std::Shape::from(shape.clone()));
                Some(prim::mask_where(kind, full(kind, b), full(Kind::Bool, mask), full(kind, a)))
            })
        },
    )
}

fn record(mask: &Tensor, a: Arg<'_>, b: Arg<'_>, out: &Tensor) {
    let inputs: smallvec::SmallVec<[(&Tensor, bool); 2]> =
        [(a, true), (b, false)].into_iter().filter_map(|(arg, first)| arg.tensor().map(|x| (x, first))).collect();
    let tensors: smallvec::SmallVec<[&Tensor; 2]> = inputs.iter().map(|(tensor, _)| *tensor).collect();
    let sides: smallvec::SmallVec<[bool; 2]> = inputs.iter().map(|(_, first)| *first).collect();
    if let Some(record) = Record::new("WhereBackward0", &tensors) {
        record.save(mask).finish(out, move |c| {
            let grad = c.grad()?;
            let mask = c.saved(0)?;
            let mut out = Grads::new();
            for (index, &first) in sides.iter().enumerate() {
                let (grad, zero) = (Arg::Tensor(&grad), Arg::from(0));
                let (a, b) = if first { (grad, zero) } else { (zero, grad) };
                out.push(c.when(index, || select(mask, a, b))?);
            }
            Ok(out)
        });
    }
}

/// The elements brought inside `[min, max]`; NaN stays.
pub fn clamp(x: &Tensor, min: Option<Arg<'_>>, max: Option<Arg<'_>>) -> Result<Tensor> {
    if min.is_none() && max.is_none() {
        return error::value("clamp: At least one of 'min' or 'max' must not be None");
    }
    let bounds = [min.unwrap_or(Arg::Tensor(x)), max.unwrap_or(Arg::Tensor(x))];
    let dtype = common_type([Arg::Tensor(x), bounds[0], bounds[1]]);
    if dtype == DType::Bool {
        return error::dtype("clamp: not implemented for 'Bool'; convert with .to(...) first");
    }
    let min = min.map(|bound| saturate("min", bound, dtype)).transpose()?;
    let max = max.map(|bound| saturate("max", bound, dtype)).transpose()?;
    if let (Some(min), Some(max), true) = (min, max, x.device().is_cpu()) {
        let out = between(x, min, max, dtype, None)?;
        record_clamp(x, Some(min), Some(max), &out);
        return Ok(out);
    }
    let mut out = x.detached();
    for (op, bound) in [(crate::kernels::binary::Binary::Max, min), (crate::kernels::binary::Binary::Min, max)] {
        if let Some(bound) = bound {
            out = super::arithmetic::raw(op, "clamp", Arg::Tensor(&out), bound, dtype, None)?;
        }
    }
    record_clamp(x, min, max, &out);
    Ok(out)
}

/// `clamp` of floats in the CPU's memory between two numbers, written to `x` itself; false, with nothing done, where it
/// has to be made otherwise.
pub fn clamp_here(x: &Tensor, min: Option<Arg<'_>>, max: Option<Arg<'_>>) -> Result<bool> {
    let dtype = x.dtype();
    let (Some(min @ Arg::Scalar(_)), Some(max @ Arg::Scalar(_))) = (min, max) else { return Ok(false) };
    let plain = matches!(dtype, DType::F32 | DType::F64) && x.device().is_cpu();
    if !plain || common_type([Arg::Tensor(x), min, max]) != dtype {
        return Ok(false);
    }
    let (min, max) = (saturate("min", min, dtype)?, saturate("max", max, dtype)?);
    match (min, max) {
        (Arg::Scalar(low), Arg::Scalar(high)) if dtype == DType::F32 && !(low.as_f64() + high.as_f64()).is_nan() => {
            super::activation::within(x, low.as_f64(), high.as_f64(), Some(x))?
        }
        _ => between(x, min, max, dtype, Some(x))?,
    };
    Ok(true)
}

/// Both bounds in one pass, into `target` when one is given; the upper one wins.
fn between(x: &Tensor, min: Arg<'_>, max: Arg<'_>, dtype: DType, target: Option<&Tensor>) -> Result<Tensor> {
    let refused = || error::dtype(format!("clamp: not implemented for '{}'", dtype.scalar_type()));
    evaluate(
        Call { name: "clamp", args: [Arg::Tensor(x), min, max], dtypes: [dtype; 3], out: dtype, into: target },
        |shape, out, [x, min, max]| {
            with_number!(dtype, T => {
                map3::<T, T, T, T>(shape, out, x, min, max, |x, low, high| Number::min(Number::max(x, low), high));
            }, else return refused());
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// A whole number outside an integer type's range bounds it at the range's end, instead of wrapping around; one that no
/// element could be brought to is refused.
fn saturate<'a>(which: &str, bound: Arg<'a>, dtype: DType) -> Result<Arg<'a>> {
    match (bound, dtype.int_range()) {
        (Arg::Scalar(Scalar::Int(value)), Some((low, high))) => {
            let beyond = if which == "min" { value > high } else { value < low };
            if beyond {
                return error::runtime(format!(
                    "Clamp {which} value {value} is outside the representable range of {}",
                    dtype.name()
                ));
            }
            Ok(Arg::Scalar(Scalar::Int(value.clamp(low, high))))
        }
        _ => fits(bound, dtype).map(|()| bound),
    }
}

fn record_clamp(x: &Tensor, min: Option<Arg<'_>>, max: Option<Arg<'_>>, out: &Tensor) {
    let mut tensors: smallvec::SmallVec<[&Tensor; 3]> = smallvec::smallvec![x];
    tensors.extend([min, max].into_iter().flatten().filter_map(|bound| bound.tensor()));
    let name = if tensors.len() > 1 { "ClampBackward0" } else { "ClampBackward1" };
    let Some(mut record) = Record::new(name, &tensors) else { return };
    for tensor in &tensors {
        record = record.save(tensor);
    }
    let mut next = 1;
    let mut place = |bound: Option<Arg<'_>>| {
        bound.map(|bound| match bound {
            Arg::Scalar(scalar) => Bound::Number(scalar),
            Arg::Tensor(_) => {
                next += 1;
                Bound::Saved(next - 1)
            }
        })
    };
    let (low, high) = (place(min), place(max));
    record.finish(out, move |c| {
        let grad = c.grad()?;
        let x = c.saved(0)?;
        let get = |bound: Bound| match bound {
            Bound::Number(scalar) => Ok(Arg::Scalar(scalar)),
            Bound::Saved(index) => c.saved(index).map(Arg::Tensor),
        };
        let bounds = (low.map(get).transpose()?, high.map(get).transpose()?);
        if !matches!(low, Some(Bound::Saved(_))) && !matches!(high, Some(Bound::Saved(_))) {
            return grads([Some(keep(&strictly_inside(x, bounds)?, &grad)?)]);
        }
        let mut out = Grads::new();
        out.push(c.when(0, || share_of_input(x, bounds, &grad))?);
        if let (Some(Bound::Saved(index)), Some(bound)) = (low, bounds.0) {
            out.push(c.when(index, || {
                let wins = and_not(compare::lt(x, bound)?, crossed(bounds)?)?;
                share_of_bound(x, bound, bounds, &grad, &wins)
            })?);
        }
        if let (Some(Bound::Saved(index)), Some(bound)) = (high, bounds.1) {
            out.push(c.when(index, || {
                let wins = any(&[Some(compare::gt(x, bound)?), crossed(bounds)?])?;
                share_of_bound(x, bound, bounds, &grad, &wins)
            })?);
        }
        Ok(out)
    });
}

type Bounds<'a> = (Option<Arg<'a>>, Option<Arg<'a>>);

fn keep(mask: &Tensor, grad: &Tensor) -> Result<Tensor> {
    select(mask, Arg::Tensor(grad), Arg::from(0))
}

fn any(masks: &[Option<Tensor>]) -> Result<Tensor> {
    let mut found: Option<Tensor> = None;
    for mask in masks.iter().flatten() {
        found = Some(match found {
            None => mask.clone(),
            Some(found) => super::bitwise::logical_or(Arg::Tensor(&found), Arg::Tensor(mask))?,
        });
    }
    found.map_or_else(|| error::runtime("clamp: a rule had no bound"), Ok)
}

fn and_not(mask: Tensor, except: Option<Tensor>) -> Result<Tensor> {
    match except {
        None => Ok(mask),
        Some(except) => {
            let rest = super::bitwise::logical_not(&except)?;
            super::bitwise::logical_and(Arg::Tensor(&mask), Arg::Tensor(&rest))
        }
    }
}

/// With numbers as bounds, torch's gradient stops at the bounds themselves.
fn strictly_inside(x: &Tensor, (low, high): Bounds<'_>) -> Result<Tensor> {
    let above = low.map(|low| compare::gt(x, low)).transpose()?;
    let below = high.map(|high| compare::lt(x, high)).transpose()?;
    match (above, below) {
        (Some(a), Some(b)) => super::bitwise::logical_and(Arg::Tensor(&a), Arg::Tensor(&b)),
        (a, b) => any(&[a, b]),
    }
}

/// Where the lower bound lies above the upper one, which then wins.
fn crossed((low, high): Bounds<'_>) -> Result<Option<Tensor>> {
    low.zip(high).map(|(low, high)| compare::gt(low, high)).transpose()
}

/// Where the bounds leave a single value: no tie to share.
fn collapsed((low, high): Bounds<'_>) -> Result<Option<Tensor>> {
    low.zip(high).map(|(low, high)| compare::eq(low, high)).transpose()
}

/// With tensors as bounds, an element that equals one shares its gradient with it.
fn share_of_input(x: &Tensor, bounds: Bounds<'_>, grad: &Tensor) -> Result<Tensor> {
    let (low, high) = bounds;
    let touches =
        any(&[low.map(|low| compare::eq(x, low)).transpose()?, high.map(|high| compare::eq(x, high)).transpose()?])?;
    let tie = and_not(touches, collapsed(bounds)?)?;
    let half = super::arithmetic::mul_scalar(grad, Scalar::Float(0.5))?;
    let shared = select(&tie, Arg::Tensor(&half), Arg::Tensor(grad))?;
    let outside = any(&[
        low.map(|low| compare::lt(x, low)).transpose()?,
        high.map(|high| compare::gt(x, high)).transpose()?,
        crossed(bounds)?,
    ])?;
    select(&outside, Arg::from(0), Arg::Tensor(&shared))
}

fn share_of_bound(x: &Tensor, bound: Arg<'_>, bounds: Bounds<'_>, grad: &Tensor, wins: &Tensor) -> Result<Tensor> {
    let shut = match (crossed(bounds)?, collapsed(bounds)?) {
        (None, None) => None,
        (a, b) => Some(any(&[a, b])?),
    };
    let tie = and_not(compare::eq(x, bound)?, shut)?;
    let half = super::arithmetic::mul_scalar(grad, Scalar::Float(0.5))?;
    let shared = keep(&tie, &half)?;
    select(wins, Arg::Tensor(grad), Arg::Tensor(&shared))
}

/// A bound as the rule finds it again.
#[derive(Clone, Copy)]
enum Bound {
    Number(Scalar),
    Saved(usize),
}
