//! Two-operand functions of each element type over CPU memory (benchmarks/cases.py: large_add).

use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};

use super::curves::{Add, Atan2, Div, FloorDivide, Fmod, Hypot, LogAddExp, Mul, Pow, Remainder, Sub, Xlogy};
use super::number::{Integer, Number};
use super::pointwise::{Strided, map_halves, map2, map2_costly};
use super::vector::Lanes;
use super::{arctan, complex, division, halves, vector};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::{with_bits, with_integer, with_number};

/// Elements of a row from which on it is computed in vectors as wide as the processor has.
const VECTOR: usize = 64;

/// A function of two elements of one type with a result of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    TruncDiv,
    Remainder,
    Fmod,
    Pow,
    Max,
    Min,
    Fmax,
    Fmin,
    And,
    Or,
    Xor,
    Left,
    Right,
    Gcd,
    Lcm,
    Atan2,
    Hypot,
    Copysign,
    NextAfter,
    LogAddExp,
    LogAddExp2,
    Xlogy,
    Xlog1py,
    Heaviside,
}

/// A question about two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Where the operands and the result lie.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    pub shape: &'a [usize],
    pub out: Strided<'a>,
    pub a: Strided<'a>,
    pub b: Strided<'a>,
}

/// Writes `op(a, b)` to `out`; all three hold elements of `dtype`.
pub fn binary(op: Binary, name: &str, dtype: DType, at: Places<'_>) -> Result<()> {
    let refuse = || complex::binary(op, name, dtype, at);
    if dtype.is_half() && op != Binary::NextAfter {
        let float = |to: &mut [f32], [a, b]: [&[f32]; 2]| {
            let line = |pointer: *const f32| Strided { pointer: pointer.cast_mut().cast(), strides: &[1], offset: 0 };
            let (out, shape) = (line(to.as_ptr()), [to.len()]);
            let at = Places { shape: &shape, out, a: line(a.as_ptr()), b: line(b.as_ptr()) };
            // What float32 has not, the halves have neither.
            let _ = binary(op, name, DType::F32, at);
        };
        match op {
            Binary::Add => halves::map2(dtype, at.shape, at.out, at.a, at.b, &Add {}),
            Binary::Sub => halves::map2(dtype, at.shape, at.out, at.a, at.b, &Sub {}),
            Binary::Mul => halves::map2(dtype, at.shape, at.out, at.a, at.b, &Mul {}),
            Binary::Div => halves::map2(dtype, at.shape, at.out, at.a, at.b, &Div {}),
            _ => map_halves::<2, 3>(dtype, at.shape, at.out, [at.a, at.b], &float),
        }
        return Ok(());
    }
    if dtype == DType::F32 && vector::is_fused() {
        match op {
            Binary::Fmod => return lanes(at, &Fmod {}),
            Binary::Remainder => return lanes(at, &Remainder {}),
            Binary::FloorDiv => return lanes(at, &FloorDivide {}),
            Binary::Atan2 => return lanes(at, &Atan2 {}),
            Binary::Hypot => return lanes(at, &Hypot {}),
            Binary::LogAddExp => return lanes(at, &LogAddExp {}),
            Binary::Xlogy => return lanes(at, &Xlogy {}),
            _ => {}
        }
    }
    if dtype == DType::F64 && op == Binary::Atan2 {
        arctan::atan2(at.shape, at.out, at.a, at.b);
        return Ok(());
    }
    match op {
        Binary::Pow if is_cube(dtype, at.b) => match dtype {
            DType::F32 => map2::<f32, f32, f32>(at.shape, at.out, at.a, at.b, |x, _| x * x * x),
            _ => map2::<f64, f64, f64>(at.shape, at.out, at.a, at.b, |x, _| x * x * x),
        },
        Binary::Add if dtype == DType::Bool => cheap::<u8>(at, Integer::or),
        Binary::Mul if dtype == DType::Bool => cheap::<u8>(at, Integer::and),
        Binary::Add if in_vectors(dtype, at) || shares_rows(dtype, at) => {
            vector::map2(at.shape, at.out, at.a, at.b, &Add {})
        }
        Binary::Sub if in_vectors(dtype, at) || shares_rows(dtype, at) => {
            vector::map2(at.shape, at.out, at.a, at.b, &Sub {})
        }
        Binary::Mul if in_vectors(dtype, at) || shares_rows(dtype, at) => {
            vector::map2(at.shape, at.out, at.a, at.b, &Mul {})
        }
        Binary::Add => with_bits!(dtype, T => cheap::<T>(at, Number::add), else return refuse()),
        Binary::Sub => with_bits!(dtype, T => cheap::<T>(at, Number::sub), else return refuse()),
        Binary::Mul => with_bits!(dtype, T => cheap::<T>(at, Number::mul), else return refuse()),
        Binary::Div if shares_rows(dtype, at) => vector::map2(at.shape, at.out, at.a, at.b, &Div {}),
        Binary::Div if dtype.is_float() => {
            with_number!(dtype, T => cheap::<T>(at, Number::div), else return refuse())
        }
        Binary::Max => with_number!(dtype, T => cheap::<T>(at, Number::max), else return refuse()),
        Binary::Min => with_number!(dtype, T => cheap::<T>(at, Number::min), else return refuse()),
        Binary::Fmax => with_number!(dtype, T => costly::<T>(at, Number::fmax), else return refuse()),
        Binary::Fmin => with_number!(dtype, T => costly::<T>(at, Number::fmin), else return refuse()),
        // Vectors of two float64 take longer than single numbers.
        Binary::Pow if dtype == DType::F32 && vector::is_fused() => {
            vector::map2(at.shape, at.out, at.a, at.b, &Pow);
        }
        Binary::Pow => with_number!(dtype, T => costly::<T>(at, Number::pow), else return refuse()),
        Binary::Div | Binary::TruncDiv => return divide(dtype, at, refuse, Division::Trunc),
        Binary::FloorDiv => return divide(dtype, at, refuse, Division::Floor),
        Binary::Remainder => return divide(dtype, at, refuse, Division::Remainder),
        Binary::Fmod => return divide(dtype, at, refuse, Division::Fmod),
        Binary::Heaviside => with_number!(dtype, T => costly::<T>(at, heaviside), else return refuse()),
        Binary::And => with_integer!(dtype, T => cheap::<T>(at, Integer::and), else return refuse()),
        Binary::Or => with_integer!(dtype, T => cheap::<T>(at, Integer::or), else return refuse()),
        Binary::Xor => with_integer!(dtype, T => cheap::<T>(at, Integer::xor), else return refuse()),
        Binary::Left => with_integer!(dtype, T => costly::<T>(at, Integer::left), else return refuse()),
        Binary::Right => with_integer!(dtype, T => costly::<T>(at, Integer::right), else return refuse()),
        Binary::Gcd => with_integer!(dtype, T => costly::<T>(at, Integer::gcd), else return refuse()),
        Binary::Lcm => with_integer!(dtype, T => costly::<T>(at, lcm), else return refuse()),
        Binary::Copysign if dtype == DType::F32 => cheap::<f32>(at, f32::copysign),
        Binary::Copysign if dtype == DType::F64 => cheap::<f64>(at, f64::copysign),
        Binary::NextAfter => match dtype {
            DType::F32 => cheap::<f32>(at, next_single),
            DType::F64 => cheap::<f64>(at, next_double),
            _ => return refuse(),
        },
        _ => return float(op, dtype, at, refuse),
    }
    Ok(())
}

