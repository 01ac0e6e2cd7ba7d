//! Windows of images as columns, and columns added up to images again (benchmarks/cases.py: unfold_windows, fold_windows).

use std::ops::{AddAssign, Range};

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{self, Work};

/// How windows lie in an image; height, then width.
#[derive(Clone, Copy)]
pub struct Grid {
    pub image: [usize; 2],
    pub kernel: [usize; 2],
    /// How many windows there are.
    pub counts: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

/// Rows of windows, or of an image, that one task has.
const ROWS: usize = 16;

impl Grid {
    pub fn plane(&self) -> usize {
        self.image.iter().product()
    }

    /// Elements of all windows of an image.
    pub fn columns(&self) -> usize {
        self.kernel.iter().chain(&self.counts).product()
    }

    /// The windows whose element `tap` lies in the image, and where that of the first does.
    fn inside(&self, dim: usize, tap: usize) -> (Range<usize>, usize) {
        let (stride, padding, shift) = (self.stride[dim], self.padding[dim], tap * self.dilation[dim]);
        let first = padding.saturating_sub(shift).div_ceil(stride);
        let end = (self.image[dim] + padding).saturating_sub(shift).div_ceil(stride).min(self.counts[dim]);
        if first >= end { (0..0, 0) } else { (first..end, first * stride + shift - padding) }
    }

    fn spread(&self, planes: usize, rows: usize, task: &(dyn Fn(usize, Range<usize>) + Sync)) {
        let bands = rows.div_ceil(ROWS);
        let work = planes * self.columns();
        let least =
            if work < PARALLEL_ABOVE { planes * bands } else { (PARALLEL_ABOVE / 8 * bands * planes / work).max(1) };
        spread_over(planes * bands, least, &|index| {
            let first = index % bands * ROWS;
            task(index / bands, first..rows.min(first + ROWS));
        });
    }
}

/// Some rows of windows of one image, all elements of them.
struct Unfold<'a, T> {
    grid: &'a Grid,
    from: &'a [T],
    to: Shared<T>,
    rows: Range<usize>,
}

impl<T: Copy + Default> Work for Unfold<'_, T> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { grid, from, to, rows } = self;
        let ([_, width], [heights, widths], [lines, count]) = (grid.image, grid.kernel, grid.counts);
        for (h, w) in (0..heights).flat_map(|h| (0..widths).map(move |w| (h, w))) {
            let ((down, top), (along, start)) = (grid.inside(0, h), grid.inside(1, w));
            for row in rows.clone() {
                // SAFETY: `unfold` vouches for the columns; each task has rows of its own.
                let line = unsafe { to.slice(((h * widths + w) * lines + row) * count, count) };
                if !down.contains(&row) {
                    line.fill(T::default());
                    continue;
                }
                let source = &from[(top + (row - down.start) * grid.stride[0]) * width..][..width];
                line[..along.start].fill(T::default());
                line[along.end..].fill(T::default());
                let line = &mut line[along.clone()];
                match (line.is_empty(), grid.stride[1]) {
                    (true, _) => {}
                    (_, 1) => line.copy_from_slice(&source[start..start + line.len()]),
                    (_, 2) => line.iter_mut().zip(source[start..].iter().step_by(2)).for_each(|(slot, &x)| *slot = x),
                    (_, by) => line.iter_mut().zip(source[start..].iter().step_by(by)).for_each(|(slot, &x)| *slot = x),
                }
            }
        }
    }
}

/// `[planes, KH, KW, rows, columns]` from `[planes, H, W]`; zero where a window reaches beyond the image.
pub fn unfold<T: Copy + Default + Send + Sync>(grid: &Grid, input: &[T], output: &mut [T]) {
    let (plane, columns) = (grid.plane(), grid.columns());
    if plane == 0 || columns == 0 {
        return output.fill(T::default());
    }
    let to = Shared::of(output);
    grid.spread(input.len() / plane, grid.counts[0], &|index, rows| {
        let from = &input[index * plane..][..plane];
        widest::run(Unfold { grid, from, to: to.at_offset(index * columns), rows });
    });
}

/// Some rows of one image.
struct Fold<'a, T> {
    grid: &'a Grid,
    from: &'a [T],
    /// These rows.
    to: &'a mut [T],
    rows: Range<usize>,
}

impl<T: Copy + Default + AddAssign> Work for Fold<'_, T> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { grid, from, to, rows } = self;
        let ([_, width], [heights, widths], [lines, count]) = (grid.image, grid.kernel, grid.counts);
        to.fill(T::default());
        for (h, w) in (0..heights).flat_map(|h| (0..widths).map(move |w| (h, w))) {
            let ((down, top), (along, start)) = (grid.inside(0, h), grid.inside(1, w));
            for row in down.clone() {
                let at = top + (row - down.start) * grid.stride[0];
                if !rows.contains(&at) {
                    continue;
                }
                let line = &from[((h * widths + w) * lines + row) * count..][along.clone()];
                let target = &mut to[(at - rows.start) * width..][..width][start.min(width)..];
                match grid.stride[1] {
                    1 => target.iter_mut().zip(line).for_each(|(slot, &x)| *slot += x),
                    2 => target.iter_mut().step_by(2).zip(line).for_each(|(slot, &x)| *slot += x),
                    by => target.iter_mut().step_by(by).zip(line).for_each(|(slot, &x)| *slot += x),
                }
            }
        }
    }
}

/// `[planes, H, W]`, each element the sum of those of `[planes, KH, KW, rows, columns]` that stand for it.
pub fn fold<T: Copy + Default + Send + Sync + AddAssign>(grid: &Grid, input: &[T], output: &mut [T]) {
    let (plane, columns) = (grid.plane(), grid.columns());
    if plane == 0 || columns == 0 {
        return output.fill(T::default());
    }
    let to = Shared::of(output);
    grid.spread(input.len() / columns, grid.image[0], &|index, rows| {
        let (start, length) = (index * plane + rows.start * grid.image[1], rows.len() * grid.image[1]);
        // SAFETY: each task has rows of its own.
        let to = unsafe { to.slice(start, length) };
        widest::run(Fold { grid, from: &input[index * columns..][..columns], to, rows });
    });
}
