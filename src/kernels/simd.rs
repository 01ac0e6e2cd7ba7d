//! Vectors of float32 with one interface for AVX-512, AVX2 and plain arrays, for loops that must own their registers
//! (benchmarks/bars.py: products, attention).

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// One vector width. Every function may be called only on a processor that has its instructions; callers are compiled
/// with them, and inline all of this.
pub trait Simd: Copy {
    type V: Copy;
    /// The first lanes of a vector.
    type Part: Copy;
    const LANES: usize;
    /// Rows of the tallest tile of two vectors whose sums stay in registers.
    const HEIGHT: usize;

    /// # Safety
    /// As all of this trait: the processor has the instructions.
    unsafe fn splat(x: f32) -> Self::V;
    /// # Safety
    /// `LANES` elements lie there.
    unsafe fn load(from: *const f32) -> Self::V;
    /// # Safety
    /// As `load`.
    unsafe fn store(to: *mut f32, x: Self::V);
    /// # Safety
    /// As `splat`; `count` is at most `LANES`.
    unsafe fn part(count: usize) -> Self::Part;
    /// The lanes from `first` to `end`, which is at most `LANES`.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn span(first: usize, end: usize) -> Self::Part;
    /// Zeros beyond the part.
    ///
    /// # Safety
    /// The elements of the part lie there.
    unsafe fn load_part(from: *const f32, part: Self::Part) -> Self::V;
    /// # Safety
    /// As `load_part`.
    unsafe fn store_part(to: *mut f32, part: Self::Part, x: Self::V);
    /// `a * b + c`.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// # Safety
    /// As `splat`.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// # Safety
    /// As `splat`.
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// Every second element of `a` and then of `b`, from the first on and from the second on.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn dealt(a: Self::V, b: Self::V) -> [Self::V; 2];
    /// Elements of `a` and `b` in turn.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn mixed(a: Self::V, b: Self::V) -> [Self::V; 2];
    /// The larger one; `b` where either is NaN.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The greater one, or the lesser; a NaN where either is one.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn extreme<const MAX: bool>(a: Self::V, b: Self::V) -> Self::V;
    /// Brings memory that is needed soon into the second cache; any address will do.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn prefetch(_at: *const f32) {}
    /// The same number; what is read after it in the program is not read before it is computed. Where sums fill all
    /// registers, a compiler that reads ahead has to put some of them into memory.
    ///
    /// # Safety
    /// As `splat`.
    #[inline(always)]
    unsafe fn settled(x: Self::V) -> Self::V {
        x
    }
    /// The sum of all lanes.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn sum(x: Self::V) -> f32;
    /// `to[p * to_step + i] = from[i * from_step + p]` for `rows` values of `i` and `columns` of `p`, both at most `LANES`.
    ///
    /// # Safety
    /// These elements lie there.
    unsafe fn transpose(from: (*const f32, usize), to: (*mut f32, usize), rows: usize, columns: usize);
}

/// Four numbers that a compiler puts into a vector of its own.
#[derive(Clone, Copy)]
pub struct Plain;

