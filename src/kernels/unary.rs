//! One-operand functions of each element type over CPU memory (benchmarks/cases.py: large_exp, large_gelu).

use super::curves::{Acos, Asin, Atan, Atanh, Ceil, Cos, Erf, Erfc, Exp, Exp2, Expm1, Floor, Log, Log1p, Log2, Log10};
use super::curves::{Reciprocal, Relu, Round, Rsqrt, Sigmoid, Sin, Sqrt, Square, Tan, Tanh, Trunc};
use super::number::Number;
use super::pointwise::{Strided, map_halves, map1};
use super::{arctan, complex, double, gamma, halves, special, vector, waves};
use crate::dtype::DType;
use crate::error::Result;
use crate::with_number;

/// A function of one element with a result of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Square,
    Relu,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Ceil,
    Floor,
    Round,
    Trunc,
    Frac,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Erfinv,
    Lgamma,
    Digamma,
    Sinc,
    Sigmoid,
    /// Of a real number as a complex one: zero or pi.
    Angle,
}

/// Writes `op(a)` to `out`; both hold elements of `dtype`.
pub fn unary(op: Unary, name: &str, dtype: DType, shape: &[usize], out: Strided<'_>, a: Strided<'_>) -> Result<()> {
    let refuse = || complex::unary(op, name, dtype, shape, out, a);
    macro_rules! numbers {
        ($f:expr) => {
            with_number!(dtype, T => map1::<T, T>(shape, out, a, $f), else return refuse())
        };
    }
    if dtype.is_half() && !matches!(op, Unary::Neg | Unary::Abs) {
        if short_halves(op, dtype, shape, out, a) {
            return Ok(());
        }
        let float = |to: &mut [f32], [from]: [&[f32]; 1]| {
            let line = |pointer: *const f32| Strided { pointer: pointer.cast_mut().cast(), strides: &[1], offset: 0 };
            let shape = [to.len()];
            // float32 has all of these functions.
            let _ = unary(op, name, DType::F32, &shape, line(to.as_ptr()), line(from.as_ptr()));
        };
        map_halves::<1, 2>(dtype, shape, out, [a], &float);
        return Ok(());
    }
    match op {
        Unary::Neg => numbers!(Number::neg),
        Unary::Abs => numbers!(Number::abs),
        Unary::Sign => numbers!(Number::sign),
        Unary::Square => numbers!(|x| Number::mul(x, x)),
        Unary::Relu if dtype == DType::F32 => vector::map1(shape, out, a, &Relu {}),
        Unary::Relu => numbers!(|x| Number::max(x, Number::ZERO)),
        // Integers are round already.
        Unary::Ceil | Unary::Floor | Unary::Round | Unary::Trunc if dtype.is_int() => numbers!(|x| x),
        _ => {
            let (single, double) = functions(op);
            match dtype {
                DType::F32 => float32(op, shape, out, a, single),
                DType::F64 => float64(op, shape, out, a, double),
                _ => return refuse(),
            }
        }
    }
    Ok(())
}

/// The functions that take less time than the steps between 16-bit floats and float32; false, with nothing done, for
/// the others.
fn short_halves(op: Unary, dtype: DType, shape: &[usize], out: Strided<'_>, a: Strided<'_>) -> bool {
    match op {
        Unary::Relu => halves::map1(dtype, shape, out, a, &Relu {}),
        Unary::Square => halves::map1(dtype, shape, out, a, &Square {}),
        Unary::Sqrt => halves::map1(dtype, shape, out, a, &Sqrt {}),
        Unary::Rsqrt => halves::map1(dtype, shape, out, a, &Rsqrt),
        Unary::Reciprocal => halves::map1(dtype, shape, out, a, &Reciprocal {}),
        Unary::Ceil => halves::map1(dtype, shape, out, a, &Ceil {}),
        Unary::Floor => halves::map1(dtype, shape, out, a, &Floor {}),
        Unary::Round => halves::map1(dtype, shape, out, a, &Round {}),
        Unary::Trunc => halves::map1(dtype, shape, out, a, &Trunc {}),
        Unary::Exp => halves::map1(dtype, shape, out, a, &Exp),
        Unary::Tanh => halves::map1(dtype, shape, out, a, &Tanh),
        Unary::Sigmoid => halves::map1(dtype, shape, out, a, &Sigmoid),
        _ => return false,
    }
    true
}

