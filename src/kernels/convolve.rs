//! Convolution of float32 images and the gradient of its input, as sums over shifted sheets
//! (benchmarks/bars.py: convolutions).

use std::mem::MaybeUninit;
use std::ops::Range;

use super::conv::Problem;
use super::conv_deep;
use super::conv_few::{self, Panel};
use super::conv_flat;
use super::conv_panels;
use super::conv_tile::{self, Start, WIDEST, Walk};
use super::iterate::spread_over;
use super::scratch::{Room, Shared, with_scratch};
use super::sheet::{self, Axis, Sheet};
use super::simd::Simd;
use super::widest::{self, Work};
use crate::guard;
use crate::tensor::kept::{Keeper, Order};

/// Floats of weights that a task goes through again and again: a part of the second-level cache.
const NEAR: usize = 1 << 16;

/// Floats of weights that do not stay in the cache from one sample to the next.
const HEAVY: usize = 1 << 19;

/// Sums of a panel of columns that are held between blocks of depths, and depths of a block: what a tile reads of the sheets
/// stays in the first cache from one tile to the next (64-128 3x3 /2 at 56).
const SUMS: usize = 4096;
const DEPTHS: usize = 144;

/// Depth of a short sum, and of a long one (128-256 3x3 /2 at 28 b8: 5.3 ms by columns, 4.9 by filters).
const SHORT: usize = 64;
const LONG: usize = 512;

/// Results of a filter that are few, and floats of weights to go through for them that are many.
const FEW: usize = 128;
const LARGE: usize = 1 << 15;

/// Floats of sheets that are laid out at once where threads share them.
pub const ROUND: usize = 1 << 22;

/// Multiplications that are worth a task of their own.
pub const TASK: usize = 1 << 16;

/// Lays out channels, one image after the other: all shares, or some of those of the images.
pub struct LayOut<'a> {
    pub sheet: &'a Sheet,
    pub images: &'a [f32],
    pub shares: Range<usize>,
    pub to: &'a mut [f32],
}

impl<'a> LayOut<'a> {
    pub fn all(sheet: &'a Sheet, images: &'a [f32], to: &'a mut [f32]) -> Self {
        let shares = 0..images.len() / sheet.source.iter().product::<usize>() * sheet.shares();
        Self { sheet, images, shares, to }
    }
}

impl Work for LayOut<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (image, each) = (self.sheet.source.iter().product::<usize>(), self.sheet.shares());
        let length = self.sheet.channel() / each;
        for (index, to) in self.shares.zip(self.to.chunks_exact_mut(length)) {
            let from = &self.images[index / each * image..][..image];
            // SAFETY: the caller's.
            unsafe { self.sheet.fill::<S>(index % each, from, to) };
        }
    }
}

/// Where the columns of a sheet belong in the result: element `o` of each dimension at `first + o * step`.
#[derive(Clone, Copy)]
struct Target {
    sizes: [usize; 3],
    first: [usize; 3],
    step: [usize; 3],
}

/// Rows of results for all samples and groups: each is a filter applied to the sheets of `sources` channels.
pub struct Pass<'a> {
    pub groups: usize,
    /// Of one group: channels that are read, and rows of results.
    pub sources: usize,
    pub rows: usize,
    pub sheet: Sheet,
    target: Target,
    /// How the sums walk through the weight and the sheets.
    pub pairs: Vec<[u32; 2]>,
    pub segments: usize,
    pub channel_step: usize,
    /// Elements of the weight from one row to the next, and from one group to the next.
    pub row_step: usize,
    group_step: usize,
    pub weight: &'a [f32],
    pub bias: Option<&'a [f32]>,
    /// The place for panels of a weight that stays as it is.
    pub keeper: Option<&'a Keeper>,
}

/// Where the sheets of a job stand.
enum Sheets<'a> {
    /// The images are sheets themselves.
    Images(&'a [f32]),
    /// Laid out before, each unit so many floats after the last.
    Ready(*const f32, usize),
    /// To be laid out here, unit by unit, in this memory.
    Own(&'a [f32], &'a mut [f32]),
}

