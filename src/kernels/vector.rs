//! Loops of float32 functions compiled for each vector width, chosen at run time (benchmarks/bars.py: elementwise).

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::cell::Cell;
use std::mem::MaybeUninit;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use super::iterate::Block;
use super::pointwise::{Strided, each_block};
use super::processor::streamed_above;
use super::turned;

/// A function of `N` numbers without branches, so that its loop vectorises.
pub trait Lanes<const N: usize>: Sync {
    /// Magnitude of the last number above which `far` answers.
    const NEAR: f32 = f32::INFINITY;
    fn at<const FMA: bool>(&self, x: [f32; N]) -> f32;
    /// Whether `far` answers; where it is not the magnitude that decides, `wide` answers itself.
    #[inline(always)]
    fn is_far(&self, x: [f32; N]) -> bool {
        x[N - 1].abs() > Self::NEAR
    }
    fn far(&self, x: [f32; N]) -> f32 {
        self.at::<false>(x)
    }
    /// Whether `whole` answers first where `far` would: slower than `at`, but a loop of vectors too.
    const WHOLE: bool = false;
    fn whole<const FMA: bool>(&self, x: [f32; N]) -> f32 {
        self.at::<FMA>(x)
    }
    /// Whether `whole` has no answer.
    #[inline(always)]
    fn is_beyond(&self, _x: [f32; N]) -> bool {
        false
    }
    /// Whether `wide` computes 16 at once.
    const WIDE: bool = false;
    /// # Safety
    /// The processor has AVX-512.
    #[cfg(target_arch = "x86_64")]
    unsafe fn wide(&self, x: [__m512; N]) -> __m512 {
        x[0]
    }
    /// Whether `narrow` computes 8 at once, for what has an instruction that `at` cannot name; none is far then.
    const NARROW: bool = false;
    /// # Safety
    /// The processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn narrow(&self, x: [__m256; N]) -> __m256 {
        x[0]
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

/// As `dispatch`, with AVX2 at most: for the loops of many types, of which each version takes its time to compile.
pub fn dispatch_narrow(task: impl Task) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: a width stands for instructions that the processor has.
        unsafe {
            if width() >= 256 {
                task_256(task);
            } else {
                task.run::<false>();
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    task.run::<{ cfg!(target_arch = "aarch64") }>();
}

/// `Lanes::whole` of a function.
struct Whole<'a, L>(&'a L);

impl<const N: usize, L: Lanes<N>> Lanes<N> for Whole<'_, L> {
    #[inline(always)]
    fn at<const FMA: bool>(&self, x: [f32; N]) -> f32 {
        self.0.whole::<FMA>(x)
    }
    #[inline(always)]
    fn is_far(&self, x: [f32; N]) -> bool {
        self.0.is_beyond(x)
    }
    fn far(&self, x: [f32; N]) -> f32 {
        self.0.far(x)
    }
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
/// Elements that are computed once more where some of them lie beyond a function's reach.
const FAR_BLOCK: usize = 2048;
/// Elements that are computed before they are written past the caches: so few that a processor computes the next ones
/// meanwhile.
#[cfg(target_arch = "x86_64")]
const PAST: usize = 64;

/// Elements of a row from which on it is written in whole lines of the cache.
#[cfg(target_arch = "x86_64")]
pub const ALIGNED: usize = 256;

/// Computes a row, and says whether a number lies beyond the function's reach.
///
/// # Safety
/// All pointers are valid for `length` elements.
#[inline(always)]
unsafe fn sweep<const N: usize, const FMA: bool, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    let mut far = false;
    for k in 0..length {
        let mut x = [0.0; N];
        for (slot, from) in x.iter_mut().zip(from) {
            // SAFETY: the caller's.
            *slot = unsafe { from.add(k).read_unaligned() };
        }
        far |= lanes.is_far(x);
        // SAFETY: the caller's.
        unsafe { to.add(k).write_unaligned(lanes.at::<FMA>(x)) };
    }
    far
}

