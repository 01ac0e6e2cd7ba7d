//! Rows of row-major memory read and written by number, in index order (benchmarks/bars.py: moving).
//!
//! Work is shared out by places of the result, and each place meets its values in the order of the index: so results
//! are those of one thread, which are torch's. Numbers are checked before a loop that trusts them.

use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};
use rustfft::num_complex::{Complex32, Complex64};
use smallvec::SmallVec;

use super::copy::copy_bytes;
use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Memory;
#[cfg(target_arch = "x86_64")]
use super::processor::{gathers, near};
use super::scratch::Shared;
#[cfg(target_arch = "x86_64")]
use super::vector::is_wide;
use super::vector::{Task, dispatch};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::tensor::geometry::contiguous_strides;

/// How a value meets the one that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Assign,
    Add,
    Mul,
    Max,
    Min,
}

/// Which rows of a tensor, seen as `outer` stretches of `size` rows of `block` elements, one index names in each stretch.
#[derive(Clone, Copy)]
pub struct Slabs<'a> {
    pub numbers: &'a [i64],
    pub outer: usize,
    pub size: usize,
    pub block: usize,
}

/// Which elements of a row-major tensor an index of equal rank names along one dimension: one for each of its own.
#[derive(Clone)]
pub struct Along {
    /// How many there are along the dimension, and the step between them.
    pub size: usize,
    own: usize,
    /// The index tensor's dimensions, neighbours merged where they can be, with their steps in the tensor.
    levels: SmallVec<[Level; 4]>,
    /// Which of the levels is the dimension; none where the index is of size 1 there.
    at: Option<usize>,
}

#[derive(Clone, Copy)]
struct Level {
    size: usize,
    step: usize,
}

impl Along {
    pub fn new(shape: &[usize], dim: usize, index_shape: &[usize]) -> Self {
        let strides = contiguous_strides(shape);
        let mut levels: SmallVec<[Level; 4]> = SmallVec::new();
        let mut at = None;
        for (axis, &size) in index_shape.iter().enumerate().filter(|&(_, &size)| size != 1) {
            let step = if axis == dim { 0 } else { strides.get(axis).copied().unwrap_or(0) };
            if axis == dim {
                at = Some(levels.len());
            }
            match levels.last_mut() {
                Some(last) if step != 0 && last.step == step * size => *last = Level { size: last.size * size, step },
                _ => levels.push(Level { size, step }),
            }
        }
        let own = strides.get(dim).copied().unwrap_or(1);
        Self { size: shape.get(dim).copied().unwrap_or(1), own, levels, at }
    }

    /// The numbers of the elements, for kernels that know nothing of levels.
    pub fn elements(&self, positions: &[i64]) -> Vec<i64> {
        let (row, outer) = self.row();
        let mut out = Vec::with_capacity(positions.len());
        for (number, line) in positions.chunks(row.size.max(1)).enumerate() {
            let at = start(outer, number);
            out.extend(
                line.iter()
                    .enumerate()
                    .map(|(column, &position)| (at + column * row.step) as i64 + position * self.own as i64),
            );
        }
        out
    }

    /// The last level, and those before it.
    fn row(&self) -> (Level, &[Level]) {
        self.levels.split_last().map_or((Level { size: 1, step: 0 }, &[]), |(&row, outer)| (row, outer))
    }
}

/// How far the element with this number, counted over the levels, lies from the first.
#[inline(always)]
fn start(levels: &[Level], mut number: usize) -> usize {
    let mut at = 0;
    for level in levels.iter().rev() {
        at += number % level.size * level.step;
        number /= level.size;
    }
    at
}

struct Outside<'a> {
    numbers: &'a [i64],
    size: u64,
    found: &'a mut bool,
}

impl Task for Outside<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // Without an end in the middle this loop vectorises; negative numbers are large unsigned ones.
        *self.found = self.numbers.iter().fold(false, |any, &number| any | (number as u64 >= self.size));
    }
}

/// Whether a number is negative, or not below `size`.
pub fn is_outside(numbers: &[i64], size: usize) -> bool {
    let size = size as u64;
    if numbers.len() < PARALLEL_ABOVE {
        let mut found = false;
        dispatch(Outside { numbers, size, found: &mut found });
        return found;
    }
    let any = AtomicBool::new(false);
    let parts: Vec<&[i64]> = numbers.chunks(PART).collect();
    spread_over(parts.len(), 1, &|part| {
        let mut found = false;
        if let Some(&numbers) = parts.get(part) {
            dispatch(Outside { numbers, size, found: &mut found });
        }
        if found {
            any.store(true, Ordering::Relaxed);
        }
    });
    any.into_inner()
}

