//! Normalization of columns, forward and backward (benchmarks/bars.py: BatchNorm1d backward).
//!
//! They are the channels of a batch of vectors. A task has some columns of all rows, and goes through them while they are
//! in its cache; sums do not depend on threads.

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::norm::{ChannelGrads, Channels};
use super::real::Real;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Columns of one task, at most.
const BLOCK: usize = 64;
/// Rows that are added up before their sum goes to float64.
const ROWS: usize = 64;

/// Columns of one task: the fewer there are, the narrower, so that threads have some each.
fn block(columns: usize) -> usize {
    match columns {
        256.. => 64,
        64.. => 32,
        _ => 16,
    }
}

fn spread(rows: usize, columns: usize, task: &(dyn Fn(usize) + Sync)) {
    let count = columns.div_ceil(block(columns));
    if rows * columns < PARALLEL_ABOVE {
        (0..count).for_each(task);
    } else {
        spread_over(count, 1, task);
    }
}

/// Rows of some columns of `columns`.
#[derive(Clone, Copy)]
struct Sheet<T> {
    from: *const T,
    rows: usize,
    columns: usize,
}

impl<T: Copy> Sheet<T> {
    /// # Safety
    /// The row has so many elements from the sheet's first column on.
    #[inline(always)]
    unsafe fn row<'a>(&self, row: usize, width: usize) -> &'a [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.from.add(row * self.columns), width) }
    }
}

/// The sums over all rows of what `part` adds to those of one row.
#[inline(always)]
fn totals<T: Real, const N: usize>(
    rows: usize,
    width: usize,
    part: impl Fn(usize, &mut [[T; BLOCK]; N]),
) -> [[f64; BLOCK]; N]
where
    f64: From<T>,
{
    let mut totals = [[0.0; BLOCK]; N];
    for start in (0..rows).step_by(ROWS) {
        let mut sums = [[T::of(0.0); BLOCK]; N];
        (start..rows.min(start + ROWS)).for_each(|row| part(row, &mut sums));
        for (totals, sums) in totals.iter_mut().zip(&sums) {
            for (total, &sum) in totals.iter_mut().zip(sums).take(width) {
                *total += f64::from(sum);
            }
        }
    }
    totals
}

struct Forward<'a, T> {
    x: Sheet<T>,
    out: *mut T,
    width: usize,
    /// Of these columns.
    weight: Option<&'a [T]>,
    bias: Option<&'a [T]>,
    epsilon: T,
    /// Whether the statistics are there already.
    fixed: bool,
    mean: &'a mut [T],
    variance: &'a mut [T],
}

impl<T: Real> Forward<'_, T>
where
    f64: From<T>,
{
    /// With a width that the compiler knows, or any where `W` is 0.
    #[inline(always)]
    fn with<const W: usize>(self) {
        let (x, width) = (self.x, if W == 0 { self.width } else { W });
        // SAFETY: `forward` vouches for the rows.
        let row = |row: usize| unsafe { x.row(row, width) };
        let mut middle = [T::of(0.0); BLOCK];
        if !self.fixed {
            let narrowed = |total: f64| T::of(total / x.rows as f64);
            let [sums] = totals(x.rows, width, |at, [sums]: &mut [[T; BLOCK]; 1]| {
                for (sum, &x) in sums.iter_mut().zip(row(at)) {
                    *sum = *sum + x;
                }
            });
            self.mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = narrowed(sum));
            middle[..width].copy_from_slice(&self.mean[..width]);
            let [squares] = totals(x.rows, width, |at, [sums]: &mut [[T; BLOCK]; 1]| {
                for ((sum, &x), &mean) in sums.iter_mut().zip(row(at)).zip(&middle) {
                    *sum = *sum + (x - mean) * (x - mean);
                }
            });
            self.variance.iter_mut().zip(squares).for_each(|(variance, square)| *variance = narrowed(square));
        }
        middle[..width].copy_from_slice(&self.mean[..width]);
        let (mut factor, mut bias) = ([T::of(0.0); BLOCK], [T::of(0.0); BLOCK]);
        for k in 0..width {
            let inverse = T::of(1.0) / (self.variance[k] + self.epsilon).root();
            factor[k] = self.weight.map_or(inverse, |weight| inverse * weight[k]);
            bias[k] = self.bias.map_or(T::of(0.0), |bias| bias[k]);
        }
        for at in 0..x.rows {
            // SAFETY: as above, and nobody else uses these columns of the result.
            let out = unsafe { std::slice::from_raw_parts_mut(self.out.add(at * x.columns), width) };
            for ((((out, &x), &mean), &factor), &bias) in
                out.iter_mut().zip(row(at)).zip(&middle).zip(&factor).zip(&bias)
            {
                *out = (x - mean) * factor + bias;
            }
        }
    }
}

