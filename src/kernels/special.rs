//! Special functions that neither std nor libm has, in float64.

use std::f64::consts::PI;

/// sin(pi x) / (pi x), one at zero.
pub fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The derivative of the logarithm of gamma.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.trunc() {
            return f64::NAN;
        }
        // Reflection; the fractional part keeps the tangent's argument exact.
        return digamma(1.0 - x) - PI / (PI * x.fract()).tan();
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    // The asymptotic series with Bernoulli numbers over 2k.
    let series = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let tail = series.iter().rev().fold(0.0, |tail, term| z * (term + tail));
    sum + x.ln() - 0.5 / x - tail
}

/// The derivatives of digamma: `polygamma(n, x)` for n >= 1, by recurrence and the asymptotic series.
pub fn polygamma(n: u32, x: f64) -> f64 {
    let order = f64::from(n);
    let factorial = libm::tgamma(order + 1.0);
    let sign = if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    sign * factorial * zeta(order + 1.0, x)
}

/// Hurwitz zeta by Euler and Maclaurin's formula.
pub fn zeta(s: f64, q: f64) -> f64 {
    if s <= 1.0 {
        return if s == 1.0 { f64::INFINITY } else { f64::NAN };
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if s != s.floor() {
            return f64::NAN;
        }
    }
    // Small whole powers are products, which take a tenth of the time.
    let whole = s == s.floor() && s < 32.0;
    let power = |x: f64, y: f64| if whole { x.powi(y as i32) } else { x.powf(y) };
    let (mut sum, mut at) = (0.0, q);
    while at < 12.0 {
        sum += if s == 2.0 { 1.0 / (at * at) } else { power(at, -s) };
        at += 1.0;
    }
    sum += power(at, 1.0 - s) / (s - 1.0) + 0.5 * power(at, -s);
    // Bernoulli numbers B2k over (2k)!.
    let terms = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
    ];
    let mut factor = s * power(at, -s - 1.0);
    for (k, term) in terms.into_iter().enumerate() {
        sum += term * factor;
        let next = s + 2.0 * k as f64;
        factor *= (next + 1.0) * (next + 2.0) / (at * at);
    }
    sum
}
