//! Functions of float64 without branches, so that loops over them vectorise (benchmarks/bars.py: elementwise).
//!
//! `FMA` is as in `math`. Errors stay within two units in the last place.

use super::pointwise::{Strided, each_row};
use super::vector::{Task, dispatch};

/// A sum with it rounds to an integer, which then stands in the lowest bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// log(2) in two parts; a product of the first with a small integer is exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// log10(2) in two parts, as above.
const LG2_HIGH: f64 = 0.301_029_995_663_611_8;
const LG2_LOW: f64 = 3.694_239_077_158_931e-13;
/// pi / 2 in three parts, the first two of 33 bits.
const QUARTER: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
/// Magnitude up to which products of `QUARTER` and a whole number are exact.
pub(super) const FARTHEST_ANGLE: f64 = 1_000_000.0;
/// What `exp(r)` is more than `1 + r`, over the square, up to half of log(2).
const EXP: [f64; 10] = [
    2.510_038_319_586_702e-8,
    2.762_008_545_501_841_4e-7,
    2.755_726_846_483_162_7e-6,
    2.480_152_130_224_108_2e-5,
    0.000_198_412_698_630_505_06,
    0.001_388_888_891_720_967,
    0.008_333_333_333_330_063,
    0.041_666_666_666_624_136,
    0.166_666_666_666_666_69,
    0.500_000_000_000_000_1,
];
/// `log((1 + s) / (1 - s)) / s - 2` by the square of `s`, without its first factor.
const LOG: [f64; 7] = [
    0.147_981_986_051_165_86,
    0.153_138_376_992_093_73,
    0.181_835_721_616_180_5,
    0.222_221_984_321_497_84,
    0.285_714_287_436_623_9,
    0.399_999_999_994_094_2,
    0.666_666_666_666_673_5,
];
const SIN: [f64; 6] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_006_8e-6,
    -1.984_126_982_985_795e-4,
    8.333_333_333_322_49e-3,
    -0.166_666_666_666_666_32,
];
const COS: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -1.388_888_888_887_411e-3,
    4.166_666_666_666_66e-2,
];
/// Of `w`, the logarithm of one over `1 - y^2`, up to `NEAR`: `erfinv(y) / y`.
const INVERSE: [f64; 23] = [
    -2.362_369_698_566_107e-22,
    -1.678_733_061_525_677_3e-19,
    1.102_777_159_150_003_3e-18,
    1.112_579_475_937_946_4e-17,
    -1.290_702_354_613_073e-16,
    2.166_994_626_283_574e-17,
    6.581_955_305_929_239e-15,
    -4.055_413_974_688_6e-14,
    -8.106_594_456_438_496e-14,
    2.633_572_492_460_848_4e-12,
    -1.297_750_520_201_496_6e-11,
    -5.415_441_775_469_663_5e-11,
    1.051_220_244_012_178_4e-9,
    -4.112_633_104_297_614e-9,
    -2.907_038_666_019_143e-8,
    4.234_787_767_278_065_3e-7,
    -1.365_469_179_659_206_8e-6,
    -1.388_252_336_127_687_6e-5,
    1.867_342_080_212_427e-4,
    -7.407_025_341_669_402e-4,
    -6.033_670_871_427_011e-3,
    0.240_158_182_425_589_7,
    1.653_654_562_683_102_7,
];
/// The same for results of float32.
const SINGLE_INVERSE: [f64; 13] = [
    -1.257_081_441_452_368_7e-11,
    5.688_216_479_117_087e-12,
    1.036_388_234_145_117_4e-9,
    -4.752_745_619_151_995e-9,
    -2.895_896_037_948_332e-8,
    4.269_851_389_505_338_4e-7,
    -1.365_821_750_758_921_2e-6,
    -1.389_214_124_592_301e-5,
    0.000_186_734_660_516_916_29,
    -0.000_740_691_032_543_019_5,
    -0.006_033_671_032_285_515,
    0.240_158_178_447_351_66,
    1.653_654_562_683_102_7,
];
/// The same by the root of `w`, up to `ROOTS` one after the other.
const INVERSE_ROOT: [[f64; 19]; 4] = [
    [
        -3.831_039_946_072_411e-10,
        9.071_950_571_029_922e-8,
        -2.686_097_572_557_146_3e-7,
        1.832_399_988_132_858e-8,
        1.495_826_315_298_491_7e-6,
        -4.013_946_398_190_292e-6,
        2.927_372_211_598_692_4e-6,
        1.247_534_347_437_693_1e-5,
        -4.731_952_918_337_189e-5,
        6.828_484_052_292_924e-5,
        2.403_136_324_544_054_6e-5,
        -3.550_375_186_306_976_3e-4,
        9.532_893_521_118_177e-4,
        -1.688_275_556_168_180_2e-3,
        2.491_442_097_619_881_3e-3,
        -3.751_208_507_563_853_6e-3,
        5.370_914_553_558_198_5e-3,
        1.005_258_967_694_159_2,
        3.083_885_610_492_220_8,
    ],
    [
        0.0,
        0.0,
        1.893_668_407_782_241_5e-11,
        -2.370_055_128_608_467_5e-10,
        9.432_597_243_310_944e-10,
        -2.165_719_229_555_952_4e-9,
        4.136_993_238_572_669e-9,
        -7.994_753_923_205_347e-9,
        1.663_908_173_854_497_4e-8,
        -4.554_187_672_328_553_5e-8,
        1.791_002_864_050_488e-7,
        -8.310_296_579_682_297e-7,
        3.889_945_060_874_419e-6,
        -1.716_264_142_087_815e-5,
        6.680_006_782_604_713e-5,
        -1.865_130_165_434_320_4e-4,
        -1.988_588_686_071_401_8e-4,
        1.010_266_564_502_272,
        4.950_934_853_078_874,
    ],
    [
        3.669_665_767_879_774_7e-19,
        -3.469_253_769_465_692_4e-18,
        1.780_213_689_942_690_7e-17,
        -1.619_573_086_373_745e-16,
        1.701_698_888_323_697_2e-15,
        -1.522_234_364_475_936_3e-14,
        1.318_906_234_084_868_2e-13,
        -1.140_192_827_390_102_3e-12,
        9.650_347_186_431_17e-12,
        -7.918_986_331_010_405e-11,
        6.225_704_797_567_1e-10,
        -4.570_821_567_084_671e-9,
        2.945_858_870_127_902_5e-8,
        -1.331_864_767_756_862_4e-7,
        -3.079_640_345_988_426_4e-7,
        2.044_609_233_271_463_2e-5,
        -4.027_866_263_085_455e-4,
        1.006_646_193_010_546_8,
        8.984_939_177_788_311,
    ],
    [
        1.694_555_362_585_986_6e-25,
        -3.119_609_316_618_902_6e-24,
        9.007_380_691_297_846e-24,
        -1.371_394_905_740_332_1e-22,
        7.497_760_307_720_569e-21,
        -1.218_835_356_373_856_3e-19,
        1.477_432_718_054_078e-18,
        -1.754_408_531_729_585e-17,
        1.087_401_778_537_909_3e-16,
        3.359_656_677_340_832_8e-15,
        -1.876_844_094_367_417_2e-13,
        6.394_698_906_384_797e-12,
        -1.869_044_322_864_842_5e-10,
        5.086_013_037_073_249e-9,
        -1.334_525_779_431_083_7e-7,
        3.449_563_409_508_076_3e-6,
        -8.955_547_534_791_434e-5,
        1.002_404_180_352_662_9,
        19.627_342_277_976_05,
    ],
];
/// `log(erfc(z) / t) + z^2` with `t = 1 / (1 + z / 2)`, by `t` from `TAIL_MIDDLE` on.
const TAIL: [f64; 27] = [
    0.023_594_747_713_702_183,
    0.139_648_843_261_576_56,
    -0.241_686_258_611_807_79,
    -0.128_906_284_362_063_94,
    0.466_128_888_904_857_43,
    -0.176_157_546_278_281_45,
    -0.381_081_872_921_846,
    0.468_336_299_791_633,
    0.029_671_264_726_134_225,
    -0.476_176_145_622_971_56,
    0.301_405_205_588_292_87,
    0.242_659_971_215_640_9,
    -0.425_363_664_535_390_5,
    0.035_384_110_736_462_74,
    0.356_764_955_201_167_3,
    -0.220_607_580_891_693_97,
    -0.205_225_349_716_839_12,
    0.292_059_109_429_557_26,
    0.061_346_705_016_656_226,
    -0.296_628_655_422_166_4,
    0.040_732_546_828_022_94,
    0.298_079_594_583_851_14,
    -0.108_224_706_150_587_32,
    -0.393_365_131_333_859_6,
    0.149_970_701_615_212_53,
    1.356_878_755_713_702_3,
    -0.625_674_398_032_469,
];
const TAIL_MIDDLE: f64 = 0.534_129_692_832_764_5;
/// `erf(a) / a` by the square of `a`, from one half on, up to one.
const ERF: [f64; 13] = [
    5.957_176_147_748_911e-11,
    -7.798_543_168_142_326e-10,
    9.387_642_467_190_585e-9,
    -1.042_036_943_777_673_8e-7,
    1.053_644_949_301_286e-6,
    -9.614_808_686_837_411e-6,
    7.829_649_525_503_34e-5,
    -0.000_561_189_422_115_995_7,
    0.003_480_274_496_665_589,
    -0.018_283_884_489_152_906,
    0.079_409_986_755_934_83,
    -0.281_072_178_045_434_2,
    0.965_468_738_669_867_3,
];
/// `asin(a) / a - 1` by the square of `a` from one eighth on, over that square, up to one half.
const ASIN: [f64; 13] = [
    0.028_757_851_367_421_566,
    0.028_284_889_979_885_142,
    0.026_636_068_942_382_61,
    0.026_802_154_829_593_774,
    0.027_386_625_201_572_72,
    0.028_448_682_267_469_515,
    0.030_211_198_171_355_744,
    0.033_012_853_614_468_19,
    0.037_486_482_448_267_56,
    0.044_943_468_214_734_76,
    0.058_532_150_726_803_03,
    0.087_783_740_862_341_74,
    0.176_804_601_993_998_17,
];
const NEAR: f64 = 6.25;
/// What `1 - y^2` is there.
const LEAST: f64 = 0.001_930_454_136_227_709;
const ROOTS: [f64; 3] = [4.0, 6.2, 12.0];
const MIDDLES: [f64; 4] = [3.25, 5.1, 9.1, 19.7];

