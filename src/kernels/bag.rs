//! Rows of a float32 table summed up in bags, and what that gives back (benchmarks/cases.py: bags_of_words).

use super::iterate::{PARALLEL_ABOVE, spread_over, spread_parts};
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{Work, run};
use crate::guard;

/// Rows ahead that are asked for.
const AHEAD: usize = 8;
/// Vectors of a row that are summed up at once.
const TOGETHER: usize = 4;

/// Which rows of a table each bag names. Numbers are known to be in range, bags to lie inside of them.
#[derive(Clone, Copy)]
pub struct Bags<'a> {
    pub numbers: &'a [i64],
    /// Where each bag begins, and where the last one ends.
    pub starts: &'a [usize],
    pub factors: Option<&'a [f32]>,
    /// A row that counts for nothing.
    pub padding: Option<i64>,
    pub mean: bool,
}

impl Bags<'_> {
    fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn counts(&self, place: usize) -> bool {
        Some(self.numbers[place]) != self.padding
    }

    /// What all sums of a bag are multiplied with.
    fn share(&self, bag: usize) -> f32 {
        let count = || (self.starts[bag]..self.starts[bag + 1]).filter(|&place| self.counts(place)).count();
        if self.mean { 1.0 / count().max(1) as f32 } else { 1.0 }
    }

    fn factor(&self, place: usize) -> f32 {
        self.factors.map_or(1.0, |factors| factors[place])
    }
}

struct Sums<'a> {
    bags: Bags<'a>,
    table: &'a [f32],
    width: usize,
    /// The first bag, and the results from it on.
    first: usize,
    out: &'a mut [f32],
}

impl Work for Sums<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { bags, table, width, first, out } = self;
        for (bag, out) in (first..).zip(out.chunks_exact_mut(width)) {
            let (start, end) = (bags.starts[bag], bags.starts[bag + 1]);
            let share = bags.share(bag);
            for column in (0..width).step_by(TOGETHER * S::LANES) {
                // SAFETY: the caller's processor; rows lie inside of the table, as numbers are in range, and parts end
                // with the row. A hint may be given for any address.
                unsafe {
                    let mut parts = [S::part(0); TOGETHER];
                    for (number, part) in parts.iter_mut().enumerate() {
                        *part = S::part(width.saturating_sub(column + number * S::LANES).min(S::LANES));
                    }
                    let whole = column + TOGETHER * S::LANES <= width;
                    let mut sums = [S::splat(0.0); TOGETHER];
                    for place in start..end {
                        if !bags.counts(place) {
                            continue;
                        }
                        if let Some(&later) = bags.numbers.get(place + AHEAD) {
                            let later = table.as_ptr().wrapping_add(later as usize * width + column);
                            for part in 0..TOGETHER {
                                S::prefetch(later.wrapping_add(part * S::LANES));
                            }
                        }
                        let from = table.as_ptr().add(bags.numbers[place] as usize * width + column);
                        let factor = S::splat(bags.factor(place));
                        for part in 0..TOGETHER {
                            let at = from.wrapping_add(part * S::LANES);
                            let row = if whole { S::load(at) } else { S::load_part(at, parts[part]) };
                            sums[part] = S::fma(row, factor, sums[part]);
                        }
                    }
                    let to = out.as_mut_ptr().add(column);
                    for part in 0..TOGETHER {
                        let sum = S::mul(sums[part], S::splat(share));
                        S::store_part(to.wrapping_add(part * S::LANES), parts[part], sum);
                    }
                }
            }
        }
    }
}

/// The sum or the mean of each bag's rows, times their factors.
pub fn sums(bags: Bags<'_>, table: &[f32], width: usize, out: &mut [f32]) {
    let each = bags.numbers.len() / bags.count().max(1) + 1;
    let together = (PARALLEL_ABOVE / 8 / (each * width)).max(1);
    let part = |number: usize, out: &mut [f32]| run(Sums { bags, table, width, first: number * together, out });
    if bags.numbers.len() * width < PARALLEL_ABOVE {
        return run(Sums { bags, table, width, first: 0, out });
    }
    spread_parts(out, together * width, 1, &part);
}

struct Back<'a> {
    bags: Bags<'a>,
    grad: &'a [f32],
    width: usize,
    /// The first row of the table that is given back, and it and those after it.
    first: usize,
    out: &'a mut [f32],
}

impl Work for Back<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { bags, grad, width, first, out } = self;
        let own = first as i64..(first + out.len() / width) as i64;
        for (bag, grad) in grad.chunks_exact(width).enumerate() {
            let share = bags.share(bag);
            for place in bags.starts[bag]..bags.starts[bag + 1] {
                let number = bags.numbers[place];
                if !own.contains(&number) || !bags.counts(place) {
                    continue;
                }
                let factor = share * bags.factor(place);
                let row = &mut out[(number as usize - first) * width..][..width];
                for column in (0..width).step_by(S::LANES) {
                    // SAFETY: the caller's processor; both have `width` elements from there on.
                    unsafe {
                        let part = S::part(S::LANES.min(width - column));
                        let to = row.as_mut_ptr().add(column);
                        let from = S::load_part(grad.as_ptr().add(column), part);
                        S::store_part(to, part, S::fma(from, S::splat(factor), S::load_part(to, part)));
                    }
                }
            }
        }
    }
}

/// Adds to each row of the table the gradients of the bags that name it, times their factors.
pub fn table_grad(bags: Bags<'_>, grad: &[f32], width: usize, out: &mut [f32]) {
    // Each thread has rows of its own, and goes through all numbers.
    let parts = if bags.numbers.len() * width < PARALLEL_ABOVE { 1 } else { guard::threads() };
    let rows = (out.len() / width).div_ceil(parts).max(1);
    spread_parts(out, rows * width, 1, &|part, out| run(Back { bags, grad, width, first: part * rows, out }));
}

struct Dots<'a> {
    bags: Bags<'a>,
    table: &'a [f32],
    grad: &'a [f32],
    width: usize,
    bag: usize,
    out: &'a Shared<f32>,
}

impl Work for Dots<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { bags, table, grad, width, bag, out } = self;
        let grad = &grad[bag * width..][..width];
        let (start, end) = (bags.starts[bag], bags.starts[bag + 1]);
        // SAFETY: bags are apart, and inside of the numbers.
        let out = unsafe { out.slice(start, end - start) };
        for (place, out) in (start..).zip(out) {
            let row = &table[bags.numbers[place] as usize * width..][..width];
            // SAFETY: the caller's processor; both have `width` elements.
            unsafe {
                let mut sum = S::splat(0.0);
                for column in (0..width).step_by(S::LANES) {
                    let part = S::part(S::LANES.min(width - column));
                    let (a, b) = (row.as_ptr().add(column), grad.as_ptr().add(column));
                    sum = S::fma(S::load_part(a, part), S::load_part(b, part), sum);
                }
                *out = if bags.counts(place) { S::sum(sum) } else { 0.0 };
            }
        }
    }
}

/// The gradient of each factor of sums: the product of its row and its bag's gradient.
pub fn factors_grad(bags: Bags<'_>, table: &[f32], grad: &[f32], width: usize, out: &mut [f32]) {
    let out = &Shared::of(out);
    let least = (PARALLEL_ABOVE * bags.count() / (bags.numbers.len() * width).max(1)).max(1);
    spread_over(bags.count(), least, &|bag| run(Dots { bags, table, grad, width, bag, out }));
}
