//! Convolutions of 3x3 by Winograd's F(2x2, 3x3): 16 multiplications for four results instead of 36
//! (benchmarks/bars.py: convolutions of resnet18).
//!
//! A tile is 2x2 results and the 4x4 inputs that they read. Inputs and windows are turned into 16 numbers each, products of
//! which are summed over the channels, one matrix product for each of the 16, and turned back into results. Tiles lie side
//! by side in vectors.

use std::ops::Range;
use std::sync::Arc;

use super::conv::Problem;
use super::conv_tile::{self, Start, Walk};
use super::convolve::{TASK, split};
use super::depthwise::Reach;
use super::iterate::spread_over;
use super::processor::near;
use super::scratch::{Room, Shared, with_scratch, written};
use super::simd::Simd;
use super::vector::{Task, dispatch};
use super::widest::{self, Work};
use crate::guard;
use crate::tensor::kept::{Found, Keeper, Order, Values};

/// Channels and filters below which turning costs more than it saves; for gradients by vectors of 16 lanes, of which fewer
/// are full.
const MANY: usize = 32;
const MANY_BACK: usize = 48;

/// Tiles below which the windows are turned for too little.
const TILES: usize = 128;

/// Windows above which 16 numbers for each of them are too much to go through.
const WINDOWS: usize = 1 << 17;

/// The same of windows that are kept turned, and of such with all of `TILES`, if they do not stay in a near cache: they come
/// from memory (512-512 at 7 b8: 6.5 ms, 8.2 without).
const KEPT_TILES: usize = 48;
const KEPT_WINDOWS: usize = 1 << 16;
const MOST_WINDOWS: usize = 1 << 18;

/// Rows of kept windows that lie near each other, those of a tile, and sources of each that do: a line of memory.
const SIDE: usize = 8;
const LINE: usize = 16;

/// Lanes up to which threads share the windows instead of the tiles, and rows of one task then.
const TOGETHER: usize = 112;
const ROWS: usize = 128;

/// Tiles that a task has at most, and floats of its scratch memory.
const LANES: usize = 208;
const ROOM: usize = 1 << 20;

/// One convolution with stride 1: `rows` filters over `sources` channels.
struct Pass<'a> {
    sources: usize,
    rows: usize,
    input: [usize; 2],
    output: [usize; 2],
    padding: [usize; 2],
    x: &'a [f32],
    bias: Option<&'a [f32]>,
    windows: Turned<'a>,
}

impl Pass<'_> {
    /// Rows of tiles of one sample, and tiles in a row.
    fn tiles(&self) -> [usize; 2] {
        self.output.map(|size| size.div_ceil(2))
    }
}

/// The turned windows: 16 matrices `[rows, sources]`, or, kept, `[rows / SIDE, sources / LINE, SIDE, LINE]`, which are
/// gone through from end to end.
#[derive(Clone, Copy)]
struct Turned<'a> {
    values: &'a [f32],
    kept: bool,
}

impl Turned<'_> {
    const NONE: Self = Self { values: &[], kept: false };

    /// Where a row of a matrix begins.
    fn row(self, matrix: usize, row: usize, sources: usize) -> *const f32 {
        let within = if self.kept { row / SIDE * SIDE * sources + row % SIDE * LINE } else { row * sources };
        self.values.as_ptr().wrapping_add(matrix * (self.values.len() / 16) + within)
    }
}

/// `a - b`.
///
/// # Safety
/// As all of `Simd`.
#[inline(always)]
unsafe fn less<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: the caller's.
    unsafe { S::fma(S::splat(-1.0), b, a) }
}

/// What four neighbours become.
///
/// # Safety
/// As all of `Simd`.
#[inline(always)]
unsafe fn turn_four<S: Simd>(d: [S::V; 4]) -> [S::V; 4] {
    // SAFETY: the caller's.
    unsafe { [less::<S>(d[0], d[2]), S::add(d[1], d[2]), less::<S>(d[2], d[1]), less::<S>(d[1], d[3])] }
}

