//! Rows of one element type turned into another without a step between (benchmarks/cases.py: large_half, large_long).

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::vector::{Task, dispatch_narrow};
use crate::dtype::DType;

/// Converts so many elements from the first address to the second.
pub type Direct = unsafe fn(*const u8, *mut u8, usize);

/// float to integer as x86 does it, which is what torch shows: out of range and NaN give the lowest value.
pub fn truncate(value: f64) -> i64 {
    if (-9.223_372_036_854_775_8e18..9.223_372_036_854_775_8e18).contains(&value) { value as i64 } else { i64::MIN }
}

/// As `truncate`, for integers of 32 bits and, wrapped around, narrower ones.
pub fn truncate_short(value: f64) -> i32 {
    if (-2_147_483_648.0..2_147_483_648.0).contains(&value) { value as i32 } else { i32::MIN }
}

/// An element that the most used types are made from; integers wrap around.
trait Source: Copy {
    fn int(self) -> i64;
    fn short(self) -> i32;
    fn single(self) -> f32;
    fn double(self) -> f64;
    fn truth(self) -> bool;
}

macro_rules! source {
    ($($type:ty: |$value:ident| $int:expr, $short:expr, $single:expr, $double:expr, $truth:expr;)+) => { $(
        impl Source for $type {
            #[inline(always)]
            fn int(self) -> i64 {
                let $value = self;
                $int
            }
            #[inline(always)]
            fn short(self) -> i32 {
                let $value = self;
                $short
            }
            #[inline(always)]
            fn single(self) -> f32 {
                let $value = self;
                $single
            }
            #[inline(always)]
            fn double(self) -> f64 {
                let $value = self;
                $double
            }
            #[inline(always)]
            fn truth(self) -> bool {
                let $value = self;
                $truth
            }
        }
    )+ };
}

source! {
    u8: |value| i64::from(value), i32::from(value), f32::from(value), f64::from(value), value != 0;
    i32: |value| i64::from(value), value, value as f32, f64::from(value), value != 0;
    i64: |value| value, value as i32, value as f32, value as f64, value != 0;
    bf16: |value| truncate(value.to_f64()), truncate_short(value.to_f64()), value.to_f32(), value.to_f64(),
        value.to_f32() != 0.0;
    f32: |value| truncate(value.into()), truncate_short(value.into()), value, f64::from(value), value != 0.0;
    f64: |value| truncate(value), truncate_short(value), value as f32, value, value != 0.0;
}

/// The conversion of a row between two of the most used types; the others go through a wide value.
pub fn direct(from: DType, to: DType) -> Option<Direct> {
    #[cfg(target_arch = "x86_64")]
    if let Some(direct) = super::wide_casts::direct(from, to) {
        return Some(direct);
    }
    match from {
        // A truth value is stored as 0 or 1.
        DType::Bool | DType::U8 => target::<u8>(to),
        DType::I32 => target::<i32>(to),
        DType::I64 => target::<i64>(to),
        DType::F16 if to == DType::F32 => Some(widen_half),
        DType::BF16 => target::<bf16>(to),
        DType::F32 if to == DType::F16 => Some(narrow_half),
        #[cfg(target_arch = "x86_64")]
        DType::F32 if to == DType::I32 => Some(|from, to, length| shorts::<i32>(from, to, length, |value| value)),
        #[cfg(target_arch = "x86_64")]
        DType::F32 if to == DType::U8 => Some(|from, to, length| shorts::<u8>(from, to, length, |value| value as u8)),
        DType::F32 => target::<f32>(to),
        DType::F64 => target::<f64>(to),
        _ => None,
    }
}

fn target<A: Source>(to: DType) -> Option<Direct> {
    macro_rules! row {
        ($type:ty, $convert:expr) => {
            |from, to, length| {
                // SAFETY: the caller of a `Direct` vouches for the rows.
                unsafe { each::<A, $type>(from, to, length, $convert) }
            }
        };
    }
    Some(match to {
        DType::Bool => row!(u8, |value| u8::from(value.truth())),
        DType::U8 => row!(u8, |value| value.short() as u8),
        DType::I32 => row!(i32, A::short),
        DType::I64 => row!(i64, A::int),
        DType::BF16 => row!(bf16, |value| bf16::from_f32(value.single())),
        DType::F32 => row!(f32, A::single),
        DType::F64 => row!(f64, A::double),
        _ => return None,
    })
}

/// # Safety
/// `length` elements of `A` and of `B` lie at the addresses.
unsafe fn each<A: Copy, B>(from: *const u8, to: *mut u8, length: usize, convert: impl Fn(A) -> B) {
    dispatch_narrow(Each { from: from.cast(), to: to.cast(), length, convert });
}

struct Each<A, B, F> {
    from: *const A,
    to: *mut B,
    length: usize,
    convert: F,
}

impl<A: Copy, B, F: Fn(A) -> B> Task for Each<A, B, F> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for i in 0..self.length {
            // SAFETY: the caller of `each`'s; memory from outside may not be aligned.
            unsafe { self.to.add(i).write_unaligned((self.convert)(self.from.add(i).read_unaligned())) };
        }
    }
}

