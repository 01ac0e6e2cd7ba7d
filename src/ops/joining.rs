//! Tensors put together, turned around, padded, and reshaped in place.

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::convert::{Format, common_format, inverse};
use super::operand::{ResultType, Scalar};
use super::{creation, movement};
use crate::autograd::{Record, grads};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::copy;
use crate::kernels::flip;
use crate::kernels::memory::Elements;
use crate::kernels::memory::Memory;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, Geometry, checked_numel, wrap_dim};
use crate::tensor::{Core, Tensor, prim};

/// Bytes of a result up to which plain runs are copied however short they are, and of a run from which on they are.
const FEW_BYTES: usize = 1 << 15;
const LONG_RUN: usize = 64;

/// How the elements of `part` from `dim` on lie: side by side, the next of them so many elements further on; else None.
fn step_of(part: &Tensor, dim: usize) -> Option<usize> {
    let geometry = part.geometry();
    let plain = |dims: std::ops::Range<usize>, first: usize| {
        dims.rev().try_fold(first, |expected, at| match geometry.shape[at] {
            1 => Some(expected),
            size => (geometry.strides[at] == expected).then_some(expected * size),
        })
    };
    plain(dim..geometry.rank(), 1)?;
    let Some(last) = (0..dim).rev().find(|&at| geometry.shape[at] != 1) else { return Some(0) };
    plain(0..last + 1, geometry.strides[last])?;
    Some(geometry.strides[last])
}

/// Writes tensors of one dtype beside each other; false, with nothing done, where their runs are many and short, or their
/// elements do not lie in such.
fn join(out: &Tensor, parts: &[&Tensor], dim: usize) -> Result<bool> {
    let runs = out.shape()[..dim].iter().product();
    let width = out.dtype().size();
    let mut sources: SmallVec<[copy::Runs; 8]> = SmallVec::with_capacity(parts.len());
    for part in parts.iter().filter(|part| part.numel() > 0) {
        let bytes = part.shape()[dim..].iter().product::<usize>() * width;
        let Some(step) = step_of(part, dim) else { return Ok(false) };
        sources.push(copy::Runs { first: Memory::first(part)?, bytes, step: step * width });
    }
    let total = out.numel() * width;
    let whole: usize = sources.iter().map(|source| source.bytes).sum();
    if total > FEW_BYTES && whole < LONG_RUN * sources.len() {
        return Ok(false);
    }
    if total == 0 {
        return Ok(true);
    }
    let target = Memory::first(out)?;
    if total <= FEW_BYTES {
        // SAFETY: as below.
        unsafe { copy::join(target, &sources, runs) };
        return Ok(true);
    }
    // SAFETY: each part has `runs` runs of so many bytes; together they are as many as the result has.
    crate::guard::spread("cat", total / size_of::<f32>(), || unsafe { copy::join(target, &sources, runs) })?;
    Ok(true)
}

/// The tensors, all of one shape, along a new dimension.
fn stack(tensors: &[Tensor], dim: isize) -> Result<Tensor> {
    let Some(first) = tensors.first().map(Tensor::shape) else {
        return error::runtime("stack expects a non-empty TensorList");
    };
    for (place, tensor) in tensors.iter().enumerate() {
        if tensor.shape() != first {
            return error::runtime(format!(
                "stack expects each tensor to be equal size, but got {:?} at entry 0 and {:?} at entry {place}",
                first.as_slice(),
                tensor.shape().as_slice()
            ));
        }
    }
    let axis = wrap_dim("stack", dim, first.len() + 1)?;
    let rows = tensors.iter().map(|tensor| movement::unsqueeze(tensor, axis)).collect::<Result<Vec<_>>>()?;
    let out = cat(&rows, axis as isize)?;
    if let Some(edge) = out.edge() {
        let inputs: Vec<Option<&Tensor>> = tensors.iter().map(Some).collect();
        edge.node.stand_for("StackBackward0", &inputs, std::iter::empty());
    }
    Ok(out)
}

