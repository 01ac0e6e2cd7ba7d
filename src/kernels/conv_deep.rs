//! Convolutions of many small images: filters side by side, since rows of few results would leave vectors empty
//! (benchmarks/bars.py: convolutions of 7x7).

use std::ops::Range;
use std::sync::Arc;

use super::conv_tile::{self, Start, Walk};
use super::convolve::{LayOut, Pass, ROUND, lay_out_shared, split};
use super::iterate::spread_over;
use super::scratch::{Room, Shared, with_scratch};
use super::simd::Simd;
use super::widest::{self, Work};
use crate::guard;
use crate::tensor::kept::{Keeper, Values};

/// Filters of a panel: three of the widest vectors.
const PANEL: usize = 48;

/// Filters of each panel of so many: the last one has no vector to itself, which would wait for its factors.
fn panels_of(filters: usize) -> Vec<Range<usize>> {
    const THIRD: usize = PANEL / 3;
    let last = filters % PANEL;
    let lonely = filters > PANEL && (1..=THIRD).contains(&last);
    let even = if lonely { filters / PANEL - 1 } else { filters / PANEL } * PANEL;
    let step = if lonely { 2 * THIRD } else { PANEL };
    let rest = (even..filters).step_by(step).map(|first| first..(first + step).min(filters));
    split(even, PANEL).into_iter().chain(rest).collect()
}

/// Places whose sums are held at once, and depths that are added to them at a time by the widest vectors, of others as many
/// fewer: so many of the panel stay in the first cache (512-512 3x3 at 7 b8 on one thread of Zen 3: 74 GFLOP/s, 54 from the
/// next one).
const PLACES: usize = 512;
const DEPTHS: usize = 144;

/// Floats of the weights and of one unit's sheets that stay in the second cache together.
const TOGETHER: usize = 7 << 16;

/// Computes the rows of all units of a pass of one group.
pub fn run(pass: &Pass<'_>, x: &[f32], units: usize, out: Shared) {
    let (direct, panel, threads) = (pass.sheet.is_source(), pass.depth() * PANEL, guard::threads());
    let kept = pass.keeper.and_then(|keeper| kept_panels(pass, keeper));
    let step = if direct { pass.image() } else { pass.sources * pass.sheet.channel() };
    let even = units >= 4 * threads || units.is_multiple_of(threads);
    if even && pass.rows * pass.depth() + step <= TOGETHER {
        return match kept {
            Some(kept) => run_apart(pass, x, units, out, kept.get()),
            None => run_apart(pass, x, units, out, &packed(pass)),
        };
    }
    let round = (ROUND / step).clamp(1, units);
    let mut memory = Room::new(if direct { 0 } else { round * step });
    let shared = memory.shared();
    for first in (0..units).step_by(round) {
        let count = round.min(units - first);
        let x = &x[first * pass.image()..][..count * pass.image()];
        if !direct {
            lay_out_shared(&pass.sheet, pass.sources, x, shared, step);
        }
        let images = Shared::of_read(x);
        let places = count * pass.places();
        let parts = parts_of(pass.rows, places, threads);
        let out = out.at_offset(first * pass.plane() * pass.rows);
        spread_over(parts.len(), 1, &|index| {
            let (number, rows, places) = parts[index].clone();
            let sheets = if direct { images.at(0) } else { shared.at(0) };
            let ready = kept.as_ref().map(|kept| &kept.get()[number * panel..][..panel]);
            let own = if ready.is_some() { 0 } else { panel };
            with_scratch(own + PLACES * PANEL, |memory| {
                let (memory, sums) = memory.split_at_mut(own);
                if ready.is_none() {
                    widest::run(Pack { pass, rows: rows.clone(), to: memory });
                }
                let panel = ready.unwrap_or(memory);
                widest::run(Deep { pass, sheets, step, rows, places, out, panel, sums });
            });
        });
    }
}

/// As `run`, unit by unit with the panels of all rows.
fn run_apart(pass: &Pass<'_>, x: &[f32], units: usize, out: Shared, panels: &[f32]) {
    let (image, each, size) = (pass.image(), pass.places(), pass.depth() * PANEL);
    let length = if pass.sheet.is_source() { 0 } else { pass.sources * pass.sheet.channel() };
    spread_over(units, 1, &|unit| {
        with_scratch(length + PLACES * PANEL, |memory| {
            let (sheets, sums) = memory.split_at_mut(length);
            let x = &x[unit * image..][..image];
            let sheets = if length > 0 {
                widest::run(LayOut::all(&pass.sheet, x, sheets));
                sheets.as_ptr()
            } else {
                x.as_ptr()
            };
            for (rows, panel) in panels_of(pass.rows).into_iter().zip(panels.chunks_exact(size)) {
                let places = unit * each..(unit + 1) * each;
                widest::run(Deep { pass, sheets, step: 0, rows, places, out, panel, sums });
            }
        });
    });
}