/// Elements that one task reads at least.
const PART: usize = PARALLEL_ABOVE / 4;

/// Numbers that are checked before they are used: so few that they are still in the first cache then.
const CHECKED: usize = 2048;

/// Runs `task` over ranges of `count` things of `each` elements, on several threads where it pays.
fn in_parts(count: usize, each: usize, task: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    let together = (PART / each.max(1)).max(1);
    if count.saturating_mul(each) < PARALLEL_ABOVE {
        return task(0..count);
    }
    spread_over(count.div_ceil(together), 1, &|part| task(part * together..count.min((part + 1) * together)));
}

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
            let eight = if gathers() { gather_wide } else { load_wide };
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
                outside |= unsafe { eight(first, named, along.size, out.at(at)) };
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
const LONG: usize = 1 << 10;

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

/// Where values go: the rows of slabs, or elements along a dimension named by these numbers.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    Slabs(Slabs<'a>),
    Along(&'a Along, &'a [i64]),
}

/// Lets `values`, without gaps, meet what stands at the places of `target`, in their order.
///
/// # Safety
/// `target` holds the row-major tensor that the places were made for, and nothing else uses it now; all numbers are
/// below its size; `values` holds one value for each place; both are of `dtype`.
pub unsafe fn put(target: Memory, places: Places<'_>, values: Memory, dtype: DType, update: Update) -> Result<()> {
    macro_rules! run {
        ($type:ty, $meet:expr) => {
            match places {
                // SAFETY: the caller's.
                Places::Slabs(slabs) => unsafe { put_slabs::<$type>(target, slabs, values, $meet) },
                // SAFETY: the caller's.
                Places::Along(along, numbers) => unsafe { put_along::<$type>(target, along, numbers, values, $meet) },
            }
        };
    }
    macro_rules! each {
        ($type:ty) => {
            run!($type, |old: $type, new: $type| old.meet(new, update))
        };
    }
    // A loop for each update of the types that matter; the others decide at every element.
    macro_rules! fast {
        ($type:ty) => {
            match update {
                Update::Add => run!($type, |old: $type, new: $type| old.meet(new, Update::Add)),
                Update::Max => run!($type, |old: $type, new: $type| old.meet(new, Update::Max)),
                Update::Min => run!($type, |old: $type, new: $type| old.meet(new, Update::Min)),
                _ => each!($type),
            }
        };
    }
    match dtype {
        _ if update == Update::Assign => match dtype.size() {
            1 => run!(u8, |_, new| new),
            2 => run!(u16, |_, new| new),
            4 => run!(u32, |_, new| new),
            8 => run!(u64, |_, new| new),
            _ => run!(u128, |_, new| new),
        },
        DType::Bool => each!(Truth),
        DType::U8 => each!(u8),
        DType::I8 => each!(i8),
        DType::I16 => each!(i16),
        DType::I32 => each!(i32),
        DType::I64 => fast!(i64),
        DType::U16 => each!(u16),
        DType::U32 => each!(u32),
        DType::U64 => each!(u64),
        DType::F16 => each!(f16),
        DType::BF16 => each!(bf16),
        DType::F32 => fast!(f32),
        DType::F64 => fast!(f64),
        DType::C64 | DType::C128 if matches!(update, Update::Max | Update::Min) => {
            return error::dtype(format!(
                "extremes are not defined for '{}': complex numbers have no order",
                dtype.name()
            ));
        }
        DType::C64 => each!(Complex32),
        DType::C128 => each!(Complex64),
    }
    Ok(())
}

/// Columns of rows that one task takes, at least.
const COLUMNS: usize = 32;

/// Some columns of all rows of one stretch, or of those with these places among the numbers.
struct Sums<'a, T, F> {
    numbers: &'a [i64],
    places: Option<&'a [usize]>,
    target: *mut T,
    values: *const T,
    block: usize,
    width: usize,
    meet: F,
}

impl<T, F> Sums<'_, T, F> {
    /// The place of a row among the values, and its number.
    #[inline(always)]
    fn row(&self, at: usize) -> Option<(usize, usize)> {
        let place = match self.places {
            None => at,
            Some(places) => *places.get(at)?,
        };
        self.numbers.get(place).map(|&number| (place, number as usize))
    }
}

