//! Fourier transforms of lines that lie side by side, a vector of them at a time (benchmarks/bars.py: fft columns).
//!
//! Each lane of a vector is a line of its own, so nothing is brought together or turned: elements are read where they
//! lie, passes of radix 2 to 5 (Stockham's order, which sorts as it goes) run between two buffers in the cache.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::product::with_scratch;
use super::simd::Simd;
use super::vector::width;
use super::widest::{self, Work};

/// Lines side by side in one call, at most: those of a vector.
pub fn lanes() -> usize {
    if width() >= 512 { 16 } else { 8 }
}

/// Lengths that are kept.
const MOST: usize = 128;
/// The longest line: its buffers stay near the processor.
const LONGEST: usize = 1 << 13;
const SINE_3: f32 = 0.866_025_4;
const COSINE_5: [f32; 2] = [0.309_017, -0.809_017];
const SINE_5: [f32; 2] = [0.951_056_5, 0.587_785_24];

/// One radix: `groups` butterflies for each of `stride` places, and the factors of their results after the first.
struct Pass {
    radix: usize,
    groups: usize,
    stride: usize,
    turns: Vec<[f32; 2]>,
}

/// How lines of one length are transformed.
pub struct Passes {
    pub length: usize,
    list: Vec<Pass>,
    /// Half a circle of twice the length, for pairs.
    pub turns: Vec<[f32; 2]>,
}

/// `exp(-2 pi i number / whole)`, exact where it can be: results of a few points would show the rounding.
fn turn(number: usize, whole: usize) -> [f32; 2] {
    if (4 * number).is_multiple_of(whole) {
        return [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]][4 * number / whole % 4];
    }
    let (sine, cosine) = (-TAU * number as f64 / whole as f64).sin_cos();
    [cosine as f32, sine as f32]
}

impl Passes {
    /// None where the length has other factors than 2, 3 and 5, or is too long.
    fn new(length: usize) -> Option<Self> {
        if !(2..=LONGEST).contains(&length) {
            return None;
        }
        let (mut list, mut rest, mut stride) = (Vec::new(), length, 1);
        for radix in [4, 5, 3, 2] {
            while rest.is_multiple_of(radix) {
                let groups = rest / radix;
                let turns = (0..groups).flat_map(|group| (1..radix).map(move |k| turn(group * k, rest))).collect();
                list.push(Pass { radix, groups, stride, turns });
                stride *= radix;
                rest = groups;
            }
        }
        let turns = (0..=length).map(|number| turn(number, 2 * length)).collect();
        (rest == 1).then_some(Self { length, list, turns })
    }

    /// Those that were made before, or new ones; after many lengths the memory starts anew.
    pub fn of(length: usize) -> Option<Arc<Self>> {
        static KNOWN: LazyLock<Mutex<HashMap<usize, Option<Arc<Passes>>>>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.entry(length).or_insert_with(|| Self::new(length).map(Arc::new)).clone()
    }
}

/// What the lines are made of before the transform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Complex,
    Real,
    /// Real numbers of twice the passes' length: two neighbours are one complex number.
    Pairs,
}

/// Some neighbouring lines. Steps count floats, from one element of a line to the next.
#[derive(Clone, Copy)]
pub struct Lines {
    pub from: *const f32,
    pub from_step: usize,
    /// Elements of a line that are there; the others are zero.
    pub given: usize,
    pub input: Input,
    pub to: *mut f32,
    pub to_step: usize,
    /// Elements of a line that are written.
    pub wanted: usize,
    /// Whether the parts of what is written stand in vectors of their own.
    pub apart: bool,
    /// How many lines, at most `lanes()`.
    pub count: usize,
    pub forward: bool,
    pub scale: f32,
}

/// Transforms the lines.
///
/// # Safety
/// The elements lie there, aligned; results overlap nothing that is read, and nobody else uses them. Pairs are all
/// given. The processor has AVX2 at least.
pub unsafe fn transform(passes: &Passes, lines: &Lines) {
    with_scratch(4 * lanes() * passes.length, |room| widest::run(Run { passes, lines, room }));
}

