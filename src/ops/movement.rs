//! Views and reshapes: every view is a new geometry over the same storage, with a rule that moves gradients back.

use smallvec::SmallVec;

use super::reduce;
use crate::autograd::view::{Origin, mark};
use crate::autograd::{Context, Grads, Record, grads};
use crate::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::geometry::{Dims, Geometry, MAX_RANK};

/// Makes the view of `x` with this geometry; `rule` turns its gradient into that of `x`.
fn view_of(
    x: &Tensor,
    geometry: Geometry,
    name: &'static str,
    rule: impl Fn(&Context<'_>) -> Result<Grads> + Send + Sync + 'static,
) -> Result<Tensor> {
    if geometry.rank() > MAX_RANK {
        return error::shape(format!("a view with {} dimensions: tensors have at most {MAX_RANK}", geometry.rank()));
    }
    let out = x.alias(geometry);
    mark(&out, x, Origin::Ordinary);
    if let Some(record) = Record::new(name, &[x]) {
        record.finish(&out, rule);
    }
    Ok(out)
}

/// A view that shares memory but is no view for autograd: `detach()`.
pub fn detach(x: &Tensor) -> Tensor {
    x.detached()
}

/// Consecutive views of the given sizes along `dim`, results of one node.
pub fn split(x: &Tensor, dim: usize, sizes: &[usize]) -> Result<Vec<Tensor>> {
    let mut start = 0;
    let cut = |geometry: &Geometry, start: usize, size: usize| geometry.slice(dim, start, size, 1);
    let (geometry, plain) = (x.geometry(), Geometry::contiguous(&x.shape()));
    let mut views = Vec::with_capacity(sizes.len());
    for &size in sizes {
        views.push((cut(&geometry, start, size), cut(&plain, start, size)));
        start += size;
    }
    views_of(x, views, "SplitBackward0", move |grads| super::joining::cat(grads, dim as isize))
}

/// The views at each index of `dim`, results of one node.
pub fn unbind(x: &Tensor, dim: usize) -> Result<Vec<Tensor>> {
    let (geometry, plain) = (x.geometry(), Geometry::contiguous(&x.shape()));
    let views = (0..x.size(dim)).map(|index| (geometry.select(dim, index), plain.select(dim, index))).collect();
    views_of(x, views, "UnbindBackward0", move |grads| {
        let parts = grads.iter().map(|grad| unsqueeze(grad, dim)).collect::<Result<Vec<_>>>()?;
        super::joining::cat(&parts, dim as isize)
    })
}

/// Several views from one call; torch forbids writing to those. `views` are geometries over the storage, and over a
/// gradient of `x`; `join` puts the gradients of all views together.
fn views_of(
    x: &Tensor,
    views: Vec<(Geometry, Geometry)>,
    name: &'static str,
    join: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    let (views, places): (Vec<_>, Vec<_>) = views.into_iter().unzip();
    let outs: Vec<Tensor> = views.into_iter().map(|view| x.alias(view)).collect();
    for out in &outs {
        mark(out, x, Origin::Multiple);
    }
    if let Some(record) = Record::new(name, &[x]) {
        let shape = x.shape();
        record.finish_all(&outs.iter().collect::<Vec<_>>(), move |c| {
            if crate::autograd::grad_enabled() || c.grads.iter().flatten().any(|grad| !grad.device().is_cpu()) {
                let all = (0..places.len()).map(|index| c.grad_of(index)).collect::<Result<Vec<_>>>()?;
                return grads([Some(join(&all)?)]);
            }
            // Pieces that nobody used stay zero, and none is copied twice.
            let out = match c.node.outputs.first() {
                Some(first) => super::creation::zeros(&shape, first.dtype, first.device)?,
                None => return grads([None]),
            };
            for (grad, place) in c.grads.iter().zip(&places) {
                if let Some(grad) = grad {
                    out.alias(place.clone()).write(grad)?;
                }
            }
            grads([Some(out)])
        });
    }
    Ok(outs)
}

pub fn alias(x: &Tensor) -> Result<Tensor> {
    view_of(x, x.geometry(), "AliasBackward0", |c| grads([Some(c.grad()?)]))
}

/// The same elements in another shape; None where memory order does not allow a view.
pub fn try_view(x: &Tensor, shape: &[usize]) -> Result<Option<Tensor>> {
    let geometry = x.geometry();
    let Some(target) = geometry.view(shape) else { return Ok(None) };
    let old = geometry.shape;
    view_of(x, target, "ViewBackward0", move |c| grads([Some(reshape(&c.grad()?, &old)?)])).map(Some)
}

pub fn view(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    match try_view(x, shape)? {
        Some(out) => Ok(out),
        None => error::runtime(format!(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two \
             contiguous subspaces). Use .reshape(...) instead. view: size {shape:?} of a tensor of size {:?} and \
             stride {:?}",
            x.shape().as_slice(),
            x.geometry().strides.as_slice()
        )),
    }
}

