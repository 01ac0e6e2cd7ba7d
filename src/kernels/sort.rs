//! Orders the elements of lines: sort, top-k, order statistics, runs of equals (benchmarks/cases.py: large_sort).
//!
//! Elements become numbers that order as they do, with the position in the low bits: sorting those is stable for free.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use super::digits;
use super::element::Element;
use super::introsort;
use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::lines::{grouped, lines, step};
use super::memory::Memory;
use super::scan::Place;
use super::vector::{Task, dispatch, dispatch_narrow};

/// A line's elements as sortable numbers, each with its position.
enum Keys {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
}

impl Keys {
    /// # Safety
    /// The memory holds `size` elements of `T` from `at` on, `by` apart.
    unsafe fn read<T: Element>(memory: Memory, at: usize, by: usize, size: usize, descending: bool) -> Self {
        // SAFETY: the caller's.
        let key = |index: usize| unsafe { memory.read::<T>(at + index * by) }.key();
        if size_of::<T>() <= 4 && size <= u32::MAX as usize {
            let flip = if descending { u64::from(u32::MAX) } else { 0 };
            return Self::Narrow(each(size, |index| (key(index) ^ flip) << 32 | index as u64));
        }
        // Integers are seldom far apart: counted from the least, they are narrow too.
        let (least, most) = span(size, key);
        if most.saturating_sub(least) <= u64::from(u32::MAX) && size <= u32::MAX as usize {
            let flip = if descending { u64::from(u32::MAX) } else { 0 };
            Self::Narrow(each(size, |index| ((key(index) - least) ^ flip) << 32 | index as u64))
        } else {
            let flip = if descending { u64::MAX } else { 0 };
            Self::Wide(each(size, |index| u128::from(key(index) ^ flip) << 64 | index as u128))
        }
    }

    /// The first `count` of the order as torch's top-k finds them where they are few: in a heap that the rest passes by.
    ///
    /// # Safety
    /// As `read`.
    unsafe fn few<T: Element>(
        memory: Memory,
        at: usize,
        by: usize,
        size: usize,
        count: usize,
        descending: bool,
    ) -> Self {
        let from = memory.at::<T>(at).cast_const();
        // SAFETY: the caller's.
        let key = move |index: usize| unsafe { from.add(index * by).read_unaligned() }.key();
        // A step that is known to be one lets the loop vectorise.
        // SAFETY: the caller's.
        let near = move |index: usize| unsafe { from.add(index).read_unaligned() }.key();
        if size_of::<T>() <= 4 && size <= u32::MAX as usize {
            let flip = if descending { u32::MAX } else { 0 };
            let packed = |index: usize, key: u32| u64::from(key) << 32 | index as u64;
            let bare = |key: u64| (key >> 32) as u32;
            let mut heap = Vec::with_capacity(count);
            let few = Few { size, count, packed, bare, less: narrow_less };
            if by == 1 {
                dispatch(few.of(|index| near(index) as u32 ^ flip, &mut heap));
            } else {
                dispatch(few.of(|index| key(index) as u32 ^ flip, &mut heap));
            }
            Self::Narrow(heap)
        } else {
            let flip = if descending { u64::MAX } else { 0 };
            let packed = |index: usize, key: u64| u128::from(key) << 64 | index as u128;
            let bare = |key: u128| (key >> 64) as u64;
            let mut heap = Vec::with_capacity(count);
            dispatch_narrow(
                Few { size, count, packed, bare, less: wide_less }.of(|index| key(index) ^ flip, &mut heap),
            );
            Self::Wide(heap)
        }
    }

