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
        let half = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_maskz_loadu_ps(mask, from));
        _mm256_mask_storeu_epi16(to, mask, half);
    }
    /// float16 to float32.
    widen_half: i16 => f32, |from, to, mask| {
        _mm512_mask_storeu_ps(to, mask, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from)));
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
        (DType::F32, DType::F64) => Some(widen),
        (DType::F32, DType::I64) => Some(truncate),
        (DType::I64, DType::F32) => Some(round),
        _ => None,
    }
}
