"""The common functions of `keras.ops`, on tensors and on symbolic ones, which they turn into layers of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import ops as _ops
from pyburn._core import Tensor
from pyburn.keras import activations as _activations
from pyburn.keras import config as _settings
from pyburn.keras.layer import Layer
from pyburn.keras.symbolic import any_symbolic
from pyburn.nn import functional as _functional

__all__ = ["Operation", "convert_to_numpy", "convert_to_tensor", "shape"]


class Operation(Layer):
    """A function of `keras.ops` as a layer: what calling it on symbolic tensors makes.

    Args:
        name: Its name.
        dtype: Accepted for Keras's sake.
        trainable: Accepted for Keras's sake.
        **settings: Arguments of the function beside its tensors.
    """

    _function: Any = None

    def __init__(self, name: str | None = None, dtype: Any = None, trainable: bool = True, **settings: Any) -> None:
        super().__init__(name=name)
        self.settings = settings
        self.autocast = False

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return type(self)._function[0](*args, **{**self.settings, **kwargs})

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings}

    def extra_repr(self) -> str:
        """The settings and the name."""
        return ", ".join([*(f"{key}={value!r}" for key, value in self.settings.items()), f"name={self.name!r}"])


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else _ops.as_tensor(x)


def convert_to_tensor(x: Any, dtype: Any = None) -> Tensor:
    """`x` as a tensor.

    Example:
        >>> convert_to_tensor([1, 2], dtype="float32")
        tensor([1., 2.])
    """
    made: Tensor = _tensor(x)
    return made if dtype is None else made.to(_settings.as_dtype(dtype))


def convert_to_numpy(x: Any) -> Any:
    """`x` as a numpy array."""
    return _tensor(x).detach().cpu().numpy()


def shape(x: Any) -> tuple[Any, ...]:
    """The shape; None where it is not known yet."""
    return tuple(x.shape)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _reduced(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = _tensor(x)
        axis = tuple(range(x.dim())) if axis is None else _axes(axis)
        return reduce(x, axis, keepdim=keepdims)

    return function


def _mean(x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    return (x if x.is_floating_point() else x.float()).mean(axis, keepdim=keepdim)


def _one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Tensor:
    made = _functional.one_hot(_tensor(x).long(), num_classes).to(_settings.as_dtype(dtype or _settings.floatx()))
    return made if axis == -1 else made.movedim(-1, axis)


def _cast(x: Any, dtype: Any) -> Tensor:
    return convert_to_tensor(x, dtype)


# Keras's name of the operation's class, the function's name, and what it computes.
_TABLE: list[tuple[str, str, Callable[..., Any]]] = [
    ("Absolute", "absolute", lambda x: _ops.abs(_tensor(x))),
    ("Add", "add", lambda x1, x2: _ops.add(_tensor(x1), x2)),
    ("Argmax", "argmax", lambda x, axis=None, keepdims=False: _ops.argmax(_tensor(x), axis, keepdim=keepdims)),
    ("Cast", "cast", _cast),
    ("Clip", "clip", lambda x, x_min, x_max: _ops.clamp(_tensor(x), x_min, x_max)),
    ("Concatenate", "concatenate", lambda xs, axis=0: _ops.cat([_tensor(x) for x in xs], axis)),
    ("Cos", "cos", lambda x: _ops.cos(_tensor(x))),
    ("Divide", "divide", lambda x1, x2: _ops.true_divide(_tensor(x1), x2)),
    ("Einsum", "einsum", lambda subscripts, *xs: _ops.einsum(subscripts, *xs)),
    ("Exp", "exp", lambda x: _ops.exp(_tensor(x))),
    ("ExpandDims", "expand_dims", lambda x, axis: _ops.unsqueeze(_tensor(x), axis)),
    ("Gelu", "gelu", lambda x, approximate=True: _activations.gelu(_tensor(x), approximate)),
    ("GetItem", "getitem", lambda x, key: x[_key(key)]),
    ("Log", "log", lambda x: _ops.log(_tensor(x))),
    ("LogSoftmax", "log_softmax", lambda x, axis=-1: _functional.log_softmax(_tensor(x), axis)),
    ("Matmul", "matmul", lambda x1, x2: _ops.matmul(_tensor(x1), _tensor(x2))),
    ("Max", "max", _reduced(lambda x, axis, keepdim: x.amax(axis, keepdim=keepdim))),
    ("Maximum", "maximum", lambda x1, x2: _ops.maximum(_tensor(x1), _like(x2, x1))),
    ("Mean", "mean", _reduced(_mean)),
    ("Min", "min", _reduced(lambda x, axis, keepdim: x.amin(axis, keepdim=keepdim))),
    ("Minimum", "minimum", lambda x1, x2: _ops.minimum(_tensor(x1), _like(x2, x1))),
    ("Multiply", "multiply", lambda x1, x2: _ops.mul(_tensor(x1), x2)),
    ("Negative", "negative", lambda x: -_tensor(x)),
    ("OneHot", "one_hot", _one_hot),
    ("Power", "power", lambda x1, x2: _ops.pow(_tensor(x1), x2)),
    ("Relu", "relu", lambda x: _functional.relu(_tensor(x))),
    ("Reshape", "reshape", lambda x, newshape: _tensor(x).reshape(tuple(-1 if n is None else n for n in newshape))),
    ("Rsqrt", "rsqrt", lambda x: _ops.rsqrt(_tensor(x))),
    ("Sigmoid", "sigmoid", lambda x: _ops.sigmoid(_tensor(x))),
    ("Silu", "silu", lambda x: _functional.silu(_tensor(x))),
    ("Sin", "sin", lambda x: _ops.sin(_tensor(x))),
    ("Softmax", "softmax", lambda x, axis=-1: _activations.softmax(_tensor(x), axis)),
    ("Sqrt", "sqrt", lambda x: _ops.sqrt(_tensor(x))),
    ("Square", "square", lambda x: _ops.square(_tensor(x))),
    ("Squeeze", "squeeze", lambda x, axis=None: _tensor(x).squeeze() if axis is None else _tensor(x).squeeze(axis)),
    ("Stack", "stack", lambda xs, axis=0: _ops.stack([_tensor(x) for x in xs], axis)),
    ("Subtract", "subtract", lambda x1, x2: _ops.sub(_tensor(x1), x2)),
    ("Sum", "sum", _reduced(lambda x, axis, keepdim: x.sum(axis, keepdim=keepdim))),
    ("Tanh", "tanh", lambda x: _ops.tanh(_tensor(x))),
    ("Transpose", "transpose", lambda x, axes=None: _tensor(x).permute(axes or tuple(range(_tensor(x).dim()))[::-1])),
    ("TrueDivide", "true_divide", lambda x1, x2: _ops.true_divide(_tensor(x1), x2)),
    ("Where", "where", lambda condition, x1, x2: _ops.where(condition, x1, x2)),
]


def _like(value: Any, other: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    other = _tensor(other)
    return _ops.as_tensor(value, dtype=other.dtype, device=other.device)


def _key(key: Any) -> Any:
    """An index as files hold it: lists for tuples."""
    return tuple(_key(each) for each in key) if isinstance(key, list) else key


def _function(kind: type[Operation], name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return kind()(*args, **kwargs) if any_symbolic(args, kwargs) else compute(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"What Keras's `ops.{name}` gives; symbolic tensors become part of a model."
    function.__module__ = __name__
    return function


for _class, _name, _compute in _TABLE:
    _kind = type(_class, (Operation,), {"_function": (_compute,), "__doc__": f"`keras.ops.{_name}` as a layer."})
    _kind.__module__ = __name__
    globals()[_class] = _kind
    globals()[_name] = _function(_kind, _name, _compute)
    __all__ += [_class, _name] if _name not in __all__ else [_class]
