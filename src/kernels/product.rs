//! Matrix products of float32 by packed panels, from any source of panels (benchmarks/bars.py: products).
//!
//! A result's sum runs over the depth in one order, block by block, whatever tile or thread computes it: results do not
//! depend on the number of threads.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::dots::Dots;
use super::iterate::spread_over;
use super::micro::{Ahead, Finish, Isa, Panel, STEPS, Start, Tile};
use super::narrow::Kind;
use super::processor;
use crate::guard;

/// One side of a product as rows ("lanes") of `depth` elements: of the left side they are rows of the result, of the right
/// side its columns. Lane `i` at depth `p` is element `i * across + p * along`.
#[derive(Clone, Copy)]
pub struct Matrix {
    from: *const u8,
    kind: Kind,
    pub across: usize,
    pub along: usize,
}

// SAFETY: a matrix is only read, and who makes a product of it keeps its memory.
unsafe impl Sync for Matrix {}
// SAFETY: as for Sync.
unsafe impl Send for Matrix {}

impl Matrix {
    /// A side of float32.
    pub fn new(from: *const f32, across: usize, along: usize) -> Self {
        Self::of(from.cast(), Kind::Single, across, along)
    }

    pub fn of(from: *const u8, kind: Kind, across: usize, along: usize) -> Self {
        Self { from, kind, across, along }
    }

    /// Fills a panel with these lanes and depths.
    ///
    /// # Safety
    /// The panel has room, and lanes and depths are inside the matrix.
    unsafe fn pack(&self, panel: Panel, lane: usize, depth: usize) {
        // SAFETY: the caller's.
        unsafe { Isa::current().pack_any(self.kind, panel, self.byte(lane, depth), self.across, self.along) }
    }

    fn byte(&self, lane: usize, depth: usize) -> *const u8 {
        self.from.wrapping_add((lane * self.across + depth * self.along) * self.kind.size())
    }

    /// Where an element lies: float32 that may be read there, or something that is only fetched.
    fn at(&self, lane: usize, depth: usize) -> *const f32 {
        self.byte(lane, depth).cast()
    }

    /// The same elements two by two along the depth, where they are bfloat16 and can be read so.
    fn paired(&self) -> Option<Self> {
        let lined = self.across.is_multiple_of(2) && (self.from as usize).is_multiple_of(4);
        let pairs = self.kind == Kind::Brain && (self.along != 1 || lined);
        pairs.then_some(Self { kind: Kind::Pairs, along: 2 * self.along, ..*self })
    }

    /// Whether tiles can read it where it lies.
    fn single(&self) -> bool {
        self.kind == Kind::Single
    }
}

/// Where results are written.
#[derive(Clone, Copy)]
pub struct Out {
    pub to: *mut f32,
    pub row: usize,
    pub column: usize,
}

/// `out = a @ b`, finished: (rows, depth) by (depth, columns).
#[derive(Clone, Copy)]
pub struct Product {
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
    pub a: Matrix,
    pub b: Matrix,
    pub out: Out,
    pub finish: Finish,
}

// SAFETY: threads write disjoint results, and only read the sides.
unsafe impl Sync for Product {}
// SAFETY: as for Sync.
unsafe impl Send for Product {}

