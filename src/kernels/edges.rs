//! Planes with copies of their own elements around them, and the sums over such copies (benchmarks/cases.py: pad).

use super::index_put::meet_row;
use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::memory::Memory;
use super::vector::{Task, dispatch};

/// What stands beyond the ends of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// What lies as far inside.
    Reflect,
    /// The last element.
    Replicate,
    /// The other end.
    Circular,
}

/// A padded dimension: its size, and the place inside that stands at each place of the result.
#[derive(Clone, Debug)]
pub struct Edge {
    pub size: usize,
    before: usize,
    places: Vec<usize>,
}

impl Edge {
    /// Both numbers are below the size.
    pub fn new(size: usize, before: usize, after: usize, beyond: Beyond) -> Self {
        let last = size.saturating_sub(1);
        let front = (0..before).map(|at| match beyond {
            Beyond::Reflect => before - at,
            Beyond::Replicate => 0,
            Beyond::Circular => size - before + at,
        });
        let back = (0..after).map(|at| match beyond {
            Beyond::Reflect => last - 1 - at,
            Beyond::Replicate => last,
            Beyond::Circular => at,
        });
        Self { size, before, places: front.chain(0..size).chain(back).collect() }
    }

    pub fn padded(&self) -> usize {
        self.places.len()
    }

    fn front(&self) -> &[usize] {
        self.places.get(..self.before).unwrap_or_default()
    }

    fn back(&self) -> &[usize] {
        self.places.get(self.before + self.size..).unwrap_or_default()
    }
}

/// Elements that are moved at once: a number that is known makes vectors of them.
const GROUP: usize = 16;

/// Rows of one plane: those of the result, from or to which the others go.
struct Rows<'a, T> {
    inner: *mut T,
    outer: *mut T,
    dims: &'a [Edge; 3],
    /// Of the outermost dimension: which of its places this task has.
    planes: std::ops::Range<usize>,
}

impl<T: Copy> Rows<'_, T> {
    /// Calls `row(inner, outer)` for each row of the result, in order.
    #[inline(always)]
    fn each(&self, row: impl Fn(*mut T, *mut T)) {
        let [depth, height, width] = self.dims;
        let mut outer = self.outer;
        for &d in depth.places.get(self.planes.clone()).unwrap_or_default() {
            for &h in &height.places {
                row(self.inner.wrapping_add((d * height.size + h) * width.size), outer);
                outer = outer.wrapping_add(width.padded());
            }
        }
    }
}

/// Copies a row, its last elements twice where they do not fill a group.
///
/// # Safety
/// Both have `length` elements, and do not overlap.
#[inline(always)]
unsafe fn copy_row<T: Copy>(from: *const T, to: *mut T, length: usize) {
    // SAFETY: the caller's.
    let group = |at: usize| unsafe {
        to.add(at).cast::<[T; GROUP]>().write_unaligned(from.add(at).cast::<[T; GROUP]>().read_unaligned());
    };
    if length < GROUP {
        // SAFETY: the caller's.
        return (0..length).for_each(|at| unsafe { *to.add(at) = *from.add(at) });
    }
    (0..length / GROUP).for_each(|number| group(number * GROUP));
    group(length - GROUP);
}

struct Pad<'a, T>(Rows<'a, T>);

impl<T: Copy> Task for Pad<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = &self.0.dims[2];
        self.0.each(|from, to| {
            // SAFETY: as `pad`: rows of both lie inside their memories, and places inside of a row.
            unsafe {
                for (at, &place) in width.front().iter().enumerate() {
                    *to.add(at) = *from.add(place);
                }
                let middle = to.add(width.before);
                copy_row(from, middle, width.size);
                for (at, &place) in width.back().iter().enumerate() {
                    *middle.add(width.size + at) = *from.add(place);
                }
            }
        });
    }
}

struct Fold<'a, T>(Rows<'a, T>);

impl<T: Copy + std::ops::Add<Output = T>> Task for Fold<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = &self.0.dims[2];
        self.0.each(|to, from| {
            // SAFETY: as `fold`.
            unsafe {
                for (at, &place) in width.front().iter().enumerate() {
                    *to.add(place) = *to.add(place) + *from.add(at);
                }
                let middle = from.add(width.before);
                let later = middle.wrapping_add(2 * width.padded()).cast_const();
                meet_row(to, middle, width.size, [later; 2], |own, other| own + other);
                for (at, &place) in width.back().iter().enumerate() {
                    *to.add(place) = *to.add(place) + *middle.add(width.size + at);
                }
            }
        });
    }
}

/// Elements of both sides of a plane.
fn sizes(dims: &[Edge; 3]) -> [usize; 2] {
    [dims.iter().map(|edge| edge.size).product(), dims.iter().map(Edge::padded).product()]
}

/// Runs `task` for every number, on several threads where so much work for each is worth it.
fn each(count: usize, work: usize, task: &(dyn Fn(usize) + Sync)) {
    if count.saturating_mul(work) < PARALLEL_ABOVE {
        (0..count).for_each(task);
    } else {
        spread_over(count, (PARALLEL_ABOVE / 8 / work.max(1)).max(1), task);
    }
}

/// Writes row-major planes of the inner sizes, padded, to `to`.
///
/// # Safety
/// Both hold so many planes of `T`, aligned, and `to` is fresh.
pub unsafe fn pad<T: Copy>(from: Memory, to: Memory, planes: usize, dims: &[Edge; 3]) {
    let ([inner, outer], depth) = (sizes(dims), dims[0].padded());
    let sheet = outer / depth.max(1);
    each(planes * depth, sheet, &|task| {
        let (plane, d) = (task / depth, task % depth);
        let rows = Rows { inner: from.at::<T>(plane * inner), outer: to.at::<T>(task * sheet), dims, planes: d..d + 1 };
        dispatch(Pad(rows));
    });
}

/// Adds to each element of the planes of `to` all its copies in the padded planes of `from`, in their order.
///
/// # Safety
/// As `pad`.
pub unsafe fn fold<T: Copy + std::ops::Add<Output = T>>(from: Memory, to: Memory, planes: usize, dims: &[Edge; 3]) {
    let [inner, outer] = sizes(dims);
    each(planes, outer, &|plane| {
        let (to, from) = (to.at::<T>(plane * inner), from.at::<T>(plane * outer));
        // SAFETY: the caller's: a plane of its own, cleared while it comes into the cache.
        unsafe { to.write_bytes(0, inner) };
        dispatch(Fold(Rows { inner: to, outer: from, dims, planes: 0..dims[0].padded() }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beyond_the_ends() {
        assert_eq!(Edge::new(4, 2, 1, Beyond::Reflect).places, [2, 1, 0, 1, 2, 3, 2]);
        assert_eq!(Edge::new(4, 2, 1, Beyond::Replicate).places, [0, 0, 0, 1, 2, 3, 3]);
        assert_eq!(Edge::new(4, 2, 1, Beyond::Circular).places, [2, 3, 0, 1, 2, 3, 0]);
    }
}