    /// Puts the first `count` of the order in front, in order; the keys are as they were read.
    fn arrange(&mut self, count: usize) {
        fn arrange<K: Ord + Send>(keys: &mut [K], count: usize) {
            if count < keys.len() / 2 && count > 0 {
                keys.select_nth_unstable(count - 1);
            } else if keys.len() >= PARALLEL_ABOVE {
                keys.par_sort_unstable();
                return;
            } else {
                keys.sort_unstable();
                return;
            }
            if let Some(front) = keys.get_mut(..count) {
                front.sort_unstable();
            }
        }
        match self {
            Self::Narrow(keys) if keys.len() >= digits::FROM && count >= keys.len() / 2 => digits::by_upper_half(keys),
            Self::Narrow(keys) => arrange(keys, count),
            Self::Wide(keys) => arrange(keys, count),
        }
    }

    /// Where the first of those equal to the element with `place` others before it stands.
    fn nth(&mut self, place: usize) -> usize {
        match self {
            Self::Narrow(keys) => *keys.select_nth_unstable(place).1 as u32 as usize,
            Self::Wide(keys) => *keys.select_nth_unstable(place).1 as u64 as usize,
        }
    }

    /// Where the element with `place` others before it stands, as torch chooses among equals.
    fn nth_as_torch(&mut self, place: usize) -> usize {
        match self {
            Self::Narrow(keys) => introsort::nth(keys, place, narrow_less) as u32 as usize,
            Self::Wide(keys) => introsort::nth(keys, place, wide_less) as u64 as usize,
        }
    }

    /// All in order, equals as torch leaves them; the keys are as they were read.
    fn sort_as_torch(&mut self) {
        match self {
            Self::Narrow(keys) => introsort::sort(keys, narrow_less),
            Self::Wide(keys) => introsort::sort(keys, wide_less),
        }
    }

    /// The first `count` in front, equals as torch leaves them; the keys are as they were read.
    fn top_as_torch(&mut self, count: usize, in_order: bool) {
        match self {
            Self::Narrow(keys) => introsort::top(keys, count, in_order, narrow_less),
            Self::Wide(keys) => introsort::top(keys, count, in_order, wide_less),
        }
    }

    /// Whether two of the first `count`, which are in order, are equal, or the last of them and one behind it.
    fn tied(&self, count: usize, size: usize) -> bool {
        (1..count).any(|place| self.same(place - 1, place))
            || count > 0 && (count..size).any(|place| self.same(count - 1, place))
    }

    fn position(&self, place: usize) -> usize {
        match self {
            Self::Narrow(keys) => keys.get(place).map_or(0, |&key| key as u32 as usize),
            Self::Wide(keys) => keys.get(place).map_or(0, |&key| key as u64 as usize),
        }
    }

    fn same(&self, place: usize, other: usize) -> bool {
        match self {
            Self::Narrow(keys) => keys.get(place).map(|key| key >> 32) == keys.get(other).map(|key| key >> 32),
            Self::Wide(keys) => keys.get(place).map(|key| key >> 64) == keys.get(other).map(|key| key >> 64),
        }
    }
}

/// The keys by number, on several threads where they are many.
fn each<K: Send>(size: usize, key: impl Fn(usize) -> K + Send + Sync) -> Vec<K> {
    if size < PARALLEL_ABOVE {
        (0..size).map(key).collect()
    } else {
        (0..size).into_par_iter().with_min_len(SHARE).map(key).collect()
    }
}

/// The least and the greatest key.
fn span(size: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> (u64, u64) {
    let both = |(least, most): (u64, u64), other: (u64, u64)| (least.min(other.0), most.max(other.1));
    let of = |part: Range<usize>| part.map(|index| (key(index), key(index))).fold((u64::MAX, 0), both);
    if size < PARALLEL_ABOVE {
        return of(0..size);
    }
    let part = |number: usize| of(number * SHARE..size.min((number + 1) * SHARE));
    gathered(size.div_ceil(SHARE), 1, (u64::MAX, 0), part).into_iter().fold((u64::MAX, 0), both)
}

/// Elements of a line that one task reads or writes.
const SHARE: usize = 1 << 13;

/// Elements of a line above which some random floats are equal, more likely than not.
const TWINS: usize = 1 << 12;

/// Keys that one look tells to be all too late for the heap.
const LOOK: usize = 64;

/// The first `count` of `size` keys in order, each with its position: the steps are those of a heap over all keys.
struct Few<Q, B, L> {
    size: usize,
    count: usize,
    packed: Q,
    bare: B,
    less: L,
}

/// The same with the keys, by number, and room for the result.
struct PassedBy<'a, P, R, Q, B, L> {
    few: Few<Q, B, L>,
    key: R,
    heap: &'a mut Vec<P>,
}

