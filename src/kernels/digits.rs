//! Orders keys digit by digit, which keeps equals as they stand (benchmarks/cases.py: large_sort).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;

/// Keys from which on digits pay.
pub const FROM: usize = 1 << 14;
/// Bits of a digit at most: the places where its values go lie in the cache.
const BITS: u32 = 11;
/// Parts that are counted and moved apart.
const PARTS: usize = 4;

/// Runs `task` for each of `parts` parts, on several threads where there are several.
fn each(parts: usize, task: &(dyn Fn(usize) + Sync)) {
    if parts == 1 { task(0) } else { spread_over(parts, 1, task) }
}

/// Moves keys to where their digit, `key >> shift & mask`, and their order say.
fn pass(from: &[u64], to: &mut [u64], shift: u32, mask: u64) {
    let (digits, parts) = (mask as usize + 1, if from.len() < PARALLEL_ABOVE { 1 } else { PARTS });
    let part = from.len().div_ceil(parts);
    let keys = |number: usize| from.get(number * part..).map_or(&[][..], |rest| rest.get(..part).unwrap_or(rest));
    let mut starts = vec![0usize; parts * digits];
    let counts = Shared::of(&mut starts);
    each(parts, &|number| {
        // SAFETY: each part has counts of its own.
        let own = unsafe { counts.slice(number * digits, digits) };
        keys(number).iter().for_each(|&key| own[(key >> shift & mask) as usize] += 1);
    });
    let mut before = 0;
    for digit in 0..digits {
        for number in 0..parts {
            let slot = &mut starts[number * digits + digit];
            before += std::mem::replace(slot, before);
        }
    }
    let (places, to) = (Shared::of(&mut starts), Shared::of(to));
    each(parts, &|number| {
        // SAFETY: each part has places of its own.
        let own = unsafe { places.slice(number * digits, digits) };
        for &key in keys(number) {
            let slot = &mut own[(key >> shift & mask) as usize];
            // SAFETY: the places of all keys together are the numbers below their count, each once.
            unsafe { to.at(*slot).write(key) };
            *slot += 1;
        }
    });
}

/// Orders keys by their upper 32 bits, equals as they stand.
pub fn by_upper_half(keys: &mut Vec<u64>) {
    let first = keys.first().copied().unwrap_or(0);
    let varying = keys.iter().fold(0, |bits, &key| bits | key ^ first) >> 32;
    let bits = u64::BITS - varying.leading_zeros();
    if bits == 0 {
        return;
    }
    let passes = bits.div_ceil(BITS);
    let width = bits.div_ceil(passes);
    let mut other = vec![0; keys.len()];
    for number in 0..passes {
        pass(keys, &mut other, 32 + number * width, (1 << width) - 1);
        std::mem::swap(keys, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_order_and_equals_as_before() {
        for (length, range) in [(0, 1), (5, 3), (1000, 7), (100_000, 1000), (100_000, 1 << 32), (70_000, 1)] {
            let mut seed = 1u64;
            let mut keys: Vec<u64> = (0..length)
                .map(|at| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (((seed >> 32) % range) << 32) | at
                })
                .collect();
            let mut expected = keys.clone();
            expected.sort();
            by_upper_half(&mut keys);
            assert_eq!(keys, expected);
        }
    }
}
