//! The two primitives under all indexing: rows of a tensor taken by number, and rows put back.
//!
//! Every index op says which rows of a row-major matrix its indices name; they are checked on the host against the sizes.
//! So no device ever sees an index that is out of range; on a GPU this costs one transfer of the indices.

use std::borrow::Cow;
use std::sync::Arc;

use burn_backend::TensorData;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{Bytes, IndexingUpdateOp, IntDType, Shape};

use super::creation;
use crate::autograd::{Record, grad_enabled, grads, inplace};
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::index::{self, Along, Places, Slabs, Update};
use crate::kernels::iterate::PARALLEL_ABOVE;
use crate::kernels::memory::{Memory, Numbers};
use crate::kernels::{index_put, index_take};
use crate::tensor::geometry::{Dims, Geometry};
use crate::tensor::storage::Data;
use crate::tensor::{Tensor, device_view, prim};

/// Which rows of a tensor, seen as a matrix with `block` columns, an index names.
#[derive(Clone)]
pub struct Rows {
    index: Arc<Index>,
    layout: Layout,
    pub block: usize,
    fault: Fault,
}

/// The numbers that were given.
enum Index {
    /// Known to be in range.
    Own(Vec<i64>),
    /// An index tensor's, checked whenever they are used.
    Held(Numbers),
}

/// What the numbers count.
#[derive(Clone)]
enum Layout {
    /// Rows in each of `outer` stretches of `size` rows.
    Slabs { outer: usize, size: usize },
    /// Elements along a dimension.
    Along(Arc<Along>),
}

/// How a number out of range is refused.
#[derive(Clone, Copy)]
pub enum Fault {
    Element { dim: usize },
    Slab { op: &'static str, dim: usize },
    Embedding,
}

impl Rows {
    /// Numbers of rows that are known to be in range.
    pub fn new(numbers: Vec<i64>, block: usize) -> Self {
        let layout = Layout::Slabs { outer: 1, size: usize::MAX };
        Self { index: Arc::new(Index::Own(numbers)), layout, block, fault: Fault::Embedding }
    }

    /// One element of `x` for each of `index`, all coordinates but that along `dim` equal.
    pub fn along(x: &Tensor, dim: usize, index: &Tensor) -> Result<Self> {
        if let Some(vector) = repeated(x, dim, index) {
            return Self::slabs(x, dim, &vector, Fault::Element { dim });
        }
        let along = Along::new(&x.shape(), dim, &index.shape());
        let layout = Layout::Along(Arc::new(along));
        Ok(Self { index: Index::of(index, x)?, layout, block: 1, fault: Fault::Element { dim } })
    }

    /// The sub-tensors of `x` that `index` names along `dim`, for every combination of the dimensions before it.
    pub fn slabs(x: &Tensor, dim: usize, index: &Tensor, fault: Fault) -> Result<Self> {
        let (layout, block) = Layout::slabs(&x.shape(), dim);
        Ok(Self { index: Index::of(index, x)?, layout, block, fault })
    }

    /// Rows, known to be in range, in each of `outer` stretches of `size` rows.
    pub fn within(numbers: Vec<i64>, outer: usize, size: usize, block: usize) -> Self {
        let layout = Layout::Slabs { outer, size };
        Self { index: Arc::new(Index::Own(numbers)), layout, block, fault: Fault::Embedding }
    }

    /// Of sub-tensors along a dimension: that dimension, and the numbers as those of single elements of a vector.
    pub fn as_vector(&self) -> Option<(usize, Self)> {
        match (&self.layout, self.fault) {
            (&Layout::Slabs { size, .. }, Fault::Element { dim } | Fault::Slab { dim, .. }) => {
                Some((dim, Self { layout: Layout::Slabs { outer: 1, size }, block: 1, ..self.clone() }))
            }
            _ => None,
        }
    }

