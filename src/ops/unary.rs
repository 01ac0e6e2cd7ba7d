//! Functions of one operand, element by element.

use std::f64::consts::{LN_2, LN_10, PI};

use super::activation::{slope, tilt};
use super::arithmetic::{add_scalar, div_args, mul, mul_args, mul_scalar, sub_args};
use super::burn_pointwise as burn;
use super::compare;
use super::operand::Scalar;
use super::pointwise::{Arg, Call, evaluate};
use super::select::select;
use crate::autograd::{Record, grads};
use crate::dtype::{DType, Kind, default_dtype};
use crate::error::{self, Result};
use crate::kernels::pointwise::map1;
use crate::kernels::unary::{self as kernel, Unary};
use crate::kernels::{chebyshev, curves, double, gamma, special};
use crate::tensor::Tensor;

/// Computes `op(x)` in `dtype` without recording; into `target` when one is given.
pub fn raw(op: Unary, name: &'static str, x: &Tensor, dtype: DType, target: Option<&Tensor>) -> Result<Tensor> {
    evaluate(
        Call { name, args: [Arg::Tensor(x)], dtypes: [dtype], out: dtype, into: target },
        |shape, out, [x]| kernel::unary(op, name, dtype, shape, out, x),
        |[value], _| burn::unary(op, dtype, value),
    )
}

/// The dtype of a function that makes floats of integers.
fn floating(_: &str, x: &Tensor) -> Result<DType> {
    Ok(if x.dtype().is_differentiable() { x.dtype() } else { default_dtype() })
}

/// For functions that mean something for integers too.
fn same(op: &str, x: &Tensor) -> Result<DType> {
    if x.dtype() == DType::Bool {
        return error::dtype(format!("{op}: not implemented for 'Bool'; convert with .to(...) first"));
    }
    Ok(x.dtype())
}

fn float_only(op: &str, x: &Tensor) -> Result<DType> {
    crate::check::kind(op, x.dtype(), &[Kind::Float])?;
    Ok(x.dtype())
}

fn negated(_: &str, x: &Tensor) -> Result<DType> {
    if x.dtype() == DType::Bool {
        return error::dtype(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use \
             the `~` or `logical_not()` operator instead.",
        );
    }
    Ok(x.dtype())
}

fn any(_: &str, x: &Tensor) -> Result<DType> {
    Ok(x.dtype())
}

fn zeros(grad: &Tensor) -> Result<Tensor> {
    super::creation::zeros(&grad.shape(), grad.dtype(), grad.device())
}

fn times(grad: &Tensor, factor: f64) -> Result<Tensor> {
    mul_scalar(grad, Scalar::Float(factor))
}

/// `1 - x * x`.
fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    sub_args(Arg::from(1), Arg::Tensor(&square(x)?))
}

fn over(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    div_args(Arg::Tensor(a), Arg::Tensor(b))
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $op:ident, $dtype:ident, $node:literal, $kept:tt, |$g:ident $(, $value:ident)?| $rule:expr;)+) => {
        $($(#[$doc])*
        pub fn $name(x: &Tensor) -> Result<Tensor> {
            let out = raw(Unary::$op, stringify!($name), x, $dtype(stringify!($name), x)?, None)?;
            if let Some(record) = Record::new($node, &[x]) {
                functions!(@save $kept record, x).finish(&out, |c| {
                    super::complex::holomorphic(c, &|$g: &Tensor| {
                        $(let $value = c.saved(0)?;)?
                        $rule
                    })
                });
            }
            Ok(out)
        })+
    };
    (@save nothing $record:ident, $x:ident) => { $record };
    (@save input $record:ident, $x:ident) => { $record.save($x) };
    (@save output $record:ident, $x:ident) => { $record.save_outputs() };
}

