//! Arithmetic and functions of complex elements: burn has none.
//!
//! Functions are written once, in float64, and complex64 goes through them: fewer kernels, and no overflow on the way.

use std::marker::PhantomData;

use rustfft::num_complex::{Complex, Complex64};

use super::binary::{Binary, Compare, Places};
use super::memory::Memory;
use super::pointwise::{Strided, map1, map2, map2_costly};
use super::reduce::{Reducer, reduce};
use super::reducers::Fold;
use super::unary::Unary;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::tensor::geometry::Geometry;

/// A complex element, widened for computing.
pub trait Wide: Copy + Send + Sync + PartialEq + 'static {
    /// The type of its parts.
    type Part: Copy;
    fn wide(self) -> Complex64;
    fn narrow(wide: Complex64) -> Self;
    fn part(value: f64) -> Self::Part;
}

macro_rules! wide {
    ($($part:ty),+) => { $(
        impl Wide for Complex<$part> {
            type Part = $part;
            #[inline(always)]
            fn wide(self) -> Complex64 {
                Complex::new(self.re.into(), self.im.into())
            }
            #[inline(always)]
            fn narrow(wide: Complex64) -> Self {
                Self::new(wide.re as $part, wide.im as $part)
            }
            #[inline(always)]
            fn part(value: f64) -> $part {
                value as $part
            }
        }
    )+ };
}

wide!(f32, f64);

/// Runs `$body` with `$T` as the element type of a complex dtype; `$else` for real ones.
macro_rules! with_complex {
    ($dtype:expr, $T:ident => $body:expr, else $else:expr) => {
        match $dtype {
            $crate::dtype::DType::C64 => {
                type $T = rustfft::num_complex::Complex32;
                $body
            }
            $crate::dtype::DType::C128 => {
                type $T = rustfft::num_complex::Complex64;
                $body
            }
            _ => $else,
        }
    };
}

pub(crate) use with_complex;

fn refuse<T>(name: &str, dtype: DType) -> Result<T> {
    error::dtype(format!("{name}: not implemented for '{}'", dtype.scalar_type()))
}

/// Writes `op(a, b)` to `out`; all three hold elements of `dtype`.
pub fn binary(op: Binary, name: &str, dtype: DType, at: Places<'_>) -> Result<()> {
    macro_rules! costly {
        ($f:expr) => {
            with_complex!(dtype, T => map2_costly::<T, T, T>(at.shape, at.out, at.a, at.b, |a, b| {
                T::narrow($f(a.wide(), b.wide()))
            }), else return refuse(name, dtype))
        };
    }
    macro_rules! cheap {
        ($f:expr) => {
            with_complex!(dtype, T => map2::<T, T, T>(at.shape, at.out, at.a, at.b, $f), else return refuse(name, dtype))
        };
    }
    match op {
        Binary::Add => cheap!(|a, b| a + b),
        Binary::Sub => cheap!(|a, b| a - b),
        Binary::Mul => cheap!(|a, b| a * b),
        Binary::Div => costly!(divide),
        Binary::Pow => costly!(power),
        _ => return refuse(name, dtype),
    }
    Ok(())
}

/// Smith's quotient: no overflow on the way, infinities where the divisor is zero.
pub fn divide(a: Complex64, b: Complex64) -> Complex64 {
    let (c, d) = (b.re.abs(), b.im.abs());
    if c == 0.0 && d == 0.0 {
        return Complex::new(a.re / c, a.im / d);
    }
    if c >= d {
        let ratio = b.im / b.re;
        let below = b.re + b.im * ratio;
        Complex::new((a.re + a.im * ratio) / below, (a.im - a.re * ratio) / below)
    } else {
        let ratio = b.re / b.im;
        let below = b.re * ratio + b.im;
        Complex::new((a.re * ratio + a.im) / below, (a.im * ratio - a.re) / below)
    }
}