/// As `each`, from float32 by way of integers of 32 bits: the processor's own instruction is `truncate_short`, which no
/// loop over that is turned into.
#[cfg(target_arch = "x86_64")]
fn shorts<B>(from: *const u8, to: *mut u8, length: usize, narrow: impl Fn(i32) -> B) {
    dispatch_narrow(Shorts { from: from.cast(), to: to.cast(), length, narrow });
}

#[cfg(target_arch = "x86_64")]
struct Shorts<B, F> {
    from: *const f32,
    to: *mut B,
    length: usize,
    narrow: F,
}

#[cfg(target_arch = "x86_64")]
impl<B, F: Fn(i32) -> B> Task for Shorts<B, F> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        use std::arch::x86_64::{_mm_cvttps_epi32, _mm_loadu_ps, _mm_storeu_si128};
        const LANES: usize = 16;
        let Self { from, to, length, narrow } = self;
        let whole = length - length % LANES;
        for start in (0..whole).step_by(LANES) {
            let mut values = [0; LANES];
            // SAFETY: the caller of a `Direct` vouches for the rows; every x86-64 processor has SSE2.
            unsafe {
                for part in (0..LANES).step_by(4) {
                    let four = _mm_cvttps_epi32(_mm_loadu_ps(from.add(start + part)));
                    _mm_storeu_si128(values.as_mut_ptr().add(part).cast(), four);
                }
                for (lane, &value) in values.iter().enumerate() {
                    to.add(start + lane).write_unaligned(narrow(value));
                }
            }
        }
        for i in whole..length {
            // SAFETY: as above.
            unsafe { to.add(i).write_unaligned(narrow(from.add(i).read_unaligned().short())) };
        }
    }
}

/// Elements converted at a time where the buffers must be aligned.
const CHUNK: usize = 256;

/// # Safety
/// As `each`.
unsafe fn through<A: Copy + Default, B: Copy + Default>(
    from: *const u8,
    to: *mut u8,
    length: usize,
    convert: impl Fn(&[A], &mut [B]),
) {
    let (mut read, mut made) = ([A::default(); CHUNK], [B::default(); CHUNK]);
    for start in (0..length).step_by(CHUNK) {
        let part = CHUNK.min(length - start);
        // SAFETY: the caller's; copied as bytes, since memory from outside may not be aligned.
        unsafe {
            let bytes = part * size_of::<A>();
            std::ptr::copy_nonoverlapping(from.add(start * size_of::<A>()), read.as_mut_ptr().cast(), bytes);
        }
        convert(&read[..part], &mut made[..part]);
        // SAFETY: as above.
        unsafe {
            let bytes = part * size_of::<B>();
            std::ptr::copy_nonoverlapping(made.as_ptr().cast(), to.add(start * size_of::<B>()), bytes);
        }
    }
}

/// Whether the processor turns eight 16-bit floats at once.
#[cfg(target_arch = "x86_64")]
fn has_halves() -> bool {
    super::vector::width() >= 256 && is_x86_feature_detected!("f16c")
}

/// Eight at a time; returns how many that are.
///
/// # Safety
/// As `each`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn widen_eights(from: *const u8, to: *mut u8, length: usize) -> usize {
    use std::arch::x86_64::*;
    let (from, to) = (from.cast::<u16>(), to.cast::<f32>());
    for at in (0..length / 8 * 8).step_by(8) {
        // SAFETY: the caller's.
        unsafe { _mm256_storeu_ps(to.add(at), _mm256_cvtph_ps(_mm_loadu_si128(from.add(at).cast()))) };
    }
    length / 8 * 8
}

/// As `widen_eights`.
///
/// # Safety
/// As `widen_eights`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn narrow_eights(from: *const u8, to: *mut u8, length: usize) -> usize {
    use std::arch::x86_64::*;
    let (from, to) = (from.cast::<f32>(), to.cast::<u16>());
    for at in (0..length / 8 * 8).step_by(8) {
        // SAFETY: the caller's.
        unsafe {
            let value = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.add(at)));
            _mm_storeu_si128(to.add(at).cast(), value);
        }
    }
    length / 8 * 8
}

/// # Safety
/// As `each`.
unsafe fn widen_half(from: *const u8, to: *mut u8, length: usize) {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut done = 0;
    // SAFETY: the caller's.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if has_halves() {
            done = widen_eights(from, to, length);
        }
        let (from, to) = (from.add(done * size_of::<f16>()), to.add(done * size_of::<f32>()));
        through::<f16, f32>(from, to, length - done, |read, made| read.convert_to_f32_slice(made));
    }
}

/// # Safety
/// As `each`.
unsafe fn narrow_half(from: *const u8, to: *mut u8, length: usize) {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut done = 0;
    // SAFETY: the caller's.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if has_halves() {
            done = narrow_eights(from, to, length);
        }
        let (from, to) = (from.add(done * size_of::<f32>()), to.add(done * size_of::<f16>()));
        through::<f32, f16>(from, to, length - done, |read, made| made.convert_from_f32_slice(read));
    }
}
