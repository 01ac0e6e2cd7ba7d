//! What is known of the processor beside its instructions (benchmarks/bars.py: add, relu, add 16M, convolutions of
//! 512-512, optimizers, gather).

use std::sync::OnceLock;

/// Bytes of the largest cache that is near its cores. On Intel's servers it is the second one, since the shared third was
/// no faster than the way past it; the third of AMD is two to three times as fast as memory (Zen 4, results of 4 MB).
pub fn near() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| if is_amd() { cache(3) } else { 0 }.max(LARGE_SECOND))
}

/// Whether it is one of Intel's with a second cache that is smaller than that.
fn is_before_large_second() -> bool {
    static BEFORE: OnceLock<bool> = OnceLock::new();
    *BEFORE.get_or_init(|| !is_amd() && (1..LARGE_SECOND).contains(&cache(2)))
}

/// Whether products ask for the columns of the depths to come (Cascade Lake: 2048 81 ms, so 73).
pub fn asks_for_columns() -> bool {
    is_before_large_second()
}

/// Bytes of the second cache of Intel's servers since Sapphire Rapids.
const LARGE_SECOND: usize = 2 << 20;

/// Bytes of the third cache where writing past it is never faster, before Sapphire Rapids (Cascade
/// Lake, relu: results of 4 MB 220 us through the caches and 389 past them, of 64 MB 7.6 ms both).
fn held() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| if is_before_large_second() { cache(3) } else { 0 })
}

/// Bytes of a result from which on it is written past the caches: a plain store first reads the line that it overwrites,
/// and of a result larger than the cache nothing is left there for whoever reads it next.
pub fn streamed_above() -> usize {
    (near() / 2).max(3 << 20).max(held())
}

/// As `streamed_above`, of results of which as much is read as is written and nothing twice: from 6 MB on with Intel
/// (layer_norm of 4000 rows of 1000: 605 us through the caches, 536 past them; 1000 rows 123 and 131), and where both are
/// larger than AMD's third cache by halves.
pub fn passed_above() -> usize {
    (near() / 8 * 3).max(6 << 20).max(held())
}

/// As `streamed_above`, of elements that are gathered.
#[cfg(target_arch = "x86_64")]
pub fn gathered_above() -> usize {
    (near() / 4).max(6 << 20).max(held())
}

/// Whether to ask for memory that comes next in a plain stream: Intel's servers do not by themselves look beyond a page,
/// while AMD's do, and such questions only take their time (Zen 4: SGD 2.9 ms with them, 2.4 without; sums of rows 56 us
/// and 43).
pub fn asks_ahead() -> bool {
    !is_amd()
}

/// Asks for the line of the cache that holds an address; where nothing lies there, nothing happens.
#[inline(always)]
pub fn ask<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing and may be given for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Whether instructions that gather are faster than single loads, which on AMD they are not (Zen 4: 534 us a million with
/// them, 400 without).
#[cfg(target_arch = "x86_64")]
pub fn gathers() -> bool {
    !is_amd()
}

fn is_amd() -> bool {
    static AMD: OnceLock<bool> = OnceLock::new();
    *AMD.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
            let vendor = std::arch::x86_64::__cpuid(0);
            [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD"
        }
        #[cfg(not(target_arch = "x86_64"))]
        false
    })
}

/// The bytes of a core's cache of this level; zero where the processor does not say.
#[cfg(target_arch = "x86_64")]
fn cache(level: u32) -> usize {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let (leaf, base) = if is_amd() { (0x8000_001d, 0x8000_0000) } else { (4, 0) };
    if __cpuid(base).eax < leaf {
        return 0;
    }
    // The lowest bits say what is kept: 2 stands for instructions alone, 0 behind the last cache.
    let kept = |eax: u32| eax & 31 != 2 && eax & 31 != 0;
    let caches = (0..8).map(|index| __cpuid_count(leaf, index));
    let Some(cache) = caches.into_iter().find(|cache| kept(cache.eax) && (cache.eax >> 5) & 7 == level) else {
        return 0;
    };
    let (ways, parts, line) = ((cache.ebx >> 22) + 1, ((cache.ebx >> 12) & 0x3ff) + 1, (cache.ebx & 0xfff) + 1);
    [ways, parts, line, cache.ecx.saturating_add(1)].iter().fold(1usize, |size, &n| size.saturating_mul(n as usize))
}

#[cfg(not(target_arch = "x86_64"))]
fn cache(_: u32) -> usize {
    0
}
