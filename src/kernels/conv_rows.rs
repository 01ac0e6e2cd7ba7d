//! The gradient of the input of convolutions along one line with a large stride, as products of matrices: windows that cover
//! whole rows of an image are such (benchmarks/cases.py: spatial_filter).
//!
//! A window is cut into blocks of a stride. The same block of all windows lies on lines of the input one after the other.

use super::conv::Problem;
use super::micro::Finish;
use super::product::{Matrix, Out, Product, multiply_each};
use super::scratch::Shared;

/// The least stride, and the fewest filters to sum over, for which products are the faster way.
const STRIDE: usize = 12;
const FILTERS: usize = 8;

/// The gradient of the input, from that of the output; false for other problems.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    let ([.., input], [.., kernel], [.., output]) = (p.input, p.kernel, p.output);
    let ([.., stride], [.., padding]) = (p.stride, p.padding);
    let alone = [p.input, p.kernel, p.output].iter().all(|sizes| sizes[..2] == [1; 2]) && p.padding[..2] == [0; 2];
    let whole = padding == 0 || (padding.is_multiple_of(stride) && input.is_multiple_of(stride));
    if !alone || !whole || p.dilation[2] != 1 || stride < STRIDE || p.filters < FILTERS || output < 2 {
        return false;
    }
    // All of the first blocks are written, and everything else is added.
    let written = if padding == 0 && kernel >= stride { output * stride } else { 0 };
    if written < input {
        x.chunks_exact_mut(input).for_each(|line| line[written..].fill(0.0));
    }
    let units = x.len() / input;
    let (grad, weight, x) = (Shared::of_read(grad), Shared::of_read(weight), Shared::of(x));
    for block in 0..kernel.div_ceil(stride) {
        let (taps, lines) = (block * stride, input.div_ceil(stride) + padding / stride);
        let first = (padding / stride).saturating_sub(block);
        let end = output.min(lines.saturating_sub(block));
        let product = |unit: usize| {
            let (sample_group, channel) = (unit / p.channels, unit % p.channels);
            let filters = sample_group % p.groups * p.filters * p.channels + channel;
            Product {
                rows: end - first,
                columns: stride.min(kernel - taps),
                depth: p.filters,
                a: Matrix::new(grad.at(sample_group * p.filters * output + first), 1, output),
                b: Matrix::new(weight.at(filters * kernel + taps), 1, p.channels * kernel),
                out: Out { to: x.at(unit * input + (first + block) * stride - padding), row: stride, column: 1 },
                finish: Finish { add: written == 0 || block > 0, ..Finish::PLAIN },
            }
        };
        if first < end {
            // SAFETY: the slices have the problem's sizes, windows from `first` to `end` have this block inside the line, and
            // units have lines of their own.
            unsafe { multiply_each(units, product) };
        }
    }
    true
}
