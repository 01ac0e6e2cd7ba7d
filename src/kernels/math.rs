//! Functions of float32 without branches, so that loops over them vectorise (benchmarks/bars.py: elementwise).
//!
//! `FMA` says whether the processor multiplies and adds in one instruction; without it `mul_add` would be a call. The
//! polynomials are our own least-squares fits at Chebyshev nodes; errors stay within three units in the last place.

use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_PI_2, LOG2_E, LOG10_E, PI};

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
const LOG: [f32; 9] = [
    -0.078_662_32,
    0.128_908_87,
    -0.131_304_92,
    0.141_800_14,
    -0.166_242_76,
    0.200_023_31,
    -0.250_008_2,
    0.333_333_16,
    -0.5,
];
/// pi / 2 in three parts.
pub const QUARTER: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];
/// Magnitude up to which angles are reduced in float32 with `QUARTER`, and what is left of them then.
pub const NEAR_ANGLE: f32 = 16_384.0;
pub const NEAR_SIN: [f32; 3] = [-1.951_665_2e-4, 8.332_173e-3, -0.166_666_55];
pub const NEAR_COS: [f32; 4] = [2.438_963e-5, -1.388_675_5e-3, 4.166_662_3e-2, -0.5];
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
/// `erf(a) / a - 1` by the square of `a`, up to one.
const ERF: [f32; 6] = [-5.631_216_3e-4, 4.917_484e-3, -2.671_122_7e-2, 0.112_801_75, -0.376_123_25, 0.128_379_12];
/// `erfc(a) exp(a^2) / t` with `t = 1 / (1 + a / 2)`, by `t` from `ERFC_MIDDLE` on, up to where `erfc` is zero.
const ERFC: [f32; 12] = [
    -3.214_440_8e-2,
    3.263_521_5e-2,
    3.233_502_4e-2,
    -7.267_61e-2,
    3.594_562_7e-4,
    0.113_875_49,
    -5.008_294_2e-2,
    -0.203_838_34,
    8.353_905e-2,
    0.587_351_4,
    0.781_328_8,
    0.570_943_5,
];
const ERFC_MIDDLE: f32 = 0.581_967_2;
/// `log2(erfc(a))` between one and four.
const ERF_REST: [f32; 7] =
    [2.688_978_3e-4, -4.252_630_8e-3, 3.150_585_3e-2, -0.148_751_97, -0.920_648, -1.626_046_2, -4.926_92e-4];
/// The logarithm to base two of the normal distribution's probability of less than `-a`, up to `FARTHEST_BELOW`.
const BELOW: [f32; 12] = [
    1.928_601_5e-9,
    -7.588_812_4e-8,
    1.318_783_2e-6,
    -1.319_746_8e-5,
    8.141_742e-5,
    -2.796_79e-4,
    -2.440_5e-5,
    6.999_078e-3,
    -0.052_488_763,
    -0.459_201_63,
    -1.151_107,
    -0.999_999_94,
];
/// `asin(a) / a - 1` by the square of `a`, over that square, up to one half.
const ASIN: [f32; 6] = [0.033_690_847, 0.017_149_238, 0.031_100_662, 0.044_599_403, 0.075_000_94, 0.166_666_66];
/// Two to the power of at most one half. One factor is nearly the logarithm of two, but fitted like the others.
#[allow(clippy::approx_constant)]
const EXP2: [f32; 6] = [1.327_406_8e-3, 9.671_497e-3, 5.550_700_8e-2, 0.240_222_42, 0.693_147, 1.0];
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
/// The bits of a float's sign and exponent, and what one in the exponent's lowest stands for there.
const EXPONENT: i32 = -0x80_0000;
const STEP: f32 = 1.0 / 8_388_608.0;
/// One over the root of twice pi, and its logarithm to base two.
const DENSITY: f32 = 0.398_942_3;
const LOG2_DENSITY: f32 = -1.325_748_1;
/// Where the curve of `BELOW` ends.
pub const FARTHEST_BELOW: f32 = 6.29;
/// Magnitude up to which angles are reduced exactly.
pub const FARTHEST_ANGLE: f32 = 524_288.0;

#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Of many terms two by two, by powers of the square: half as many steps that wait for each other.
#[inline(always)]
fn polynomial<const FMA: bool, const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
    if N < 6 {
        let mut sum = coefficients[0];
        for coefficient in &coefficients[1..] {
            sum = fma::<FMA>(sum, x, *coefficient);
        }
        return sum;
    }
    let (square, odd) = (x * x, N % 2);
    let mut sum = if odd == 1 { coefficients[0] } else { fma::<FMA>(coefficients[0], x, coefficients[1]) };
    for pair in coefficients[2 - odd..].chunks_exact(2) {
        sum = fma::<FMA>(sum, square, fma::<FMA>(pair[0], x, pair[1]));
    }
    sum
}

