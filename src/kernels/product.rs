//! Matrix products of float32 by packed panels, from any source of panels (benchmarks/bars.py: products).
//!
//! A result's sum runs over the depth in one order, block by block, whatever tile or thread computes it: results do not
//! depend on the number of threads.

use std::cell::Cell;
use std::ops::Range;

use super::dots::Dots;
use super::iterate::spread_over;
use super::micro::{Finish, Isa, Panel, Start, Tile};

/// One side of a product as rows ("lanes") of `depth` elements: of the left side they are rows of the result, of the right
/// side its columns.
pub trait Source: Sync {
    /// Fills a panel with these lanes and depths.
    ///
    /// # Safety
    /// The panel has room, and lanes and depths are inside the source.
    unsafe fn pack(&self, panel: Panel, lane: usize, depth: usize);
}

/// Elements in memory: lane `i` at depth `p` is `from[i * across + p * along]`.
#[derive(Clone, Copy)]
pub struct Matrix {
    pub from: *const f32,
    pub across: usize,
    pub along: usize,
}

// SAFETY: a matrix is only read, and who makes a product of it keeps its memory.
unsafe impl Sync for Matrix {}
// SAFETY: as for Sync.
unsafe impl Send for Matrix {}

impl Source for Matrix {
    unsafe fn pack(&self, panel: Panel, lane: usize, depth: usize) {
        let from = self.from.wrapping_add(lane * self.across + depth * self.along);
        // SAFETY: the caller's.
        unsafe { (Isa::current().pack)(panel, from, self.across, self.along) }
    }
}

/// One side: memory that tiles may read as it lies, or something that must be packed.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    Matrix(Matrix),
    Packed(&'a dyn Source),
}

impl Side<'_> {
    unsafe fn pack(&self, panel: Panel, lane: usize, depth: usize) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Matrix(matrix) => matrix.pack(panel, lane, depth),
                Self::Packed(source) => source.pack(panel, lane, depth),
            }
        }
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
pub struct Product<'a> {
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
    pub a: Side<'a>,
    pub b: Side<'a>,
    pub out: Out,
    pub finish: Finish,
}

// SAFETY: threads write disjoint results, and sources are shared references.
unsafe impl Sync for Product<'_> {}
// SAFETY: as for Sync.
unsafe impl Send for Product<'_> {}

/// Multiplications below which a product is not worth several threads.
const PARALLEL_ABOVE: usize = 1 << 18;
/// Depth of one block of sums: two panels of it stay in the first cache. Results depend on it.
const DEPTH: usize = 384;
/// Elements of packed panels of the right and the left side; the left ones stay in the second cache.
const RIGHT: usize = 1 << 20;
const LEFT: usize = 1 << 18;
/// Rows up to which columns along the depth are not packed.
const FEW: usize = 8;
/// Depths below which a sum keeps to one order, torch's own: coordinates of pixels are such products, and are rounded.
const SHALLOW: usize = 16;
/// Elements of the left side up to which tiles read it where it lies, and rows of one task then.
const DIRECT: usize = 1 << 16;
const ROWS: usize = 256;

/// `count` lanes in panels of at most `most`, as even as they can be.
#[derive(Clone, Copy)]
pub struct Even {
    pub panels: usize,
    size: usize,
    larger: usize,
}

impl Even {
    pub fn new(count: usize, most: usize) -> Self {
        let panels = count.div_ceil(most);
        Self { panels, size: count / panels.max(1), larger: count % panels.max(1) }
    }

    pub fn at(self, panel: usize) -> Range<usize> {
        let first = panel * self.size + panel.min(self.larger);
        first..first + self.size + usize::from(panel < self.larger)
    }
}