/// The panels of all rows.
fn packed(pass: &Pass<'_>) -> Vec<f32> {
    let (parts, size) = (panels_of(pass.rows), pass.depth() * PANEL);
    let mut panels = Room::new(parts.len() * size);
    let to = panels.shared();
    spread_over(parts.len(), 1, &|index| {
        // SAFETY: each panel has a place of its own.
        let to = unsafe { to.slice(index * size, size) };
        widest::run(Pack { pass, rows: parts[index].clone(), to });
    });
    // SAFETY: all panels are written.
    unsafe { panels.filled() }
}

/// The panels of all rows that were kept, or are from now on, the second time that the weight is seen.
fn kept_panels(pass: &Pass<'_>, keeper: &Keeper) -> Option<Arc<Values>> {
    if !is_natural(pass) {
        return None;
    }
    keeper.seen_again(panels_of(pass.rows).len() * pass.depth() * PANEL, || packed(pass))
}

/// The number of a panel, its rows, and places for each task, thread after thread: whole panels, as many for each, and a
/// part of the places of those that are left. Results do not depend on it.
fn parts_of(rows: usize, places: usize, threads: usize) -> Vec<(usize, Range<usize>, Range<usize>)> {
    let panels: Vec<_> = panels_of(rows).into_iter().enumerate().collect();
    let whole = panels.iter().filter(|(_, rows)| rows.len() == PANEL).count() / threads * threads;
    let step = places.div_ceil(threads).next_multiple_of(8).max(64);
    let shares = split(places, step);
    let mut parts = Vec::new();
    for thread in 0..threads.max(shares.len()) {
        let own = (thread * whole / threads).min(whole)..((thread + 1) * whole / threads).min(whole);
        parts.extend(panels[own].iter().map(|(number, rows)| (*number, rows.clone(), 0..places)));
        if let Some(share) = shares.get(thread) {
            parts.extend(panels[whole..].iter().map(|(number, rows)| (*number, rows.clone(), share.clone())));
        }
    }
    parts
}

/// Some rows of results of all units, at some of their places.
struct Deep<'a> {
    pass: &'a Pass<'a>,
    /// The sheets, each unit so many floats after the last.
    sheets: *const f32,
    step: usize,
    rows: Range<usize>,
    /// Places are counted through all units.
    places: Range<usize>,
    out: Shared,
    /// What `Pack` has made of the rows.
    panel: &'a [f32],
    /// `PANEL` for each of `PLACES`.
    sums: &'a mut [f32],
}

impl Work for Deep<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let mut start = [0.0; PANEL];
        if let Some(bias) = self.pass.bias {
            start[..self.rows.len()].copy_from_slice(&bias[self.rows.clone()]);
        }
        for first in self.places.clone().step_by(PLACES) {
            let places = first..(first + PLACES).min(self.places.end);
            let sums = &mut self.sums[..places.len() * PANEL];
            sums.as_chunks_mut::<PANEL>().0.fill(start);
            let sums = sums.as_mut_ptr();
            // Found once, since each is used again for every block of depths.
            let starts: Vec<*const f32> = places.clone().map(|place| self.at(place)).collect();
            // SAFETY: the caller's; there are so many sums.
            unsafe {
                self.add::<S>(&starts, sums);
                self.put::<S>(sums, places);
            }
        }
    }
}