fn power(base: Complex64, exponent: Complex64) -> Complex64 {
    let zero = Complex::new(0.0, 0.0);
    if exponent == zero {
        return Complex::new(1.0, 0.0);
    }
    if base == zero && exponent.re > 0.0 {
        return zero;
    }
    exp(exponent * log(base))
}

/// Writes the answers (bytes 0 and 1); complex numbers have no order.
pub fn compare(op: Compare, name: &str, dtype: DType, at: Places<'_>) -> Result<()> {
    let same = match op {
        Compare::Eq => 1,
        Compare::Ne => 0,
        _ => return refuse(name, dtype),
    };
    with_complex!(dtype, T => map2_costly::<T, T, u8>(at.shape, at.out, at.a, at.b, |a, b| u8::from(a == b) ^ same ^ 1),
        else return refuse(name, dtype));
    Ok(())
}

/// Writes `op(a)` to `out`; both hold elements of `dtype`.
pub fn unary(op: Unary, name: &str, dtype: DType, shape: &[usize], out: Strided<'_>, a: Strided<'_>) -> Result<()> {
    let Some(function) = function(op) else { return refuse(name, dtype) };
    map(dtype, name, shape, out, a, function)
}

/// Writes a function of each element.
pub fn map(
    dtype: DType,
    name: &str,
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    function: impl Fn(Complex64) -> Complex64 + Sync + Copy,
) -> Result<()> {
    with_complex!(dtype, T => map1::<T, T>(shape, out, a, move |x| T::narrow(function(x.wide()))),
        else return refuse(name, dtype));
    Ok(())
}

/// Writes a real number for each element.
pub fn map_real(
    dtype: DType,
    name: &str,
    shape: &[usize],
    out: Strided<'_>,
    a: Strided<'_>,
    function: impl Fn(Complex64) -> f64 + Sync + Copy,
) -> Result<()> {
    with_complex!(dtype, T => map1::<T, <T as Wide>::Part>(shape, out, a, move |x| T::part(function(x.wide()))),
        else return refuse(name, dtype));
    Ok(())
}

fn function(op: Unary) -> Option<fn(Complex64) -> Complex64> {
    Some(match op {
        Unary::Neg => |z| -z,
        Unary::Square => |z| z * z,
        Unary::Sqrt => sqrt,
        Unary::Rsqrt => |z| divide(Complex::new(1.0, 0.0), sqrt(z)),
        Unary::Reciprocal => |z| divide(Complex::new(1.0, 0.0), z),
        Unary::Exp => exp,
        Unary::Exp2 => |z| exp(z * std::f64::consts::LN_2),
        Unary::Expm1 => expm1,
        Unary::Log => log,
        Unary::Log2 => |z| log(z) / std::f64::consts::LN_2,
        Unary::Log10 => |z| log(z) / std::f64::consts::LN_10,
        Unary::Log1p => log1p,
        Unary::Sin => |z| Complex::new(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh()),
        Unary::Cos => |z| Complex::new(z.re.cos() * z.im.cosh(), -z.re.sin() * z.im.sinh()),
        Unary::Tan => |z| unturn(tanh(turn(z))),
        Unary::Asin => asin,
        Unary::Acos => acos,
        Unary::Atan => |z| unturn(atanh(turn(z))),
        Unary::Sinh => |z| Complex::new(z.re.sinh() * z.im.cos(), z.re.cosh() * z.im.sin()),
        Unary::Cosh => |z| Complex::new(z.re.cosh() * z.im.cos(), z.re.sinh() * z.im.sin()),
        Unary::Tanh => tanh,
        Unary::Asinh => |z| unturn(asin(turn(z))),
        Unary::Acosh => acosh,
        Unary::Atanh => atanh,
        Unary::Sinc => sinc,
        Unary::Sigmoid => |z| divide(Complex::new(1.0, 0.0), exp(-z) + 1.0),
        _ => return None,
    })
}

