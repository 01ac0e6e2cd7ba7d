//! The gradient of a convolution's weight for float32 (benchmarks/bars.py: convolutions).

use std::ops::Range;

use super::conv::Problem;
use super::conv_tile::{self, Start, Walk};
use super::convolve::{LayOut, ROUND, TASK, lay_out_shared, sheet_of, split};
use super::iterate::spread_over;
use super::micro::Finish;
use super::product::{self, Matrix, Out, Product};
use super::scratch::{Room, Shared, with_scratch};
use super::sheet::Sheet;
use super::simd::Simd;
use super::weight_panels;
use super::widest::{self, Work};

/// Results that one strip has about.
const STRIP: usize = 384;

/// Filters below which sums run along the rows of results.
const FEW: usize = 8;

/// Filters beside each other in a panel: three of the widest vectors.
const PANEL: usize = 48;

/// Elements of the weight from which windows of one element are products of matrices.
const LARGE: usize = 1 << 13;

/// Window elements of one task where tasks share out the weight.
const SHARE: usize = 32;

/// Some rows of results, or a part of one: `rows` times `width` of them, side by side in a row-major plane.
#[derive(Clone, Copy)]
struct Strip {
    sample: usize,
    /// The first result in its plane, and its column on the sheet.
    place: usize,
    column: usize,
    rows: usize,
    width: usize,
}

impl Strip {
    fn places(&self) -> usize {
        self.rows * self.width
    }
}

/// The strips of one sample's results.
fn strips(sheet: &Sheet, sample: usize) -> Vec<Strip> {
    let [depth, height, width] = sheet.outputs;
    let (rows, columns) = if width > 2 * STRIP { (1, STRIP) } else { ((STRIP / width).max(1), width) };
    let mut out = Vec::new();
    for d in 0..depth {
        for lines in split(height, rows) {
            for part in split(width, columns) {
                out.push(Strip {
                    sample,
                    place: (d * height + lines.start) * width + part.start,
                    column: (d * sheet.rows + lines.start) * sheet.pitch + part.start,
                    rows: lines.len(),
                    width: part.len(),
                });
            }
        }
    }
    out
}

/// The sizes of one group's gradient, and where the sheets are.
struct Pass<'a> {
    sheet: &'a Sheet,
    channels: usize,
    filters: usize,
    /// Filters in memory: whole vectors.
    padded: usize,
    /// Floats from one sample to the next, of the sheets and of the gradient.
    sheet_step: usize,
    grad_step: usize,
    sheets: *const f32,
    grad: *const f32,
}

// SAFETY: what the pointers show is only read while they are shared.
unsafe impl Sync for Pass<'_> {}

/// The gradients of a strip with the filters side by side: panels of `PANEL` filters, `[places, filters]` each.
struct Turn<'a> {
    pass: &'a Pass<'a>,
    strip: Strip,
    to: *mut f32,
}

impl Work for Turn<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (pass, places) = (self.pass, self.strip.places());
        let plane: usize = pass.sheet.outputs.iter().product();
        let from = pass.grad.wrapping_add(self.strip.sample * pass.grad_step + self.strip.place);
        for first in (0..pass.padded).step_by(PANEL) {
            let width = PANEL.min(pass.padded - first);
            for filter in (first..first + width).step_by(S::LANES) {
                let filters = S::LANES.min(pass.filters.saturating_sub(filter));
                for place in (0..places).step_by(S::LANES) {
                    let count = S::LANES.min(places - place);
                    // SAFETY: blocks stay inside the gradient and the memory for `padded` filters.
                    unsafe {
                        let to = self.to.add(first * places + place * width + filter - first);
                        if filters < S::LANES {
                            for row in 0..count {
                                S::store(to.add(row * width), S::splat(0.0));
                            }
                        }
                        S::transpose((from.wrapping_add(filter * plane + place), plane), (to, width), filters, count);
                    }
                }
            }
        }
    }
}

/// Adds the products of one strip to `sums`, `[depths, padded]`.
struct Add<'a> {
    pass: &'a Pass<'a>,
    strip: Strip,
    turned: *const f32,
    depths: Range<usize>,
    sums: *mut f32,
    pairs: &'a [[u32; 2]],
}