functions! {
    neg = Neg, negated, "NegBackward0", nothing, |g| neg(g);
    sign = Sign, any, "SignBackward0", nothing, |g| zeros(g);
    sqrt = Sqrt, floating, "SqrtBackward0", output, |g, y| over(g, &times(y, 2.0)?);
    rsqrt = Rsqrt, floating, "RsqrtBackward0", output, |g, y| mul(&times(g, -0.5)?, &mul(y, &square(y)?)?);
    reciprocal = Reciprocal, floating, "ReciprocalBackward0", output, |g, y| mul(&neg(g)?, &square(y)?);
    ceil = Ceil, same, "CeilBackward0", nothing, |g| zeros(g);
    floor = Floor, same, "FloorBackward0", nothing, |g| zeros(g);
    round = Round, same, "RoundBackward0", nothing, |g| zeros(g);
    trunc = Trunc, same, "TruncBackward0", nothing, |g| zeros(g);
    frac = Frac, float_only, "FracBackward0", nothing, |g| Ok::<_, error::Error>(g.clone());
    exp = Exp, floating, "ExpBackward0", output, |g, y| mul(g, y);
    exp2 = Exp2, floating, "Exp2Backward0", output, |g, y| times(&mul(g, y)?, LN_2);
    expm1 = Expm1, floating, "Expm1Backward0", output, |g, y| mul(g, &add_scalar(y, Scalar::Int(1))?);
    log = Log, floating, "LogBackward0", input, |g, x| over(g, x);
    log2 = Log2, floating, "Log2Backward0", input, |g, x| over(g, &times(x, LN_2)?);
    log10 = Log10, floating, "Log10Backward0", input, |g, x| over(g, &times(x, LN_10)?);
    log1p = Log1p, floating, "Log1PBackward0", input, |g, x| over(g, &add_scalar(x, Scalar::Int(1))?);
    sin = Sin, floating, "SinBackward0", input, |g, x| mul(g, &cos(x)?);
    cos = Cos, floating, "CosBackward0", input, |g, x| mul(&neg(g)?, &sin(x)?);
    tan = Tan, floating, "TanBackward0", output, |g, y| mul(g, &add_scalar(&square(y)?, Scalar::Int(1))?);
    asin = Asin, floating, "AsinBackward0", input, |g, x| mul(g, &rsqrt(&one_minus_square(x)?)?);
    acos = Acos, floating, "AcosBackward0", input, |g, x| mul(&neg(g)?, &rsqrt(&one_minus_square(x)?)?);
    atan = Atan, floating, "AtanBackward0", input, |g, x| over(g, &add_scalar(&square(x)?, Scalar::Int(1))?);
    sinh = Sinh, floating, "SinhBackward0", input, |g, x| mul(g, &cosh(x)?);
    cosh = Cosh, floating, "CoshBackward0", input, |g, x| mul(g, &sinh(x)?);
    tanh = Tanh, floating, "TanhBackward0", output, |g, y| tanh_slope(g, y);
    asinh = Asinh, floating, "AsinhBackward0", input, |g, x| mul(g, &rsqrt(&add_scalar(&square(x)?, Scalar::Int(1))?)?);
    acosh = Acosh, floating, "AcoshBackward0", input, |g, x| mul(g, &acosh_slope(x)?);
    atanh = Atanh, floating, "AtanhBackward0", input, |g, x| over(g, &one_minus_square(x)?);
    erf = Erf, floating, "ErfBackward0", input, |g, x| mul(&times(g, 2.0 / PI.sqrt())?, &exp(&neg(&square(x)?)?)?);
    erfc = Erfc, floating, "ErfcBackward0", input, |g, x| mul(&times(g, -2.0 / PI.sqrt())?, &exp(&neg(&square(x)?)?)?);
    erfinv = Erfinv, floating, "ErfinvBackward0", input, |g, x| mul(&times(g, PI.sqrt() / 2.0)?, &exp(&square(&erfinv(x)?)?)?);
    lgamma = Lgamma, floating, "LgammaBackward0", input, |g, x| mul(g, &digamma(x)?);
    digamma = Digamma, floating, "DigammaBackward0", input, |g, x| mul(g, &polygamma(1, x)?);
    sinc = Sinc, floating, "SincBackward0", input, |g, x| mul(g, &sinc_slope(x)?);
    sigmoid = Sigmoid, floating, "SigmoidBackward0", output, |g, y| sigmoid_slope(g, y);
    /// The angle of real numbers as complex ones.
    angle = Angle, floating, "AngleBackward0", input, |g, _x| zeros(g);
    relu = Relu, same, "ReluBackward0", output, |g, y| relu_slope(g, y);
}

