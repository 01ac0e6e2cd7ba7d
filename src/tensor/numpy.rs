//! Memory shared with numpy and other users of Python's buffer protocol.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use super::Tensor;
use super::class::PyTensor;
use super::geometry::{Geometry, MAX_RANK, checked_numel};
use super::storage::{Buffer, Data, Storage};
use crate::autograd::grad_enabled;
use crate::device::Device;
use crate::dtype::{ALL, DType};
use crate::error::{self, Error, Result};

/// Whether `object` is a numpy array; numpy itself is not imported for the question.
pub fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    if let Some(class) = ARRAY.get(py) {
        return object.is_instance(class.bind(py));
    }
    let modules = py.import("sys")?.getattr("modules")?;
    match modules.cast::<PyDict>()?.get_item("numpy")? {
        // `sys.modules["numpy"] = None` is how a program forbids the import.
        Some(numpy) if !numpy.is_none() => {
            let class = numpy.getattr("ndarray")?;
            let found = object.is_instance(&class)?;
            drop(ARRAY.set(py, class.unbind()));
            Ok(found)
        }
        _ => Ok(false),
    }
}

/// The dtype of a numpy array.
pub fn dtype_of(array: &Bound<'_, PyAny>) -> PyResult<DType> {
    let dtype = array.getattr("dtype")?;
    let native = dtype.getattr("isnative")?.is_truthy()?;
    match DType::parse(&dtype.getattr("name")?.extract::<String>()?) {
        Some(DType::BF16) | None => Err(PyTypeError::new_err(format!(
            "can't convert np.ndarray of type numpy.{}. The only supported types are: float64, float32, float16, \
             complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.",
            dtype.getattr("type")?.getattr("__name__")?
        ))),
        Some(_) if !native => Err(PyValueError::new_err(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders \
             is currently not supported.",
        )),
        Some(found) => Ok(found),
    }
}

/// A tensor over memory that `owner` keeps alive; strides in elements, `pointer` at the first one.
///
/// # Safety
/// The elements that shape and strides reach from `pointer` are valid until `owner` is dropped.
pub unsafe fn over_foreign(
    pointer: *mut u8,
    shape: &[usize],
    strides: &[usize],
    dtype: DType,
    owner: Box<dyn std::any::Any + Send + Sync>,
) -> Result<Tensor> {
    let geometry = Geometry { shape: shape.into(), strides: strides.into(), offset: 0 };
    if shape.len() > MAX_RANK {
        return error::shape(format!("{} dimensions are too many; tensors have at most {MAX_RANK}", shape.len()));
    }
    if checked_numel(shape)? == 0 {
        // Nothing is shared, and the pointer may be null.
        let empty = Tensor::zeroed(shape, dtype)?;
        return Ok(empty.alias(geometry));
    }
    if !(pointer as usize).is_multiple_of(dtype.size().min(8)) {
        return error::value(format!(
            "the memory at {:#x} is not aligned for {}; copy the array first, with array.copy()",
            pointer as usize,
            dtype.name()
        ));
    }
    let length = geometry.end() * dtype.size();
    // SAFETY: the caller vouches for these elements.
    let buffer = unsafe { Buffer::foreign(pointer, length, owner) };
    Ok(Tensor::new(Storage::cpu(buffer), geometry, dtype))
}

/// Strides in elements from strides in bytes.
fn element_strides(bytes: &[isize], size: usize) -> PyResult<Vec<usize>> {
    bytes
        .iter()
        .map(|&stride| match usize::try_from(stride) {
            Err(_) => Err(PyValueError::new_err(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not \
                 currently supported. (You can probably work around this by making a copy of your array  with \
                 array.copy().) ",
            )),
            Ok(stride) if stride.is_multiple_of(size) => Ok(stride / size),
            Ok(_) => Err(PyValueError::new_err(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to \
                 reallocate the memory.",
            )),
        })
        .collect()
}

