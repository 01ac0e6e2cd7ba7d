//! Attention of a few queries, as of the next token after a cache of keys and values (benchmarks/cases.py:
//! attention_of_one): keys are read where they lie, since to turn them takes longer than the products of one row.

use super::attention::View;
use super::simd::Simd;
use super::widest::Work;

/// Queries of a task up to which keys are not turned.
pub const FEW: usize = 2;

/// Keys whose products with a query are summed side by side.
const TOGETHER: usize = 4;
/// Vectors of a row of values that are summed side by side.
const VECTORS: usize = 4;

/// The scores of one query: its products with the rows of `key`.
pub struct Scores {
    pub query: *const f32,
    pub key: View,
    pub keys: usize,
    pub size: usize,
    pub scale: f32,
    pub to: *mut f32,
}

impl Scores {
    /// Those of `COUNT` keys from `first` on.
    ///
    /// # Safety
    /// As `Work::run`.
    #[inline(always)]
    unsafe fn some<S: Simd, const COUNT: usize>(&self, first: usize) {
        let whole = self.size / S::LANES * S::LANES;
        // SAFETY: the caller's; the part keeps the last step inside of the rows.
        unsafe {
            let mut sums = [S::splat(0.0); COUNT];
            for at in (0..whole).step_by(S::LANES) {
                let query = S::load(self.query.add(at));
                for k in 0..COUNT {
                    sums[k] = S::fma(query, S::load(self.key.row(first + k).add(at)), sums[k]);
                }
            }
            if whole < self.size {
                let part = S::part(self.size - whole);
                let query = S::load_part(self.query.add(whole), part);
                for k in 0..COUNT {
                    sums[k] = S::fma(query, S::load_part(self.key.row(first + k).add(whole), part), sums[k]);
                }
            }
            for k in 0..COUNT {
                *self.to.add(first + k) = S::sum(sums[k]) * self.scale;
            }
        }
    }
}

impl Work for Scores {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let whole = self.keys / TOGETHER * TOGETHER;
        // SAFETY: whoever makes it vouches for so many keys of that size and as many scores.
        unsafe {
            for first in (0..whole).step_by(TOGETHER) {
                self.some::<S, TOGETHER>(first);
            }
            for first in whole..self.keys {
                self.some::<S, 1>(first);
            }
        }
    }
}

/// The sum of the rows of `value`, each times its weight, added to `out` or written there.
pub struct Sums {
    pub weights: *const f32,
    pub value: View,
    pub keys: usize,
    pub width: usize,
    pub out: *mut f32,
    pub add: bool,
}

impl Sums {
    /// `COUNT` vectors of columns from `column` on; of the last one `part`, where it is not whole.
    ///
    /// # Safety
    /// As `Work::run`.
    #[inline(always)]
    unsafe fn some<S: Simd, const COUNT: usize>(&self, column: usize, part: Option<S::Part>) {
        // SAFETY: the caller's.
        unsafe {
            // Two sums for each, of even and odd keys: one alone would wait for itself.
            let mut sums = [[S::splat(0.0); COUNT]; 2];
            for pair in 0..self.keys.div_ceil(2) {
                for half in 0..2 {
                    let key = 2 * pair + half;
                    if key >= self.keys {
                        continue;
                    }
                    let (row, weight) = (self.value.row(key).add(column), S::splat(*self.weights.add(key)));
                    for v in 0..COUNT {
                        let from = row.add(v * S::LANES);
                        // No closure: one that the compiler does not inline has no vector instructions.
                        let read = match part {
                            None => S::load(from),
                            Some(part) => S::load_part(from, part),
                        };
                        sums[half][v] = S::fma(weight, read, sums[half][v]);
                    }
                }
            }
            for v in 0..COUNT {
                let to = self.out.add(column + v * S::LANES);
                let sum = S::add(sums[0][v], sums[1][v]);
                match part {
                    None if self.add => S::store(to, S::add(S::load(to), sum)),
                    None => S::store(to, sum),
                    Some(part) if self.add => S::store_part(to, part, S::add(S::load_part(to, part), sum)),
                    Some(part) => S::store_part(to, part, sum),
                }
            }
        }
    }
}

impl Work for Sums {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let mut column = 0;
        // SAFETY: whoever makes it vouches for so many rows of that width, weights, and room in `out`.
        unsafe {
            while column + VECTORS * S::LANES <= self.width {
                self.some::<S, VECTORS>(column, None);
                column += VECTORS * S::LANES;
            }
            while column + S::LANES <= self.width {
                self.some::<S, 1>(column, None);
                column += S::LANES;
            }
            if column < self.width {
                self.some::<S, 1>(column, Some(S::part(self.width - column)));
            }
        }
    }
}