#[inline(always)]
pub(super) fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Two terms at a time, as in `math`.
#[inline(always)]
pub(super) fn polynomial<const FMA: bool, const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let (square, odd) = (x * x, N % 2);
    let mut sum = if odd == 1 { coefficients[0] } else { fma::<FMA>(coefficients[0], x, coefficients[1]) };
    for pair in coefficients[2 - odd..].chunks_exact(2) {
        sum = fma::<FMA>(sum, square, fma::<FMA>(pair[0], x, pair[1]));
    }
    sum
}

/// 2 to the power of a whole number within the range of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent.wrapping_add(1023) as u64).wrapping_shl(52))
}

/// A small whole number as a float, without a conversion, which few processors have for vectors.
#[inline(always)]
fn whole(number: i64) -> f64 {
    f64::from_bits(number.wrapping_add(MAGIC.to_bits() as i64) as u64) - MAGIC
}

/// Half of a number above -4096; narrow vectors of integers of 64 bits have no shifts that keep a sign.
#[inline(always)]
fn halved(number: i64) -> i64 {
    (number.wrapping_add(4096) as u64 >> 1) as i64 - 2048
}

/// `x` as `k * log(2) + r`: `k`, `r`, and what `exp(r)` is more than `1 + r`.
#[inline(always)]
fn split<const FMA: bool>(x: f64) -> (i64, f64, f64) {
    let shifted = fma::<FMA>(x, std::f64::consts::LOG2_E, MAGIC);
    let count = shifted - MAGIC;
    let high = fma::<FMA>(count, -LN2_HIGH, x);
    let rest = fma::<FMA>(count, -LN2_LOW, high);
    let lost = fma::<FMA>(count, -LN2_LOW, high - rest);
    ((shifted.to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64), rest, more::<FMA>(rest, lost))
}

