//! Functions of two operands that are no operators: extremes, angles, lengths and logarithms.

use super::*;
use crate::kernels::incomplete;
use crate::kernels::pointwise::map2_costly;

/// The gradient of an extremum: all of it where `won`, half where the operands are equal.
fn share(grad: &Tensor, a: Arg<'_>, b: Arg<'_>, lost: Tensor) -> Result<Tensor> {
    let tie = compare::eq(a, b)?;
    let half = select(&tie, t(&mul_args(t(grad), Arg::from(0.5))?), t(grad))?;
    select(&lost, Arg::from(0), t(&half))
}

pub fn maximum_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = MAXIMUM.value(a, b)?;
    record_both(
        "MaximumBackward0",
        a,
        b,
        &out,
        |side| share(side.grad, side.a, side.b, compare::lt(side.a, side.b)?),
        |side| share(side.grad, side.a, side.b, compare::gt(side.a, side.b)?),
    );
    Ok(out)
}

pub fn minimum_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = MINIMUM.value(a, b)?;
    record_both(
        "MinimumBackward0",
        a,
        b,
        &out,
        |side| share(side.grad, side.a, side.b, compare::gt(side.a, side.b)?),
        |side| share(side.grad, side.a, side.b, compare::lt(side.a, side.b)?),
    );
    Ok(out)
}

/// The first operand's share of the gradient of `fmax` or `fmin`: a NaN loses, equals share.
fn fshare(grad: &Tensor, a: Arg<'_>, b: Arg<'_>, beats: Tensor, first: bool) -> Result<Tensor> {
    let b_missing = compare::ne(b, b)?;
    let wins = super::super::bitwise::logical_or(t(&beats), t(&b_missing))?;
    let half = mul_args(t(grad), Arg::from(0.5))?;
    let zero = Arg::from(0);
    let (won, lost) = if first { (t(grad), zero) } else { (zero, t(grad)) };
    let strict = select(&wins, won, lost)?;
    select(&compare::eq(a, b)?, t(&half), t(&strict))
}

pub fn fmax_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = FMAX.value(a, b)?;
    record_both(
        "FmaxBackward0",
        a,
        b,
        &out,
        |side| fshare(side.grad, side.a, side.b, compare::gt(side.a, side.b)?, true),
        |side| fshare(side.grad, side.a, side.b, compare::gt(side.a, side.b)?, false),
    );
    Ok(out)
}

pub fn fmin_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = FMIN.value(a, b)?;
    record_both(
        "FminBackward0",
        a,
        b,
        &out,
        |side| fshare(side.grad, side.a, side.b, compare::lt(side.a, side.b)?, true),
        |side| fshare(side.grad, side.a, side.b, compare::lt(side.a, side.b)?, false),
    );
    Ok(out)
}

/// `a * a + b * b`.
fn squares(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    add_args(t(&mul_args(a, a)?), t(&mul_args(b, b)?))
}

/// `x / (a * a + b * b)`, zero where both are.
fn over_squares(x: Arg<'_>, side: &Side<'_>) -> Result<Tensor> {
    let whole = squares(side.a, side.b)?;
    select(&compare::eq(&whole, Arg::from(0))?, Arg::from(0), t(&div_args(x, t(&whole))?))
}

pub fn atan2_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = ATAN2.value(a, b)?;
    record_both(
        "Atan2Backward0",
        a,
        b,
        &out,
        |side| mul_args(t(side.grad), t(&over_squares(side.b, side)?)),
        |side| mul_args(t(&unary::neg(side.grad)?), t(&over_squares(side.a, side)?)),
    );
    Ok(out)
}