/// Where the `block`-th block of sums lies in the depth.
fn depths(depth: usize) -> Even {
    Even::new(depth, DEPTH)
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

thread_local! {
    /// Memory for panels, kept from call to call: fresh pages cost more than packing.
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Gives `call` room for this many elements, not cleared.
pub fn with_scratch<R>(elements: usize, call: impl FnOnce(*mut f32) -> R) -> R {
    let mut memory = SCRATCH.take();
    let lines = elements.div_ceil(16);
    if memory.len() < lines {
        memory = vec![Line([0.0; 16]); lines];
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

/// Computes one product.
///
/// # Safety
/// Both sides have the product's sizes, and the results lie in memory that nothing else uses and no side reads.
pub unsafe fn multiply(product: &Product<'_>) {
    let work = product.rows.saturating_mul(product.columns).saturating_mul(product.depth);
    // SAFETY: the caller's.
    unsafe { multiply_by(product, work > PARALLEL_ABOVE && rayon::current_num_threads() > 1) }
}

/// Computes `count` products: each by several threads, or several at once.
///
/// # Safety
/// As `multiply`, for each.
pub unsafe fn multiply_each<'a>(count: usize, product: impl Fn(usize) -> Product<'a> + Sync) {
    if count == 0 {
        return;
    }
    let Product { rows, columns, depth, .. } = product(0);
    let work = rows.saturating_mul(columns).saturating_mul(depth);
    let threads = rayon::current_num_threads();
    if threads > 1 && count >= threads && work.saturating_mul(count) > PARALLEL_ABOVE {
        // SAFETY: the caller's.
        each(count, true, |index| unsafe { multiply_by(&product(index), false) });
    } else {
        // SAFETY: the caller's.
        (0..count).for_each(|index| unsafe { multiply(&product(index)) });
    }
}

unsafe fn multiply_by(product: &Product<'_>, parallel: bool) {
    if product.rows == 0 || product.columns == 0 {
        return;
    }
    let turned = product.out.column != 1 && product.out.row == 1;
    let product = if turned { turn(product) } else { *product };
    let few = if product.columns <= FEW && product.rows > FEW { turn(&product) } else { product };
    if let (Side::Matrix(x), Side::Matrix(w)) = (few.a, few.b)
        && few.rows <= FEW
        && few.depth >= SHALLOW
        && w.along == 1
    {
        // SAFETY: the caller's.
        return unsafe { by_dots(&few, x, w, parallel) };
    }
    let run = Run::new(&product, parallel);
    // SAFETY: the caller's.
    unsafe {
        match product.a {
            Side::Matrix(left) if product.rows.saturating_mul(product.depth) <= DIRECT => run.direct(left),
            _ => run.all(),
        }
    }
}

/// A product of a few rows, whose columns lie along the depth.
unsafe fn by_dots(product: &Product<'_>, x: Matrix, w: Matrix, parallel: bool) {
    let Product { rows, columns, depth, .. } = *product;
    let isa = Isa::current();
    let room = if x.along == 1 { 0 } else { rows * depth };
    with_scratch(room, |memory| {
        let lined: Matrix = if x.along == 1 {
            x
        } else {
            for (row, p) in (0..rows).flat_map(|row| (0..depth).map(move |p| (row, p))) {
                // SAFETY: the caller's; the memory has room for all rows.
                unsafe { *memory.add(row * depth + p) = *x.from.add(row * x.across + p * x.along) };
            }
            Matrix { from: memory.cast_const(), across: depth, along: 1 }
        };
        let wide = (PARALLEL_ABOVE / 8 / depth.max(1)).max(8);
        each(columns.div_ceil(wide), parallel, |task| {
            let (left, right): (&Matrix, &Matrix) = (&lined, &w);
            let (column, out) = (task * wide, product.out);
            for row in (0..rows).step_by(4) {
                let start = product.finish.start.map(|start| Start {
                    from: start.from.wrapping_add(row * start.row + column * start.column),
                    ..start
                });
                let dots = Dots {
                    depth,
                    x: left.from.wrapping_add(row * left.across),
                    x_row: left.across,
                    w: right.from.wrapping_add(column * w.across),
                    w_row: right.across,
                    out: out.to.wrapping_add(row * out.row + column * out.column),
                    out_row: out.row,
                    out_column: out.column,
                    columns: wide.min(columns - column),
                    finish: Finish { start, ..product.finish },
                };
                // SAFETY: the caller's; every task has columns of its own.
                unsafe { isa.dots[(rows - row).min(4) - 1](&dots) };
            }
        });
    });
}

/// The same product seen from the other side.
fn turn<'a>(product: &Product<'a>) -> Product<'a> {
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

/// One product on its way: `depth` blocks, `columns` at a time, `rows` at a time.
struct Run<'a> {
    product: &'a Product<'a>,
    isa: &'static Isa,
    parallel: bool,
    /// Rows of the result, cut into panels.
    rows: Even,
    /// Panels of rows and of columns that are packed together.
    tall: usize,
    wide: usize,
    /// Blocks of sums whose panels are packed together.
    deep: usize,
}

/// What is packed now.
struct Packed<'a> {
    left: Shared,
    right: Shared,
    /// Panels of rows, panels of columns, blocks of sums.
    rows: Range<usize>,
    columns: Range<usize>,
    blocks: Range<usize>,
    /// The depths of the blocks.
    depth: Range<usize>,
    run: &'a Run<'a>,
}