/// What three elements of a window become.
///
/// # Safety
/// As all of `Simd`.
#[inline(always)]
unsafe fn turn_three<S: Simd>(g: [S::V; 3]) -> [S::V; 4] {
    // SAFETY: the caller's.
    unsafe {
        let half = S::splat(0.5);
        let (ends, middle) = (S::mul(half, S::add(g[0], g[2])), S::mul(half, g[1]));
        [g[0], S::add(ends, middle), less::<S>(ends, middle), g[2]]
    }
}

/// Turns the windows of one row of the result: 16 numbers for each source.
struct Windows<'a> {
    from: &'a [f32],
    /// Elements from one source's window to the next.
    step: usize,
    /// Whether windows are read from their end.
    turned: bool,
    sources: usize,
    /// The row in the first of the matrices, and floats from one to the next.
    to: *mut f32,
    matrix: usize,
}

impl Work for Windows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let mut block = [0.0; 9 * 16];
        for first in (0..self.sources).step_by(S::LANES) {
            let count = S::LANES.min(self.sources - first);
            // SAFETY: the caller's; windows have nine elements, and the block is as large as the largest turned one.
            unsafe {
                for tap in (0..9).step_by(S::LANES) {
                    let from = self.from[first * self.step + tap..].as_ptr();
                    let to = block.as_mut_ptr().add(tap * 16);
                    S::transpose((from, self.step), (to, 16), count, S::LANES.min(9 - tap));
                }
                let mut rows = [[S::splat(0.0); 3]; 4];
                for w in 0..3 {
                    let mut column = [S::splat(0.0); 3];
                    for h in 0..3 {
                        let tap = h * 3 + w;
                        column[h] = S::load(block.as_ptr().add(if self.turned { 8 - tap } else { tap } * 16));
                    }
                    let turned = turn_three::<S>(column);
                    for h in 0..4 {
                        rows[h][w] = turned[h];
                    }
                }
                let part = S::part(count);
                for h in 0..4 {
                    let turned = turn_three::<S>(rows[h]);
                    for w in 0..4 {
                        S::store_part(self.to.add((h * 4 + w) * self.matrix + first), part, turned[w]);
                    }
                }
            }
        }
    }
}

/// Floats from one of 16 matrices to the next: a line more than it has, as 16 numbers of one place would otherwise fall on
/// the same lines of the first cache (64 channels at 28: 15 % of the time).
fn apart(channels: usize, lanes: usize) -> usize {
    channels * lanes + LINE
}

/// The results of some rows of tiles, counted through all samples.
struct Tiles<'a> {
    pass: &'a Pass<'a>,
    lines: Range<usize>,
    memory: &'a mut [f32],
    out: Shared,
}

impl Work for Tiles<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (pass, lines) = (self.pass, self.lines);
        let lanes = (lines.len() * pass.tiles()[1]).next_multiple_of(16);
        let (turned, sums) = self.memory.split_at_mut(16 * apart(pass.sources, lanes));
        let (turned, sums) = (Shared::of(turned), Shared::of(sums));
        let whole = Step { pass, lines, lanes, turned, sums, out: self.out };
        // SAFETY: the caller's; both parts of the memory have a place for each lane of all channels or rows.
        unsafe {
            whole.turn::<S>(0..pass.sources);
            for matrix in 0..16 {
                whole.multiply::<S>(matrix, 0..pass.rows);
            }
            whole.turn_back::<S>(0..pass.rows);
        }
    }
}

/// Some rows of tiles on their way.
struct Step<'a> {
    pass: &'a Pass<'a>,
    lines: Range<usize>,
    lanes: usize,
    /// 16 matrices each, a row of lanes for each source and for each row of results.
    turned: Shared,
    sums: Shared,
    out: Shared,
}