impl<Q, B, L> Few<Q, B, L> {
    fn of<P, R>(self, key: R, heap: &mut Vec<P>) -> PassedBy<'_, P, R, Q, B, L> {
        PassedBy { few: self, key, heap }
    }
}

impl<K, P, R, Q, B, L> Task for PassedBy<'_, P, R, Q, B, L>
where
    K: Copy + Default + PartialOrd,
    P: Copy,
    R: Fn(usize) -> K,
    Q: Fn(usize, K) -> P,
    B: Fn(P) -> K,
    L: Fn(&P, &P) -> bool + Copy,
{
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { few: Few { size, count, packed, bare, less }, key, heap } = self;
        heap.extend((0..count.min(size)).map(|index| packed(index, key(index))));
        introsort::heaped(heap, less);
        let Some(mut last) = heap.first().map(|&top| bare(top)) else { return };
        for start in (count / LOOK * LOOK..size).step_by(LOOK) {
            let mut some = [K::default(); LOOK];
            let some = some.get_mut(..LOOK.min(size - start)).unwrap_or_default();
            let mut any = false;
            for (place, slot) in some.iter_mut().enumerate() {
                *slot = key(start + place);
                any |= *slot < last;
            }
            if !any {
                continue;
            }
            for (index, &key) in some.iter().enumerate().map(|(place, key)| (start + place, key)) {
                if index >= count && key < last {
                    last = bare(introsort::replaced(heap, packed(index, key), less));
                }
            }
        }
        introsort::heap_to_order(heap, less);
    }
}

fn narrow_less(one: &u64, other: &u64) -> bool {
    one >> 32 < other >> 32
}

fn wide_less(one: &u128, other: &u128) -> bool {
    one >> 64 < other >> 64
}

/// How equal elements stand to each other.
#[derive(Clone, Copy, PartialEq)]
pub enum Ties {
    /// As before.
    Stable,
    /// As torch's sort leaves them.
    Sort,
    /// As torch's top-k leaves them.
    Top,
    /// As torch's top-k leaves all elements, when nobody asked for an order.
    TopAnyOrder,
}

/// # Safety
/// As `Keys::read`.
unsafe fn arranged<T: Element>(
    memory: Memory,
    at: usize,
    by: usize,
    size: usize,
    count: usize,
    descending: bool,
    ties: Ties,
) -> Keys {
    if matches!(ties, Ties::Top | Ties::TopAnyOrder) && introsort::by_heap(count, size) {
        // SAFETY: the caller's.
        return unsafe { Keys::few::<T>(memory, at, by, size, count, descending) };
    }
    // SAFETY: the caller's.
    let read = || unsafe { Keys::read::<T>(memory, at, by, size, descending) };
    let mut keys = read();
    if ties == Ties::TopAnyOrder {
        keys.top_as_torch(count, false);
        return keys;
    }
    if ties == Ties::Sort && size > TWINS {
        keys.sort_as_torch();
        return keys;
    }
    keys.arrange(count);
    // Without equals there is one order, and ours is faster.
    let unsettled = ties != Ties::Stable && keys.tied(count, size);
    if unsettled && ties == Ties::Top {
        keys = read();
        keys.top_as_torch(count, true);
    } else if unsettled && size > introsort::SHORT {
        keys = read();
        keys.sort_as_torch();
    }
    keys
}

