//! Running sums, products and extremes along a dimension, and the product whose rule is made of them.

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use pyo3::prelude::*;

use super::bitwise::logical_and;
use super::complex::{holomorphic, turned_grad, unturned};
use super::extreme::record_chosen;
use super::fold::{fold, through_cpu};
use super::operand::Scalar;
use super::pointwise::Arg;
use super::reduce::{as_summed, narrowed};
use super::select::select;
use super::{compare, creation, elementwise, movement, rows};
use crate::autograd::{Record, grads};
use crate::dtype::{DType, DTypeArg, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::complex::with_complex;
use crate::kernels::memory::Memory;
use crate::kernels::reducers::Fold;
use crate::kernels::scan::{self, Along, Place};
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Geometry, wrap_dim};
use crate::tensor::{Tensor, prim};
use crate::{with_element, with_float, with_int};

/// The longest line that burn's kernel adds up: it reads all that comes before an element for each of them.
const LONG: usize = 4096;

fn along(x: &Tensor, dim: usize, reverse: bool) -> Along {
    Along { dim, size: x.size(dim), reverse }
}

/// Running totals outside the graph; integers and booleans give int64.
fn totals(op: &'static str, add: bool, x: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let from = x.dtype();
    let dtype = if from.is_differentiable() { from } else { DType::I64 };
    if x.is_meta() {
        return Tensor::meta_of(&x.shape(), dtype);
    }
    if !x.device().is_cpu() && x.numel() > 0 && x.rank() > 0 && x.size(dim) <= LONG {
        return device_totals(op, add, &creation::to_dtype(&x.detached(), dtype)?, dim, reverse);
    }
    let [out] = through_cpu(x, |x| {
        let out = Tensor::zeroed(&x.shape(), dtype)?;
        let (input, output, geometry, target) = (Memory::of(x)?, Memory::of(&out)?, x.geometry(), out.geometry());
        let line = along(x, dim, reverse);
        let refuse = || error::dtype(format!("{op}: not implemented for '{}'", from.scalar_type()));
        guard::spread(op, x.numel(), || {
            let (from_at, to) =
                (Place { memory: input, geometry: &geometry }, Place { memory: output, geometry: &target });
            // SAFETY: tensors' geometries lie inside their storages, and `out` is fresh.
            unsafe {
                if from.is_complex() {
                    with_complex!(from, T => { scan::totals_complex::<T>(add, line, from_at, to); Ok(()) }, else refuse())
                } else if from.is_float() {
                    with_float!(from, T => { scan::totals_float::<T>(add, line, from_at, to); Ok(()) }, else refuse())
                } else {
                    with_int!(from, T => { scan::totals_int::<T, _>(add, line, from_at, to); Ok(()) }, else refuse())
                }
            }
        })??;
        Ok([out])
    })?;
    Ok(out)
}

fn device_totals(op: &str, add: bool, x: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let kind = x.kind();
    Tensor::compute(op, &[x], x.dtype(), move |mut values| {
        let value = values.swap_remove(0);
        let value = if reverse { prim::flip(kind, value, &[dim]) } else { value };
        let value = match (kind, add) {
            (Kind::Int, true) => Dispatch::int_cumsum(value, dim),
            (Kind::Int, false) => Dispatch::int_cumprod(value, dim),
            (_, true) => Dispatch::float_cumsum(value, dim),
            (_, false) => Dispatch::float_cumprod(value, dim),
        };
        if reverse { prim::flip(kind, value, &[dim]) } else { value }
    })
}

/// The running sum; its gradient is the running sum of gradients from the other end.
pub fn cumsum(x: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let out = totals("cumsum", true, x, dim, reverse)?;
    if let Some(record) = Record::new("CumsumBackward0", &[x]) {
        record.finish(&out, move |c| grads([Some(cumsum(&c.grad()?, dim, !reverse)?)]));
    }
    Ok(out)
}

