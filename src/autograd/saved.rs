//! Tensors kept for the backward pass, with the version that tells whether they were written to since.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pyo3::prelude::*;

use super::node::{Edge, Node};
use super::{grad_enabled, refusal};
use crate::error::{self, Error, Result};
use crate::guard;
use crate::tensor::Tensor;

const INFERENCE_SAVED: &str = "Inference tensors cannot be saved for backward. To work around you can make a clone to \
                               get a normal tensor and use it in autograd.";

const DETACHED: &str = "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not \
                        supported, please use out-of-place `.detach()` instead";

#[derive(Clone)]
pub struct Saved {
    kept: Kept,
    /// For a result: which output it is. Its own history is not stored, since that would be a cycle.
    output: Option<usize>,
}

#[derive(Clone)]
enum Kept {
    Tensor {
        tensor: Tensor,
        version: u32,
        /// Whether it was a result of recorded ops, which `detach_()` makes it forget.
        computed: bool,
    },
    Packed(Arc<Packed>),
}

/// What a pack hook made of a tensor, and how to get it back.
struct Packed {
    /// An exception of the hook is kept too: saving cannot fail, so that it is raised when the value is needed.
    object: PyResult<Py<PyAny>>,
    unpack: Py<PyAny>,
    edge: Option<Edge>,
}

struct HookPair {
    pack: Py<PyAny>,
    unpack: Py<PyAny>,
}

thread_local! {
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    static HOOKS: RefCell<Vec<HookPair>> = const { RefCell::new(Vec::new()) };
}

/// From now on, on this thread, `pack(tensor)` is kept instead of each tensor and `unpack` of it used in backward.
pub fn push_hooks(pack: Py<PyAny>, unpack: Py<PyAny>) {
    HOOKS.with_borrow_mut(|hooks| hooks.push(HookPair { pack, unpack }));
    HOOKED.set(true);
}

/// Ends the last `push_hooks` of this thread.
pub fn pop_hooks() {
    let last = HOOKS.with_borrow_mut(|hooks| {
        let last = hooks.pop();
        HOOKED.set(!hooks.is_empty());
        last
    });
    drop(last);
}

fn pack(tensor: &Tensor, edge: Option<Edge>) -> Option<Kept> {
    if !HOOKED.get() {
        return None;
    }
    guard::attached(|py| {
        // The hook may itself save tensors or change the hooks, so nothing stays borrowed while it runs.
        let (pack, unpack) = HOOKS.with_borrow(|hooks| {
            let pair = hooks.last()?;
            Some((pair.pack.clone_ref(py), pair.unpack.clone_ref(py)))
        })?;
        let object = pack.call1(py, (tensor.clone(),));
        Some(Kept::Packed(Arc::new(Packed { object, unpack, edge })))
    })
}

impl Packed {
    fn restore(&self) -> Result<Tensor> {
        guard::attached(|py| {
            let object = self.object.as_ref().map_err(|error| Error::Python(error.clone_ref(py)))?;
            let answer = self.unpack.call1(py, (object.clone_ref(py),))?;
            Ok(answer.extract::<Tensor>(py)?.detached())
        })
    }
}

impl Saved {
    pub fn input(tensor: &Tensor) -> Self {
        let (version, is_inference) = {
            let storage = &tensor.core().storage;
            (storage.version(), storage.is_inference())
        };
        if is_inference {
            refusal::note(|| INFERENCE_SAVED.to_string());
        }
        let packed = if HOOKED.get() { pack(tensor, tensor.edge()) } else { None };
        let computed = tensor.meta().read_recursive().grad_fn.is_some();
        let plain = || Kept::Tensor { tensor: tensor.clone(), version, computed };
        Self { kept: packed.unwrap_or_else(plain), output: None }
    }

    pub fn output(tensor: &Tensor, index: usize) -> Self {
        let plain = || Kept::Tensor { tensor: tensor.detached(), version: tensor.version(), computed: false };
        Self { kept: pack(tensor, None).unwrap_or_else(plain), output: Some(index) }
    }

    /// The tensor with its place in the graph, or torch's error when it was modified in between.
    pub fn unpack(self, node: &Arc<Node>) -> Result<Tensor> {
        let output = self.output;
        let tensor = self.unpack_for(&node.name)?;
        match output {
            Some(index) if grad_enabled() => {
                let tensor = tensor.detached();
                tensor.set_grad_fn(Edge::to(node.clone(), index));
                Ok(tensor)
            }
            _ => Ok(tensor),
        }
    }

    /// As `unpack`, for a Python function, which attaches its own results.
    pub fn unpack_for(self, name: &str) -> Result<Tensor> {
        match self.kept {
            Kept::Tensor { tensor, version, computed } => {
                check(&tensor, version, self.output.unwrap_or(0), name)?;
                if computed && tensor.meta().read_recursive().grad_fn.is_none() {
                    return error::runtime(DETACHED);
                }
                Ok(tensor)
            }
            Kept::Packed(packed) => {
                let tensor = packed.restore()?;
                if let Some(edge) = &packed.edge
                    && grad_enabled()
                {
                    tensor.set_grad_fn(edge.clone());
                }
                Ok(tensor)
            }
        }
    }

    pub fn is_output(&self) -> bool {
        self.output.is_some()
    }

    pub fn is_input(&self, target: &Tensor) -> bool {
        matches!(&self.kept, Kept::Tensor { tensor, .. } if self.output.is_none() && tensor.is(target))
    }

    /// Before `tensor` is written to: keeps its present value, and its present place in the graph, apart.
    pub fn set_aside(&mut self) -> Result<()> {
        if let Kept::Tensor { tensor, version, .. } = &mut self.kept {
            let edge = tensor.edge();
            let copy = tensor.copied()?;
            if let Some(edge) = edge {
                copy.set_grad_fn(edge);
            }
            *version = copy.version();
            *tensor = copy;
        }
        Ok(())
    }

    /// After a result was written into `target`: a later write to it makes the saved value wrong.
    pub fn follow(&mut self, target: &Tensor) {
        if let Kept::Tensor { tensor, version, .. } = &mut self.kept
            && self.output.is_some()
            && tensor.dtype() == target.dtype()
        {
            *tensor = target.detached();
            *version = target.version();
        }
    }
}

fn check(tensor: &Tensor, expected: u32, output: usize, name: &str) -> Result<()> {
    if tensor.core().storage.is_inference() {
        return error::runtime(INFERENCE_SAVED);
    }
    let version = tensor.version();
    if version == expected {
        return Ok(());
    }
    error::runtime(format!(
        "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.{}Tensor {:?}], \
         which is output {output} of {name}, is at version {version}; expected version {expected} instead. Hint: \
         clone the tensor before writing to it, or enable anomaly detection to find the operation that failed to \
         compute its gradient, with pyburn.autograd.set_detect_anomaly(True).",
        tensor.dtype().scalar_type(),
        tensor.shape().as_slice(),
    ))
}