/// 2 to the power of `exponent`, which lies within the range of normal numbers; zero just below it.
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

/// Two to the power of `x`, which gives a normal number.
#[inline(always)]
fn near_exp2<const FMA: bool>(x: f32) -> f32 {
    let shifted = x + MAGIC;
    let curve = polynomial::<FMA, 6>(EXP2, x - (shifted - MAGIC));
    // A product, so that a NaN stays one.
    curve * power_of_two((shifted.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32))
}

/// `exp` of numbers that are not positive, as after the greatest is taken away; where it is less than any normal number
/// it may be zero.
#[inline(always)]
pub fn exp_down<const FMA: bool>(x: f32) -> f32 {
    // There the power of two is zero; a NaN stays one.
    let (rest, k) = split::<FMA>(if x < -88.0 { -88.0 } else { x });
    let curve = polynomial::<FMA, 5>(EXP, rest);
    fma::<FMA>(fma::<FMA>(curve, rest, 1.0), rest, 1.0) * power_of_two(k)
}

/// A power of the square of `x`, times a curve, so that what is small keeps its digits.
#[inline(always)]
pub fn erfc<const FMA: bool>(x: f32) -> f32 {
    if !FMA {
        return libm::erfc(f64::from(x)) as f32;
    }
    let size = x.abs();
    let size = if size > 10.2 { 10.2 } else { size };
    let (square, below) = (size * size, size.mul_add(0.5, 1.0));
    let t = 1.0 / below;
    let curve = t * polynomial::<true, 12>(ERFC, t - ERFC_MIDDLE);
    // What the square and `t` have lost, the latter by the curve's slope: far out and near zero the digits are theirs.
    let lost = size.mul_add(size, -square);
    let off = (-t).mul_add(size * 0.5 - (below - 1.0), (-t).mul_add(below, 1.0));
    let (rest, k) = split::<true>(-square);
    let rest = rest + t.mul_add(1.256, 1.0).mul_add(off, -lost);
    let power = (rest * rest).mul_add(polynomial::<true, 6>(EXPM1, rest), rest);
    let half = k >> 1;
    let value = curve.mul_add(power, curve) * power_of_two(half) * power_of_two(k.wrapping_sub(half));
    if x < 0.0 { 2.0 - value } else { value }
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

/// The exponent over `STEP`, the mantissa's distance from one, and what its logarithm is less than that, over the
/// square.
type LogParts = (f32, f32, f32);

/// Whether a number is positive, finite and normal.
#[inline(always)]
pub fn is_usual(x: f32) -> bool {
    x.to_bits().wrapping_sub(f32::MIN_POSITIVE.to_bits()) < f32::INFINITY.to_bits() - f32::MIN_POSITIVE.to_bits()
}

/// The parts of a usual number.
#[inline(always)]
fn usual_parts<const FMA: bool>(x: f32) -> LogParts {
    let bits = x.to_bits() as i32;
    let exponent = bits.wrapping_sub(FRAC_1_SQRT_2.to_bits() as i32) & EXPONENT;
    let apart = f32::from_bits(bits.wrapping_sub(exponent) as u32) - 1.0;
    (exponent as f32, apart, polynomial::<FMA, 9>(LOG, apart))
}

#[inline(always)]
fn log_parts<const FMA: bool>(x: f32) -> LogParts {
    let small = x < f32::MIN_POSITIVE;
    let (exponent, apart, curve) = usual_parts::<FMA>(if small { x * 8_388_608.0 } else { x });
    (exponent - if small { 23.0 / STEP } else { 0.0 }, apart, curve)
}

/// `value` where a logarithm of `x` is finite.
#[inline(always)]
fn log_special(x: f32, value: f32) -> f32 {
    let value = if x == f32::INFINITY { x } else { value };
    let outside = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { value } else { outside }
}

#[inline(always)]
fn natural<const FMA: bool>((exponent, apart, curve): LogParts) -> f32 {
    let rest = fma::<FMA>(apart * apart, curve, exponent * (LN2_LOW * STEP));
    fma::<FMA>(exponent, LN2_HIGH * STEP, apart + rest)
}

#[inline(always)]
fn to_two<const FMA: bool>((exponent, apart, curve): LogParts) -> f32 {
    fma::<FMA>(fma::<FMA>(apart * apart, curve, apart), LOG2_E, exponent * STEP)
}

#[inline(always)]
fn to_ten<const FMA: bool>((exponent, apart, curve): LogParts) -> f32 {
    let mantissa = fma::<FMA>(apart * apart, curve, apart) * LOG10_E;
    fma::<FMA>(exponent, LG2_HIGH * STEP, fma::<FMA>(exponent, LG2_LOW * STEP, mantissa))
}

#[inline(always)]
pub fn log<const FMA: bool>(x: f32) -> f32 {
    log_special(x, natural::<FMA>(log_parts::<FMA>(x)))
}

#[inline(always)]
pub fn log2<const FMA: bool>(x: f32) -> f32 {
    log_special(x, to_two::<FMA>(log_parts::<FMA>(x)))
}

#[inline(always)]
pub fn log10<const FMA: bool>(x: f32) -> f32 {
    log_special(x, to_ten::<FMA>(log_parts::<FMA>(x)))
}

/// The logarithms of usual numbers.
#[inline(always)]
pub fn usual_log<const FMA: bool>(x: f32) -> f32 {
    natural::<FMA>(usual_parts::<FMA>(x))
}

#[inline(always)]
pub fn usual_log2<const FMA: bool>(x: f32) -> f32 {
    to_two::<FMA>(usual_parts::<FMA>(x))
}

#[inline(always)]
pub fn usual_log10<const FMA: bool>(x: f32) -> f32 {
    to_ten::<FMA>(usual_parts::<FMA>(x))
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
    const BIAS: i64 = 1024;
    let bits = f64::from(x.abs()).to_bits() as i64;
    // Above zero before the shift: narrow vectors of integers of 64 bits have no shifts that keep a sign.
    let above = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64).wrapping_add(BIAS << 52);
    let exponent = (above as u64 >> 52) as i64 - BIAS;
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

/// As `quarters` of an angle of at most `NEAR_ANGLE`, in float32.
#[inline(always)]
fn near_quarters(x: f32) -> (f32, f32, u32) {
    let shifted = x.mul_add(FRAC_2_PI, MAGIC);
    let whole = shifted - MAGIC;
    let rest = QUARTER.iter().fold(x, |rest, part| whole.mul_add(-part, rest));
    let square = rest * rest;
    let sine = (square * rest).mul_add(polynomial::<true, 3>(NEAR_SIN, square), rest);
    let cosine = square.mul_add(polynomial::<true, 4>(NEAR_COS, square), 1.0);
    (sine, cosine, shifted.to_bits())
}

/// As `turned`, with the sign in the highest bit of `sign` too.
#[inline(always)]
fn near_turned((sine, cosine, quarter): (f32, f32, u32), turns: u32, sign: u32) -> f32 {
    let quarter = quarter.wrapping_add(turns);
    let value = if quarter & 1 == 0 { sine } else { cosine };
    f32::from_bits(value.to_bits() ^ ((quarter.wrapping_shl(30) ^ sign) & 0x8000_0000))
}

/// The sine of an angle of at most `NEAR_ANGLE`.
#[inline(always)]
pub fn near_sin<const FMA: bool>(x: f32) -> f32 {
    if FMA { near_turned(near_quarters(x.abs()), 0, x.to_bits()) } else { sin::<FMA>(x) }
}

/// The cosine of an angle of at most `NEAR_ANGLE`.
#[inline(always)]
pub fn near_cos<const FMA: bool>(x: f32) -> f32 {
    if FMA { near_turned(near_quarters(x), 1, 0) } else { cos::<FMA>(x) }
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

/// The angle of a point that is finite and not above or below the other axis.
#[inline(always)]
pub fn atan2<const FMA: bool>(y: f32, x: f32) -> f32 {
    let (up, along) = (y.abs(), x.abs());
    let (least, most) = if up > along { (along, up) } else { (up, along) };
    let ratio = least / most;
    let square = ratio * ratio;
    let value = fma::<FMA>(ratio * square, polynomial::<FMA, 9>(ATAN, square), ratio);
    let value = if up > along { FRAC_PI_2 - value } else { value };
    (if x < 0.0 { PI - value } else { value }).copysign(y)
}

/// Whether the quotient is small enough for `fmod`, and the divisor finite and not zero.
#[inline(always)]
pub fn divides(a: f32, b: f32) -> bool {
    ((a / b).abs() < 4_194_304.0) & (b.abs() < f32::INFINITY)
}

/// What is left of `a`, with its sign, where `divides`. The quotient may be one too many or too few; the product is
/// subtracted without rounding, and so is what mends it.
#[inline(always)]
pub fn fmod<const FMA: bool>(a: f32, b: f32) -> f32 {
    if !FMA {
        return a % b;
    }
    let (size, step) = (a.abs(), b.abs());
    let rest = fma::<FMA>(-(size / step).trunc(), step, size);
    let rest = if rest < 0.0 { rest + step } else { rest };
    let rest = if rest >= step { rest - step } else { rest };
    rest.copysign(a)
}

/// `fmod` with the sign of the divisor.
#[inline(always)]
pub fn remainder<const FMA: bool>(a: f32, b: f32) -> f32 {
    let rest = fmod::<FMA>(a, b);
    if (rest != 0.0) & ((b < 0.0) != (rest < 0.0)) { rest + b } else { rest }
}

/// The quotient without its fraction, towards minus infinity, by what is left.
#[inline(always)]
pub fn floor_div<const FMA: bool>(a: f32, b: f32) -> f32 {
    let rest = fmod::<FMA>(a, b);
    let whole = (a - rest) / b;
    let quotient = if (rest != 0.0) & ((b < 0.0) != (rest < 0.0)) { whole - 1.0 } else { whole };
    let floor = quotient.floor();
    let value = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
    if quotient == 0.0 { 0.0_f32.copysign(a / b) } else { value }
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

/// Two to the power of `x`.
#[inline(always)]
pub fn exp2<const FMA: bool>(x: f32) -> f32 {
    let none = x < -150.0;
    let shifted = (if none { 0.0 } else { within(x, -151.0, 129.0) }) + MAGIC;
    let rest = if none { 0.0 } else { within(x, -151.0, 129.0) } - (shifted - MAGIC);
    let k = (shifted.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32);
    let half = k >> 1;
    let value = polynomial::<FMA, 6>(EXP2, rest) * power_of_two(half) * power_of_two(k.wrapping_sub(half));
    if none { 0.0 } else { value }
}

/// The arc sine of a number of at most one half, by itself and its square.
#[inline(always)]
fn near_asin<const FMA: bool>(x: f32, square: f32) -> f32 {
    fma::<FMA>(x * square, polynomial::<FMA, 6>(ASIN, square), x)
}

#[inline(always)]
pub fn asin<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let far = size > 0.5;
    // Beyond one half, by half the angle from the pole.
    let square = if far { fma::<FMA>(size, -0.5, 0.5) } else { x * x };
    let value = near_asin::<FMA>(if far { square.sqrt() } else { size }, square);
    (if far { fma::<FMA>(value, -2.0, FRAC_PI_2) } else { value }).copysign(x)
}

#[inline(always)]
pub fn acos<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let far = size > 0.5;
    let square = if far { fma::<FMA>(size, -0.5, 0.5) } else { x * x };
    let value = near_asin::<FMA>(if far { square.sqrt() } else { x }, square);
    let beyond = if x < 0.0 { fma::<FMA>(value, -2.0, PI) } else { 2.0 * value };
    if far { beyond } else { FRAC_PI_2 - value }
}

#[inline(always)]
pub fn atanh<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    (0.5 * log1p::<FMA>((size + size) / (1.0 - size))).copysign(x)
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
    let near = fma::<FMA>(size, polynomial::<FMA, 6>(ERF, x * x), size);
    let far = 1.0 - near_exp2::<FMA>(polynomial::<FMA, 7>(ERF_REST, if size > 4.0 { 4.0 } else { size }));
    (if size < 1.0 { near } else { far }).copysign(x)
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

/// The magnitude of `x`, but at most `FARTHEST_BELOW`, and the probability of less than minus that.
#[inline(always)]
fn near_below<const FMA: bool>(x: f32) -> (f32, f32) {
    let size = if x.abs() > FARTHEST_BELOW { FARTHEST_BELOW } else { x.abs() };
    (size, near_exp2::<FMA>(polynomial::<FMA, 12>(BELOW, size)))
}

/// `gelu` of numbers that are not below minus `FARTHEST_BELOW`.
#[inline(always)]
pub fn near_gelu<const FMA: bool>(x: f32) -> f32 {
    let (size, below) = near_below::<FMA>(x);
    fma::<FMA>(-size, below, if x < 0.0 { 0.0 } else { x })
}

/// `gelu_slope` of numbers that are not below minus `FARTHEST_BELOW`.
#[inline(always)]
pub fn near_gelu_slope<const FMA: bool>(x: f32) -> f32 {
    let (size, below) = near_below::<FMA>(x);
    let density = near_exp2::<FMA>(fma::<FMA>(size * size, -0.5 * LOG2_E, LOG2_DENSITY));
    let low = fma::<FMA>(-size, density, below);
    if x > 0.0 { 1.0 - low } else { low }
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
