//! `pyburn._core`: one run-time Tensor over burn, its primitive ops and its autograd tape.

pub mod autograd;
pub mod check;
pub mod device;
pub mod dtype;
pub mod error;
pub mod guard;
pub mod kernels;
pub mod ops;
pub mod random;
pub mod tensor;

use pyo3::prelude::*;

// The extension leaves Python's symbols to the interpreter that loads it; unit tests have none (tools/test_rust.sh).
#[cfg(test)]
#[link(name = "pyburn_test_python")]
unsafe extern "C" {}

/// PyO3 looks these types up at their first use and panics where it cannot, as in a function without `__builtins__`.
fn find_types(py: Python<'_>) {
    use pyo3::types::*;
    drop((py.get_type::<PyAny>(), py.get_type::<PyType>(), py.get_type::<PyBool>(), py.get_type::<PyInt>()));
    drop((py.get_type::<PyFloat>(), py.get_type::<PyComplex>(), py.get_type::<PyString>(), py.get_type::<PyBytes>()));
    drop((py.get_type::<PyByteArray>(), py.get_type::<PySlice>(), py.get_type::<PyTuple>(), py.get_type::<PyList>()));
    drop((py.get_type::<PyDict>(), py.get_type::<PySet>(), py.get_type::<PyFrozenSet>(), py.get_type::<PyRange>()));
    drop((py.get_type::<PySequence>(), py.get_type::<PyMapping>(), py.get_type::<PyIterator>()));
    drop((py.get_type::<PyCapsule>(), py.get_type::<PyModule>(), py.get_type::<PyMemoryView>()));
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    find_types(module.py());
    guard::register(module)?;
    error::register(module)?;
    dtype::register(module)?;
    device::register(module)?;
    tensor::attributes::register(module)?;
    tensor::class::register(module)?;
    tensor::numpy::register(module)?;
    tensor::dlpack::register(module)?;
    tensor::overrides::register(module)?;
    tensor::shared::register(module)?;
    autograd::python::register(module)?;
    ops::register(module)
}
