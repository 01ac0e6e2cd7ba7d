//! Activation functions: one pass forward, and rules made of recorded ops.

use burn_backend::ops::{ActivationOps, FloatTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use half::{bf16, f16};
use pyo3::prelude::*;

use super::arithmetic::{add_args, add_scalar, mul, mul_scalar, sub_args};
use super::operand::Scalar;
use super::pointwise::{Arg, Call, evaluate};
use super::select::select;
use super::{burn_math, compare, joining, movement, reduce, unary};
use crate::autograd::{Record, grad_enabled, grads, needs_grad};
use crate::dtype::{DType, DTypeArg, Kind};
use crate::error::Result;
use crate::guard;
use crate::kernels::double::{self, Double};
use crate::kernels::memory::Elements;
use crate::kernels::pointwise::{Strided, map1, map2};
use crate::kernels::softmax::{self, At, Lines};
use crate::kernels::vector::{self, Lanes, Plain};
use crate::kernels::{curves, gates, halves};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::wrap_dim;

fn t(x: &Tensor) -> Arg<'_> {
    Arg::Tensor(x)
}

/// A function of each element, of float64 by `wide`; `gpu` makes it of burn's ops.
fn float_map(
    name: &'static str,
    x: &Tensor,
    lanes: impl Lanes<1>,
    wide: impl Fn(&[usize], Strided<'_>, Strided<'_>) + Sync,
    gpu: impl FnOnce(DispatchTensor) -> DispatchTensor + Send,
) -> Result<Tensor> {
    let dtype = x.dtype();
    crate::check::kind(name, dtype, &[Kind::Float])?;
    evaluate(
        Call { name, args: [t(x)], dtypes: [dtype], out: dtype, into: None },
        |shape, out, [x]| {
            match dtype {
                DType::F32 => vector::map1(shape, out, x, &lanes),
                DType::F64 => wide(shape, out, x),
                _ => halves::map1(dtype, shape, out, x, &lanes),
            }
            Ok(())
        },
        |[value], _| guard::run(name, || Some(gpu(value))),
    )
}

