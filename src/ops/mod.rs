//! Primitive ops by family. Each checks its input, computes through burn or a kernel, and records its rule.

pub mod convert;
pub mod creation;
pub mod cumulative;
pub mod data;
pub mod elementwise;
pub mod extreme;
pub mod fold;
pub mod indexing;
pub mod inplace;
pub mod joining;
pub mod masked;
pub mod moments;
pub mod movement;
pub mod operand;
pub mod reduce;
pub mod rows;
pub mod scatter_reduce;
pub mod search;
pub mod sorting;
pub mod strided;
pub mod views;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    creation::register(module)?;
    data::register(module)?;
    joining::register(module)?;
    masked::register(module)
}
