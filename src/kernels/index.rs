//! Rows of row-major memory read and written by number, in index order (benchmarks/cases.py: large_gather).

use half::{bf16, f16};
use rayon::prelude::*;
use rustfft::num_complex::{Complex32, Complex64};

use super::iterate::PARALLEL_ABOVE;
use crate::dtype::DType;
use crate::error::{self, Result};

/// How a value meets the one that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Assign,
    Add,
    Mul,
    Max,
    Min,
}

/// The rows `numbers` of `source`, each `width` bytes wide; the numbers are known to be in range.
pub fn take(source: &[u8], numbers: &[i64], width: usize) -> Vec<u8> {
    match width {
        1 => take_cells::<1>(source, numbers),
        2 => take_cells::<2>(source, numbers),
        4 => take_cells::<4>(source, numbers),
        8 => take_cells::<8>(source, numbers),
        16 => take_cells::<16>(source, numbers),
        _ => take_rows(source, numbers, width),
    }
}

fn take_cells<const N: usize>(source: &[u8], numbers: &[i64]) -> Vec<u8> {
    let (cells, _) = source.as_chunks::<N>();
    let pick = |&number: &i64| cells.get(number as usize).copied().unwrap_or([0; N]);
    let out: Vec<[u8; N]> = if numbers.len() < PARALLEL_ABOVE {
        numbers.iter().map(pick).collect()
    } else {
        numbers.par_iter().with_min_len(PARALLEL_ABOVE / 4).map(pick).collect()
    };
    out.into_flattened()
}

fn take_rows(source: &[u8], numbers: &[i64], width: usize) -> Vec<u8> {
    let mut out = vec![0; numbers.len() * width];
    if width == 0 {
        return out;
    }
    let copy = |(slot, &number): (&mut [u8], &i64)| {
        if let Some(row) = source.get(number as usize * width..(number as usize + 1) * width) {
            slot.copy_from_slice(row);
        }
    };
    if out.len() < PARALLEL_ABOVE {
        out.chunks_exact_mut(width).zip(numbers).for_each(copy);
    } else {
        let least = (PARALLEL_ABOVE / 4 / width).max(1);
        out.par_chunks_exact_mut(width).zip(numbers).with_min_len(least).for_each(copy);
    }
    out
}

/// Writes the rows of `values` into the rows `numbers` of `target`, one after the other; `block` elements to a row.
pub fn put(
    target: &mut [u8],
    numbers: &[i64],
    values: &[u8],
    block: usize,
    dtype: DType,
    update: Update,
) -> Result<()> {
    if update == Update::Assign {
        let width = block * dtype.size();
        each_row(target, numbers, values, width, |slot, row| slot.copy_from_slice(row));
        return Ok(());
    }
    match dtype {
        DType::Bool => combine::<Truth>(target, numbers, values, block, update),
        DType::U8 => combine::<u8>(target, numbers, values, block, update),
        DType::I8 => combine::<i8>(target, numbers, values, block, update),
        DType::I16 => combine::<i16>(target, numbers, values, block, update),
        DType::I32 => combine::<i32>(target, numbers, values, block, update),
        DType::I64 => combine::<i64>(target, numbers, values, block, update),
        DType::U16 => combine::<u16>(target, numbers, values, block, update),
        DType::U32 => combine::<u32>(target, numbers, values, block, update),
        DType::U64 => combine::<u64>(target, numbers, values, block, update),
        DType::F16 => combine::<f16>(target, numbers, values, block, update),
        DType::BF16 => combine::<bf16>(target, numbers, values, block, update),
        DType::F32 => combine::<f32>(target, numbers, values, block, update),
        DType::F64 => combine::<f64>(target, numbers, values, block, update),
        DType::C64 | DType::C128 if matches!(update, Update::Max | Update::Min) => {
            return error::dtype(format!(
                "extremes are not defined for '{}': complex numbers have no order",
                dtype.name()
            ));
        }
        DType::C64 => combine::<Complex32>(target, numbers, values, block, update),
        DType::C128 => combine::<Complex64>(target, numbers, values, block, update),
    }
    Ok(())
}

fn each_row(target: &mut [u8], numbers: &[i64], values: &[u8], width: usize, write: impl Fn(&mut [u8], &[u8])) {
    if width == 0 {
        return;
    }
    for (row, &number) in values.chunks_exact(width).zip(numbers) {
        let start = number as usize * width;
        if let Some(slot) = target.get_mut(start..start + width) {
            write(slot, row);
        }
    }
}

