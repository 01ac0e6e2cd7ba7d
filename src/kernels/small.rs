//! Many small real matrices, one in each lane of vectors (benchmarks/cases.py: small_solve).
//!
//! Each step is LAPACK's as torch calls it: elimination multiplies by the reciprocal of the pivot, and fuses no additions,
//! so that most singular matrices of whole numbers are found to be so. Matrices for which a step has no answer are named in `failed`, and left to
//! `factor`.

use std::ops::{BitAnd, BitXor};
use std::sync::atomic::{Ordering, compiler_fence};

use super::real::Real;
use super::vector::{Task, dispatch};

pub const LANES: usize = 16;
/// Rows up to which lanes are faster than `factor`, whose blocks only begin to pay there.
pub const LARGEST: usize = 24;
/// Rows up to which the last column is divided by its pivot.
const DIVIDED: usize = 4;

/// Numbers whose bits are exchanged by a mask: where vectors of comparisons would choose, compilers make single steps of it.
pub trait Word: Real {
    type Bits: Copy + BitAnd<Output = Self::Bits> + BitXor<Output = Self::Bits>;
    fn mask(all: bool) -> Self::Bits;
    fn bits(self) -> Self::Bits;
    fn of_bits(bits: Self::Bits) -> Self;
}

macro_rules! word {
    ($($type:ty: $bits:ty),+) => { $(
        impl Word for $type {
            type Bits = $bits;
            #[inline(always)]
            fn mask(all: bool) -> $bits {
                <$bits>::from(all).wrapping_neg()
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn of_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }
        }
    )+ };
}

word!(f32: u32, f64: u64);

/// One number of each matrix; aligned, so that no vector lies in two lines of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lane<T>(pub [T; LANES]);

impl<T: Copy> Lane<T> {
    #[inline(always)]
    pub fn all(x: T) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Lane<U> {
        Lane(self.0.map(of))
    }

    #[inline(always)]
    pub fn with(self, other: Self, of: impl Fn(T, T) -> T) -> Self {
        Self(std::array::from_fn(|lane| of(self.0[lane], other.0[lane])))
    }
}

/// What is wanted of up to `LANES` matrices of `n` rows, by LU; what is not wanted is empty.
pub struct Lu<'a, T> {
    pub n: usize,
    /// The matrices, row by row.
    pub from: &'a [T],
    /// Whether their transposes are meant.
    pub turned: bool,
    /// L and U, column by column.
    pub packed: &'a mut [T],
    pub pivots: &'a mut [i32],
    pub determinants: &'a mut [T],
    /// Right sides row by row, as many for each as solutions; where there are none, the unit matrix.
    pub right: &'a [T],
    /// Solutions column by column.
    pub solutions: &'a mut [T],
    /// The first column of each whose pivot is zero, from 1.
    pub info: &'a mut [i32],
    /// Bits of the matrices with numbers that are not finite.
    pub failed: &'a mut u16,
}

/// The lower factors of up to `LANES` matrices of `n` rows, column by column.
pub struct Cholesky<'a, T> {
    pub n: usize,
    pub from: &'a [T],
    pub factors: &'a mut [T],
    pub failed: &'a mut u16,
}

/// Solutions for up to `LANES` triangular matrices of `n` rows.
pub struct Triangular<'a, T> {
    pub n: usize,
    /// The matrices, row by row as `right`.
    pub from: &'a [T],
    /// Whether their transposes are meant.
    pub turned: bool,
    pub right: &'a [T],
    pub solutions: &'a mut [T],
    pub upper: bool,
    pub unit: bool,
}

pub fn run(task: impl Task) {
    dispatch(task);
}

/// Brings matrices that lie row by row into lanes, column by column; lanes without a matrix get the first one.
#[inline(always)]
pub(super) fn spread<T: Real>(from: &[T], rows: usize, columns: usize, turned: bool) -> Vec<Lane<T>> {
    let mut lanes = vec![Lane::all(T::of(0.0)); rows * columns];
    let Some(first) = from.get(..rows * columns) else { return lanes };
    let mut matrices = from.chunks_exact(rows * columns);
    for lane in 0..LANES {
        let matrix = matrices.next().unwrap_or(first);
        if turned {
            lanes.iter_mut().zip(matrix).for_each(|(slot, &x)| slot.0[lane] = x);
            continue;
        }
        for (i, row) in matrix.chunks_exact(columns).enumerate() {
            for (j, &x) in row.iter().enumerate() {
                lanes[j * rows + i].0[lane] = x;
            }
        }
    }
    lanes
}