/// As `sweep`, with `Lanes::wide`; past the caches where `STREAM`, for which `to` is aligned to its elements.
///
/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn sweep_wide<const N: usize, const STREAM: bool, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    let (near, far) = (_mm512_set1_ps(L::NEAR), Cell::new(0));
    let value = |x: [__m512; N]| {
        if L::NEAR.is_finite() {
            far.set(far.get() | _mm512_cmp_ps_mask::<_CMP_GT_OQ>(_mm512_abs_ps(x[N - 1]), near));
        }
        // SAFETY: the caller's.
        unsafe { lanes.wide(x) }
    };
    let part = |at: usize, count: usize| {
        let mask = (1 << count) - 1;
        // SAFETY: the caller's; the mask keeps the step inside.
        unsafe {
            let x = from.map(|from| _mm512_maskz_loadu_ps(mask, from.add(at)));
            _mm512_mask_storeu_ps(to.add(at), mask, value(x));
        }
    };
    // Vectors that lie across two lines of the cache take twice as long to write, not to read (Zen 5: relu of an expanded
    // row of 1000 26 us a million, 21 in whole lines).
    let head = if STREAM || (length >= ALIGNED && to.is_aligned()) { to.align_offset(64).min(length) } else { 0 };
    let end = head + (length - head) / 16 * 16;
    if head > 0 {
        part(0, head);
    }
    // SAFETY: the caller's.
    unsafe {
        for at in (head..end).step_by(16) {
            let y = value(from.map(|from| _mm512_loadu_ps(from.add(at))));
            if STREAM {
                for from in from {
                    _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + 512).cast());
                }
                _mm512_stream_ps(to.add(at), y);
            } else {
                _mm512_storeu_ps(to.add(at), y);
            }
        }
    }
    // Results are written in their order: one that is far from the last makes all others wait.
    if end < length {
        part(end, length - end);
    }
    far.get() != 0
}

/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn sweep_512<const N: usize, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    // SAFETY: the caller's.
    unsafe {
        if L::WIDE {
            sweep_wide::<N, false, L>(lanes, from, to, length)
        } else {
            sweep::<N, true, L>(lanes, from, to, length)
        }
    }
}

/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_256<const N: usize, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    // SAFETY: the caller's.
    unsafe { sweep_fused(lanes, from, to, length) }
}

/// As `sweep`, with `Lanes::narrow` where there is one.
///
/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_fused<const N: usize, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    // SAFETY: the caller's; the last few go through a vector of their own.
    unsafe {
        if !L::NARROW {
            return sweep::<N, true, L>(lanes, from, to, length);
        }
        let step = |at: usize| {
            let mut x = [_mm256_setzero_ps(); N];
            for (slot, from) in x.iter_mut().zip(from) {
                *slot = _mm256_loadu_ps(from.add(at));
            }
            _mm256_storeu_ps(to.add(at), lanes.narrow(x));
        };
        let (most, end) = (length / 32 * 32, length / 8 * 8);
        for at in (0..most).step_by(32) {
            step(at);
            step(at + 8);
            step(at + 16);
            step(at + 24);
        }
        for at in (most..end).step_by(8) {
            step(at);
        }
        if end < length {
            let mut x = [_mm256_setzero_ps(); N];
            let mut rest = [0.0; 8];
            for (slot, from) in x.iter_mut().zip(from) {
                std::ptr::copy_nonoverlapping(from.add(end), rest.as_mut_ptr(), length - end);
                *slot = _mm256_loadu_ps(rest.as_ptr());
            }
            _mm256_storeu_ps(rest.as_mut_ptr(), lanes.narrow(x));
            std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(end), length - end);
        }
    }
    false
}

/// As `sweep`, past the caches; `to` is aligned to its elements.
///
/// # Safety
/// As `sweep`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_past<const N: usize, L: Lanes<N>>(
    lanes: &L,
    from: [*const f32; N],
    to: *mut f32,
    length: usize,
) -> bool {
    let head = to.align_offset(32).min(length);
    let end = head + (length - head) / PAST * PAST;
    let mut block = [0.0; PAST];
    // SAFETY: the caller's; a block has room for what is computed at once.
    unsafe {
        let mut far = sweep_fused(lanes, from, to, head);
        for at in (head..end).step_by(PAST) {
            far |= sweep_fused(lanes, from.map(|from| from.add(at)), block.as_mut_ptr(), PAST);
            for k in (0..PAST).step_by(8) {
                _mm256_stream_ps(to.add(at + k), _mm256_loadu_ps(block.as_ptr().add(k)));
            }
        }
        far | sweep_fused(lanes, from.map(|from| from.add(end)), to.add(end), length - end)
    }
}

/// # Safety
/// All pointers are valid for `length` elements, and the inputs do not overlap the result.
pub(super) unsafe fn run<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    for start in (0..length).step_by(FAR_BLOCK) {
        let count = FAR_BLOCK.min(length - start);
        // SAFETY: the caller's.
        unsafe {
            let (from, to) = (from.map(|from| from.add(start)), to.add(start));
            if swept(lanes, from, to, count) {
                far_block(lanes, from, to, count);
            }
        }
    }
}

