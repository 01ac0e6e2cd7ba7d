//! Visits the lines of tensors along one dimension (benchmarks/cases.py: large_cumsum, large_sort).

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use crate::tensor::geometry::Geometry;

/// Calls `body(starts)` once per line along `dim`, on several threads where it pays; `starts` are the numbers of each
/// view's first element. All views have the same sizes but for `dim`.
pub fn lines<const N: usize>(views: [&Geometry; N], dim: usize, body: impl Fn([usize; N]) + Sync) {
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
    if count.saturating_mul(length) < PARALLEL_ABOVE || count == 1 {
        (0..count).for_each(|index| body(starts(index)));
    } else {
        let least = (PARALLEL_ABOVE / 8 / length.max(1)).max(1);
        spread_over(count, least, &|index| body(starts(index)));
    }
}

/// The step between neighbours along `dim`; a scalar counts as a line of one.
pub fn step(geometry: &Geometry, dim: usize) -> usize {
    geometry.strides.get(dim).copied().unwrap_or(1)
}
