//! Nodes of the graph: what an op must do when a gradient for its result arrives.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use super::saved::Saved;
use super::{ANOMALY, grad_enabled};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::tensor::geometry::Dims;
use crate::tensor::{Inner, Tensor};

pub type Grads = SmallVec<[Option<Tensor>; 2]>;

/// One op of the forward pass.
pub struct Node {
    pub name: std::borrow::Cow<'static, str>,
    /// Later ops have higher numbers; the engine runs the highest ready node first.
    pub sequence: u64,
    pub inputs: SmallVec<[Option<Edge>; 2]>,
    pub outputs: SmallVec<[Output; 1]>,
    pub body: Body,
    pub saved: Mutex<SavedState>,
    pub hooks: Mutex<Option<Box<Hooks>>>,
    /// The Python lines that ran the op, under `detect_anomaly`.
    pub trace: Option<Box<str>>,
}

/// What a gradient for one output must look like.
#[derive(Clone)]
pub struct Output {
    pub shape: Dims,
    pub dtype: DType,
    pub device: Device,
}

type Rule = dyn Fn(&Context<'_>) -> Result<Grads> + Send + Sync;

pub enum Body {
    /// A backward rule of ours, written with recorded ops so that it can be differentiated again.
    Rule(Box<Rule>),
    /// Adds to a leaf's `.grad`. Strong: a leaf that only the graph knows still gets its hooks called, and is still of
    /// its subclass, whose object is held too.
    Accumulate(Tensor, Option<Py<PyAny>>),
    /// `autograd.Function`: an object with `_run(grads, node)` and `_release()`.
    Python(Py<PyAny>),
}

#[derive(Default)]
pub struct SavedState {
    pub tensors: SmallVec<[Saved; 2]>,
    pub freed: bool,
    /// Set on the last node of an op that is made of several, each recorded for itself.
    pub whole: Option<Box<Whole>>,
}

/// What `grad_fn` shows of an op that is made of several: its own name and inputs.
pub struct Whole {
    pub name: &'static str,
    pub inputs: SmallVec<[Option<Edge>; 2]>,
}

#[derive(Default)]
pub struct Hooks {
    /// Tensor hooks: they see, and may replace, the gradient of one output.
    pub tensor: Vec<(u64, usize, Py<PyAny>)>,
    /// `grad_fn.register_prehook` and `register_hook`.
    pub pre: Vec<(u64, Py<PyAny>)>,
    pub post: Vec<(u64, Py<PyAny>)>,
    /// A weak reference to the Python object that shows the node, so that it is one while somebody holds it.
    pub shown: Option<Py<PyAny>>,
    /// `grad_fn.metadata`.
    pub metadata: Option<Py<PyDict>>,
    /// Tensors with `retain_grad()`.
    pub retain: Vec<(usize, std::sync::Weak<Inner>)>,
}

/// A counted reference to a node whose last drop never recurses: chains of any length are freed in a loop.
#[derive(Clone)]
pub struct NodeRef(Option<Arc<Node>>);

/// Nodes above which a freed graph is worth asking the allocator to return its pages.
const LARGE_GRAPH: usize = 10_000;

thread_local! {
    static PENDING: RefCell<Option<Vec<Arc<Node>>>> = const { RefCell::new(None) };
}

impl Deref for NodeRef {
    type Target = Arc<Node>;

    fn deref(&self) -> &Arc<Node> {
        match &self.0 {
            Some(node) => node,
            // Only `drop` empties the slot.
            None => unreachable!("a dropped node reference was used"),
        }
    }
}

impl Drop for NodeRef {
    fn drop(&mut self) {
        let Some(node) = self.0.take() else { return };
        if Arc::strong_count(&node) > 1 {
            return;
        }
        let draining = PENDING
            .try_with(|pending| match pending.borrow_mut().as_mut() {
                Some(queue) => {
                    queue.push(node.clone());
                    true
                }
                None => false,
            })
            .unwrap_or(true);
        if draining {
            return;
        }
        PENDING.with(|pending| *pending.borrow_mut() = Some(vec![node]));
        let mut freed = 0;
        while let Some(node) = PENDING.with(|pending| pending.borrow_mut().as_mut().and_then(Vec::pop)) {
            drop(node);
            freed += 1;
        }
        PENDING.with(|pending| *pending.borrow_mut() = None);
        if freed > LARGE_GRAPH {
            crate::kernels::allocator::give_back();
        }
    }
}

/// Points at one output of a node.
#[derive(Clone)]
pub struct Edge {
    pub node: NodeRef,
    pub index: usize,
}

static SEQUENCE: AtomicU64 = AtomicU64::new(1);
pub static HOOK_ID: AtomicU64 = AtomicU64::new(1);

impl Output {
    pub fn of(tensor: &Tensor) -> Self {
        let core = tensor.core();
        Self { shape: core.geometry.shape.clone(), dtype: core.dtype, device: core.storage.place() }
    }
}

impl Edge {
    pub fn to(node: Arc<Node>, index: usize) -> Self {
        Self { node: NodeRef(Some(node)), index }
    }

    pub fn accumulator(leaf: &Tensor) -> Self {
        if let Some(node) = leaf.meta().read_recursive().accumulator.upgrade() {
            return Self::to(node, 0);
        }
        // Asked before the lock is taken: whoever has Python's may wait for ours.
        let object = leaf.subclass_object();
        let mut meta = leaf.meta().write();
        if let Some(node) = meta.accumulator.upgrade() {
            return Self::to(node, 0);
        }
        let node = Arc::new(Node {
            name: "AccumulateGrad".into(),
            sequence: u64::MAX,
            inputs: SmallVec::new(),
            outputs: SmallVec::from_elem(Output::of(leaf), 1),
            body: Body::Accumulate(leaf.clone(), object),
            saved: Mutex::default(),
            hooks: Mutex::default(),
            trace: None,
        });
        meta.accumulator = Arc::downgrade(&node);
        Self::to(node, 0)
    }
}

impl Edge {
    /// Where no gradient ever arrives.
    pub fn unreachable() -> Self {
        let node = Node {
            name: "Identity".into(),
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            body: Body::Rule(Box::new(|_| Ok(Grads::new()))),
            saved: Mutex::default(),
            hooks: Mutex::default(),
            trace: None,
        };
        Self::to(Arc::new(node), 0)
    }
}

impl Node {
    pub fn is_leaf(&self) -> bool {
        matches!(self.body, Body::Accumulate(..))
    }

    /// Makes this node, the last of several that an op was made of, stand for the op: writes to what torch's op keeps
    /// are refused in backward, and `grad_fn` shows torch's name and the op's own inputs.
    pub fn stand_for(&self, name: &'static str, inputs: &[Option<&Tensor>], kept: impl Iterator<Item = Saved>) {
        let edge = |input: &Tensor| input.edge().filter(|_| input.dtype().is_differentiable());
        let inputs = inputs.iter().map(|input| input.and_then(edge)).collect();
        let mut state = self.saved.lock();
        state.tensors.extend(kept);
        state.whole = Some(Box::new(Whole { name, inputs }));
    }

    pub fn with_hooks<T>(&self, change: impl FnOnce(&mut Hooks) -> T) -> T {
        change(self.hooks.lock().get_or_insert_with(Box::default))
    }
}

/// Everything a rule may look at.
pub struct Context<'a> {
    pub node: &'a Arc<Node>,
    pub grads: &'a [Option<Tensor>],
    saved: SmallVec<[Tensor; 2]>,
    needs: SmallVec<[bool; 2]>,
}

