//! Functions of 16-bit floats in vectors of float32, each result rounded once (benchmarks/bars.py: products of half types).

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::iterate::spread_over;
#[cfg(target_arch = "x86_64")]
use super::pointwise::{Line, each_row, halves_row};
use super::pointwise::{Strided, map_halves};
#[cfg(target_arch = "x86_64")]
use super::scratch::Shared;
use super::vector::{self, Lanes};
#[cfg(target_arch = "x86_64")]
use super::wide_casts;
use crate::dtype::DType;

/// `out = f(a)`. `out` may be `a` itself.
pub fn map1(dtype: DType, shape: &[usize], out: Strided<'_>, a: Strided<'_>, f: &impl Lanes<1>) {
    map::<1, 2, _>(dtype, shape, out, [a], f);
}

/// `out = f(a, b)`. `out` may be `a` or `b` itself.
pub fn map2(dtype: DType, shape: &[usize], out: Strided<'_>, a: Strided<'_>, b: Strided<'_>, f: &impl Lanes<2>) {
    map::<2, 3, _>(dtype, shape, out, [a, b], f);
}

fn map<const N: usize, const M: usize, L: Lanes<N>>(
    dtype: DType,
    shape: &[usize],
    out: Strided<'_>,
    inputs: [Strided<'_>; N],
    lanes: &L,
) {
    let block = |to: &mut [f32], from: [&[f32]; N]| {
        // SAFETY: all are as long as the result, which is none of the others.
        unsafe { vector::run(lanes, from.map(<[f32]>::as_ptr), to.as_mut_ptr(), to.len()) };
    };
    #[cfg(target_arch = "x86_64")]
    if L::WIDE && !L::NEAR.is_finite() && vector::width() >= 512 {
        let views: [Strided<'_>; M] = std::array::from_fn(|view| if view == 0 { out } else { inputs[view - 1] });
        return each_row(shape, views, &|at, length, steps| {
            // SAFETY: rows stay inside the geometries, which lie inside their storages.
            unsafe {
                let lines: [Line<u16>; M] = std::array::from_fn(|view| Line(views[view].at(at[view]), steps[view]));
                if steps[0] == 1 && steps.iter().all(|&step| step <= 1) {
                    let from = std::array::from_fn(|index| (lines[index + 1].0.cast_const(), steps[index + 1]));
                    return match dtype {
                        DType::BF16 => row::<N, true, L>(lanes, lines[0].0, from, length),
                        _ => row::<N, false, L>(lanes, lines[0].0, from, length),
                    };
                }
                halves_row(dtype, lines, length, &block);
            }
        });
    }
    map_halves::<N, M>(dtype, shape, out, inputs, &block);
}

/// A row that does not leave the registers; operands have neighbours side by side, or one number for all.
///
/// # Safety
/// All pointers are valid for `length` elements, and the processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn row<const N: usize, const BRAIN: bool, L: Lanes<N>>(
    lanes: &L,
    to: *mut u16,
    from: [(*const u16, usize); N],
    length: usize,
) {
    let value = |at: usize, mask: __mmask16| {
        // SAFETY: the caller's; the mask keeps the last step inside.
        unsafe {
            lanes.wide(from.map(|(from, step)| {
                if step == 0 {
                    wide_casts::widened::<BRAIN>(_mm256_set1_epi16(from.read_unaligned() as i16))
                } else {
                    wide_casts::widened::<BRAIN>(_mm256_maskz_loadu_epi16(mask, from.add(at).cast()))
                }
            }))
        }
    };
    let pairs = length / 32 * 32;
    for at in (0..pairs).step_by(32) {
        let (low, high) = (value(at, __mmask16::MAX), value(at + 16, __mmask16::MAX));
        // SAFETY: the caller's.
        unsafe { _mm512_storeu_epi16(to.add(at).cast(), wide_casts::narrowed_pair::<BRAIN>(low, high)) };
    }
    for at in (pairs..length).step_by(16) {
        let mask = __mmask16::MAX >> (16 - (length - at).min(16));
        // SAFETY: as above.
        unsafe {
            _mm256_mask_storeu_epi16(to.add(at).cast(), mask, wide_casts::narrowed::<BRAIN>(value(at, mask)));
        }
    }
}

/// Elements that are added up in float32.
#[cfg(target_arch = "x86_64")]
const PART: usize = 1 << 14;

/// Whether `totals` has the instructions that it needs.
pub fn has_totals() -> bool {
    #[cfg(target_arch = "x86_64")]
    return vector::width() >= 512;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The sums of rows of `length` elements that lie one after the other; in the same order for any number of threads.
///
/// # Safety
/// So many elements of `dtype`, a 16-bit float, lie there, and `has_totals` holds.
#[cfg(target_arch = "x86_64")]
pub unsafe fn totals(dtype: DType, from: *const u16, rows: usize, length: usize) -> Vec<f64> {
    let parts = length.div_ceil(PART);
    let mut sums = vec![0.0_f32; rows * parts];
    let (to, from) = (Shared(sums.as_mut_ptr()), Shared(from.cast_mut()));
    spread_over(rows * parts, PART.div_ceil(length.max(1)), &|index| {
        let (row, start) = (index / parts, index % parts * PART);
        let count = PART.min(length - start);
        // SAFETY: the caller's; each part has a sum of its own.
        unsafe {
            let from = from.at(row * length + start).cast_const();
            to.at(index).write(match dtype {
                DType::BF16 => total::<true>(from, count),
                _ => total::<false>(from, count),
            });
        }
    });
    (0..rows).map(|row| sums[row * parts..(row + 1) * parts].iter().map(|&sum| f64::from(sum)).sum()).collect()
}

/// # Safety
/// So many elements lie there, and the processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn total<const BRAIN: bool>(from: *const u16, length: usize) -> f32 {
    let mut sums = [_mm512_setzero_ps(); 4];
    let load = |at: usize, mask: __mmask16| {
        // SAFETY: the caller's; the mask keeps the last step inside.
        unsafe { wide_casts::widened::<BRAIN>(_mm256_maskz_loadu_epi16(mask, from.add(at).cast())) }
    };
    let most = length / 64 * 64;
    for start in (0..most).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum = _mm512_add_ps(*sum, load(start + 16 * lane, __mmask16::MAX));
        }
    }
    for start in (most..length).step_by(16) {
        let count = (length - start).min(16);
        sums[0] = _mm512_add_ps(sums[0], load(start, __mmask16::MAX >> (16 - count)));
    }
    let [a, b, c, d] = sums;
    _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)))
}