/// The gradient `grad` times a slope at `x` in one pass, where nobody differentiates it again; else as `recorded` says.
pub fn slope(
    name: &'static str,
    grad: &Tensor,
    x: &Tensor,
    lanes: impl Lanes<2>,
    wide: impl Fn(&[usize], Strided<'_>, Strided<'_>, Strided<'_>) + Sync,
    recorded: impl FnOnce() -> Result<Tensor>,
) -> Result<Tensor> {
    let dtype = x.dtype();
    let fits = dtype.kind() == Kind::Float && x.device().is_cpu() && grad.device().is_cpu() && grad.dtype() == dtype;
    if grad_enabled() || !fits || grad.shape() != x.shape() {
        return recorded();
    }
    evaluate(
        Call { name, args: [t(grad), t(x)], dtypes: [dtype; 2], out: dtype, into: None },
        |shape, out, [grad, x]| {
            match dtype {
                DType::F32 => vector::map2(shape, out, grad, x, &lanes),
                DType::F64 => wide(shape, out, grad, x),
                _ => halves::map2(dtype, shape, out, grad, x, &lanes),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// A curve of float64, for `float_map`.
fn curve(function: impl Double + Copy) -> impl Fn(&[usize], Strided<'_>, Strided<'_>) + Sync {
    move |shape, out, x| double::map::<f64, _>(shape, out, x, function)
}

/// A function of float64 that takes no longer than memory, for `float_map`.
fn line(f: impl Fn(f64) -> f64 + Sync + Copy) -> impl Fn(&[usize], Strided<'_>, Strided<'_>) + Sync {
    move |shape, out, x| map1::<f64, f64>(shape, out, x, f)
}

/// The slope of a curve of float64, for `slope`.
fn bend(function: impl Double + Copy) -> impl Fn(&[usize], Strided<'_>, Strided<'_>, Strided<'_>) + Sync {
    move |shape, out, grad, x| double::times(shape, out, grad, x, function)
}

/// As `bend` of a gradient and a number that take no longer than memory.
pub fn tilt(
    f: impl Fn(f64, f64) -> f64 + Sync + Copy,
) -> impl Fn(&[usize], Strided<'_>, Strided<'_>, Strided<'_>) + Sync {
    move |shape, out, grad, x| map2::<f64, f64, f64>(shape, out, grad, x, f)
}

fn times(x: &Tensor, factor: f64) -> Result<Tensor> {
    mul_scalar(x, Scalar::Float(factor))
}

fn plus(x: &Tensor, number: f64) -> Result<Tensor> {
    add_scalar(x, Scalar::Float(number))
}

/// `value` times the sigmoid of `gate`, which has its shape and dtype.
fn gated(value: &Tensor, gate: &Tensor) -> Result<Tensor> {
    let dtype = value.dtype();
    if grad_enabled() && needs_grad(&[value, gate]) || !value.device().is_cpu() || gate.dtype() != dtype {
        return mul(value, &unary::sigmoid(gate)?);
    }
    evaluate(
        Call { name: "glu", args: [t(value), t(gate)], dtypes: [dtype; 2], out: dtype, into: None },
        |shape, out, [value, gate]| {
            match dtype {
                DType::F32 => vector::map2(shape, out, value, gate, &curves::Gated {}),
                DType::F64 => double::times(shape, out, value, gate, double::Sigmoid),
                _ => halves::map2(dtype, shape, out, value, gate, &curves::Gated {}),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// The first half along `dim` times the sigmoid of the second.
fn glu(x: &Tensor, dim: usize) -> Result<Tensor> {
    crate::check::kind("glu", x.dtype(), &[Kind::Float])?;
    let half = x.size(dim) / 2;
    let halves = move |x: &Tensor| -> Result<[Tensor; 2]> {
        Ok([movement::slice(x, dim, 0, half, 1)?, movement::slice(x, dim, half, half, 1)?])
    };
    let [value, gate] = halves(&x.detached())?;
    let out = gated(&value, &gate)?;
    if let Some(record) = Record::new("GluBackward0", &[x]) {
        record.save(x).finish(&out, move |c| {
            let (grad, [value, gate]) = (c.grad()?, halves(c.saved(0)?)?);
            let left = gated(&grad, &gate)?;
            let moved = mul(&grad, &value)?;
            let right = slope("glu", &moved, &gate, curves::GateSlope {}, bend(gates::GateSlope {}), || {
                let gate = unary::sigmoid(&gate)?;
                mul(&moved, &mul(&gate, &sub_args(Arg::from(1), t(&gate))?)?)
            })?;
            grads([Some(joining::cat(&[left, right], dim as isize)?)])
        });
    }
    Ok(out)
}

/// `grad` where the mask holds, zero elsewhere.
fn pass(mask: &Tensor, grad: &Tensor) -> Result<Tensor> {
    select(mask, t(grad), Arg::from(0))
}

fn scaled(x: DispatchTensor, by: f64) -> DispatchTensor {
    Dispatch::float_mul_scalar(x, burn_std::Scalar::Float(by))
}

fn shifted(x: DispatchTensor, by: f64) -> DispatchTensor {
    Dispatch::float_add_scalar(x, burn_std::Scalar::Float(by))
}

pub fn leaky_relu(x: &Tensor, slope_below: f64) -> Result<Tensor> {
    let single = slope_below as f32;
    let out = float_map(
        "leaky_relu",
        x,
        curves::LeakyRelu { below: single },
        line(move |x| if x > 0.0 { x } else { x * slope_below }),
        |x| Dispatch::leaky_relu(x, burn_std::Scalar::Float(slope_below)),
    )?;
    if let Some(record) = Record::new("LeakyReluBackward0", &[x]) {
        record.save(x).finish(&out, move |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            let lanes = curves::LeakyReluSlope { below: single };
            let wide = tilt(move |grad, x| if x > 0.0 { grad } else { grad * slope_below });
            grads([Some(slope("leaky_relu", &grad, x, lanes, wide, || {
                select(&compare::gt(x, Arg::from(0))?, t(&grad), t(&times(&grad, slope_below)?))
            })?)])
        });
    }
    Ok(out)
}

/// `scale * x` above zero, `scale * alpha * (exp(input_scale * x) - 1)` below: elu, selu and celu.
pub fn elu(x: &Tensor, alpha: f64, scale: f64, input_scale: f64) -> Result<Tensor> {
    let [single_below, single_scale, single_input] = [scale * alpha, scale, input_scale].map(|value| value as f32);
    let out = float_map(
        "elu",
        x,
        curves::Elu { below: single_below, scale: single_scale, input_scale: single_input },
        curve(gates::Elu { below: scale * alpha, scale, input_scale }),
        |x| {
            let positive = scaled(Dispatch::relu(x.clone()), scale);
            let rest = Dispatch::float_neg(Dispatch::relu(Dispatch::float_neg(x)));
            let curve = shifted(burn_math::exp(scaled(rest, input_scale)), -1.0);
            Dispatch::float_add(positive, scaled(curve, scale * alpha))
        },
    )?;
    if let Some(record) = Record::new("EluBackward0", &[x]) {
        record.save(x).finish(&out, move |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            let lanes = curves::EluSlope { below: single_below, scale: single_scale, input_scale: single_input };
            let wide = bend(gates::EluSlope { below: scale * alpha, scale, input_scale });
            grads([Some(slope("elu", &grad, x, lanes, wide, || {
                let curve = times(&unary::exp(&times(x, input_scale)?)?, scale * alpha * input_scale)?;
                let positive = compare::gt(x, Arg::from(0))?;
                select(&positive, t(&times(&grad, scale)?), t(&mul(&grad, &curve)?))
            })?)])
        });
    }
    Ok(out)
}

const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// sqrt(2 / pi), and the cubic coefficient of the tanh form.
const TANH_SCALE: f64 = 0.797_884_560_802_865_4;
const TANH_CUBIC: f64 = 0.044_715;

/// `x` times the normal distribution's probability of less than `x`.
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    let out = float_map("gelu", x, curves::Gelu {}, curve(gates::Gelu {}), Dispatch::gelu)?;
    if let Some(record) = Record::new("GeluBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            grads([Some(slope("gelu", &grad, x, curves::GeluSlope {}, bend(gates::GeluSlope {}), || {
                let below = times(&plus(&unary::erf(&times(x, ROOT_HALF)?)?, 1.0)?, 0.5)?;
                let density = times(&unary::exp(&times(&unary::square(x)?, -0.5)?)?, TANH_SCALE / 2.0)?;
                mul(&grad, &add_args(t(&below), t(&mul(x, &density)?))?)
            })?)])
        });
    }
    Ok(out)
}