/// Multiplications below which a product is not worth several threads.
const PARALLEL_ABOVE: usize = 1 << 19;
/// Multiplications that the beginning of one of many products stands for.
const BEGUN: usize = 512;
/// Multiplications of a task of dot products.
const TASK: usize = 1 << 15;
/// Depth of one block of sums: a panel of rows of it stays in the first cache. Results depend on it.
const DEPTH: usize = 384;
/// Elements of the columns that are packed at a time: as many as the second caches of many processors hold by halves.
const BLOCK: usize = 1 << 18;
/// Elements of a line of memory.
const LINE: usize = 16;
/// Depths that are packed of one panel after the other: their pages stay known.
const PAGES: usize = 32;
/// Tiles from which the rows that they share are packed, if these lie along the depth.
const SHARED: usize = 6;
/// Tasks of a stage for each thread, at least, and panels of columns that one task packs.
const GROUPS: usize = 12;
const PACKED: usize = 2;
/// Columns for each thread from which threads pack their own: what another has packed comes slowly.
const APART: usize = 512;
/// Rows up to which columns along the depth are not packed.
const FEW: usize = 8;
/// Depths below which a sum keeps to one order, torch's own: coordinates of pixels are such products, and are rounded.
const SHALLOW: usize = 16;
/// Elements of the left side up to which tiles read it where it lies, the same where rows lie across, and rows of one task
/// then.
const DIRECT: usize = 1 << 18;
const ACROSS: usize = 1 << 16;
const ROWS: usize = 560;
/// Panels of rows for each thread up to which all threads get as many.
const EVEN: usize = 32;

/// `count` lanes in panels of at most `most`, as even as they can be; all but the last are whole units.
#[derive(Clone, Copy)]
pub struct Even {
    pub panels: usize,
    count: usize,
    unit: usize,
    size: usize,
    larger: usize,
}

impl Even {
    pub fn new(count: usize, most: usize) -> Self {
        Self::of_units(count, most, 1)
    }

    fn of_units(count: usize, most: usize, unit: usize) -> Self {
        let units = count.div_ceil(unit);
        let panels = units.div_ceil(most / unit);
        Self { panels, count, unit, size: units / panels.max(1), larger: units % panels.max(1) }
    }

    /// So many panels, at most one for each lane.
    pub fn in_panels(count: usize, panels: usize) -> Self {
        Self { panels, count, unit: 1, size: count / panels.max(1), larger: count % panels.max(1) }
    }

    pub fn at(self, panel: usize) -> Range<usize> {
        let first = panel * self.size + panel.min(self.larger);
        let end = first + self.size + usize::from(panel < self.larger);
        first * self.unit..(end * self.unit).min(self.count)
    }

    /// The size of the largest panel.
    pub fn largest(self) -> usize {
        self.at(0).len()
    }
}

