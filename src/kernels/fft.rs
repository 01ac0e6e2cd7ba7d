//! Fourier transforms of any length along one dimension, by rustfft (benchmarks/cases.py: large_rfft, large_fft_columns).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use rustfft::num_complex::Complex;
use rustfft::num_traits::Zero;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::lines::step;
use super::memory::Memory;
use crate::tensor::geometry::Geometry;

/// One tensor that a transform reads or writes.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub memory: Memory,
    pub geometry: &'a Geometry,
}

/// What lies in a line before or after the transform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Complex,
    /// Real numbers: the imaginary parts are zero before, and dropped after.
    Real,
    /// The first half of a line whose other half is its mirrored conjugate.
    Half,
}

/// A transform of lines of `length`, scaled.
#[derive(Clone, Copy)]
pub struct Transform {
    pub dim: usize,
    pub length: usize,
    pub forward: bool,
    pub scale: f64,
    pub from: Line,
    pub to: Line,
}

/// An element of a transform.
pub trait Part: FftNum {
    fn planner() -> &'static Mutex<Plans<Self>>;
    fn of(value: f64) -> Self;
}

/// Plans by length and direction. Programs use few lengths; after many the cache starts anew.
pub struct Plans<T: FftNum> {
    planner: FftPlanner<T>,
    known: HashMap<(usize, bool), Arc<dyn Fft<T>>>,
    turns: HashMap<usize, Arc<[Complex<T>]>>,
}

const MOST_PLANS: usize = 128;

impl<T: Part> Plans<T> {
    fn new() -> Self {
        Self { planner: FftPlanner::new(), known: HashMap::new(), turns: HashMap::new() }
    }

    fn get(&mut self, length: usize, forward: bool) -> Arc<dyn Fft<T>> {
        if let Some(plan) = self.known.get(&(length, forward)) {
            return plan.clone();
        }
        if self.known.len() >= MOST_PLANS {
            *self = Self::new();
        }
        let direction = if forward { FftDirection::Forward } else { FftDirection::Inverse };
        let plan = self.planner.plan_fft(length, direction);
        self.known.insert((length, forward), plan.clone());
        plan
    }

    /// `exp(-2 pi i k / length)` for the first half of the circle.
    fn turns(&mut self, length: usize) -> Arc<[Complex<T>]> {
        let turn = |index: usize| {
            // Exact where they can be: results of a few points would show the rounding.
            if 4 * index == length {
                return Complex::new(T::zero(), -T::one());
            }
            if 2 * index == length {
                return Complex::new(-T::one(), T::zero());
            }
            let (sine, cosine) = (-std::f64::consts::TAU * index as f64 / length as f64).sin_cos();
            Complex::new(T::of(cosine), T::of(sine))
        };
        self.turns.entry(length).or_insert_with(|| (0..=length / 2).map(turn).collect()).clone()
    }
}

macro_rules! parts {
    ($($type:ty),+) => { $(
        impl Part for $type {
            fn planner() -> &'static Mutex<Plans<Self>> {
                static PLANS: LazyLock<Mutex<Plans<$type>>> = LazyLock::new(|| Mutex::new(Plans::new()));
                &PLANS
            }
            fn of(value: f64) -> Self {
                value as Self
            }
        }
    )+ };
}

parts!(f32, f64);

/// Elements that one task transforms at least.
const TASK: usize = PARALLEL_ABOVE / 8;

/// Lines that are brought together where they do not lie in memory as slices would: a cache line of their neighbours.
const TOGETHER: usize = 16;

/// How lines are transformed: whole, or (real numbers, even length) as half as many complex ones.
struct Method<T: FftNum> {
    plan: Arc<dyn Fft<T>>,
    turns: Option<Arc<[Complex<T>]>>,
}

