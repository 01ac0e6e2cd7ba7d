//! Cross products of vectors of three elements (benchmarks/cases.py: cross_products).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::real::Real;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Some of the vectors `[.., 3, inner]`.
struct Vectors<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    inner: usize,
}

impl<T: Real> Task for Vectors<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { a, b, out, inner } = self;
        if inner == 1 {
            let (a, b, out) = (a.as_chunks::<3>().0, b.as_chunks::<3>().0, out.as_chunks_mut::<3>().0);
            for ((&[a0, a1, a2], &[b0, b1, b2]), out) in a.iter().zip(b).zip(out) {
                *out = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0];
            }
            return;
        }
        let blocks = a.chunks_exact(3 * inner).zip(b.chunks_exact(3 * inner)).zip(out.chunks_exact_mut(3 * inner));
        for ((a, b), out) in blocks {
            for (part, out) in out.chunks_exact_mut(inner).enumerate() {
                let (first, second) = ((part + 1) % 3 * inner, (part + 2) % 3 * inner);
                let left = a[first..].iter().zip(&b[second..]);
                let right = a[second..].iter().zip(&b[first..]);
                for ((out, (&x, &y)), (&z, &w)) in out.iter_mut().zip(left).zip(right) {
                    *out = x * y - z * w;
                }
            }
        }
    }
}

/// `out = a x b` of vectors `[.., 3, inner]`, which all lie in row-major order.
pub fn products<T: Real>(a: &[T], b: &[T], out: &mut [T], inner: usize) {
    if out.is_empty() {
        return;
    }
    let block = 3 * inner;
    let together = (PARALLEL_ABOVE / 8 / block).max(1);
    let (count, to) = (out.len() / block, Shared::of(out));
    let some = |number: usize| {
        let (first, end) = (number * together, count.min((number + 1) * together));
        let places = first * block..end * block;
        // SAFETY: parts are apart.
        let out = unsafe { to.slice(places.start, places.len()) };
        dispatch(Vectors { a: &a[places.clone()], b: &b[places], out, inner });
    };
    if out.len() < PARALLEL_ABOVE {
        (0..count.div_ceil(together)).for_each(some);
    } else {
        spread_over(count.div_ceil(together), 1, &some);
    }
}
