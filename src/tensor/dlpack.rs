//! DLPack: memory shared with any library that speaks it, by legacy and by versioned capsules.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyUserWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Tensor;
use super::class::PyTensor;
use super::geometry::contiguous_strides;
use super::numpy::over_foreign;
use super::storage::{Data, Storage};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Error, Result};

const CPU: i32 = 1;
const WEBGPU: i32 = 15;
/// Kinds of CPU memory that a host may read and write as it is: plain, and pinned by CUDA or ROCm.
const HOST: [i32; 3] = [CPU, 3, 11];
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

const LEGACY: &CStr = c"dltensor";
const LEGACY_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
#[derive(Clone, Copy)]
struct DlDevice {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    rank: i32,
    dtype: DlType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Legacy {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

fn to_dl(dtype: DType) -> DlType {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
    };
    DlType { code, bits: (dtype.size() * 8) as u8, lanes: 1 }
}

fn from_dl(dtype: DlType) -> Result<DType> {
    let found = crate::dtype::ALL.into_iter().find(|&ours| {
        let ours = to_dl(ours);
        (ours.code, ours.bits, ours.lanes) == (dtype.code, dtype.bits, dtype.lanes)
    });
    match found {
        Some(found) => Ok(found),
        None => error::dtype(format!(
            "from_dlpack: unsupported element type (code {}, {} bits, {} lanes)",
            dtype.code, dtype.bits, dtype.lanes
        )),
    }
}

/// What an exported capsule points to, and keeps alive: `M` comes first so that both have one address.
#[repr(C)]
struct Export<M> {
    managed: M,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _storage: Storage,
}

/// Frees an export; the consumer calls it once, from whatever thread.
unsafe extern "C" fn free<M>(managed: *mut M) {
    if !managed.is_null() {
        // SAFETY: `managed` is the first field of a boxed Export<M>, which is given up exactly once.
        drop(unsafe { Box::from_raw(managed.cast::<Export<M>>()) });
    }
}

/// Frees an export that nobody took out of its capsule.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a live capsule; a consumer has renamed the ones it took.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            free(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<Versioned>());
        } else if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) == 1 {
            free(ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()).cast::<Legacy>());
        }
    }
}

fn capsule<'py, M>(py: Python<'py>, export: Export<M>, name: &'static CStr) -> PyResult<Bound<'py, PyAny>> {
    let pointer = Box::into_raw(Box::new(export));
    // SAFETY: the pointer is valid until `free` runs, and the name is static.
    unsafe {
        let made = ffi::PyCapsule_New(pointer.cast::<c_void>(), name.as_ptr(), Some(drop_capsule));
        if made.is_null() {
            drop(Box::from_raw(pointer));
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, made))
    }
}

fn export<'py>(py: Python<'py>, x: &Tensor, versioned: bool, copied: bool) -> PyResult<Bound<'py, PyAny>> {
    let core = x.core().clone();
    let Data::Cpu(buffer) = core.storage.data() else {
        return Err(PyBufferError::new_err("__dlpack__: only CPU memory can be exported"));
    };
    buffer.open();
    let mut shape: Vec<i64> = core.geometry.shape.iter().map(|&size| size as i64).collect();
    let mut strides: Vec<i64> = core.geometry.strides.iter().map(|&stride| stride as i64).collect();
    let pointer = buffer.pointer().wrapping_add(core.geometry.offset * core.dtype.size());
    let tensor = DlTensor {
        data: pointer.cast(),
        device: DlDevice { kind: CPU, id: 0 },
        rank: shape.len() as i32,
        dtype: to_dl(core.dtype),
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = std::ptr::null_mut();
    let storage = core.storage.clone();
    if versioned {
        let flags = if copied { IS_COPIED } else { 0 };
        let managed = Versioned { major: 1, minor: 0, context, deleter: Some(free::<Versioned>), flags, tensor };
        return capsule(py, Export { managed, shape, strides, _storage: storage }, VERSIONED);
    }
    let managed = Legacy { tensor, context, deleter: Some(free::<Legacy>) };
    capsule(py, Export { managed, shape, strides, _storage: storage }, LEGACY)
}

