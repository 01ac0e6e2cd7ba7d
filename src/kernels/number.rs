//! Arithmetic of each element type with torch's meaning: integers wrap around, remainders take the divisor's sign.

use half::{bf16, f16};

use super::element::Element;
use crate::ops::operand::Scalar;

/// An element that can be computed with. Integer division by zero gives zero; callers report it.
pub trait Number: Element + 'static {
    const ZERO: Self;
    const ONE: Self;

    fn of(scalar: Scalar) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Rounds towards zero on integers.
    fn div(self, other: Self) -> Self;
    fn floor_div(self, other: Self) -> Self;
    fn trunc_div(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn fmod(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;

    fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// The larger; NaN if either is.
    fn max(self, other: Self) -> Self {
        if self.is_nan() || self >= other { self } else { other }
    }

    /// The smaller; NaN if either is.
    fn min(self, other: Self) -> Self {
        if self.is_nan() || self <= other { self } else { other }
    }

    /// The larger, or the other one where one is NaN.
    fn fmax(self, other: Self) -> Self {
        if other.is_nan() || self >= other { self } else { other }
    }

    fn fmin(self, other: Self) -> Self {
        if other.is_nan() || self <= other { self } else { other }
    }
}

/// An integer (or a boolean's byte).
pub trait Integer: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn left(self, by: Self) -> Self;
    fn right(self, by: Self) -> Self;
    fn gcd(self, other: Self) -> Self;
}

macro_rules! signed {
    ($($type:ty),+) => { $(integer!($type, |x| x < 0, |x| x.wrapping_abs(), |x| <$type>::from(x > 0) - <$type>::from(x < 0));)+ };
}

macro_rules! unsigned {
    ($($type:ty),+) => { $(integer!($type, |_x| false, |x| x, |x| Ord::min(x, 1));)+ };
}

macro_rules! integer {
    ($type:ty, |$n:ident| $negative:expr, |$a:ident| $abs:expr, |$s:ident| $sign:expr) => {
        impl Number for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn of(scalar: Scalar) -> Self {
                scalar.as_i64() as Self
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn trunc_div(self, other: Self) -> Self {
                Number::div(self, other)
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let quotient = self.wrapping_div(other);
                let uneven = self.wrapping_rem(other) != 0;
                let negative = |$n: Self| $negative;
                if uneven && negative(self) != negative(other) { quotient.wrapping_sub(1) } else { quotient }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                let rest = Number::fmod(self, other);
                let negative = |$n: Self| $negative;
                if rest != 0 && negative(rest) != negative(other) { rest.wrapping_add(other) } else { rest }
            }
            #[inline(always)]
            fn fmod(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn pow(self, other: Self) -> Self {
                let negative = |$n: Self| $negative;
                if negative(other) {
                    let odd = other & 1 == 1;
                    return match self {
                        1 => 1,
                        x if negative(x) && x.wrapping_add(1) == 0 => {
                            if odd {
                                x
                            } else {
                                1
                            }
                        }
                        _ => 0,
                    };
                }
                let (mut base, mut rest, mut out) = (self, other, 1 as Self);
                while rest != 0 {
                    if rest & 1 == 1 {
                        out = out.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    rest >>= 1;
                }
                out
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let $a = self;
                $abs
            }
            #[inline(always)]
            fn sign(self) -> Self {
                let $s = self;
                $sign
            }
        }

        impl Integer for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn left(self, by: Self) -> Self {
                let inside = (by as u64) < Self::BITS as u64;
                if inside { self.wrapping_shl(by as u32) } else { 0 }
            }
            #[inline(always)]
            fn right(self, by: Self) -> Self {
                let inside = (by as u64) < Self::BITS as u64;
                if inside {
                    self >> (by as u32)
                } else {
                    // All bits are shifted out; what is left is the sign.
                    (self >> (Self::BITS - 1)) >> 1
                }
            }
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (Number::abs(self), Number::abs(other));
                while b != 0 {
                    (a, b) = (b, a.wrapping_rem(b));
                }
                Number::abs(a)
            }
        }
    };
}

signed!(i8, i16, i32, i64);
unsigned!(u8, u16, u32, u64);

macro_rules! float {
    ($($type:ty),+) => { $(
        impl Number for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn of(scalar: Scalar) -> Self {
                scalar.as_f64() as Self
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn trunc_div(self, other: Self) -> Self {
                (self / other).trunc()
            }
            fn floor_div(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let rest = self % other;
                let mut quotient = (self - rest) / other;
                if rest != 0.0 && (other < 0.0) != (rest < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as Self).copysign(self / other);
                }
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                let rest = self % other;
                if rest != 0.0 && (other < 0.0) != (rest < 0.0) { rest + other } else { rest }
            }
            #[inline(always)]
            fn fmod(self, other: Self) -> Self {
                self % other
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                self.powf(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { 0.0 }
            }
        }
    )+ };
}

float!(f32, f64);

/// 16-bit floats are computed with as float32, rounding once per op.
macro_rules! half {
    ($type:ty: $($name:ident),+) => {
        impl Number for $type {
            const ZERO: Self = <$type>::ZERO;
            const ONE: Self = <$type>::ONE;

            fn of(scalar: Scalar) -> Self {
                Self::from_f64(scalar.as_f64())
            }
            $(#[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self::from_f32(Number::$name(self.to_f32(), other.to_f32()))
            })+
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self::from_bits(self.to_bits() & 0x7fff)
            }
            #[inline(always)]
            fn sign(self) -> Self {
                Self::from_f32(Number::sign(self.to_f32()))
            }
        }
    };
}

half!(f16: add, sub, mul, div, trunc_div, floor_div, remainder, fmod, pow);
half!(bf16: add, sub, mul, div, trunc_div, floor_div, remainder, fmod, pow);
