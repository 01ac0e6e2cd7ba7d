//! The gamma function's relatives in float64 without branches (benchmarks/bars.py: elementwise).
//!
//! `FMA` is as in `math`. Below `FROM` the recurrence leads up to Stirling's series, below zero the reflection.

use std::f64::consts::PI;

use super::double::{Double, fma, log, polynomial, turned};

/// From where on the series are taken, and how many steps lead there.
const FROM: f64 = 7.0;

/// Of the square of `1 / z`, the series of the logarithm over `1 / z`.
const STIRLING: [f64; 8] = [
    -3617.0 / 122_400.0,
    1.0 / 156.0,
    -691.0 / 360_360.0,
    1.0 / 1188.0,
    -1.0 / 1680.0,
    1.0 / 1260.0,
    -1.0 / 360.0,
    1.0 / 12.0,
];
/// The same of its first derivative, over the square.
const FIRST: [f64; 8] =
    [3617.0 / 8160.0, -1.0 / 12.0, 691.0 / 32_760.0, -1.0 / 132.0, 1.0 / 240.0, -1.0 / 252.0, 1.0 / 120.0, -1.0 / 12.0];
/// The same of its second one, over the third power.
const SECOND: [f64; 8] =
    [-3617.0 / 510.0, 7.0 / 6.0, -691.0 / 2730.0, 5.0 / 66.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0];
/// `lgamma(2 + d) / d` by `d` from one quarter on, for `d` between -1/2 and 1.
const NEAR: [f64; 22] = [
    1.630_543_235_212_733_2e-9,
    -3.834_164_926_411_226e-9,
    3.990_275_038_619_519e-9,
    -9.476_708_580_862_644e-9,
    2.931_611_095_564_789e-8,
    -6.982_338_015_073_525e-8,
    1.618_200_504_426_283_7e-7,
    -3.886_930_807_237_427e-7,
    9.406_702_765_710_137e-7,
    -2.283_912_569_539_590_4e-6,
    5.583_773_169_976_165e-6,
    -1.377_172_098_985_426_9e-5,
    3.433_618_311_343_762e-5,
    -8.680_583_901_980_938e-5,
    2.235_200_849_594_119_2e-4,
    -5.901_656_738_913_573e-4,
    1.614_885_420_399_567_2e-3,
    -4.662_626_671_230_446e-3,
    1.468_832_371_731_949_6e-2,
    -5.429_540_385_214_970_3e-2,
    0.292_238_428_216_592_86,
    0.499_486_859_569_586_4,
];
/// `(log(2 pi) - 1) / 2`.
const LEVEL: f64 = 0.418_938_533_204_672_74;

/// Magnitude below which `lgamma` takes a number times `LIFT`, and what that adds.
const LEAST: f64 = 1e-290;
const LIFT: f64 = 18_446_744_073_709_551_616.0;
const LIFTED: f64 = 64.0 * std::f64::consts::LN_2;

/// How far `x` is from the nearest whole number, which a sine or tangent of its product with pi can be taken of.
#[inline(always)]
fn apart(x: f64) -> f64 {
    x - x.round_ties_even()
}

