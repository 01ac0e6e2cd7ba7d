//! Loops of float32 functions compiled for each vector width, chosen at run time (benchmarks/bars.py: elementwise).

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use super::pointwise::{Strided, each_row};

/// A function of `N` numbers without branches, so that its loop vectorises.
pub trait Lanes<const N: usize>: Sync {
    /// Magnitude of the last number above which `far` answers.
    const NEAR: f32 = f32::INFINITY;
    fn at<const FMA: bool>(&self, x: [f32; N]) -> f32;
    fn far(&self, x: [f32; N]) -> f32 {
        self.at::<false>(x)
    }
}

/// The widest vectors that are used, in bits: what the processor has, or less where `PYBURN_VECTORS` says so.
#[cfg(target_arch = "x86_64")]
pub fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let fused = is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2");
        let widest = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq");
        let own = match (fused, widest) {
            (true, true) => 512,
            (true, false) => 256,
            _ => 128,
        };
        let wanted = std::env::var("PYBURN_VECTORS").ok().and_then(|text| text.parse().ok());
        wanted.map_or(own, |wanted: usize| wanted.min(own))
    })
}

/// Work that is compiled for each vector width; `run` is `#[inline(always)]`.
pub trait Task {
    fn run<const FMA: bool>(self);
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn task_512(task: impl Task) {
    task.run::<true>();
}

/// # Safety
/// The processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn task_256(task: impl Task) {
    task.run::<true>();
}

/// Runs the task with the widest vectors that the processor has.
pub fn dispatch(task: impl Task) {
    #[cfg(target_arch = "x86_64")]
    {
        let width = width();
        // SAFETY: a width stands for instructions that the processor has.
        unsafe {
            if width >= 512 {
                task_512(task);
            } else if width >= 256 {
                task_256(task);
            } else {
                task.run::<false>();
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    task.run::<{ cfg!(target_arch = "aarch64") }>();
}

/// A function that needs no fused multiplication.
pub struct Plain<F>(pub F);

impl<F: Fn(f32) -> f32 + Sync> Lanes<1> for Plain<F> {
    #[inline(always)]
    fn at<const FMA: bool>(&self, [x]: [f32; 1]) -> f32 {
        (self.0)(x)
    }
}

impl<F: Fn(f32, f32) -> f32 + Sync> Lanes<2> for Plain<F> {
    #[inline(always)]
    fn at<const FMA: bool>(&self, [grad, x]: [f32; 2]) -> f32 {
        (self.0)(grad, x)
    }
}

/// Elements that are brought together before a strided row is computed.
const BLOCK: usize = 256;

/// # Safety
/// All pointers are valid for `length` elements.
#[inline(always)]
unsafe fn sweep<const N: usize, const FMA: bool, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) {
    for k in 0..length {
        let mut x = [0.0; N];
        for (slot, from) in x.iter_mut().zip(from) {
            // SAFETY: the caller's.
            *slot = unsafe { from.add(k).read_unaligned() };
        }
        // SAFETY: the caller's.
        unsafe { to.add(k).write_unaligned(lanes.at::<FMA>(x)) };
    }
}

/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn sweep_512<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's.
    unsafe { sweep::<N, true, L>(lanes, from, to, length) }
}

/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_256<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's.
    unsafe { sweep::<N, true, L>(lanes, from, to, length) }
}

/// # Safety
/// All pointers are valid for `length` elements, and the inputs do not overlap the result.
unsafe fn run<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's, and a width stands for instructions that the processor has.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let width = width();
            if width >= 512 {
                sweep_512(lanes, from, to, length);
            } else if width >= 256 {
                sweep_256(lanes, from, to, length);
            } else {
                sweep::<N, false, L>(lanes, from, to, length);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        sweep::<N, { cfg!(target_arch = "aarch64") }, L>(lanes, from, to, length);
        if L::NEAR.is_finite() {
            far_ones(lanes, from, to, length);
        }
    }
}

/// Computes once more what lies beyond the reach of the vectorised function.
///
/// # Safety
/// As `run`.
unsafe fn far_ones<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    let last = from[N - 1];
    // SAFETY: the caller's.
    unsafe {
        let is_far = |k: usize| last.add(k).read_unaligned().abs() > L::NEAR;
        if !(0..length).fold(false, |any, k| any | is_far(k)) {
            return;
        }
        for k in (0..length).filter(|&k| is_far(k)) {
            to.add(k).write_unaligned(lanes.far(from.map(|from| from.add(k).read_unaligned())));
        }
    }
}

/// One row of any strides: what does not lie side by side, or is overwritten, is copied block by block.
///
/// # Safety
/// All pointers are valid for `length` elements at their strides.
unsafe fn row<const N: usize, L: Lanes<N>>(
    lanes: &L,
    (to, step): (*mut f32, usize),
    from: [(*const f32, usize); N],
    length: usize,
) {
    let apart = |from: *const f32| to.wrapping_add(length).cast_const() <= from || from.wrapping_add(length) <= to;
    // SAFETY: the caller's; `apart` holds for what is not copied.
    unsafe {
        if step == 1 && from.iter().all(|&(from, step)| step == 1 && apart(from)) {
            return run(lanes, from.map(|(from, _)| from), to, length);
        }
        let (mut blocks, mut result) = ([[0.0; BLOCK]; N], [0.0; BLOCK]);
        for start in (0..length).step_by(BLOCK) {
            let count = BLOCK.min(length - start);
            for (block, (from, step)) in blocks.iter_mut().zip(from) {
                for (k, slot) in block[..count].iter_mut().enumerate() {
                    *slot = from.add((start + k) * step).read_unaligned();
                }
            }
            let inputs: [*const f32; N] = std::array::from_fn(|index| blocks[index].as_ptr());
            run(lanes, inputs, result.as_mut_ptr(), count);
            for (k, value) in result[..count].iter().enumerate() {
                to.add((start + k) * step).write_unaligned(*value);
            }
        }
    }
}

/// `out = f(a)`. `out` may be `a` itself.
pub fn map1(shape: &[usize], out: Strided<'_>, a: Strided<'_>, f: &impl Lanes<1>) {
    each_row(shape, [out, a], &|[o, i], length, [so, si]| {
        // SAFETY: rows stay inside the geometries, which lie inside their storages.
        unsafe { row(f, (out.at(o), so), [(a.at(i), si)], length) }
    });
}

/// `out = f(a, b)`. `out` may be `a` or `b` itself.
pub fn map2(shape: &[usize], out: Strided<'_>, a: Strided<'_>, b: Strided<'_>, f: &impl Lanes<2>) {
    each_row(shape, [out, a, b], &|[o, i, j], length, [so, si, sj]| {
        // SAFETY: as in `map1`.
        unsafe { row(f, (out.at(o), so), [(a.at(i), si), (b.at(j), sj)], length) }
    });
}
