"""torch's own checks, which programs call too: each raises its class of error where a condition does not hold."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyburn import _core
from pyburn._absent import absent_class
from pyburn._core import Tensor

__all__ = [
    "TensorType",
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_type",
    "_check_value",
    "_check_with",
    "_shape_as_tensor",
    "_softmax_backward_data",
    "get_device_module",
]

# A type of TorchScript's, which stands in annotations.
TensorType: Any = absent_class("TensorType", "pyburn does not compile programs", "use torch.Tensor")
Message = Callable[[], object] | None

_DEFAULT = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _assert(condition: Any, message: Any = "") -> None:
    """Nothing where a condition holds.

    Raises:
        AssertionError: If it does not hold.
    """
    if type(condition) is not bool and not isinstance(condition, Tensor):
        # A value that fx traces is no truth yet: it records the question.
        takes_over = getattr(type(condition), "__torch_function__", None)
        if takes_over is not None:
            takes_over(_assert, (type(condition),), (condition, message))
            return
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Nothing where a condition holds; else raises an error of this class.

    Raises:
        TypeError: If the condition is not a bool, or the message no function.
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_DEFAULT if message is None else str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Nothing where a condition holds.

    Example:
        >>> _check(1 < 2, lambda: "one is less than two")

    Raises:
        RuntimeError: If it does not hold.
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Nothing where a condition holds; else an IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Nothing where a condition holds; else a ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Nothing where a condition holds; else a TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Nothing where a condition holds; else a NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Nothing where a number can be a size; else a RuntimeError."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Nothing where every entry holds; else a RuntimeError.

    Raises:
        TypeError: If it is no tensor of bools.
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check(bool(cond.all()), message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Nothing where the one entry of a tensor is not zero.

    Raises:
        RuntimeError: If it is zero.
    """
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor."""
    return _core._tensor(list(input.shape), dtype=_core.int64)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of softmax, from its result and the gradient of that."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device's kind: `torch.cpu`, `torch.cuda` and so on.

    Raises:
        RuntimeError: If the device is neither a name nor a device.
    """
    kind = device.type if isinstance(device, _core.device) else device
    if kind is None:
        kind = _core.get_default_device().type
    if not isinstance(kind, str):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    name = kind.partition(":")[0]
    return importlib.import_module(f"pyburn.{'accelerator' if name == 'wgpu' else name}")
