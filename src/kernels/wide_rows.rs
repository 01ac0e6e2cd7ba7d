//! Folds, softmax, its gradient and normalization of rows of float32 for AVX-512 (benchmarks/bars.py: reductions).
//!
//! As the portable loops of `softmax`, `norm` and `floats`, with four vectors of sums, masks instead of loops for what is
//! left, and requests for the memory that comes next.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::attention::shift;
use super::vector::ALIGNED;
use super::wide;

type V = __m512;

/// Folds the places of a row in steps of 16; the mask says which of them are there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn folded(length: usize, start: V, step: impl Fn(V, usize, __mmask16) -> V, join: impl Fn(V, V) -> V) -> V {
    let mut lanes = [start; 4];
    let whole = length / 64 * 64;
    for at in (0..whole).step_by(64) {
        for (k, lane) in lanes.iter_mut().enumerate() {
            *lane = step(*lane, at + 16 * k, __mmask16::MAX);
        }
    }
    for (lane, at) in lanes.iter_mut().zip((whole..length).step_by(16)) {
        *lane = step(*lane, at, first(length - at));
    }
    let [a, b, c, d] = lanes;
    join(join(a, b), join(c, d))
}

/// A mask of so many places, at most 16.
fn first(count: usize) -> __mmask16 {
    if count >= 16 { __mmask16::MAX } else { (1 << count) - 1 }
}

/// Where a row is written, and whether past the caches.
#[derive(Clone, Copy)]
pub struct To {
    pub to: *mut f32,
    pub streamed: bool,
}

impl To {
    fn near(to: *mut f32) -> Self {
        Self { to, streamed: false }
    }
}

/// Writes a row in steps of 16, past the caches in whole lines of memory.
///
/// # Safety
/// `to` is valid for `length` elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn written(To { to, streamed }: To, length: usize, value: impl Fn(usize, __mmask16) -> V) {
    let start = if streamed || length >= ALIGNED { to.align_offset(64).min(length) } else { 0 };
    let whole = start + (length - start) / 16 * 16;
    // SAFETY: the caller's; masks keep the ends inside.
    unsafe {
        if start > 0 {
            let mask = first(start);
            _mm512_mask_storeu_ps(to, mask, value(0, mask));
        }
        if streamed {
            for at in (start..whole).step_by(16) {
                _mm512_stream_ps(to.add(at), value(at, __mmask16::MAX));
            }
        } else {
            for at in (start..whole).step_by(16) {
                _mm512_storeu_ps(to.add(at), value(at, __mmask16::MAX));
            }
        }
        if whole < length {
            let mask = first(length - whole);
            _mm512_mask_storeu_ps(to.add(whole), mask, value(whole, mask));
        }
    }
}

/// # Safety
/// The places of the mask lie inside the memory.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn load(from: *const f32, at: usize, mask: __mmask16) -> V {
    // SAFETY: the caller's.
    unsafe { _mm512_maskz_loadu_ps(mask, from.add(at)) }
}

/// As `load`, asking for what lies `next` elements further, which is read soon.
///
/// # Safety
/// As `load`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn last_load(from: *const f32, at: usize, mask: __mmask16, next: usize) -> V {
    // SAFETY: the caller's; a prefetch never faults.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + next).cast());
        load(from, at, mask)
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum(a: V, b: V) -> V {
    _mm512_add_ps(a, b)
}

/// The greatest number of a row; a NaN is not greater than anything.
///
/// # Safety
/// `from` is valid for `length` elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn top(from: *const f32, length: usize) -> f32 {
    // Of a maximum with a NaN the second operand is left.
    // SAFETY: the caller's.
    let step = |top, at, mask| unsafe { _mm512_mask_max_ps(top, mask, load(from, at, mask), top) };
    _mm512_reduce_max_ps(folded(length, _mm512_set1_ps(f32::NEG_INFINITY), step, |a, b| _mm512_max_ps(a, b)))
}

/// Elements further on that a fold asks for: as far as memory is away.
const AHEAD: usize = 512;

/// As `last_load` where a processor is to be asked for what comes next in a stream.
///
/// # Safety
/// As `load`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn stream_load<const ASK: bool>(from: *const f32, at: usize, mask: __mmask16, next: usize) -> V {
    // SAFETY: the caller's.
    unsafe { if ASK { last_load(from, at, mask, next) } else { load(from, at, mask) } }
}

