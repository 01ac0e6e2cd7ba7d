//! Ops under a boolean mask, the coordinates of what is true, and triangles.

use burn_backend::ops::BoolTensorOps;
use burn_dispatch::Dispatch;
use burn_std::Bytes;
use pyo3::prelude::*;

use super::operand::{Operand, Scalar};
use super::pointwise::Arg;
use super::rows::{self, Rows};
use super::{creation, movement};
use crate::autograd::{Record, grad_enabled, grads, inplace};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::index::{self, Update};
use crate::kernels::memory::Elements;
use crate::kernels::scratch::Shared;
use crate::kernels::{triangle, truths};
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, broadcast};
use crate::tensor::{Tensor, prim};

fn need_mask(op: &str, mask: &Tensor) -> Result<()> {
    if mask.dtype() == DType::Bool {
        return Ok(());
    }
    error::dtype(format!(
        "{op} only supports boolean masks, but got mask with dtype {}; convert it with .to(bool)",
        mask.dtype().name()
    ))
}

fn spread(x: &Tensor, shape: &[usize]) -> Tensor {
    x.alias(x.geometry().expand(shape))
}

fn not(mask: &Tensor) -> Result<Tensor> {
    let out =
        Tensor::compute("logical_not", &[mask], DType::Bool, |mut values| Dispatch::bool_not(values.swap_remove(0)))?;
    out.reshaped(&mask.shape())
}

/// `x` where the mask is false, `value` (rank 0) where it is true.
pub fn masked_fill(x: &Tensor, mask: &Tensor, value: &Tensor) -> Result<Tensor> {
    need_mask("masked_fill", mask)?;
    if value.rank() > 0 {
        return error::shape(format!(
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            value.rank()
        ));
    }
    let (dtype, device) = (x.dtype(), x.device());
    if value.dtype().is_complex() && !dtype.is_complex() {
        return error::runtime(format!("value cannot be converted to type {} without overflow", dtype.name()));
    }
    let value = creation::to_place(value, dtype, device)?;
    let shape = broadcast("masked_fill", &x.shape(), &mask.shape())?;
    crate::check::allocation(shape.iter().product::<usize>().saturating_mul(dtype.size()))?;
    let inputs = [&spread(x, &shape), &spread(mask, &shape), &spread(&value, &shape)];
    let out = if dtype.is_complex() || device.is_cpu() {
        super::select::select(&mask.detached(), Arg::Tensor(&value.detached()), Arg::Tensor(&inputs[0].detached()))?
            .contiguous_data()?
    } else {
        Tensor::compute("masked_fill", &inputs, dtype, move |mut values| {
            let (filling, mask) = (values.swap_remove(2), values.swap_remove(1));
            prim::mask_where(dtype.kind(), values.swap_remove(0), mask, filling)
        })?
        .reshaped(&shape)?
    };
    if let Some(record) = Record::new("MaskedFillBackward0", &[x, &value]) {
        record.save(mask).finish(&out, |c| {
            let (grad, mask) = (c.grad()?, c.saved(0)?);
            let zero = creation::zeros(&[], grad.dtype(), grad.device())?;
            grads([
                c.when(0, || masked_fill(&grad, mask, &zero))?,
                c.when(1, || masked_fill(&grad, &not(mask)?, &zero))?,
            ])
        });
    }
    Ok(out)
}

/// Whether the number need not become a tensor first: what nearly every call fills with.
fn takes_number(x: &Tensor, value: Scalar) -> bool {
    let number = value.as_f64();
    let fits = !number.is_finite() || number.abs() <= x.dtype().max_finite();
    x.device().is_cpu() && matches!(x.dtype(), DType::F32 | DType::F64) && !value.dtype().is_complex() && fits
}

