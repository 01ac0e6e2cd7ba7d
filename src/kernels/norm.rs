//! Normalization of rows and of channels, forward and backward (benchmarks/bars.py: reductions).
//!
//! Sums are taken in a fixed number of lanes and in a fixed order of rows, so they do not depend on the threads.

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::norm_rows::{self, Moments, Normalized};
#[cfg(target_arch = "x86_64")]
use super::processor::asks_ahead;
use super::processor::passed_above;
use super::real::Real;
use super::scratch::Shared;
#[cfg(target_arch = "x86_64")]
use super::vector::is_wide;
use super::vector::{Task, dispatch, is_fused_for};
#[cfg(target_arch = "x86_64")]
use super::wide_rows::{self, To};
use super::widest;

const LANES: usize = 64;
/// Rows whose sums for the parameters are kept together, at least.
const ROWS: usize = 16;
/// Groups of rows, at most.
const GROUPS: usize = 32;

/// Lanes of rows that are shorter than `LANES`: most of those would hold nothing, and be added up all the same.
const SHORT: usize = 8;

#[inline(always)]
fn folded<T: Real, const N: usize>(mut lanes: [T; N]) -> T {
    let mut width = N / 2;
    while width > 0 {
        for k in 0..width {
            lanes[k] = lanes[k] + lanes[k + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn sum<T: Real>(x: &[T], f: impl Fn(T) -> T) -> T {
    if x.len() < LANES { sum_in::<T, SHORT>(x, f) } else { sum_in::<T, LANES>(x, f) }
}

#[inline(always)]
fn sum_in<T: Real, const N: usize>(x: &[T], f: impl Fn(T) -> T) -> T {
    let mut lanes = [T::of(0.0); N];
    let (chunks, rest) = x.as_chunks::<N>();
    for chunk in chunks {
        for k in 0..N {
            lanes[k] = lanes[k] + f(chunk[k]);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = *lane + f(x);
    }
    folded(lanes)
}

/// The sums of both results of `f(a, b)`.
#[inline(always)]
fn sums<T: Real>(a: &[T], b: &[T], f: impl Fn(T, T) -> (T, T)) -> (T, T) {
    if a.len() < LANES { sums_in::<T, SHORT>(a, b, f) } else { sums_in::<T, LANES>(a, b, f) }
}

#[inline(always)]
fn sums_in<T: Real, const N: usize>(a: &[T], b: &[T], f: impl Fn(T, T) -> (T, T)) -> (T, T) {
    let zero = T::of(0.0);
    let (mut first, mut second) = ([zero; N], [zero; N]);
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<N>(), b.as_chunks::<N>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..N {
            let (left, right) = f(a[k], b[k]);
            first[k] = first[k] + left;
            second[k] = second[k] + right;
        }
    }
    for (k, (&a, &b)) in a_rest.iter().zip(b_rest).enumerate() {
        let (left, right) = f(a, b);
        first[k] = first[k] + left;
        second[k] = second[k] + right;
    }
    (folded(first), folded(second))
}

/// The mean, and the mean square of the distance from it.
#[inline(always)]
fn moments<T: Real>(x: &[T]) -> (T, T) {
    let count = T::of(x.len() as f64);
    let mean = sum(x, |x| x) / count;
    (mean, sum(x, |x| (x - mean) * (x - mean)) / count)
}

/// As `moments`; where rows are not centred the mean is taken to be zero.
#[inline(always)]
fn row_moments<T: Real>(x: &[T], centred: bool) -> (T, T) {
    if centred { moments(x) } else { (T::of(0.0), sum(x, |x| x * x) / T::of(x.len() as f64)) }
}

/// Whether so many results are written past the caches.
fn is_far(numel: usize) -> bool {
    numel * size_of::<f32>() >= passed_above()
}

fn spread(count: usize, each: usize, task: &(dyn Fn(usize) + Sync)) {
    if count * each < PARALLEL_ABOVE {
        (0..count).for_each(task);
    } else {
        spread_over(count, (PARALLEL_ABOVE / 8 / each.max(1)).max(1), task);
    }
}

/// Rows of `size` elements, with a factor and a summand for each column.
pub struct Rows<'a, T> {
    pub x: &'a [T],
    pub size: usize,
    pub weight: Option<&'a [T]>,
    pub bias: Option<&'a [T]>,
    pub epsilon: f64,
    /// Whether the mean is subtracted: rms_norm divides only.
    pub centred: bool,
}

struct RowForward<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
    weight: Option<&'a [T]>,
    bias: Option<&'a [T]>,
    epsilon: T,
    centred: bool,
    found: &'a mut [T; 2],
}

impl<T: Real> Task for RowForward<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mean, variance) = row_moments(self.x, self.centred);
        *self.found = [mean, variance];
        let inverse = T::of(1.0) / (variance + self.epsilon).root();
        let normal = |x: T| (x - mean) * inverse;
        match (self.weight, self.bias) {
            (Some(weight), Some(bias)) => {
                for (((out, &x), &weight), &bias) in self.out.iter_mut().zip(self.x).zip(weight).zip(bias) {
                    *out = normal(x) * weight + bias;
                }
            }
            (Some(weight), None) => {
                for ((out, &x), &weight) in self.out.iter_mut().zip(self.x).zip(weight) {
                    *out = normal(x) * weight;
                }
            }
            (None, Some(bias)) => {
                for ((out, &x), &bias) in self.out.iter_mut().zip(self.x).zip(bias) {
                    *out = normal(x) + bias;
                }
            }
            (None, None) => {
                for (out, &x) in self.out.iter_mut().zip(self.x) {
                    *out = normal(x);
                }
            }
        }
    }
}

