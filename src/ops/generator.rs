//! `pyburn.Generator`, and the one that calls use which name none.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::ranges::from_vec;
use crate::device::{Device, DeviceArg, PyDevice};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::guard;
use crate::random::{Generator, STATE_BYTES};
use crate::tensor::Tensor;

/// A generator that threads share. The lock is the standard library's: it never hands itself over to a waiting thread,
/// which would not exist in a forked child.
#[derive(Default)]
pub struct Stream(Mutex<Generator>);

impl Stream {
    pub fn lock(&self) -> MutexGuard<'_, Generator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub type Shared = Arc<Stream>;

thread_local! {
    /// The default generator while this thread forks.
    static HELD: RefCell<Option<MutexGuard<'static, Generator>>> = const { RefCell::new(None) };
}

/// Waits for other threads' draws from the default generator: locked by them, it would stay locked in the child.
#[pyfunction]
fn _before_fork() {
    let stream = DEFAULT.get_or_init(Shared::default);
    loop {
        match stream.0.try_lock() {
            Ok(guard) => return HELD.set(Some(guard)),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => return HELD.set(Some(poisoned.into_inner())),
            Err(std::sync::TryLockError::WouldBlock) => guard::detached(|| drop(stream.lock())),
        }
    }
}

/// Gives the default generator back after a fork, in the parent and in the child.
#[pyfunction]
pub fn _after_fork() {
    drop(HELD.take());
}

static DEFAULT: OnceLock<Shared> = OnceLock::new();

thread_local! {
    /// What this thread draws from instead of the default generator.
    static OWN: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

fn default_generator() -> Shared {
    OWN.with_borrow(Clone::clone).unwrap_or_else(|| DEFAULT.get_or_init(Shared::default).clone())
}

/// Gives the calling thread a default generator of its own, started from `seed`: a thread that reads data draws what a
/// worker process of torch's draws, and nothing of the program's own numbers.
#[pyfunction]
fn _own_generator(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let stream = Shared::default();
    stream.lock().manual_seed(seed_of(seed)?);
    OWN.set(Some(stream));
    Ok(())
}

/// The calling thread's own default generator, if it has one.
#[pyfunction]
fn _thread_generator() -> Option<PyGenerator> {
    OWN.with_borrow(Clone::clone).map(|stream| PyGenerator { stream, device: Device::Cpu })
}

/// `pyburn.Generator`: a stream of random numbers.
#[pyclass(name = "Generator", module = "pyburn", frozen, weakref)]
pub struct PyGenerator {
    stream: Shared,
    device: Device,
}

/// A seed as torch reads it: negative numbers count back from 2^64.
fn seed_of(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    let whole = seed.py().get_type::<pyo3::types::PyInt>().call1((seed,))?;
    whole
        .extract::<u64>()
        .or_else(|_| whole.extract::<i64>().map(|seed| seed as u64))
        .map_err(|_| PyValueError::new_err("Overflow when unpacking long long: a seed must lie in [-2**63, 2**64)"))
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<DeviceArg>) -> Self {
        Self { stream: Shared::default(), device: device.map_or(Device::Cpu, |device| device.0) }
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.device)
    }

    /// The generator itself, restarted from `seed`.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let seed = seed_of(seed)?;
        slf.get().stream.lock().manual_seed(seed);
        Ok(slf)
    }

    /// The seed nobody chose from which the generator is now restarted.
    fn seed(&self) -> u64 {
        self.stream.lock().seed()
    }

    /// The seed the stream was started from.
    fn initial_seed(&self) -> u64 {
        self.stream.lock().initial_seed()
    }

    /// The state as a uint8 tensor, in torch's layout.
    fn get_state(&self) -> Result<Tensor> {
        let bytes = self.stream.lock().get_state();
        from_vec(bytes, &[STATE_BYTES], DType::U8)
    }

    /// The generator itself, continuing from a state that `get_state` gave.
    fn set_state<'py>(slf: Bound<'py, Self>, new_state: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let state = new_state.extract::<Tensor>().ok();
        let Some(state) = state.filter(|state| state.dtype() == DType::U8) else {
            return Err(PyTypeError::new_err("RNG state must be a ByteTensor (a tensor of dtype uint8)"));
        };
        let bytes = state.to_bytes()?;
        slf.get().stream.lock().set_state(&bytes).map_err(Error::Runtime)?;
        Ok(slf)
    }

    /// A generator of its own in the same state.
    fn clone_state(&self) -> Self {
        Self { stream: Arc::new(Stream(Mutex::new(self.stream.lock().clone()))), device: self.device }
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,), Tensor)> {
        let generator = slf.get();
        Ok((slf.get_type().into_any(), (generator.device.name(),), generator.get_state()?))
    }

    fn __setstate__<'py>(slf: Bound<'py, Self>, state: &Bound<'py, PyAny>) -> PyResult<()> {
        Self::set_state(slf, state).map(drop)
    }
}

/// The generator of calls that name none, in threads that have none of their own.
#[pyfunction]
fn _default_generator() -> PyGenerator {
    PyGenerator { stream: DEFAULT.get_or_init(Shared::default).clone(), device: Device::Cpu }
}

/// A `generator=` argument.
pub struct Source(Shared);

impl<'a, 'py> FromPyObject<'a, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyGenerator>() {
            Ok(found) => Ok(Self(found.get().stream.clone())),
            Err(_) => Err(PyTypeError::new_err(format!(
                "generator must be a pyburn.Generator, not {}",
                object.get_type().name()?
            ))),
        }
    }
}

/// The stream to draw from: the default one where none is named.
pub fn stream(source: Option<Source>) -> Shared {
    source.map_or_else(default_generator, |source| source.0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGenerator>()?;
    module.add_function(wrap_pyfunction!(_before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(_after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(_own_generator, module)?)?;
    module.add_function(wrap_pyfunction!(_thread_generator, module)?)?;
    module.add_function(wrap_pyfunction!(_default_generator, module)?)
}
