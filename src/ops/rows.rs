//! The two primitives under all indexing: rows of a tensor taken by number, and rows put back.
//!
//! Every index op first turns its indices into row numbers of a row-major matrix on the host, where they are checked
//! against the sizes. So no device ever sees an index that is out of range; on a GPU this costs one transfer of the indices.

use std::sync::Arc;

use burn_backend::TensorData;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{Bytes, IndexingUpdateOp, IntDType, Shape};

use super::creation;
use crate::autograd::{Record, grads};
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::index::{self, Update};
use crate::tensor::geometry::contiguous_strides;
use crate::tensor::{Tensor, device_view, prim};

/// Checked row numbers of a tensor seen as a matrix with `block` columns.
#[derive(Clone)]
pub struct Rows {
    pub numbers: Arc<Vec<i64>>,
    pub block: usize,
}

impl Rows {
    pub fn new(numbers: Vec<i64>, block: usize) -> Self {
        Self { numbers: Arc::new(numbers), block }
    }
}

/// The places that an index names in `x`; those of a meta tensor are any, where `x` has no values either.
pub fn places(index: &Tensor, x: &Tensor) -> Result<Vec<i64>> {
    if index.is_meta() && x.is_meta() { Ok(vec![0; index.numel()]) } else { integers(index) }
}

/// The integers of an index tensor, in row-major order.
pub fn integers(index: &Tensor) -> Result<Vec<i64>> {
    index.need_values()?;
    let host = index.moved(Device::Cpu)?;
    let host = if host.dtype() == DType::I64 { host } else { host.converted(DType::I64)? };
    if host.numel() == 0 {
        return Ok(Vec::new());
    }
    host.contiguous_data()?
        .with_bytes(|bytes| bytes.as_chunks::<8>().0.iter().map(|&cell| i64::from_ne_bytes(cell)).collect())
}

/// A device or CPU tensor of int64 from numbers.
pub fn from_integers(numbers: &[i64], shape: &[usize], device: Device) -> Result<Tensor> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    Tensor::from_bytes(Bytes::from_bytes_vec(bytes), shape, DType::I64)?.moved(device)
}

/// Positions along `dim` made row numbers: for each element of `index_shape` one, all other coordinates equal.
pub fn along(shape: &[usize], dim: usize, index_shape: &[usize], mut positions: Vec<i64>) -> Vec<i64> {
    let strides = contiguous_strides(shape);
    let step = |axis: usize| if axis == dim { 0 } else { strides.get(axis).copied().unwrap_or(0) };
    let own = strides.get(dim).copied().unwrap_or(1) as i64;
    let (length, outer) = index_shape.split_last().map_or((1, [].as_slice()), |(&length, outer)| (length, outer));
    let beside = if index_shape.is_empty() { 0 } else { step(outer.len()) as i64 };
    for (mut number, row) in positions.chunks_mut(length.max(1)).enumerate() {
        let mut at = 0;
        for (axis, &size) in outer.iter().enumerate().rev() {
            at += number % size * step(axis);
            number /= size;
        }
        for (column, position) in row.iter_mut().enumerate() {
            *position = at as i64 + column as i64 * beside + *position * own;
        }
    }
    positions
}

/// Row numbers of the sub-tensors at `positions` of `dim`, for every combination of the dimensions before it.
pub fn slabs(shape: &[usize], dim: usize, positions: &[i64]) -> Rows {
    let outer: usize = shape.iter().take(dim).product();
    let size = shape.get(dim).copied().unwrap_or(1) as i64;
    let block = shape.iter().skip(dim + 1).product();
    let numbers = (0..outer as i64).flat_map(|row| positions.iter().map(move |&position| row * size + position));
    Rows::new(numbers.collect(), block)
}

/// The rows as a tensor of `shape`. `keep` are index tensors whose later modification makes the backward pass wrong.
pub fn take(name: &'static str, x: &Tensor, rows: &Rows, shape: &[usize], keep: &[&Tensor]) -> Result<Tensor> {
    take_as(name, x, rows, shape, None, keep)
}

