//! Recurrent layers: one direction of one layer in one call.

use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::recurrent::{self, Gru, GruGrads, Lstm, LstmGrads, Sizes};
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

fn empty(shape: &[usize]) -> Result<(Tensor, Elements)> {
    let (out, _) = Tensor::uninit_with_pointer(shape, DType::F32)?;
    let elements = Elements::of(&out)?;
    Ok((out, elements))
}

fn work(sizes: Sizes, gates: usize) -> usize {
    sizes.steps * sizes.batch * sizes.hidden * gates * 4
}

/// The outputs, cells and opened gates of an LSTM.
#[pyfunction]
fn _lstm(
    given: Tensor,
    weight: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&given, &hidden, 4, reverse)?;
    let state = sizes.batch * sizes.hidden;
    let (gates, gates_at) = fresh(&given, sizes.steps * state * 4)?;
    let weight = opened(&weight, 4 * sizes.hidden * sizes.hidden)?;
    let first = (opened(&hidden, state)?, opened(&cell, state)?);
    let (outputs, outputs_at) = empty(&[sizes.steps * sizes.batch, sizes.hidden])?;
    let (cells, cells_at) = empty(&[sizes.steps * sizes.batch, sizes.hidden])?;
    // SAFETY: all are contiguous float32, and what is written is fresh.
    guard::heavy("lstm", work(sizes, 4), || unsafe {
        recurrent::lstm(Lstm {
            sizes,
            gates: gates_at.slice_mut(),
            weight: weight.slice(),
            first: [first.0.slice(), first.1.slice()],
            cells: cells_at.slice_mut(),
            outputs: outputs_at.slice_mut(),
        });
    })?;
    Ok((outputs, cells, gates))
}

/// The gradients of an LSTM's gates and of its first state.
#[pyfunction]
fn _lstm_back(
    gates: Tensor,
    weight: Tensor,
    first_cell: Tensor,
    cells: Tensor,
    grads: (Tensor, Tensor, Tensor),
    reverse: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&gates, &first_cell, 4, reverse)?;
    let (state, all) = (sizes.batch * sizes.hidden, sizes.steps * sizes.batch * sizes.hidden);
    let (opened_gates, weight) = (opened(&gates, 4 * all)?, opened(&weight, 4 * sizes.hidden * sizes.hidden)?);
    let (first_cell, cells) = (opened(&first_cell, state)?, opened(&cells, all)?);
    let grad_outputs = opened(&grads.0, all)?;
    let (grad_hidden, hidden_at) = fresh(&grads.1, state)?;
    let (grad_cell, cell_at) = fresh(&grads.2, state)?;
    let (out, out_at) = empty(&[sizes.steps * sizes.batch, 4 * sizes.hidden])?;
    // SAFETY: all are contiguous float32, and what is written is fresh.
    guard::heavy("lstm", work(sizes, 8), || unsafe {
        recurrent::lstm_back(LstmGrads {
            sizes,
            gates: opened_gates.slice(),
            weight: weight.slice(),
            first_cell: first_cell.slice(),
            cells: cells.slice(),
            grad_outputs: grad_outputs.slice(),
            grad_state: [hidden_at.slice_mut(), cell_at.slice_mut()],
            grad_gates: out_at.slice_mut(),
        });
    })?;
    Ok((out, grad_hidden, grad_cell))
}

/// The outputs, opened gates and own projections of a GRU; `own` holds the recurrent bias in each row.
#[pyfunction]
fn _gru(given: Tensor, own: Tensor, weight: Tensor, hidden: Tensor, reverse: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let sizes = sizes(&given, &hidden, 3, reverse)?;
    let (state, all) = (sizes.batch * sizes.hidden, sizes.steps * sizes.batch * sizes.hidden);
    let given = opened(&given, 3 * all)?;
    let (own, own_at) = fresh(&own, 3 * all)?;
    let (weight, first) = (opened(&weight, 3 * sizes.hidden * sizes.hidden)?, opened(&hidden, state)?);
    let (outputs, outputs_at) = empty(&[sizes.steps * sizes.batch, sizes.hidden])?;
    let (gates, gates_at) = empty(&[sizes.steps * sizes.batch, 3 * sizes.hidden])?;
    // SAFETY: all are contiguous float32, and what is written is fresh.
    guard::heavy("gru", work(sizes, 3), || unsafe {
        recurrent::gru(Gru {
            sizes,
            given: given.slice(),
            own: own_at.slice_mut(),
            gates: gates_at.slice_mut(),
            weight: weight.slice(),
            first: first.slice(),
            outputs: outputs_at.slice_mut(),
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
    let (opened_gates, own) = (opened(&gates, 3 * all)?, opened(&own, 3 * all)?);
    let (weight, first) = (opened(&weight, 3 * sizes.hidden * sizes.hidden)?, opened(&first, state)?);
    let (outputs, grad_outputs) = (opened(&outputs, all)?, opened(&grads.0, all)?);
    let (grad_hidden, hidden_at) = fresh(&grads.1, state)?;
    let (to_given, given_at) = empty(&[sizes.steps * sizes.batch, 3 * sizes.hidden])?;
    let (to_own, own_at) = empty(&[sizes.steps * sizes.batch, 3 * sizes.hidden])?;
    // SAFETY: all are contiguous float32, and what is written is fresh.
    guard::heavy("gru", work(sizes, 6), || unsafe {
        recurrent::gru_back(GruGrads {
            sizes,
            gates: opened_gates.slice(),
            own: own.slice(),
            weight: weight.slice(),
            first: first.slice(),
            outputs: outputs.slice(),
            grad_outputs: grad_outputs.slice(),
            grad_state: hidden_at.slice_mut(),
            grad_given: given_at.slice_mut(),
            grad_own: own_at.slice_mut(),
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