impl Step<'_> {
    /// # Safety
    /// The processor has the instructions of `S`, the memory is there, and no other task has these sources.
    #[inline(always)]
    unsafe fn turn<S: Simd>(&self, sources: Range<usize>) {
        let (pass, lanes, [down, across]) = (self.pass, self.lanes, self.pass.tiles());
        let (image, rest) = (pass.input[0] * pass.input[1], self.lines.len() * across);
        let matrix = apart(pass.sources, lanes);
        for source in sources {
            // SAFETY: the caller's.
            unsafe {
                for (index, line) in self.lines.clone().enumerate() {
                    let x = &pass.x[(line / down * pass.sources + source) * image..][..image];
                    let to = self.turned.at(source * lanes + index * across);
                    turn_line::<S>(pass, x, line % down, to, lanes - index * across, matrix);
                }
                for number in 0..16 {
                    self.turned.slice(number * matrix + source * lanes + rest, lanes - rest).fill(0.0);
                }
            }
        }
    }

    /// One of the 16 products: `sums[r][l]` is the sum of `windows[r][c] * turned[c][l]`.
    ///
    /// # Safety
    /// As `turn`, for these rows; a first row is a multiple of `SIDE`.
    #[inline(always)]
    unsafe fn multiply<S: Simd>(&self, matrix: usize, rows: Range<usize>) {
        let (pass, lanes) = (self.pass, self.lanes);
        let listed = if pass.windows.kept { LINE } else { pass.sources };
        let pairs: Vec<[u32; 2]> = (0..listed).map(|source| [source as u32, (source * lanes) as u32]).collect();
        let (segments, a_step, b_step) = (pass.sources / listed, SIDE * LINE, LINE * lanes);
        let walk = Walk { segments, a_step, b_step, pairs: &pairs };
        let turned = self.turned.at(matrix * apart(pass.sources, lanes));
        let mut row = rows.start;
        while row < rows.end {
            let height = conv_tile::height::<S>(rows.end - row);
            let a: [*const f32; 8] =
                std::array::from_fn(|r| pass.windows.row(matrix, row + r.min(height - 1), pass.sources));
            let mut lane = 0;
            while lane < lanes {
                let breadth = match (lanes - lane) / S::LANES {
                    4 => 2,
                    vectors => vectors.min(3),
                };
                // SAFETY: the caller's; lanes are whole vectors.
                unsafe {
                    let to = (self.sums.at(matrix * apart(pass.rows, lanes) + row * lanes + lane), lanes);
                    conv_tile::compute::<S>((height, breadth), walk, &a, turned.add(lane), None, Start::Zero, to);
                }
                lane += breadth * S::LANES;
            }
            row += height;
        }
    }

    /// # Safety
    /// As `turn`, for these rows.
    #[inline(always)]
    unsafe fn turn_back<S: Simd>(&self, rows: Range<usize>) {
        let (pass, [down, across]) = (self.pass, self.pass.tiles());
        let plane = pass.output[0] * pass.output[1];
        for row in rows {
            for (index, line) in self.lines.clone().enumerate() {
                // SAFETY: the caller's.
                unsafe {
                    let from = self.sums.at(row * self.lanes + index * across);
                    let to = self.out.at((line / down * pass.rows + row) * plane);
                    let room = self.lanes - index * across;
                    turn_back::<S>(pass, from, room, apart(pass.rows, self.lanes), row, line % down, to);
                }
            }
        }
    }
}

/// One of the three parts of a step.
enum Part {
    Turn(Range<usize>),
    Multiply(usize, Range<usize>),
    TurnBack(Range<usize>),
}

struct Share<'a>(&'a Step<'a>, Part);

impl Work for Share<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: the caller's.
        unsafe {
            match self.1 {
                Part::Turn(sources) => self.0.turn::<S>(sources),
                Part::Multiply(matrix, rows) => self.0.multiply::<S>(matrix, rows),
                Part::TurnBack(rows) => self.0.turn_back::<S>(rows),
            }
        }
    }
}

