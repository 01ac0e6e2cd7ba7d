//! Fourier transforms of lines that lie side by side, a vector of them at a time (benchmarks/bars.py: fft columns).
//!
//! Each lane of a vector is a line of its own, so nothing is brought together or turned: elements are read where they
//! lie, passes of radix 2 to 5 (Stockham's order, which sorts as it goes) run between two buffers in the cache.

use std::arch::x86_64::*;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::product::with_scratch;

/// Lines side by side in one call, at most.
pub const LANES: usize = 16;
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
    length: usize,
    list: Vec<Pass>,
    /// Half a circle of twice the length, for pairs.
    turns: Vec<[f32; 2]>,
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
    /// How many lines, at most `LANES`.
    pub count: usize,
    pub forward: bool,
    pub scale: f32,
}

/// Transforms the lines.
///
/// # Safety
/// The elements lie there, aligned; results overlap nothing that is read, and nobody else uses them. Pairs are all
/// given. The processor has AVX-512.
pub unsafe fn transform(passes: &Passes, lines: &Lines) {
    // SAFETY: the caller's, and the room is enough.
    with_scratch(4 * LANES * passes.length, |room| unsafe { run(passes, lines, room) });
}

/// Complex numbers, one for each line.
type Pair = [__m512; 2];

/// # Safety
/// As `transform`; `room` has four vectors for each element of the passes.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn run(passes: &Passes, lines: &Lines, room: *mut f32) {
    let (mut here, mut there) = (room, room.wrapping_add(2 * LANES * passes.length));
    // SAFETY: the caller's.
    unsafe {
        load(passes, lines, here);
        for pass in &passes.list {
            match pass.radix {
                2 => sweep::<2>(pass, here, there),
                3 => sweep::<3>(pass, here, there),
                4 => sweep::<4>(pass, here, there),
                _ => sweep::<5>(pass, here, there),
            }
            std::mem::swap(&mut here, &mut there);
        }
        match lines.input {
            Input::Pairs => store_pairs(passes, lines, here),
            _ => store(lines, here),
        }
    }
}

/// # Safety
/// As `run`: there are so many elements in the buffer.
#[inline(always)]
unsafe fn get(buffer: *const f32, index: usize) -> Pair {
    // SAFETY: the caller's.
    unsafe {
        let at = buffer.add(2 * LANES * index);
        [_mm512_loadu_ps(at), _mm512_loadu_ps(at.add(LANES))]
    }
}

/// # Safety
/// As `get`.
#[inline(always)]
unsafe fn set(buffer: *mut f32, index: usize, [re, im]: Pair) {
    // SAFETY: the caller's.
    unsafe {
        let at = buffer.add(2 * LANES * index);
        _mm512_storeu_ps(at, re);
        _mm512_storeu_ps(at.add(LANES), im);
    }
}

#[inline(always)]
unsafe fn sub(a: __m512, b: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe { _mm512_sub_ps(a, b) }
}

#[inline(always)]
unsafe fn plus(a: Pair, b: Pair) -> Pair {
    // SAFETY: the caller's.
    unsafe { [_mm512_add_ps(a[0], b[0]), _mm512_add_ps(a[1], b[1])] }
}

#[inline(always)]
unsafe fn minus(a: Pair, b: Pair) -> Pair {
    // SAFETY: the caller's.
    unsafe { [sub(a[0], b[0]), sub(a[1], b[1])] }
}

/// `a + b * factor`.
#[inline(always)]
unsafe fn along(a: Pair, b: Pair, factor: f32) -> Pair {
    // SAFETY: the caller's.
    unsafe {
        let factor = _mm512_set1_ps(factor);
        [_mm512_fmadd_ps(b[0], factor, a[0]), _mm512_fmadd_ps(b[1], factor, a[1])]
    }
}

/// `a - i b` and `a + i b`.
#[inline(always)]
unsafe fn aside(a: Pair, b: Pair) -> [Pair; 2] {
    // SAFETY: the caller's.
    unsafe { [[_mm512_add_ps(a[0], b[1]), sub(a[1], b[0])], [sub(a[0], b[1]), _mm512_add_ps(a[1], b[0])]] }
}

