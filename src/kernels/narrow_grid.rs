//! Linear reads of float32 images for AVX2 (benchmarks/bars.py: grid_sample).
//!
//! As `wide_grid`, bit by bit. Both neighbours of a row come in one load of 64 bits: gathers take AMD's processors longer
//! than single loads.

use std::arch::x86_64::*;
use std::ops::Range;

use super::grid::{Outside, Reading};

/// Places at a time.
const LANES: usize = 8;

/// The two pixels along one dimension of eight places.
struct Pair {
    low: __m256,
    high: __m256,
    /// Weights of both, and which of them are in the image.
    weight: [__m256; 2],
    valid: [__m256; 2],
}

/// # Safety
/// The processor has these instructions, as for all of this file.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn pair(reading: &Reading, x: __m256, size: usize) -> Pair {
    let (zero, one, half) = (_mm256_setzero_ps(), _mm256_set1_ps(1.0), _mm256_set1_ps(0.5));
    let most = _mm256_set1_ps((size - 1) as f32);
    let scale = _mm256_mul_ps(_mm256_set1_ps(if reading.corners { size as f32 - 1.0 } else { size as f32 }), half);
    let x = _mm256_add_ps(x, one);
    let mut place = if reading.corners { _mm256_mul_ps(x, scale) } else { _mm256_fmsub_ps(x, scale, half) };
    if reading.outside == Outside::Border {
        // Of a NaN the second operand is left.
        place = _mm256_min_ps(_mm256_max_ps(place, zero), most);
    }
    let low = _mm256_floor_ps(place);
    let (high, part) = (_mm256_add_ps(low, one), _mm256_sub_ps(place, low));
    let mut valid = [zero; 2];
    for (valid, at) in valid.iter_mut().zip([low, high]) {
        *valid = _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(at, zero), _mm256_cmp_ps::<_CMP_LE_OQ>(at, most));
    }
    Pair { low, high, weight: [_mm256_sub_ps(one, part), part], valid }
}

/// A number kept between zero and `most`, as an integer; NaN becomes zero.
///
/// # Safety
/// As `pair`.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn kept(at: __m256, most: f32) -> __m256i {
    _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(at, _mm256_setzero_ps()), _mm256_set1_ps(most)))
}

/// The neighbours that begin at eight places: the first ones and the second ones.
///
/// # Safety
/// As `pair`; both lie there.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn both(pixels: *const f32, at: &[u32; LANES]) -> [__m256; 2] {
    // SAFETY: the caller's; two floats are as long as one number of 64 bits.
    unsafe {
        let zero = _mm_setzero_pd();
        let two = |a: u32, b: u32| {
            let low = _mm_loadl_pd(zero, pixels.add(a as usize).cast());
            _mm_castpd_ps(_mm_loadh_pd(low, pixels.add(b as usize).cast()))
        };
        let [a, b, c, d, e, f, g, h] = *at;
        let one = _mm256_set_m128(two(e, f), two(a, b));
        let other = _mm256_set_m128(two(g, h), two(c, d));
        [_mm256_shuffle_ps::<0x88>(one, other), _mm256_shuffle_ps::<0xdd>(one, other)]
    }
}

/// What eight places read: where their pairs begin in each of two rows, which of a pair is which neighbour, and weights.
struct Places {
    rows: [[u32; LANES]; 2],
    /// Where the first neighbour is the second of its pair, and the second the first: at the edges.
    moved: [__m256; 2],
    valid: [[__m256; 2]; 2],
    weight: [[__m256; 2]; 2],
    /// Whether all neighbours are in the image and where they are expected.
    plain: bool,
}

