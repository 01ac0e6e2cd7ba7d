//! Box-Muller transform of sixteen floats at a time, for `randn` (benchmarks/cases.py: large_randn).
//!
//! torch's numbers after a seed depend on how its logarithm, sine and cosine round, so the same
//! single-precision Cephes polynomials are evaluated here, with one rounding per multiply-add as
//! its AVX2 build does. Eight independent lanes let the compiler use vector registers.

const LANES: usize = 8;

/// Values transformed together: eight radii followed by eight angles.
pub const BLOCK: usize = 2 * LANES;

/// Cephes `logf`: coefficients of the polynomial on `[sqrt(1/2) - 1, sqrt(2) - 1]`.
const LOG: [f32; 9] = [
    7.037_683_6e-2,
    -1.151_461e-1,
    1.167_699_87e-1,
    -1.242_014_1e-1,
    1.424_932_3e-1,
    -1.666_805_8e-1,
    2.000_071_4e-1,
    -2.499_999_4e-1,
    3.333_333e-1,
];
/// log(2) in two parts, so that the product with the exponent is exact in the first one.
const LOG2_HIGH: f32 = 0.693_359_4;
const LOG2_LOW: f32 = -2.121_944_4e-4;
/// pi/4 in three parts, for the reduction of the angle.
const QUARTER_PI: [f32; 3] = [0.785_156_25, 2.418_756_5e-4, 3.774_895e-8];
const SIN: [f32; 3] = [-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1];
const COS: [f32; 3] = [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2];

/// Turns sixteen uniform values of `[0, 1)` into sixteen normal ones, in place.
pub fn transform_f32(block: &mut [f32; BLOCK], mean: f32, std: f32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the two features that the callee is compiled for were just found present.
        unsafe { transform_avx2(block, mean, std) };
        return;
    }
    transform(block, mean, std);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn transform_avx2(block: &mut [f32; BLOCK], mean: f32, std: f32) {
    transform(block, mean, std);
}

/// As `transform_f32`, for blocks one after the other.
pub fn transform_all(blocks: &mut [[f32; BLOCK]], mean: f32, std: f32) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the two features that the callee is compiled for were just found present.
        unsafe { transform_all_avx2(blocks, mean, std) };
        return;
    }
    blocks.iter_mut().for_each(|block| transform(block, mean, std));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn transform_all_avx2(blocks: &mut [[f32; BLOCK]], mean: f32, std: f32) {
    blocks.iter_mut().for_each(|block| transform(block, mean, std));
}

#[inline(always)]
fn transform(block: &mut [f32; BLOCK], mean: f32, std: f32) {
    let (radii, angles) = block.split_at_mut(LANES);
    for (first, second) in radii.iter_mut().zip(angles) {
        let radius = (-2.0 * log(1.0 - *first)).sqrt();
        let (sin, cos) = sin_cos(std::f32::consts::TAU * *second);
        *first = (radius * cos).mul_add(std, mean);
        *second = (radius * sin).mul_add(std, mean);
    }
}

/// Natural logarithm of a normal number of `(0, 1]`.
#[inline(always)]
fn log(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 126;
    let mantissa = f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000);
    let low = mantissa < std::f32::consts::FRAC_1_SQRT_2;
    let e = (exponent - i32::from(low)) as f32;
    let m = mantissa - 1.0 + if low { mantissa } else { 0.0 };
    let z = m * m;
    let [head, tail @ ..] = LOG;
    let y = tail.iter().fold(head, |y, c| y.mul_add(m, *c)) * m;
    let y = y.mul_add(z, e * LOG2_LOW);
    let y = z.mul_add(-0.5, y);
    e.mul_add(LOG2_HIGH, m + y)
}

/// Sine and cosine of an angle of `[0, 2 pi)`.
#[inline(always)]
fn sin_cos(angle: f32) -> (f32, f32) {
    let octant = ((angle * (4.0 / std::f32::consts::PI)) as i32 + 1) & !1;
    let turns = octant as f32;
    let x = QUARTER_PI.iter().fold(angle, |x, part| turns.mul_add(-part, x));
    let z = x * x;
    let cos = COS[0].mul_add(z, COS[1]).mul_add(z, COS[2]) * z;
    let cos = cos.mul_add(z, -(z * 0.5)) + 1.0;
    let sin = SIN[0].mul_add(z, SIN[1]).mul_add(z, SIN[2]) * z;
    let sin = sin.mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 { (sin, cos) } else { (cos, sin) };
    let sin_sign = if octant & 4 == 0 { 1.0 } else { -1.0 };
    let cos_sign = if (octant - 2) & 4 == 0 { -1.0 } else { 1.0 };
    (sin * sin_sign, cos * cos_sign)
}

/// Turns sixteen uniform values of `[0, 1)` into sixteen normal ones, in place.
pub fn transform_f64(block: &mut [f64; BLOCK], mean: f64, std: f64) {
    let (radii, angles) = block.split_at_mut(LANES);
    for (first, second) in radii.iter_mut().zip(angles) {
        let radius = (-2.0 * (1.0 - *first).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * *second).sin_cos();
        *first = (radius * cos).mul_add(std, mean);
        *second = (radius * sin).mul_add(std, mean);
    }
}
