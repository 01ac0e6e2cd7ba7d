//! Writes to tensors: torch's refusals, the write itself, and the history that follows from it.

use super::view::{Origin, base_edge};
use super::{Record, grad_enabled, grad_mode, grads, inference_enabled, refusal};
use crate::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::geometry::Geometry;

/// Writes a function of `target` into `target`: `x.add_(y)` is `update("add_", x, |x| add(x, y))`.
pub fn update(op: &str, target: &Tensor, make: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<()> {
    check(op, target)?;
    let value = make(target)?;
    assign(op, target, &value)
}

/// Writes `value` with its history into `target`, for callers that have called `check`.
pub fn assign(op: &str, target: &Tensor, value: &Tensor) -> Result<()> {
    if value.is(target) {
        return Ok(());
    }
    if !value.dtype().can_cast(target.dtype()) {
        return error::dtype(format!(
            "{op}: result type {} can't be cast to the desired output type {}",
            value.dtype().scalar_type(),
            target.dtype().scalar_type()
        ));
    }
    if value.shape() != target.shape() {
        return error::shape(format!(
            "{op}: output with shape {:?} doesn't match the broadcast shape {:?}",
            target.shape().as_slice(),
            value.shape().as_slice()
        ));
    }
    store(target, value)
}

/// Whether a write of `value` into `target` has a history.
pub fn is_recorded(target: &Tensor, value: &Tensor) -> bool {
    grad_enabled()
        && target.dtype().is_differentiable()
        && (value.requires_grad() || target.requires_grad() || base_requires_grad(target))
}

/// The write and its history; shapes are known to fit (value may broadcast).
pub fn store(target: &Tensor, value: &Tensor) -> Result<()> {
    refusal::check()?;
    let recorded = is_recorded(target, value);
    let shared = value.rank() > 0 && target.core().geometry.overlaps_itself();
    if !recorded {
        if shared {
            write_shared(target, value)?
        } else {
            target.write(value)?
        }
        target.core().storage.bump();
        return Ok(());
    }
    if shared {
        return error::runtime(OVERLAP);
    }
    if let Some(view) = &target.meta().read_recursive().view {
        // `check` could not know that the value needs gradients though the base does not.
        check_origin("write", view.origin)?;
    }
    let value = with_history(target, value)?;
    let edge = value.edge();
    if let Some(edge) = &edge {
        let mut state = edge.node.saved.lock();
        // Only the op's first argument is `self`; `x.mul_(x)` overwrites its second one, which torch refuses in backward.
        if let Some(saved) = state.tensors.iter_mut().find(|saved| saved.is_input(target)) {
            saved.set_aside()?;
        }
    }
    let base = target.base();
    let rebased = match &base {
        Some(base) => base_edge(base, &value, &target.geometry())?,
        None => None,
    };
    refusal::check()?;
    target.write(&value)?;
    target.core().storage.bump();
    if let Some(edge) = &edge {
        let mut state = edge.node.saved.lock();
        for saved in &mut state.tensors {
            saved.follow(target);
        }
    }
    match (base, rebased, edge) {
        // The view's own grad_fn is made anew from the base's when it is next asked for.
        (Some(base), Some(rebased), _) => base.set_grad_fn(rebased),
        (None, _, Some(edge)) => target.set_grad_fn(edge),
        _ => {}
    }
    Ok(())
}

/// Writes a value that does not depend on `target`: what `target` was computed from gets zeros, as in torch.
pub fn overwrite(target: &Tensor, value: &Tensor) -> Result<()> {
    let recorded =
        if target.dtype().is_differentiable() { Record::new("CopyBackwards", &[target, value]) } else { None };
    let Some(record) = recorded else { return store(target, value) };
    let shown = if value.dtype() == target.dtype() { value.detached() } else { value.converted(target.dtype())? };
    let shown = shown.alias(shown.geometry().expand(&target.shape()));
    // The engine undoes the broadcasting and the conversion.
    record.finish(&shown, |c| {
        let grad = c.grad()?;
        let zeros = || crate::ops::creation::zeros(&grad.shape(), grad.dtype(), grad.device());
        grads([c.when(0, zeros)?, Some(grad.clone())])
    });
    store(target, &shown)
}

fn base_requires_grad(target: &Tensor) -> bool {
    target.base().is_some_and(|base| base.requires_grad())
}

/// `value` as a recorded result in the target's shape and dtype, so that its edge can become the target's.
fn with_history(target: &Tensor, value: &Tensor) -> Result<Tensor> {
    let mut value = value.clone();
    if value.shape() != target.shape() {
        value = crate::ops::movement::expand(&value, &target.shape())?;
    }
    if value.dtype() != target.dtype() {
        value = crate::ops::creation::to_dtype(&value, target.dtype())?;
    }
    if value.requires_grad() && !value.is_leaf() {
        return Ok(value);
    }
    // A constant, or a leaf whose accumulator must not become the target's grad_fn.
    let out = value.detached();
    let _on = grad_mode(true);
    if let Some(record) = Record::new("CopyBackwards", &[target, &value]) {
        record.finish(&out, |c| {
            let grad = c.grad()?;
            grads([
                c.when(0, || crate::ops::creation::zeros(&grad.shape(), grad.dtype(), grad.device()))?,
                Some(grad.clone()),
            ])
        });
    }
    Ok(out)
}

/// torch's refusals, in torch's words.
pub fn check(op: &str, target: &Tensor) -> Result<()> {
    if target.core().geometry.overlaps_itself() {
        if !WRITES_SOME.contains(&op) {
            return error::runtime(format!("{op}: {OVERLAP}"));
        }
        warn_shared(op)?;
    }
    check_history(op, target)
}

/// Refuses to write to `target` what is computed from `other` where both share some memory, by torch's rule: the very
/// same elements are fine unless `whole`, and what does not fill its stretch of memory is not looked into.
pub fn check_apart(op: &str, target: &Tensor, other: &Tensor, whole: bool) -> Result<()> {
    if shares(target, other).is_some_and(|same| whole || !same) {
        return error::runtime(format!(
            "{op}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single \
             memory location. Please clone() the tensor before performing the operation."
        ));
    }
    Ok(())
}

/// None for tensors that share no memory as far as torch looks, else whether they are the same elements.
fn shares(one: &Tensor, other: &Tensor) -> Option<bool> {
    if one.is(other) {
        return Some(true);
    }
    let (a, b) = (one.core(), other.core());
    let (size, wide) = (a.geometry.numel() * a.dtype.size(), b.geometry.numel() * b.dtype.size());
    if size == 0 || wide == 0 || a.storage.address() != b.storage.address() {
        return None;
    }
    let (start, first) = (a.geometry.offset * a.dtype.size(), b.geometry.offset * b.dtype.size());
    let meet = start < first + wide && first < start + size;
    if !meet || !a.geometry.is_dense() || !b.geometry.is_dense() {
        return None;
    }
    Some(start == first && size == wide && a.geometry.strides == b.geometry.strides)
}

/// Writes to a part of the elements: torch takes these on expanded tensors too, with a warning.
const WRITES_SOME: [&str; 3] = ["masked_fill_", "index_fill_", "index_put_"];

const OVERLAP: &str = "unsupported operation: more than one element of the written-to tensor refers to a single memory \
                       location. Please clone() the tensor before performing the operation.";

fn warn_shared(op: &str) -> Result<()> {
    crate::guard::attached(|py| {
        let text = format!(
            "Use of {op} on expanded tensors is deprecated. Please clone() the tensor before performing this \
             operation. This also applies to advanced indexing e.g. tensor[indices] = tensor"
        );
        let text = std::ffi::CString::new(text).unwrap_or_default();
        Ok(pyo3::PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyUserWarning>(), &text, 2)?)
    })
}

