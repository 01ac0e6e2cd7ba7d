//! Finds places in sorted sequences and counts values into bins (benchmarks/cases.py: large_searchsorted,
//! large_histc).

use std::collections::HashSet;

use super::element::{Element, Truth};
use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Values that one task looks for at least.
const TASK: usize = 1024;

/// Where each value would go to keep `sequence` sorted: before its equals, or behind them (`right`).
///
/// # Safety
/// `sequences` holds lines of `length` elements of `T`, `values` lines of `width`, both without gaps, as many of each
/// (or one sequence for all); `output` has room for an int64 per value. `sorter`, if given, lies beside `sequences`.
pub unsafe fn places<T: Element>(
    sequences: (Memory, usize, usize),
    sorter: Option<(Memory, usize)>,
    values: (Memory, usize, usize),
    lines: usize,
    shared: bool,
    right: bool,
    output: Memory,
) {
    let ((sequence, start, length), (values, first, width)) = (sequences, values);
    let search = |line: usize, columns: std::ops::Range<usize>| {
        let base = if shared { 0 } else { line * length };
        // SAFETY: positions stay below the lengths that the caller vouches for.
        let item = |index: usize| unsafe {
            let index = match sorter {
                Some((sorter, offset)) => (sorter.read::<i64>(offset + base + index) as usize).min(length - 1),
                None => index,
            };
            sequence.read::<T>(start + base + index)
        };
        for column in columns {
            // SAFETY: as above.
            let value: T = unsafe { values.read(first + line * width + column) };
            let (mut low, mut high) = (0, length);
            while low < high {
                let middle = (low + high) / 2;
                // Written so that a NaN, which compares with nothing, goes to the end.
                let before = if right { item(middle) > value } else { item(middle) >= value };
                if before {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            // SAFETY: one place per value.
            unsafe { output.write(line * width + column, low as i64) };
        }
    };
    let parts = width.div_ceil(TASK);
    let one = |part: usize| {
        let first = part % parts * TASK;
        search(part / parts, first..width.min(first + TASK));
    };
    if lines * width < PARALLEL_ABOVE / 8 {
        (0..lines * parts).for_each(one);
    } else {
        spread_over(lines * parts, (TASK / width.max(1)).max(1), &one);
    }
}

/// Values whose bins are found before they are counted.
const FOUND: usize = 1024;

/// The bins of values, and the number of bins for those outside.
struct Bins<'a, T> {
    from: *const T,
    bins: usize,
    low: f64,
    high: f64,
    to: &'a mut [i32],
}

impl<T: Element> Task for Bins<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // Each step is rounded as it is in the values' own precision, so that those at an edge fall where torch's do.
        let own = |x: f64| if size_of::<T::Wide>() == size_of::<f32>() { f64::from(x as f32) } else { x };
        let (low, high, bins, last) = (own(self.low), own(self.high), self.bins as f64, self.bins as i32 - 1);
        let range = own(high - low);
        for (index, slot) in self.to.iter_mut().enumerate() {
            // SAFETY: `even_bins` vouches for the values.
            let value = unsafe { self.from.add(index).read_unaligned() }.to_f64();
            let bin = own(own(own(value - low) * bins) / range) as i32;
            *slot = if value >= low && value <= high { bin.min(last) } else { last + 1 };
        }
    }
}

/// How many values fall into each of `bins` equal parts of `low..=high`; others are passed over.
///
/// # Safety
/// `memory` holds `count` elements of `T` from `at` on; there are fewer bins than int32 has numbers.
pub unsafe fn even_bins<T: Element>(
    memory: Memory,
    at: usize,
    count: usize,
    bins: usize,
    low: f64,
    high: f64,
) -> Vec<f64> {
    let size = bins + 1;
    let shares = if count < PARALLEL_ABOVE || count / SHARES < 2 * size { 1 } else { SHARES };
    let mut all = vec![0u32; shares * WAYS * size];
    let (tables, part) = (Shared::of(&mut all), count.div_ceil(shares));
    let one = |share: usize| {
        // SAFETY: each share has tables of its own.
        let tables = unsafe { tables.slice(share * WAYS * size, WAYS * size) };
        let mut found = [0; FOUND];
        let mut first = share * part;
        while first < count.min((share + 1) * part) {
            let length = FOUND.min(count.min((share + 1) * part) - first);
            let to = &mut found[..length];
            dispatch(Bins::<T> { from: memory.at(at + first), bins, low, high, to });
            // Neighbours are counted apart: where both are the same, one would wait for the other.
            for (way, &bin) in found[..length].iter().enumerate() {
                tables[bin as usize * WAYS + way % WAYS] += 1;
            }
            first += length;
        }
    };
    if shares == 1 {
        one(0)
    } else {
        spread_over(shares, 1, &one)
    }
    let total = |bin: usize| {
        let tables = all.chunks_exact(WAYS * size).flat_map(|share| &share[bin * WAYS..(bin + 1) * WAYS]);
        tables.map(|&count| f64::from(count)).sum()
    };
    (0..bins).map(total).collect()
}