/// # Safety
/// As `pair`.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn placed(reading: &Reading, x: __m256, y: __m256) -> Places {
    let [_, height, width] = reading.sizes;
    let mut rows = [[0; LANES]; 2];
    let (mut valid, mut weight) = ([[_mm256_setzero_ps(); 2]; 2], [[_mm256_setzero_ps(); 2]; 2]);
    // SAFETY: the caller's; a row has as many numbers as a vector.
    unsafe {
        let (xs, ys) = (pair(reading, x, width), pair(reading, y, height));
        let base = kept(xs.low, (width - 2) as f32);
        let begin = _mm256_cvtepi32_ps(base);
        let first =
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(kept(_mm256_sub_ps(xs.low, begin), 1.0), _mm256_set1_epi32(1)));
        let second =
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(kept(_mm256_sub_ps(xs.high, begin), 1.0), _mm256_setzero_si256()));
        let mut all = _mm256_andnot_ps(_mm256_or_ps(first, second), _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
        for (y, at) in [ys.low, ys.high].into_iter().enumerate() {
            let row = kept(at, (height - 1) as f32);
            let start = _mm256_add_epi32(_mm256_mullo_epi32(row, _mm256_set1_epi32(width as i32)), base);
            _mm256_storeu_si256(rows[y].as_mut_ptr().cast(), start);
            for x in 0..2 {
                weight[y][x] = _mm256_mul_ps(xs.weight[x], ys.weight[y]);
                valid[y][x] = _mm256_and_ps(xs.valid[x], ys.valid[y]);
                all = _mm256_and_ps(all, valid[y][x]);
            }
        }
        Places { rows, moved: [first, second], valid, weight, plain: _mm256_movemask_ps(all) == 0xff }
    }
}

/// Eight places of one channel.
///
/// # Safety
/// As `pair`; the channel's plane lies there.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn sampled(pixels: *const f32, places: &Places) -> __m256 {
    let mut sum = _mm256_setzero_ps();
    for y in 0..2 {
        // SAFETY: the caller's: `placed` keeps pairs inside the plane.
        let [first, second] = unsafe { both(pixels, &places.rows[y]) };
        if places.plain {
            sum = _mm256_fmadd_ps(first, places.weight[y][0], sum);
            sum = _mm256_fmadd_ps(second, places.weight[y][1], sum);
            continue;
        }
        let low = _mm256_and_ps(_mm256_blendv_ps(first, second, places.moved[0]), places.valid[y][0]);
        let high = _mm256_and_ps(_mm256_blendv_ps(second, first, places.moved[1]), places.valid[y][1]);
        sum = _mm256_fmadd_ps(low, places.weight[y][0], sum);
        sum = _mm256_fmadd_ps(high, places.weight[y][1], sum);
    }
    sum
}

/// Reads the images of sample `n` at some of its places.
///
/// # Safety
/// As `wide_grid::read`, on a processor with these instructions.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn read(
    reading: &Reading,
    (input, grid, out): (*const f32, *const f32, *mut f32),
    n: usize,
    places: Range<usize>,
) {
    let plane = reading.plane();
    for first in places.clone().step_by(LANES) {
        let count = LANES.min(places.end - first);
        let mut near = [0.0; 2 * LANES];
        // SAFETY: the caller's; the last few go through buffers.
        unsafe {
            let mut from = grid.add((n * reading.places + first) * 2);
            if count < LANES {
                std::ptr::copy_nonoverlapping(from, near.as_mut_ptr(), 2 * count);
                from = near.as_ptr();
            }
            let (a, b) = (_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(LANES)));
            let (one, other) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            let (x, y) = (_mm256_shuffle_ps::<0x88>(one, other), _mm256_shuffle_ps::<0xdd>(one, other));
            let places = placed(reading, x, y);
            for channel in n * reading.channels..(n + 1) * reading.channels {
                let value = sampled(input.add(channel * plane), &places);
                let to = out.add(channel * reading.places + first);
                if count == LANES {
                    _mm256_storeu_ps(to, value);
                    continue;
                }
                let mut last = [0.0; LANES];
                _mm256_storeu_ps(last.as_mut_ptr(), value);
                std::ptr::copy_nonoverlapping(last.as_ptr(), to, count);
            }
        }
    }
}