/// `gelu` with a tanh in place of the normal distribution.
pub fn gelu_tanh(x: &Tensor) -> Result<Tensor> {
    let out = float_map("gelu", x, curves::GeluTanh {}, curve(gates::GeluTanh {}), |x| {
        let cube = Dispatch::float_mul(Dispatch::float_mul(x.clone(), x.clone()), x.clone());
        let inner = scaled(Dispatch::float_add(x.clone(), scaled(cube, TANH_CUBIC)), TANH_SCALE);
        Dispatch::float_mul(scaled(x, 0.5), shifted(burn_math::tanh(inner), 1.0))
    })?;
    if let Some(record) = Record::new("GeluBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            grads([Some(slope("gelu", &grad, x, curves::GeluTanhSlope {}, bend(gates::GeluTanhSlope {}), || {
                let square = unary::square(x)?;
                let inner = times(&mul(x, &plus(&times(&square, TANH_CUBIC)?, 1.0)?)?, TANH_SCALE)?;
                let tanh = unary::tanh(&inner)?;
                let steep = times(&plus(&times(&square, 3.0 * TANH_CUBIC)?, 1.0)?, TANH_SCALE)?;
                let bend = mul(&sub_args(Arg::from(1), t(&unary::square(&tanh)?))?, &steep)?;
                let total = add_args(t(&plus(&tanh, 1.0)?), t(&mul(x, &bend)?))?;
                mul(&grad, &times(&total, 0.5)?)
            })?)])
        });
    }
    Ok(out)
}

pub fn silu(x: &Tensor) -> Result<Tensor> {
    let gpu = |x: DispatchTensor| Dispatch::float_mul(x.clone(), burn_math::sigmoid(x));
    let out = float_map("silu", x, curves::Silu {}, curve(gates::Silu {}), gpu)?;
    if let Some(record) = Record::new("SiluBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            grads([Some(slope("silu", &grad, x, curves::SiluSlope {}, bend(gates::SiluSlope {}), || {
                let gate = unary::sigmoid(x)?;
                let rest = sub_args(Arg::from(1), t(&gate))?;
                mul(&grad, &mul(&gate, &plus(&mul(x, &rest)?, 1.0)?)?)
            })?)])
        });
    }
    Ok(out)
}

