//! Variance, standard deviation and norms over dimensions.

use pyo3::prelude::*;

use super::elementwise::Arg;
use super::extreme::winners;
use super::fold::fold;
use super::operand::Scalar;
use super::reduce::{self, Shape, dims_of};
use super::views::DimArg;
use super::{complex, creation, elementwise, movement};
use crate::autograd::{Record, grads};
use crate::dtype::Kind;
use crate::error::{self, Result};
use crate::kernels::reducers::Fold;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

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
    if x.dtype().is_complex() {
        let part = |part: Tensor| var(&part, dims, correction, keepdim);
        return elementwise::add(&part(complex::real(x)?)?, &part(complex::imag(x)?)?);
    }
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
    if x.dtype().is_complex() {
        return elementwise::sqrt(&var(x, dims, correction, keepdim)?);
    }
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
fn quiet_div(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let zero = elementwise::eq(b, 0)?;
    let below = elementwise::select(&zero, Arg::from(1), Arg::from(b))?;
    elementwise::select(&zero, Arg::from(0), Arg::from(&elementwise::div(a, &below)?))
}

/// The p-norm over `dims`.
pub fn norm(x: &Tensor, p: f64, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return norm(&elementwise::abs(x)?, p, dims, keepdim);
    }
    check("norm", x)?;
    let count: usize = dims.iter().map(|&dim| x.size(dim)).product();
    if count == 0 && (p.is_infinite() || p < 0.0) {
        return error::runtime(format!(
            "norm: cannot compute the {p} norm of no elements, because the operation does not have an identity"
        ));
    }
    let out = fold("norm", Fold::Norm(p), x, dims, keepdim)?;
    if let Some(record) = Record::new("LinalgVectorNormBackward0", &[x]) {
        let (shape, dims) = (Shape::new(x, dims), dims.to_vec());
        record.save(x).save_outputs().finish(&out, move |c| {
            let (x, out) = (c.saved(0)?, shape.keep(c.saved(1)?)?);
            grads([Some(norm_slope(x, &out, &shape.keep(&c.grad()?)?, p, &dims)?)])
        });
    }
    Ok(out)
}

fn norm_slope(x: &Tensor, out: &Tensor, grad: &Tensor, p: f64, dims: &[usize]) -> Result<Tensor> {
    let power = |base: &Tensor, exponent: f64| elementwise::pow_args(Arg::Tensor(base), Arg::from(exponent));
    let size = || elementwise::abs(x);
    if p == 0.0 {
        return creation::zeros(&x.shape(), x.dtype(), x.device());
    }
    if p == 1.0 {
        return elementwise::mul(&elementwise::sign(x)?, grad);
    }
    if p == 2.0 {
        return elementwise::mul(x, &quiet_div(grad, out)?);
    }
    if p.is_infinite() {
        let share = winners(&size()?, &movement::expand(out, &x.shape())?, dims, true)?;
        return elementwise::mul(&elementwise::mul(&elementwise::sign(x)?, grad)?, &share);
    }
    let direction = if p < 1.0 {
        let steep = elementwise::mul(&elementwise::sign(x)?, &power(&size()?, p - 1.0)?)?;
        elementwise::select(&elementwise::eq(x, 0)?, Arg::from(0), Arg::Tensor(&steep))?
    } else if p < 2.0 {
        elementwise::mul(&elementwise::sign(x)?, &power(&size()?, p - 1.0)?)?
    } else {
        elementwise::mul(x, &power(&size()?, p - 2.0)?)?
    };
    elementwise::mul(&direction, &quiet_div(grad, &power(out, p - 1.0)?)?)
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

    /// The p-norm over `dim`.
    fn _norm(&self, p: f64, dim: Option<DimArg>, keepdim: bool) -> Result<Tensor> {
        let dims = dims_of("norm", dim.as_ref(), self.tensor.rank())?;
        norm(&self.tensor, p, &dims, keepdim)
    }
}
