//! Rows of row-major memory written by number, in index order (benchmarks/bars.py: index_add, scatter_add).
//!
//! Work is shared out by places of the result, and each place meets its values in the order of the index: so results
//! are those of one thread, which are torch's.

use half::{bf16, f16};
use rustfft::num_complex::{Complex32, Complex64};

use super::index::{Along, Level, Places, Slabs, Update, ask_for, in_parts, start};
use super::index_take::LONG;
use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Memory;
use super::vector::{Task, dispatch};
use crate::dtype::DType;
use crate::error::{self, Result};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_wins_a_maximum() {
        assert!(f32::NAN.meet(1.0, Update::Max).is_nan());
        assert!(1.0f32.meet(f32::NAN, Update::Min).is_nan());
    }
}
