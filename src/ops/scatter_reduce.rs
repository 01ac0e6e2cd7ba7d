//! Rows folded into rows by number with a sum, product, mean or extreme: `scatter_reduce` and `index_reduce`.

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use pyo3::prelude::*;

use super::operand::Scalar;
use super::rows::{self, Rows};
use super::{creation, elementwise, indexing, masked};
use crate::autograd::{Context, Grads, Record, grads};
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::kernels::index::Update;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, wrap_dim};
use crate::tensor::{Tensor, device_view};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Sum,
    Prod,
    Mean,
    Amax,
    Amin,
}

impl Fold {
    fn parse(op: &str, name: &str) -> Result<Self> {
        Ok(match name {
            "sum" => Self::Sum,
            "prod" => Self::Prod,
            "mean" => Self::Mean,
            "amax" => Self::Amax,
            "amin" => Self::Amin,
            _ => {
                return error::runtime(format!(
                    "{op}: reduce argument must be either sum, prod, mean, amax or amin, got {name}"
                ));
            }
        })
    }

    fn update(self) -> Update {
        match self {
            Self::Sum | Self::Mean => Update::Add,
            Self::Prod => Update::Mul,
            Self::Amax => Update::Max,
            Self::Amin => Update::Min,
        }
    }

    /// The value that changes nothing, for the places whose own value does not count.
    fn neutral(self, x: &Tensor) -> Scalar {
        match self {
            Self::Sum | Self::Mean => Scalar::Int(0),
            Self::Prod => Scalar::Int(1),
            // A GPU stores int64 as int32.
            _ if x.dtype() == DType::I64 && !x.device().is_cpu() => lowest(DType::I32, self == Self::Amin),
            Self::Amax | Self::Amin => lowest(x.dtype(), self == Self::Amin),
        }
    }
}

