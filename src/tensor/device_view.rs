//! Views over GPU values: a geometry becomes a chain of burn ops for reading, and its inverse for writing.

use burn_backend::TensorMetadata;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_backend::{Backend, TensorData};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, DType as BurnDType, FloatDType, IntDType, Scalar, Shape, Slice};

use super::geometry::{Dims, Geometry};
use super::prim;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;

/// One step from the flat value towards the view; all act on the last dimension but `Keep`.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Lengthen with zeros to this size.
    Pad(usize),
    /// Split into `[count, size]`.
    Split(usize, usize),
    /// Keep `start..end` of the last but one dimension.
    Keep(usize, usize),
    /// Keep `start..end` by this step.
    Slice(usize, usize, usize),
}

/// How to reach a view from the flat value, when it is a nest of blocks (what ordinary views are).
struct Plan {
    steps: Vec<Step>,
    /// The view's dimensions with more than one distinct element, outermost in memory first.
    order: Vec<usize>,
}

fn plan(length: usize, geometry: &Geometry) -> Option<Plan> {
    let mut order: Vec<usize> =
        (0..geometry.rank()).filter(|&dim| geometry.shape[dim] > 1 && geometry.strides[dim] > 0).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(geometry.strides[dim]));
    let extent = |dims: &[usize]| -> usize {
        dims.iter().map(|&dim| (geometry.shape[dim] - 1) * geometry.strides[dim]).sum::<usize>() + 1
    };
    let (mut steps, mut length, mut offset) = (Vec::new(), length, geometry.offset);
    let (last, outer) = match order.split_last() {
        Some((last, outer)) => (Some(*last), outer),
        None => (None, &[][..]),
    };
    for (place, &dim) in outer.iter().enumerate() {
        let (size, stride) = (geometry.shape[dim], geometry.strides[dim]);
        let (first, rest) = (offset / stride, offset % stride);
        if rest + extent(&order[place + 1..]) > stride {
            return None;
        }
        if (first + size) * stride > length {
            length = (first + size) * stride;
            steps.push(Step::Pad(length));
        } else if length % stride != 0 {
            length -= length % stride;
            steps.push(Step::Slice(0, length, 1));
        }
        steps.push(Step::Split(length / stride, stride));
        steps.push(Step::Keep(first, first + size));
        offset = rest;
        length = stride;
    }
    let (size, stride) = last.map_or((1, 1), |dim| (geometry.shape[dim], geometry.strides[dim]));
    steps.push(Step::Slice(offset, offset + (size - 1) * stride + 1, stride));
    Some(Plan { steps, order })
}

fn last_slice(rank: usize, slice: Slice) -> Vec<Slice> {
    let mut slices = vec![Slice::full(); rank - 1];
    slices.push(slice);
    slices
}

fn range(start: usize, end: usize, step: usize) -> Slice {
    Slice::new(start as isize, Some(end as isize), step as isize)
}

fn slices_of(step: Step, rank: usize) -> Vec<Slice> {
    match step {
        Step::Slice(start, end, by) => last_slice(rank, range(start, end, by)),
        Step::Keep(start, end) => {
            let mut slices = vec![Slice::full(); rank - 2];
            slices.push(range(start, end, 1));
            slices.push(Slice::full());
            slices
        }
        Step::Pad(_) | Step::Split(..) => Vec::new(),
    }
}

fn apply(kind: Kind, value: DispatchTensor, step: Step) -> DispatchTensor {
    let mut shape = value.shape().as_slice().to_vec();
    let rank = shape.len();
    match step {
        Step::Slice(..) | Step::Keep(..) => prim::slice(kind, value, &slices_of(step, rank)),
        Step::Split(count, size) => {
            shape.pop();
            shape.extend([count, size]);
            prim::reshape(kind, value, Shape::from(shape))
        }
        Step::Pad(length) => {
            let missing = length - shape[rank - 1];
            shape[rank - 1] = missing;
            let zeros = zeros_like(kind, &value, Shape::from(shape));
            prim::cat(kind, vec![value, zeros], rank - 1)
        }
    }
}

fn zeros_like(kind: Kind, like: &DispatchTensor, shape: Shape) -> DispatchTensor {
    let device = like.device();
    match (kind, like.dtype()) {
        (Kind::Bool, BurnDType::Bool(store)) => Dispatch::bool_zeros(shape, &device, store),
        (Kind::Int, dtype) => Dispatch::int_zeros(shape, &device, dtype.into()),
        (_, dtype) => Dispatch::float_zeros(shape, &device, dtype.into()),
    }
}

fn flat(kind: Kind, value: DispatchTensor) -> (DispatchTensor, usize) {
    let length = value.shape().num_elements();
    if value.shape().num_dims() == 1 {
        return (value, length);
    }
    (prim::reshape(kind, value, Shape::from([length])), length)
}

fn is_whole(value: &DispatchTensor, geometry: &Geometry) -> bool {
    geometry.offset == 0 && geometry.is_contiguous() && value.shape().num_elements() == geometry.numel()
}

