//! Images and volumes read at any places, float32 and float64 on the CPU; Python composes the other cases.

use pyo3::prelude::*;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::grid::{self as kernel, Mode, Outside, Reading};
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;

/// How to read `input` at `grid`, or what is wrong with them.
fn reading(input: &Tensor, grid: &Tensor, mode: u8, outside: u8, corners: bool) -> Result<Reading> {
    let (shape, places) = (input.shape(), grid.shape());
    if !matches!(input.dtype(), DType::F32 | DType::F64) || grid.dtype() != input.dtype() {
        return error::dtype(format!("grid_sample: not implemented for '{}'", input.dtype().scalar_type()));
    }
    if !input.device().is_cpu() || !grid.device().is_cpu() {
        return error::device("grid_sample: both tensors must be on the CPU");
    }
    let (sizes, volume) = match shape[..] {
        [_, _, height, width] => ([1, height, width], false),
        [_, _, depth, height, width] => ([depth, height, width], true),
        _ => return error::shape(format!("grid_sample: input has shape {shape:?}, expected 4 or 5 dimensions")),
    };
    if places.len() != shape.len() || places[0] != shape[0] || places.last() != Some(&(shape.len() - 2)) {
        return error::shape(format!("grid_sample: grid has shape {places:?} for an input of shape {shape:?}"));
    }
    if sizes.contains(&0) {
        return error::runtime(format!(
            "grid_sample: expected input to have non-empty spatial dimensions, but it has shape {shape:?}"
        ));
    }
    let mode = match mode {
        0 => Mode::Linear,
        1 => Mode::Nearest,
        _ => Mode::Cubic,
    };
    let outside = match outside {
        0 => Outside::Zeros,
        1 => Outside::Border,
        _ => Outside::Reflection,
    };
    let count = places[1..places.len() - 1].iter().product();
    Ok(Reading { mode, outside, corners, sizes, volume, batch: shape[0], channels: shape[1], places: count })
}

/// Calls a kernel by the element type, float32 or float64; results are contiguous and new.
macro_rules! by_type {
    ($dtype:expr, $work:expr, $type:ident => $call:expr) => {
        match $dtype {
            DType::F32 => guard::spread("grid_sample", $work, move || {
                type $type = f32;
                $call
            })?,
            _ => guard::spread("grid_sample", $work, move || {
                type $type = f64;
                $call
            })?,
        }
    };
}

/// `input` at the places of `grid`, outside the graph. Modes: linear, nearest, cubic; zeros, border, reflection.
#[pyfunction]
fn _grid_sample(input: Tensor, grid: Tensor, mode: u8, outside: u8, corners: bool) -> Result<Tensor> {
    let reading = reading(&input, &grid, mode, outside, corners)?;
    let mut shape = input.shape()[..2].to_vec();
    let places = grid.shape();
    shape.extend_from_slice(&places[1..places.len() - 1]);
    let (out, _) = Tensor::uninit_with_pointer(&shape, input.dtype())?;
    let (from, at, to) = (Elements::contiguous(&input)?, Elements::contiguous(&grid)?, Elements::of(&out)?);
    // SAFETY: all are contiguous, of the dtype matched on, and `out` is new.
    by_type!(input.dtype(), out.numel(), T => unsafe {
        kernel::read::<T>(&reading, from.slice(), at.slice(), to.slice_mut());
    });
    Ok(out)
}

/// The gradients of `_grid_sample` by the input and by the grid, each where it is wanted, outside the graph.
#[pyfunction]
#[pyo3(signature = (grad, input, grid, mode, outside, corners, wanted))]
fn _grid_sample_backward(
    grad: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: u8,
    outside: u8,
    corners: bool,
    wanted: (bool, bool),
) -> Result<(Option<Tensor>, Option<Tensor>)> {
    let reading = reading(&input, &grid, mode, outside, corners)?;
    if grad.dtype() != input.dtype() || grad.numel() != reading.batch * reading.channels * reading.places {
        return error::shape(format!("grid_sample: a gradient of shape {:?} does not fit", grad.shape()));
    }
    let work = grad.numel();
    let by_input = if wanted.0 {
        let out = Tensor::zeroed(&input.shape(), input.dtype())?;
        let (by, at, to) = (Elements::contiguous(&grad)?, Elements::contiguous(&grid)?, Elements::of(&out)?);
        // SAFETY: all are contiguous, of the dtype matched on, and `out` is new.
        by_type!(input.dtype(), work, T => unsafe {
            kernel::by_input::<T>(&reading, by.slice(), at.slice(), to.slice_mut());
        });
        Some(out)
    } else {
        None
    };
    let by_grid = if wanted.1 {
        let out = Tensor::zeroed(&grid.shape(), grid.dtype())?;
        let (by, at, to) = (Elements::contiguous(&grad)?, Elements::contiguous(&grid)?, Elements::of(&out)?);
        let from = Elements::contiguous(&input)?;
        // SAFETY: as above.
        by_type!(input.dtype(), work, T => unsafe {
            kernel::by_grid::<T>(&reading, from.slice(), by.slice(), at.slice(), to.slice_mut());
        });
        Some(out)
    } else {
        None
    };
    Ok((by_input, by_grid))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_grid_sample, module)?)?;
    module.add_function(wrap_pyfunction!(_grid_sample_backward, module)?)
}
