//! Variance and standard deviation over dimensions.

use burn_backend::ops::FloatTensorOps;
use burn_dispatch::Dispatch;
use burn_std::Scalar as BurnScalar;
use pyo3::prelude::*;

use super::fold::fold;
use super::operand::Scalar;
use super::reduce::{self, Shape, dims_of};
use super::views::DimArg;
use super::{creation, elementwise};
use crate::autograd::{Record, grads};
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::kernels::reducers::Fold;
use crate::tensor::class::PyTensor;
use crate::tensor::{Tensor, device_view};

fn check(op: &str, x: &Tensor) -> Result<()> {
    if x.kind() == Kind::Float {
        return Ok(());
    }
    error::dtype(format!(
        "{op}: only support floating point and complex dtypes, got {}; convert with .float() first",
        x.dtype().name()
    ))
}

/// The gradient of the variance: deviations from the mean, scaled.
fn spread(x: &Tensor, grad: &Tensor, shape: &Shape, dims: &[usize], correction: f64) -> Result<Tensor> {
    let count: usize = dims.iter().map(|&dim| x.size(dim)).product();
    let scale = Scalar::Float(2.0 / (count as f64 - correction).max(0.0));
    let apart = elementwise::sub(x, &reduce::mean(x, dims, true)?)?;
    elementwise::mul(&elementwise::mul_scalar(&shape.keep(grad)?, scale)?, &apart)
}

pub fn var(x: &Tensor, dims: &[usize], correction: f64, keepdim: bool) -> Result<Tensor> {
    check("var", x)?;
    let out = fold("var", Fold::Var { correction, root: false }, x, dims, keepdim)?;
    if let Some(record) = Record::new("VarBackward0", &[x]) {
        let (shape, dims) = (Shape::new(x, dims), dims.to_vec());
        record
            .save(x)
            .finish(&out, move |c| grads([Some(spread(c.saved(0)?, &c.grad()?, &shape, &dims, correction)?)]));
    }
    Ok(out)
}

pub fn std(x: &Tensor, dims: &[usize], correction: f64, keepdim: bool) -> Result<Tensor> {
    check("std", x)?;
    let out = fold("std", Fold::Var { correction, root: true }, x, dims, keepdim)?;
    if let Some(record) = Record::new("StdBackward0", &[x]) {
        let (shape, dims) = (Shape::new(x, dims), dims.to_vec());
        record.save(x).save_outputs().finish(&out, move |c| {
            let grad = elementwise::mul_scalar(&quiet_div(&c.grad()?, c.saved(1)?)?, Scalar::Float(0.5))?;
            grads([Some(spread(c.saved(0)?, &grad, &shape, &dims, correction)?)])
        });
    }
    Ok(out)
}

/// `a / b`, and 0 (without a gradient) where `b` is 0.
pub fn quiet_div(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let store = device_view::bool_store(b.device())?;
    let zero = Tensor::compute("eq", &[&b.detached()], DType::Bool, move |mut values| {
        Dispatch::float_equal_elem(values.swap_remove(0), BurnScalar::Float(0.0), store)
    })?
    .converted(b.dtype())?;
    let one = creation::full(&[], Scalar::Int(1), b.dtype(), b.device())?;
    let live = elementwise::sub(&one, &zero)?;
    elementwise::mul(&elementwise::div(a, &elementwise::add(b, &zero)?)?, &live)
}

#[pymethods]
impl PyTensor {
    /// The variance over `dim` with `count - correction` degrees of freedom.
    fn _var(&self, dim: Option<DimArg>, correction: f64, keepdim: bool) -> Result<Tensor> {
        let dims = dims_of("var", dim.as_ref(), self.tensor.rank())?;
        var(&self.tensor, &dims, correction, keepdim)
    }

    /// The square root of `_var`.
    fn _std(&self, dim: Option<DimArg>, correction: f64, keepdim: bool) -> Result<Tensor> {
        let dims = dims_of("std", dim.as_ref(), self.tensor.rank())?;
        std(&self.tensor, &dims, correction, keepdim)
    }
}
