//! Rows of row-major memory read by number (benchmarks/bars.py: embedding, gather). Numbers are checked before a loop that
//! trusts them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::copy::copy_bytes;
#[cfg(target_arch = "x86_64")]
use super::index::ask_for;
use super::index::{Along, CHECKED, Outside, Slabs, in_parts, start};
use super::memory::Memory;
#[cfg(target_arch = "x86_64")]
use super::processor::{gathered_above, gathers, near};
#[cfg(target_arch = "x86_64")]
use super::vector::is_wide;
use super::vector::{Task, dispatch};

/// The elements that an index names along a dimension; false, with some of them missing, where a number is outside.
///
/// # Safety
/// `source` holds the row-major tensor that `along` was made for, of elements of `width` bytes (a power of two up to
/// 16), and `out` has room for one for each number.
pub unsafe fn gather(source: Memory, along: &Along, numbers: &[i64], width: usize, out: Memory) -> bool {
    // SAFETY: the caller's; types stand for their widths.
    unsafe {
        match width {
            1 => gather_cells::<u8>(source, along, numbers, out),
            2 => gather_cells::<u16>(source, along, numbers, out),
            4 => gather_cells::<u32>(source, along, numbers, out),
            8 => gather_cells::<u64>(source, along, numbers, out),
            _ => gather_cells::<u128>(source, along, numbers, out),
        }
    }
}

/// # Safety
/// As `gather`.
unsafe fn gather_cells<T: Copy>(source: Memory, along: &Along, numbers: &[i64], out: Memory) -> bool {
    let (row, outer) = along.row();
    let failed = AtomicBool::new(false);
    in_parts(numbers.len(), 1, &|part| {
        let mut outside = false;
        #[cfg(target_arch = "x86_64")]
        if size_of::<T>() == 4 && row.step == 0 && along.own == 1 && row.size >= 8 && is_wide::<f32>() {
            let wide = match (gathers(), numbers.len() * size_of::<T>() >= gathered_above()) {
                (true, true) => gather_far,
                (true, false) => gather_wide,
                (false, true) => load_far,
                (false, false) => load_wide,
            };
            // Rows of which the elements come in any order, one behind the other.
            let far = along.size <= ROW && numbers.len().saturating_mul(4 * size_of::<T>()) > near();
            let mut at = part.start;
            while at < part.end {
                let count = (row.size - at % row.size).min(part.end - at);
                let Some(named) = numbers.get(at..at + count) else { return };
                let first = source.at::<i32>(start(outer, at / row.size));
                if far && at + count < numbers.len() {
                    ask_for(source.at::<T>(start(outer, (at + count) / row.size)).cast_const(), along.size);
                }
                // SAFETY: the processor has AVX-512; as below, and numbers are checked there.
                outside |= unsafe { wide(first, named, along.size, out.at(at)) };
                at += count;
            }
            if outside {
                failed.store(true, Ordering::Relaxed);
            }
            return;
        }
        for begin in part.clone().step_by(CHECKED) {
            let end = part.end.min(begin + CHECKED);
            let Some(own) = numbers.get(begin..end) else { return };
            dispatch(Outside { numbers: own, size: along.size as u64, found: &mut outside });
            if outside {
                return failed.store(true, Ordering::Relaxed);
            }
            let mut at = begin;
            while at < end {
                let (line, column) = (at / row.size, at % row.size);
                let count = (row.size - column).min(end - at);
                let Some(named) = numbers.get(at..at + count) else { return };
                let first = start(outer, line) + column * row.step;
                // Addresses of this loop's own: those inside of `source` and `out` would be read again for each element.
                let (from, to) = (source.at::<T>(first).cast_const(), out.at::<T>(at));
                let (step, own) = (row.step, along.own);
                // SAFETY: the numbers have been checked, so the places lie inside the tensor; every task has its own part.
                unsafe {
                    if step == 0 && own == 1 {
                        for (k, &number) in named.iter().enumerate() {
                            to.add(k).write_unaligned(from.add(number as usize).read_unaligned());
                        }
                    } else {
                        for (k, &number) in named.iter().enumerate() {
                            to.add(k).write_unaligned(from.add(k * step + number as usize * own).read_unaligned());
                        }
                    }
                }
                at += count;
            }
        }
    });
    !failed.into_inner()
}