/// Turns the inputs of one row of tiles; matrices are `matrix` floats apart. Up to `room` lanes beyond its own may be
/// written, those of the rows that follow.
///
/// # Safety
/// The processor has the instructions of `S`, and the row of tiles has a place in each matrix.
#[inline(always)]
unsafe fn turn_line<S: Simd>(pass: &Pass<'_>, x: &[f32], line: usize, to: *mut f32, room: usize, matrix: usize) {
    let ([height, width], [_, across]) = (pass.input, pass.tiles());
    for first in (0..across).step_by(S::LANES) {
        let (at, far) = (2 * first as isize - pass.padding[1] as isize, S::LANES as isize);
        // SAFETY: the caller's.
        unsafe {
            let (a, b) = (Reach::<S>::new(at, width), Reach::<S>::new(at + far, width));
            let (c, d) = (Reach::<S>::new(at + 2, width), Reach::<S>::new(at + 2 + far, width));
            let mut rows = [[S::splat(0.0); 4]; 4];
            for h in 0..4 {
                let Some(row) = (2 * line + h).checked_sub(pass.padding[0]).filter(|&row| row < height) else {
                    continue;
                };
                let row = x.as_ptr().add(row * width);
                let ([d0, d1], [d2, d3]) = (S::dealt(a.load(row), b.load(row)), S::dealt(c.load(row), d.load(row)));
                rows[h] = turn_four::<S>([d0, d1, d2, d3]);
            }
            let place = Reach::<S>::within(first, across, room);
            for w in 0..4 {
                let column = turn_four::<S>([rows[0][w], rows[1][w], rows[2][w], rows[3][w]]);
                for h in 0..4 {
                    place.store(to.add((h * 4 + w) * matrix), column[h]);
                }
            }
        }
    }
}

/// Turns the sums of one row of tiles back into two rows of results.
///
/// # Safety
/// As `turn_line`.
#[inline(always)]
unsafe fn turn_back<S: Simd>(
    pass: &Pass<'_>,
    from: *const f32,
    room: usize,
    matrix: usize,
    row: usize,
    line: usize,
    to: *mut f32,
) {
    let ([height, width], [_, across]) = (pass.output, pass.tiles());
    let start = pass.bias.map_or(0.0, |bias| bias[row]);
    for first in (0..across).step_by(S::LANES) {
        // SAFETY: the caller's.
        unsafe {
            let place = Reach::<S>::within(first, across, room);
            let mut rows = [[S::splat(0.0); 4]; 2];
            for w in 0..4 {
                let mut m = [S::splat(0.0); 4];
                for h in 0..4 {
                    m[h] = place.load(from.add((h * 4 + w) * matrix));
                }
                rows[0][w] = S::add(S::add(m[0], m[1]), m[2]);
                rows[1][w] = less::<S>(less::<S>(m[1], m[2]), m[3]);
            }
            let (at, far) = (2 * first as isize, S::LANES as isize);
            let (low, high) = (Reach::<S>::new(at, width), Reach::<S>::new(at + far, width));
            for (h, m) in rows.into_iter().enumerate().take(height - 2 * line) {
                let even = S::add(S::add(S::add(m[0], m[1]), m[2]), S::splat(start));
                let odd = S::add(less::<S>(less::<S>(m[1], m[2]), m[3]), S::splat(start));
                let [first, second] = S::mixed(even, odd);
                let to = to.add((2 * line + h) * width);
                low.store(to, first);
                high.store(to, second);
            }
        }
    }
}

/// Whether no number is infinite or NaN: differences of infinities would become NaN where their sum is none.
fn is_finite(x: &[f32]) -> bool {
    x.chunks(1 << 12).all(|part| {
        let mut most = 0;
        dispatch(Largest { part, most: &mut most });
        most < 0x7F80_0000
    })
}

/// The largest of the bits of numbers without their signs.
struct Largest<'a> {
    part: &'a [f32],
    most: &'a mut u32,
}

impl Task for Largest<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        *self.most = self.part.iter().fold(0, |most, value| most.max(value.to_bits() & 0x7FFF_FFFF));
    }
}

/// Whether the convolution is one for these kernels: `batch` samples, at least `tiles` and at most so many windows.
fn suits(p: &Problem, batch: usize, tiles: usize, windows: usize, many: usize) -> bool {
    let kind = p.groups == 1 && p.kernel == [1, 3, 3] && p.stride == [1; 3] && p.dilation == [1; 3];
    let flat = p.input[0] == 1 && p.padding[0] == 0 && p.padding[1] <= 2 && p.padding[2] <= 2;
    let sized = [1, 2].into_iter().all(|dim| p.output[dim] + 2 == p.input[dim] + 2 * p.padding[dim]);
    let found = batch * p.output[1].div_ceil(2) * p.output[2].div_ceil(2);
    let large = p.channels.min(p.filters) >= many && p.channels * p.filters <= windows && found >= tiles;
    kind && flat && sized && large && widest::has_parts()
}