impl Simd for Plain {
    type V = [f32; 4];
    type Part = (usize, usize);
    const LANES: usize = 4;
    const HEIGHT: usize = if cfg!(target_arch = "aarch64") { 8 } else { 4 };

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; 4]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: the caller's.
        unsafe { from.cast::<[f32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, x: Self::V) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(x) }
    }

    #[inline(always)]
    unsafe fn part(count: usize) -> (usize, usize) {
        (0, count)
    }

    #[inline(always)]
    unsafe fn span(first: usize, end: usize) -> (usize, usize) {
        (first, end)
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, (first, end): (usize, usize)) -> Self::V {
        if (first, end) == (0, 4) {
            // SAFETY: the caller's.
            return unsafe { Self::load(from) };
        }
        let mut x = [0.0; 4];
        for (lane, slot) in x.iter_mut().enumerate().take(end).skip(first) {
            // SAFETY: the caller's.
            *slot = unsafe { *from.add(lane) };
        }
        x
    }

    #[inline(always)]
    unsafe fn store_part(to: *mut f32, (first, end): (usize, usize), x: Self::V) {
        if (first, end) == (0, 4) {
            // SAFETY: the caller's.
            return unsafe { Self::store(to, x) };
        }
        for (lane, value) in x.into_iter().enumerate().take(end).skip(first) {
            // SAFETY: the caller's.
            unsafe { *to.add(lane) = value };
        }
    }

    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, mut c: Self::V) -> Self::V {
        for lane in 0..4 {
            c[lane] = if cfg!(target_arch = "aarch64") {
                a[lane].mul_add(b[lane], c[lane])
            } else {
                a[lane] * b[lane] + c[lane]
            };
        }
        c
    }

    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
    }

    #[inline(always)]
    unsafe fn dealt(a: Self::V, b: Self::V) -> [Self::V; 2] {
        [[a[0], a[2], b[0], b[2]], [a[1], a[3], b[1], b[3]]]
    }

    #[inline(always)]
    unsafe fn mixed(a: Self::V, b: Self::V) -> [Self::V; 2] {
        [[a[0], b[0], a[1], b[1]], [a[2], b[2], a[3], b[3]]]
    }

    #[inline(always)]
    unsafe fn max(a: Self::V, mut b: Self::V) -> Self::V {
        for lane in 0..4 {
            if a[lane] > b[lane] {
                b[lane] = a[lane];
            }
        }
        b
    }

    #[inline(always)]
    unsafe fn extreme<const MAX: bool>(mut a: Self::V, b: Self::V) -> Self::V {
        for lane in 0..4 {
            let better = if MAX { b[lane] > a[lane] } else { b[lane] < a[lane] };
            if better | b[lane].is_nan() {
                a[lane] = b[lane];
            }
        }
        a
    }

    #[inline(always)]
    unsafe fn sum(x: Self::V) -> f32 {
        (x[0] + x[2]) + (x[1] + x[3])
    }

    #[inline(always)]
    unsafe fn transpose(from: (*const f32, usize), to: (*mut f32, usize), rows: usize, columns: usize) {
        for p in 0..columns {
            for i in 0..rows {
                // SAFETY: the caller's.
                unsafe { *to.0.add(p * to.1 + i) = *from.0.add(i * from.1 + p) };
            }
        }
    }
}

/// As `Simd::settled`; a function of its own, since only one with these instructions may name their registers.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx")]
fn settled_256(mut x: __m256) -> __m256 {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(ymm_reg) x, options(nostack, preserves_flags)) };
    x
}

