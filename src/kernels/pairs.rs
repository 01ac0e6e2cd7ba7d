//! Sums of complex numbers that lie side by side, as those of their parts (benchmarks/cases.py: complex_rows).

use super::iterate::{PARALLEL_ABOVE, gathered};
use super::real::Real;
use super::vector::{Task, dispatch};

/// Parts of numbers that are added up side by side.
const LANES: usize = 64;
/// Parts that are added up before their sums are widened.
const STRETCH: usize = 1 << 12;
/// Parts of one task.
const PIECE: usize = 1 << 15;

fn wide<T: Into<f64>>(x: T) -> f64 {
    x.into()
}

struct Total<'a, T> {
    from: &'a [T],
    total: &'a mut [f64; 2],
}

impl<T: Real + Into<f64>> Task for Total<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let total = self.total;
        if self.from.len() < LANES {
            for pair in self.from.as_chunks::<2>().0 {
                total[0] += wide(pair[0]);
                total[1] += wide(pair[1]);
            }
            return;
        }
        for stretch in self.from.chunks(STRETCH) {
            let mut sums = [T::of(0.0); LANES];
            let (groups, rest) = stretch.as_chunks::<LANES>();
            for group in groups {
                sums.iter_mut().zip(group).for_each(|(sum, &x)| *sum = *sum + x);
            }
            sums.iter_mut().zip(rest).for_each(|(sum, &x)| *sum = *sum + x);
            for pair in sums.as_chunks::<2>().0 {
                total[0] += wide(pair[0]);
                total[1] += wide(pair[1]);
            }
        }
    }
}

/// The sum of each row of so many pairs, divided by `divisor`.
pub fn totals<T: Real + Into<f64>>(from: &[T], length: usize, divisor: f64, out: &mut [T]) {
    let total = |from: &[T]| {
        let mut total = [0.0; 2];
        dispatch(Total { from, total: &mut total });
        total
    };
    let row = |out: &mut [T; 2], [re, im]: [f64; 2]| *out = [T::of(re / divisor), T::of(im / divisor)];
    let (rows, row_parts) = (out.as_chunks_mut::<2>().0, 2 * length);
    if from.len() < PARALLEL_ABOVE {
        return rows.iter_mut().zip(from.chunks(row_parts)).for_each(|(out, from)| row(out, total(from)));
    }
    let pieces = row_parts.div_ceil(PIECE);
    let least = (PARALLEL_ABOVE / 8 / row_parts.min(PIECE)).max(1);
    let sums = gathered(rows.len() * pieces, least, [0.0; 2], |number| {
        let (at, piece) = (number / pieces, number % pieces);
        let end = row_parts.min((piece + 1) * PIECE);
        total(&from[at * row_parts..][piece * PIECE..end])
    });
    for (out, sums) in rows.iter_mut().zip(sums.chunks(pieces)) {
        row(out, sums.iter().fold([0.0; 2], |[re, im], sum| [re + sum[0], im + sum[1]]));
    }
}
