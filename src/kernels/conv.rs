//! Convolution and its two gradients as matrix products over unrolled windows, a cache-sized tile of results at a time
//! (benchmarks/cases.py: conv2d).

use std::ops::AddAssign;

use gemm::Parallelism;
use rayon::prelude::*;

/// The sizes of a convolution; spatial numbers in the order depth, height, width.
#[derive(Clone, Debug)]
pub struct Problem {
    pub groups: usize,
    /// Channels and filters of one group.
    pub channels: usize,
    pub filters: usize,
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub output: [usize; 3],
    pub stride: [usize; 3],
    pub padding: [usize; 3],
    pub dilation: [usize; 3],
}

pub trait Float: Copy + Default + Send + Sync + AddAssign + 'static {
    const ONE: Self;
}

impl Float for f32 {
    const ONE: Self = 1.0;
}

impl Float for f64 {
    const ONE: Self = 1.0;
}

/// Unrolled elements that one tile may have: a few hundred kilobytes stay in the second-level cache.
const TILE: usize = 1 << 16;

/// Parts of the batch whose weight gradients are summed apart; fixed, so that results do not depend on the threads.
const PARTS: usize = 8;

struct Matrix<T>(*mut T, isize, isize);

/// `to = a @ b`, or `to += a @ b`, for matrices given by pointer, row stride and column stride.
fn product<T: Float>(sizes: [usize; 3], to: Matrix<T>, add: bool, a: Matrix<T>, b: Matrix<T>, threads: Parallelism) {
    let [m, n, k] = sizes;
    // SAFETY: the callers derive pointers, strides and sizes from slices that they have cut to measure.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to.0,
            to.2,
            to.1,
            add,
            a.0,
            a.2,
            a.1,
            b.0,
            b.2,
            b.1,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            threads,
        );
    }
}

