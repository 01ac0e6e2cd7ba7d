//! Conversions of float32 from and to other types by AVX-512 (benchmarks/cases.py: large_half, large_long).
//!
//! What is out of an integer's range, and NaN, becomes its lowest value, as in `cast`.

use std::arch::x86_64::*;

/// Runs `step(at, mask)` for each 16 of `length` elements; the mask says which of them are there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn by_vectors(length: usize, step: impl Fn(usize, __mmask16)) {
    let whole = length / 16 * 16;
    for at in (0..whole).step_by(16) {
        step(at, __mmask16::MAX);
    }
    if whole < length {
        step(whole, (1 << (length - whole)) - 1);
    }
}

/// 16-bit floats as float32; bfloat16 where `BRAIN`, else float16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn widened<const BRAIN: bool>(x: __m256i) -> __m512 {
    if BRAIN { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) } else { _mm512_cvtph_ps(x) }
}

/// The nearest 16-bit floats, even ones where two are. The instruction for bfloat16 would take subnormal numbers for
/// zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn narrowed<const BRAIN: bool>(x: __m512) -> __m256i {
    if BRAIN {
        _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(rounded(x)))
    } else {
        _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x)
    }
}

/// As `narrowed`, of twice as many.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn narrowed_pair<const BRAIN: bool>(a: __m512, b: __m512) -> __m512i {
    const UPPER: [i16; 32] = {
        let (mut places, mut k) = ([0; 32], 0);
        while k < 32 {
            places[k] = 2 * k as i16 + 1;
            k += 1;
        }
        places
    };
    if BRAIN {
        // SAFETY: the array has 32 numbers.
        let upper = unsafe { _mm512_loadu_epi16(UPPER.as_ptr()) };
        _mm512_permutex2var_epi16(rounded(a), upper, rounded(b))
    } else {
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(narrowed::<false>(a)), narrowed::<false>(b))
    }
}

/// float32 whose upper halves are the nearest bfloat16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn rounded(x: __m512) -> __m512i {
    let bits = _mm512_castps_si512(x);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    // A NaN keeps its upper bits, of which one more says that it is one.
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
    _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x0040_0000))
}

macro_rules! casts {
    ($($(#[$doc:meta])* $name:ident: $source:ty => $target:ty, |$from:ident, $to:ident, $mask:ident| $body:block)+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// So many elements lie at both addresses; the processor has these instructions.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        unsafe fn $name(from: *const u8, to: *mut u8, length: usize) {
            let (from, to) = (from.cast::<$source>(), to.cast::<$target>());
            by_vectors(length, |at, $mask| {
                let ($from, $to) = (from.wrapping_add(at), to.wrapping_add(at));
                // SAFETY: the caller's; the mask keeps the last step inside.
                unsafe { $body }
            });
        }
    )+ };
}

casts! {
    /// float32 to float16.
    narrow_half: f32 => i16, |from, to, mask| {
        _mm256_mask_storeu_epi16(to, mask, narrowed::<false>(_mm512_maskz_loadu_ps(mask, from)));
    }
    /// float16 to float32.
    widen_half: i16 => f32, |from, to, mask| {
        _mm512_mask_storeu_ps(to, mask, widened::<false>(_mm256_maskz_loadu_epi16(mask, from)));
    }
    /// float32 to bfloat16.
    narrow_brain: f32 => i16, |from, to, mask| {
        _mm256_mask_storeu_epi16(to, mask, narrowed::<true>(_mm512_maskz_loadu_ps(mask, from)));
    }
    /// bfloat16 to float32.
    widen_brain: i16 => f32, |from, to, mask| {
        _mm512_mask_storeu_ps(to, mask, widened::<true>(_mm256_maskz_loadu_epi16(mask, from)));
    }
    /// float32 to float64.
    widen: f32 => f64, |from, to, mask| {
        let [low, high] = halves(mask);
        _mm512_mask_storeu_pd(to, low, _mm512_cvtps_pd(_mm256_maskz_loadu_ps(low, from)));
        let rest = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(high, from.wrapping_add(8)));
        _mm512_mask_storeu_pd(to.wrapping_add(8), high, rest);
    }
    /// float32 to int64.
    truncate: f32 => i64, |from, to, mask| {
        let [low, high] = halves(mask);
        _mm512_mask_storeu_epi64(to, low, _mm512_cvttps_epi64(_mm256_maskz_loadu_ps(low, from)));
        let rest = _mm512_cvttps_epi64(_mm256_maskz_loadu_ps(high, from.wrapping_add(8)));
        _mm512_mask_storeu_epi64(to.wrapping_add(8), high, rest);
    }
    /// int64 to float32.
    round: i64 => f32, |from, to, mask| {
        let [low, high] = halves(mask);
        _mm256_mask_storeu_ps(to, low, _mm512_cvtepi64_ps(_mm512_maskz_loadu_epi64(low, from)));
        let rest = _mm512_cvtepi64_ps(_mm512_maskz_loadu_epi64(high, from.wrapping_add(8)));
        _mm256_mask_storeu_ps(to.wrapping_add(8), high, rest);
    }
}

fn halves(mask: __mmask16) -> [__mmask8; 2] {
    mask.to_le_bytes()
}

/// These conversions, where the processor has what they need.
pub fn direct(from: crate::dtype::DType, to: crate::dtype::DType) -> Option<super::cast::Direct> {
    use crate::dtype::DType;
    if super::vector::width() < 512 {
        return None;
    }
    match (from, to) {
        (DType::F32, DType::F16) => Some(narrow_half),
        (DType::F16, DType::F32) => Some(widen_half),
        (DType::F32, DType::BF16) => Some(narrow_brain),
        (DType::BF16, DType::F32) => Some(widen_brain),
        (DType::F32, DType::F64) => Some(widen),
        (DType::F32, DType::I64) => Some(truncate),
        (DType::I64, DType::F32) => Some(round),
        _ => None,
    }
}