/// A foreign export that we took over; dropping it tells the producer, once.
struct Taken<M>(*mut M, fn(*mut M));

// SAFETY: DLPack demands that deleters may be called from any thread.
unsafe impl<M> Send for Taken<M> {}
// SAFETY: as above; nothing is read through a shared reference.
unsafe impl<M> Sync for Taken<M> {}

impl<M> Drop for Taken<M> {
    fn drop(&mut self) {
        (self.1)(self.0);
    }
}

fn release_legacy(managed: *mut Legacy) {
    // SAFETY: the pointer was taken out of a valid capsule and is released once.
    unsafe {
        if let Some(deleter) = (*managed).deleter {
            deleter(managed);
        }
    }
}

fn release_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    unsafe {
        if let Some(deleter) = (*managed).deleter {
            deleter(managed);
        }
    }
}

/// The facts of a foreign tensor, checked before ownership changes hands.
struct Facts {
    pointer: *mut u8,
    shape: Vec<usize>,
    strides: Vec<usize>,
    dtype: DType,
}

/// # Safety
/// `tensor` follows the DLPack rules.
unsafe fn read(tensor: &DlTensor) -> Result<Facts> {
    if !HOST.contains(&tensor.device.kind) {
        return error::device(format!(
            "from_dlpack: the memory is on a device of DLPack kind {}; move it to the CPU first",
            tensor.device.kind
        ));
    }
    let dtype = from_dl(tensor.dtype)?;
    let rank = usize::try_from(tensor.rank).unwrap_or(0);
    let list = |pointer: *const i64| -> &[i64] {
        // SAFETY: the caller vouches for `rank` numbers.
        if rank == 0 || pointer.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(pointer, rank) } }
    };
    let whole = |what: &str, numbers: &[i64]| -> Result<Vec<usize>> {
        let converted: std::result::Result<Vec<usize>, _> = numbers.iter().map(|&number| number.try_into()).collect();
        converted.or_else(|_| error::value(format!("from_dlpack: {what} {numbers:?} must not be negative; copy first")))
    };
    let shape = whole("sizes", list(tensor.shape))?;
    let strides = if tensor.strides.is_null() {
        contiguous_strides(&shape).to_vec()
    } else {
        let numbers: Vec<i64> =
            shape.iter().zip(list(tensor.strides)).map(|(&size, &stride)| if size > 1 { stride } else { 1 }).collect();
        whole("strides", &numbers)?
    };
    let pointer = (tensor.data.cast::<u8>()).wrapping_add(tensor.byte_offset as usize);
    Ok(Facts { pointer, shape, strides, dtype })
}

fn pointer_of<M>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut M> {
    // SAFETY: a null answer comes with an exception set.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
    if pointer.is_null() { Err(PyErr::fetch(capsule.py())) } else { Ok(pointer.cast()) }
}

fn rename(capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: the name is static, as the capsule demands.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } == 0 {
        return Ok(());
    }
    Err(PyErr::fetch(capsule.py()))
}

fn is_named(capsule: &Bound<'_, PyAny>, name: &CStr) -> bool {
    // SAFETY: the check accepts any object.
    unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 }
}

/// Takes the tensor out of a capsule, which is then used up.
fn import(capsule: &Bound<'_, PyAny>) -> PyResult<(Tensor, bool)> {
    if is_named(capsule, VERSIONED) {
        let managed: *mut Versioned = pointer_of(capsule, VERSIONED)?;
        // SAFETY: the name says what the pointer is.
        let (major, flags) = unsafe { ((*managed).major, (*managed).flags) };
        if major != 1 {
            return Err(PyBufferError::new_err(format!("from_dlpack: version {major} of DLPack is not known")));
        }
        // SAFETY: as above.
        let facts = unsafe { read(&(*managed).tensor) }?;
        rename(capsule, VERSIONED_USED)?;
        let owner = Box::new(Taken(managed, release_versioned));
        // SAFETY: the producer keeps the memory until its deleter is called, which `owner` does last.
        let tensor = unsafe { over_foreign(facts.pointer, &facts.shape, &facts.strides, facts.dtype, owner) }?;
        return Ok((tensor, flags & READ_ONLY != 0));
    }
    if is_named(capsule, LEGACY) {
        let managed: *mut Legacy = pointer_of(capsule, LEGACY)?;
        // SAFETY: the name says what the pointer is.
        let facts = unsafe { read(&(*managed).tensor) }?;
        rename(capsule, LEGACY_USED)?;
        let owner = Box::new(Taken(managed, release_legacy));
        // SAFETY: as above.
        let tensor = unsafe { over_foreign(facts.pointer, &facts.shape, &facts.strides, facts.dtype, owner) }?;
        return Ok((tensor, false));
    }
    Err(PyTypeError::new_err(
        "from_dlpack received an invalid capsule; note that a DLPack capsule can be consumed only once",
    ))
}

