//! Moments and normalization of rows of float32 by vectors of any width; `wide_rows` has those for AVX-512
//! (benchmarks/bars.py: reductions, AVX2 only).

use super::simd::Simd;
use super::widest::Work;

/// Vectors of sums, so that additions need not wait for one another.
const SUMS: usize = 4;

/// The most lanes of a vector.
const LANES: usize = 16;

/// Adds up what `step` makes of a row, vector by vector; it gives no more than the part that it is told to read.
#[inline(always)]
unsafe fn folded<S: Simd>(length: usize, step: impl Fn(S::V, usize, Option<S::Part>) -> S::V) -> f32 {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [S::splat(0.0); SUMS];
        let (round, whole) = (SUMS * S::LANES, length / S::LANES * S::LANES);
        let mut at = 0;
        while at + round <= whole {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = step(*sum, at + k * S::LANES, None);
            }
            at += round;
        }
        while at < whole {
            sums[0] = step(sums[0], at, None);
            at += S::LANES;
        }
        if at < length {
            sums[1] = step(sums[1], at, Some(S::part(length - at)));
        }
        S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])))
    }
}

#[inline(always)]
unsafe fn load<S: Simd>(from: *const f32, part: Option<S::Part>) -> S::V {
    // SAFETY: the caller's.
    unsafe { part.map_or_else(|| S::load(from), |part| S::load_part(from, part)) }
}

/// The mean, or zero where the row is not centred, and the mean square of the distance from it.
pub struct Moments<'a> {
    pub x: &'a [f32],
    pub centred: bool,
    pub found: &'a mut [f32; 2],
}

impl Work for Moments<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (x, length, count) = (self.x.as_ptr(), self.x.len(), self.x.len() as f32);
        // SAFETY: the caller's; all places lie inside of the row.
        unsafe {
            let total = |sum, at, part| S::add(sum, load::<S>(x.add(at), part));
            let mean = if self.centred { folded::<S>(length, total) / count } else { 0.0 };
            let (away, fewer) = (S::splat(-mean), [-mean; LANES]);
            let square = |sum, at, part: Option<S::Part>| {
                let back = part.map_or(away, |part| S::load_part(fewer.as_ptr(), part));
                let apart = S::add(load::<S>(x.add(at), part), back);
                S::fma(apart, apart, sum)
            };
            *self.found = [mean, folded::<S>(length, square) / count];
        }
    }
}

/// `(x - mean) * inverse`, times a weight and plus a bias for each column.
pub struct Normalized<'a> {
    pub x: &'a [f32],
    pub out: &'a mut [f32],
    pub mean: f32,
    pub inverse: f32,
    /// As long as the row.
    pub weight: Option<&'a [f32]>,
    pub bias: Option<&'a [f32]>,
}

impl Normalized<'_> {
    /// Writes what `finish` makes of each normal vector.
    #[inline(always)]
    unsafe fn written<S: Simd>(&mut self, finish: impl Fn(S::V, usize, Option<S::Part>) -> S::V) {
        let (x, to, length) = (self.x.as_ptr(), self.out.as_mut_ptr(), self.x.len().min(self.out.len()));
        // SAFETY: the caller's; all places lie inside of both rows.
        unsafe {
            let (away, inverse) = (S::splat(-self.mean), S::splat(self.inverse));
            let value = |at: usize, part: Option<S::Part>| {
                finish(S::mul(S::add(load::<S>(x.add(at), part), away), inverse), at, part)
            };
            let whole = length / S::LANES * S::LANES;
            for at in (0..whole).step_by(S::LANES) {
                S::store(to.add(at), value(at, None));
            }
            if whole < length {
                let part = S::part(length - whole);
                S::store_part(to.add(whole), part, value(whole, Some(part)));
            }
        }
    }
}

impl Work for Normalized<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(mut self) {
        let [weight, bias] = [self.weight, self.bias].map(|values| values.map(<[f32]>::as_ptr));
        // SAFETY: the caller's; parameters are as long as the row.
        unsafe {
            match (weight, bias) {
                (Some(weight), Some(bias)) => self.written::<S>(|normal, at, part| {
                    S::fma(normal, load::<S>(weight.add(at), part), load::<S>(bias.add(at), part))
                }),
                (Some(weight), None) => {
                    self.written::<S>(|normal, at, part| S::mul(normal, load::<S>(weight.add(at), part)));
                }
                (None, Some(bias)) => {
                    self.written::<S>(|normal, at, part| S::add(normal, load::<S>(bias.add(at), part)));
                }
                (None, None) => self.written::<S>(|normal, _, _| normal),
            }
        }
    }
}

/// `(x - mean) * factor + bias`.
pub struct Affine<'a> {
    pub x: &'a [f32],
    pub out: &'a mut [f32],
    pub numbers: [f32; 3],
}

impl Work for Affine<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let [mean, factor, bias] = self.numbers;
        let mut row = Normalized { x: self.x, out: self.out, mean, inverse: factor, weight: None, bias: None };
        // SAFETY: the caller's.
        unsafe {
            let bias = S::splat(bias);
            row.written::<S>(|scaled, _, _| S::add(scaled, bias));
        }
    }
}
