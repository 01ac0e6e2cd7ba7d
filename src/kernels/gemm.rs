//! Matrix products on strided memory without copies: float32 by our own core, float64 by the `gemm` crate
//! (benchmarks/cases.py: large_matmul).

use gemm::Parallelism;
use rayon::prelude::*;

use super::iterate::spread_over;
use super::memory::Elements;
use super::micro::{Finish, Start};
use super::narrow::Kind;
use super::product::{Matrix, Out, Product, multiply_each};
use crate::dtype::DType;

/// Multiplications below which one product is not worth several threads.
const PARALLEL_ABOVE: usize = 1 << 18;

/// Multiplications up to which the crate's own threads, which sleep, take longer to begin than they save, and the parts
/// in which ours take such products (benchmarks/cases.py: double_matmul).
const LARGE: usize = 1 << 25;
const PARTS: usize = 4;

/// What a product does to what stands in its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `out = a @ b`.
    Only,
    /// `out += a @ b`.
    Plus,
    /// `out -= a @ b`; floats only.
    Minus,
}

impl Sign {
    pub fn of(add: bool) -> Self {
        if add { Self::Plus } else { Self::Only }
    }

    /// What the product is multiplied with.
    fn factor(self) -> f64 {
        if self == Self::Minus { -1.0 } else { 1.0 }
    }
}

/// `out = a @ b`, `out += a @ b` or `out -= a @ b`, over the last two dimensions; the dimensions before them are equal (strides of
/// 0 broadcast). `out` is zeroed where it is not added to, and does not overlap itself.
pub fn multiply(out: &Elements, a: &Elements, b: &Elements, sign: Sign) {
    let rank = out.geometry.rank();
    let Some(batch_rank) = rank.checked_sub(2) else { return };
    let [m, n] = [out.geometry.shape[batch_rank], out.geometry.shape[batch_rank + 1]];
    let k = a.geometry.shape[batch_rank + 1];
    let batch: usize = out.geometry.shape[..batch_rank].iter().product();
    if m * n * k * batch == 0 {
        return;
    }
    if out.dtype == DType::F32 {
        let scale = if sign == Sign::Minus { -1.0 } else { 1.0 };
        return singles([out, a, b], Finish { scale, add: sign != Sign::Only, ..Finish::PLAIN }, None);
    }
    let (work, add) = (m * n * k, sign != Sign::Only);
    let offsets = |index: usize| [out, a, b].map(|memory| offset(memory, index, batch_rank));
    let one = |index: usize, parallelism: Parallelism| {
        let starts = offsets(index);
        match out.dtype {
            DType::F64 => floats::<f64>((1.0, sign.factor()), [out, a, b], starts, [m, n, k], (add, parallelism)),
            _ => integers([out, a, b], starts, [m, n, k]),
        }
    };
    if batch * work < PARALLEL_ABOVE {
        (0..batch).for_each(|index| one(index, Parallelism::None));
    } else if out.dtype == DType::F64 && batch < PARTS && work < LARGE && m.max(n) >= 8 * PARTS {
        // For any number of threads: parts of a product with one column are summed in another order than the whole.
        (0..batch).for_each(|index| in_parts([out, a, b], offsets(index), [m, n, k], sign));
    } else if batch >= rayon::current_num_threads() {
        (0..batch).into_par_iter().for_each(|index| one(index, Parallelism::None));
    } else {
        (0..batch).for_each(|index| one(index, Parallelism::Rayon(0)));
    }
}

/// A product of float64, rows or columns apart.
fn in_parts(sides: [&Elements; 3], [at, left, right]: [usize; 3], [m, n, k]: [usize; 3], sign: Sign) {
    let (steps, tall) = (sides.map(steps), m >= n);
    let part = m.max(n).div_ceil(PARTS);
    spread_over(PARTS, 1, &|index| {
        let (first, end) = ((index * part).min(m.max(n)), ((index + 1) * part).min(m.max(n)));
        let along = |start: usize, step: isize| start.wrapping_add_signed(first as isize * step);
        let (starts, sizes) = match tall {
            true => ([along(at, steps[0][0]), along(left, steps[1][0]), right], [end - first, n, k]),
            false => ([along(at, steps[0][1]), left, along(right, steps[2][1])], [m, end - first, k]),
        };
        if end > first {
            floats::<f64>((1.0, sign.factor()), sides, starts, sizes, (sign != Sign::Only, Parallelism::None));
        }
    });
}

