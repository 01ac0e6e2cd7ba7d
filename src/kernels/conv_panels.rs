//! Convolutions as products of matrices whose columns are windows, brought together from the sheets a panel at a time
//! (benchmarks/bars.py: convolutions with stride 2, by AVX2).
//!
//! A tile over the sheets themselves reads vectors that begin anywhere, and half of them lie on two lines of the cache; those
//! of a panel do not, and a panel serves all filters.

use std::ops::Range;
use std::sync::Arc;

use super::conv_tile::WIDEST;
use super::convolve::{Pass, ROUND, lay_out_shared};
use super::iterate::spread_over;
use super::micro::{Ahead, Finish, Isa, Panel, Start, Tile};
use super::product::Even;
use super::scratch::{Room, Shared, with_scratch};
use super::simd::Simd;
use super::widest::{self, Work};
use crate::guard;
use crate::tensor::kept::{Order, Values};

/// Depth of one block of sums, and floats of windows and sums of one task: they stay in the second cache.
const DEPTH: usize = 384;
const NEAR: usize = 1 << 17;

/// Filters, depths and columns from which on bringing windows together pays.
const ROWS: usize = 48;
const DEEP: usize = 128;
const COLUMNS: usize = 256;

/// Whether panels are the faster way: with a stride, where sheets are many and what tiles read of them lies far apart
/// (128-256 3x3 /2 at 28 b8 by AVX2: 8.7 ms, 8.1 by panels; the gradient of its input 10.9 and 8.5). The widest vectors gain
/// where one image is all there is (64-128 at 56 b1: 790 us, 630 by panels) and not for several.
pub fn suits(pass: &Pass<'_>, units: usize) -> bool {
    let large = pass.rows >= ROWS && pass.depth() >= DEEP && units * pass.places() >= COLUMNS;
    let strided = pass.sheet.is_strided() || !pass.is_dense();
    let gains = match widest::lanes() {
        8 => true,
        16 => units == 1,
        _ => false,
    };
    large && strided && pass.groups == 1 && gains
}

/// Computes the rows of all units of a pass of one group.
pub fn run(pass: &Pass<'_>, x: &[f32], units: usize, out: Shared) {
    let left = Left::new(pass);
    let (direct, image, each) = (pass.sheet.is_source(), pass.image(), pass.places());
    let step = if direct { image } else { pass.sources * pass.sheet.channel() };
    let round = (ROUND / step).clamp(1, units);
    let mut memory = Room::new(if direct { 0 } else { round * step + WIDEST });
    let sheets = memory.shared();
    for first in (0..units).step_by(round) {
        let count = round.min(units - first);
        let x = &x[first * image..][..count * image];
        if !direct {
            lay_out_shared(&pass.sheet, pass.sources, x, sheets, step);
            // SAFETY: it belongs to the room, and no task is at work.
            unsafe { sheets.slice(count * step, WIDEST) }.fill(0.0);
        }
        let source = if direct { Shared::of_read(x) } else { sheets };
        let room = count * step + if direct { 0 } else { WIDEST };
        let part = Part {
            left: &left,
            source,
            room,
            step,
            columns: count * each,
            out: out.at_offset(first * pass.plane() * pass.rows),
        };
        part.run();
    }
}

/// The filters, by panels of rows, and where each depth is found.
struct Left<'a> {
    pass: &'a Pass<'a>,
    isa: &'static Isa,
    rows: Even,
    panels: Packed,
    /// Of each depth on the sheets.
    offsets: Vec<u32>,
    blocks: Even,
}

/// Panels of rows that were made for this call, or are kept beside the weight.
enum Packed {
    Own(Vec<f32>),
    Kept(Arc<Values>),
}

impl Packed {
    fn get(&self) -> &[f32] {
        match self {
            Self::Own(panels) => panels,
            Self::Kept(values) => values.get(),
        }
    }
}

impl<'a> Left<'a> {
    fn new(pass: &'a Pass<'a>) -> Self {
        let isa = Isa::current();
        let walk = || (0..pass.segments).flat_map(|segment| pass.pairs.iter().map(move |&pair| (segment, pair)));
        let channel = pass.sheet.channel();
        let offsets = walk().map(|(segment, [_, from])| (segment * channel) as u32 + from).collect();
        let places: Vec<u32> = walk().map(|(segment, [at, _])| (segment * pass.channel_step) as u32 + at).collect();
        let rows = Even::new(pass.rows, isa.height);
        let panels = packed(pass, isa, rows, &places);
        Self { pass, isa, rows, panels, offsets, blocks: Even::new(pass.depth(), DEPTH) }
    }
}

