//! The sum of products of two vectors, on several threads (benchmarks/bars.py: dot).
//!
//! Elements go to fixed lanes, lanes to fixed units, units to a fixed tree: threads only choose who computes a unit.

use super::iterate::{PARALLEL_ABOVE, gathered};
use super::processor::{ask, asks_ahead};
use super::real::Real;
use super::reduce::Cascade;
use super::vector::{Task, dispatch};

const LANES: usize = 64;
/// Elements by which memory is asked for ahead.
const AHEAD: usize = 512;
/// Elements that a unit adds up in its lanes.
const UNIT: usize = 1 << 13;

struct Part<'a, T> {
    a: &'a [T],
    b: &'a [T],
    total: &'a mut T,
    asks: bool,
}

impl<T: Real> Task for Part<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let ((a, a_rest), (b, b_rest)) = (self.a.as_chunks(), self.b.as_chunks());
        let mut lanes = match (std::ptr::eq(a, b), self.asks) {
            (true, true) => lanes::<T, true, true>(a, b),
            (true, false) => lanes::<T, true, false>(a, b),
            (false, true) => lanes::<T, false, true>(a, b),
            (false, false) => lanes::<T, false, false>(a, b),
        };
        for ((lane, &a), &b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
            *lane = *lane + a * b;
        }
        let mut width = LANES / 2;
        while width > 0 {
            for k in 0..width {
                lanes[k] = lanes[k] + lanes[k + width];
            }
            width /= 2;
        }
        *self.total = lanes[0];
    }
}

/// The sums of the lanes. A vector by itself is read once, in half the time; and the sums stay in registers, since what is
/// done with them afterwards is done with a copy.
#[inline(always)]
fn lanes<T: Real, const SAME: bool, const ASK: bool>(a: &[[T; LANES]], b: &[[T; LANES]]) -> [T; LANES] {
    let mut lanes = [T::of(0.0); LANES];
    for (a, b) in a.iter().zip(b) {
        if ASK {
            for k in (0..LANES).step_by(64 / size_of::<T>()) {
                ask(a.as_ptr().wrapping_add(AHEAD + k));
                if !SAME {
                    ask(b.as_ptr().wrapping_add(AHEAD + k));
                }
            }
        }
        let b = if SAME { a } else { b };
        for k in 0..LANES {
            lanes[k] = lanes[k] + a[k] * b[k];
        }
    }
    lanes
}

/// The sum of the products of two vectors of one length.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let asks = asks_ahead();
    let unit = |index: usize| {
        let range = index * UNIT..a.len().min((index + 1) * UNIT);
        let mut total = T::of(0.0);
        dispatch(Part { a: &a[range.clone()], b: &b[range], total: &mut total, asks });
        total
    };
    let (units, add) = (a.len().div_ceil(UNIT), |left: T, right: T| left + right);
    let mut cascade = Cascade::new();
    if a.len() >= PARALLEL_ABOVE {
        gathered(units, 1, T::of(0.0), unit).into_iter().for_each(|total| cascade.push(total, add));
    } else {
        (0..units).for_each(|index| cascade.push(unit(index), add));
    }
    cascade.finish(T::of(0.0), add)
}