/// The tensors one after the other along `dim`.
pub fn cat(tensors: &[Tensor], dim: isize) -> Result<Tensor> {
    if let Some(place) = tensors.iter().position(|tensor| tensor.rank() == 0) {
        return error::runtime(format!(
            "cat: zero-dimensional tensor (at position {place}) cannot be concatenated; use stack"
        ));
    }
    let all: Vec<&Tensor> = tensors.iter().collect();
    let device = crate::check::same_device("cat", &all)?;
    let dtype = tensors.iter().fold(ResultType::default(), ResultType::with_tensor).get();
    // Vectors without elements join with anything, as in torch.
    let mut parts: Vec<&Tensor> = all.iter().copied().filter(|tensor| tensor.shape().as_slice() != [0]).collect();
    if parts.is_empty() {
        parts = all;
    }
    let Some(first) = parts.first().copied() else { return error::value("cat: expected a non-empty list of Tensors") };
    let dim = wrap_dim("cat", dim, first.rank())?;
    let mut shape = first.shape();
    let mut starts = Vec::with_capacity(parts.len());
    let mut total = 0;
    for (place, part) in parts.iter().enumerate() {
        let sizes = part.shape();
        check_joint(&shape, &sizes, dim, place)?;
        starts.push((total, sizes[dim]));
        total += sizes[dim];
    }
    shape[dim] = total;
    checked_numel(&shape)?;
    let out = if device.is_meta() {
        Tensor::meta_as(&shape, &common_format(&parts).strides(&shape)?, dtype)?
    } else if device.is_cpu() {
        let format = common_format(&parts);
        let out = Tensor::uninit_as(&shape, &format.strides(&shape)?, dtype)?;
        let plain = format == Format::Contiguous && parts.iter().all(|part| part.dtype() == dtype);
        if !(plain && join(&out, &parts, dim)?) {
            for (part, &(start, length)) in parts.iter().zip(&starts) {
                out.alias(out.geometry().slice(dim, start, length, 1)).write(part)?;
            }
        }
        out
    } else {
        cat_device(&parts, &shape, dim, dtype)?
    };
    if let Some(record) = Record::new("CatBackward0", &parts) {
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            starts
                .iter()
                .enumerate()
                .map(|(input, &(start, length))| c.when(input, || movement::slice(&grad, dim, start, length, 1)))
                .collect()
        });
    }
    Ok(out)
}

/// Refuses a part that does not continue `shape` along `dim`.
fn check_joint(shape: &[usize], sizes: &[usize], dim: usize, place: usize) -> Result<()> {
    if sizes.len() != shape.len() {
        return error::shape(format!(
            "cat: Tensors must have same number of dimensions: got {} and {} for tensor number {place} in the list.",
            shape.len(),
            sizes.len()
        ));
    }
    match sizes.iter().zip(shape).enumerate().find(|&(at, (a, b))| at != dim && a != b) {
        None => Ok(()),
        Some((_, (got, expected))) => error::shape(format!(
            "cat: Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got size {got} \
             for tensor number {place} in the list."
        )),
    }
}

fn cat_device(parts: &[&Tensor], shape: &[usize], dim: usize, dtype: DType) -> Result<Tensor> {
    let filled: Vec<Tensor> = parts
        .iter()
        .filter(|part| part.numel() > 0)
        .map(|part| if part.dtype() == dtype { Ok(part.detached()) } else { part.converted(dtype) })
        .collect::<Result<_>>()?;
    let inputs: Vec<&Tensor> = filled.iter().collect();
    match inputs.as_slice() {
        [] => creation::zeros(shape, dtype, parts.first().map_or(crate::device::Device::Cpu, |part| part.device())),
        [one] => one.copied(),
        _ => Tensor::compute("cat", &inputs, dtype, move |values| prim::cat(dtype.kind(), values, dim)),
    }
}

/// The order of elements reversed along `dims`.
pub fn flip(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let out = if x.numel() <= 1 || dims.is_empty() {
        x.copied_as(&creation::preserved(x))?
    } else if x.dtype().is_complex() && !x.device().is_cpu() {
        // Their parts are turned around in pairs: the last dimension of the real view stays.
        super::complex::from_parts(&flip(&super::complex::parts(x), dims)?)
    } else {
        flip_in_order(x, dims)?
    };
    if let Some(record) = Record::new("FlipBackward0", &[x]) {
        let dims = dims.to_vec();
        record.finish(&out, move |c| grads([Some(flip(&c.grad()?, &dims)?)]));
    }
    Ok(out)
}