fn masked_number(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<Tensor> {
    need_mask("masked_fill", mask)?;
    let shape = broadcast("masked_fill", &x.shape(), &mask.shape())?;
    crate::check::allocation(shape.iter().product::<usize>().saturating_mul(x.dtype().size()))?;
    let out = super::select::select(&mask.detached(), Arg::Scalar(value), Arg::Tensor(&x.detached()))?;
    let out = out.contiguous_data()?;
    if let Some(record) = Record::new("MaskedFillBackward0", &[x]) {
        record.save(mask).finish(&out, |c| grads([Some(masked_number(&c.grad()?, c.saved(0)?, Scalar::Float(0.0))?)]));
    }
    Ok(out)
}

/// Writes a number to `x` itself where the mask is true; false, with nothing done, where that needs more than a pass over
/// it. The caller has asked `inplace::check`.
pub fn fill_here(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<bool> {
    let plain = takes_number(x, value) && mask.dtype() == DType::Bool && mask.device().is_cpu();
    if !plain || inplace::is_recorded(x, x) || x.core().geometry.overlaps_itself() {
        return Ok(false);
    }
    if broadcast("masked_fill", &x.shape(), &mask.shape())? != x.shape() {
        return Ok(false);
    }
    super::select::chosen(mask, Arg::Scalar(value), Arg::Tensor(x), x.dtype(), Some(x))?;
    x.core().storage.bump();
    Ok(true)
}

/// The flat numbers of the true elements of `mask` broadcast to `shape`.
fn true_rows(mask: &Tensor, shape: &[usize]) -> Result<Rows> {
    let flags = spread(mask, shape).to_bytes()?;
    Ok(Rows::new(crate::guard::heavy("masked_select", flags.len(), || index::positions(&flags))?, 1))
}

/// The elements where the mask is true, as a vector.
pub fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    need_mask("masked_select", mask)?;
    let shape = broadcast("masked_select", &x.shape(), &mask.shape())?;
    let found = true_rows(mask, &shape)?;
    let count = found.count();
    rows::take("MaskedSelectBackward0", &movement::expand(x, &shape)?, &found, &[count], &[mask, x])
}

/// `x` with the elements where the mask is true replaced, in order, by those of `source`.
pub fn masked_scatter(x: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    need_mask("masked_scatter", mask)?;
    if source.dtype() != x.dtype() {
        return error::dtype(format!(
            "masked_scatter: expected self and source to have same dtypes but got {} and {}",
            x.dtype().name(),
            source.dtype().name()
        ));
    }
    let shape = broadcast("masked_scatter", &x.shape(), &mask.shape())?;
    let found = true_rows(mask, &shape)?;
    let count = found.count();
    if source.numel() < count {
        return error::runtime(format!(
            "masked_scatter: Number of elements of source ({}) < number of ones in mask ({count})",
            source.numel()
        ));
    }
    let flat = movement::reshape(source, &[source.numel()])?;
    let values = movement::slice(&flat, 0, 0, count, 1)?;
    let base = movement::expand(x, &shape)?;
    rows::put("MaskedScatterBackward0", &base, &found, &values, Update::Assign, &[mask])
}

/// Which elements are not zero, as bytes in row-major order.
fn truth(x: &Tensor) -> Result<Vec<u8>> {
    x.need_values()?;
    let host = x.moved(Device::Cpu)?;
    if host.dtype() == DType::Bool { host.to_bytes() } else { host.converted(DType::Bool)?.to_bytes() }
}

/// The coordinates of the elements that are not zero, one row each.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let shape = x.shape();
    if x.device().is_cpu() && !shape.is_empty() && x.numel() > 0 {
        return nonzero_here(x, &shape);
    }
    let flags = truth(x)?;
    let count = flags.iter().filter(|&&flag| flag != 0).count();
    if shape.is_empty() || count == 0 {
        let lines = creation::zeros(&[shape.len(), count], DType::I64, x.device())?;
        return lines.alias(lines.geometry().permute(&[1, 0])).copied_as(&[1, count]);
    }
    nonzero_here(&x.moved(Device::Cpu)?, &shape)?.moved(x.device())
}

fn nonzero_here(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    x.need_values()?;
    let flags = if x.dtype() == DType::Bool { x.clone() } else { x.converted(DType::Bool)? };
    let flags = Elements::contiguous(&flags)?;
    // SAFETY: booleans are bytes, and these lie in row-major order.
    let counts = guard::spread("nonzero", x.numel(), || truths::counts(unsafe { flags.slice() }))?;
    let total = counts.iter().sum();
    let (lines, to) = Tensor::uninit_with_pointer(&[shape.len(), total], DType::I64)?;
    let to = Shared(to.cast::<i64>());
    guard::spread("nonzero", x.numel(), || {
        // SAFETY: as above; the result has room for so many of each dimension.
        unsafe { truths::coordinates(flags.slice(), &counts, shape, to) }
    })?;
    // As torch leaves them: all coordinates of one dimension beside each other.
    Ok(lines.alias(lines.geometry().permute(&[1, 0])))
}

