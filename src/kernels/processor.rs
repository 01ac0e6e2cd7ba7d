//! What is known of the processor beside its instructions (benchmarks/bars.py: add, relu, add 16M, convolutions of
//! 512-512, optimizers, gather).

use std::sync::OnceLock;

/// Bytes of the largest cache that is near its cores. On Intel's servers it is the second one, since the shared third was
/// no faster than the way past it; the third of AMD is two to three times as fast as memory (Zen 4, results of 4 MB).
pub fn near() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| third_of_amd().unwrap_or(0).max(2 << 20))
}

/// Bytes of a result from which on it is written past the caches: a plain store first reads the line that it overwrites,
/// and of a result larger than the cache nothing is left there for whoever reads it next.
pub fn streamed_above() -> usize {
    (near() / 2).max(3 << 20)
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

/// The bytes of the third cache that a core of AMD shares with its neighbours.
#[cfg(target_arch = "x86_64")]
fn third_of_amd() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const CACHES: u32 = 0x8000_001d;
    if !is_amd() || __cpuid(0x8000_0000).eax < CACHES {
        return None;
    }
    let third = (0..8).map(|index| __cpuid_count(CACHES, index)).find(|cache| (cache.eax >> 5) & 7 == 3)?;
    let (ways, parts, line) = ((third.ebx >> 22) + 1, ((third.ebx >> 12) & 0x3ff) + 1, (third.ebx & 0xfff) + 1);
    [ways, parts, line, third.ecx.checked_add(1)?].iter().try_fold(1usize, |size, &n| size.checked_mul(n as usize))
}

#[cfg(not(target_arch = "x86_64"))]
fn third_of_amd() -> Option<usize> {
    None
}
