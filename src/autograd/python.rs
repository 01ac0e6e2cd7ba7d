//! The tape's doors to Python: hooks, `autograd.Function`, grad mode and the call that starts a backward pass.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use smallvec::SmallVec;

use super::engine::{self, Request};
use super::node::{Body, Edge, Grads, HOOK_ID, Node, Output, Record, SavedState};
use super::saved::{self, Saved};
use super::{ANOMALY, GRAD_MODE, INFERENCE, refusal};
use crate::error::{self, Error, Result};
use crate::guard;
use crate::tensor::Tensor;

fn to_python(py: Python<'_>, grads: &[Option<Tensor>]) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, grads.iter().cloned())?.unbind())
}

fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Tensor>>> {
    if object.is_none() {
        return Ok(vec![None]);
    }
    if let Ok(single) = object.extract::<Tensor>() {
        return Ok(vec![Some(single)]);
    }
    object.extract::<Vec<Option<Tensor>>>()
}

/// Lets tensor hooks and node pre-hooks see and replace the gradients that arrive at a node.
pub fn run_tensor_hooks(node: &Arc<Node>, grads: &mut SmallVec<[Option<Tensor>; 1]>) -> Result<()> {
    guard::attached(|py| {
        if let Body::Accumulate(leaf, _) = &node.body {
            let hooks: Vec<_> = match &leaf.meta().read_recursive().hooks {
                Some(hooks) => hooks.grad.iter().map(|(_, hook)| hook.clone_ref(py)).collect(),
                None => Vec::new(),
            };
            for hook in hooks {
                run_hook(py, &hook, grads.first_mut())?;
            }
        }
        let (tensor, pre) = node.with_hooks(|hooks| {
            let tensor: Vec<_> = hooks.tensor.iter().map(|(_, index, hook)| (*index, hook.clone_ref(py))).collect();
            let pre: Vec<_> = hooks.pre.iter().map(|(_, hook)| hook.clone_ref(py)).collect();
            (tensor, pre)
        });
        for (index, hook) in tensor {
            run_hook(py, &hook, grads.get_mut(index))?;
        }
        for hook in pre {
            let result = hook.call1(py, (to_python(py, grads)?,))?;
            if !result.is_none(py) {
                *grads = from_python(result.bind(py))?.into_iter().collect();
            }
        }
        Ok(())
    })
}

/// Shows a gradient to a hook, which may replace it.
fn run_hook(py: Python<'_>, hook: &Py<PyAny>, slot: Option<&mut Option<Tensor>>) -> PyResult<()> {
    let Some(slot) = slot else { return Ok(()) };
    let Some(grad) = slot.clone() else { return Ok(()) };
    let result = hook.call1(py, (grad.clone(),))?;
    if !result.is_none(py) {
        *slot = Some(check_hook_result(result.extract::<Tensor>(py)?, &grad)?);
    }
    Ok(())
}

fn check_hook_result(new: Tensor, old: &Tensor) -> PyResult<Tensor> {
    if new.shape() != old.shape() {
        return Err(Error::Runtime(format!(
            "hook has changed the size of value: expected {:?}, got {:?}",
            old.shape().as_slice(),
            new.shape().as_slice()
        ))
        .into());
    }
    Ok(new)
}

/// `grad_fn.register_hook` hooks: they see inputs' and outputs' gradients.
pub fn run_post_hooks(node: &Arc<Node>, results: Grads, grads: &[Option<Tensor>]) -> Result<Grads> {
    match node.hooks.lock().as_ref() {
        Some(hooks) if !hooks.post.is_empty() => {}
        _ => return Ok(results),
    }
    guard::attached(|py| {
        let hooks: Vec<_> = node.with_hooks(|hooks| hooks.post.iter().map(|(_, hook)| hook.clone_ref(py)).collect());
        let mut results = results;
        for hook in hooks {
            let answer = hook.call1(py, (to_python(py, &results)?, to_python(py, grads)?))?;
            if !answer.is_none(py) {
                results = from_python(answer.bind(py))?.into_iter().collect();
            }
        }
        Ok(results)
    })
}

