//! Attention without the matrix of all scores: a block of keys at a time, both ways (benchmarks/bars.py: attention).
//!
//! Rows do not share sums, and blocks of keys and queries have fixed sizes: results do not depend on the threads. Which
//! weights dropout keeps is drawn before, in torch's order, so that a seed drops what it drops in torch: a bit for each,
//! a thirty-second part of the scores' memory, which both ways read.

use std::ops::Range;

use super::attention_few::{FEW, Scores, Sums};
use super::gemm::offset;
use super::iterate::spread_over;
use super::math;
use super::memory::Elements;
use super::micro::{Ahead, Finish, Isa, Panel, Tile};
use super::product::{Even, with_scratch};
use super::softmax::{fold, fold_changed, greater};
#[cfg(target_arch = "x86_64")]
use super::vector::is_wide;
use super::vector::{Task, dispatch};
#[cfg(target_arch = "x86_64")]
use super::wide_rows;
use super::widest;

/// Multiplications of queries and keys below which threads cost more than they save.
const PARALLEL_ABOVE: usize = 1 << 19;
/// Queries of one task, at most, and keys whose scores are held at once on the way there: up to so many keys all of them, or
/// fewer for more queries, by which keys are turned less often. Scores, keys and values stay in a second cache of half a
/// megabyte.
const QUERIES: [usize; 2] = [140, 280];
const KEYS: [usize; 2] = [512, 256];
/// Distance between rows of scores beyond their number, so that they do not all fall on the same lines of the cache.
pub const PAD: usize = 16;

/// Query, key and value of the shape (..., rows, size) with neighbours in the last dimension, and summands of the scores.
pub struct Attention {
    pub query: Elements,
    pub key: Elements,
    pub value: Elements,
    pub mask: Option<Elements>,
    pub kept: Option<Kept>,
    pub scale: f32,
    pub causal: bool,
}

/// The weights that dropout keeps: row-major bits (..., rows, bytes), and what the kept ones are multiplied by.
pub struct Kept {
    pub bits: Elements,
    pub factor: f32,
}

/// A block of one head's `Kept`.
#[derive(Clone, Copy)]
pub struct Bits {
    at: *const u8,
    row: usize,
    factor: f32,
}

impl Bits {
    /// From a query and a key on, whose number eight divides.
    pub fn after(self, query: usize, key: usize) -> Self {
        Self { at: self.at.wrapping_add(query * self.row + key / 8), ..self }
    }

    /// Multiplies a row of weights, or of their gradients, by zero or the factor.
    ///
    /// # Safety
    /// There is such a row of so many bits.
    #[inline(always)]
    pub unsafe fn multiply(self, query: usize, row: &mut [f32]) {
        let from = self.at.wrapping_add(query * self.row);
        // SAFETY: the caller's.
        let bytes = unsafe { std::slice::from_raw_parts(from, row.len().div_ceil(8)) };
        let (eights, rest) = row.as_chunks_mut::<8>();
        for (eight, byte) in eights.iter_mut().zip(bytes) {
            for lane in 0..8 {
                eight[lane] *= (i32::from(*byte) >> lane & 1) as f32 * self.factor;
            }
        }
        for (lane, x) in rest.iter_mut().enumerate() {
            *x *= (i32::from(bytes[bytes.len() - 1]) >> lane & 1) as f32 * self.factor;
        }
    }
}

/// One head's matrix.
#[derive(Clone, Copy)]
pub struct View {
    pub at: *mut f32,
    pub row: usize,
    pub column: usize,
}

impl View {
    pub fn of(memory: &Elements, head: usize) -> Self {
        let rank = memory.geometry.rank();
        let strides = &memory.geometry.strides;
        let at = memory.at(offset(memory, head, rank - 2));
        Self { at, row: strides[rank - 2], column: strides[rank - 1] }
    }

    pub fn row(self, index: usize) -> *mut f32 {
        self.at.wrapping_add(index * self.row)
    }

    pub fn after(self, rows: usize) -> Self {
        Self { at: self.row(rows), ..self }
    }
}

/// The right side of a block's product: panels `panel` apart whose rows are `step` apart; the last one may lie elsewhere.
#[derive(Clone, Copy)]
pub struct Right {
    at: *const f32,
    step: usize,
    panel: usize,
    tail: Option<(*const f32, usize)>,
}

