//! Element types as kernels see them: how wide they are summed and how they are ordered. `number` adds arithmetic,
//! `memory` says where they lie.

use half::{bf16, f16};

/// A type to add and multiply in.
pub trait Wide: Copy + Send + Sync + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! wide_float {
    ($type:ty) => {
        impl Wide for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

wide_float!(f32);
wide_float!(f64);

impl Wide for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    fn to_f64(self) -> f64 {
        self as f64
    }
}

/// A value of a tensor.
pub trait Element: Copy + Send + Sync + PartialOrd {
    /// What sums of it are kept in.
    type Wide: Wide;
    const LOWEST: Self;
    const HIGHEST: Self;
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn is_nan(self) -> bool;
    /// A number that orders as the value does, NaN above everything; equal values have equal keys.
    fn key(self) -> u64;

    fn is_nonzero(self) -> bool {
        // NaN counts as true.
        self.wide() != Self::Wide::ZERO
    }

    fn to_f64(self) -> f64 {
        self.wide().to_f64()
    }
}

/// A boolean as it is stored; any byte but zero is true.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Truth(pub u8);

impl Element for Truth {
    type Wide = i64;
    const LOWEST: Self = Self(0);
    const HIGHEST: Self = Self(1);
    #[inline(always)]
    fn wide(self) -> i64 {
        i64::from(self.0 != 0)
    }
    fn narrow(wide: i64) -> Self {
        Self(u8::from(wide != 0))
    }
    fn is_nan(self) -> bool {
        false
    }
    fn key(self) -> u64 {
        u64::from(self.0 != 0)
    }
}

macro_rules! element_int {
    ($($type:ty),+ $(,)?) => { $(
        impl Element for $type {
            type Wide = i64;
            const LOWEST: Self = Self::MIN;
            const HIGHEST: Self = Self::MAX;
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
            fn narrow(wide: i64) -> Self {
                wide as Self
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            fn key(self) -> u64 {
                // Counted from the lowest value, so that a type of N bits has keys of N bits.
                (self as i64).wrapping_sub(Self::MIN as i64) as u64
            }
        }
    )+ };
}

element_int!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! element_float {
    ($($type:ty, $wide:ty, $bits:ty, $widen:expr, $narrow:expr);+ $(;)?) => { $(
        impl Element for $type {
            type Wide = $wide;
            const LOWEST: Self = Self::NEG_INFINITY;
            const HIGHEST: Self = Self::INFINITY;
            #[inline(always)]
            fn wide(self) -> $wide {
                $widen(self)
            }
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn is_nan(self) -> bool {
                self != self
            }
            fn key(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                // Without branches, so that loops over it vectorise; both zeros have one key.
                let bits = if self.to_bits() == SIGN { 0 } else { self.to_bits() };
                let key = bits ^ if bits & SIGN != 0 { <$bits>::MAX } else { SIGN };
                (if self != self { <$bits>::MAX } else { key }).into()
            }
        }
    )+ };
}

element_float! {
    f16, f32, u16, f32::from, f16::from_f32;
    bf16, f32, u16, f32::from, bf16::from_f32;
    f32, f32, u32, std::convert::identity, std::convert::identity;
    f64, f64, u64, std::convert::identity, std::convert::identity;
}
