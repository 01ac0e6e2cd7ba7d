//! Python values in and out: nested lists become tensors, tensors become numbers and lists.

use half::{bf16, f16};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::creation::to_device;
use crate::device::{DeviceArg, default_device};
use crate::dtype::{DType, DTypeArg, Kind, default_dtype};
use crate::error::{self, Result};
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::MAX_RANK;
use crate::tensor::{Tensor, numpy};

/// Nesting beyond which a list cannot become a tensor; it also stops a list that contains itself.
const MAX_NESTING: usize = 64;

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_string(), |name| name.to_string())
}

fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>()
}

fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    if object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>() {
        return true;
    }
    // SAFETY: the pointer is a live object; the check reads its type only.
    !is_text(object) && unsafe { ffi::PySequence_Check(object.as_ptr()) } == 1
}

/// The numbers of nested data in order, the shape they have and the dtype they call for.
struct Scan<'py> {
    leaves: Vec<Bound<'py, PyAny>>,
    shape: Vec<usize>,
    /// Set once the first number, or an empty list, has shown how deep the data goes.
    fixed: bool,
    dtype: Option<DType>,
    /// Whether dtypes need to be found at all.
    infer: bool,
}

impl<'py> Scan<'py> {
    fn walk(&mut self, object: Bound<'py, PyAny>, level: usize) -> PyResult<()> {
        if object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>() {
            return self.leaf(object, level);
        }
        if let Ok(tensor) = object.cast::<PyTensor>() {
            // As in torch a tensor inside a list stands for one number.
            let tensor = tensor.get().open()?;
            let value = single(object.py(), tensor)?;
            return self.array(value, tensor.dtype(), level);
        }
        if numpy::is_array(&object)? {
            let dtype = numpy::dtype_of(&object)?;
            return self.array(object.call_method0("tolist")?, dtype, level);
        }
        if !is_sequence(&object) {
            return self.leaf(object, level);
        }
        if let Ok(list) = object.cast_exact::<PyList>() {
            let items: Vec<_> = list.iter().collect();
            return self.items(items, level, &object);
        }
        let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        self.items(items, level, &object)
    }

    /// A tensor or array among the data: its values are numbers of a known dtype.
    fn array(&mut self, values: Bound<'py, PyAny>, dtype: DType, level: usize) -> PyResult<()> {
        let infer = std::mem::replace(&mut self.infer, false);
        let walked = self.walk(values, level);
        self.infer = infer;
        self.note(dtype);
        walked
    }

    fn items(&mut self, items: Vec<Bound<'py, PyAny>>, level: usize, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let length = items.len();
        if !self.fixed {
            if level >= MAX_NESTING {
                return Err(PyValueError::new_err(format!("too many dimensions '{}'", type_name(object))));
            }
            if level == self.shape.len() {
                self.shape.push(length);
            }
        }
        match self.shape.get(level) {
            None => {
                return Err(PyTypeError::new_err(format!(
                    "tensor: expected a number at dim {level} (got {}); all lists at one depth must hold numbers, \
                     or all of them lists",
                    type_name(object)
                )));
            }
            Some(&expected) if expected != length => {
                return Err(PyValueError::new_err(format!(
                    "expected sequence of length {expected} at dim {level} (got {length})"
                )));
            }
            Some(_) => {}
        }
        self.fixed |= length == 0;
        for item in items {
            self.walk(item, level + 1)?;
        }
        Ok(())
    }

    fn leaf(&mut self, object: Bound<'py, PyAny>, level: usize) -> PyResult<()> {
        if is_text(&object) {
            return Err(if level > 0 && !self.fixed {
                PyValueError::new_err(format!("too many dimensions '{}'", type_name(&object)))
            } else {
                PyTypeError::new_err(format!("new(): invalid data type '{}'", type_name(&object)))
            });
        }
        self.fixed = true;
        if level != self.shape.len() {
            return Err(PyTypeError::new_err(format!(
                "not a sequence: expected one of length {} at dim {level} (got {})",
                self.shape.get(level).copied().unwrap_or(0),
                type_name(&object)
            )));
        }
        if self.infer {
            let dtype = number_dtype(&object)?;
            self.note(dtype);
        }
        self.leaves.push(object);
        Ok(())
    }

    fn note(&mut self, dtype: DType) {
        self.dtype = Some(match self.dtype {
            Some(known) => known.promote(dtype),
            None => dtype,
        });
    }
}

/// The dtype that a Python or numpy number calls for.
fn number_dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(default_dtype());
    }
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(DType::I64);
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(DType::Bool);
    }
    // numpy's float64 is a Python float as well, but keeps its width.
    if let Ok(dtype) = object.getattr("dtype")
        && let Some(found) = DType::parse(&dtype.str()?.to_string())
    {
        return Ok(found);
    }
    if object.is_instance_of::<PyFloat>() {
        Ok(default_dtype())
    } else if object.is_instance_of::<PyInt>() {
        Ok(DType::I64)
    } else if object.is_instance_of::<PyComplex>() {
        Ok(default_dtype().complex())
    } else {
        Err(PyRuntimeError::new_err(format!("Could not infer dtype of {}", type_name(object))))
    }
}