fn shape_of(geometry: &Geometry) -> Shape {
    stored_shape(&geometry.shape)
}

/// How a GPU holds a shape: cubecl has no rank 0, so a scalar is stored as one element of rank 1.
pub fn stored_shape(shape: &[usize]) -> Shape {
    if shape.is_empty() { Shape::from([1]) } else { Shape::from(shape.to_vec()) }
}

/// The value that the view shows.
pub fn read(value: DispatchTensor, geometry: &Geometry, kind: Kind) -> Result<DispatchTensor> {
    if value.shape() == shape_of(geometry) && is_whole(&value, geometry) {
        return Ok(value);
    }
    guard::run("view", || {
        if geometry.numel() == 0 {
            return zeros_like(kind, &value, shape_of(geometry));
        }
        if is_whole(&value, geometry) {
            return prim::reshape(kind, value, shape_of(geometry));
        }
        let (mut current, length) = flat(kind, value);
        let Some(plan) = plan(length, geometry) else {
            let indices = index_tensor(geometry, &current);
            return prim::reshape(kind, prim::select(kind, current, 0, indices), shape_of(geometry));
        };
        for &step in &plan.steps {
            current = apply(kind, current, step);
        }
        arrange(kind, current, geometry, &plan.order)
    })
}

/// From memory order to the view's order, then its dimensions of size 1 and its broadcast ones.
fn arrange(kind: Kind, value: DispatchTensor, geometry: &Geometry, order: &[usize]) -> DispatchTensor {
    let mut visible = order.to_vec();
    visible.sort_unstable();
    let axes: Vec<usize> = visible.iter().filter_map(|dim| order.iter().position(|at| at == dim)).collect();
    let ordered = axes.windows(2).all(|pair| pair[0] < pair[1]);
    let value = if ordered { value } else { prim::permute(kind, value, &axes) };
    let singles: Vec<usize> =
        (0..geometry.rank()).map(|dim| if visible.contains(&dim) { geometry.shape[dim] } else { 1 }).collect();
    let value = prim::reshape(kind, value, stored_shape(&singles));
    if singles.as_slice() == geometry.shape.as_slice() { value } else { prim::expand(kind, value, shape_of(geometry)) }
}

/// The base value after `new` is written through the view.
pub fn write(base: DispatchTensor, geometry: &Geometry, kind: Kind, new: DispatchTensor) -> Result<DispatchTensor> {
    guard::run("view", || {
        let shape = base.shape();
        if geometry.numel() == 0 {
            return base;
        }
        if is_whole(&base, geometry) {
            return prim::reshape(kind, new, shape);
        }
        let (current, length) = flat(kind, base);
        let Some(plan) = plan(length, geometry) else {
            let indices = index_tensor(geometry, &current);
            let values = prim::reshape(kind, new, Shape::from([geometry.numel()]));
            return prim::reshape(kind, prim::put_flat(kind, current, indices, values), shape);
        };
        let mut stages = vec![current];
        for &step in &plan.steps {
            if let Some(last) = stages.last() {
                stages.push(apply(kind, last.clone(), step));
            }
        }
        let mut value = unarrange(kind, new, geometry, &plan.order);
        stages.pop();
        for (&step, before) in plan.steps.iter().zip(stages).rev() {
            let old = before.shape();
            value = match step {
                Step::Slice(..) | Step::Keep(..) => {
                    prim::slice_assign(kind, before, &slices_of(step, old.num_dims()), value)
                }
                Step::Split(..) => prim::reshape(kind, value, old),
                Step::Pad(_) => {
                    let last = old.as_slice().last().copied().unwrap_or(0);
                    prim::slice(kind, value, &last_slice(old.num_dims(), range(0, last, 1)))
                }
            };
        }
        prim::reshape(kind, value, shape)
    })
}

fn unarrange(kind: Kind, value: DispatchTensor, geometry: &Geometry, order: &[usize]) -> DispatchTensor {
    let mut visible = order.to_vec();
    visible.sort_unstable();
    let sizes: Vec<usize> = visible.iter().map(|&dim| geometry.shape[dim]).collect();
    let sizes = if sizes.is_empty() { vec![1] } else { sizes };
    let value = prim::reshape(kind, value, Shape::from(sizes));
    let axes: Vec<usize> = order.iter().filter_map(|dim| visible.iter().position(|at| at == dim)).collect();
    if axes.windows(2).all(|pair| pair[0] < pair[1]) { value } else { prim::permute(kind, value, &axes) }
}