impl<T: Copy, F: Fn(T, T) -> T + Copy> Task for Sums<'_, T, F> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        if self.block == 1 {
            // SAFETY: as below.
            return unsafe { put_line(self.target, 1, self.numbers, self.values, self.meet) };
        }
        // Short rows are done before the next one has come.
        let ahead = if self.width * size_of::<T>() <= SHORT { 4 } else { 1 };
        let pointers = |(place, number): (usize, usize)| {
            (self.target.wrapping_add(number * self.block), self.values.wrapping_add(place * self.block))
        };
        let mut at = 0;
        while let Some(row) = self.row(at) {
            let (next, row) = (pointers(self.row(at + ahead).unwrap_or(row)), pointers(row));
            // SAFETY: as `put`: rows of both sides lie inside their memories, and these columns are this task's.
            unsafe { meet_row(row.0, row.1, self.width, [next.0.cast_const(), next.1], self.meet) };
            at += 1;
        }
    }
}

/// Bytes of a row up to which it is short.
const SHORT: usize = 1 << 9;

/// Elements that meet at once: a number that is known makes vectors of them however short a row is.
const GROUP: usize = 16;

/// Lets a row meet another, side by side, and asks for others of their length, which come later.
///
/// # Safety
/// Both have `width` elements, and nobody else uses those of `to` now.
#[inline(always)]
pub unsafe fn meet_row<T: Copy>(
    to: *mut T,
    from: *const T,
    width: usize,
    later: [*const T; 2],
    meet: impl Fn(T, T) -> T,
) {
    let whole = width / GROUP * GROUP;
    // SAFETY: the caller's.
    unsafe {
        for at in (0..whole).step_by(GROUP) {
            // Group by group; that also keeps the compiler from making vectors across groups.
            later.iter().for_each(|row| ask_for(row.wrapping_add(at), GROUP));
            let mut own = to.add(at).cast::<[T; GROUP]>().read_unaligned();
            let other = from.add(at).cast::<[T; GROUP]>().read_unaligned();
            for (slot, value) in own.iter_mut().zip(other) {
                *slot = meet(*slot, value);
            }
            to.add(at).cast::<[T; GROUP]>().write_unaligned(own);
        }
        for at in whole..width {
            to.add(at).write_unaligned(meet(to.add(at).read_unaligned(), from.add(at).read_unaligned()));
        }
    }
}

/// Brings elements that are read soon into the cache: where rows come in any order, nobody else foresees them.
#[inline(always)]
fn ask_for<T>(from: *const T, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(count * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint may be given for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(line * 64)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, count);
}

/// # Safety
/// As `put`.
unsafe fn put_slabs<T: Copy>(target: Memory, slabs: Slabs<'_>, values: Memory, meet: impl Fn(T, T) -> T + Copy + Sync) {
    let Slabs { numbers, outer, size, block } = slabs;
    if outer * numbers.len() * block == 0 {
        return;
    }
    if outer == 1
        && block * size_of::<T>() >= LONG
        && numbers.len() * block >= PARALLEL_ABOVE
        && let Some(shares) = shares(numbers)
    {
        // What a thread has written to some rows of the target last is still in its cache.
        spread_over(shares.len(), 1, &|share| {
            let (target, values) = (target.at::<T>(0), values.at::<T>(0));
            let places = shares.get(share).map(Vec::as_slice);
            dispatch(Sums { numbers, places, target, values, block, width: block, meet });
        });
        return;
    }
    // A quarter of the columns each, unless there are stretches enough.
    let width = if outer > 4 { block } else { block.div_ceil(4).next_multiple_of(COLUMNS).min(block) };
    let parts = block.div_ceil(width);
    in_parts(outer * parts, numbers.len() * width, &|tasks| {
        for task in tasks {
            let (stretch, first) = (task / parts, task % parts * width);
            dispatch(Sums {
                numbers,
                places: None,
                target: target.at::<T>(stretch * size * block + first),
                values: values.at::<T>(stretch * numbers.len() * block + first),
                block,
                width: width.min(block - first),
                meet,
            });
        }
    });
}

/// The places of the numbers of each quarter of the rows, where these are about as many: else who has the most of them
/// would keep the others waiting.
fn shares(numbers: &[i64]) -> Option<[Vec<usize>; 4]> {
    let rows = (numbers.iter().max()? + 1).div_euclid(4).max(1);
    let mut shares: [Vec<usize>; 4] = std::array::from_fn(|_| Vec::with_capacity(numbers.len() / 3));
    for (place, &number) in numbers.iter().enumerate() {
        shares.get_mut((number / rows).clamp(0, 3) as usize)?.push(place);
    }
    shares.iter().all(|share| share.len() <= numbers.len() / 3).then_some(shares)
}

