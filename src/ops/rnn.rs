//! Recurrent layers: one direction of one layer in one call.

use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::gru::{Gru, GruGrads, gru, gru_back};
use crate::kernels::lstm::{Lstm, LstmGrads, lstm, lstm_back};
use crate::kernels::memory::Elements;
use crate::kernels::recurrent::Sizes;
use crate::tensor::Tensor;

/// The sizes of a run over `given` (steps times batch, gates times hidden) with the first state (batch, hidden).
fn sizes(given: &Tensor, first: &Tensor, gates: usize, reverse: bool) -> Result<Sizes> {
    let (batch, hidden, rows) = (first.size(0), first.size(1), given.size(0));
    let fits = given.rank() == 2 && first.rank() == 2 && given.size(1) == gates * hidden && batch * hidden > 0;
    if !fits || rows % batch.max(1) != 0 {
        return error::runtime("a recurrent layer was given tensors whose sizes do not fit");
    }
    Ok(Sizes { steps: rows / batch, batch, hidden, reverse })
}

/// The float32 elements of a CPU tensor with this many of them.
fn opened(tensor: &Tensor, numel: usize) -> Result<Elements> {
    if tensor.dtype() != DType::F32 || tensor.numel() != numel {
        return error::runtime("a recurrent layer takes float32 tensors of fitting sizes");
    }
    Elements::contiguous(tensor)
}

/// Fresh memory that holds what `tensor` holds.
fn fresh(tensor: &Tensor, numel: usize) -> Result<(Tensor, Elements)> {
    let copy = tensor.copied()?;
    let elements = opened(&copy, numel)?;
    Ok((copy, elements))
}

/// Memory for `width` values of each sequence at each time.
fn empty(sizes: Sizes, width: usize) -> Result<(Tensor, Elements)> {
    let (out, _) = Tensor::uninit_with_pointer(&[sizes.steps * sizes.batch, width], DType::F32)?;
    let elements = Elements::of(&out)?;
    Ok((out, elements))
}

/// As `empty`, or nothing, for what only the way back needs.
fn kept(keep: bool, sizes: Sizes, width: usize) -> Result<(Tensor, Option<Elements>)> {
    let (out, elements) = empty(if keep { sizes } else { Sizes { steps: 0, ..sizes } }, width)?;
    Ok((out, keep.then_some(elements)))
}

fn start(elements: &Elements) -> *mut f32 {
    elements.at(elements.geometry.offset)
}

/// Elements touched, counting the multiplications of the state's projection as torch's threads would share them.
fn work(sizes: Sizes, gates: usize) -> usize {
    sizes.steps * sizes.batch * sizes.hidden * gates * 4
}

/// The outputs, cells and, where they are to be kept, opened gates of an LSTM.
#[pyfunction]
fn _lstm(
    given: Tensor,
    weight: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
    keep: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&given, &hidden, 4, reverse)?;
    let state = sizes.batch * sizes.hidden;
    let given = opened(&given, sizes.steps * state * 4)?;
    let weight = opened(&weight, 4 * sizes.hidden * sizes.hidden)?;
    let first = (opened(&hidden, state)?, opened(&cell, state)?);
    let (gates, gates_at) = kept(keep, sizes, 4 * sizes.hidden)?;
    let (outputs, outputs_at) = empty(sizes, sizes.hidden)?;
    let (cells, cells_at) = empty(sizes, sizes.hidden)?;
    // SAFETY: all are contiguous float32 of the run's sizes, and what is written is fresh.
    guard::spread("lstm", work(sizes, 4), || unsafe {
        lstm(&Lstm {
            sizes,
            given: given.slice(),
            weight: weight.slice(),
            first: [first.0.slice(), first.1.slice()],
            gates: gates_at.as_ref().map(start),
            cells: start(&cells_at),
            outputs: start(&outputs_at),
        });
    })?;
    Ok((outputs, cells, gates))
}

