//! Attention of float32 on the CPU as one op, both ways.

use std::cmp::Reverse;

use pyo3::prelude::*;

use super::arithmetic::{add, mul, mul_scalar, sub};
use super::linalg::product;
use super::operand::Scalar;
use super::{activation, creation, masked, movement, reduce};
use crate::autograd::{Context, Grads, Record, grad_enabled};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::attention::Attention;
use crate::kernels::attention_back::Gradients;
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, broadcast, contiguous_strides};

const NAME: &str = "scaled_dot_product_attention";

#[derive(Clone, Copy)]
struct Options {
    causal: bool,
    scale: f64,
}

/// The shape of all scores, where the arguments are what the kernels can read.
fn checked(inputs: [&Tensor; 3], mask: Option<&Tensor>) -> Result<Dims> {
    let [query, key, value] = inputs.map(Tensor::shape);
    let rank = query.len();
    let fits = inputs.iter().all(|x| x.dtype() == DType::F32 && x.device().is_cpu() && x.numel() > 0)
        && rank >= 2
        && key.len() == rank
        && value.len() == rank
        && query[..rank - 2] == key[..rank - 2]
        && query[..rank - 2] == value[..rank - 2]
        && query[rank - 1] == key[rank - 1]
        && key[rank - 2] == value[rank - 2];
    if !fits {
        return error::runtime("_attended: takes float32 CPU tensors of fitting shapes with elements");
    }
    let mut scores = query.clone();
    scores[rank - 1] = key[rank - 2];
    if let Some(mask) = mask
        && (mask.dtype() != DType::F32 || broadcast(NAME, &mask.shape(), &scores)? != scores)
    {
        return error::runtime("_attended: takes a float32 mask that broadcasts to the scores");
    }
    Ok(scores)
}

/// `x` with neighbours in its last dimension.
fn lined(x: &Tensor) -> Result<Tensor> {
    let geometry = x.geometry();
    let last = geometry.rank() - 1;
    if geometry.strides[last] == 1 || geometry.shape[last] == 1 { Ok(x.detached()) } else { x.contiguous_data() }
}

/// Fresh memory whose dimensions lie in the order of `like`'s: what was transposed before can be viewed with its heads
/// joined afterwards.
fn laid_like(shape: &[usize], like: &Tensor) -> Result<Tensor> {
    let given = like.geometry();
    let rank = shape.len();
    let strides = if rank == 4 && given.strides[3] == 1 && !given.is_contiguous() && given.shape.as_slice() == shape {
        let mut order: Vec<usize> = (0..rank).collect();
        order.sort_by_key(|&dim| Reverse(given.strides[dim]));
        let mut strides = Dims::from_elem(1, rank);
        let mut step = 1;
        for dim in order.into_iter().rev() {
            strides[dim] = step;
            step *= shape[dim];
        }
        strides
    } else {
        contiguous_strides(shape)
    };
    Tensor::uninit_as(shape, &strides, DType::F32)
}

/// The kernels' view of the arguments, and their work.
fn opened([query, key, value]: [&Tensor; 3], mask: Option<&Tensor>, options: Options) -> Result<(Attention, usize)> {
    let scores = checked([query, key, value], mask)?;
    let mask = match mask {
        Some(mask) => Some(Elements::of(&mask.alias(mask.geometry().expand(&scores)))?),
        None => None,
    };
    let work = scores.iter().fold(query.size(query.rank() - 1), |work, &size| work.saturating_mul(size));
    let attention = Attention {
        query: Elements::of(&lined(query)?)?,
        key: Elements::of(&lined(key)?)?,
        value: Elements::of(&lined(value)?)?,
        mask,
        scale: options.scale as f32,
        causal: options.causal,
    };
    Ok((attention, work))
}

/// The result and the logarithms of the sums of powers, a column for each head.
fn forward(inputs: [&Tensor; 3], mask: Option<&Tensor>, options: Options) -> Result<[Tensor; 2]> {
    let (attention, work) = opened(inputs, mask, options)?;
    let [query, _, value] = inputs;
    let mut shape = query.shape();
    let last = shape.len() - 1;
    shape[last] = value.size(last);
    let out = laid_like(&shape, query)?;
    shape[last] = 1;
    let (logs, _) = Tensor::uninit_with_pointer(&shape, DType::F32)?;
    let (to, column) = (Elements::of(&out)?, Elements::of(&logs)?);
    let shared = attention.is_shared();
    // SAFETY: `checked` has seen that the shapes fit, and the results are fresh.
    let call = move || unsafe { attention.forward(&to, &column) };
    if shared {
        guard::heavy(NAME, work, call)?
    } else {
        guard::alone(NAME, work, call)?
    }
    Ok([out, logs])
}