fn volume(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

impl Problem {
    fn depth(&self) -> usize {
        self.channels * volume(self.kernel)
    }

    fn places(&self) -> usize {
        volume(self.output)
    }

    /// The same convolution with those of the first dimensions as channels that one window covers from end to end: all
    /// three operands lie in memory as before. Otherwise the gradient of the input reads mostly zeros. What has but one element
    /// along the last dimension goes along the one before it.
    pub fn folded(&self) -> Self {
        let mut p = self.clone();
        while p.is_alone(2) && !(p.is_alone(0) && p.is_alone(1)) {
            let lists = [&mut p.input, &mut p.kernel, &mut p.output, &mut p.stride, &mut p.padding, &mut p.dilation];
            lists.into_iter().for_each(|sizes| sizes.rotate_right(1));
        }
        for dim in 0..3 {
            let alone = p.input[dim] == p.kernel[dim] && p.output[dim] == 1 && p.padding[dim] == 0;
            if !alone || (p.dilation[dim] != 1 && p.kernel[dim] != 1) {
                break;
            }
            p.channels *= p.kernel[dim];
            (p.input[dim], p.kernel[dim], p.stride[dim], p.dilation[dim]) = (1, 1, 1, 1);
        }
        p.flattened()
    }

    fn is_alone(&self, dim: usize) -> bool {
        self.input[dim] == 1 && self.kernel[dim] == 1 && self.output[dim] == 1 && self.padding[dim] == 0
    }

    /// The same convolution with rows one after the other, where a window covers a row from end to end.
    fn flattened(mut self) -> Self {
        let width = self.input[2];
        let covered = width > 1 && self.kernel[2] == width && self.output[2] == 1 && self.padding[2] == 0;
        let dense = self.dilation[2] == 1 && (self.dilation[1] == 1 || self.kernel[1] == 1);
        if !covered || !dense || self.output[1] == 1 {
            return self;
        }
        let joined = |sizes: [usize; 3], factor: usize| [sizes[0], 1, sizes[1] * factor];
        (self.input, self.kernel) = (joined(self.input, width), joined(self.kernel, width));
        (self.stride, self.padding) = (joined(self.stride, width), [self.padding[0], 0, self.padding[1] * width]);
        (self.output, self.dilation) = (joined(self.output, 1), [self.dilation[0], 1, 1]);
        self
    }

    /// Elements of one group: of the input, the output and the weight.
    fn blocks(&self) -> [usize; 3] {
        [self.channels * volume(self.input), self.filters * self.places(), self.filters * self.depth()]
    }

    /// Rows of results (a row is one line along the width) in a tile.
    fn rows_per_tile(&self) -> usize {
        (TILE / (self.depth() * self.output[2]).max(1)).clamp(1, self.output[0] * self.output[1])
    }

    /// The tiles as (first row, rows).
    fn tiles(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (all, step) = (self.output[0] * self.output[1], self.rows_per_tile());
        (0..all).step_by(step).map(move |first| (first, step.min(all - first)))
    }

    /// Whether the windows, unrolled, are the input itself.
    fn is_pointwise(&self) -> bool {
        volume(self.kernel) == 1 && self.stride == [1; 3] && self.padding == [0; 3] && self.input == self.output
    }

    /// Calls `line(column, row, inside)` for one element of the window after the other and every line of results:
    /// where the line lies in the input, and as `along_width` what part of it.
    fn lines(&self, first: usize, rows: usize, mut line: impl FnMut(usize, usize, Option<(usize, [usize; 3])>)) {
        let [_, height, width] = self.input;
        let [depths, heights, widths] = self.kernel;
        let inside = |dim: usize, out: usize, tap: usize| {
            (out * self.stride[dim] + tap * self.dilation[dim])
                .checked_sub(self.padding[dim])
                .filter(|&at| at < self.input[dim])
        };
        let mut column = 0;
        for channel in 0..self.channels {
            for d in 0..depths {
                for h in 0..heights {
                    for w in 0..widths {
                        let range = self.along_width(w);
                        for row in 0..rows {
                            let (od, oh) = ((first + row) / self.output[1], (first + row) % self.output[1]);
                            let at = inside(0, od, d)
                                .zip(inside(1, oh, h))
                                .map(|(id, ih)| (((channel * self.input[0] + id) * height + ih) * width, range));
                            line(column, row, at);
                        }
                        column += 1;
                    }
                }
            }
        }
    }

    /// The results of a line whose window element `tap` lies inside the input: first, last, and where it starts.
    fn along_width(&self, tap: usize) -> [usize; 3] {
        let (stride, padding, shift) = (self.stride[2], self.padding[2], tap * self.dilation[2]);
        let first = padding.saturating_sub(shift).div_ceil(stride);
        let last = (self.input[2] + padding).saturating_sub(shift).div_ceil(stride).min(self.output[2]);
        if first >= last { [0, 0, 0] } else { [first, last, first * stride + shift - padding] }
    }
}

/// The windows of a tile as a matrix `[depth, rows * width]`.
fn unroll<T: Float>(p: &Problem, x: &[T], columns: &mut [T], first: usize, rows: usize) {
    let width = p.output[2];
    p.lines(first, rows, |column, row, at| {
        let line = &mut columns[(column * rows + row) * width..][..width];
        let Some((base, [from, to, start])) = at else {
            line.fill(T::default());
            return;
        };
        line[..from].fill(T::default());
        line[to..].fill(T::default());
        let source = &x[base + start..];
        if p.stride[2] == 1 {
            line[from..to].copy_from_slice(&source[..to - from]);
        } else {
            for (slot, &value) in line[from..to].iter_mut().zip(source.iter().step_by(p.stride[2])) {
                *slot = value;
            }
        }
    });
}

/// Adds the windows of a tile back to the places that they were taken from.
fn roll<T: Float>(p: &Problem, columns: &[T], x: &mut [T], first: usize, rows: usize) {
    let width = p.output[2];
    p.lines(first, rows, |column, row, at| {
        let Some((base, [from, to, start])) = at else { return };
        let line = &columns[(column * rows + row) * width..][from..to];
        for (slot, &value) in x[base + start..].iter_mut().step_by(p.stride[2]).zip(line) {
            *slot += value;
        }
    });
}

/// Threads for the matrix product itself, where there are too few independent blocks for all of them.
fn inner_threads(blocks: usize) -> Parallelism {
    if blocks < rayon::current_num_threads() { Parallelism::Rayon(0) } else { Parallelism::None }
}

/// `out` (N, groups * filters, ...) from `x` (N, groups * channels, ...) and `weight`.
pub fn forward<T: Float>(p: &Problem, x: &[T], weight: &[T], out: &mut [T]) {
    let ([input, output, filter], depth, places) = (p.blocks(), p.depth(), p.places());
    let threads = inner_threads(x.len() / input.max(1));
    let scratch = || vec![T::default(); if p.is_pointwise() { 0 } else { depth * p.rows_per_tile() * p.output[2] }];
    out.par_chunks_exact_mut(output).zip(x.par_chunks_exact(input)).enumerate().for_each_init(
        scratch,
        |columns, (block, (out, x))| {
            let weight = &weight[block % p.groups * filter..][..filter];
            for (first, rows) in p.tiles() {
                let (start, length) = (first * p.output[2], rows * p.output[2]);
                let (source, step) = if p.is_pointwise() {
                    (x[start..].as_ptr().cast_mut(), places)
                } else {
                    unroll(p, x, columns, first, rows);
                    (columns.as_mut_ptr(), length)
                };
                product(
                    [p.filters, length, depth],
                    Matrix(out[start..].as_mut_ptr(), places as isize, 1),
                    false,
                    Matrix(weight.as_ptr().cast_mut(), depth as isize, 1),
                    Matrix(source, step as isize, 1),
                    threads,
                );
            }
        },
    );
}

/// The gradient of the input, added to `x` (zeroed), from that of the output.
pub fn input_gradient<T: Float>(p: &Problem, grad: &[T], weight: &[T], x: &mut [T]) {
    let ([input, output, filter], depth, places) = (p.blocks(), p.depth(), p.places());
    let threads = inner_threads(grad.len() / output.max(1));
    let scratch = || vec![T::default(); depth * p.rows_per_tile() * p.output[2]];
    x.par_chunks_exact_mut(input).zip(grad.par_chunks_exact(output)).enumerate().for_each_init(
        scratch,
        |columns, (block, (x, grad))| {
            let weight = &weight[block % p.groups * filter..][..filter];
            for (first, rows) in p.tiles() {
                let (start, length) = (first * p.output[2], rows * p.output[2]);
                product(
                    [depth, length, p.filters],
                    Matrix(columns.as_mut_ptr(), length as isize, 1),
                    false,
                    Matrix(weight.as_ptr().cast_mut(), 1, depth as isize),
                    Matrix(grad[start..].as_ptr().cast_mut(), places as isize, 1),
                    threads,
                );
                roll(p, columns, x, first, rows);
            }
        },
    );
}

/// The gradient of the weight, added to `weight` (zeroed).
pub fn weight_gradient<T: Float>(p: &Problem, x: &[T], grad: &[T], weight: &mut [T]) {
    let [input, output, _] = p.blocks();
    let (sample_in, sample_out) = (input * p.groups, output * p.groups);
    let batch = x.len() / sample_in.max(1);
    let part = batch.div_ceil(PARTS).max(1);
    let threads = inner_threads(batch.div_ceil(part));
    let partial: Vec<Vec<T>> = x
        .par_chunks(part * sample_in)
        .zip(grad.par_chunks(part * sample_out))
        .map(|(x, grad)| {
            let mut sum = vec![T::default(); weight.len()];
            for (x, grad) in x.chunks_exact(sample_in).zip(grad.chunks_exact(sample_out)) {
                one_weight_gradient(p, x, grad, &mut sum, threads);
            }
            sum
        })
        .collect();
    for sum in partial {
        for (slot, value) in weight.iter_mut().zip(sum) {
            *slot += value;
        }
    }
}

fn one_weight_gradient<T: Float>(p: &Problem, x: &[T], grad: &[T], weight: &mut [T], threads: Parallelism) {
    let ([input, output, filter], depth, places) = (p.blocks(), p.depth(), p.places());
    let mut columns = vec![T::default(); depth * p.rows_per_tile() * p.output[2]];
    let groups = x.chunks_exact(input).zip(grad.chunks_exact(output)).zip(weight.chunks_exact_mut(filter));
    for ((x, grad), weight) in groups {
        for (first, rows) in p.tiles() {
            let (start, length) = (first * p.output[2], rows * p.output[2]);
            unroll(p, x, &mut columns, first, rows);
            product(
                [p.filters, depth, length],
                Matrix(weight.as_mut_ptr(), depth as isize, 1),
                true,
                Matrix(grad[start..].as_ptr().cast_mut(), places as isize, 1),
                Matrix(columns.as_mut_ptr(), 1, length as isize),
                threads,
            );
        }
    }
}