fn overflow(dtype: DType) -> PyErr {
    PyRuntimeError::new_err(format!("value cannot be converted to type {} without overflow", dtype.name()))
}

/// Whether the dtype can hold an integer; unsigned ones take negative numbers and wrap, as in torch.
pub fn fits_integer(value: i128, dtype: DType) -> bool {
    let bits = dtype.size() * 8;
    let most = if dtype.is_signed() { (1i128 << (bits - 1)) - 1 } else { (1i128 << bits) - 1 };
    let least = if dtype.is_signed() { -most - 1 } else { -most };
    (least..=most).contains(&value)
}

fn check_range(value: i128, dtype: DType) -> PyResult<()> {
    if fits_integer(value, dtype) { Ok(()) } else { Err(overflow(dtype)) }
}

fn integer(object: &Bound<'_, PyAny>, dtype: DType) -> PyResult<i64> {
    if object.is_instance_of::<PyFloat>() {
        let value = object.extract::<f64>()?.trunc();
        if !(-1.9e19..=1.9e19).contains(&value) || (value < 0.0 && !dtype.is_signed()) {
            return Err(overflow(dtype));
        }
        check_range(value as i128, dtype)?;
        return Ok(value as i128 as i64);
    }
    let whole = object.call_method0("__int__").map_err(|_| {
        PyTypeError::new_err(format!("'{}' object cannot be interpreted as an integer", type_name(object)))
    })?;
    let value = match whole.extract::<i64>() {
        Ok(value) => i128::from(value),
        Err(_) if dtype == DType::U64 => i128::from(whole.extract::<u64>()?),
        Err(_) => return Err(PyValueError::new_err("Overflow when unpacking long long")),
    };
    check_range(value, dtype)?;
    Ok(value as i64)
}

fn put(object: &Bound<'_, PyAny>, dtype: DType, out: &mut Vec<u8>) -> PyResult<()> {
    match dtype.kind() {
        Kind::Bool => out.push(u8::from(object.is_truthy()?)),
        Kind::Int => {
            let value = integer(object, dtype)?;
            // The low bytes of two's complement are the value in every narrower width.
            out.extend(value.to_le_bytes().iter().take(dtype.size()));
        }
        Kind::Float => {
            let value = object.extract::<f64>()?;
            match dtype {
                DType::F64 => out.extend(value.to_ne_bytes()),
                DType::F32 => out.extend((value as f32).to_ne_bytes()),
                DType::F16 => out.extend(f16::from_f64(value).to_ne_bytes()),
                _ => out.extend(bf16::from_f64(value).to_ne_bytes()),
            }
        }
        Kind::Complex => {
            let whole = object.py().get_type::<PyComplex>().call1((object,))?;
            for part in ["real", "imag"] {
                let value = whole.getattr(part)?.extract::<f64>()?;
                match dtype {
                    DType::C64 => out.extend((value as f32).to_ne_bytes()),
                    _ => out.extend(value.to_ne_bytes()),
                }
            }
        }
    }
    Ok(())
}

/// A new CPU tensor from nested data.
pub fn from_python(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    if let Ok(tensor) = data.cast::<PyTensor>() {
        let tensor = tensor.get().open()?.detached();
        return Ok(tensor.converted(dtype.unwrap_or(tensor.dtype()))?);
    }
    if numpy::is_array(data)? {
        let view = numpy::from_array(data)?;
        return Ok(view.converted(dtype.unwrap_or(view.dtype()))?);
    }
    if is_text(data) {
        return Err(PyTypeError::new_err(format!("new(): invalid data type '{}'", type_name(data))));
    }
    let mut scan = Scan { leaves: Vec::new(), shape: Vec::new(), fixed: false, dtype: None, infer: dtype.is_none() };
    scan.walk(data.clone(), 0)?;
    if scan.shape.len() > MAX_RANK {
        let rank = scan.shape.len();
        return Err(PyValueError::new_err(format!("{rank} dimensions are too many; tensors have at most {MAX_RANK}")));
    }
    let dtype = dtype.or(scan.dtype).unwrap_or_else(default_dtype);
    let mut bytes = Vec::with_capacity(scan.leaves.len() * dtype.size());
    for leaf in &scan.leaves {
        put(leaf, dtype, &mut bytes)?;
    }
    Ok(Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(bytes), &scan.shape, dtype)?)
}