/// The same coordinates as one vector per dimension.
pub fn coordinates(x: &Tensor) -> Result<Vec<Tensor>> {
    let found = nonzero(x)?;
    let rank = x.rank();
    (0..rank).map(|dim| found.alias(found.geometry().select(1, dim)).copied()).collect()
}

/// A mask that is true on and above (`upper`) or below a diagonal.
pub fn triangle(rows: usize, columns: usize, diagonal: isize, upper: bool, device: Device) -> Result<Tensor> {
    crate::check::allocation(rows.saturating_mul(columns))?;
    let inside = |row: usize, column: usize| {
        let offset = column as isize - row as isize;
        if upper { offset >= diagonal } else { offset <= diagonal }
    };
    let bytes = (0..rows).flat_map(|row| (0..columns).map(move |column| u8::from(inside(row, column)))).collect();
    Tensor::from_bytes(Bytes::from_bytes_vec(bytes), &[rows, columns], DType::Bool)?.moved(device)
}

/// Writes zeros outside a triangle of the matrices of `x` itself where nobody asks for their history.
fn cut_here(op: &str, written: &str, x: &Tensor, diagonal: isize, upper: bool) -> Result<()> {
    inplace::check(written, x)?;
    let shape = x.shape();
    match shape.as_slice() {
        [.., rows, columns] if x.device().is_cpu() && x.is_contiguous() && !inplace::is_recorded(x, x) => {
            triangle::cut(&Elements::of(x)?, [*rows, *columns], diagonal, upper);
            x.core().storage.bump();
            Ok(())
        }
        _ => inplace::assign(written, x, &keep_triangle(op, x, diagonal, upper)?),
    }
}

/// The matrices in the last two dimensions with zeros outside a triangle.
fn keep_triangle(op: &str, x: &Tensor, diagonal: isize, upper: bool) -> Result<Tensor> {
    let shape = x.shape();
    let [.., rows, columns] = shape.as_slice() else {
        return error::shape(format!("{op}: input tensor must have at least 2 dimensions, got {:?}", shape.as_slice()));
    };
    if x.device().is_cpu() && !(grad_enabled() && x.requires_grad()) {
        let out = x.copied()?;
        triangle::cut(&Elements::of(&out)?, [*rows, *columns], diagonal, upper);
        return Ok(out);
    }
    // What is cut away lies strictly on the other side of the diagonal.
    let beyond = if upper { diagonal.saturating_sub(1) } else { diagonal.saturating_add(1) };
    let mask = triangle(*rows, *columns, beyond, !upper, x.device())?;
    let out = masked_fill(x, &mask, &creation::zeros(&[], x.dtype(), x.device())?)?;
    if let Some(edge) = out.edge() {
        edge.node.stand_for(if upper { "TriuBackward0" } else { "TrilBackward0" }, &[Some(x)], std::iter::empty());
    }
    Ok(out)
}

#[pymethods]
impl PyTensor {
    /// This tensor with `value` where the mask is true.
    fn masked_fill(&self, mask: Tensor, value: Operand) -> Result<Tensor> {
        let value = match value {
            Operand::Tensor(value) => value,
            Operand::Scalar(value) if takes_number(&self.tensor, value) => {
                return masked_number(&self.tensor, &mask, value);
            }
            Operand::Scalar(value) => creation::number(value, self.tensor.dtype(), self.tensor.device())?,
        };
        masked_fill(&self.tensor, &mask, &value)
    }