#[inline(always)]
fn more<const FMA: bool>(rest: f64, lost: f64) -> f64 {
    fma::<FMA>(rest * rest, polynomial::<FMA, 10>(&EXP, rest), lost)
}

/// Two to the power of `k`, times `1 + rest + more` rounded once.
#[inline(always)]
fn scaled(k: i64, rest: f64, more: f64) -> f64 {
    let near = 1.0 + rest;
    let value = near + ((rest - (near - 1.0)) + more);
    let half = halved(k);
    value * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// A NaN fails both comparisons and stays.
#[inline(always)]
fn within(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

#[inline(always)]
pub(super) fn exp<const FMA: bool>(x: f64) -> f64 {
    let (k, rest, more) = split::<FMA>(within(x, -746.0, 710.0));
    scaled(k, rest, more)
}

/// Two to the power of `x`.
#[inline(always)]
fn exp2<const FMA: bool>(x: f64) -> f64 {
    let x = within(x, -1076.0, 1025.0);
    let shifted = x + MAGIC;
    let rest = (x - (shifted - MAGIC)) * std::f64::consts::LN_2;
    let k = (shifted.to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64);
    scaled(k, rest, more::<FMA>(rest, 0.0))
}

#[inline(always)]
pub(super) fn expm1<const FMA: bool>(x: f64) -> f64 {
    let (k, rest, more) = split::<FMA>(within(x, -60.0, 710.0));
    // Half of it, which is finite where the power is.
    let scale = power_of_two(k.wrapping_sub(1));
    let value = 2.0 * fma::<FMA>(rest + more, scale, scale - 0.5);
    if x.abs() < 1e-290 { x } else { value }
}

/// The exponent of a positive number, and the logarithm of its mantissa, which lies around one.
#[inline(always)]
fn log_parts<const FMA: bool>(x: f64) -> (f64, f64, f64) {
    const BIAS: i64 = 2048;
    let small = x < f64::MIN_POSITIVE;
    let bits = (if small { x * 18_014_398_509_481_984.0 } else { x }).to_bits() as i64;
    let above = bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64).wrapping_add(BIAS << 52);
    let exponent = (above as u64 >> 52) as i64 - BIAS;
    let apart = f64::from_bits(bits.wrapping_sub(exponent.wrapping_shl(52)) as u64) - 1.0;
    (whole(exponent) - if small { 54.0 } else { 0.0 }, apart, curve::<FMA>(apart))
}

/// What `log(1 + apart)` is less than `apart`.
#[inline(always)]
fn curve<const FMA: bool>(apart: f64) -> f64 {
    let part = apart / (2.0 + apart);
    let square = part * part;
    let half = 0.5 * apart * apart;
    half - part * (half + square * polynomial::<FMA, 7>(&LOG, square))
}

/// `value` where a logarithm of `x` is finite.
#[inline(always)]
fn log_special(x: f64, value: f64) -> f64 {
    let value = if x == f64::INFINITY { x } else { value };
    let outside = if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    if x > 0.0 { value } else { outside }
}

#[inline(always)]
pub(super) fn log<const FMA: bool>(x: f64) -> f64 {
    let (exponent, apart, less) = log_parts::<FMA>(x);
    log_special(x, exponent * LN2_HIGH - ((less - exponent * LN2_LOW) - apart))
}

#[inline(always)]
fn log2<const FMA: bool>(x: f64) -> f64 {
    let (exponent, apart, less) = log_parts::<FMA>(x);
    log_special(x, fma::<FMA>(apart - less, std::f64::consts::LOG2_E, exponent))
}

#[inline(always)]
fn log10<const FMA: bool>(x: f64) -> f64 {
    let (exponent, apart, less) = log_parts::<FMA>(x);
    let mantissa = fma::<FMA>(apart - less, std::f64::consts::LOG10_E, exponent * LG2_LOW);
    log_special(x, fma::<FMA>(exponent, LG2_HIGH, mantissa))
}

#[inline(always)]
pub(super) fn log1p<const FMA: bool>(x: f64) -> f64 {
    let sum = 1.0 + x;
    let lost = (x - (sum - 1.0)) / sum;
    let correction = if (sum > 0.0) & (sum < f64::INFINITY) { lost } else { 0.0 };
    let value = log::<FMA>(sum) + correction;
    if x.abs() < 1e-290 { x } else { value }
}

#[inline(always)]
pub(super) fn sigmoid<const FMA: bool>(x: f64) -> f64 {
    1.0 / (1.0 + exp::<FMA>(-x))
}

#[inline(always)]
pub(super) fn tanh<const FMA: bool>(x: f64) -> f64 {
    let decay = expm1::<FMA>(-2.0 * x.abs());
    let value = (-decay / (decay + 2.0)).copysign(x);
    if x.abs() < 1e-290 { x } else { value }
}

/// The arc sine of a number of at most one half, by itself and its square.
#[inline(always)]
fn near_asin<const FMA: bool>(x: f64, square: f64) -> f64 {
    fma::<FMA>(x * square, polynomial::<FMA, 13>(&ASIN, square - 0.125), x)
}

#[inline(always)]
fn asin<const FMA: bool>(x: f64) -> f64 {
    let size = x.abs();
    let far = size > 0.5;
    // Beyond one half, by half the angle from the pole.
    let square = if far { fma::<FMA>(size, -0.5, 0.5) } else { x * x };
    let value = near_asin::<FMA>(if far { square.sqrt() } else { size }, square);
    (if far { fma::<FMA>(value, -2.0, std::f64::consts::FRAC_PI_2) } else { value }).copysign(x)
}

#[inline(always)]
fn acos<const FMA: bool>(x: f64) -> f64 {
    let size = x.abs();
    let far = size > 0.5;
    let square = if far { fma::<FMA>(size, -0.5, 0.5) } else { x * x };
    let value = near_asin::<FMA>(if far { square.sqrt() } else { x }, square);
    let beyond = if x < 0.0 { fma::<FMA>(value, -2.0, std::f64::consts::PI) } else { 2.0 * value };
    if far { beyond } else { std::f64::consts::FRAC_PI_2 - value }
}

#[inline(always)]
fn atanh<const FMA: bool>(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * log1p::<FMA>((size + size) / (1.0 - size))).copysign(x)
}