/// Writes the elements of `value` that are new into a tensor some of whose elements are one in memory.
fn write_shared(target: &Tensor, value: &Tensor) -> Result<()> {
    use crate::ops::pointwise::Arg;
    use crate::ops::{compare, masked, rows};
    let geometry = target.geometry();
    let flat = target.alias(Geometry::contiguous(&[geometry.end()]));
    let numbers: Vec<i64> = (0..geometry.end() as i64).collect();
    let places = rows::from_integers(&numbers, &flat.shape(), target.device())?.alias(geometry).copied()?;
    let _quiet = grad_mode(false);
    let value = crate::ops::creation::to_dtype(value, target.dtype())?;
    let changed = compare::ne(&value, Arg::Tensor(target))?;
    let indices = vec![Some(masked::masked_select(&places, &changed)?)];
    let written =
        crate::tensor::indexing::index_put(&flat, &indices, &masked::masked_select(&value, &changed)?, false)?;
    flat.write(&written)
}

/// The refusals that concern the graph alone, for writes that change no element (`t_`, `unsqueeze_`).
pub fn check_history(op: &str, target: &Tensor) -> Result<()> {
    if target.core().storage.is_inference() && !inference_enabled() {
        return error::runtime(format!(
            "{op}: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to \
             get a normal tensor before doing inplace update."
        ));
    }
    if !grad_enabled() {
        return Ok(());
    }
    let meta = target.meta().read_recursive();
    if meta.requires_grad && meta.grad_fn.is_none() {
        return error::runtime(format!(
            "{op}: a leaf Variable that requires grad is being used in an in-place operation."
        ));
    }
    let Some(view) = &meta.view else { return Ok(()) };
    let (base, origin) = (view.base.clone(), view.origin);
    drop(meta);
    // A view may still have the history of a base that has given up its own.
    if !base.requires_grad() && !target.requires_grad() {
        return Ok(());
    }
    if base.is_leaf() {
        return error::runtime(format!(
            "{op}: a view of a leaf Variable that requires grad is being used in an in-place operation."
        ));
    }
    check_origin(op, origin)
}

/// Views that torch does not let take part in a recorded write.
fn check_origin(op: &str, origin: Origin) -> Result<()> {
    match origin {
        Origin::Ordinary => Ok(()),
        Origin::Multiple => error::runtime(format!(
            "{op}: this view is the output of a function that returns multiple views. Such functions do not allow \
             the output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )),
        Origin::NoGrad => error::runtime(format!(
            "{op}: a view was created in no_grad mode and is being modified inplace with grad mode enabled. Given \
             that this use case is ambiguous and error-prone, it is forbidden. Move both the view and the inplace \
             operation inside or outside the no_grad block."
        )),
    }
}