/// Each element's neighbour before it (behind it where `later` is false) along `dim`; `fill` where there is none.
fn shift(x: &Tensor, dim: usize, later: bool, fill: Scalar) -> Result<Tensor> {
    let size = x.size(dim);
    let out = creation::full(&x.shape(), fill, x.dtype(), x.device())?;
    if x.rank() > 0 && size > 1 {
        let (to, from) = if later { (1, 0) } else { (0, 1) };
        let part = |tensor: &Tensor, start| tensor.alias(tensor.geometry().slice(dim, start, size - 1, 1));
        part(&out, to).write(&part(x, from))?;
    }
    if let Some(record) = Record::new("ShiftBackward0", &[x]) {
        record.finish(&out, move |c| grads([Some(shift(&c.grad()?, dim, !later, Scalar::Int(0))?)]));
    }
    Ok(out)
}

/// The element that a running op in this direction meets before each one.
fn previous(x: &Tensor, dim: usize, reverse: bool, fill: i64) -> Result<Tensor> {
    shift(x, dim, !reverse, Scalar::Int(fill))
}

fn following(x: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    shift(x, dim, reverse, Scalar::Int(0))
}

/// The running product. With `y[k] = x[k] * y[k - 1]`, gradients obey a linear recurrence backwards: zeros need no care.
pub fn cumprod(x: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let out = totals("cumprod", false, x, dim, reverse)?;
    if let Some(record) = Record::new("CumprodBackward0", &[x]) {
        record
            .save(x)
            .save_outputs()
            .finish(&out, move |c| holomorphic(c, &|grad| cumprod_slope(c.saved(0)?, c.saved(1)?, grad, dim, reverse)));
    }
    Ok(out)
}

/// The gradient of a running product `y` of `x`, by torch's cases: sums of `y * grad` divided by `x` where no zero has
/// come yet, and nothing behind the first zero, whatever stands there.
fn cumprod_slope(x: &Tensor, y: &Tensor, grad: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let quotient = |w: &Tensor| elementwise::div(&cumsum(w, dim, !reverse)?, x);
    let w = elementwise::mul(y, grad)?;
    let zeros = compare::eq(x, Arg::from(0))?;
    if !has_true(&zeros)? {
        return quotient(&w);
    }
    let pull = linear(&following(x, dim, reverse)?, grad, dim, !reverse)?;
    let general = elementwise::mul(&pull, &previous(y, dim, reverse, 1)?)?;
    if crate::autograd::grad_enabled() {
        return Ok(general);
    }
    let count = totals("cumprod", true, &zeros, dim, reverse)?;
    let before = compare::eq(&count, Arg::from(0))?;
    let ahead = quotient(&select(&before, Arg::Tensor(&w), Arg::from(0))?)?;
    let first = logical_and(Arg::Tensor(&compare::eq(&count, Arg::from(1))?), Arg::Tensor(&zeros))?;
    let rest = select(&first, Arg::Tensor(&general), Arg::from(0))?;
    select(&before, Arg::Tensor(&ahead), Arg::Tensor(&rest))
}

/// Whether any element of a mask holds.
fn has_true(mask: &Tensor) -> Result<bool> {
    let dims: Vec<usize> = (0..mask.rank()).collect();
    Ok(rows::integers(&fold("any", Fold::Any, mask, &dims, false)?.converted(DType::I64)?)?.contains(&1))
}

/// The recurrence `s[k] = a[k] * s[k - 1] + b[k]` along `dim`; on a GPU it is computed by the CPU.
fn linear(a: &Tensor, b: &Tensor, dim: usize, reverse: bool) -> Result<Tensor> {
    let dtype = b.dtype();
    let second = b.moved(crate::device::Device::Cpu)?;
    let [out] = through_cpu(a, |a| {
        let out = Tensor::zeroed(&a.shape(), dtype)?;
        let (memories, geometries) = (
            [Memory::of(a)?, Memory::of(&second)?, Memory::of(&out)?],
            [a.geometry(), second.geometry(), out.geometry()],
        );
        let line = along(a, dim, reverse);
        guard::spread("cumprod", a.numel(), || {
            let [a, b, to] = [0, 1, 2].map(|index| Place { memory: memories[index], geometry: &geometries[index] });
            // SAFETY: tensors' geometries lie inside their storages, and `out` is fresh.
            with_float!(dtype, T => unsafe { scan::linear::<T>(line, a, b, to); Ok(()) }, else {
                // SAFETY: as above.
                with_complex!(dtype, T => unsafe { scan::linear_complex::<T>(line, a, b, to); Ok(()) },
                    else error::dtype("cumprod: gradients are floats"))
            })
        })??;
        Ok([out])
    })?;
    if let Some(record) = Record::new("LinearScanBackward0", &[a, b]) {
        record.save(a).save_outputs().finish(&out, move |c| {
            let pull = linear(&following(c.saved(0)?, dim, reverse)?, &turned_grad(c)?, dim, !reverse)?;
            grads([
                c.when(0, || unturned(elementwise::mul(&pull, &previous(c.saved(1)?, dim, reverse, 0)?)?))?,
                c.when(1, || unturned(pull.clone()))?,
            ])
        });
    }
    Ok(out)
}