/// Elements of a row that is asked for while the one before it is read.
#[cfg(target_arch = "x86_64")]
const ROW: usize = 2048;

/// The elements with these numbers, eight at a time; says whether a number is not below `size`: results mean nothing then.
///
/// # Safety
/// `size` elements of four bytes lie at `from`, and `to` has room for one for each number; the processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn gather_wide(from: *const i32, numbers: &[i64], size: usize, to: *mut i32) -> bool {
    use std::arch::x86_64::*;
    let (limit, zero) = (_mm512_set1_epi64(size as i64), _mm256_setzero_si256());
    let mut outside = 0;
    for (part, named) in numbers.chunks(8).enumerate() {
        let there = __mmask8::MAX >> (8 - named.len());
        // SAFETY: the caller's; the masks leave out what is not there, and a hint may be given for any address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(named.as_ptr().wrapping_add(256).cast());
            let number = _mm512_maskz_loadu_epi64(there, named.as_ptr());
            // Negative numbers are large unsigned ones.
            let inside = _mm512_mask_cmplt_epu64_mask(there, number, limit);
            outside |= there ^ inside;
            let values = _mm512_mask_i64gather_epi32::<4>(zero, inside, number, from);
            _mm256_mask_storeu_epi32(to.add(8 * part), there, values);
        }
    }
    outside != 0
}

/// As `gather_wide`, past the caches in whole lines of memory (4000 rows of 1000: 1.44 ms through them, 1.16 past them).
///
/// # Safety
/// As `gather_wide`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn gather_far(from: *const i32, numbers: &[i64], size: usize, to: *mut i32) -> bool {
    use std::arch::x86_64::*;
    let (limit, zero) = (_mm512_set1_epi64(size as i64), _mm256_setzero_si256());
    let (first, rest) = numbers.split_at(to.align_offset(64).min(numbers.len()));
    let (whole, last) = rest.as_chunks::<16>();
    // SAFETY: the caller's; masks leave out numbers that are outside, and a hint may be given for any address.
    unsafe {
        let mut outside = gather_wide(from, first, size, to);
        let to = to.add(first.len());
        for (part, named) in whole.iter().enumerate() {
            let half = |start: usize| {
                let number = _mm512_loadu_epi64(named.as_ptr().add(start));
                _mm_prefetch::<_MM_HINT_T0>(named.as_ptr().wrapping_add(start + 256).cast());
                let inside = _mm512_cmplt_epu64_mask(number, limit);
                (_mm512_mask_i64gather_epi32::<4>(zero, inside, number, from), inside)
            };
            let ((low, near), (high, far)) = (half(0), half(8));
            outside |= near & far != __mmask8::MAX;
            _mm512_stream_si512(to.add(16 * part).cast(), _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high));
        }
        outside | gather_wide(from, last, size, to.add(16 * whole.len()))
    }
}

/// As `gather_wide`, by loads of single elements.
///
/// # Safety
/// As `gather_wide`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn load_wide(from: *const i32, numbers: &[i64], size: usize, to: *mut i32) -> bool {
    use std::arch::x86_64::*;
    let limit = _mm512_set1_epi64(size as i64);
    let (whole, rest) = numbers.as_chunks::<8>();
    let mut outside = 0;
    for named in whole {
        // SAFETY: eight numbers are there.
        outside |= _mm512_cmpge_epu64_mask(unsafe { _mm512_loadu_epi64(named.as_ptr()) }, limit);
    }
    if outside != 0 || rest.iter().any(|&number| number as u64 >= size as u64) {
        return true;
    }
    // SAFETY: the caller's; all numbers are below the size.
    unsafe {
        let four = |[a, b, c, d]: [i64; 4]| {
            let at = |number: i64| *from.add(number as usize);
            _mm_setr_epi32(at(a), at(b), at(c), at(d))
        };
        for (part, &[a, b, c, d, e, f, g, h]) in whole.iter().enumerate() {
            _mm_storeu_si128(to.add(8 * part).cast(), four([a, b, c, d]));
            _mm_storeu_si128(to.add(8 * part + 4).cast(), four([e, f, g, h]));
        }
        for (k, &number) in rest.iter().enumerate() {
            *to.add(8 * whole.len() + k) = *from.add(number as usize);
        }
    }
    false
}

