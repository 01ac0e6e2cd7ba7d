//! Which arguments of a call take it over: torch's `__torch_function__` protocol, seen from the called function.

use std::cell::Cell;

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::class::PyTensor;

/// Nothing is taken over, neither by subclasses of Tensor nor by other classes.
const ALL: u8 = 2;

thread_local! {
    /// 0: calls are taken over, 1: not by subclasses of Tensor, 2: by nothing.
    static DISABLED: Cell<u8> = const { Cell::new(0) };
    /// How many `TorchFunctionMode`s are active.
    static MODES: Cell<usize> = const { Cell::new(0) };
}

/// The implementation that stands for none.
static NOTHING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn is_plain(kind: &Bound<'_, PyType>) -> bool {
    let py = kind.py();
    kind.is(PyTensor::type_object(py))
        || kind.is(PyInt::type_object(py))
        || kind.is(PyFloat::type_object(py))
        || kind.is(PyBool::type_object(py))
        || kind.is(PyString::type_object(py))
}

/// Whether objects of this class take calls over.
fn takes_over(kind: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = kind.py();
    let Some(method) = kind.getattr_opt(intern!(py, "__torch_function__"))? else { return Ok(false) };
    Ok(!method.is_none() && !NOTHING.get(py).is_some_and(|nothing| method.is(nothing)))
}

fn consider<'py>(object: &Bound<'py, PyAny>, found: &mut Vec<Bound<'py, PyAny>>, inside: bool) -> PyResult<()> {
    let kind = object.get_type();
    if object.is_none() || is_plain(&kind) {
        return Ok(());
    }
    if !inside && let Ok(items) = object.cast::<PyTuple>() {
        for item in items.iter_borrowed() {
            consider(&item, found, true)?;
        }
        return Ok(());
    }
    if !inside && let Ok(items) = object.cast::<PyList>() {
        for item in items.iter() {
            consider(&item, found, true)?;
        }
        return Ok(());
    }
    let of_ours = object.cast::<PyTensor>().is_ok();
    if (of_ours && DISABLED.get() > 0) || !takes_over(&kind)? || found.iter().any(|other| other.get_type().is(&kind)) {
        return Ok(());
    }
    // A subclass comes before its parents, else the order is that of the arguments.
    let mut place = found.len();
    for (index, other) in found.iter().enumerate() {
        if kind.is_subclass(&other.get_type())? {
            place = index;
            break;
        }
    }
    found.insert(place, object.clone());
    Ok(())
}

/// The arguments that take a call over, the first to be asked first; None where there are none and no mode is active.
#[pyfunction]
fn _overloaded<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if DISABLED.get() >= ALL {
        return Ok(None);
    }
    let mut found = Vec::new();
    for argument in args.iter_borrowed() {
        consider(&argument, &mut found, false)?;
    }
    for (_, argument) in kwargs.into_iter().flatten() {
        consider(&argument, &mut found, false)?;
    }
    Ok(if found.is_empty() && MODES.get() == 0 { None } else { Some(found) })
}

/// Whether objects of a class take calls over.
#[pyfunction]
fn _takes_over(class: &Bound<'_, PyType>) -> PyResult<bool> {
    takes_over(class)
}

/// Sets on this thread what takes calls over (0: all, 1: not subclasses of Tensor, 2: nothing); returns what it was.
#[pyfunction]
fn _set_function_disabled(level: u8) -> u8 {
    DISABLED.replace(level)
}

/// What on this thread takes calls over.
#[pyfunction]
fn _get_function_disabled() -> u8 {
    DISABLED.get()
}

/// Tells how many modes want to see the calls of this thread.
#[pyfunction]
fn _set_function_modes(count: usize) {
    MODES.set(count);
}

/// Python's own maker of classes, and what to call when a class takes calls over.
static WATCH: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

/// Stands in for `builtins.__build_class__` until the first class with a `__torch_function__` is made. It is native, so
/// that programs which look at the frame of their caller see no other frame than before.
#[pyfunction]
#[pyo3(signature = (*args, **kwargs))]
fn _build_class<'py>(args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
    let py = args.py();
    let Some((plain, found)) = WATCH.get(py) else {
        return Err(PyRuntimeError::new_err("_build_class: no class maker has been given; call _watch_classes first"));
    };
    let class = plain.bind(py).call(args, kwargs)?;
    if let Ok(class) = class.cast::<PyType>()
        && class.getattr(intern!(py, "__dict__"))?.contains(intern!(py, "__torch_function__"))?
    {
        py.import(intern!(py, "builtins"))?.setattr(intern!(py, "__build_class__"), plain)?;
        found.call0(py)?;
    }
    Ok(class)
}

/// Calls `found` when the next class with a `__torch_function__` is made.
#[pyfunction]
#[pyo3(pass_module)]
fn _watch_classes(module: &Bound<'_, PyModule>, found: Py<PyAny>) -> PyResult<()> {
    let py = module.py();
    let builtins = py.import(intern!(py, "builtins"))?;
    let name = intern!(py, "__build_class__");
    let plain = builtins.getattr(name)?.unbind();
    if WATCH.set(py, (plain, found)).is_ok() {
        builtins.setattr(name, module.getattr(intern!(py, "_build_class"))?)?;
    }
    Ok(())
}

/// As a class's `__torch_function__`: its objects take no calls over.
#[pyfunction]
#[pyo3(signature = (func, types, args=None, kwargs=None))]
fn _disabled_torch_function_impl<'py>(
    func: &Bound<'py, PyAny>,
    types: &Bound<'py, PyAny>,
    args: Option<Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = types;
    let before = DISABLED.replace(DISABLED.get().max(1));
    let answer = func.call(args.unwrap_or_else(|| PyTuple::empty(func.py())), kwargs);
    DISABLED.set(before);
    answer
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_overloaded, module)?)?;
    module.add_function(wrap_pyfunction!(_takes_over, module)?)?;
    module.add_function(wrap_pyfunction!(_set_function_disabled, module)?)?;
    module.add_function(wrap_pyfunction!(_get_function_disabled, module)?)?;
    module.add_function(wrap_pyfunction!(_set_function_modes, module)?)?;
    module.add_function(wrap_pyfunction!(_build_class, module)?)?;
    module.add_function(wrap_pyfunction!(_watch_classes, module)?)?;
    let nothing = wrap_pyfunction!(_disabled_torch_function_impl, module)?;
    // A second import keeps the first function, which classes may refer to already.
    drop(NOTHING.set(module.py(), nothing.clone().into_any().unbind()));
    module.add_function(nothing)
}