/// `sweep` with the widest vectors that the processor has.
///
/// # Safety
/// As `run`.
#[inline]
unsafe fn swept<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) -> bool {
    // SAFETY: the caller's, and a width stands for instructions that the processor has.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        return match width() {
            512.. => sweep_512(lanes, from, to, length),
            256.. => sweep_256(lanes, from, to, length),
            _ => sweep::<N, false, L>(lanes, from, to, length),
        };
        #[cfg(not(target_arch = "x86_64"))]
        sweep::<N, { cfg!(target_arch = "aarch64") }, L>(lanes, from, to, length)
    }
}

/// Computes once more what lies beyond the reach of the vectorised function.
///
/// # Safety
/// As `run`.
#[cold]
unsafe fn far_block<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's.
    unsafe {
        if !L::WHOLE {
            return far_ones(lanes, from, to, length);
        }
        let whole = Whole(lanes);
        let mut block = [MaybeUninit::<f32>::uninit(); BLOCK];
        for start in (0..length).step_by(BLOCK) {
            let (count, from, to) = (BLOCK.min(length - start), from.map(|from| from.add(start)), to.add(start));
            if swept(&whole, from, block.as_mut_ptr().cast(), count) {
                far_ones(&whole, from, block.as_mut_ptr().cast(), count);
            }
            dispatch(Merge { lanes, from, values: block.as_ptr().cast(), to, length: count });
        }
    }
}

/// What is far from `values`; the others stay what they are among neighbours of any kind. Without branches, which would
/// be guessed wrong half of the time where signs are mixed.
struct Merge<'a, const N: usize, L> {
    lanes: &'a L,
    from: [*const f32; N],
    values: *const f32,
    to: *mut f32,
    length: usize,
}

impl<const N: usize, L: Lanes<N>> Task for Merge<'_, N, L> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { lanes, from, values, to, length } = self;
        for k in 0..length {
            let mut x = [0.0; N];
            // SAFETY: whoever makes it vouches for `length` elements at all pointers.
            unsafe {
                for (slot, from) in x.iter_mut().zip(from) {
                    *slot = from.add(k).read_unaligned();
                }
                let (near, far) = (to.add(k).read_unaligned(), values.add(k).read_unaligned());
                to.add(k).write_unaligned(if lanes.is_far(x) { far } else { near });
            }
        }
    }
}

/// # Safety
/// As `run`.
#[cold]
unsafe fn far_ones<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's.
    unsafe {
        for k in 0..length {
            let x = from.map(|from| from.add(k).read_unaligned());
            if lanes.is_far(x) {
                to.add(k).write_unaligned(lanes.far(x));
            }
        }
    }
}

/// A long row of a large result, past the caches: a part of `spread_over`, which makes it visible to other threads.
///
/// # Safety
/// As `run`, on a processor with AVX2 at least; `to` is aligned, and the function is `WIDE`.
#[cfg(target_arch = "x86_64")]
unsafe fn run_streamed<const N: usize, L: Lanes<N>>(lanes: &L, from: [*const f32; N], to: *mut f32, length: usize) {
    // SAFETY: the caller's, and a width stands for instructions that the processor has.
    unsafe {
        if width() >= 512 {
            if sweep_wide::<N, true, L>(lanes, from, to, length) {
                far_block(lanes, from, to, length);
            }
            return;
        }
        for start in (0..length).step_by(FAR_BLOCK) {
            let (count, from, to) = (FAR_BLOCK.min(length - start), from.map(|from| from.add(start)), to.add(start));
            if sweep_past(lanes, from, to, count) {
                far_block(lanes, from, to, count);
            }
        }
    }
}