/// `room` has four vectors for each element of the passes; who makes it vouches for what `transform` asks.
struct Run<'a> {
    passes: &'a Passes,
    lines: &'a Lines,
    room: *mut f32,
}

impl Work for Run<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: the caller's.
        unsafe { run::<S>(self.passes, self.lines, self.room) }
    }
}

/// Complex numbers, one for each line.
pub type Pair<S> = [<S as Simd>::V; 2];

/// # Safety
/// As `transform`; `room` has four vectors for each element of the passes.
#[inline(always)]
unsafe fn run<S: Simd>(passes: &Passes, lines: &Lines, room: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        load::<S>(passes, lines, room);
        let done = sweep_all::<S>(passes, room, room.wrapping_add(2 * S::LANES * passes.length));
        match lines.input {
            Input::Pairs => store_pairs::<S>(passes, lines, done),
            _ => store::<S>(lines, done),
        }
    }
}

/// All passes, from one buffer to the other and back; gives the one that has the result.
///
/// # Safety
/// Both buffers have two vectors for each element of the passes.
#[inline(always)]
pub unsafe fn sweep_all<S: Simd>(passes: &Passes, mut here: *mut f32, mut there: *mut f32) -> *mut f32 {
    for pass in &passes.list {
        // SAFETY: the caller's.
        unsafe {
            match pass.radix {
                2 => sweep::<S, 2>(pass, here, there),
                3 => sweep::<S, 3>(pass, here, there),
                4 => sweep::<S, 4>(pass, here, there),
                _ => sweep::<S, 5>(pass, here, there),
            }
        }
        std::mem::swap(&mut here, &mut there);
    }
    here
}

/// # Safety
/// As `run`: there are so many elements in the buffer.
#[inline(always)]
pub unsafe fn get<S: Simd>(buffer: *const f32, index: usize) -> Pair<S> {
    // SAFETY: the caller's.
    unsafe {
        let at = buffer.add(2 * S::LANES * index);
        [S::load(at), S::load(at.add(S::LANES))]
    }
}

/// # Safety
/// As `get`.
#[inline(always)]
pub unsafe fn set<S: Simd>(buffer: *mut f32, index: usize, [re, im]: Pair<S>) {
    // SAFETY: the caller's.
    unsafe {
        let at = buffer.add(2 * S::LANES * index);
        S::store(at, re);
        S::store(at.add(S::LANES), im);
    }
}

/// `a - b`, of which compilers make one subtraction.
#[inline(always)]
pub unsafe fn sub<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: the caller's.
    unsafe { S::fma(b, S::splat(-1.0), a) }
}

#[inline(always)]
unsafe fn plus<S: Simd>(a: Pair<S>, b: Pair<S>) -> Pair<S> {
    // SAFETY: the caller's.
    unsafe { [S::add(a[0], b[0]), S::add(a[1], b[1])] }
}

#[inline(always)]
unsafe fn minus<S: Simd>(a: Pair<S>, b: Pair<S>) -> Pair<S> {
    // SAFETY: the caller's.
    unsafe { [sub::<S>(a[0], b[0]), sub::<S>(a[1], b[1])] }
}

/// `a + b * factor`.
#[inline(always)]
unsafe fn along<S: Simd>(a: Pair<S>, b: Pair<S>, factor: f32) -> Pair<S> {
    // SAFETY: the caller's.
    unsafe {
        let factor = S::splat(factor);
        [S::fma(b[0], factor, a[0]), S::fma(b[1], factor, a[1])]
    }
}

/// `a - i b` and `a + i b`.
#[inline(always)]
unsafe fn aside<S: Simd>(a: Pair<S>, b: Pair<S>) -> [Pair<S>; 2] {
    // SAFETY: the caller's.
    unsafe { [[S::add(a[0], b[1]), sub::<S>(a[1], b[0])], [sub::<S>(a[0], b[1]), S::add(a[1], b[0])]] }
}

#[inline(always)]
pub unsafe fn turned<S: Simd>([re, im]: Pair<S>, [cosine, sine]: [f32; 2]) -> Pair<S> {
    // SAFETY: the caller's.
    unsafe {
        let (cosine, sine, back) = (S::splat(cosine), S::splat(sine), S::splat(-sine));
        [S::fma(im, back, S::mul(re, cosine)), S::fma(im, cosine, S::mul(re, sine))]
    }
}