/// Elements that `turned` needs for `lanes` rows of `depth` elements.
pub fn turned_room(isa: &Isa, lanes: usize, depth: usize) -> usize {
    lanes.next_multiple_of(isa.width()) * depth
}

/// The rows of a matrix as the lanes of panels.
///
/// # Safety
/// The matrix has so many rows and columns, and the memory has room.
pub unsafe fn turned(isa: &Isa, from: View, lanes: usize, depth: usize, memory: *mut f32) -> Right {
    let width = isa.width();
    for first in (0..lanes).step_by(width) {
        let panel = Panel { to: memory.wrapping_add(first * depth), width, lanes: width.min(lanes - first), depth };
        // SAFETY: the caller's.
        unsafe { (isa.pack)(panel, from.row(first), from.row, 1) };
    }
    Right { at: memory, step: width, panel: width * depth, tail: None }
}

/// The columns of a matrix as lanes where they lie; only what does not fill a vector is copied, into memory for
/// `isa.width()` times `depth` elements.
///
/// # Safety
/// As `turned`.
pub unsafe fn lying(isa: &Isa, from: View, lanes: usize, depth: usize, memory: *mut f32) -> Right {
    let width = isa.width();
    let (first, rest) = (lanes / width * width, lanes % width);
    let tail = (!rest.is_multiple_of(isa.lanes)).then(|| {
        let step = rest.next_multiple_of(isa.lanes);
        let panel = Panel { to: memory, width: step, lanes: rest, depth };
        // SAFETY: the caller's.
        unsafe { (isa.pack)(panel, from.at.wrapping_add(first), 1, from.row) };
        (memory.cast_const(), step)
    });
    Right { at: from.at, step: from.row, panel: width, tail }
}

/// A product that one thread computes.
pub struct Block {
    pub isa: &'static Isa,
    pub rows: usize,
    pub columns: usize,
    /// Address, distance of rows, distance along the depth.
    pub left: (*const f32, usize, usize),
    pub right: Right,
    pub out: View,
    pub finish: Finish,
}

impl Block {
    /// `depths` gives the part of the depth that a tile of these rows and columns needs; none is not computed.
    ///
    /// # Safety
    /// All tiles lie in their memory, and results overlap nothing else.
    pub unsafe fn run(&self, depths: impl Fn(Range<usize>, Range<usize>) -> Range<usize>) {
        let (width, panels) = (self.isa.width(), Even::new(self.rows, self.isa.height));
        for (number, first) in (0..self.columns).step_by(width).enumerate() {
            let columns = first..(first + width).min(self.columns);
            let (right, step) = match self.right.tail {
                Some(tail) if columns.end == self.columns => tail,
                _ => (self.right.at.wrapping_add(number * self.right.panel), self.right.step),
            };
            for rows in (0..panels.panels).map(|panel| panels.at(panel)) {
                let depth = depths(rows.clone(), columns.clone());
                if depth.is_empty() {
                    continue;
                }
                let out = self.out.row(rows.start).wrapping_add(first);
                let tile = Tile {
                    depth: depth.len(),
                    a: self.left.0.wrapping_add(rows.start * self.left.1 + depth.start * self.left.2),
                    a_row: self.left.1,
                    a_step: self.left.2,
                    b: right.wrapping_add(depth.start * step),
                    b_step: step,
                    out,
                    out_row: self.out.row,
                    out_column: 1,
                    columns: columns.len(),
                    finish: self.finish,
                    ahead: Ahead::of(out),
                    paired: false,
                    streamed: false,
                };
                // SAFETY: the caller's.
                unsafe { self.isa.run(&tile, rows.len()) };
            }
        }
    }
}

/// Scores of some queries that become weights.
struct Weigh<'a> {
    scores: View,
    queries: usize,
    keys: usize,
    /// How many of the keys each query sees.
    seen: &'a dyn Fn(usize) -> usize,
    mask: Option<View>,
    kept: Option<Bits>,
    /// For each query: the greatest score, the sum of powers, and what earlier sums must be multiplied by.
    state: &'a mut [[f32; 3]],
}