/// The float after `a` on the way to `b`, without branches: `libm`'s takes fifteen times as long.
macro_rules! next {
    ($name:ident, $T:ty) => {
        #[inline(always)]
        fn $name(a: $T, b: $T) -> $T {
            let away = (a < b) == (a > 0.0);
            let bits = a.to_bits();
            let step = <$T>::from_bits(if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) });
            let least = <$T>::from_bits(1).copysign(b);
            let next = if a == 0.0 { least } else { step };
            let next = if a == b { b } else { next };
            if a.is_nan() | b.is_nan() { a + b } else { next }
        }
    };
}

next!(next_single, f32);
next!(next_double, f64);

fn lanes(at: Places<'_>, f: &impl Lanes<2>) -> Result<()> {
    vector::map2(at.shape, at.out, at.a, at.b, f);
    Ok(())
}

/// Whether all numbers are raised to the third power, which torch, too, takes as products.
fn is_cube(dtype: DType, b: Strided<'_>) -> bool {
    let same = b.strides.iter().all(|&step| step == 0);
    // SAFETY: an operand has one element at least, of the dtype matched on.
    unsafe {
        match dtype {
            DType::F32 if same => b.at::<f32>(b.offset).read_unaligned() == 3.0,
            DType::F64 if same => b.at::<f64>(b.offset).read_unaligned() == 3.0,
            _ => false,
        }
    }
}

