//! One Python object per tensor: a tensor that comes back to Python is the object that it was, as in torch.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use super::Tensor;
use super::class::PyTensor;

/// The living Python object of a tensor, not owned; read and written with the GIL held.
#[derive(Default)]
pub struct Face {
    object: AtomicPtr<ffi::PyObject>,
    /// Where the object's Rust part lies, by which it is known when it is dropped.
    content: AtomicUsize,
}

impl Face {
    fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTensor>> {
        let pointer = self.object.load(Ordering::Relaxed);
        // SAFETY: an object takes itself out of here when it is dropped, so the pointer is to a live one; one whose
        // count is zero is just being torn down and must not be revived.
        unsafe {
            if pointer.is_null() || ffi::Py_REFCNT(pointer) == 0 {
                return None;
            }
            Some(Bound::from_borrowed_ptr(py, pointer).cast_into_unchecked())
        }
    }

    fn set(&self, object: &Bound<'_, PyTensor>) {
        self.object.store(object.as_ptr(), Ordering::Relaxed);
        self.content.store(std::ptr::from_ref(object.get()) as usize, Ordering::Relaxed);
    }
}

impl Tensor {
    /// Remembers the Python object through which this tensor was reached, unless one is known.
    pub fn meet(&self, object: &Bound<'_, PyTensor>) {
        if self.face().object.load(Ordering::Relaxed).is_null() {
            self.face().set(object);
        }
    }
}

impl Tensor {
    /// The Python object of this tensor where it is of a subclass, whose attributes would be lost with it.
    pub fn subclass_object(&self) -> Option<Py<PyAny>> {
        if self.face().object.load(Ordering::Relaxed).is_null() {
            return None;
        }
        crate::guard::attached(|py| {
            let object = self.face().get(py)?;
            let plain = object.get_type().is(py.get_type::<PyTensor>());
            if plain { None } else { Some(object.into_any().unbind()) }
        })
    }
}

impl<'py> IntoPyObject<'py> for Tensor {
    type Target = PyTensor;
    type Output = Bound<'py, PyTensor>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        crate::autograd::refusal::check()?;
        if let Some(known) = self.face().get(py) {
            return Ok(known);
        }
        let made = Bound::new(py, PyTensor { tensor: self })?;
        made.get().tensor.face().set(&made);
        Ok(made)
    }
}

impl Drop for PyTensor {
    fn drop(&mut self) {
        let face = self.tensor.face();
        if face.content.load(Ordering::Relaxed) == std::ptr::from_ref(self) as usize {
            face.object.store(std::ptr::null_mut(), Ordering::Relaxed);
            face.content.store(0, Ordering::Relaxed);
        }
    }
}
