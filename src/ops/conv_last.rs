//! Convolutions of float32 images of the CPU whose channels lie side by side, as they lie: those by windows of one element,
//! which are products of matrices, strided ones, and those with one filter for each channel. All others are turned to rows
//! and back.

use super::convert::{self, Format, common_format};
use crate::dtype::DType;
use crate::error::Result;
use crate::guard;
use crate::kernels::conv::Problem;
use crate::kernels::memory::Elements;
use crate::kernels::{conv_point, conv_windows, depthwise_last};
use crate::tensor::Tensor;
use crate::tensor::geometry::Geometry;

/// The dimensions in the order in which they lie in memory.
const LAST: [usize; 4] = [0, 2, 3, 1];

/// How such images are convolved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Points,
    Depthwise,
    Windows,
}

/// None for images that lie otherwise, and for other windows.
fn way(images: &Tensor, p: &Problem) -> Option<Way> {
    let ours = images.device().is_cpu() && images.dtype() == DType::F32 && images.rank() == 4;
    if !ours || common_format(&[images]) != Format::ChannelsLast {
        None
    } else if p.kernel == [1; 3] && p.padding == [0; 3] {
        Some(Way::Points)
    } else if depthwise_last::suits(p) {
        Some(Way::Depthwise)
    } else {
        conv_windows::suits(p).then_some(Way::Windows)
    }
}

/// The same memory with the channels as the last dimension; no view for autograd.
fn turned(x: &Tensor) -> Tensor {
    x.detached().alias(x.geometry().permute(&LAST))
}

fn back(x: &Tensor) -> Tensor {
    x.alias(x.geometry().permute(&convert::inverse(&LAST)))
}

/// Of `[N, H, W, C]` the places at which windows of one element are laid.
fn met(geometry: &Geometry, p: &Problem) -> Geometry {
    [1, 2].into_iter().fold(geometry.clone(), |all, dim| all.slice(dim, 0, p.output[dim], p.stride[dim]))
}

/// Windows of one element laid on images of one place.
fn points(p: &Problem) -> Problem {
    Problem { input: [1; 3], output: [1; 3], stride: [1; 3], ..p.clone() }
}

/// Computes a result of these sizes, channels last, from contiguous operands.
fn computed(
    op: &str,
    shape: [usize; 4],
    [a, b]: [&Tensor; 2],
    compute: impl FnOnce(&[f32], &[f32], &mut [f32]) + Send,
) -> Result<Tensor> {
    let (out, _) = Tensor::uninit_with_pointer(&shape, DType::F32)?;
    let (a, b, to) = (Elements::contiguous(a)?, Elements::contiguous(b)?, Elements::of(&out)?);
    // SAFETY: all are contiguous and float32, and the result is new.
    guard::spread(op, out.numel().saturating_mul(16), || unsafe { compute(a.slice(), b.slice(), to.slice_mut()) })?;
    Ok(out)
}

/// The convolution of `x` with `weight`, and a summand for each filter; None where there is no such way.
pub fn forward(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, p: &Problem) -> Result<Option<Tensor>> {
    let Some(way) = way(x, p) else { return Ok(None) };
    let bias = bias.map(|bias| Elements::contiguous(&bias.detached())).transpose()?;
    let shape = [x.size(0), p.output[1], p.output[2], p.groups * p.filters];
    let images = turned(x);
    let images = if way == Way::Points { images.alias(met(&images.geometry(), p)) } else { images };
    let out = computed("conv", shape, [&images, &filters(weight, way)], |x, weight, out| {
        // SAFETY: contiguous and float32.
        let bias = bias.as_ref().map(|bias| unsafe { bias.slice() });
        match way {
            Way::Points => _ = conv_point::forward(&points(p), x, weight, bias, out),
            Way::Depthwise => depthwise_last::forward(p, x, weight, bias, out),
            Way::Windows => conv_windows::forward(p, x, weight, bias, out),
        }
    })?;
    Ok(Some(back(&out)))
}

/// A weight with the elements of a window as they are unfolded, or as it is.
fn filters(weight: &Tensor, way: Way) -> Tensor {
    if way == Way::Windows { turned(weight) } else { weight.detached() }
}

/// The gradient of the input, or None.
pub fn input_gradient(grad: &Tensor, weight: &Tensor, p: &Problem) -> Result<Option<Tensor>> {
    let Some(way) = way(grad, p).filter(|&way| way != Way::Windows || conv_windows::are_apart(p)) else {
        return Ok(None);
    };
    let operands = [&turned(grad), &filters(weight, way)];
    let shape = [grad.size(0), p.input[1], p.input[2], p.groups * p.channels];
    if way != Way::Points {
        let compute = if way == Way::Windows { conv_windows::input_gradient } else { depthwise_last::input_gradient };
        let out = computed("conv_transpose", shape, operands, |grad, weight, out| compute(p, grad, weight, out))?;
        return Ok(Some(back(&out)));
    }
    let dense = [shape[0], p.output[1], p.output[2], shape[3]];
    let out = computed("conv_transpose", dense, operands, |grad, weight, out| {
        conv_point::input_gradient(&points(p), grad, weight, out);
    })?;
    if p.input == p.output {
        return Ok(Some(back(&out)));
    }
    let all = Tensor::zeroed(&shape, DType::F32)?;
    all.alias(met(&all.geometry(), p)).write(&out)?;
    Ok(Some(back(&all)))
}

/// The gradient of the weight, or None.
pub fn weight_gradient(x: &Tensor, grad: &Tensor, p: &Problem) -> Result<Option<Tensor>> {
    let Some(way) = way(x, p) else { return Ok(None) };
    let images = turned(x);
    let images = if way == Way::Points { images.alias(met(&images.geometry(), p)) } else { images };
    let (filters, [_, height, width]) = (p.groups * p.filters, p.kernel);
    let shape = match way {
        Way::Windows => [filters, height, width, p.channels],
        _ => [filters, p.channels, height, width],
    };
    let out = computed("conv_weight", shape, [&images, &turned(grad)], |x, grad, out| match way {
        Way::Points => _ = conv_point::weight_gradient(&points(p), x, grad, out),
        Way::Depthwise => depthwise_last::weight_gradient(p, x, grad, out),
        Way::Windows => conv_windows::weight_gradient(p, x, grad, out),
    })?;
    Ok(Some(if way == Way::Windows { back(&out) } else { out }))
}