pub fn run_post_accumulate(leaf: &Tensor) -> Result<()> {
    if leaf.meta().read_recursive().hooks.is_none() {
        return Ok(());
    }
    guard::attached(|py| {
        let hooks: Vec<_> = match &leaf.meta().read_recursive().hooks {
            Some(hooks) => hooks.post.iter().map(|(_, hook)| hook.clone_ref(py)).collect(),
            None => Vec::new(),
        };
        for hook in hooks {
            let given = leaf.clone().into_pyobject(py)?;
            let answer = hook.call1(py, (&given,))?;
            // The tensor itself may come back, as in torch: `lambda p: p.add_(...)` is a hook.
            if !answer.is_none(py) && !answer.is(&given) {
                return error::runtime("Tensor post accumulate grad hooks should return None.");
            }
        }
        Ok(())
    })
}

/// Raises KeyboardInterrupt where the user asks for it.
pub fn check_signals() -> Result<()> {
    guard::attached(|py| Ok(py.check_signals()?))
}

pub fn run_function(node: &Arc<Node>, function: &Py<PyAny>, grads: &[Option<Tensor>]) -> Result<Grads> {
    guard::attached(|py| {
        let this = PyNode(Edge::to(Arc::clone(node), 0));
        let answer = function.call_method1(py, "_run", (to_python(py, grads)?, this))?;
        let results = from_python(answer.bind(py))?;
        if results.len() < node.inputs.len() {
            return error::runtime(format!(
                "function {} returned an incorrect number of gradients (expected {}, got {})",
                node.name,
                node.inputs.len(),
                results.len()
            ));
        }
        Ok(results.into_iter().collect())
    })
}

pub fn release_function(function: &Py<PyAny>) {
    guard::attached(|py| {
        // Freeing early is a favour to memory; an object that cannot is freed with the graph.
        drop(function.call_method0(py, "_release"));
    });
}

/// `x.grad_fn`.
#[pyclass(name = "Node", module = "pyburn.autograd", frozen, weakref, subclass, from_py_object)]
#[derive(Clone)]
pub struct PyNode(pub Edge);

/// The class of the nodes of each name, made when one is shown for the first time.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Nodes of the tape itself, which torch names by their C++ classes.
const BUILT_IN: [(&str, &str); 3] = [
    ("AccumulateGrad", "torch::autograd::AccumulateGrad"),
    ("CopySlices", "torch::autograd::CopySlices"),
    ("NotImplemented", "torch::autograd::NotImplemented"),
];