/// As `load_wide`, past the caches in whole lines of memory.
///
/// # Safety
/// As `gather_wide`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn load_far(from: *const i32, numbers: &[i64], size: usize, to: *mut i32) -> bool {
    use std::arch::x86_64::*;
    let limit = _mm512_set1_epi64(size as i64);
    let (first, rest) = numbers.split_at(to.align_offset(64).min(numbers.len()));
    let (whole, last) = rest.as_chunks::<16>();
    // SAFETY: the caller's; elements are read where all sixteen numbers are below the size.
    unsafe {
        if load_wide(from, first, size, to) {
            return true;
        }
        let to = to.add(first.len());
        for (part, named) in whole.iter().enumerate() {
            let outside = |at: usize| _mm512_cmpge_epu64_mask(_mm512_loadu_epi64(named.as_ptr().add(at)), limit);
            if outside(0) | outside(8) != 0 {
                return true;
            }
            let at = |k: usize| *from.add(named[k] as usize);
            let four = |k: usize| _mm_setr_epi32(at(k), at(k + 1), at(k + 2), at(k + 3));
            let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(four(0)), four(4));
            let line = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, four(8)), four(12));
            _mm512_stream_si512(to.add(16 * part).cast(), line);
        }
        load_wide(from, last, size, to.add(16 * whole.len()))
    }
}

/// Whole rows, each `WIDE` pieces of 32 bytes or as many as `pieces` says.
struct Copies<'a> {
    numbers: &'a [i64],
    from: *const [u8; 32],
    to: *mut [u8; 32],
    pieces: usize,
}

impl Task for Copies<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (place, &number) in self.numbers.iter().enumerate() {
            // SAFETY: as `take`: rows of both sides lie inside their memories.
            unsafe {
                let from = self.from.add(number as usize * self.pieces);
                let to = self.to.add(place * self.pieces);
                for piece in 0..self.pieces {
                    to.add(piece).write_unaligned(from.add(piece).read_unaligned());
                }
            }
        }
    }
}

/// Bytes of a row from which a call of memcpy costs nothing beside its work.
pub(super) const LONG: usize = 1 << 10;

/// The rows that `slabs` names, one after the other.
///
/// # Safety
/// `source` holds the tensor that `slabs` describes, of elements of `width` bytes, all numbers are below its size, and
/// `out` has room for all rows.
pub unsafe fn take(source: Memory, slabs: Slabs<'_>, width: usize, out: Memory) {
    // SAFETY: the caller's.
    unsafe {
        match slabs.block * width {
            0 => {}
            1 => take_cells::<u8>(source, slabs, out),
            2 => take_cells::<u16>(source, slabs, out),
            4 => take_cells::<u32>(source, slabs, out),
            8 => take_cells::<u64>(source, slabs, out),
            16 => take_cells::<u128>(source, slabs, out),
            bytes => take_rows(source, slabs, bytes, out),
        }
    }
}

/// Calls `body(stretch, numbers, first)` so that each number of each stretch comes once; `first` counts the rows of the
/// result before these.
fn each_stretch(slabs: Slabs<'_>, rows: std::ops::Range<usize>, body: impl Fn(usize, &[i64], usize)) {
    let count = slabs.numbers.len();
    let mut at = rows.start;
    while at < rows.end {
        let (stretch, from) = (at / count, at % count);
        let to = count.min(from + rows.end - at);
        if let Some(numbers) = slabs.numbers.get(from..to) {
            body(stretch, numbers, at);
        }
        at += to - from;
    }
}

