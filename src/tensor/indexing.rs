//! `x[...]` and `x[...] = v` as torch reads them: basic items make views, index tensors copy.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyEllipsis, PyInt, PyList, PySequence, PySlice, PyString, PyTuple};

use super::Tensor;
use super::class::PyTensor;
use super::geometry::{Dims, broadcast};
use crate::autograd::inplace;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::index::Update;
use crate::ops::operand::{Operand, Scalar};
use crate::ops::rows::{self, Rows};
use crate::ops::{creation, masked, movement};

/// One element of an index expression.
enum Item {
    Int(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Ellipsis,
    NewAxis,
    Flag(bool),
    Tensor(Tensor),
}

/// Index tensors by dimension; None where a dimension is kept whole.
pub type Indices = Vec<Option<Tensor>>;

fn warn(py: Python<'_>, text: &std::ffi::CStr) -> PyResult<()> {
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
}

fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.cast::<PySequence>().is_ok() && !is_text(object) || is_array(object)
}

fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>()
}

fn is_array(object: &Bound<'_, PyAny>) -> bool {
    object.hasattr("__array_interface__").unwrap_or(false) && object.hasattr("__len__").unwrap_or(false)
}

/// The items of an index expression. A list counts as a tuple when it holds more than numbers, as in torch.
fn items(index: &Bound<'_, PyAny>) -> PyResult<Vec<Item>> {
    if let Ok(tuple) = index.cast::<PyTuple>() {
        return tuple.iter().map(|object| item(&object)).collect();
    }
    if let Ok(list) = index.cast::<PyList>() {
        let spread = list.len() < 32
            && list.iter().any(|object| {
                object.is_none()
                    || object.cast::<PyTensor>().is_ok()
                    || object.is_instance_of::<PySlice>()
                    || object.is_instance_of::<PyEllipsis>()
                    || is_sequence(&object)
            });
        if spread {
            warn(
                index.py(),
                c"Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead \
                  of x[seq].",
            )?;
            return list.iter().map(|object| item(&object)).collect();
        }
    }
    Ok(vec![item(index)?])
}

fn item(object: &Bound<'_, PyAny>) -> PyResult<Item> {
    if object.is_instance_of::<PyBool>() {
        return Ok(Item::Flag(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Item::Int(object.extract()?));
    }
    if object.is_none() {
        return Ok(Item::NewAxis);
    }
    if object.is_instance_of::<PyEllipsis>() {
        return Ok(Item::Ellipsis);
    }
    if let Ok(slice) = object.cast::<PySlice>() {
        return slice_item(slice);
    }
    if let Ok(tensor) = object.cast::<PyTensor>() {
        return Ok(Item::Tensor(tensor.get().tensor.clone()));
    }
    if is_text(object) {
        return Err(PyTypeError::new_err(format!("new(): invalid data type '{}'", object.get_type().name()?)));
    }
    if is_sequence(object) {
        return Ok(Item::Tensor(numbers(object)?));
    }
    match object.call_method0("__index__") {
        Ok(number) => Ok(Item::Int(number.extract()?)),
        Err(_) => Err(PyIndexError::new_err(format!(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
            object.get_type().name()?
        ))),
    }
}

fn slice_item(slice: &Bound<'_, PySlice>) -> PyResult<Item> {
    let bound = |name: &str| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(tensor) = value.cast::<PyTensor>() {
            let found = rows::integers(&tensor.get().tensor)?;
            if let ([number], true) = (found.as_slice(), tensor.get().tensor.dtype().is_int()) {
                return Ok(Some(*number));
            }
        }
        match value.call_method0("__index__").and_then(|number| number.extract::<i64>()) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(PyTypeError::new_err("slice indices must be integers or None or have an __index__ method")),
        }
    };
    let step = bound("step")?.unwrap_or(1);
    if step == 0 {
        return Err(PyValueError::new_err("slice step cannot be zero"));
    }
    if step < 0 {
        return Err(PyValueError::new_err("step must be greater than zero"));
    }
    Ok(Item::Slice(bound("start")?, bound("stop")?, step))
}

/// Nested sequences of numbers as an index tensor: a mask when all are booleans, else int64.
fn numbers(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let mut found = Nested::default();
    found.read(object, 0)?;
    let shape: Vec<usize> = found.shape.clone();
    if found.values.len() != shape.iter().product::<usize>() {
        return Err(PyValueError::new_err("expected sequences of equal length in an index"));
    }
    let tensor = rows::from_integers(&found.values, &shape, crate::device::Device::Cpu)?;
    let mask = found.flags && !found.values.is_empty();
    Ok(if mask { tensor.converted(DType::Bool)? } else { tensor })
}