impl<T: Part> Method<T> {
    fn of(what: Transform) -> Self {
        let mut plans = T::planner().lock();
        let pairs = what.length.is_multiple_of(2);
        match (what.from, what.to) {
            (Line::Real, _) if pairs => {
                Self { plan: plans.get(what.length / 2, true), turns: Some(plans.turns(what.length)) }
            }
            (Line::Half, Line::Real) if pairs => {
                Self { plan: plans.get(what.length / 2, false), turns: Some(plans.turns(what.length)) }
            }
            _ => Self { plan: plans.get(what.length, what.forward), turns: None },
        }
    }

    /// Transforms one line whose `given` elements lie side by side, as those of the result do.
    ///
    /// # Safety
    /// Both lines lie there; the result has the elements that its kind of line has.
    unsafe fn run(
        &self,
        what: Transform,
        (from, given): (*const u8, usize),
        to: *mut u8,
        [line, scratch]: [&mut [Complex<T>]; 2],
    ) {
        // SAFETY: the caller's.
        unsafe {
            match &self.turns {
                Some(turns) if what.from == Line::Real => {
                    // Two neighbours are one complex number's bytes: the even ones as real, the odd ones as imaginary parts.
                    std::ptr::copy_nonoverlapping(from, line.as_mut_ptr().cast(), size_of_val(line));
                    self.plan.process_with_scratch(line, scratch);
                    if what.to == Line::Complex {
                        store_half::<T, true>(what, to.cast(), line, turns);
                    } else {
                        store_half::<T, false>(what, to.cast(), line, turns);
                    }
                }
                Some(turns) => {
                    load_half(what, from.cast(), given, line, turns);
                    self.plan.process_with_scratch(line, scratch);
                    let scale = T::of(what.scale);
                    for (index, value) in line.iter().enumerate() {
                        to.cast::<Complex<T>>().add(index).write_unaligned(*value * scale);
                    }
                }
                None if what.from == Line::Complex
                    && what.to == Line::Complex
                    && to.cast::<Complex<T>>().is_aligned() =>
                {
                    // In the result's own memory: nobody else has it yet.
                    let line = std::slice::from_raw_parts_mut(to.cast::<Complex<T>>(), what.length);
                    load(what, from, given, line);
                    self.plan.process_with_scratch(line, scratch);
                    if what.scale != 1.0 {
                        let scale = T::of(what.scale);
                        line.iter_mut().for_each(|value| *value = *value * scale);
                    }
                }
                None => {
                    load(what, from, given, line);
                    self.plan.process_with_scratch(line, scratch);
                    store(what, to, line);
                }
            }
        }
    }
}

/// The size of an element of a line.
fn size_of_element<T>(line: Line) -> usize {
    if line == Line::Real { size_of::<T>() } else { size_of::<Complex<T>>() }
}

/// One side of a transform: where its lines lie, and a place to bring them together where that is apart.
struct Side<'a> {
    place: Place<'a>,
    step: usize,
    /// Elements of a line, and the bytes of one.
    count: usize,
    size: usize,
    stage: Vec<u8>,
}

impl<'a> Side<'a> {
    fn new<T>(place: Place<'a>, dim: usize, line: Line) -> Self {
        let (step, count) = (step(place.geometry, dim), place.geometry.shape.get(dim).copied().unwrap_or(1));
        let mut side = Self { place, step, count, size: size_of_element::<T>(line), stage: Vec::new() };
        if step != 1 {
            side.stage = vec![0; TOGETHER * side.apart()];
        }
        side
    }

    /// Bytes between lines on the stage: odd in cache lines, so that elements of one number do not meet in one set.
    fn apart(&self) -> usize {
        (self.count * self.size).next_multiple_of(128) + 64
    }

    /// The address of the `number`-th of the lines that were brought together, which begins at `start`.
    fn line(&mut self, number: usize, start: usize) -> *mut u8 {
        if self.step == 1 {
            return self.place.memory.at::<u8>(start * self.size);
        }
        let apart = self.apart();
        self.stage.as_mut_ptr().wrapping_add(number * apart)
    }

