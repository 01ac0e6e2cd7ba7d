"""`autograd.Function`: an operation whose forward and backward are written in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from pyburn import _core
from pyburn._core import Tensor
from pyburn.autograd.grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

F = TypeVar("F", bound=Callable[..., Any])

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


class FunctionCtx:
    """What forward leaves for backward: saved tensors, marks, and any attribute set on it.

    Attributes:
        needs_input_grad: For each argument of forward, whether its gradient is wanted.
    """

    def __init__(self, function: type[Function], args: tuple[Any, ...]) -> None:
        self._function = function
        self._is_tensor = [isinstance(arg, Tensor) for arg in args]
        self.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._materialize = True
        # One entry for each saved tensor: how to get it back, given the node.
        self._saved: list[Callable[[Any], Tensor | None]] | None = []
        # Shape, dtype and device of each output with a gradient, and where it stands among all outputs.
        self._outputs: list[tuple[tuple[int, ...], Any, Any]] = []
        self._positions: list[int] = []
        self._count = 0
        self._node: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward, which finds them in ``saved_tensors`` in this order.

        Args:
            *tensors: Inputs, outputs or others; ``None`` keeps its place.
        """
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepts tensors for ``jvp``, which is never called: there is no forward mode here."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Says that forward has changed these inputs in place; it must return them too."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says that these outputs have no gradient."""
        self._constant = args

    def set_materialize_grads(self, value: bool) -> None:
        """Says whether backward gets zeros, or else ``None``, for outputs that no gradient reached."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`.

        Raises:
            RuntimeError: If one was written to since, or the graph has been freed.
        """
        if self._saved is None:
            raise RuntimeError(_FREED)
        return tuple(restore(self._node) for restore in self._saved)

    def _keep(self, outputs: Sequence[Tensor | None]) -> None:
        """Packs what forward asked to be saved, once its outputs have their place in the graph."""
        name = _node_name(self._function)
        restore: list[Callable[[Any], Tensor | None]] = []
        for tensor in self._to_save:
            index = _position(tensor, outputs)
            if tensor is None:
                restore.append(_nothing)
            elif not _has_memory(tensor):
                restore.append(functools.partial(_same, tensor))
            elif index is None:
                restore.append(functools.partial(_input_again, _core._SavedTensor(tensor, name)))
            else:
                # An output knows this object through its history: only its values may be kept here.
                saved = _core._SavedTensor(tensor.detach(), name)
                restore.append(functools.partial(_output_again, saved, index))
        self._saved, self._to_save = restore, ()

    def _run(self, grads: tuple[Tensor | None, ...], node: Any) -> tuple[Tensor | None, ...]:
        """The gradients of all arguments; called by the engine."""
        arrived: list[Tensor | None] = [None] * self._count
        # The engine calls only when a gradient has arrived.
        some = next(grad for grad in grads if grad is not None)
        for position, (shape, dtype, device), grad in zip(self._positions, self._outputs, grads):
            missing = grad is None and self._materialize
            arrived[position] = some.new_zeros(shape, dtype=dtype, device=device) if missing else grad
        self._node = node
        try:
            results = self._function.backward(self, *arrived)
        finally:
            self._node = None
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        name, expected = _node_name(self._function), len(self._is_tensor)
        if len(results) > expected and all(result is None for result in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(results)})"
            )
        for index, (result, is_tensor) in enumerate(zip(results, self._is_tensor)):
            if result is None:
                continue
            if not is_tensor:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {index + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(result, Tensor):
                raise TypeError(
                    f"{name}: expected a Tensor or None as gradient {index} but got {type(result).__name__}"
                )
        return results

    def _release(self) -> None:
        self._saved = None


def _has_memory(tensor: Tensor) -> bool:
    # The tape sees no sparse tensors: they go to backward as they are.
    return not (tensor.is_sparse or tensor.is_sparse_csr)


def _same(tensor: Tensor, _node: Any) -> Tensor:
    return tensor


def _nothing(_node: Any) -> None:
    return None


def _input_again(saved: _core._SavedTensor, _node: Any) -> Tensor:
    return saved.unpack()


def _output_again(saved: _core._SavedTensor, index: int, node: Any) -> Tensor:
    tensor = saved.unpack().detach()
    if node is not None and _core.is_grad_enabled():
        _core._set_history(tensor, node, index)
    return tensor


def _node_name(function: type[Function]) -> str:
    return f"{function.__name__}Backward"


def _position(tensor: Any, among: Sequence[Any]) -> int | None:
    # By identity: comparing tensors gives tensors.
    return next((index for index, other in enumerate(among) if other is tensor), None)


def _among(tensor: Any, others: Sequence[Any]) -> bool:
    return _position(tensor, others) is not None


class Function:
    """The base of operations with a backward of their own; subclasses define it and are used by ``apply``.

    ``forward(ctx, *args)`` computes, ``backward(ctx, *grads)`` returns a gradient, or ``None``, for each
    argument. With a ``setup_context(ctx, inputs, output)``, ``forward`` takes no ``ctx``.

    Example:
        >>> import pyburn
        >>> class Cube(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * 3 * x**2
        >>> x = pyburn.tensor([2.0], requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor([12.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is not instantiated: call {type(self).__name__}.apply(...).")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The result of the operation; subclasses define it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps what backward needs; subclasses may define it, and then ``forward`` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all arguments; subclasses define it."""
        raise NotImplementedError(
            "You must implement the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @classmethod
    def vjp(cls, ctx: Any, *grad_outputs: Any) -> Any:
        """The same as ``backward``."""
        return cls.backward(ctx, *grad_outputs)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The result of ``forward``, with its place in the graph.

        Args:
            *args: Anything; tensors among them, but not inside other containers, get gradients.
            **kwargs: Only for functions with a ``setup_context``.
        """
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply: takes no keyword arguments, got {', '.join(kwargs)}.")
        ctx = FunctionCtx(cls, args)
        with no_grad():
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        results = output if isinstance(output, tuple) else (output,)
        linked = _link(ctx, args, results)
        return linked if isinstance(output, tuple) else linked[0]


def _link(ctx: FunctionCtx, args: tuple[Any, ...], results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs of forward as results of a new node; `ctx` is then ready for backward."""
    ctx._count = len(results)
    recording = _core.is_grad_enabled() and any(ctx.needs_input_grad)
    outputs = list(results)
    recorded: list[Tensor] = []
    written: list[tuple[Tensor, Tensor]] = []
    own: list[Tensor | None] = []
    for index, output in enumerate(results):
        if not isinstance(output, Tensor):
            continue
        is_dirty, is_input = _among(output, ctx._dirty), _among(output, args)
        value = output
        if is_dirty and recording:
            # The history of the written tensor, and of the base it may be a view of, changes below.
            value = _copy_of_written(output)
            written.append((output, value))
        elif is_input and not is_dirty:
            with no_grad():
                value = outputs[index] = output.view_as(output)
        elif output.requires_grad and not is_input and not (output._is_view() and output.grad_fn is None):
            value = outputs[index] = output.detach()
        if recording and (output.is_floating_point() or output.is_complex()) and not _among(output, ctx._constant):
            recorded.append(value)
            own.append(output if is_dirty or not is_input else None)
            ctx._positions.append(index)
    if recorded:
        ctx._outputs = [(tuple(value.shape), value.dtype, value.device) for value in recorded]
        inputs = [arg if isinstance(arg, Tensor) and _has_memory(arg) else None for arg in args]
        _core._record_function(_node_name(ctx._function), ctx, inputs, recorded)
        for target, value in written:
            target._assign("mark_dirty", value)
        ctx._keep(own)
    return tuple(outputs)


def _copy_of_written(tensor: Tensor) -> Tensor:
    if tensor.is_leaf and tensor.requires_grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return tensor.detach().clone()


def once_differentiable(fn: F) -> F:
    """A ``backward`` that is not recorded: differentiating its result raises instead of being wrong.

    Args:
        fn: The ``backward`` of a `Function`.

    Example:
        >>> class Double(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, grad):
        ...         return grad * 2
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        recorded = any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        if not (_core.is_grad_enabled() and recorded):
            return outputs
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        results = tuple(_refusing(result) for result in results)
        return results if isinstance(outputs, tuple) else results[0]

    return cast(F, wrapper)


class _Refusal(Function):
    """The identity, with a backward that refuses."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _refusing(value: Any) -> Any:
    return _Refusal.apply(value.detach().requires_grad_()) if isinstance(value, Tensor) else value