/// Asks a producer for its capsule, in the newest form that it knows.
fn capsule_of<'py>(object: &Bound<'py, PyAny>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let kwargs = PyDict::new(py);
    kwargs.set_item("max_version", (1, 0))?;
    if let Some(copy) = copy {
        kwargs.set_item("copy", copy)?;
    }
    match object.call_method("__dlpack__", (), Some(&kwargs)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) && copy.is_none() => object.call_method0("__dlpack__"),
        answer => answer,
    }
}

/// A tensor over the memory of any object with `__dlpack__`, or of a DLPack capsule.
#[pyfunction]
#[pyo3(signature = (ext_tensor, copy=None))]
fn _from_dlpack(ext_tensor: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = ext_tensor.py();
    let is_producer = ext_tensor.hasattr("__dlpack__")?;
    let capsule = if is_producer { capsule_of(ext_tensor, copy)? } else { ext_tensor.clone() };
    let (tensor, read_only) = import(&capsule)?;
    if read_only {
        PyErr::warn(
            py,
            &py.get_type::<PyUserWarning>(),
            c"from_dlpack: the memory is read-only, and tensors are always writable: writing to this tensor is \
              undefined behaviour. Copy it first, or pass copy=True.",
            1,
        )?;
    }
    if copy == Some(true) && !is_producer {
        return Ok(tensor.copied()?);
    }
    Ok(tensor)
}

#[pymethods]
impl PyTensor {
    /// A DLPack capsule over this tensor's memory: versioned when `max_version` allows it.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(c_int, c_int)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = &self.tensor;
        if x.requires_grad() {
            return Err(PyBufferError::new_err("Can't export tensors that require gradient, use tensor.detach()"));
        }
        if x.device().is_cpu() && stream.is_some_and(|stream| stream.extract::<i64>().map_or(true, |s| s != -1)) {
            return Err(PyTypeError::new_err("__dlpack__: stream must be None for a tensor on the CPU"));
        }
        x.need_values()?;
        let wants_cpu = dl_device.is_some_and(|(kind, _)| kind == CPU);
        if dl_device.is_some() && !wants_cpu || !x.device().is_cpu() && (!wants_cpu || copy == Some(false)) {
            return Err(PyBufferError::new_err(format!(
                "__dlpack__: a tensor on {} can be exported to CPU memory only: pass dl_device=(1, 0), or call .cpu()",
                x.device().name()
            )));
        }
        let copied = copy == Some(true) || !x.device().is_cpu();
        let host = if x.device().is_cpu() && copied { x.copied()? } else { x.moved(Device::Cpu)? };
        export(py, &host, max_version.is_some_and(|(major, _)| major >= 1), copied)
    }

    /// DLPack's kind and number of this tensor's device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        match self.tensor.device() {
            // No tensor is on an absent device, and none without values is ever exported.
            Device::Cpu | Device::Meta | Device::Absent(..) => (CPU, 0),
            Device::Wgpu(index) => (WEBGPU, i32::from(index)),
        }
    }
}

/// A legacy capsule, as `torch.utils.dlpack.to_dlpack` gives.
#[pyfunction]
fn _to_dlpack(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    if tensor.requires_grad() {
        return Err(Error::Runtime("Can't export tensors that require gradient, use tensor.detach()".into()).into());
    }
    export(py, &tensor, false, false)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(_to_dlpack, module)?)
}