/// Values side by side that meet the elements of one line, `step` apart.
///
/// # Safety
/// The line has elements at these numbers, and there is a value for each.
#[inline(always)]
unsafe fn put_line<T: Copy>(line: *mut T, step: usize, numbers: &[i64], values: *const T, meet: impl Fn(T, T) -> T) {
    for (place, &number) in numbers.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let to = line.add(number as usize * step);
            to.write_unaligned(meet(to.read_unaligned(), values.add(place).read_unaligned()));
        }
    }
}

/// Elements side by side that one task takes through all rows: their places stay in the second-level cache.
const BESIDE: usize = 64;

/// # Safety
/// As `put`.
unsafe fn put_along<T: Copy>(
    target: Memory,
    along: &Along,
    numbers: &[i64],
    values: Memory,
    meet: impl Fn(T, T) -> T + Copy + Sync,
) {
    // `count` values meet at each place at most: those of one line along the dimension, which one task takes in order.
    let split = along.at.unwrap_or_else(|| along.levels.len().saturating_sub(1));
    let (outer, rest) = along.levels.split_at(split);
    let (count, inner) = match (along.at, rest.split_first()) {
        (Some(_), Some((own, inner))) => (own.size, inner),
        _ => (1, rest),
    };
    let (row, middle) = inner.split_last().map_or((Level { size: 1, step: 0 }, inner), |(&row, middle)| (row, middle));
    let size = |levels: &[Level]| levels.iter().map(|level| level.size).product::<usize>();
    let (stretches, lines, parts) = (size(outer), size(middle), row.size.div_ceil(BESIDE));
    in_parts(stretches * lines * parts, count * row.size.min(BESIDE), &|tasks| {
        for task in tasks {
            let (stretch, line, part) = (task / parts / lines, task / parts % lines, task % parts * BESIDE);
            let first = start(outer, stretch) + start(middle, line) + part * row.step;
            let width = BESIDE.min(row.size - part);
            let at = (stretch * count * lines + line) * row.size + part;
            // Addresses of this task's own, as in `gather`.
            let (to, from, step, own) = (target.at::<T>(first), values.at::<T>(at).cast_const(), row.step, along.own);
            if row.size == 1 && lines == 1 {
                let Some(named) = numbers.get(at..at + count) else { return };
                // SAFETY: the caller's; the numbers have been checked.
                unsafe { put_line(to, own, named, from, meet) };
                continue;
            }
            let beside = lines * row.size;
            for number in 0..count {
                let Some(named) = numbers.get(at + number * beside..).and_then(|rest| rest.get(..width)) else {
                    return;
                };
                for (column, &place) in named.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe {
                        let (to, from) =
                            (to.add(column * step + place as usize * own), from.add(number * beside + column));
                        to.write_unaligned(meet(to.read_unaligned(), from.read_unaligned()));
                    }
                }
            }
        }
    });
}

/// An element that can be combined with another.
trait Cell: Copy {
    fn meet(self, other: Self, update: Update) -> Self;
}

macro_rules! cell {
    ($($type:ty, |$a:ident, $b:ident| $add:expr, $mul:expr, $max:expr, $min:expr;)+) => { $(
        impl Cell for $type {
            #[inline(always)]
            fn meet(self, other: Self, update: Update) -> Self {
                let ($a, $b) = (self, other);
                match update {
                    Update::Assign => $b,
                    Update::Add => $add,
                    Update::Mul => $mul,
                    Update::Max => $max,
                    Update::Min => $min,
                }
            }
        }
    )+ };
}

macro_rules! integers {
    ($($type:ty),+) => { cell! { $($type, |a, b| a.wrapping_add(b), a.wrapping_mul(b), a.max(b), a.min(b);)+ } };
}

macro_rules! floats {
    ($($type:ty),+) => {
        // A NaN on either side wins, as in torch.
        cell! { $($type, |a, b| a + b, a * b,
            if a.is_nan() || a > b { a } else { b }, if a.is_nan() || a < b { a } else { b };)+ }
    };
}

integers! { u8, i8, u16, i16, u32, i32, u64, i64 }
floats! { f16, bf16, f32, f64 }
// `put` has refused extremes.
cell! { Complex32, |a, b| a + b, a * b, b, b; Complex64, |a, b| a + b, a * b, b, b; }

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

cell! { Truth, |a, b| Self(u8::from(a.0 | b.0 != 0)), Self(u8::from(a.0 != 0 && b.0 != 0)),
Self(u8::from(a.0 | b.0 != 0)), Self(u8::from(a.0 != 0 && b.0 != 0)); }

