//! Copies a strided view into another, converting the element type (benchmarks/cases.py: large_contiguous, large_to).

use half::{bf16, f16};
use rustfft::num_complex::{Complex32, Complex64};

use super::cast::{self, truncate, truncate_short};
use super::complex;
use super::iterate::{rows, spread_over};
use super::memory::Memory;
#[cfg(target_arch = "x86_64")]
use super::processor::streamed_above;
use super::turned::Matrices;
#[cfg(target_arch = "x86_64")]
use super::vector::width;
use super::vector::{Task, dispatch_narrow};
use super::zipped;
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
#[cfg(target_arch = "x86_64")]
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
        let Self { to, length, value } = self;
        let some = [value; 16];
        let whole = length / some.len() * some.len();
        // SAFETY: as in `copy_same`, where it is made.
        unsafe {
            for at in (0..whole).step_by(some.len()) {
                to.add(at).cast::<[T; 16]>().write_unaligned(some);
            }
            for at in whole..length {
                to.add(at).write(value);
            }
        }
    }
}

/// Elements of a row below which to choose a loop for it takes longer than it saves.
pub const FEW: usize = 32;

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

/// Runs of bytes, each so many bytes after the last.
#[derive(Clone, Copy)]
pub struct Runs {
    pub first: Memory,
    pub bytes: usize,
    pub step: usize,
}