/// Flat element numbers of a view that is no nest of blocks (overlapping windows and the like).
fn index_tensor(geometry: &Geometry, like: &DispatchTensor) -> DispatchTensor {
    let numel = geometry.numel();
    let mut indices: Vec<i32> = Vec::with_capacity(numel);
    let mut counter: Dims = geometry.shape.iter().map(|_| 0).collect();
    let mut at = geometry.offset;
    for _ in 0..numel {
        indices.push(at as i32);
        for dim in (0..geometry.rank()).rev() {
            counter[dim] += 1;
            at += geometry.strides[dim];
            if counter[dim] < geometry.shape[dim] {
                break;
            }
            at -= counter[dim] * geometry.strides[dim];
            counter[dim] = 0;
        }
    }
    Dispatch::int_from_data(TensorData::new(indices, [numel]), &like.device())
}

/// How a GPU stores a type: integers as int32 where WGSL has nothing narrower or wider.
pub fn stored_as(dtype: DType, device: Device) -> Result<BurnDType> {
    check_dtype(dtype, device)?;
    if device.is_meta() {
        return dtype.burn();
    }
    Ok(match dtype {
        DType::F32 => BurnDType::F32,
        DType::F16 => BurnDType::F16,
        DType::Bool => BurnDType::Bool(bool_store(device)?),
        DType::U32 => BurnDType::U32,
        _ => BurnDType::I32,
    })
}

/// A whole number as a GPU stores it: int64 must fit, the other types wrap around as on the CPU.
pub fn stored_number(value: i64, dtype: DType, device: Device) -> Result<i64> {
    match dtype {
        _ if device.is_meta() => Ok(value),
        DType::U32 => Ok(i64::from(value as u32)),
        DType::I64 if i32::try_from(value).is_err() => error::runtime(format!(
            "{value} does not fit: {} stores int64 as int32; keep this tensor on the CPU",
            device.name()
        )),
        _ => Ok(i64::from(value as i32)),
    }
}

/// The boolean representation that burn uses on this device.
pub fn bool_store(device: Device) -> Result<BoolStore> {
    let burn = device.burn()?;
    if device.is_cpu() || device.is_meta() {
        return Ok(BoolStore::Native);
    }
    for store in [BoolStore::Native, BoolStore::U8, BoolStore::U32] {
        if guard::run("device", || Dispatch::supports_dtype(&burn, BurnDType::Bool(store)))? {
            return Ok(store);
        }
    }
    Ok(BoolStore::U32)
}

pub fn check_dtype(dtype: DType, device: Device) -> Result<()> {
    if device.is_cpu() || device.is_meta() {
        return Ok(());
    }
    let supported = match dtype {
        DType::F64 | DType::BF16 | DType::U64 | DType::C64 | DType::C128 => false,
        DType::F16 => {
            let burn = device.burn()?;
            guard::run("device", || Dispatch::supports_dtype(&burn, BurnDType::F16))?
        }
        _ => true,
    };
    if supported {
        return Ok(());
    }
    error::dtype(format!(
        "{} is not available on {}; use float32, or move the tensor to the CPU with .cpu()",
        dtype.name(),
        device.name()
    ))
}

/// Converts a GPU value between two of our types.
pub fn cast(value: DispatchTensor, from: DType, to: DType, device: Device) -> Result<DispatchTensor> {
    if from == to {
        return Ok(value);
    }
    let target = stored_as(to, device)?;
    let store = bool_store(device)?;
    let cast = guard::run("to", || match (from.kind(), to.kind()) {
        (Kind::Float, Kind::Float) => Dispatch::float_cast(value, FloatDType::from(target)),
        (Kind::Float, Kind::Int) => Dispatch::float_into_int(value, IntDType::from(target)),
        (Kind::Int, Kind::Float) => Dispatch::int_into_float(value, FloatDType::from(target)),
        (Kind::Int, Kind::Int) => Dispatch::int_cast(value, IntDType::from(target)),
        (Kind::Bool, Kind::Float) => Dispatch::bool_into_float(value, FloatDType::from(target)),
        (Kind::Bool, Kind::Int) => Dispatch::bool_into_int(value, IntDType::from(target)),
        (Kind::Float, _) => Dispatch::float_not_equal_elem(value, Scalar::Float(0.0), store),
        (Kind::Int, _) => Dispatch::int_not_equal_elem(value, Scalar::Int(0), store),
        _ => value,
    })?;
    wrap_narrow(cast, to)
}

/// Gives int8, int16, uint8 and uint16, which a GPU holds as int32, their own wrap-around.
pub fn wrap_narrow(value: DispatchTensor, dtype: DType) -> Result<DispatchTensor> {
    let (bits, signed) = match dtype {
        DType::I8 => (8, true),
        DType::I16 => (16, true),
        DType::U8 => (8, false),
        DType::U16 => (16, false),
        _ => return Ok(value),
    };
    guard::run("wrap", || {
        let mask = Scalar::Int((1 << bits) - 1);
        let low = Dispatch::bitwise_and_scalar(value, mask);
        if !signed {
            return low;
        }
        let sign = Scalar::Int(1 << (bits - 1));
        let flipped = Dispatch::bitwise_xor_scalar(low, sign);
        Dispatch::int_sub_scalar(flipped, sign)
    })
}