impl<T: Real> Task for Forward<'_, T>
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
    let (columns, block) = (at.channels, block(at.channels));
    spread(at.samples, columns, &|index| {
        let first = index * block;
        let width = block.min(columns - first);
        // SAFETY: blocks are apart, and inside by the caller's promise.
        let (mean, variance) = unsafe { (mean.slice(first, width), variance.slice(first, width)) };
        dispatch(Forward {
            x: Sheet { from: at.x.as_ptr().wrapping_add(first), rows: at.samples, columns },
            out: out.at(first),
            width,
            weight: at.weight.map(|weight| &weight[first..first + width]),
            bias: at.bias.map(|bias| &bias[first..first + width]),
            epsilon: T::of(at.epsilon),
            fixed,
            mean,
            variance,
        });
    });
}

struct Backward<'a, T> {
    x: Sheet<T>,
    grad: Sheet<T>,
    dx: Option<*mut T>,
    width: usize,
    weight: Option<&'a [T]>,
    mean: &'a [T],
    variance: &'a [T],
    epsilon: f64,
    count: f64,
    dweight: &'a mut [T],
    dbias: &'a mut [T],
}

impl<T: Real> Backward<'_, T>
where
    f64: From<T>,
{
    #[inline(always)]
    fn with<const W: usize>(self) {
        let (x, width) = (self.x, if W == 0 { self.width } else { W });
        // SAFETY: `backward` vouches for the rows.
        let rows = |row: usize| unsafe { (x.row(row, width), self.grad.row(row, width)) };
        let mut middle = [T::of(0.0); BLOCK];
        middle[..width].copy_from_slice(&self.mean[..width]);
        let [plain, along] = totals(x.rows, width, |at, [plain, along]: &mut [[T; BLOCK]; 2]| {
            let (x, grad) = rows(at);
            for ((((plain, along), &x), &grad), &mean) in
                plain.iter_mut().zip(along.iter_mut()).zip(x).zip(grad).zip(&middle)
            {
                *plain = *plain + grad;
                *along = *along + grad * (x - mean);
            }
        });
        let mut factors = [[T::of(0.0); BLOCK]; 3];
        for k in 0..width {
            let scale = 1.0 / (f64::from(self.variance[k]) + self.epsilon).sqrt();
            let weight = self.weight.map_or(1.0, |weight| f64::from(weight[k]));
            let along = along[k] * scale;
            self.dweight[k] = T::of(along);
            self.dbias[k] = T::of(plain[k]);
            factors[0][k] = T::of(scale * weight);
            factors[1][k] = T::of(-scale * scale * along * weight / self.count);
            factors[2][k] = T::of(-scale * plain[k] * weight / self.count);
        }
        let Some(dx) = self.dx else { return };
        let [direct, along, plain] = &factors;
        for at in 0..x.rows {
            let (row, grad) = rows(at);
            // SAFETY: as above, and nobody else uses these columns of the result.
            let out = unsafe { std::slice::from_raw_parts_mut(dx.add(at * x.columns), width) };
            for (k, ((out, &x), &grad)) in out.iter_mut().zip(row).zip(grad).enumerate().take(BLOCK) {
                *out = grad * direct[k] + (x - middle[k]) * along[k] + plain[k];
            }
        }
    }
}

impl<T: Real> Task for Backward<'_, T>
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

/// The gradients of `x` (into `dx`), weight and bias.
///
/// # Safety
/// `dx` has room for all elements, and nobody else uses it.
pub unsafe fn backward<T: Real>(at: &Channels<'_, T>, asked: &ChannelGrads<'_, T>) -> (Vec<T>, Vec<T>)
where
    f64: From<T>,
{
    let (columns, block) = (at.channels, block(at.channels));
    let (mut dweight, mut dbias) = (vec![T::of(0.0); columns], vec![T::of(0.0); columns]);
    let places = (Shared(dweight.as_mut_ptr()), Shared(dbias.as_mut_ptr()));
    spread(at.samples, columns, &|index| {
        let first = index * block;
        let width = block.min(columns - first);
        let of = |values: &[T]| Sheet { from: values.as_ptr().wrapping_add(first), rows: at.samples, columns };
        // SAFETY: blocks are apart.
        let (dweight, dbias) = unsafe { (places.0.slice(first, width), places.1.slice(first, width)) };
        dispatch(Backward {
            x: of(at.x),
            grad: of(asked.grad),
            dx: asked.dx.as_ref().map(|dx| dx.at(first)),
            width,
            weight: at.weight.map(|weight| &weight[first..first + width]),
            mean: &asked.mean[first..first + width],
            variance: &asked.variance[first..first + width],
            epsilon: at.epsilon,
            count: if asked.fixed { f64::INFINITY } else { at.samples as f64 },
            dweight,
            dbias,
        });
    });
    (dweight, dbias)
}
