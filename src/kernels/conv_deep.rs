//! Convolutions of many small images: filters side by side, since rows of few results would leave vectors empty
//! (benchmarks/bars.py: convolutions of 7x7).

use std::ops::Range;

use super::conv_tile::{self, LARGEST, Start, Walk};
use super::convolve::Pass;
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::Work;

/// Filters of a panel: three of the widest vectors.
pub const PANEL: usize = 48;

/// Some rows of results of all units, at some of their places.
pub struct Deep<'a> {
    pub pass: &'a Pass<'a>,
    /// The sheets, each unit so many floats after the last.
    pub sheets: *const f32,
    pub step: usize,
    pub rows: Range<usize>,
    /// Places are counted through all units.
    pub places: Range<usize>,
    pub out: Shared,
    /// As large as a panel of all depths.
    pub panel: &'a mut [f32],
}

impl Work for Deep<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let pass = self.pass;
        // SAFETY: the caller's.
        unsafe { self.pack::<S>() };
        let pairs: Vec<[u32; 2]> =
            pass.pairs.iter().zip(0_u32..).map(|(&[_, from], index)| [from, index * PANEL as u32]).collect();
        let walk =
            Walk { segments: pass.segments, a_step: pass.sheet.channel(), b_step: pairs.len() * PANEL, pairs: &pairs };
        let mut tile = [0.0; LARGEST];
        let mut start = [0.0; PANEL];
        if let Some(bias) = pass.bias {
            start[..self.rows.len()].copy_from_slice(&bias[self.rows.clone()]);
        }
        let breadth = self.rows.len().div_ceil(S::LANES).min(3);
        let mut place = self.places.start;
        while place < self.places.end {
            let height = conv_tile::height::<S>(self.places.end - place);
            let a: [*const f32; 8] = std::array::from_fn(|r| self.at((place + r).min(self.places.end - 1)));
            for first in (0..self.rows.len()).step_by(breadth * S::LANES) {
                // SAFETY: the panel has whole vectors of all depths, a tile at most `LARGEST` elements.
                unsafe {
                    let to = (tile.as_mut_ptr(), PANEL);
                    for r in 0..height {
                        for n in 0..breadth {
                            S::store(
                                to.0.add(r * PANEL + n * S::LANES),
                                S::load(start.as_ptr().add(first + n * S::LANES)),
                            );
                        }
                    }
                    let b = self.panel.as_ptr().add(first);
                    conv_tile::compute::<S>((height, breadth), walk, &a, b, None, Start::There, to);
                    self.put::<S>(&tile, place..place + height, first);
                }
            }
            place += height;
        }
    }
}

impl Deep<'_> {
    /// Turns a tile round: places lie side by side in the result, but those of one unit only.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the results are there.
    #[inline(always)]
    unsafe fn put<S: Simd>(&self, tile: &[f32; LARGEST], places: Range<usize>, first: usize) {
        let (pass, plane, each) = (self.pass, self.pass.plane(), self.pass.places());
        let count = (3 * S::LANES).min(self.rows.len() - first);
        let mut place = places.start;
        while place < places.end {
            let (unit, at) = (place / each, place % each);
            let filter = unit * pass.rows + self.rows.start + first;
            let from = &tile[(place - places.start) * PANEL..];
            if !pass.is_dense() {
                let to = filter * plane + pass.target_of(at);
                for (row, &value) in from.iter().enumerate().take(count) {
                    // SAFETY: the caller's.
                    unsafe { *self.out.at(to + row * plane) = value };
                }
                place += 1;
                continue;
            }
            let tall = (places.end - place).min(each - at).min(S::LANES);
            for row in (0..count).step_by(S::LANES) {
                // SAFETY: the caller's; a tile has `PANEL` elements in each row.
                unsafe {
                    let to = self.out.at((filter + row) * plane + at);
                    S::transpose((from.as_ptr().add(row), PANEL), (to, plane), tall, S::LANES.min(count - row));
                }
            }
            place += tall;
        }
    }

    /// Where the window of a place begins.
    #[inline(always)]
    fn at(&self, place: usize) -> *const f32 {
        let each = self.pass.places();
        self.sheets.wrapping_add(place / each * self.step + self.pass.column_of(place % each))
    }

    /// Turns the weights of the rows: for each depth one row of the panel.
    ///
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn pack<S: Simd>(&mut self) {
        let (pass, count) = (self.pass, self.rows.len());
        let adjacent = pass.pairs.iter().zip(0..).all(|(&[at, _], index)| at == index);
        self.panel.fill(0.0);
        for segment in 0..pass.segments {
            let from = &pass.weight[segment * pass.channel_step + self.rows.start * pass.row_step..];
            let to = &mut self.panel[segment * pass.pairs.len() * PANEL..][..pass.pairs.len() * PANEL];
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
