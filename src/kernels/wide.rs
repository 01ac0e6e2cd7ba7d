//! The costliest float32 functions for 16 lanes of AVX-512 (benchmarks/bars.py: elementwise).
//!
//! Where `math` divides or computes both sides of a choice, these look polynomials up in registers (`vpermps`), scale by
//! `vscalefps` and take mantissas by `vgetmantps`; the tables are our own fits. Errors stay within three units in the
//! last place.

use std::arch::x86_64::*;
use std::f32::consts::{LOG2_E, LOG10_E};

use super::math::{FARTHEST_BELOW, LG2_HIGH, LG2_LOW, LN2_HIGH, LN2_LOW, MAGIC, NEAR_COS, NEAR_SIN, QUARTER};
use super::tables::{BELOW, ERF, NODES, SLOPE, TANH};

type V = __m512;

const EXP: [f32; 5] = [0.001_381_431_2, 0.008_368_852, 0.041_668_4, 0.166_665_2, 0.499_999_94];
const LOG: [f32; 4] = [0.189_465_02, -0.250_139_77, 0.333_344_97, -0.499_999_97];
macro_rules! wide {
    ($($(#[$doc:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $body:block)+) => { $(
        $(#[$doc])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        $visible fn $name($($arg: $type),*) -> $out $body
    )+ };
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn polynomial<const N: usize>(coefficients: [f32; N], x: V) -> V {
    let mut sum = _mm512_set1_ps(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(coefficient));
    }
    sum
}

/// The polynomial of each lane's row in a table of 32, whose number is in the lowest bits of `row`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn looked_up<const N: usize>(table: &[[f32; 32]; N], row: __m512i, x: V) -> V {
    let pick = |column: &[f32; 32]| {
        // SAFETY: a column has 32 numbers.
        let (low, high) = unsafe { (_mm512_loadu_ps(column.as_ptr()), _mm512_loadu_ps(column.as_ptr().add(16))) };
        _mm512_permutex2var_ps(low, row, high)
    };
    let mut sum = pick(&table[N - 1]);
    for column in table[..N - 1].iter().rev() {
        sum = _mm512_fmadd_ps(sum, x, pick(column));
    }
    sum
}

/// A function with `f(-x) = 1 - f(x)` that a table has for the negative numbers; it is zero far below.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sided<const N: usize>(table: &[[f32; 32]; N], x: V) -> V {
    let (size, end) = (magnitude(x), set(FARTHEST_BELOW));
    // A NaN is neither beyond the end nor changed by the minimum.
    let (row, apart) = row(_mm512_min_ps(end, size), 5.0);
    let inside = _mm512_cmp_ps_mask::<_CMP_NGT_UQ>(size, end);
    let low = _mm512_maskz_mov_ps(inside, looked_up(table, row, apart));
    let above = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, _mm512_setzero_ps());
    _mm512_mask_sub_ps(low, above, set(1.0), low)
}