/// Counts of the same bin that neighbours add to.
const WAYS: usize = 4;

/// How much weight falls between neighbouring edges; the last bin has both its edges.
pub fn uneven_bins(values: &[f64], weights: Option<&[f64]>, edges: &[f64]) -> Vec<f64> {
    let bins = edges.len().saturating_sub(1);
    let mut out = vec![0.0; bins];
    let (Some(&low), Some(&high)) = (edges.first(), edges.last()) else { return out };
    for (index, &value) in values.iter().enumerate() {
        if value >= low && value <= high {
            let bin = edges.partition_point(|&edge| edge <= value).saturating_sub(1).min(bins.saturating_sub(1));
            let weight = weights.and_then(|weights| weights.get(index).copied()).unwrap_or(1.0);
            if let Some(slot) = out.get_mut(bin) {
                *slot += weight;
            }
        }
    }
    out
}

/// Whether each of `values` is among `wanted`.
///
/// # Safety
/// Both memories hold as many elements of `T` as said, without gaps; `output` has room for a boolean each.
pub unsafe fn among<T: Element>(values: (Memory, usize, usize), wanted: (Memory, usize, usize), output: Memory) {
    let ((values, first, count), (wanted, start, length)) = (values, wanted);
    // SAFETY: the caller's.
    let known: HashSet<u64> = (0..length)
        .map(|index| unsafe { wanted.read::<T>(start + index) })
        .filter(|item| !item.is_nan())
        .map(Element::key)
        .collect();
    let one = |index: usize| {
        // SAFETY: the caller's.
        unsafe {
            let item: T = values.read(first + index);
            output.write(index, Truth(u8::from(!item.is_nan() && known.contains(&item.key()))));
        }
    };
    if count < PARALLEL_ABOVE { (0..count).for_each(one) } else { spread_over(count, TASK, &one) }
}

struct Most<'a> {
    values: &'a [i64],
    most: &'a mut u64,
}

impl Task for Most<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        *self.most = self.values.iter().fold(0, |most, &value| most.max(value as u64));
    }
}

/// Numbers that one task reads.
const READ: usize = PARALLEL_ABOVE / 4;

/// The greatest number, of which negative ones are large unsigned ones.
pub fn greatest(values: &[i64]) -> u64 {
    let of = |values: &[i64]| {
        let mut most = 0;
        dispatch(Most { values, most: &mut most });
        most
    };
    if values.len() < PARALLEL_ABOVE {
        return of(values);
    }
    let parts: Vec<&[i64]> = values.chunks(READ).collect();
    gathered(parts.len(), 1, 0, |part| parts.get(part).map_or(0, |values| of(values))).into_iter().max().unwrap_or(0)
}

/// Parts whose numbers are counted apart.
const SHARES: usize = 8;

/// Counts how often each number occurs; all are below the length of `counts`.
pub fn count(values: &[i64], counts: &mut [i64]) {
    let size = counts.len();
    if values.len() < PARALLEL_ABOVE || values.len() / SHARES < 2 * size {
        return count_here(values, counts);
    }
    let mut all = vec![0; SHARES * size];
    let (shared, part) = (Shared::of(&mut all), values.len().div_ceil(SHARES));
    spread_over(SHARES, 1, &|share| {
        // SAFETY: each share has counts of its own.
        let own = unsafe { shared.slice(share * size, size) };
        let values = values.get(share * part..).map_or(&[][..], |rest| rest.get(..part).unwrap_or(rest));
        count_here(values, own);
    });
    for own in all.chunks_exact(size.max(1)) {
        counts.iter_mut().zip(own).for_each(|(slot, &count)| *slot += count);
    }
}

fn count_here(values: &[i64], counts: &mut [i64]) {
    /// Numbers up to which neighbours are counted apart: where both are the same, one would wait for the other.
    const FEW: usize = 1 << 12;
    if counts.len() > FEW {
        return values.iter().for_each(|&value| counts[value as usize] += 1);
    }
    let mut others = vec![0; 3 * counts.len()];
    let (second, rest) = others.split_at_mut(counts.len());
    let (third, fourth) = rest.split_at_mut(counts.len());
    let (groups, rest) = values.as_chunks::<4>();
    for &[a, b, c, d] in groups {
        counts[a as usize] += 1;
        second[b as usize] += 1;
        third[c as usize] += 1;
        fourth[d as usize] += 1;
    }
    rest.iter().for_each(|&value| counts[value as usize] += 1);
    for (place, slot) in counts.iter_mut().enumerate() {
        *slot += second[place] + third[place] + fourth[place];
    }
}
