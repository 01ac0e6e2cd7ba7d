//! Images of bytes in another size, by 16-bit weights, as torch has them (benchmarks/bars.py: resize bytes).

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;

/// How many inputs one step along a row reads.
const STEP: usize = 8;

/// The weights along one dimension: each output is a sum of neighbours, over a power of two.
#[derive(Clone, Debug)]
pub struct Weights {
    inputs: usize,
    bits: u32,
    /// Weights for each output, 0 behind those that it needs.
    room: usize,
    firsts: Vec<usize>,
    counts: Vec<usize>,
    weights: Vec<i16>,
}

impl Weights {
    /// From the bits, then for each output its first input, the number of its inputs and their weights; None if
    /// numbers are out of range.
    pub fn new(inputs: usize, numbers: &[i32]) -> Option<Self> {
        let (&bits, mut rest) = numbers.split_first()?;
        let bits = u32::try_from(bits).ok().filter(|bits| (1..=22).contains(bits))?;
        let (mut firsts, mut rows) = (Vec::new(), Vec::new());
        while let [first, count, more @ ..] = rest {
            let (first, count) = (usize::try_from(*first).ok()?, usize::try_from(*count).ok()?);
            let row = more.get(..count)?;
            if first.checked_add(count)? > inputs || count == 0 {
                return None;
            }
            firsts.push(first);
            rows.push(row);
            rest = &more[count..];
        }
        let room = rows.iter().map(|row| row.len()).max()?.next_multiple_of(STEP);
        let mut weights = vec![0; room * rows.len()];
        let mut counts = Vec::with_capacity(rows.len());
        for (output, row) in rows.iter().enumerate() {
            counts.push(row.len());
            // Reading whole steps must not leave the row: the last ones begin earlier, with weights of 0 in front.
            let before = firsts[output].saturating_sub(inputs.saturating_sub(room));
            let before = if inputs >= room { before } else { 0 };
            firsts[output] -= before;
            counts[output] += before;
            for (to, &from) in weights[output * room + before..].iter_mut().zip(*row) {
                *to = i16::try_from(from).ok()?;
            }
        }
        rest.is_empty().then_some(Self { inputs, bits, room, firsts, counts, weights })
    }

    pub fn outputs(&self) -> usize {
        self.firsts.len()
    }

    fn of(&self, output: usize) -> (usize, &[i16]) {
        let start = output * self.room;
        (self.firsts[output], &self.weights[start..start + self.counts[output]])
    }

    fn half(&self) -> i32 {
        1 << (self.bits - 1)
    }

