//! Attention of float32 on the CPU as one op, both ways.

use std::cmp::Reverse;

use pyo3::prelude::*;

use super::arithmetic::{add, mul, mul_scalar, sub};
use super::generator::stream;
use super::linalg::product;
use super::operand::Scalar;
use super::ranges::from_vec;
use super::{activation, creation, masked, movement, reduce};
use crate::autograd::{Context, Grads, Record, grad_enabled};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::attention::{Attention, Kept};
use crate::kernels::attention_back::Gradients;
use crate::kernels::memory::Elements;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, broadcast, checked_numel, contiguous_strides};

const NAME: &str = "scaled_dot_product_attention";

#[derive(Clone, Copy)]
struct Options {
    causal: bool,
    scale: f64,
    /// What the weights that dropout keeps are multiplied by.
    factor: f32,
}

/// What is neither differentiated nor a number: summands of the scores, and which weights dropout keeps.
#[derive(Clone, Copy)]
struct Masks<'a> {
    summands: Option<&'a Tensor>,
    kept: Option<&'a Tensor>,
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

/// A bit for each score that says whether dropout keeps its weight, drawn in the order in which torch draws a number for
/// each; a row begins with a byte of its own.
fn drawn(scores: &Dims, p: f64) -> Result<Tensor> {
    let (mut shape, last) = (scores.clone(), scores.len() - 1);
    shape[last] = scores[last].div_ceil(8);
    let length = checked_numel(&shape)?;
    crate::check::allocation(length)?;
    let source = stream(None);
    let bits = guard::alone(NAME, checked_numel(scores)?, || {
        let mut bits = vec![0_u8; length];
        source.lock().fill_bernoulli_bits(&mut bits, scores[last], 1.0 - p);
        bits
    })?;
    from_vec(bits, &shape, DType::U8)
}