/// Results of some units (a unit is one group of one sample): a range of rows and of columns of each.
struct Job<'a> {
    pass: &'a Pass<'a>,
    units: Range<usize>,
    sheets: Sheets<'a>,
    out: Shared,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Work for Job<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let (pass, mut sums) = (self.pass, MaybeUninit::<[f32; SUMS]>::uninit());
        let (image, plane) = (pass.image(), pass.plane() * pass.rows);
        let alone = pass.rows == 1 && pass.target.step == [1; 3] && !pass.is_plain();
        for (index, unit) in self.units.clone().enumerate() {
            let mut line = None;
            let (sheets, roomy) = match &mut self.sheets {
                Sheets::Images(x) => (x[unit * image..].as_ptr(), false),
                Sheets::Ready(sheets, step) => (sheets.wrapping_add(index * *step), true),
                Sheets::Own(x, memory) => {
                    let (sheets, rest) = memory.split_at_mut(pass.sources * pass.sheet.channel() + WIDEST);
                    let work = LayOut::all(&pass.sheet, &x[unit * image..][..image], sheets);
                    // SAFETY: the caller's.
                    unsafe { work.run::<S>() };
                    line = alone.then_some(rest.as_mut_ptr());
                    (sheets.as_ptr(), true)
                }
            };
            let out = self.out.at(unit * plane);
            let (rows, columns) = (self.rows.clone(), self.columns.clone());
            let block = Block { pass, group: unit % pass.groups, sheets, roomy, line, out, rows, columns };
            // SAFETY: the caller's.
            unsafe { block.run::<S>(sums.as_mut_ptr().cast()) };
        }
    }
}

