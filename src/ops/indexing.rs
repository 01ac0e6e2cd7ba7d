//! Ops that read or write positions given by an integer tensor along one dimension, or in the flattened tensor.

use pyo3::prelude::*;

use super::operand::{Operand, Scalar};
use super::rows::{self, Fault, Rows};
use super::{creation, elementwise, movement};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::index::Update;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, wrap_dim};

fn need_int(op: &str, x: &Tensor, index: &Tensor, narrow: bool) -> Result<()> {
    crate::check::same_device(op, &[x, index])?;
    match index.dtype() {
        DType::I64 => Ok(()),
        DType::I32 if narrow => Ok(()),
        other => {
            let expected = if narrow { "int32/int64" } else { "int64" };
            error::dtype(format!("{op}(): Expected dtype {expected} for index, but got {}", other.name()))
        }
    }
}

/// Checks that `index` fits inside `limit`, apart from `free` (if given).
fn check_inside(op: &str, index: &Tensor, limit: &Tensor, free: Option<usize>, what: &str) -> Result<()> {
    let (inner, outer) = (index.shape(), limit.shape());
    if inner.len().max(1) != outer.len().max(1) {
        return error::shape(format!(
            "{op}: Index tensor must have the same number of dimensions as {what} tensor, got {:?} and {:?}",
            inner.as_slice(),
            outer.as_slice()
        ));
    }
    let fits = inner.iter().zip(&outer).enumerate().all(|(dim, (a, b))| Some(dim) == free || a <= b);
    if fits {
        return Ok(());
    }
    let apart = free.map_or(String::new(), |dim| format!(" apart from dimension {dim}"));
    error::shape(format!(
        "{op}: expected index {:?} to be no larger than {what} {:?}{apart}",
        inner.as_slice(),
        outer.as_slice()
    ))
}

/// `out[i][j] = x[index[i][j]][j]` for dim 0, and so on.
pub fn gather(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    // As in torch an index without elements may be of any dtype.
    if index.numel() > 0 {
        need_int("gather", x, index, true)?;
        check_inside("gather", index, x, Some(dim), "self")?;
    }
    let found = Rows::along(x, dim, index)?;
    rows::take("GatherBackward0", x, &found, &index.shape(), &[index, x])
}

/// The part of `src` that `index` covers.
fn covered(src: &Tensor, index: &Tensor) -> Result<Tensor> {
    let mut out = src.clone();
    for (dim, &size) in index.shape().iter().enumerate() {
        if src.rank() > dim && src.size(dim) != size {
            out = movement::slice(&out, dim, 0, size, 1)?;
        }
    }
    movement::reshape(&out, &index.shape())
}

pub fn scatter_parts(op: &str, x: &Tensor, dim: usize, index: &Tensor, src: &Operand) -> Result<(Rows, Tensor)> {
    need_int(op, x, index, true)?;
    let empty = index.numel() == 0;
    if !empty {
        check_inside(op, index, x, Some(dim), "self")?;
    }
    let values = match src {
        Operand::Scalar(value) => {
            let one = creation::number(*value, x.dtype(), x.device())?;
            movement::expand(&one, &index.shape())?
        }
        Operand::Tensor(src) => {
            if src.dtype() != x.dtype() {
                return error::dtype(format!(
                    "{op}(): Expected self.dtype to be equal to src.dtype, got {} and {}",
                    x.dtype().name(),
                    src.dtype().name()
                ));
            }
            if empty {
                creation::zeros(&index.shape(), x.dtype(), x.device())?
            } else {
                check_inside(op, index, src, None, "src")?;
                covered(src, index)?
            }
        }
    };
    Ok((Rows::along(x, dim, index)?, values))
}

/// `x` with `src` written to the positions that `index` names along `dim`.
pub fn scatter(x: &Tensor, dim: usize, index: &Tensor, src: &Operand) -> Result<Tensor> {
    let (found, values) = scatter_parts("scatter", x, dim, index, src)?;
    rows::put("ScatterBackward0", x, &found, &values, Update::Assign, &[index])
}

/// `x` with `src` added at the positions that `index` names along `dim`.
pub fn scatter_add(x: &Tensor, dim: usize, index: &Tensor, src: &Operand) -> Result<Tensor> {
    let (found, values) = scatter_parts("scatter_add", x, dim, index, src)?;
    rows::put("ScatterAddBackward0", x, &found, &values, Update::Add, &[index])
}