/// What an array says of its memory, asked through the buffer protocol: a tenth of the time of its attributes.
struct Described {
    pointer: *mut u8,
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[isize; 6]>,
    dtype: Option<DType>,
    writable: bool,
}

impl Described {
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut view = std::mem::MaybeUninit::<ffi::Py_buffer>::zeroed();
        let flags = ffi::PyBUF_STRIDES | ffi::PyBUF_FORMAT;
        // SAFETY: the view is there to be filled, and is read only where it was.
        unsafe {
            if ffi::PyObject_GetBuffer(array.as_ptr(), view.as_mut_ptr(), flags) != 0 {
                return Err(PyErr::fetch(array.py()));
            }
            let view = view.assume_init_mut();
            let rank = usize::try_from(view.ndim).unwrap_or(0);
            let (shape, strides) = match rank {
                0 => (SmallVec::new(), SmallVec::new()),
                _ => (
                    std::slice::from_raw_parts(view.shape, rank).iter().map(|&size| size as usize).collect(),
                    std::slice::from_raw_parts(view.strides, rank).iter().copied().collect(),
                ),
            };
            let name = if view.format.is_null() { c"B" } else { CStr::from_ptr(view.format) };
            let found =
                Self { pointer: view.buf.cast(), shape, strides, dtype: named(name), writable: view.readonly == 0 };
            ffi::PyBuffer_Release(view);
            Ok(found)
        }
    }
}

/// The element type that has this name in the buffer protocol.
fn named(name: &CStr) -> Option<DType> {
    match name.to_bytes() {
        b"q" => Some(DType::I64),
        b"Q" => Some(DType::U64),
        _ => ALL.into_iter().find(|&dtype| format(dtype) == Some(name)),
    }
}

/// A tensor over the memory of a numpy array, and whether the array lets itself be written to.
fn shared(array: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    if !is_array(array)? {
        return Err(PyTypeError::new_err(format!("expected np.ndarray (got {})", array.get_type().name()?)));
    }
    let found = Described::of(array);
    let dtype = match found.as_ref().ok().and_then(|found| found.dtype) {
        Some(dtype) => dtype,
        None => dtype_of(array)?, // which says what is wrong with it
    };
    let Described { pointer, shape, strides, writable, .. } = found?;
    // Strides of dimensions that are never stepped along mean nothing.
    let steps: SmallVec<[isize; 6]> =
        shape.iter().zip(&strides).map(|(&size, &stride)| if size > 1 { stride } else { 0 }).collect();
    let mut strides = element_strides(&steps, dtype.size())?;
    let rows = super::geometry::contiguous_strides(&shape);
    for ((stride, &size), &row) in strides.iter_mut().zip(&shape).zip(&rows) {
        if size <= 1 {
            *stride = row;
        }
    }
    // SAFETY: numpy keeps the memory while the array lives, and the array is the owner.
    let tensor = unsafe { over_foreign(pointer, &shape, &strides, dtype, Box::new(array.clone().unbind())) }?;
    Ok((tensor, writable))
}

/// A tensor over the memory of a numpy array.
pub fn from_array(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    shared(array).map(|(tensor, _)| tensor)
}

/// A CPU tensor that shares memory with a numpy array.
#[pyfunction]
fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (out, writable) = shared(ndarray)?;
    if !writable {
        PyErr::warn(
            ndarray.py(),
            &ndarray.py().get_type::<PyUserWarning>(),
            c"The given NumPy array is not writable, and tensors are always writable: writing to this tensor is \
              undefined behaviour. Copy the array first, or make it writable.",
            1,
        )?;
    }
    Ok(out)
}

/// Python's name for an element type in the buffer protocol; bfloat16 has none.
fn format(dtype: DType) -> Option<&'static CStr> {
    // numpy's int64 is C's long where that has 64 bits.
    let long = size_of::<std::ffi::c_long>() == 8;
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 if long => c"l",
        DType::I64 => c"q",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 if long => c"L",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        DType::BF16 => return None,
    })
}

