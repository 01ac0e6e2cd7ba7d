//! Euclidean lengths of slices of float32 in one pass (benchmarks/cases.py: large_norm).
//!
//! Squares are added in float32, and once more in float64 where they come near the ends of its range. As in `reduce`, the
//! order of additions depends on the shape alone.

use std::ops::Range;

use super::iterate::{PARALLEL_ABOVE, gathered, spread_over};
use super::memory::Memory;
use super::real::Real;
use super::reduce::{Cascade, Plan, steps};
use super::vector::{Task, dispatch};

const LANES: usize = 64;
/// Elements that a unit adds up in its lanes.
const UNIT: usize = 4096;
/// Elements that make a task worth sending to another thread.
const TASK: usize = 8192;
/// Sums of which neither the squares nor what they lose below matter to float32.
const SAFE: Range<f32> = 1e-30..1e37;

struct Squares<'a, T> {
    slice: &'a [f32],
    total: &'a mut T,
}

impl<T: Real + From<f32>> Task for Squares<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (chunks, rest) = self.slice.as_chunks();
        // A copy: the sums of the loop stay in registers.
        let mut lanes = in_lanes::<T>(chunks);
        for (lane, &x) in lanes.iter_mut().zip(rest) {
            *lane = *lane + T::from(x) * T::from(x);
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

#[inline(always)]
fn in_lanes<T: Real + From<f32>>(chunks: &[[f32; LANES]]) -> [T; LANES] {
    let mut lanes = [T::of(0.0); LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = *lane + T::from(x) * T::from(x);
        }
    }
    lanes
}

/// The sum of the squares of a slice, on several threads where `spread`.
fn squares<T: Real + From<f32>>(slice: &[f32], spread: bool) -> T {
    let unit = |part: &[f32]| {
        let mut total = T::of(0.0);
        dispatch(Squares { slice: part, total: &mut total });
        total
    };
    if slice.len() <= UNIT {
        return unit(slice);
    }
    let (mut cascade, merge) = (Cascade::new(), |left, right| left + right);
    if spread {
        let part = |index: usize| unit(&slice[index * UNIT..slice.len().min((index + 1) * UNIT)]);
        let found = gathered(slice.len().div_ceil(UNIT), 4, T::of(0.0), part);
        found.into_iter().for_each(|total| cascade.push(total, merge));
    } else {
        slice.chunks(UNIT).for_each(|part| cascade.push(unit(part), merge));
    }
    cascade.finish(T::of(0.0), merge)
}

fn length(slice: &[f32], spread: bool) -> f32 {
    let total: f32 = squares(slice, spread);
    if SAFE.contains(&total) { total.sqrt() } else { squares::<f64>(slice, spread).sqrt() as f32 }
}

/// Elements of a slice up to which several are computed in one call.
const SHORT: usize = 32;

/// Some short slices.
struct Short<'a> {
    input: Memory,
    plan: &'a Plan,
    size: usize,
    rows: Range<usize>,
    output: Memory,
}

impl Task for Short<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for row in self.rows {
            let (from, to) = steps(&self.plan.kept, row);
            // SAFETY: `fold`, where it is made, vouches for the slices; each has its own place in the output.
            unsafe {
                let slice = std::slice::from_raw_parts(self.input.at::<f32>(self.plan.offset + from), self.size);
                let total = slice.iter().fold(0.0, |total, &x| total + x * x);
                self.output.write(to, if SAFE.contains(&total) { total.sqrt() } else { length(slice, false) });
            }
        }
    }
}

/// Writes the lengths of the slices where their elements are neighbours; says whether it did.
///
/// # Safety
/// The plan stays inside `input`, which holds float32; `output` has room for the results.
pub unsafe fn fold(input: Memory, plan: &Plan, output: Memory) -> bool {
    let [reduced] = plan.reduced.as_slice() else { return false };
    if reduced.from != 1 {
        return false;
    }
    let one = |index: usize, spread: bool| {
        let (from, to) = steps(&plan.kept, index);
        // SAFETY: the caller's; the slice's elements are neighbours, and each slice has its own place in the output.
        unsafe {
            let slice = std::slice::from_raw_parts(input.at::<f32>(plan.offset + from), reduced.size);
            output.write(to, length(slice, spread));
        }
    };
    if reduced.size <= SHORT {
        let rows = (TASK / reduced.size.max(1)).max(1);
        let part = |number: usize| {
            let rows = number * rows..plan.outputs.min((number + 1) * rows);
            dispatch(Short { input, plan, size: reduced.size, rows, output });
        };
        let parts = plan.outputs.div_ceil(rows);
        if plan.outputs.saturating_mul(plan.count) < PARALLEL_ABOVE {
            (0..parts).for_each(part);
        } else {
            spread_over(parts, 1, &part);
        }
        return true;
    }
    let parallel = plan.outputs.saturating_mul(plan.count) >= PARALLEL_ABOVE;
    if parallel && plan.outputs >= 32 {
        spread_over(plan.outputs, (TASK / plan.count).max(1), &|index| one(index, false));
    } else {
        (0..plan.outputs).for_each(|index| one(index, parallel));
    }
    true
}