/// A view where memory order allows, else a copy.
pub fn reshape(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    match try_view(x, shape)? {
        Some(out) => Ok(out),
        None => {
            // Not a view of the copy: nobody else has it, as with torch's _unsafe_view.
            let out = x.copied()?.reshaped(shape)?;
            if let Some(record) = Record::new("UnsafeViewBackward0", &[x]) {
                let old = x.shape();
                record.finish(&out, move |c| grads([Some(reshape(&c.grad()?, &old)?)]));
            }
            Ok(out)
        }
    }
}

/// Fills in the one size given as -1 and checks the element count.
pub fn infer_shape(op: &str, sizes: &[isize], numel: usize) -> Result<Dims> {
    let unknown = sizes.iter().filter(|&&size| size == -1).count();
    if let Some(bad) = sizes.iter().find(|&&size| size < -1) {
        return error::runtime(format!("{op}: invalid shape dimension {bad}"));
    }
    let known =
        sizes.iter().filter(|&&size| size >= 0).try_fold(1usize, |product, &size| product.checked_mul(size as usize));
    let fits = match (known, unknown) {
        (Some(known), 0) => known == numel,
        (Some(0), 1) => {
            return error::runtime(format!(
                "{op}: cannot reshape tensor of {numel} elements into shape {sizes:?} because the unspecified \
                 dimension size -1 can be any value and is ambiguous"
            ));
        }
        (Some(known), 1) => numel.is_multiple_of(known),
        (_, many) if many > 1 => return error::runtime(format!("{op}: only one dimension can be inferred")),
        _ => false,
    };
    if !fits {
        return error::shape(format!("{op}: shape '{sizes:?}' is invalid for input of size {numel}"));
    }
    let rest = numel / known.unwrap_or(1).max(1);
    Ok(sizes.iter().map(|&size| if size == -1 { rest } else { size as usize }).collect())
}

pub fn permute(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let mut back: Dims = SmallVec::from_elem(0, axes.len());
    for (to, &from) in axes.iter().enumerate() {
        back[from] = to;
    }
    view_of(x, x.geometry().permute(axes), "PermuteBackward0", move |c| grads([Some(permute(&c.grad()?, &back)?)]))
}

pub fn transpose(x: &Tensor, a: usize, b: usize) -> Result<Tensor> {
    view_of(x, x.geometry().transpose(a, b), "TransposeBackward0", move |c| grads([Some(transpose(&c.grad()?, a, b)?)]))
}

pub fn unsqueeze(x: &Tensor, dim: usize) -> Result<Tensor> {
    view_of(x, x.geometry().unsqueeze(dim), "UnsqueezeBackward0", move |c| grads([Some(squeeze(&c.grad()?, &[dim])?)]))
}

pub fn squeeze(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let old = x.shape();
    view_of(x, x.geometry().squeeze(dims), "SqueezeBackward0", move |c| grads([Some(reshape(&c.grad()?, &old)?)]))
}