struct Nested {
    shape: Vec<usize>,
    values: Vec<i64>,
    flags: bool,
}

impl Default for Nested {
    fn default() -> Self {
        Self { shape: Vec::new(), values: Vec::new(), flags: true }
    }
}

impl Nested {
    fn read(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if depth > super::geometry::MAX_RANK {
            return Err(PyValueError::new_err("an index has too many nested sequences"));
        }
        if is_array(object) {
            return self.read(&object.call_method0("tolist")?, depth);
        }
        if let Ok(tensor) = object.cast::<PyTensor>() {
            let tensor = &tensor.get().tensor;
            self.flags &= tensor.dtype() == DType::Bool;
            if tensor.numel() != 1 {
                return Err(PyValueError::new_err("only one-element tensors can be items of an index list"));
            }
            self.values.extend(rows::integers(tensor)?);
            return Ok(());
        }
        if is_sequence(object) {
            let length = object.len()?;
            if self.shape.len() <= depth {
                self.shape.push(length);
            } else if self.shape.get(depth) != Some(&length) {
                return Err(PyValueError::new_err(format!(
                    "expected sequence of length {} at dim {depth} (got {length})",
                    self.shape.get(depth).copied().unwrap_or(0)
                )));
            }
            for item in object.try_iter()? {
                self.read(&item?, depth + 1)?;
            }
            return Ok(());
        }
        if depth < self.shape.len() {
            return Err(PyValueError::new_err("expected sequences of equal depth in an index"));
        }
        let scalar: Scalar = object.extract()?;
        if matches!(scalar, Scalar::Complex(..)) {
            return Err(PyTypeError::new_err("complex numbers cannot be indices"));
        }
        self.flags &= matches!(scalar, Scalar::Bool(_));
        self.values.push(scalar.as_i64());
        Ok(())
    }
}

/// How many dimensions an item uses up.
fn consumed(item: &Item) -> usize {
    match item {
        Item::Int(_) | Item::Slice(..) => 1,
        Item::Ellipsis | Item::NewAxis | Item::Flag(_) => 0,
        Item::Tensor(tensor) if is_mask(tensor) => tensor.rank(),
        Item::Tensor(_) => 1,
    }
}

fn is_mask(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::Bool | DType::U8)
}

/// Applies the basic items as views and collects the index tensors for the dimensions that remain.
fn apply(x: &Tensor, items: Vec<Item>) -> Result<(Tensor, Indices)> {
    let rank = x.rank();
    let used: usize = items.iter().map(consumed).sum();
    if used > rank {
        return error::index(format!("too many indices for tensor of dimension {rank}"));
    }
    let mut view = x.clone();
    let mut indices: Indices = Vec::new();
    // `dim` is where the next item acts on the view, `origin` the dimension of x it stands for.
    let (mut dim, mut origin) = (0, 0);
    let record = |indices: &mut Indices, dim: usize, tensor: Tensor| {
        indices.resize(dim + 1, None);
        if let Some(slot) = indices.get_mut(dim) {
            *slot = Some(tensor);
        }
    };
    for item in items {
        match item {
            Item::Int(index) => {
                view = select(&view, dim, index, origin)?;
                origin += 1;
            }
            Item::Slice(start, stop, step) => {
                view = slice(&view, dim, start, stop, step)?;
                dim += 1;
                origin += 1;
            }
            Item::Ellipsis => {
                let span = (rank - used).min(view.rank().saturating_sub(dim));
                dim += span;
                origin += span;
            }
            Item::NewAxis => {
                view = movement::unsqueeze(&view, dim)?;
                dim += 1;
            }
            Item::Flag(flag) => {
                view = movement::unsqueeze(&view, dim)?;
                record(&mut indices, dim, flag_index(flag, x)?);
                dim += 1;
            }
            Item::Tensor(tensor) if tensor.rank() == 0 && is_mask(&tensor) => {
                view = movement::unsqueeze(&view, dim)?;
                let flag = rows::integers(&tensor)?.first().is_some_and(|&value| value != 0);
                record(&mut indices, dim, flag_index(flag, x)?);
                dim += 1;
            }
            Item::Tensor(tensor) if tensor.rank() == 0 && tensor.dtype().is_int() => {
                let index = rows::integers(&tensor)?.first().copied().unwrap_or(0);
                view = select(&view, dim, index, origin)?;
                origin += 1;
            }
            Item::Tensor(tensor) => {
                let span = if is_mask(&tensor) { tensor.rank() } else { 1 };
                record(&mut indices, dim, tensor);
                // A mask stands for as many dimensions as it has, but is one entry of the list.
                indices.extend(std::iter::repeat_n(None, span - 1).map(|none: Option<Tensor>| none));
                dim += span;
                origin += span;
            }
        }
    }
    Ok((view, indices))
}