/// `log(1 + exp(beta * x)) / beta`, the identity where `beta * x` is above the threshold.
pub fn softplus(x: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    let (single_beta, single_threshold) = (beta as f32, threshold as f32);
    let lanes = curves::Softplus { beta: single_beta, threshold: single_threshold };
    let out = float_map("softplus", x, lanes, curve(gates::Softplus { beta, threshold }), |x| {
        // log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)) does not overflow.
        let z = scaled(x.clone(), beta);
        let tail = burn_math::log1p_exp_neg_abs(z.clone());
        let soft = scaled(Dispatch::float_add(Dispatch::relu(z.clone()), tail), 1.0 / beta);
        burn_math::identity_above(threshold, z, x, soft)
    })?;
    if let Some(record) = Record::new("SoftplusBackward0", &[x]) {
        record.save(x).finish(&out, move |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            let lanes = curves::SoftplusSlope { beta: single_beta, threshold: single_threshold };
            let wide = bend(gates::SoftplusSlope { beta, threshold });
            grads([Some(slope("softplus", &grad, x, lanes, wide, || {
                let z = times(x, beta)?;
                let linear = compare::gt(&z, Arg::from(threshold))?;
                select(&linear, t(&grad), t(&mul(&grad, &unary::sigmoid(&z)?)?))
            })?)])
        });
    }
    Ok(out)
}

pub fn mish(x: &Tensor) -> Result<Tensor> {
    let out = float_map("mish", x, curves::Mish {}, curve(gates::Mish {}), |x| {
        let tail = burn_math::log1p_exp_neg_abs(x.clone());
        let soft = Dispatch::float_add(Dispatch::relu(x.clone()), tail);
        Dispatch::float_mul(x, burn_math::tanh(soft))
    })?;
    if let Some(record) = Record::new("MishBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            grads([Some(slope("mish", &grad, x, curves::MishSlope {}, bend(gates::MishSlope {}), || {
                let tanh = unary::tanh(&softplus(x, 1.0, 20.0)?)?;
                let bend = sub_args(Arg::from(1), t(&unary::square(&tanh)?))?;
                mul(&grad, &add_args(t(&tanh), t(&mul(&mul(x, &unary::sigmoid(x)?)?, &bend)?))?)
            })?)])
        });
    }
    Ok(out)
}

pub fn logsigmoid(x: &Tensor) -> Result<Tensor> {
    // Unlike its siblings' results, torch's lies in row-major order.
    let out =
        float_map("logsigmoid", &x.contiguous_data()?, curves::LogSigmoid {}, curve(gates::LogSigmoid {}), |x| {
            let below = Dispatch::relu(Dispatch::float_neg(x.clone()));
            Dispatch::float_neg(Dispatch::float_add(below, burn_math::log1p_exp_neg_abs(x)))
        })?;
    if let Some(record) = Record::new("LogSigmoidBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            let wide = bend(gates::LogSigmoidSlope {});
            grads([Some(slope("logsigmoid", &grad, x, curves::LogSigmoidSlope {}, wide, || {
                mul(&grad, &unary::sigmoid(&unary::neg(x)?)?)
            })?)])
        });
    }
    Ok(out)
}

/// Inside `(low, high)`, where the slope of a clipped line is not zero.
fn between(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    super::bitwise::logical_and(t(&compare::gt(x, Arg::from(low))?), t(&compare::lt(x, Arg::from(high))?))
}

/// `grad` times `factor` inside `(low, high)`, zero elsewhere.
fn inside(name: &'static str, grad: &Tensor, x: &Tensor, low: f64, high: f64, factor: f64) -> Result<Tensor> {
    let [single_low, single_high, single_factor] = [low, high, factor].map(|value| value as f32);
    let lanes = Plain(move |grad: f32, x: f32| {
        let within = (x > single_low) & (x < single_high);
        if within { grad * single_factor } else { 0.0 }
    });
    let wide = tilt(move |grad, x| {
        let within = (x > low) & (x < high);
        if within { grad * factor } else { 0.0 }
    });
    slope(name, grad, x, lanes, wide, || pass(&between(x, low, high)?, &times(grad, factor)?))
}

/// Whether `x` has vectorised loops.
pub fn fits_lanes(x: &Tensor) -> bool {
    (x.dtype() == DType::F32 || x.dtype().is_half()) && x.device().is_cpu()
}

