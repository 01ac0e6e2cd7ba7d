//! What stands between the brackets of `x[...]`, read from Python.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyEllipsis, PyInt, PyList, PySequence, PySlice, PyString, PyTuple};

use crate::dtype::DType;
use crate::ops::operand::Scalar;
use crate::ops::rows;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::MAX_RANK;

/// One element of an index expression.
pub enum Item {
    Int(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Ellipsis,
    NewAxis,
    Flag(bool),
    Tensor(Tensor),
}

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
pub fn items(index: &Bound<'_, PyAny>) -> PyResult<Vec<Item>> {
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
        return Ok(Item::Tensor(tensor.get().open()?.clone()));
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
            let found = rows::integers(tensor.get().open()?)?;
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
        if depth > MAX_RANK {
            return Err(PyValueError::new_err("an index has too many nested sequences"));
        }
        if is_array(object) {
            return self.read(&object.call_method0("tolist")?, depth);
        }
        if let Ok(tensor) = object.cast::<PyTensor>() {
            let tensor = tensor.get().open()?;
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

pub fn warn_bytes(py: Python<'_>, items: &[Item]) -> PyResult<()> {
    let bytes = items
        .iter()
        .any(|item| matches!(item, Item::Tensor(tensor) if tensor.dtype() == DType::U8 && tensor.rank() > 0));
    if bytes {
        warn(py, c"indexing with dtype uint8 is now deprecated, please use a dtype bool instead.")?;
    }
    Ok(())
}