/// Adds a row of summands.
///
/// # Safety
/// The mask has such a row of so many elements.
#[inline(always)]
pub unsafe fn add_mask(row: &mut [f32], mask: Option<View>, query: usize) {
    let Some(mask) = mask else { return };
    let from = mask.row(query);
    // SAFETY: the caller's.
    unsafe {
        if mask.column == 1 {
            let summands = std::slice::from_raw_parts(from, row.len());
            row.iter_mut().zip(summands).for_each(|(score, summand)| *score += summand);
            return;
        }
        for (k, score) in row.iter_mut().enumerate() {
            *score += *from.add(k * mask.column);
        }
    }
}

/// What is taken away from scores of which this is the greatest: where nothing is seen all powers are zero, not powers of a
/// difference of infinities.
#[inline(always)]
pub fn shift(top: f32) -> f32 {
    if top == f32::NEG_INFINITY { 0.0 } else { top }
}

/// Scores become powers of their distance from the greatest of them and `before`, which is given with the sum of the powers.
#[inline(always)]
fn powers<const FMA: bool>(row: &mut [f32], before: f32) -> (f32, f32) {
    #[cfg(target_arch = "x86_64")]
    if is_wide::<f32>() {
        // SAFETY: the processor has AVX-512.
        return unsafe { wide_rows::powers(row, before) };
    }
    let top = fold(row, before, |x| x, greater);
    let safe = shift(top);
    (top, fold_changed(row, 0.0, |x| math::exp_down::<FMA>(x - safe), |sum, x| sum + x))
}

impl Task for Weigh<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for query in 0..self.queries {
            let seen = (self.seen)(query).min(self.keys);
            // SAFETY: the scores have so many rows of at least so many elements.
            let row = unsafe { std::slice::from_raw_parts_mut(self.scores.row(query), self.keys) };
            let (row, hidden) = row.split_at_mut(seen);
            hidden.fill(0.0);
            // SAFETY: a mask has the scores' shape.
            unsafe { add_mask(row, self.mask, query) };
            let [before, sum, _] = self.state[query];
            let (top, own) = powers::<FMA>(row, before);
            let old = math::exp_down::<FMA>(before - shift(top));
            self.state[query] = [top, sum * old + own, old];
            if let Some(kept) = self.kept {
                // SAFETY: there is a bit for each score.
                unsafe { kept.multiply(query, row) };
            }
        }
    }
}

/// Multiplies a row.
struct Stretch(*mut f32, usize, f32);

impl Task for Stretch {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // SAFETY: who made it has such a row for itself.
        let row = unsafe { std::slice::from_raw_parts_mut(self.0, self.1) };
        row.iter_mut().for_each(|x| *x *= self.2);
    }
}

impl Attention {
    /// Heads, queries, keys, sizes of keys and of values.
    pub fn sizes(&self) -> [usize; 5] {
        let (query, value) = (&self.query.geometry.shape, &self.value.geometry.shape);
        let rank = query.len();
        let heads = query[..rank - 2].iter().product();
        [heads, query[rank - 2], value[rank - 2], query[rank - 1], value[rank - 1]]
    }

    /// How many of the keys from `key` on the query sees.
    pub fn seen(&self, query: usize, key: usize) -> usize {
        if self.causal { (query + 1).saturating_sub(key) } else { usize::MAX }
    }

    /// The bits of one head.
    pub fn bits(&self, head: usize) -> Option<Bits> {
        let kept = self.kept.as_ref()?;
        let [_, queries, keys, ..] = self.sizes();
        let (row, geometry) = (keys.div_ceil(8), &kept.bits.geometry);
        Some(Bits { at: kept.bits.at::<u8>(geometry.offset + head * queries * row), row, factor: kept.factor })
    }

    /// Writes `out`, and for each row the logarithm of the sum of powers of its scores (infinity where nothing is seen).
    ///
    /// # Safety
    /// The tensors have fitting shapes without zeros and hold float32, `out` and `logs` (..., rows, 1) are fresh.
    pub unsafe fn forward(&self, out: &Elements, logs: &Elements) {
        let [heads, queries, keys, ..] = self.sizes();
        let many = usize::from(keys > KEYS[0]);
        let parts = Even::new(queries, QUERIES[many]);
        // SAFETY: the caller's; every task has rows of its own.
        let one = |task: usize| unsafe {
            let (head, rows) = (task / parts.panels, parts.at(task % parts.panels));
            self.forward_rows(head, rows, View::of(out, head), View::of(logs, head));
        };
        let tasks = heads * parts.panels;
        if self.is_shared() { spread_over(tasks, 1, &one) } else { (0..tasks).for_each(one) }
    }

