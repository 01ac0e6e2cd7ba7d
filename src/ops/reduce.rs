//! Sums, means and truth over dimensions, with their rules.

use pyo3::prelude::*;

use super::elementwise::Arg;
use super::fold::fold;
pub use super::fold::reduced_shape;
use super::operand::Scalar;
use super::views::DimArg;
use super::{complex, creation, elementwise, movement};
use crate::autograd::{Record, grads};
use crate::dtype::{DType, DTypeArg, default_dtype};
use crate::error::{self, Result};
use crate::kernels::reducers::Fold;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::Dims;

/// The dimensions of an argument; none given, or an empty tuple, means all. A rank-0 tensor has none.
pub fn dims_of(op: &str, dim: Option<&DimArg>, rank: usize) -> Result<Vec<usize>> {
    let given = match dim {
        Some(dim) => dim.wrap(op, rank)?,
        None => Vec::new(),
    };
    Ok(if given.is_empty() || rank == 0 { (0..rank).collect() } else { given })
}

/// What a rule needs to bring a gradient back over the reduced dimensions.
#[derive(Clone)]
pub struct Shape {
    pub full: Dims,
    pub kept: Dims,
}

impl Shape {
    pub fn new(x: &Tensor, dims: &[usize]) -> Self {
        let full = x.shape();
        Self { kept: reduced_shape(&full, dims, true), full }
    }

    /// With size 1 where dimensions were reduced, so that it broadcasts against the input.
    pub fn keep(&self, reduced: &Tensor) -> Result<Tensor> {
        movement::reshape(reduced, &self.kept)
    }

    pub fn restore(&self, reduced: &Tensor) -> Result<Tensor> {
        movement::expand(&self.keep(reduced)?, &self.full)
    }
}

/// The sum over `dims` (all of them when empty); integers and booleans give int64.
pub fn sum(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    // torch has two backward functions, which printing a result shows.
    let name = if dims.is_empty() { "SumBackward0" } else { "SumBackward1" };
    let dims: Vec<usize> = if dims.is_empty() { (0..x.rank()).collect() } else { dims.to_vec() };
    let out = fold("sum", Fold::Sum, x, &dims, keepdim)?;
    if let Some(record) = Record::new(name, &[x]) {
        let shape = Shape::new(x, &dims);
        record.finish(&out, move |c| grads([Some(shape.restore(&c.grad()?)?)]));
    }
    Ok(out)
}

/// The input as the dtype that `dtype=` names. An integer or boolean is summed as int64 without a copy.
pub fn as_summed(x: &Tensor, dtype: Option<DTypeArg>) -> Result<(Tensor, Option<DType>)> {
    match dtype.map(|dtype| dtype.0) {
        None => Ok((x.clone(), None)),
        Some(dtype) if !dtype.is_differentiable() && !x.dtype().is_differentiable() && dtype != DType::Bool => {
            Ok((x.clone(), Some(dtype)))
        }
        Some(dtype) => Ok((creation::to_dtype(x, dtype)?, Some(dtype))),
    }
}

pub fn narrowed(out: Tensor, dtype: Option<DType>) -> Result<Tensor> {
    match dtype {
        Some(dtype) => creation::to_dtype(&out, dtype),
        None => Ok(out),
    }
}

pub fn mean(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    if !x.dtype().is_differentiable() {
        return error::dtype(format!(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. \
             Got: {}; pass dtype=pyburn.float32",
            x.dtype().scalar_type()
        ));
    }
    let name = if dims.is_empty() { "MeanBackward0" } else { "MeanBackward1" };
    let dims: Vec<usize> = if dims.is_empty() { (0..x.rank()).collect() } else { dims.to_vec() };
    let out = fold("mean", Fold::Mean, x, &dims, keepdim)?;
    if let Some(record) = Record::new(name, &[x]) {
        let shape = Shape::new(x, &dims);
        let count: usize = dims.iter().map(|&dim| x.size(dim)).product();
        record.finish(&out, move |c| {
            let share = elementwise::mul_scalar(&c.grad()?, Scalar::Float(1.0 / count as f64))?;
            grads([Some(shape.restore(&share)?)])
        });
    }
    Ok(out)
}

/// The sum of what is not NaN.
fn nansum(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return error::dtype(format!("nansum: not implemented for '{}'", x.dtype().scalar_type()));
    }
    if !x.dtype().is_float() {
        return sum(x, dims, keepdim);
    }
    let out = fold("nansum", Fold::NanSum, x, dims, keepdim)?;
    if let Some(record) = Record::new("NansumBackward0", &[x]) {
        let shape = Shape::new(x, dims);
        record.save(x).finish(&out, move |c| {
            let grad = shape.restore(&c.grad()?)?;
            let bad = elementwise::ne(c.saved(0)?, c.saved(0)?)?;
            grads([Some(elementwise::select(&bad, Arg::from(0), Arg::from(&grad))?)])
        });
    }
    Ok(out)
}

