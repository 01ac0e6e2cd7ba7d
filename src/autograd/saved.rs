//! Tensors kept for the backward pass, with the version that tells whether they were written to since.

use std::sync::Arc;

use super::grad_enabled;
use super::node::{Edge, Node};
use crate::error::{self, Result};
use crate::tensor::Tensor;

#[derive(Clone)]
pub struct Saved {
    tensor: Tensor,
    version: u32,
    /// For a result: which output it is. Its own history is not stored, since that would be a cycle.
    output: Option<usize>,
}

impl Saved {
    pub fn input(tensor: &Tensor) -> Self {
        Self { tensor: tensor.clone(), version: tensor.version(), output: None }
    }

    pub fn output(tensor: &Tensor, index: usize) -> Self {
        Self { tensor: tensor.detached(), version: tensor.version(), output: Some(index) }
    }

    /// The tensor with its place in the graph, or torch's error when it was modified in between.
    pub fn unpack(&self, node: &Arc<Node>) -> Result<Tensor> {
        self.check(&node.name)?;
        match self.output {
            Some(index) if grad_enabled() => {
                let tensor = self.tensor.detached();
                tensor.set_grad_fn(Edge::to(node.clone(), index));
                Ok(tensor)
            }
            _ => Ok(self.tensor.clone()),
        }
    }

    /// As `unpack`, for a Python function, which attaches its own results.
    pub fn unpack_for(&self, name: &str) -> Result<Tensor> {
        self.check(name)?;
        Ok(self.tensor.clone())
    }

    fn check(&self, name: &str) -> Result<()> {
        let version = self.tensor.version();
        if version != self.version {
            return error::runtime(format!(
                "one of the variables needed for gradient computation has been modified by an inplace operation: \
                 [{} {:?}], which is output {} of {}, is at version {version}; expected version {} instead. Hint: \
                 clone the tensor before writing to it, or enable anomaly detection to find the operation that \
                 failed to compute its gradient, with pyburn.autograd.set_detect_anomaly(True).",
                self.tensor.dtype().name(),
                self.tensor.shape().as_slice(),
                self.output.unwrap_or(0),
                name,
                self.version
            ));
        }
        Ok(())
    }

    pub fn is_input(&self, tensor: &Tensor) -> bool {
        self.output.is_none() && self.tensor.is(tensor)
    }

    /// Before `tensor` is written to: keeps its present value, and its present place in the graph, apart.
    pub fn set_aside(&mut self) -> Result<()> {
        let edge = self.tensor.edge();
        let copy = self.tensor.copied()?;
        if let Some(edge) = edge {
            copy.set_grad_fn(edge);
        }
        self.version = copy.version();
        self.tensor = copy;
        Ok(())
    }

    /// After a result was written into `target`: a later write to it makes the saved value wrong.
    pub fn follow(&mut self, target: &Tensor) {
        if self.output.is_some() && self.tensor.dtype() == target.dtype() {
            self.tensor = target.detached();
            self.version = target.version();
        }
    }
}