fn row_forward<T: Real>(row: RowForward<'_, T>, streamed: bool) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = streamed;
    #[cfg(target_arch = "x86_64")]
    if is_wide::<T>() {
        let (x, length) = (row.x.as_ptr().cast::<f32>(), row.x.len());
        let out = To { to: row.out.as_mut_ptr().cast(), streamed };
        // SAFETY: `T` is float32, the processor has AVX-512, and parameters are as long as the row.
        unsafe {
            let [mean, variance] = wide_rows::moments(x, length, row.centred);
            *row.found = [mean, variance].map(|value| T::of(f64::from(value)));
            let columns = |values: Option<&[T]>| values.map(|values| values.as_ptr().cast::<f32>());
            let inverse = 1.0 / (variance + row.epsilon.single()).sqrt();
            let parameters = [columns(row.weight), columns(row.bias)];
            wide_rows::normalized(x, out, length, [mean, inverse], parameters);
        }
        return;
    }
    if is_fused_for::<T>() {
        let (x, out) = (singles(row.x), singles_mut(row.out));
        let mut found = [0.0; 2];
        widest::run(Moments { x, centred: row.centred, found: &mut found });
        *row.found = found.map(|value| T::of(f64::from(value)));
        let [mean, variance] = found;
        let inverse = 1.0 / (variance + row.epsilon.single()).sqrt();
        let [weight, bias] = [row.weight, row.bias].map(|values| values.map(singles));
        return widest::run(Normalized { x, out, mean, inverse, weight, bias });
    }
    dispatch(row);
}

