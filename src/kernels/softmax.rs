//! Softmax along one dimension of contiguous CPU memory (benchmarks/ops.py: softmax rows).

use rayon::prelude::*;

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
}

macro_rules! real {
    ($($type:ty),+) => { $(
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
        }
    )+ };
}

real!(f32, f64);

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
        unsafe { one_line(from.cast::<T>().add(start), to.cast::<T>().add(start), size, inner, log) };
    };
    if numel < PARALLEL_ABOVE {
        (0..lines).for_each(each);
    } else {
        (0..lines).into_par_iter().with_min_len((PARALLEL_ABOVE / 8 / size.max(1)).max(1)).for_each(each);
    }
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
