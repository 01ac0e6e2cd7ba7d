//! Weighted sums along one dimension: averages of windows and interpolation (benchmarks/cases.py: avg_pool2d). float32 has
//! `resample`.

use std::ops::{AddAssign, Mul};

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;

/// A sparse matrix, row by row: output `o` is the sum of `weight[i] * input[index[i]]` over `starts[o]..starts[o + 1]`.
#[derive(Clone, Debug)]
pub struct Taps {
    pub inputs: usize,
    starts: Vec<usize>,
    index: Vec<usize>,
    weight: Vec<f64>,
}

impl Taps {
    /// From the (input, weight) pairs of each output; inputs out of range are refused by returning None.
    pub fn new(inputs: usize, rows: &[Vec<(usize, f64)>]) -> Option<Self> {
        let mut taps = Self { inputs, starts: vec![0], index: Vec::new(), weight: Vec::new() };
        for row in rows {
            for &(index, weight) in row {
                if index >= inputs {
                    return None;
                }
                taps.index.push(index);
                taps.weight.push(weight);
            }
            taps.starts.push(taps.index.len());
        }
        Some(taps)
    }

    /// From float64 numbers: for each output how many inputs it has, then each input and its weight.
    pub fn read(inputs: usize, bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_ne_bytes(bytes));
        let mut taps = Self { inputs, starts: vec![0], index: Vec::new(), weight: Vec::new() };
        while let Some(count) = numbers.next() {
            for _ in 0..count as usize {
                let index = numbers.next()? as usize;
                if index >= inputs {
                    return None;
                }
                taps.index.push(index);
                taps.weight.push(numbers.next()?);
            }
            taps.starts.push(taps.index.len());
        }
        Some(taps)
    }

    pub fn outputs(&self) -> usize {
        self.starts.len() - 1
    }

    /// All weights, and where those of an output stand, with the inputs they belong to.
    pub fn weights(&self) -> &[f64] {
        &self.weight
    }

    #[inline(always)]
    pub fn range(&self, output: usize) -> (std::ops::Range<usize>, &[usize]) {
        let range = self.starts[output]..self.starts[output + 1];
        (range.clone(), &self.index[range])
    }

    fn row(&self, output: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[output]..self.starts[output + 1];
        self.index[range.clone()].iter().copied().zip(self.weight[range].iter().copied())
    }

    /// The one input of each output, where that is all there is to them.
    pub fn picks(&self) -> Option<&[usize]> {
        let single =
            self.index.len() == self.outputs() && self.starts.iter().enumerate().all(|(at, &start)| at == start);
        (single && self.weight.iter().all(|&weight| weight == 1.0)).then_some(&self.index)
    }

    /// All weights times a factor.
    pub fn scaled(mut self, factor: f64) -> Self {
        self.weight.iter_mut().for_each(|weight| *weight *= factor);
        self
    }

    /// The matrix with rows and columns exchanged: how gradients go back.
    pub fn transposed(&self) -> Self {
        let mut starts = vec![0; self.inputs + 1];
        self.index.iter().for_each(|&index| starts[index + 1] += 1);
        for input in 0..self.inputs {
            starts[input + 1] += starts[input];
        }
        let (mut next, entries) = (starts.clone(), self.index.len());
        let (mut index, mut weight) = (vec![0; entries], vec![0.0; entries]);
        for output in 0..self.outputs() {
            for (input, value) in self.row(output) {
                (index[next[input]], weight[next[input]]) = (output, value);
                next[input] += 1;
            }
        }
        Self { inputs: self.outputs(), starts, index, weight }
    }

    /// All entries, row by row.
    pub fn dense(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.outputs() * self.inputs];
        for output in 0..self.outputs() {
            for (index, weight) in self.row(output) {
                out[output * self.inputs + index] += weight;
            }
        }
        out
    }
}

/// Elements that taps are applied to.
pub trait Element: Copy + Default + Send + Sync + AddAssign + Mul<Output = Self> {
    fn from_f64(value: f64) -> Self;
}

impl Element for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// `input` is `[outer, taps.inputs, inner]` and `output`, zeroed, `[outer, taps.outputs(), inner]`.
pub fn apply<T: Element>(input: &[T], output: &mut [T], inner: usize, taps: &Taps) {
    let (from, to) = (taps.inputs * inner, taps.outputs() * inner);
    if from == 0 || to == 0 {
        return;
    }
    let weights: Vec<T> = taps.weight.iter().map(|&weight| T::from_f64(weight)).collect();
    let (count, work, output) = (input.len() / from, input.len() + output.len(), Shared::of(output));
    let step = |index: usize| {
        // SAFETY: each step has results of its own.
        let (input, output) = (&input[index * from..][..from], unsafe { output.slice(index * to, to) });
        for (row, slots) in output.chunks_exact_mut(inner).enumerate() {
            for tap in taps.starts[row]..taps.starts[row + 1] {
                let (at, weight) = (taps.index[tap] * inner, weights[tap]);
                for (slot, &value) in slots.iter_mut().zip(&input[at..at + inner]) {
                    *slot += value * weight;
                }
            }
        }
    };
    if work < PARALLEL_ABOVE {
        (0..count).for_each(step);
    } else {
        spread_over(count, (PARALLEL_ABOVE / 8 / (from + to)).max(1), &step);
    }
}