#[cfg(test)]
mod tests {
    use super::super::curves;
    use super::*;

    #[test]
    fn a_row_is_rounded_once_whatever_its_steps() {
        for dtype in [DType::F16, DType::BF16] {
            let value = |x: f32| match dtype {
                DType::BF16 => half::bf16::from_f32(x).to_bits(),
                _ => half::f16::from_f32(x).to_bits(),
            };
            let a: Vec<u16> = (0..200).map(|k| value((k as f32 - 90.0) * 0.37)).collect();
            for (length, step) in [(0, 1), (1, 1), (15, 1), (33, 1), (100, 2), (7, 0)] {
                let mut out = vec![0_u16; 100];
                let view = |pointer: *const u16, steps| Strided {
                    pointer: pointer.cast_mut().cast(),
                    strides: steps,
                    offset: 0,
                };
                let (shape, steps) = ([length], [step]);
                let a_view = view(a.as_ptr(), &steps);
                map2(dtype, &shape, view(out.as_mut_ptr(), &[1]), a_view, view(a.as_ptr(), &[1]), &curves::Add {});
                for k in 0..length {
                    let wide = |bits: u16| match dtype {
                        DType::BF16 => half::bf16::from_bits(bits).to_f32(),
                        _ => half::f16::from_bits(bits).to_f32(),
                    };
                    assert_eq!(out[k], value(wide(a[k * step]) + wide(a[k])), "{dtype:?} {length} {step} {k}");
                }
            }
        }
    }
}
