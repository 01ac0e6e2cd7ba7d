//! Moments and normalization of rows of float32 by vectors of any width; `wide_rows` has those for AVX-512
//! (benchmarks/bars.py: reductions, AVX2 only).
//!
//! Functions instead of closures: a closure that is not inlined calls every instruction of its vectors.

use super::simd::Simd;
use super::widest::Work;

/// Vectors of sums, so that additions need not wait for one another.
const SUMS: usize = 4;

/// The most lanes of a vector.
const LANES: usize = 16;

/// A vector of these elements, or a part of one and zeros.
#[inline(always)]
unsafe fn load<S: Simd>(from: *const f32, part: Option<S::Part>) -> S::V {
    // SAFETY: the caller's.
    unsafe {
        match part {
            None => S::load(from),
            Some(part) => S::load_part(from, part),
        }
    }
}

/// The mean, or zero where the row is not centred, and the mean square of the distance from it.
pub struct Moments<'a> {
    pub x: &'a [f32],
    pub centred: bool,
    pub found: &'a mut [f32; 2],
}

impl Moments<'_> {
    /// Adds a vector of the row, or the squares of its distances from `mean`.
    #[inline(always)]
    unsafe fn step<S: Simd, const SQUARE: bool>(&self, sum: S::V, at: usize, part: Option<S::Part>, mean: f32) -> S::V {
        // SAFETY: the caller's; the places lie inside of the row.
        unsafe {
            let x = load::<S>(self.x.as_ptr().add(at), part);
            if !SQUARE {
                return S::add(sum, x);
            }
            let apart = match part {
                None => S::add(x, S::splat(-mean)),
                Some(part) => S::add(x, S::load_part([-mean; LANES].as_ptr(), part)),
            };
            S::fma(apart, apart, sum)
        }
    }

    #[inline(always)]
    unsafe fn total<S: Simd, const SQUARE: bool>(&self, mean: f32) -> f32 {
        let length = self.x.len();
        let (round, whole) = (SUMS * S::LANES, length / S::LANES * S::LANES);
        // SAFETY: the caller's.
        unsafe {
            let mut sums = [S::splat(0.0); SUMS];
            let mut at = 0;
            while at + round <= whole {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = self.step::<S, SQUARE>(*sum, at + k * S::LANES, None, mean);
                }
                at += round;
            }
            while at < whole {
                sums[0] = self.step::<S, SQUARE>(sums[0], at, None, mean);
                at += S::LANES;
            }
            if at < length {
                sums[1] = self.step::<S, SQUARE>(sums[1], at, Some(S::part(length - at)), mean);
            }
            S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])))
        }
    }
}

impl Work for Moments<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let count = self.x.len() as f32;
        // SAFETY: the caller's.
        unsafe {
            let mean = if self.centred { self.total::<S, false>(0.0) / count } else { 0.0 };
            *self.found = [mean, self.total::<S, true>(mean) / count];
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
    #[inline(always)]
    unsafe fn vector<S: Simd>(&self, at: usize, part: Option<S::Part>) -> S::V {
        // SAFETY: the caller's; the places lie inside of the row, and parameters are as long as it.
        unsafe {
            let apart = S::add(load::<S>(self.x.as_ptr().add(at), part), S::splat(-self.mean));
            let normal = S::mul(apart, S::splat(self.inverse));
            match (self.weight, self.bias) {
                (Some(weight), Some(bias)) => {
                    S::fma(normal, load::<S>(weight.as_ptr().add(at), part), load::<S>(bias.as_ptr().add(at), part))
                }
                (Some(weight), None) => S::mul(normal, load::<S>(weight.as_ptr().add(at), part)),
                (None, Some(bias)) => S::add(normal, load::<S>(bias.as_ptr().add(at), part)),
                (None, None) => normal,
            }
        }
    }
}

impl Work for Normalized<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let (length, to) = (self.x.len().min(self.out.len()), self.out.as_mut_ptr());
        let whole = length / S::LANES * S::LANES;
        // SAFETY: the caller's; all places lie inside of both rows.
        unsafe {
            for at in (0..whole).step_by(S::LANES) {
                S::store(to.add(at), self.vector::<S>(at, None));
            }
            if whole < length {
                let part = S::part(length - whole);
                S::store_part(to.add(whole), part, self.vector::<S>(whole, Some(part)));
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
        let (length, from, to) = (self.x.len().min(self.out.len()), self.x.as_ptr(), self.out.as_mut_ptr());
        let whole = length / S::LANES * S::LANES;
        // SAFETY: the caller's; all places lie inside of both rows.
        unsafe {
            let [mean, factor, bias] = self.numbers;
            let (away, factor, bias) = (S::splat(-mean), S::splat(factor), S::splat(bias));
            for at in (0..whole).step_by(S::LANES) {
                S::store(to.add(at), S::fma(S::add(S::load(from.add(at)), away), factor, bias));
            }
            if whole < length {
                let part = S::part(length - whole);
                let x = S::load_part(from.add(whole), part);
                S::store_part(to.add(whole), part, S::fma(S::add(x, away), factor, bias));
            }
        }
    }
}