/// The functions that cost less than a call are inlined into their loop.
fn float32(op: Unary, shape: &[usize], out: Strided<'_>, a: Strided<'_>, single: fn(f32) -> f32) {
    match op {
        Unary::Sqrt => map1::<f32, f32>(shape, out, a, f32::sqrt),
        Unary::Ceil => map1::<f32, f32>(shape, out, a, f32::ceil),
        Unary::Floor => map1::<f32, f32>(shape, out, a, f32::floor),
        Unary::Round => map1::<f32, f32>(shape, out, a, f32::round_ties_even),
        Unary::Trunc => map1::<f32, f32>(shape, out, a, f32::trunc),
        Unary::Frac => map1::<f32, f32>(shape, out, a, |x| x - x.trunc()),
        Unary::Rsqrt => vector::map1(shape, out, a, &Rsqrt),
        Unary::Reciprocal => map1::<f32, f32>(shape, out, a, |x| 1.0 / x),
        Unary::Exp => vector::map1(shape, out, a, &Exp),
        Unary::Exp2 => vector::map1(shape, out, a, &Exp2),
        Unary::Expm1 => vector::map1(shape, out, a, &Expm1),
        Unary::Log => vector::map1(shape, out, a, &Log),
        Unary::Log2 => vector::map1(shape, out, a, &Log2),
        Unary::Log10 => vector::map1(shape, out, a, &Log10),
        Unary::Log1p => vector::map1(shape, out, a, &Log1p),
        Unary::Sin => vector::map1(shape, out, a, &Sin),
        Unary::Cos => vector::map1(shape, out, a, &Cos),
        Unary::Tan => vector::map1(shape, out, a, &Tan),
        Unary::Asin => vector::map1(shape, out, a, &Asin),
        Unary::Acos => vector::map1(shape, out, a, &Acos),
        Unary::Atan => vector::map1(shape, out, a, &Atan),
        Unary::Tanh => vector::map1(shape, out, a, &Tanh),
        Unary::Atanh => vector::map1(shape, out, a, &Atanh),
        Unary::Erf => vector::map1(shape, out, a, &Erf),
        Unary::Erfc => vector::map1(shape, out, a, &Erfc),
        Unary::Erfinv => double::map::<f32, _>(shape, out, a, double::SingleErfinv),
        Unary::Sinh => double::map::<f32, _>(shape, out, a, waves::Sinh),
        Unary::Cosh => double::map::<f32, _>(shape, out, a, waves::Cosh),
        Unary::Sinc => double::map::<f32, _>(shape, out, a, waves::Sinc),
        Unary::Lgamma => double::map::<f32, _>(shape, out, a, gamma::SingleLgamma),
        Unary::Digamma => double::map::<f32, _>(shape, out, a, gamma::Digamma),
        Unary::Angle => map1::<f32, f32>(shape, out, a, angle_single),
        Unary::Sigmoid => vector::map1(shape, out, a, &Sigmoid),
        _ => map1::<f32, f32>(shape, out, a, single),
    }
}

/// As `float32`.
fn float64(op: Unary, shape: &[usize], out: Strided<'_>, a: Strided<'_>, function: fn(f64) -> f64) {
    match op {
        Unary::Sqrt => map1::<f64, f64>(shape, out, a, f64::sqrt),
        Unary::Rsqrt => map1::<f64, f64>(shape, out, a, |x| 1.0 / x.sqrt()),
        Unary::Reciprocal => map1::<f64, f64>(shape, out, a, |x| 1.0 / x),
        Unary::Ceil => map1::<f64, f64>(shape, out, a, f64::ceil),
        Unary::Floor => map1::<f64, f64>(shape, out, a, f64::floor),
        Unary::Round => map1::<f64, f64>(shape, out, a, f64::round_ties_even),
        Unary::Trunc => map1::<f64, f64>(shape, out, a, f64::trunc),
        Unary::Frac => map1::<f64, f64>(shape, out, a, |x| x - x.trunc()),
        Unary::Exp => double::map::<f64, _>(shape, out, a, double::Exp),
        Unary::Exp2 => double::map::<f64, _>(shape, out, a, double::Exp2),
        Unary::Expm1 => double::map::<f64, _>(shape, out, a, double::Expm1),
        Unary::Log => double::map::<f64, _>(shape, out, a, double::Log),
        Unary::Log2 => double::map::<f64, _>(shape, out, a, double::Log2),
        Unary::Log10 => double::map::<f64, _>(shape, out, a, double::Log10),
        Unary::Log1p => double::map::<f64, _>(shape, out, a, double::Log1p),
        Unary::Sin => double::map::<f64, _>(shape, out, a, double::Sin),
        Unary::Cos => double::map::<f64, _>(shape, out, a, double::Cos),
        Unary::Asin => double::map::<f64, _>(shape, out, a, double::Asin),
        Unary::Acos => double::map::<f64, _>(shape, out, a, double::Acos),
        Unary::Atan => double::map::<f64, _>(shape, out, a, arctan::Atan),
        Unary::Atanh => double::map::<f64, _>(shape, out, a, double::Atanh),
        Unary::Tanh => double::map::<f64, _>(shape, out, a, double::Tanh),
        Unary::Sigmoid => double::map::<f64, _>(shape, out, a, double::Sigmoid),
        Unary::Erf => double::map::<f64, _>(shape, out, a, double::Erf),
        Unary::Erfc => double::map::<f64, _>(shape, out, a, double::Erfc),
        Unary::Erfinv => double::map::<f64, _>(shape, out, a, double::Erfinv),
        Unary::Tan => double::map::<f64, _>(shape, out, a, waves::Tan),
        Unary::Sinh => double::map::<f64, _>(shape, out, a, waves::Sinh),
        Unary::Cosh => double::map::<f64, _>(shape, out, a, waves::Cosh),
        Unary::Sinc => double::map::<f64, _>(shape, out, a, waves::Sinc),
        Unary::Lgamma => double::map::<f64, _>(shape, out, a, gamma::Lgamma),
        Unary::Digamma => double::map::<f64, _>(shape, out, a, gamma::Digamma),
        Unary::Angle => map1::<f64, f64>(shape, out, a, angle_double),
        _ => map1::<f64, f64>(shape, out, a, function),
    }
}

