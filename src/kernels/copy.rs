//! Copies a strided view into another, converting the element type (benchmarks/cases.py: large_contiguous, large_to).

use half::{bf16, f16};
use rustfft::num_complex::{Complex32, Complex64};

use super::cast::{self, truncate, truncate_short};
use super::complex;
use super::iterate::{rows, spread_over};
use super::memory::Memory;
use super::turned::Matrices;
#[cfg(target_arch = "x86_64")]
use super::vector::width;
use super::vector::{Task, dispatch_narrow};
use crate::dtype::DType;
use crate::tensor::geometry::Geometry;

/// A raw pointer that rows on several threads may use: they touch disjoint elements.
#[derive(Clone, Copy)]
struct Shared(*mut u8);
// SAFETY: see `rows`: each element belongs to exactly one row.
unsafe impl Send for Shared {}
// SAFETY: as for Send.
unsafe impl Sync for Shared {}

impl Shared {
    fn at<T>(self, index: usize) -> *mut T {
        // The callers' geometries lie inside their storages, which `Tensor` guarantees.
        self.0.cast::<T>().wrapping_add(index)
    }
}

/// One typed view of CPU memory.
pub struct View<'a> {
    pub pointer: *mut u8,
    pub dtype: DType,
    pub geometry: &'a Geometry,
}

/// Bytes below which a call of memcpy costs least.
const SHORT: usize = 128;

/// Copies bytes: by vectors where the target begins a few bytes behind the source in its page, since the instruction that
/// memcpy takes for rows of this length is twenty times slower then (Zen 3).
///
/// # Safety
/// So many bytes lie at both addresses, and they do not overlap.
#[inline]
pub unsafe fn copy_bytes(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller's, and a width stands for instructions that the processor has.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if count >= SHORT && ((to as usize).wrapping_sub(from as usize) % 4096).wrapping_sub(1) < 63 && width() >= 256 {
            return copy_256(from, to, count);
        }
        std::ptr::copy_nonoverlapping(from, to, count);
    }
}

/// # Safety
/// As `copy_bytes`, of `SHORT` bytes at least, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn copy_256(from: *const u8, to: *mut u8, count: usize) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};
    // SAFETY: the caller's; the last four vectors end with the last byte, and write some bytes a second time.
    unsafe {
        let mut at = 0;
        while at + SHORT < count {
            let first = _mm256_loadu_si256(from.add(at).cast());
            let second = _mm256_loadu_si256(from.add(at + 32).cast());
            let third = _mm256_loadu_si256(from.add(at + 64).cast());
            let fourth = _mm256_loadu_si256(from.add(at + 96).cast());
            _mm256_storeu_si256(to.add(at).cast(), first);
            _mm256_storeu_si256(to.add(at + 32).cast(), second);
            _mm256_storeu_si256(to.add(at + 64).cast(), third);
            _mm256_storeu_si256(to.add(at + 96).cast(), fourth);
            at += SHORT;
        }
        for at in [128, 96, 64, 32].map(|back| count - back) {
            _mm256_storeu_si256(to.add(at).cast(), _mm256_loadu_si256(from.add(at).cast()));
        }
    }
}

/// Writes one value everywhere.
struct Fill<T> {
    to: *mut T,
    length: usize,
    value: T,
}

impl<T: Copy> Task for Fill<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for at in 0..self.length {
            // SAFETY: as in `copy_same`, where it is made.
            unsafe { self.to.add(at).write(self.value) };
        }
    }
}

/// Elements of a row below which to choose a loop for it takes longer than it saves.
const FEW: usize = 32;

/// Copies elements that do not lie side by side.
struct Steps<T> {
    from: *const T,
    to: *mut T,
    length: usize,
    steps: [usize; 2],
}

impl<T: Copy> Steps<T> {
    #[inline(always)]
    fn by(&self, [read, write]: [usize; 2]) {
        for at in 0..self.length {
            // SAFETY: as in `copy_same`, where it is made.
            unsafe { self.to.add(at * write).write(self.from.add(at * read).read_unaligned()) };
        }
    }
}

impl<T: Copy> Task for Steps<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // Steps that a loop knows let it read vectors.
        match self.steps {
            [2, 1] => self.by([2, 1]),
            [read, 1] => self.by([read, 1]),
            steps => self.by(steps),
        }
    }
}

/// Bytes that one thread joins at a time.
const JOINED: usize = 1 << 16;

