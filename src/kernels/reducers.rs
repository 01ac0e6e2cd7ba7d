//! The folds that `kernels::reduce` runs: sums, products, extremes, truth, moments and norms.

use std::marker::PhantomData;

use super::complex;
use super::element::{Element, Truth, Wide};
use super::floats;
use super::memory::Memory;
use super::reduce::{Reducer, reduce};
use crate::dtype::DType;
use crate::error::Result;
use crate::tensor::geometry::Geometry;
use crate::{with_element, with_float, with_int};

/// Which fold to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fold {
    /// Integers and booleans give int64.
    Sum,
    NanSum,
    Prod,
    Mean,
    Max,
    Min,
    Any,
    All,
    CountNonzero,
    /// Sum of squared deviations over `count - correction`, its root where `root`.
    Var {
        correction: f64,
        root: bool,
    },
    /// The p-norm.
    Norm(f64),
}

/// Runs a fold over the slices along `dims`; the output has the fold's dtype (see `Fold`).
///
/// # Safety
/// As `reduce`, with elements of `dtype`.
pub unsafe fn fold(
    which: Fold,
    dtype: DType,
    input: Memory,
    geometry: &Geometry,
    dims: &[usize],
    output: Memory,
) -> Result<()> {
    macro_rules! run {
        ($reducer:expr) => {{
            // SAFETY: the caller vouches for memory and geometry.
            unsafe { reduce(&$reducer, input, geometry, dims, output) };
            Ok(())
        }};
    }
    // Integers of one width are zero for the same bits: fewer kernels to compile.
    macro_rules! with_width {
        ($T:ident => $body:expr, else $other:expr) => {
            match dtype {
                DType::Bool | DType::U8 | DType::I8 => {
                    type $T = u8;
                    $body
                }
                DType::I16 | DType::U16 => {
                    type $T = i16;
                    $body
                }
                DType::I32 | DType::U32 => {
                    type $T = i32;
                    $body
                }
                DType::I64 | DType::U64 => {
                    type $T = i64;
                    $body
                }
                _ => with_float!(dtype, $T => $body, else $other),
            }
        };
    }
    // SAFETY: the caller's.
    if dtype == DType::F32 && unsafe { floats::fold(which, input, geometry, dims, output) } {
        return Ok(());
    }
    // SAFETY: the caller's.
    let refuse = || unsafe { complex::fold(which, dtype, input, geometry, dims, output) };
    match which {
        Fold::Sum if !dtype.is_float() => with_int!(dtype, T => run!(Totals::<T, true>(PhantomData)), else refuse()),
        Fold::Prod if !dtype.is_float() => with_int!(dtype, T => run!(Totals::<T, false>(PhantomData)), else refuse()),
        Fold::Sum => with_float!(dtype, T => run!(Sum::<T>(PhantomData)), else refuse()),
        Fold::NanSum => with_float!(dtype, T => run!(NanSum::<T>(PhantomData)), else refuse()),
        Fold::Prod => with_float!(dtype, T => run!(Prod::<T>(PhantomData)), else refuse()),
        Fold::Mean => with_float!(dtype, T => run!(Mean::<T>(PhantomData)), else refuse()),
        Fold::Max => with_element!(dtype, T => run!(Extreme::<T, true>(PhantomData)), else refuse()),
        Fold::Min => with_element!(dtype, T => run!(Extreme::<T, false>(PhantomData)), else refuse()),
        Fold::Any => with_width!(T => run!(Truths::<T, true>(PhantomData)), else refuse()),
        Fold::All => with_width!(T => run!(Truths::<T, false>(PhantomData)), else refuse()),
        Fold::CountNonzero => with_width!(T => run!(Count::<T>(PhantomData)), else refuse()),
        Fold::Var { correction, root } => {
            with_float!(dtype, T => run!(Var::<T> { correction, root, item: PhantomData }), else refuse())
        }
        Fold::Norm(0.0) => with_float!(dtype, T => run!(Norm::<T, 0>(0.0, PhantomData)), else refuse()),
        Fold::Norm(1.0) => with_float!(dtype, T => run!(Norm::<T, 1>(1.0, PhantomData)), else refuse()),
        Fold::Norm(2.0) => with_float!(dtype, T => run!(Norm::<T, 2>(2.0, PhantomData)), else refuse()),
        Fold::Norm(f64::INFINITY) => with_float!(dtype, T => run!(AbsExtreme::<T, true>(PhantomData)), else refuse()),
        Fold::Norm(f64::NEG_INFINITY) => {
            with_float!(dtype, T => run!(AbsExtreme::<T, false>(PhantomData)), else refuse())
        }
        Fold::Norm(p) => with_float!(dtype, T => run!(Norm::<T, 3>(p, PhantomData)), else refuse()),
    }
}