impl Work for Add<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (pass, strip) = (self.pass, self.strip);
        let window = pass.sheet.taps.len();
        let sheets = pass.sheets.wrapping_add(strip.sample * pass.sheet_step + strip.column);
        for first in (0..pass.padded).step_by(PANEL) {
            let width = PANEL.min(pass.padded - first);
            let walk = Walk {
                segments: strip.rows,
                a_step: pass.sheet.pitch,
                b_step: strip.width * width,
                pairs: &self.pairs[(width / 16 - 1) * self.pairs.len() / 3..][..strip.width],
            };
            let panel = self.turned.wrapping_add(first * strip.places());
            let mut depth = self.depths.start;
            while depth < self.depths.end {
                let height = conv_tile::height::<S>(self.depths.end - depth);
                let a: [*const f32; 8] = std::array::from_fn(|r| {
                    let number = (depth + r).min(self.depths.end - 1);
                    let offset = pass.sheet.taps[number % window].1;
                    sheets.wrapping_add(number / window * pass.sheet.channel() + offset)
                });
                let mut at = 0;
                while at < width {
                    let breadth = ((width - at) / S::LANES).min(3);
                    // SAFETY: the walk stays on the sheets of the strip's results and in its panel.
                    unsafe {
                        let to = self.sums.add((depth - self.depths.start) * pass.padded + first + at);
                        let start = Start::There;
                        conv_tile::compute::<S>(
                            (height, breadth),
                            walk,
                            &a,
                            panel.add(at),
                            None,
                            start,
                            (to, pass.padded),
                        );
                    }
                    at += breadth * S::LANES;
                }
                depth += height;
            }
        }
    }
}

/// Adds `sums`, `[depths, padded]`, to rows of a weight, `[filters, all depths]`.
struct Turned<'a> {
    sums: &'a [f32],
    padded: usize,
    filters: usize,
    depths: Range<usize>,
    to: *mut f32,
    step: usize,
}

impl Work for Turned<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let mut block = [0.0; 256];
        for depth in self.depths.clone().step_by(S::LANES) {
            let count = S::LANES.min(self.depths.end - depth);
            for filter in (0..self.filters).step_by(S::LANES) {
                let filters = S::LANES.min(self.filters - filter);
                let from = &self.sums[(depth - self.depths.start) * self.padded + filter..];
                // SAFETY: the block is as large as the largest transposed one; rows of the weight have all depths.
                unsafe {
                    S::transpose((from.as_ptr(), self.padded), (block.as_mut_ptr(), S::LANES), count, filters);
                    let part = S::part(count);
                    for index in 0..filters {
                        let to = self.to.add((filter + index) * self.step + depth);
                        let sum = S::add(S::load_part(to, part), S::load(block.as_ptr().add(index * S::LANES)));
                        S::store_part(to, part, sum);
                    }
                }
            }
        }
    }
}

/// The gradient of the weight, written to `weight`; false where the sizes are beyond this kernel.
pub fn weight_gradient(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) -> bool {
    let Some(sheet) = sheet_of(p) else { return false };
    if p.filters < FEW {
        by_rows(p, &sheet, x, grad, weight);
        return true;
    }
    if p.groups == 1 && p.kernel == [1; 3] && sheet.is_source() && p.channels * p.filters >= LARGE {
        by_products(p, x, grad, weight);
        return true;
    }
    let results = grad.len() / (p.groups * p.filters);
    if weight_panels::suits(p, results) {
        weight_panels::run(p, &sheet, x, grad, weight);
        return true;
    }
    weight.fill(0.0);
    let image = p.channels * p.input.iter().product::<usize>();
    let plane = p.filters * p.output.iter().product::<usize>();
    let batch = x.len() / (image * p.groups);
    let direct = sheet.is_source();
    let sheets = if direct { 0 } else { p.channels * sheet.channel() };
    let round = (ROUND / (p.groups * (sheets + plane))).clamp(1, batch);
    let mut memory = Room::new(round * p.groups * sheets);
    let memory = memory.shared();
    let weight_step = weight.len() / p.groups;
    for first in (0..batch).step_by(round) {
        let count = round.min(batch - first);
        let x = &x[first * p.groups * image..][..count * p.groups * image];
        if !direct {
            lay_out_shared(&sheet, p.channels, x, memory, sheets);
        }
        for (group, weight) in weight.chunks_exact_mut(weight_step).enumerate() {
            let pass = Pass {
                sheet: &sheet,
                channels: p.channels,
                filters: p.filters,
                padded: p.filters.next_multiple_of(16),
                sheet_step: p.groups * if direct { image } else { sheets },
                grad_step: p.groups * plane,
                sheets: if direct { x[group * image..].as_ptr() } else { memory.at(group * sheets) },
                grad: grad[(first * p.groups + group) * plane..].as_ptr(),
            };
            pass.run(count, weight);
        }
    }
    true
}