/// The first `count` elements of each line in order, with their positions: all of them is a sort.
///
/// # Safety
/// Geometries lie inside their memories (`T`, `T`, int64); outputs have `count` elements along `dim`.
pub unsafe fn ordered<T: Element>(
    dim: usize,
    size: usize,
    count: usize,
    descending: bool,
    ties: Ties,
    from: Place<'_>,
    values: Place<'_>,
    indices: Place<'_>,
) {
    let steps = [from, values, indices].map(|place| step(place.geometry, dim));
    if count == size && size <= RANKED && size_of::<T>() <= 4 && matches!(ties, Ties::Stable | Ties::Sort) {
        grouped([from.geometry, values.geometry, indices.geometry], dim, |starts| {
            dispatch(Ranks::<T> { starts, steps, size, descending, places: [from, values, indices], of: PhantomData });
        });
        return;
    }
    if steps[0] != 1 && matches!(ties, Ties::Top | Ties::TopAnyOrder) && introsort::by_heap(count, size) {
        // SAFETY: the caller's.
        return unsafe { few_beside::<T>(dim, size, count, descending, [from, values, indices]) };
    }
    lines([from.geometry, values.geometry, indices.geometry], dim, |[at, value_at, index_at]| {
        // SAFETY: the caller vouches for the geometries; lines do not share elements of the outputs.
        unsafe {
            let keys = arranged::<T>(from.memory, at, steps[0], size, count, descending, ties);
            let write = |places: Range<usize>| {
                for place in places {
                    let position = keys.position(place);
                    values.memory.write(value_at + place * steps[1], from.memory.read::<T>(at + position * steps[0]));
                    indices.memory.write(index_at + place * steps[2], position as i64);
                }
            };
            if count < PARALLEL_ABOVE {
                write(0..count);
            } else {
                spread_over(count.div_ceil(SHARE), 1, &|part| write(part * SHARE..count.min((part + 1) * SHARE)));
            }
        }
    });
}

/// Elements of a line up to which each counts how many come before it; torch leaves equal ones of so few in their order.
const RANKED: usize = introsort::SHORT;

/// Some short lines.
struct Ranks<'a, T> {
    starts: &'a [[usize; 3]],
    steps: [usize; 3],
    size: usize,
    descending: bool,
    places: [Place<'a>; 3],
    of: PhantomData<T>,
}

impl<T: Element> Task for Ranks<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ([from, values, indices], [read, write, note]) = (self.places, self.steps);
        let flip = if self.descending { u64::from(u32::MAX) } else { 0 };
        for &[at, value_at, index_at] in self.starts {
            let mut keys = [u64::MAX; RANKED];
            // SAFETY: `ordered` vouches for the geometries.
            unsafe {
                for (index, key) in keys.iter_mut().enumerate().take(self.size) {
                    *key = (from.memory.read::<T>(at + index * read).key() ^ flip) << 32 | index as u64;
                }
                for index in 0..self.size {
                    let rank = keys.iter().fold(0u64, |rank, &key| rank + u64::from(key < keys[index])) as usize;
                    values.memory.write(value_at + rank * write, from.memory.read::<T>(at + index * read));
                    indices.memory.write(index_at + rank * note, index as i64);
                }
            }
        }
    }
}