fn tanh_slope(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    let wide = tilt(|grad, y| grad * (1.0 - y * y));
    slope("tanh", grad, y, curves::TanhSlope {}, wide, || mul(grad, &one_minus_square(y)?))
}

fn sigmoid_slope(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    let wide = tilt(|grad, y| grad * (y * (1.0 - y)));
    slope("sigmoid", grad, y, curves::SigmoidSlope {}, wide, || {
        mul(grad, &mul(y, &sub_args(Arg::from(1), Arg::Tensor(y))?)?)
    })
}

fn relu_slope(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    let wide = tilt(|grad, y| if y <= 0.0 { 0.0 } else { grad });
    slope("relu", grad, y, curves::ReluSlope {}, wide, || {
        select(&compare::le(y, Arg::from(0))?, Arg::from(0), Arg::Tensor(grad))
    })
}

/// The absolute value; that of a complex number is real.
pub fn abs(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return super::complex::abs(x);
    }
    let out = raw(Unary::Abs, "abs", x, same("abs", x)?, None)?;
    if let Some(record) = Record::new("AbsBackward0", &[x]) {
        record.save(x).finish(&out, |c| grads([Some(mul(&c.grad()?, &sign(c.saved(0)?)?)?)]));
    }
    Ok(out)
}

/// The square; booleans count as integers.
pub fn square(x: &Tensor) -> Result<Tensor> {
    let dtype = if x.dtype() == DType::Bool { DType::I64 } else { x.dtype() };
    let out = raw(Unary::Square, "square", x, dtype, None)?;
    if let Some(record) = Record::new("PowBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            super::complex::holomorphic(c, &|grad| mul(&mul_scalar(grad, Scalar::Int(2))?, c.saved(0)?))
        });
    }
    Ok(out)
}

/// `1 / sqrt(x^2 - 1)`, of complex numbers on the branch that acosh is on; below -1 torch has a slope though no value.
fn acosh_slope(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return mul(&rsqrt(&add_scalar(x, Scalar::Int(-1))?)?, &rsqrt(&add_scalar(x, Scalar::Int(1))?)?);
    }
    rsqrt(&add_scalar(&square(x)?, Scalar::Int(-1))?)
}

/// `(cos(pi x) pi x - sin(pi x)) / (pi x^2)`, zero at zero.
fn sinc_slope(x: &Tensor) -> Result<Tensor> {
    let angle = times(x, PI)?;
    let above = sub_args(Arg::Tensor(&mul(&cos(&angle)?, &angle)?), Arg::Tensor(&sin(&angle)?))?;
    let slope = over(&above, &mul(&angle, x)?)?;
    // Where the denominator is too small for its dtype the slope is zero as well.
    select(&compare::eq(&mul(&angle, x)?, Arg::from(0))?, Arg::from(0), Arg::Tensor(&slope))
}

