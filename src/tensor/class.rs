//! `pyburn.Tensor`: the Python class around a tensor handle, its attributes and its place in garbage collection.

use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple, PyType};

use super::Tensor;
use crate::autograd::python::{PyNode, add_tensor_hook};
use crate::autograd::refusal;
use crate::device::{DeviceArg, PyDevice};
use crate::dtype::{DTypeArg, PyDType, default_dtype, object};
use crate::error::{self, Result};
use crate::ops::{creation, movement};

/// An array of numbers of any shape, dtype and device, which remembers how it was computed.
#[pyclass(name = "Tensor", module = "pyburn", subclass, weakref, dict, frozen)]
pub struct PyTensor {
    pub tensor: Tensor,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Tensor {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyTensor>() {
            Ok(found) => {
                let tensor = found.get().open()?;
                tensor.meet(&found);
                Ok(tensor.clone())
            }
            Err(_) => Err(PyTypeError::new_err(format!("expected a Tensor, got {}", object.get_type().name()?))),
        }
    }
}

impl PyTensor {
    /// The tensor for a function that reads its memory; that of a sparse tensor stands for nothing.
    pub fn open(&self) -> PyResult<&Tensor> {
        if self.tensor.is_sealed() {
            return Err(PyNotImplementedError::new_err(super::SPARSE));
        }
        Ok(&self.tensor)
    }
}

/// A tensor whose memory is not read: it may be sparse.
pub struct AnyTensor(pub Tensor);

impl<'a, 'py> FromPyObject<'a, 'py> for AnyTensor {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyTensor>() {
            Ok(found) => {
                let tensor = &found.get().tensor;
                tensor.meet(&found);
                Ok(Self(tensor.clone()))
            }
            Err(_) => Err(PyTypeError::new_err(format!("expected a Tensor, got {}", object.get_type().name()?))),
        }
    }
}

/// Sizes given as separate integers or as one sequence: `x.view(2, 3)`, `x.view((2, 3))`.
pub fn sizes(op: &str, args: &Bound<'_, PyTuple>) -> PyResult<Vec<isize>> {
    let items: Bound<'_, PyAny> = match args.len() {
        // The usual sequences first: asking them for an integer makes an exception, which takes longer than all else.
        1 if args.get_item(0)?.is_instance_of::<PyTuple>() || args.get_item(0)?.is_instance_of::<PyList>() => {
            args.get_item(0)?
        }
        1 if args.get_item(0)?.extract::<isize>().is_err() => args.get_item(0)?,
        _ => args.clone().into_any(),
    };
    items.extract::<Vec<isize>>().map_err(|_| PyTypeError::new_err(format!("{op}: sizes must be integers, got {args}")))
}

static SIZE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// `tuple.__new__`, which makes a Size without a call of Python code.
static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Tells the core which class `x.shape` is made of.
#[pyfunction]
fn _set_size_class(py: Python<'_>, class: Py<PyAny>) {
    // A second import keeps the first class, so that shapes stay comparable.
    drop(SIZE.set(py, class));
}

fn size_object<'py>(py: Python<'py>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let tuple = PyTuple::new(py, shape)?;
    match SIZE.get(py) {
        Some(class) => {
            let new = NEW.get_or_try_init(py, || {
                py.get_type::<PyTuple>().getattr(pyo3::intern!(py, "__new__")).map(Bound::unbind)
            })?;
            new.bind(py).call1((class, tuple))
        }
        None => Ok(tuple.into_any()),
    }
}

