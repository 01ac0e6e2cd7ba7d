//! Hyperbolic functions, tangent and sinc of float64 without branches (benchmarks/bars.py: elementwise).
//!
//! `FMA` is as in `math`.

use std::f64::consts::PI;

use super::double::{Double, FARTHEST_ANGLE, exp, expm1, fma, turned};
use super::special;

#[inline(always)]
fn sinh<const FMA: bool>(x: f64) -> f64 {
    let more = expm1::<FMA>(x.abs());
    (0.5 * (more + more / (more + 1.0))).copysign(x)
}

#[inline(always)]
fn cosh<const FMA: bool>(x: f64) -> f64 {
    let power = exp::<FMA>(x.abs());
    fma::<FMA>(0.5, power, 0.5 / power)
}

#[inline(always)]
fn tan<const FMA: bool>(x: f64) -> f64 {
    let value = turned::<FMA>(x, 0) / turned::<FMA>(x, 1);
    if x == 0.0 { x } else { value }
}

#[inline(always)]
fn sinc<const FMA: bool>(x: f64) -> f64 {
    let angle = PI * x;
    let value = turned::<FMA>(angle, 0) / angle;
    if x == 0.0 { 1.0 } else { value }
}

/// Functions with a magnitude above which they are computed one by one.
macro_rules! functions {
    ($($name:ident, $fma:ident, |$x:ident| $value:expr, $most:expr, $far:expr;)+) => {
        $(pub struct $name;

        impl Double for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, $x: f64) -> f64 {
                $value
            }
            #[inline(always)]
            fn is_far(&self, x: f64) -> bool {
                x.abs() > $most
            }
            fn far(&self, $x: f64) -> f64 {
                $far
            }
        })+
    };
}

functions! {
    Sinh, F, |x| sinh::<F>(x), 709.0, x.sinh();
    Cosh, F, |x| cosh::<F>(x), 709.0, x.cosh();
    Tan, F, |x| tan::<F>(x), FARTHEST_ANGLE, x.tan();
    Sinc, F, |x| sinc::<F>(x), FARTHEST_ANGLE / PI, special::sinc(x);
}
