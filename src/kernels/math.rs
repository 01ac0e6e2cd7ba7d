//! Functions of float32 without branches, so that loops over them vectorise (benchmarks/bars.py: elementwise).
//!
//! `FMA` says whether the processor multiplies and adds in one instruction; without it `mul_add` would be a call. The
//! polynomials are our own least-squares fits at Chebyshev nodes; errors stay within three units in the last place.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, FRAC_PI_2, LN_10, LOG2_E};

/// A sum with it rounds to an integer, which then stands in the lowest bits.
pub const MAGIC: f32 = 12_582_912.0;
const WIDE_MAGIC: f64 = 6_755_399_441_055_744.0;
/// log(2) in two parts; a product of the first with a small integer is exact.
pub const LN2_HIGH: f32 = 0.693_145_75;
pub const LN2_LOW: f32 = 1.428_606_8e-6;
/// log10(2) in two parts, as above.
pub const LG2_HIGH: f32 = 0.301_025_4;
pub const LG2_LOW: f32 = 4.605_039e-6;
/// pi / 2 in two parts, the first of 33 bits.
const QUARTER_HIGH: f64 = 1.570_796_326_734_125_6;
const QUARTER_LOW: f64 = 6.077_100_506_506_192e-11;

const EXP: [f32; 5] = [1.395_060_1e-3, 8.368_954e-3, 4.166_620_6e-2, 0.166_665_18, 0.5];
const EXPM1: [f32; 6] = [1.991_409_7e-4, 1.394_110_7e-3, 8.333_273e-3, 4.166_635_5e-2, 0.166_666_67, 0.5];
const LOG: [f32; 8] =
    [-0.078_662_32, 0.128_908_87, -0.131_304_92, 0.141_800_14, -0.166_242_76, 0.200_023_31, -0.250_008_2, 0.333_333_16];
const SIN: [f32; 4] = [2.718_237_3e-6, -1.983_932_7e-4, 8.333_329e-3, -0.166_666_67];
const COS: [f32; 3] = [2.443_773e-5, -1.388_736_2e-3, 4.166_664_6e-2];
const ATAN: [f32; 9] = [
    -1.827_200_2e-3,
    1.106_438_4e-2,
    -3.145_56e-2,
    5.823_445e-2,
    -8.419_453e-2,
    0.109_575_74,
    -0.142_652_45,
    0.199_986_38,
    -0.333_333_02,
];
const ERF: [f32; 8] = [
    -9.680_14e-6,
    1.127_054_6e-4,
    -8.484_712e-4,
    5.221_075e-3,
    -2.686_544_5e-2,
    0.112_837_83,
    -0.376_126_38,
    FRAC_2_SQRT_PI,
];
/// `erfc(z) = t exp(P(t) - z^2)` with `t = 1 / (1 + z / 2)`: unlike `1 - erf`, precise far out too.
const TAIL: [f32; 10] = [
    0.140_507_13,
    -0.656_615_8,
    1.099_438_5,
    -0.619_523_3,
    -0.144_173_5,
    0.035_467_863,
    0.022_874_143,
    0.389_117_15,
    0.998_341_45,
    -1.265_433_5,
];
/// `log2(1 + r) / r` between the root of one half and that of two, and two to the power of at most one half.
const LOG2_WIDE: [f64; 14] = [
    -0.069_751_347_288_671_8,
    0.132_537_761_895_930_03,
    -0.134_640_120_670_758_7,
    0.130_271_812_349_078_8,
    -0.142_495_890_310_695_68,
    0.160_216_748_088_353_96,
    -0.180_436_980_195_897_16,
    0.206_107_132_854_355_1,
    -0.240_446_425_323_121_5,
    0.288_538_795_251_565_1,
    -0.360_673_793_258_707_1,
    0.480_898_348_808_431_3,
    -0.721_347_520_327_046_1,
    1.442_695_040_886_567_7,
];
const EXP2_WIDE: [f64; 8] = [
    1.520_190_729_547_709_3e-5,
    1.546_929_100_474_264e-4,
    1.333_392_262_523_856e-3,
    9.618_027_254_163_818e-3,
    5.550_410_353_372_205e-2,
    0.240_226_511_981_531_7,
    0.693_147_180_728_470_1,
    0.999_999_999_961_682_5,
];
/// One over the root of twice pi.
const DENSITY: f32 = 0.398_942_3;
/// Magnitude up to which angles are reduced exactly.
pub const FARTHEST_ANGLE: f32 = 524_288.0;

#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn polynomial<const FMA: bool, const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = fma::<FMA>(sum, x, *coefficient);
    }
    sum
}

/// 2 to the power of `exponent`, which lies within the range of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32).wrapping_shl(23))
}

/// `x` as `k * log(2) + r`: `r` and `k`.
#[inline(always)]
fn split<const FMA: bool>(x: f32) -> (f32, i32) {
    let shifted = fma::<FMA>(x, LOG2_E, MAGIC);
    let whole = shifted - MAGIC;
    let rest = fma::<FMA>(whole, -LN2_LOW, fma::<FMA>(whole, -LN2_HIGH, x));
    (rest, (shifted.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32))
}