/// As `ordered` for a few of lines that lie side by side: several are brought together first, since each element of a
/// line alone would come from a line of memory of its own.
///
/// # Safety
/// As `ordered`.
unsafe fn few_beside<T: Element>(
    dim: usize,
    size: usize,
    count: usize,
    descending: bool,
    [from, values, indices]: [Place<'_>; 3],
) {
    let steps = [from, values, indices].map(|place| step(place.geometry, dim));
    grouped([from.geometry, values.geometry, indices.geometry], dim, |starts| {
        // SAFETY: as in `ordered`.
        let item = |line: usize, index: usize| unsafe {
            from.memory.read::<T>(starts.get(line).map_or(0, |start| start[0]) + index * steps[0])
        };
        let mut near: Vec<T> = Vec::with_capacity(starts.len() * size);
        let slots = Memory::over(near.as_mut_ptr().cast());
        for index in 0..size {
            for line in 0..starts.len() {
                // SAFETY: there is room for every element of every line.
                unsafe { slots.write(line * size + index, item(line, index)) };
            }
        }
        for (line, &[_, value_at, index_at]) in starts.iter().enumerate() {
            // SAFETY: as in `ordered`; all lines have been brought together.
            unsafe {
                let keys = Keys::few::<T>(slots, line * size, 1, size, count, descending);
                for place in 0..count {
                    let position = keys.position(place);
                    values.memory.write(value_at + place * steps[1], slots.read::<T>(line * size + position));
                    indices.memory.write(index_at + place * steps[2], position as i64);
                }
            }
        }
    });
}

/// Which element of a line to pick.
#[derive(Clone, Copy)]
pub enum Pick {
    /// The one with this many below it.
    Nth(usize),
    /// The lower middle; NaN where there is one.
    Median,
    /// The lower middle of those that are not NaN.
    NanMedian,
    /// The most frequent, the least among equally frequent ones.
    Mode,
}

/// One element of each line with its position.
///
/// # Safety
/// As `ordered`, with outputs of one element along `dim`; `size` is not 0.
pub unsafe fn picked<T: Element>(
    pick: Pick,
    dim: usize,
    size: usize,
    from: Place<'_>,
    values: Place<'_>,
    indices: Place<'_>,
) {
    let by = step(from.geometry, dim);
    lines([from.geometry, values.geometry, indices.geometry], dim, |[at, value_at, index_at]| {
        // SAFETY: as in `ordered`.
        unsafe {
            let item = |index: usize| from.memory.read::<T>(at + index * by);
            let first_nan = || (0..size).find(|&index| item(index).is_nan());
            let mut keys = Keys::read::<T>(from.memory, at, by, size, false);
            let position = match pick {
                Pick::Nth(place) => keys.nth_as_torch(place),
                Pick::Median => first_nan().unwrap_or_else(|| keys.nth((size - 1) / 2)),
                Pick::NanMedian => {
                    let numbers = (0..size).filter(|&index| !item(index).is_nan()).count();
                    keys.nth(numbers.saturating_sub(1) / 2)
                }
                Pick::Mode => {
                    keys.sort_as_torch();
                    most_frequent(&keys, size)
                }
            };
            values.memory.write(value_at, item(position));
            indices.memory.write(index_at, position as i64);
        }
    });
}

fn most_frequent(keys: &Keys, size: usize) -> usize {
    let (mut best, mut longest, mut run) = (0, 0, 0);
    for place in 0..size {
        run += 1;
        if place + 1 == size || !keys.same(place, place + 1) {
            if run > longest {
                (best, longest) = (keys.position(place), run);
            }
            run = 0;
        }
    }
    best
}

/// The distinct rows of a `[rows, width]` matrix: where each first stands, which one every row is, how often it occurs.
#[derive(Default)]
pub struct Distinct {
    pub first: Vec<i64>,
    pub inverse: Vec<i64>,
    pub counts: Vec<i64>,
}

/// # Safety
/// `memory` holds `rows * width` elements of `T` from `at` on, without gaps.
pub unsafe fn distinct<T: Element>(
    memory: Memory,
    at: usize,
    [rows, width]: [usize; 2],
    in_order: bool,
    inverse: bool,
) -> Distinct {
    // SAFETY: the caller's.
    let item = |index: usize| unsafe { memory.read::<T>(at + index) };
    if width == 1 && !in_order && rows >= TABLE_FROM && rows < u32::MAX as usize {
        let found = counted(item, rows, inverse);
        if let Some(found) = found {
            return found;
        }
    }
    let keys: Vec<u64> = (0..rows * width).map(|index| item(index).key()).collect();
    // A NaN differs from everything, itself too.
    let odd: Vec<bool> =
        (0..rows).map(|row| (row * width..(row + 1) * width).any(|index| item(index).is_nan())).collect();
    distinct_rows(&keys, &odd, [rows, width], in_order, inverse)
}

/// Elements from which a table of all keys between the least and the greatest may pay.
const TABLE_FROM: usize = 256;

/// The distinct elements of few possible ones, by a table (benchmarks/bars.py: unique); none where there are too many.
fn counted<T: Element>(item: impl Fn(usize) -> T, rows: usize, inverse: bool) -> Option<Distinct> {
    let (mut least, mut greatest, mut odd) = (u64::MAX, 0, false);
    for index in 0..rows {
        let (value, key) = (item(index), item(index).key());
        (least, greatest, odd) = (least.min(key), greatest.max(key), odd | value.is_nan());
    }
    let span = greatest - least;
    if odd || span > 2 * rows as u64 {
        return None;
    }
    let place = |index: usize| (item(index).key() - least) as usize;
    // Where each first stands, and how often it does.
    let mut table = vec![(0u32, 0u32); span as usize + 1];
    for index in (0..rows).rev() {
        let slot = &mut table[place(index)];
        *slot = (index as u32, slot.1 + 1);
    }
    let mut out = Distinct::default();
    for slot in table.iter_mut().filter(|slot| slot.1 > 0) {
        out.first.push(i64::from(slot.0));
        out.counts.push(i64::from(slot.1));
        slot.0 = out.first.len() as u32 - 1;
    }
    if inverse {
        out.inverse = (0..rows).map(|index| i64::from(table[place(index)].0)).collect();
    }
    Some(out)
}

/// The places of keys from the least to the greatest, equal ones as they come: by bytes from the lowest to the highest,
/// but for those that all keys share (benchmarks/bars.py: unique).
fn order_of(keys: &[u64]) -> Vec<usize> {
    let Some(&first) = keys.first() else { return Vec::new() };
    let mut pairs: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
    if keys.len() < 256 {
        pairs.sort_unstable();
        return pairs.into_iter().map(|(_, place)| place).collect();
    }
    let differ = keys.iter().fold(0, |bits, &key| bits | (key ^ first));
    let mut sorted = vec![(0, 0); pairs.len()];
    for shift in (0..u64::BITS).step_by(8).filter(|shift| (differ >> shift) & 0xff != 0) {
        let mut starts = [0usize; 256];
        for (key, _) in &pairs {
            starts[(key >> shift) as u8 as usize] += 1;
        }
        let mut before = 0;
        for start in &mut starts {
            before += std::mem::replace(start, before);
        }
        for &pair in &pairs {
            let start = &mut starts[(pair.0 >> shift) as u8 as usize];
            sorted[*start] = pair;
            *start += 1;
        }
        std::mem::swap(&mut pairs, &mut sorted);
    }
    pairs.into_iter().map(|(_, place)| place).collect()
}

fn distinct_rows(keys: &[u64], odd: &[bool], [rows, width]: [usize; 2], in_order: bool, inverse: bool) -> Distinct {
    let row = |index: usize| keys.get(index * width..(index + 1) * width).unwrap_or(&[]);
    let mut order: Vec<usize> = if width == 1 && !in_order { order_of(keys) } else { (0..rows).collect() };
    if width != 1 && !in_order {
        if rows >= PARALLEL_ABOVE {
            order.par_sort_by(|&a, &b| row(a).cmp(row(b)));
        } else {
            order.sort_by(|&a, &b| row(a).cmp(row(b)));
        }
    }
    let mut out = Distinct { inverse: vec![0; if inverse { rows } else { 0 }], ..Distinct::default() };
    let mut last: Option<usize> = None;
    for index in order {
        let fresh = odd.get(index).copied().unwrap_or(false);
        if last.is_none_or(|last| row(last) != row(index) || fresh) {
            out.first.push(index as i64);
            out.counts.push(0);
        }
        last = Some(index);
        if let Some(count) = out.counts.last_mut() {
            *count += 1;
        }
        if let Some(slot) = out.inverse.get_mut(index) {
            *slot = out.first.len() as i64 - 1;
        }
    }
    out
}
