//! Maxima over windows of up to three dimensions with their places, as torch breaks ties and treats NaN
//! (benchmarks/cases.py: max_pool2d).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{self, Work};

/// The windows of one dimension: `first..end` by `step`, cut to the input.
#[derive(Clone, Debug)]
pub struct Windows {
    pub size: usize,
    pub step: usize,
    pub ranges: Vec<(usize, usize)>,
    /// Of windows that move regularly: elements, stride and padding.
    pub regular: Option<[usize; 3]>,
}

impl Windows {
    /// Whether each element has a window of its own.
    pub fn is_whole(&self) -> bool {
        self.ranges.len() == self.size && self.ranges.iter().enumerate().all(|(at, &range)| range == (at, at + 1))
    }
}

pub trait Ordered: Copy + Send + Sync + Default + PartialOrd {
    const LOWEST: Self;
    fn is_nan(self) -> bool;
}

impl Ordered for f32 {
    const LOWEST: Self = Self::NEG_INFINITY;
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Ordered for f64 {
    const LOWEST: Self = Self::NEG_INFINITY;
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Ordered for i64 {
    const LOWEST: Self = Self::MIN;
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

/// For each plane `[D, H, W]` of `input`: the maxima of all windows, and their flat places in the plane where there is
/// room for them.
pub fn maxima<T: Ordered>(input: &[T], values: &mut [T], places: &mut [i64], windows: &[Windows; 3]) {
    let [depth, height, width] = windows;
    if width.size == 1 && width.is_whole() && height.size > 1 {
        // The same elements in the same order, with a longer row.
        return maxima(input, values, places, &[width.clone(), depth.clone(), height.clone()]);
    }
    let from: usize = windows.iter().map(|window| window.size).product();
    let to: usize = windows.iter().map(|window| window.ranges.len()).product();
    if from == 0 || to == 0 {
        return;
    }
    let rowwise = from <= i32::MAX as usize && windows[2].regular.is_some() && windows[2].ranges.len() >= 8;
    let deep = |dim: usize| windows[dim].ranges.first().map_or(0, |&(first, end)| end - first);
    let by_columns = from <= i32::MAX as usize && deep(0) * deep(1) >= 3 && windows[2].size >= 8;
    let placed = !places.is_empty();
    let (values, places) = (Shared::of(values), Shared::of(places));
    let plane = |index: usize| {
        let input = &input[index * from..][..from];
        // SAFETY: each plane has results of its own.
        let (values, places) =
            unsafe { (values.slice(index * to, to), if placed { places.slice(index * to, to) } else { &mut [][..] }) };
        if rowwise && placed {
            widest::run(ByRows::<_, true> { input, values, places, windows });
        } else if rowwise {
            widest::run(ByRows::<_, false> { input, values, places, windows });
        } else if by_columns {
            widest::run(ByColumns { input, values, places, windows });
        } else {
            one(input, values, places, windows);
        }
    };
    let planes = input.len() / from;
    if input.len() < PARALLEL_ABOVE / 4 {
        (0..planes).for_each(plane);
    } else {
        spread_over(planes, (PARALLEL_ABOVE / 32 / (from + to)).max(1), &plane);
    }
}

fn one<T: Ordered>(input: &[T], values: &mut [T], places: &mut [i64], [depth, height, width]: &[Windows; 3]) {
    let mut places = places.iter_mut();
    let mut values = values.iter_mut();
    for &(d0, d1) in &depth.ranges {
        for &(h0, h1) in &height.ranges {
            for &(w0, w1) in &width.ranges {
                let Some(value) = values.next() else { return };
                let mut best_at = (d0 * height.size + h0) * width.size + w0;
                let mut best = input[best_at];
                for d in (d0..d1).step_by(depth.step) {
                    for h in (h0..h1).step_by(height.step) {
                        let row = (d * height.size + h) * width.size;
                        for w in (w0..w1).step_by(width.step) {
                            let candidate = input[row + w];
                            if candidate > best || candidate.is_nan() {
                                best = candidate;
                                best_at = row + w;
                            }
                        }
                    }
                }
                *value = best;
                if let Some(place) = places.next() {
                    *place = best_at as i64;
                }
            }
        }
    }
}

/// One plane, a row of windows at a time: first the greatest of each column, then the greatest of each window's columns.
struct ByColumns<'a, T> {
    input: &'a [T],
    values: &'a mut [T],
    places: &'a mut [i64],
    windows: &'a [Windows; 3],
}

impl<T: Ordered> Work for ByColumns<'_, T> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let [depth, height, width] = self.windows;
        let (mut best, mut best_row) = (vec![T::LOWEST; width.size], vec![0; width.size]);
        let (mut values, mut places) = (self.values.iter_mut(), self.places.iter_mut());
        let rows = depth.ranges.iter().flat_map(|&d| height.ranges.iter().map(move |&h| (d, h)));
        for ((d0, d1), (h0, h1)) in rows {
            let first = d0 * height.size + h0;
            best.copy_from_slice(&self.input[first * width.size..][..width.size]);
            best_row.fill(first as i32);
            for d in (d0..d1).step_by(depth.step) {
                for row in (h0..h1).step_by(height.step).map(|h| d * height.size + h) {
                    let candidates = &self.input[row * width.size..][..width.size];
                    for ((best, at), &candidate) in best.iter_mut().zip(&mut best_row).zip(candidates) {
                        let take = candidate > *best || candidate.is_nan();
                        *best = if take { candidate } else { *best };
                        *at = if take { row as i32 } else { *at };
                    }
                }
            }
            for &(w0, w1) in &width.ranges {
                let column = greatest((w0..w1).step_by(width.step), &best, &best_row);
                if let Some(value) = values.next() {
                    *value = best[column];
                }
                if let Some(place) = places.next() {
                    *place = (best_row[column] as usize * width.size + column) as i64;
                }
            }
        }
    }
}