/// A NaN fails both comparisons and stays.
#[inline(always)]
pub fn within(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

#[inline(always)]
pub fn exp<const FMA: bool>(x: f32) -> f32 {
    // Powers that round to zero are not computed: they pass through subnormal numbers, which are slow.
    let none = x < -103.98;
    let (rest, k) = split::<FMA>(if none { 0.0 } else { within(x, -105.0, 89.0) });
    let curve = polynomial::<FMA, 5>(EXP, rest);
    let value = fma::<FMA>(fma::<FMA>(curve, rest, 1.0), rest, 1.0);
    let half = k >> 1;
    let value = value * power_of_two(half) * power_of_two(k.wrapping_sub(half));
    if none { 0.0 } else { value }
}

/// `exp` of numbers that are not positive, as after the greatest is taken away; below -87 it is zero.
#[inline(always)]
pub fn exp_down<const FMA: bool>(x: f32) -> f32 {
    let none = x < -87.0;
    let (rest, k) = split::<FMA>(if none { 0.0 } else { x });
    let curve = polynomial::<FMA, 5>(EXP, rest);
    let value = fma::<FMA>(fma::<FMA>(curve, rest, 1.0), rest, 1.0) * power_of_two(k);
    if none { 0.0 } else { value }
}

#[inline(always)]
pub fn expm1<const FMA: bool>(x: f32) -> f32 {
    let (rest, k) = split::<FMA>(within(x, -30.0, 89.0));
    let curve = polynomial::<FMA, 6>(EXPM1, rest);
    let small = fma::<FMA>(rest * rest, curve, rest);
    let half = power_of_two(k.wrapping_sub(1));
    let value = fma::<FMA>(half, small, half - 0.5) * 2.0;
    if x == 0.0 { x } else { value }
}

/// The exponent, the mantissa's distance from one, and the logarithm of the mantissa without that distance.
#[inline(always)]
fn log_parts<const FMA: bool>(x: f32) -> (f32, f32, f32) {
    let small = x < f32::MIN_POSITIVE;
    let bits = (if small { x * 8_388_608.0 } else { x }).to_bits() as i32;
    let exponent = bits.wrapping_sub(FRAC_1_SQRT_2.to_bits() as i32) >> 23;
    let apart = f32::from_bits(bits.wrapping_sub(exponent.wrapping_shl(23)) as u32) - 1.0;
    let square = apart * apart;
    let curve = fma::<FMA>(square * apart, polynomial::<FMA, 8>(LOG, apart), -0.5 * square);
    (exponent as f32 - if small { 23.0 } else { 0.0 }, apart, curve)
}

/// `value` where a logarithm of `x` is finite.
#[inline(always)]
fn log_special(x: f32, value: f32) -> f32 {
    let value = if x == f32::INFINITY { x } else { value };
    let outside = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { value } else { outside }
}

#[inline(always)]
pub fn log<const FMA: bool>(x: f32) -> f32 {
    let (exponent, apart, curve) = log_parts::<FMA>(x);
    let curve = fma::<FMA>(exponent, LN2_LOW, curve);
    log_special(x, fma::<FMA>(exponent, LN2_HIGH, apart + curve))
}

#[inline(always)]
pub fn log2<const FMA: bool>(x: f32) -> f32 {
    let (exponent, apart, curve) = log_parts::<FMA>(x);
    log_special(x, fma::<FMA>(apart + curve, LOG2_E, exponent))
}

#[inline(always)]
pub fn log10<const FMA: bool>(x: f32) -> f32 {
    let (exponent, apart, curve) = log_parts::<FMA>(x);
    let mantissa = fma::<FMA>(exponent, LG2_LOW, (apart + curve) / LN_10);
    log_special(x, fma::<FMA>(exponent, LG2_HIGH, mantissa))
}

#[inline(always)]
fn wide_polynomial<const FMA: bool, const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = if FMA { sum.mul_add(x, *coefficient) } else { sum * x + *coefficient };
    }
    sum
}

/// `x` to the power of `y`, through float64; both are finite, and `x` is not zero.
#[inline(always)]
pub fn pow<const FMA: bool>(x: f32, y: f32) -> f32 {
    let bits = f64::from(x.abs()).to_bits() as i64;
    let exponent = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64) >> 52;
    let apart = f64::from_bits(bits.wrapping_sub(exponent.wrapping_shl(52)) as u64) - 1.0;
    // Added to the magic number's bits, an integer becomes a float without a conversion, which few processors have.
    let whole = f64::from_bits(exponent.wrapping_add(WIDE_MAGIC.to_bits() as i64) as u64) - WIDE_MAGIC;
    let power = f64::from(y) * (whole + apart * wide_polynomial::<FMA, 14>(LOG2_WIDE, apart));
    let power = if power > 200.0 { 200.0 } else { power };
    let power = if power < -200.0 { -200.0 } else { power };
    let shifted = power + WIDE_MAGIC;
    let curve = wide_polynomial::<FMA, 8>(EXP2_WIDE, power - (shifted - WIDE_MAGIC));
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023).wrapping_shl(52));
    let value = (curve * scale) as f32;
    // Of a negative number only whole powers are real; odd ones are negative.
    let half = 0.5 * y;
    let odd = half != half.floor();
    let below = if y == y.floor() { if odd { -value } else { value } } else { f32::NAN };
    if x < 0.0 { below } else { value }
}

