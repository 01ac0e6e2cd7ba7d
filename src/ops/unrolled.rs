//! `unfold` and `fold` of images in the CPU's memory, each the gradient of the other.

use pyo3::prelude::*;

use crate::autograd::{Record, grads};
use crate::check;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::unrolled::{self as kernel, Grid};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// The windows of images (N, C, H, W) as (N, C * KH * KW, rows * columns).
fn unfold(x: &Tensor, grid: Grid) -> Result<Tensor> {
    let shape = x.shape();
    let target = [shape[0], shape[1] * grid.kernel.iter().product::<usize>(), grid.counts.iter().product()];
    let out = computed("unfold", x, &target, grid, false)?;
    if let Some(record) = Record::new("Im2ColBackward0", &[x]) {
        record.finish(&out, move |c| grads([Some(fold(&c.grad()?, grid)?)]));
    }
    Ok(out)
}

/// The images that windows add up to.
fn fold(x: &Tensor, grid: Grid) -> Result<Tensor> {
    let channels = x.size(1) / grid.kernel.iter().product::<usize>().max(1);
    let target = [x.size(0), channels, grid.image[0], grid.image[1]];
    let out = computed("fold", x, &target, grid, true)?;
    if let Some(record) = Record::new("Col2ImBackward0", &[x]) {
        record.finish(&out, move |c| grads([Some(unfold(&c.grad()?, grid)?)]));
    }
    Ok(out)
}

fn computed(op: &str, x: &Tensor, target: &[usize], grid: Grid, back: bool) -> Result<Tensor> {
    let dtype = x.dtype();
    let numel = target.iter().copied().fold(dtype.size(), usize::saturating_mul);
    check::allocation(numel)?;
    let (out, _) = Tensor::uninit_with_pointer(target, dtype)?;
    let (from, to) = (Elements::contiguous(x)?, Elements::of(&out)?);
    guard::spread(op, x.numel().max(out.numel()), move || {
        // SAFETY: both are contiguous, of the dtype matched on, and the result is new.
        unsafe {
            match (dtype, back) {
                (DType::F64, false) => kernel::unfold::<f64>(&grid, from.slice(), to.slice_mut()),
                (DType::F64, true) => kernel::fold::<f64>(&grid, from.slice(), to.slice_mut()),
                (_, false) => kernel::unfold::<f32>(&grid, from.slice(), to.slice_mut()),
                (_, true) => kernel::fold::<f32>(&grid, from.slice(), to.slice_mut()),
            }
        }
    })?;
    Ok(out)
}

/// Sizes that a caller in Python has checked: those of the image, the window and its steps.
#[derive(FromPyObject)]
struct Numbers([[usize; 2]; 6]);

impl Numbers {
    /// Refuses what is not float32 or float64 of `rank` dimensions in the CPU's memory, and windows beyond the image.
    fn grid(self, x: &Tensor, rank: usize) -> Result<Grid> {
        let Self([image, kernel, counts, stride, padding, dilation]) = self;
        let fits = |dim: usize| {
            let span = dilation[dim].saturating_mul(kernel[dim].saturating_sub(1)).saturating_add(1);
            let last = stride[dim].saturating_mul(counts[dim].saturating_sub(1)).saturating_add(span);
            kernel[dim] > 0 && stride[dim] > 0 && last <= padding[dim].saturating_mul(2).saturating_add(image[dim])
        };
        let plain = matches!(x.dtype(), DType::F32 | DType::F64) && x.device().is_cpu() && x.rank() == rank;
        if !plain || !fits(0) || !fits(1) {
            return error::shape("windows: the image, the windows or their dtype do not fit");
        }
        Ok(Grid { image, kernel, counts, stride, padding, dilation })
    }
}

#[pymethods]
impl PyTensor {
    fn _unfold_windows(&self, numbers: Numbers) -> Result<Tensor> {
        let x = &self.tensor;
        let grid = numbers.grid(x, 4)?;
        if x.shape()[2..] != grid.image {
            return error::shape("unfold: the image has other sizes");
        }
        unfold(x, grid)
    }

    fn _fold_windows(&self, numbers: Numbers) -> Result<Tensor> {
        let x = &self.tensor;
        let grid = numbers.grid(x, 3)?;
        let window: usize = grid.kernel.iter().product();
        if !x.size(1).is_multiple_of(window) || x.size(2) != grid.counts.iter().product::<usize>() {
            return error::shape("fold: the windows have other sizes");
        }
        fold(x, grid)
    }
}