/// The column whose value a walk row by row would have kept: the first of the greatest, or the last that is not a number.
#[inline(always)]
fn greatest<T: Ordered>(mut columns: impl Iterator<Item = usize>, values: &[T], rows: &[i32]) -> usize {
    let mut best = columns.next().unwrap_or(0);
    for column in columns {
        let (old, new) = (values[best], values[column]);
        let take = if old.is_nan() || new.is_nan() {
            new.is_nan() && (!old.is_nan() || rows[column] >= rows[best])
        } else {
            new > old || new == old && rows[column] < rows[best]
        };
        best = if take { column } else { best };
    }
    best
}

/// One plane, a whole row of windows at a time, with or without the places.
struct ByRows<'a, T, const PLACES: bool> {
    input: &'a [T],
    values: &'a mut [T],
    places: &'a mut [i64],
    windows: &'a [Windows; 3],
}

impl<T: Ordered, const PLACES: bool> Work for ByRows<'_, T, PLACES> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let [depth, height, width] = self.windows;
        let (count, size) = (width.ranges.len(), width.size);
        let Some([taps, stride, padding]) = width.regular else { return };
        let mut best_at = vec![0; if PLACES { count } else { 0 }];
        let rows = depth.ranges.iter().flat_map(|&d| height.ranges.iter().map(move |&h| (d, h)));
        let mut places = self.places.chunks_exact_mut(count);
        for (((d0, d1), (h0, h1)), best) in rows.zip(self.values.chunks_exact_mut(count)) {
            best.fill(T::LOWEST);
            if PLACES {
                for (slot, &(w0, _)) in best_at.iter_mut().zip(&width.ranges) {
                    *slot = ((d0 * height.size + h0) * size + w0) as i32;
                }
            }
            for d in (d0..d1).step_by(depth.step) {
                for h in (h0..h1).step_by(height.step) {
                    let row = (d * height.size + h) * size;
                    if !PLACES && taps == stride && (width.step, padding) == (1, 0) && (2..=4).contains(&taps) {
                        let input = &self.input[row..row + size];
                        match taps {
                            2 => larger_runs::<T, 2>(best, input),
                            3 => larger_runs::<T, 3>(best, input),
                            _ => larger_runs::<T, 4>(best, input),
                        }
                        continue;
                    }
                    for tap in 0..taps {
                        let shift = tap * width.step;
                        let first = padding.saturating_sub(shift).div_ceil(stride);
                        let end = (size + padding).saturating_sub(shift).div_ceil(stride).min(count);
                        if first >= end {
                            continue;
                        }
                        let start = row + first * stride + shift - padding;
                        let input = &self.input[start..row + size];
                        if PLACES {
                            larger(&mut best[first..end], &mut best_at[first..end], input, start as i32, stride);
                        } else {
                            larger_values(&mut best[first..end], input, stride);
                        }
                    }
                }
            }
            for (slot, &at) in places.next().into_iter().flatten().zip(&best_at) {
                *slot = i64::from(at);
            }
        }
    }
}

/// Takes over what is larger, or not a number, of every `N` neighbours; the last may be fewer.
#[inline(always)]
fn larger_runs<T: Ordered, const N: usize>(best: &mut [T], candidates: &[T]) {
    let larger = |one: T, other: T| if other > one || other.is_nan() { other } else { one };
    let (runs, rest) = candidates.as_chunks::<N>();
    let (front, back) = best.split_at_mut(runs.len().min(best.len()));
    for (best, run) in front.iter_mut().zip(runs) {
        *best = run.iter().fold(*best, |best, &next| larger(best, next));
    }
    if let Some(best) = back.first_mut() {
        *best = rest.iter().fold(*best, |best, &next| larger(best, next));
    }
}