/// Refuses an index that is no vector of positions along `dim`; `narrow` ops take int32 too.
fn need_vector(op: &str, x: &Tensor, index: &Tensor, narrow: bool) -> Result<()> {
    need_int(op, x, index, narrow)?;
    if index.rank() > 1 {
        return error::index(format!(
            "{op}(): Index is supposed to be a vector, got shape {:?}",
            index.shape().as_slice()
        ));
    }
    Ok(())
}

/// The sub-tensors that `index` names along `dim`.
fn sub_tensors(op: &'static str, x: &Tensor, dim: usize, index: &Tensor) -> Result<Rows> {
    Rows::slabs(x, dim, index, Fault::Slab { op, dim })
}

fn with_size(shape: &[usize], dim: usize, size: usize) -> Dims {
    shape.iter().enumerate().map(|(at, &old)| if at == dim { size } else { old }).collect()
}

pub fn index_select(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    need_vector("index_select", x, index, true)?;
    let count = index.numel();
    if x.rank() == 0 && count != 1 {
        return error::runtime(format!("index_select(): Index to scalar can have only 1 value, got {count} value(s)"));
    }
    let found = sub_tensors("index_select", x, dim, index)?;
    rows::take("IndexSelectBackward0", x, &found, &with_size(&x.shape(), dim, count), &[index])
}

/// Positions along a dimension given as plain numbers.
pub fn take_dim(name: &'static str, x: &Tensor, dim: usize, positions: &[i64]) -> Result<Tensor> {
    let shape = x.shape();
    let size = x.size(dim) as i64;
    if let Some(bad) = positions.iter().find(|&&position| position < 0 || position >= size) {
        return error::index(format!("index {bad} is out of bounds for dimension {dim} with size {size}"));
    }
    rows::take(name, x, &rows::slabs(&shape, dim, positions.to_vec()), &with_size(&shape, dim, positions.len()), &[])
}

/// Checks the source of `index_add` and its kin: the shape of `x` with the index's length at `dim`.
fn check_source(op: &str, x: &Tensor, dim: usize, count: usize, source: &Tensor) -> Result<()> {
    if source.dtype() != x.dtype() {
        return error::dtype(format!(
            "{op}(): self ({}) and source ({}) must have the same scalar type",
            x.dtype().scalar_type(),
            source.dtype().scalar_type()
        ));
    }
    if x.rank() <= 1 && source.rank() == 0 && count == 1 {
        return Ok(());
    }
    let expected = with_size(&x.shape(), dim, count);
    if source.shape() != expected {
        return error::shape(format!(
            "{op}(): source tensor shape must match self tensor shape, excluding the specified dimension, where the \
             number of indices stands: expected {:?}, got {:?}",
            expected.as_slice(),
            source.shape().as_slice()
        ));
    }
    Ok(())
}

/// The rows that `source`, of the same rank as `x`, goes to.
pub fn slab_rows(op: &'static str, x: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<Rows> {
    need_vector(op, x, index, true)?;
    check_source(op, x, dim, index.numel(), source)?;
    if x.rank() != source.rank() {
        return error::shape(format!(
            "{op}: source tensor shape must match self tensor shape, excluding the specified dimension. Got \
             self.shape = {:?} source.shape = {:?}",
            x.shape().as_slice(),
            source.shape().as_slice()
        ));
    }
    sub_tensors(op, x, dim, index)
}

/// The index, and the source where torch keeps it: when it wants a gradient.
fn kept<'a, 'b>(both: &'b [&'a Tensor; 2], source: &Tensor) -> &'b [&'a Tensor] {
    if source.requires_grad() { both } else { &both[..1] }
}

pub fn scaled(source: &Tensor, alpha: Option<Scalar>) -> Result<Tensor> {
    match alpha {
        Some(alpha) if alpha.as_f64() != 1.0 => {
            creation::to_dtype(&elementwise::mul_scalar(source, alpha)?, source.dtype())
        }
        _ => Ok(source.clone()),
    }
}

