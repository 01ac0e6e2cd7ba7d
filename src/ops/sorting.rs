//! Sorting, the k greatest, order statistics and distinct values. On a GPU the CPU does the work.

use pyo3::prelude::*;

use super::creation;
use super::extreme::record_chosen;
use super::fold::through_cpu;
use super::reduce::reduced_shape;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Memory;
use crate::kernels::scan::Place;
use crate::kernels::sort::{self, Distinct, Pick, Ties};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, Geometry, contiguous_strides, wrap_dim};
use crate::with_element;

fn refused<T>(op: &str, dtype: DType) -> Result<T> {
    error::dtype(format!("{op}: not implemented for '{}'", dtype.scalar_type()))
}

/// Runs a kernel that writes values and positions of `shape`, laid out as `strides` say, for a CPU tensor.
fn pairs(
    op: &str,
    x: &Tensor,
    shape: &[usize],
    strides: &[usize],
    kernel: impl Fn([Place<'_>; 3]) -> Result<()> + Sync + Send,
) -> Result<(Tensor, Tensor)> {
    let [values, indices] = through_cpu(x, |x| {
        let values = Tensor::uninit_as(shape, strides, x.dtype())?;
        let indices = Tensor::uninit_as(shape, strides, DType::I64)?;
        let geometries: [Geometry; 3] = [x, &values, &indices].map(Tensor::geometry);
        let memories = [Memory::of(x)?, Memory::of(&values)?, Memory::of(&indices)?];
        if values.numel() > 0 {
            guard::heavy(op, x.numel(), || {
                kernel([0, 1, 2].map(|index| Place { memory: memories[index], geometry: &geometries[index] }))
            })??;
        }
        Ok([values, indices])
    })?;
    Ok((values, indices))
}

/// torch sorts long vectors of integers, least first, by their digits: equal ones keep their order.
const DIGITS_FROM: usize = 1 << 15;

/// Elements in order with their positions, NaN counts as the greatest; equal ones keep their order, or torch's.
pub fn sort(x: &Tensor, dim: usize, descending: bool, stable: bool) -> Result<(Tensor, Tensor)> {
    let digits = x.rank() == 1 && x.numel() >= DIGITS_FROM && x.dtype().kind() == Kind::Int && !descending;
    let ties = if stable || digits { Ties::Stable } else { Ties::Sort };
    let (values, indices) = first(x, "sort", dim, x.size(dim), descending, ties)?;
    record_chosen("SortBackward0", x, dim, &values, &indices, true);
    Ok((values, indices))
}

/// The first `count` elements along `dim` in order, outside the graph.
fn first(x: &Tensor, op: &str, dim: usize, count: usize, descending: bool, ties: Ties) -> Result<(Tensor, Tensor)> {
    let (dtype, size) = (x.dtype(), x.size(dim));
    let shape: Dims = x.shape().iter().enumerate().map(|(at, &old)| if at == dim { count } else { old }).collect();
    // All in order lie as the input does, a few of them in row-major order.
    let strides = if op == "sort" { creation::preserved(x) } else { contiguous_strides(&shape) };
    pairs(op, x, &shape, &strides, |[from, values, indices]| {
        // SAFETY: geometries lie inside their storages, and the outputs have `count` elements along `dim`.
        with_element!(dtype, T => unsafe {
            sort::ordered::<T>(dim, size, count, descending, ties, from, values, indices);
            Ok(())
        }, else refused(op, dtype))
    })
}

/// The `k` greatest (or least) elements along `dim`, in order if asked for.
pub fn topk(x: &Tensor, k: isize, dim: usize, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> {
    let size = x.size(dim);
    if k < 0 || k as usize > size {
        return error::runtime(format!(
            "topk: selected index k out of range: k is {k} but dimension {dim} has size {size}"
        ));
    }
    let ties = if sorted { Ties::Top } else { Ties::TopAnyOrder };
    let (values, indices) = first(x, "topk", dim, k as usize, largest, ties)?;
    record_chosen("TopkBackward0", x, dim, &values, &indices, true);
    Ok((values, indices))
}

/// One element of each line along `dim`, with its position.
fn pick(op: &str, name: &'static str, which: Pick, x: &Tensor, dim: usize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let (dtype, size) = (x.dtype(), x.size(dim));
    if dtype == DType::Bool {
        return refused(op, dtype);
    }
    if size == 0 {
        return error::index(format!("{op}(): Expected reduction dim {dim} to have non-zero size."));
    }
    let dims: &[usize] = if x.rank() == 0 { &[] } else { &[dim] };
    let kept = reduced_shape(&x.shape(), dims, true);
    let (values, indices) = pairs(op, x, &kept, &contiguous_strides(&kept), |[from, values, indices]| {
        // SAFETY: geometries lie inside their storages, the outputs have one element per line, lines are not empty.
        with_element!(dtype, T => unsafe {
            sort::picked::<T>(which, dim, size, from, values, indices);
            Ok(())
        }, else refused(op, dtype))
    })?;
    let target = reduced_shape(&x.shape(), dims, keepdim);
    let (values, indices) = (values.reshaped(&target)?, indices.reshaped(&target)?);
    record_chosen(name, x, dim, &values, &indices, keepdim);
    Ok((values, indices))
}

/// The distinct slices along `dim`: where each first stands, which one every slice is, how often it occurs.
fn distinct(x: &Tensor, dim: usize, in_order: bool, inverse: bool) -> Result<[Tensor; 3]> {
    x.need_values()?;
    let dtype = x.dtype();
    through_cpu(&x.detached(), |x| {
        let rows = x.size(dim);
        let mut order: Vec<usize> = (0..x.rank()).filter(|&other| other != dim).collect();
        if x.rank() > 0 {
            order.insert(0, dim);
        }
        let front = x.alias(x.geometry().permute(&order)).contiguous_data()?;
        let width = x.numel().checked_div(rows).unwrap_or(0);
        let (memory, at) = (Memory::of(&front)?, front.geometry().offset);
        let found: Distinct = guard::heavy("unique", x.numel(), || {
            // SAFETY: `front` holds `rows * width` elements without gaps.
            with_element!(dtype, T => Ok(unsafe { sort::distinct::<T>(memory, at, [rows, width], in_order, inverse) }),
                else refused("unique", dtype))
        })??;
        Ok([integers(&found.first)?, integers(&found.inverse)?, integers(&found.counts)?])
    })
}

/// A CPU vector of int64.
pub fn integers(values: &[i64]) -> Result<Tensor> {
    let bytes = bytemuck::cast_slice::<i64, u8>(values).to_vec();
    Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(bytes), &[values.len()], DType::I64)
}

#[pymethods]
impl PyTensor {
    fn _sort(&self, dim: isize, descending: bool, stable: bool) -> Result<(Tensor, Tensor)> {
        sort(&self.tensor, wrap_dim("sort", dim, self.tensor.rank())?, descending, stable)
    }

    fn _topk(&self, k: isize, dim: isize, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> {
        topk(&self.tensor, k, wrap_dim("topk", dim, self.tensor.rank())?, largest, sorted)
    }

    fn _kthvalue(&self, k: isize, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        let dim = wrap_dim("kthvalue", dim, self.tensor.rank())?;
        let size = self.tensor.size(dim);
        if k < 1 || k as usize > size {
            return error::runtime(format!(
                "kthvalue: selected number k out of range for dimension {dim}: k is {k}, its size {size}"
            ));
        }
        pick("kthvalue", "KthvalueBackward0", Pick::Nth(k as usize - 1), &self.tensor, dim, keepdim)
    }

    fn _median_dim(&self, dim: isize, keepdim: bool, ignore_nan: bool) -> Result<(Tensor, Tensor)> {
        let dim = wrap_dim("median", dim, self.tensor.rank())?;
        let (which, name) =
            if ignore_nan { (Pick::NanMedian, "NanmedianBackward1") } else { (Pick::Median, "MedianBackward1") };
        pick(if ignore_nan { "nanmedian" } else { "median" }, name, which, &self.tensor, dim, keepdim)
    }

    /// The median of all elements; equal ones share the gradient.
    fn _median(&self, ignore_nan: bool) -> Result<Tensor> {
        let x = &self.tensor;
        if x.numel() == 0 {
            return creation::full(&[], super::operand::Scalar::Float(f64::NAN), x.dtype(), x.device());
        }
        if x.dtype() == DType::Bool {
            return refused("median", x.dtype());
        }
        let flat = x.contiguous_data()?.detached().reshaped(&[x.numel()])?;
        let which = if ignore_nan { Pick::NanMedian } else { Pick::Median };
        let (value, _) = pick("median", "MedianBackward0", which, &flat, 0, false)?;
        let every: Vec<usize> = (0..x.rank()).collect();
        super::extreme::record_shared("MedianBackward0", x, &value, &every);
        Ok(value)
    }

    fn _mode(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        let dim = wrap_dim("mode", dim, self.tensor.rank())?;
        pick("mode", "ModeBackward0", Pick::Mode, &self.tensor, dim, keepdim)
    }

    fn _distinct(&self, dim: isize, in_order: bool, inverse: bool) -> Result<(Tensor, Tensor, Tensor)> {
        crate::check::kind("unique", self.tensor.dtype(), &[Kind::Bool, Kind::Int, Kind::Float])?;
        let dim = wrap_dim("unique", dim, self.tensor.rank())?;
        let [first, inverse, counts] = distinct(&self.tensor, dim, in_order, inverse)?;
        Ok((first, inverse, counts))
    }
}