/// Rows of tiles for each task, with few lanes left empty and few threads idle; results do not depend on them.
fn shared_out(lines: usize, across: usize, most: usize) -> usize {
    let threads = guard::threads();
    let lanes = |each: usize| (each * across).next_multiple_of(16);
    let time = |&each: &usize| lines.div_ceil(each).div_ceil(threads) * (lanes(each) + 8);
    (1..=lines).take_while(|&each| each == 1 || lanes(each) <= most).min_by_key(time).unwrap_or(1)
}

/// Where windows stand: those of row `r` begin at `r * row`, those of its sources are `step` apart, and each may be read
/// from its end.
#[derive(Clone, Copy)]
struct Weight<'a> {
    from: &'a [f32],
    row: usize,
    step: usize,
    turned: bool,
}

impl Weight<'_> {
    /// All windows turned, 16 matrices.
    fn turn(self, rows: usize, sources: usize) -> Vec<f32> {
        let matrix = rows * sources;
        let mut windows = Room::new(16 * matrix);
        let to = windows.shared();
        spread_over(rows, (TASK / (64 * sources)).max(1), &|index| {
            let (from, step, turned) = (&self.from[index * self.row..], self.step, self.turned);
            widest::run(Windows { from, step, turned, sources, to: to.at(index * sources), matrix });
        });
        // SAFETY: each row has written its places of all matrices.
        unsafe { windows.filled() }
    }

    /// The same in the order of kept ones.
    fn turn_to_keep(self, rows: usize, sources: usize) -> Vec<f32> {
        let matrix = rows.next_multiple_of(SIDE) * sources;
        let mut windows = written(16 * matrix);
        let to = Shared::of(&mut windows);
        spread_over(rows.div_ceil(SIDE), 1, &|side| {
            let block = SIDE * sources;
            with_scratch(16 * sources, |memory| {
                for index in side * SIDE..((side + 1) * SIDE).min(rows) {
                    let (from, step, turned) = (&self.from[index * self.row..], self.step, self.turned);
                    let own = memory.as_mut_ptr();
                    widest::run(Windows { from, step, turned, sources, to: own, matrix: sources });
                    for (number, line) in memory.chunks_exact(sources).enumerate() {
                        // SAFETY: each task has a block of its own in each matrix.
                        let to = unsafe { to.slice(number * matrix + side * block, block) };
                        let places = to.chunks_exact_mut(LINE).skip(index % SIDE).step_by(SIDE);
                        places.zip(line.chunks_exact(LINE)).for_each(|(place, line)| place.copy_from_slice(line));
                    }
                }
            });
        });
        windows
    }
}

/// Computes `out`.
fn run(pass: &Pass<'_>, batch: usize, out: &mut [f32]) {
    let (sources, rows, out) = (pass.sources, pass.rows, Shared::of(out));
    let [down, across] = pass.tiles();
    let (lines, most) = (batch * down, LANES.min(ROOM / (16 * (sources + rows))).max(16));
    let lanes = (lines * across).next_multiple_of(16);
    let room = |lanes: usize| 16 * (apart(sources, lanes) + apart(rows, lanes));
    if lanes <= TOGETHER.min(most) {
        return with_scratch(room(lanes), |memory| {
            let (turned, sums) = memory.split_at_mut(16 * apart(sources, lanes));
            let (turned, sums) = (Shared::of(turned), Shared::of(sums));
            run_together(&Step { pass, lines: 0..lines, lanes, turned, sums, out });
        });
    }
    let each = shared_out(lines, across, most);
    let tasks = lines.div_ceil(each);
    let room = room((each * across).next_multiple_of(16));
    spread_over(tasks, 1, &|task| {
        let lines = (task * each).min(lines)..((task + 1) * each).min(lines);
        with_scratch(room, |memory| widest::run(Tiles { pass, lines, memory, out }));
    });
}