/// What an exported buffer keeps until it is released: its sizes, and the storage.
struct Export {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    _storage: Storage,
}

#[pymethods]
impl PyTensor {
    /// The memory for Python's buffer protocol: `memoryview(x)`, writable and strided.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no buffer to fill"));
        }
        let refuse = |why: String| Err(PyBufferError::new_err(why));
        let tensor = &slf.get().tensor;
        if tensor.requires_grad() {
            return refuse("a tensor that requires grad has no buffer; use tensor.detach()".to_string());
        }
        let core = tensor.core().clone();
        let Data::Cpu(buffer) = core.storage.data() else {
            return refuse(format!("a tensor on {} has no buffer; use tensor.cpu()", tensor.device().name()));
        };
        let Some(format) = format(core.dtype) else {
            return refuse(format!("{} has no buffer format; use tensor.float()", core.dtype.name()));
        };
        let wants = |flag: c_int| flags & flag == flag;
        if !wants(ffi::PyBUF_STRIDES) && !core.geometry.is_contiguous()
            || wants(ffi::PyBUF_C_CONTIGUOUS) && !core.geometry.is_contiguous()
        {
            return refuse("the tensor is not contiguous; use tensor.contiguous()".to_string());
        }
        if wants(ffi::PyBUF_F_CONTIGUOUS) && core.geometry.rank() > 1 {
            return refuse("tensors are exported in row-major order".to_string());
        }
        buffer.open();
        let size = core.dtype.size() as ffi::Py_ssize_t;
        let pointer = buffer.pointer().wrapping_add(core.geometry.offset * core.dtype.size());
        let export = Box::new(Export {
            shape: core.geometry.shape.iter().map(|&size| size as ffi::Py_ssize_t).collect(),
            strides: core.geometry.strides.iter().map(|&stride| stride as ffi::Py_ssize_t * size).collect(),
            _storage: core.storage.clone(),
        });
        let export = Box::into_raw(export);
        // SAFETY: Python hands a valid view to fill; the export lives until __releasebuffer__ takes it back.
        unsafe {
            (*view).buf = pointer.cast::<c_void>();
            (*view).len = core.geometry.numel() as ffi::Py_ssize_t * size;
            (*view).readonly = 0;
            (*view).itemsize = size;
            (*view).format = if wants(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).ndim = core.geometry.rank() as c_int;
            (*view).shape = if wants(ffi::PyBUF_ND) { (*export).shape.as_mut_ptr() } else { std::ptr::null_mut() };
            (*view).strides =
                if wants(ffi::PyBUF_STRIDES) { (*export).strides.as_mut_ptr() } else { std::ptr::null_mut() };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = export.cast::<c_void>();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the Export that __getbuffer__ put there, released once.
        unsafe {
            let export = (*view).internal.cast::<Export>();
            if !export.is_null() {
                (*view).internal = std::ptr::null_mut();
                drop(Box::from_raw(export));
            }
        }
    }

    /// A numpy array over the same memory; `force=True` detaches and moves to the CPU first.
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(slf: Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let given = &slf.get().tensor;
        if force {
            given.need_values()?;
        }
        let tensor = if force { given.detached().moved(Device::Cpu)? } else { given.clone() };
        if tensor.requires_grad() && grad_enabled() {
            return Err(Error::Runtime(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.".to_string(),
            )
            .into());
        }
        if !tensor.device().is_cpu() {
            return Err(PyTypeError::new_err(format!(
                "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory \
                 first.",
                tensor.device().name()
            )));
        }
        if format(tensor.dtype()).is_none() {
            return Err(PyTypeError::new_err("Got unsupported ScalarType BFloat16"));
        }
        let numpy = import_numpy(py)?;
        let exporter = tensor.detached().into_pyobject(py)?;
        // SAFETY: the result is a new reference or an exception.
        let memory = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromObject(exporter.as_ptr())) }?;
        numpy.call_method1("asarray", (memory,))
    }

    /// What `numpy.asarray(x)` calls.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = Self::numpy(slf, false)?;
        let array = match dtype {
            Some(dtype) => {
                let kwargs = PyDict::new(py);
                kwargs.set_item("copy", copy.unwrap_or(false))?;
                array.call_method("astype", (dtype,), Some(&kwargs))?
            }
            None if copy == Some(true) => array.call_method0("copy")?,
            None => array,
        };
        Ok(array)
    }
}