/// As `larger`, without places.
#[inline(always)]
fn larger_values<T: Ordered>(best: &mut [T], candidates: &[T], stride: usize) {
    match stride {
        1 => larger_of_every::<T, 1>(best, candidates),
        2 => larger_of_every::<T, 2>(best, candidates),
        3 => larger_of_every::<T, 3>(best, candidates),
        4 => larger_of_every::<T, 4>(best, candidates),
        _ => best.iter_mut().zip(candidates.iter().step_by(stride)).for_each(|(best, &next)| keep_larger(best, next)),
    }
}

#[inline(always)]
fn keep_larger<T: Ordered>(best: &mut T, candidate: T) {
    *best = if candidate > *best || candidate.is_nan() { candidate } else { *best };
}

#[inline(always)]
fn larger_of_every<T: Ordered, const N: usize>(best: &mut [T], candidates: &[T]) {
    let (runs, rest) = candidates.as_chunks::<N>();
    let (front, back) = best.split_at_mut(runs.len().min(best.len()));
    front.iter_mut().zip(runs).for_each(|(best, run)| keep_larger(best, run[0]));
    back.iter_mut().zip(rest).take(1).for_each(|(best, &candidate)| keep_larger(best, candidate));
}

/// Takes over what is larger, or not a number, of every `stride`-th candidate.
#[inline(always)]
fn larger<T: Ordered>(best: &mut [T], best_at: &mut [i32], candidates: &[T], start: i32, stride: usize) {
    match stride {
        1 => larger_of_every_at::<T, 1>(best, best_at, candidates, start),
        2 => larger_of_every_at::<T, 2>(best, best_at, candidates, start),
        3 => larger_of_every_at::<T, 3>(best, best_at, candidates, start),
        4 => larger_of_every_at::<T, 4>(best, best_at, candidates, start),
        _ => {
            let slots = best.iter_mut().zip(best_at).enumerate();
            for ((index, slot), &candidate) in slots.zip(candidates.iter().step_by(stride)) {
                keep_larger_at(slot, candidate, start + (index * stride) as i32);
            }
        }
    }
}

#[inline(always)]
fn keep_larger_at<T: Ordered>((best, best_at): (&mut T, &mut i32), candidate: T, at: i32) {
    let take = candidate > *best || candidate.is_nan();
    *best = if take { candidate } else { *best };
    *best_at = if take { at } else { *best_at };
}

#[inline(always)]
fn larger_of_every_at<T: Ordered, const N: usize>(best: &mut [T], best_at: &mut [i32], candidates: &[T], start: i32) {
    let (runs, rest) = candidates.as_chunks::<N>();
    let whole = runs.len().min(best.len());
    for (index, (slot, run)) in best.iter_mut().zip(&mut *best_at).zip(runs).enumerate() {
        keep_larger_at(slot, run[0], start + (index * N) as i32);
    }
    if let (Some(best), Some(at), Some(&last)) = (best.get_mut(whole), best_at.get_mut(whole), rest.first()) {
        keep_larger_at((best, at), last, start + (whole * N) as i32);
    }
}

/// Rows that one thread takes at least.
fn least(from: usize, to: usize) -> usize {
    (PARALLEL_ABOVE / 4 / (from + to)).max(1)
}

/// Runs `row` for each number, on several threads where that much work is worth it.
fn each_row(count: usize, work: usize, least: usize, row: &(dyn Fn(usize) + Sync)) {
    if work < PARALLEL_ABOVE {
        (0..count).for_each(row);
    } else {
        spread_over(count, least, row);
    }
}

/// `output[r, i] = input[r, places[r, i]]` for rows of `from` inputs and `to` outputs.
pub fn take<T: Copy + Send + Sync>(input: &[T], output: &mut [T], places: &[i64], from: usize, to: usize) {
    if from == 0 || to == 0 {
        return;
    }
    let work = input.len() + output.len();
    let output = Shared::of(output);
    each_row(input.len() / from, work, least(from, to), &|row| {
        let (input, places) = (&input[row * from..][..from], &places[row * to..][..to]);
        // SAFETY: each row has results of its own.
        let output = unsafe { output.slice(row * to, to) };
        for (slot, &place) in output.iter_mut().zip(places) {
            if let Some(&value) = input.get(place as usize) {
                *slot = value;
            }
        }
    });
}

/// `output[r, places[r, i]] += input[r, i]`.
pub fn put<T: Copy + Send + Sync + std::ops::AddAssign>(
    input: &[T],
    output: &mut [T],
    places: &[i64],
    from: usize,
    to: usize,
) {
    if from == 0 || to == 0 {
        return;
    }
    let work = input.len() + output.len();
    let output = Shared::of(output);
    each_row(input.len() / from, work, least(from, to), &|row| {
        let (input, places) = (&input[row * from..][..from], &places[row * from..][..from]);
        // SAFETY: each row has results of its own.
        let output = unsafe { output.slice(row * to, to) };
        for (&value, &place) in input.iter().zip(places) {
            if let Some(slot) = output.get_mut(place as usize) {
                *slot += value;
            }
        }
    });
}