/// As `take`, with the result in another order in memory than the row-major one.
pub fn take_as(
    name: &'static str,
    x: &Tensor,
    rows: &Rows,
    shape: &[usize],
    strides: Option<&[usize]>,
    keep: &[&Tensor],
) -> Result<Tensor> {
    let out = take_raw(x, rows, shape)?;
    let out = match strides {
        Some(strides) => out.copied_as(strides)?,
        None => out,
    };
    if let Some(mut record) = Record::new(name, &[x]) {
        for index in keep {
            record = record.save(index);
        }
        let (rows, from) = (rows.clone(), x.shape());
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            let zeros = creation::zeros(&from, grad.dtype(), grad.device())?;
            grads([Some(put("IndexPutBackward0", &zeros, &rows, &grad, Update::Add, &[])?)])
        });
    }
    Ok(out)
}

/// Ops that torch makes of a copy of `x`, which lies in memory as `x` does.
const KEEP_ORDER: [&str; 3] = ["IndexFillBackward0", "IndexPutBackward0", "PutBackward0"];

/// `x` with `values` (as many elements as the rows have) assigned or added to the rows.
pub fn put(
    name: &'static str,
    x: &Tensor,
    rows: &Rows,
    values: &Tensor,
    update: Update,
    keep: &[&Tensor],
) -> Result<Tensor> {
    let mut out = put_raw(x, rows, values, update)?;
    if KEEP_ORDER.contains(&name) && !x.is_contiguous() && x.geometry().is_dense() {
        out = out.copied_as(&x.core().geometry.strides)?;
    }
    if !matches!(update, Update::Assign | Update::Add) {
        return Ok(out);
    }
    if let Some(mut record) = Record::new(name, &[x, values]) {
        for index in keep {
            record = record.save(index);
        }
        let (rows, shape) = (rows.clone(), values.shape());
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            let kept = || match update {
                Update::Add => Ok(grad.clone()),
                _ => {
                    let zeros = creation::zeros(&shape, grad.dtype(), grad.device())?;
                    put("IndexPutBackward0", &grad, &rows, &zeros, Update::Assign, &[])
                }
            };
            grads([c.when(0, kept)?, c.when(1, || take("IndexBackward0", &grad, &rows, &shape, &[]))?])
        });
    }
    Ok(out)
}

fn take_raw(x: &Tensor, rows: &Rows, shape: &[usize]) -> Result<Tensor> {
    let (dtype, device) = (x.dtype(), x.device());
    if device.is_meta() {
        return Tensor::meta_of(shape, dtype);
    }
    let numel: usize = shape.iter().product();
    crate::check::allocation(numel.saturating_mul(dtype.size()))?;
    if numel == 0 {
        return creation::zeros(shape, dtype, device);
    }
    if device.is_cpu() {
        let source = x.contiguous_data()?;
        let numbers = rows.numbers.clone();
        let width = rows.block * dtype.size();
        let bytes =
            source.with_bytes(|bytes| guard::heavy("index", numel, || index::take(bytes, &numbers, width)))??;
        return Tensor::from_bytes(Bytes::from_bytes_vec(bytes), shape, dtype);
    }
    let (value, kind, block) = (x.prim()?, dtype.kind(), rows.block);
    let count = x.numel() / block.max(1);
    let numbers = device_numbers(&rows.numbers, device)?;
    let value = guard::run("index", move || {
        let matrix = prim::reshape(kind, value, Shape::from([count, block]));
        prim::select(kind, matrix, 0, numbers)
    })?;
    Tensor::from_prim(value, dtype, device)?.reshaped(shape)
}

/// Row numbers as burn takes them on a GPU.
fn device_numbers(numbers: &[i64], device: Device) -> Result<DispatchTensor> {
    let narrow = numbers.iter().map(|&number| i32::try_from(number)).collect::<std::result::Result<Vec<_>, _>>();
    let Ok(narrow) = narrow else {
        return error::runtime(format!("index: the tensor is too large to be indexed on {}", device.name()));
    };
    let burn = device.burn()?;
    guard::run("index", || Dispatch::int_from_data(TensorData::new(narrow, [numbers.len()]), &burn))
}