impl Deep<'_> {
    /// Adds all products of the places whose windows begin at `starts` to their sums, a block of depths after the other.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and there are `PANEL` sums for each place.
    #[inline(always)]
    unsafe fn add<S: Simd>(&self, starts: &[*const f32], sums: *mut f32) {
        let pass = self.pass;
        let pairs: Vec<[u32; 2]> =
            pass.pairs.iter().zip(0_u32..).map(|(&[_, from], index)| [from, index * PANEL as u32]).collect();
        let (a_step, b_step) = (pass.sheet.channel(), pairs.len() * PANEL);
        let depths = DEPTHS * S::LANES / 16;
        let segments = (depths / pairs.len()).max(1);
        for segment in (0..pass.segments).step_by(segments) {
            let count = segments.min(pass.segments - segment);
            for pairs in pairs.chunks(depths) {
                let walk = Walk { segments: count, a_step, b_step, pairs };
                // SAFETY: the caller's.
                unsafe { self.add_block::<S>(walk, segment, starts, sums) };
            }
        }
    }

    /// Adds what the walk meets from `segment` on.
    ///
    /// # Safety
    /// As `add`; the walk is a part of the pass's.
    #[inline(always)]
    unsafe fn add_block<S: Simd>(&self, walk: Walk<'_>, segment: usize, starts: &[*const f32], sums: *mut f32) {
        let breadth = self.rows.len().div_ceil(S::LANES).min(3);
        for first in (0..self.rows.len()).step_by(breadth * S::LANES) {
            let b = self.panel[segment * walk.b_step + first..].as_ptr();
            let mut place = 0;
            while place < starts.len() {
                let height = conv_tile::height::<S>(starts.len() - place);
                let a: [*const f32; 8] = std::array::from_fn(|r| {
                    starts[(place + r).min(starts.len() - 1)].wrapping_add(segment * walk.a_step)
                });
                // SAFETY: the panel has whole vectors of all depths.
                unsafe {
                    let to = (sums.add(place * PANEL + first), PANEL);
                    conv_tile::compute::<S>((height, breadth), walk, &a, b, None, Start::There, to);
                }
                place += height;
            }
        }
    }

    /// Turns the sums round: places lie side by side in the result, but those of one unit only.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the results are there.
    #[inline(always)]
    unsafe fn put<S: Simd>(&self, sums: *const f32, places: Range<usize>) {
        let (pass, plane, each) = (self.pass, self.pass.plane(), self.pass.places());
        let count = self.rows.len();
        let mut place = places.start;
        while place < places.end {
            let (unit, at) = (place / each, place % each);
            let filter = unit * pass.rows + self.rows.start;
            let from = sums.wrapping_add((place - places.start) * PANEL);
            if !pass.is_dense() {
                let to = filter * plane + pass.target_of(at);
                for row in 0..count {
                    // SAFETY: the caller's.
                    unsafe { *self.out.at(to + row * plane) = *from.add(row) };
                }
                place += 1;
                continue;
            }
            let tall = (places.end - place).min(each - at).min(S::LANES);
            for row in (0..count).step_by(S::LANES) {
                // SAFETY: the caller's; there are `PANEL` sums of each place.
                unsafe {
                    let to = self.out.at((filter + row) * plane + at);
                    S::transpose((from.add(row), PANEL), (to, plane), tall, S::LANES.min(count - row));
                }
            }
            place += tall;
        }
    }

    /// Where the window of a place begins.
    #[inline(always)]
    fn at(&self, place: usize) -> *const f32 {
        let each = self.pass.places();
        self.sheets.wrapping_add(place / each * self.step + self.pass.sheet.column_of(place % each))
    }
}

/// Whether depths follow each other as elements of the weight do.
fn is_adjacent(pass: &Pass<'_>) -> bool {
    pass.pairs.iter().zip(0..).all(|(&[at, _], index)| at == index)
}

/// Whether a row of the weight from end to end is what a panel has of it.
fn is_natural(pass: &Pass<'_>) -> bool {
    is_adjacent(pass) && pass.segments * pass.pairs.len() == pass.row_step
}

/// Turns the weights of some rows: for each depth one row of the panel.
struct Pack<'a> {
    pass: &'a Pass<'a>,
    rows: Range<usize>,
    /// As large as a panel of all depths.
    to: &'a mut [f32],
}

impl Work for Pack<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (pass, count) = (self.pass, self.rows.len());
        let adjacent = is_adjacent(pass);
        self.to.fill(0.0);
        for segment in 0..pass.segments {
            let from = &pass.weight[segment * pass.channel_step + self.rows.start * pass.row_step..];
            let to = &mut self.to[segment * pass.pairs.len() * PANEL..][..pass.pairs.len() * PANEL];
            if adjacent {
                for first in (0..count).step_by(S::LANES) {
                    for depth in (0..pass.pairs.len()).step_by(S::LANES) {
                        let (rows, depths) = (S::LANES.min(count - first), S::LANES.min(pass.pairs.len() - depth));
                        // SAFETY: the caller's; rows of the weight are `row_step` apart.
                        unsafe {
                            let from = from.as_ptr().add(first * pass.row_step + depth);
                            let to = to.as_mut_ptr().add(depth * PANEL + first);
                            S::transpose((from, pass.row_step), (to, PANEL), rows, depths);
                        }
                    }
                }
                continue;
            }
            for (to, &[at, _]) in to.as_chunks_mut::<PANEL>().0.iter_mut().zip(&pass.pairs) {
                let from = from[at as usize..].iter().step_by(pass.row_step);
                to.iter_mut().zip(from).take(count).for_each(|(slot, &value)| *slot = value);
            }
        }
    }
}