/// Ops of two operands: torch shows a number as an input that wants no gradient.
const TWO_OPERANDS: [&str; 5] = ["AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "WhereBackward0"];

/// Ops that torch records with one input when they fill with a number.
const FILLS: [&str; 3] = ["MaskedFillBackward0", "IndexFillBackward0", "ScatterBackward0"];

impl PyNode {
    /// torch's names of the tensors that are kept, in the order in which they are.
    fn saved_names(&self) -> SmallVec<[&'static str; 2]> {
        let node = &self.0.node;
        let state = node.saved.lock();
        let count = state.tensors.len();
        let pair: [&'static str; 2] = match &*self.class_name_of(&state) {
            "MmBackward0" | "BmmBackward0" => ["self", "mat2"],
            "AddmmBackward0" => ["mat1", "mat2"],
            "ConvolutionBackward0" => ["input", "weight"],
            "MseLossBackward0" | "SmoothL1LossBackward0" | "HuberLossBackward0" => ["self", "target"],
            _ => ["self", "other"],
        };
        // Of two operands only the one is kept that the other's gradient needs.
        let second = count == 1 && node.inputs.len() == 2 && node.inputs.first().is_some_and(Option::is_some);
        let mut names = SmallVec::new();
        for (place, saved) in state.tensors.iter().enumerate() {
            names.push(match place {
                _ if saved.is_output() => "result",
                0 if second => pair[1],
                0 => pair[0],
                1 => pair[1],
                _ => "",
            });
        }
        names
    }

    /// The name of the node's class.
    fn class_name(&self) -> Cow<'static, str> {
        self.class_name_of(&self.0.node.saved.lock())
    }

    fn class_name_of(&self, state: &SavedState) -> Cow<'static, str> {
        match &state.whole {
            Some(whole) => Cow::Borrowed(whole.name),
            None if self.0.node.name == "AddmmBackward0" && self.0.node.inputs.len() == 2 => "MmBackward0".into(),
            None => self.0.node.name.clone(),
        }
    }

    fn shown_inputs(&self) -> SmallVec<[Option<Edge>; 2]> {
        if let Some(whole) = &self.0.node.saved.lock().whole {
            return whole.inputs.clone();
        }
        let mut inputs = self.0.node.inputs.clone();
        if inputs.len() == 2 && FILLS.contains(&&*self.0.node.name) && inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        if inputs.len() == 3 && self.0.node.name == "AddmmBackward0" {
            inputs.rotate_right(1); // torch's begins with the bias
        }
        if inputs.len() == 1 && TWO_OPERANDS.contains(&&*self.0.node.name) {
            inputs.push(None);
        }
        inputs
    }

    /// The node as an object whose class has its name, as in torch: `MulBackward0`.
    pub fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let node = Arc::clone(&self.0.node);
        // Nothing stays locked while Python runs.
        let known = node.hooks.lock().as_ref().and_then(|hooks| hooks.shown.as_ref().map(|shown| shown.clone_ref(py)));
        if let Some(known) = known {
            let object = known.bind(py).call0()?;
            if !object.is_none() {
                return Ok(object);
            }
        }
        let object = self.new_object(py)?;
        let shown = py.import("weakref")?.getattr("ref")?.call1((&object,))?.unbind();
        node.with_hooks(|hooks| hooks.shown = Some(shown));
        Ok(object)
    }

    fn new_object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let base = py.get_type::<Self>();
        let classes = CLASSES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
        let name = self.class_name().to_string();
        let class = match classes.get_item(&name)? {
            Some(class) => class,
            None => {
                let content = PyDict::new(py);
                content.set_item("__module__", "pyburn.autograd")?;
                content.set_item("__slots__", PyTuple::empty(py))?;
                let class = py.get_type::<PyType>().call1((&name, (base,), content))?;
                classes.set_item(&name, &class)?;
                class
            }
        };
        class.call1((Bound::new(py, self)?,))
    }
}

#[pymethods]
impl PyNode {
    /// Another object for the same node; programs find nodes by `x.grad_fn` and `next_functions`.
    #[new]
    fn new(node: PyRef<'_, Self>) -> Self {
        node.clone()
    }

    /// The name of the operation that recorded this node.
    fn name(&self) -> String {
        let name = self.class_name();
        BUILT_IN.iter().find(|(class, _)| *class == name).map_or(&*name, |(_, full)| full).to_string()
    }