/// Flips `x` seen with its dimensions in the order in which they lie in memory, so that the result lies as it does.
fn flip_in_order(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let kind = x.kind();
    // Results of a GPU are row-major.
    let order = if x.device().is_cpu() { x.geometry().memory_order() } else { (0..x.rank()).collect() };
    let axes: Vec<usize> = (0..order.len()).filter(|&place| dims.contains(&order[place])).collect();
    let ordered = x.alias(x.geometry().permute(&order));
    if x.device().is_cpu() {
        let from = Elements::contiguous(&ordered)?;
        let (out, _) = Tensor::uninit_with_pointer(&ordered.shape(), x.dtype())?;
        let to = Elements::of(&out)?;
        crate::guard::heavy("flip", out.numel(), || flip::flip(&from, &to, &axes))?;
        return Ok(out.alias(out.geometry().permute(&inverse(&order))));
    }
    let flipped = Tensor::compute("flip", &[&ordered], x.dtype(), move |mut values| {
        prim::flip(kind, values.swap_remove(0), &axes)
    })?;
    Ok(flipped.alias(flipped.geometry().permute(&inverse(&order))))
}

/// `x` with `value` around it: `pads` are (before, after) per dimension, negative ones cut off.
pub fn pad_constant(x: &Tensor, pads: &[(isize, isize)], value: Scalar) -> Result<Tensor> {
    let mut inner = x.clone();
    let mut shape: Dims = Dims::new();
    let mut starts: Dims = Dims::new();
    for (dim, &(before, after)) in pads.iter().enumerate() {
        let size = x.size(dim) as isize;
        let target = size.checked_add(before).and_then(|sum| sum.checked_add(after)).unwrap_or(-1);
        if target < 0 {
            return error::runtime(format!(
                "constant_pad_nd: the input size {size}, plus negative padding {before} and {after}, resulted in a \
                 negative output size, which is invalid. Check dimension {dim} of your input."
            ));
        }
        let (cut_front, cut_back) = ((-before).max(0), (-after).max(0));
        if cut_front > 0 || cut_back > 0 {
            let kept = (size - cut_front - cut_back).max(0);
            // Where one side is cut by more than there is, the padding of the other side remains.
            let start = cut_front.min(size - kept);
            inner = movement::slice(&inner, dim, start as usize, kept as usize, 1)?;
        }
        shape.push(target as usize);
        starts.push(before.max(0).min(target) as usize);
    }
    checked_numel(&shape)?;
    creation::check_fill(value, x.dtype())?;
    let out = creation::full(&shape, value, x.dtype(), x.device())?;
    let sizes = inner.shape();
    let mut window = Geometry::contiguous(&shape);
    for (dim, (&start, &length)) in starts.iter().zip(&sizes).enumerate() {
        window = window.slice(dim, start, length, 1);
    }
    if inner.numel() > 0 {
        out.alias(window).write(&inner)?;
    }
    if let Some(record) = Record::new("ConstantPadNdBackward0", &[&inner]) {
        record.finish(&out, move |c| {
            let mut grad = c.grad()?;
            for (dim, (&start, &length)) in starts.iter().zip(&sizes).enumerate() {
                grad = movement::slice(&grad, dim, start, length, 1)?;
            }
            grads([Some(grad)])
        });
    }
    Ok(out)
}

