//! Fourier transforms of lines whose elements are neighbours: a vector of lines is turned on its way in and out, and
//! between that goes through the passes of `fft_columns` (benchmarks/bars.py: fft, rfft).

use super::fft_columns::{Input, Lines, Passes, get, lanes, set, store_pairs, sub, sweep_all, turned};
use super::product::with_scratch;
use super::simd::Simd;
use super::widest::{self, Work};

/// The longest line: a vector of them, twice, stays in the second cache.
const LONGEST: usize = 1 << 11;

/// What lines are made of before and after the transform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Complex,
    /// Real numbers of twice the passes' length to complex ones, half of them or all.
    FromReal,
    /// The first half of mirrored conjugates to real numbers of twice the passes' length.
    ToReal,
}

/// Some lines. Steps and sizes count floats.
#[derive(Clone, Copy)]
pub struct Rows {
    pub from: *const f32,
    pub from_step: usize,
    /// Floats of a line that are there; the others are zero.
    pub given: usize,
    pub shape: Shape,
    pub to: *mut f32,
    pub to_step: usize,
    /// Floats of a line that are written.
    pub wanted: usize,
    /// How many lines, at most `lanes()`.
    pub count: usize,
    pub forward: bool,
    pub scale: f32,
}

/// Whether lines of this length are transformed here.
pub fn fits(passes: &Passes) -> bool {
    passes.length <= LONGEST
}

/// Transforms the lines.
///
/// # Safety
/// The elements lie there, aligned; results overlap nothing that is read, and nobody else uses them. Real numbers are
/// all given. The processor has AVX2 at least.
pub unsafe fn transform(passes: &Passes, rows: &Rows) {
    let stage = rows.wanted.max(2 * passes.length + 2);
    with_scratch(lanes() * (4 * passes.length + stage), |room| widest::run(Run { passes, rows, room }));
}

/// `room` has two buffers of the passes and a stage; who makes it vouches for what `transform` asks.
struct Run<'a> {
    passes: &'a Passes,
    rows: &'a Rows,
    room: *mut f32,
}

impl Work for Run<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { passes, rows, room } = self;
        let buffer = 2 * S::LANES * passes.length;
        let (here, there, stage) = (room, room.wrapping_add(buffer), room.wrapping_add(2 * buffer));
        let length = passes.length;
        // SAFETY: the caller's; the room has these sizes.
        unsafe {
            match rows.shape {
                Shape::ToReal => {
                    turn_in::<S>(rows, stage, 2 * length + 2);
                    unfold::<S>(passes, rows, stage, here);
                }
                _ => turn_in::<S>(rows, here, 2 * length),
            }
            // The transform backwards is the one forwards of the numbers with their parts exchanged.
            let back = rows.shape == Shape::Complex && !rows.forward;
            if back {
                exchange::<S>(here, length, true, 1.0);
            }
            let done = sweep_all::<S>(passes, here, there);
            match rows.shape {
                Shape::FromReal => {
                    let lines = Lines {
                        from: done,
                        from_step: 0,
                        given: length,
                        input: Input::Pairs,
                        to: stage,
                        to_step: 2 * S::LANES,
                        wanted: rows.wanted / 2,
                        apart: true,
                        count: S::LANES,
                        forward: rows.forward,
                        scale: rows.scale,
                    };
                    store_pairs::<S>(passes, &lines, done);
                    turn_out::<S>(rows, stage);
                }
                shape => {
                    let back = back || shape == Shape::ToReal;
                    if back || rows.scale != 1.0 {
                        exchange::<S>(done, length, back, rows.scale);
                    }
                    turn_out::<S>(rows, done);
                }
            }
        }
    }
}

/// Element `p` of all lines, `p` below `floats`, becomes a vector.
///
/// # Safety
/// As `transform`; `to` has room.
#[inline(always)]
unsafe fn turn_in<S: Simd>(rows: &Rows, to: *mut f32, floats: usize) {
    let given = rows.given.min(floats);
    // SAFETY: the caller's.
    unsafe {
        for p in (0..given).step_by(S::LANES) {
            let target = (to.add(p * S::LANES), S::LANES);
            S::transpose((rows.from.add(p), rows.from_step), target, rows.count, S::LANES.min(given - p));
        }
        for p in given..floats {
            S::store(to.add(p * S::LANES), S::splat(0.0));
        }
    }
}

/// The other way.
///
/// # Safety
/// As `transform`; `from` has all that is wanted.
#[inline(always)]
unsafe fn turn_out<S: Simd>(rows: &Rows, from: *const f32) {
    for p in (0..rows.wanted).step_by(S::LANES) {
        // SAFETY: the caller's.
        unsafe {
            let source = (from.add(p * S::LANES), S::LANES);
            S::transpose(source, (rows.to.add(p), rows.to_step), S::LANES.min(rows.wanted - p), rows.count);
        }
    }
}

/// Scales the numbers, with their parts exchanged if asked.
///
/// # Safety
/// As `get`.
#[inline(always)]
unsafe fn exchange<S: Simd>(buffer: *mut f32, length: usize, back: bool, scale: f32) {
    // SAFETY: the caller's.
    unsafe {
        let scale = S::splat(scale);
        for index in 0..length {
            let [re, im] = get::<S>(buffer, index).map(|part| S::mul(part, scale));
            set::<S>(buffer, index, if back { [im, re] } else { [re, im] });
        }
    }
}

/// The transform of pairs, its parts exchanged, from the half of a line that its mirrored conjugate completes, as
/// `fft::load_half`.
///
/// # Safety
/// As `transform`; the half has one number more than the passes.
#[inline(always)]
unsafe fn unfold<S: Simd>(passes: &Passes, rows: &Rows, half: *const f32, to: *mut f32) {
    let middle = passes.length;
    // SAFETY: the caller's.
    unsafe {
        let sign = S::splat(if rows.forward { -1.0 } else { 1.0 });
        let read = |index: usize| {
            let [re, im] = get::<S>(half, index);
            // A real result: the imaginary parts of both ends are not looked at.
            [re, if index == 0 || index == middle { S::splat(0.0) } else { S::mul(im, sign) }]
        };
        for (index, &[cosine, sine]) in passes.turns.iter().enumerate().take(middle) {
            let (one, other) = (read(index), read(middle - index));
            let even = [S::add(one[0], other[0]), sub::<S>(one[1], other[1])];
            let odd = [sub::<S>(one[0], other[0]), S::add(one[1], other[1])];
            let odd = turned::<S>(odd, [cosine, -sine]);
            set::<S>(to, index, [S::add(even[1], odd[0]), sub::<S>(even[0], odd[1])]);
        }
    }
}
