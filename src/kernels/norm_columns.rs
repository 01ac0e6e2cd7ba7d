//! Normalization of columns, forward and backward (benchmarks/bars.py: BatchNorm1d backward).
//!
//! They are the channels of a batch of vectors, or of images with channels last. A task has some columns of all rows, and
//! goes through them while they are in its cache, or of a part of the rows where these are many; sums do not depend on
//! threads.

use std::ops::Range;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::norm::{ChannelGrads, Channels};
use super::real::Real;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Columns of one task, at most.
const BLOCK: usize = 64;
/// Rows that are added up before their sum goes to float64.
const ROWS: usize = 64;
/// Rows of one task where they are more than twice as many (BatchNorm2d(16) of 32x32 images, channels last).
const PART: usize = 2048;

/// Sums of the columns of a task.
type Sums = [f64; BLOCK];

/// Tasks: some columns of some rows.
#[derive(Clone, Copy)]
struct Grid {
    rows: usize,
    columns: usize,
    /// Columns of a task: the fewer there are, the narrower, so that threads have some each.
    block: usize,
    /// Parts of the rows.
    parts: usize,
}

impl Grid {
    fn new(rows: usize, columns: usize) -> Self {
        let block = match columns {
            256.. => 64,
            64.. => 32,
            _ => 16,
        };
        Self { rows, columns, block, parts: if rows > 2 * PART { rows.div_ceil(PART) } else { 1 } }
    }

    fn spread(self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if self.rows * self.columns < PARALLEL_ABOVE {
            (0..tasks).for_each(task);
        } else {
            spread_over(tasks, 1, task);
        }
    }

    /// Calls `task(first column, columns)`.
    fn by_columns(self, task: &(dyn Fn(usize, usize) + Sync)) {
        self.spread(self.columns.div_ceil(self.block), &|index| {
            let first = index * self.block;
            task(first, self.block.min(self.columns - first));
        });
    }

    /// Calls `task(first column, columns, rows, number of the part)`.
    fn by_parts(self, task: &(dyn Fn(usize, usize, Range<usize>, usize) + Sync)) {
        let blocks = self.columns.div_ceil(self.block);
        self.spread(blocks * self.parts, &|index| {
            let (part, first) = (index / blocks, index % blocks * self.block);
            let rows = part * PART..self.rows.min((part + 1) * PART);
            task(first, self.block.min(self.columns - first), rows, part);
        });
    }

    /// The sums that `task` finds of each part, added up for each column.
    fn totals<const N: usize>(
        self,
        task: &(dyn Fn(usize, usize, Range<usize>) -> [Sums; N] + Sync),
        mut found: impl FnMut(usize, [f64; N]),
    ) {
        let mut all = vec![[0.0; N]; self.columns * self.parts];
        let places = Shared::of(&mut all);
        self.by_parts(&|first, width, rows, part| {
            let sums = task(first, width, rows);
            // SAFETY: each task has places of its own.
            let places = unsafe { places.slice(part * self.columns + first, width) };
            places.iter_mut().enumerate().for_each(|(k, place)| *place = sums.map(|sums| sums[k]));
        });
        for column in 0..self.columns {
            let each = all[column..].iter().step_by(self.columns);
            found(column, each.fold([0.0; N], |totals, sums| std::array::from_fn(|n| totals[n] + sums[n])));
        }
    }
}

/// Rows of some columns of `columns`.
#[derive(Clone, Copy)]
struct Sheet<T> {
    from: *const T,
    columns: usize,
}

// SAFETY: it is only read.
unsafe impl<T> Sync for Sheet<T> {}

impl<T: Copy> Sheet<T> {
    fn of(values: &[T], columns: usize) -> Self {
        Self { from: values.as_ptr(), columns }
    }

    fn beyond(self, first: usize) -> Self {
        Self { from: self.from.wrapping_add(first), ..self }
    }

    /// # Safety
    /// The row has so many elements from the sheet's first column on.
    #[inline(always)]
    unsafe fn row<'a>(&self, row: usize, width: usize) -> &'a [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.from.add(row * self.columns), width) }
    }
}

/// The sums over rows of what `part` adds to those of one row.
#[inline(always)]
fn totals<T: Real, const N: usize>(
    rows: Range<usize>,
    width: usize,
    part: impl Fn(usize, &mut [[T; BLOCK]; N]),
) -> [Sums; N]
where
    f64: From<T>,
{
    let mut totals = [[0.0; BLOCK]; N];
    for start in rows.clone().step_by(ROWS) {
        let mut sums = [[T::of(0.0); BLOCK]; N];
        (start..rows.end.min(start + ROWS)).for_each(|row| part(row, &mut sums));
        for (totals, sums) in totals.iter_mut().zip(&sums) {
            for (total, &sum) in totals.iter_mut().zip(sums).take(width) {
                *total += f64::from(sum);
            }
        }
    }
    totals
}