/// Numbers of `T`, which is float32.
fn singles<T: Real>(x: &[T]) -> &[f32] {
    debug_assert!(is_fused_for::<T>());
    // SAFETY: the callers have seen to the type.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// As `singles`.
fn singles_mut<T: Real>(x: &mut [T]) -> &mut [f32] {
    debug_assert!(is_fused_for::<T>());
    // SAFETY: the callers have seen to the type.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

/// Normalizes rows into `out`; writes each row's mean and variance.
///
/// # Safety
/// `out` has room for all elements, `mean` and `variance` for all rows, and nobody else uses them.
pub unsafe fn rows_forward<T: Real>(rows: &Rows<'_, T>, out: Shared<T>, mean: Shared<T>, variance: Shared<T>) {
    let streamed = is_far(rows.x.len());
    spread(rows.x.len() / rows.size.max(1), rows.size, &|row| {
        let start = row * rows.size;
        let mut found = [T::of(0.0); 2];
        // SAFETY: rows are apart, and inside by the caller's promise.
        let part = unsafe { out.slice(start, rows.size) };
        let own = RowForward {
            x: &rows.x[start..start + rows.size],
            out: part,
            weight: rows.weight,
            bias: rows.bias,
            epsilon: T::of(rows.epsilon),
            centred: rows.centred,
            found: &mut found,
        };
        row_forward(own, streamed);
        // SAFETY: as above.
        unsafe {
            mean.slice(row, 1)[0] = found[0];
            variance.slice(row, 1)[0] = found[1];
        }
    });
}

struct RowBackward<'a, T> {
    x: &'a [T],
    grad: &'a [T],
    weight: Option<&'a [T]>,
    mean: T,
    inverse: T,
    centred: bool,
    dx: Option<&'a mut [T]>,
    scratch: &'a mut [T],
    dweight: &'a mut [T],
    dbias: &'a mut [T],
}

impl<T: Real> Task for RowBackward<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mean, inverse) = (self.mean, self.inverse);
        let columns = self.dweight.iter_mut().zip(self.dbias.iter_mut());
        for ((&x, &grad), (dweight, dbias)) in self.x.iter().zip(self.grad).zip(columns) {
            *dweight = *dweight + grad * ((x - mean) * inverse);
            *dbias = *dbias + grad;
        }
        let Some(dx) = self.dx else { return };
        let grad: &[T] = match self.weight {
            Some(weight) => {
                for ((slot, &grad), &weight) in self.scratch.iter_mut().zip(self.grad).zip(weight) {
                    *slot = grad * weight;
                }
                self.scratch
            }
            None => self.grad,
        };
        let count = T::of(self.x.len() as f64);
        let (plain, along) = sums(grad, self.x, |grad, x| (grad, grad * ((x - mean) * inverse)));
        let plain = if self.centred { plain / count } else { T::of(0.0) };
        let along = along / count;
        for ((slot, &x), &grad) in dx.iter_mut().zip(self.x).zip(grad) {
            *slot = (grad - plain - (x - mean) * inverse * along) * inverse;
        }
    }
}

/// What the backward pass of rows is asked for.
pub struct RowGrads<'a, T> {
    pub grad: &'a [T],
    pub mean: &'a [T],
    pub variance: &'a [T],
    pub dx: Option<Shared<T>>,
}

/// The gradients of `x` (into `dx`), weight and bias.
///
/// # Safety
/// `dx` has room for all elements, and nobody else uses it.
pub unsafe fn rows_backward<T: Real>(rows: &Rows<'_, T>, asked: &RowGrads<'_, T>) -> (Vec<T>, Vec<T>) {
    let (size, zero) = (rows.size, T::of(0.0));
    let count = rows.x.len() / size.max(1);
    let each = count.div_ceil(GROUPS).max(ROWS);
    let groups = count.div_ceil(each);
    let mut partial = vec![zero; groups * size * 2];
    let place = Shared(partial.as_mut_ptr());
    spread(groups, each * size, &|group| {
        // SAFETY: groups are apart.
        let (dweight, dbias) = unsafe { place.slice(group * size * 2, size * 2) }.split_at_mut(size);
        let mut scratch = vec![zero; if rows.weight.is_some() { size } else { 0 }];
        for row in group * each..count.min((group + 1) * each) {
            let range = row * size..(row + 1) * size;
            dispatch(RowBackward {
                x: &rows.x[range.clone()],
                grad: &asked.grad[range],
                weight: rows.weight,
                mean: asked.mean[row],
                inverse: T::of(1.0) / (asked.variance[row] + T::of(rows.epsilon)).root(),
                centred: rows.centred,
                // SAFETY: rows are apart, and inside by the caller's promise.
                dx: asked.dx.as_ref().map(|dx| unsafe { dx.slice(row * size, size) }),
                scratch: &mut scratch,
                dweight: &mut *dweight,
                dbias: &mut *dbias,
            });
        }
    });
    let mut total = vec![zero; size * 2];
    for part in partial.chunks_exact(size.max(1) * 2) {
        for (slot, &value) in total.iter_mut().zip(part) {
            *slot = *slot + value;
        }
    }
    let dbias = total.split_off(size);
    (total, dbias)
}

/// A tensor (N, C, S) whose channels are normalized together in groups of `together`, for each sample on its own or,
/// where `across`, over all samples.
#[derive(Clone, Copy)]
pub struct Channels<'a, T> {
    pub x: &'a [T],
    pub samples: usize,
    pub channels: usize,
    pub size: usize,
    pub together: usize,
    pub across: bool,
    pub weight: Option<&'a [T]>,
    pub bias: Option<&'a [T]>,
    pub epsilon: f64,
}

