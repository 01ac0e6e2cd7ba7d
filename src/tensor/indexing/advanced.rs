//! Index tensors and masks: which rows they name, and reading and writing those.

use super::basic::Indices;
use crate::autograd::inplace;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::index::Update;
use crate::ops::convert::inverse;
use crate::ops::rows::{self, Rows};
use crate::ops::{creation, masked, movement};
use crate::tensor::Tensor;
use crate::tensor::geometry::{Dims, broadcast, loop_strides};

/// Where the rows of an indexed tensor lie, and what shape the result has.
pub struct Plan {
    /// The order of dimensions in which the indexed ones stand together; None where they do already.
    order: Option<Vec<usize>>,
    rows: Rows,
    pub shape: Dims,
    /// The order in memory that torch gives the result, where that is not row-major.
    strides: Option<Dims>,
}

/// Masks become the coordinates of their true elements; everything else must be int64 or int32.
pub fn expand_masks(x: &Tensor, indices: &Indices) -> Result<Indices> {
    let mut out: Indices = Vec::with_capacity(indices.len());
    let shape = x.shape();
    let mut skip = 0;
    for index in indices {
        let Some(tensor) = index else {
            if skip > 0 {
                skip -= 1
            } else {
                out.push(None)
            }
            continue;
        };
        match tensor.dtype() {
            DType::I64 | DType::I32 => out.push(Some(tensor.clone())),
            DType::Bool | DType::U8 => {
                for (place, &size) in tensor.shape().iter().enumerate() {
                    if shape.get(out.len() + place) != Some(&size) {
                        return error::index(format!(
                            "The shape of the mask {:?} at index {place} does not match the shape of the indexed \
                             tensor {:?} at index {}",
                            tensor.shape().as_slice(),
                            shape.as_slice(),
                            out.len() + place
                        ));
                    }
                }
                skip = tensor.rank().saturating_sub(1);
                out.extend(masked::coordinates(tensor)?.into_iter().map(Some));
            }
            _ => return error::index("tensors used as indices must be long, int, byte or bool tensors"),
        }
    }
    if out.len() > shape.len() {
        return error::index(format!("too many indices for tensor of dimension {}", shape.len()));
    }
    Ok(out)
}

pub fn plan(x: &Tensor, indices: &Indices) -> Result<Plan> {
    let shape = x.shape();
    let given: Vec<(usize, &Tensor)> =
        indices.iter().enumerate().filter_map(|(dim, index)| index.as_ref().map(|index| (dim, index))).collect();
    let mut common: Dims = Dims::new();
    for (_, index) in &given {
        common = broadcast("index", &common, &index.shape()).or_else(|_| {
            let shapes: Vec<String> =
                given.iter().map(|(_, index)| format!("{:?}", index.shape().as_slice())).collect();
            error::index(format!(
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            ))
        })?;
    }
    let dims: Vec<usize> = given.iter().map(|(dim, _)| *dim).collect();
    let first = dims.first().copied().unwrap_or(0);
    let adjacent = dims.iter().enumerate().all(|(place, &dim)| dim == first + place);
    let lead = if adjacent { first } else { 0 };
    let mut order: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
    order.splice(lead..lead, dims.iter().copied());
    let sizes = |dims: &[usize]| -> Dims { dims.iter().filter_map(|&dim| shape.get(dim).copied()).collect() };
    let before = sizes(order.get(..lead).unwrap_or_default());
    let after = sizes(order.get(lead + dims.len()..).unwrap_or_default());
    let inner = combined(x, &given, &common)?;
    let (span, outer) = (sizes(&dims).iter().product(), before.iter().product());
    let ordered = order.iter().enumerate().all(|(place, &dim)| place == dim);
    let strides = result_strides(x, &given, &common, &order, lead);
    Ok(Plan {
        strides,
        order: (!ordered).then_some(order),
        rows: Rows::within(inner, outer, span, after.iter().product()),
        shape: before.into_iter().chain(common).chain(after).collect(),
    })
}

