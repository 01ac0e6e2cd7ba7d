//! Padding with copies of what lies inside: reflected, repeated, or from the other end.

use pyo3::prelude::*;

use crate::autograd::{Record, grads};
use crate::check;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::edges::{self, Beyond, Edge};
use crate::kernels::memory::Memory;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, checked_numel};

/// Which dimensions are padded, the last three at most, and how.
#[derive(Clone)]
struct Padding {
    edges: [Edge; 3],
    count: usize,
}

impl Padding {
    fn new(x: &Tensor, pads: &[(usize, usize)], beyond: Beyond) -> Result<Self> {
        let shape = x.shape();
        let first = shape.len().checked_sub(pads.len()).filter(|_| pads.len() <= 3);
        let Some(first) = first else {
            return error::shape(format!("pad: {} of {} dimensions cannot be padded", pads.len(), shape.len()));
        };
        let mut edges = [0; 3].map(|_| Edge::new(1, 0, 0, beyond));
        for (slot, (&size, &(before, after))) in
            edges.iter_mut().skip(3 - pads.len()).zip(shape.iter().skip(first).zip(pads))
        {
            if before >= size || after >= size {
                return error::shape(format!("pad: {before} and {after} are not below the size {size}"));
            }
            *slot = Edge::new(size, before, after, beyond);
        }
        Ok(Self { edges, count: pads.len() })
    }

    /// `shape` with other sizes along the padded dimensions.
    fn sized(&self, shape: &[usize], size: impl Fn(&Edge) -> usize) -> Dims {
        let kept = shape.len().saturating_sub(self.count);
        shape.iter().take(kept).copied().chain(self.edges.iter().skip(3 - self.count).map(size)).collect()
    }
}

/// Runs `call(from, to, planes)` from `x` to a new tensor of `shape`.
fn moved(
    x: &Tensor,
    shape: &[usize],
    padding: &Padding,
    call: impl Fn(Memory, Memory, usize) + Send + Sync,
) -> Result<Tensor> {
    let x = x.contiguous_data()?;
    check::allocation(checked_numel(shape)?.saturating_mul(x.dtype().size()))?;
    let (out, _) = Tensor::uninit_with_pointer(shape, x.dtype())?;
    let planes = shape.iter().take(shape.len() - padding.count).product();
    let (from, to) = (Memory::first(&x)?, Memory::first(&out)?);
    guard::spread("pad", out.numel().max(x.numel()), || call(from, to, planes))?;
    Ok(out)
}

/// `x`, of float32 or float64 on the CPU, padded.
fn padded(x: &Tensor, padding: &Padding) -> Result<Tensor> {
    let shape = padding.sized(&x.shape(), Edge::padded);
    let single = x.dtype() == DType::F32;
    let out = moved(x, &shape, padding, |from, to, planes| {
        // SAFETY: both are row-major tensors of planes of these sizes and this type, and the result is new.
        unsafe {
            if single {
                edges::pad::<f32>(from, to, planes, &padding.edges);
            } else {
                edges::pad::<f64>(from, to, planes, &padding.edges);
            }
        }
    })?;
    if let Some(record) = Record::new("PadBackward0", &[x]) {
        let padding = padding.clone();
        record.finish(&out, move |c| grads([Some(folded(&c.grad()?, &padding)?)]));
    }
    Ok(out)
}

/// The gradient of `padded`: each element's copies added up.
fn folded(grad: &Tensor, padding: &Padding) -> Result<Tensor> {
    let shape = padding.sized(&grad.shape(), |edge| edge.size);
    let single = grad.dtype() == DType::F32;
    let out = moved(grad, &shape, padding, |from, to, planes| {
        // SAFETY: as in `padded`.
        unsafe {
            if single {
                edges::fold::<f32>(from, to, planes, &padding.edges);
            } else {
                edges::fold::<f64>(from, to, planes, &padding.edges);
            }
        }
    })?;
    if let Some(record) = Record::new("PadBackwardBackward0", &[grad]) {
        let padding = padding.clone();
        record.finish(&out, move |c| grads([Some(padded(&c.grad()?, &padding)?)]));
    }
    Ok(out)
}

#[pymethods]
impl PyTensor {
    /// The last dimensions padded by so many elements before and after, fewer than there are; float32 and float64 of the CPU.
    fn _pad_edges(&self, pads: Vec<(usize, usize)>, mode: &str) -> Result<Tensor> {
        let x = &self.tensor;
        let beyond = match mode {
            "reflect" => Beyond::Reflect,
            "replicate" => Beyond::Replicate,
            "circular" => Beyond::Circular,
            _ => return error::runtime(format!("pad: Unrecognised padding mode {mode}")),
        };
        if !x.device().is_cpu() || !matches!(x.dtype(), DType::F32 | DType::F64) {
            return error::dtype("_pad_edges: float32 or float64 on the CPU is expected");
        }
        padded(x, &Padding::new(x, &pads, beyond)?)
    }
}
