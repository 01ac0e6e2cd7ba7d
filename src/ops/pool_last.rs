//! Maxima over windows of images of the CPU whose channels lie side by side, without turning them.

use super::convert::{Format, common_format};
use super::pool::{as_type, ordered, put};
use super::{convert, movement};
use crate::autograd::{Record, grad_enabled, grads};
use crate::dtype::DType;
use crate::error::Result;
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::windows::Windows;
use crate::kernels::windows_last as kernel;
use crate::tensor::Tensor;

/// The dimensions in the order in which they lie in memory.
const LAST: [usize; 4] = [0, 2, 3, 1];

/// The same memory with the dimensions in another order; no view for autograd.
fn turned(x: &Tensor, order: &[usize]) -> Tensor {
    x.alias(x.geometry().permute(order))
}

/// Whether these images are read as they lie: there are places for int32.
pub fn suits(x: &Tensor, windows: &[Windows]) -> bool {
    let plane: usize = windows.iter().map(|window| window.size).product();
    windows.len() == 2
        && x.rank() == 4
        && x.device().is_cpu()
        && plane <= i32::MAX as usize
        && common_format(&[x]) == Format::ChannelsLast
}

/// The maxima of all windows and their flat places among the pooled dimensions, of those none where nobody asks for them;
/// `x` suits.
pub fn max_pool(op: &str, x: &Tensor, windows: &[Windows], placed: bool) -> Result<(Tensor, Tensor)> {
    let [height, width] = windows else { return crate::error::shape(format!("{op}: two dimensions are pooled")) };
    let wide = ordered(x.dtype());
    let moved = as_type(&turned(x, &LAST), wide)?;
    let channels = x.size(1);
    let shape = [x.size(0), height.ranges.len(), width.ranges.len(), channels];
    let (values, _) = Tensor::uninit_with_pointer(&shape, wide)?;
    let (places, _) = Tensor::uninit_with_pointer(if placed { &shape[..] } else { &[0] }, DType::I64)?;
    let (from, to, at) = (Elements::contiguous(&moved)?, Elements::of(&values)?, Elements::of(&places)?);
    let both = [height.clone(), width.clone()];
    guard::spread(op, x.numel(), move || {
        let both = [&both[0], &both[1]];
        // SAFETY: all are contiguous, of the dtype matched on, and the results are new.
        unsafe {
            match wide {
                DType::F32 => kernel::maxima::<f32>(from.slice(), to.slice_mut(), at.slice_mut(), both, channels),
                DType::F64 => kernel::maxima::<f64>(from.slice(), to.slice_mut(), at.slice_mut(), both, channels),
                _ => kernel::maxima::<i64>(from.slice(), to.slice_mut(), at.slice_mut(), both, channels),
            }
        }
    })?;
    let back = convert::inverse(&LAST);
    let values = turned(&as_type(&values, x.dtype())?, &back);
    if !placed {
        return Ok((values, places));
    }
    let places = turned(&places, &back);
    if let Some(record) = Record::new("MaxPoolBackward0", &[x]) {
        let old = x.shape();
        record.save(&places).save(x).finish(&values, move |c| {
            let grad = c.grad()?;
            if !grad_enabled() {
                return grads([Some(put_back(&grad, c.saved(0)?, [old[2], old[3]])?)]);
            }
            let flat = [old[0] * old[1], grad.numel() / (old[0] * old[1]).max(1)];
            let places = movement::reshape(c.saved(0)?, &flat)?;
            let spread = put(&movement::reshape(&grad, &flat)?, &places, old[2..].iter().product())?;
            grads([Some(movement::reshape(&spread, &old)?)])
        });
    }
    Ok((values, places))
}

/// The gradient of images of these sizes: each of `grad` added where its maximum stood.
fn put_back(grad: &Tensor, places: &Tensor, [height, width]: [usize; 2]) -> Result<Tensor> {
    let wide = if grad.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let moved = as_type(&turned(grad, &LAST), wide)?;
    let sizes = [grad.size(2) * grad.size(3), height * width, grad.size(1)];
    let out = Tensor::zeroed(&[grad.size(0), height, width, grad.size(1)], wide)?;
    let places = turned(places, &LAST);
    let (from, to, at) = (Elements::contiguous(&moved)?, Elements::of(&out)?, Elements::contiguous(&places)?);
    guard::spread("max_pool2d", out.numel(), move || {
        // SAFETY: all are contiguous, of the dtype matched on, and the result is new.
        unsafe {
            match wide {
                DType::F64 => kernel::put::<f64>(from.slice(), to.slice_mut(), at.slice(), sizes),
                _ => kernel::put::<f32>(from.slice(), to.slice_mut(), at.slice(), sizes),
            }
        }
    })?;
    Ok(turned(&as_type(&out, grad.dtype())?, &convert::inverse(&LAST)))
}