/// What is done with some columns of some rows; numbers for each column stand for those of the task.
enum Step<'a, T> {
    Sums(&'a mut [Sums; 1]),
    /// Of the differences from means.
    Squares(&'a [T], &'a mut [Sums; 1]),
    /// `(x - mean) * factor + bias`.
    Normalize([&'a [T]; 3], *mut T),
    /// Of the gradient, and of its products with the differences from means.
    Slopes(Sheet<T>, &'a [T], &'a mut [Sums; 2]),
    /// `grad * direct + (x - mean) * along + plain`.
    Back(Sheet<T>, [&'a [T]; 4], *mut T),
}

struct Part<'a, T> {
    x: Sheet<T>,
    rows: Range<usize>,
    width: usize,
    step: Step<'a, T>,
}

/// The numbers of some columns, and nothing for the others.
#[inline(always)]
fn filled<T: Real>(values: &[T]) -> [T; BLOCK] {
    let mut all = [T::of(0.0); BLOCK];
    all.iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
    all
}

impl<T: Real> Part<'_, T>
where
    f64: From<T>,
{
    /// With a width that the compiler knows, or any where `W` is 0.
    #[inline(always)]
    fn with<const W: usize>(self) {
        let (x, rows, width) = (self.x, self.rows, if W == 0 { self.width } else { W });
        // SAFETY: `forward` and `backward` vouch for the rows.
        let row = |sheet: &Sheet<T>, at: usize| unsafe { sheet.row(at, width) };
        // SAFETY: as above, and nobody else uses these columns of these rows of the result.
        let written = |to: *mut T, at: usize| unsafe { std::slice::from_raw_parts_mut(to.add(at * x.columns), width) };
        match self.step {
            Step::Sums(found) => {
                *found = totals(rows, width, |at, [sums]: &mut [[T; BLOCK]; 1]| {
                    sums.iter_mut().zip(row(&x, at)).for_each(|(sum, &x)| *sum = *sum + x);
                });
            }
            Step::Squares(mean, found) => {
                let mean = filled(mean);
                *found = totals(rows, width, |at, [sums]: &mut [[T; BLOCK]; 1]| {
                    for ((sum, &x), &mean) in sums.iter_mut().zip(row(&x, at)).zip(&mean) {
                        *sum = *sum + (x - mean) * (x - mean);
                    }
                });
            }
            Step::Normalize(numbers, to) => {
                let [mean, factor, bias] = numbers.map(filled);
                for at in rows {
                    let numbers = mean.iter().zip(&factor).zip(&bias);
                    for ((out, &x), ((&mean, &factor), &bias)) in
                        written(to, at).iter_mut().zip(row(&x, at)).zip(numbers)
                    {
                        *out = (x - mean) * factor + bias;
                    }
                }
            }
            Step::Slopes(grad, mean, found) => {
                let mean = filled(mean);
                *found = totals(rows, width, |at, [plain, along]: &mut [[T; BLOCK]; 2]| {
                    let both = row(&x, at).iter().zip(row(&grad, at)).zip(&mean);
                    for ((plain, along), ((&x, &grad), &mean)) in plain.iter_mut().zip(along.iter_mut()).zip(both) {
                        *plain = *plain + grad;
                        *along = *along + grad * (x - mean);
                    }
                });
            }
            Step::Back(grad, numbers, to) => {
                let [mean, direct, along, plain] = numbers.map(filled);
                for at in rows {
                    let both = row(&x, at).iter().zip(row(&grad, at));
                    for (k, (out, (&x, &grad))) in written(to, at).iter_mut().zip(both).enumerate().take(BLOCK) {
                        *out = grad * direct[k] + (x - mean[k]) * along[k] + plain[k];
                    }
                }
            }
        }
    }
}

impl<T: Real> Task for Part<'_, T>
where
    f64: From<T>,
{
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match self.width {
            64 => self.with::<64>(),
            32 => self.with::<32>(),
            16 => self.with::<16>(),
            _ => self.with::<0>(),
        }
    }
}

/// Normalizes the columns of (N, C) into `out`; the mean and the variance are given where `fixed`, else written.
///
/// # Safety
/// `out` has room for all elements, and nobody else uses it; there are as many means and variances as channels.
pub unsafe fn forward<T: Real>(at: &Channels<'_, T>, fixed: bool, mean: Shared<T>, variance: Shared<T>, out: Shared<T>)
where
    f64: From<T>,
{
    let (grid, x) = (Grid::new(at.samples, at.channels), Sheet::of(at.x, at.channels));
    let narrowed = |total: f64| T::of(total / at.samples as f64);
    // SAFETY: blocks are apart, and inside by the caller's promise.
    let some = |numbers: Shared<T>, first: usize, width: usize| unsafe {
        std::slice::from_raw_parts_mut(numbers.at(first), width)
    };
    let sums = |first: usize, width: usize, rows: Range<usize>| {
        let mut found = [[0.0; BLOCK]];
        dispatch(Part { x: x.beyond(first), rows, width, step: Step::Sums(&mut found) });
        found
    };
    let squares = |first: usize, width: usize, rows: Range<usize>| {
        let mut found = [[0.0; BLOCK]];
        let step = Step::Squares(some(mean, first, width), &mut found);
        dispatch(Part { x: x.beyond(first), rows, width, step });
        found
    };
    let normalize = |first: usize, width: usize, rows: Range<usize>| {
        let (mut factor, mut bias) = ([T::of(0.0); BLOCK], [T::of(0.0); BLOCK]);
        let (mean, variance) = (some(mean, first, width), some(variance, first, width));
        for k in 0..width {
            let inverse = T::of(1.0) / (variance[k] + T::of(at.epsilon)).root();
            factor[k] = at.weight.map_or(inverse, |weight| inverse * weight[first + k]);
            bias[k] = at.bias.map_or(T::of(0.0), |bias| bias[first + k]);
        }
        let step = Step::Normalize([mean, &factor, &bias], out.at(first));
        dispatch(Part { x: x.beyond(first), rows, width, step });
    };
    if grid.parts > 1 {
        if !fixed {
            grid.totals(&sums, |column, [sum]| some(mean, column, 1)[0] = narrowed(sum));
            grid.totals(&squares, |column, [square]| some(variance, column, 1)[0] = narrowed(square));
        }
        return grid.by_parts(&|first, width, rows, _| normalize(first, width, rows));
    }
    grid.by_columns(&|first, width| {
        if !fixed {
            let [found] = sums(first, width, 0..at.samples);
            some(mean, first, width).iter_mut().zip(found).for_each(|(mean, sum)| *mean = narrowed(sum));
            let [found] = squares(first, width, 0..at.samples);
            some(variance, first, width).iter_mut().zip(found).for_each(|(slot, square)| *slot = narrowed(square));
        }
        normalize(first, width, 0..at.samples);
    });
}

/// The gradients of `x` (into `dx`), weight and bias.
///
/// # Safety
/// `dx` has room for all elements, and nobody else uses it.
pub unsafe fn backward<T: Real>(at: &Channels<'_, T>, asked: &ChannelGrads<'_, T>) -> (Vec<T>, Vec<T>)
where
    f64: From<T>,
{
    let grid = Grid::new(at.samples, at.channels);
    let (x, grad) = (Sheet::of(at.x, at.channels), Sheet::of(asked.grad, at.channels));
    let count = if asked.fixed { f64::INFINITY } else { at.samples as f64 };
    let scale = |column: usize| 1.0 / (f64::from(asked.variance[column]) + at.epsilon).sqrt();
    let slopes = |first: usize, width: usize, rows: Range<usize>| {
        let mut found = [[0.0; BLOCK]; 2];
        let step = Step::Slopes(grad.beyond(first), &asked.mean[first..first + width], &mut found);
        dispatch(Part { x: x.beyond(first), rows, width, step });
        found
    };
    let back = |first: usize, width: usize, rows: Range<usize>, totals: &dyn Fn(usize) -> [f64; 2]| {
        let Some(dx) = &asked.dx else { return };
        let mut factors = [[T::of(0.0); BLOCK]; 3];
        for k in 0..width {
            let (scale, [plain, along]) = (scale(first + k), totals(k));
            let weight = at.weight.map_or(1.0, |weight| f64::from(weight[first + k]));
            factors[0][k] = T::of(scale * weight);
            factors[1][k] = T::of(-scale * scale * (along * scale) * weight / count);
            factors[2][k] = T::of(-scale * plain * weight / count);
        }
        let [direct, along, plain] = &factors;
        let step =
            Step::Back(grad.beyond(first), [&asked.mean[first..first + width], direct, along, plain], dx.at(first));
        dispatch(Part { x: x.beyond(first), rows, width, step });
    };
    let (mut dweight, mut dbias) = (vec![T::of(0.0); at.channels], vec![T::of(0.0); at.channels]);
    if grid.parts > 1 {
        let mut totals = vec![[0.0; 2]; at.channels];
        grid.totals(&slopes, |column, [plain, along]| {
            totals[column] = [plain, along];
            (dweight[column], dbias[column]) = (T::of(along * scale(column)), T::of(plain));
        });
        grid.by_parts(&|first, width, rows, _| back(first, width, rows, &|k| totals[first + k]));
        return (dweight, dbias);
    }
    let places = (Shared::of(&mut dweight), Shared::of(&mut dbias));
    grid.by_columns(&|first, width| {
        let found = slopes(first, width, 0..at.samples);
        // SAFETY: blocks are apart.
        let (dweight, dbias) = unsafe { (places.0.slice(first, width), places.1.slice(first, width)) };
        for k in 0..width {
            (dweight[k], dbias[k]) = (T::of(found[1][k] * scale(first + k)), T::of(found[0][k]));
        }
        back(first, width, 0..at.samples, &|k| found.map(|sums| sums[k]));
    });
    (dweight, dbias)
}
