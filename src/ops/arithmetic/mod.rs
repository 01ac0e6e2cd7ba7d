//! Arithmetic of two operands with broadcasting and torch's type promotion.

mod functions;

use half::{bf16, f16};

use super::burn_pointwise as burn;
use super::compare;
use super::operand::Scalar;
use super::pointwise::{Arg, Call, Pair, alike, beside_number, common_type, evaluate, float_type};
use super::select::select;
use super::unary;
use crate::autograd::Context;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::binary::{self as kernel, Binary, Places};
use crate::kernels::curves::{AddNumber, FromNumber, MulNumber, NumberOver, OverNumber};
use crate::kernels::halves;
use crate::tensor::Tensor;
pub use functions::*;

/// Computes `op(a, b)` in `dtype` without recording; into `target` when one is given.
pub fn raw(
    op: Binary,
    name: &'static str,
    a: Arg<'_>,
    b: Arg<'_>,
    dtype: DType,
    target: Option<&Tensor>,
) -> Result<Tensor> {
    let on_cpu = || [a, b].iter().filter_map(|arg| arg.tensor()).all(|tensor| tensor.device().is_cpu());
    if matches!(dtype, DType::F16 | DType::BF16) && (a.tensor().is_none() || b.tensor().is_none()) && on_cpu() {
        // The op is made in float32 and rounded once. As torch has it, a factor keeps its precision next to 16-bit
        // floats, a summand is rounded before.
        let [a, b] = [a, b].map(|arg| match (arg, op) {
            (Arg::Scalar(number), Binary::Add | Binary::Sub) => Arg::Scalar(near(number, dtype)),
            _ => arg,
        });
        if let Some(out) = beside_halves(op, name, a, b, dtype, target)? {
            return Ok(out);
        }
        let wide = raw(op, name, a, b, DType::F32, None)?;
        return match target {
            None => wide.converted(dtype),
            Some(target) => target.write(&wide).map(|()| target.clone()),
        };
    }
    let divides = matches!(op, Binary::FloorDiv | Binary::TruncDiv | Binary::Remainder | Binary::Fmod);
    if divides && dtype.is_int() && matches!(b, Arg::Scalar(number) if number.is_zero()) && !on_cpu() {
        return error::runtime("ZeroDivisionError");
    }
    if let Some((x, number, left)) = beside_number(a, b, dtype)
        && let Some(value) = burn::binary_number(op, x.prim()?, number, left)?
    {
        let out = Tensor::from_prim_shaped(value, dtype, x.device(), &x.shape())?;
        return match target {
            None => Ok(out),
            Some(target) => target.write(&out).map(|()| target.clone()),
        };
    }
    evaluate(
        Call { name, args: [a, b], dtypes: [dtype; 2], out: dtype, into: target },
        |shape, out, [a, b]| kernel::binary(op, name, dtype, Places { shape, out, a, b }),
        |values, device| burn::binary(op, dtype, values, device),
    )
}

/// A number rounded to 16 bits.
fn near(number: Scalar, dtype: DType) -> Scalar {
    let number = number.as_f64() as f32;
    let rounded = if dtype == DType::F16 { f16::from_f32(number).to_f32() } else { bf16::from_f32(number).to_f32() };
    Scalar::Float(f64::from(rounded))
}

/// The usual ops of 16-bit floats in the CPU's memory and a number in one pass; None where they are others.
fn beside_halves(
    op: Binary,
    name: &'static str,
    a: Arg<'_>,
    b: Arg<'_>,
    dtype: DType,
    target: Option<&Tensor>,
) -> Result<Option<Tensor>> {
    let (x, number, left) = match (a, b) {
        (Arg::Tensor(x), Arg::Scalar(number)) => (x, number, false),
        (Arg::Scalar(number), Arg::Tensor(x)) => (x, number, true),
        _ => return Ok(None),
    };
    if x.dtype() != dtype || target.is_some_and(|target| target.dtype() != dtype || target.shape() != x.shape()) {
        return Ok(None);
    }
    let number = number.as_f64() as f32;
    macro_rules! made {
        ($lanes:expr) => {
            evaluate(
                Call { name, args: [Arg::Tensor(x)], dtypes: [dtype], out: dtype, into: target },
                |shape, out, [x]| {
                    halves::map1(dtype, shape, out, x, &$lanes);
                    Ok(())
                },
                |_, _| Ok(None),
            )
        };
    }
    Ok(Some(match (op, left) {
        (Binary::Add, _) => made!(AddNumber { number })?,
        (Binary::Sub, false) => made!(AddNumber { number: -number })?,
        (Binary::Sub, true) => made!(FromNumber { number })?,
        (Binary::Mul, _) => made!(MulNumber { number })?,
        (Binary::Div, false) => made!(OverNumber { number })?,
        (Binary::Div, true) => made!(NumberOver { number })?,
        _ => return Ok(None),
    }))
}