impl<'a> Run<'a> {
    fn new(product: &'a Product<'a>, parallel: bool) -> Self {
        let isa = Isa::current();
        let rows = Even::new(product.rows, isa.height);
        let block = depths(product.depth).size + 1;
        let wide = (RIGHT / (isa.width() * block)).max(1);
        let tall = (LEFT / (isa.height * block)).max(1);
        let held = product.columns.div_ceil(isa.width()).min(wide) * isa.width() * block;
        let deep = (RIGHT / held.max(rows.panels.min(tall) * isa.height * block)).max(1);
        Self { product, isa, parallel, rows, tall, wide, deep }
    }

    /// Every task packs the few columns that it needs, one panel after the other, and nothing is shared.
    unsafe fn direct(&self, left: Matrix) {
        let panels = self.product.columns.div_ceil(self.isa.width());
        let (tall, wide) = ((ROWS / self.isa.height).max(1), panels.div_ceil(16));
        let (down, across) = (self.rows.panels.div_ceil(tall), panels.div_ceil(wide));
        let room = self.isa.width() * (depths(self.product.depth).size + 1);
        each(down * across, self.parallel, |task| {
            let (row, column) = (task / across * tall, task % across * wide);
            let rows = row..(row + tall).min(self.rows.panels);
            with_scratch(room, |memory| {
                for panel in column..(column + wide).min(panels) {
                    // SAFETY: the caller's; every task has columns or rows of its own.
                    unsafe { self.strip(left, rows.clone(), panel, memory) };
                }
            });
        });
    }

    /// One panel of columns with some panels of rows.
    unsafe fn strip(&self, left: Matrix, rows: Range<usize>, panel: usize, memory: *mut f32) {
        let (isa, product) = (self.isa, self.product);
        let (width, blocks) = (isa.width(), depths(product.depth));
        let lanes = panel * width..((panel + 1) * width).min(product.columns);
        for block in 0..blocks.panels.max(1) {
            let deep = if blocks.panels == 0 { 0..0 } else { blocks.at(block) };
            let (right, step) = match product.b {
                // Columns that are used once or twice are read where they lie.
                Side::Matrix(b) if b.across == 1 && rows.len() <= 2 && lanes.len().is_multiple_of(isa.lanes) => {
                    (b.from.wrapping_add(lanes.start + deep.start * b.along), b.along)
                }
                _ => {
                    let fill = Panel { to: memory, width, lanes: lanes.len(), depth: deep.len() };
                    // SAFETY: the caller's.
                    unsafe { product.b.pack(fill, lanes.start, deep.start) };
                    (memory.cast_const(), width)
                }
            };
            let finish = self.finish(block, blocks.panels);
            for own in rows.clone().map(|panel| self.rows.at(panel)) {
                let tile = Tile {
                    depth: deep.len(),
                    a: left.from.wrapping_add(own.start * left.across + deep.start * left.along),
                    a_row: left.across,
                    a_step: left.along,
                    b: right,
                    b_step: step,
                    ..self.place(&own, &lanes, finish)
                };
                // SAFETY: the caller's.
                unsafe { isa.run(&tile, own.len()) };
            }
        }
    }

    /// What becomes of the sums of one of the blocks of the depth.
    fn finish(&self, block: usize, blocks: usize) -> Finish {
        let (finish, last) = (self.product.finish, block + 1 >= blocks);
        Finish {
            add: finish.add || block > 0,
            start: finish.start.filter(|_| last),
            relu: finish.relu && last,
            ..finish
        }
    }

    /// A tile of these rows and columns without its sides.
    fn place(&self, rows: &Range<usize>, lanes: &Range<usize>, finish: Finish) -> Tile {
        let out = self.product.out;
        let start = finish.start.map(|start| Start {
            from: start.from.wrapping_add(rows.start * start.row + lanes.start * start.column),
            ..start
        });
        Tile {
            depth: 0,
            a: std::ptr::null(),
            a_row: 0,
            a_step: 0,
            b: std::ptr::null(),
            b_step: 0,
            out: out.to.wrapping_add(rows.start * out.row + lanes.start * out.column),
            out_row: out.row,
            out_column: out.column,
            columns: lanes.len(),
            finish: Finish { start, ..finish },
        }
    }