    /// Copies the lines that begin at `starts` to the stage, or from it.
    ///
    /// # Safety
    /// They lie inside the memory; there are at most `TOGETHER`.
    unsafe fn bring<E: Copy>(&mut self, starts: &[usize], back: bool) {
        if self.step == 1 {
            return;
        }
        let apart = self.apart();
        let (memory, stage) = (self.place.memory, self.stage.as_mut_ptr());
        let neighbours = starts.len() == TOGETHER && starts.windows(2).all(|two| two[1] == two[0] + 1);
        if neighbours && let Some(&start) = starts.first() {
            for index in 0..self.count {
                let there = memory.at::<E>(start + index * self.step).cast::<[E; TOGETHER]>();
                let here = |number: usize| stage.wrapping_add(number * apart).cast::<E>().wrapping_add(index);
                // SAFETY: as below; neighbours are one array's bytes.
                unsafe {
                    if back {
                        there.write_unaligned(std::array::from_fn(|number| here(number).read_unaligned()));
                    } else {
                        for (number, value) in there.read_unaligned().into_iter().enumerate() {
                            here(number).write_unaligned(value);
                        }
                    }
                }
            }
            return;
        }
        for index in 0..self.count {
            for (number, &start) in starts.iter().enumerate() {
                let there = memory.at::<E>(start + index * self.step);
                let here = stage.wrapping_add(number * apart).cast::<E>().wrapping_add(index);
                // SAFETY: the caller's; the stage has room for all.
                unsafe {
                    if back {
                        there.write_unaligned(here.read_unaligned())
                    } else {
                        here.write_unaligned(there.read_unaligned())
                    }
                }
            }
        }
    }
}

/// Transforms every line of `from` along `what.dim` into the same line of `to`.
///
/// # Safety
/// Geometries lie inside their memories, which hold `T` or `Complex<T>` as `what` says; they have equal sizes but for
/// the dimension, along which `to` has as many elements as its kind of line needs. The output does not overlap itself.
pub unsafe fn transform<T: Part>(what: Transform, from: Place<'_>, to: Place<'_>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's; `T` is float32.
    if super::vector::is_fused_for::<T>() && unsafe { side_by_side(what, from, to) || one_by_one(what, from, to) } {
        return;
    }
    let method = Method::<T>::of(what);
    let others: Vec<usize> = (0..from.geometry.rank()).filter(|&dim| dim != what.dim).collect();
    let count: usize = others.iter().map(|&dim| from.geometry.shape[dim]).product();
    let starts = |mut index: usize| {
        let mut at = [from.geometry.offset, to.geometry.offset];
        for &dim in others.iter().rev() {
            let place = index % from.geometry.shape[dim];
            index /= from.geometry.shape[dim];
            at[0] += place * from.geometry.strides[dim];
            at[1] += place * to.geometry.strides[dim];
        }
        at
    };
    let block = |lines: std::ops::Range<usize>| {
        let mut line = vec![Complex::<T>::zero(); method.plan.len()];
        let mut scratch = vec![Complex::<T>::zero(); method.plan.get_inplace_scratch_len()];
        let mut source = Side::new::<T>(from, what.dim, what.from);
        let mut target = Side::new::<T>(to, what.dim, what.to);
        for first in lines.clone().step_by(TOGETHER) {
            let (mut reads, mut writes) = ([0; TOGETHER], [0; TOGETHER]);
            let some = TOGETHER.min(lines.end - first);
            for number in 0..some {
                [reads[number], writes[number]] = starts(first + number);
            }
            // SAFETY: the caller vouches for the geometries; every line is written by one task.
            unsafe {
                match what.from {
                    Line::Real => source.bring::<T>(&reads[..some], false),
                    _ => source.bring::<Complex<T>>(&reads[..some], false),
                }
                for number in 0..some {
                    let (input, output) = (source.line(number, reads[number]), target.line(number, writes[number]));
                    method.run(what, (input, source.count), output, [&mut line, &mut scratch]);
                }
                match what.to {
                    Line::Real => target.bring::<T>(&writes[..some], true),
                    _ => target.bring::<Complex<T>>(&writes[..some], true),
                }
            }
        }
    };
    let together = (TASK / what.length.max(1)).max(1).next_multiple_of(TOGETHER);
    if count.saturating_mul(what.length) < PARALLEL_ABOVE || count == 1 {
        block(0..count);
    } else {
        spread_over(count.div_ceil(together), 1, &|index| {
            block(index * together..count.min((index + 1) * together));
        });
    }
}

