//! The gradient of a convolution's weight as one product over all results of all images, by panels of windows
//! (benchmarks/bars.py: convolutions with stride 2 backward, by AVX2).
//!
//! The sum of a window element runs over images as it runs over the results of one: small images make no short sums.

use std::ops::Range;

use super::conv::Problem;
use super::conv_panels::Sums;
use super::convolve::{ROUND, lay_out_shared};
use super::iterate::spread_over;
use super::micro::{Finish, Isa, Panel};
use super::product::Even;
use super::scratch::{Room, Shared, with_scratch};
use super::sheet::Sheet;
use super::simd::Simd;
use super::widest::{self, Work};
use crate::guard;

/// Results of one block of sums, and floats of windows and sums of one task: they stay in the second cache.
const DEPTH: usize = 384;
const NEAR: usize = 1 << 17;

/// Filters, channels and results from which on bringing windows together pays.
const FILTERS: usize = 16;
const CHANNELS: usize = 16;
const RESULTS: usize = 128;

/// Results of one image that are few, and those with a stride.
const FEW: usize = 36;
const STRIDED: usize = 200;

/// Whether panels are the faster way: where images have few results (64-128 4x4 /2 at 8 b32: 2.7 ms, 1.6 by panels). The
/// widest vectors were slower by them (128-256 3x3 /2 at 28 b8 there and back: 17.7 ms, 20.0 by panels).
pub fn suits(p: &Problem, results: usize) -> bool {
    let plane: usize = p.output.iter().product();
    let small = plane <= FEW || (p.stride != [1; 3] && plane <= STRIDED);
    let whole = 4 * p.channels.next_multiple_of(16) <= 5 * p.channels;
    let large = p.filters >= FILTERS && p.channels >= CHANNELS && results >= RESULTS;
    small && whole && large && p.groups == 1 && widest::lanes() == 8
}

/// The gradient of the weight, written to `weight`, of a problem of one group.
pub fn run(p: &Problem, sheet: &Sheet, x: &[f32], grad: &[f32], weight: &mut [f32]) {
    let image = p.channels * p.input.iter().product::<usize>();
    let plane: usize = p.output.iter().product();
    let batch = x.len() / image;
    let direct = sheet.is_source();
    let step = if direct { image } else { p.channels * sheet.channel() };
    let round = (ROUND / (step + p.filters * plane)).clamp(1, batch);
    let (mut sheets, mut turned) =
        (Room::new(if direct { 0 } else { round * step }), Room::new(round * p.filters * plane));
    let (sheets, turned, weight) = (sheets.shared(), turned.shared(), Shared::of(weight));
    for first in (0..batch).step_by(round) {
        let count = round.min(batch - first);
        let x = &x[first * image..][..count * image];
        if !direct {
            lay_out_shared(sheet, p.channels, x, sheets, step);
        }
        let isa = Isa::current();
        let part = Part {
            p,
            sheet,
            isa,
            source: if direct { Shared::of_read(x) } else { sheets },
            step,
            plane,
            grad: &grad[first * p.filters * plane..],
            turned,
            rows: Even::new(p.filters, isa.height),
            blocks: Even::new(count * plane, DEPTH),
            weight,
            add: first > 0,
        };
        part.turn();
        part.run();
    }
}

/// Some images, whose sheets are there.
struct Part<'a> {
    p: &'a Problem,
    sheet: &'a Sheet,
    isa: &'static Isa,
    source: Shared,
    /// Floats of one image's sheets, and results of one of its filters.
    step: usize,
    plane: usize,
    grad: &'a [f32],
    /// The gradients by blocks of results, each by panels of filters.
    turned: Shared,
    rows: Even,
    blocks: Even,
    weight: Shared,
    /// Whether what stands in the weight is a part of the sum.
    add: bool,
}