#[pymethods]
impl PyTensor {
    /// `Tensor(data)` aliases a tensor (subclasses build on this); `Tensor(2, 3)` is an empty float tensor.
    #[new]
    #[pyo3(signature = (*args, device=None))]
    fn new(args: &Bound<'_, PyTuple>, device: Option<DeviceArg>) -> PyResult<Self> {
        let py = args.py();
        if let Ok(first) = args.get_item(0) {
            if let Ok(tensor) = first.extract::<Tensor>() {
                return Ok(Self { tensor: tensor.detached() });
            }
            let is_size = first.extract::<isize>().is_ok() || first.get_type().name()? == "Size";
            if !is_size {
                // Legacy `Tensor([1, 2])`: values, always in the default dtype.
                let kwargs = pyo3::types::PyDict::new(py);
                kwargs.set_item("dtype", object(py, default_dtype())?)?;
                let made = py.import("pyburn")?.call_method("tensor", (first,), Some(&kwargs))?;
                return Ok(Self { tensor: made.extract()? });
            }
        }
        let shape = if args.is_empty() {
            vec![0]
        } else {
            sizes("Tensor", args)?
                .into_iter()
                .map(|size| usize::try_from(size).map_err(|_| PyValueError::new_err("Tensor: negative size")))
                .collect::<PyResult<Vec<_>>>()?
        };
        let device = device.map_or_else(crate::device::default_device, |device| Ok(device.0))?;
        Ok(Self { tensor: creation::zeros(&shape, default_dtype(), device)? })
    }

    /// Subclasses (nn.Parameter) take their own arguments in `__init__`.
    #[pyo3(signature = (*_args, **_kwargs))]
    fn __init__(slf: &Bound<'_, Self>, _args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>) {
        slf.get().tensor.meet(slf);
    }

    #[classattr]
    fn __array_priority__() -> i32 {
        1000
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        // Python 3.11 makes the object's __dict__, and may collect garbage doing so, before PyO3 has put the tensor into
        // the new object: its memory is still zero then.
        // SAFETY: a handle is one pointer, and the object's memory is always readable.
        if unsafe { std::ptr::from_ref(&self.tensor).cast::<usize>().read_volatile() } == 0 {
            return Ok(());
        }
        // Objects reached through several handles would be counted twice, so only a sole owner shows them.
        if self.tensor.handles() != 1 {
            return Ok(());
        }
        let Some(meta) = self.tensor.meta().try_read_recursive() else { return Ok(()) };
        if let Some(hooks) = &meta.hooks {
            for (_, hook) in hooks.grad.iter().chain(&hooks.post) {
                visit.call(hook)?;
            }
        }
        if let Some(object) = &meta.grad_object {
            visit.call(object)?;
        }
        let Some(edge) = &meta.grad_fn else { return Ok(()) };
        if std::sync::Arc::strong_count(&edge.node) != 1 {
            return Ok(());
        }
        if let crate::autograd::node::Body::Python(function) = &edge.node.body {
            visit.call(function)?;
        }
        if let Some(hooks) = edge.node.hooks.try_lock()
            && let Some(hooks) = hooks.as_ref()
        {
            for (_, _, hook) in &hooks.tensor {
                visit.call(hook)?;
            }
            for (_, hook) in hooks.pre.iter().chain(&hooks.post) {
                visit.call(hook)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        // A graph may still need the tensor of an object that is garbage.
        if self.tensor.handles() != 1 {
            return;
        }
        let taken = match self.tensor.meta().try_write() {
            Some(mut meta) => (meta.grad_fn.take(), meta.hooks.take(), meta.grad_object.take()),
            None => return,
        };
        drop(taken);
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        object(py, self.tensor.dtype())
    }

    /// Where the elements are.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.tensor.device())
    }

    /// The sizes of all dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        size_object(py, &self.tensor.shape())
    }

    /// The sizes, or the size of one dimension.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.tensor.shape();
        match dim {
            None => size_object(py, &shape),
            Some(_) if shape.is_empty() => {
                Err(error::Error::Dim("size: a 0-dim tensor has no dimensions".to_string()).into())
            }
            Some(dim) => {
                let dim = super::geometry::wrap_dim("size", dim, shape.len())?;
                Ok(shape[dim].into_pyobject(py)?.into_any())
            }
        }
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// The number of dimensions.
    fn dim(&self) -> usize {
        self.tensor.rank()
    }

    /// The number of elements.
    fn numel(&self) -> usize {
        self.tensor.numel()
    }