/// The panels of all rows: kept ones, from the second time on that the weight is seen.
fn packed(pass: &Pass<'_>, isa: &'static Isa, rows: Even, places: &[u32]) -> Packed {
    let make = || pack(pass, isa, rows, places);
    let keeper = pass.keeper.map(|keeper| keeper.of(Order::Rows));
    let kept = keeper.and_then(|keeper| keeper.seen_again(pass.rows * pass.depth(), make));
    kept.map_or_else(|| Packed::Own(make()), Packed::Kept)
}

/// Panels of rows, depth by depth; `places` are those of the depths in a row of the weight.
fn pack(pass: &Pass<'_>, isa: &'static Isa, rows: Even, places: &[u32]) -> Vec<f32> {
    let depth = places.len();
    let natural = places.iter().zip(0..).all(|(&at, index)| at == index);
    let mut memory = Room::new(pass.rows * depth);
    let to = memory.shared();
    spread_over(rows.panels, (1 << 13) / (isa.height * depth), &|panel| {
        let own = rows.at(panel);
        // SAFETY: each panel has a place of its own.
        let to = unsafe { to.slice(own.start * depth, own.len() * depth) };
        let weight = &pass.weight[own.start * pass.row_step..];
        if natural {
            let fill = Panel { to: to.as_mut_ptr(), width: own.len(), lanes: own.len(), depth };
            // SAFETY: rows of the weight are `row_step` apart and have an element for each depth.
            return unsafe { (isa.pack)(fill, weight.as_ptr(), pass.row_step, 1) };
        }
        for (line, &at) in to.chunks_exact_mut(own.len()).zip(places) {
            let from = weight[at as usize..].iter().step_by(pass.row_step);
            line.iter_mut().zip(from).for_each(|(slot, &value)| *slot = value);
        }
    });
    // SAFETY: all panels are written.
    unsafe { memory.filled() }
}

/// Sums of all rows over some panels of windows that lie one after the other.
pub struct Sums<'a> {
    pub isa: &'static Isa,
    /// Rows of all panels.
    pub to: &'a mut [f32],
    pub windows: &'a [f32],
    pub panels: usize,
    pub depth: usize,
}

impl Sums<'_> {
    /// Finishes the sums of these rows, whose panel begins at `a`.
    ///
    /// # Safety
    /// The panel of rows has as many depths as the windows.
    pub unsafe fn finish(&mut self, a: *const f32, rows: &Range<usize>, finish: Finish) {
        let (width, step) = (self.isa.width(), self.panels * self.isa.width());
        let room = &mut self.to[rows.start * step..rows.end * step];
        let windows = self.windows.chunks_exact(width * self.depth);
        for (index, windows) in windows.take(self.panels).enumerate() {
            let out = room[index * width..].as_mut_ptr();
            let tile = Tile {
                depth: self.depth,
                a,
                a_row: 1,
                a_step: rows.len(),
                b: windows.as_ptr(),
                b_step: width,
                out,
                out_row: step,
                out_column: 1,
                columns: width,
                finish,
                ahead: Ahead::of(out),
                paired: false,
                streamed: false,
            };
            // SAFETY: the caller's; the windows have so many depths, and the sums whole tiles.
            unsafe { self.isa.run(&tile, rows.len()) };
        }
    }
}

/// Some units, whose sheets are there.
struct Part<'a> {
    left: &'a Left<'a>,
    source: Shared,
    /// Floats that may be read from the source, and floats of one unit.
    room: usize,
    step: usize,
    /// Places of all units.
    columns: usize,
    out: Shared,
}

