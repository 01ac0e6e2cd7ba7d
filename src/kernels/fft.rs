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
            (Line::Real, Line::Half) if pairs => {
                Self { plan: plans.get(what.length / 2, true), turns: Some(plans.turns(what.length)) }
            }
            (Line::Half, Line::Real) if pairs => {
                Self { plan: plans.get(what.length / 2, false), turns: Some(plans.turns(what.length)) }
            }
            _ => Self { plan: plans.get(what.length, what.forward), turns: None },
        }
    }

    /// # Safety
    /// As `transform`, for the lines that start at `read` and `write`.
    unsafe fn run(
        &self,
        what: Transform,
        (from, read): (Place<'_>, usize),
        (to, write): (Place<'_>, usize),
        [line, scratch]: [&mut [Complex<T>]; 2],
    ) {
        // SAFETY: the caller's.
        unsafe {
            match &self.turns {
                Some(turns) if what.from == Line::Real => {
                    load_pairs(what, from, read, line);
                    self.plan.process_with_scratch(line, scratch);
                    store_half(what, to, write, line, turns);
                }
                Some(turns) => {
                    load_half(what, from, read, line, turns);
                    self.plan.process_with_scratch(line, scratch);
                    store_pairs(what, to, write, line);
                }
                None if what.from == Line::Complex && what.to == Line::Complex && adjacent::<T>(what, to, write) => {
                    // In the result's own memory: nobody else has it yet.
                    let line = std::slice::from_raw_parts_mut(to.memory.at::<Complex<T>>(write), what.length);
                    load(what, from, read, line);
                    self.plan.process_with_scratch(line, scratch);
                    scale_by(what.scale, line);
                }
                None => {
                    load(what, from, read, line);
                    self.plan.process_with_scratch(line, scratch);
                    store(what, to, write, line);
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
        for [read, write] in lines.map(&starts) {
            // SAFETY: the caller vouches for the geometries; every line is written by one task.
            unsafe { method.run(what, (from, read), (to, write), [&mut line, &mut scratch]) };
        }
    };
    let together = (TASK / what.length.max(1)).max(1);
    if count.saturating_mul(what.length) < PARALLEL_ABOVE || count == 1 {
        block(0..count);
    } else {
        spread_over(count.div_ceil(together), 1, &|index| {
            block(index * together..count.min((index + 1) * together));
        });
    }
}

/// Whether a line of complex numbers lies in memory as a slice would.
fn adjacent<T>(what: Transform, place: Place<'_>, start: usize) -> bool {
    step(place.geometry, what.dim) == 1 && place.memory.at::<Complex<T>>(start).is_aligned()
}

fn scale_by<T: Part>(scale: f64, line: &mut [Complex<T>]) {
    if scale != 1.0 {
        let scale = T::of(scale);
        line.iter_mut().for_each(|value| *value = *value * scale);
    }
}

/// Real numbers two by two: the even ones as real, the odd ones as imaginary parts.
///
/// # Safety
/// As `transform`.
unsafe fn load_pairs<T: Part>(what: Transform, from: Place<'_>, start: usize, line: &mut [Complex<T>]) {
    let step = step(from.geometry, what.dim);
    if step == 1 {
        // SAFETY: the caller's; two neighbours are one complex number's bytes, and bytes need no alignment.
        unsafe {
            let source = from.memory.at::<T>(start).cast::<u8>();
            std::ptr::copy_nonoverlapping(source, line.as_mut_ptr().cast(), size_of_val(line));
        }
        return;
    }
    // SAFETY: the caller's.
    let read = |index: usize| unsafe { from.memory.read::<T>(start + index * step) };
    for (index, slot) in line.iter_mut().enumerate() {
        *slot = Complex::new(read(2 * index), read(2 * index + 1));
    }
}

/// The transform of real numbers from that of their pairs.
///
/// # Safety
/// As `transform`.
unsafe fn store_half<T: Part>(what: Transform, to: Place<'_>, start: usize, line: &[Complex<T>], turns: &[Complex<T>]) {
    let (step, half, count) = (step(to.geometry, what.dim), T::of(0.5 * what.scale), line.len());
    let value = |one: Complex<T>, other: Complex<T>, turn: Complex<T>| {
        let (even, odd) = (one + other, one - other);
        let value = (even + turn * Complex::new(odd.im, -odd.re)) * half;
        if what.forward { value } else { value.conj() }
    };
    let (Some(&first), Some(&last)) = (line.first(), turns.last()) else { return };
    // SAFETY: the caller's.
    let write = |index: usize, value: Complex<T>| unsafe { to.memory.write(start + index * step, value) };
    write(0, value(first, first.conj(), Complex::new(T::one(), T::zero())));
    write(count, value(first, first.conj(), last));
    let mirrored = line.iter().skip(1).rev();
    for (index, ((one, turn), other)) in line.iter().zip(turns).skip(1).zip(mirrored).enumerate() {
        write(index + 1, value(*one, other.conj(), *turn));
    }
}

/// The transform of pairs from the half of a line that its mirrored conjugate completes.
///
/// # Safety
/// As `transform`.
unsafe fn load_half<T: Part>(
    what: Transform,
    from: Place<'_>,
    start: usize,
    line: &mut [Complex<T>],
    turns: &[Complex<T>],
) {
    let (given, step) = (from.geometry.shape.get(what.dim).copied().unwrap_or(1), step(from.geometry, what.dim));
    let middle = line.len();
    let read = |index: usize| {
        if index >= given {
            return Complex::zero();
        }
        // SAFETY: the caller's.
        let mut value = unsafe { from.memory.read::<Complex<T>>(start + index * step) };
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
/// As `transform`.
unsafe fn store_pairs<T: Part>(what: Transform, to: Place<'_>, start: usize, line: &[Complex<T>]) {
    let (step, scale) = (step(to.geometry, what.dim), T::of(what.scale));
    for (index, value) in line.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            to.memory.write(start + 2 * index * step, value.re * scale);
            to.memory.write(start + (2 * index + 1) * step, value.im * scale);
        }
    }
}

/// # Safety
/// As `transform`.
unsafe fn load<T: Part>(what: Transform, from: Place<'_>, start: usize, line: &mut [Complex<T>]) {
    let (given, step) = (from.geometry.shape.get(what.dim).copied().unwrap_or(1), step(from.geometry, what.dim));
    // SAFETY: the caller's.
    let complex = |index: usize| unsafe { from.memory.read::<Complex<T>>(start + index * step) };
    match what.from {
        Line::Complex if step == 1 && given >= line.len() => {
            // SAFETY: the caller's; bytes need no alignment.
            unsafe {
                let source = from.memory.at::<Complex<T>>(start).cast::<u8>();
                std::ptr::copy_nonoverlapping(source, line.as_mut_ptr().cast(), size_of_val(line));
            }
        }
        Line::Complex => {
            for (index, slot) in line.iter_mut().enumerate() {
                *slot = if index < given { complex(index) } else { Complex::zero() };
            }
        }
        Line::Real => {
            for (index, slot) in line.iter_mut().enumerate() {
                // SAFETY: the caller's.
                let value = unsafe { from.memory.read::<T>(start + index * step) };
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
/// As `transform`.
unsafe fn store<T: Part>(what: Transform, to: Place<'_>, start: usize, line: &[Complex<T>]) {
    let (wanted, step) = (to.geometry.shape.get(what.dim).copied().unwrap_or(1), step(to.geometry, what.dim));
    let (scale, real) = (T::of(what.scale), what.to == Line::Real);
    for (index, value) in line.iter().take(wanted).enumerate() {
        // SAFETY: the caller's.
        unsafe {
            if real {
                to.memory.write(start + index * step, value.re * scale);
            } else {
                to.memory.write(start + index * step, *value * scale);
            }
        }
    }
}