    /// This tensor, whose elements where the mask is true are `value` now.
    fn masked_fill_<'py>(slf: Bound<'py, Self>, mask: Tensor, value: Operand) -> PyResult<Bound<'py, Self>> {
        let x = &slf.get().tensor;
        inplace::check("masked_fill_", x)?;
        inplace::check_apart("masked_fill_", x, &mask, false)?;
        match value {
            Operand::Scalar(value) if fill_here(x, &mask, value)? => return Ok(slf),
            Operand::Tensor(ref value) => inplace::check_apart("masked_fill_", x, value, false)?,
            Operand::Scalar(_) => {}
        }
        let value = slf.get().masked_fill(mask, value)?;
        inplace::assign("masked_fill_", x, &value)?;
        Ok(slf)
    }

    /// The elements where the mask is true, as a vector.
    fn masked_select(&self, mask: Tensor) -> Result<Tensor> {
        masked_select(&self.tensor, &mask)
    }

    /// This tensor with elements of `source`, in order, where the mask is true.
    fn masked_scatter(&self, mask: Tensor, source: Tensor) -> Result<Tensor> {
        masked_scatter(&self.tensor, &mask, &source)
    }

    fn _nonzero(&self) -> Result<Tensor> {
        nonzero(&self.tensor)
    }

    fn _nonzero_tuple(&self) -> Result<Vec<Tensor>> {
        coordinates(&self.tensor)
    }

    /// The lower triangle of the matrices in the last two dimensions, zeros elsewhere.
    #[pyo3(signature = (diagonal=0))]
    fn tril(&self, diagonal: isize) -> Result<Tensor> {
        keep_triangle("tril", &self.tensor, diagonal, false)
    }

    /// The upper triangle of the matrices in the last two dimensions, zeros elsewhere.
    #[pyo3(signature = (diagonal=0))]
    fn triu(&self, diagonal: isize) -> Result<Tensor> {
        keep_triangle("triu", &self.tensor, diagonal, true)
    }

    /// This tensor, which has zeros above the diagonal of its matrices now.
    #[pyo3(signature = (diagonal=0))]
    fn tril_<'py>(slf: Bound<'py, Self>, diagonal: isize) -> PyResult<Bound<'py, Self>> {
        cut_here("tril", "tril_", &slf.get().tensor, diagonal, false)?;
        Ok(slf)
    }

    /// This tensor, which has zeros below the diagonal of its matrices now.
    #[pyo3(signature = (diagonal=0))]
    fn triu_<'py>(slf: Bound<'py, Self>, diagonal: isize) -> PyResult<Bound<'py, Self>> {
        cut_here("triu", "triu_", &slf.get().tensor, diagonal, true)?;
        Ok(slf)
    }
}

/// The coordinates of a triangle of a matrix, as two rows.
#[pyfunction]
fn _triangle_indices(
    row: isize,
    col: isize,
    offset: isize,
    upper: bool,
    device: crate::device::DeviceArg,
) -> Result<Tensor> {
    let (Ok(row), Ok(col)) = (usize::try_from(row), usize::try_from(col)) else {
        return error::runtime(format!("row and col must be non-negative, got {row} and {col}"));
    };
    let below = |end: i128| lower_count(row as i128, col as i128, end);
    let count = if upper { row as i128 * col as i128 - below(offset as i128) } else { below(offset as i128 + 1) };
    // The list, and the tensor made of it.
    let need = usize::try_from(count.saturating_mul(32)).unwrap_or(usize::MAX);
    crate::check::allocation(need)?;
    let count = need / 32;
    let (mut lines, mut places) = (Vec::with_capacity(2 * count), Vec::with_capacity(count));
    // Only the lines that have an element.
    let (first, end) = match upper {
        true => (0, (col as i128 - offset as i128).clamp(0, row as i128)),
        false => ((-(offset as i128)).clamp(0, row as i128), row as i128),
    };
    for line in first..if count == 0 { first } else { end } {
        let edge = (line + offset as i128 + i128::from(!upper)).clamp(0, col as i128) as i64;
        let span = if upper { edge..col as i64 } else { 0..edge };
        for place in span {
            lines.push(line as i64);
            places.push(place);
        }
    }
    lines.extend(places);
    let shape: Dims = [2, count].into_iter().collect();
    rows::from_integers(&lines, &shape, device.0)
}

/// How many elements of a matrix stand before the column `row number + end`, over all its rows.
fn lower_count(rows: i128, columns: i128, end: i128) -> i128 {
    // Sums of `k` held between 0 and the number of columns, over all k up to `last`.
    let upto = |last: i128| match last {
        last if last <= 0 => 0,
        last if last <= columns => last * (last + 1) / 2,
        last => (columns * (columns + 1) / 2).saturating_add((last - columns).saturating_mul(columns)),
    };
    upto(end + rows - 1) - upto(end - 1)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_triangle_indices, module)?)
}