/// Windows of one element: the gradient of the results times the input, sample by sample.
fn by_products(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) {
    let places = p.output.iter().product::<usize>();
    let samples = x.chunks_exact(p.channels * places).zip(grad.chunks_exact(p.filters * places));
    for (sample, (x, grad)) in samples.enumerate() {
        let side = |from: &[f32]| Matrix::new(from.as_ptr(), places, 1);
        let product = Product {
            rows: p.filters,
            columns: p.channels,
            depth: places,
            a: side(grad),
            b: side(x),
            out: Out { to: weight.as_mut_ptr(), row: p.channels, column: 1 },
            finish: Finish { add: sample > 0, ..Finish::PLAIN },
        };
        // SAFETY: both samples have `places` elements in each row, the weight one for each pair of rows.
        unsafe { product::multiply_each(1, |_| product) };
    }
}

impl Pass<'_> {
    /// Adds the gradient of the samples below `count` to `weight`. How work is parted depends on the sizes alone.
    fn run(&self, count: usize, weight: &mut [f32]) {
        let all: Vec<Strip> = (0..count).flat_map(|sample| strips(self.sheet, sample)).collect();
        let depth = self.channels * self.sheet.taps.len();
        let longest = all.iter().map(|strip| strip.width).max().unwrap_or(0);
        let pairs: Vec<[u32; 2]> =
            [16, 32, 48].iter().flat_map(|&width| (0..longest as u32).map(move |at| [at, at * width])).collect();
        let to = Shared::of(weight);
        let size = depth * self.padded;
        let parts = if size <= 1 << 15 { 8 } else { 4 }.min(all.len());
        let turned = |strip: Strip, to: *mut f32| widest::run(Turn { pass: self, strip, to });
        if size > 1 << 18 || parts == 1 {
            let starts: Vec<usize> = all
                .iter()
                .scan(0, |at, strip| Some(std::mem::replace(at, *at + strip.places() * self.padded)))
                .collect();
            let mut memory = vec![0.0; all.iter().map(Strip::places).sum::<usize>() * self.padded];
            let shared = Shared::of(&mut memory);
            let least = (TASK / 4 / (STRIP * self.padded)).max(1);
            spread_over(all.len(), least, &|index| turned(all[index], shared.at(starts[index])));
            let shares = split(depth, SHARE);
            spread_over(shares.len(), 1, &|share| {
                let depths = shares[share].clone();
                with_scratch(depths.len() * self.padded, |sums| {
                    sums.fill(0.0);
                    for (strip, &start) in all.iter().zip(&starts) {
                        self.add(*strip, shared.at(start), depths.clone(), sums, &pairs);
                    }
                    self.give(sums, depths, to, depth);
                });
            });
            return;
        }
        let mut memory = vec![0.0; parts * size];
        let shared = Shared::of(&mut memory);
        spread_over(parts, 1, &|part| {
            // SAFETY: each part has sums of its own.
            let sums = unsafe { shared.slice(part * size, size) };
            with_scratch(2 * STRIP * self.padded, |scratch| {
                for &strip in &all[part * all.len() / parts..(part + 1) * all.len() / parts] {
                    turned(strip, scratch.as_mut_ptr());
                    self.add(strip, scratch.as_mut_ptr(), 0..depth, sums, &pairs);
                }
            });
        });
        for sums in memory.chunks_exact(size) {
            self.give(sums, 0..depth, to, depth);
        }
    }

    fn add(&self, strip: Strip, turned: *const f32, depths: Range<usize>, sums: &mut [f32], pairs: &[[u32; 2]]) {
        widest::run(Add { pass: self, strip, turned, depths, sums: sums.as_mut_ptr(), pairs });
    }

    fn give(&self, sums: &[f32], depths: Range<usize>, to: Shared, step: usize) {
        let (padded, filters) = (self.padded, self.filters);
        widest::run(Turned { sums, padded, filters, depths, to: to.at(0), step });
    }
}