    /// Whether several threads compute it.
    pub fn is_shared(&self) -> bool {
        // Few queries take as long as it takes to read the keys and values.
        let least = if self.sizes()[1] <= FEW { PARALLEL_ABOVE / 4 } else { PARALLEL_ABOVE };
        self.sizes()[..4].iter().fold(1, |work: usize, &size| work.saturating_mul(size)) > least
    }

    unsafe fn forward_rows(&self, head: usize, rows: Range<usize>, out: View, logs: View) {
        let isa = Isa::current();
        let [_, _, keys, size, width] = self.sizes();
        let most = KEYS[usize::from(keys > KEYS[0])];
        let held = most.min(keys);
        let (pitch, count) = (held + PAD, rows.len());
        let (query, key, value) = (View::of(&self.query, head), View::of(&self.key, head), View::of(&self.value, head));
        let (out, logs) = (out.after(rows.start), logs.after(rows.start));
        let mask = self.mask.as_ref().map(|mask| View::of(mask, head).after(rows.start));
        let kept = self.bits(head);
        let mut state = [[f32::NEG_INFINITY, 0.0, 0.0]; QUERIES[1]];
        let few = count <= FEW;
        let room = [count * pitch, turned_room(isa, held, size), isa.width() * held];
        with_scratch(room.iter().sum(), |memory| {
            let scores = View { at: memory, row: pitch, column: 1 };
            let turned_at = memory.wrapping_add(room[0]);
            let tail_at = turned_at.wrapping_add(room[1]);
            for first in (0..keys).step_by(most) {
                let seen = |query: usize| self.seen(rows.start + query, first);
                let held = held.min(keys - first).min(seen(count - 1));
                if held == 0 {
                    break;
                }
                // SAFETY: the caller's; the memory has room for the largest block.
                unsafe {
                    if few {
                        for row in 0..count {
                            let (query, to) = (query.row(rows.start + row).cast_const(), scores.row(row));
                            let keys = held.min(seen(row));
                            widest::run(Scores { query, key: key.after(first), keys, size, scale: self.scale, to });
                        }
                    } else {
                        let right = turned(isa, key.after(first), held, size, turned_at);
                        let left = (query.row(rows.start).cast_const(), query.row, 1);
                        let finish = Finish { scale: self.scale, ..Finish::PLAIN };
                        Block { isa, rows: count, columns: held, left, right, out: scores, finish }
                            .run(|rows, keys| if keys.start < seen(rows.end - 1) { 0..size } else { 0..0 });
                    }
                    let mask = mask.map(|mask| View { at: mask.at.wrapping_add(first * mask.column), ..mask });
                    let kept = kept.map(|kept| kept.after(rows.start, first));
                    dispatch(Weigh { scores, queries: count, keys: held, seen: &seen, mask, kept, state: &mut state });
                    if first > 0 {
                        for row in 0..count {
                            dispatch(Stretch(out.row(row), width, state[row][2]));
                        }
                    }
                    if few {
                        for row in 0..count {
                            let (weights, out, keys) =
                                (scores.row(row).cast_const(), out.row(row), held.min(seen(row)));
                            widest::run(Sums { weights, value: value.after(first), keys, width, out, add: first > 0 });
                        }
                        continue;
                    }
                    let right = lying(isa, value.after(first), width, held, tail_at);
                    let left = (scores.at.cast_const(), pitch, 1);
                    let finish = Finish { add: first > 0, ..Finish::PLAIN };
                    Block { isa, rows: count, columns: width, left, right, out, finish }
                        .run(|rows, _| 0..held.min(seen(rows.end - 1)));
                }
            }
            for (row, [top, sum, _]) in state[..count].iter().enumerate() {
                let dead = *top == f32::NEG_INFINITY && *sum == 0.0;
                dispatch(Stretch(out.row(row), width, if dead { 0.0 } else { 1.0 / sum }));
                // SAFETY: the caller's.
                unsafe { *logs.row(row) = if dead { f32::INFINITY } else { top + sum.ln() } };
            }
        });
    }
}
