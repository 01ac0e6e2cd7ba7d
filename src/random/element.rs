//! The types that random numbers are written as, and the precisions they are sampled in.

use half::{bf16, f16};

use super::Generator;
use crate::kernels::box_muller::{self, BLOCK};

/// A type that random numbers can be written as.
pub trait Element: Copy {
    /// Whether `random_()` without bounds draws 64 bits rather than 32.
    const WIDE: bool;
    /// `random_()` without bounds gives integers below this, all of them exact in the type.
    const SPAN: u64;
    /// The value as C converts it: integers wrap, halves pass through single precision.
    fn from_i64(value: i64) -> Self;
    /// The value as C converts it, towards zero for integers.
    fn from_f64(value: f64) -> Self;
}

/// A floating-point element, sampled in the precision of `Compute`.
pub trait Real: Element + PartialEq + Send + Sync + 'static {
    /// `f64` for itself, `f32` for all others.
    type Compute: Compute;
    /// The nearest value.
    fn from_compute(value: Self::Compute) -> Self;
    /// The same value, exactly.
    fn to_compute(self) -> Self::Compute;
    /// The same elements where they are `f32`.
    fn singles(out: &mut [Self]) -> Option<&mut [f32]>;
}

/// A precision that sampling is done in: `f32` or `f64`.
pub trait Compute: Real<Compute = Self> + PartialOrd + Into<f64> {
    /// A value of `[0, 1)` with all the bits of its significand random.
    fn unit(generator: &mut Generator) -> Self;
    /// `from + self * (to - from)` with one rounding.
    fn stretch(self, from: Self, to: Self) -> Self;
    /// Sixteen normal values from sixteen uniform ones.
    fn box_muller(block: &mut [Self; BLOCK], mean: f64, std: f64);
    /// The sum, in this precision.
    fn plus(self, other: Self) -> Self;
    /// The quotient, in this precision.
    fn over(self, other: Self) -> Self;
}

macro_rules! integer_element {
    ($($kind:ty),*) => {$(
        impl Element for $kind {
            const WIDE: bool = <$kind>::MAX as u64 > u32::MAX as u64;
            const SPAN: u64 = (<$kind>::MAX as u64).saturating_add(1);
            fn from_i64(value: i64) -> Self {
                value as $kind
            }
            fn from_f64(value: f64) -> Self {
                value as i64 as $kind
            }
        }
    )*};
}
integer_element!(i64, i32, i16, i8, u64, u32, u16, u8);

impl Element for bool {
    const WIDE: bool = false;
    const SPAN: u64 = 2;
    fn from_i64(value: i64) -> Self {
        value != 0
    }
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
}

macro_rules! real_element {
    ($($kind:ty, $compute:ty, $digits:expr, $narrow:expr, $widen:expr, $singles:expr;)*) => {$(
        impl Element for $kind {
            const WIDE: bool = $digits > 32;
            const SPAN: u64 = (1 << $digits) + 1;
            fn from_i64(value: i64) -> Self {
                Self::from_compute(value as $compute)
            }
            fn from_f64(value: f64) -> Self {
                Self::from_compute(value as $compute)
            }
        }
        impl Real for $kind {
            type Compute = $compute;
            fn from_compute(value: $compute) -> Self {
                $narrow(value)
            }
            fn to_compute(self) -> $compute {
                $widen(self)
            }
            fn singles(out: &mut [Self]) -> Option<&mut [f32]> {
                $singles(out)
            }
        }
    )*};
}
real_element! {
    f64, f64, 53, std::convert::identity, std::convert::identity, |_| None;
    f32, f32, 24, std::convert::identity, std::convert::identity, Some;
    f16, f32, 11, f16::from_f32, f16::to_f32, |_| None;
    bf16, f32, 8, bf16::from_f32, bf16::to_f32, |_| None;
}

impl Compute for f32 {
    fn unit(generator: &mut Generator) -> Self {
        const STEP: f32 = 1.0 / (1 << 24) as f32;
        (generator.random() & 0x00ff_ffff) as f32 * STEP
    }
    fn stretch(self, from: Self, to: Self) -> Self {
        self.mul_add(to - from, from)
    }
    fn box_muller(block: &mut [Self; BLOCK], mean: f64, std: f64) {
        box_muller::transform_f32(block, mean as f32, std as f32);
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn over(self, other: Self) -> Self {
        self / other
    }
}

impl Compute for f64 {
    fn unit(generator: &mut Generator) -> Self {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (generator.random64() & ((1 << 53) - 1)) as f64 * STEP
    }
    fn stretch(self, from: Self, to: Self) -> Self {
        self.mul_add(to - from, from)
    }
    fn box_muller(block: &mut [Self; BLOCK], mean: f64, std: f64) {
        box_muller::transform_f64(block, mean, std);
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn over(self, other: Self) -> Self {
        self / other
    }
}
