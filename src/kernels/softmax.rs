//! Softmax along one dimension of contiguous CPU memory (benchmarks/cases.py: large_softmax).

use rayon::prelude::*;
use rten_simd::SimdUnaryOp;
use rten_vecmath::Exp;

use super::iterate::PARALLEL_ABOVE;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::tensor::Tensor;
use crate::tensor::storage::Data;

/// What the kernel computes with.
trait Real: Copy + Send + Sync + PartialOrd + 'static {
    const LOWEST: Self;
    const ZERO: Self;
    fn exp_of(self) -> Self;
    fn ln_of(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// Whether a row of neighbours was computed by vector instructions.
    ///
    /// # Safety
    /// Both pointers are valid for `size` elements.
    unsafe fn row(from: *const Self, to: *mut Self, size: usize, log: bool) -> bool;
}

macro_rules! real {
    ($($type:ty: $row:ident),+) => { $(
        impl Real for $type {
            const LOWEST: Self = <$type>::NEG_INFINITY;
            const ZERO: Self = 0.0;
            fn exp_of(self) -> Self {
                self.exp()
            }
            fn ln_of(self) -> Self {
                self.ln()
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            unsafe fn row(from: *const Self, to: *mut Self, size: usize, log: bool) -> bool {
                // SAFETY: the caller's.
                unsafe { $row(from, to, size, log) }
            }
        }
    )+ };
}

real!(f32: vectorised, f64: not_vectorised);

/// The softmax (or its logarithm) of a contiguous float32 or float64 tensor along `dim`.
pub fn softmax(x: &Tensor, dim: usize, log: bool) -> Result<Tensor> {
    let core = x.core().clone();
    let (out, to) = Tensor::uninit_with_pointer(&core.geometry.shape, core.dtype)?;
    let Data::Cpu(buffer) = core.storage.data() else {
        return error::device("softmax: the kernel for the CPU was given a tensor on another device");
    };
    let shape = &core.geometry.shape;
    let size = shape.get(dim).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(dim + 1).product();
    let numel = core.geometry.numel();
    if numel == 0 {
        return Ok(out);
    }
    let from = Shared(buffer.pointer().wrapping_add(core.geometry.offset * core.dtype.size()));
    let to = Shared(to);
    guard::heavy("softmax", numel, || match core.dtype {
        DType::F64 => run::<f64>(from, to, numel, size, inner, log),
        _ => run::<f32>(from, to, numel, size, inner, log),
    })?;
    Ok(out)
}

#[derive(Clone, Copy)]
struct Shared(*mut u8);
// SAFETY: each line is read and written by one thread, and the tensors that own the memory outlive the call.
unsafe impl Send for Shared {}
// SAFETY: as for Send.
unsafe impl Sync for Shared {}

impl Shared {
    fn cast<T>(self) -> *mut T {
        self.0.cast()
    }
}

fn run<T: Real>(from: Shared, to: Shared, numel: usize, size: usize, inner: usize, log: bool) {
    let lines = numel / size.max(1);
    let each = |line: usize| {
        let start = line / inner * inner * size + line % inner;
        // SAFETY: `start + k * inner` for `k < size` stays inside the contiguous memory of `numel` elements.
        unsafe {
            let (from, to) = (from.cast::<T>().add(start), to.cast::<T>().add(start));
            if inner == 1 && T::row(from, to, size, log) {
                return;
            }
            one_line(from, to, size, inner, log);
        };
    };
    if numel < PARALLEL_ABOVE {
        (0..lines).for_each(each);
    } else {
        (0..lines).into_par_iter().with_min_len((PARALLEL_ABOVE / 8 / size.max(1)).max(1)).for_each(each);
    }
}

/// # Safety
/// None is needed.
unsafe fn not_vectorised(_: *const f64, _: *mut f64, _: usize, _: bool) -> bool {
    false
}

/// As many independent sums as the widest vector holds; their order does not depend on the machine.
const LANES: usize = 16;

/// # Safety
/// Both pointers are valid for `size` elements; storages of foreign memory may be unaligned.
unsafe fn vectorised(from: *const f32, to: *mut f32, size: usize, log: bool) -> bool {
    if size < LANES || !from.is_aligned() || !to.is_aligned() {
        return false;
    }
    // SAFETY: aligned, and valid by the caller's promise; the result is fresh memory, so they do not overlap.
    let (from, to) = unsafe { (std::slice::from_raw_parts(from, size), std::slice::from_raw_parts_mut(to, size)) };
    // A NaN is not greater than anything, but makes the sum NaN.
    let top = fold(from, f32::NEG_INFINITY, |top, x| if x > top { x } else { top });
    for (slot, &x) in to.iter_mut().zip(from) {
        *slot = x - top;
    }
    if !log {
        Exp::default().map_mut(to);
        let total = fold(to, 0.0, |sum, x| sum + x);
        to.iter_mut().for_each(|slot| *slot /= total);
        return true;
    }
    let mut total = 0.0;
    let mut powers = [0.0; 256];
    for part in to.chunks(powers.len()) {
        let powers = &mut powers[..part.len()];
        powers.copy_from_slice(part);
        Exp::default().map_mut(powers);
        total += fold(powers, 0.0, |sum, x| sum + x);
    }
    let shift = total.ln();
    to.iter_mut().for_each(|slot| *slot -= shift);
    true
}

fn fold(values: &[f32], start: f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, value);
        }
    }
    let folded = lanes.into_iter().fold(start, &join);
    rest.iter().copied().fold(folded, &join)
}

/// # Safety
/// Both pointers are valid for `size` elements `step` apart.
unsafe fn one_line<T: Real>(from: *const T, to: *mut T, size: usize, step: usize, log: bool) {
    // SAFETY: the caller's promise covers every access below.
    unsafe {
        let mut top = T::LOWEST;
        for k in 0..size {
            let value = from.add(k * step).read_unaligned();
            // A NaN is not greater than anything, but makes the sum NaN.
            if value > top {
                top = value;
            }
        }
        let mut total = T::ZERO;
        for k in 0..size {
            let power = from.add(k * step).read_unaligned().sub(top).exp_of();
            total = total.add(power);
            if !log {
                to.add(k * step).write_unaligned(power);
            }
        }
        let shift = total.ln_of();
        for k in 0..size {
            let at = to.add(k * step);
            if log {
                at.write_unaligned(from.add(k * step).read_unaligned().sub(top).sub(shift));
            } else {
                at.write_unaligned(at.read_unaligned().div(total));
            }
        }
    }
}