/// The sum of a row.
///
/// # Safety
/// `from` is valid for `length` elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn total<const ASK: bool>(from: *const f32, length: usize) -> f32 {
    // SAFETY: the caller's.
    let step = |total, at, mask| sum(total, unsafe { stream_load::<ASK>(from, at, mask, AHEAD) });
    _mm512_reduce_add_ps(folded(length, _mm512_setzero_ps(), step, |a, b| sum(a, b)))
}

/// The product of a row.
///
/// # Safety
/// As `total`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn product<const ASK: bool>(from: *const f32, length: usize) -> f32 {
    let step = |total, at, mask| {
        // SAFETY: the caller's.
        let x = unsafe { stream_load::<ASK>(from, at, mask, AHEAD) };
        _mm512_mask_mul_ps(total, mask, total, x)
    };
    _mm512_reduce_mul_ps(folded(length, _mm512_set1_ps(1.0), step, |a, b| _mm512_mul_ps(a, b)))
}

/// The greatest number of a row, or the least; a NaN wins.
///
/// # Safety
/// As `total`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn extreme<const ASK: bool, const MAX: bool>(from: *const f32, length: usize) -> f32 {
    let join = |old: V, mask: __mmask16, new: V| {
        // The second operand, the old one, is left where one is NaN.
        let best = if MAX { _mm512_mask_max_ps(old, mask, new, old) } else { _mm512_mask_min_ps(old, mask, new, old) };
        _mm512_mask_mov_ps(best, _mm512_mask_cmp_ps_mask::<_CMP_UNORD_Q>(mask, new, new), new)
    };
    let start = _mm512_set1_ps(if MAX { f32::NEG_INFINITY } else { f32::INFINITY });
    // SAFETY: the caller's.
    let step = |best, at, mask| join(best, mask, unsafe { stream_load::<ASK>(from, at, mask, AHEAD) });
    let best = folded(length, start, step, |a, b| join(a, __mmask16::MAX, b));
    if _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(best, best) != 0 {
        return f32::NAN;
    }
    if MAX { _mm512_reduce_max_ps(best) } else { _mm512_reduce_min_ps(best) }
}

/// Rows of one length, the first of each `step` elements after the last one's.
#[derive(Clone, Copy)]
pub struct Rows {
    pub from: *const f32,
    pub step: usize,
    pub count: usize,
    pub length: usize,
}

/// Gives `put` the number and the sum of each row.
///
/// # Safety
/// The rows lie there, and the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn totals<const ASK: bool>(rows: Rows, mut put: impl FnMut(usize, f32)) {
    for row in 0..rows.count {
        // SAFETY: the caller's.
        put(row, unsafe { total::<ASK>(rows.from.add(row * rows.step), rows.length) });
    }
}

/// Gives `put` the number and the product of each row.
///
/// # Safety
/// As `totals`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn products<const ASK: bool>(rows: Rows, mut put: impl FnMut(usize, f32)) {
    for row in 0..rows.count {
        // SAFETY: the caller's.
        put(row, unsafe { product::<ASK>(rows.from.add(row * rows.step), rows.length) });
    }
}

/// Gives `put` the number and the greatest number of each row, or the least.
///
/// # Safety
/// As `totals`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn extremes<const ASK: bool, const MAX: bool>(rows: Rows, mut put: impl FnMut(usize, f32)) {
    for row in 0..rows.count {
        // SAFETY: the caller's.
        put(row, unsafe { extreme::<ASK, MAX>(rows.from.add(row * rows.step), rows.length) });
    }
}

/// Adds rows, `step` elements apart, to the sums of their columns.
///
/// # Safety
/// `from` is valid for as many elements of each row as there are sums; the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn column_totals(from: *const f32, step: usize, rows: usize, sums: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe { column_folds(from, step, rows, sums, _mm512_setzero_ps(), |a, b| sum(a, b)) }
}