pub fn index_add(x: &Tensor, dim: usize, index: &Tensor, source: &Tensor, alpha: Option<Scalar>) -> Result<Tensor> {
    let found = slab_rows("index_add", x, dim, index, source)?;
    let scaled = scaled(source, alpha)?;
    rows::put("IndexAddBackward0", x, &found, &scaled, Update::Add, kept(&[index, source], source))
}

/// As `slab_rows`, for an op that takes int64 alone, and a single element without dimensions.
pub fn source_rows(op: &'static str, x: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<Rows> {
    need_vector(op, x, index, false)?;
    check_source(op, x, dim, index.numel(), source)?;
    sub_tensors(op, x, dim, index)
}

pub fn index_copy(x: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let found = source_rows("index_copy", x, dim, index, source)?;
    rows::put("IndexCopyBackward0", x, &found, source, Update::Assign, kept(&[index, source], source))
}

pub fn index_fill(x: &Tensor, dim: usize, index: &Tensor, value: &Tensor) -> Result<Tensor> {
    if index.dtype() != DType::I64 {
        return error::index("index_fill_(): Expected dtype int64 for index.");
    }
    if value.rank() > 0 {
        return error::runtime(format!(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            value.rank()
        ));
    }
    if index.rank() > 1 {
        return error::runtime("index_fill: Index has to be a vector/scalar");
    }
    need_vector("index_fill", x, index, false)?;
    let size = x.size(dim) as i64;
    let mut positions = rows::places(index, x)?;
    if let Some(bad) = positions.iter().find(|&&position| position < -size || position >= size) {
        return error::index(format!(
            "index_fill: index out of range in self: index {bad} is out of bounds for dimension {dim} with size {size}"
        ));
    }
    positions.iter_mut().for_each(|position| *position += if *position < 0 { size } else { 0 });
    if value.requires_grad() {
        // A place that is named twice is filled once, which the gradient of the value tells.
        positions.sort_unstable();
        positions.dedup();
    }
    let shape = with_size(&x.shape(), dim, positions.len());
    let value = creation::to_dtype(&creation::to_device(value, x.device())?, x.dtype())?;
    let values = movement::expand(&value, &shape)?;
    let found = rows::slabs(&x.shape(), dim, positions);
    rows::put("IndexFillBackward0", x, &found, &values, Update::Assign, &[index])
}