/// AVX2 with fused multiplication.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Simd for Avx2 {
    type V = __m256;
    type Part = __m256i;
    const LANES: usize = 8;
    const HEIGHT: usize = 6;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m256 {
        // SAFETY: the caller's, here and below.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, x: __m256) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_ps(to, x) }
    }

    #[inline(always)]
    unsafe fn part(count: usize) -> __m256i {
        // SAFETY: the caller's.
        unsafe {
            let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), places)
        }
    }

    #[inline(always)]
    unsafe fn span(first: usize, end: usize) -> __m256i {
        // SAFETY: the caller's.
        unsafe { _mm256_andnot_si256(Self::part(first), Self::part(end)) }
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, part: __m256i) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_maskload_ps(from, part) }
    }

    #[inline(always)]
    unsafe fn store_part(to: *mut f32, part: __m256i, x: __m256) {
        // Masked stores take AMD's processors some forty steps each (Zen 3), so that what is left is written in pieces.
        // SAFETY: the caller's; a part's lanes are neighbours.
        unsafe {
            let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(part)) as u32;
            if lanes == 0xFF {
                return Self::store(to, x);
            }
            let (first, count) = (lanes.trailing_zeros(), lanes.count_ones());
            let (mut to, mut x) = (to, x);
            if first > 0 {
                let places =
                    _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first as i32));
                (to, x) = (to.wrapping_add(first as usize), _mm256_permutevar8x32_ps(x, places));
            }
            let mut low = _mm256_castps256_ps128(x);
            if count & 4 != 0 {
                _mm_storeu_ps(to, low);
                (to, low) = (to.add(4), _mm256_extractf128_ps::<1>(x));
            }
            if count & 2 != 0 {
                _mm_storel_pd(to.cast(), _mm_castps_pd(low));
                (to, low) = (to.wrapping_add(2), _mm_movehl_ps(low, low));
            }
            if count & 1 != 0 {
                _mm_store_ss(to, low);
            }
        }
    }

    #[inline(always)]
    unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn dealt(a: __m256, b: __m256) -> [__m256; 2] {
        // SAFETY: the caller's.
        unsafe {
            let (low, high) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            [_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xDD>(low, high)]
        }
    }

    #[inline(always)]
    unsafe fn mixed(a: __m256, b: __m256) -> [__m256; 2] {
        // SAFETY: the caller's.
        unsafe {
            let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
        }
    }

    #[inline(always)]
    unsafe fn max(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn extreme<const MAX: bool>(a: __m256, b: __m256) -> __m256 {
        // The second operand is left where one is NaN; all bits set are one too.
        // SAFETY: the caller's.
        unsafe {
            let best = if MAX { _mm256_max_ps(b, a) } else { _mm256_min_ps(b, a) };
            _mm256_or_ps(best, _mm256_cmp_ps::<_CMP_UNORD_Q>(b, b))
        }
    }

    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // SAFETY: the caller's; an address that is not there is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }

    #[inline(always)]
    unsafe fn settled(x: __m256) -> __m256 {
        // SAFETY: the caller's.
        unsafe { settled_256(x) }
    }

    #[inline(always)]
    unsafe fn sum(x: __m256) -> f32 {
        let mut lanes = [0.0; 8];
        // SAFETY: the array has eight elements.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), x) };
        tree(lanes)
    }

    #[inline(always)]
    unsafe fn transpose(from: (*const f32, usize), to: (*mut f32, usize), rows: usize, columns: usize) {
        // SAFETY: the caller's; parts keep loads and stores inside.
        unsafe {
            let (wide, tall) = (Self::part(columns), Self::part(rows));
            let mut x = [_mm256_setzero_ps(); 8];
            for i in 0..8 {
                if i < rows {
                    let from = from.0.add(i * from.1);
                    x[i] = if columns == 8 { Self::load(from) } else { Self::load_part(from, wide) };
                }
            }
            let mut y = x;
            for i in 0..4 {
                y[2 * i] = _mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]);
                y[2 * i + 1] = _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]);
            }
            for i in 0..2 {
                let [a, b, c, d] = [y[4 * i], y[4 * i + 1], y[4 * i + 2], y[4 * i + 3]];
                x[4 * i] = _mm256_shuffle_ps::<0x44>(a, c);
                x[4 * i + 1] = _mm256_shuffle_ps::<0xEE>(a, c);
                x[4 * i + 2] = _mm256_shuffle_ps::<0x44>(b, d);
                x[4 * i + 3] = _mm256_shuffle_ps::<0xEE>(b, d);
            }
            for i in 0..4 {
                y[i] = _mm256_permute2f128_ps::<0x20>(x[i], x[i + 4]);
                y[i + 4] = _mm256_permute2f128_ps::<0x31>(x[i], x[i + 4]);
            }
            // What a whole store writes too much is written again by those that follow, where nothing lies between.
            let over = if to.1 == rows { columns.saturating_sub(8_usize.div_ceil(rows) - 1) } else { 0 };
            for p in 0..8 {
                if p < over {
                    Self::store(to.0.add(p * to.1), y[p]);
                } else if p < columns {
                    Self::store_part(to.0.add(p * to.1), tall, y[p]);
                }
            }
        }
    }
}

/// AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Simd for Avx512 {
    type V = __m512;
    type Part = __mmask16;
    const LANES: usize = 16;
    const HEIGHT: usize = 14;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        // SAFETY: the caller's, here and below.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, x: __m512) {
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_ps(to, x) }
    }

    #[inline(always)]
    unsafe fn part(count: usize) -> __mmask16 {
        ((1_u32 << count) - 1) as __mmask16
    }

    #[inline(always)]
    unsafe fn span(first: usize, end: usize) -> __mmask16 {
        (((1_u32 << end) - 1) & !((1_u32 << first) - 1)) as __mmask16
    }

    #[inline(always)]
    unsafe fn load_part(from: *const f32, part: __mmask16) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_maskz_loadu_ps(part, from) }
    }

    #[inline(always)]
    unsafe fn store_part(to: *mut f32, part: __mmask16, x: __m512) {
        // SAFETY: the caller's.
        unsafe { _mm512_mask_storeu_ps(to, part, x) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn dealt(a: __m512, b: __m512) -> [__m512; 2] {
        // SAFETY: the caller's.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            [_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b)]
        }
    }

    #[inline(always)]
    unsafe fn mixed(a: __m512, b: __m512) -> [__m512; 2] {
        // SAFETY: the caller's.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            [_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b)]
        }
    }

    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn extreme<const MAX: bool>(a: __m512, b: __m512) -> __m512 {
        // The second operand is left where one is NaN.
        // SAFETY: the caller's.
        unsafe {
            let best = if MAX { _mm512_max_ps(b, a) } else { _mm512_min_ps(b, a) };
            _mm512_mask_mov_ps(best, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(b, b), b)
        }
    }

    #[inline(always)]
    unsafe fn prefetch(at: *const f32) {
        // SAFETY: the caller's; an address that is not there is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }

    #[inline(always)]
    unsafe fn sum(x: __m512) -> f32 {
        let mut lanes = [0.0; 16];
        // SAFETY: the array has sixteen elements.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), x) };
        tree(std::array::from_fn(|lane| lanes[lane] + lanes[lane + 8]))
    }

    #[inline(always)]
    unsafe fn transpose(from: (*const f32, usize), to: (*mut f32, usize), rows: usize, columns: usize) {
        // SAFETY: the caller's; parts keep loads and stores inside.
        unsafe {
            let (wide, tall) = (Self::part(columns), Self::part(rows));
            let mut x = [_mm512_setzero_ps(); 16];
            for i in 0..16 {
                if i < rows {
                    x[i] = Self::load_part(from.0.add(i * from.1), wide);
                }
            }
            let mut y = x;
            for i in 0..8 {
                y[2 * i] = _mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]);
                y[2 * i + 1] = _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]);
            }
            for i in 0..4 {
                let [a, b, c, d] = [y[4 * i], y[4 * i + 1], y[4 * i + 2], y[4 * i + 3]];
                x[4 * i] = _mm512_shuffle_ps::<0x44>(a, c);
                x[4 * i + 1] = _mm512_shuffle_ps::<0xEE>(a, c);
                x[4 * i + 2] = _mm512_shuffle_ps::<0x44>(b, d);
                x[4 * i + 3] = _mm512_shuffle_ps::<0xEE>(b, d);
            }
            // Now x[4 g + c] holds, in its quarter q, column 4 q + c of the rows 4 g to 4 g + 3.
            for c in 0..4 {
                let low = _mm512_shuffle_f32x4::<0x88>(x[c], x[4 + c]);
                let high = _mm512_shuffle_f32x4::<0xDD>(x[c], x[4 + c]);
                let next_low = _mm512_shuffle_f32x4::<0x88>(x[8 + c], x[12 + c]);
                let next_high = _mm512_shuffle_f32x4::<0xDD>(x[8 + c], x[12 + c]);
                y[c] = _mm512_shuffle_f32x4::<0x88>(low, next_low);
                y[8 + c] = _mm512_shuffle_f32x4::<0xDD>(low, next_low);
                y[4 + c] = _mm512_shuffle_f32x4::<0x88>(high, next_high);
                y[12 + c] = _mm512_shuffle_f32x4::<0xDD>(high, next_high);
            }
            for p in 0..16 {
                if p < columns {
                    Self::store_part(to.0.add(p * to.1), tall, y[p]);
                }
            }
        }
    }
}

/// The sum of eight numbers, pair by pair.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tree(x: [f32; 8]) -> f32 {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}
