//! Running sums, products, extremes and linear recurrences along a dimension (benchmarks/cases.py: large_cumsum).

use rustfft::num_complex::Complex64;

use super::complex;
use super::element::{Element, Wide};
use super::lines::{grouped, grouped_by, lines, side_by_side, step};
use super::memory::Memory;
use super::simd::Simd;
use super::vector::{Task, dispatch};
use super::widest;
use crate::tensor::geometry::Geometry;

/// A line's direction and where its elements stand.
#[derive(Clone, Copy)]
pub struct Along {
    pub dim: usize,
    pub size: usize,
    /// From the last element to the first.
    pub reverse: bool,
}

impl Along {
    fn positions(self) -> impl Iterator<Item = usize> {
        (0..self.size).map(move |index| if self.reverse { self.size - 1 - index } else { index })
    }
}

/// One tensor that a kernel reads or writes.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub memory: Memory,
    pub geometry: &'a Geometry,
}

/// Folds each line from its start and writes every intermediate result.
///
/// # Safety
/// Geometries lie inside their memories, which hold `T` and `O`; the output does not overlap itself.
unsafe fn running<T: Copy, O: Copy, S: Copy + Send + Sync>(
    along: Along,
    from: Place<'_>,
    to: Place<'_>,
    start: S,
    next: impl Fn(S, T) -> S + Sync,
    show: impl Fn(S) -> O + Sync,
) {
    let steps = [step(from.geometry, along.dim), step(to.geometry, along.dim)];
    let columns = |[read, write]: [usize; 2], count: usize| {
        let (from, to) = (from.memory.at::<T>(read).cast_const(), to.memory.at::<O>(write));
        dispatch(Columns { from, to, steps, along, count, start, next: &next, show: &show });
    };
    if side_by_side([from.geometry, to.geometry], along.dim, COLUMNS, columns) {
        return;
    }
    // Side by side, four lines keep all their addresses in registers.
    let apart = steps[0] == 1;
    grouped([from.geometry, to.geometry], along.dim, |starts| {
        // Addresses of this loop's own: those inside of `from` and `to` would be read again for each element.
        let way = Way { from: from.memory.at::<T>(0).cast_const(), to: to.memory.at::<O>(0), steps, along };
        // SAFETY: the caller vouches for the geometries; lines do not share elements of the output.
        unsafe {
            let rest = if apart {
                let (groups, rest) = starts.as_chunks::<4>();
                groups.iter().for_each(|&group| way.run(group, start, &next, &show));
                rest
            } else {
                let (groups, rest) = starts.as_chunks::<8>();
                groups.iter().for_each(|&group| way.run(group, start, &next, &show));
                rest
            };
            rest.iter().for_each(|&place| way.run([place], start, &next, &show));
        }
    });
}

/// Lines side by side that are gone through together.
const COLUMNS: usize = 32;

/// Some lines whose elements are neighbours of each other's.
struct Columns<'a, T, O, S, F, G> {
    from: *const T,
    to: *mut O,
    steps: [usize; 2],
    along: Along,
    count: usize,
    start: S,
    next: &'a F,
    show: &'a G,
}

impl<T: Copy, O: Copy, S: Copy, F: Fn(S, T) -> S, G: Fn(S) -> O> Task for Columns<'_, T, O, S, F, G> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut states = [self.start; COLUMNS];
        for index in self.along.positions() {
            let (from, to) =
                (self.from.wrapping_add(index * self.steps[0]), self.to.wrapping_add(index * self.steps[1]));
            // SAFETY: `running`, where it is made, vouches for the lines.
            let step = |line: usize, state: &mut S| unsafe {
                *state = (self.next)(*state, from.add(line).read_unaligned());
                to.add(line).write_unaligned((self.show)(*state));
            };
            if self.count == COLUMNS {
                states.iter_mut().enumerate().for_each(|(line, state)| step(line, state));
            } else {
                states.iter_mut().take(self.count).enumerate().for_each(|(line, state)| step(line, state));
            }
        }
    }
}

/// From where to where lines lead.
struct Way<T, O> {
    from: *const T,
    to: *mut O,
    steps: [usize; 2],
    along: Along,
}

impl<T: Copy, O: Copy> Way<T, O> {
    /// Several lines in step, so that none waits for its own last addition.
    ///
    /// # Safety
    /// As `running`, for lines that begin at these places.
    #[inline(always)]
    unsafe fn run<S: Copy, const N: usize>(
        &self,
        places: [[usize; 2]; N],
        start: S,
        next: &impl Fn(S, T) -> S,
        show: &impl Fn(S) -> O,
    ) {
        let Along { size, reverse, .. } = self.along;
        let (from, to) =
            (places.map(|[at, _]| self.from.wrapping_add(at)), places.map(|[_, at]| self.to.wrapping_add(at)));
        let mut states = [start; N];
        for count in 0..size {
            let index = if reverse { size - 1 - count } else { count };
            let [read, write] = self.steps.map(|step| index * step);
            for ((state, from), to) in states.iter_mut().zip(from).zip(to) {
                // SAFETY: the caller's.
                unsafe {
                    *state = next(*state, from.add(read).read_unaligned());
                    to.add(write).write_unaligned(show(*state));
                }
            }
        }
    }
}

