//! Convolutions of images of one element by windows of one element, which are products of matrices
//! (benchmarks/cases.py: conv_transpose_points).

use super::conv::Problem;
use super::micro::{Finish, Start};
use super::product::{Matrix, Out, Product, multiply_each};
use super::scratch::Shared;

/// Channels and filters of all groups, whose elements lie side by side.
struct Sizes {
    samples: usize,
    channels: usize,
    filters: usize,
}

/// None unless there is one place only; `all` are the elements of all samples, or of their gradients.
fn sizes(p: &Problem, all: usize, each: usize) -> Option<Sizes> {
    let alone = p.input == [1; 3] && p.kernel == [1; 3] && p.output == [1; 3] && p.padding == [0; 3];
    alone.then(|| Sizes { samples: all / each, channels: p.groups * p.channels, filters: p.groups * p.filters })
}

/// `out` (N, filters) from `x` (N, channels), `weight` and a summand for each filter; false for other sizes.
pub fn forward(p: &Problem, x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32]) -> bool {
    let Some(Sizes { samples, channels, filters }) = sizes(p, x.len(), p.groups * p.channels) else { return false };
    let (x, weight, out) = (Shared::of_read(x), Shared::of_read(weight), Shared::of(out));
    let bias = bias.map(Shared::of_read);
    let product = |group: usize| {
        let start = bias.map(|bias| Start { from: bias.at(group * p.filters), row: 0, column: 1 });
        Product {
            rows: samples,
            columns: p.filters,
            depth: p.channels,
            a: Matrix::new(x.at(group * p.channels), channels, 1),
            b: Matrix::new(weight.at(group * p.filters * p.channels), p.channels, 1),
            out: Out { to: out.at(group * p.filters), row: filters, column: 1 },
            finish: Finish { start, ..Finish::PLAIN },
        }
    };
    // SAFETY: the slices have the problem's sizes, and groups have results of their own.
    unsafe { multiply_each(p.groups, product) };
    true
}

/// The gradient of the input, from that of the output; false for other sizes.
pub fn input_gradient(p: &Problem, grad: &[f32], weight: &[f32], x: &mut [f32]) -> bool {
    let Some(Sizes { samples, channels, filters }) = sizes(p, grad.len(), p.groups * p.filters) else { return false };
    let (grad, weight, x) = (Shared::of_read(grad), Shared::of_read(weight), Shared::of(x));
    let product = |group: usize| Product {
        rows: samples,
        columns: p.channels,
        depth: p.filters,
        a: Matrix::new(grad.at(group * p.filters), filters, 1),
        b: Matrix::new(weight.at(group * p.filters * p.channels), 1, p.channels),
        out: Out { to: x.at(group * p.channels), row: channels, column: 1 },
        finish: Finish::PLAIN,
    };
    // SAFETY: as in `forward`.
    unsafe { multiply_each(p.groups, product) };
    true
}

/// The gradient of the weight; false for other sizes.
pub fn weight_gradient(p: &Problem, x: &[f32], grad: &[f32], weight: &mut [f32]) -> bool {
    let Some(Sizes { samples, channels, filters }) = sizes(p, x.len(), p.groups * p.channels) else { return false };
    let (x, grad, weight) = (Shared::of_read(x), Shared::of_read(grad), Shared::of(weight));
    let product = |group: usize| Product {
        rows: p.filters,
        columns: p.channels,
        depth: samples,
        a: Matrix::new(grad.at(group * p.filters), 1, filters),
        b: Matrix::new(x.at(group * p.channels), 1, channels),
        out: Out { to: weight.at(group * p.filters * p.channels), row: p.channels, column: 1 },
        finish: Finish::PLAIN,
    };
    // SAFETY: as in `forward`.
    unsafe { multiply_each(p.groups, product) };
    true
}