/// `put` without its history.
pub fn put_raw(x: &Tensor, rows: &Rows, values: &Tensor, update: Update) -> Result<Tensor> {
    let (dtype, device) = (x.dtype(), x.device());
    let values = if values.dtype() == dtype { values.clone() } else { values.converted(dtype)? };
    if values.numel() != rows.numbers.len() * rows.block {
        return error::shape(format!(
            "index_put: {} values for {} places",
            values.numel(),
            rows.numbers.len() * rows.block
        ));
    }
    if values.numel() == 0 || x.numel() == 0 || device.is_meta() {
        return x.copied();
    }
    let on_device = !device.is_cpu() && matches!(update, Update::Assign | Update::Add);
    if on_device {
        return put_device(x, rows, &values, update);
    }
    // The other updates are rare and have no GPU kernel with torch's NaN rules: they go through the CPU.
    let target = x.moved(Device::Cpu)?;
    let source = values.moved(Device::Cpu)?.contiguous_data()?;
    let mut bytes = target.to_bytes()?;
    let (numbers, block) = (rows.numbers.clone(), rows.block);
    source.with_bytes(|source| {
        guard::heavy("index_put", source.len() / dtype.size(), || {
            index::put(&mut bytes, &numbers, source, block, dtype, update)
        })
    })???;
    Tensor::from_bytes(Bytes::from_bytes_vec(bytes), &x.shape(), dtype)?.moved(device)
}

fn put_device(x: &Tensor, rows: &Rows, values: &Tensor, update: Update) -> Result<Tensor> {
    let (dtype, device, block) = (x.dtype(), x.device(), rows.block);
    let (mut rows, mut values) = (rows.clone(), values.contiguous_data()?);
    if update == Update::Assign {
        // A GPU writes in any order, so of several values for one place only the last is sent.
        let last = last_writers(&rows.numbers);
        if last.len() < rows.numbers.len() {
            values = take_raw(&values, &Rows::new(last.clone(), block), &[last.len(), block])?;
            let kept = last.iter().filter_map(|&at| rows.numbers.get(at as usize).copied()).collect();
            rows = Rows::new(kept, block);
        }
    }
    let (kind, count, length) = (dtype.kind(), x.numel() / block.max(1), rows.numbers.len());
    let numbers = device_numbers(&rows.numbers, device)?;
    let (target, source) = (x.prim()?, values.prim()?);
    let store = device_view::bool_store(device)?;
    let value = guard::run("index_put", move || {
        let target = prim::reshape(kind, target, Shape::from([count, block]));
        let source = prim::reshape(kind, source, Shape::from([length, block]));
        let update = if update == Update::Add { IndexingUpdateOp::Add } else { IndexingUpdateOp::Assign };
        match kind {
            Kind::Float | Kind::Complex => Dispatch::float_select_assign(target, 0, numbers, source, update),
            Kind::Int => Dispatch::int_select_assign(target, 0, numbers, source, update),
            // burn only offers "or" for booleans, so both updates are made on integers.
            Kind::Bool => {
                let integers = |tensor| Dispatch::bool_into_int(tensor, IntDType::I32);
                let put = Dispatch::int_select_assign(integers(target), 0, numbers, integers(source), update);
                Dispatch::int_not_equal_elem(put, burn_std::Scalar::Int(0), store)
            }
        }
    })?;
    Tensor::from_prim(value, dtype, device)?.reshaped(&x.shape())
}

/// The position of the last mention of each number, in ascending order of positions.
fn last_writers(numbers: &[i64]) -> Vec<i64> {
    let mut seen = std::collections::HashSet::with_capacity(numbers.len());
    let mut last: Vec<i64> =
        (0..numbers.len() as i64).rev().filter(|&at| seen.insert(numbers.get(at as usize))).collect();
    last.reverse();
    last
}