    unsafe fn all(&self) {
        let Product { columns, depth, .. } = *self.product;
        let blocks = depths(depth);
        let panels = columns.div_ceil(self.isa.width());
        let deepest = (blocks.size + 1) * self.deep.min(blocks.panels.max(1));
        let (right, left) = (panels.min(self.wide), self.rows.panels.min(self.tall));
        let (right, left) = (right * self.isa.width() * deepest, left * self.isa.height * deepest);
        with_scratch(right + left + 32, |memory| {
            // Where there is no depth the results are still finished.
            for first in (0..blocks.panels.max(1)).step_by(self.deep) {
                let last = (first + self.deep).min(blocks.panels);
                for column in (0..panels).step_by(self.wide) {
                    for row in (0..self.rows.panels).step_by(self.tall) {
                        let packed = Packed {
                            left: Shared(memory.wrapping_add(right)),
                            right: Shared(memory),
                            rows: row..(row + self.tall).min(self.rows.panels),
                            columns: column..(column + self.wide).min(panels),
                            blocks: first..last,
                            depth: if first < last { blocks.at(first).start..blocks.at(last - 1).end } else { 0..0 },
                            run: self,
                        };
                        // SAFETY: the caller's; the memory has room for the widest of these.
                        unsafe { packed.compute(row == 0) };
                    }
                }
            }
        });
    }
}

impl Packed<'_> {
    /// The columns of a panel.
    fn lanes(&self, panel: usize) -> Range<usize> {
        let width = self.run.isa.width();
        panel * width..((panel + 1) * width).min(self.run.product.columns)
    }

    /// Packs the panels (those of columns only where `fresh`) and computes their tiles.
    unsafe fn compute(&self, fresh: bool) {
        let (rights, lefts) = (if fresh { self.columns.len() } else { 0 }, self.rows.len());
        // SAFETY: every task fills a panel of its own.
        each(rights + lefts, self.run.parallel, |task| unsafe {
            if task < rights {
                self.pack_right(self.columns.start + task)
            } else {
                self.pack_left(self.rows.start + task - rights)
            }
        });
        // Groups of tiles: few enough to be cheap to hand out, enough to share.
        let (tall, wide) = (self.rows.len().div_ceil(self.rows.len().div_ceil(18)), self.columns.len().div_ceil(8));
        let (down, across) = (self.rows.len().div_ceil(tall), self.columns.len().div_ceil(wide));
        each(down * across, self.run.parallel, |task| {
            let (row, column) = (self.rows.start + task / across * tall, self.columns.start + task % across * wide);
            let rows = row..(row + tall).min(self.rows.end);
            let columns = column..(column + wide).min(self.columns.end);
            // SAFETY: every task has tiles of its own.
            unsafe { self.tiles(rows, columns) };
        });
    }

    unsafe fn pack_right(&self, panel: usize) {
        let (lanes, width) = (self.lanes(panel), self.run.isa.width());
        let to = self.right.at((panel - self.columns.start) * width * self.depth.len());
        let fill = Panel { to, width, lanes: lanes.len(), depth: self.depth.len() };
        // SAFETY: the caller's.
        unsafe { self.run.product.b.pack(fill, lanes.start, self.depth.start) }
    }

    unsafe fn pack_left(&self, panel: usize) {
        let rows = self.run.rows.at(panel);
        let to = self.left.at((rows.start - self.run.rows.at(self.rows.start).start) * self.depth.len());
        let fill = Panel { to, width: rows.len(), lanes: rows.len(), depth: self.depth.len() };
        // SAFETY: the caller's.
        unsafe { self.run.product.a.pack(fill, rows.start, self.depth.start) }
    }

    unsafe fn tiles(&self, rows: Range<usize>, columns: Range<usize>) {
        let Run { product, isa, .. } = self.run;
        let blocks = depths(product.depth);
        let above = self.run.rows.at(self.rows.start).start;
        for block in self.blocks.start..self.blocks.end.max(self.blocks.start + 1) {
            let deep = if self.blocks.is_empty() { 0..0 } else { blocks.at(block) };
            let skip = deep.start - self.depth.start;
            let finish = self.run.finish(block, blocks.panels);
            for column in columns.clone() {
                let lanes = self.lanes(column);
                let right = (column - self.columns.start) * isa.width() * self.depth.len() + skip * isa.width();
                for row in rows.clone() {
                    let own = self.run.rows.at(row);
                    let left = (own.start - above) * self.depth.len() + skip * own.len();
                    let tile = Tile {
                        depth: deep.len(),
                        a: self.left.at(left),
                        a_row: 1,
                        a_step: own.len(),
                        b: self.right.at(right),
                        b_step: isa.width(),
                        ..self.run.place(&own, &lanes, finish)
                    };
                    // SAFETY: the caller's.
                    unsafe { isa.run(&tile, own.len()) };
                }
            }
        }
    }
}