/// One row of any strides: what does not lie side by side, or is overwritten, is copied block by block.
///
/// # Safety
/// All pointers are valid for `length` elements at their strides.
pub(super) unsafe fn row<const N: usize, L: Lanes<N>>(
    lanes: &L,
    (to, step): (*mut f32, usize),
    from: [(*const f32, usize); N],
    length: usize,
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))] large: bool,
) {
    let apart = |from: *const f32| to.wrapping_add(length).cast_const() <= from || from.wrapping_add(length) <= to;
    // Vectors that are read whole before they are written may take the place of what they are computed from.
    #[cfg(target_arch = "x86_64")]
    let own = |from: *const f32| {
        let whole = if width() >= 512 { L::WIDE && L::NEAR.is_infinite() } else { L::NARROW && width() == 256 };
        whole && from == to.cast_const()
    };
    #[cfg(not(target_arch = "x86_64"))]
    let own = |_: *const f32| false;
    let plain = from.map(|(from, step)| step == 1 && (apart(from) || own(from)));
    // SAFETY: the caller's; `apart` holds for what is not copied.
    unsafe {
        if step == 1 && plain.iter().all(|&plain| plain) {
            let from = from.map(|(from, _)| from);
            #[cfg(target_arch = "x86_64")]
            if large
                && L::WIDE
                && length >= LONG
                && width() >= 256
                && to.is_aligned()
                && from.iter().all(|&from| apart(from))
            {
                return run_streamed(lanes, from, to, length);
            }
            return run(lanes, from, to, length);
        }
        let mut blocks = [[MaybeUninit::<f32>::uninit(); BLOCK]; N];
        let mut result = [MaybeUninit::<f32>::uninit(); BLOCK];
        for start in (0..length).step_by(BLOCK) {
            let count = BLOCK.min(length - start);
            let mut inputs = from.map(|(from, step)| from.add(start * step));
            for (index, (block, (_, step))) in blocks.iter_mut().zip(from).enumerate() {
                if plain[index] {
                    continue;
                }
                // One number for all is there since the first block.
                if step != 0 || start == 0 {
                    for (k, slot) in block[..count].iter_mut().enumerate() {
                        slot.write(inputs[index].add(k * step).read_unaligned());
                    }
                }
                inputs[index] = block.as_ptr().cast();
            }
            if step == 1 {
                // What is read from here on is apart, or copied.
                run(lanes, inputs, to.add(start), count);
                continue;
            }
            run(lanes, inputs, result.as_mut_ptr().cast(), count);
            for (k, value) in result[..count].iter().enumerate() {
                to.add((start + k) * step).write_unaligned(value.assume_init());
            }
        }
    }
}

/// Elements of a row from which on the ends, which are written in part, do not matter (relu of an expanded row of 1000: 92 us
/// past the caches, 80 through them).
#[cfg(target_arch = "x86_64")]
const LONG: usize = 2048;

fn is_large(numel: usize) -> bool {
    numel >= streamed_above() / size_of::<f32>()
}

/// Whether rows of `T` are computed by AVX-512.
pub fn is_wide<T: 'static>() -> bool {
    #[cfg(target_arch = "x86_64")]
    let wide = width() >= 512;
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    wide && std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>()
}

/// Whether rows of `T`, which is float32, are computed by AVX2 at least.
pub fn is_fused_for<T: 'static>() -> bool {
    is_fused() && std::any::TypeId::of::<T>() == std::any::TypeId::of::<f32>()
}

/// Whether loops over float32 functions have vectors of eight numbers at least.
pub fn is_fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    return width() >= 256;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Where rows begin, elements from one to the next, and from one element to the next.
type Lines<P> = (P, usize, usize);