/// The transform of the first `R` of five numbers.
#[inline(always)]
unsafe fn butterfly<S: Simd, const R: usize>(x: [Pair<S>; 5]) -> [Pair<S>; 5] {
    // SAFETY: the caller's.
    unsafe {
        let mut y = x;
        match R {
            2 => {
                y[0] = plus::<S>(x[0], x[1]);
                y[1] = minus::<S>(x[0], x[1]);
            }
            3 => {
                let (sum, apart) = (plus::<S>(x[1], x[2]), minus::<S>(x[1], x[2]));
                let zero = [S::splat(0.0); 2];
                y[0] = plus::<S>(x[0], sum);
                [y[1], y[2]] = aside::<S>(along::<S>(x[0], sum, -0.5), along::<S>(zero, apart, SINE_3));
            }
            4 => {
                let (even, odd) = (plus::<S>(x[0], x[2]), plus::<S>(x[1], x[3]));
                y[0] = plus::<S>(even, odd);
                y[2] = minus::<S>(even, odd);
                [y[1], y[3]] = aside::<S>(minus::<S>(x[0], x[2]), minus::<S>(x[1], x[3]));
            }
            _ => {
                let (one, two) = (plus::<S>(x[1], x[4]), plus::<S>(x[2], x[3]));
                let (apart, wide) = (minus::<S>(x[1], x[4]), minus::<S>(x[2], x[3]));
                let ([near, far], [high, low], zero) = (COSINE_5, SINE_5, [S::splat(0.0); 2]);
                let first = along::<S>(along::<S>(x[0], one, near), two, far);
                let second = along::<S>(along::<S>(x[0], one, far), two, near);
                y[0] = plus::<S>(x[0], plus::<S>(one, two));
                [y[1], y[4]] = aside::<S>(first, along::<S>(along::<S>(zero, apart, high), wide, low));
                [y[2], y[3]] = aside::<S>(second, along::<S>(along::<S>(zero, apart, low), wide, -high));
            }
        }
        y
    }
}

/// # Safety
/// As `run`: both buffers have all elements of the pass.
#[inline(always)]
unsafe fn sweep<S: Simd, const R: usize>(pass: &Pass, here: *const f32, there: *mut f32) {
    let (groups, stride) = (pass.groups, pass.stride);
    for group in 0..groups {
        let mut turns = [[1.0, 0.0]; 5];
        for (k, turn) in pass.turns.iter().skip(group * (R - 1)).take(R - 1).enumerate() {
            turns[k + 1] = *turn;
        }
        for place in 0..stride {
            // SAFETY: the caller's.
            unsafe {
                let mut x = [[S::splat(0.0); 2]; 5];
                for (j, slot) in x.iter_mut().enumerate().take(R) {
                    *slot = get::<S>(here, place + stride * (group + groups * j));
                }
                let y = butterfly::<S, R>(x);
                set::<S>(there, place + stride * R * group, y[0]);
                for k in 1..R {
                    let value = if group == 0 { y[k] } else { turned::<S>(y[k], turns[k]) };
                    set::<S>(there, place + stride * (R * group + k), value);
                }
            }
        }
    }
}

/// One vector of neighbours, or what there is of it.
#[inline(always)]
unsafe fn row<S: Simd>(lines: &Lines, index: usize) -> S::V {
    // SAFETY: the caller's: the element lies there.
    unsafe {
        let at = lines.from.add(index * lines.from_step);
        if lines.count == S::LANES { S::load(at) } else { S::load_part(at, S::part(lines.count)) }
    }
}