#[inline(always)]
pub fn log1p<const FMA: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    let lost = (x - (sum - 1.0)) / sum;
    let correction = if sum > 0.0 && sum < f32::INFINITY { lost } else { 0.0 };
    let value = log::<FMA>(sum) + correction;
    if x == 0.0 { x } else { value }
}

/// Sine and cosine of the rest of the angle after whole quarters, and their number.
#[inline(always)]
fn quarters<const FMA: bool>(x: f32) -> (f32, f32, u64) {
    let wide = f64::from(x);
    let shifted = wide * std::f64::consts::FRAC_2_PI + WIDE_MAGIC;
    let whole = shifted - WIDE_MAGIC;
    let exact = (wide - whole * QUARTER_HIGH) - whole * QUARTER_LOW;
    let rest = exact as f32;
    let lost = (exact - f64::from(rest)) as f32;
    let square = rest * rest;
    let sine = rest + fma::<FMA>(square * rest, polynomial::<FMA, 4>(SIN, square), lost);
    let half = 0.5 * square;
    let near = 1.0 - half;
    let curve = fma::<FMA>(square * square, polynomial::<FMA, 3>(COS, square), -rest * lost);
    let cosine = near + (((1.0 - near) - half) + curve);
    (sine, cosine, shifted.to_bits())
}

#[inline(always)]
fn turned(sine: f32, cosine: f32, quarter: u64) -> f32 {
    let value = if quarter & 1 == 0 { sine } else { cosine };
    if quarter & 2 == 0 { value } else { -value }
}

#[inline(always)]
pub fn sin<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, quarter) = quarters::<FMA>(x);
    let value = turned(sine, cosine, quarter);
    if x == 0.0 { x } else { value }
}

#[inline(always)]
pub fn cos<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, quarter) = quarters::<FMA>(x);
    turned(sine, cosine, quarter.wrapping_add(1))
}

#[inline(always)]
pub fn tan<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, quarter) = quarters::<FMA>(x);
    let (above, below) = if quarter & 1 == 0 { (sine, cosine) } else { (-cosine, sine) };
    let value = above / below;
    if x == 0.0 { x } else { value }
}

#[inline(always)]
pub fn atan<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let far = size > 1.0;
    let near = if far { 1.0 / size } else { size };
    let square = near * near;
    let value = fma::<FMA>(near * square, polynomial::<FMA, 9>(ATAN, square), near);
    (if far { FRAC_PI_2 - value } else { value }).copysign(x)
}

#[inline(always)]
pub fn tanh<const FMA: bool>(x: f32) -> f32 {
    let decay = expm1::<FMA>(-2.0 * x.abs());
    (-decay / (decay + 2.0)).copysign(x)
}

#[inline(always)]
pub fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FMA>(-x))
}

#[inline(always)]
pub fn rsqrt<const FMA: bool>(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// `erfc` of `z`, which is not negative.
#[inline(always)]
fn tail<const FMA: bool>(z: f32) -> f32 {
    let t = 1.0 / fma::<FMA>(z, 0.5, 1.0);
    t * exp::<FMA>(fma::<FMA>(-z, z, polynomial::<FMA, 10>(TAIL, t)))
}

#[inline(always)]
pub fn erf<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let near = size * polynomial::<FMA, 8>(ERF, x * x);
    (if size < 1.0 { near } else { 1.0 - tail::<FMA>(size) }).copysign(x)
}

/// The normal distribution's probability of less than `x`.
#[inline(always)]
fn below<const FMA: bool>(x: f32) -> f32 {
    let tail = 0.5 * tail::<FMA>(x.abs() * FRAC_1_SQRT_2);
    if x > 0.0 { 1.0 - tail } else { tail }
}

#[inline(always)]
pub fn gelu<const FMA: bool>(x: f32) -> f32 {
    x * below::<FMA>(x)
}

#[inline(always)]
pub fn gelu_slope<const FMA: bool>(x: f32) -> f32 {
    fma::<FMA>(x * DENSITY, exp::<FMA>(x * x * -0.5), below::<FMA>(x))
}

/// `log(1 + exp(x))`.
#[inline(always)]
pub fn softplus<const FMA: bool>(x: f32) -> f32 {
    (if x < 0.0 { 0.0 } else { x }) + log1p::<FMA>(exp::<FMA>(-x.abs()))
}

/// `tanh(log(1 + exp(x)))`, a quotient of polynomials of `exp(-|x|)`.
#[inline(always)]
pub fn tanh_softplus<const FMA: bool>(x: f32) -> f32 {
    let decay = exp::<FMA>(-x.abs());
    let positive = fma::<FMA>(decay, 2.0, 1.0);
    let negative = decay * (decay + 2.0);
    let (above, rest) = if x > 0.0 { (positive, 2.0 * decay * decay) } else { (negative, 2.0) };
    above / (above + rest)
}