/// Writes lanes to matrices of so many elements, in the lanes' order.
#[inline(always)]
fn gather<T: Copy>(lanes: &[Lane<T>], to: &mut [T]) {
    for (lane, matrix) in to.chunks_exact_mut(lanes.len()).enumerate() {
        matrix.iter_mut().zip(lanes).for_each(|(slot, x)| *slot = x.0[lane % LANES]);
    }
}

#[inline(always)]
fn size<T: Real>(x: T) -> T {
    if x < T::of(0.0) { -x } else { x }
}

/// Says that steps before and after it are not one: compilers would gather numbers of several rows in a vector instead of
/// those of one row, which lie there as such. No instruction comes of it.
#[inline(always)]
pub(super) fn apart() {
    compiler_fence(Ordering::AcqRel);
}

/// `a - b * c`, in two steps.
#[inline(always)]
fn take<T: Real>(a: &mut Lane<T>, b: &Lane<T>, c: Lane<T>) {
    apart();
    *a = a.with(b.with(c, |b, c| b * c), |a, product| a - product);
}

#[inline(always)]
fn divide<T: Real>(a: &mut Lane<T>, b: Lane<T>) {
    *a = a.with(b, |a, b| a / b);
}

/// In which row from `k` on the largest number of a column stands.
#[inline(always)]
fn largest<T: Real>(column: &[Lane<T>], k: usize) -> Lane<i32> {
    let (mut best, mut at) = (column[k].map(size), Lane::all(k as i32));
    for (i, x) in column.iter().enumerate().skip(k + 1) {
        apart();
        let x = x.map(size);
        for lane in 0..LANES {
            let more = x.0[lane] > best.0[lane];
            best.0[lane] = if more { x.0[lane] } else { best.0[lane] };
            at.0[lane] = if more { i as i32 } else { at.0[lane] };
        }
    }
    at
}

/// Which of the rows behind `k` each lane exchanges with it.
#[inline(always)]
fn masks<T: Word>(n: usize, k: usize, rows: &Lane<i32>) -> Vec<Lane<T::Bits>> {
    (k + 1..n).map(|i| rows.map(|row| T::mask(row == i as i32))).collect()
}

/// Exchanges row `k` with those behind it in columns of `n`.
#[inline(always)]
fn exchange<T: Word>(columns: &mut [Lane<T>], n: usize, k: usize, masks: &[Lane<T::Bits>]) {
    for column in columns.chunks_exact_mut(n) {
        let old = column[k].map(T::bits);
        let mut new = old;
        for (slot, mask) in column[k + 1..].iter_mut().zip(masks) {
            apart();
            let held = slot.map(T::bits);
            let change = old.with(held, |a, b| a ^ b).with(*mask, |a, b| a & b);
            *slot = held.with(change, |a, b| a ^ b).map(T::of_bits);
            new = new.with(change, |a, b| a ^ b);
        }
        column[k] = new.map(T::of_bits);
    }
}

/// Divides what is below the pivot by it, and takes its multiples off the columns that follow. Below a zero there are only
/// zeros, which stay as they are.
#[inline(always)]
fn eliminate<T: Real>(a: &mut [Lane<T>], n: usize, k: usize) {
    let (done, rest) = a.split_at_mut((k + 1) * n);
    let column = &mut done[k * n..];
    let pivot = column[k].map(|x| if x == T::of(0.0) { T::of(1.0) } else { x });
    if n <= DIVIDED && k + 2 == n {
        column[k + 1..].iter_mut().for_each(|x| divide(x, pivot));
    } else {
        let reciprocal = pivot.map(|x| T::of(1.0) / x);
        column[k + 1..].iter_mut().for_each(|x| *x = x.with(reciprocal, |x, factor| x * factor));
    }
    for other in rest.chunks_exact_mut(n) {
        let factor = other[k];
        other[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| take(x, l, factor));
    }
}

/// Solves with the lower triangle of `a`, whose diagonal is 1 where `unit`.
#[inline(always)]
fn forward<T: Real>(a: &[Lane<T>], n: usize, columns: &mut [Lane<T>], unit: bool) {
    for x in columns.chunks_exact_mut(n) {
        for (k, column) in a.chunks_exact(n).enumerate() {
            if !unit {
                divide(&mut x[k], column[k]);
            }
            let value = x[k];
            x[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, l)| take(x, l, value));
        }
    }
}

/// Solves with the upper triangle of `a`.
#[inline(always)]
fn backward<T: Real>(a: &[Lane<T>], n: usize, columns: &mut [Lane<T>], unit: bool) {
    for x in columns.chunks_exact_mut(n) {
        for (k, column) in a.chunks_exact(n).enumerate().rev() {
            if !unit {
                divide(&mut x[k], column[k]);
            }
            let value = x[k];
            x[..k].iter_mut().zip(&column[..k]).for_each(|(x, u)| take(x, u, value));
        }
    }
}