/// # Safety
/// As `run`.
#[inline(always)]
unsafe fn load<S: Simd>(passes: &Passes, lines: &Lines, buffer: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        let zero = S::splat(0.0);
        for index in 0..passes.length {
            let [re, im] = match lines.input {
                Input::Pairs => [row::<S>(lines, 2 * index), row::<S>(lines, 2 * index + 1)],
                _ if index >= lines.given => [zero; 2],
                Input::Real => [row::<S>(lines, index), zero],
                Input::Complex => {
                    let at = lines.from.add(index * lines.from_step);
                    if lines.count == S::LANES {
                        S::dealt(S::load(at), S::load(at.add(S::LANES)))
                    } else {
                        let [low, high] = halves::<S>(lines.count);
                        S::dealt(S::load_part(at, low), S::load_part(at.wrapping_add(S::LANES), high))
                    }
                }
            };
            // The transform backwards is the one forwards of the numbers with their parts exchanged.
            let back = !lines.forward && lines.input != Input::Pairs;
            set::<S>(buffer, index, if back { [im, re] } else { [re, im] });
        }
    }
}

/// Which floats of the two vectors of so many complex numbers are there.
#[inline(always)]
unsafe fn halves<S: Simd>(count: usize) -> [S::Part; 2] {
    // SAFETY: the caller's; both are at most as long as a vector.
    unsafe { [S::part((2 * count).min(S::LANES)), S::part((2 * count).saturating_sub(S::LANES))] }
}

/// Writes one element of all lines.
#[inline(always)]
unsafe fn put<S: Simd>(lines: &Lines, index: usize, [re, im]: Pair<S>) {
    // SAFETY: the caller's; parts keep the last lines inside.
    unsafe {
        let [low, high] = if lines.apart { [re, im] } else { S::mixed(re, im) };
        let to = lines.to.add(index * lines.to_step);
        if lines.count < S::LANES {
            let [first, second] = halves::<S>(lines.count);
            S::store_part(to, first, low);
            S::store_part(to.wrapping_add(S::LANES), second, high);
        } else {
            S::store(to, low);
            S::store(to.add(S::LANES), high);
        }
    }
}

/// # Safety
/// As `run`.
#[inline(always)]
unsafe fn store<S: Simd>(lines: &Lines, buffer: *const f32) {
    // SAFETY: the caller's.
    unsafe {
        let scale = S::splat(lines.scale);
        for index in 0..lines.wanted {
            let [re, im] = get::<S>(buffer, index);
            let (re, im) = (S::mul(re, scale), S::mul(im, scale));
            put::<S>(lines, index, if lines.forward { [re, im] } else { [im, re] });
        }
    }
}

/// The transform of real numbers from that of their pairs, as `fft::store_half`.
///
/// # Safety
/// As `run`.
#[inline(always)]
pub unsafe fn store_pairs<S: Simd>(passes: &Passes, lines: &Lines, buffer: *const f32) {
    let (count, length) = (passes.length, 2 * passes.length);
    let whole = lines.wanted == length;
    // SAFETY: the caller's.
    unsafe {
        let (half, twice) = (S::splat(0.5 * lines.scale), S::splat(lines.scale));
        let (up, down) =
            if lines.forward { (half, S::mul(half, S::splat(-1.0))) } else { (S::mul(half, S::splat(-1.0)), half) };
        let [re, im] = get::<S>(buffer, 0);
        let zero = S::mul(S::splat(0.0), up);
        put::<S>(lines, 0, [S::mul(S::add(re, im), twice), zero]);
        put::<S>(lines, count, [S::mul(sub::<S>(re, im), twice), zero]);
        for (index, &turn) in passes.turns.iter().enumerate().take(count / 2 + 1).skip(1) {
            let (one, other) = (get::<S>(buffer, index), get::<S>(buffer, count - index));
            let even = [S::add(one[0], other[0]), sub::<S>(one[1], other[1])];
            let odd = turned::<S>([S::add(one[1], other[1]), sub::<S>(other[0], one[0])], turn);
            let (sum, apart) = (plus::<S>(even, odd), minus::<S>(even, odd));
            let (near, far) = (S::mul(sum[0], half), S::mul(apart[0], half));
            put::<S>(lines, index, [near, S::mul(sum[1], up)]);
            put::<S>(lines, count - index, [far, S::mul(apart[1], down)]);
            if whole {
                put::<S>(lines, length - index, [near, S::mul(sum[1], down)]);
                put::<S>(lines, count + index, [far, S::mul(apart[1], up)]);
            }
        }
    }
}
