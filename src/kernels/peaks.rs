//! Where the greatest or least float32 of lines and of columns stands (benchmarks/bars.py: max 0, max 1).

use std::ops::Range;

use super::processor::{ask, asks_ahead};
use super::simd::Simd;
use super::vector::{Task, dispatch};
use super::widest;

/// Columns whose best stay in registers, for so many rows.
const TOGETHER: usize = 16;
const STRIPE: usize = 16;
/// Elements by which memory is asked for ahead.
const AHEAD: usize = 512;
/// Elements that are compared before it is asked whether one was found.
const CHUNK: usize = 32;

/// Whether a number comes before the best so far: a NaN does, and nothing comes before a NaN.
#[inline(always)]
pub fn better<const MAX: bool>(new: f32, old: f32) -> bool {
    let beyond = if MAX { new > old } else { new < old };
    (beyond | new.is_nan()) & !old.is_nan()
}

/// The place of the first of the greatest (or least) numbers of a line that has some; NaN comes before all.
pub fn place<const MAX: bool>(line: &[f32]) -> usize {
    let mut found = 0;
    widest::run(Line::<MAX> { line, found: &mut found, asks: asks_ahead() });
    found
}

struct Line<'a, const MAX: bool> {
    line: &'a [f32],
    found: &'a mut usize,
    asks: bool,
}

impl<const MAX: bool> widest::Work for Line<'_, MAX> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (from, length) = (self.line.as_ptr(), self.line.len());
        let Some(&head) = self.line.first() else { return };
        let pick = |old: f32, new: f32| if better::<MAX>(new, old) { new } else { old };
        let best = if length < S::LANES {
            self.line.iter().fold(head, |best, &x| pick(best, x))
        } else {
            let mut lanes = [head; 16];
            // SAFETY: the caller's; whole vectors of the line are read, the last one as far as the line goes.
            unsafe {
                let mut tops = [S::splat(head); 4];
                let whole = length / (4 * S::LANES) * (4 * S::LANES);
                for at in (0..whole).step_by(4 * S::LANES) {
                    if self.asks {
                        (0..4 * S::LANES).step_by(16).for_each(|k| ask(from.wrapping_add(at + AHEAD + k)));
                    }
                    for (k, top) in tops.iter_mut().enumerate() {
                        *top = S::extreme::<MAX>(*top, S::load(from.add(at + k * S::LANES)));
                    }
                }
                for at in (whole..length).step_by(S::LANES) {
                    let at = at.min(length - S::LANES);
                    tops[0] = S::extreme::<MAX>(tops[0], S::load(from.add(at)));
                }
                let [a, b, c, d] = tops;
                let top = S::extreme::<MAX>(S::extreme::<MAX>(a, b), S::extreme::<MAX>(c, d));
                S::store(lanes.as_mut_ptr(), top);
            }
            lanes.into_iter().take(S::LANES).fold(head, pick)
        };
        *self.found = if best.is_nan() { first(self.line, |x| x.is_nan()) } else { first(self.line, |x| x == best) };
    }
}

/// The first place where something is so; without a way out inside of a chunk, so that chunks are compared as vectors.
#[inline(always)]
fn first(line: &[f32], is: impl Fn(f32) -> bool) -> usize {
    let (chunks, _) = line.as_chunks::<CHUNK>();
    let before = chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |any, &x| any | is(x))).count() * CHUNK;
    before + line[before..].iter().take_while(|&&x| !is(x)).count()
}

/// The best of some rows of columns, and in which rows they stand.
pub struct Columns<'a, const MAX: bool> {
    pub from: *const f32,
    pub step: usize,
    pub rows: Range<usize>,
    pub values: &'a mut [f32],
    pub places: &'a mut [i32],
}

/// Writes the first best of each column among these rows.
///
/// # Safety
/// As many elements of each of the rows, of which there is one, lie there as there are values and places; places are
/// numbers of int32.
pub unsafe fn columns<const MAX: bool>(columns: Columns<'_, MAX>) {
    dispatch(columns);
}

impl<const MAX: bool> Task for Columns<'_, MAX> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (from, step, width) = (self.from, self.step, self.values.len());
        // SAFETY: `columns` vouches for the rows.
        let part = |row: usize, first: usize| unsafe {
            std::slice::from_raw_parts(from.wrapping_add(row * step + first), width - first)
        };
        self.values.copy_from_slice(part(self.rows.start, 0));
        self.places.fill(self.rows.start as i32);
        let ((values, values_rest), (places, places_rest)) =
            (self.values.as_chunks_mut::<TOGETHER>(), self.places.as_chunks_mut::<TOGETHER>());
        let done = values.len() * TOGETHER;
        for first in (self.rows.start + 1..self.rows.end).step_by(STRIPE) {
            let stripe = first..self.rows.end.min(first + STRIPE);
            for (block, (values, places)) in values.iter_mut().zip(places.iter_mut()).enumerate() {
                let (mut best, mut at) = (*values, *places);
                for row in stripe.clone() {
                    let Some(x) = part(row, block * TOGETHER).first_chunk::<TOGETHER>() else { continue };
                    for k in 0..TOGETHER {
                        let wins = better::<MAX>(x[k], best[k]);
                        best[k] = if wins { x[k] } else { best[k] };
                        at[k] = if wins { row as i32 } else { at[k] };
                    }
                }
                (*values, *places) = (best, at);
            }
            for row in stripe {
                for ((value, place), &x) in values_rest.iter_mut().zip(places_rest.iter_mut()).zip(part(row, done)) {
                    if better::<MAX>(x, *value) {
                        (*value, *place) = (x, row as i32);
                    }
                }
            }
        }
    }
}