impl<T: Real> Channels<'_, T> {
    fn slabs(&self) -> usize {
        self.samples * self.channels
    }

    /// Whether channels are columns.
    pub fn is_tall(&self) -> bool {
        self.across && self.size == 1
    }

    /// How many means there are.
    pub fn statistics(&self) -> usize {
        if self.across { self.channels } else { self.slabs() / self.together.max(1) }
    }

    /// Whose statistic a slab, one channel of one sample, belongs to.
    fn owner(&self, slab: usize) -> usize {
        if self.across { slab % self.channels } else { slab / self.together.max(1) }
    }

    /// Sums over the slabs of each statistic.
    fn owned(&self, mut add: impl FnMut(usize, usize)) {
        let step = if self.across { self.channels } else { self.together };
        for (number, first) in (0..self.slabs()).step_by(step.max(1)).enumerate() {
            (0..step).for_each(|index| add(if self.across { index } else { number }, first + index));
        }
    }

    /// What the distance from a mean is multiplied by.
    fn inverse(&self, variance: T) -> T {
        T::of(1.0) / (variance + T::of(self.epsilon)).root()
    }

    fn range(&self, slab: usize) -> std::ops::Range<usize> {
        slab * self.size..(slab + 1) * self.size
    }

    fn weight_of(&self, slab: usize) -> f64
    where
        f64: From<T>,
    {
        self.weight.map_or(1.0, |weight| f64::from(weight[slab % self.channels]))
    }
}

struct SlabMoments<'a, T> {
    x: &'a [T],
    found: &'a mut [T],
}

impl<T: Real> Task for SlabMoments<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mean, variance) = moments(self.x);
        self.found[0] = mean;
        self.found[1] = variance;
    }
}

fn slab_moments<T: Real>(x: &[T], found: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if is_wide::<T>() {
        // SAFETY: `T` is float32, and the processor has AVX-512.
        let values = unsafe { wide_rows::moments(x.as_ptr().cast(), x.len(), true) };
        found.iter_mut().zip(values).for_each(|(slot, value)| *slot = T::of(f64::from(value)));
        return;
    }
    if is_fused_for::<T>() {
        let mut values = [0.0; 2];
        widest::run(Moments { x: singles(x), centred: true, found: &mut values });
        found.iter_mut().zip(values).for_each(|(slot, value)| *slot = T::of(f64::from(value)));
        return;
    }
    dispatch(SlabMoments { x, found });
}

/// The mean and variance of the whole from those of parts of one size.
fn joined<T: Real>(parts: &[T]) -> [f64; 2]
where
    f64: From<T>,
{
    let (pairs, _) = parts.as_chunks::<2>();
    let count = pairs.len().max(1) as f64;
    let mean: f64 = pairs.iter().map(|&[mean, _]| f64::from(mean) / count).sum();
    let spread = |&[part, variance]: &[T; 2]| {
        let apart = f64::from(part) - mean;
        (f64::from(variance) + apart * apart) / count
    };
    [mean, pairs.iter().map(spread).sum()]
}