#[inline(always)]
unsafe fn turned([re, im]: Pair, [cosine, sine]: [f32; 2]) -> Pair {
    // SAFETY: the caller's.
    unsafe {
        let (cosine, sine, back) = (_mm512_set1_ps(cosine), _mm512_set1_ps(sine), _mm512_set1_ps(-sine));
        [_mm512_fmadd_ps(im, back, _mm512_mul_ps(re, cosine)), _mm512_fmadd_ps(im, cosine, _mm512_mul_ps(re, sine))]
    }
}

/// The transform of the first `R` of five numbers.
#[inline(always)]
unsafe fn butterfly<const R: usize>(x: [Pair; 5]) -> [Pair; 5] {
    // SAFETY: the caller's.
    unsafe {
        let mut y = x;
        match R {
            2 => {
                y[0] = plus(x[0], x[1]);
                y[1] = minus(x[0], x[1]);
            }
            3 => {
                let (sum, apart) = (plus(x[1], x[2]), minus(x[1], x[2]));
                let zero = [_mm512_set1_ps(0.0); 2];
                y[0] = plus(x[0], sum);
                [y[1], y[2]] = aside(along(x[0], sum, -0.5), along(zero, apart, SINE_3));
            }
            4 => {
                let (even, odd) = (plus(x[0], x[2]), plus(x[1], x[3]));
                y[0] = plus(even, odd);
                y[2] = minus(even, odd);
                [y[1], y[3]] = aside(minus(x[0], x[2]), minus(x[1], x[3]));
            }
            _ => {
                let (one, two) = (plus(x[1], x[4]), plus(x[2], x[3]));
                let (apart, wide) = (minus(x[1], x[4]), minus(x[2], x[3]));
                let ([near, far], [high, low], zero) = (COSINE_5, SINE_5, [_mm512_set1_ps(0.0); 2]);
                let first = along(along(x[0], one, near), two, far);
                let second = along(along(x[0], one, far), two, near);
                y[0] = plus(x[0], plus(one, two));
                [y[1], y[4]] = aside(first, along(along(zero, apart, high), wide, low));
                [y[2], y[3]] = aside(second, along(along(zero, apart, low), wide, -high));
            }
        }
        y
    }
}

/// # Safety
/// As `run`: both buffers have all elements of the pass.
#[inline(always)]
unsafe fn sweep<const R: usize>(pass: &Pass, here: *const f32, there: *mut f32) {
    let (groups, stride) = (pass.groups, pass.stride);
    for group in 0..groups {
        let mut turns = [[1.0, 0.0]; 5];
        for (k, turn) in pass.turns.iter().skip(group * (R - 1)).take(R - 1).enumerate() {
            turns[k + 1] = *turn;
        }
        for place in 0..stride {
            // SAFETY: the caller's.
            unsafe {
                let mut x = [[_mm512_set1_ps(0.0); 2]; 5];
                for (j, slot) in x.iter_mut().enumerate().take(R) {
                    *slot = get(here, place + stride * (group + groups * j));
                }
                let y = butterfly::<R>(x);
                set(there, place + stride * R * group, y[0]);
                for k in 1..R {
                    let value = if group == 0 { y[k] } else { turned(y[k], turns[k]) };
                    set(there, place + stride * (R * group + k), value);
                }
            }
        }
    }
}

/// One vector of neighbours, or what there is of it.
#[inline(always)]
unsafe fn row(lines: &Lines, index: usize) -> __m512 {
    // SAFETY: the caller's: the element lies there.
    unsafe {
        let at = lines.from.add(index * lines.from_step);
        if lines.count == LANES { _mm512_loadu_ps(at) } else { _mm512_maskz_loadu_ps((1 << lines.count) - 1, at) }
    }
}

/// # Safety
/// As `run`.
#[inline(always)]
unsafe fn load(passes: &Passes, lines: &Lines, buffer: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        let zero = _mm512_set1_ps(0.0);
        for index in 0..passes.length {
            let [re, im] = match lines.input {
                Input::Pairs => [row(lines, 2 * index), row(lines, 2 * index + 1)],
                _ if index >= lines.given => [zero; 2],
                Input::Real => [row(lines, index), zero],
                Input::Complex => {
                    let at = lines.from.add(index * lines.from_step);
                    let [low, high] = halves(lines.count);
                    let (low, high) =
                        (_mm512_maskz_loadu_ps(low, at), _mm512_maskz_loadu_ps(high, at.wrapping_add(LANES)));
                    [chosen(low, &EVEN, high), chosen(low, &ODD, high)]
                }
            };
            // The transform backwards is the one forwards of the numbers with their parts exchanged.
            let back = !lines.forward && lines.input != Input::Pairs;
            set(buffer, index, if back { [im, re] } else { [re, im] });
        }
    }
}