    fn __repr__(&self) -> String {
        format!("<{} object at {:#x}>", self.class_name(), Arc::as_ptr(&self.0.node) as usize)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&self.0.node, &other.get().0.node))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.0.node) as usize
    }

    /// What a `Function`'s forward has left on its context.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        if let Some(wanted) = name.strip_prefix("_saved_")
            && let Some(place) = self.saved_names().iter().position(|found| !wanted.is_empty() && *found == wanted)
        {
            let state = self.0.node.saved.lock();
            let kept = state.tensors.get(place).cloned();
            drop(state);
            if let Some(kept) = kept {
                return Ok(kept.unpack(&self.0.node)?.into_pyobject(py)?.into_any().unbind());
            }
        }
        match &self.0.node.body {
            Body::Python(function) if !name.starts_with('_') => function.getattr(py, name),
            _ => Err(pyo3::exceptions::PyAttributeError::new_err(format!(
                "'{}' object has no attribute '{name}'",
                self.0.node.name
            ))),
        }
    }

    /// The attributes of every node, and the names of what this one keeps.
    fn __dir__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let names = slf.py().import("builtins")?.getattr("object")?.call_method1("__dir__", (&slf,))?;
        let names = names.cast_into::<PyList>()?;
        for name in slf.get().saved_names() {
            if !name.is_empty() {
                names.append(format!("_saved_{name}"))?;
            }
        }
        Ok(names)
    }

    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = self.shown_inputs();
        let pairs = inputs.iter().map(|edge| match edge {
            Some(edge) => Ok((Some(Self(edge.clone()).object(py)?), edge.index)),
            None => Ok((None, 0)),
        });
        PyTuple::new(py, pairs.collect::<PyResult<Vec<_>>>()?)
    }

    /// Whatever programs note down about this node.
    #[getter]
    fn metadata(&self, py: Python<'_>) -> Py<PyDict> {
        let fresh = PyDict::new(py).unbind();
        self.0.node.with_hooks(|hooks| hooks.metadata.get_or_insert(fresh).clone_ref(py))
    }

    /// Later ops have higher numbers.
    fn _sequence_nr(&self) -> u64 {
        self.0.node.sequence
    }

    /// The leaf of an AccumulateGrad node.
    #[getter]
    fn variable(&self) -> PyResult<Tensor> {
        match &self.0.node.body {
            Body::Accumulate(leaf, _) => Ok(leaf.clone()),
            _ => Err(pyo3::exceptions::PyAttributeError::new_err(format!(
                "'{}' object has no attribute 'variable'",
                self.0.node.name
            ))),
        }
    }

    /// Adds a hook that sees the node's input and output gradients; returns its number.
    fn _register_hook(&self, hook: Py<PyAny>) -> u64 {
        let id = HOOK_ID.fetch_add(1, Ordering::Relaxed);
        self.0.node.with_hooks(|hooks| hooks.post.push((id, hook)));
        id
    }

    fn _register_prehook(&self, hook: Py<PyAny>) -> u64 {
        let id = HOOK_ID.fetch_add(1, Ordering::Relaxed);
        self.0.node.with_hooks(|hooks| hooks.pre.push((id, hook)));
        id
    }

    fn _remove_hook(&self, id: u64) {
        self.0.node.with_hooks(|hooks| {
            hooks.post.retain(|(found, _)| *found != id);
            hooks.pre.retain(|(found, _)| *found != id);
            hooks.tensor.retain(|(found, _, _)| *found != id);
        });
    }
}

/// A tensor kept by an `autograd.Function`, checked for writes when it is read.
#[pyclass(name = "_SavedTensor", module = "pyburn._core", frozen)]
pub struct PySaved(Saved, Cow<'static, str>);

#[pymethods]
impl PySaved {
    #[new]
    fn new(tensor: Tensor, name: String) -> Result<Self> {
        let saved = Saved::input(&tensor);
        refusal::check()?;
        Ok(Self(saved, name.into()))
    }

    fn unpack(&self) -> Result<Tensor> {
        self.0.clone().unpack_for(&self.1)
    }
}

/// Keeps `pack(tensor)` instead of each tensor that is saved on this thread, until the matching pop.
#[pyfunction]
fn _push_saved_hooks(pack: Py<PyAny>, unpack: Py<PyAny>) {
    saved::push_hooks(pack, unpack);
}

#[pyfunction]
fn _pop_saved_hooks() {
    saved::pop_hooks();
}

/// Makes `tensor` output `index` of a node again, for a function that saved its own result.
#[pyfunction]
fn _set_history(tensor: Tensor, node: PyRef<'_, PyNode>, index: usize) -> Result<()> {
    let node = &node.0.node;
    match node.outputs.get(index) {
        Some(output) if output.shape == tensor.shape() && output.dtype == tensor.dtype() => {
            tensor.set_grad_fn(Edge::to(Arc::clone(node), index));
            Ok(())
        }
        _ => error::runtime(format!("{}: the tensor does not fit output {index}", node.name)),
    }
}

/// Makes `outputs` the results of a Python function of `inputs`; `owner` has `_run(grads, node)` and `_release()`.
#[pyfunction]
fn _record_function(name: String, owner: Py<PyAny>, inputs: Vec<Option<Tensor>>, outputs: Vec<Tensor>) -> bool {
    // An input without a tensor keeps its place, so that gradients and arguments stay aligned.
    let stand_in = outputs.first().map(Tensor::detached);
    let inputs: Vec<&Tensor> = inputs.iter().filter_map(|input| input.as_ref().or(stand_in.as_ref())).collect();
    match Record::named(name.into(), &inputs) {
        Some(record) => {
            record.link(&outputs.iter().collect::<Vec<_>>(), Body::Python(owner));
            true
        }
        None => false,
    }
}

/// The names given to `_stand_for`, which live as long as the process: there are as many as there are ops.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn lasting(name: &str) -> &'static str {
    let mut names = NAMES.lock();
    if let Some(found) = names.iter().find(|found| **found == name) {
        return found;
    }
    let name: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.push(name);
    name
}

