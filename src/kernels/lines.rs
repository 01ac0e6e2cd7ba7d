//! Visits the lines of tensors along one dimension (benchmarks/cases.py: large_cumsum, large_sort).

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use crate::tensor::geometry::Geometry;

/// Lines that are visited together where there are many, so that none waits for its own last addition.
const TOGETHER: usize = 8;

/// Calls `body(starts)` once per line along `dim`, on several threads where it pays; `starts` are the numbers of each
/// view's first element. All views have the same sizes but for `dim`.
pub fn lines<const N: usize>(views: [&Geometry; N], dim: usize, body: impl Fn([usize; N]) + Sync) {
    visit(views, dim, 1, &|starts| starts.iter().for_each(|&start| body(start)));
}

/// As `lines`, several of them at a time.
pub fn grouped<const N: usize>(views: [&Geometry; N], dim: usize, body: impl Fn(&[[usize; N]]) + Sync) {
    visit(views, dim, TOGETHER, &body);
}

/// As `grouped`, with so many lines at a time where there are enough.
pub fn grouped_by<const N: usize>(
    views: [&Geometry; N],
    dim: usize,
    together: usize,
    body: impl Fn(&[[usize; N]]) + Sync,
) {
    visit(views, dim, together, &body);
}

fn visit<const N: usize>(views: [&Geometry; N], dim: usize, together: usize, body: &(dyn Fn(&[[usize; N]]) + Sync)) {
    let Some(first) = views.first() else { return };
    let outer: SmallVec<[usize; 6]> = (0..first.rank()).filter(|&other| other != dim).collect();
    let count: usize = outer.iter().map(|&other| first.shape[other]).product();
    let length = views.iter().map(|view| view.shape.get(dim).copied().unwrap_or(1)).max().unwrap_or(1);
    let starts = |mut index: usize| {
        let mut at = views.map(|view| view.offset);
        for &other in outer.iter().rev() {
            let step = index % first.shape[other];
            index /= first.shape[other];
            for (slot, view) in at.iter_mut().zip(&views) {
                *slot += step * view.strides[other];
            }
        }
        at
    };
    // Few lines are better spread over the threads.
    let together = if count < together * 4 { 1 } else { together };
    let group = |number: usize| {
        let range = number * together..count.min((number + 1) * together);
        body(&range.map(starts).collect::<SmallVec<[[usize; N]; TOGETHER]>>());
    };
    let groups = count.div_ceil(together);
    if count.saturating_mul(length) < PARALLEL_ABOVE || count == 1 {
        (0..groups).for_each(group);
    } else {
        let least = (PARALLEL_ABOVE / 8 / (together * length).max(1)).max(1);
        spread_over(groups, least, &group);
    }
}

/// Calls `body(starts, count)` for groups of lines along `dim` whose elements with the same number are neighbours, at most
/// `together` of them at a time; false, with nothing done, where few lines lie so in all views.
pub fn side_by_side<const N: usize>(
    views: [&Geometry; N],
    dim: usize,
    together: usize,
    body: impl Fn([usize; N], usize) + Sync,
) -> bool {
    let Some(first) = views.first() else { return false };
    let (rank, length) = (first.rank(), first.shape.get(dim).copied().unwrap_or(1));
    let beside = |side: usize| side != dim && views.iter().all(|view| view.strides[side] == 1);
    let along = length > 1 && views.iter().any(|view| step(view, dim) == 1);
    let Some(side) = (0..rank).filter(|&side| beside(side)).max_by_key(|&side| first.shape[side]) else { return false };
    let lines = first.shape[side];
    if along || lines < FEWEST {
        return false;
    }
    let outer: SmallVec<[usize; 6]> = (0..rank).filter(|&other| other != dim && other != side).collect();
    let (count, groups) = (outer.iter().map(|&other| first.shape[other]).product::<usize>(), lines.div_ceil(together));
    let group = |number: usize| {
        let (mut index, start) = (number / groups, number % groups * together);
        let mut at = views.map(|view| view.offset + start);
        for &other in outer.iter().rev() {
            let step = index % first.shape[other];
            index /= first.shape[other];
            for (slot, view) in at.iter_mut().zip(&views) {
                *slot += step * view.strides[other];
            }
        }
        body(at, together.min(lines - start));
    };
    if count.saturating_mul(lines).saturating_mul(length) < PARALLEL_ABOVE {
        (0..count * groups).for_each(group);
    } else {
        spread_over(count * groups, (PARALLEL_ABOVE / 8 / (together * length).max(1)).max(1), &group);
    }
    true
}

/// Neighbouring lines from which on vectors of them pay.
const FEWEST: usize = 8;

/// The step between neighbours along `dim`; a scalar counts as a line of one.
pub fn step(geometry: &Geometry, dim: usize) -> usize {
    geometry.strides.get(dim).copied().unwrap_or(1)
}