/// Sine of an angle of at most `FARTHEST_ANGLE`, after `turns` more quarters.
#[inline(always)]
pub(super) fn turned<const FMA: bool>(x: f64, turns: u64) -> f64 {
    let shifted = fma::<FMA>(x, std::f64::consts::FRAC_2_PI, MAGIC);
    let count = shifted - MAGIC;
    let [high, middle, low] = QUARTER;
    let rest = fma::<FMA>(count, -low, fma::<FMA>(count, -middle, fma::<FMA>(count, -high, x)));
    let square = rest * rest;
    let sine = fma::<FMA>(square * rest, polynomial::<FMA, 6>(&SIN, square), rest);
    let half = 0.5 * square;
    let near = 1.0 - half;
    let cosine = near + (((1.0 - near) - half) + square * square * polynomial::<FMA, 6>(&COS, square));
    let quarter = shifted.to_bits().wrapping_add(turns);
    let value = if quarter & 1 == 0 { sine } else { cosine };
    f64::from_bits(value.to_bits() ^ (quarter.wrapping_shl(62) & (1 << 63)))
}

/// `erfc` of `z`, which is not negative; only with fused products, which leave what a square loses.
#[inline(always)]
fn tail(z: f64) -> f64 {
    let z = if z > 28.0 { 28.0 } else { z };
    let (square, t) = (z * z, 1.0 / z.mul_add(0.5, 1.0));
    let rest = polynomial::<true, 27>(&TAIL, t - TAIL_MIDDLE);
    // The exponent's own rounding, by which far out the power would lose digits.
    let power = rest - square;
    let taken = power - rest;
    let lost = (rest - (power - taken)) + (-square - taken) - z.mul_add(z, -square);
    let value = t * exp::<true>(power);
    value.mul_add(lost, value)
}