/// Few filters to a group: each number is a sum along the rows of results.
fn by_rows(p: &Problem, sheet: &Sheet, x: &[f32], grad: &[f32], weight: &mut [f32]) {
    let work =
        sheet.columns * sheet.taps.len() * p.filters * (grad.len() / sheet.columns / p.groups / p.filters).max(1);
    let to = Shared::of(weight);
    spread_over(p.groups * p.channels, (TASK / work.max(1)).max(1), &|index| {
        let (group, channel) = (index / p.channels, index % p.channels);
        with_scratch(sheet.channel() + p.filters * sheet.taps.len() * 16, |memory| {
            let (memory, sums) = memory.split_at_mut(sheet.channel());
            widest::run(Dots { p, sheet, x, grad, group, channel, memory, sums, to });
        });
    });
}

/// The gradient for one channel of one group.
struct Dots<'a> {
    p: &'a Problem,
    sheet: &'a Sheet,
    x: &'a [f32],
    grad: &'a [f32],
    group: usize,
    channel: usize,
    memory: &'a mut [f32],
    /// A vector for each filter and window element.
    sums: &'a mut [f32],
    to: Shared,
}

impl Work for Dots<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (p, taps) = (self.p, &self.sheet.taps);
        let image = p.input.iter().product::<usize>();
        let plane = p.output.iter().product::<usize>();
        self.sums.fill(0.0);
        for sample in 0..self.x.len() / (image * p.channels * p.groups) {
            let unit = sample * p.groups + self.group;
            let images = &self.x[(unit * p.channels + self.channel) * image..][..image];
            // SAFETY: the caller's.
            unsafe { LayOut::all(self.sheet, images, self.memory).run::<S>() };
            for filter in 0..p.filters {
                let grad = &self.grad[(unit * p.filters + filter) * plane..][..plane];
                let mut tap = 0;
                while tap < taps.len() {
                    let sums = self.sums[(filter * taps.len() + tap) * 16..].as_mut_ptr();
                    let sheet = self.memory.as_ptr();
                    // SAFETY: the caller's; a window element's offset plus any result's column lies on the sheet.
                    unsafe {
                        tap += match taps.len() - tap {
                            9.. => dots::<S, 9>(self.sheet, tap, grad, sheet, sums),
                            5.. => dots::<S, 5>(self.sheet, tap, grad, sheet, sums),
                            3.. => dots::<S, 3>(self.sheet, tap, grad, sheet, sums),
                            _ => dots::<S, 1>(self.sheet, tap, grad, sheet, sums),
                        };
                    }
                }
            }
        }
        for filter in 0..p.filters {
            for tap in 0..taps.len() {
                let row = (self.group * p.filters + filter) * p.channels + self.channel;
                // SAFETY: the caller's; there are sixteen floats for each window element.
                unsafe {
                    let sum = S::sum(S::load(self.sums[(filter * taps.len() + tap) * 16..].as_ptr()));
                    *self.to.at(row * taps.len() + tap) = sum;
                }
            }
        }
    }
}

/// Adds to `N` sums, each a vector in sixteen floats, and gives `N`.
///
/// # Safety
/// The processor has the instructions of `S`; `sums` has `N` of them, and the sheet all that the window elements read.
#[inline(always)]
unsafe fn dots<S: Simd, const N: usize>(
    sheet: &Sheet,
    first: usize,
    grad: &[f32],
    from: *const f32,
    sums: *mut f32,
) -> usize {
    let [depth, height, width] = sheet.outputs;
    // SAFETY: the caller's.
    unsafe {
        let offsets: [usize; N] = std::array::from_fn(|tap| sheet.taps[first + tap].1);
        let mut total: [S::V; N] = std::array::from_fn(|tap| S::load(sums.add(tap * 16)));
        let whole = width / S::LANES * S::LANES;
        let part = S::part(width - whole);
        for line in 0..depth * height {
            let column = if depth == 1 { line } else { line / height * sheet.rows + line % height } * sheet.pitch;
            let (grad, from) = (grad.as_ptr().add(line * width), from.add(column));
            for at in (0..whole).step_by(S::LANES) {
                let factor = S::load(grad.add(at));
                for tap in 0..N {
                    total[tap] = S::fma(factor, S::load(from.add(offsets[tap] + at)), total[tap]);
                }
            }
            if whole < width {
                let factor = S::load_part(grad.add(whole), part);
                for tap in 0..N {
                    total[tap] = S::fma(factor, S::load_part(from.add(offsets[tap] + whole), part), total[tap]);
                }
            }
        }
        for tap in 0..N {
            S::store(sums.add(tap * 16), total[tap]);
        }
    }
    N
}