/// `result`, which was made by several ops, as the result of one: `grad_fn` shows `name` and `inputs`, and a later write
/// to one of `kept`, or to the result where `keep_result`, is refused in backward.
#[pyfunction]
#[pyo3(signature = (result, name, inputs, kept=None, keep_result=false))]
fn _stand_for<'py>(
    result: Bound<'py, PyAny>,
    name: &str,
    inputs: &Bound<'py, PyTuple>,
    kept: Option<&Bound<'py, PyTuple>>,
    keep_result: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(made) = result.extract::<Tensor>() else { return Ok(result) };
    if !GRAD_MODE.get() || !made.meta().is_used() {
        return Ok(result);
    }
    let Some(edge) = made.edge().filter(|edge| !edge.node.is_leaf()) else { return Ok(result) };
    let inputs: Vec<Option<Tensor>> = inputs.iter().map(|input| input.extract::<Tensor>().ok()).collect();
    // An op that changed nothing has given back its input.
    let same = |input: &Tensor| input.edge().is_some_and(|other| Arc::ptr_eq(&other.node, &edge.node));
    if inputs.iter().flatten().any(same) {
        return Ok(result);
    }
    let kept: Vec<Tensor> = kept.iter().flat_map(|kept| kept.iter().filter_map(|one| one.extract().ok())).collect();
    let own = keep_result.then(|| Saved::output(&made, edge.index));
    let inputs: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
    edge.node.stand_for(lasting(name), &inputs, kept.iter().map(Saved::input).chain(own));
    refusal::check()?;
    Ok(result)
}

/// `result` as that of an op without a derivative: backward through it says so, as torch does.
#[pyfunction]
fn _no_derivative(result: Tensor, name: &str, message: String, inputs: Vec<Tensor>) -> Tensor {
    if let Some(record) = Record::new(lasting(name), &inputs.iter().collect::<Vec<_>>()) {
        record.finish(&result, move |_| error::missing(message.clone()));
    }
    result
}

/// Runs a backward pass. `inputs=None` fills `.grad`; otherwise gradients are returned, or accumulated.
#[pyfunction]
#[pyo3(signature = (tensors, grads, keep_graph, create_graph, inputs=None, accumulate=false))]
fn _backward<'py>(
    py: Python<'py>,
    tensors: Vec<Target>,
    grads: Vec<Option<Tensor>>,
    keep_graph: bool,
    create_graph: bool,
    inputs: Option<Vec<Target>>,
    accumulate: bool,
) -> PyResult<Bound<'py, PyList>> {
    let mut roots = Vec::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        let grad = grads.get(index).cloned().flatten();
        roots.push(root(index, tensor, grad)?);
    }
    let capture = inputs.map(|inputs| inputs.iter().map(capture_edge).collect::<Result<Vec<_>>>()).transpose()?;
    refusal::check()?;
    let request = Request { roots, keep_graph, create_graph, capture, accumulate };
    let found = guard::detached(move || engine::run(request))?;
    refusal::check()?;
    PyList::new(py, found)
}

/// Where a gradient comes from or goes to: a tensor, or a `GradientEdge`.
#[derive(FromPyObject)]
enum Target {
    Tensor(Tensor),
    Edge(PyNode, usize),
}

impl Target {
    fn edge(&self) -> Option<Edge> {
        match self {
            Self::Tensor(tensor) => tensor.edge(),
            Self::Edge(node, index) => Some(Edge::to(Arc::clone(&node.0.node), *index)),
        }
    }

    /// Whether it requires grad that no gradient reaches.
    fn is_cut_off(&self) -> bool {
        matches!(self, Self::Tensor(tensor) if tensor.requires_grad() && tensor.edge().is_none())
    }
}

fn capture_edge(target: &Target) -> Result<Edge> {
    match target.edge() {
        Some(edge) => Ok(edge),
        None if target.is_cut_off() => Ok(Edge::unreachable()),
        None => error::runtime("One of the differentiated Tensors does not require grad"),
    }
}

