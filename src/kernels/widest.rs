//! Work that is compiled for each kind of vectors, with the widest chosen at run time (benchmarks/bars.py: convolutions).

use super::simd::{Plain, Simd};
#[cfg(target_arch = "x86_64")]
use super::{
    simd::{Avx2, Avx512},
    vector::width,
};

/// Work that names its vectors; `run` is `#[inline(always)]`.
pub trait Work {
    /// # Safety
    /// The processor has the instructions of `S`.
    unsafe fn run<S: Simd>(self);
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn with_512(work: impl Work) {
    // SAFETY: the caller's.
    unsafe { work.run::<Avx512>() }
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_256(work: impl Work) {
    // SAFETY: the caller's.
    unsafe { work.run::<Avx2>() }
}

/// Runs the work with the widest vectors that the processor has.
pub fn run(work: impl Work) {
    // SAFETY: a width stands for instructions that the processor has.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        match width() {
            512.. => return with_512(work),
            256.. => return with_256(work),
            _ => {}
        }
        work.run::<Plain>();
    }
}

/// Lanes of the widest vectors that the processor has.
pub fn lanes() -> usize {
    #[cfg(target_arch = "x86_64")]
    return (width() / 32).clamp(Plain::LANES, Avx512::LANES);
    #[cfg(not(target_arch = "x86_64"))]
    Plain::LANES
}

/// Whether vectors are wide enough that parts of them are read at once.
pub fn has_parts() -> bool {
    #[cfg(target_arch = "x86_64")]
    return width() >= 256;
    #[cfg(not(target_arch = "x86_64"))]
    false
}