/// Few tiles: threads share what is large, the windows.
fn run_together(step: &Step<'_>) {
    let (sources, rows) = (split(step.pass.sources, 32), split(step.pass.rows, 32));
    spread_over(sources.len(), 1, &|task| widest::run(Share(step, Part::Turn(sources[task].clone()))));
    let parts = split(step.pass.rows, ROWS);
    spread_over(16 * parts.len(), 1, &|task| {
        let (matrix, part) = (task / parts.len(), task % parts.len());
        widest::run(Share(step, Part::Multiply(matrix, parts[part].clone())));
    });
    spread_over(rows.len(), 1, &|task| widest::run(Share(step, Part::TurnBack(rows[task].clone()))));
}

/// `out` from `x`, `weight` and a summand for each filter; false where another kernel is faster or more exact. Where there
/// is a `keeper` the weight stays as it is, and its turned windows are kept for the next call.
pub fn forward(
    p: &Problem,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    keeper: Option<&Keeper>,
    out: &mut [f32],
) -> bool {
    let batch = out.len() / (p.filters * p.output[1] * p.output[2]).max(1);
    let always = suits(p, batch, TILES, WINDOWS, MANY);
    let keeper = keeper.filter(|_| p.channels.is_multiple_of(LINE)).map(|keeper| keeper.of(Order::Winograd));
    let keeper = keeper.as_ref();
    let most = MOST_WINDOWS.max(near() / (16 * size_of::<f32>()));
    let kept = suits(p, batch, KEPT_TILES, KEPT_WINDOWS, MANY) || suits(p, batch, TILES, most, MANY);
    let worth = keeper.is_some() && kept;
    if !(always || worth) || !is_finite(x) {
        return false;
    }
    let pass = Pass {
        sources: p.channels,
        rows: p.filters,
        input: [p.input[1], p.input[2]],
        output: [p.output[1], p.output[2]],
        padding: [p.padding[1], p.padding[2]],
        x,
        bias,
        windows: Turned::NONE,
    };
    let windows = Weight { from: weight, row: 9 * p.channels, step: 9, turned: false };
    if let Some(kept) = keeper.and_then(|keeper| kept_windows(keeper, windows, [p.filters, p.channels], always)) {
        run(&Pass { windows: Turned { values: kept.get(), kept: true }, ..pass }, batch, out);
        return true;
    }
    if !always || !is_finite(weight) {
        return false;
    }
    let values = windows.turn(pass.rows, pass.sources);
    run(&Pass { windows: Turned { values: &values, kept: false }, ..pass }, batch, out);
    true
}

/// The windows that were kept, or are from now on: at once where only kept ones are worth while, so that one call gives
/// what the next one gives; otherwise the second time that they are seen.
fn kept_windows(
    keeper: &Keeper,
    windows: Weight<'_>,
    [rows, sources]: [usize; 2],
    patient: bool,
) -> Option<Arc<Values>> {
    let found = keeper.find();
    if let Found::Values(values) = found {
        return Some(values);
    }
    let wait = patient && matches!(found, Found::New);
    if wait || !keeper.has_room(16 * rows.next_multiple_of(SIDE) * sources) || !is_finite(windows.from) {
        return None;
    }
    Some(keeper.keep(windows.turn_to_keep(rows, sources)))
}

/// The gradient of the input, written to `x`, from that of the output.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    let batch = x.len() / (p.channels * p.input[1] * p.input[2]).max(1);
    let many = if widest::lanes() < 16 { MANY } else { MANY_BACK };
    if !suits(p, batch, TILES, WINDOWS, many) || !is_finite(grad) || !is_finite(weight) {
        return false;
    }
    let weight = Weight { from: weight, row: 9, step: 9 * p.channels, turned: true };
    let values = weight.turn(p.channels, p.filters);
    let pass = Pass {
        sources: p.filters,
        rows: p.channels,
        input: [p.output[1], p.output[2]],
        output: [p.input[1], p.input[2]],
        padding: [2 - p.padding[1], 2 - p.padding[2]],
        x: grad,
        bias: None,
        windows: Turned { values: &values, kept: false },
    };
    run(&pass, batch, x);
    true
}