/// `log(sum(exp(x)))` without overflow.
pub fn logsumexp(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let x = &if x.dtype().is_differentiable() { x.clone() } else { creation::to_dtype(x, default_dtype())? };
    let shape = Shape::new(x, dims);
    let out = {
        let x = x.detached();
        let peak = if x.numel() == 0 {
            creation::zeros(&shape.kept, x.dtype().real(), x.device())?
        } else {
            let peak = fold("logsumexp", Fold::Max, &complex::real(&x)?, dims, true)?;
            let infinite = elementwise::eq(&elementwise::abs(&peak)?, f64::INFINITY)?;
            elementwise::select(&infinite, Arg::from(0), Arg::from(&peak))?
        };
        let total = sum(&elementwise::exp(&elementwise::sub(&x, &peak)?)?, dims, true)?;
        elementwise::add(&elementwise::log(&total)?, &peak)?.reshaped(&reduced_shape(&shape.full, dims, keepdim))?
    };
    if let Some(record) = Record::new("LogsumexpBackward0", &[x]) {
        record.save(x).save_outputs().finish(&out, move |c| {
            let share = elementwise::exp(&elementwise::sub(c.saved(0)?, &shape.keep(c.saved(1)?)?)?)?;
            complex::holomorphic(c, &|grad| elementwise::mul(&shape.keep(grad)?, &share))
        });
    }
    Ok(out)
}

/// `any` and `all`: booleans, but uint8 for uint8 as in torch.
pub fn truth(op: &str, which: Fold, x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return fold(op, which, &x.converted(DType::Bool)?, dims, keepdim);
    }
    let out = fold(op, which, x, dims, keepdim)?;
    if x.dtype() == DType::U8 { out.converted(DType::U8) } else { Ok(out) }
}

#[pymethods]
impl PyTensor {
    /// The sum over `dim`; integers and booleans are summed as int64.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None))]
    fn sum(&self, dim: Option<DimArg>, keepdim: bool, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let (x, dtype) = as_summed(&self.tensor, dtype)?;
        let dims = if dim.is_some() { dims_of("sum", dim.as_ref(), x.rank())? } else { Vec::new() };
        narrowed(sum(&x, &dims, keepdim)?, dtype)
    }

    /// The mean over `dim`.
    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None))]
    fn mean(&self, dim: Option<DimArg>, keepdim: bool, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let x = narrowed(self.tensor.clone(), dtype.map(|dtype| dtype.0))?;
        let dims = if dim.is_some() { dims_of("mean", dim.as_ref(), x.rank())? } else { Vec::new() };
        mean(&x, &dims, keepdim)
    }

    #[pyo3(signature = (dim=None, keepdim=false, *, dtype=None))]
    fn _nansum(&self, dim: Option<DimArg>, keepdim: bool, dtype: Option<DTypeArg>) -> Result<Tensor> {
        let (x, dtype) = as_summed(&self.tensor, dtype)?;
        narrowed(nansum(&x, &dims_of("nansum", dim.as_ref(), x.rank())?, keepdim)?, dtype)
    }

    /// The logarithm of the sum of exponentials over `dim`, without overflow.
    #[pyo3(signature = (dim, keepdim=false))]
    fn logsumexp(&self, dim: DimArg, keepdim: bool) -> Result<Tensor> {
        logsumexp(&self.tensor, &dims_of("logsumexp", Some(&dim), self.tensor.rank())?, keepdim)
    }

    /// Whether any value along `dim` is not zero.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn any(&self, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
        let dims = dims_of("any", dim.as_ref(), self.tensor.rank())?;
        truth("any", Fold::Any, &self.tensor, &dims, keepdim)
    }

    /// Whether every value along `dim` is not zero.
    #[pyo3(signature = (dim=None, keepdim=false))]
    fn all(&self, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
        let dims = dims_of("all", dim.as_ref(), self.tensor.rank())?;
        truth("all", Fold::All, &self.tensor, &dims, keepdim)
    }

    /// How many values along `dim` are not zero.
    #[pyo3(signature = (dim=None))]
    fn count_nonzero(&self, dim: Option<DimArg>) -> Result<Tensor> {
        let dims = dims_of("count_nonzero", dim.as_ref(), self.tensor.rank())?;
        let x =
            if self.tensor.dtype().is_complex() { self.tensor.converted(DType::Bool)? } else { self.tensor.clone() };
        fold("count_nonzero", Fold::CountNonzero, &x, &dims, false)
    }
}