    /// How many elements apart neighbours along each dimension, or along one, lie in memory.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let geometry = self.tensor.geometry();
        match dim {
            None => Ok(PyTuple::new(py, geometry.strides)?.into_any()),
            Some(_) if geometry.rank() == 0 => {
                Err(error::Error::Dim("stride: a 0-dim tensor has no dimensions".to_string()).into())
            }
            Some(dim) => {
                let dim = super::geometry::wrap_dim("stride", dim, geometry.rank())?;
                Ok(geometry.strides[dim].into_pyobject(py)?.into_any())
            }
        }
    }

    /// Where in its storage the first element lies.
    fn storage_offset(&self) -> usize {
        self.tensor.geometry().offset
    }

    /// The address of the first element.
    fn data_ptr(&self) -> usize {
        let core = self.tensor.core();
        if core.storage.place().is_meta() {
            return 0;
        }
        core.storage.open();
        core.storage.address() + core.geometry.offset * core.dtype.size()
    }

    /// The address of the storage: equal for tensors that share memory.
    fn _storage_ptr(&self) -> usize {
        self.tensor.core().storage.address()
    }

    /// The number of bytes of an element.
    fn element_size(&self) -> usize {
        self.tensor.dtype().size()
    }

    /// Whether the elements are floating-point numbers.
    fn is_floating_point(&self) -> bool {
        self.tensor.dtype().is_float()
    }

    /// Whether the elements are complex numbers.
    fn is_complex(&self) -> bool {
        self.tensor.dtype().is_complex()
    }

    /// Whether the dtype has negative numbers.
    fn is_signed(&self) -> bool {
        self.tensor.dtype().is_signed()
    }

    /// How often the memory has been written to.
    #[getter]
    fn _version(&self) -> Result<u32> {
        if self.tensor.core().storage.is_inference() {
            return error::runtime("Inference tensors do not track version counter.");
        }
        Ok(self.tensor.version())
    }

    #[getter]
    fn _base(&self) -> Option<Tensor> {
        self.tensor.base()
    }

    fn _is_view(&self) -> bool {
        self.tensor.base().is_some()
    }

    /// Whether this tensor was made under `inference_mode`.
    fn is_inference(&self) -> bool {
        self.tensor.core().storage.is_inference()
    }

    /// Whether gradients are computed for this tensor.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.tensor.requires_grad()
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> Result<()> {
        let Ok(value) = value.extract::<bool>() else {
            return error::runtime("requires_grad must be a bool");
        };
        slf.get().tensor.meet(slf);
        slf.get().tensor.set_requires_grad(value)
    }

    /// This tensor, which has gradients from now on, or has none.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        slf.get().tensor.meet(&slf);
        slf.get().tensor.set_requires_grad(requires_grad)?;
        Ok(slf)
    }

    /// Whether no recorded operation made this tensor.
    #[getter]
    fn is_leaf(&self) -> Result<bool> {
        if self.tensor.is_stale_view() {
            drop(self.tensor.edge());
            refusal::check()?;
        }
        Ok(self.tensor.is_leaf())
    }

    /// Which output of its `grad_fn` this tensor is.
    #[getter]
    fn output_nr(&self) -> usize {
        self.tensor.meta().read_recursive().grad_fn.as_ref().map_or(0, |edge| edge.index)
    }

    /// The gradient that backward passes have added up, or None.
    #[getter]
    fn grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Self>>> {
        let Some(grad) = self.tensor.meta().read_recursive().grad.clone() else { return Ok(None) };
        let object = grad.clone().into_pyobject(py)?;
        let mut meta = self.tensor.meta().write();
        let kept = meta.grad.as_ref().is_some_and(|present| present.is(&grad));
        let old = if kept { meta.grad_object.replace(object.clone().into_any().unbind()) } else { None };
        drop(meta);
        drop(old);
        Ok(Some(object))
    }

    #[setter]
    fn set_grad(&self, grad: Option<Bound<'_, Self>>) -> Result<()> {
        let object = grad.as_ref().map(|grad| grad.clone().into_any().unbind());
        let grad = grad.map(|grad| grad.extract::<AnyTensor>()).transpose()?.map(|grad| grad.0);
        if let Some(grad) = &grad {
            if grad.shape() != self.tensor.shape() {
                return error::runtime(format!(
                    "assigned grad has data of a different size: expected {:?}, got {:?}",
                    self.tensor.shape().as_slice(),
                    grad.shape().as_slice()
                ));
            }
            if grad.dtype() != self.tensor.dtype() {
                return error::runtime(format!(
                    "assigned grad has data of a different type: expected {}, got {}",
                    self.tensor.dtype().name(),
                    grad.dtype().name()
                ));
            }
            if grad.device() != self.tensor.device() {
                return error::device("assigned grad has data located on a different device");
            }
        }
        self.tensor.set_grad(grad);
        self.tensor.meta().write().grad_object = object;
        Ok(())
    }

    #[deleter]
    fn delete_grad(&self) {
        self.tensor.set_grad(None);
    }

    /// The node of the graph that made this tensor, or None.
    #[getter]
    fn grad_fn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.tensor.requires_grad() || self.tensor.is_leaf() {
            return Ok(None);
        }
        let edge = self.tensor.edge();
        refusal::check()?;
        edge.map(|edge| PyNode(edge).object(py)).transpose()
    }

    /// Whether the gradient of this tensor, which is no leaf, is kept.
    #[getter]
    fn retains_grad(&self) -> bool {
        self.tensor.meta().read_recursive().retains_grad
    }

    /// Keeps the gradient of a tensor that is not a leaf.
    fn retain_grad(&self) -> Result<()> {
        if !self.tensor.requires_grad() {
            return error::runtime("can't retain_grad on Tensor that has requires_grad=False");
        }
        if self.tensor.is_leaf() || self.tensor.meta().read_recursive().retains_grad {
            return Ok(());
        }
        let edge = self.tensor.edge();
        refusal::check()?;
        if let Some(edge) = edge {
            edge.node.with_hooks(|hooks| hooks.retain.push((edge.index, self.tensor.downgrade())));
        }
        self.tensor.meta().write().retains_grad = true;
        Ok(())
    }

    /// The node and its output to which a gradient of this tensor goes; that of a leaf adds to its `.grad`.
    fn _gradient_edge<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let edge = self.tensor.edge();
        refusal::check()?;
        let Some(edge) = edge else {
            return Ok(error::runtime(
                "It is not possible to get the gradient edge for a Tensor that does not require gradients",
            )?);
        };
        let index = edge.index;
        Ok((PyNode(edge).object(py)?, index))
    }

    /// Exchanges values, history and gradients with `other`; whoever else knows one of the two would see the other.
    fn _swap(&self, other: &Bound<'_, Self>) -> Result<()> {
        let other = &other.get().tensor;
        if self.tensor.is(other) {
            return Ok(());
        }
        if self.tensor.handles() != 1 || other.handles() != 1 {
            return error::runtime("swap_tensors: a graph or a view still refers to one of the tensors");
        }
        let (mine, theirs) = (self.tensor.core().clone(), other.core().clone());
        self.tensor.set_core(theirs);
        other.set_core(mine);
        std::mem::swap(&mut *self.tensor.meta().write(), &mut *other.meta().write());
        Ok(())
    }

    /// Adds a hook that sees, and may replace, this tensor's gradient; Python wraps the answer in a handle.
    fn _register_hook(&self, hook: Py<PyAny>) -> PyResult<(Option<PyNode>, u64)> {
        add_tensor_hook(&self.tensor, hook)
    }

    fn _register_post_accumulate_grad_hook(&self, hook: Py<PyAny>) -> Result<u64> {
        if !self.tensor.is_leaf() || !self.tensor.requires_grad() {
            return error::runtime("post accumulate grad hooks cannot be registered on non-leaf tensors");
        }
        let id = crate::autograd::node::HOOK_ID.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.tensor.meta().write().hooks.get_or_insert_with(Box::default).post.push((id, hook));
        Ok(id)
    }

    /// Removes a hook of a leaf, of either kind.
    fn _remove_leaf_hook(&self, id: u64) {
        let mut meta = self.tensor.meta().write();
        let Some(hooks) = meta.hooks.as_mut() else { return };
        let mut gone: Vec<_> = hooks.grad.extract_if(.., |(found, _)| *found == id).collect();
        gone.extend(hooks.post.extract_if(.., |(found, _)| *found == id));
        drop(meta);
        // Dropping a hook may run Python code, which must find the lock free.
        drop(gone);
    }

    /// The same memory outside the graph and with its own version counter.
    #[getter]
    fn data(&self) -> Tensor {
        let mut core = self.tensor.core().clone();
        core.storage = core.storage.untracked();
        Tensor::from_core(core)
    }

    #[setter]
    fn set_data(&self, value: Tensor) -> Result<()> {
        if value.kind() != self.tensor.kind() {
            return error::runtime(format!(
                "data set to a tensor of type {} which is incompatible with {}",
                value.dtype().name(),
                self.tensor.dtype().name()
            ));
        }
        let mut core = value.core().clone();
        core.storage = core.storage.untracked_at(self.tensor.version());
        self.tensor.set_core(core);
        // A gradient sink made for the old shape must not judge the new one's gradients.
        self.tensor.meta().write().accumulator = std::sync::Weak::new();
        Ok(())
    }

    /// The same memory outside the graph.
    fn detach(&self) -> Tensor {
        movement::detach(&self.tensor)
    }

    /// This tensor, which has left its graph.
    fn detach_<'py>(slf: Bound<'py, Self>) -> Result<Bound<'py, Self>> {
        let tensor = &slf.get().tensor;
        if tensor.base().is_some() {
            return error::runtime("Can't detach views in-place. Use detach() instead.");
        }
        let old = {
            let mut meta = tensor.meta().write();
            meta.requires_grad = false;
            meta.grad_fn.take()
        };
        drop(old);
        Ok(slf)
    }

    /// Gives the memory of this tensor away, so that every function refuses it.
    fn _seal(&self) {
        self.tensor.seal();
    }

    /// Bytes of the elements in row-major order.
    fn _bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        Ok(pyo3::types::PyBytes::new(py, &self.tensor.to_bytes()?))
    }

    /// An object of class `cls`, whose own `__new__` is not asked, over the memory of `data`.
    #[staticmethod]
    #[pyo3(signature = (cls, data, require_grad=false))]
    fn _make_subclass<'py>(cls: &Bound<'py, PyType>, data: Tensor, require_grad: bool) -> PyResult<Bound<'py, PyAny>> {
        let made = cls.py().get_type::<Self>().call_method1("__new__", (cls, data))?;
        made.extract::<Tensor>()?.set_requires_grad(require_grad)?;
        Ok(made)
    }

    /// A view of this tensor, with its history, as an object of class `cls`.
    fn _as_subclass<'py>(&self, cls: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        let view = movement::alias(&self.tensor)?;
        let made = cls.py().get_type::<Self>().call_method1("__new__", (cls, view.detached()))?;
        let tensor = made.extract::<Tensor>()?;
        let (edge, origin) = {
            let mut meta = view.meta().write();
            (meta.grad_fn.take(), meta.view.take())
        };
        let mut meta = tensor.meta().write();
        meta.grad_fn = edge;
        meta.view = origin;
        drop(meta);
        Ok(made)
    }

    fn _to_dtype(&self, py: Python<'_>, dtype: DTypeArg) -> PyResult<Tensor> {
        crate::ops::convert::warn_of_loss(py, self.tensor.dtype(), dtype.0)?;
        Ok(creation::to_dtype(&self.tensor, dtype.0)?)
    }

    fn _to_device(&self, device: DeviceArg) -> Result<Tensor> {
        creation::to_device(&self.tensor, device.0)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTensor>()?;
    module.add_function(wrap_pyfunction!(_set_size_class, module)?)
}