/// `True` keeps the new dimension, `False` empties it.
fn flag_index(flag: bool, like: &Tensor) -> Result<Tensor> {
    creation::zeros(&[usize::from(flag)], DType::I64, like.device())
}

fn need_dim(x: &Tensor, dim: usize) -> Result<()> {
    if dim < x.rank() {
        return Ok(());
    }
    error::index(format!("too many indices for tensor of dimension {}", x.rank()))
}

fn select(x: &Tensor, dim: usize, index: i64, origin: usize) -> Result<Tensor> {
    need_dim(x, dim)?;
    let size = x.size(dim) as i64;
    if index < -size || index >= size {
        return error::index(format!("index {index} is out of bounds for dimension {origin} with size {size}"));
    }
    movement::select(x, dim, if index < 0 { index + size } else { index } as usize)
}

fn slice(x: &Tensor, dim: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Tensor> {
    need_dim(x, dim)?;
    let size = x.size(dim) as i64;
    let clamp = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound }.clamp(0, size);
    let (start, stop) = (start.map_or(0, clamp), stop.map_or(size, clamp));
    if start == 0 && stop == size && step == 1 {
        return Ok(x.clone());
    }
    let length = (stop - start).max(0) as usize;
    movement::slice(x, dim, start as usize, length.div_ceil(step as usize), step as usize)
}

/// Where the rows of an indexed tensor lie, and what shape the result has.
struct Plan {
    /// The order of dimensions in which the indexed ones stand together; None where they do already.
    order: Option<Vec<usize>>,
    rows: Rows,
    shape: Dims,
}

/// Masks become the coordinates of their true elements; everything else must be int64 or int32.
fn expand_masks(x: &Tensor, indices: &Indices) -> Result<Indices> {
    let mut out: Indices = Vec::with_capacity(indices.len());
    let shape = x.shape();
    let mut skip = 0;
    for index in indices {
        let Some(tensor) = index else {
            if skip > 0 {
                skip -= 1
            } else {
                out.push(None)
            }
            continue;
        };
        match tensor.dtype() {
            DType::I64 | DType::I32 => out.push(Some(tensor.clone())),
            DType::Bool | DType::U8 => {
                for (place, &size) in tensor.shape().iter().enumerate() {
                    if shape.get(out.len() + place) != Some(&size) {
                        return error::index(format!(
                            "The shape of the mask {:?} at index {place} does not match the shape of the indexed \
                             tensor {:?} at index {}",
                            tensor.shape().as_slice(),
                            shape.as_slice(),
                            out.len() + place
                        ));
                    }
                }
                skip = tensor.rank().saturating_sub(1);
                out.extend(masked::coordinates(tensor)?.into_iter().map(Some));
            }
            _ => return error::index("tensors used as indices must be long, int, byte or bool tensors"),
        }
    }
    if out.len() > shape.len() {
        return error::index(format!("too many indices for tensor of dimension {}", shape.len()));
    }
    Ok(out)
}