/// The bits of `drawn`, as the kernels read them.
fn read_bits(kept: &Tensor, scores: &Dims) -> Result<Elements> {
    let mut shape = scores.clone();
    let last = shape.len() - 1;
    shape[last] = shape[last].div_ceil(8);
    // A hook for saved tensors may have made something else of them.
    if kept.dtype() != DType::U8 || kept.shape() != shape {
        return error::runtime("scaled_dot_product_attention: the bits of dropout were saved, but others came back");
    }
    Elements::contiguous(kept)
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
fn opened([query, key, value]: [&Tensor; 3], masks: Masks<'_>, options: Options) -> Result<(Attention, usize)> {
    let scores = checked([query, key, value], masks.summands)?;
    let mask = match masks.summands {
        Some(mask) => Some(Elements::of(&mask.alias(mask.geometry().expand(&scores)))?),
        None => None,
    };
    let kept = match masks.kept {
        Some(kept) => Some(Kept { bits: read_bits(kept, &scores)?, factor: options.factor }),
        None => None,
    };
    let work = scores.iter().fold(query.size(query.rank() - 1), |work, &size| work.saturating_mul(size));
    let attention = Attention {
        query: Elements::of(&lined(query)?)?,
        key: Elements::of(&lined(key)?)?,
        value: Elements::of(&lined(value)?)?,
        mask,
        kept,
        scale: options.scale as f32,
        causal: options.causal,
    };
    Ok((attention, work))
}

/// The result, in row-major order or as the query lies, and the logarithms of the sums of powers, a column for each head.
fn forward(inputs: [&Tensor; 3], masks: Masks<'_>, options: Options, in_rows: bool) -> Result<[Tensor; 2]> {
    let (attention, work) = opened(inputs, masks, options)?;
    let [query, _, value] = inputs;
    let mut shape = query.shape();
    let last = shape.len() - 1;
    shape[last] = value.size(last);
    let out = if in_rows { Tensor::uninit_with_pointer(&shape, DType::F32)?.0 } else { laid_like(&shape, query)? };
    shape[last] = 1;
    let (logs, _) = Tensor::uninit_with_pointer(&shape, DType::F32)?;
    let (to, column) = (Elements::of(&out)?, Elements::of(&logs)?);
    let shared = attention.is_shared();
    // SAFETY: `checked` has seen that the shapes fit, and the results are fresh.
    let call = move || unsafe { attention.forward(&to, &column) };
    if shared {
        guard::spread(NAME, work, call)?
    } else {
        guard::alone(NAME, work, call)?
    }
    Ok([out, logs])
}

/// The gradients of query, key and value by kernels.
fn backward(
    inputs: [&Tensor; 3],
    masks: Masks<'_>,
    options: Options,
    [out, logs, grad]: [&Tensor; 3],
) -> Result<[Tensor; 3]> {
    let (attention, work) = opened(inputs, masks, options)?;
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
        guard::spread(NAME, work, call)?
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

/// What dropout multiplies each weight by.
fn factors(kept: &Tensor, scores: &Dims, factor: f32) -> Result<Tensor> {
    let bits = read_bits(kept, scores)?;
    let keys = scores[scores.len() - 1];
    let mut all = Vec::with_capacity(checked_numel(scores)?);
    // SAFETY: they lie in row-major order and are bytes.
    for row in unsafe { bits.slice::<u8>() }.chunks_exact(keys.div_ceil(8)) {
        all.extend((0..keys).map(|key| f32::from(row[key / 8] >> (key % 8) & 1) * factor));
    }
    from_vec(all, scores, DType::F32)
}

/// The same gradients of recorded ops, for those who differentiate them again.
fn recorded(
    [query, key, value]: [&Tensor; 3],
    masks: Masks<'_>,
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
    if let Some(mask) = masks.summands {
        let zero = creation::full(&[], Scalar::Float(0.0), DType::F32, query.device())?;
        let rows = hidden_rows(logs)?;
        scores = masked::masked_fill(&add(&scores, mask)?, &rows, &zero)?;
        hidden = Some((rows, zero));
    }
    let mut weights = activation::softmax(&scores, last, false)?;
    if let Some((rows, zero)) = hidden {
        weights = masked::masked_fill(&weights, &rows, &zero)?;
    }
    let mut slopes = product(NAME, grad, &turned(value)?)?;
    let mut taken = weights.clone();
    if let Some(kept) = masks.kept {
        let factors = factors(kept, &weights.shape(), options.factor)?;
        slopes = mul(&slopes, &factors)?;
        taken = mul(&weights, &factors)?;
    }
    let common = reduce::sum(&mul(&weights, &slopes)?, &[last], true)?;
    let slopes = mul_scalar(&mul(&weights, &sub(&slopes, &common)?)?, scale)?;
    Ok([product(NAME, &slopes, key)?, product(NAME, &turned(&slopes)?, query)?, product(NAME, &turned(&taken)?, grad)?])
}

fn rule(c: &Context<'_>, options: Options, [masked, dropped]: [bool; 2]) -> Result<Grads> {
    let (grad, inputs) = (c.grad()?, [c.saved(0)?, c.saved(1)?, c.saved(2)?]);
    let logs = c.saved(3)?;
    let summands = if masked { Some(c.saved(4)?) } else { None };
    let kept = if dropped { Some(c.saved(4 + usize::from(masked))?) } else { None };
    let masks = Masks { summands, kept };
    let found = if grad_enabled() {
        recorded(inputs, masks, options, logs, &grad)?
    } else {
        let out = c.saved(4 + usize::from(masked) + usize::from(dropped))?;
        backward(inputs, masks, options, [out, logs, &grad])?
    };
    Ok(found.into_iter().enumerate().map(|(index, value)| c.needs(index).then_some(value)).collect())
}

#[pymethods]
impl PyTensor {
    /// `softmax(self @ key.T * scale + mask) @ value` in float32, where a causal query sees the keys up to its own place
    /// and a weight is dropped with a probability below one.
    ///
    /// Where torch computes it by `parts` the result may be written to before backward, and lies in row-major order.
    #[pyo3(signature = (key, value, mask, causal, scale, dropout=0.0, parts=false))]
    fn _attended(
        &self,
        key: Tensor,
        value: Tensor,
        mask: Option<Tensor>,
        causal: bool,
        scale: f64,
        dropout: f64,
        parts: bool,
    ) -> Result<Tensor> {
        let inputs = [&self.tensor, &key, &value];
        let kept = if dropout > 0.0 { Some(drawn(&checked(inputs, mask.as_ref())?, dropout)?) } else { None };
        let options = Options { causal, scale, factor: 1.0 / (1.0 - dropout) as f32 };
        let masks = Masks { summands: mask.as_ref(), kept: kept.as_ref() };
        let [out, logs] = forward(inputs, masks, options, parts)?;
        let name = if parts { "UnsafeViewBackward0" } else { "ScaledDotProductFlashAttentionForCpuBackward0" };
        if let Some(record) = Record::new(name, &inputs) {
            let record = inputs.into_iter().fold(record, Record::save).save(&logs);
            let record = mask.iter().chain(&kept).fold(record, Record::save);
            let record = if parts { record.save(&out.copied()?) } else { record.save_outputs() };
            let given = [mask.is_some(), kept.is_some()];
            record.finish(&out, move |c| rule(c, options, given));
        }
        Ok(out)
    }
}