/// As `column_totals`, the greatest (or least) numbers; a NaN wins.
///
/// # Safety
/// As `column_totals`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn column_extremes<const MAX: bool>(from: *const f32, step: usize, rows: usize, sums: &mut [f32]) {
    let start = _mm512_set1_ps(if MAX { f32::NEG_INFINITY } else { f32::INFINITY });
    let join = |old: V, new: V| {
        // The second operand, the old one, is left where one is NaN.
        let best = if MAX { _mm512_max_ps(new, old) } else { _mm512_min_ps(new, old) };
        _mm512_mask_mov_ps(best, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(new, new), new)
    };
    // SAFETY: the caller's.
    unsafe { column_folds(from, step, rows, sums, start, join) }
}

/// Joins rows, `step` elements apart, to the folds of their columns.
///
/// # Safety
/// As `column_totals`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn column_folds(
    from: *const f32,
    step: usize,
    rows: usize,
    sums: &mut [f32],
    start: V,
    join: impl Fn(V, V) -> V,
) {
    let (width, to) = (sums.len(), sums.as_mut_ptr());
    // So many rows at once that the sums are read and written seldom.
    const TOGETHER: usize = 16;
    let whole = rows / TOGETHER * TOGETHER;
    // SAFETY: the caller's; masks keep the last columns inside.
    unsafe {
        let column = |at: usize, row: usize, count: usize, mask: __mmask16| {
            let mut totals = [load(to, at, mask), start];
            for k in 0..count {
                totals[k % 2] = join(totals[k % 2], load(from, (row + k) * step + at, mask));
            }
            _mm512_mask_storeu_ps(to.add(at), mask, join(totals[0], totals[1]));
        };
        let full = width / 16 * 16;
        for row in (0..whole).step_by(TOGETHER) {
            (0..full).step_by(16).for_each(|at| column(at, row, TOGETHER, __mmask16::MAX));
            if full < width {
                column(full, row, TOGETHER, first(width - full));
            }
        }
        if whole < rows {
            (0..width).step_by(16).for_each(|at| column(at, whole, rows - whole, first(width - at)));
        }
    }
}

/// Elements of a row whose powers are kept beside it where the row itself is written past the caches.
const BESIDE: usize = 4096;

/// The softmax of a row, or its logarithm.
///
/// # Safety
/// Both are valid for `length` elements, aligned and apart; the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn softmax(from: *const f32, out: To, length: usize, log: bool) {
    let mut beside = [MaybeUninit::<f32>::uninit(); BESIDE];
    let out = To { streamed: out.streamed && (log || length <= BESIDE), ..out };
    let to = if out.streamed { beside.as_mut_ptr().cast() } else { out.to };
    // SAFETY: the caller's; `to` has room for the powers of a row.
    unsafe {
        let highest = _mm512_set1_ps(top(from, length));
        let power = |at, mask| wide::exp(_mm512_sub_ps(load(from, at, mask), highest));
        let zero = _mm512_setzero_ps();
        if log {
            let step = |total, at, mask| _mm512_mask_add_ps(total, mask, total, power(at, mask));
            let shift = _mm512_set1_ps(_mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b))).ln());
            let value = |at, mask| _mm512_sub_ps(_mm512_sub_ps(last_load(from, at, mask, length), highest), shift);
            return written(out, length, value);
        }
        let step = |total, at, mask| {
            let power = power(at, mask);
            _mm512_mask_storeu_ps(to.add(at), mask, power);
            _mm512_mask_add_ps(total, mask, total, power)
        };
        let total = _mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b)));
        let (total, factor) = (_mm512_set1_ps(total), _mm512_set1_ps(1.0 / total));
        // As exact as the quotient: the product, and what is left times the factor.
        let value = |at, mask| {
            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + length).cast());
            let power = load(to, at, mask);
            let near = _mm512_mul_ps(power, factor);
            _mm512_fmadd_ps(_mm512_fnmadd_ps(near, total, power), factor, near)
        };
        written(out, length, value);
    }
}

/// As `attention::powers`.
///
/// # Safety
/// The processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn powers(row: &mut [f32], before: f32) -> (f32, f32) {
    let (length, row) = (row.len(), row.as_mut_ptr());
    // SAFETY: all places lie inside of the row.
    unsafe {
        let top = before.max(top(row, length));
        let safe = _mm512_set1_ps(shift(top));
        let step = |total, at, mask| {
            let power = wide::exp_down(_mm512_sub_ps(load(row, at, mask), safe));
            _mm512_mask_storeu_ps(row.add(at), mask, power);
            _mm512_mask_add_ps(total, mask, total, power)
        };
        (top, _mm512_reduce_add_ps(folded(length, _mm512_setzero_ps(), step, |a, b| sum(a, b))))
    }
}