#[inline(always)]
pub(super) fn erfc<const FMA: bool>(x: f64) -> f64 {
    if !FMA {
        return libm::erfc(x);
    }
    let tail = tail(x.abs());
    if x < 0.0 { 2.0 - tail } else { tail }
}

#[inline(always)]
fn erf<const FMA: bool>(x: f64) -> f64 {
    if !FMA {
        return libm::erf(x);
    }
    let size = x.abs();
    let near = size * polynomial::<true, 13>(&ERF, size.mul_add(size, -0.5));
    let far = 1.0 - tail(size);
    (if size < 1.0 { near } else { far }).copysign(x)
}

/// `erfinv(y) / y` where `w`, the logarithm of one over `1 - y^2`, is not below `NEAR`.
fn inverse(w: f64) -> f64 {
    let root = w.sqrt();
    let part = ROOTS.iter().filter(|&&end| root > end).count();
    polynomial::<false, 19>(&INVERSE_ROOT[part], root - MIDDLES[part])
}

/// As `erfinv` of any number, one by one.
fn whole_erfinv(y: f64) -> f64 {
    let w = -log::<false>((1.0 - y) * (1.0 + y));
    if y.abs() == 1.0 { f64::INFINITY.copysign(y) } else { y * inverse(w) }
}

/// Functions with a curve of `w` where `1 - y^2` is at least `LEAST`.
macro_rules! inverses {
    ($($name:ident, $fma:ident, |$x:ident| $rest:expr, $value:expr, $far:expr;)+) => {
        $(pub struct $name;

        impl Double for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, $x: f64) -> f64 {
                $value
            }
            #[inline(always)]
            fn is_far(&self, $x: f64) -> bool {
                // Beyond one there is no value, which the logarithm says too.
                ($rest < LEAST) & ($rest >= 0.0)
            }
            fn far(&self, $x: f64) -> f64 {
                $far
            }
        })+
    };
}

