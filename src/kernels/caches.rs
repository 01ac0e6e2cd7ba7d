//! What is known of the processor's caches (benchmarks/bars.py: add, relu, add 16M, convolutions of 512-512).

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

/// The bytes of the third cache that a core of AMD shares with its neighbours.
#[cfg(target_arch = "x86_64")]
fn third_of_amd() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const CACHES: u32 = 0x8000_001d;
    let vendor = __cpuid(0);
    if [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() != b"AuthenticAMD" {
        return None;
    }
    if __cpuid(0x8000_0000).eax < CACHES {
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
