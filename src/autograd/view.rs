//! Views in the graph: which base they show, and how gradients pass between a base and its views after writes.

use crate::autograd::{Edge, Record, grad_enabled, grad_mode, grads, inference_enabled, refusal};
use crate::error::Result;
use crate::ops;
use crate::tensor::Tensor;
use crate::tensor::geometry::Geometry;

/// Why a view may not be written to in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Ordinary,
    /// `split`, `chunk`, `unbind`: several views from one call.
    Multiple,
    /// Made under `no_grad`.
    NoGrad,
}

pub struct ViewOf {
    /// The tensor that owns the history; never itself a view.
    pub base: Tensor,
    /// The version for which the view's own `grad_fn` is right.
    pub seen: u32,
    pub origin: Origin,
}

impl Tensor {
    /// Whether somebody wrote to the shared memory since this view's `grad_fn` was made.
    pub fn is_stale_view(&self) -> bool {
        if !self.meta().is_used() {
            return false;
        }
        match &self.meta().read_recursive().view {
            Some(view) => view.seen != self.version(),
            None => false,
        }
    }

    /// The tensor whose history a write to this one changes.
    pub fn base(&self) -> Option<Tensor> {
        if !self.meta().is_used() {
            return None;
        }
        self.meta().read_recursive().view.as_ref().map(|view| view.base.clone())
    }
}

/// Makes `view`, an alias of `source`, one of its differentiable views.
pub fn mark(view: &Tensor, source: &Tensor, origin: Origin) {
    if inference_enabled() && source.core().storage.is_inference() {
        return;
    }
    let (base, inherited) = match &source.meta().read_recursive().view {
        Some(parent) => (parent.base.clone(), parent.origin),
        None => (source.clone(), Origin::Ordinary),
    };
    let origin = match (origin, inherited) {
        (Origin::Ordinary, Origin::Ordinary) if !grad_enabled() => Origin::NoGrad,
        (Origin::Ordinary, inherited) => inherited,
        (origin, _) => origin,
    };
    view.meta().write().view = Some(Box::new(ViewOf { base, seen: view.version(), origin }));
}

/// Why such a view cannot be used any more, in torch's words.
fn stale(origin: Origin) -> String {
    match origin {
        Origin::NoGrad => "A view was created in no_grad mode and its base or another view of its base has been \
                           modified inplace with grad mode enabled. Given that this use case is ambiguous and \
                           error-prone, it is forbidden. Move both the view and the inplace operation inside or \
                           outside the no_grad block."
            .to_string(),
        _ => "An output of a function that returns multiple views is a view and its base or another view of its base \
              has been modified inplace. Such functions do not allow the output views to be modified inplace. You \
              should replace the inplace operation by an out-of-place one."
            .to_string(),
    }
}

/// Derives a view's `grad_fn` anew from its base after a write.
pub fn regenerate(tensor: &Tensor) {
    let Some(base) = tensor.base() else { return };
    // The view stays stale: its base may come to need gradients later, and then they reach it through the base.
    if !base.requires_grad() && tensor.meta().read_recursive().grad_fn.is_none() {
        return;
    }
    if let Some(view) = &tensor.meta().read_recursive().view {
        let origin = view.origin;
        if origin != Origin::Ordinary {
            refusal::note(|| stale(origin));
            return;
        }
    }
    let version = tensor.version();
    let edge = {
        let _on = grad_mode(true);
        let (from, to, dtype) = (base.geometry(), tensor.geometry(), base.dtype());
        let scratch = tensor.detached();
        match Record::new("AsStridedBackward0", &[&base]) {
            Some(record) => {
                record.finish(&scratch, move |c| {
                    grads([Some(ops::strided::accumulate_as(dtype, &c.grad()?, &from, &to)?)])
                });
                scratch.meta().read_recursive().grad_fn.clone()
            }
            None => None,
        }
    };
    let mut meta = tensor.meta().write();
    if let Some(view) = meta.view.as_mut() {
        view.seen = version;
    }
    if edge.is_some() {
        meta.grad_fn = edge;
        meta.requires_grad = false;
    }
}

/// The history of `base` after `value` (with its own history) was written through a view of geometry `to`.
pub fn base_edge(base: &Tensor, value: &Tensor, to: &Geometry) -> Result<Option<Edge>> {
    let from = base.geometry();
    let to = to.clone();
    let scratch = base.detached();
    let dtype = value.dtype();
    if let Some(record) = Record::new("CopySlices", &[base, value]) {
        record.finish(&scratch, move |c| {
            let grad = c.grad()?;
            grads([
                c.when(0, || ops::strided::cleared_as(dtype, &grad, &from, &to))?,
                c.when(1, || ops::strided::gather_as(dtype, &grad, &from, &to))?,
            ])
        });
    }
    let edge = scratch.meta().read_recursive().grad_fn.clone();
    Ok(edge)
}