inverses! {
    Erfinv, F, |y| (1.0 - y) * (1.0 + y),
        y * polynomial::<F, 23>(&INVERSE, -log::<F>((1.0 - y) * (1.0 + y)) - 0.5 * NEAR), whole_erfinv(y);
    SingleErfinv, F, |y| (1.0 - y) * (1.0 + y),
        y * polynomial::<F, 13>(&SINGLE_INVERSE, -log::<F>((1.0 - y) * (1.0 + y)) - 0.5 * NEAR), whole_erfinv(y);
    // The number below which a normal one lies with probability `p`.
    Ndtri, F, |p| 4.0 * p * (1.0 - p), {
        let w = -log::<F>(4.0 * p * (1.0 - p));
        std::f64::consts::SQRT_2 * (2.0 * p - 1.0) * polynomial::<F, 23>(&INVERSE, w - 0.5 * NEAR)
    }, {
        let value = std::f64::consts::SQRT_2 * (2.0 * p - 1.0) * inverse(-log::<false>(4.0 * p * (1.0 - p)));
        if p == 0.0 || p == 1.0 { f64::INFINITY.copysign(p - 0.5) } else { value }
    };
}

/// A function of one number; those that are far are computed one by one.
pub trait Double: Sync {
    fn at<const FMA: bool>(&self, x: f64) -> f64;
    #[inline(always)]
    fn is_far(&self, _x: f64) -> bool {
        false
    }
    fn far(&self, x: f64) -> f64 {
        self.at::<false>(x)
    }
}

macro_rules! functions {
    ($($name:ident = $function:ident;)+) => {
        $(pub struct $name;

        impl Double for $name {
            #[inline(always)]
            fn at<const FMA: bool>(&self, x: f64) -> f64 {
                $function::<FMA>(x)
            }
        })+
    };
}

functions! {
    Exp = exp;
    Expm1 = expm1;
    Log = log;
    Log2 = log2;
    Log10 = log10;
    Log1p = log1p;
    Sigmoid = sigmoid;
    Tanh = tanh;
    Erf = erf;
    Erfc = erfc;
    Asin = asin;
    Acos = acos;
    Atanh = atanh;
    Exp2 = exp2;
}

macro_rules! angles {
    ($($name:ident = $function:ident, |$x:ident, $fma:ident| $value:expr;)+) => {
        $(pub struct $name;

        impl Double for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, $x: f64) -> f64 {
                $value
            }
            #[inline(always)]
            fn is_far(&self, x: f64) -> bool {
                x.abs() > FARTHEST_ANGLE
            }
            fn far(&self, x: f64) -> f64 {
                x.$function()
            }
        })+
    };
}