/// Flat positions, negative ones from the end.
fn flat_rows(op: &str, x: &Tensor, index: &Tensor) -> Result<Rows> {
    need_int(op, x, index, false)?;
    if let Some(found) = Rows::flat(x, index)? {
        return Ok(found);
    }
    let size = x.numel() as i64;
    let numbers = rows::places(index, x)?
        .into_iter()
        .map(|position| match position {
            inside if inside >= 0 && inside < size => Ok(inside),
            below if below < 0 && below >= -size => Ok(below + size),
            bad => {
                error::index(format!("{op}: out of range: tried to access index {bad} on a tensor of {size} elements."))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Rows::new(numbers, 1))
}

pub fn take(x: &Tensor, index: &Tensor) -> Result<Tensor> {
    rows::take("TakeBackward0", x, &flat_rows("take", x, index)?, &index.shape(), &[index, x])
}

pub fn put(x: &Tensor, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
    let found = flat_rows("put_", x, index)?;
    if source.dtype() != x.dtype() {
        return error::dtype(format!(
            "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
            x.dtype().scalar_type(),
            source.dtype().scalar_type()
        ));
    }
    if source.numel() != index.numel() {
        return error::index(format!(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, \
             index.numel() = {}",
            source.numel(),
            index.numel()
        ));
    }
    let update = if accumulate { Update::Add } else { Update::Assign };
    rows::put("PutBackward0", x, &found, source, update, kept(&[index, source], source))
}

/// Rows of `weight` by number; the gradient of row `padding` stays zero, and `scale` divides it by how often a row is used.
pub fn embedding(weight: &Tensor, indices: &Tensor, padding: Option<i64>, scale: bool) -> Result<Tensor> {
    if !matches!(indices.dtype(), DType::I64 | DType::I32) {
        return error::dtype(format!(
            "embedding: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; \
             but got torch.{}Tensor instead (while checking arguments for embedding)",
            indices.dtype().scalar_type()
        ));
    }
    let [count, width] = *weight.shape() else {
        return error::shape(format!("embedding: 'weight' must be 2-D, got shape {:?}", weight.shape().as_slice()));
    };
    let mut shape = indices.shape();
    shape.push(width);
    if let Some(out) = rows::take_now(weight, indices, &shape)? {
        return Ok(out);
    }
    let found = Rows::slabs(weight, 0, indices, Fault::Embedding)?;
    if padding.is_none() && !scale {
        return rows::take("EmbeddingBackward0", weight, &found, &shape, &[indices]);
    }
    let out = rows::take("EmbeddingBackward0", &weight.detached(), &found, &shape, &[])?;
    if let Some(record) = crate::autograd::Record::new("EmbeddingBackward0", &[weight]) {
        record.save(indices).finish(&out, move |c| {
            crate::autograd::grads([Some(embedding_grad(&c.grad()?, &found, count, padding, scale)?)])
        });
    }
    Ok(out)
}

fn counted(numbers: &[i64], count: usize) -> Vec<f64> {
    let mut used = vec![0.0; count];
    for &number in numbers {
        if let Some(slot) = used.get_mut(number as usize) {
            *slot += 1.0;
        }
    }
    used
}

fn embedding_grad(grad: &Tensor, found: &Rows, count: usize, padding: Option<i64>, scale: bool) -> Result<Tensor> {
    let all = found.numbers()?;
    let kept: Vec<i64> =
        all.iter().enumerate().filter(|&(_, &number)| Some(number) != padding).map(|(at, _)| at as i64).collect();
    let numbers: Vec<i64> = all.iter().copied().filter(|&number| Some(number) != padding).collect();
    let shape = [kept.len(), found.block];
    let mut part = rows::take("IndexBackward0", grad, &Rows::new(kept, found.block), &shape, &[])?;
    if scale {
        let used = counted(&all, count);
        let factors: Vec<u8> = numbers
            .iter()
            .flat_map(|&number| (1.0 / used.get(number as usize).copied().unwrap_or(1.0)).to_ne_bytes())
            .collect();
        let factors = Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(factors), &[numbers.len(), 1], DType::F64)?;
        part = elementwise::mul(&part, &factors.converted(grad.dtype())?.moved(grad.device())?)?;
    }
    rows::added_up(&[count, found.block], &Rows::new(numbers, found.block), &part)
}

/// Zeros of which `touched` far from each other are written next. Untouched fresh memory is zero for free, but where every
/// few pages are written, their faults take longer than to clear memory that is kept.
fn many_zeros(shape: &[usize], touched: usize, like: &Tensor) -> Result<Tensor> {
    const PAGES: usize = 1 << 14;
    let bytes = shape.iter().fold(DType::I64.size(), |bytes, &size| bytes.saturating_mul(size));
    if !like.device().is_cpu() || bytes / PAGES > touched {
        return creation::zeros(shape, DType::I64, like.device());
    }
    let (out, _) = Tensor::uninit_with_pointer(shape, DType::I64)?;
    out.fill_cpu([0; 16])?;
    Ok(out)
}

/// Zeros with a one at each index, along a new last dimension of `classes`.
fn one_hot(index: &Tensor, classes: i64) -> Result<Tensor> {
    if index.dtype() != DType::I64 {
        return error::dtype(format!(
            "one_hot is only applicable to index tensors of int64, got {}",
            index.dtype().name()
        ));
    }
    let numbers = if classes < 0 { rows::integers(index)? } else { rows::places(index, index)? };
    if classes < 0 && numbers.is_empty() {
        return error::runtime("one_hot: Can not infer total number of classes from empty tensor.");
    }
    if numbers.iter().any(|&number| number < 0) {
        return error::runtime("one_hot: Class values must be non-negative.");
    }
    let needed = numbers.iter().max().map_or(0, |highest| highest + 1);
    if classes >= 0 && needed > classes {
        return error::runtime(format!("one_hot: Class values must be smaller than num_classes ({classes})."));
    }
    let classes = if classes < 0 { needed } else { classes } as usize;
    let mut shape = index.shape();
    shape.push(classes);
    let zeros = many_zeros(&shape, numbers.len(), index)?;
    let ones = creation::full(&[numbers.len()], Scalar::Int(1), DType::I64, index.device())?;
    let flat = numbers.iter().enumerate().map(|(row, number)| row as i64 * classes as i64 + number).collect();
    let places = Rows::new(flat, 1);
    // Written where they are: a copy of zeros that were never touched takes far longer than all the ones.
    if rows::put_here(&zeros, &places, &ones, Update::Assign)? {
        return Ok(zeros);
    }
    rows::put_raw(&zeros, &places, &ones, Update::Assign)
}

#[pymethods]
impl PyTensor {
    /// Values picked along `dim`, one for each element of `index`.
    #[pyo3(signature = (dim, index, *, sparse_grad=false))]
    fn gather(&self, dim: isize, index: Tensor, sparse_grad: bool) -> Result<Tensor> {
        // Gradients are dense here; torch's sparse ones add up to the same values.
        let _ = sparse_grad;
        gather(&self.tensor, wrap_dim("gather", dim, self.tensor.rank())?, &index)
    }

    fn _scatter(&self, dim: isize, index: Tensor, values: Operand) -> Result<Tensor> {
        scatter(&self.tensor, wrap_dim("scatter", dim, self.tensor.rank())?, &index, &values)
    }

    /// This tensor with `src` added at the positions that `index` names along `dim`.
    fn scatter_add(&self, dim: isize, index: Tensor, src: Tensor) -> Result<Tensor> {
        scatter_add(&self.tensor, wrap_dim("scatter_add", dim, self.tensor.rank())?, &index, &src.into())
    }

    /// The sub-tensors at the positions in `index` along `dim`.
    fn index_select(&self, dim: isize, index: Tensor) -> Result<Tensor> {
        index_select(&self.tensor, wrap_dim("index_select", dim, self.tensor.rank())?, &index)
    }

    /// This tensor with `alpha * source` added to the sub-tensors at `index`.
    #[pyo3(signature = (dim, index, source, *, alpha=None))]
    fn index_add(&self, dim: isize, index: Tensor, source: Tensor, alpha: Option<Scalar>) -> Result<Tensor> {
        index_add(&self.tensor, wrap_dim("index_add", dim, self.tensor.rank())?, &index, &source, alpha)
    }

    /// This tensor with the sub-tensors at `index` replaced by those of `source`.
    fn index_copy(&self, dim: isize, index: Tensor, source: Tensor) -> Result<Tensor> {
        index_copy(&self.tensor, wrap_dim("index_copy", dim, self.tensor.rank())?, &index, &source)
    }

    /// This tensor with the sub-tensors at `index` filled with `value`.
    fn index_fill(&self, dim: isize, index: Tensor, value: Operand) -> Result<Tensor> {
        let value = match value {
            Operand::Tensor(value) => value,
            Operand::Scalar(value) => creation::number(value, self.tensor.dtype(), self.tensor.device())?,
        };
        index_fill(&self.tensor, wrap_dim("index_fill", dim, self.tensor.rank())?, &index, &value)
    }

    /// The elements at flat positions.
    fn take(&self, index: Tensor) -> Result<Tensor> {
        take(&self.tensor, &index)
    }

    /// This tensor with `source` at flat positions.
    #[pyo3(signature = (index, source, accumulate=false))]
    fn put(&self, index: Tensor, source: Tensor, accumulate: bool) -> Result<Tensor> {
        put(&self.tensor, &index, &source, accumulate)
    }

    /// The sub-tensors at plain positions along `dim`; what padding and repeating are made of.
    fn _take_dim(&self, dim: isize, positions: Vec<i64>) -> Result<Tensor> {
        take_dim("IndexSelectBackward0", &self.tensor, wrap_dim("index_select", dim, self.tensor.rank())?, &positions)
    }

    fn _embedding(&self, indices: Tensor, padding_idx: Option<i64>, scale_grad_by_freq: bool) -> Result<Tensor> {
        embedding(&self.tensor, &indices, padding_idx, scale_grad_by_freq)
    }

    fn _one_hot(&self, num_classes: i64) -> Result<Tensor> {
        one_hot(&self.tensor, num_classes)
    }

    /// The numbers of an integer tensor in row-major order.
    fn _integers(&self) -> Result<Vec<i64>> {
        rows::integers(&self.tensor)
    }
}
