//! The tape: nodes, saved tensors, the engine that runs them backwards, and how writes change history.

pub mod engine;
pub mod inplace;
pub mod node;
pub mod python;
pub mod refusal;
pub mod saved;
pub mod view;

use std::cell::Cell;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::{Py, PyAny};
use smallvec::SmallVec;

use crate::error::{self, Result};
use crate::tensor::Tensor;
pub use node::{Context, Edge, Grads, Node, Record};
pub use view::ViewOf;

/// A tensor's place in the graph.
#[derive(Default)]
pub struct Meta {
    /// Set on leaves by `requires_grad_()`; other tensors need gradients because they have a `grad_fn`.
    pub requires_grad: bool,
    pub grad_fn: Option<Edge>,
    pub grad: Option<Tensor>,
    /// The Python object of `grad` once it was shown: its class and attributes live as long as the gradient.
    pub grad_object: Option<Py<PyAny>>,
    pub retains_grad: bool,
    /// The leaf's gradient sink while some graph uses it.
    pub accumulator: Weak<Node>,
    /// Set when this tensor shows another one's memory, so that writes reach the base's history.
    pub view: Option<Box<ViewOf>>,
    pub hooks: Option<Box<LeafHooks>>,
}

/// Hooks of a leaf. They belong to the tensor, since its gradient sink lives only as long as a graph.
#[derive(Default)]
pub struct LeafHooks {
    /// They see, and may replace, the gradient.
    pub grad: Vec<(u64, Py<PyAny>)>,
    /// Called with the leaf after its gradient has been accumulated.
    pub post: Vec<(u64, Py<PyAny>)>,
}

/// A tensor's `Meta` behind its lock. Most tensors never enter a graph, and need no lock to say so.
#[derive(Default)]
pub struct MetaCell {
    used: AtomicBool,
    meta: RwLock<Meta>,
}

impl MetaCell {
    /// Whether anything was ever written here.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    pub fn read_recursive(&self) -> RwLockReadGuard<'_, Meta> {
        self.meta.read_recursive()
    }

    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, Meta>> {
        self.meta.try_read_recursive()
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, Meta> {
        self.used.store(true, Ordering::Relaxed);
        self.meta.write()
    }

    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, Meta>> {
        self.used.store(true, Ordering::Relaxed);
        self.meta.try_write()
    }
}

thread_local! {
    static GRAD_MODE: Cell<bool> = const { Cell::new(true) };
    static INFERENCE: Cell<bool> = const { Cell::new(false) };
    static ANOMALY: Cell<(bool, bool)> = const { Cell::new((false, true)) };
}

pub fn grad_enabled() -> bool {
    GRAD_MODE.get()
}

pub fn inference_enabled() -> bool {
    INFERENCE.get()
}

/// Sets whether ops are recorded on this thread, until the guard is dropped.
pub fn grad_mode(enabled: bool) -> ModeGuard {
    ModeGuard(GRAD_MODE.replace(enabled))
}

pub struct ModeGuard(bool);

impl Drop for ModeGuard {
    fn drop(&mut self) {
        GRAD_MODE.set(self.0);
    }
}

impl Tensor {
    #[inline(always)]
    pub fn requires_grad(&self) -> bool {
        self.meta().is_used() && self.is_marked()
    }

    /// `requires_grad` of a tensor about which something is known.
    fn is_marked(&self) -> bool {
        let meta = self.meta().read_recursive();
        if meta.requires_grad || meta.grad_fn.is_some() {
            return true;
        }
        // torch's rule: also a view that was made too early, or under `no_grad`, to have a history of its base.
        meta.view.as_ref().is_some_and(|view| view.base.requires_grad())
    }

    pub fn is_leaf(&self) -> bool {
        let history = || self.is_stale_view() && self.base().is_some_and(|base| base.requires_grad());
        self.meta().read_recursive().grad_fn.is_none() && !history()
    }

    /// Where a gradient for this tensor goes: its `grad_fn`, or for a leaf its accumulator.
    pub fn edge(&self) -> Option<Edge> {
        if !self.meta().is_used() {
            return None;
        }
        if self.is_stale_view() {
            view::regenerate(self);
        }
        {
            let meta = self.meta().read_recursive();
            if let Some(edge) = &meta.grad_fn {
                return Some(edge.clone());
            }
            if !meta.requires_grad {
                return None;
            }
        }
        Some(Edge::accumulator(self))
    }

    /// Sets `.grad`, and forgets the Python object of the one before.
    pub fn set_grad(&self, grad: Option<Tensor>) {
        let mut meta = self.meta().write();
        let old = (std::mem::replace(&mut meta.grad, grad), meta.grad_object.take());
        drop(meta);
        // Dropping may run Python code, which must find the lock free.
        drop(old);
    }

    pub fn set_grad_fn(&self, edge: Edge) {
        let mut meta = self.meta().write();
        meta.requires_grad = false;
        meta.grad_fn = Some(edge);
    }

    pub fn set_requires_grad(&self, value: bool) -> Result<()> {
        if value && !self.dtype().is_differentiable() {
            return error::runtime(format!(
                "only Tensors of floating point and complex dtype can require gradients, got {}",
                self.dtype().name()
            ));
        }
        if value && self.core().storage.is_inference() && !inference_enabled() {
            return error::runtime(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Make a clone to \
                 get a normal tensor first.",
            );
        }
        if !self.is_leaf() {
            if value {
                return Ok(());
            }
            return error::runtime(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable \
                 in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
            );
        }
        self.meta().write().requires_grad = value;
        Ok(())
    }
}

/// Whether a new op over `inputs` must be recorded.
pub fn needs_grad(inputs: &[&Tensor]) -> bool {
    grad_enabled() && inputs.iter().any(|input| input.requires_grad())
}

/// The gradients of a rule, one per input.
pub fn grads<const N: usize>(values: [Option<Tensor>; N]) -> Result<Grads> {
    Ok(SmallVec::from_iter(values))
}