fn plan(x: &Tensor, indices: &Indices) -> Result<Plan> {
    let shape = x.shape();
    let given: Vec<(usize, &Tensor)> =
        indices.iter().enumerate().filter_map(|(dim, index)| index.as_ref().map(|index| (dim, index))).collect();
    let mut common: Dims = Dims::new();
    for (_, index) in &given {
        common = broadcast("index", &common, &index.shape()).or_else(|_| {
            let shapes: Vec<String> =
                given.iter().map(|(_, index)| format!("{:?}", index.shape().as_slice())).collect();
            error::index(format!(
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            ))
        })?;
    }
    let dims: Vec<usize> = given.iter().map(|(dim, _)| *dim).collect();
    let first = dims.first().copied().unwrap_or(0);
    let adjacent = dims.iter().enumerate().all(|(place, &dim)| dim == first + place);
    let lead = if adjacent { first } else { 0 };
    let mut order: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
    order.splice(lead..lead, dims.iter().copied());
    let sizes = |dims: &[usize]| -> Dims { dims.iter().filter_map(|&dim| shape.get(dim).copied()).collect() };
    let before = sizes(order.get(..lead).unwrap_or_default());
    let after = sizes(order.get(lead + dims.len()..).unwrap_or_default());
    let inner = combined(&given, &shape, &common)?;
    let span: i64 = sizes(&dims).iter().product::<usize>() as i64;
    let outer: usize = before.iter().product();
    let numbers: Vec<i64> = if outer == 1 {
        inner
    } else {
        (0..outer as i64).flat_map(|row| inner.iter().map(move |&number| row * span + number)).collect()
    };
    let ordered = order.iter().enumerate().all(|(place, &dim)| place == dim);
    Ok(Plan {
        order: (!ordered).then_some(order),
        rows: Rows { numbers: Arc::from(numbers), block: after.iter().product() },
        shape: before.into_iter().chain(common).chain(after).collect(),
    })
}

/// The index tensors as one number per element of their common shape, checked against the sizes.
fn combined(given: &[(usize, &Tensor)], shape: &[usize], common: &[usize]) -> Result<Vec<i64>> {
    let count: usize = common.iter().product();
    let mut out = vec![0i64; count];
    for (dim, index) in given {
        let size = shape.get(*dim).copied().unwrap_or(1) as i64;
        let expanded = index.alias(index.geometry().expand(common));
        for (slot, number) in out.iter_mut().zip(rows::integers(&expanded)?) {
            if number < -size || number >= size {
                return error::index(format!("index {number} is out of bounds for dimension {dim} with size {size}"));
            }
            *slot = *slot * size + if number < 0 { number + size } else { number };
        }
    }
    Ok(out)
}

fn kept(source: &Indices) -> Vec<&Tensor> {
    // Masks are turned into coordinates at once, so a later write to them does no harm.
    source.iter().flatten().filter(|index| !is_mask(index)).collect()
}

fn arranged(x: &Tensor, order: Option<&Vec<usize>>) -> Result<Tensor> {
    match order {
        Some(order) => movement::permute(x, order),
        None => Ok(x.clone()),
    }
}

/// `x[indices]` for index tensors: a copy.
pub fn index(x: &Tensor, indices: &Indices) -> Result<Tensor> {
    let expanded = expand_masks(x, indices)?;
    let plan = plan(x, &expanded)?;
    rows::take("IndexBackward0", &arranged(x, plan.order.as_ref())?, &plan.rows, &plan.shape, &kept(indices))
}

/// `x` with `values` put at the indices, added there when `accumulate`.
pub fn index_put(x: &Tensor, indices: &Indices, values: &Tensor, accumulate: bool) -> Result<Tensor> {
    if values.dtype() != x.dtype() {
        return error::dtype(format!(
            "Index put requires the source and destination dtypes match, got {} for the destination and {} for the \
             source.",
            x.dtype().name(),
            values.dtype().name()
        ));
    }
    let expanded = expand_masks(x, indices)?;
    let plan = plan(x, &expanded)?;
    let values = creation::to_device(values, x.device())?;
    let values = movement::expand(&values, &plan.shape).or_else(|_| {
        error::shape(format!(
            "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result of shape {:?}",
            values.shape().as_slice(),
            plan.shape.as_slice()
        ))
    })?;
    let update = if accumulate { Update::Add } else { Update::Assign };
    let source = arranged(x, plan.order.as_ref())?;
    let out = rows::put("IndexPutBackward0", &source, &plan.rows, &values, update, &kept(indices))?;
    match plan.order {
        None => Ok(out),
        Some(order) => {
            let mut back = vec![0; order.len()];
            for (place, &dim) in order.iter().enumerate() {
                if let Some(slot) = back.get_mut(dim) {
                    *slot = place;
                }
            }
            movement::permute(&out, &back)
        }
    }
}

/// A value with more leading dimensions of size 1 than the place it goes to loses them.
fn without_leading_ones(value: &Tensor, rank: usize) -> Result<Tensor> {
    let shape = value.shape();
    let ones = shape.iter().take_while(|&&size| size == 1).count();
    let drop = shape.len().saturating_sub(rank).min(ones);
    if drop == 0 { Ok(value.clone()) } else { movement::reshape(value, shape.get(drop..).unwrap_or_default()) }
}