/// Normalizes each sample's groups of channels while they are in the cache; gives the mean and variance of each group.
///
/// # Safety
/// `out` has room for all elements, and nobody else uses it.
pub unsafe fn groups_forward<T: Real>(at: &Channels<'_, T>, out: Shared<T>) -> (Vec<T>, Vec<T>)
where
    f64: From<T>,
{
    let zero = T::of(0.0);
    let (mut mean, mut variance) = (vec![zero; at.statistics()], vec![zero; at.statistics()]);
    let (means, variances) = (Shared(mean.as_mut_ptr()), Shared(variance.as_mut_ptr()));
    spread(at.statistics(), at.together * at.size, &|group| {
        let slabs = group * at.together..(group + 1) * at.together;
        let mut found: SmallVec<[T; 64]> = SmallVec::from_elem(zero, at.together * 2);
        for (slab, slot) in slabs.clone().zip(found.chunks_exact_mut(2)) {
            slab_moments(&at.x[at.range(slab)], slot);
        }
        let [middle, width] = joined(&found).map(T::of);
        // SAFETY: each group has places of its own, inside by the caller's promise.
        unsafe {
            means.slice(group, 1)[0] = middle;
            variances.slice(group, 1)[0] = width;
            let inverse = at.inverse(width);
            slabs.for_each(|slab| slab_forward(at, slab, middle, inverse, &out));
        }
    });
    (mean, variance)
}

/// The mean and variance of each statistic.
pub fn channel_moments<T: Real>(at: &Channels<'_, T>) -> (Vec<T>, Vec<T>)
where
    f64: From<T>,
{
    let mut found = vec![T::of(0.0); at.slabs() * 2];
    let place = Shared(found.as_mut_ptr());
    spread(at.slabs(), at.size, &|slab| {
        // SAFETY: slabs are apart.
        let found = unsafe { place.slice(slab * 2, 2) };
        slab_moments(&at.x[at.range(slab)], found);
    });
    let share = 1.0 / (at.slabs() / at.statistics().max(1)).max(1) as f64;
    let (mut mean, mut variance) = (vec![0.0; at.statistics()], vec![0.0; at.statistics()]);
    at.owned(|owner, slab| mean[owner] += f64::from(found[slab * 2]) * share);
    at.owned(|owner, slab| {
        let apart = f64::from(found[slab * 2]) - mean[owner];
        variance[owner] += (f64::from(found[slab * 2 + 1]) + apart * apart) * share;
    });
    let narrow = |values: Vec<f64>| values.into_iter().map(T::of).collect();
    (narrow(mean), narrow(variance))
}

struct Affine<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
    mean: T,
    factor: T,
    bias: T,
}

impl<T: Real> Task for Affine<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = (x - self.mean) * self.factor + self.bias;
        }
    }
}

/// Normalizes with the given statistics into `out`.
///
/// # Safety
/// `out` has room for all elements, and nobody else uses it.
pub unsafe fn channels_forward<T: Real>(at: &Channels<'_, T>, mean: &[T], variance: &[T], out: Shared<T>) {
    let inverse: Vec<T> = variance.iter().map(|&variance| at.inverse(variance)).collect();
    spread(at.slabs(), at.size, &|slab| {
        let owner = at.owner(slab);
        // SAFETY: slabs are apart, and inside by the caller's promise.
        unsafe { slab_forward(at, slab, mean[owner], inverse[owner], &out) };
    });
}

/// Normalizes one channel of one sample.
///
/// # Safety
/// The slab lies inside `out`, and nobody else uses it.
unsafe fn slab_forward<T: Real>(at: &Channels<'_, T>, slab: usize, mean: T, inverse: T, out: &Shared<T>) {
    let channel = slab % at.channels;
    let factor = at.weight.map_or(inverse, |weight| inverse * weight[channel]);
    let bias = at.bias.map_or(T::of(0.0), |bias| bias[channel]);
    // SAFETY: the caller's.
    let (x, out) = unsafe { (&at.x[at.range(slab)], out.slice(slab * at.size, at.size)) };
    #[cfg(target_arch = "x86_64")]
    if is_wide::<T>() {
        let numbers = [mean, factor, bias].map(Real::single);
        let target = To { to: out.as_mut_ptr().cast(), streamed: is_far(at.x.len()) };
        // SAFETY: `T` is float32, and the processor has AVX-512.
        return unsafe {
            let sizes = (x.len(), at.together * at.size);
            if asks_ahead() {
                wide_rows::affine::<true>(x.as_ptr().cast(), target, sizes, numbers)
            } else {
                wide_rows::affine::<false>(x.as_ptr().cast(), target, sizes, numbers)
            }
        };
    }
    if is_fused_for::<T>() {
        let numbers = [mean, factor, bias].map(Real::single);
        return widest::run(norm_rows::Affine { x: singles(x), out: singles_mut(out), numbers });
    }
    dispatch(Affine { x, out, mean, factor, bias });
}

struct SlabSums<'a, T> {
    x: &'a [T],
    grad: &'a [T],
    mean: T,
    found: &'a mut [T],
}

impl<T: Real> Task for SlabSums<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mean = self.mean;
        let (plain, along) = sums(self.grad, self.x, |grad, x| (grad, grad * (x - mean)));
        self.found[0] = plain;
        self.found[1] = along;
    }
}