/// The blocks of sums of a depth, which begin where lines of memory do.
fn depths(depth: usize) -> Even {
    Even::of_units(depth, DEPTH, LINE)
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

thread_local! {
    /// Memory for panels, kept from call to call: fresh pages cost more than packing.
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Gives `call` room for this many elements, not cleared.
pub fn with_scratch<R>(elements: usize, call: impl FnOnce(*mut f32) -> R) -> R {
    let mut memory = SCRATCH.take();
    let lines = elements.div_ceil(LINE);
    if memory.len() < lines {
        memory = vec![Line([0.0; LINE]); lines];
    }
    let result = call(memory.as_mut_ptr().cast());
    // Work that rayon began meanwhile may have left its own.
    let other = SCRATCH.take();
    SCRATCH.set(if other.len() > memory.len() { other } else { memory });
    result
}

#[derive(Clone, Copy)]
struct Shared(*mut f32);

// SAFETY: tasks write disjoint panels, and read them only when all are written.
unsafe impl Sync for Shared {}
// SAFETY: as for Sync.
unsafe impl Send for Shared {}

impl Shared {
    fn at(self, index: usize) -> *mut f32 {
        self.0.wrapping_add(index)
    }
}

fn each(count: usize, parallel: bool, call: impl Fn(usize) + Sync) {
    if parallel && count > 1 {
        spread_over(count, 1, &call);
    } else {
        (0..count).for_each(call);
    }
}

/// Whether several threads compute `count` products of these sizes. A few rows take as long as reading the other side.
pub fn shared(count: usize, [rows, columns, depth]: [usize; 3]) -> bool {
    let work = rows.max(FEW).saturating_mul(columns.max(FEW)).saturating_mul(depth);
    work.saturating_add(if count > 1 { BEGUN } else { 0 }).saturating_mul(count) > PARALLEL_ABOVE
}

/// Computes `count` products of one size: each by several threads, or several at once.
///
/// # Safety
/// Both sides have the product's sizes, and the results lie in memory that nothing else uses and no side reads.
pub unsafe fn multiply_each(count: usize, product: impl Fn(usize) -> Product + Sync) {
    if count == 0 {
        return;
    }
    let Product { rows, columns, depth, .. } = product(0);
    let threads = if shared(count, [rows, columns, depth]) { guard::threads() } else { 1 };
    // What fits into the second cache is there.
    let far = count.saturating_mul(depth).saturating_mul(rows + columns) > BLOCK;
    let soon = |index: usize| (far && index + 1 < count).then(|| Soon::of(&product(index), &product(index + 1)));
    if threads > 1 && count >= threads {
        // SAFETY: the caller's.
        each(count, true, |index| unsafe { multiply(&product(index), soon(index), false) });
    } else {
        let parallel = threads > 1 && shared(1, [rows, columns, depth]);
        // SAFETY: the caller's.
        (0..count).for_each(|index| unsafe { multiply(&product(index), soon(index), parallel) });
    }
}

/// What the next product reads, in lines of memory that are fetched meanwhile.
#[derive(Clone, Copy)]
struct Soon {
    from: [*const f32; 2],
    lines: [usize; 2],
}

// SAFETY: nothing is read through it, only fetched.
unsafe impl Sync for Soon {}
// SAFETY: as for Sync.
unsafe impl Send for Soon {}

impl Soon {
    /// The sides that are others than before, where their elements lie side by side.
    fn of(before: &Product, next: &Product) -> Self {
        let depth = next.depth;
        let lines = |before: Matrix, next: Matrix, lanes: usize| {
            let strides = (next.across, next.along);
            let dense = strides == (depth, 1) || strides == (1, lanes);
            if dense && next.from != before.from { lanes * depth * next.kind.size() / 64 } else { 0 }
        };
        Self {
            from: [next.a.at(0, 0), next.b.at(0, 0)],
            lines: [lines(before.a, next.a, next.rows), lines(before.b, next.b, next.columns)],
        }
    }

    /// The part of it that one of `count` tiles of this depth fetches beside its results.
    fn beside(&self, tile: usize, count: usize, depth: usize) -> (*const f32, usize) {
        let share = self.lines.iter().sum::<usize>().div_ceil(count.max(1));
        let first = tile * share;
        let from = match first.checked_sub(self.lines[0]) {
            None => self.from[0].wrapping_add(first * LINE),
            Some(first) => self.from[1].wrapping_add(first * LINE),
        };
        (from, share.div_ceil(depth.div_ceil(STEPS).max(1)))
    }
}

unsafe fn multiply(product: &Product, soon: Option<Soon>, parallel: bool) {
    if product.rows == 0 || product.columns == 0 {
        return;
    }
    let turned = product.out.column != 1 && product.out.row == 1;
    let product = if turned { turn(product) } else { *product };
    let few = if product.columns <= FEW && product.rows > FEW { turn(&product) } else { product };
    if few.rows <= FEW && few.depth >= SHALLOW && few.b.along == 1 {
        // SAFETY: the caller's.
        return unsafe { by_dots(&few, parallel) };
    }
    let product = paired(&product).unwrap_or(product);
    let run = Run::new(&product, soon, parallel);
    // SAFETY: the caller's.
    unsafe {
        let near = if product.a.along == 1 { DIRECT } else { ACROSS };
        if product.rows.saturating_mul(product.depth) <= near && (product.a.single() || product.depth == 0) {
            run.direct();
        } else {
            run.all();
        }
    }
}

/// The same product of pairs, where both sides are bfloat16 and the processor multiplies such.
fn paired(product: &Product) -> Option<Product> {
    let deep = product.depth >= SHALLOW && product.depth.is_multiple_of(2);
    let (a, b) = (product.a.paired()?, product.b.paired()?);
    (deep && Isa::has_pairs()).then_some(Product { depth: product.depth / 2, a, b, ..*product })
}

/// A product of a few rows, whose columns lie along the depth.
unsafe fn by_dots(product: &Product, parallel: bool) {
    let Product { rows, columns, depth, a: x, b: w, .. } = *product;
    let isa = Isa::current();
    let lined = x.along == 1 && x.single();
    with_scratch(if lined { 0 } else { rows * depth }, |memory| {
        let (x, x_row) = if lined {
            (Shared(x.at(0, 0).cast_mut()), x.across)
        } else {
            for row in 0..rows {
                let line = Panel { to: memory.wrapping_add(row * depth), width: depth, lanes: depth, depth: 1 };
                // SAFETY: the caller's; the memory has room for all rows.
                unsafe { isa.pack_any(x.kind, line, x.byte(row, 0), x.along, 0) };
            }
            (Shared(memory), depth)
        };
        let wide = (TASK / depth.max(1)).max(8);
        each(columns.div_ceil(wide), parallel, |task| {
            let (column, out, x): (usize, Out, &Shared) = (task * wide, product.out, &x);
            for row in (0..rows).step_by(4) {
                let start = product.finish.start.map(|start| Start {
                    from: start.from.wrapping_add(row * start.row + column * start.column),
                    ..start
                });
                let dots = Dots {
                    depth,
                    x: x.at(row * x_row),
                    x_row,
                    w: w.byte(column, 0),
                    w_row: w.across,
                    out: out.to.wrapping_add(row * out.row + column * out.column),
                    out_row: out.row,
                    out_column: out.column,
                    columns: wide.min(columns - column),
                    finish: Finish { start, ..product.finish },
                };
                // SAFETY: the caller's; every task has columns of its own.
                unsafe { isa.dot(w.kind, &dots, (rows - row).min(4)) };
            }
        });
    });
}

/// The same product seen from the other side.
fn turn(product: &Product) -> Product {
    let Product { rows, columns, depth, a, b, out, finish } = *product;
    let start = finish.start.map(|start| Start { row: start.column, column: start.row, ..start });
    Product {
        rows: columns,
        columns: rows,
        depth,
        a: b,
        b: a,
        out: Out { row: out.column, column: out.row, ..out },
        finish: Finish { start, ..finish },
    }
}

/// One product on its way.
struct Run<'a> {
    product: &'a Product,
    soon: Option<Soon>,
    isa: &'static Isa,
    parallel: bool,
    /// Rows of the result, cut into panels.
    rows: Even,
}

impl<'a> Run<'a> {
    fn new(product: &'a Product, soon: Option<Soon>, parallel: bool) -> Self {
        let isa = Isa::current();
        let rows = Even::new(product.rows, isa.height);
        // As many for each thread: the last one of an odd number would keep the others waiting.
        let threads = if parallel { guard::threads() } else { 1 };
        let rows = if rows.panels <= EVEN * threads && rows.panels.next_multiple_of(threads) <= product.rows {
            Even::in_panels(product.rows, rows.panels.next_multiple_of(threads))
        } else {
            rows
        };
        Self { product, soon, isa, parallel, rows }
    }

    /// The columns of a panel.
    fn lanes(&self, panel: usize) -> Range<usize> {
        let width = self.isa.width();
        panel * width..((panel + 1) * width).min(self.product.columns)
    }

    /// Every task packs the few columns that it needs, one panel after the other, and nothing is shared.
    unsafe fn direct(&self) {
        let panels = self.product.columns.div_ceil(self.isa.width());
        let wide = panels.div_ceil(16);
        let across = panels.div_ceil(wide);
        let mut down = self.rows.panels.div_ceil((ROWS / self.isa.height).max(1));
        let threads = if self.parallel { guard::threads() } else { 1 };
        let ragged = !across.is_multiple_of(threads) || !self.product.columns.is_multiple_of(self.isa.width());
        if ragged && down == 1 && across < EVEN / 4 * threads {
            down = threads.min(self.rows.panels);
        }
        let tall = self.rows.panels.div_ceil(down.max(1)).max(1);
        let room = self.isa.width() * depths(self.product.depth).largest();
        each(down * across, self.parallel, |task| {
            let (row, column) = (task / across * tall, task % across * wide);
            let rows = row..(row + tall).min(self.rows.panels);
            with_scratch(room, |memory| {
                for panel in column..(column + wide).min(panels) {
                    // SAFETY: the caller's; every task has columns or rows of its own.
                    unsafe { self.strip(rows.clone(), panel, memory) };
                }
            });
        });
    }

    /// One panel of columns with some panels of rows.
    unsafe fn strip(&self, rows: Range<usize>, panel: usize, memory: *mut f32) {
        let (isa, product) = (self.isa, self.product);
        let (width, blocks) = (isa.width(), depths(product.depth));
        let lanes = self.lanes(panel);
        for block in 0..blocks.panels.max(1) {
            let deep = if blocks.panels == 0 { 0..0 } else { blocks.at(block) };
            // Columns that are used once or twice are read where they lie.
            let lined =
                product.b.single() && product.b.across == 1 && rows.len() <= 2 && lanes.len().is_multiple_of(isa.lanes);
            let (right, step) = if lined {
                (product.b.at(lanes.start, deep.start), product.b.along)
            } else {
                let fill = Panel { to: memory, width, lanes: lanes.len(), depth: deep.len() };
                // SAFETY: the caller's.
                unsafe { product.b.pack(fill, lanes.start, deep.start) };
                (memory.cast_const(), width)
            };
            let finish = self.finish(block, blocks.panels);
            for row in rows.clone() {
                let own = self.rows.at(row);
                let place = self.place(&own, &lanes, finish);
                let tile = Tile {
                    depth: deep.len(),
                    a: product.a.at(own.start, deep.start),
                    a_row: product.a.across,
                    a_step: product.a.along,
                    b: right,
                    b_step: step,
                    ahead: self.beside(place.out, (panel * blocks.panels + block) * self.rows.panels + row),
                    ..place
                };
                // SAFETY: the caller's.
                unsafe { isa.run(&tile, own.len()) };
            }
        }
    }

    /// What one of the tiles of `strip` fetches.
    fn beside(&self, out: *const f32, tile: usize) -> Ahead {
        let Some(soon) = &self.soon else { return Ahead::of(out) };
        let (depth, panels) = (depths(self.product.depth), self.product.columns.div_ceil(self.isa.width()));
        let (from, count) = soon.beside(tile, panels * depth.panels * self.rows.panels, depth.largest());
        Ahead { out, from, step: LINE, count }
    }

    /// What becomes of the sums of one of the blocks of the depth.
    fn finish(&self, block: usize, blocks: usize) -> Finish {
        let (finish, last) = (self.product.finish, block + 1 >= blocks);
        let start = finish.start.filter(|_| last);
        Finish { add: finish.add || block > 0, start, relu: finish.relu && last, ..finish }
    }

    /// Where a result is written.
    fn at(&self, row: usize, column: usize) -> *mut f32 {
        let out = self.product.out;
        out.to.wrapping_add(row * out.row + column * out.column)
    }

    /// A tile of these rows and columns without its sides.
    fn place(&self, rows: &Range<usize>, lanes: &Range<usize>, finish: Finish) -> Tile {
        let out = self.product.out;
        let start = finish.start.map(|start| Start {
            from: start.from.wrapping_add(rows.start * start.row + lanes.start * start.column),
            ..start
        });
        let at = self.at(rows.start, lanes.start);
        Tile {
            depth: 0,
            a: std::ptr::null(),
            a_row: 0,
            a_step: 0,
            b: std::ptr::null(),
            b_step: 0,
            out: at,
            out_row: out.row,
            out_column: out.column,
            columns: lanes.len(),
            finish: Finish { start, ..finish },
            ahead: Ahead::of(at),
            paired: self.product.a.kind == Kind::Pairs,
            streamed: false,
        }
    }

    /// Threads that have many columns each pack their own, and help each other at the end; otherwise all of them pack
    /// the columns together. Every thread packs the rows that it takes.
    unsafe fn all(&self) {
        let (width, depth) = (self.isa.width(), depths(self.product.depth));
        let panels = self.product.columns.div_ceil(width);
        let deepest = depth.largest();
        let threads = if self.parallel { guard::threads() } else { 1 };
        let parts = Even::new(panels, panels.div_ceil((panels * width / APART).clamp(1, threads)));
        let together = threads.div_ceil(parts.panels);
        let groups = if together > 1 { (GROUPS * together).div_ceil(self.rows.panels) } else { 1 };
        let room = parts.largest().min((BLOCK / (width * deepest)).max(1)) * width * deepest;
        let own = (self.isa.height * deepest).next_multiple_of(16);
        let places = if together > 1 { 2 } else { 1 };
        with_scratch(parts.panels * places * room + threads * own, |memory| {
            let memory = Shared(memory);
            let work: Vec<Stages> = (0..parts.panels)
                .map(|part| {
                    let all = parts.at(part);
                    let columns = Even::new(all.len(), (BLOCK / (width * deepest)).max(1));
                    let stages = (0..columns.panels * depth.panels).map(|_| Stage::default()).collect();
                    let memory = Shared(memory.at(part * places * room));
                    Stages {
                        run: self,
                        first: all.start,
                        columns,
                        depth,
                        groups,
                        threads: together,
                        room,
                        places,
                        memory,
                        stages,
                    }
                })
                .collect();
            let rows = parts.panels * places * room;
            each(threads, threads > 1, |thread| {
                for part in 0..work.len() {
                    // SAFETY: the caller's; the numbers are those of different threads, and the memory has room for all.
                    unsafe { work[(thread + part) % work.len()].compute(memory.at(rows + thread * own)) };
                }
            });
        });
    }
}

/// Tasks of one kind that threads take one by one.
#[derive(Default)]
struct Claims {
    next: AtomicUsize,
    done: AtomicUsize,
}

impl Claims {
    /// Does what nobody has taken yet.
    fn take(&self, count: usize, task: impl Fn(usize)) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            task(index);
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until all tasks are done: every one of them has been taken, by a thread that waits for nothing meanwhile.
    fn wait(&self, count: usize) {
        let mut turns = 0_u32;
        while self.done.load(Ordering::Acquire) < count {
            turns = turns.saturating_add(1);
            if turns < 10_000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// A block of columns with a block of depths: first packed, then multiplied with all rows.
#[derive(Default)]
struct Stage {
    packs: Claims,
    tiles: Claims,
}

struct Stages<'a> {
    run: &'a Run<'a>,
    /// Panels of columns from the first on, in blocks.
    first: usize,
    columns: Even,
    depth: Even,
    /// Groups of the panels of a block that are multiplied with a panel of rows at a time.
    groups: usize,
    /// Threads that take rows.
    threads: usize,
    /// Elements of a packed block, and places for blocks, which are used in turn.
    room: usize,
    places: usize,
    memory: Shared,
    stages: Vec<Stage>,
}

impl Stages<'_> {
    /// What one thread does, with room for a panel of rows.
    unsafe fn compute(&self, left: *mut f32) {
        let mut before: Option<(&Stage, usize)> = None;
        for (index, stage) in self.stages.iter().enumerate() {
            let (columns, deep) =
                (self.columns.at(index / self.depth.panels), self.depth.at(index % self.depth.panels));
            let columns = self.first + columns.start..self.first + columns.end;
            let right = self.memory.at(index % self.places * self.room);
            if let Some((stage, tasks)) = before.filter(|_| self.places == 1) {
                stage.tiles.wait(tasks);
            }
            // SAFETY: the caller's; who packs has seen the end of the stage that lay in this place.
            stage.packs.take(columns.len().div_ceil(PACKED), |task| unsafe {
                let first = columns.start + task * PACKED;
                self.pack(first..(first + PACKED).min(columns.end), &columns, &deep, right);
            });
            stage.packs.wait(columns.len().div_ceil(PACKED));
            if let Some((stage, tasks)) = before {
                stage.tiles.wait(tasks);
            }
            let wide = columns.len().div_ceil(self.groups);
            let across = columns.len().div_ceil(wide);
            let tasks = self.run.rows.panels * across;
            stage.tiles.take(tasks, |task| {
                let first = columns.start + task % across * wide;
                let group = first..(first + wide).min(columns.end);
                // SAFETY: the caller's; every task has tiles of its own, and the columns are packed.
                unsafe {
                    self.tiles(task / across, group, &columns, (index % self.depth.panels, &deep), (left, right))
                };
            });
            before = Some((stage, tasks));
        }
    }

    /// Packs some panels of the columns of a stage.
    unsafe fn pack(&self, panels: Range<usize>, columns: &Range<usize>, deep: &Range<usize>, to: *mut f32) {
        let width = self.run.isa.width();
        let turned = self.run.product.b.across != 1;
        let step = if turned { deep.len() } else { PAGES };
        for depth in (deep.start..deep.end).step_by(step) {
            for panel in panels.clone() {
                let lanes = self.run.lanes(panel);
                let at = (panel - columns.start) * width * deep.len() + (depth - deep.start) * width;
                let depths = step.min(deep.end - depth);
                let fill = Panel { to: to.wrapping_add(at), width, lanes: lanes.len(), depth: depths };
                // SAFETY: the caller's.
                unsafe { self.run.product.b.pack(fill, lanes.start, depth) };
            }
        }
    }

    /// One panel of rows with some panels of columns.
    unsafe fn tiles(
        &self,
        row: usize,
        group: Range<usize>,
        columns: &Range<usize>,
        (block, deep): (usize, &Range<usize>),
        (left, right): (*mut f32, *mut f32),
    ) {
        let Run { product, isa, .. } = *self.run;
        let (own, width) = (self.run.rows.at(row), isa.width());
        let (a, a_row, a_step) = if product.a.single() && product.a.along == 1 && group.len() < SHARED {
            (product.a.at(own.start, deep.start), product.a.across, 1)
        } else {
            let fill = Panel { to: left, width: own.len(), lanes: own.len(), depth: deep.len() };
            // SAFETY: the caller's.
            unsafe { product.a.pack(fill, own.start, deep.start) };
            (left.cast_const(), 1, own.len())
        };
        let finish = self.run.finish(block, self.depth.panels);
        // Threads take rows in turn.
        let below = if row + self.threads < self.run.rows.panels { self.run.rows.at(row + self.threads) } else { 0..0 };
        let (first, end) = (group.start, group.end);
        let streamed = processor::asks_for_columns();
        for panel in group {
            let b = right.wrapping_add((panel - columns.start) * width * deep.len());
            let place = self.run.place(&own, &self.run.lanes(panel), finish);
            let out = if panel + 1 < end {
                place.out.wrapping_add(width * place.out_column)
            } else {
                self.run.at(below.start, first * width)
            };
            let (from, step) = self.ahead(panel - first, &below, deep);
            let ahead = Ahead { out, from, step, count: usize::from(!from.is_null()) };
            let tile = Tile { depth: deep.len(), a, a_row, a_step, b, b_step: width, ahead, streamed, ..place };
            // SAFETY: the caller's.
            unsafe { isa.run(&tile, own.len()) };
        }
    }
    /// The part of the next rows that is fetched beside the `index`-th tile of a panel: one of its rows, or some depths of
    /// all of them.
    fn ahead(&self, index: usize, below: &Range<usize>, deep: &Range<usize>) -> (*const f32, usize) {
        let (a, depths) = (self.run.product.a, deep.len().div_ceil(STEPS));
        if a.along == 1 && index < below.len() {
            (a.at(below.start + index, deep.start), STEPS)
        } else if a.across == 1 && !below.is_empty() && (index + 1) * depths <= deep.len() {
            (a.at(below.start, deep.start + index * depths), a.along * a.kind.size() / 4)
        } else {
            (std::ptr::null(), 0)
        }
    }
}