/// The n-th derivative of digamma.
pub fn polygamma(n: u32, x: &Tensor) -> Result<Tensor> {
    if n == 0 {
        return digamma(x);
    }
    let dtype = floating("polygamma", x)?;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let out = evaluate(
        Call { name: "polygamma", args: [Arg::Tensor(x)], dtypes: [wide], out: wide, into: None },
        |shape, out, [x]| {
            match wide {
                DType::F64 if n == 1 => double::map::<f64, _>(shape, out, x, gamma::Trigamma),
                _ if n == 1 => double::map::<f32, _>(shape, out, x, gamma::Trigamma),
                DType::F64 => map1::<f64, f64>(shape, out, x, |x| special::polygamma(n, x)),
                _ => map1::<f32, f32>(shape, out, x, |x| special::polygamma(n, f64::from(x)) as f32),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    let out = if dtype == wide { out } else { out.converted(dtype)? };
    if let Some(record) = Record::new("PolygammaBackward0", &[x]) {
        record.save(x).finish(&out, move |c| grads([Some(mul(&c.grad()?, &polygamma(n + 1, c.saved(0)?)?)?)]));
    }
    Ok(out)
}

/// The number below which a normal one lies with each probability, of float64 on the CPU.
pub fn ndtri(x: &Tensor) -> Result<Tensor> {
    evaluate(
        Call { name: "ndtri", args: [Arg::Tensor(x)], dtypes: [DType::F64], out: DType::F64, into: None },
        |shape, out, [x]| {
            double::map::<f64, _>(shape, out, x, double::Ndtri);
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// The sum of Chebyshev polynomials with these coefficients at each element, of float64 on the CPU, outside the graph.
pub fn clenshaw(x: &Tensor, coefficients: &[f64]) -> Result<Tensor> {
    evaluate(
        Call { name: "clenshaw", args: [Arg::Tensor(x)], dtypes: [DType::F64], out: DType::F64, into: None },
        |shape, out, [x]| {
            chebyshev::sum(shape, out, x, coefficients);
            Ok(())
        },
        |_, _| Ok(None),
    )
}

/// Rounded to `decimals` places (to tens, hundreds, ... where negative).
pub fn round_to(x: &Tensor, decimals: i32) -> Result<Tensor> {
    if decimals == 0 {
        return round(x);
    }
    float_only("round", x)?;
    let scale = Arg::from(10f64.powi(decimals.abs()));
    let out = {
        let _quiet = crate::autograd::grad_mode(false);
        if decimals > 0 {
            div_args(Arg::Tensor(&round(&mul_args(Arg::Tensor(x), scale)?)?), scale)?
        } else {
            mul_args(Arg::Tensor(&round(&div_args(Arg::Tensor(x), scale)?)?), scale)?
        }
    };
    if let Some(record) = Record::new("RoundBackward1", &[x]) {
        record.finish(&out, |c| grads([Some(zeros(&c.grad()?)?)]));
    }
    Ok(out)
}

/// Mantissa in [0.5, 1) and int32 exponent of each element.
pub fn frexp(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let dtype = float_only("frexp", x)?;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let call = |out| Call { name: "frexp", args: [Arg::Tensor(x)], dtypes: [wide], out, into: None };
    let mantissa = evaluate(
        call(wide),
        |shape, out, [x]| {
            match wide {
                DType::F64 => map1::<f64, f64>(shape, out, x, |x| libm::frexp(x).0),
                _ => map1::<f32, f32>(shape, out, x, |x| libm::frexpf(x).0),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    let exponent = evaluate(
        call(DType::I32),
        |shape, out, [x]| {
            let of = |x: f64| if x.is_finite() { libm::frexp(x).1 } else { 0 };
            match wide {
                DType::F64 => map1::<f64, i32>(shape, out, x, of),
                _ => map1::<f32, i32>(shape, out, x, |x| of(f64::from(x))),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    let mantissa = if dtype == wide { mantissa } else { mantissa.converted(dtype)? };
    if let Some(record) = Record::new("FrexpBackward0", &[x]) {
        record.save(&exponent).finish(&mantissa, |c| {
            let scale = super::arithmetic::pow_args(Arg::from(2.0), Arg::Tensor(c.saved(0)?))?;
            grads([Some(over(&c.grad()?, &scale)?)])
        });
    }
    Ok((mantissa, exponent))
}

/// Whether a float tensor holds a NaN.
pub fn has_nan(x: &Tensor) -> Result<bool> {
    if !x.dtype().is_differentiable() || x.numel() == 0 || x.is_meta() {
        return Ok(false);
    }
    Ok(compare::ne(x, x)?.to_bytes()?.iter().any(|&byte| byte != 0))
}