/// The gradient of a row's softmax `y`, or of its logarithm.
///
/// # Safety
/// As `softmax`, for all three.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn softmax_back(grad: *const f32, y: *const f32, to: *mut f32, length: usize, log: bool) {
    let zero = _mm512_setzero_ps();
    // SAFETY: the caller's.
    unsafe {
        if log {
            let step = |total, at, mask| sum(total, load(grad, at, mask));
            let total = _mm512_set1_ps(_mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b))));
            let value = |at, mask| {
                let power = wide::exp(last_load(y, at, mask, length));
                _mm512_fnmadd_ps(power, total, last_load(grad, at, mask, length))
            };
            return written(To::near(to), length, value);
        }
        let step = |total, at, mask| _mm512_fmadd_ps(load(grad, at, mask), load(y, at, mask), total);
        let total = _mm512_set1_ps(_mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b))));
        let value = |at, mask| {
            let apart = _mm512_sub_ps(last_load(grad, at, mask, length), total);
            _mm512_mul_ps(last_load(y, at, mask, length), apart)
        };
        written(To::near(to), length, value);
    }
}

/// The mean, or zero where the row is not centred, and the mean square of the distance from it.
///
/// # Safety
/// `x` is valid for `length` elements; the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn moments(x: *const f32, length: usize, centred: bool) -> [f32; 2] {
    let (count, zero) = (length as f32, _mm512_setzero_ps());
    // SAFETY: the caller's.
    unsafe {
        let step = |total, at, mask| sum(total, load(x, at, mask));
        let total = || _mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b)));
        let mean = if centred { total() / count } else { 0.0 };
        let middle = _mm512_set1_ps(mean);
        let step = |total, at, mask| {
            let apart = _mm512_maskz_sub_ps(mask, load(x, at, mask), middle);
            _mm512_fmadd_ps(apart, apart, total)
        };
        [mean, _mm512_reduce_add_ps(folded(length, zero, step, |a, b| sum(a, b))) / count]
    }
}

/// `(x - mean) * inverse`, times a weight and plus a bias for each column.
///
/// # Safety
/// All are valid for `length` elements, aligned, and `out` is apart; the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn normalized(
    x: *const f32,
    out: To,
    length: usize,
    [mean, inverse]: [f32; 2],
    parameters: [Option<*const f32>; 2],
) {
    let (mean, inverse) = (_mm512_set1_ps(mean), _mm512_set1_ps(inverse));
    // SAFETY: the caller's.
    unsafe {
        let normal = |at, mask| _mm512_mul_ps(_mm512_sub_ps(last_load(x, at, mask, length), mean), inverse);
        match parameters {
            [Some(weight), Some(bias)] => written(out, length, |at, mask| {
                _mm512_fmadd_ps(normal(at, mask), load(weight, at, mask), load(bias, at, mask))
            }),
            [Some(weight), None] => {
                written(out, length, |at, mask| _mm512_mul_ps(normal(at, mask), load(weight, at, mask)))
            }
            [None, Some(bias)] => written(out, length, |at, mask| sum(normal(at, mask), load(bias, at, mask))),
            [None, None] => written(out, length, normal),
        }
    }
}

/// `(x - mean) * factor + bias`; what lies `next` elements further is read soon.
///
/// # Safety
/// As `normalized`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub unsafe fn affine<const ASK: bool>(
    x: *const f32,
    out: To,
    (length, next): (usize, usize),
    [mean, factor, bias]: [f32; 3],
) {
    let (mean, factor, bias) = (_mm512_set1_ps(mean), _mm512_set1_ps(factor), _mm512_set1_ps(bias));
    // SAFETY: the caller's.
    unsafe {
        let value =
            |at, mask| _mm512_fmadd_ps(_mm512_sub_ps(stream_load::<ASK>(x, at, mask, next), mean), factor, bias);
        written(out, length, value);
    }
}