fn import_numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("numpy").map_err(|cause| {
        let error = pyo3::exceptions::PyImportError::new_err(
            "numpy is not installed, and this call gives a numpy array; install it with `pip install numpy`, \
             or use .tolist()",
        );
        error.set_cause(py, Some(cause));
        error
    })
}

/// A tensor over the memory of any object with the buffer protocol.
#[pyfunction]
#[pyo3(signature = (buffer, dtype, count=-1, offset=0))]
fn _frombuffer(
    buffer: &Bound<'_, PyAny>,
    dtype: crate::dtype::DTypeArg,
    count: isize,
    offset: isize,
) -> PyResult<Tensor> {
    let (py, dtype) = (buffer.py(), dtype.0);
    // SAFETY: the result is a new reference or an exception.
    let memory = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromObject(buffer.as_ptr())) }?;
    let contiguous = memory.getattr("c_contiguous")?.is_truthy()?;
    if !contiguous {
        return Err(PyValueError::new_err("frombuffer: the buffer must be contiguous"));
    }
    let total: usize = memory.getattr("nbytes")?.extract()?;
    let size = dtype.size();
    let fail = |message: String| Err(PyValueError::new_err(message));
    let start = match usize::try_from(offset) {
        Ok(start) if start < total => start,
        _ if total == 0 => return fail(format!("both buffer length ({total}) and count ({count}) must not be 0")),
        _ => {
            return fail(format!(
                "offset ({offset} bytes) must be non-negative and no greater than buffer length ({total} bytes) minus 1"
            ));
        }
    };
    let length = match usize::try_from(count) {
        Ok(0) => return fail(format!("both buffer length ({total}) and count (0) must not be 0")),
        Ok(count) => count,
        Err(_) if count == -1 && (total - start).is_multiple_of(size) => (total - start) / size,
        Err(_) if count == -1 => {
            return fail(format!(
                "buffer length ({} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})",
                total - start
            ));
        }
        Err(_) => return fail(format!("frombuffer: count is {count} but must be positive, or -1 for all")),
    };
    if length.checked_mul(size).is_none_or(|bytes| bytes > total - start) {
        return fail(format!(
            "requested buffer length ({length} * {size} bytes) after offset ({offset} bytes) must not be greater than \
             actual buffer length ({total} bytes)"
        ));
    }
    if memory.getattr("readonly")?.is_truthy()? {
        PyErr::warn(
            py,
            &py.get_type::<PyUserWarning>(),
            c"The given buffer is not writable, and tensors are always writable: writing to this tensor is undefined \
              behaviour. Copy the buffer first.",
            1,
        )?;
    }
    let address = buffer_address(&memory)?;
    let pointer = (address as *mut u8).wrapping_add(start);
    // SAFETY: the memoryview holds the buffer's export, so the memory can be neither freed nor resized.
    Ok(unsafe { over_foreign(pointer, &[length], &[1], dtype, Box::new(memory.unbind())) }?)
}

fn buffer_address(memory: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut view = std::mem::MaybeUninit::<ffi::Py_buffer>::zeroed();
    // SAFETY: the view is released right away; the memoryview goes on holding the memory.
    unsafe {
        if ffi::PyObject_GetBuffer(memory.as_ptr(), view.as_mut_ptr(), ffi::PyBUF_SIMPLE) != 0 {
            return Err(PyErr::fetch(memory.py()));
        }
        let address = (*view.as_ptr()).buf as usize;
        ffi::PyBuffer_Release(view.as_mut_ptr());
        Ok(address)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(_frombuffer, module)?)
}