wide! {
    fn set(x: f32) -> V {
        _mm512_set1_ps(x)
    }

    fn magnitude(x: V) -> V {
        _mm512_abs_ps(x)
    }

    /// `size` with the sign of `x`.
    fn signed(size: V, x: V) -> V {
        let sign = _mm512_set1_epi32(i32::MIN);
        // Where the mask is set the second, else the first.
        let (size, x) = (_mm512_castps_si512(size), _mm512_castps_si512(x));
        _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xd8>(size, x, sign))
    }

    /// `x` as `k * log(2) + r`: `r` and `k`.
    fn split(x: V) -> (V, V) {
        let magic = set(MAGIC);
        let k = _mm512_sub_ps(_mm512_fmadd_ps(x, set(LOG2_E), magic), magic);
        (_mm512_fnmadd_ps(k, set(LN2_LOW), _mm512_fnmadd_ps(k, set(LN2_HIGH), x)), k)
    }

    /// The power of a small number.
    fn near_power(rest: V) -> V {
        let curve = polynomial(EXP, rest);
        _mm512_fmadd_ps(_mm512_fmadd_ps(curve, rest, set(1.0)), rest, set(1.0))
    }

    pub fn exp(x: V) -> V {
        // Powers that round to zero are not computed: they pass through subnormal numbers, which are slow.
        let some = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, set(-103.98));
        // A NaN is the second operand, and stays.
        let (rest, k) = split(_mm512_max_ps(set(-105.0), _mm512_min_ps(set(89.0), x)));
        _mm512_maskz_scalef_ps(some, near_power(rest), k)
    }

    /// As `math::exp_down`.
    pub fn exp_down(x: V) -> V {
        let least = set(-87.3);
        let some = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, least);
        // A NaN is the second operand, and stays.
        let (rest, k) = split(_mm512_max_ps(least, x));
        _mm512_maskz_scalef_ps(some, near_power(rest), k)
    }

    pub fn sigmoid(x: V) -> V {
        // What is not there rounds to zero, as where the power is infinite.
        let some = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, set(-88.7));
        let total = _mm512_add_ps(exp(_mm512_sub_ps(set(0.0), _mm512_max_ps(set(-88.7), x))), set(1.0));
        let near = _mm512_maskz_rcp14_ps(some, total);
        _mm512_fmadd_ps(_mm512_fnmadd_ps(total, near, set(1.0)), near, near)
    }

    /// The row of a table that is `scale` times as fine as the whole numbers, and how far `size` is from its middle.
    fn row(size: V, scale: f32) -> (__m512i, V) {
        let (scale, magic) = (set(scale), set(MAGIC));
        let shifted = _mm512_fmadd_ps(size, scale, magic);
        (_mm512_castps_si512(shifted), _mm512_fmsub_ps(size, scale, _mm512_sub_ps(shifted, magic)))
    }

    pub fn tanh(x: V) -> V {
        let (size, one) = (_mm512_min_ps(set(8.99), magnitude(x)), set(1.0));
        let (row, apart) = row(size, 3.5);
        let value = _mm512_mul_ps(_mm512_min_ps(one, size), looked_up(&TANH, row, apart));
        signed(_mm512_min_ps(one, value), x)
    }

    pub fn erf(x: V) -> V {
        let size = _mm512_min_ps(set(3.93), magnitude(x));
        let (row, apart) = row(size, 8.0);
        signed(_mm512_min_ps(set(1.0), _mm512_mul_ps(size, looked_up(&ERF, row, apart))), x)
    }

    pub fn gelu(x: V) -> V {
        _mm512_mul_ps(x, sided(&BELOW, x))
    }

    pub fn gelu_slope(x: V) -> V {
        sided(&SLOPE, x)
    }

    /// The exponent, the node's row, and the logarithm of the mantissa over the node.
    fn log_parts(x: V) -> (V, __m512i, V) {
        // Of negative numbers the mantissa is NaN.
        let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(x);
        let exponent = _mm512_getexp_ps(x);
        let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(mantissa, set(1.0));
        let exponent = _mm512_mask_add_ps(exponent, below, exponent, set(1.0));
        let row = _mm512_srli_epi32::<19>(_mm512_castps_si512(mantissa));
        let apart = _mm512_fmsub_ps(mantissa, node(0, row), set(1.0));
        let curve = _mm512_fmadd_ps(_mm512_mul_ps(apart, apart), polynomial(LOG, apart), apart);
        (exponent, row, curve)
    }

    fn node(column: usize, row: __m512i) -> V {
        // SAFETY: a column has 16 numbers.
        _mm512_permutexvar_ps(row, unsafe { _mm512_loadu_ps(NODES[column].as_ptr()) })
    }

    pub fn log(x: V) -> V {
        let (exponent, row, curve) = log_parts(x);
        let coarse = _mm512_fmadd_ps(exponent, set(LN2_HIGH), node(1, row));
        _mm512_add_ps(coarse, _mm512_fmadd_ps(exponent, set(LN2_LOW), curve))
    }

    pub fn log2(x: V) -> V {
        let (exponent, row, curve) = log_parts(x);
        _mm512_fmadd_ps(curve, set(LOG2_E), _mm512_add_ps(exponent, node(2, row)))
    }

    pub fn log10(x: V) -> V {
        let (exponent, row, curve) = log_parts(x);
        let coarse = _mm512_fmadd_ps(exponent, set(LG2_HIGH), node(3, row));
        _mm512_fmadd_ps(curve, set(LOG10_E), _mm512_fmadd_ps(exponent, set(LG2_LOW), coarse))
    }

    /// Sine of an angle of at most `NEAR_ANGLE` (`math`), after `turns` more quarters.
    fn turned(x: V, turns: i32) -> V {
        let magic = set(MAGIC);
        let shifted = _mm512_fmadd_ps(x, set(std::f32::consts::FRAC_2_PI), magic);
        let whole = _mm512_sub_ps(shifted, magic);
        let [high, middle, low] = QUARTER;
        let rest = _mm512_fnmadd_ps(whole, set(high), x);
        let rest = _mm512_fnmadd_ps(whole, set(low), _mm512_fnmadd_ps(whole, set(middle), rest));
        let square = _mm512_mul_ps(rest, rest);
        let sine = _mm512_fmadd_ps(_mm512_mul_ps(square, rest), polynomial(NEAR_SIN, square), rest);
        let cosine = _mm512_fmadd_ps(square, polynomial(NEAR_COS, square), set(1.0));
        let quarter = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(turns));
        let odd = _mm512_test_epi32_mask(quarter, _mm512_set1_epi32(1));
        let value = _mm512_castps_si512(_mm512_mask_blend_ps(odd, sine, cosine));
        let sign = _mm512_slli_epi32::<30>(quarter);
        // The highest bit of `sign` flips that of the value.
        _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0x78>(value, sign, _mm512_set1_epi32(i32::MIN)))
    }

    /// Which numbers are too far below zero for the tables of `gelu`.
    pub fn far_below(x: V) -> __mmask16 {
        _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, set(-FARTHEST_BELOW))
    }

    pub fn sin(x: V) -> V {
        // A zero keeps its sign.
        let value = turned(x, 0);
        _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(x, _mm512_setzero_ps()), x)
    }

    pub fn cos(x: V) -> V {
        turned(x, 1)
    }

    pub fn rsqrt(x: V) -> V {
        let near = _mm512_rsqrt14_ps(x);
        let half = _mm512_mul_ps(_mm512_mul_ps(x, near), set(0.5));
        let value = _mm512_fmadd_ps(_mm512_fnmadd_ps(half, near, set(0.5)), near, near);
        // Zeros, infinity and numbers so small that their products lose bits; negative ones are NaN already.
        let small = _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, set(0.0)), x, set(1e-36));
        let special = small | _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(x, set(f32::INFINITY));
        if special == 0 {
            return value;
        }
        _mm512_mask_div_ps(value, special, set(1.0), _mm512_sqrt_ps(x))
    }
}
