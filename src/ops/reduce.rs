//! Sums and other reductions over dimensions.

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use burn_std::Shape;

use super::movement;
use crate::autograd::{Record, grads};
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::geometry::Dims;

/// The dimensions that remain after reducing over `dims`.
pub fn reduced_shape(shape: &[usize], dims: &[usize], keepdim: bool) -> Dims {
    shape
        .iter()
        .enumerate()
        .filter(|(dim, _)| keepdim || !dims.contains(dim))
        .map(|(dim, &size)| if dims.contains(&dim) { 1 } else { size })
        .collect()
}

/// The sum over `dims` (all of them when empty); integers and booleans give int64.
pub fn sum(x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let dtype = if x.dtype().is_differentiable() { x.dtype() } else { DType::I64 };
    let input = super::creation::to_dtype(&x.detached(), dtype)?;
    let every: Vec<usize> = (0..x.rank()).collect();
    let dims: Vec<usize> = if dims.is_empty() { every } else { dims.to_vec() };
    let shape = x.shape();
    let target = reduced_shape(&shape, &dims, keepdim);
    let over = dims.clone();
    let out = Tensor::compute("sum", &[&input], dtype, move |mut values| {
        let mut value = values.swap_remove(0);
        for &dim in &over {
            value = match dtype.kind() {
                Kind::Int => Dispatch::int_sum_dim(value, dim),
                _ => Dispatch::float_sum_dim(value, dim),
            };
        }
        let shape = Shape::from(target.to_vec());
        crate::tensor::prim::reshape(dtype.kind(), value, shape)
    })?;
    if let Some(record) = Record::new("SumBackward1", &[x]) {
        let kept = reduced_shape(&shape, &dims, true);
        record.finish(&out, move |c| {
            let grad = movement::reshape(&c.grad()?, &kept)?;
            grads([Some(movement::expand(&grad, &shape)?)])
        });
    }
    Ok(out)
}