    /// The same places, of sub-tensors each named once, for what gives all of them one value.
    pub fn once(&self) -> Result<Self> {
        let Some((_, vector)) = self.as_vector() else { return Ok(self.clone()) };
        self.check()?;
        let mut seen = vec![false; vector.size()];
        let new = |number: &&i64| seen.get_mut(**number as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        let numbers = self.index.get().iter().filter(new).copied().collect();
        Ok(Self { index: Arc::new(Index::Own(numbers)), ..self.clone() })
    }

    /// The elements of `x` in row-major order that `index` names; None where one of its numbers is negative or too large.
    pub fn flat(x: &Tensor, index: &Tensor) -> Result<Option<Self>> {
        let layout = Layout::Slabs { outer: 1, size: x.numel() };
        let rows = Self { index: Index::of(index, x)?, layout, block: 1, fault: Fault::Embedding };
        Ok(if index::is_outside(rows.index.get(), x.numel()) { None } else { Some(rows) })
    }

    /// How many rows are named.
    pub fn count(&self) -> usize {
        match self.layout {
            Layout::Slabs { outer, .. } => outer * self.index.get().len(),
            Layout::Along(_) => self.index.get().len(),
        }
    }

    /// The number of each row in the whole tensor.
    pub fn numbers(&self) -> Result<Cow<'_, [i64]>> {
        self.check()?;
        let own = self.index.get();
        Ok(match &self.layout {
            Layout::Slabs { outer: 1, .. } => Cow::Borrowed(own),
            Layout::Slabs { outer, size } => {
                (0..*outer).flat_map(|row| own.iter().map(move |&number| (row * size) as i64 + number)).collect()
            }
            Layout::Along(along) => along.elements(own).into(),
        })
    }

    fn size(&self) -> usize {
        match &self.layout {
            Layout::Slabs { size, .. } => *size,
            Layout::Along(along) => along.size,
        }
    }

    /// Refuses numbers that are out of range, as the op does that was given them.
    fn check(&self) -> Result<()> {
        match &*self.index {
            Index::Held(numbers) if index::is_outside(numbers.get(), self.size()) => self.refuse(),
            _ => Ok(()),
        }
    }

    fn refuse<T>(&self) -> Result<T> {
        let size = self.size();
        let bad = self.index.get().iter().find(|&&number| number as u64 >= size as u64).copied().unwrap_or(-1);
        match self.fault {
            Fault::Element { dim } => {
                error::runtime(format!("index {bad} is out of bounds for dimension {dim} with size {size}"))
            }
            Fault::Slab { op, dim } => error::index(format!(
                "{op}: index out of range in self: index {bad} is out of bounds for dimension {dim} with size {size}"
            )),
            Fault::Embedding => {
                error::index(format!("embedding: index out of range in self: {bad} with {size} rows of weight"))
            }
        }
    }

    fn places(&self) -> Places<'_> {
        match &self.layout {
            Layout::Slabs { outer, size } => {
                Places::Slabs(Slabs { numbers: self.index.get(), outer: *outer, size: *size, block: self.block })
            }
            Layout::Along(along) => Places::Along(along, self.index.get()),
        }
    }
}

impl Index {
    fn of(index: &Tensor, x: &Tensor) -> Result<Arc<Self>> {
        if index.is_meta() && x.is_meta() {
            return Ok(Arc::new(Self::Own(vec![0; index.numel()])));
        }
        index.need_values()?;
        let host = if index.device().is_cpu() { index.clone() } else { index.moved(Device::Cpu)? };
        let host = if host.dtype() == DType::I64 { host } else { host.converted(DType::I64)? };
        Ok(Arc::new(Self::Held(Numbers::of(&host)?)))
    }

    fn get(&self) -> &[i64] {
        match self {
            Self::Own(numbers) => numbers,
            Self::Held(numbers) => numbers.get(),
        }
    }
}

impl Layout {
    /// The stretches of a tensor along a dimension, and the elements of a row.
    fn slabs(shape: &[usize], dim: usize) -> (Self, usize) {
        let outer = shape.iter().take(dim).product();
        let size = shape.get(dim).copied().unwrap_or(1);
        (Self::Slabs { outer, size }, shape.iter().skip(dim + 1).product())
    }
}

