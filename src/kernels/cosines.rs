//! Cosines of the angles between the rows of two matrices of float32 (benchmarks/cases.py: cosines_of_rows).

use super::iterate::{PARALLEL_ABOVE, spread_parts};
use super::simd::Simd;
use super::widest::{Work, run};

/// Vectors that are multiplied before the next sum is waited for.
const TOGETHER: usize = 2;

struct Rows<'a> {
    a: &'a [f32],
    b: &'a [f32],
    depth: usize,
    eps: f32,
    out: &'a mut [f32],
}

impl Work for Rows<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { a, b, depth, eps, out } = self;
        for ((a, b), out) in a.chunks_exact(depth).zip(b.chunks_exact(depth)).zip(out) {
            // SAFETY: the caller's processor; parts end with the rows.
            let [both, left, right] = unsafe {
                let mut sums = [[S::splat(0.0); 3]; TOGETHER];
                for column in (0..depth).step_by(TOGETHER * S::LANES) {
                    for (part, [both, left, right]) in sums.iter_mut().enumerate() {
                        let at = (column + part * S::LANES).min(depth);
                        let there = S::part(S::LANES.min(depth - at));
                        let (x, y) = (S::load_part(a.as_ptr().add(at), there), S::load_part(b.as_ptr().add(at), there));
                        *both = S::fma(x, y, *both);
                        *left = S::fma(x, x, *left);
                        *right = S::fma(y, y, *right);
                    }
                }
                let [first, second] = sums;
                [
                    S::sum(S::add(first[0], second[0])),
                    S::sum(S::add(first[1], second[1])),
                    S::sum(S::add(first[2], second[2])),
                ]
            };
            // Squares of the rest may have left the range of float32.
            let usual = |square: f32| (1e-30..1e37).contains(&square);
            *out = if usual(left) && usual(right) {
                both / (left.sqrt().max(eps) * right.sqrt().max(eps))
            } else {
                whole(a, b, eps)
            };
        }
    }
}

/// As it is defined: the sum of products of rows that were divided by their lengths.
#[cold]
fn whole(a: &[f32], b: &[f32], eps: f32) -> f32 {
    let length = |x: &[f32]| {
        let length = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt() as f32;
        if length < eps { eps } else { length }
    };
    let (left, right) = (length(a), length(b));
    a.iter().zip(b).map(|(&a, &b)| f64::from((a / left) * (b / right))).sum::<f64>() as f32
}

/// The cosine of each pair of rows of so many numbers; lengths below `eps` count as `eps`.
pub fn cosines(a: &[f32], b: &[f32], depth: usize, eps: f32, out: &mut [f32]) {
    if a.len() < PARALLEL_ABOVE {
        return run(Rows { a, b, depth, eps, out });
    }
    let together = (PARALLEL_ABOVE / 8 / depth).max(1);
    spread_parts(out, together, 1, &|part, out| {
        let (from, length) = (part * together * depth, out.len() * depth);
        run(Rows { a: &a[from..][..length], b: &b[from..][..length], depth, eps, out });
    });
}