/// The unit matrix in each lane.
#[inline(always)]
pub(super) fn unit<T: Real>(n: usize) -> Vec<Lane<T>> {
    let mut lanes = vec![Lane::all(T::of(0.0)); n * n];
    lanes.iter_mut().step_by(n + 1).for_each(|x| *x = Lane::all(T::of(1.0)));
    lanes
}

/// Bits of the lanes in which a number is not finite.
#[inline(always)]
pub(super) fn not_finite<T: Real>(numbers: &[Lane<T>]) -> u16 {
    // What is finite gives zero, and all else NaN.
    let sums = numbers.iter().fold(Lane::all(T::of(0.0)), |sums, &x| sums.with(x, |sum, x| sum + x * T::of(0.0)));
    bits(sums, |sum| sum != T::of(0.0))
}

#[inline(always)]
pub(super) fn bits<T: Copy>(lanes: Lane<T>, is: impl Fn(T) -> bool) -> u16 {
    lanes.0.into_iter().enumerate().fold(0, |bits, (lane, x)| bits | u16::from(is(x)) << lane)
}

impl<T: Word> Task for Lu<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (n, zero) = (self.n, T::of(0.0));
        let mut a = spread(self.from, n, n, self.turned);
        let count = self.from.len() / (n * n);
        let mut x = match self.solutions.len() {
            0 => Vec::new(),
            _ if self.right.is_empty() => unit(n),
            length => spread(self.right, n, length / (n * count), false),
        };
        let mut pivots = vec![Lane::all(0i32); n];
        let (mut product, mut swaps, mut info) = (Lane::all(T::of(1.0)), [0i32; LANES], [0i32; LANES]);
        for (k, pivot) in pivots.iter_mut().enumerate() {
            let rows = largest(&a[k * n..(k + 1) * n], k);
            let masks = masks::<T>(n, k, &rows);
            exchange(&mut a, n, k, &masks);
            exchange(&mut x, n, k, &masks);
            let value = a[k * n + k];
            eliminate(&mut a, n, k);
            product = product.with(value, |product, value| product * value);
            *pivot = rows.map(|row| row + 1);
            for lane in 0..LANES {
                swaps[lane] ^= i32::from(rows.0[lane] != k as i32);
                info[lane] = if info[lane] == 0 && value.0[lane] == zero { k as i32 + 1 } else { info[lane] };
            }
        }
        *self.failed = not_finite(&a);
        self.info.iter_mut().zip(info).for_each(|(slot, info)| *slot = info);
        gather(&a, self.packed);
        gather(&pivots, self.pivots);
        for (lane, slot) in self.determinants.iter_mut().enumerate() {
            let lane = lane % LANES;
            *slot = if swaps[lane] == 0 { product.0[lane] } else { -product.0[lane] };
        }
        forward(&a, n, &mut x, true);
        backward(&a, n, &mut x, false);
        if !x.is_empty() {
            gather(&x, self.solutions);
        }
    }
}

impl<T: Real> Task for Cholesky<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (n, zero) = (self.n, T::of(0.0));
        let mut a = spread(self.from, n, n, false);
        let mut failed = 0;
        for k in 0..n {
            a[k * n..k * n + k].fill(Lane::all(zero));
            let (done, rest) = a.split_at_mut((k + 1) * n);
            let column = &mut done[k * n..];
            // Of a NaN it is not so either.
            failed |= !bits(column[k], |pivot| pivot > zero);
            column[k] = column[k].map(T::root);
            let reciprocal = column[k].map(|x| T::of(1.0) / x);
            column[k + 1..].iter_mut().for_each(|x| *x = x.with(reciprocal, |x, factor| x * factor));
            for (j, other) in (k + 1..).zip(rest.chunks_exact_mut(n)) {
                other[j..].iter_mut().zip(&column[j..]).for_each(|(x, l)| take(x, l, column[j]));
            }
        }
        *self.failed = failed | not_finite(&a);
        gather(&a, self.factors);
    }
}

impl<T: Real> Task for Triangular<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let n = self.n;
        let a = spread(self.from, n, n, self.turned);
        let count = self.from.len() / (n * n);
        let mut x = spread(self.right, n, self.right.len() / (n * count), false);
        if self.upper {
            backward(&a, n, &mut x, self.unit);
        } else {
            forward(&a, n, &mut x, self.unit);
        }
        gather(&x, self.solutions);
    }
}