/// i z.
fn turn(z: Complex64) -> Complex64 {
    Complex::new(-z.im, z.re)
}

/// -i z.
fn unturn(z: Complex64) -> Complex64 {
    Complex::new(z.im, -z.re)
}

fn exp(z: Complex64) -> Complex64 {
    let size = z.re.exp();
    // Infinity times the sine of zero is still zero.
    if z.im == 0.0 { Complex::new(size, z.im) } else { Complex::new(size * z.im.cos(), size * z.im.sin()) }
}

fn expm1(z: Complex64) -> Complex64 {
    let half = (z.im / 2.0).sin();
    Complex::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

fn log(z: Complex64) -> Complex64 {
    let size = z.re.hypot(z.im);
    let logarithm = if (0.5..2.0).contains(&size) {
        // Near the unit circle the size has lost the digits that its logarithm is made of.
        let (high, low) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
        0.5 * ((high - 1.0) * (high + 1.0) + low * low).ln_1p()
    } else {
        size.ln()
    };
    Complex::new(logarithm, z.im.atan2(z.re))
}

fn log1p(z: Complex64) -> Complex64 {
    if z.re.abs() < 0.5 && z.im.abs() < 0.5 {
        let grown = z.re * (2.0 + z.re) + z.im * z.im;
        return Complex::new(0.5 * grown.ln_1p(), z.im.atan2(1.0 + z.re));
    }
    log(z + 1.0)
}

fn sqrt(z: Complex64) -> Complex64 {
    let size = z.re.hypot(z.im);
    if size == 0.0 {
        return Complex::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return Complex::new(f64::INFINITY, z.im);
    }
    let root = ((z.re.abs() + size) / 2.0).sqrt();
    if z.re >= 0.0 {
        Complex::new(root, z.im / (2.0 * root))
    } else {
        Complex::new(z.im.abs() / (2.0 * root), root.copysign(z.im))
    }
}

fn tanh(z: Complex64) -> Complex64 {
    if z.re.abs() > 22.0 {
        // The quotient of two exponentials that overflow: one, to every digit.
        let rest = 4.0 * z.im.sin() * z.im.cos() * (-2.0 * z.re.abs()).exp();
        return Complex::new(1f64.copysign(z.re), if z.im.is_finite() { rest } else { 0.0 });
    }
    let below = (2.0 * z.re).cosh() + (2.0 * z.im).cos();
    Complex::new((2.0 * z.re).sinh() / below, (2.0 * z.im).sin() / below)
}

// Kahan's formulas for the inverse functions: right on both sides of each cut.
fn asin(z: Complex64) -> Complex64 {
    let (minus, plus) = (sqrt(Complex::new(1.0 - z.re, -z.im)), sqrt(Complex::new(1.0 + z.re, z.im)));
    Complex::new(z.re.atan2((minus * plus).re), libm::asinh((minus.conj() * plus).im))
}

fn acos(z: Complex64) -> Complex64 {
    let (minus, plus) = (sqrt(Complex::new(1.0 - z.re, -z.im)), sqrt(Complex::new(1.0 + z.re, z.im)));
    Complex::new(2.0 * minus.re.atan2(plus.re), libm::asinh((plus.conj() * minus).im))
}

fn acosh(z: Complex64) -> Complex64 {
    let (minus, plus) = (sqrt(Complex::new(z.re - 1.0, z.im)), sqrt(Complex::new(z.re + 1.0, z.im)));
    Complex::new(libm::asinh((minus.conj() * plus).re), 2.0 * minus.im.atan2(plus.re))
}

fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let away = (1.0 - x) * (1.0 - x) + y * y;
    let size = 0.25 * (4.0 * x / away).ln_1p();
    let angle = 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y);
    Complex::new(size, angle)
}