/// The numbers along `dim` of an index that is the same for all other coordinates, and covers them: it names whole rows.
fn repeated(x: &Tensor, dim: usize, index: &Tensor) -> Option<Tensor> {
    let (own, of) = (index.geometry(), x.shape());
    let covers = |axis: usize| own.shape[axis] == of[axis] && (own.strides[axis] == 0 || own.shape[axis] == 1);
    let plain = x.device().is_cpu() && index.device().is_cpu() && own.rank() == of.len() && own.numel() > 0;
    if !plain || own.rank() < 2 || !(0..own.rank()).all(|axis| axis == dim || covers(axis)) {
        return None;
    }
    let (shape, strides) = (Dims::from_slice(&[own.shape[dim]]), Dims::from_slice(&[own.strides[dim]]));
    Some(index.alias(Geometry { shape, strides, offset: own.offset }))
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
    let bytes = bytemuck::cast_slice::<i64, u8>(numbers).to_vec();
    Tensor::from_bytes(Bytes::from_bytes_vec(bytes), shape, DType::I64)?.moved(device)
}

/// Row numbers of the sub-tensors at `positions` of `dim`, which are in range, for every combination of the dimensions
/// before it.
pub fn slabs(shape: &[usize], dim: usize, positions: Vec<i64>) -> Rows {
    let (layout, block) = Layout::slabs(shape, dim);
    Rows { index: Arc::new(Index::Own(positions)), layout, block, fault: Fault::Embedding }
}

/// The rows as a tensor of `shape`. `keep` are index tensors whose later modification makes the backward pass wrong.
pub fn take(name: &'static str, x: &Tensor, rows: &Rows, shape: &[usize], keep: &[&Tensor]) -> Result<Tensor> {
    take_as(name, x, rows, shape, None, keep)
}

/// Rows of a matrix taken at once, where both lie row-major in CPU memory, there is little to do and nothing to record: what
/// `take` has to hold for a history takes longer than to copy some rows.
pub fn take_now(x: &Tensor, index: &Tensor, shape: &[usize]) -> Result<Option<Tensor>> {
    if grad_enabled() && x.meta().is_used() {
        return Ok(None);
    }
    let (source, numbers) = (x.core(), index.core());
    let (Data::Cpu(from), Data::Cpu(named)) = (source.storage.data(), numbers.storage.data()) else {
        return Ok(None);
    };
    let &[size, block] = source.geometry.shape.as_slice() else { return Ok(None) };
    let width = source.dtype.size();
    let (count, pointer) = (numbers.geometry.numel(), named.pointer().cast::<i64>());
    let small = count > 0 && count.saturating_mul(block) < PARALLEL_ABOVE;
    let plain = source.geometry.is_contiguous() && numbers.geometry.is_contiguous();
    if !small || !plain || numbers.dtype != DType::I64 || !pointer.is_aligned() {
        return Ok(None);
    }
    // SAFETY: a row-major tensor of int64 of so many elements, which its guard keeps.
    let numbers = unsafe { std::slice::from_raw_parts(pointer.add(numbers.geometry.offset), count) };
    if index::is_outside(numbers, size) {
        return Ok(None);
    }
    let (out, to) = Tensor::uninit_with_pointer(shape, source.dtype)?;
    let first = Memory::over(from.pointer().wrapping_add(source.geometry.offset * width));
    let (slabs, to) = (Slabs { numbers, outer: 1, size, block }, Memory::over(to));
    // SAFETY: `x` holds so many rows, all numbers are below their number, and `out` is fresh and has room.
    guard::run("index", || unsafe { index_take::take(first, slabs, width, to) })?;
    Ok(Some(out))
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
            grads([Some(added_up(&from, &rows, &grad)?)])
        });
    }
    Ok(out)
}

/// Zeros of `shape` with `values` added to the rows.
pub fn added_up(shape: &[usize], rows: &Rows, values: &Tensor) -> Result<Tensor> {
    let zeros = creation::zeros(shape, values.dtype(), values.device())?;
    if put_here(&zeros, rows, values, Update::Add)? {
        return Ok(zeros);
    }
    put("IndexPutBackward0", &zeros, rows, values, Update::Add, &[])
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
    if numel == 0 {
        rows.check()?;
        return creation::zeros(shape, dtype, device);
    }
    if device.is_cpu() {
        return take_cpu(&x.contiguous_data()?, rows, shape);
    }
    crate::check::allocation(numel.saturating_mul(dtype.size()))?;
    let (value, kind, block) = (x.prim()?, dtype.kind(), rows.block);
    let count = x.numel() / block.max(1);
    let numbers = device_numbers(&rows.numbers()?, device)?;
    let value = guard::run("index", move || {
        let matrix = prim::reshape(kind, value, Shape::from([count, block]));
        prim::select(kind, matrix, 0, numbers)
    })?;
    Tensor::from_prim(value, dtype, device)?.reshaped(shape)
}