/// Which floats of two vectors, counted through, a vector is made of.
type Choice = [i32; LANES];
const EVEN: Choice = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD: Choice = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
const LOW: Choice = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const HIGH: Choice = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];

#[inline(always)]
unsafe fn chosen(a: __m512, choice: &Choice, b: __m512) -> __m512 {
    // SAFETY: the caller's: the processor has AVX-512.
    unsafe { _mm512_permutex2var_ps(a, _mm512_loadu_epi32(choice.as_ptr()), b) }
}

/// Which floats of the two vectors of so many complex numbers are there.
fn halves(count: usize) -> [__mmask16; 2] {
    let all = ((1u64 << (2 * count)) - 1) as u32;
    [all as u16, (all >> 16) as u16]
}

/// Writes one element of all lines.
#[inline(always)]
unsafe fn put(lines: &Lines, index: usize, [re, im]: Pair) {
    // SAFETY: the caller's; masks keep the last lines inside.
    unsafe {
        let (low, high) = (chosen(re, &LOW, im), chosen(re, &HIGH, im));
        let to = lines.to.add(index * lines.to_step);
        if lines.count < LANES {
            let [first, second] = halves(lines.count);
            _mm512_mask_storeu_ps(to, first, low);
            _mm512_mask_storeu_ps(to.wrapping_add(LANES), second, high);
        } else {
            _mm512_storeu_ps(to, low);
            _mm512_storeu_ps(to.add(LANES), high);
        }
    }
}

/// # Safety
/// As `run`.
#[inline(always)]
unsafe fn store(lines: &Lines, buffer: *const f32) {
    // SAFETY: the caller's.
    unsafe {
        let scale = _mm512_set1_ps(lines.scale);
        for index in 0..lines.wanted {
            let [re, im] = get(buffer, index);
            let (re, im) = (_mm512_mul_ps(re, scale), _mm512_mul_ps(im, scale));
            put(lines, index, if lines.forward { [re, im] } else { [im, re] });
        }
    }
}

/// The transform of real numbers from that of their pairs, as `fft::store_half`.
///
/// # Safety
/// As `run`.
#[inline(always)]
unsafe fn store_pairs(passes: &Passes, lines: &Lines, buffer: *const f32) {
    let (count, length) = (passes.length, 2 * passes.length);
    let whole = lines.wanted == length;
    // SAFETY: the caller's.
    unsafe {
        let (half, twice) = (_mm512_set1_ps(0.5 * lines.scale), _mm512_set1_ps(lines.scale));
        let (up, down) = if lines.forward {
            (half, _mm512_mul_ps(half, _mm512_set1_ps(-1.0)))
        } else {
            (_mm512_mul_ps(half, _mm512_set1_ps(-1.0)), half)
        };
        let [re, im] = get(buffer, 0);
        let zero = _mm512_mul_ps(_mm512_set1_ps(0.0), up);
        put(lines, 0, [_mm512_mul_ps(_mm512_add_ps(re, im), twice), zero]);
        put(lines, count, [_mm512_mul_ps(sub(re, im), twice), zero]);
        for (index, &turn) in passes.turns.iter().enumerate().take(count / 2 + 1).skip(1) {
            let (one, other) = (get(buffer, index), get(buffer, count - index));
            let even = [_mm512_add_ps(one[0], other[0]), sub(one[1], other[1])];
            let odd = turned([_mm512_add_ps(one[1], other[1]), sub(other[0], one[0])], turn);
            let (sum, apart) = (plus(even, odd), minus(even, odd));
            let (near, far) = (_mm512_mul_ps(sum[0], half), _mm512_mul_ps(apart[0], half));
            put(lines, index, [near, _mm512_mul_ps(sum[1], up)]);
            put(lines, count - index, [far, _mm512_mul_ps(apart[1], down)]);
            if whole {
                put(lines, length - index, [near, _mm512_mul_ps(sum[1], down)]);
                put(lines, count + index, [far, _mm512_mul_ps(apart[1], up)]);
            }
        }
    }
}