impl<'a> Context<'a> {
    pub fn new(node: &'a Arc<Node>, grads: &'a [Option<Tensor>], needs: SmallVec<[bool; 2]>) -> Result<Self> {
        let state = node.saved.lock();
        if state.freed {
            return error::runtime(
                "Trying to backward through the graph a second time (or directly access saved tensors after they \
                 have already been freed). Saved intermediate values of the graph are freed when you call .backward() \
                 or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second \
                 time or if you need to access saved tensors after calling backward.",
            );
        }
        // Unpacking may call Python, which must not wait for this lock.
        let kept = state.tensors.clone();
        drop(state);
        let saved = kept.into_iter().map(|saved| saved.unpack(node)).collect::<Result<_>>()?;
        Ok(Self { node, grads, saved, needs })
    }

    /// The gradient of the first output.
    pub fn grad(&self) -> Result<Tensor> {
        self.grad_of(0)
    }

    /// The gradient of one output, zeros where none arrived.
    pub fn grad_of(&self, index: usize) -> Result<Tensor> {
        if let Some(Some(grad)) = self.grads.get(index) {
            return Ok(grad.clone());
        }
        match self.node.outputs.get(index) {
            Some(output) => crate::ops::creation::zeros(&output.shape, output.dtype, output.device),
            None => error::runtime(format!("{}: no output {index}", self.node.name)),
        }
    }

