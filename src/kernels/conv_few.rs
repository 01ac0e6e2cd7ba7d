//! Convolutions of few results by large weights: all results of a filter side by side in a few vectors, so that the
//! weights are gone through once (benchmarks/bars.py: ResNet-18 b8 64x64, whose last images are 2x2).

use std::ops::Range;

use super::conv_tile::{self, Start, Walk};
use super::convolve::{Pass, TASK, lay_out_shared, split};
use super::iterate::spread_over;
use super::scratch::{Room, Shared, with_scratch};
use super::simd::Simd;
use super::widest::{self, Work};

/// Floats of windows that are gone through at a time, for a block of rows after the other.
const NEAR: usize = 1 << 15;

/// Rows of a task.
const ROWS: usize = 64;

/// What the results of a pass read: for each depth the factors of all results, which are counted through all units.
pub struct Panel<'a> {
    pass: &'a Pass<'a>,
    lanes: usize,
    windows: Vec<f32>,
    /// Where the first row of each result belongs.
    targets: Vec<usize>,
}

impl<'a> Panel<'a> {
    pub fn new(pass: &'a Pass<'a>, x: &[f32], units: usize) -> Self {
        let (each, channel) = (pass.places(), pass.sheet.channel());
        let (count, step) = (units * each, pass.sources * channel);
        let lanes = count.next_multiple_of(16);
        let mut sheets = Room::new(units * step);
        lay_out_shared(&pass.sheet, pass.sources, x, sheets.shared(), step);
        // SAFETY: sheets are filled from end to end.
        let sheets = unsafe { sheets.filled() };
        let from: Vec<usize> = (0..count).map(|at| at / each * step + pass.sheet.column_of(at % each)).collect();
        let taps = &pass.sheet.taps;
        let mut windows = vec![0.0; pass.sources * taps.len() * lanes];
        let to = Shared::of(&mut windows);
        spread_over(pass.sources, (TASK / 8 / (taps.len() * lanes)).max(1), &|source| {
            // SAFETY: each source has a part of its own.
            let to = unsafe { to.slice(source * taps.len() * lanes, taps.len() * lanes) };
            for (to, &(_, offset)) in to.chunks_exact_mut(lanes).zip(taps) {
                let sheet = &sheets[source * channel + offset..];
                to.iter_mut().zip(&from).for_each(|(slot, &from)| *slot = sheet[from]);
            }
        });
        let unit = pass.rows * pass.plane();
        let targets = (0..count).map(|at| at / each * unit + pass.target_of(at % each)).collect();
        Self { pass, lanes, windows, targets }
    }

    /// Pairs of the walk, with the windows as they stand here.
    fn pairs(&self) -> Vec<[u32; 2]> {
        self.pass.pairs.iter().zip(0_u32..).map(|(&[at, _], index)| [at, index * self.lanes as u32]).collect()
    }
}

/// Some rows of the results of all panels.
struct Rows<'a> {
    panels: &'a [Panel<'a>],
    rows: Range<usize>,
    sums: &'a mut [f32],
    out: Shared,
}

impl Work for Rows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        for panel in self.panels {
            let (pass, lanes) = (panel.pass, panel.lanes);
            let sums = &mut self.sums[..self.rows.len() * lanes];
            for (row, sums) in self.rows.clone().zip(sums.chunks_exact_mut(lanes)) {
                sums.fill(pass.bias.map_or(0.0, |bias| bias[row]));
            }
            let pairs = panel.pairs();
            let near = NEAR / lanes;
            let (a_step, b_step) = (pass.channel_step, pairs.len() * lanes);
            let segments = (near / pairs.len()).max(1);
            for first in (0..pass.segments).step_by(segments) {
                let count = segments.min(pass.segments - first);
                for pairs in pairs.chunks(near) {
                    let walk = Walk { segments: count, a_step, b_step, pairs };
                    // SAFETY: the caller's.
                    unsafe { add::<S>(panel, walk, first, self.rows.clone(), sums) };
                }
            }
            for (row, sums) in self.rows.clone().zip(sums.chunks_exact(lanes)) {
                let to = self.out.at(row * pass.plane());
                for (&value, &target) in sums.iter().zip(&panel.targets) {
                    // SAFETY: each result has a place of its own.
                    unsafe { *to.add(target) = value };
                }
            }
        }
    }
}

/// Adds to the sums of `rows` what the walk meets from segment `first` on.
///
/// # Safety
/// The processor has the instructions of `S`, and the walk is a part of the panel's.
#[inline(always)]
unsafe fn add<S: Simd>(panel: &Panel<'_>, walk: Walk<'_>, first: usize, rows: Range<usize>, sums: &mut [f32]) {
    let (pass, lanes) = (panel.pass, panel.lanes);
    let b = panel.windows[first * walk.b_step..].as_ptr();
    let mut row = rows.start;
    while row < rows.end {
        let height = conv_tile::height::<S>(rows.end - row);
        let weight = pass.weight[first * walk.a_step + row * pass.row_step..].as_ptr();
        let a: [*const f32; 8] = std::array::from_fn(|r| weight.wrapping_add(r * pass.row_step));
        let mut lane = 0;
        while lane < lanes {
            let breadth = ((lanes - lane) / S::LANES).min(3);
            // SAFETY: the caller's; lanes are whole vectors.
            unsafe {
                let to = (sums.as_mut_ptr().add((row - rows.start) * lanes + lane), lanes);
                conv_tile::compute::<S>((height, breadth), walk, &a, b.add(lane), None, Start::There, to);
            }
            lane += breadth * S::LANES;
        }
        row += height;
    }
}

/// Computes the rows of all panels, which have the same ones.
pub fn run(panels: &[Panel<'_>], rows: usize, out: Shared) {
    let lanes = panels.iter().map(|panel| panel.lanes).max().unwrap_or(0);
    let parts = split(rows, ROWS);
    spread_over(parts.len(), 1, &|part| {
        let rows = parts[part].clone();
        with_scratch(rows.len() * lanes, |sums| widest::run(Rows { panels, rows, sums, out }));
    });
}