/// In which order torch's loop over the result runs, which is how it lies in memory: the steps of the indexed tensor decide
/// over the dimensions that are kept, those of the index tensors over theirs.
fn result_strides(
    x: &Tensor,
    given: &[(usize, &Tensor)],
    common: &[usize],
    order: &[usize],
    lead: usize,
) -> Option<Dims> {
    if !x.device().is_cpu() || (x.is_contiguous() && given.iter().all(|(_, index)| index.is_contiguous())) {
        return None;
    }
    let geometry = x.geometry();
    let kept = |part: Option<&[usize]>, sizes: &Dims| -> Dims {
        part.unwrap_or_default().iter().filter_map(|&dim| sizes.get(dim).copied()).collect()
    };
    let (before, after) = (order.get(..lead), order.get(lead + given.len()..));
    let place = |before: Dims, middle: &[usize], after: Dims| -> Dims {
        before.into_iter().chain(middle.iter().copied()).chain(after).collect()
    };
    let nothing = |part: Option<&[usize]>| -> Dims { part.unwrap_or_default().iter().map(|_| 0).collect() };
    let shape = place(kept(before, &geometry.shape), common, kept(after, &geometry.shape));
    let middle: Dims = common.iter().map(|_| 0).collect();
    let mut operands = vec![place(kept(before, &geometry.strides), &middle, kept(after, &geometry.strides))];
    for (_, index) in given {
        operands.push(place(nothing(before), &index.geometry().expand(common).strides, nothing(after)));
    }
    loop_strides(&shape, &operands)
}

/// The index tensors as one number per element of their common shape, checked against the sizes.
fn combined(x: &Tensor, given: &[(usize, &Tensor)], common: &[usize]) -> Result<Vec<i64>> {
    let shape = x.shape();
    let count: usize = common.iter().product();
    let mut out = vec![0i64; count];
    for (dim, index) in given {
        let size = shape.get(*dim).copied().unwrap_or(1) as i64;
        let expanded = index.alias(index.geometry().expand(common));
        for (slot, number) in out.iter_mut().zip(rows::places(&expanded, x)?) {
            if number < -size || number >= size {
                return error::index(format!("index {number} is out of bounds for dimension {dim} with size {size}"));
            }
            *slot = *slot * size + if number < 0 { number + size } else { number };
        }
    }
    Ok(out)
}

fn kept(source: &Indices) -> Vec<&Tensor> {
    source.iter().flatten().collect()
}

fn arranged(x: &Tensor, order: Option<&Vec<usize>>) -> Result<Tensor> {
    match order {
        Some(order) => movement::permute(x, order),
        None => Ok(x.clone()),
    }
}

/// `x[indices]` for index tensors: a copy.
pub fn index(x: &Tensor, indices: &Indices) -> Result<Tensor> {
    let expanded = expand_masks(x, indices)?;
    let plan = plan(x, &expanded)?;
    let source = arranged(x, plan.order.as_ref())?;
    rows::take_as("IndexBackward0", &source, &plan.rows, &plan.shape, plan.strides.as_deref(), &kept(indices))
}

/// `x` with `values` put at the indices, added there when `accumulate`.
pub fn index_put(x: &Tensor, indices: &Indices, values: &Tensor, accumulate: bool) -> Result<Tensor> {
    need_same(x, values)?;
    let plan = plan(x, &expand_masks(x, indices)?)?;
    let values = spread(x, &plan, values)?;
    put_planned(x, indices, &plan, &values, accumulate)
}

/// Writes `values` to the indices of `x` itself, as `x[indices] = values` does; the caller has asked `inplace::check`.
pub fn index_put_here(x: &Tensor, indices: &Indices, values: &Tensor) -> Result<()> {
    let plan = plan(x, &expand_masks(x, indices)?)?;
    let values = super::without_leading_ones(values, plan.shape.len())?;
    need_same(x, &values)?;
    let values = spread(x, &plan, &values)?;
    if plan.order.is_none() && rows::put_here(x, &plan.rows, &values, Update::Assign)? {
        return Ok(());
    }
    inplace::assign("index_put_", x, &put_planned(x, indices, &plan, &values, false)?)
}

fn need_same(x: &Tensor, values: &Tensor) -> Result<()> {
    if values.dtype() == x.dtype() {
        return Ok(());
    }
    error::dtype(format!(
        "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
        x.dtype().scalar_type(),
        values.dtype().scalar_type()
    ))
}

/// The values as the plan's places take them.
fn spread(x: &Tensor, plan: &Plan, values: &Tensor) -> Result<Tensor> {
    let values = creation::to_device(values, x.device())?;
    movement::expand(&values, &plan.shape).or_else(|_| {
        error::shape(format!(
            "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result of shape {:?}",
            values.shape().as_slice(),
            plan.shape.as_slice()
        ))
    })
}

fn put_planned(x: &Tensor, indices: &Indices, plan: &Plan, values: &Tensor, accumulate: bool) -> Result<Tensor> {
    let update = if accumulate { Update::Add } else { Update::Assign };
    let source = arranged(x, plan.order.as_ref())?;
    let out = rows::put("IndexPutBackward0", &source, &plan.rows, values, update, &kept(indices))?;
    match &plan.order {
        None => Ok(out),
        Some(order) => movement::permute(&out, &inverse(order)),
    }
}