/// The product along `dim`; each element's gradient is the product of the others.
pub fn prod(x: &Tensor, dim: usize, keepdim: bool) -> Result<Tensor> {
    let dims: &[usize] = if x.rank() == 0 { &[] } else { &[dim] };
    let out = fold("prod", Fold::Prod, x, dims, keepdim)?;
    let rank = x.rank();
    if let Some(record) = Record::new("ProdBackward1", &[x]) {
        record.save(x).save_outputs().finish(&out, move |c| {
            let x = c.saved(0)?;
            let shown = |x: &Tensor| if x.rank() == rank { Ok(x.clone()) } else { movement::unsqueeze(x, dim) };
            if !has_true(&compare::eq(x, Arg::from(0))?)? {
                let ratio = elementwise::div(&shown(c.saved(1)?)?, x)?;
                return holomorphic(c, &|grad| elementwise::mul(&shown(grad)?, &ratio));
            }
            let before = previous(&cumprod(x, dim, false)?, dim, false, 1)?;
            let behind = previous(&cumprod(x, dim, true)?, dim, true, 1)?;
            holomorphic(c, &|grad| elementwise::mul(&shown(grad)?, &elementwise::mul(&before, &behind)?))
        });
    }
    Ok(out)
}

/// The logarithm of the running sum of exponentials.
pub fn logcumsumexp(x: &Tensor, dim: usize) -> Result<Tensor> {
    if x.dtype().is_complex() && x.rank() > 0 && x.size(dim) > 0 {
        return complex_logcumsumexp(x, dim);
    }
    crate::check::kind("logcumsumexp", x.dtype(), &[Kind::Float])?;
    let dtype = x.dtype();
    let [out] = through_cpu(x, |x| {
        let out = Tensor::zeroed(&x.shape(), dtype)?;
        let (input, output, geometry, target) = (Memory::of(x)?, Memory::of(&out)?, x.geometry(), out.geometry());
        let line = along(x, dim, false);
        guard::spread("logcumsumexp", x.numel(), || {
            let (from, to) =
                (Place { memory: input, geometry: &geometry }, Place { memory: output, geometry: &target });
            // SAFETY: tensors' geometries lie inside their storages, and `out` is fresh.
            with_float!(dtype, T => unsafe { scan::log_totals::<T>(line, from, to); Ok(()) },
                else error::dtype("logcumsumexp: expected floats"))
        })??;
        Ok([out])
    })?;
    if let Some(record) = Record::new("LogcumsumexpBackward0", &[x]) {
        record.save(x).save_outputs().finish(&out, move |c| {
            // exp(x[k]) * sum of grad[i] / exp(y[i]) over i >= k, carried as ratios that are at most 1.
            let (x, y) = (c.saved(0)?, c.saved(1)?);
            let ratio = elementwise::exp(&elementwise::sub(y, &following(y, dim, false)?)?)?;
            // Nothing is carried back from a sum that is infinite already.
            let full = elementwise::eq(y, f64::INFINITY)?;
            let ratio = elementwise::select(&full, Arg::from(0), Arg::from(&ratio))?;
            let pull = linear(&ratio, &c.grad()?, dim, true)?;
            grads([Some(elementwise::mul(&elementwise::exp(&elementwise::sub(x, y)?)?, &pull)?)])
        });
    }
    Ok(out)
}