/// # Safety
/// As `take`.
unsafe fn take_cells<T: Copy>(source: Memory, slabs: Slabs<'_>, out: Memory) {
    in_parts(slabs.outer * slabs.numbers.len(), 1, &|rows| {
        each_stretch(slabs, rows, |stretch, numbers, first| {
            let (from, to) = (source.at::<T>(stretch * slabs.size).cast_const(), out.at::<T>(first));
            #[cfg(target_arch = "x86_64")]
            if size_of::<T>() == 4 && numbers.len() >= 8 && is_wide::<f32>() {
                let eight = if gathers() { gather_wide } else { load_wide };
                if slabs.size <= ROW && stretch + 1 < slabs.outer {
                    ask_for(from.wrapping_add(slabs.size), slabs.size);
                }
                // SAFETY: the caller's, and the processor has AVX-512.
                unsafe { eight(from.cast(), numbers, slabs.size, to.cast()) };
                return;
            }
            for (place, &number) in numbers.iter().enumerate() {
                // SAFETY: the caller's.
                unsafe { to.add(place).write_unaligned(from.add(number as usize).read_unaligned()) };
            }
        });
    });
}

/// # Safety
/// As `take`.
unsafe fn take_rows(source: Memory, slabs: Slabs<'_>, bytes: usize, out: Memory) {
    in_parts(slabs.outer * slabs.numbers.len(), bytes.div_ceil(4), &|rows| {
        each_stretch(slabs, rows, |stretch, numbers, first| {
            let (from, to) = (source.at::<u8>(stretch * slabs.size * bytes), out.at::<u8>(first * bytes));
            if bytes.is_multiple_of(32) && bytes < LONG {
                dispatch(Copies { numbers, from: from.cast(), to: to.cast(), pieces: bytes / 32 });
                return;
            }
            for (place, &number) in numbers.iter().enumerate() {
                // SAFETY: the caller's.
                unsafe { copy_bytes(from.add(number as usize * bytes), to.add(place * bytes), bytes) };
            }
        });
    });
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_gather_give_the_same() {
        if !is_wide::<f32>() {
            return;
        }
        type Eight = unsafe fn(*const i32, &[i64], usize, *mut i32) -> bool;
        let from: Vec<i32> = (0..1000).map(|value| value * 7 - 3).collect();
        let found = |eight: Eight, numbers: &[i64]| {
            let mut to = vec![0; numbers.len()];
            // SAFETY: both have room, and the processor has AVX-512.
            let outside = unsafe { eight(from.as_ptr(), numbers, from.len(), to.as_mut_ptr()) };
            (outside, to)
        };
        for length in [0, 1, 7, 8, 9, 100, 1003] {
            let numbers: Vec<i64> = (0..length).map(|at| at * 389 % 1000).collect();
            let expected: Vec<i32> = numbers.iter().map(|&number| from[number as usize]).collect();
            assert_eq!(found(gather_wide, &numbers), (false, expected.clone()));
            assert_eq!(found(load_wide, &numbers), (false, expected.clone()));
            assert_eq!(found(gather_far, &numbers), (false, expected.clone()));
            assert_eq!(found(load_far, &numbers), (false, expected));
            for (wrong, place) in [(-1, 0), (1000, length - 1), (i64::MIN, length / 2)] {
                let mut numbers = numbers.clone();
                if let Some(slot) = numbers.get_mut(place as usize) {
                    *slot = wrong;
                    assert!(found(gather_wide, &numbers).0 && found(load_wide, &numbers).0);
                    assert!(found(gather_far, &numbers).0 && found(load_far, &numbers).0);
                }
            }
        }
    }
}