/// One unit's part of a job.
struct Block<'a> {
    pass: &'a Pass<'a>,
    group: usize,
    sheets: *const f32,
    /// Whether something lies behind the last sheet, so that tiles may read beyond it.
    roomy: bool,
    /// Memory for all columns of one row, where the block has but one.
    line: Option<*mut f32>,
    out: *mut f32,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Block<'_> {
    /// # Safety
    /// The processor has the instructions of `S`, the block's pointers are right, and `sums` has room for `SUMS`.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, sums: *mut f32) {
        let near = self.pass.near().min(SUMS / (8 * S::LANES) / 8 * 8);
        for first in self.rows.clone().step_by(near) {
            let rows = first..(first + near).min(self.rows.end);
            if self.pass.has_whole_lines(S::LANES) {
                // SAFETY: the caller's.
                unsafe { self.lines::<S>(rows) };
                continue;
            }
            let mut column = self.columns.start;
            while column < self.columns.end {
                // SAFETY: the caller's.
                column += unsafe {
                    match self.columns.end - column {
                        1 if self.pass.has_whole_rows() => self.last::<S>(rows.clone(), column),
                        _ => self.panel::<S>(sums, rows.clone(), column),
                    }
                };
            }
        }
        if let Some(line) = self.line {
            // SAFETY: the line has all columns.
            unsafe { self.put_in_place::<S>((line, 0), self.rows.clone(), self.columns.clone()) };
        }
    }

    /// The vectors of the next tile, and what part of them to read where not all is there.
    #[inline(always)]
    unsafe fn breadth<S: Simd>(&self, left: usize) -> (usize, Option<S::Part>) {
        let breadth = conv_tile::breadth::<S>(self.pass.rows, left);
        if self.roomy || left >= breadth * S::LANES {
            return (breadth, None);
        }
        match left / S::LANES {
            // SAFETY: the caller's.
            0 => (1, Some(unsafe { S::part(left) })),
            whole => (conv_tile::breadth::<S>(self.pass.rows, whole * S::LANES), None),
        }
    }

    /// Computes some columns of all `rows` from `column` on, and says how many.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, the block's pointers are right, and `sums` has room for all rows.
    #[inline(always)]
    unsafe fn panel<S: Simd>(&self, sums: *mut f32, rows: Range<usize>, column: usize) -> usize {
        let (pass, left) = (self.pass, self.columns.end - column);
        // SAFETY: the caller's.
        let (breadth, part) = unsafe { self.breadth::<S>(left) };
        let width = breadth * S::LANES;
        let count = left.min(width);
        let plane = pass.plane();
        let in_place = pass.is_plain() && count == width;
        // SAFETY: the caller's.
        unsafe {
            let (to, step) = match self.line {
                Some(line) => (line.add(column), 0),
                None if in_place => (self.out.add(rows.start * plane + column), plane),
                None => (sums, width),
            };
            let most = if part.is_none() { DEPTHS } else { usize::MAX };
            for (index, (walk, [a, b])) in pass.walks(most).enumerate() {
                let mut row = rows.start;
                while row < rows.end {
                    let height = conv_tile::height::<S>(rows.end - row);
                    let to = (to.add((row - rows.start) * step), step);
                    let from = (a, self.sheets.add(column + b));
                    self.tile::<S>((height, breadth), row, walk, from, part, index > 0, to);
                    row += height;
                }
            }
            if self.line.is_none() && !in_place {
                self.put_in_place::<S>((to, step), rows, column..column + count);
            }
        }
        count
    }

    /// Computes all columns of `rows`, line by line of the result, so that tiles are written where they belong.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, the block's pointers are right, and the pass has whole lines.
    #[inline(always)]
    unsafe fn lines<S: Simd>(&self, rows: Range<usize>) {
        let (pass, plane) = (self.pass, self.pass.plane());
        for piece in pass.sheet.pieces(self.columns.start, self.columns.end) {
            let to = pass.target_of_line(piece.row) + piece.first;
            let mut done = 0;
            while done < piece.length {
                let breadth = match (piece.length - done).div_ceil(S::LANES) {
                    4 => 2,
                    left => left.min(3).min(piece.length / S::LANES),
                };
                // What does not fill the last tile is computed twice.
                done = done.min(piece.length - breadth * S::LANES);
                let mut row = rows.start;
                while row < rows.end {
                    let height = conv_tile::height::<S>(rows.end - row);
                    // SAFETY: the caller's; a piece lies inside its row of results.
                    unsafe {
                        let place = (self.out.add(row * plane + to + done), plane);
                        let b = self.sheets.add(piece.column + done);
                        self.tile::<S>((height, breadth), row, pass.walk(), (0, b), None, false, place);
                    }
                    row += height;
                }
                done += breadth * S::LANES;
            }
        }
    }

    /// Computes `height` rows from `row` on of some vectors of columns, or adds to them; the walk begins at these places of
    /// the rows of the weight and of the sheets.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, the block's pointers are right, and there is room for the tile.
    #[inline(always)]
    unsafe fn tile<S: Simd>(
        &self,
        (height, breadth): (usize, usize),
        row: usize,
        walk: Walk<'_>,
        (first, b): (usize, *const f32),
        part: Option<S::Part>,
        add: bool,
        to: (*mut f32, usize),
    ) {
        let pass = self.pass;
        let weight = &pass.weight[self.group * pass.group_step + row * pass.row_step..];
        let start = match pass.bias {
            _ if add => Start::There,
            Some(bias) => Start::Each(&bias[self.group * pass.rows + row..][..height]),
            None => Start::Zero,
        };
        let a: [*const f32; 8] = std::array::from_fn(|r| weight.as_ptr().wrapping_add(first + r * pass.row_step));
        // SAFETY: the caller's; rows of the weight are `row_step` apart.
        unsafe { conv_tile::compute::<S>((height, breadth), walk, &a, b, part, start, to) };
    }

    /// Computes one column that is left, for which a tile would be as much work as for a vector of them: the sums of
    /// eight rows side by side.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, the block's pointers are right, and the pass has whole rows.
    #[inline(always)]
    unsafe fn last<S: Simd>(&self, rows: Range<usize>, column: usize) -> usize {
        let (pass, depth, step) = (self.pass, self.pass.depth(), self.pass.sheet.channel());
        // SAFETY: the caller's; rows of the weight have as many elements as there are channels.
        unsafe {
            let x: Vec<f32> = (0..depth).map(|channel| *self.sheets.add(channel * step + column)).collect();
            let whole = depth / S::LANES * S::LANES;
            let part = S::part(depth - whole);
            for first in rows.clone().step_by(8) {
                let count = (rows.end - first).min(8);
                let weight = pass.weight[self.group * pass.group_step + first * pass.row_step..].as_ptr();
                let a: [*const f32; 8] = std::array::from_fn(|r| weight.wrapping_add(r.min(count - 1) * pass.row_step));
                let mut sums = [S::splat(0.0); 8];
                for at in (0..whole).step_by(S::LANES) {
                    let x = S::load(x.as_ptr().add(at));
                    for r in 0..8 {
                        sums[r] = S::fma(S::load(a[r].add(at)), x, sums[r]);
                    }
                }
                let x = S::load_part(x.as_ptr().add(whole), part);
                for r in 0..8 {
                    sums[r] = S::fma(S::load_part(a[r].add(whole), part), x, sums[r]);
                }
                for (row, sum) in (first..first + count).zip(sums) {
                    let start = pass.bias.map_or(0.0, |bias| bias[self.group * pass.rows + row]);
                    *self.out.add(row * pass.plane() + column) = start + S::sum(sum);
                }
            }
        }
        1
    }

    /// Copies the results among the columns of a tile to where they belong.
    ///
    /// # Safety
    /// The block's pointers are right.
    #[inline(always)]
    unsafe fn put_in_place<S: Simd>(
        &self,
        (tile, width): (*mut f32, usize),
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        let step = self.pass.target.step;
        let plane = self.pass.plane();
        for piece in self.pass.sheet.pieces(columns.start, columns.end) {
            let start = self.pass.target_of_line(piece.row) + piece.first * step[2];
            for (index, row) in rows.clone().enumerate() {
                // SAFETY: a piece lies inside its row of results.
                unsafe {
                    let from = tile.add(index * width + piece.column - columns.start);
                    let to = self.out.add(row * plane + start);
                    if self.line.is_some() && start + piece.length.next_multiple_of(S::LANES) <= plane {
                        // What is written too much is written again, since the line is gone through from its beginning.
                        sheet::copy::<S>(from, to, piece.length.next_multiple_of(S::LANES));
                    } else if step[2] == 1 {
                        sheet::copy::<S>(from, to, piece.length);
                    } else {
                        for index in 0..piece.length {
                            *to.add(index * step[2]) = *from.add(index);
                        }
                    }
                }
            }
        }
    }
}

