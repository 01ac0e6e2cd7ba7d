//! Points in equal distances, counted from both ends (benchmarks/cases.py: large_linspace).

use std::ops::Range;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Room;
use super::vector::{Task, dispatch};

/// Points of one half: `anchor + step * by`, with `by` counted from the first, or back from the last.
struct Half<const BACK: bool> {
    to: *mut f32,
    places: Range<usize>,
    anchor: f32,
    step: f32,
    last: i32,
}

impl<const BACK: bool> Task for Half<BACK> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let first = self.places.start as i32;
        for at in 0..self.places.len() as i32 {
            let by = if BACK { -((self.last - first - at) as f32) } else { (first + at) as f32 };
            // SAFETY: as in `spaced`: there is room for each place.
            unsafe { self.to.add((first + at) as usize).write(by.mul_add(self.step, self.anchor)) };
        }
    }
}

/// `steps` points, at least two, from `start` to `end`; None where they are too many to count.
pub fn spaced(start: f32, end: f32, step: f32, steps: usize) -> Option<Vec<f32>> {
    let last = i32::try_from(steps.checked_sub(1)?).ok()?;
    let mut room = Room::new(steps);
    let (to, half, part) = (room.shared(), steps / 2, PARALLEL_ABOVE / 4);
    let some = |number: usize| {
        let (first, end_of) = (number * part, steps.min((number + 1) * part));
        let (front, back) = (first.min(half)..end_of.min(half), first.max(half)..end_of.max(half));
        dispatch(Half::<false> { to: to.at(0), places: front, anchor: start, step, last });
        dispatch(Half::<true> { to: to.at(0), places: back, anchor: end, step, last });
    };
    let parts = steps.div_ceil(part);
    if steps < PARALLEL_ABOVE {
        (0..parts).for_each(some);
    } else {
        spread_over(parts, 1, &some);
    }
    // SAFETY: every place has been written.
    Some(unsafe { room.filled() })
}
