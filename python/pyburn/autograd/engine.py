"""Starting a backward pass: `backward` and `grad`, and the search for what went wrong in one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyburn import _core, ops
from pyburn._core import Tensor

__all__ = ["backward", "detect_anomaly", "grad", "set_detect_anomaly"]

TensorOrTensors = Tensor | Sequence[Tensor]


class _Passes(threading.local):
    """The backward passes of a thread: what to call when the innermost ends, and how often its graph comes again."""

    callbacks: list[Callable[[], object]] | None = None
    repeats = 0


_PASSES = _Passes()


def _run(outputs: list[Any], starts: Sequence[Tensor | None], keep: bool, *more: Any) -> list[Tensor | None]:
    """A backward pass, and then what was queued in it."""
    queued: list[Callable[[], object]] = []
    outer, _PASSES.callbacks = _PASSES.callbacks, queued
    try:
        found: list[Tensor | None] = _core._backward(outputs, starts, keep or _PASSES.repeats > 0, *more)
        for callback in queued:  # one may queue another
            callback()
        return found
    finally:
        _PASSES.callbacks = outer


def queue_callback(callback: Callable[[], object]) -> None:
    """Nothing; the function is called at the end of the backward pass that runs now.

    Raises:
        RuntimeError: If none runs in this thread.
    """
    if _PASSES.callbacks is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _PASSES.callbacks.append(callback)


@contextmanager
def repeated() -> Iterator[None]:
    """A block whose backward passes keep their graphs: a loop stands for one batched pass, and will come again."""
    _PASSES.repeats += 1
    try:
        yield
    finally:
        _PASSES.repeats -= 1


def _listed(values: Any) -> list[Any]:
    # A `GradientEdge` stands for one tensor too.
    return [values] if values is None or hasattr(values, "output_nr") else list(values)


def _places(values: list[Any]) -> list[Any]:
    """Tensors as they are, gradient edges as the core takes them."""
    return [value if isinstance(value, Tensor) else (value.node, value.output_nr) for value in values]


def _starts(outputs: list[Tensor], grads: Any) -> list[Tensor | None]:
    listed: list[Tensor | None] = [None] * len(outputs) if grads is None else _listed(grads)
    if len(listed) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(listed)} gradients")
    for value in listed:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    return listed


def backward(
    tensors: TensorOrTensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: TensorOrTensors | None = None,
) -> None:
    """Nothing; the gradients of the sum of tensors are added to ``.grad`` of the leaves they come from.

    Args:
        tensors: What to differentiate.
        grad_tensors: The gradient of each of them; may be left out for those with one element.
        retain_graph: Whether the graph can be used again; by default if ``create_graph``.
        create_graph: Whether the gradients can be differentiated again.
        grad_variables: The old name of ``grad_tensors``.
        inputs: Only these get a gradient.

    Raises:
        RuntimeError: If something has no gradient, or the graph has been freed.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor([1.0, 2.0], requires_grad=True)
        >>> backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("backward: grad_variables is the old name of grad_tensors; give only one of them.")
        warnings.warn("backward: grad_variables is deprecated, use grad_tensors.", FutureWarning, stacklevel=2)
        grad_tensors = grad_variables
    outputs = _listed(tensors)
    wanted = None if inputs is None else _listed(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    for tensor in wanted or []:
        if isinstance(tensor, Tensor) and not tensor.is_leaf:
            tensor.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    starts, inside = _starts(outputs, grad_tensors), None if wanted is None else _places(wanted)
    _run(_places(outputs), starts, keep, create_graph, inside, wanted is not None)


def grad(
    outputs: TensorOrTensors,
    inputs: TensorOrTensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the sum of outputs, one for each input; no ``.grad`` is touched.

    Args:
        outputs: What to differentiate.
        inputs: What to differentiate by.
        grad_outputs: The gradient of each output; may be left out for those with one element.
        retain_graph: Whether the graph can be used again; by default if ``create_graph``.
        create_graph: Whether the gradients can be differentiated again.
        only_inputs: Accepted; it is always so.
        allow_unused: Whether an input that the outputs do not depend on gives ``None`` rather than an error.
        is_grads_batched: Whether ``grad_outputs`` have one more dimension in front, a backward pass for each.
        materialize_grads: Whether such an input gives zeros.

    Raises:
        RuntimeError: If something has no gradient, or the graph has been freed.

    Example:
        >>> import pyburn
        >>> x = pyburn.tensor(3.0, requires_grad=True)
        >>> (first,) = grad(x**3, x, create_graph=True)
        >>> (second,) = grad(first, x)
        >>> first.item(), second.item()
        (27.0, 18.0)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn("grad: only_inputs is ignored and defaults to True.", FutureWarning, stacklevel=2)
    results, wanted = _listed(outputs), _listed(inputs)
    starts = _starts(results, grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(results, wanted, starts, keep, create_graph)
    else:
        found = _run(_places(results), starts, keep, create_graph, _places(wanted))
    if materialize_grads:
        found = [tensor.detach().new_zeros(tensor.shape) if g is None else g for g, tensor in zip(found, wanted)]
    elif not allow_unused:
        for index, gradient in enumerate(found):
            if gradient is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
    return tuple(found)


def _batched(
    outputs: list[Tensor], inputs: list[Tensor], starts: list[Tensor | None], keep: bool, create_graph: bool
) -> list[Tensor | None]:
    counts = {start.shape[0] if start is not None and start.dim() > 0 else None for start in starts}
    if len(counts) != 1 or None in counts:
        raise RuntimeError("grad: with is_grads_batched=True all grad_outputs need a first dimension of one size.")
    count = counts.pop() or 0
    rows = []
    for index in range(count):
        row = [start[index] for start in starts if start is not None]
        again = keep or index + 1 < count
        rows.append(_run(_places(outputs), row, again, create_graph, _places(inputs)))
    columns = zip(*rows) if rows else ([] for _ in inputs)
    return [None if not column or column[0] is None else ops.stack(list(column)) for column in columns]


class set_detect_anomaly:
    """Anomaly detection on or off from now on; as a context, until its end.

    Args:
        mode: Whether to record where each operation was called, and to name it when its backward fails.
        check_nan: Whether a NaN in a gradient is such a failure.

    Example:
        >>> with set_detect_anomaly(False):
        ...     pass
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = _core._get_anomaly()
        _core._set_anomaly(mode, check_nan)

    def __enter__(self) -> None: ...

    def __exit__(self, *_error: object) -> None:
        _core._set_anomaly(*self._previous)


class detect_anomaly:
    """A context in which a failing or NaN-producing backward names the forward call it belongs to.

    Args:
        check_nan: Whether a NaN in a gradient is a failure.

    Example:
        >>> import pyburn, warnings
        >>> warnings.simplefilter("ignore")
        >>> x = pyburn.tensor([-1.0], requires_grad=True)
        >>> with detect_anomaly():
        ...     x.sqrt().sum().backward()
        Traceback (most recent call last):
        ...
        RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._previous = _core._get_anomaly()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._previous = _core._get_anomaly()
        _core._set_anomaly(True, self._check_nan)

    def __exit__(self, *_error: object) -> None:
        _core._set_anomaly(*self._previous)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Nothing; backward passes from now on name the forward line of what fails, or no longer do."""
    _core._set_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether failing backward passes name the forward line.

    Example:
        >>> is_anomaly_enabled()
        False
    """
    return bool(_core._get_anomaly()[0])


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN counts as failing.

    Example:
        >>> is_anomaly_check_nan_enabled()
        True
    """
    return bool(_core._get_anomaly()[1])
