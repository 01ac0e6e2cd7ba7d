//! The inner loop of convolutions: a tile of sums that stays in registers, of factors read where they lie
//! (benchmarks/bars.py: convolutions).

use super::simd::Simd;

/// Columns of the widest tile.
pub const WIDEST: usize = 128;

/// Where the factors of one sum stand: `segments` times the pairs of offsets, each time the steps further.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    pub segments: usize,
    pub a_step: usize,
    pub b_step: usize,
    pub pairs: &'a [[u32; 2]],
}

/// What a sum begins with.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    Zero,
    /// A number for each row.
    Each(&'a [f32]),
    /// What stands in its place.
    There,
}

/// Rows of the tallest tile of three vectors.
pub fn tallest<S: Simd>() -> usize {
    if S::HEIGHT >= 8 { 8 } else { 4 }
}

/// The rows of the next tile where `rows` are left.
pub fn height<S: Simd>(rows: usize) -> usize {
    match rows {
        8.. => tallest::<S>(),
        4.. => 4,
        2.. => 2,
        _ => 1,
    }
}

/// Of `columns` that are left: the vectors of the next tile. One row alone is given many, so that its sums do not wait
/// for each other.
pub fn breadth<S: Simd>(rows: usize, columns: usize) -> usize {
    let vectors = columns.div_ceil(S::LANES);
    match (rows, vectors) {
        (1, 8..) => 8,
        (1, 4..) => 4,
        _ => vectors.min(3),
    }
}

/// `to[r][j]` (rows `step` apart) is its start plus the sum of `a[r] * b[j]` over the walk, for `N` vectors of columns; of
/// the last vector only `part` is read where there is one.
///
/// # Safety
/// All that the walk reads from each `a` and, `N` vectors wide, from `b` lies there, and so does the tile.
#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const N: usize>(
    walk: Walk<'_>,
    a: &[*const f32],
    b: *const f32,
    part: Option<S::Part>,
    start: Start<'_>,
    (to, step): (*mut f32, usize),
) {
    // SAFETY: the caller's; `a` has at least as many pointers as there are rows.
    unsafe {
        let a: [*const f32; R] = std::array::from_fn(|r| *a.get_unchecked(r));
        let mut sums = [[S::splat(0.0); N]; R];
        match start {
            Start::Zero => {}
            Start::Each(values) => {
                for r in 0..R {
                    sums[r] = [S::splat(*values.get_unchecked(r)); N];
                }
            }
            Start::There => {
                for r in 0..R {
                    for n in 0..N {
                        sums[r][n] = S::load(to.add(r * step + n * S::LANES));
                    }
                }
            }
        }
        for segment in 0..walk.segments {
            let a_base = segment * walk.a_step;
            if walk.segments > 1 {
                for r in 0..R {
                    prefetch(a[r].wrapping_add(a_base + 2 * walk.a_step));
                }
            }
            let b_base = b.add(segment * walk.b_step);
            for &[at, from] in walk.pairs {
                let (at, from) = (a_base + at as usize, b_base.add(from as usize));
                let mut columns = [S::splat(0.0); N];
                for n in 0..N {
                    columns[n] = match part {
                        Some(part) => S::load_part(from, part),
                        None => S::load(from.add(n * S::LANES)),
                    };
                }
                for r in 0..R {
                    let factor = S::splat(*a[r].add(at));
                    for n in 0..N {
                        sums[r][n] = S::fma(factor, columns[n], sums[r][n]);
                        if R * N >= 12 {
                            sums[r][n] = S::settled(sums[r][n]);
                        }
                    }
                }
            }
        }
        for r in 0..R {
            for n in 0..N {
                S::store(to.add(r * step + n * S::LANES), sums[r][n]);
            }
        }
    }
}

/// A tile of `R` rows by `breadth` vectors.
///
/// # Safety
/// As `tile`.
#[inline(always)]
unsafe fn of_rows<S: Simd, const R: usize>(
    breadth: usize,
    walk: Walk<'_>,
    a: &[*const f32],
    b: *const f32,
    part: Option<S::Part>,
    start: Start<'_>,
    to: (*mut f32, usize),
) {
    // SAFETY: the caller's.
    unsafe {
        match (breadth, part) {
            (1, Some(part)) => tile::<S, R, 1>(walk, a, b, Some(part), start, to),
            (1, None) => tile::<S, R, 1>(walk, a, b, None, start, to),
            (2, _) => tile::<S, R, 2>(walk, a, b, None, start, to),
            _ => tile::<S, R, 3>(walk, a, b, None, start, to),
        }
    }
}

/// One tile, of sizes that `height` and `breadth` have given; with a `part`, of one vector that is not read whole.
///
/// # Safety
/// As `tile`; the processor has the instructions of `S`.
#[inline(always)]
pub unsafe fn compute<S: Simd>(
    (height, breadth): (usize, usize),
    walk: Walk<'_>,
    a: &[*const f32],
    b: *const f32,
    part: Option<S::Part>,
    start: Start<'_>,
    to: (*mut f32, usize),
) {
    // SAFETY: the caller's.
    unsafe {
        match (height, breadth) {
            (8, _) if S::HEIGHT >= 8 => of_rows::<S, 8>(breadth, walk, a, b, part, start, to),
            (4, _) => of_rows::<S, 4>(breadth, walk, a, b, part, start, to),
            (2, _) => of_rows::<S, 2>(breadth, walk, a, b, part, start, to),
            (_, 8) => tile::<S, 1, 8>(walk, a, b, None, start, to),
            (_, 4) => tile::<S, 1, 4>(walk, a, b, None, start, to),
            _ => of_rows::<S, 1>(breadth, walk, a, b, part, start, to),
        }
    }
}

/// Asks for what will be read soon, which a processor does not foresee where it lies on another page.
#[inline(always)]
fn prefetch(at: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