fn combine<T: Cell>(target: &mut [u8], numbers: &[i64], values: &[u8], block: usize, update: Update) {
    each_row(target, numbers, values, block * T::SIZE, |slot, row| {
        for (old, new) in slot.chunks_exact_mut(T::SIZE).zip(row.chunks_exact(T::SIZE)) {
            T::load(old).meet(T::load(new), update).save(old);
        }
    });
}

/// An element that can be combined with another.
trait Cell: Copy {
    const SIZE: usize;
    fn load(bytes: &[u8]) -> Self;
    fn save(self, bytes: &mut [u8]);
    fn meet(self, other: Self, update: Update) -> Self;
}

macro_rules! cell {
    ($($type:ty, $size:literal, |$a:ident, $b:ident| $add:expr, $mul:expr, $max:expr, $min:expr;)+) => { $(
        impl Cell for $type {
            const SIZE: usize = $size;
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().unwrap_or([0; $size]))
            }
            #[inline(always)]
            fn save(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
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
    ($($type:ty, $size:literal);+ $(;)?) => {
        cell! { $($type, $size, |a, b| a.wrapping_add(b), a.wrapping_mul(b), a.max(b), a.min(b);)+ }
    };
}

macro_rules! floats {
    ($($type:ty, $size:literal);+ $(;)?) => {
        // A NaN on either side wins, as in torch.
        cell! { $($type, $size, |a, b| a + b, a * b,
            if a.is_nan() || a > b { a } else { b }, if a.is_nan() || a < b { a } else { b };)+ }
    };
}

integers! { u8, 1; i8, 1; u16, 2; i16, 2; u32, 4; i32, 4; u64, 8; i64, 8 }
floats! { f16, 2; bf16, 2; f32, 4; f64, 8 }

macro_rules! complex_cells {
    ($($type:ty, $part:ty, $size:literal);+ $(;)?) => { $(
        impl Cell for $type {
            const SIZE: usize = 2 * $size;
            fn load(bytes: &[u8]) -> Self {
                let (re, im) = bytes.split_at(bytes.len().min($size));
                let part = |bytes: &[u8]| <$part>::from_ne_bytes(bytes.try_into().unwrap_or([0; $size]));
                Self::new(part(re), part(im))
            }
            fn save(self, bytes: &mut [u8]) {
                for (slot, part) in bytes.chunks_exact_mut($size).zip([self.re, self.im]) {
                    slot.copy_from_slice(&part.to_ne_bytes());
                }
            }
            fn meet(self, other: Self, update: Update) -> Self {
                match update {
                    Update::Add => self + other,
                    Update::Mul => self * other,
                    // `put` has refused extremes.
                    Update::Assign | Update::Max | Update::Min => other,
                }
            }
        }
    )+ };
}

complex_cells! { Complex32, f32, 4; Complex64, f64, 8 }

#[derive(Clone, Copy)]
struct Truth(u8);

impl Truth {
    fn from_ne_bytes(bytes: [u8; 1]) -> Self {
        Self(u8::from(bytes != [0]))
    }

    fn to_ne_bytes(self) -> [u8; 1] {
        [self.0]
    }
}

cell! { Truth, 1, |a, b| Self(a.0 | b.0), Self(a.0 & b.0), Self(a.0 | b.0), Self(a.0 & b.0); }

/// The coordinates of the true bytes of a row-major tensor, one row of `shape.len()` numbers each.
pub fn nonzero(flags: &[u8], shape: &[usize]) -> Vec<i64> {
    let count = flags.iter().filter(|&&flag| flag != 0).count();
    let mut out = Vec::with_capacity(count * shape.len());
    for (index, _) in flags.iter().enumerate().filter(|(_, flag)| **flag != 0) {
        let start = out.len();
        let mut rest = index;
        for &size in shape.iter().rev() {
            out.push((rest % size) as i64);
            rest /= size;
        }
        if let Some(row) = out.get_mut(start..) {
            row.reverse();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_and_put_by_number() {
        let source: Vec<u8> = (0..12).collect();
        assert_eq!(take(&source, &[2, 0], 4), [8, 9, 10, 11, 0, 1, 2, 3]);
        assert_eq!(take(&source, &[1], 3), [3, 4, 5]);
        let mut target = source.clone();
        put(&mut target, &[0, 0], &[1, 2, 3, 4, 5, 6], 3, DType::U8, Update::Add).ok();
        assert_eq!(target[..4], [5, 8, 11, 3]);
    }

    #[test]
    fn nan_wins_a_maximum() {
        assert!(f32::NAN.meet(1.0, Update::Max).is_nan());
        assert!(1.0f32.meet(f32::NAN, Update::Min).is_nan());
    }

    #[test]
    fn coordinates_count_from_the_front() {
        assert_eq!(nonzero(&[0, 1, 0, 0, 0, 1], &[2, 3]), [0, 1, 1, 2]);
    }
}
