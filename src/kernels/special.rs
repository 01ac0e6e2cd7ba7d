//! Special functions that neither std nor libm has, in float64.

use std::f64::consts::PI;

/// sin(pi x) / (pi x), one at zero.
pub fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The inverse of erf: a starting value to three digits, then Newton steps on erf itself.
pub fn erfinv(y: f64) -> f64 {
    if y.abs() >= 1.0 {
        return if y.abs() == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    if y == 0.0 || y.is_nan() {
        return y;
    }
    // Winitzki's closed form.
    let a = 0.147;
    let log = ((1.0 - y) * (1.0 + y)).ln();
    let first = 2.0 / (PI * a) + log / 2.0;
    let mut x = ((first * first - log / a).sqrt() - first).sqrt().copysign(y);
    for _ in 0..4 {
        // Near one, 1 - erf(x) keeps the digits that erf(x) has lost.
        let off = if y.abs() < 0.5 { libm::erf(x) - y } else { ((1.0 - y.abs()) - libm::erfc(x.abs())).copysign_of(y) };
        let slope = 2.0 / PI.sqrt() * (-x * x).exp();
        let step = off / slope;
        // Halley's correction makes convergence cubic.
        x -= step / (1.0 + x * step);
    }
    x
}

trait SignOf {
    fn copysign_of(self, sign: f64) -> f64;
}

impl SignOf for f64 {
    /// The value times the sign of another, not its magnitude with that sign.
    fn copysign_of(self, sign: f64) -> f64 {
        if sign < 0.0 { -self } else { self }
    }
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
    let (mut sum, mut at) = (0.0, q);
    for _ in 0..12 {
        sum += at.powf(-s);
        at += 1.0;
    }
    while at < 12.0 {
        sum += at.powf(-s);
        at += 1.0;
    }
    sum += at.powf(1.0 - s) / (s - 1.0) + 0.5 * at.powf(-s);
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
    let mut factor = s * at.powf(-s - 1.0);
    for (k, term) in terms.into_iter().enumerate() {
        sum += term * factor;
        let next = s + 2.0 * k as f64;
        factor *= (next + 1.0) * (next + 2.0) / (at * at);
    }
    sum
}