/// Rows of any strides: short ones that lie side by side and apart from the result in one call, others one by one.
///
/// # Safety
/// All pointers are valid for `rows` times `length` elements at their strides.
unsafe fn block<const N: usize, L: Lanes<N>>(
    lanes: &L,
    to: Lines<*mut f32>,
    from: [Lines<*const f32>; N],
    (rows, length): (usize, usize),
    large: bool,
) {
    // SAFETY: the caller's.
    unsafe {
        if repeated(lanes, to, from, (rows, length), large) {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if rows > 1
            && length <= FAR_BLOCK
            && !large
            && (L::WIDE && width() >= 512 || L::NARROW && width() == 256)
            && to.2 == 1
        {
            let end = |(first, step, _): Lines<*const f32>| first.wrapping_add((rows - 1) * step + length);
            let out = (to.0.cast_const(), to.1, to.2);
            if from.iter().all(|&from| from.2 == 1 && (end(out) <= from.0 || end(from) <= out.0)) {
                let from = from.map(|(first, step, _)| (first, step));
                return match width() {
                    512.. => sweep_rows(lanes, (to.0, to.1), from, rows, length),
                    _ => sweep_rows_256(lanes, (to.0, to.1), from, rows, length),
                };
            }
        }
        let apart = to.2 != 1 || from.iter().any(|from| from.2 > 1);
        if length < if apart { SHORT } else { SHORT / 2 } && rows > length {
            // Columns instead, of as many rows as a block has room for.
            for (first, column) in (0..rows).step_by(BLOCK).flat_map(|first| (0..length).map(move |at| (first, at))) {
                let at = |step: usize, stride: usize| first * step + column * stride;
                let from = from.map(|(from, step, stride)| (from.wrapping_add(at(step, stride)), step));
                let to = (to.0.wrapping_add(at(to.1, to.2)), to.1);
                row(lanes, to, from, BLOCK.min(rows - first), false);
            }
            return;
        }
        for k in 0..rows {
            let from = from.map(|(first, step, stride)| (first.wrapping_add(k * step), stride));
            row(lanes, (to.0.wrapping_add(k * to.1), to.2), from, length, large);
        }
    }
}

/// Elements of a row that all rows share, up to which it is repeated: colours, say, of pixels.
pub const SHORT: usize = 16;

/// Short rows that lie one behind the other in some operands and are the same for all in others, as long rows; false, with
/// nothing done, elsewhere.
///
/// # Safety
/// As `block`.
unsafe fn repeated<const N: usize, L: Lanes<N>>(
    lanes: &L,
    to: Lines<*mut f32>,
    from: [Lines<*const f32>; N],
    (rows, length): (usize, usize),
    large: bool,
) -> bool {
    let behind = |step: usize, stride: usize| step == length && stride == 1;
    let fit = behind(to.1, to.2) && from.iter().all(|&(_, step, stride)| step == 0 || behind(step, stride));
    if rows < SHORT || !(2..=SHORT).contains(&length) || !fit {
        return false;
    }
    let together = (BLOCK / length).min(rows);
    let mut blocks = [[MaybeUninit::<f32>::uninit(); BLOCK]; N];
    // SAFETY: the caller's; blocks have room for `together` rows.
    unsafe {
        for (block, (first, _, stride)) in blocks.iter_mut().zip(from).filter(|(_, (_, step, _))| *step == 0) {
            for (k, slot) in block[..length].iter_mut().enumerate() {
                slot.write(first.add(k * stride).read_unaligned());
            }
            let mut filled = length;
            while filled < together * length {
                let count = filled.min(together * length - filled);
                block.copy_within(..count, filled);
                filled += count;
            }
        }
        for start in (0..rows).step_by(together) {
            let inputs = std::array::from_fn(|index| match from[index] {
                (_, 0, _) => (blocks[index].as_ptr().cast(), 1),
                (first, ..) => (first.wrapping_add(start * length), 1),
            });
            let count = together.min(rows - start) * length;
            row(lanes, (to.0.wrapping_add(start * length), 1), inputs, count, large);
        }
    }
    true
}

/// `run` for short rows, each given with the elements from one to the next.
///
/// # Safety
/// As `run`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn sweep_rows<const N: usize, L: Lanes<N>>(
    lanes: &L,
    (to, step): (*mut f32, usize),
    from: [(*const f32, usize); N],
    rows: usize,
    length: usize,
) {
    for k in 0..rows {
        // SAFETY: the caller's.
        unsafe {
            let (from, to) = (from.map(|(first, step)| first.add(k * step)), to.add(k * step));
            if sweep_wide::<N, false, L>(lanes, from, to, length) {
                far_block(lanes, from, to, length);
            }
        }
    }
}

/// As `sweep_rows`, of a function that has a `narrow`.
///
/// # Safety
/// As `run`, on a processor with these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_rows_256<const N: usize, L: Lanes<N>>(
    lanes: &L,
    (to, step): (*mut f32, usize),
    from: [(*const f32, usize); N],
    rows: usize,
    length: usize,
) {
    for k in 0..rows {
        // SAFETY: the caller's.
        unsafe { sweep_fused(lanes, from.map(|(first, step)| first.add(k * step)), to.add(k * step), length) };
    }
}

/// `out = f(a)`. `out` may be `a` itself.
pub fn map1(shape: &[usize], out: Strided<'_>, a: Strided<'_>, f: &impl Lanes<1>) {
    if let Some(plan) = turned::Plan::new(shape, [out, a]) {
        return plan.run(f);
    }
    let large = is_large(shape.iter().product());
    each_block(shape, [out, a], &|[o, i], Block { rows, steps: [ro, ri], length, strides: [so, si] }| {
        // SAFETY: rows stay inside the geometries, which lie inside their storages.
        unsafe { block(f, (out.at(o), ro, so), [(a.at(i), ri, si)], (rows, length), large) }
    });
}

/// `out = f(a, b)`. `out` may be `a` or `b` itself.
pub fn map2(shape: &[usize], out: Strided<'_>, a: Strided<'_>, b: Strided<'_>, f: &impl Lanes<2>) {
    if let Some(plan) = turned::Plan::new(shape, [out, a, b]) {
        return plan.run(f);
    }
    let large = is_large(shape.iter().product());
    each_block(shape, [out, a, b], &|[o, i, j], Block { rows, steps: [ro, ri, rj], length, strides: [so, si, sj] }| {
        // SAFETY: as in `map1`.
        unsafe { block(f, (out.at(o), ro, so), [(a.at(i), ri, si), (b.at(j), rj, sj)], (rows, length), large) }
    });
}