/// Transforms lines of float32 that lie side by side in both memories, a vector of them at a time; false where they do
/// not, or their length has large factors.
///
/// # Safety
/// As `transform`; the processor has AVX2 at least.
#[cfg(target_arch = "x86_64")]
unsafe fn side_by_side(what: Transform, from: Place<'_>, to: Place<'_>) -> bool {
    use super::fft_columns::{Input, Lines, Passes, lanes, transform};
    let together = lanes();
    let strides = |place: Place<'_>, dim: usize| place.geometry.strides.get(dim).copied().unwrap_or(0);
    let shape = &from.geometry.shape;
    let others = (0..from.geometry.rank()).filter(|&dim| dim != what.dim && shape[dim] > 1);
    let Some(along) = others.clone().find(|&dim| strides(from, dim) == 1 && strides(to, dim) == 1) else {
        return false;
    };
    let (input, length) = match what.from {
        Line::Real if what.length.is_multiple_of(2) => (Input::Pairs, what.length / 2),
        Line::Real => (Input::Real, what.length),
        Line::Complex => (Input::Complex, what.length),
        Line::Half => return false,
    };
    let aligned = from.memory.at::<f32>(0).is_aligned() && to.memory.at::<f32>(0).is_aligned();
    if !aligned || what.to == Line::Real || strides(from, what.dim) == 1 || shape[along] < together / 2 {
        return false;
    }
    let Some(passes) = Passes::of(length) else { return false };
    let outer: Vec<usize> = others.filter(|&dim| dim != along).collect();
    let blocks = shape[along].div_ceil(together);
    let count = outer.iter().map(|&dim| shape[dim]).product::<usize>() * blocks;
    let floats = if input == Input::Complex { 2 } else { 1 };
    let one = |index: usize| {
        let (first, mut rest) = (index % blocks * together, index / blocks);
        let (mut read, mut written) = (from.geometry.offset + first, to.geometry.offset + first);
        for &dim in outer.iter().rev() {
            let place = rest % shape[dim];
            rest /= shape[dim];
            read += place * strides(from, dim);
            written += place * strides(to, dim);
        }
        let lines = Lines {
            from: from.memory.at::<f32>(read * floats),
            from_step: strides(from, what.dim) * floats,
            given: shape.get(what.dim).copied().unwrap_or(1),
            input,
            to: to.memory.at::<f32>(written * 2),
            to_step: strides(to, what.dim) * 2,
            wanted: if what.to == Line::Half { what.length / 2 + 1 } else { what.length },
            apart: false,
            count: together.min(shape[along] - first),
            forward: what.forward,
            scale: what.scale as f32,
        };
        // SAFETY: the caller's; every block has lines of its own.
        unsafe { transform(&passes, &lines) };
    };
    if count * together * what.length < PARALLEL_ABOVE {
        (0..count).for_each(one);
    } else {
        spread_over(count, 1, &one);
    }
    true
}

