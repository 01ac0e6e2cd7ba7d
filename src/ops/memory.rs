//! What the library's own memory comes to: `memory_stats` and its neighbours.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::kernels::allocator;

/// Bytes in use and kept, and how many allocations there were.
#[pyfunction]
fn _memory_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = allocator::stats();
    let dict = PyDict::new(py);
    dict.set_item("live_bytes", stats.live)?;
    dict.set_item("peak_bytes", stats.peak)?;
    dict.set_item("cached_bytes", stats.cached)?;
    dict.set_item("allocations", stats.allocations)?;
    dict.set_item("reused", stats.reused)?;
    Ok(dict)
}

/// Lets the peak begin anew at what is in use now.
#[pyfunction]
fn _reset_peak_memory() {
    allocator::reset_peak();
}

/// Gives kept memory back to the system.
#[pyfunction]
fn _empty_cache() {
    allocator::give_back();
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(_reset_peak_memory, module)?)?;
    module.add_function(wrap_pyfunction!(_empty_cache, module)?)
}
