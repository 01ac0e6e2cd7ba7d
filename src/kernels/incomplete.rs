//! The regularised incomplete gamma functions in float64 (benchmarks/cases.py: incomplete_gamma).

use std::f64::consts::PI;

/// Terms after which a series is given up.
const MOST: usize = 20_000;
/// The least quotient of a continued fraction.
const TINY: f64 = 1e-300;

/// `x^a exp(-x) / Gamma(a + 1)`; of large `a` without the difference of large numbers.
fn prefactor(a: f64, x: f64) -> f64 {
    if a <= 20.0 {
        return (a * x.ln() - x - libm::lgamma(a + 1.0)).exp();
    }
    // Stirling's series of Gamma(a + 1) = sqrt(2 pi a) (a / e)^a exp(1 / (12 a) - ...).
    let (ratio, i) = ((x - a) / a, 1.0 / a);
    let square = i * i;
    let rest = i * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (a * (ratio.ln_1p() - ratio) - rest).exp() / (2.0 * PI * a).sqrt()
}

/// P(a, x) by its power series, for `x` that is not far above `a`.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut total) = (1.0, 1.0);
    for n in 1..MOST {
        term *= x / (a + n as f64);
        total += term;
        if term <= total * 1e-17 {
            break;
        }
    }
    total * prefactor(a, x)
}

/// Q(a, x) by Legendre's continued fraction (Lentz's algorithm), for `x` above `a`.
fn fraction(a: f64, x: f64) -> f64 {
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (b * 0.0 + 1.0 / TINY, 1.0 / b);
    let mut h = d;
    for n in 1..MOST {
        let n = n as f64;
        let factor = -n * (n - a);
        b += 2.0;
        d = 1.0 / kept(factor * d + b);
        c = kept(b + factor / c);
        let change = d * c;
        h *= change;
        if (change - 1.0).abs() <= 3e-15 {
            break;
        }
    }
    h * prefactor(a, x) * a
}

/// What infinities and zeros have, of the lower function; NaN where there is nothing.
fn edge(a: f64, x: f64) -> f64 {
    let nothing = (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite());
    if !(a >= 0.0 && x >= 0.0) || nothing {
        f64::NAN
    } else if a.is_infinite() || x == 0.0 {
        0.0
    } else {
        1.0
    }
}

/// P(a, x), or Q(a, x) = 1 - P(a, x).
pub fn gamma(a: f64, x: f64, upper: bool) -> f64 {
    if !(a > 0.0 && x > 0.0 && a < f64::INFINITY && x < f64::INFINITY) {
        let lower = edge(a, x);
        return if upper { 1.0 - lower } else { lower };
    }
    let below = x <= a + 1.0;
    let value = if below { series(a, x) } else { fraction(a, x) };
    if below == upper { 1.0 - value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_shapes_are_sums_of_powers() {
        for (a, x) in [(1.0_f64, 0.3_f64), (2.0, 1.5), (3.0, 9.0), (5.0, 4.0)] {
            let terms: f64 = (0..a as i32).map(|k| x.powi(k) / libm::tgamma(f64::from(k) + 1.0)).sum();
            let wanted = (-x).exp() * terms;
            assert!((gamma(a, x, true) - wanted).abs() < 1e-14, "{a} {x}");
            assert!((gamma(a, x, false) + gamma(a, x, true) - 1.0).abs() < 1e-14, "{a} {x}");
        }
    }
}
