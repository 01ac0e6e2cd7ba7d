//! Sums of absolute differences between rows of two matrices of float32, and Euclidean distances of the pairs of one
//! (benchmarks/cases.py: city_cdist, pairs_of_points).

use super::iterate::spread_over;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Rows of the second matrix side by side.
const WIDE: usize = 64;
/// Differences that are added up before they join the sum of those before them, which would swallow their last bits.
const STRETCH: usize = 128;
/// Rows of the first matrix for each task.
const ROWS: usize = 32;

struct Tile<'a, const SQUARES: bool> {
    left: &'a [f32],
    right: &'a [f32],
    depth: usize,
    /// Writes the totals of a row of `left`, given by its number.
    write: &'a dyn Fn(usize, &[f32]),
}

impl<const SQUARES: bool> Task for Tile<'_, SQUARES> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let count = self.right.len() / self.depth;
        // Column by column; what is missing is never written.
        let mut turned = vec![[0.0f32; WIDE]; self.depth];
        for (lane, row) in self.right.chunks_exact(self.depth).enumerate().take(WIDE) {
            turned.iter_mut().zip(row).for_each(|(slot, &x)| slot[lane] = x);
        }
        for (number, row) in self.left.chunks_exact(self.depth).enumerate() {
            let mut totals = [0.0f32; WIDE];
            for (row, turned) in row.chunks(STRETCH).zip(turned.chunks(STRETCH)) {
                let sums = stretch::<SQUARES>(row, turned);
                totals.iter_mut().zip(&sums).for_each(|(total, &sum)| *total += sum);
            }
            if SQUARES {
                totals.iter_mut().for_each(|total| *total = total.sqrt());
            }
            (self.write)(number, &totals[..count]);
        }
    }
}

#[inline(always)]
fn stretch<const SQUARES: bool>(row: &[f32], turned: &[[f32; WIDE]]) -> [f32; WIDE] {
    let mut sums = [0.0f32; WIDE];
    for (&x, others) in row.iter().zip(turned) {
        for (sum, &other) in sums.iter_mut().zip(others) {
            let apart = x - other;
            *sum += if SQUARES { apart * apart } else { apart.abs() };
        }
    }
    sums
}

/// The Euclidean distances of `rows` rows of `depth` from those behind them: (0, 1), (0, 2), ..., (1, 2), ...
pub fn pairs(points: &[f32], [rows, depth]: [usize; 2], out: &mut [f32]) {
    if depth == 0 || out.is_empty() {
        return out.fill(0.0);
    }
    let across = rows.div_ceil(WIDE);
    let to = Shared::of(out);
    let part = |first: usize, count: usize| &points[first * depth..(first + count) * depth];
    spread_over(rows.div_ceil(ROWS) * across, ((1 << 18) / (ROWS * WIDE * depth)).max(1), &|task| {
        let (first, start) = (task / across * ROWS, task % across * WIDE);
        let (height, width) = (ROWS.min(rows - first), WIDE.min(rows - start));
        if start + width <= first + 1 {
            return;
        }
        let write = |number: usize, totals: &[f32]| {
            let row = first + number;
            let skipped = (row + 1).saturating_sub(start).min(totals.len());
            let place = row * (2 * rows - row - 1) / 2 + (start + skipped).saturating_sub(row + 1);
            // SAFETY: each pair of rows has a place of its own.
            unsafe { to.slice(place, totals.len() - skipped) }.copy_from_slice(&totals[skipped..]);
        };
        dispatch(Tile::<true> { left: part(first, height), right: part(start, width), depth, write: &write });
    });
}

/// `out[b][i][j] = sum over k of |left[b][i][k] - right[b][j][k]|` for matrices of `rows` and `columns` rows of `depth`.
pub fn distances(left: &[f32], right: &[f32], [rows, columns, depth]: [usize; 3], out: &mut [f32]) {
    if depth == 0 || out.is_empty() {
        return out.fill(0.0);
    }
    let (down, across) = (rows.div_ceil(ROWS), columns.div_ceil(WIDE));
    let (batch, to) = (out.len() / (rows * columns), Shared::of(out));
    let work = ROWS * WIDE * depth;
    spread_over(batch * down * across, ((1 << 18) / work).max(1), &|task| {
        let (matrix, first, start) = (task / (down * across), task / across % down * ROWS, task % across * WIDE);
        let (height, width) = (ROWS.min(rows - first), WIDE.min(columns - start));
        let (top, side) = (matrix * rows + first, matrix * columns + start);
        let to = to.at_offset(top * columns + start);
        let write = |number: usize, totals: &[f32]| {
            // SAFETY: each tile has results of its own.
            unsafe { to.slice(number * columns, totals.len()) }.copy_from_slice(totals);
        };
        dispatch(Tile::<false> {
            left: &left[top * depth..(top + height) * depth],
            right: &right[side * depth..(side + width) * depth],
            depth,
            write: &write,
        });
    });
}
