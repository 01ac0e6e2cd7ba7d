//! What a division of float64 leaves, by one quotient where that is small (benchmarks/cases.py: double_remainder): libm's
//! way bit by bit takes ten times as long.

/// Quotients below which what is left of a product is exact.
const SMALL: f64 = 2_251_799_813_685_248.0;

/// What is left of `a`, with its sign. A quotient that was rounded up is one too many: the product, subtracted without
/// rounding, is then too large by less than `b`.
#[inline(always)]
pub fn fmod(a: f64, b: f64) -> f64 {
    let (size, step) = (a.abs(), b.abs());
    let quotient = size / step;
    if quotient < SMALL && step < f64::INFINITY {
        let rest = (-quotient.trunc()).mul_add(step, size);
        let rest = if rest < 0.0 { rest + step } else { rest };
        return rest.copysign(a);
    }
    a % b
}

/// `fmod` with the sign of the divisor.
#[inline(always)]
pub fn remainder(a: f64, b: f64) -> f64 {
    let rest = fmod(a, b);
    if (rest != 0.0) & ((b < 0.0) != (rest < 0.0)) { rest + b } else { rest }
}

/// The quotient without its fraction, towards minus infinity, by what is left; `b` is not zero.
#[inline(always)]
pub fn floor_div(a: f64, b: f64) -> f64 {
    let rest = fmod(a, b);
    let whole = (a - rest) / b;
    let quotient = if (rest != 0.0) & ((b < 0.0) != (rest < 0.0)) { whole - 1.0 } else { whole };
    if quotient == 0.0 {
        return 0.0_f64.copysign(a / b);
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

#[cfg(test)]
mod tests {
    use super::{floor_div, fmod, remainder};
    use crate::kernels::number::Number;

    #[test]
    fn is_what_libm_says() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Any exponent but the outermost, so that quotients are small, large and none.
            f64::from_bits(state)
        };
        for _ in 0..200_000 {
            let (a, b) = (next(), next());
            for (a, b) in
                [(a, b), (a, a / 3.0), (a, a.trunc()), ((a % 1e6).trunc(), (b % 100.0).trunc()), (a % 1e3, b % 1.0)]
            {
                let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                assert!(same(fmod(a, b), a % b), "fmod {a:e} {b:e}");
                assert!(same(remainder(a, b), Number::remainder(a, b)), "remainder {a:e} {b:e}");
                assert!(b == 0.0 || same(floor_div(a, b), Number::floor_div(a, b)), "floor_div {a:e} {b:e}");
            }
        }
    }
}
