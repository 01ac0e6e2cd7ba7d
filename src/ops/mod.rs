//! Primitive ops by family. Each checks its input, computes through burn or a kernel, and records its rule.

pub mod activation;
pub mod arithmetic;
pub mod attention;
pub mod bitwise;
pub mod burn_math;
pub mod burn_pointwise;
pub mod compare;
pub mod complex;
pub mod conv;
pub mod convert;
pub mod creation;
pub mod cumulative;
pub mod data;
pub mod decompositions;
pub mod elementwise;
pub mod extreme;
pub mod fft;
pub mod fold;
pub mod generator;
pub mod grid;
pub mod index_inplace;
pub mod indexing;
pub mod inplace;
pub mod joining;
pub mod linalg;
pub mod loss;
pub mod masked;
pub mod memory;
pub mod methods;
pub mod moments;
pub mod movement;
pub mod norm;
pub mod operand;
pub mod operators;
pub mod optim;
pub mod pointwise;
pub mod pool;
pub mod random;
pub mod ranges;
pub mod reduce;
pub mod resize;
pub mod rnn;
pub mod rows;
pub mod scatter_reduce;
pub mod search;
pub mod select;
pub mod sorting;
pub mod strided;
pub mod unary;
pub mod update;
pub mod views;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    complex::register(module)?;
    conv::register(module)?;
    creation::register(module)?;
    data::register(module)?;
    decompositions::register(module)?;
    fft::register(module)?;
    generator::register(module)?;
    joining::register(module)?;
    linalg::register(module)?;
    masked::register(module)?;
    memory::register(module)?;
    methods::register(module)?;
    optim::register(module)?;
    pool::register(module)?;
    random::register(module)?;
    ranges::register(module)?;
    grid::register(module)?;
    resize::register(module)?;
    rnn::register(module)?;
    Ok(())
}
