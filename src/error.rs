//! The one error type of the core and the Python exception classes it becomes.

use pyo3::exceptions::{PyIndexError, PyMemoryError, PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

/// What went wrong, by the Python class that callers will catch.
#[derive(Debug)]
pub enum Error {
    Shape(String),
    DType(String),
    Dim(String),
    Device(String),
    Runtime(String),
    Value(String),
    Type(String),
    Index(String),
    Memory(String),
    Missing(String),
    Python(PyErr),
}

pub type Result<T> = std::result::Result<T, Error>;

macro_rules! constructors {
    ($($name:ident => $variant:ident),+ $(,)?) => {
        $(pub fn $name<T>(message: impl Into<String>) -> Result<T> { Err(Error::$variant(message.into())) })+
    };
}

constructors! {
    shape => Shape, dtype => DType, dim => Dim, device => Device, runtime => Runtime,
    value => Value, type_ => Type, index => Index, memory => Memory, missing => Missing,
}

impl Error {
    /// The message without its class, for wrapping it in another error.
    pub fn message(&self) -> String {
        match self {
            Self::Shape(m)
            | Self::DType(m)
            | Self::Dim(m)
            | Self::Device(m)
            | Self::Runtime(m)
            | Self::Value(m)
            | Self::Type(m)
            | Self::Index(m)
            | Self::Memory(m)
            | Self::Missing(m) => m.clone(),
            Self::Python(error) => error.to_string(),
        }
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

struct Classes {
    shape: Py<PyType>,
    dtype: Py<PyType>,
    dim: Py<PyType>,
    device: Py<PyType>,
    memory: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Exceptions have two bases so that code written for torch, numpy or Keras catches them.
fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let make = |name: &str, doc: &str, bases: Vec<Bound<'_, PyType>>| -> PyResult<Py<PyType>> {
            let namespace = PyDict::new(py);
            namespace.set_item("__module__", "pyburn")?;
            namespace.set_item("__doc__", doc)?;
            let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, namespace))?;
            Ok(class.cast_into::<PyType>()?.unbind())
        };
        let runtime = || py.get_type::<PyRuntimeError>();
        Ok(Classes {
            shape: make(
                "ShapeError",
                "Sizes that do not fit together.",
                vec![runtime(), py.get_type::<PyValueError>()],
            )?,
            dtype: make(
                "DTypeError",
                "An element type that the operation does not take.",
                vec![runtime(), py.get_type::<PyTypeError>()],
            )?,
            dim: make("DimError", "A dimension that the tensor does not have.", vec![py.get_type::<PyIndexError>()])?,
            device: make("DeviceError", "A device that is absent, or tensors on different devices.", vec![runtime()])?,
            memory: make(
                "AllocationError",
                "Memory that is not to be had: torch's RuntimeError and Python's MemoryError.",
                vec![runtime(), py.get_type::<PyMemoryError>()],
            )?,
        })
    })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        crate::autograd::refusal::forget();
        Python::attach(|py| {
            let own = |class: &Py<PyType>, message: String| PyErr::from_type(class.bind(py).clone(), (message,));
            let classes = match classes(py) {
                Ok(classes) => classes,
                Err(error) => return error,
            };
            match error {
                Error::Shape(m) => own(&classes.shape, m),
                Error::DType(m) => own(&classes.dtype, m),
                Error::Dim(m) => own(&classes.dim, m),
                Error::Device(m) => own(&classes.device, m),
                Error::Runtime(m) => PyRuntimeError::new_err(m),
                Error::Value(m) => PyValueError::new_err(m),
                Error::Type(m) => PyTypeError::new_err(m),
                Error::Index(m) => PyIndexError::new_err(m),
                Error::Memory(m) => own(&classes.memory, m),
                Error::Missing(m) => PyNotImplementedError::new_err(m),
                Error::Python(error) => error,
            }
        })
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let classes = classes(py)?;
    module.add("ShapeError", classes.shape.bind(py))?;
    module.add("DTypeError", classes.dtype.bind(py))?;
    module.add("DimError", classes.dim.bind(py))?;
    module.add("DeviceError", classes.device.bind(py))?;
    module.add("AllocationError", classes.memory.bind(py))
}