impl Part<'_> {
    /// Pieces of a block of results that belong to one image: where they begin in the block, image, place, length.
    fn pieces(&self, deep: &Range<usize>) -> impl Iterator<Item = [usize; 4]> + use<> {
        let (mut at, deep, plane) = (deep.start, deep.clone(), self.plane);
        std::iter::from_fn(move || {
            let length = (plane - at % plane).min(deep.end - at);
            let piece = (length > 0).then_some([at - deep.start, at / plane, at % plane, length]);
            at += length;
            piece
        })
    }

    /// Fills the panels of gradients.
    fn turn(&self) {
        let filters = self.p.filters;
        spread_over(self.blocks.panels * self.rows.panels, 1, &|index| {
            let (deep, own) = (self.blocks.at(index / self.rows.panels), self.rows.at(index % self.rows.panels));
            for [first, image, place, depth] in self.pieces(&deep) {
                let to = self.turned.at(deep.start * filters + own.start * deep.len() + first * own.len());
                let panel = Panel { to, width: own.len(), lanes: own.len(), depth };
                let from = &self.grad[(image * filters + own.start) * self.plane + place..];
                // SAFETY: each piece of each panel has a place of its own, and rows of the gradient are a plane apart.
                unsafe { (self.isa.pack)(panel, from.as_ptr(), self.plane, 1) };
            }
        });
    }

    /// Channels of a panel: those of one window element.
    fn across(&self) -> usize {
        self.p.channels.div_ceil(self.isa.width())
    }

    fn run(&self) {
        let (width, threads, filters) = (self.isa.width(), guard::threads(), self.p.filters);
        let panels = self.sheet.taps.len() * self.across();
        let most = (NEAR / (width * (filters + self.blocks.largest()))).max(1);
        let tasks = Even::in_panels(panels, panels.div_ceil(most).next_multiple_of(threads).min(panels));
        let room = tasks.largest() * width;
        spread_over(tasks.panels, 1, &|task| {
            with_scratch(room * (filters + self.blocks.largest()), |memory| {
                let (sums, windows) = memory.split_at_mut(room * filters);
                let panels = tasks.at(task);
                for block in 0..self.blocks.panels {
                    self.add_block(&panels, block, sums, windows);
                }
                self.put(&panels, sums);
            });
        });
    }

    /// Adds the products of a block of results to the sums of some panels.
    fn add_block(&self, panels: &Range<usize>, block: usize, sums: &mut [f32], windows: &mut [f32]) {
        let (deep, width) = (self.blocks.at(block), self.isa.width());
        for (panel, to) in panels.clone().zip(windows.chunks_exact_mut(width * deep.len())) {
            widest::run(Bring { part: self, panel, deep: deep.clone(), to });
        }
        let mut sums = Sums { isa: self.isa, to: sums, windows, panels: panels.len(), depth: deep.len() };
        for row in (0..self.rows.panels).map(|panel| self.rows.at(panel)) {
            let a = self.turned.at(deep.start * self.p.filters + row.start * deep.len());
            // SAFETY: the panel of rows has so many depths.
            unsafe { sums.finish(a, &row, Finish { add: block > 0, ..Finish::PLAIN }) };
        }
    }

    /// Puts the sums of some panels where they belong.
    fn put(&self, panels: &Range<usize>, sums: &[f32]) {
        let (width, window) = (self.isa.width(), self.p.kernel.iter().product::<usize>());
        for (filter, sums) in sums.chunks_exact(panels.len() * width).take(self.p.filters).enumerate() {
            for (panel, sums) in panels.clone().zip(sums.chunks_exact(width)) {
                let (tap, channel) = (self.sheet.taps[panel / self.across()].0, panel % self.across() * width);
                let first = (filter * self.p.channels + channel) * window + tap;
                for (lane, &sum) in sums.iter().take(self.p.channels - channel).enumerate() {
                    let to = self.weight.at(first + lane * window);
                    // SAFETY: every panel has elements of its own.
                    unsafe { *to = if self.add { *to + sum } else { sum } };
                }
            }
        }
    }
}

/// Fills a panel with what the channels of one window element read, a row for each result.
struct Bring<'a> {
    part: &'a Part<'a>,
    panel: usize,
    deep: Range<usize>,
    to: &'a mut [f32],
}

impl Work for Bring<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { part, panel, deep, to } = self;
        let (sheet, width, across) = (part.sheet, part.isa.width(), part.sheet.outputs[2]);
        let channel = panel % part.across() * width;
        let lanes = width.min(part.p.channels - channel);
        if lanes < width {
            to.fill(0.0);
        }
        let from = channel * sheet.channel() + sheet.taps[panel / part.across()].1;
        for [first, image, place, length] in part.pieces(&deep) {
            let (mut at, end) = (place, place + length);
            while at < end {
                let count = (across - at % across).min(end - at).min(S::LANES);
                let source = part.source.at(image * part.step + from + sheet.column_of(at)).cast_const();
                for lane in (0..lanes).step_by(S::LANES) {
                    // SAFETY: these places of these channels lie on the sheets, and the panel has a row for each.
                    unsafe {
                        let to = to.as_mut_ptr().add((first + at - place) * width + lane);
                        let source = source.add(lane * sheet.channel());
                        S::transpose((source, sheet.channel()), (to, width), S::LANES.min(lanes - lane), count);
                    }
                }
                at += count;
            }
        }
    }
}