/// Fills `target` with `runs` runs of all sources in turn, each source giving its next bytes.
///
/// # Safety
/// Every source has `runs` times its number of bytes, and the target, which overlaps none of them, as many as all.
pub unsafe fn join(target: Memory, sources: &[(Memory, usize)], runs: usize) {
    let width: usize = sources.iter().map(|&(_, bytes)| bytes).sum();
    let total = width * runs;
    let some = |mut done: usize, end: usize| {
        while done < end {
            let (run, mut skipped) = (done / width, done % width);
            for &(source, bytes) in sources {
                let count = bytes.saturating_sub(skipped).min(end - done);
                // SAFETY: the caller vouches for the bytes; parts of the target are apart.
                unsafe { copy_bytes(source.at::<u8>(run * bytes + skipped.min(bytes)), target.at::<u8>(done), count) };
                done += count;
                skipped = skipped.saturating_sub(bytes);
            }
        }
    };
    if total < 4 * JOINED {
        return some(0, total);
    }
    spread_over(total.div_ceil(JOINED), 1, &|part| some(part * JOINED, total.min((part + 1) * JOINED)));
}

/// Writes `source` into `target`; both have the same shape, and `target` does not overlap itself.
pub fn copy(target: &View<'_>, source: &View<'_>) {
    if target.dtype == source.dtype {
        match target.dtype.size() {
            1 => copy_same::<u8>(target, source),
            2 => copy_same::<u16>(target, source),
            4 => copy_same::<u32>(target, source),
            8 => copy_same::<u64>(target, source),
            _ => copy_same::<u128>(target, source),
        }
    } else {
        convert(target, source);
    }
}

fn copy_same<T: Copy>(target: &View<'_>, source: &View<'_>) {
    let (to, from) = (Shared(target.pointer), Shared(source.pointer));
    if let Some(matrices) = Matrices::of(target.geometry, source.geometry) {
        // SAFETY: the geometries lie inside their storages, and the target does not overlap itself.
        return unsafe { matrices.copy::<T>(to.at(0), from.at(0)) };
    }
    walk(target, source, |[t, s], length, [dt, ds]| {
        // SAFETY: indices come from the two geometries; alignment was checked when the storage was made.
        unsafe {
            if dt == 1 && ds == 1 {
                copy_bytes(
                    from.at::<u8>(0).add(s * size_of::<T>()),
                    to.at::<u8>(0).add(t * size_of::<T>()),
                    length * size_of::<T>(),
                );
            } else if dt == 1 && ds == 0 {
                dispatch_narrow(Fill { to: to.at::<T>(t), length, value: from.at::<T>(s).read_unaligned() });
            } else {
                let row = Steps { from: from.at::<T>(s), to: to.at::<T>(t), length, steps: [ds, dt] };
                if length < FEW {
                    row.by([ds, dt]);
                } else {
                    dispatch_narrow(row);
                }
            }
        }
    });
}

fn walk(target: &View<'_>, source: &View<'_>, row: impl Fn([usize; 2], usize, [usize; 2]) + Sync) {
    rows(
        &target.geometry.shape,
        [&target.geometry.strides, &source.geometry.strides],
        [target.geometry.offset, source.geometry.offset],
        row,
    );
}

/// Elements converted at a time: small enough for the stack and the first-level cache.
const CHUNK: usize = 256;

/// Values on their way between two types: integers exactly, the rest as float64.
#[derive(Clone, Copy)]
struct Wide {
    int: i64,
    short: i32,
    float: f64,
}

/// Between two complex types, and from one to truth values; elsewhere the imaginary part is nothing, or is dropped.
fn convert_complex(target: &View<'_>, source: &View<'_>) {
    fn each<A: complex::Wide, R: Copy>(target: &View<'_>, source: &View<'_>, narrow: impl Fn(Complex64) -> R + Sync) {
        let (to, from) = (Shared(target.pointer), Shared(source.pointer));
        walk(target, source, |[t, s], length, [dt, ds]| {
            for i in 0..length {
                // SAFETY: as in `copy_same`.
                unsafe {
                    let value = from.at::<A>(s + i * ds).read_unaligned().wide();
                    to.at::<R>(t + i * dt).write_unaligned(narrow(value));
                }
            }
        });
    }
    let truth = |value: Complex64| u8::from(value != Complex64::new(0.0, 0.0));
    match (source.dtype, target.dtype) {
        (DType::C64, DType::Bool) => each::<Complex32, u8>(target, source, truth),
        (DType::C64, _) => each::<Complex32, Complex64>(target, source, |value| value),
        (_, DType::Bool) => each::<Complex64, u8>(target, source, truth),
        _ => each::<Complex64, Complex32>(target, source, <Complex32 as complex::Wide>::narrow),
    }
}