fn root(index: usize, target: &Target, grad: Option<Tensor>) -> Result<(Edge, Tensor)> {
    let Some(edge) = target.edge() else {
        return error::runtime(format!("element {index} of tensors does not require grad and does not have a grad_fn"));
    };
    let output = match target {
        // Not what its node recorded: a leaf may have changed its shape since (unsqueeze_).
        Target::Tensor(tensor) => Output::of(tensor),
        Target::Edge(..) => match edge.node.outputs.get(edge.index) {
            Some(output) => output.clone(),
            None => return error::runtime(format!("element {index} of tensors is no output of {}", edge.node.name)),
        },
    };
    let grad = match grad {
        Some(grad) if grad.shape() != output.shape => {
            return error::runtime(format!(
                "Mismatch in shape: grad_output[{index}] has a shape of {:?} and output[{index}] has a shape of {:?}.",
                grad.shape().as_slice(),
                output.shape.as_slice()
            ));
        }
        Some(grad) => grad,
        None if output.dtype.is_complex() => {
            return error::runtime(format!(
                "grad can be implicitly created only for real scalar outputs but got {}; name the part with .real, or \
                 use .abs()",
                output.dtype.name()
            ));
        }
        None if output.shape.iter().product::<usize>() == 1 => {
            crate::ops::creation::full(&output.shape, 1.0.into(), output.dtype, output.device)?
        }
        None => return error::runtime("grad can be implicitly created only for scalar outputs"),
    };
    Ok((edge, grad))
}

/// Sets whether ops are recorded on this thread; returns what it was.
#[pyfunction]
fn _set_grad_enabled(enabled: bool) -> bool {
    GRAD_MODE.replace(enabled)
}

/// Whether ops are recorded on this thread.
#[pyfunction]
fn is_grad_enabled() -> bool {
    GRAD_MODE.get()
}

#[pyfunction]
fn _set_inference_mode(enabled: bool) -> bool {
    INFERENCE.replace(enabled)
}

/// Whether this thread is inside `inference_mode`.
#[pyfunction]
fn is_inference_mode_enabled() -> bool {
    INFERENCE.get()
}

#[pyfunction]
fn _set_anomaly(enabled: bool, check_nan: bool) {
    ANOMALY.set((enabled, check_nan));
}

#[pyfunction]
fn _get_anomaly() -> (bool, bool) {
    ANOMALY.get()
}

/// Adds a hook to a tensor's gradient; returns its number, and the node that keeps it unless the tensor is a leaf.
pub fn add_tensor_hook(tensor: &Tensor, hook: Py<PyAny>) -> PyResult<(Option<PyNode>, u64)> {
    let edge = tensor.edge();
    if edge.is_none() && !tensor.requires_grad() {
        return Err(
            Error::Runtime("cannot register a hook on a tensor that doesn't require gradient".to_string()).into()
        );
    }
    Python::attach(|py| {
        if hook.bind(py).is_callable() { Ok(()) } else { Err(PyTypeError::new_err("a hook must be callable")) }
    })?;
    refusal::check()?;
    let id = HOOK_ID.fetch_add(1, Ordering::Relaxed);
    let Some(edge) = edge.filter(|edge| !edge.node.is_leaf()) else {
        tensor.meta().write().hooks.get_or_insert_with(Box::default).grad.push((id, hook));
        return Ok((None, id));
    };
    edge.node.with_hooks(|hooks| hooks.tensor.push((id, edge.index, hook)));
    Ok((Some(PyNode(edge)), id))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyNode>()?;
    module.add_class::<PySaved>()?;
    module.add_function(wrap_pyfunction!(_record_function, module)?)?;
    module.add_function(wrap_pyfunction!(_set_history, module)?)?;
    module.add_function(wrap_pyfunction!(_stand_for, module)?)?;
    module.add_function(wrap_pyfunction!(_no_derivative, module)?)?;
    module.add_function(wrap_pyfunction!(_push_saved_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(_pop_saved_hooks, module)?)?;
    module.add_function(wrap_pyfunction!(_backward, module)?)?;
    module.add_function(wrap_pyfunction!(_set_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(is_grad_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(_set_inference_mode, module)?)?;
    module.add_function(wrap_pyfunction!(is_inference_mode_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(_set_anomaly, module)?)?;
    module.add_function(wrap_pyfunction!(_get_anomaly, module)?)
}
