//! Sums of absolute differences between rows of two matrices of float32 (benchmarks/cases.py: city_cdist).

use super::iterate::spread_over;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Rows of the second matrix side by side.
const WIDE: usize = 64;
/// Differences that are added up before they join the sum of those before them, which would swallow their last bits.
const STRETCH: usize = 128;
/// Rows of the first matrix for each task.
const ROWS: usize = 32;

struct Tile<'a> {
    left: &'a [f32],
    right: &'a [f32],
    depth: usize,
    /// Results of a row of `left`, so many apart.
    to: Shared<f32>,
    step: usize,
}

impl Task for Tile<'_> {
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
                let sums = stretch(row, turned);
                totals.iter_mut().zip(&sums).for_each(|(total, &sum)| *total += sum);
            }
            // SAFETY: each tile has results of its own.
            unsafe { self.to.slice(number * self.step, count) }.copy_from_slice(&totals[..count]);
        }
    }
}

#[inline(always)]
fn stretch(row: &[f32], turned: &[[f32; WIDE]]) -> [f32; WIDE] {
    let mut sums = [0.0f32; WIDE];
    for (&x, others) in row.iter().zip(turned) {
        for (sum, &other) in sums.iter_mut().zip(others) {
            *sum += (x - other).abs();
        }
    }
    sums
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
        dispatch(Tile {
            left: &left[top * depth..(top + height) * depth],
            right: &right[side * depth..(side + width) * depth],
            depth,
            to: to.at_offset(top * columns + start),
            step: columns,
        });
    });
}