/// Refuses to broadcast `old` to `shape` where a size is neither the same nor 1.
pub fn check_expand(op: &str, old: &[usize], shape: &[usize]) -> Result<()> {
    let Some(extra) = shape.len().checked_sub(old.len()) else {
        return error::shape(format!(
            "{op}: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the \
             tensor ({}). Target sizes: {shape:?}. Tensor sizes: {old:?}",
            shape.len(),
            old.len()
        ));
    };
    let wrong = |&(_, (&from, &to)): &(usize, (&usize, &usize))| from != to && from != 1;
    match old.iter().zip(&shape[extra..]).enumerate().find(wrong) {
        None => Ok(()),
        Some((dim, (from, to))) => error::shape(format!(
            "{op}: The expanded size of the tensor ({to}) must match the existing size ({from}) at non-singleton \
             dimension {}.  Target sizes: {shape:?}.  Tensor sizes: {old:?}",
            dim + extra
        )),
    }
}

pub fn expand(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let old = x.shape();
    check_expand("expand", &old, shape)?;
    view_of(x, x.geometry().expand(shape), "ExpandBackward0", move |c| grads([Some(sum_to(&c.grad()?, &old)?)]))
}

/// Undoes broadcasting: sums over the dimensions that `shape` does not have or has as 1.
pub fn sum_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let from = x.shape();
    if from.as_slice() == shape {
        return Ok(x.clone());
    }
    let Some(extra) = from.len().checked_sub(shape.len()) else {
        return error::shape(format!("sum_to: {:?} has fewer dimensions than {shape:?}", from.as_slice()));
    };
    let mut dims: Vec<usize> = (0..extra).collect();
    for (dim, &size) in shape.iter().enumerate() {
        if size == 1 && from[extra + dim] != 1 {
            dims.push(extra + dim);
        } else if size != from[extra + dim] {
            return error::shape(format!("sum_to: {:?} does not reduce to {shape:?}", from.as_slice()));
        }
    }
    let summed = if dims.is_empty() { x.clone() } else { reduce::sum(x, &dims, true)? };
    reshape(&summed, shape)
}

/// Elements `start, start + step, ...` along `dim`.
pub fn slice(x: &Tensor, dim: usize, start: usize, length: usize, step: usize) -> Result<Tensor> {
    let old = x.shape();
    view_of(x, x.geometry().slice(dim, start, length, step), "SliceBackward0", move |c| {
        let view = Geometry::contiguous(&old).slice(dim, start, length, step);
        grads([Some(embed(&c.grad()?, &old, &view)?)])
    })
}

pub fn select(x: &Tensor, dim: usize, index: usize) -> Result<Tensor> {
    let old = x.shape();
    view_of(x, x.geometry().select(dim, index), "SelectBackward0", move |c| {
        let view = Geometry::contiguous(&old).select(dim, index);
        grads([Some(embed(&c.grad()?, &old, &view)?)])
    })
}

pub fn diagonal(x: &Tensor, offset: isize, dim1: usize, dim2: usize) -> Result<Tensor> {
    let old = x.shape();
    view_of(x, x.geometry().diagonal(offset, dim1, dim2), "DiagonalBackward0", move |c| {
        let view = Geometry::contiguous(&old).diagonal(offset, dim1, dim2);
        grads([Some(embed(&c.grad()?, &old, &view)?)])
    })
}

pub fn unfold(x: &Tensor, dim: usize, size: usize, step: usize) -> Result<Tensor> {
    let old = x.shape();
    view_of(x, x.geometry().unfold(dim, size, step), "UnfoldBackward0", move |c| {
        let view = Geometry::contiguous(&old).unfold(dim, size, step);
        grads([Some(embed(&c.grad()?, &old, &view)?)])
    })
}

pub fn as_strided(x: &Tensor, view: Geometry) -> Result<Tensor> {
    let base = x.geometry();
    view_of(x, view.clone(), "AsStridedBackward0", move |c| {
        grads([Some(super::strided::accumulate(&c.grad()?, &base, &view)?)])
    })
}

/// Zeros of `shape` with `grad` at the places of `view`; overlapping places add up.
fn embed(grad: &Tensor, shape: &[usize], view: &Geometry) -> Result<Tensor> {
    super::strided::accumulate(grad, &Geometry::contiguous(shape), view)
}