impl Pass<'_> {
    pub fn depth(&self) -> usize {
        self.segments * self.pairs.len()
    }

    /// Floats of one unit's images, and of one row of results.
    pub fn image(&self) -> usize {
        self.sheet.source.iter().product::<usize>() * self.sources
    }

    pub fn plane(&self) -> usize {
        self.target.sizes.iter().product()
    }

    /// Results of a row that this pass computes, which is all of them where they are dense.
    pub fn places(&self) -> usize {
        self.sheet.outputs.iter().product()
    }

    /// The number of the only window element.
    pub fn tap(&self) -> usize {
        self.sheet.taps.first().map_or(0, |tap| tap.0)
    }

    pub fn is_dense(&self) -> bool {
        self.target.step == [1; 3]
    }

    /// Where the result of a place belongs in its row.
    #[inline(always)]
    pub fn target_of(&self, place: usize) -> usize {
        let [_, height, width] = self.sheet.outputs;
        let (line, w) = (place / width, place % width);
        self.target_of_line([line / height, line % height]) + w * self.target.step[2]
    }

    /// Where the first result of a line, given by its depth and height, belongs in its row.
    #[inline(always)]
    fn target_of_line(&self, [d, h]: [usize; 2]) -> usize {
        let Target { sizes, first, step } = self.target;
        let line = (d * step[0] + first[0]) * sizes[1] + h * step[1] + first[1];
        line * sizes[2] + first[2]
    }

    /// Whether tiles are written where they belong, line by line, though something lies between lines on the sheets: lines
    /// are whole vectors, however wide, or sums so short that to copy tiles takes longer than to compute some columns twice.
    #[inline(always)]
    fn has_whole_lines(&self, lanes: usize) -> bool {
        let width = self.sheet.outputs[2];
        let short = lanes < 16 && width >= 2 * lanes && self.depth() <= SHORT;
        // One vector alone would wait for its factors.
        let whole = width.is_multiple_of(16) && width >= 2 * lanes;
        self.is_dense() && !self.is_plain() && self.rows > 1 && (short || whole)
    }

    /// Rows whose weights stay near.
    fn near(&self) -> usize {
        (NEAR / self.depth().max(1)).max(8) / 8 * 8
    }

    fn walk(&self) -> Walk<'_> {
        Walk { segments: self.segments, a_step: self.channel_step, b_step: self.sheet.channel(), pairs: &self.pairs }
    }

    /// The walk in blocks of about so many depths at most, each with where it begins in the weight and on the sheets.
    #[inline(always)]
    fn walks(&self, most: usize) -> impl Iterator<Item = (Walk<'_>, [usize; 2])> {
        let whole = self.walk();
        let most = if self.depth() <= most.saturating_add(most / 2) { usize::MAX } else { most };
        let (together, parts) = ((most / whole.pairs.len()).max(1), whole.pairs.len().div_ceil(most));
        (0..whole.segments.div_ceil(together) * parts).map(move |index| {
            let (first, part) = (index / parts * together, index % parts);
            let pairs = &whole.pairs[part * most.min(whole.pairs.len())..];
            let walk = Walk {
                segments: together.min(whole.segments - first),
                pairs: &pairs[..most.min(pairs.len())],
                ..whole
            };
            (walk, [first * whole.a_step, first * whole.b_step])
        })
    }

    /// Whether the columns of the sheet are the results themselves.
    fn is_plain(&self) -> bool {
        let (sheet, target) = (&self.sheet, &self.target);
        target.step == [1; 3] && sheet.outputs == target.sizes && [sheet.rows, sheet.pitch] == target.sizes[1..]
    }

    /// Whether a sum goes through a row of the weight from end to end, and its result stands where its column is.
    fn has_whole_rows(&self) -> bool {
        self.channel_step == 1 && self.sheet.taps.len() == 1 && self.depth() >= 64 && self.is_plain()
    }

    /// Gives each channel its own steps through the weight and the sheets, or, where windows are small, lists all of them;
    /// None where the numbers are too large.
    fn walked(mut self) -> Option<Self> {
        let sheet = self.sheet.channel();
        let furthest = sheet.max(self.channel_step).checked_mul(self.sources)?;
        u32::try_from(furthest).ok()?;
        let listed = if self.sheet.taps.len() < 8 { self.sources } else { 1 };
        self.segments = self.sources / listed;
        let mut pairs = Vec::with_capacity(listed * self.sheet.taps.len());
        for channel in 0..listed {
            for &(at, from) in &self.sheet.taps {
                pairs.push([(channel * self.channel_step + at) as u32, (channel * sheet + from) as u32]);
            }
        }
        self.pairs = pairs;
        Some(self)
    }

    /// Computes all rows of `out` from `x`.
    fn run(&self, x: &[f32], out: &mut [f32]) {
        let (units, out) = (x.len() / self.image(), Shared::of(out));
        let direct = self.sheet.is_source();
        let (all_rows, all_columns) = (0..self.rows, 0..self.sheet.columns);
        let (threads, work) = (guard::threads(), self.rows * self.depth() * self.sheet.columns);
        if self.is_few(units) {
            return conv_few::run(&[Panel::new(self, x, units)], self.rows, out);
        }
        if conv_panels::suits(self, units) {
            return conv_panels::run(self, x, units, out);
        }
        if self.is_deep(units) {
            // The widest vectors were as fast by filters.
            let flat = self.sheet.taps.len() == 1 && widest::lanes() < 16;
            return if flat { conv_flat::run(self, x, units, out) } else { conv_deep::run(self, x, units, out) };
        }
        let heavy = self.groups == 1 && units > 1 && self.rows * self.depth() > HEAVY;
        if !heavy && (units >= 4 * threads || units.is_multiple_of(threads)) {
            let each = (TASK / work.max(1)).clamp(1, units.div_ceil(threads));
            let line = if self.rows == 1 { self.sheet.columns + WIDEST } else { 0 };
            let sheets = if direct { 0 } else { self.sources * self.sheet.channel() + WIDEST + line };
            spread_over(units.div_ceil(each), 1, &|index| {
                let units = index * each..((index + 1) * each).min(units);
                with_scratch(sheets, |memory| {
                    let sheets = if direct { Sheets::Images(x) } else { Sheets::Own(x, memory) };
                    let (rows, columns) = (all_rows.clone(), all_columns.clone());
                    widest::run(Job { pass: self, units, sheets, out, rows, columns });
                });
            });
            return;
        }
        let sheets = if direct { 0 } else { self.sources * self.sheet.channel() + WIDEST };
        let round = if direct { units } else { (ROUND / sheets).clamp(1, units) };
        let mut memory = Room::new(round * sheets);
        let shared = memory.shared();
        let (row_parts, column_parts) = self.parts(work, threads);
        let row_parts = if heavy { split(self.rows, self.near()) } else { row_parts };
        for first in (0..units).step_by(round) {
            let count = round.min(units - first);
            if !direct {
                let x = &x[first * self.image()..][..count * self.image()];
                lay_out_shared(&self.sheet, self.sources, x, shared, sheets);
                for unit in 1..=count {
                    // Tiles read beyond the last sheet of a unit.
                    // SAFETY: this much belongs to each unit, and no task is at work.
                    unsafe { shared.slice(unit * sheets - WIDEST, WIDEST) }.fill(0.0);
                }
            }
            let job = |from: usize, count: usize, rows: Range<usize>, columns: Range<usize>| {
                let ready = Sheets::Ready(shared.at(from * sheets), sheets);
                let sheets = if direct { Sheets::Images(x) } else { ready };
                let units = first + from..first + from + count;
                widest::run(Job { pass: self, units, sheets, out, rows, columns });
            };
            if heavy {
                spread_over(row_parts.len(), 1, &|part| job(0, count, row_parts[part].clone(), all_columns.clone()));
                continue;
            }
            let parts = row_parts.len() * column_parts.len();
            spread_over(count * parts, 1, &|index| {
                let (unit, part) = (index / parts, index % parts);
                let (rows, columns) = (&row_parts[part / column_parts.len()], &column_parts[part % column_parts.len()]);
                job(unit, 1, rows.clone(), columns.clone());
            });
        }
    }

    /// Whether vectors along the columns of so many units would hold little but what lies between rows; or sums are so long
    /// that rows of the weight, which lie whole in vectors, are read faster than columns of the sheets, which do not.
    fn is_deep(&self, units: usize) -> bool {
        let used = self.sheet.columns.next_multiple_of(16);
        let several = self.groups == 1 && self.rows >= 16 && units > 1 && units * self.places() >= 64;
        // Where every second element is written the weight is read across its rows, which panels of it save.
        let sparse = used <= 128 && (!self.is_dense() || 5 * self.places() < 4 * used);
        let long = used <= 1024 && self.is_dense() && self.depth() >= LONG;
        several && (sparse || long)
    }

    /// Whether all results of a filter fill a few vectors, and large weights are read for them.
    fn is_few(&self, units: usize) -> bool {
        let (wide, count) = (self.sheet.columns.next_multiple_of(16) * units, units * self.places());
        let few = self.groups == 1 && (1..=FEW).contains(&count) && self.rows * self.depth() >= LARGE;
        few && 4 * count.next_multiple_of(16) <= 3 * wide
    }

    /// Parts of one unit's rows and columns that several threads share.
    fn parts(&self, work: usize, threads: usize) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let wanted = (work / TASK).clamp(1, 8 * threads);
        let most = if self.sheet.columns < 2 * 48 { wanted } else { wanted.min(4) };
        let rows = self.near().min(self.rows.div_ceil(most).next_multiple_of(8));
        let row_parts = split(self.rows, rows);
        if self.sheet.columns < 2 * 48 {
            return (row_parts, split(self.sheet.columns, self.sheet.columns));
        }
        let unit = if self.has_whole_lines(widest::lanes()) { self.sheet.pitch } else { 48 };
        let columns = self.sheet.columns.div_ceil(wanted.div_ceil(row_parts.len())).next_multiple_of(unit);
        let column_parts = split(self.sheet.columns, columns);
        (row_parts, column_parts)
    }
}