/// The lowest value of a type, or the highest.
fn lowest(dtype: DType, highest: bool) -> Scalar {
    if dtype.is_differentiable() {
        return Scalar::Float(if highest { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    let bits = 8 * dtype.size() as u32;
    match (dtype, highest) {
        (DType::Bool, highest) => Scalar::Bool(highest),
        (dtype, false) if !dtype.is_signed() => Scalar::Int(0),
        (dtype, true) if !dtype.is_signed() => Scalar::Int(if bits < 64 { (1i64 << bits) - 1 } else { -1 }),
        (_, true) => Scalar::Int(i64::MAX >> (64 - bits)),
        (_, false) => Scalar::Int(i64::MIN >> (64 - bits)),
    }
}

fn number(value: Scalar, like: &Tensor) -> Result<Tensor> {
    creation::full(&like.shape(), value, like.dtype(), like.device())
}

fn assign(x: &Tensor, rows: &Rows, value: Scalar) -> Result<Tensor> {
    let once = rows.once()?;
    let values = creation::full(&[once.count() * once.block], value, x.dtype(), x.device())?;
    rows::put_raw(x, &once, &values, Update::Assign)
}

/// 1 where the two are equal, else 0, as numbers of their dtype.
fn equal(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (kind, shape, dtype) = (a.kind(), a.shape(), a.dtype());
    let store = device_view::bool_store(a.device())?;
    let same = Tensor::compute("eq", &[&a.detached(), &b.detached()], DType::Bool, move |mut values| {
        let right = values.swap_remove(1);
        let left = values.swap_remove(0);
        match kind {
            Kind::Int => Dispatch::int_equal(left, right, store),
            _ => Dispatch::float_equal(left, right, store),
        }
    })?;
    same.reshaped(&shape)?.converted(dtype)
}

/// How many values met at each place.
fn counts(x: &Tensor, rows: &Rows, include_self: bool) -> Result<Tensor> {
    let mut count = number(Scalar::Int(1), x)?;
    if !include_self {
        count = assign(&count, rows, Scalar::Int(0))?;
    }
    let ones = creation::full(&[rows.count() * rows.block], Scalar::Int(1), x.dtype(), x.device())?;
    rows::put_raw(&count, rows, &ones, Update::Add)
}

/// `x` divided by how many values met at each place: those of one row are as many, and are counted once.
fn shared_out(sums: &Tensor, x: &Tensor, rows: &Rows, include_self: bool) -> Result<Tensor> {
    let Some((dim, vector)) = rows.as_vector() else {
        return elementwise::div(sums, &counts(x, rows, include_self)?);
    };
    let line = creation::zeros(&[x.size(dim)], x.dtype(), x.device())?;
    let sizes: Dims = x.shape().iter().enumerate().map(|(at, &size)| if at == dim { size } else { 1 }).collect();
    elementwise::div(sums, &counts(&line, &vector, include_self)?.reshaped(&sizes)?)
}

fn value(x: &Tensor, rows: &Rows, source: &Tensor, fold: Fold, include_self: bool) -> Result<Tensor> {
    let base = if include_self { x.detached() } else { assign(x, rows, fold.neutral(x))? };
    let out = rows::put_raw(&base, rows, &source.detached(), fold.update())?;
    if fold != Fold::Mean {
        return Ok(out);
    }
    if x.dtype().is_differentiable() {
        return shared_out(&out, x, rows, include_self);
    }
    // Integers round down, as torch's mean over an index does.
    let count = counts(&x.converted(DType::I64)?, rows, include_self)?;
    let numbers: Vec<i64> = rows::places(&out, x)?
        .into_iter()
        .zip(rows::places(&count, x)?)
        .map(|(sum, count)| sum.div_euclid(count.max(1)))
        .collect();
    rows::from_integers(&numbers, &x.shape(), x.device())?.converted(x.dtype())
}

fn fold_rows(
    name: &'static str,
    x: &Tensor,
    rows: &Rows,
    source: &Tensor,
    fold: Fold,
    include_self: bool,
    index: &Tensor,
) -> Result<Tensor> {
    if x.dtype() == DType::Bool && fold == Fold::Mean {
        return error::dtype("scatter_reduce: mean is not defined for bool tensors");
    }
    let out = value(x, rows, source, fold, include_self)?;
    if let Some(record) = Record::new(name, &[x, source]) {
        let rows = rows.clone();
        record
            .save(x)
            .save(source)
            .save(index)
            .save_outputs()
            .finish(&out, move |c| rule(c, &rows, fold, include_self));
    }
    Ok(out)
}

fn rule(c: &Context<'_>, rows: &Rows, fold: Fold, include_self: bool) -> Result<Grads> {
    let (x, source, out) = (c.saved(0)?, c.saved(1)?, c.saved(3)?);
    let grad = c.grad()?;
    let at = |values: &Tensor| rows::take("IndexBackward0", values, rows, &source.shape(), &[]);
    let (mut own, theirs) = match fold {
        Fold::Sum => (grad.clone(), at(&grad)?),
        Fold::Mean => {
            let share = shared_out(&grad, x, rows, include_self)?;
            (share.clone(), at(&share)?)
        }
        Fold::Amax | Fold::Amin => {
            let (mine, yours) = (equal(x, out)?, equal(source, &at(&out.detached())?)?);
            // torch counts a value of its own that equals the result even where it takes no part.
            let winners = rows::put_raw(&mine, rows, &yours, Update::Add)?;
            let share = elementwise::div(&grad, &at_least_one(&winners)?)?;
            (elementwise::mul(&share, &mine)?, elementwise::mul(&at(&share)?, &yours)?)
        }
        Fold::Prod => product_rule(c, rows, include_self)?,
    };
    if !include_self {
        let zeros = number(Scalar::Int(0), source)?;
        own = rows::put("IndexPutBackward0", &own, rows, &zeros, Update::Assign, &[])?;
    }
    grads([Some(own), Some(theirs)])
}

fn is_zero(x: &Tensor) -> Result<Tensor> {
    equal(x, &number(Scalar::Int(0), x)?)
}

fn at_least_one(x: &Tensor) -> Result<Tensor> {
    masked::masked_fill(
        x,
        &is_zero(x)?.converted(DType::Bool)?,
        &creation::full(&[], Scalar::Int(1), x.dtype(), x.device())?,
    )
}

/// The product of all values but one, which cannot be had by dividing where that one is zero; recorded step by step.
fn product_rule(c: &Context<'_>, rows: &Rows, include_self: bool) -> Result<(Tensor, Tensor)> {
    let (grad, x, source, index, out) = (&c.grad()?, c.saved(0)?, c.saved(1)?, c.saved(2)?, c.saved(3)?);
    let at = |values: &Tensor| rows::take("IndexBackward0", values, rows, &source.shape(), &[]);
    let product = |x: &Tensor, source: &Tensor| {
        fold_rows("ScatterReduceBackward0", x, rows, source, Fold::Prod, include_self, index)
    };
    let safe = at_least_one(x)?;
    let own = elementwise::div(&elementwise::mul(grad, &product(&safe, source)?)?, &safe)?;
    let zero = is_zero(source)?;
    let zeros = at(&rows::put_raw(&number(Scalar::Int(0), x)?, rows, &zero, Update::Add)?)?;
    let single = elementwise::mul(&zero, &equal(&zeros, &number(Scalar::Int(1), &zeros)?)?)?;
    let one = creation::full(&[], Scalar::Int(1), source.dtype(), source.device())?;
    let filled = masked::masked_fill(source, &single.converted(DType::Bool)?, &one)?;
    let divided = elementwise::div(&at(&elementwise::mul(grad, out)?)?, &at_least_one(source)?)?;
    let direct = at(&elementwise::mul(grad, &product(x, &filled)?)?)?;
    // Where the only zero of a product stands, its own gradient is the product of the others.
    let rest = elementwise::add(&elementwise::neg(&single)?, &one)?;
    let theirs = elementwise::add(&elementwise::mul(&direct, &single)?, &elementwise::mul(&divided, &rest)?)?;
    Ok((own, theirs))
}

#[pymethods]
impl PyTensor {
    /// This tensor with `src` folded in at the positions that `index` names along `dim`.
    #[pyo3(signature = (dim, index, src, reduce, *, include_self=true))]
    fn scatter_reduce(
        &self,
        dim: isize,
        index: Tensor,
        src: Tensor,
        reduce: &str,
        include_self: bool,
    ) -> Result<Tensor> {
        let x = &self.tensor;
        let fold = Fold::parse("scatter_reduce", reduce)?;
        let dim = wrap_dim("scatter_reduce", dim, x.rank())?;
        let (rows, values) = indexing::scatter_parts("scatter_reduce", x, dim, &index, &src.into())?;
        fold_rows("ScatterReduceBackward0", x, &rows, &values, fold, include_self, &index)
    }

    /// This tensor with the sub-tensors of `source` folded into those at `index`.
    #[pyo3(signature = (dim, index, source, reduce, *, include_self=true))]
    fn index_reduce(
        &self,
        dim: isize,
        index: Tensor,
        source: Tensor,
        reduce: &str,
        include_self: bool,
    ) -> Result<Tensor> {
        let x = &self.tensor;
        if reduce == "sum" {
            return error::runtime("index_reduce: reduce argument must be either prod, mean, amax or amin, got sum");
        }
        let fold = Fold::parse("index_reduce", reduce)?;
        let dim = wrap_dim("index_reduce", dim, x.rank())?;
        let rows = indexing::slab_rows("index_reduce", x, dim, &index, &source)?;
        fold_rows("IndexReduceBackward0", x, &rows, &source, fold, include_self, &index)
    }
}