/// Zero or pi; a NaN has no angle.
macro_rules! angle {
    ($name:ident, $T:ident) => {
        #[inline(always)]
        fn $name(x: $T) -> $T {
            let angle = if x < 0.0 { std::$T::consts::PI } else { 0.0 };
            if x.is_nan() { x } else { angle }
        }
    };
}

angle!(angle_single, f32);
angle!(angle_double, f64);

type Functions = (fn(f32) -> f32, fn(f64) -> f64);

fn functions(op: Unary) -> Functions {
    match op {
        Unary::Neg => (|x| -x, |x| -x),
        Unary::Abs => (f32::abs, f64::abs),
        Unary::Sign => (Number::sign, Number::sign),
        Unary::Square => (|x| x * x, |x| x * x),
        Unary::Relu => (|x| Number::max(x, 0.0), |x| Number::max(x, 0.0)),
        Unary::Sqrt => (f32::sqrt, f64::sqrt),
        Unary::Rsqrt => (|x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt()),
        Unary::Reciprocal => (|x| 1.0 / x, |x| 1.0 / x),
        Unary::Ceil => (f32::ceil, f64::ceil),
        Unary::Floor => (f32::floor, f64::floor),
        Unary::Round => (f32::round_ties_even, f64::round_ties_even),
        Unary::Trunc => (f32::trunc, f64::trunc),
        Unary::Frac => (|x| x - x.trunc(), |x| x - x.trunc()),
        Unary::Exp => (f32::exp, f64::exp),
        Unary::Exp2 => (f32::exp2, f64::exp2),
        Unary::Expm1 => (f32::exp_m1, f64::exp_m1),
        Unary::Log => (f32::ln, f64::ln),
        Unary::Log2 => (f32::log2, f64::log2),
        Unary::Log10 => (f32::log10, f64::log10),
        Unary::Log1p => (f32::ln_1p, f64::ln_1p),
        Unary::Sin => (f32::sin, f64::sin),
        Unary::Cos => (f32::cos, f64::cos),
        Unary::Tan => (f32::tan, f64::tan),
        Unary::Asin => (f32::asin, f64::asin),
        Unary::Acos => (f32::acos, f64::acos),
        Unary::Atan => (f32::atan, f64::atan),
        Unary::Sinh => (f32::sinh, f64::sinh),
        Unary::Cosh => (f32::cosh, f64::cosh),
        Unary::Tanh => (f32::tanh, f64::tanh),
        Unary::Asinh => (libm::asinhf, libm::asinh),
        // libm's float32 version answers for numbers below -1.
        Unary::Acosh => (|x| if x < 1.0 { f32::NAN } else { libm::acoshf(x) }, libm::acosh),
        Unary::Atanh => (libm::atanhf, libm::atanh),
        Unary::Erf => (libm::erff, libm::erf),
        Unary::Erfc => (libm::erfcf, libm::erfc),
        Unary::Erfinv => (|x| double::one(double::Erfinv, f64::from(x)) as f32, |x| double::one(double::Erfinv, x)),
        Unary::Lgamma => (|x| libm::lgamma(f64::from(x)) as f32, libm::lgamma),
        Unary::Digamma => (|x| special::digamma(f64::from(x)) as f32, special::digamma),
        Unary::Sinc => (|x| special::sinc(f64::from(x)) as f32, special::sinc),
        Unary::Sigmoid => (|x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp())),
        Unary::Angle => (angle_single, angle_double),
    }
}