/// The numbers of the true bytes, in order.
pub fn positions(flags: &[u8]) -> Vec<i64> {
    let parts: Vec<&[u8]> = flags.chunks(PART).collect();
    let true_ones = |part: usize| parts.get(part).map_or(0, |part| part.iter().filter(|&&flag| flag != 0).count());
    let counts: Vec<usize> = (0..parts.len()).map(true_ones).collect();
    let starts: Vec<usize> = counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let total = counts.iter().sum();
    let mut out: Vec<i64> = Vec::with_capacity(total);
    let slots = Memory::over(out.as_mut_ptr().cast());
    let one = |part: usize| {
        let (Some(&start), Some(&count), Some(flags)) = (starts.get(part), counts.get(part), parts.get(part)) else {
            return;
        };
        let (mut found, mut rest) = (start, flags.iter().enumerate());
        while found < start + count
            && let Some((place, &flag)) = rest.next()
        {
            // Written without asking, and kept where the next does not come to the same slot.
            // SAFETY: `found` is below the end of this part's slots, for which there is room.
            unsafe { slots.write(found, (part * PART + place) as i64) };
            found += usize::from(flag != 0);
        }
    };
    if flags.len() < PARALLEL_ABOVE {
        (0..parts.len()).for_each(one);
    } else {
        spread_over(parts.len(), 1, &one);
    }
    // SAFETY: every part has written as many as it counted.
    unsafe { out.set_len(total) };
    out
}

/// The coordinates of the elements with these numbers of a row-major tensor: those of each dimension beside each other.
pub fn coordinates(positions: Vec<i64>, shape: &[usize]) -> Vec<i64> {
    if shape.len() == 1 {
        return positions;
    }
    let (count, strides) = (positions.len(), contiguous_strides(shape));
    let Some((&width, outer)) = shape.split_last() else { return positions };
    let mut out = Box::<[i64]>::new_uninit_slice(count * shape.len());
    let to = Shared(out.as_mut_ptr().cast::<i64>());
    in_parts(count, 1, &|part| {
        // The numbers are in order: most lie in the row of the one before, and need no division.
        let (mut row, mut own) = (0..0, SmallVec::<[i64; 6]>::from_elem(0, outer.len()));
        for place in part {
            let position = positions[place] as usize;
            if !row.contains(&position) {
                let first = position / width * width;
                row = first..first + width;
                for ((slot, &size), &stride) in own.iter_mut().zip(outer).zip(&strides) {
                    *slot = (position / stride % size) as i64;
                }
            }
            // SAFETY: there is room for each dimension of each place, and parts have places of their own.
            unsafe {
                for (dim, &coordinate) in own.iter().enumerate() {
                    to.at(dim * count + place).write(coordinate);
                }
                to.at(outer.len() * count + place).write((position - row.start) as i64);
            }
        }
    });
    // SAFETY: every coordinate has been written.
    unsafe { out.assume_init() }.into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_named_along_a_dimension() {
        let along = Along::new(&[2, 3], 1, &[2, 2]);
        assert_eq!(along.elements(&[2, 0, 1, 1]), [2, 0, 4, 4]);
        let along = Along::new(&[2, 3], 0, &[1, 2]);
        assert_eq!(along.elements(&[1, 0]), [3, 1]);
    }

    #[test]
    fn negative_and_large_numbers_are_outside() {
        assert!(is_outside(&[0, -1], 4));
        assert!(is_outside(&[4], 4));
        assert!(!is_outside(&[0, 3], 4));
    }

    #[test]
    fn nan_wins_a_maximum() {
        assert!(f32::NAN.meet(1.0, Update::Max).is_nan());
        assert!(1.0f32.meet(f32::NAN, Update::Min).is_nan());
    }

    #[test]
    fn coordinates_count_from_the_front() {
        assert_eq!(positions(&[0, 1, 0, 0, 0, 1]), [1, 5]);
        assert_eq!(coordinates(vec![1, 5], &[2, 3]), [0, 1, 1, 2]);
    }

    #[cfg(target_arch = "x86_64")]
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
            assert_eq!(found(load_wide, &numbers), (false, expected));
            for (wrong, place) in [(-1, 0), (1000, length - 1), (i64::MIN, length / 2)] {
                let mut numbers = numbers.clone();
                if let Some(slot) = numbers.get_mut(place as usize) {
                    *slot = wrong;
                    assert!(found(gather_wide, &numbers).0 && found(load_wide, &numbers).0);
                }
            }
        }
    }
}
