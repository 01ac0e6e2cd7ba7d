//! Sums of Chebyshev polynomials, which the Bessel functions are made of (benchmarks/bars.py: elementwise).

use super::pointwise::{Strided, each_row};
use super::vector::{Task, dispatch};

/// Elements that are computed side by side, so many that no sum waits for the one before.
const BLOCK: usize = 64;

struct Row<'a> {
    out: (*mut f64, usize),
    t: (*const f64, usize),
    length: usize,
    coefficients: &'a [f64],
}

/// `a * b + c`.
#[inline(always)]
fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

impl Task for Row<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { out: (out, out_step), t: (t, step), length, coefficients } = self;
        let Some((&last, rest)) = coefficients.split_first() else { return };
        let mut x = [0.0; BLOCK];
        for start in (0..length).step_by(BLOCK) {
            let count = BLOCK.min(length - start);
            // SAFETY: rows stay inside the geometries, which lie inside their storages.
            (0..count).for_each(|k| x[k] = unsafe { t.add((start + k) * step).read_unaligned() });
            // Clenshaw's recurrence, two coefficients at a time; of an odd number the first stands alone.
            let (odd, pairs) = rest.split_at(rest.len() % 2);
            let (mut one, mut two) = ([0.0; BLOCK], [0.0; BLOCK]);
            for pair in pairs.rchunks_exact(2) {
                for k in 0..BLOCK {
                    let twice = 2.0 * x[k];
                    two[k] = fma::<FMA>(twice, one[k], pair[1] - two[k]);
                    one[k] = fma::<FMA>(twice, two[k], pair[0] - one[k]);
                }
            }
            if let Some(&first) = odd.first() {
                for k in 0..BLOCK {
                    two[k] = fma::<FMA>(2.0 * x[k], one[k], first - two[k]);
                }
                std::mem::swap(&mut one, &mut two);
            }
            for k in 0..BLOCK {
                x[k] = fma::<FMA>(x[k], one[k], last - two[k]);
            }
            // SAFETY: as above.
            (0..count).for_each(|k| unsafe { out.add((start + k) * out_step).write_unaligned(x[k]) });
        }
    }
}

/// The sum of Chebyshev polynomials with these coefficients at each float64 between -1 and 1.
pub fn sum(shape: &[usize], out: Strided<'_>, t: Strided<'_>, coefficients: &[f64]) {
    each_row(shape, [out, t], &|[o, i], length, [so, si]| {
        // SAFETY: as in `Row`.
        let (out, t) = unsafe { ((out.at::<f64>(o), so), (t.at::<f64>(i).cast_const(), si)) };
        dispatch(Row { out, t, length, coefficients });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_cosines() {
        let all: Vec<f64> = (0..9).map(|k| 1.0 / f64::from(k + 1)).collect();
        let t: Vec<f64> = (0..70).map(|k| f64::from(k - 35) / 35.0).collect();
        for count in 1..all.len() {
            let mut out = vec![0.0; t.len()];
            let view = |pointer: *const f64| Strided { pointer: pointer.cast_mut().cast(), strides: &[1], offset: 0 };
            sum(&[t.len()], view(out.as_mut_ptr()), view(t.as_ptr()), &all[..count]);
            for (&t, &found) in t.iter().zip(&out) {
                let wanted: f64 = (0..count).map(|k| all[k] * (k as f64 * t.acos()).cos()).sum();
                assert!((found - wanted).abs() < 1e-12, "{count} {t}: {found} {wanted}");
            }
        }
    }
}