/// Lays out the images of several units of `sources` channels, each unit `step` floats after the last.
pub fn lay_out_shared(sheet: &Sheet, sources: usize, x: &[f32], to: Shared, step: usize) {
    let (image, length) = (sheet.source.iter().product::<usize>(), sheet.channel() / sheet.shares());
    let shares = sources * sheet.shares();
    let least = (TASK / 4 / length.max(1)).clamp(1, shares);
    let parts = shares.div_ceil(least);
    spread_over(x.len() / (image * sources) * parts, 1, &|index| {
        let (unit, first) = (index / parts, index % parts * least);
        let shares = first..(first + least).min(shares);
        let images = &x[unit * sources * image..][..sources * image];
        // SAFETY: each share has a place of its own in the memory.
        let to = unsafe { to.slice(unit * step + first * length, shares.len() * length) };
        widest::run(LayOut { sheet, images, shares, to });
    });
}

pub fn split(all: usize, step: usize) -> Vec<Range<usize>> {
    (0..all).step_by(step).map(|first| first..(first + step).min(all)).collect()
}

/// The windows of a convolution as its results read its input.
pub fn sheet_of(p: &Problem) -> Option<Sheet> {
    let axes = std::array::from_fn(|dim| Axis {
        source: p.input[dim],
        outputs: p.output[dim],
        stride: if p.output[dim] == 1 { 1 } else { p.stride[dim] },
        taps: (0..p.kernel[dim]).map(|tap| (tap, (tap * p.dilation[dim]) as isize - p.padding[dim] as isize)).collect(),
    });
    Sheet::new(axes, p.kernel)
}