/// Lines of float32 that are gone through as the lanes of vectors.
const TILED: usize = 16;

/// As `running` with float64, for lines of neighbours, which are turned so that they lie side by side.
///
/// # Safety
/// As `running`, for memories of aligned float32 whose lines' elements are neighbours.
unsafe fn tiled(
    along: Along,
    from: Place<'_>,
    to: Place<'_>,
    start: f64,
    next: impl Fn(f64, f64) -> f64 + Sync + Copy,
) {
    grouped_by([from.geometry, to.geometry], along.dim, TILED, |starts| {
        let memory = (from.memory.at::<f32>(0).cast_const(), to.memory.at::<f32>(0));
        widest::run(Tiles { memory, starts, along, start, next });
    });
}

struct Tiles<'a, F> {
    memory: (*const f32, *mut f32),
    starts: &'a [[usize; 2]],
    along: Along,
    start: f64,
    next: F,
}

impl<F: Fn(f64, f64) -> f64 + Copy> widest::Work for Tiles<'_, F> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Along { size, reverse, .. } = self.along;
        let next = self.next;
        for group in self.starts.chunks(S::LANES) {
            let Some(&[first_from, first_to]) = group.first() else { continue };
            let step = |view: usize| group.get(1).map_or(0, |second| second[view].wrapping_sub(group[0][view]));
            let even =
                |view: usize| group.windows(2).all(|pair| pair[1][view].wrapping_sub(pair[0][view]) == step(view));
            let (mut states, mut tile) = ([self.start; TILED], [0f32; TILED * TILED]);
            // Of few lines a vector would hold little.
            if !(group.len() >= TILED / 4
                && even(0)
                && even(1)
                && group.iter().all(|place| place[0] >= first_from && place[1] >= first_to))
            {
                for &[read, write] in group {
                    let mut state = self.start;
                    for count in 0..size {
                        let index = if reverse { size - 1 - count } else { count };
                        // SAFETY: `tiled` vouches for the lines.
                        unsafe {
                            state = next(state, f64::from(*self.memory.0.add(read + index)));
                            *self.memory.1.add(write + index) = state as f32;
                        }
                    }
                }
                continue;
            }
            for count in 0..size.div_ceil(S::LANES) {
                let first = if reverse { size.div_ceil(S::LANES) - 1 - count } else { count } * S::LANES;
                let columns = S::LANES.min(size - first);
                // SAFETY: the caller's; `tiled` vouches for the lines, and a tile has room for as many as a vector.
                unsafe {
                    let from = (self.memory.0.add(first_from + first), step(0));
                    S::transpose(from, (tile.as_mut_ptr(), S::LANES), group.len(), columns);
                }
                for count in 0..columns {
                    let line = if reverse { columns - 1 - count } else { count } * S::LANES;
                    for (state, slot) in states.iter_mut().zip(&mut tile[line..line + S::LANES]) {
                        *state = next(*state, f64::from(*slot));
                        *slot = *state as f32;
                    }
                }
                // SAFETY: as above.
                unsafe {
                    let to = (self.memory.1.add(first_to + first), step(1));
                    S::transpose((tile.as_ptr(), S::LANES), to, columns, group.len());
                }
            }
        }
    }
}

/// Whether the lines of both are of aligned float32 that are neighbours.
fn can_tile<T: 'static>(along: Along, places: [Place<'_>; 2]) -> bool {
    std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>()
        && along.size >= TILED
        && places.iter().all(|place| step(place.geometry, along.dim) == 1 && place.memory.at::<f32>(0).is_aligned())
}

/// Running sum (or product) of floats, carried in float64.
///
/// # Safety
/// As `running`.
pub unsafe fn totals_float<T: Element + 'static>(add: bool, along: Along, from: Place<'_>, to: Place<'_>) {
    if can_tile::<T>(along, [from, to]) {
        // SAFETY: the caller's.
        return unsafe {
            if add {
                tiled(along, from, to, 0.0, |state, x| state + x)
            } else {
                tiled(along, from, to, 1.0, |state, x| state * x)
            }
        };
    }
    let show = |state: f64| T::narrow(T::Wide::from_f64(state));
    // SAFETY: the caller's.
    unsafe {
        if add {
            running(along, from, to, 0.0, |state, item: T| state + item.to_f64(), show);
        } else {
            running(along, from, to, 1.0, |state, item: T| state * item.to_f64(), show);
        }
    }
}

