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

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    guard::register(module)?;
    error::register(module)?;
    dtype::register(module)?;
    device::register(module)?;
    tensor::attributes::register(module)?;
    tensor::class::register(module)?;
    tensor::numpy::register(module)?;
    tensor::dlpack::register(module)?;
    autograd::python::register(module)?;
    ops::register(module)
}