struct SlabGrad<'a, T> {
    x: &'a [T],
    grad: &'a [T],
    out: &'a mut [T],
    mean: T,
    factors: [T; 3],
}

impl<T: Real> Task for SlabGrad<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let [direct, along, plain] = self.factors;
        for ((out, &x), &grad) in self.out.iter_mut().zip(self.x).zip(self.grad) {
            *out = grad * direct + (x - self.mean) * along + plain;
        }
    }
}

/// What the backward pass of channels is asked for.
pub struct ChannelGrads<'a, T> {
    pub grad: &'a [T],
    pub mean: &'a [T],
    pub variance: &'a [T],
    /// Whether the statistics were given and not taken from `x`.
    pub fixed: bool,
    pub dx: Option<Shared<T>>,
}

/// The gradients of `x` (into `dx`), weight and bias.
///
/// # Safety
/// `dx` has room for all elements, and nobody else uses it.
pub unsafe fn channels_backward<T: Real>(at: &Channels<'_, T>, asked: &ChannelGrads<'_, T>) -> (Vec<T>, Vec<T>)
where
    f64: From<T>,
{
    let mut found = vec![T::of(0.0); at.slabs() * 2];
    let place = Shared(found.as_mut_ptr());
    let inverse: Vec<f64> =
        asked.variance.iter().map(|&variance| 1.0 / (f64::from(variance) + at.epsilon).sqrt()).collect();
    let count = if asked.fixed { f64::INFINITY } else { (at.x.len() / at.statistics().max(1)) as f64 };
    let sums = |slab: usize| {
        // SAFETY: slabs are apart.
        let found = unsafe { place.slice(slab * 2, 2) };
        let (x, grad) = (&at.x[at.range(slab)], &asked.grad[at.range(slab)]);
        dispatch(SlabSums { x, grad, mean: asked.mean[at.owner(slab)], found });
        [f64::from(found[0]), f64::from(found[1]) * inverse[at.owner(slab)]]
    };
    let slope = |dx: &Shared<T>, slab: usize, [plain, along]: [f64; 2]| {
        let owner = at.owner(slab);
        let scale = inverse[owner];
        let factors = [scale * at.weight_of(slab), -scale * scale * along / count, -scale * plain / count];
        dispatch(SlabGrad {
            x: &at.x[at.range(slab)],
            grad: &asked.grad[at.range(slab)],
            // SAFETY: slabs are apart, and inside by the caller's promise.
            out: unsafe { dx.slice(slab * at.size, at.size) },
            mean: asked.mean[owner],
            factors: factors.map(T::of),
        });
    };
    let weighted = |total: [f64; 2], slab: usize, sums: [f64; 2]| {
        [total[0] + sums[0] * at.weight_of(slab), total[1] + sums[1] * at.weight_of(slab)]
    };
    if at.across {
        spread(at.slabs(), at.size, &|slab| {
            sums(slab);
        });
    } else {
        // A group's slope needs no other group's sums, so it is taken while the group is in the cache.
        spread(at.statistics(), at.together * at.size, &|group| {
            let slabs = group * at.together..(group + 1) * at.together;
            let total = slabs.clone().fold([0.0; 2], |total, slab| weighted(total, slab, sums(slab)));
            if let Some(dx) = &asked.dx {
                slabs.for_each(|slab| slope(dx, slab, total));
            }
        });
    }
    let (mut dweight, mut dbias) = (vec![0.0; at.channels], vec![0.0; at.channels]);
    let mut totals = vec![[0.0; 2]; at.statistics()];
    at.owned(|owner, slab| {
        let sums = [f64::from(found[slab * 2]), f64::from(found[slab * 2 + 1]) * inverse[owner]];
        dbias[slab % at.channels] += sums[0];
        dweight[slab % at.channels] += sums[1];
        totals[owner] = weighted(totals[owner], slab, sums);
    });
    if let (true, Some(dx)) = (at.across, &asked.dx) {
        spread(at.slabs(), at.size, &|slab| slope(dx, slab, totals[at.owner(slab)]));
    }
    let narrow = |values: Vec<f64>| values.into_iter().map(T::of).collect();
    (narrow(dweight), narrow(dbias))
}