/// Running sum (or product) of complex numbers, carried in complex128.
///
/// # Safety
/// As `running`.
pub unsafe fn totals_complex<T: complex::Wide>(add: bool, along: Along, from: Place<'_>, to: Place<'_>) {
    let start = Complex64::new(if add { 0.0 } else { 1.0 }, 0.0);
    let next = |state: Complex64, item: T| if add { state + item.wide() } else { state * item.wide() };
    // SAFETY: the caller's.
    unsafe { running(along, from, to, start, next, T::narrow) }
}

/// Running sum (or product) of integers and booleans, as int64.
///
/// # Safety
/// As `running`.
pub unsafe fn totals_int<T: Element<Wide = W>, W: Wide>(add: bool, along: Along, from: Place<'_>, to: Place<'_>) {
    let show = std::convert::identity;
    // SAFETY: the caller's.
    unsafe {
        if add {
            running(along, from, to, W::ZERO, |state, item: T| state.plus(item.wide()), show);
        } else {
            running(along, from, to, W::ONE, |state, item: T| state.times(item.wide()), show);
        }
    }
}

/// log(exp(a) + exp(b)) without overflow.
fn log_add(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == high && low.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

/// The logarithm of the running sum of exponentials.
///
/// # Safety
/// As `running`.
pub unsafe fn log_totals<T: Element>(along: Along, from: Place<'_>, to: Place<'_>) {
    let show = |state: f64| T::narrow(T::Wide::from_f64(state));
    // SAFETY: the caller's.
    unsafe { running(along, from, to, f64::NEG_INFINITY, |state, item: T| log_add(state, item.to_f64()), show) }
}

/// Running greatest (or least) values with their positions: later ones win among equals, NaN over all, as in torch.
///
/// # Safety
/// As `running`; `indices` holds int64.
pub unsafe fn extremes<T: Element>(max: bool, along: Along, from: Place<'_>, values: Place<'_>, indices: Place<'_>) {
    let steps = [from, values, indices].map(|place| step(place.geometry, along.dim));
    lines([from.geometry, values.geometry, indices.geometry], along.dim, |[at, value_at, index_at]| {
        // As in `running`.
        let (from, values) = (from.memory.at::<T>(at).cast_const(), values.memory.at::<T>(value_at));
        let indices = indices.memory.at::<i64>(index_at);
        let Some(first) = along.positions().next() else { return };
        // SAFETY: the caller vouches for the geometries.
        let read = |index: usize| unsafe { from.add(index * steps[0]).read_unaligned() };
        let (mut best, mut place) = (read(first), first);
        for index in along.positions() {
            let item = read(index);
            if item.is_nan() || (!best.is_nan() && if max { item >= best } else { item <= best }) {
                (best, place) = (item, index);
            }
            // SAFETY: as above; each element is written once.
            unsafe {
                values.add(index * steps[1]).write_unaligned(best);
                indices.add(index * steps[2]).write_unaligned(place as i64);
            }
        }
    });
}

/// The recurrence `s[k] = a[k] * s[k - 1] + b[k]`, from 0.
///
/// # Safety
/// As `running`, for three memories of `T`.
pub unsafe fn linear<T: Element>(along: Along, a: Place<'_>, b: Place<'_>, to: Place<'_>) {
    let narrow = |state: f64| T::narrow(T::Wide::from_f64(state));
    // SAFETY: the caller's.
    unsafe { recurrence(along, [a, b, to], |item: T| item.to_f64(), |x: f64, y: f64, z: f64| x * y + z, narrow) }
}

/// As `linear`, for complex numbers.
///
/// # Safety
/// As `running`, for three memories of `T`.
pub unsafe fn linear_complex<T: complex::Wide>(along: Along, a: Place<'_>, b: Place<'_>, to: Place<'_>) {
    // SAFETY: the caller's.
    unsafe {
        recurrence(
            along,
            [a, b, to],
            |item: T| item.wide(),
            |x: Complex64, y: Complex64, z: Complex64| x * y + z,
            T::narrow,
        )
    }
}

/// # Safety
/// As `running`, for three memories of `T`.
unsafe fn recurrence<T: Copy, S: Copy + Default>(
    along: Along,
    [a, b, to]: [Place<'_>; 3],
    wide: impl Fn(T) -> S + Sync,
    next: impl Fn(S, S, S) -> S + Sync,
    narrow: impl Fn(S) -> T + Sync,
) {
    let steps = [a, b, to].map(|place| step(place.geometry, along.dim));
    lines([a.geometry, b.geometry, to.geometry], along.dim, |[a_at, b_at, out]| {
        let mut state = S::default();
        for (count, index) in along.positions().enumerate() {
            // SAFETY: the caller vouches for the geometries; each element is written once.
            unsafe {
                let add = wide(b.memory.read(b_at + index * steps[1]));
                let factor = wide(a.memory.read(a_at + index * steps[0]));
                // The first factor meets no predecessor: infinity times nothing is nothing.
                state = if count == 0 { add } else { next(factor, state, add) };
                to.memory.write(out + index * steps[2], narrow(state));
            }
        }
    });
}
