//! float32 and float64 as kernels compute with them (benchmarks/bars.py: reductions, optimizers).

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{double, math};

pub trait Real:
    Copy
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const LOWEST: Self;
    fn of(number: f64) -> Self;
    fn single(self) -> f32;
    fn root(self) -> Self;
    fn power<const FMA: bool>(self) -> Self;
    fn logarithm<const FMA: bool>(self) -> Self;
}

macro_rules! real {
    ($($type:ty: $power:expr, $logarithm:expr;)+) => { $(
        impl Real for $type {
            const LOWEST: Self = Self::NEG_INFINITY;
            #[inline(always)]
            fn of(number: f64) -> Self {
                number as Self
            }
            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn power<const FMA: bool>(self) -> Self {
                $power(self)
            }
            #[inline(always)]
            fn logarithm<const FMA: bool>(self) -> Self {
                $logarithm(self)
            }
        }
    )+ };
}

real! {
    f32: math::exp::<FMA>, math::log::<FMA>;
    f64: double::exp::<FMA>, double::log::<FMA>;
}