/// Gives `x` the geometry and history of a view of itself: `t_`, `unsqueeze_` and their kin.
fn restride(op: &str, x: &Tensor, make: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<()> {
    crate::autograd::inplace::check_history(op, x)?;
    let view = make(x)?;
    let edge = view.meta().read_recursive().grad_fn.clone();
    x.set_core(view.core().clone());
    x.core().storage.bump();
    let version = x.version();
    let mut meta = x.meta().write();
    if let Some(info) = meta.view.as_mut() {
        info.seen = version;
    }
    if edge.is_some() {
        meta.grad_fn = edge;
        meta.requires_grad = false;
    }
    Ok(())
}

/// Other sizes for the same storage, which grows when it is too small; that would leave its aliases behind, so then
/// there must be none.
fn resize(x: &Tensor, shape: &[usize]) -> Result<()> {
    if x.requires_grad() {
        return error::runtime("cannot resize variables that require grad");
    }
    let numel = checked_numel(shape)?;
    crate::check::allocation(numel.saturating_mul(x.dtype().size()))?;
    let core = x.core().clone();
    let geometry = Geometry { offset: core.geometry.offset, ..Geometry::contiguous(shape) };
    if x.check_inside(&geometry).is_ok() {
        x.set_core(Core { geometry, ..core });
        x.core().storage.bump();
        return Ok(());
    }
    let version = x.version();
    drop(core);
    if !x.core().storage.is_resizable() {
        return error::runtime(
            "resize_: the storage must grow, but other tensors or arrays share it; make a new tensor instead.",
        );
    }
    let core = x.core().clone();
    let fresh = creation::zeros(&[numel], core.dtype, x.device())?;
    let held = x.contiguous_data()?.detached().reshaped(&[x.numel()])?;
    fresh.alias(fresh.geometry().slice(0, 0, held.numel().min(numel), 1)).write(&held)?;
    let storage = fresh.core().storage.untracked_at(version + 1);
    x.set_core(Core { storage, geometry: Geometry::contiguous(shape), dtype: core.dtype });
    Ok(())
}

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

#[pymethods]
impl PyTensor {
    fn _flip(&self, dims: super::views::DimArg) -> Result<Tensor> {
        flip(&self.tensor, &dims.wrap("flip", self.tensor.rank())?)
    }

    fn _pad_constant(&self, pads: Vec<(isize, isize)>, value: Scalar) -> Result<Tensor> {
        pad_constant(&self.tensor, &pads, value)
    }

    /// This tensor, whose two dimensions have changed places.
    fn transpose_<'py>(slf: Bound<'py, Self>, dim0: isize, dim1: isize) -> Own<'py> {
        let rank = slf.get().tensor.rank();
        let (a, b) = (wrap_dim("transpose_", dim0, rank)?, wrap_dim("transpose_", dim1, rank)?);
        restride("transpose_", &slf.get().tensor, |x| movement::transpose(x, a, b))?;
        Ok(slf)
    }

    /// This matrix, transposed.
    fn t_<'py>(slf: Bound<'py, Self>) -> Own<'py> {
        if slf.get().tensor.rank() > 2 {
            error::runtime("t_: expects a tensor with <= 2 dimensions")?;
        }
        restride("t_", &slf.get().tensor, |x| movement::transpose(x, 0, 1))?;
        Ok(slf)
    }

    /// This tensor with a new dimension of size 1.
    fn unsqueeze_<'py>(slf: Bound<'py, Self>, dim: isize) -> Own<'py> {
        let dim = wrap_dim("unsqueeze_", dim, slf.get().tensor.rank() + 1)?;
        restride("unsqueeze_", &slf.get().tensor, |x| movement::unsqueeze(x, dim))?;
        Ok(slf)
    }

    /// This tensor, which is `view`, a view of itself, from now on.
    fn _become<'py>(slf: Bound<'py, Self>, op: &str, view: Tensor) -> Own<'py> {
        restride(op, &slf.get().tensor, |_| Ok(view))?;
        Ok(slf)
    }

    /// This tensor without its dimensions of size 1.
    #[pyo3(signature = (dim=None))]
    fn squeeze_<'py>(slf: Bound<'py, Self>, dim: Option<super::views::DimArg>) -> Own<'py> {
        let rank = slf.get().tensor.rank();
        let dims = match dim {
            None => (0..rank).collect(),
            Some(dims) => dims.wrap("squeeze_", rank)?,
        };
        restride("squeeze_", &slf.get().tensor, |x| movement::squeeze(x, &dims))?;
        Ok(slf)
    }

    /// Other sizes in place; new elements are zero.
    #[pyo3(signature = (*sizes))]
    fn resize_<'py>(slf: Bound<'py, Self>, sizes: &Bound<'py, pyo3::types::PyTuple>) -> Own<'py> {
        let shape = crate::tensor::class::sizes("resize_", sizes)?
            .into_iter()
            .map(|size| match usize::try_from(size) {
                Ok(size) => Ok(size),
                Err(_) => error::runtime(format!("resize_: negative dimension {size}")),
            })
            .collect::<Result<Vec<_>>>()?;
        resize(&slf.get().tensor, &shape)?;
        Ok(slf)
    }
}

#[pyfunction]
fn _cat(tensors: Vec<Tensor>, dim: isize) -> Result<Tensor> {
    cat(&tensors, dim)
}

#[pyfunction]
fn _stack(tensors: Vec<Tensor>, dim: isize) -> Result<Tensor> {
    stack(&tensors, dim)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_stack, module)?)?;
    module.add_function(wrap_pyfunction!(_cat, module)?)
}