/// `out` from `x`, `weight` and a summand for each filter; false where the sizes are beyond this kernel.
pub fn forward(
    p: &Problem,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    keeper: Option<&Keeper>,
    out: &mut [f32],
) -> bool {
    let keeper = keeper.map(|keeper| keeper.of(Order::Panels));
    let Some(sheet) = sheet_of(p) else { return false };
    let window = p.kernel.iter().product::<usize>();
    let pass = Pass {
        groups: p.groups,
        sources: p.channels,
        rows: p.filters,
        sheet,
        target: Target { sizes: p.output, first: [0; 3], step: [1; 3] },
        pairs: Vec::new(),
        segments: 0,
        channel_step: window,
        row_step: p.channels * window,
        group_step: p.filters * p.channels * window,
        weight,
        bias,
        keeper: keeper.as_ref(),
    };
    let Some(pass) = pass.walked() else { return false };
    pass.run(x, out);
    true
}

/// The gradient of the input, written to `x`, from that of the output: for each phase of the stride a convolution
/// of the gradient with those window elements that meet it.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    let window = p.kernel.iter().product::<usize>();
    let (mut passes, mut missed) = (Vec::new(), false);
    for d in 0..p.stride[0].min(p.input[0]) {
        for h in 0..p.stride[1].min(p.input[1]) {
            for w in 0..p.stride[2].min(p.input[2]) {
                let first = [d, h, w];
                let axes = std::array::from_fn(|dim| back_axis(p, dim, first[dim]));
                let Some(sheet) = Sheet::new(axes, p.kernel) else {
                    missed = true;
                    continue;
                };
                let pass = Pass {
                    groups: p.groups,
                    sources: p.filters,
                    rows: p.channels,
                    sheet,
                    target: Target { sizes: p.input, first, step: p.stride },
                    pairs: Vec::new(),
                    segments: 0,
                    channel_step: p.channels * window,
                    row_step: window,
                    group_step: p.filters * p.channels * window,
                    weight,
                    bias: None,
                    keeper: None,
                };
                let Some(pass) = pass.walked() else { return false };
                passes.push(pass);
            }
        }
    }
    if missed {
        x.fill(0.0);
    }
    let units = grad.len() / (p.groups * p.filters * p.output.iter().product::<usize>()).max(1);
    if passes.iter().all(|pass| pass.is_few(units)) {
        let panels: Vec<Panel> = passes.iter().map(|pass| Panel::new(pass, grad, units)).collect();
        conv_few::run(&panels, p.channels, Shared::of(x));
        return true;
    }
    for pass in passes {
        pass.run(grad, x);
    }
    true
}

/// What the input's elements `first`, `first + stride`, ... along a dimension read of the gradient.
fn back_axis(p: &Problem, dim: usize, first: usize) -> Axis {
    let stride = p.stride[dim] as isize;
    let taps = (0..p.kernel[dim])
        .map(|tap| (tap, (first + p.padding[dim]) as isize - (tap * p.dilation[dim]) as isize))
        .filter(|(_, far)| far % stride == 0)
        .map(|(tap, far)| (tap, far / stride))
        .collect();
    Axis { source: p.output[dim], outputs: (p.input[dim] - first).div_ceil(p.stride[dim]), stride: 1, taps }
}