/// The logarithm of gamma; `CLOSE` keeps the digits of float64 around its zeros at one and two.
#[inline(always)]
fn lgamma<const FMA: bool, const CLOSE: bool>(x: f64) -> f64 {
    let reflect = x < 0.5;
    let y = if reflect { 1.0 - x } else { x };
    let low = y < FROM;
    // The product of `y` and the six numbers after it.
    let pair = y * (y + 6.0);
    let product = if low { pair * (pair + 5.0) * (pair + 8.0) * (y + 3.0) } else { 1.0 };
    let z = if low { y + FROM } else { y };
    let over = 1.0 / z;
    let series = over * polynomial::<FMA, 8>(&STIRLING, over * over);
    let rest = apart(x);
    // Next to zero the reciprocal of the sine would leave the range.
    let lifted = x.abs() < LEAST;
    let sine = if lifted { PI * (x * LIFT) } else { turned::<FMA>(PI * rest, 0) };
    let mirror = PI * product / sine.abs();
    let (first, near) = (x < 1.5, !reflect & (x < 3.0));
    let argument = if reflect { mirror } else { product };
    let argument = if CLOSE & near { if first { x } else { 1.0 } } else { argument };
    let less = log::<FMA>(argument);
    let value = fma::<FMA>(z - 0.5, log::<FMA>(z) - 1.0, LEVEL + series) - less;
    let value = if reflect { -value } else { value };
    let value = if lifted { value + LIFTED } else { value };
    let value = if !CLOSE & ((x == 1.0) | (x == 2.0)) { 0.0 } else { value };
    let value = if CLOSE & near {
        let past = x - if first { 1.0 } else { 2.0 };
        past * polynomial::<FMA, 22>(&NEAR, past - 0.25) - less
    } else {
        value
    };
    let pole = (reflect & (rest == 0.0)) | (x == f64::NEG_INFINITY);
    if pole { f64::INFINITY } else { value }
}

#[inline(always)]
fn digamma<const FMA: bool>(x: f64) -> f64 {
    let reflect = x < 0.0;
    let y = if reflect { 1.0 - x } else { x };
    let low = y < FROM;
    // The slope of the product's logarithm, see `lgamma`.
    let (pair, middle) = (y * (y + 6.0), y + 3.0);
    let product = pair * (pair + 5.0) * (pair + 8.0);
    let slopes = fma::<FMA>(fma::<FMA>(3.0, pair, 26.0), pair, 40.0);
    let steps = fma::<FMA>(2.0 * middle * middle, slopes, product) / (middle * product);
    let z = if low { y + FROM } else { y };
    let over = 1.0 / z;
    let square = over * over;
    let value = log::<FMA>(z) - 0.5 * over + square * polynomial::<FMA, 8>(&FIRST, square);
    let value = value - if low { steps } else { 0.0 };
    let rest = apart(x);
    let (sine, cosine) = (turned::<FMA>(PI * rest, 0), turned::<FMA>(PI * rest, 1));
    let mirrored = value - PI * cosine / sine;
    let mirrored = if rest == 0.0 { f64::NAN } else { mirrored };
    let value = if reflect { mirrored } else { value };
    if x == 0.0 { f64::INFINITY.copysign(-x) } else { value }
}

#[inline(always)]
fn trigamma<const FMA: bool>(x: f64) -> f64 {
    let reflect = x < 0.0;
    let y = if reflect { 1.0 - x } else { x };
    let low = y < FROM;
    let mut steps = 0.0;
    for k in 0..7 {
        let at = y + f64::from(k);
        steps += 1.0 / (at * at);
    }
    let z = if low { y + FROM } else { y };
    let over = 1.0 / z;
    let square = over * over;
    let curve = fma::<FMA>(square * over, polynomial::<FMA, 8>(&SECOND, square), fma::<FMA>(0.5, square, over));
    let value = curve + if low { steps } else { 0.0 };
    let rest = apart(x);
    let sine = turned::<FMA>(PI * rest, 0);
    let mirrored = PI * PI / (sine * sine) - value;
    let value = if reflect { mirrored } else { value };
    if x == f64::NEG_INFINITY { f64::INFINITY } else { value }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident, $fma:ident, |$x:ident| $value:expr;)+) => {
        $($(#[$doc])*
        pub struct $name;

        impl Double for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, $x: f64) -> f64 {
                $value
            }
        })+
    };
}

functions! {
    Lgamma, F, |x| lgamma::<F, true>(x);
    /// Of a float32.
    SingleLgamma, F, |x| lgamma::<F, false>(x);
    Digamma, F, |x| digamma::<F>(x);
    Trigamma, F, |x| trigamma::<F>(x);
}