    pub fn saved(&self, index: usize) -> Result<&Tensor> {
        match self.saved.get(index) {
            Some(tensor) => Ok(tensor),
            None => error::runtime(format!("{}: no saved tensor {index}", self.node.name)),
        }
    }

    /// Whether anybody wants the gradient of this input.
    pub fn needs(&self, index: usize) -> bool {
        self.needs.get(index).copied().unwrap_or(false)
    }

    /// The gradient of an input where it is wanted, else nothing.
    pub fn when(&self, index: usize, make: impl FnOnce() -> Result<Tensor>) -> Result<Option<Tensor>> {
        if self.needs(index) { make().map(Some) } else { Ok(None) }
    }
}

/// Builds the node of an op that is being recorded.
pub struct Record {
    name: std::borrow::Cow<'static, str>,
    inputs: SmallVec<[Option<Edge>; 2]>,
    saved: SmallVec<[Saved; 2]>,
    save_outputs: bool,
}

impl Record {
    /// None when grad mode is off or no input needs gradients: then nothing is saved at all.
    pub fn new(name: &'static str, inputs: &[&Tensor]) -> Option<Self> {
        Self::named(name.into(), inputs)
    }

    pub fn named(name: std::borrow::Cow<'static, str>, inputs: &[&Tensor]) -> Option<Self> {
        if !grad_enabled() {
            return None;
        }
        if !inputs.iter().any(|input| input.meta().is_used()) {
            return None;
        }
        let edges: SmallVec<[Option<Edge>; 2]> =
            inputs.iter().map(|input| input.edge().filter(|_| input.dtype().is_differentiable())).collect();
        if edges.iter().all(Option::is_none) && !inputs.iter().any(|input| is_cut_off(input)) {
            return None;
        }
        Some(Self { name, inputs: edges, saved: SmallVec::new(), save_outputs: false })
    }

    /// Whether gradients will flow to this input.
    pub fn needs(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(Option::is_some)
    }

    /// Keeps an input's value for the rule, who finds them in this order as `saved(0)`, `saved(1)`, ...
    pub fn save(mut self, tensor: &Tensor) -> Self {
        self.saved.push(Saved::input(tensor));
        self
    }

    /// Keeps the results after the saved inputs.
    pub fn save_outputs(mut self) -> Self {
        self.save_outputs = true;
        self
    }

    pub fn finish(self, output: &Tensor, rule: impl Fn(&Context<'_>) -> Result<Grads> + Send + Sync + 'static) {
        self.finish_all(&[output], rule);
    }

    /// Outputs that cannot carry gradients (indices, masks) are passed over.
    pub fn finish_all(self, outputs: &[&Tensor], rule: impl Fn(&Context<'_>) -> Result<Grads> + Send + Sync + 'static) {
        self.link(outputs, Body::Rule(Box::new(rule)));
    }

    pub fn link(mut self, outputs: &[&Tensor], body: Body) {
        if self.save_outputs {
            for (index, output) in outputs.iter().enumerate() {
                self.saved.push(Saved::output(output, index));
            }
        }
        let trace = ANOMALY.get().0.then(stack_text).flatten();
        let node = Arc::new(Node {
            name: self.name,
            sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
            inputs: self.inputs,
            outputs: outputs.iter().map(|output| Output::of(output)).collect(),
            body,
            saved: Mutex::new(SavedState { tensors: self.saved, ..SavedState::default() }),
            hooks: Mutex::new(None),
            trace,
        });
        for (index, output) in outputs.iter().enumerate() {
            if output.dtype().is_differentiable() {
                output.set_grad_fn(Edge::to(node.clone(), index));
            }
        }
    }
}

/// Whether a tensor requires grad that no gradient reaches: a view without a history of its base. As in torch, what is
/// computed from it has a history that ends there.
fn is_cut_off(input: &Tensor) -> bool {
    input.requires_grad() && input.dtype().is_differentiable()
}

/// The Python stack now, for `detect_anomaly`.
fn stack_text() -> Option<Box<str>> {
    guard::attached(|py| {
        let lines = py
            .import("traceback")
            .and_then(|traceback| traceback.call_method0("format_stack"))
            .and_then(|lines| lines.extract::<Vec<String>>());
        lines.ok().map(|lines| lines.concat().into_boxed_str())
    })
}