/// Fills `target` with `runs` runs of all sources in turn, each source giving its next one.
///
/// # Safety
/// Every source has so many runs, and the target, which overlaps none of them, as many bytes as all.
pub unsafe fn join(target: Memory, sources: &[Runs], runs: usize) {
    let width: usize = sources.iter().map(|source| source.bytes).sum();
    let total = width * runs;
    let some = |mut done: usize, end: usize| {
        while done < end {
            let (run, mut skipped) = (done / width, done % width);
            for &Runs { first, bytes, step } in sources {
                let count = bytes.saturating_sub(skipped).min(end - done);
                // SAFETY: the caller vouches for the bytes; parts of the target are apart.
                unsafe { copy_bytes(first.at::<u8>(run * step + skipped.min(bytes)), target.at::<u8>(done), count) };
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

fn copy_same<T: Copy + Send>(target: &View<'_>, source: &View<'_>) {
    let (to, from) = (Shared(target.pointer), Shared(source.pointer));
    if let Some(matrices) = Matrices::of(target.geometry, source.geometry) {
        // SAFETY: the geometries lie inside their storages, and the target does not overlap itself.
        return unsafe { matrices.copy::<T>(to.at(0), from.at(0)) };
    }
    if zipped::zip::<T>(target, source) || zipped::unzip::<T>(target, source) {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    let bytes = target.geometry.numel() * size_of::<T>();
    #[cfg(target_arch = "x86_64")]
    let (far, farther) = (bytes >= streamed_above(), bytes >= 2 * streamed_above());
    walk(target, source, |[t, s], length, [dt, ds]| {
        // SAFETY: indices come from the two geometries; alignment was checked when the storage was made.
        unsafe {
            if dt == 1 && ds == 1 {
                let (from, to) = (from.at::<T>(s).cast::<u8>(), to.at::<T>(t).cast::<u8>());
                #[cfg(target_arch = "x86_64")]
                if farther && is_whole(to, length * size_of::<T>()) && width() >= 256 {
                    return stream_256(from, to, length * size_of::<T>());
                }
                copy_bytes(from, to, length * size_of::<T>());
            } else if dt == 1 && ds == 0 {
                #[cfg(target_arch = "x86_64")]
                if far && width() >= 256 {
                    return fill_256(to.at::<T>(t), length, from.at::<T>(s).read_unaligned());
                }
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

/// Whether a row consists of whole lines of memory, or is long: a part of a line must not be written past the caches.
#[cfg(target_arch = "x86_64")]
fn is_whole(to: *mut u8, count: usize) -> bool {
    count >= 1 << 12 || count >= LINE && count.is_multiple_of(LINE) && to.addr().is_multiple_of(LINE)
}

#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Copies whole lines past the caches.
///
/// # Safety
/// As `copy_bytes`, of `LINE` bytes at least, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn stream_256(from: *const u8, to: *mut u8, count: usize) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};
    let head = to.align_offset(LINE).min(count);
    let end = head + (count - head) / LINE * LINE;
    // SAFETY: the caller's.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        for at in (head..end).step_by(LINE) {
            let (first, second) =
                (_mm256_loadu_si256(from.add(at).cast()), _mm256_loadu_si256(from.add(at + LINE / 2).cast()));
            _mm256_stream_si256(to.add(at).cast(), first);
            _mm256_stream_si256(to.add(at + LINE / 2).cast(), second);
        }
        std::ptr::copy_nonoverlapping(from.add(end), to.add(end), count - end);
    }
}

/// Fills past the caches: a plain store first reads the line that it overwrites.
///
/// # Safety
/// There are `length` elements, of a size that divides 16 bytes, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn fill_256<T: Copy>(to: *mut T, length: usize, value: T) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_broadcastsi128_si256, _mm256_stream_si256};
    const VECTOR: usize = 32;
    let (lanes, mut pattern) = (VECTOR / size_of::<T>(), [0u8; 16]);
    let head = to.align_offset(VECTOR).min(length);
    let end = head + (length - head) / lanes * lanes;
    // SAFETY: the caller's.
    unsafe {
        for at in 0..lanes / 2 {
            pattern.as_mut_ptr().cast::<T>().add(at).write_unaligned(value);
        }
        let vector = _mm256_broadcastsi128_si256(_mm_loadu_si128(pattern.as_ptr().cast()));
        for at in (0..head).chain(end..length) {
            to.add(at).write_unaligned(value);
        }
        for at in (head..end).step_by(lanes) {
            _mm256_stream_si256(to.add(at).cast(), vector);
        }
    }
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
    // 16-bit floats become float32 without loss, and others become such by way of it, as in torch.
    let by_single = (from_dtype.is_half() || to_dtype.is_half())
        .then(|| cast::direct(from_dtype, DType::F32).zip(cast::direct(DType::F32, to_dtype)))
        .flatten();
    walk(target, source, |[t, s], length, [dt, ds]| {
        if let Some(direct) = direct.filter(|_| dt == 1 && ds == 1) {
            let (from, to) = (from.0.wrapping_add(s * from_dtype.size()), to.0.wrapping_add(t * to_dtype.size()));
            // SAFETY: a row of `length` elements lies at both places, as in `copy_same`.
            return unsafe { direct(from, to, length) };
        }
        if direct.is_some() || by_single.is_some() {
            let (mut near, mut between, mut result) = ([0u64; CHUNK], [0f32; CHUNK], [0u64; CHUNK]);
            for done in (0..length).step_by(CHUNK) {
                let part = CHUNK.min(length - done);
                // SAFETY: as in `copy_same`; all buffers have room for a chunk of elements of eight bytes at most.
                unsafe {
                    gather(
                        from_dtype.size(),
                        (from, s + done * ds),
                        ds,
                        (Shared(near.as_mut_ptr().cast()), 0),
                        1,
                        part,
                    );
                    match (direct, by_single) {
                        (Some(direct), _) => direct(near.as_ptr().cast(), result.as_mut_ptr().cast(), part),
                        (_, Some((widen, narrow))) => {
                            widen(near.as_ptr().cast(), between.as_mut_ptr().cast(), part);
                            narrow(between.as_ptr().cast(), result.as_mut_ptr().cast(), part);
                        }
                        _ => {}
                    }
                    gather(to_dtype.size(), (Shared(result.as_mut_ptr().cast()), 0), 1, (to, t + done * dt), dt, part);
                }
            }
            return;
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

/// Copies elements of so many bytes, at most eight, that lie so many elements apart.
///
/// # Safety
/// They lie at both places.
unsafe fn gather(
    bytes: usize,
    (from, start): (Shared, usize),
    read: usize,
    (to, place): (Shared, usize),
    write: usize,
    length: usize,
) {
    macro_rules! each {
        ($type:ty) => {
            Steps {
                from: from.at::<$type>(start).cast_const(),
                to: to.at::<$type>(place),
                length,
                steps: [read, write],
            }
            .by([read, write])
        };
    }
    match bytes {
        1 => each!(u8),
        2 => each!(u16),
        4 => each!(u32),
        _ => each!(u64),
    }
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