/// A new tensor from nested data, arrays, numbers or another tensor.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None, requires_grad=false))]
fn _tensor(
    data: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let given = data.cast::<PyTensor>().ok().map(|tensor| tensor.get().tensor.device());
    let device = match (device, given) {
        (Some(device), _) => device.0,
        (None, Some(device)) => device,
        (None, None) => default_device()?,
    };
    let made = from_python(data, dtype.map(|dtype| dtype.0))?;
    let out = to_device(&made, device)?;
    if requires_grad {
        out.set_requires_grad(true)?;
    }
    Ok(out)
}

fn number<'py>(py: Python<'py>, dtype: DType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! read {
        ($type:ty) => {
            bytes.first_chunk().map(|chunk| <$type>::from_ne_bytes(*chunk)).unwrap_or_default()
        };
    }
    let float = |value: f64| Ok(PyFloat::new(py, value).into_any());
    match dtype {
        DType::Bool => Ok(PyBool::new(py, read!(u8) != 0).to_owned().into_any()),
        DType::U8 => Ok(read!(u8).into_pyobject(py)?.into_any()),
        DType::I8 => Ok(read!(i8).into_pyobject(py)?.into_any()),
        DType::I16 => Ok(read!(i16).into_pyobject(py)?.into_any()),
        DType::I32 => Ok(read!(i32).into_pyobject(py)?.into_any()),
        DType::I64 => Ok(read!(i64).into_pyobject(py)?.into_any()),
        DType::U16 => Ok(read!(u16).into_pyobject(py)?.into_any()),
        DType::U32 => Ok(read!(u32).into_pyobject(py)?.into_any()),
        DType::U64 => Ok(read!(u64).into_pyobject(py)?.into_any()),
        DType::F16 => float(read!(f16).to_f64()),
        DType::BF16 => float(read!(bf16).to_f64()),
        DType::F32 => float(f64::from(read!(f32))),
        DType::F64 => float(read!(f64)),
        DType::C64 => {
            let imaginary = bytes.get(4..8).and_then(|part| part.try_into().ok()).map_or(0.0, f32::from_ne_bytes);
            Ok(PyComplex::from_doubles(py, f64::from(read!(f32)), f64::from(imaginary)).into_any())
        }
        DType::C128 => {
            let imaginary = bytes.get(8..16).and_then(|part| part.try_into().ok()).map_or(0.0, f64::from_ne_bytes);
            Ok(PyComplex::from_doubles(py, read!(f64), imaginary).into_any())
        }
    }
}

fn nest<'py>(py: Python<'py>, dtype: DType, shape: &[usize], bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let Some((&length, inner)) = shape.split_first() else {
        return number(py, dtype, bytes);
    };
    let step = inner.iter().product::<usize>() * dtype.size();
    let items = (0..length)
        .map(|index| nest(py, dtype, inner, bytes.get(index * step..).unwrap_or_default()))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

/// The values as nested lists; a rank-0 tensor gives its number.
pub fn tolist<'py>(py: Python<'py>, x: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    nest(py, x.dtype(), &x.shape(), &x.to_bytes()?)
}

/// The single value as a Python number.
pub fn item<'py>(py: Python<'py>, x: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let numel = x.numel();
    if numel != 1 {
        return Err(
            error::Error::Runtime(format!("a Tensor with {numel} elements cannot be converted to Scalar")).into()
        );
    }
    if x.is_meta() {
        return Err(error::Error::Runtime("Tensor.item() cannot be called on meta tensors".to_string()).into());
    }
    number(py, x.dtype(), &x.to_bytes()?)
}

fn single<'py>(py: Python<'py>, x: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    if x.numel() != 1 {
        return Err(PyValueError::new_err("only one element tensors can be converted to Python scalars"));
    }
    item(py, x)
}

/// The truth of a single value.
fn truth(x: &Tensor) -> Result<bool> {
    match x.numel() {
        1 if x.is_meta() => error::runtime("Tensor.item() cannot be called on meta tensors"),
        1 => Ok(x.converted(DType::Bool)?.to_bytes()?.first().is_some_and(|&byte| byte != 0)),
        0 => error::runtime("Boolean value of Tensor with no values is ambiguous"),
        _ => error::runtime("Boolean value of Tensor with more than one value is ambiguous"),
    }
}

#[pymethods]
impl PyTensor {
    /// The single value as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.tensor)
    }

    /// The values as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tolist(py, &self.tensor)
    }

    fn __bool__(&self) -> Result<bool> {
        truth(&self.tensor)
    }

    /// Whether the one element is not zero.
    fn is_nonzero(&self) -> Result<bool> {
        truth(&self.tensor)
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((single(py, &self.tensor)?,))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyFloat>().call1((single(py, &self.tensor)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyComplex>().call1((single(py, &self.tensor)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor.numel() != 1 || self.tensor.kind() > Kind::Int {
            return Err(PyTypeError::new_err("only integer tensors of a single element can be converted to an index"));
        }
        py.get_type::<PyInt>().call1((item(py, &self.tensor)?,))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_tensor, module)?)
}