/// The gradients of query, key and value by kernels.
fn backward(
    inputs: [&Tensor; 3],
    mask: Option<&Tensor>,
    options: Options,
    [out, logs, grad]: [&Tensor; 3],
) -> Result<[Tensor; 3]> {
    let (attention, work) = opened(inputs, mask, options)?;
    let [query, key, value] = inputs;
    let results = [laid_like(&query.shape(), query)?, laid_like(&key.shape(), key)?, laid_like(&value.shape(), value)?];
    let all = Gradients {
        out: Elements::of(&lined(out)?)?,
        logs: Elements::of(logs)?,
        grad: Elements::of(&lined(grad)?)?,
        query: Elements::of(&results[0])?,
        key: Elements::of(&results[1])?,
        value: Elements::of(&results[2])?,
    };
    let (shared, work) = (attention.is_shared(), work.saturating_mul(2));
    // SAFETY: as in `forward`.
    let call = move || unsafe { attention.backward(&all) };
    if shared {
        guard::heavy(NAME, work, call)?
    } else {
        guard::alone(NAME, work, call)?
    }
    Ok(results)
}

fn turned(x: &Tensor) -> Result<Tensor> {
    movement::transpose(x, x.rank() - 2, x.rank() - 1)
}

/// Whether each row of scores is hidden as a whole, which its logarithm tells.
fn hidden_rows(logs: &Tensor) -> Result<Tensor> {
    let logs = Elements::contiguous(logs)?;
    let (rows, pointer) = Tensor::uninit_with_pointer(&logs.geometry.shape, DType::Bool)?;
    // SAFETY: the logarithms lie in row-major order, and the result is fresh and has as many elements of one byte.
    unsafe {
        for (index, log) in logs.slice::<f32>().iter().enumerate() {
            pointer.add(index).write(u8::from(*log == f32::INFINITY));
        }
    }
    Ok(rows)
}

/// Minus infinity where a key stands after the query, else zero.
fn later(queries: usize, keys: usize) -> Result<Tensor> {
    let (summands, pointer) = Tensor::uninit_with_pointer(&[queries, keys], DType::F32)?;
    for index in 0..queries * keys {
        let hidden = index % keys > index / keys;
        // SAFETY: the memory is fresh and has room for as many numbers.
        unsafe { pointer.cast::<f32>().add(index).write(if hidden { f32::NEG_INFINITY } else { 0.0 }) };
    }
    Ok(summands)
}

/// The same gradients of recorded ops, for those who differentiate them again.
fn recorded(
    [query, key, value]: [&Tensor; 3],
    mask: Option<&Tensor>,
    options: Options,
    logs: &Tensor,
    grad: &Tensor,
) -> Result<[Tensor; 3]> {
    let (last, scale) = (query.rank() - 1, Scalar::Float(options.scale));
    let mut scores = mul_scalar(&product(NAME, query, &turned(key)?)?, scale)?;
    if options.causal {
        scores = add(&scores, &later(query.size(last - 1), key.size(last - 1))?)?;
    }
    let mut hidden = None;
    if let Some(mask) = mask {
        let zero = creation::full(&[], Scalar::Float(0.0), DType::F32, query.device())?;
        let rows = hidden_rows(logs)?;
        scores = masked::masked_fill(&add(&scores, mask)?, &rows, &zero)?;
        hidden = Some((rows, zero));
    }
    let mut weights = activation::softmax(&scores, last, false)?;
    if let Some((rows, zero)) = hidden {
        weights = masked::masked_fill(&weights, &rows, &zero)?;
    }
    let slopes = product(NAME, grad, &turned(value)?)?;
    let common = reduce::sum(&mul(&weights, &slopes)?, &[last], true)?;
    let slopes = mul_scalar(&mul(&weights, &sub(&slopes, &common)?)?, scale)?;
    Ok([
        product(NAME, &slopes, key)?,
        product(NAME, &turned(&slopes)?, query)?,
        product(NAME, &turned(&weights)?, grad)?,
    ])
}

fn rule(c: &Context<'_>, options: Options, masked: bool) -> Result<Grads> {
    let (grad, inputs) = (c.grad()?, [c.saved(0)?, c.saved(1)?, c.saved(2)?]);
    let logs = c.saved(3)?;
    let mask = if masked { Some(c.saved(4)?) } else { None };
    let found = if grad_enabled() {
        recorded(inputs, mask, options, logs, &grad)?
    } else {
        let out = c.saved(if masked { 5 } else { 4 })?;
        backward(inputs, mask, options, [out, logs, &grad])?
    };
    Ok(found.into_iter().enumerate().map(|(index, value)| c.needs(index).then_some(value)).collect())
}

#[pymethods]
impl PyTensor {
    /// `softmax(self @ key.T * scale + mask) @ value` in float32, where a causal query sees the keys up to its own place.
    #[pyo3(signature = (key, value, mask, causal, scale))]
    fn _attended(&self, key: Tensor, value: Tensor, mask: Option<Tensor>, causal: bool, scale: f64) -> Result<Tensor> {
        let (inputs, options) = ([&self.tensor, &key, &value], Options { causal, scale });
        let [out, logs] = forward(inputs, mask.as_ref(), options)?;
        if let Some(record) = Record::new("ScaledDotProductFlashAttentionForCpuBackward0", &inputs) {
            let record = inputs.into_iter().fold(record, Record::save).save(&logs);
            let record = mask.iter().fold(record, Record::save);
            let masked = mask.is_some();
            record.save_outputs().finish(&out, move |c| rule(c, options, masked));
        }
        Ok(out)
    }
}