/// As `guard::spread`, for work that several threads share only when it is larger than what it asks.
fn guarded<T: Send>(op: &str, work: usize, call: impl FnOnce() -> T + Send) -> Result<T> {
    if work < PARALLEL_ABOVE { guard::run(op, call) } else { guard::spread(op, work, call) }
}

/// The rows of a row-major CPU tensor.
fn take_cpu(x: &Tensor, rows: &Rows, shape: &[usize]) -> Result<Tensor> {
    let (out, _) = Tensor::uninit_with_pointer(shape, x.dtype())?;
    let (from, to, width) = (Memory::first(x)?, Memory::first(&out)?, x.dtype().size());
    if let Layout::Slabs { .. } = rows.layout {
        rows.check()?;
    }
    let inside = guarded("index", out.numel(), || match rows.places() {
        // SAFETY: `out` is fresh and has room for all rows; numbers were checked, or are by `gather`.
        Places::Along(along, numbers) => unsafe { index_take::gather(from, along, numbers, width, to) },
        // SAFETY: as above.
        Places::Slabs(slabs) => unsafe {
            index_take::take(from, slabs, width, to);
            true
        },
    })?;
    if inside { Ok(out) } else { rows.refuse() }
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
    if values.numel() != rows.count() * rows.block {
        return error::shape(format!("index_put: {} values for {} places", values.numel(), rows.count() * rows.block));
    }
    rows.check()?;
    if values.numel() == 0 || x.numel() == 0 || device.is_meta() {
        return x.copied();
    }
    let on_device = !device.is_cpu() && matches!(update, Update::Assign | Update::Add);
    if on_device {
        return put_device(x, rows, &values, update);
    }
    // The other updates are rare and have no GPU kernel with torch's NaN rules: they go through the CPU.
    let target = x.moved(Device::Cpu)?.copied()?;
    put_cpu(&target, rows, &values.moved(Device::Cpu)?, update)?;
    target.moved(device)
}

/// Writes to the rows, known to be in range, of a row-major CPU tensor.
fn put_cpu(target: &Tensor, rows: &Rows, values: &Tensor, update: Update) -> Result<()> {
    let (dtype, values) = (target.dtype(), values.contiguous_data()?);
    let (to, from) = (Memory::first(target)?, Memory::first(&values)?);
    // SAFETY: there is one value for each place, the numbers are in range, and the two tensors are apart.
    guarded("index_put", values.numel(), || unsafe { index_put::put(to, rows.places(), from, dtype, update) })?
}

/// As `put`, but written to `x` itself, where that needs neither a history nor a copy; else false, and nothing is done.
/// The caller has asked `inplace::check`.
pub fn put_here(x: &Tensor, rows: &Rows, values: &Tensor, update: Update) -> Result<bool> {
    let apart = |storage: &Tensor| storage.core().storage.address() != x.core().storage.address();
    let plain = x.device().is_cpu() && x.is_contiguous() && values.dtype() == x.dtype() && apart(values);
    if !plain || inplace::is_recorded(x, values) || values.numel() != rows.count() * rows.block {
        return Ok(false);
    }
    rows.check()?;
    if values.numel() > 0 && x.numel() > 0 {
        put_cpu(x, rows, values, update)?;
    }
    x.core().storage.bump();
    Ok(true)
}

fn put_device(x: &Tensor, rows: &Rows, values: &Tensor, update: Update) -> Result<Tensor> {
    let (dtype, device, block) = (x.dtype(), x.device(), rows.block);
    let (mut rows, mut values) = (rows.clone(), values.contiguous_data()?);
    if update == Update::Assign {
        // A GPU writes in any order, so of several values for one place only the last is sent.
        let numbers = rows.numbers()?;
        let last = last_writers(&numbers);
        if last.len() < numbers.len() {
            values = take_raw(&values, &Rows::new(last.clone(), block), &[last.len(), block])?;
            let kept = last.iter().filter_map(|&at| numbers.get(at as usize).copied()).collect();
            rows = Rows::new(kept, block);
        }
    }
    let (kind, count, length) = (dtype.kind(), x.numel() / block.max(1), rows.count());
    let numbers = device_numbers(&rows.numbers()?, device)?;
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
