//! Runs the graph backwards: highest sequence number first, with explicit stacks so that depth costs no recursion.

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use super::node::{Body, Context, Edge, Grads, Hooks, Node, Output};
use super::{ANOMALY, grad_mode, python};
use crate::error::{self, Error, Result};
use crate::ops;
use crate::tensor::Tensor;

/// What a backward pass is asked to do.
pub struct Request {
    pub roots: Vec<(Edge, Tensor)>,
    pub keep_graph: bool,
    pub create_graph: bool,
    /// Gradients to return, or None to fill `.grad` of every leaf.
    pub capture: Option<Vec<Edge>>,
    /// With `capture`: add to `.grad` of these leaves instead of returning (`backward(inputs=...)`).
    pub accumulate: bool,
}

/// Nodes between two looks for Ctrl-C.
const SIGNALS_EVERY: usize = 64;

/// Node addresses are already well spread; multiplying by an odd constant is hash enough.
#[derive(Default)]
struct PointerHasher(u64);

impl Hasher for PointerHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    fn write_usize(&mut self, value: usize) {
        self.0 = (value as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Map<T> = HashMap<usize, T, BuildHasherDefault<PointerHasher>>;

fn key(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

struct Ready(Arc<Node>);

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.0.sequence == other.0.sequence
    }
}
impl Eq for Ready {}
impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

struct Task {
    /// Edges that still have to deliver to this node.
    waiting: usize,
    grads: SmallVec<[Option<Tensor>; 1]>,
    /// Whether a wanted gradient lies behind this node.
    needed: bool,
}

pub fn run(request: Request) -> Result<Vec<Option<Tensor>>> {
    let mut tasks = discover(&request);
    let mut ready = BinaryHeap::new();
    for (edge, grad) in &request.roots {
        deliver(&mut tasks, edge, grad.clone())?;
    }
    for (edge, _) in &request.roots {
        if let Some(task) = tasks.get_mut(&key(&edge.node))
            && task.waiting == 0
        {
            // Marks it as queued, for roots that share a node.
            task.waiting = usize::MAX;
            ready.push(Ready(Arc::clone(&edge.node)));
        }
    }
    let mut captured: Vec<Option<Tensor>> = vec![None; request.capture.as_ref().map_or(0, Vec::len)];
    let _mode = grad_mode(request.create_graph);
    let mut steps = 0usize;
    while let Some(Ready(node)) = ready.pop() {
        steps += 1;
        if steps.is_multiple_of(SIGNALS_EVERY) {
            python::check_signals()?;
        }
        let Some(task) = tasks.get_mut(&key(&node)) else { continue };
        let mut grads = std::mem::take(&mut task.grads);
        let needed = task.needed;
        before(&node, &mut grads)?;
        collect(&request, &node, &grads, &mut captured);
        let results = if needed { step(&request, &node, &grads, &tasks)? } else { Grads::new() };
        drop(grads);
        for (index, edge) in node.inputs.iter().enumerate() {
            let Some(edge) = edge else { continue };
            if let Some(Some(grad)) = results.get(index) {
                deliver(&mut tasks, edge, grad.clone())?;
            }
            if let Some(task) = tasks.get_mut(&key(&edge.node)) {
                task.waiting -= 1;
                if task.waiting == 0 {
                    ready.push(Ready(Arc::clone(&edge.node)));
                }
            }
        }
    }
    Ok(captured)
}

/// Counts, for every node behind the roots, the edges that will deliver to it, and finds the needed ones.
fn discover(request: &Request) -> Map<Task> {
    let mut tasks: Map<Task> = Map::default();
    let mut order: Vec<Arc<Node>> = Vec::new();
    let mut stack: Vec<Arc<Node>> = Vec::new();
    let blank = |node: &Arc<Node>| Task {
        waiting: 0,
        grads: SmallVec::from_elem(None, node.outputs.len()),
        needed: request.capture.is_none(),
    };
    for (edge, _) in &request.roots {
        tasks.entry(key(&edge.node)).or_insert_with(|| {
            stack.push(Arc::clone(&edge.node));
            blank(&edge.node)
        });
    }
    while let Some(node) = stack.pop() {
        for edge in node.inputs.iter().flatten() {
            let task = tasks.entry(key(&edge.node)).or_insert_with(|| {
                stack.push(Arc::clone(&edge.node));
                blank(&edge.node)
            });
            task.waiting += 1;
        }
        order.push(node);
    }
    if let Some(wanted) = &request.capture {
        mark_needed(&mut tasks, order, wanted);
    }
    tasks
}

/// A node is needed when a wanted gradient is delivered to one of its inputs, or behind them.
fn mark_needed(tasks: &mut Map<Task>, mut order: Vec<Arc<Node>>, wanted: &[Edge]) {
    // Inputs are older than results, so ascending sequence visits them first; leaves come before all.
    order.sort_by_key(|node| if node.is_leaf() { 0 } else { node.sequence });
    let targets: std::collections::HashSet<usize> = wanted.iter().map(|edge| key(&edge.node)).collect();
    for node in order {
        let leaf_wanted = node.is_leaf() && targets.contains(&key(&node));
        let needed = leaf_wanted
            || node.inputs.iter().flatten().any(|edge| {
                targets.contains(&key(&edge.node)) || tasks.get(&key(&edge.node)).is_some_and(|task| task.needed)
            });
        if let Some(task) = tasks.get_mut(&key(&node)) {
            task.needed = needed;
        }
    }
}

/// Adds a gradient to what has arrived at an edge so far.
fn deliver(tasks: &mut Map<Task>, edge: &Edge, grad: Tensor) -> Result<()> {
    let Some(task) = tasks.get_mut(&key(&edge.node)) else { return Ok(()) };
    let Some(slot) = task.grads.get_mut(edge.index) else { return Ok(()) };
    *slot = Some(match slot.take() {
        None => grad,
        Some(sum) => add(sum, &grad)?,
    });
    Ok(())
}

/// The sum of two gradients, in the first one's memory where nobody else can see it.
fn add(sum: Tensor, grad: &Tensor) -> Result<Tensor> {
    let own = !super::grad_enabled()
        && sum.is_sole_owner()
        && sum.is_contiguous()
        && sum.dtype() == grad.dtype()
        && sum.shape() == grad.shape()
        && sum.device().is_cpu();
    if !own {
        return ops::elementwise::add(&sum, grad);
    }
    ops::update::add(&sum, ops::pointwise::Arg::Tensor(grad))?;
    Ok(sum)
}

/// Tensor hooks, retained gradients and the node's own pre-hooks.
fn before(node: &Arc<Node>, grads: &mut SmallVec<[Option<Tensor>; 1]>) -> Result<()> {
    let of_leaf = match &node.body {
        Body::Accumulate(leaf, _) => leaf.meta().read_recursive().hooks.is_some(),
        _ => false,
    };
    if !of_leaf && node.hooks.lock().is_none() {
        return Ok(());
    }
    python::run_tensor_hooks(node, grads)?;
    let retain: Vec<_> = node.with_hooks(|hooks: &mut Hooks| hooks.retain.clone());
    for (index, weak) in retain {
        if let (Some(tensor), Some(Some(grad))) = (Tensor::upgrade(&weak), grads.get(index)) {
            keep_gradient(&tensor, grad)?;
        }
    }
    Ok(())
}

fn collect(request: &Request, node: &Arc<Node>, grads: &[Option<Tensor>], captured: &mut [Option<Tensor>]) {
    let Some(wanted) = &request.capture else { return };
    for (slot, edge) in captured.iter_mut().zip(wanted) {
        if key(&edge.node) == key(node) {
            *slot = grads.get(edge.index).cloned().flatten();
        }
    }
}

fn step(request: &Request, node: &Arc<Node>, grads: &[Option<Tensor>], tasks: &Map<Task>) -> Result<Grads> {
    if let Body::Accumulate(leaf, _) = &node.body {
        if let (Some(Some(grad)), true) = (grads.first(), request.capture.is_none() || request.accumulate) {
            accumulate(leaf, grad)?;
            python::run_post_accumulate(leaf)?;
        }
        return Ok(Grads::new());
    }
    if grads.iter().all(Option::is_none) {
        return Ok(Grads::new());
    }
    let needs = node
        .inputs
        .iter()
        .map(|edge| {
            edge.as_ref().is_some_and(|edge| {
                request.capture.is_none()
                    || tasks.get(&key(&edge.node)).is_some_and(|task| task.needed)
                    || request.capture.iter().flatten().any(|wanted| key(&wanted.node) == key(&edge.node))
            })
        })
        .collect();
    let results = compute(node, grads, needs).map_err(|cause| explain(node, cause))?;
    if !request.keep_graph {
        release(node);
    }
    let results = validate(node, results)?;
    python::run_post_hooks(node, results, grads)
}

fn compute(node: &Arc<Node>, grads: &[Option<Tensor>], needs: SmallVec<[bool; 2]>) -> Result<Grads> {
    let results = match &node.body {
        Body::Rule(rule) => {
            let wanted = needs.contains(&true);
            let context = Context::new(node, grads, needs)?;
            // The history ends here; what was saved had to be checked all the same.
            if wanted { rule(&context)? } else { smallvec::smallvec![None; node.inputs.len()] }
        }
        Body::Python(function) => {
            if node.saved.lock().freed {
                Context::new(node, grads, needs)?;
            }
            python::run_function(node, function, grads)?
        }
        Body::Accumulate(..) => Grads::new(),
    };
    if ANOMALY.get() == (true, true) {
        for (index, grad) in results.iter().enumerate() {
            if let Some(grad) = grad
                && ops::elementwise::has_nan(grad)?
            {
                return error::runtime(format!(
                    "Function '{}' returned nan values in its {index}th output.",
                    node.name
                ));
            }
        }
    }
    Ok(results)
}

/// Adds the forward line to an error found under `detect_anomaly`.
fn explain(node: &Node, cause: Error) -> Error {
    match &node.trace {
        None => cause,
        Some(trace) => {
            Error::Runtime(format!("{}\n\nThe forward call that made '{}' was:\n{trace}", cause.message(), node.name))
        }
    }
}

fn release(node: &Arc<Node>) {
    let freed = {
        let mut state = node.saved.lock();
        let keeps = !state.tensors.is_empty() || matches!(node.body, Body::Python(_));
        state.freed = state.freed || keeps;
        std::mem::take(&mut state.tensors)
    };
    drop(freed);
    if let Body::Python(function) = &node.body {
        python::release_function(function);
    }
}

/// Brings each gradient to the shape, dtype and device of the input it belongs to; broadcasting is undone here for all rules.
fn validate(node: &Arc<Node>, mut results: Grads) -> Result<Grads> {
    for (index, (slot, edge)) in results.iter_mut().zip(&node.inputs).enumerate() {
        let (Some(grad), Some(edge)) = (slot.as_ref(), edge) else { continue };
        let Some(expected) = edge.node.outputs.get(edge.index) else { continue };
        *slot = Some(conform(&node.name, index, grad, expected)?);
    }
    Ok(results)
}

fn conform(name: &str, index: usize, grad: &Tensor, expected: &Output) -> Result<Tensor> {
    let mut grad = grad.clone();
    if grad.shape() != expected.shape {
        grad = ops::movement::sum_to(&grad, &expected.shape).or_else(|_| {
            error::runtime(format!(
                "Function {name} returned an invalid gradient at index {index} - got {:?} but expected shape compatible with {:?}",
                grad.shape().as_slice(),
                expected.shape.as_slice()
            ))
        })?;
    }
    if grad.dtype() != expected.dtype {
        grad = ops::creation::to_dtype(&grad, expected.dtype)?;
    }
    if grad.device() != expected.device {
        grad = ops::creation::to_device(&grad, expected.device)?;
    }
    Ok(grad)
}

/// The `.grad` so far.
fn gradient(tensor: &Tensor) -> Result<Option<Tensor>> {
    let old = tensor.meta().read_recursive().grad.clone();
    if old.as_ref().is_some_and(Tensor::is_sealed) {
        return error::missing(
            "backward: the gradient of a tensor is sparse from one use and dense from another; look its rows up with \
             sparse=False.",
        );
    }
    Ok(old)
}

/// Adds to the `.grad` of a tensor inside the graph, never in place: its gradient travels on and may be returned.
fn keep_gradient(tensor: &Tensor, grad: &Tensor) -> Result<()> {
    let old = gradient(tensor)?;
    let new = match old {
        None => ops::creation::clone(grad)?,
        Some(old) => ops::elementwise::add(&old, grad)?,
    };
    tensor.set_grad(Some(new));
    Ok(())
}

/// Whether a gradient lies in memory as torch wants it: as its tensor does, where that has no gaps.
fn obeys(grad: &Tensor, tensor: &Tensor) -> bool {
    let (grad, tensor) = (grad.core(), tensor.core());
    if tensor.geometry.is_dense() {
        grad.geometry.strides == tensor.geometry.strides
    } else {
        grad.geometry.is_contiguous()
    }
}

/// Adds to `.grad`, in place when nobody may differentiate through it.
fn accumulate(tensor: &Tensor, grad: &Tensor) -> Result<()> {
    let old = gradient(tensor)?;
    let new = match old {
        None if super::grad_enabled() => ops::creation::clone(grad)?,
        // Only a gradient that nobody else holds may become `.grad` without a copy.
        None if grad.is_sole_owner() && obeys(grad, tensor) => grad.clone(),
        None if tensor.core().geometry.is_dense() => grad.copied_as(&tensor.core().geometry.strides)?,
        None => grad.copied()?,
        Some(old) if super::grad_enabled() => ops::elementwise::add(&old, grad)?,
        Some(old) => {
            let sum = ops::elementwise::add(&old, grad)?;
            old.write(&sum)?;
            old.core().storage.bump();
            return Ok(());
        }
    };
    tensor.set_grad(Some(new));
    Ok(())
}
