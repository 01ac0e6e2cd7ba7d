//! Fourier transforms along one dimension, with their rules; Python builds torch's functions from them.

use pyo3::prelude::*;

use super::operand::Scalar;
use super::{arithmetic, complex, creation, joining, movement};
use crate::autograd::{Record, grads};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::fft::{Line, Place, Transform, transform};
use crate::kernels::memory::Memory;
use crate::tensor::Tensor;
use crate::tensor::geometry::wrap_dim;

/// The transform on the values alone; `size` is the result's along the dimension.
fn raw(x: &Tensor, what: Transform, size: usize) -> Result<Tensor> {
    if !x.device().is_cpu() && !x.is_meta() {
        return error::dtype(format!(
            "fft: complex numbers are on the CPU only, this tensor is on {}; use .cpu() first",
            x.device().name()
        ));
    }
    let mut shape = x.shape();
    match shape.get_mut(what.dim) {
        Some(slot) => *slot = size,
        None => return error::runtime("fft: a tensor without dimensions cannot be transformed"),
    }
    let part = x.dtype().real();
    let dtype = if what.to == Line::Real { part } else { part.complex() };
    if x.is_meta() {
        return Tensor::meta_of(&shape, dtype);
    }
    let (out, _) = Tensor::uninit_with_pointer(&shape, dtype)?;
    let (input, output) = (Memory::of(x)?, Memory::of(&out)?);
    let (from, to) = (x.geometry(), out.geometry());
    let work = out.numel().max(x.numel()).saturating_mul(4);
    guard::heavy("fft", work, || {
        let places = (Place { memory: input, geometry: &from }, Place { memory: output, geometry: &to });
        // SAFETY: tensors' geometries lie inside their storages, `out` is fresh and has the line's size.
        unsafe {
            match part {
                DType::F64 => transform::<f64>(what, places.0, places.1),
                _ => transform::<f32>(what, places.0, places.1),
            }
        }
    })?;
    Ok(out)
}

/// Complex to complex, scaled; its adjoint is the transform in the other direction.
pub fn c2c(x: &Tensor, dim: usize, forward: bool, scale: f64) -> Result<Tensor> {
    let length = x.size(dim);
    let what = Transform { dim, length, forward, scale, from: Line::Complex, to: Line::Complex };
    let out = raw(x, what, length)?;
    if let Some(record) = Record::new("FftC2CBackward0", &[x]) {
        record.finish(&out, move |c| grads([Some(c2c(&c.grad()?, dim, !forward, scale)?)]));
    }
    Ok(out)
}

/// Real to the first half of the complex result, or to all of it.
pub fn r2c(x: &Tensor, dim: usize, forward: bool, onesided: bool, scale: f64) -> Result<Tensor> {
    let length = x.size(dim);
    let (to, size) = if onesided { (Line::Half, length / 2 + 1) } else { (Line::Complex, length) };
    let what = Transform { dim, length, forward, scale, from: Line::Real, to };
    let out = raw(x, what, size)?;
    if let Some(record) = Record::new("FftR2CBackward0", &[x]) {
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            let back = if onesided {
                c2r(&mirrored(&grad, dim, length, 0.5)?, dim, length, !forward, scale)?
            } else {
                complex::real(&c2c(&grad, dim, !forward, scale)?)?
            };
            grads([Some(back)])
        });
    }
    Ok(out)
}

/// The first half of a line with mirrored conjugates to its real transform of `length`.
pub fn c2r(x: &Tensor, dim: usize, length: usize, forward: bool, scale: f64) -> Result<Tensor> {
    let what = Transform { dim, length, forward, scale, from: Line::Half, to: Line::Real };
    let out = raw(x, what, length)?;
    if let Some(record) = Record::new("FftC2RBackward0", &[x]) {
        let given = x.size(dim);
        record.finish(&out, move |c| {
            let half = r2c(&c.grad()?, dim, !forward, true, scale)?;
            grads([Some(cut(&mirrored(&half, dim, length, 2.0)?, dim, given)?)])
        });
    }
    Ok(out)
}

/// The first half of a line of `length`, where each element that also stands for its mirror image is multiplied.
fn mirrored(half: &Tensor, dim: usize, length: usize, factor: f64) -> Result<Tensor> {
    let size = length / 2 + 1;
    let alone = |index: usize| index == 0 || 2 * index == length;
    let weights: Vec<u8> = (0..size).flat_map(|index| if alone(index) { 1.0 } else { factor }.to_ne_bytes()).collect();
    let weights = Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(weights), &[size], DType::F64)?;
    let mut shape = vec![1; half.rank()];
    if let Some(slot) = shape.get_mut(dim) {
        *slot = size;
    }
    arithmetic::mul(half, &creation::to_dtype(&weights.reshaped(&shape)?, half.dtype().real())?)
}

/// The first `size` elements along `dim`, zeros where there are fewer.
fn cut(x: &Tensor, dim: usize, size: usize) -> Result<Tensor> {
    let there = x.size(dim);
    if size <= there {
        return movement::slice(x, dim, 0, size, 1);
    }
    let mut pads = vec![(0, 0); x.rank()];
    if let Some(pad) = pads.get_mut(dim) {
        pad.1 = (size - there) as isize;
    }
    joining::pad_constant(x, &pads, Scalar::Int(0))
}

fn need(op: &str, x: &Tensor, complex: bool, dim: isize) -> Result<usize> {
    let fits = if complex { x.dtype().is_complex() } else { matches!(x.dtype(), DType::F32 | DType::F64) };
    if !fits {
        return error::dtype(format!("{op}: Unsupported dtype {}", x.dtype().name()));
    }
    let dim = wrap_dim(op, dim, x.rank())?;
    if x.size(dim) == 0 {
        return error::runtime(format!("{op}: Invalid number of data points (0) specified"));
    }
    Ok(dim)
}

#[pyfunction]
fn _fft_c2c(x: Tensor, dim: isize, forward: bool, scale: f64) -> Result<Tensor> {
    c2c(&x, need("fft", &x, true, dim)?, forward, scale)
}

#[pyfunction]
fn _fft_r2c(x: Tensor, dim: isize, forward: bool, onesided: bool, scale: f64) -> Result<Tensor> {
    r2c(&x, need("rfft", &x, false, dim)?, forward, onesided, scale)
}

#[pyfunction]
fn _fft_c2r(x: Tensor, dim: isize, length: usize, forward: bool, scale: f64) -> Result<Tensor> {
    let dim = need("irfft", &x, true, dim)?;
    if length == 0 {
        return error::runtime("irfft: Invalid number of data points (0) specified");
    }
    c2r(&x, dim, length, forward, scale)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_fft_c2c, module)?)?;
    module.add_function(wrap_pyfunction!(_fft_r2c, module)?)?;
    module.add_function(wrap_pyfunction!(_fft_c2r, module)?)
}