/// Whether many floats lie side by side in a result that is not an operand, and in both operands along some dimension.
fn in_vectors(dtype: DType, at: Places<'_>) -> bool {
    let last = |view: &Strided<'_>| view.strides.last().copied().unwrap_or(0);
    let along = |view: &Strided<'_>| last(view) == 1 || last(view) > 1 && view.strides.contains(&1);
    dtype == DType::F32
        && last(&at.out) == 1
        && along(&at.a)
        && along(&at.b)
        && at.shape.last().is_some_and(|&length| length >= VECTOR)
        && at.out.pointer != at.a.pointer
        && at.out.pointer != at.b.pointer
}

/// Whether short rows of floats lie one behind the other, and are the same for all rows in some operand: `vector` takes them
/// together.
fn shares_rows(dtype: DType, at: Places<'_>) -> bool {
    let sizes = || at.out.strides.iter().zip(at.shape);
    let Some(row) = sizes().position(|(&stride, &size)| stride == 1 && (2..=vector::SHORT).contains(&size)) else {
        return false;
    };
    let length = at.shape[row];
    let Some(next) = sizes().position(|(&stride, &size)| stride == length && size >= vector::SHORT) else {
        return false;
    };
    let fits = |view: &Strided<'_>| view.strides[row] == 1 && [0, length].contains(&view.strides[next]);
    dtype == DType::F32 && fits(&at.a) && fits(&at.b) && at.a.strides[next] != at.b.strides[next]
}

fn cheap<T: Number>(at: Places<'_>, f: impl Fn(T, T) -> T + Sync + Copy) {
    map2::<T, T, T>(at.shape, at.out, at.a, at.b, f);
}

fn costly<T: Number>(at: Places<'_>, f: impl Fn(T, T) -> T + Sync) {
    map2_costly::<T, T, T>(at.shape, at.out, at.a, at.b, f);
}

enum Division {
    Trunc,
    Floor,
    Remainder,
    Fmod,
}

/// Integer divisions by zero raise what torch raises on the CPU.
fn divide(dtype: DType, at: Places<'_>, refuse: impl Fn() -> Result<()>, how: Division) -> Result<()> {
    if dtype == DType::Bool {
        return refuse();
    }
    if dtype == DType::F64 && vector::is_fused() {
        match how {
            Division::Trunc => {}
            Division::Remainder => cheap::<f64>(at, division::remainder),
            Division::Fmod => cheap::<f64>(at, division::fmod),
            Division::Floor => cheap::<f64>(at, |a, b| if b == 0.0 { a / b } else { division::floor_div(a, b) }),
        }
        if !matches!(how, Division::Trunc) {
            return Ok(());
        }
    }
    let zero = AtomicBool::new(false);
    let watched = dtype.is_int();
    macro_rules! run {
        ($T:ty, $f:expr) => {
            costly::<$T>(at, |a, b| {
                if watched && Number::is_zero(b) {
                    zero.store(true, Ordering::Relaxed);
                }
                $f(a, b)
            })
        };
    }
    with_number!(dtype, T => match how {
        Division::Trunc => run!(T, <T as Number>::trunc_div),
        Division::Floor => run!(T, <T as Number>::floor_div),
        Division::Remainder => run!(T, <T as Number>::remainder),
        Division::Fmod => run!(T, <T as Number>::fmod),
    }, else return refuse());
    if zero.into_inner() { error::runtime("ZeroDivisionError") } else { Ok(()) }
}