    fn byte(&self, sum: i32) -> u8 {
        (sum >> self.bits).clamp(0, 255) as u8
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    super::vector::width() >= 256
}

/// Rows of `weights.inputs` bytes become rows of `weights.outputs()`.
pub fn along(input: &[u8], output: &mut [u8], weights: &Weights) {
    const GROUP: usize = 4;
    let (from, to) = (weights.inputs, weights.outputs());
    let rows = input.len() / from.max(1);
    let shared = Shared::of(output);
    let least = (PARALLEL_ABOVE / 2 / ((from + to) * GROUP)).max(1);
    spread_over(rows.div_ceil(GROUP), least, &|group| {
        let first = group * GROUP;
        let rows = GROUP.min(rows - first);
        let input = &input[first * from..(first + rows) * from];
        // SAFETY: each group has rows of its own.
        let output = unsafe { shared.slice(first * to, rows * to) };
        #[cfg(target_arch = "x86_64")]
        if rows == GROUP && from >= weights.room && has_avx2() {
            // SAFETY: the processor has the instructions, and no step leaves a row.
            return unsafe { avx2::along_four(input, output, weights) };
        }
        along_plainly(input, output, weights);
    });
}

fn along_plainly(input: &[u8], output: &mut [u8], weights: &Weights) {
    for (from, to) in input.chunks_exact(weights.inputs).zip(output.chunks_exact_mut(weights.outputs())) {
        for (at, slot) in to.iter_mut().enumerate() {
            let (first, taps) = weights.of(at);
            let sum = from[first..].iter().zip(taps).map(|(&value, &tap)| i32::from(value) * i32::from(tap));
            *slot = weights.byte(weights.half() + sum.sum::<i32>());
        }
    }
}

/// Planes of `weights.inputs` rows of `width` bytes become planes of `weights.outputs()` rows.
pub fn down(input: &[u8], output: &mut [u8], width: usize, weights: &Weights) {
    let (from, outputs) = (weights.inputs * width, weights.outputs());
    let planes = input.len() / from.max(1);
    let shared = Shared::of(output);
    let least = (PARALLEL_ABOVE / 2 / (width * weights.room).max(1)).max(1);
    spread_over(planes * outputs, least, &|index| {
        let (plane, at) = (index / outputs, index % outputs);
        let (first, taps) = weights.of(at);
        let rows = &input[plane * from + first * width..][..taps.len() * width];
        // SAFETY: each task has a row of its own.
        let row = unsafe { shared.slice(index * width, width) };
        #[cfg(target_arch = "x86_64")]
        let done = if has_avx2() {
            // SAFETY: the processor has the instructions.
            unsafe { avx2::sum_rows(rows, row, taps, weights) }
        } else {
            0
        };
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        for (column, slot) in row.iter_mut().enumerate().skip(done) {
            let values = rows[column..].iter().step_by(width);
            let sum = values.zip(taps).map(|(&value, &tap)| i32::from(value) * i32::from(tap));
            *slot = weights.byte(weights.half() + sum.sum::<i32>());
        }
    });
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{STEP, Weights};

    /// Four rows at once, which share their weights.
    ///
    /// # Safety
    /// The processor has AVX2, both have four rows, and rows of the input have room for all weights.
    #[target_feature(enable = "avx2")]
    pub unsafe fn along_four(input: &[u8], output: &mut [u8], weights: &Weights) {
        let (width, outputs) = (weights.inputs, weights.outputs());
        let (half, shift) = (_mm_set1_epi32(weights.half()), _mm_cvtsi32_si128(weights.bits as i32));
        for at in 0..outputs {
            let (first, taps) = (weights.firsts[at], &weights.weights[at * weights.room..]);
            let steps = weights.counts[at].div_ceil(STEP);
            let mut sums = [_mm_setzero_si128(); 4];
            for step in 0..steps {
                // SAFETY: the caller's; `room` is a multiple of the step and `firsts` leave space for it.
                unsafe {
                    let taps = _mm_loadu_si128(taps.as_ptr().add(step * STEP).cast());
                    for (row, sum) in sums.iter_mut().enumerate() {
                        let from = input.as_ptr().add(row * width + first + step * STEP);
                        let values = _mm_cvtepu8_epi16(_mm_loadl_epi64(from.cast()));
                        *sum = _mm_add_epi32(*sum, _mm_madd_epi16(values, taps));
                    }
                }
            }
            let all = _mm_hadd_epi32(_mm_hadd_epi32(sums[0], sums[1]), _mm_hadd_epi32(sums[2], sums[3]));
            let all = _mm_sra_epi32(_mm_add_epi32(all, half), shift);
            let bytes = _mm_packus_epi16(_mm_packs_epi32(all, all), all);
            let bytes = (_mm_cvtsi128_si32(bytes) as u32).to_le_bytes();
            for (row, byte) in bytes.into_iter().enumerate() {
                output[row * outputs + at] = byte;
            }
        }
    }

    /// The weighted sum of rows, for as many columns as whole vectors have; their number comes back.
    ///
    /// # Safety
    /// The processor has AVX2; there are as many rows as weights, each as long as the result.
    #[target_feature(enable = "avx2")]
    pub unsafe fn sum_rows(rows: &[u8], row: &mut [u8], taps: &[i16], weights: &Weights) -> usize {
        let width = row.len();
        let (half, shift) = (_mm256_set1_epi32(weights.half()), _mm_cvtsi32_si128(weights.bits as i32));
        let whole = width / 16 * 16;
        for column in (0..whole).step_by(16) {
            let (mut low, mut high) = (half, half);
            for (pair, two) in taps.chunks(2).enumerate() {
                let second = two.get(1).copied().unwrap_or(0);
                let both = (i32::from(second) << 16) | i32::from(two[0] as u16);
                let both = _mm256_set1_epi32(both);
                // SAFETY: the caller's; a missing second row is the first once more, with a weight of 0.
                unsafe {
                    let from = rows.as_ptr().add(2 * pair * width + column);
                    let next = if two.len() == 2 { from.add(width) } else { from };
                    let (a, b) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(next.cast()));
                    let near = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
                    let far = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
                    low = _mm256_add_epi32(low, _mm256_madd_epi16(near, both));
                    high = _mm256_add_epi32(high, _mm256_madd_epi16(far, both));
                }
            }
            let (low, high) = (_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift));
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            // SAFETY: `column` is at most 16 below the end.
            unsafe { _mm_storeu_si128(row.as_mut_ptr().add(column).cast(), bytes) };
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of_two(inputs: usize) -> Weights {
        let mut numbers = vec![14];
        (0..inputs / 2).for_each(|output| numbers.extend([2 * output as i32, 2, 8192, 8192]));
        Weights::new(inputs, &numbers).expect("in range")
    }

    #[test]
    fn rows_and_columns_agree_with_the_plain_sum() {
        let (height, width) = (36, 34);
        let input: Vec<u8> = (0..height * width).map(|at| (at * 37 % 251) as u8).collect();
        let mut halves = vec![0; height * width / 2];
        along(&input, &mut halves, &mean_of_two(width));
        let mut plain = vec![0; height * width / 2];
        along_plainly(&input, &mut plain, &mean_of_two(width));
        assert_eq!(halves, plain);
        let mut shorter = vec![0; height * width / 2];
        down(&input, &mut shorter, width, &mean_of_two(height));
        for (at, &value) in shorter.iter().enumerate() {
            let (row, column) = (at / width, at % width);
            let pair = [2 * row, 2 * row + 1].map(|row| u32::from(input[row * width + column]));
            assert_eq!(u32::from(value), (pair[0] + pair[1]).div_ceil(2));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert!(Weights::new(4, &[14, 3, 2, 1, 1]).is_none());
        assert!(Weights::new(4, &[14, 0, 1, 40_000]).is_none());
        assert!(Weights::new(4, &[14, 0, 2, 1]).is_none());
        assert!(Weights::new(4, &[23, 0, 1, 1]).is_none());
        assert!(Weights::new(4, &[]).is_none());
    }
}