angles! {
    // A zero keeps its sign.
    Sin = sin, |x, F| if x == 0.0 { x } else { turned::<F>(x, 0) };
    Cos = cos, |x, F| turned::<F>(x, 1);
}

/// The function of one number alone.
pub fn one(function: impl Double, x: f64) -> f64 {
    if function.is_far(x) { function.far(x) } else { function.at::<false>(x) }
}

/// An element that is computed with as float64.
pub trait Element: Copy {
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
}

impl Element for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x
    }
}

impl Element for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x as Self
    }
}

/// Elements that are brought together before they are computed.
const BLOCK: usize = 256;

struct Row<'f, T, D> {
    out: (*mut T, usize),
    a: (*const T, usize),
    /// What each result is multiplied with.
    grad: Option<(*const T, usize)>,
    length: usize,
    function: &'f D,
}

impl<T: Element, D: Double> Task for Row<'_, T, D> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { out: (out, out_step), a, grad, length, function } = self;
        let (mut x, mut y) = ([0.0; BLOCK], [0.0; BLOCK]);
        for start in (0..length).step_by(BLOCK) {
            let count = BLOCK.min(length - start);
            // SAFETY: rows stay inside the geometries, which lie inside their storages.
            unsafe { gather(a, start, &mut x[..count]) };
            let mut far = false;
            // Whole vectors, so that the loop has no end of its own; what was there before is computed once more.
            for k in 0..count.next_multiple_of(8) {
                far |= function.is_far(x[k]);
                y[k] = function.at::<FMA>(x[k]);
            }
            if far {
                (0..count).filter(|&k| function.is_far(x[k])).for_each(|k| y[k] = function.far(x[k]));
            }
            if let Some(grad) = grad {
                // SAFETY: as above.
                unsafe { gather(grad, start, &mut x[..count]) };
                (0..count).for_each(|k| y[k] *= x[k]);
            }
            // SAFETY: as above.
            unsafe {
                if out_step == 1 {
                    (0..count).for_each(|k| out.add(start + k).write_unaligned(T::narrow(y[k])));
                } else {
                    (0..count).for_each(|k| out.add((start + k) * out_step).write_unaligned(T::narrow(y[k])));
                }
            }
        }
    }
}

/// Elements of a line from `start` on, as many as `to` has.
///
/// # Safety
/// They lie there.
#[inline(always)]
pub(super) unsafe fn gather<T: Element>((from, step): (*const T, usize), start: usize, to: &mut [f64]) {
    // SAFETY: the caller's.
    unsafe {
        if step == 1 {
            to.iter_mut().enumerate().for_each(|(k, to)| *to = from.add(start + k).read_unaligned().wide());
        } else {
            to.iter_mut().enumerate().for_each(|(k, to)| *to = from.add((start + k) * step).read_unaligned().wide());
        }
    }
}

/// `out = f(a)`, computed in float64. `out` may be `a` itself.
pub fn map<T: Element, D: Double>(shape: &[usize], out: Strided<'_>, a: Strided<'_>, function: D) {
    each_row(shape, [out, a], &|[o, i], length, [so, si]| {
        // SAFETY: as in `Row`.
        let (out, a) = unsafe { ((out.at::<T>(o), so), (a.at::<T>(i).cast_const(), si)) };
        dispatch(Row { out, a, grad: None, length, function: &function });
    });
}

/// `out = grad * f(a)` of float64. `out` may be one of the others itself.
pub fn times<D: Double>(shape: &[usize], out: Strided<'_>, grad: Strided<'_>, a: Strided<'_>, function: D) {
    each_row(shape, [out, grad, a], &|[o, g, i], length, [so, sg, si]| {
        // SAFETY: as in `Row`.
        let (out, grad, a) = unsafe {
            ((out.at::<f64>(o), so), (grad.at::<f64>(g).cast_const(), sg), (a.at::<f64>(i).cast_const(), si))
        };
        dispatch(Row { out, a, grad: Some(grad), length, function: &function });
    });
}