/// The elements of a CPU tensor that `fits_lanes` clipped to a range, in one pass, outside the graph; NaN stays.
pub fn within(x: &Tensor, low: f64, high: f64, into: Option<&Tensor>) -> Result<Tensor> {
    let (lanes, dtype) = (curves::Within { low: low as f32, high: high as f32 }, x.dtype());
    evaluate(
        Call { name: "hardtanh", args: [t(x)], dtypes: [dtype], out: dtype, into },
        |shape, out, [x]| {
            match dtype {
                DType::F32 => vector::map1(shape, out, x, &lanes),
                _ => halves::map1(dtype, shape, out, x, &lanes),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// The elements clipped to a range; unlike `clamp`, gradients stop at the bounds themselves.
pub fn hardtanh(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    let out = if fits_lanes(x) {
        within(x, low, high, None)?
    } else {
        super::select::clamp(&x.detached(), Some(Arg::from(low)), Some(Arg::from(high)))?
    };
    if let Some(record) = Record::new("HardtanhBackward0", &[x]) {
        record
            .save(x)
            .finish(&out, move |c| grads([Some(inside("hardtanh", &c.grad()?, c.saved(0)?, low, high, 1.0)?)]));
    }
    Ok(out)
}

/// `x` within 0 and `high`; NaN stays NaN.
#[inline(always)]
fn clipped(x: f32, high: f32) -> f32 {
    let x = if x < 0.0 { 0.0 } else { x };
    if x > high { high } else { x }
}

pub fn hardsigmoid(x: &Tensor) -> Result<Tensor> {
    let out = float_map(
        "hardsigmoid",
        x,
        Plain(|x: f32| clipped(x + 3.0, 6.0) / 6.0),
        line(|x| if x.is_nan() { x } else { ((x + 3.0) / 6.0).clamp(0.0, 1.0) }),
        |x| {
            let gate =
                Dispatch::hard_sigmoid(x.clone(), burn_std::Scalar::Float(1.0 / 6.0), burn_std::Scalar::Float(0.5));
            burn_math::keep_nan(&x, gate)
        },
    )?;
    if let Some(record) = Record::new("HardsigmoidBackward0", &[x]) {
        record
            .save(x)
            .finish(&out, |c| grads([Some(inside("hardsigmoid", &c.grad()?, c.saved(0)?, -3.0, 3.0, 1.0 / 6.0)?)]));
    }
    Ok(out)
}

pub fn hardswish(x: &Tensor) -> Result<Tensor> {
    let out = float_map(
        "hardswish",
        x,
        curves::Hardswish {},
        line(|x| if x.is_nan() { x } else { x * (x + 3.0).clamp(0.0, 6.0) / 6.0 }),
        |x| {
            let gate =
                Dispatch::hard_sigmoid(x.clone(), burn_std::Scalar::Float(1.0 / 6.0), burn_std::Scalar::Float(0.5));
            Dispatch::float_mul(x, gate)
        },
    )?;
    if let Some(record) = Record::new("HardswishBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let (grad, x) = (c.grad()?, c.saved(0)?);
            let wide = tilt(|grad, x| {
                let upper = if x >= 3.0 { grad } else { grad * (x / 3.0 + 0.5) };
                if x <= -3.0 { 0.0 } else { upper }
            });
            grads([Some(slope("hardswish", &grad, x, curves::HardswishSlope {}, wide, || {
                let middle = mul(&grad, &plus(&times(x, 1.0 / 3.0)?, 0.5)?)?;
                let upper = select(&compare::ge(x, Arg::from(3))?, t(&grad), t(&middle))?;
                select(&compare::le(x, Arg::from(-3))?, Arg::from(0), t(&upper))
            })?)])
        });
    }
    Ok(out)
}

/// Zero where `keep` does not hold, else the element moved by `shift` towards zero.
fn shrink(name: &'static str, node: &'static str, x: &Tensor, lambda: f64, shift: f64) -> Result<Tensor> {
    // The bound is compared in the tensor's own precision, as torch does.
    let own = |bound: f64| match x.dtype() {
        DType::F64 => bound,
        DType::F16 => f16::from_f32(bound as f32).to_f64(),
        DType::BF16 => bf16::from_f32(bound as f32).to_f64(),
        _ => f64::from(bound as f32),
    };
    let (lambda, shift) = (own(lambda), own(shift));
    let f = move |x: f64| {
        let moved = if x > lambda { x - shift } else { x + shift };
        if x.abs() <= lambda { 0.0 } else { moved }
    };
    let out = if x.device().is_cpu() {
        let (bound, step) = (lambda as f32, shift as f32);
        let lanes = Plain(move |x: f32| {
            let moved = if x > bound { x - step } else { x + step };
            if x.abs() <= bound { 0.0 } else { moved }
        });
        float_map(name, x, lanes, line(f), |x| x)?
    } else {
        crate::check::kind(name, x.dtype(), &[Kind::Float])?;
        let inside = compare::le(&unary::abs(&x.detached())?, Arg::from(lambda))?;
        let moved = sub_args(t(&x.detached()), t(&times(&unary::sign(&x.detached())?, shift)?))?;
        select(&inside, Arg::from(0), t(&moved))?
    };
    if let Some(record) = Record::new(node, &[x]) {
        record.save(x).finish(&out, move |c| {
            let outside = compare::gt(&unary::abs(c.saved(0)?)?, Arg::from(lambda))?;
            grads([Some(pass(&outside, &c.grad()?)?)])
        });
    }
    Ok(out)
}

/// The lines along `dim` of a row-major tensor.
pub fn lines_along(x: &Elements, dim: usize) -> Lines {
    let shape = &x.geometry.shape;
    let inner = shape.iter().skip(dim + 1).product();
    Lines { numel: x.geometry.numel(), size: shape.get(dim).copied().unwrap_or(1), inner }
}

/// The softmax of a float32 or float64 tensor on the CPU.
fn softmax_rows(x: &Tensor, dim: usize, log: bool) -> Result<Tensor> {
    let x = Elements::contiguous(x)?;
    let (out, to) = Tensor::uninit_with_pointer(&x.geometry.shape, x.dtype)?;
    let (lines, start, to) = (lines_along(&x, dim), x.geometry.offset, At(to));
    guard::spread("softmax", lines.numel, || {
        // SAFETY: both are contiguous and of this dtype, and the result is fresh.
        unsafe {
            match x.dtype {
                DType::F64 => softmax::softmax::<f64>(lines, At(x.at(start)), to.cast(), log),
                _ => softmax::softmax::<f32>(lines, At(x.at(start)), to.cast(), log),
            }
        }
    })?;
    Ok(out)
}

/// The gradient of the softmax's input in one or two passes.
fn softmax_slope(grad: &Tensor, y: &Tensor, dim: usize, log: bool) -> Result<Tensor> {
    let (grad, y) = (Elements::contiguous(grad)?, Elements::contiguous(y)?);
    let (out, to) = Tensor::uninit_with_pointer(&y.geometry.shape, y.dtype)?;
    let (lines, to) = (lines_along(&y, dim), At(to));
    guard::spread("softmax", lines.numel, || {
        let (first, second) = (grad.geometry.offset, y.geometry.offset);
        // SAFETY: all three are contiguous and of this dtype, and the result is fresh.
        unsafe {
            match y.dtype {
                DType::F64 => {
                    softmax::softmax_back::<f64>(lines, At(grad.at(first)), At(y.at(second)), to.cast(), log);
                }
                _ => softmax::softmax_back::<f32>(lines, At(grad.at(first)), At(y.at(second)), to.cast(), log),
            }
        }
    })?;
    Ok(out)
}

/// The softmax along `dim`, or its logarithm.
pub fn softmax(x: &Tensor, dim: usize, log: bool) -> Result<Tensor> {
    let name = if log { "log_softmax" } else { "softmax" };
    crate::check::kind(name, x.dtype(), &[Kind::Float])?;
    let dtype = x.dtype();
    let out = if x.is_meta() {
        Tensor::meta_of(&x.shape(), dtype)?
    } else if x.device().is_cpu() {
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let input = if dtype == wide { x.contiguous_data()? } else { x.converted(wide)? };
        let out = softmax_rows(&input, dim, log)?;
        if dtype == wide { out } else { out.converted(dtype)? }
    } else {
        Tensor::compute(name, &[x], dtype, move |mut values| {
            let value = values.swap_remove(0);
            burn_math::softmax(value, dim, log)
        })?
    };
    let node = if log { "LogSoftmaxBackward0" } else { "SoftmaxBackward0" };
    if let Some(record) = Record::new(node, &[x]) {
        record.save_outputs().finish(&out, move |c| {
            let (grad, y) = (c.grad()?, c.saved(0)?);
            if !grad_enabled() && y.device().is_cpu() {
                let dtype = y.dtype();
                if !dtype.is_half() {
                    return grads([Some(softmax_slope(&grad, y, dim, log)?)]);
                }
                let [grad, y] = [grad.converted(DType::F32)?, y.converted(DType::F32)?];
                return grads([Some(softmax_slope(&grad, &y, dim, log)?.converted(dtype)?)]);
            }
            let dims = if y.rank() == 0 { vec![] } else { vec![dim] };
            if log {
                let total = reduce::sum(&grad, &dims, true)?;
                return grads([Some(sub_args(t(&grad), t(&mul(&unary::exp(y)?, &total)?))?)]);
            }
            let total = reduce::sum(&mul(&grad, y)?, &dims, true)?;
            grads([Some(mul(y, &sub_args(t(&grad), t(&total))?)?)])
        });
    }
    Ok(out)
}

/// The activations that are one native call; Python adds names, defaults and the composed ones.
#[pymethods]
impl PyTensor {
    fn _glu(&self, dim: usize) -> Result<Tensor> {
        glu(&self.tensor, dim)
    }

    fn _leaky_relu(&self, slope: f64) -> Result<Tensor> {
        leaky_relu(&self.tensor, slope)
    }

    fn _elu(&self, alpha: f64, scale: f64, input_scale: f64) -> Result<Tensor> {
        elu(&self.tensor, alpha, scale, input_scale)
    }

    fn _gelu(&self, tanh: bool) -> Result<Tensor> {
        if tanh { gelu_tanh(&self.tensor) } else { gelu(&self.tensor) }
    }

    fn _silu(&self) -> Result<Tensor> {
        silu(&self.tensor)
    }

    fn _mish(&self) -> Result<Tensor> {
        mish(&self.tensor)
    }

    fn _softplus(&self, beta: f64, threshold: f64) -> Result<Tensor> {
        softplus(&self.tensor, beta, threshold)
    }

    fn _logsigmoid(&self) -> Result<Tensor> {
        logsigmoid(&self.tensor)
    }

    fn _hardtanh(&self, low: f64, high: f64) -> Result<Tensor> {
        hardtanh(&self.tensor, low, high)
    }

    /// This tensor, clipped to a range in place; `op` is what an error names.
    fn _hardtanh_<'py>(slf: Bound<'py, Self>, op: &str, low: f64, high: f64) -> PyResult<Bound<'py, Self>> {
        super::update::hardtanh(op, &slf.get().tensor, low, high)?;
        Ok(slf)
    }

    fn _hardsigmoid(&self) -> Result<Tensor> {
        hardsigmoid(&self.tensor)
    }

    fn _hardswish(&self) -> Result<Tensor> {
        hardswish(&self.tensor)
    }

    fn _shrink(&self, bound: f64, soft: bool) -> Result<Tensor> {
        if soft {
            shrink("softshrink", "SoftshrinkBackward0", &self.tensor, bound, bound)
        } else {
            shrink("hardshrink", "HardshrinkBackward0", &self.tensor, bound, 0.0)
        }
    }

    /// The exponentials of the elements along `dim`, divided by their sum.
    #[pyo3(signature = (dim, dtype=None))]
    fn softmax(&self, dim: isize, dtype: Option<DTypeArg>) -> Result<Tensor> {
        softmax_in(&self.tensor, "softmax", dim, dtype, false)
    }

    /// The logarithm of the softmax along `dim`.
    #[pyo3(signature = (dim, dtype=None))]
    fn log_softmax(&self, dim: isize, dtype: Option<DTypeArg>) -> Result<Tensor> {
        softmax_in(&self.tensor, "log_softmax", dim, dtype, true)
    }
}

fn softmax_in(x: &Tensor, name: &str, dim: isize, dtype: Option<DTypeArg>, log: bool) -> Result<Tensor> {
    let dim = wrap_dim(name, dim, x.rank())?;
    match dtype {
        Some(dtype) => softmax(&super::creation::to_dtype(x, dtype.0)?, dim, log),
        None => softmax(x, dim, log),
    }
}