fn sinc(z: Complex64) -> Complex64 {
    let angle = z * std::f64::consts::PI;
    if angle == Complex::new(0.0, 0.0) {
        return Complex::new(1.0, 0.0);
    }
    let sine = Complex::new(angle.re.sin() * angle.im.cosh(), angle.re.cos() * angle.im.sinh());
    divide(sine, angle)
}

/// `z / |z|`, zero at zero.
pub fn direction(z: Complex64) -> Complex64 {
    let size = z.re.hypot(z.im);
    if size == 0.0 { Complex::new(0.0, 0.0) } else { z / size }
}

/// The same of float32, whose squares are finite in float64.
#[inline(always)]
pub fn near_direction(z: Complex64) -> Complex64 {
    let size = (z.re * z.re + z.im * z.im).sqrt();
    // Zero over one is the zero it was.
    let size = if size == 0.0 { 1.0 } else { size };
    Complex::new(z.re / size, z.im / size)
}

/// Sums and products in complex128.
struct Totals<T, const ADD: bool> {
    mean: bool,
    item: PhantomData<T>,
}

impl<T: Wide, const ADD: bool> Reducer for Totals<T, ADD> {
    type Item = T;
    type Context = ();
    type Sum = Complex64;
    type Out = T;
    fn context(&self, _first: T) {}
    fn start(&self) -> Complex64 {
        Complex::new(if ADD { 0.0 } else { 1.0 }, 0.0)
    }
    #[inline(always)]
    fn step(&self, (): (), sum: Complex64, item: T) -> Complex64 {
        self.merge(sum, item.wide())
    }
    #[inline(always)]
    fn merge(&self, left: Complex64, right: Complex64) -> Complex64 {
        if ADD { left + right } else { left * right }
    }
    fn finish(&self, sum: Complex64, count: usize) -> T {
        T::narrow(if self.mean { sum / count as f64 } else { sum })
    }
}

/// Runs a fold over the slices along `dims`.
///
/// # Safety
/// As `reduce`, with elements of `dtype`.
pub unsafe fn fold(
    which: Fold,
    dtype: DType,
    input: Memory,
    geometry: &Geometry,
    dims: &[usize],
    output: Memory,
) -> Result<()> {
    // SAFETY: the caller vouches for memory and geometry.
    with_complex!(dtype, T => unsafe {
        match which {
            Fold::Sum => reduce(&Totals::<T, true> { mean: false, item: PhantomData }, input, geometry, dims, output),
            Fold::Mean => reduce(&Totals::<T, true> { mean: true, item: PhantomData }, input, geometry, dims, output),
            Fold::Prod => reduce(&Totals::<T, false> { mean: false, item: PhantomData }, input, geometry, dims, output),
            _ => return refuse("reduce", dtype),
        }
    }, else return refuse("reduce", dtype));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Complex64, re: f64, im: f64) -> bool {
        (a.re - re).abs() < 1e-14 && (a.im - im).abs() < 1e-14
    }

    #[test]
    fn functions_and_their_inverses_agree() {
        let z = Complex::new(0.3, -0.7);
        for (one, other) in [
            (Unary::Sin, Unary::Asin),
            (Unary::Cos, Unary::Acos),
            (Unary::Tan, Unary::Atan),
            (Unary::Sinh, Unary::Asinh),
            (Unary::Tanh, Unary::Atanh),
            (Unary::Exp, Unary::Log),
            (Unary::Expm1, Unary::Log1p),
        ] {
            let (Some(direct), Some(inverse)) = (function(one), function(other)) else { continue };
            assert!(close(direct(inverse(z)), z.re, z.im), "{one:?}");
        }
    }

    #[test]
    fn a_quotient_does_not_overflow_on_the_way() {
        let huge = Complex::new(1e300, 1e300);
        assert!(close(divide(huge, huge), 1.0, 0.0));
        assert!(divide(Complex::new(1.0, 1.0), Complex::new(0.0, 0.0)).re.is_infinite());
    }
}