/// The gradients of an LSTM's projections and of its first state, from those of the outputs and of the last state.
#[pyfunction]
fn _lstm_back(
    gates: Tensor,
    weight: Tensor,
    cell: Tensor,
    cells: Tensor,
    grads: (Tensor, Tensor, Tensor),
    reverse: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&gates, &cell, 4, reverse)?;
    let (state, all) = (sizes.batch * sizes.hidden, sizes.steps * sizes.batch * sizes.hidden);
    let (gates, cells) = (opened(&gates, 4 * all)?, opened(&cells, all)?);
    let (weight, first) = (opened(&weight, 4 * sizes.hidden * sizes.hidden)?, opened(&cell, state)?);
    let grad_outputs = opened(&grads.0, all)?;
    let (grad_hidden, hidden_at) = fresh(&grads.1, state)?;
    let (grad_cell, cell_at) = fresh(&grads.2, state)?;
    let (grad_gates, gates_at) = empty(sizes, 4 * sizes.hidden)?;
    // SAFETY: all are contiguous float32 of the run's sizes, and what is written is fresh.
    guard::spread("lstm", work(sizes, 8), || unsafe {
        lstm_back(&LstmGrads {
            sizes,
            gates: gates.slice(),
            weight: weight.slice(),
            first_cell: first.slice(),
            cells: cells.slice(),
            grad_outputs: grad_outputs.slice(),
            grad_state: [start(&hidden_at), start(&cell_at)],
            grad_gates: start(&gates_at),
        });
    })?;
    Ok((grad_gates, grad_hidden, grad_cell))
}

/// The outputs of a GRU and, where they are to be kept, its opened gates and its projections of the state for the new one.
#[pyfunction]
fn _gru(
    given: Tensor,
    bias: Option<Tensor>,
    weight: Tensor,
    first: Tensor,
    reverse: bool,
    keep: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&given, &first, 3, reverse)?;
    let state = sizes.batch * sizes.hidden;
    let given = opened(&given, sizes.steps * state * 3)?;
    let bias = bias.map(|bias| opened(&bias, 3 * sizes.hidden)).transpose()?;
    let (weight, first) = (opened(&weight, 3 * sizes.hidden * sizes.hidden)?, opened(&first, state)?);
    let (gates, gates_at) = kept(keep, sizes, 3 * sizes.hidden)?;
    let (own, own_at) = kept(keep, sizes, sizes.hidden)?;
    let (outputs, outputs_at) = empty(sizes, sizes.hidden)?;
    // SAFETY: all are contiguous float32 of the run's sizes, and what is written is fresh.
    guard::spread("gru", work(sizes, 3), || unsafe {
        gru(&Gru {
            sizes,
            given: given.slice(),
            bias: bias.as_ref().map(|bias| bias.slice()),
            weight: weight.slice(),
            first: first.slice(),
            kept: gates_at.as_ref().zip(own_at.as_ref()).map(|(gates, own)| [start(gates), start(own)]),
            outputs: start(&outputs_at),
        });
    })?;
    Ok((outputs, gates, own))
}

/// The gradients of a GRU's input projection, own projection and first state.
#[pyfunction]
fn _gru_back(
    gates: Tensor,
    own: Tensor,
    weight: Tensor,
    first: Tensor,
    outputs: Tensor,
    grads: (Tensor, Tensor),
    reverse: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&gates, &first, 3, reverse)?;
    let (state, all) = (sizes.batch * sizes.hidden, sizes.steps * sizes.batch * sizes.hidden);
    let (gates, own) = (opened(&gates, 3 * all)?, opened(&own, all)?);
    let (weight, first) = (opened(&weight, 3 * sizes.hidden * sizes.hidden)?, opened(&first, state)?);
    let (outputs, grad_outputs) = (opened(&outputs, all)?, opened(&grads.0, all)?);
    let (grad_hidden, hidden_at) = fresh(&grads.1, state)?;
    let (to_given, given_at) = empty(sizes, 3 * sizes.hidden)?;
    let (to_own, own_at) = empty(sizes, 3 * sizes.hidden)?;
    // SAFETY: all are contiguous float32 of the run's sizes, and what is written is fresh.
    guard::spread("gru", work(sizes, 6), || unsafe {
        gru_back(&GruGrads {
            sizes,
            gates: gates.slice(),
            own: own.slice(),
            weight: weight.slice(),
            first: first.slice(),
            outputs: outputs.slice(),
            grad_outputs: grad_outputs.slice(),
            grad_state: start(&hidden_at),
            grad_given: start(&given_at),
            grad_own: start(&own_at),
        });
    })?;
    Ok((to_given, to_own, grad_hidden))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_lstm, module)?)?;
    module.add_function(wrap_pyfunction!(_lstm_back, module)?)?;
    module.add_function(wrap_pyfunction!(_gru, module)?)?;
    module.add_function(wrap_pyfunction!(_gru_back, module)?)
}