/// The regularised incomplete gamma function of two CPU tensors of one dtype, computed in float64, outside the graph.
pub fn incomplete_gamma(a: &Tensor, x: &Tensor, upper: bool) -> Result<Tensor> {
    let dtype = a.dtype();
    let own = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    let out = evaluate(
        Call { name: "igamma", args: [t(&a.detached()), t(&x.detached())], dtypes: [own; 2], out: own, into: None },
        |shape, out, [a, x]| {
            match own {
                DType::F32 => map2_costly::<f32, f32, f32>(shape, out, a, x, |a, x| {
                    incomplete::gamma(f64::from(a), f64::from(x), upper) as f32
                }),
                _ => map2_costly::<f64, f64, f64>(shape, out, a, x, |a, x| incomplete::gamma(a, x, upper)),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    if dtype == own { Ok(out) } else { out.converted(dtype) }
}

pub fn hypot_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = HYPOT.value(a, b)?;
    if let Some((record, pair)) = Pair::record("HypotBackward0", a, b, |left, right| (left, right)) {
        record.save_outputs().finish(&out, move |c| {
            let grad = c.grad()?;
            let share = |x: Arg<'_>| mul_args(t(&grad), t(&div_args(x, t(pair.out(c)?))?));
            pair.grads(c, || share(pair.a(c)?), || share(pair.b(c)?))
        });
    }
    Ok(out)
}

pub fn copysign_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = COPYSIGN.value(a, b)?;
    if let Some((record, pair)) = Pair::record("CopysignBackward0", a, b, |left, _| (left, false)) {
        record.save_outputs().finish(&out, move |c| {
            let grad = c.grad()?;
            pair.grads(
                c,
                || {
                    let x = pair.a(c)?;
                    let ratio = div_args(t(pair.out(c)?), x)?;
                    let slope = select(&compare::eq(x, Arg::from(0))?, Arg::from(0), t(&ratio))?;
                    mul_args(t(&grad), t(&slope))
                },
                || super::super::creation::zeros(&grad.shape(), grad.dtype(), grad.device()),
            )
        });
    }
    Ok(out)
}

/// The weight of the first operand in a soft maximum: `1 / (1 + base ** (b - a))`.
fn soft_weight(a: Arg<'_>, b: Arg<'_>, power: fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let ratio = power(&sub_args(b, a)?)?;
    unary::reciprocal(&add_args(t(&ratio), Arg::from(1))?)
}

/// `log(exp(a) + exp(b))` of complex numbers: the one with the greater real part is taken out of the sum.
fn complex_logaddexp(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let real = super::super::complex::real;
    let first = compare::ge(&real(&a.detached())?, t(&real(&b.detached())?))?;
    let (large, small) = (select(&first, t(a), t(b))?, select(&first, t(b), t(a))?);
    add_args(t(&large), t(&unary::log1p(&unary::exp(&sub_args(t(&small), t(&large))?)?)?))
}

pub fn logaddexp_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    if let (Arg::Tensor(x), Arg::Tensor(y)) = (a, b)
        && x.dtype().is_complex()
        && x.dtype() == y.dtype()
    {
        return complex_logaddexp(x, y);
    }
    let out = LOGADDEXP.value(a, b)?;
    record_both(
        "LogaddexpBackward0",
        a,
        b,
        &out,
        |side| mul_args(t(side.grad), t(&soft_weight(side.a, side.b, unary::exp)?)),
        |side| mul_args(t(side.grad), t(&soft_weight(side.b, side.a, unary::exp)?)),
    );
    Ok(out)
}

pub fn logaddexp2_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = LOGADDEXP2.value(a, b)?;
    record_both(
        "Logaddexp2Backward0",
        a,
        b,
        &out,
        |side| mul_args(t(side.grad), t(&soft_weight(side.a, side.b, unary::exp2)?)),
        |side| mul_args(t(side.grad), t(&soft_weight(side.b, side.a, unary::exp2)?)),
    );
    Ok(out)
}

pub fn xlogy_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = XLOGY.value(a, b)?;
    record_both(
        "XlogyBackward0",
        a,
        b,
        &out,
        |side| {
            let slope = xlogy_args(t(side.grad), side.b)?;
            let undefined = super::super::bitwise::logical_and(
                t(&compare::eq(side.a, Arg::from(0))?),
                t(&compare::le(side.b, Arg::from(0))?),
            )?;
            select(&undefined, Arg::from(0), t(&slope))
        },
        |side| mul_args(t(side.grad), t(&div_args(side.a, side.b)?)),
    );
    Ok(out)
}

pub fn xlog1py_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = XLOG1PY.value(a, b)?;
    record_both(
        "SpecialXlog1PyBackward0",
        a,
        b,
        &out,
        |side| {
            let slope = xlog1py_args(t(side.grad), side.b)?;
            let undefined = super::super::bitwise::logical_and(
                t(&compare::eq(side.a, Arg::from(0))?),
                t(&compare::le(side.b, Arg::from(-1))?),
            )?;
            select(&undefined, Arg::from(0), t(&slope))
        },
        |side| mul_args(t(side.grad), t(&div_args(side.a, t(&add_args(side.b, Arg::from(1))?))?)),
    );
    Ok(out)
}

/// Zero below zero, one above, `values` at zero; torch demands one dtype and gives no gradient.
pub fn heaviside_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    if let (Arg::Tensor(x), Arg::Tensor(y)) = (a, b)
        && x.dtype() != y.dtype()
    {
        return error::dtype("heaviside is not yet implemented for tensors with different dtypes.");
    }
    let out = HEAVISIDE.value(a, b)?;
    record_refused("heaviside", a, b, &out);
    Ok(out)
}

pub fn nextafter_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = NEXTAFTER.value(a, b)?;
    record_both(
        "NextafterBackward0",
        a,
        b,
        &out,
        |side| select(&compare::eq(side.a, side.b)?, Arg::from(0), t(side.grad)),
        |side| mul_args(t(side.grad), Arg::from(0)),
    );
    Ok(out)
}