fn heaviside<T: Number>(x: T, at_zero: T) -> T {
    if x.is_zero() {
        at_zero
    } else if x > T::ZERO {
        T::ONE
    } else {
        // NaN too, as in torch.
        T::ZERO
    }
}

fn lcm<T: Integer>(a: T, b: T) -> T {
    let divisor = a.gcd(b);
    if divisor.is_zero() { T::ZERO } else { a.div(divisor).mul(b).abs() }
}

/// Functions of two floats, computed in float64 for float64 and in float32 for the rest.
fn float(op: Binary, dtype: DType, at: Places<'_>, refuse: impl Fn() -> Result<()>) -> Result<()> {
    let Some((single, double)) = functions(op) else { return refuse() };
    match dtype {
        DType::F32 => costly::<f32>(at, single),
        DType::F64 => costly::<f64>(at, double),
        DType::F16 => costly::<f16>(at, |a, b| f16::from_f32(single(a.to_f32(), b.to_f32()))),
        DType::BF16 => costly::<bf16>(at, |a, b| bf16::from_f32(single(a.to_f32(), b.to_f32()))),
        _ => return refuse(),
    }
    Ok(())
}

type Functions = (fn(f32, f32) -> f32, fn(f64, f64) -> f64);

fn functions(op: Binary) -> Option<Functions> {
    Some(match op {
        Binary::Atan2 => (f32::atan2, f64::atan2),
        Binary::Hypot => (f32::hypot, f64::hypot),
        Binary::Copysign => (f32::copysign, f64::copysign),
        Binary::LogAddExp => (|a, b| log_add_exp(f64::from(a), f64::from(b)) as f32, log_add_exp),
        Binary::LogAddExp2 => (|a, b| log_add_exp2(f64::from(a), f64::from(b)) as f32, log_add_exp2),
        Binary::Xlogy => (|x, y| times_log(x, y, f32::ln), |x, y| times_log(x, y, f64::ln)),
        Binary::Xlog1py => (|x, y| times_log(x, y, f32::ln_1p), |x, y| times_log(x, y, f64::ln_1p)),
        _ => return None,
    })
}

fn log_add_exp(a: f64, b: f64) -> f64 {
    if a == b && a.is_infinite() {
        return a;
    }
    a.max(b) + if a.is_nan() || b.is_nan() { f64::NAN } else { (-(a - b).abs()).exp().ln_1p() }
}

fn log_add_exp2(a: f64, b: f64) -> f64 {
    if a == b && a.is_infinite() {
        return a;
    }
    let rest = (-(a - b).abs()).exp2().ln_1p() / std::f64::consts::LN_2;
    a.max(b) + if a.is_nan() || b.is_nan() { f64::NAN } else { rest }
}

/// `x * log(y)`, zero where x is, unless y is NaN.
fn times_log<T: Number>(x: T, y: T, log: impl Fn(T) -> T) -> T {
    if y.is_nan() {
        y
    } else if x.is_zero() {
        T::ZERO
    } else {
        x.mul(log(y))
    }
}

/// Writes the answers (bytes 0 and 1) for elements of `dtype`.
pub fn compare(op: Compare, name: &str, dtype: DType, at: Places<'_>) -> Result<()> {
    macro_rules! run {
        ($T:ty, $f:expr) => {
            map2::<$T, $T, u8>(at.shape, at.out, at.a, at.b, $f)
        };
    }
    with_bits!(dtype, T => match op {
        Compare::Eq => {
            run!(T, |a, b| u8::from(a == b));
            return Ok(());
        }
        Compare::Ne => {
            run!(T, |a, b| u8::from(a != b));
            return Ok(());
        }
        _ => {}
    }, else {
        return complex::compare(op, name, dtype, at);
    });
    with_number!(dtype, T => match op {
        Compare::Eq | Compare::Ne => {}
        Compare::Lt => run!(T, |a, b| u8::from(a < b)),
        Compare::Le => run!(T, |a, b| u8::from(a <= b)),
        Compare::Gt => run!(T, |a, b| u8::from(a > b)),
        Compare::Ge => run!(T, |a, b| u8::from(a >= b)),
    }, else return complex::compare(op, name, dtype, at));
    Ok(())
}