/// `out = a @ b` (plus `start`, of `out`'s shape with strides of 0 where it broadcasts) in float32; every element is written.
/// The factors may be narrower, which is widened on the way.
pub fn singles([out, a, b]: [&Elements; 3], finish: Finish, start: Option<&Elements>) {
    let Some(batch_rank) = out.geometry.rank().checked_sub(2) else { return };
    let batch: usize = out.geometry.shape[..batch_rank].iter().product();
    let [rows, columns] = [out.geometry.shape[batch_rank], out.geometry.shape[batch_rank + 1]];
    let pair = |memory: &Elements| steps(memory).map(isize::unsigned_abs);
    let ([out_row, out_column], [a_row, a_column], [b_row, b_column]) = (pair(out), pair(a), pair(b));
    let one = |index: usize| {
        let at = |memory: &Elements| memory.at::<f32>(offset(memory, index, batch_rank));
        let side = |memory: &Elements, across: usize, along: usize| {
            let kind = kind(memory.dtype);
            Matrix::of(memory.at::<u8>(offset(memory, index, batch_rank) * kind.size()), kind, across, along)
        };
        let start = start.map(|memory| {
            let [row, column] = pair(memory);
            Start { from: at(memory), row, column }
        });
        Product {
            rows,
            columns,
            depth: a.geometry.shape[batch_rank + 1],
            a: side(a, a_row, a_column),
            b: side(b, b_column, b_row),
            out: Out { to: at(out), row: out_row, column: out_column },
            finish: Finish { start, ..finish },
        }
    };
    // SAFETY: sizes and strides are those of the geometries, which lie inside their storages; `out` is apart from the others.
    unsafe { multiply_each(batch, one) }
}

/// What our core reads of this type.
fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::BF16 => Kind::Brain,
        DType::F16 => Kind::Half,
        DType::I8 => Kind::Byte,
        _ => Kind::Single,
    }
}

/// Where the `index`-th matrix begins.
pub fn offset(memory: &Elements, mut index: usize, batch_rank: usize) -> usize {
    let mut at = memory.geometry.offset;
    for dim in (0..batch_rank).rev() {
        let size = memory.geometry.shape[dim];
        at += index % size * memory.geometry.strides[dim];
        index /= size;
    }
    at
}

/// Row and column strides of the matrices.
fn steps(memory: &Elements) -> [isize; 2] {
    let strides = &memory.geometry.strides;
    let rank = strides.len();
    [strides[rank - 2] as isize, strides[rank - 1] as isize]
}

fn floats<T: Copy + 'static>(
    (one, factor): (T, T),
    [out, a, b]: [&Elements; 3],
    [at, left, right]: [usize; 3],
    [m, n, k]: [usize; 3],
    (add, parallelism): (bool, Parallelism),
) {
    let ([out_row, out_column], [a_row, a_column], [b_row, b_column]) = (steps(out), steps(a), steps(b));
    // SAFETY: sizes and strides are those of the three geometries, which lie inside their storages.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.at::<T>(at),
            out_column,
            out_row,
            add,
            a.at::<T>(left),
            a_column,
            a_row,
            b.at::<T>(right),
            b_column,
            b_row,
            one,
            factor,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// int64 with wrap-around, which is right for every narrower type after truncation too.
fn integers([out, a, b]: [&Elements; 3], [at, left, right]: [usize; 3], [m, n, k]: [usize; 3]) {
    let [[out_row, out_column], [a_row, a_column], [b_row, b_column]] =
        [out, a, b].map(|memory| steps(memory).map(isize::unsigned_abs));
    for i in 0..m {
        for p in 0..k {
            // SAFETY: as in `floats`.
            unsafe {
                let factor = *a.at::<i64>(left + i * a_row + p * a_column);
                for j in 0..n {
                    let slot = out.at::<i64>(at + i * out_row + j * out_column);
                    let value = *b.at::<i64>(right + p * b_row + j * b_column);
                    *slot = (*slot).wrapping_add(factor.wrapping_mul(value));
                }
            }
        }
    }
}