/// The parts of a reducer that looks at nothing but the items.
macro_rules! plain {
    ($item:ty) => {
        type Item = $item;
        type Context = ();
        #[inline(always)]
        fn context(&self, _first: $item) {}
    };
}

/// Sums (or products) of integers, in int64.
struct Totals<T, const ADD: bool>(PhantomData<T>);

impl<T: Element<Wide = W>, W: Wide, const ADD: bool> Reducer for Totals<T, ADD> {
    plain!(T);
    type Sum = W;
    type Out = W;
    fn start(&self) -> W {
        if ADD { W::ZERO } else { W::ONE }
    }
    #[inline(always)]
    fn step(&self, (): (), sum: W, item: T) -> W {
        self.merge(sum, item.wide())
    }
    #[inline(always)]
    fn merge(&self, left: W, right: W) -> W {
        if ADD { left.plus(right) } else { left.times(right) }
    }
    fn finish(&self, sum: W, _count: usize) -> W {
        sum
    }
}

macro_rules! float_fold {
    ($(#[$doc:meta])* $name:ident, $start:ident, |$sum:ident, $item:ident| $step:expr, $merge:ident, |$total:ident, $count:ident| $finish:expr) => {
        $(#[$doc])*
        struct $name<T>(PhantomData<T>);

        impl<T: Element> Reducer for $name<T> {
            plain!(T);
            type Sum = T::Wide;
            type Out = T;
            fn start(&self) -> T::Wide {
                T::Wide::$start
            }
            #[inline(always)]
            fn step(&self, (): (), $sum: T::Wide, $item: T) -> T::Wide {
                $step
            }
            #[inline(always)]
            fn merge(&self, left: T::Wide, right: T::Wide) -> T::Wide {
                left.$merge(right)
            }
            fn finish(&self, $total: T::Wide, $count: usize) -> T {
                $finish
            }
        }
    };
}

float_fold!(Sum, ZERO, |sum, item| sum.plus(item.wide()), plus, |total, _count| T::narrow(total));
float_fold!(
    NanSum,
    ZERO,
    |sum, item| if item.is_nan() { sum } else { sum.plus(item.wide()) },
    plus,
    |total, _count| T::narrow(total)
);
float_fold!(Prod, ONE, |sum, item| sum.times(item.wide()), times, |total, _count| T::narrow(total));
float_fold!(Mean, ZERO, |sum, item| sum.plus(item.wide()), plus, |total, count| {
    T::narrow(T::Wide::from_f64(total.to_f64() / count as f64))
});

/// The greatest (or least) value; a NaN wins.
struct Extreme<T, const MAX: bool>(PhantomData<T>);

impl<T: Element, const MAX: bool> Reducer for Extreme<T, MAX> {
    plain!(T);
    type Sum = T;
    type Out = T;
    fn start(&self) -> T {
        if MAX { T::LOWEST } else { T::HIGHEST }
    }
    #[inline(always)]
    fn step(&self, (): (), sum: T, item: T) -> T {
        self.merge(sum, item)
    }
    #[inline(always)]
    fn merge(&self, left: T, right: T) -> T {
        let better = if MAX { right > left } else { right < left };
        if better | right.is_nan() { right } else { left }
    }
    fn finish(&self, sum: T, _count: usize) -> T {
        sum
    }
}

/// Whether any (or every) value is not zero.
struct Truths<T, const ANY: bool>(PhantomData<T>);

impl<T: Element, const ANY: bool> Reducer for Truths<T, ANY> {
    plain!(T);
    type Sum = bool;
    type Out = Truth;
    fn start(&self) -> bool {
        !ANY
    }
    #[inline(always)]
    fn step(&self, (): (), sum: bool, item: T) -> bool {
        self.merge(sum, item.is_nonzero())
    }
    #[inline(always)]
    fn merge(&self, left: bool, right: bool) -> bool {
        if ANY { left | right } else { left & right }
    }
    fn finish(&self, sum: bool, _count: usize) -> Truth {
        Truth(u8::from(sum))
    }
}

struct Count<T>(PhantomData<T>);

impl<T: Element> Reducer for Count<T> {
    plain!(T);
    type Sum = i64;
    type Out = i64;
    fn start(&self) -> i64 {
        0
    }
    #[inline(always)]
    fn step(&self, (): (), sum: i64, item: T) -> i64 {
        sum + i64::from(item.is_nonzero())
    }
    #[inline(always)]
    fn merge(&self, left: i64, right: i64) -> i64 {
        left + right
    }
    fn finish(&self, sum: i64, _count: usize) -> i64 {
        sum
    }
}

/// Sums of deviations from the slice's first element and of their squares, in float64: the shift is one of the
/// values, so that cancellation can cost a factor of `count` at most.
struct Var<T> {
    correction: f64,
    root: bool,
    item: PhantomData<T>,
}

impl<T: Element> Reducer for Var<T> {
    type Item = T;
    type Context = f64;
    type Sum = (f64, f64);
    type Out = T;
    fn context(&self, first: T) -> f64 {
        first.to_f64()
    }
    fn start(&self) -> (f64, f64) {
        (0.0, 0.0)
    }
    #[inline(always)]
    fn step(&self, shift: f64, (sum, squares): (f64, f64), item: T) -> (f64, f64) {
        let deviation = item.to_f64() - shift;
        (sum + deviation, squares + deviation * deviation)
    }
    #[inline(always)]
    fn merge(&self, left: (f64, f64), right: (f64, f64)) -> (f64, f64) {
        (left.0 + right.0, left.1 + right.1)
    }
    fn finish(&self, (sum, squares): (f64, f64), count: usize) -> T {
        let count = count as f64;
        // Rounding may leave a tiny negative number; a NaN must stay one.
        let spread = squares - sum * sum / count;
        let spread = if spread < 0.0 { 0.0 } else { spread };
        let variance = spread / (count - self.correction).max(0.0);
        T::narrow(T::Wide::from_f64(if self.root { variance.sqrt() } else { variance }))
    }
}

/// `P` is 0, 1, 2, or 3 for any other power.
struct Norm<T, const P: usize>(f64, PhantomData<T>);

impl<T: Element, const P: usize> Reducer for Norm<T, P> {
    plain!(T);
    type Sum = f64;
    type Out = T;
    fn start(&self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn step(&self, (): (), sum: f64, item: T) -> f64 {
        let size = item.to_f64().abs();
        sum + match P {
            0 => f64::from(u8::from(size != 0.0)),
            1 => size,
            2 => size * size,
            _ => size.powf(self.0),
        }
    }
    #[inline(always)]
    fn merge(&self, left: f64, right: f64) -> f64 {
        left + right
    }
    fn finish(&self, sum: f64, _count: usize) -> T {
        T::narrow(T::Wide::from_f64(match P {
            0 | 1 => sum,
            2 => sum.sqrt(),
            _ => sum.powf(1.0 / self.0),
        }))
    }
}

/// The greatest (or least) absolute value; a NaN wins.
struct AbsExtreme<T, const MAX: bool>(PhantomData<T>);

impl<T: Element, const MAX: bool> Reducer for AbsExtreme<T, MAX> {
    plain!(T);
    type Sum = f64;
    type Out = T;
    fn start(&self) -> f64 {
        if MAX { 0.0 } else { f64::INFINITY }
    }
    #[inline(always)]
    fn step(&self, (): (), sum: f64, item: T) -> f64 {
        self.merge(sum, item.to_f64().abs())
    }
    #[inline(always)]
    fn merge(&self, left: f64, right: f64) -> f64 {
        let better = if MAX { right > left } else { right < left };
        if better | right.is_nan() { right } else { left }
    }
    fn finish(&self, sum: f64, _count: usize) -> T {
        T::narrow(T::Wide::from_f64(sum))
    }
}