/// Transforms lines of float32 whose elements are neighbours in both memories, a vector of lines at a time; false where
/// they are not, are too few, or their length has large factors.
///
/// # Safety
/// As `side_by_side`.
#[cfg(target_arch = "x86_64")]
unsafe fn one_by_one(what: Transform, from: Place<'_>, to: Place<'_>) -> bool {
    use super::fft_columns::{Passes, lanes};
    use super::fft_rows::{Rows, Shape, fits, transform};
    let (together, shape) = (lanes(), &from.geometry.shape);
    let others = (0..from.geometry.rank()).filter(|&dim| dim != what.dim && shape[dim] > 1);
    let Some(along) = others.clone().max_by_key(|&dim| shape[dim]) else { return false };
    let pairs = what.length.is_multiple_of(2);
    let (kind, length) = match (what.from, what.to) {
        (Line::Complex, Line::Complex) => (Shape::Complex, what.length),
        (Line::Real, Line::Half | Line::Complex) if pairs => (Shape::FromReal, what.length / 2),
        (Line::Half, Line::Real) if pairs => (Shape::ToReal, what.length / 2),
        _ => return false,
    };
    let aligned = from.memory.at::<f32>(0).is_aligned() && to.memory.at::<f32>(0).is_aligned();
    let near = [from, to].iter().all(|place| step(place.geometry, what.dim) == 1);
    if !aligned || !near || shape[along] < together / 2 {
        return false;
    }
    let Some(passes) = Passes::of(length).filter(|passes| fits(passes)) else { return false };
    let outer: Vec<usize> = others.filter(|&dim| dim != along).collect();
    let blocks = shape[along].div_ceil(together);
    let count = outer.iter().map(|&dim| shape[dim]).product::<usize>() * blocks;
    let floats = [what.from, what.to].map(|line| if line == Line::Real { 1 } else { 2 });
    let size = |place: Place<'_>| place.geometry.shape.get(what.dim).copied().unwrap_or(1);
    let one = |index: usize| {
        let (first, mut rest) = (index % blocks * together, index / blocks);
        let mut at = [from, to].map(|place| place.geometry.offset + first * place.geometry.strides[along]);
        for &dim in outer.iter().rev() {
            let place = rest % shape[dim];
            rest /= shape[dim];
            at[0] += place * from.geometry.strides[dim];
            at[1] += place * to.geometry.strides[dim];
        }
        let rows = Rows {
            from: from.memory.at::<f32>(at[0] * floats[0]),
            from_step: from.geometry.strides[along] * floats[0],
            given: size(from) * floats[0],
            shape: kind,
            to: to.memory.at::<f32>(at[1] * floats[1]),
            to_step: to.geometry.strides[along] * floats[1],
            wanted: size(to) * floats[1],
            count: together.min(shape[along] - first),
            forward: what.forward,
            scale: what.scale as f32,
        };
        // SAFETY: the caller's; every block has lines of its own.
        unsafe { transform(&passes, &rows) };
    };
    if count * together * what.length < PARALLEL_ABOVE {
        (0..count).for_each(one);
    } else {
        spread_over(count, 1, &one);
    }
    true
}

/// The transform of real numbers from that of their pairs: the first half, or, with the mirrored rest, all of it.
///
/// # Safety
/// `to` has room for as many elements as the kind of line has.
unsafe fn store_half<T: Part, const WHOLE: bool>(
    what: Transform,
    to: *mut Complex<T>,
    line: &[Complex<T>],
    turns: &[Complex<T>],
) {
    let (half, count, sign) = (T::of(0.5 * what.scale), line.len(), if what.forward { T::one() } else { -T::one() });
    let write = |index: usize, re: T, im: T| {
        // SAFETY: the caller's: an index is below the length of the line.
        unsafe {
            to.add(index).write_unaligned(Complex::new(re, im * sign));
            if WHOLE && index != 0 && index != count {
                to.add(what.length - index).write_unaligned(Complex::new(re, -im * sign));
            }
        }
    };
    let Some(&first) = line.first() else { return };
    write(0, (first.re + first.im) * half * T::of(2.0), T::zero());
    write(count, (first.re - first.im) * half * T::of(2.0), T::zero());
    // Two elements, as far from the ends as each other, are made of the same two.
    let pairs = line.iter().zip(turns).skip(1).zip(line.iter().skip(1).rev());
    for (index, ((&one, &turn), &other)) in (1..=count / 2).zip(pairs) {
        let (even_re, even_im) = (one.re + other.re, one.im - other.im);
        let (odd_re, odd_im) = (one.im + other.im, other.re - one.re);
        let (re, im) = (turn.re * odd_re - turn.im * odd_im, turn.re * odd_im + turn.im * odd_re);
        write(index, (even_re + re) * half, (even_im + im) * half);
        write(count - index, (even_re - re) * half, (im - even_im) * half);
    }
}

