//! Products of a few rows with one weight that is packed once and used at every time (benchmarks/bars.py: recurrent).

#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::simd::{Plain, Simd};
#[cfg(target_arch = "x86_64")]
use super::vector::width;

/// Work that owns its registers, compiled for each vector width; `run` is `#[inline(always)]`.
pub trait Job {
    /// # Safety
    /// The processor has the instructions of `S`.
    unsafe fn run<S: Simd, const FMA: bool>(&self);
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn run_512(job: &impl Job) {
    // SAFETY: the caller's.
    unsafe { job.run::<Avx512, true>() }
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_256(job: &impl Job) {
    // SAFETY: the caller's.
    unsafe { job.run::<Avx2, true>() }
}

/// Runs the job with the widest vectors that the processor has.
pub fn run(job: &impl Job) {
    // SAFETY: a width stands for instructions that the processor has; plain arrays need none.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        match width() {
            512.. => run_512(job),
            256.. => run_256(job),
            _ => job.run::<Plain, false>(),
        }
        #[cfg(not(target_arch = "x86_64"))]
        job.run::<Plain, { cfg!(target_arch = "aarch64") }>();
    }
}

/// The most lanes that a vector has.
pub const WIDEST: usize = 16;
/// The most rows of a tile.
pub const ROWS: usize = 6;

/// Rows of a tile whose sums, of `groups` vectors each, stay in registers.
pub const fn height<S: Simd>(groups: usize) -> usize {
    match groups {
        _ if S::LANES == WIDEST => ROWS,
        0..=2 if S::HEIGHT < ROWS => S::HEIGHT,
        0..=2 => ROWS,
        3 => 3,
        _ => 2,
    }
}

/// Where the columns of a weight lie: `across` from one to the next, `along` from one of its elements to the next, in
/// groups that begin `apart` from each other.
#[derive(Clone, Copy)]
pub struct Columns {
    pub across: usize,
    pub along: usize,
    pub apart: usize,
    /// Columns of a group, and of the last one, which may have fewer.
    pub size: usize,
    pub last: usize,
    pub depth: usize,
}

/// Elements of the packed columns at most, whatever the vectors.
pub fn packed_len<const G: usize>(columns: Columns) -> usize {
    columns.size.next_multiple_of(WIDEST) * G * columns.depth
}

/// Packs groups of columns, a vector of each side by side, zeros beyond their ends.
///
/// # Safety
/// All elements lie there, and `to` has room for `packed_len`.
#[inline(always)]
pub unsafe fn pack<S: Simd, const G: usize>(from: *const f32, columns: Columns, to: *mut f32) {
    let Columns { across, along, apart, size, last, depth } = columns;
    for panel in 0..size.div_ceil(S::LANES) {
        for group in 0..G {
            let count = if group + 1 == G { last } else { size }.saturating_sub(panel * S::LANES);
            for lane in 0..S::LANES {
                for k in 0..depth {
                    // SAFETY: the caller's.
                    unsafe {
                        let column = from.wrapping_add(group * apart + (panel * S::LANES + lane) * across);
                        let value = if lane < count { *column.add(k * along) } else { 0.0 };
                        *to.add(((panel * depth + k) * G + group) * S::LANES + lane) = value;
                    }
                }
            }
        }
    }
}

/// The sums of one tile.
pub type Sums<S, const G: usize> = [[<S as Simd>::V; G]; ROWS];

/// The body for each of `$rows` rows, its number a constant: only so do sums stay in registers.
#[macro_export]
macro_rules! each_row_of {
    ($rows:ident, $I:ident, $body:block) => {
        $crate::each_row_of!($rows, $I, $body, 0 1 2 3 4 5)
    };
    ($rows:ident, $I:ident, $body:block, $($row:literal)*) => {
        $(if $row < $rows {
            const $I: usize = $row;
            $body
        })*
    };
}

/// Runs the body for blocks of rows that are as even as they can be, `R` rows each.
#[macro_export]
macro_rules! in_tiles {
    ($rows:expr, $S:ident, $groups:literal, |$row:ident, $R:ident| $body:expr) => {
        let (first, end) = ($rows.start, $rows.end);
        let blocks = (end - first).div_ceil($crate::kernels::tiles::height::<$S>($groups));
        for block in 0..blocks {
            let (from, to) = (first + block * (end - first) / blocks, first + (block + 1) * (end - first) / blocks);
            let $row = from;
            macro_rules! tall {
                ($count:literal) => {{
                    const $R: usize = $count;
                    $body
                }};
            }
            match to - from {
                1 => tall!(1),
                2 => tall!(2),
                3 => tall!(3),
                4 => tall!(4),
                5 => tall!(5),
                _ => tall!(6),
            }
        }
    };
}

/// Adds the product of `R` rows, `step` apart, with a panel.
///
/// # Safety
/// `depth` elements of each row, and the panel, lie there; the processor has the instructions.
#[inline(always)]
pub unsafe fn multiply<S: Simd, const G: usize, const R: usize>(
    mut sums: Sums<S, G>,
    (rows, step): (*const f32, usize),
    panel: *const f32,
    depth: usize,
) -> Sums<S, G> {
    // SAFETY: the caller's.
    unsafe {
        let mut right = panel;
        let (mut low, mut high) = (rows, rows.wrapping_add(3 * step));
        for _ in 0..depth {
            let mut lanes = [S::splat(0.0); G];
            for group in 0..G {
                lanes[group] = S::load(right.add(group * S::LANES));
            }
            each_row_of!(R, I, {
                let row = if I < 3 { low } else { high };
                let x = S::splat(*row.add(I % 3 * step));
                for group in 0..G {
                    sums[I][group] = S::fma(x, lanes[group], sums[I][group]);
                }
            });
            right = right.wrapping_add(G * S::LANES);
            (low, high) = (low.wrapping_add(1), high.wrapping_add(1));
        }
        sums
    }
}

/// A vector's elements for plain loops.
#[inline(always)]
pub fn lanes<S: Simd>(x: S::V) -> [f32; WIDEST] {
    let mut out = [0.0; WIDEST];
    // SAFETY: the array has room for the widest vector.
    unsafe { S::store(out.as_mut_ptr(), x) };
    out
}

/// The elements of a part, zeros beyond.
///
/// # Safety
/// They lie there.
#[inline(always)]
pub unsafe fn read<S: Simd>(from: *const f32, part: S::Part) -> [f32; WIDEST] {
    // SAFETY: the caller's.
    lanes::<S>(unsafe { S::load_part(from, part) })
}

/// # Safety
/// As `read`, for writing.
#[inline(always)]
pub unsafe fn write<S: Simd>(to: *mut f32, part: S::Part, x: &[f32; WIDEST]) {
    // SAFETY: the array has as many elements as the widest vector.
    unsafe { S::store_part(to, part, S::load(x.as_ptr())) }
}