/// An op of two operands: what it is called, computed by, and which dtype its result has.
pub struct Recipe {
    pub op: Binary,
    pub name: &'static str,
    pub dtype: fn(Arg<'_>, Arg<'_>) -> Result<DType>,
}

fn promoted(a: Arg<'_>, b: Arg<'_>) -> Result<DType> {
    Ok(common_type([a, b]))
}

fn floating(a: Arg<'_>, b: Arg<'_>) -> Result<DType> {
    Ok(float_type([a, b]))
}

fn subtracted(a: Arg<'_>, b: Arg<'_>) -> Result<DType> {
    match (a.is_bool(), b.is_bool()) {
        (true, true) => error::dtype(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` \
             operator instead.",
        ),
        (true, _) | (_, true) => error::dtype(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, \
             use the `~` or `logical_not()` operator instead.",
        ),
        _ => promoted(a, b),
    }
}

fn powered(a: Arg<'_>, b: Arg<'_>) -> Result<DType> {
    let dtype = common_type([a, b]);
    match b {
        Arg::Scalar(number) if dtype.is_int() && number.as_i64() < 0 => {
            error::runtime("Integers to negative integer powers are not allowed.")
        }
        Arg::Scalar(number) if dtype.is_int() => super::creation::check_fill(number, dtype).map(|()| dtype),
        Arg::Tensor(_) if dtype == DType::Bool => {
            error::dtype("pow: not implemented for 'Bool'; convert with .to(...) first")
        }
        _ => Ok(dtype),
    }
}

macro_rules! recipes {
    ($($constant:ident = $op:ident, $name:literal, $dtype:ident;)+) => {
        $(pub const $constant: Recipe = Recipe { op: Binary::$op, name: $name, dtype: $dtype };)+
    };
}

recipes! {
    ADD = Add, "add", promoted;
    SUB = Sub, "sub", subtracted;
    MUL = Mul, "mul", promoted;
    DIV = Div, "div", floating;
    FLOOR_DIVIDE = FloorDiv, "floor_divide", promoted;
    TRUNC_DIVIDE = TruncDiv, "div", promoted;
    REMAINDER = Remainder, "remainder", promoted;
    FMOD = Fmod, "fmod", promoted;
    POW = Pow, "pow", powered;
    MAXIMUM = Max, "maximum", promoted;
    MINIMUM = Min, "minimum", promoted;
    FMAX = Fmax, "fmax", promoted;
    FMIN = Fmin, "fmin", promoted;
    ATAN2 = Atan2, "atan2", floating;
    HYPOT = Hypot, "hypot", promoted;
    COPYSIGN = Copysign, "copysign", floating;
    NEXTAFTER = NextAfter, "nextafter", promoted;
    LOGADDEXP = LogAddExp, "logaddexp", promoted;
    LOGADDEXP2 = LogAddExp2, "logaddexp2", promoted;
    XLOGY = Xlogy, "xlogy", floating;
    XLOG1PY = Xlog1py, "xlog1py", floating;
    HEAVISIDE = Heaviside, "heaviside", promoted;
}

impl Recipe {
    /// The value without its history.
    pub fn value(&self, a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
        if let (Arg::Tensor(x), Arg::Tensor(y)) = (a, b)
            && let Some(out) = alike(x, y, |dtype, shape, out, [a, b]| {
                kernel::binary(self.op, self.name, dtype, Places { shape, out, a, b })
            })?
        {
            return Ok(out);
        }
        raw(self.op, self.name, a, b, (self.dtype)(a, b)?, None)
    }
}

/// What a rule is given: the operands and the result's gradient.
struct Side<'c> {
    a: Arg<'c>,
    b: Arg<'c>,
    grad: &'c Tensor,
}

type Half = fn(&Side<'_>) -> Result<Tensor>;

/// Records an op whose rule looks at both operands.
fn record_both(name: &'static str, a: Arg<'_>, b: Arg<'_>, out: &Tensor, left: Half, right: Half) {
    if let Some((record, pair)) = Pair::record(name, a, b, |_, _| (true, true)) {
        record.finish(out, move |c: &Context<'_>| {
            let grad = c.grad()?;
            let side = Side { a: pair.a(c)?, b: pair.b(c)?, grad: &grad };
            pair.grads(c, || left(&side), || right(&side))
        });
    }
}

fn t(x: &Tensor) -> Arg<'_> {
    Arg::Tensor(x)
}

pub fn add_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = ADD.value(a, b)?;
    if let Some((record, pair)) = Pair::record("AddBackward0", a, b, |_, _| (false, false)) {
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            pair.grads(c, || Ok(grad.clone()), || Ok(grad.clone()))
        });
    }
    Ok(out)
}

pub fn sub_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = SUB.value(a, b)?;
    if let Some((record, pair)) = Pair::record("SubBackward0", a, b, |_, _| (false, false)) {
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            pair.grads(c, || Ok(grad.clone()), || unary::neg(&grad))
        });
    }
    Ok(out)
}

pub fn mul_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = MUL.value(a, b)?;
    if let Some((record, pair)) = Pair::record("MulBackward0", a, b, |left, right| (right, left)) {
        record.finish(&out, move |c| {
            pair.slopes(c, |grad| mul_args(t(grad), pair.b(c)?), |grad| mul_args(t(grad), pair.a(c)?))
        });
    }
    Ok(out)
}

/// True division: integers give the default float dtype.
pub fn div_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = DIV.value(a, b)?;
    if let Some((record, pair)) = Pair::record("DivBackward0", a, b, |_, right| (right, true)) {
        record.finish(&out, move |c| {
            let below = pair.b(c)?;
            pair.slopes(
                c,
                |grad| div_args(t(grad), below),
                |grad| {
                    let ratio = div_args(t(&div_args(pair.a(c)?, below)?), below)?;
                    mul_args(t(&unary::neg(grad)?), t(&ratio))
                },
            )
        });
    }
    Ok(out)
}

/// A step function has no slope: its recorded gradient is zero.
fn record_flat(name: &'static str, a: Arg<'_>, b: Arg<'_>, out: &Tensor) {
    if let Some((record, pair)) = Pair::record(name, a, b, |_, right| (right, true)) {
        record.finish(out, move |c| {
            let zeros = || {
                let grad = c.grad()?;
                super::creation::zeros(&grad.shape(), grad.dtype(), grad.device())
            };
            pair.grads(c, zeros, zeros)
        });
    }
}

/// Records an op that torch has no derivative of: backward says so.
fn record_refused(op: &'static str, a: Arg<'_>, b: Arg<'_>, out: &Tensor) {
    if let Some((record, _)) = Pair::record("NotImplemented", a, b, |_, _| (false, false)) {
        record.finish(out, move |_| error::runtime(format!("derivative for aten::{op} is not implemented")));
    }
}

/// `floor_divide`: the quotient rounded down, without a derivative.
pub fn floor_divide_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = FLOOR_DIVIDE.value(a, b)?;
    record_refused("floor_divide", a, b, &out);
    Ok(out)
}

/// The quotient rounded down, whose derivative is zero.
pub fn floor_quotient_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = FLOOR_DIVIDE.value(a, b)?;
    record_flat("DivBackward2", a, b, &out);
    Ok(out)
}

/// The quotient rounded towards zero.
pub fn trunc_divide_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = TRUNC_DIVIDE.value(a, b)?;
    record_flat("DivBackward2", a, b, &out);
    Ok(out)
}

/// Records `a - quotient * b`: the operands are looked at only for the divisor's gradient.
fn record_rest(
    name: &'static str,
    a: Arg<'_>,
    b: Arg<'_>,
    out: &Tensor,
    quotient: fn(Arg<'_>, Arg<'_>) -> Result<Tensor>,
) {
    if let Some((record, pair)) = Pair::record(name, a, b, |_, right| (right, right)) {
        record.finish(out, move |c| {
            let grad = c.grad()?;
            pair.grads(
                c,
                || Ok(grad.clone()),
                || mul_args(t(&unary::neg(&grad)?), t(&quotient(pair.a(c)?, pair.b(c)?)?)),
            )
        });
    }
}

/// The rest with the divisor's sign.
pub fn remainder_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = REMAINDER.value(a, b)?;
    record_rest("RemainderBackward1", a, b, &out, floor_quotient_args);
    Ok(out)
}

/// The rest with the dividend's sign.
pub fn fmod_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let out = FMOD.value(a, b)?;
    record_rest("FmodBackward1", a, b, &out, trunc_divide_args);
    Ok(out)
}

pub fn pow_args(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let dtype = powered(a, b)?;
    let out = match (a, b) {
        (Arg::Tensor(x), Arg::Scalar(number)) => power_value(x, number, dtype)?,
        _ => raw(Binary::Pow, "pow", a, b, dtype, None)?,
    };
    let name = match (a, b) {
        (_, Arg::Scalar(_)) => "PowBackward0",
        (Arg::Tensor(_), _) => "PowBackward1",
        _ => "PowBackward2",
    };
    if let Some((record, pair)) = Pair::record(name, a, b, |_, _| (true, true)) {
        // Only the exponent's gradient looks at the result, which programs like to write to.
        let record = if b.tensor().is_some_and(Tensor::requires_grad) { record.save_outputs() } else { record };
        record.finish(&out, move |c| {
            let (base, exponent) = (pair.a(c)?, pair.b(c)?);
            pair.slopes(
                c,
                |grad| power_slope(grad, base, exponent),
                |grad| {
                    let slope = mul_args(t(pair.out(c)?), t(&log_of(base)?))?;
                    let zero = compare::eq(base, Arg::from(0))?;
                    let flat = super::bitwise::logical_and(t(&zero), t(&is_not_negative(exponent)?))?;
                    select(&flat, Arg::from(0), t(&mul_args(t(grad), t(&slope))?))
                },
            )
        });
    }
    Ok(out)
}

/// Whether the real part is zero or above.
fn is_not_negative(x: Arg<'_>) -> Result<Tensor> {
    match x {
        Arg::Tensor(x) if x.dtype().is_complex() => compare::ge(&super::complex::real(x)?, Arg::from(0)),
        Arg::Scalar(x) => compare::ge(Arg::from(x.as_f64()), Arg::from(0)),
        x => compare::ge(x, Arg::from(0)),
    }
}

fn log_of(x: Arg<'_>) -> Result<Tensor> {
    match x {
        Arg::Tensor(x) => unary::log(x),
        Arg::Scalar(x @ Scalar::Complex(..)) => {
            unary::log(&super::creation::full(&[], x, DType::C128, crate::device::Device::Cpu)?)
        }
        Arg::Scalar(x) => {
            super::creation::full(&[], Scalar::Float(x.as_f64().ln()), DType::F64, crate::device::Device::Cpu)
        }
    }
}

/// Powers with a name of their own are exact and much faster than the general one.
fn power_value(x: &Tensor, exponent: Scalar, dtype: DType) -> Result<Tensor> {
    let value = || Ok::<_, error::Error>(if x.dtype() == dtype { x.detached() } else { x.converted(dtype)? });
    let off = |op: fn(&Tensor) -> Result<Tensor>| {
        let _quiet = crate::autograd::grad_mode(false);
        op(&value()?)
    };
    if exponent.imaginary() != 0.0 {
        return raw(Binary::Pow, "pow", t(x), Arg::Scalar(exponent), dtype, None);
    }
    match exponent.as_f64() {
        0.0 => return super::creation::full(&x.shape(), Scalar::Int(1), dtype, x.device()),
        1.0 => return x.converted(dtype),
        _ => {}
    }
    if dtype.is_differentiable() {
        match exponent.as_f64() {
            0.5 => return off(unary::sqrt),
            2.0 => return off(unary::square),
            -1.0 => return off(unary::reciprocal),
            -0.5 => return off(unary::rsqrt),
            _ => {}
        }
    } else if exponent == Scalar::Int(2) {
        return off(unary::square);
    }
    raw(Binary::Pow, "pow", t(x), Arg::Scalar(exponent), dtype, None)
}

/// `grad * b * a ** (b - 1)`, zero where b is.
fn power_slope(grad: &Tensor, base: Arg<'_>, exponent: Arg<'_>) -> Result<Tensor> {
    match exponent {
        Arg::Scalar(number) if number.is_zero() => super::creation::zeros(&grad.shape(), grad.dtype(), grad.device()),
        Arg::Scalar(number) => {
            let less = match number {
                Scalar::Float(value) => Scalar::Float(value - 1.0),
                Scalar::Complex(re, im) => Scalar::Complex(re - 1.0, im),
                other => Scalar::Int(other.as_i64() - 1),
            };
            let power = pow_args(base, Arg::Scalar(less))?;
            mul_args(t(grad), t(&mul_args(t(&power), exponent)?))
        }
        Arg::Tensor(number) => {
            let power = pow_args(base, t(&sub_args(t(number), Arg::from(1))?))?;
            let slope = mul_args(t(&power), exponent)?;
            let flat = compare::eq(exponent, Arg::from(0))?;
            select(&flat, Arg::from(0), t(&mul_args(t(grad), t(&slope))?))
        }
    }
}

macro_rules! for_tensors {
    ($($name:ident => $general:ident;)+) => {
        $(pub fn $name(a: &Tensor, b: &Tensor) -> Result<Tensor> {
            $general(Arg::Tensor(a), Arg::Tensor(b))
        })+
    };
}

for_tensors! {
    add => add_args;
    sub => sub_args;
    mul => mul_args;
    div => div_args;
    pow => pow_args;
    maximum => maximum_args;
    minimum => minimum_args;
}

pub fn add_scalar(a: &Tensor, b: Scalar) -> Result<Tensor> {
    add_args(Arg::Tensor(a), Arg::Scalar(b))
}

pub fn mul_scalar(a: &Tensor, b: Scalar) -> Result<Tensor> {
    mul_args(Arg::Tensor(a), Arg::Scalar(b))
}

/// The product of two numbers, in the wider of their kinds.
pub fn scalar_product(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::Complex(..), _) | (_, Scalar::Complex(..)) => {
            let ((x, y), (u, v)) = ((a.as_f64(), a.imaginary()), (b.as_f64(), b.imaginary()));
            Scalar::Complex(x * u - y * v, x * v + y * u)
        }
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => Scalar::Float(a.as_f64() * b.as_f64()),
        (Scalar::Bool(a), Scalar::Bool(b)) => Scalar::Bool(a && b),
        _ => Scalar::Int(a.as_i64().wrapping_mul(b.as_i64())),
    }
}

/// `alpha * b`, after torch's check that a fraction does not meet integers.
fn scaled(op: &str, a: Arg<'_>, b: Arg<'_>, alpha: Scalar) -> Result<Option<Tensor>> {
    let dtype = common_type([a, b]);
    if matches!(alpha, Scalar::Complex(..)) && !dtype.is_complex() {
        return error::runtime(format!(
            "{op}: For non-complex input tensors, argument alpha must not be a complex number."
        ));
    }
    if matches!(alpha, Scalar::Float(_)) && !dtype.is_differentiable() {
        return error::runtime(format!(
            "{op}: For integral input tensors, argument alpha must not be a floating point number."
        ));
    }
    super::creation::check_fill(alpha, dtype)?;
    if alpha == Scalar::Int(1) || alpha == Scalar::Bool(true) || dtype == DType::Bool && !alpha.is_zero() {
        return Ok(None);
    }
    match b {
        Arg::Tensor(b) => mul_scalar(b, alpha).map(Some),
        Arg::Scalar(b) => super::creation::full(
            &[],
            scalar_product(b, alpha),
            scalar_product(b, alpha).dtype(),
            crate::device::Device::Cpu,
        )
        .map(Some),
    }
}

/// `a + alpha * b`.
pub fn add_alpha(a: Arg<'_>, b: Arg<'_>, alpha: Option<Scalar>) -> Result<Tensor> {
    if let (Some(alpha), Arg::Tensor(a), Arg::Tensor(b)) = (alpha, a, b)
        && let Some(out) = super::combine::added(a, b, alpha, false)?
    {
        return Ok(out);
    }
    match alpha.map(|alpha| scaled("add", a, b, alpha)).transpose()?.flatten() {
        Some(b) => add_args(a, t(&b)),
        None => add_args(a, b),
    }
}

/// `a - alpha * b`.
pub fn sub_alpha(a: Arg<'_>, b: Arg<'_>, alpha: Option<Scalar>) -> Result<Tensor> {
    if let (Some(alpha), Arg::Tensor(a), Arg::Tensor(b)) = (alpha, a, b)
        && let Some(out) = super::combine::added(a, b, negative(alpha), false)?
    {
        return Ok(out);
    }
    match alpha.map(|alpha| scaled("sub", a, b, alpha)).transpose()?.flatten() {
        Some(b) => sub_args(a, t(&b)),
        None => sub_args(a, b),
    }
}

/// Minus a number; whole ones wrap around as elements do.
pub fn negative(x: Scalar) -> Scalar {
    match x {
        Scalar::Float(x) => Scalar::Float(-x),
        Scalar::Int(x) => Scalar::Int(x.wrapping_neg()),
        other => other,
    }
}