impl Part<'_> {
    fn run(&self) {
        let Left { pass, isa, blocks, .. } = self.left;
        let (width, threads) = (isa.width(), guard::threads());
        let panels = self.columns.div_ceil(width);
        let deepest = blocks.largest();
        let most = (NEAR / (width * (pass.rows + deepest))).max(1);
        let tasks = Even::in_panels(panels, panels.div_ceil(most).next_multiple_of(threads).min(panels));
        let room = tasks.largest() * width;
        spread_over(tasks.panels, 1, &|task| {
            // A line behind the last window is written and not read.
            with_scratch(room * (pass.rows + deepest) + width, |memory| {
                let (sums, windows) = memory.split_at_mut(room * pass.rows);
                let panels = tasks.at(task);
                self.sum_up(&panels, sums, windows);
                let places = panels.start * width..(panels.end * width).min(self.columns);
                self.put(places, panels.len() * width, sums);
            });
        });
    }

    /// The sums of some panels of columns, all rows of them.
    fn sum_up(&self, panels: &Range<usize>, sums: &mut [f32], windows: &mut [f32]) {
        let Left { pass, isa, rows, blocks, offsets, .. } = self.left;
        let width = isa.width();
        for block in 0..blocks.panels {
            let deep = blocks.at(block);
            for (index, panel) in panels.clone().enumerate() {
                let runs = self.runs(panel * width..((panel + 1) * width).min(self.columns));
                let to = &mut windows[index * width * deep.len()..];
                widest::run(Bring { part: self, runs: &runs, offsets: &offsets[deep.clone()], width, to });
            }
            let mut sums = Sums { isa, to: sums, windows, panels: panels.len(), depth: deep.len() };
            for row in (0..rows.panels).map(|panel| rows.at(panel)) {
                let start = pass.bias.filter(|_| block == 0).map(|bias| Start {
                    from: bias[row.start..].as_ptr(),
                    row: 1,
                    column: 0,
                });
                let a = &self.left.panels.get()[row.start * pass.depth() + deep.start * row.len()..];
                let finish = Finish { add: block > 0, start, ..Finish::PLAIN };
                // SAFETY: the panel of rows has so many depths.
                unsafe { sums.finish(a.as_ptr(), &row, finish) };
            }
        }
    }

    /// Where the windows of some columns begin in the source, as runs of neighbours.
    fn runs(&self, places: Range<usize>) -> Vec<Run> {
        let (pass, each, across) = (self.left.pass, self.left.pass.places(), self.left.pass.sheet.outputs[2]);
        let mut runs = Vec::new();
        let mut place = places.start;
        while place < places.end {
            let (unit, at) = (place / each, place % each);
            let length = (across - at % across).min(places.end - place);
            runs.push(Run { from: unit * self.step + pass.sheet.column_of(at), to: place - places.start, length });
            place += length;
        }
        runs
    }

    /// Copies the sums of these places, rows of which are `step` apart, to where they belong.
    fn put(&self, places: Range<usize>, step: usize, sums: &[f32]) {
        let (pass, each, plane) = (self.left.pass, self.left.pass.places(), self.left.pass.plane());
        let mut place = places.start;
        while place < places.end {
            let (unit, at) = (place / each, place % each);
            let length = (each - at).min(places.end - place);
            let from = &sums[place - places.start..];
            let to = unit * pass.rows * plane;
            let targets: Vec<u32> = match pass.is_dense() {
                true => Vec::new(),
                false => (at..at + length).map(|at| pass.target_of(at) as u32).collect(),
            };
            for row in 0..pass.rows {
                let from = &from[row * step..][..length];
                // SAFETY: every task has places of its own.
                let plane = unsafe { self.out.slice(to + row * plane, plane) };
                if pass.is_dense() {
                    plane[at..at + length].copy_from_slice(from);
                } else {
                    targets.iter().zip(from).for_each(|(&target, &sum)| plane[target as usize] = sum);
                }
            }
            place += length;
        }
    }
}

/// Columns of a panel whose windows are neighbours on the sheet.
struct Run {
    from: usize,
    to: usize,
    length: usize,
}

/// Fills a panel with the windows of some runs.
struct Bring<'a> {
    part: &'a Part<'a>,
    runs: &'a [Run],
    offsets: &'a [u32],
    width: usize,
    /// With room for a vector behind the panel.
    to: &'a mut [f32],
}

impl Work for Bring<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { part, runs, offsets, width, to } = self;
        let furthest = offsets.iter().max().map_or(0, |&offset| offset as usize);
        let last = runs.iter().map(|run| run.from + run.length).max().unwrap_or(0);
        let (source, to) = (part.source.at(0).cast_const(), to[..offsets.len() * width + S::LANES].as_mut_ptr());
        let filled = runs.last().map_or(0, |run| run.to + run.length);
        // SAFETY: the source has whole vectors behind every run, or is copied one by one; a whole vector writes too much, and
        // what follows it is written after it.
        unsafe {
            if last + furthest + S::LANES > part.room {
                for (depth, &offset) in offsets.iter().enumerate() {
                    for run in runs {
                        let from = source.add(run.from + offset as usize);
                        std::ptr::copy_nonoverlapping(from, to.add(depth * width + run.to), run.length);
                    }
                }
            } else if let [Run { from, length, .. }] = *runs
                && length == 2 * S::LANES
            {
                for (depth, &offset) in offsets.iter().enumerate() {
                    let (from, to) = (source.add(from + offset as usize), to.add(depth * width));
                    S::store(to, S::load(from));
                    S::store(to.add(S::LANES), S::load(from.add(S::LANES)));
                }
            } else {
                for (depth, &offset) in offsets.iter().enumerate() {
                    for run in runs {
                        let (from, to) = (source.add(run.from + offset as usize), to.add(depth * width + run.to));
                        S::store(to, S::load(from));
                        if run.length > S::LANES {
                            S::store(to.add(S::LANES), S::load(from.add(S::LANES)));
                        }
                    }
                }
            }
            if filled < width {
                for depth in 0..offsets.len() {
                    std::slice::from_raw_parts_mut(to.add(depth * width + filled), width - filled).fill(0.0);
                }
            }
        }
    }
}