/// The transform of pairs from the half of a line that its mirrored conjugate completes.
///
/// # Safety
/// `given` elements lie there.
unsafe fn load_half<T: Part>(
    what: Transform,
    from: *const Complex<T>,
    given: usize,
    line: &mut [Complex<T>],
    turns: &[Complex<T>],
) {
    let middle = line.len();
    let read = |index: usize| {
        if index >= given {
            return Complex::zero();
        }
        // SAFETY: the caller's.
        let mut value = unsafe { from.add(index).read_unaligned() };
        if index == 0 || index == middle {
            value.im = T::zero();
        }
        if what.forward { value.conj() } else { value }
    };
    for (index, (slot, turn)) in line.iter_mut().zip(turns).enumerate() {
        let (one, other) = (read(index), read(middle - index).conj());
        let (even, odd) = (one + other, (one - other) * turn.conj());
        *slot = Complex::new(even.re - odd.im, even.im + odd.re);
    }
}

/// # Safety
/// `given` elements of the kind of line lie there.
unsafe fn load<T: Part>(what: Transform, from: *const u8, given: usize, line: &mut [Complex<T>]) {
    // SAFETY: the caller's.
    let complex = |index: usize| unsafe { from.cast::<Complex<T>>().add(index).read_unaligned() };
    match what.from {
        Line::Complex if given >= line.len() => {
            // SAFETY: the caller's; bytes need no alignment.
            unsafe { std::ptr::copy_nonoverlapping(from, line.as_mut_ptr().cast(), size_of_val(line)) };
        }
        Line::Complex => {
            for (index, slot) in line.iter_mut().enumerate() {
                *slot = if index < given { complex(index) } else { Complex::zero() };
            }
        }
        Line::Real => {
            for (index, slot) in line.iter_mut().enumerate() {
                // SAFETY: the caller's.
                let value = unsafe { from.cast::<T>().add(index).read_unaligned() };
                *slot = Complex::new(value, T::zero());
            }
        }
        Line::Half => {
            for (index, slot) in line.iter_mut().enumerate() {
                let mirrored = what.length - index;
                *slot = if index <= what.length / 2 && index < given {
                    complex(index)
                } else if mirrored < given {
                    complex(mirrored).conj()
                } else {
                    Complex::zero()
                };
            }
            // A real result: the imaginary part of the mean is not looked at. Lines of even length come in pairs.
            if let Some(first) = line.first_mut() {
                first.im = T::zero();
            }
        }
    }
}

/// # Safety
/// `to` has room for as many elements as the kind of line has.
unsafe fn store<T: Part>(what: Transform, to: *mut u8, line: &[Complex<T>]) {
    let scale = T::of(what.scale);
    let wanted = if what.to == Line::Half { what.length / 2 + 1 } else { what.length };
    for (index, value) in line.iter().take(wanted).enumerate() {
        // SAFETY: the caller's.
        unsafe {
            match what.to {
                Line::Real => to.cast::<T>().add(index).write_unaligned(value.re * scale),
                _ => to.cast::<Complex<T>>().add(index).write_unaligned(*value * scale),
            }
        }
    }
}