/// The logarithm of the running sum of exponentials of complex numbers, one after the other.
fn complex_logcumsumexp(x: &Tensor, dim: usize) -> Result<Tensor> {
    let part = |at: usize| movement::slice(x, dim, at, 1, 1);
    let mut parts = vec![part(0)?];
    for at in 1..x.size(dim) {
        let next = part(at)?;
        let last = parts.last().unwrap_or(&next);
        parts.push(super::arithmetic::logaddexp_args(Arg::Tensor(last), Arg::Tensor(&next))?);
    }
    super::joining::cat(&parts, dim as isize)
}

/// Running extremes and where they stand; the gradient goes there.
fn running_extremes(op: &'static str, max: bool, x: &Tensor, dim: isize) -> Result<(Tensor, Tensor)> {
    let dim = wrap_dim(op, dim, x.rank())?;
    let dtype = x.dtype();
    let [values, indices] = through_cpu(x, |x| {
        let (values, indices) = (Tensor::zeroed(&x.shape(), dtype)?, Tensor::zeroed(&x.shape(), DType::I64)?);
        let tensors = [x, &values, &indices];
        let mut memories = [Memory::of(x)?; 3];
        for (slot, tensor) in memories.iter_mut().zip(tensors) {
            *slot = Memory::of(tensor)?;
        }
        let geometries: [Geometry; 3] = tensors.map(Tensor::geometry);
        let line = along(x, dim, false);
        guard::spread(op, x.numel(), || {
            let [from, to, at] = [0, 1, 2].map(|index| Place { memory: memories[index], geometry: &geometries[index] });
            // SAFETY: tensors' geometries lie inside their storages, and the outputs are fresh.
            with_element!(dtype, T => unsafe { scan::extremes::<T>(max, line, from, to, at); Ok(()) },
                else error::dtype(format!("{op}: not implemented for '{}'", dtype.scalar_type())))
        })??;
        Ok([values, indices])
    })?;
    let name = if max { "CummaxBackward0" } else { "CumminBackward0" };
    record_chosen(name, x, dim, &values, &indices, true);
    Ok((values, indices))
}

fn truth_refused(op: &str, dtype: Option<DTypeArg>) -> Result<()> {
    match dtype {
        Some(DTypeArg(DType::Bool)) => {
            error::dtype(format!("{op}: not implemented for 'Bool'; pass dtype=pyburn.int64"))
        }
        _ => Ok(()),
    }
}

#[pymethods]
impl PyTensor {
    /// The running sum along `dim`.
    #[pyo3(signature = (dim, *, dtype=None))]
    fn cumsum(&self, dim: isize, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let dim = wrap_dim("cumsum", dim, self.tensor.rank())?;
        truth_refused("cumsum", dtype)?;
        let (x, dtype) = as_summed(&self.tensor, dtype)?;
        narrowed(cumsum(&x, dim, false)?, dtype)
    }

    /// The running product along `dim`.
    #[pyo3(signature = (dim, *, dtype=None))]
    fn cumprod(&self, dim: isize, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let dim = wrap_dim("cumprod", dim, self.tensor.rank())?;
        truth_refused("cumprod", dtype)?;
        let (x, dtype) = as_summed(&self.tensor, dtype)?;
        narrowed(cumprod(&x, dim, false)?, dtype)
    }

    /// The logarithm of the running sum of exponentials along `dim`.
    fn logcumsumexp(&self, dim: isize) -> Result<Tensor> {
        logcumsumexp(&self.tensor, wrap_dim("logcumsumexp", dim, self.tensor.rank())?)
    }

    /// `cummax` and `cummin`: values and positions.
    fn _cumulative_extreme(&self, largest: bool, dim: isize) -> Result<(Tensor, Tensor)> {
        running_extremes(if largest { "cummax" } else { "cummin" }, largest, &self.tensor, dim)
    }

    /// The product over `dim`, or of all elements; integers and booleans are multiplied as int64.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None))]
    fn prod(&self, dim: Option<isize>, keepdim: bool, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let (x, dtype) = as_summed(&self.tensor, dtype)?;
        let out = match dim {
            Some(dim) => prod(&x, wrap_dim("prod", dim, x.rank())?, keepdim)?,
            None => prod(&movement::reshape(&x, &[x.numel()])?, 0, false)?,
        };
        narrowed(out, dtype)
    }
}