fn value_of(x: &Tensor, value: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Ok(Operand::Tensor(tensor.get().tensor.clone()));
    }
    match value.extract::<Scalar>() {
        Ok(scalar) => Ok(Operand::Scalar(scalar)),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(PyTypeError::new_err(format!(
            "can't assign a {} to a {} tensor; wrap it with pyburn.tensor(...)",
            value.get_type().name()?,
            x.dtype().name()
        ))),
        Err(error) => Err(error),
    }
}

/// Writes to a view, converting the value's dtype.
fn write(view: &Tensor, value: Operand) -> Result<()> {
    match value {
        Operand::Scalar(value) => crate::ops::inplace::fill(view, value),
        Operand::Tensor(value) => crate::ops::inplace::copy(view, &without_leading_ones(&value, view.rank())?),
    }
}

fn set(x: &Tensor, items: Vec<Item>, value: Operand) -> Result<()> {
    // `x[True] = v` is a plain write, `x[False] = v` none.
    match items.as_slice() {
        [Item::Flag(true)] => return write(&movement::unsqueeze(x, 0)?, value),
        [Item::Flag(false)] => return Ok(()),
        _ => {}
    }
    let (view, indices) = apply(x, items)?;
    if indices.is_empty() {
        return write(&if view.is(x) { movement::alias(x)? } else { view }, value);
    }
    let value = match value {
        Operand::Scalar(value) => creation::number(value, x.dtype(), x.device())?,
        Operand::Tensor(value) => value,
    };
    // One mask and one value: torch fills, which converts the value's dtype.
    let sole_mask = indices.iter().flatten().count() == 1
        && indices.iter().flatten().any(|index| index.dtype() == DType::Bool && index.rank() > 0);
    if sole_mask && value.numel() == 1 {
        let value = creation::to_dtype(&creation::to_device(&value, view.device())?, view.dtype())?;
        let value = movement::reshape(&value, &[])?;
        return inplace::update("masked_fill_", &view, |x| index_put(x, &indices, &value, false));
    }
    inplace::update("index_put_", &view, |x| {
        let rank = plan(x, &expand_masks(x, &indices)?)?.shape.len();
        index_put(x, &indices, &without_leading_ones(&value, rank)?, false)
    })
}

fn warn_bytes(py: Python<'_>, items: &[Item]) -> PyResult<()> {
    let bytes = items
        .iter()
        .any(|item| matches!(item, Item::Tensor(tensor) if tensor.dtype() == DType::U8 && tensor.rank() > 0));
    if bytes {
        warn(py, c"indexing with dtype uint8 is now deprecated, please use a dtype bool instead.")?;
    }
    Ok(())
}

/// `indices` of `index_put`: tensors, or None for a dimension kept whole.
#[derive(FromPyObject)]
struct IndicesArg(Vec<Option<Tensor>>);

impl IndicesArg {
    /// As `apply` lays them out: a mask is followed by None for each further dimension it spans.
    fn spread(self) -> Result<Indices> {
        if self.0.is_empty() {
            return error::value("index_put: at least one index tensor is needed");
        }
        let mut out = Vec::with_capacity(self.0.len());
        for index in self.0 {
            let extra = index.as_ref().filter(|index| is_mask(index)).map_or(0, |mask| mask.rank().saturating_sub(1));
            out.push(index);
            out.extend(std::iter::repeat_n(None, extra));
        }
        Ok(out)
    }
}

#[pymethods]
impl PyTensor {
    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let x = &self.tensor;
        let items = items(index)?;
        warn_bytes(index.py(), &items)?;
        let (view, indices) = apply(x, items)?;
        if !indices.is_empty() {
            return Ok(self::index(&view, &indices)?);
        }
        Ok(if view.is(x) { movement::alias(x)? } else { view })
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let items = items(index)?;
        warn_bytes(index.py(), &items)?;
        let value = value_of(&self.tensor, value)?;
        Ok(set(&self.tensor, items, value)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.shape().first() {
            Some(&size) => Ok(size),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        if self.tensor.rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        PyTuple::new(py, movement::unbind(&self.tensor, 0)?)?.try_iter()
    }

    /// A copy with `values` at the index tensors, one per dimension.
    #[pyo3(signature = (indices, values, accumulate=false))]
    fn index_put(&self, indices: IndicesArg, values: Tensor, accumulate: bool) -> Result<Tensor> {
        index_put(&self.tensor, &indices.spread()?, &values, accumulate)
    }
}
