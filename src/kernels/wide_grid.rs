//! Linear reads of float32 images for AVX-512 (benchmarks/bars.py: grid_sample).
//!
//! As `grid`'s own loops, bit by bit, with both neighbours of a row in one gather.

use std::arch::x86_64::*;
use std::ops::Range;

use super::grid::{Mode, Outside, Reading};

/// Whether these loops read so.
pub fn suits(reading: &Reading) -> bool {
    let plain = reading.mode == Mode::Linear && !reading.volume && reading.outside != Outside::Reflection;
    plain && reading.sizes[2] >= 2 && i32::try_from(reading.plane()).is_ok()
}

/// The two pixels along one dimension of 16 places.
struct Pair {
    low: __m512,
    high: __m512,
    /// Weights of both, and which of them are in the image.
    weight: [__m512; 2],
    valid: [__mmask16; 2],
}

/// # Safety
/// The processor has these instructions, as for all of this file.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn pair(reading: &Reading, x: __m512, size: usize) -> Pair {
    let (zero, one, half) = (_mm512_setzero_ps(), _mm512_set1_ps(1.0), _mm512_set1_ps(0.5));
    let most = _mm512_set1_ps((size - 1) as f32);
    let scale = _mm512_mul_ps(_mm512_set1_ps(if reading.corners { size as f32 - 1.0 } else { size as f32 }), half);
    let x = _mm512_add_ps(x, one);
    let mut place = if reading.corners { _mm512_mul_ps(x, scale) } else { _mm512_fmsub_ps(x, scale, half) };
    if reading.outside == Outside::Border {
        // Of a NaN the second operand is left.
        place = _mm512_min_ps(_mm512_max_ps(place, zero), most);
    }
    let low = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(place);
    let (high, part) = (_mm512_add_ps(low, one), _mm512_sub_ps(place, low));
    let valid = [low, high]
        .map(|at| _mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(at, zero), at, most));
    Pair { low, high, weight: [_mm512_sub_ps(one, part), part], valid }
}

/// A number kept between zero and `most`, as an integer; NaN becomes zero.
///
/// # Safety
/// As `pair`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn kept(at: __m512, most: f32) -> __m512i {
    _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(at, _mm512_setzero_ps()), _mm512_set1_ps(most)))
}

/// Reads the images of sample `n` at some of its places.
///
/// # Safety
/// As `pair`; `input` (N, C, plane), `grid` (N, places, 2) and `out` (N, C, places) are there, nobody else uses these
/// places of `out`, and the reading is one that suits.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn read(
    reading: &Reading,
    (input, grid, out): (*const f32, *const f32, *mut f32),
    n: usize,
    places: Range<usize>,
) {
    let ([_, height, width], plane) = (reading.sizes, reading.plane());
    let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let one = _mm512_set1_epi32(1);
    for first in places.clone().step_by(16) {
        let there = u32::MAX >> (32 - 2 * (places.end - first).min(16));
        let results = (u32::from(u16::MAX) >> (16 - (places.end - first).min(16))) as __mmask16;
        // SAFETY: the caller's; masks keep to the places.
        unsafe {
            let from = grid.add((n * reading.places + first) * 2);
            let a = _mm512_maskz_loadu_ps(there as __mmask16, from);
            let b = _mm512_maskz_loadu_ps((there >> 16) as __mmask16, from.wrapping_add(16));
            let xs = pair(reading, _mm512_permutex2var_ps(a, even, b), width);
            let ys = pair(reading, _mm512_permutex2var_ps(a, _mm512_add_epi32(even, one), b), height);
            // Both neighbours begin at `base`, but at the edges one of them is the other's number.
            let base = kept(xs.low, (width - 2) as f32);
            let begin = _mm512_cvtepi32_ps(base);
            let pick = [xs.low, xs.high].map(|at| _mm512_add_epi32(even, kept(_mm512_sub_ps(at, begin), 1.0)));
            let rows = [ys.low, ys.high].map(|at| {
                let row = kept(at, (height - 1) as f32);
                _mm512_add_epi32(_mm512_mullo_epi32(row, _mm512_set1_epi32(width as i32)), base)
            });
            let mut weights = [[_mm512_setzero_ps(); 2]; 2];
            let mut valid = [[0; 2]; 2];
            for y in 0..2 {
                for x in 0..2 {
                    weights[y][x] = _mm512_mul_ps(xs.weight[x], ys.weight[y]);
                    valid[y][x] = xs.valid[x] & ys.valid[y];
                }
            }
            for channel in n * reading.channels..(n + 1) * reading.channels {
                let pixels = input.add(channel * plane).cast::<f64>();
                let mut sum = _mm512_setzero_ps();
                for y in 0..2 {
                    let low = _mm512_i32gather_pd::<4>(_mm512_castsi512_si256(rows[y]), pixels);
                    let high = _mm512_i32gather_pd::<4>(_mm512_extracti64x4_epi64::<1>(rows[y]), pixels);
                    let (low, high) = (_mm512_castpd_ps(low), _mm512_castpd_ps(high));
                    for x in 0..2 {
                        let value = _mm512_maskz_permutex2var_ps(valid[y][x], low, pick[x], high);
                        sum = _mm512_fmadd_ps(value, weights[y][x], sum);
                    }
                }
                _mm512_mask_storeu_ps(out.add(channel * reading.places + first), results, sum);
            }
        }
    }
}