fn convert(target: &View<'_>, source: &View<'_>) {
    if source.dtype.is_complex() && (target.dtype.is_complex() || target.dtype == DType::Bool) {
        return convert_complex(target, source);
    }
    let (to, from) = (Shared(target.pointer), Shared(source.pointer));
    let (to_dtype, from_dtype) = (target.dtype, source.dtype);
    let direct = cast::direct(from_dtype, to_dtype);
    walk(target, source, |[t, s], length, [dt, ds]| {
        if let Some(direct) = direct.filter(|_| dt == 1 && ds == 1) {
            let (from, to) = (from.0.wrapping_add(s * from_dtype.size()), to.0.wrapping_add(t * to_dtype.size()));
            // SAFETY: a row of `length` elements lies at both places, as in `copy_same`.
            return unsafe { direct(from, to, length) };
        }
        let mut buffer = [Wide { int: 0, short: 0, float: 0.0 }; CHUNK];
        let mut done = 0;
        while done < length {
            let part = CHUNK.min(length - done);
            // SAFETY: as in `copy_same`.
            unsafe {
                load(from_dtype, from, s + done * ds, ds, &mut buffer[..part]);
                store(to_dtype, to, t + done * dt, dt, &buffer[..part]);
            }
            done += part;
        }
    });
}

unsafe fn load(dtype: DType, from: Shared, start: usize, step: usize, out: &mut [Wide]) {
    macro_rules! each {
        ($type:ty, |$value:ident| $wide:expr) => {
            for (i, slot) in out.iter_mut().enumerate() {
                // SAFETY: the caller vouches for the indices.
                let $value = unsafe { from.at::<$type>(start + i * step).read_unaligned() };
                *slot = $wide;
            }
        };
    }
    macro_rules! int {
        ($type:ty) => {
            each!($type, |value| Wide { int: value as i64, short: value as i32, float: value as f64 })
        };
    }
    macro_rules! float {
        ($type:ty) => {
            each!($type, |value| {
                let float = f64::from(value);
                Wide { int: truncate(float), short: truncate_short(float), float }
            })
        };
    }
    match dtype {
        DType::Bool => each!(u8, |value| {
            let truth = u8::from(value != 0);
            Wide { int: i64::from(truth), short: i32::from(truth), float: f64::from(truth) }
        }),
        DType::U8 => int!(u8),
        DType::I8 => int!(i8),
        DType::I16 => int!(i16),
        DType::I32 => int!(i32),
        DType::I64 => int!(i64),
        DType::U16 => int!(u16),
        DType::U32 => int!(u32),
        DType::U64 => int!(u64),
        DType::F16 => float!(f16),
        DType::BF16 => float!(bf16),
        DType::F32 => float!(f32),
        DType::F64 => float!(f64),
        // The imaginary part is dropped, as torch does with a warning.
        DType::C64 => each!([f32; 2], |value| {
            let float = f64::from(value[0]);
            Wide { int: truncate(float), short: truncate_short(float), float }
        }),
        DType::C128 => each!([f64; 2], |value| {
            Wide { int: truncate(value[0]), short: truncate_short(value[0]), float: value[0] }
        }),
    }
}

unsafe fn store(dtype: DType, to: Shared, start: usize, step: usize, values: &[Wide]) {
    macro_rules! each {
        ($type:ty, |$wide:ident| $value:expr) => {
            for (i, $wide) in values.iter().enumerate() {
                // SAFETY: the caller vouches for the indices.
                unsafe { to.at::<$type>(start + i * step).write_unaligned($value) };
            }
        };
    }
    match dtype {
        // NaN is true; an integer part of zero is not enough to be false.
        DType::Bool => each!(u8, |wide| u8::from(wide.float != 0.0)),
        DType::U8 => each!(u8, |wide| wide.short as u8),
        DType::I8 => each!(i8, |wide| wide.short as i8),
        DType::I16 => each!(i16, |wide| wide.short as i16),
        DType::I32 => each!(i32, |wide| wide.short),
        DType::I64 => each!(i64, |wide| wide.int),
        DType::U16 => each!(u16, |wide| wide.int as u16),
        DType::U32 => each!(u32, |wide| wide.int as u32),
        DType::U64 => each!(u64, |wide| wide.int as u64),
        // By way of float32, as torch does.
        DType::F16 => each!(f16, |wide| f16::from_f32(wide.float as f32)),
        DType::BF16 => each!(bf16, |wide| bf16::from_f32(wide.float as f32)),
        DType::F32 => each!(f32, |wide| wide.float as f32),
        DType::F64 => each!(f64, |wide| wide.float),
        DType::C64 => each!([f32; 2], |wide| [wide.float as f32, 0.0]),
        DType::C128 => each!([f64; 2], |wide| [wide.float, 0.0]),
    }
}
