"""The common functions of `keras.ops`, on tensors and on symbolic ones, which they turn into layers of a model."""

from __future__ import annotations

import builtins  # some functions of Keras have the names of Python's
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pyburn import ops as _ops
from pyburn._core import Tensor
from pyburn.keras import _further_ops, _image_ops, _more_ops, _network_ops, _signal_ops
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
        dtype: The dtype of the result, of functions that have one.
        trainable: Accepted for Keras's sake.
        **settings: Arguments of the function beside its tensors.
    """

    _function: Any = None

    def __init__(self, name: str | None = None, dtype: Any = None, trainable: bool = True, **settings: Any) -> None:
        super().__init__(name=name)
        known = inspect.signature(type(self)._function[0]).parameters
        if dtype is not None and "dtype" in known:
            settings["dtype"] = dtype
        # Files of Keras's also name what is left out.
        self.settings = {key: value for key, value in settings.items() if value is not None or key in known}
        self.autocast = False

    def call(self, *args: Any, **kwargs: Any) -> Any:
        compute, settings = type(self)._function[0], {**self.settings, **kwargs}
        if not settings:
            return compute(*args)
        # What a file names may stand before what it gives by place, as in einsum(subscripts, *operands).
        given, placed = list(args), list[Any]()
        for parameter in inspect.signature(compute).parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                placed, given = [*placed, *given], []
            elif given or parameter.name in settings:
                placed.append(settings.pop(parameter.name) if parameter.name in settings else given.pop(0))
            else:
                break
        return compute(*placed, *given, **settings)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, **self.settings}

    def get_build_config(self) -> dict[str, Any] | None:
        """Nothing: a function has no weights."""
        return None

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


def _expanded(x: Tensor, axis: Any) -> Tensor:
    places = [axis] if hasattr(axis, "__index__") else list(axis)
    rank = x.dim() + len(places)
    for place in sorted(int(each) % rank if len(places) > 1 else int(each) for each in places):
        x = _ops.unsqueeze(x, place)
    return x


def _one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Tensor:
    made = _functional.one_hot(_tensor(x).long(), num_classes).to(_settings.as_dtype(dtype or _settings.floatx()))
    return made if axis == -1 else made.movedim(-1, axis)


def _where(condition: Any, x1: Any, x2: Any) -> Any:
    if x1 is None and x2 is None:
        return tuple(_ops.nonzero(_tensor(condition)).unbind(1))
    given = _tensor(condition)
    return _ops.where(given if given.dtype == _settings.as_dtype("bool") else given != 0, x1, x2)


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
    ("ExpandDims", "expand_dims", lambda x, axis: _expanded(_tensor(x), axis)),
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
    ("Stack", "stack", lambda x, axis=0: _ops.stack([_tensor(each) for each in x], axis)),
    ("Subtract", "subtract", lambda x1, x2: _ops.sub(_tensor(x1), x2)),
    ("Sum", "sum", _reduced(lambda x, axis, keepdim: x.sum(axis, keepdim=keepdim))),
    ("Tanh", "tanh", lambda x: _ops.tanh(_tensor(x))),
    ("Transpose", "transpose", lambda x, axes=None: _tensor(x).permute(axes or tuple(range(_tensor(x).dim()))[::-1])),
    ("TrueDivide", "true_divide", lambda x1, x2: _ops.true_divide(_tensor(x1), x2)),
    ("Where", "where", lambda condition, x1=None, x2=None: _where(condition, x1, x2)),
]


def _placed(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor out of sizes, with Keras's names of dtypes."""

    def function(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        return make(*args, dtype=_settings.as_dtype(dtype or _settings.floatx()), **kwargs)

    return function


def _arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    numbers = [number for number in (start, stop, step) if number is not None]
    whole = builtins.all(_is_whole(number) for number in numbers)
    kind = _settings.as_dtype(dtype or ("int32" if whole else _settings.floatx()))
    first, last = (0, start) if stop is None else (start, stop)
    return _ops.arange(first, last, 1 if step is None else step, dtype=kind)


def _is_whole(number: Any) -> bool:
    """Whether it is a whole number: of Python, of numpy, or a tensor."""
    if isinstance(number, Tensor):
        return not number.is_floating_point()
    return hasattr(number, "__index__")


def _spread(root: bool) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        mean = _reduced(_mean)
        away = _tensor(x) - mean(x, axis, True)
        found = mean(away * away, axis, keepdims)
        return _ops.sqrt(found) if root else found

    return function


def _product(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    x = _tensor(x)
    made = x.prod() if axis is None else x.prod(axis, keepdim=keepdims)
    made = made.reshape([1] * x.dim()) if axis is None and keepdims else made
    return made if dtype is None else convert_to_tensor(made, dtype)


def _split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    return list(_ops.tensor_split(_tensor(x), indices_or_sections, axis))


def _take(x: Any, indices: Any, axis: int | None = None) -> Tensor:
    x, places = _tensor(x), _tensor(indices).long()
    x, axis = (x.reshape([-1]), 0) if axis is None else (x, axis % x.dim())
    places = _ops.where(places < 0, places + x.shape[axis], places)
    found: Tensor = x.index_select(axis, places.reshape([-1]))
    return found.reshape([*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]])


def _pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Tensor:
    x = _tensor(x)
    pairs = [pad_width] * x.dim() if isinstance(pad_width, int) else list(pad_width)
    pairs = [(each, each) if isinstance(each, int) else tuple(each) for each in pairs]
    pairs = pairs * x.dim() if len(pairs) == 1 else pairs
    if mode != "constant":
        return _mirrored(x, pairs, mode)
    flat = [number for pair in reversed(pairs) for number in pair]
    return _functional.pad(x, flat, value=constant_values or 0)


def _mirrored(x: Tensor, pairs: list[Any], mode: str) -> Tensor:
    """`x` with its own entries beyond its edges, along every axis."""
    if mode not in ("reflect", "symmetric", "edge"):
        raise ValueError(f"ops.pad: mode is {mode!r}, but must be constant, reflect, symmetric or edge")
    for axis, (before, after) in enumerate(pairs):
        length = int(x.shape[axis])
        places = _ops.arange(-int(before), length + int(after), device=x.device)
        if mode == "edge":
            places = _ops.clamp(places, 0, length - 1)
        else:
            # A walk there and back: the edge counts once ("reflect") or twice ("symmetric").
            turn = 2 * (length - 1) if mode == "reflect" else 2 * length
            places = _ops.remainder(places, builtins.max(turn, 1))
            back = turn - places if mode == "reflect" else turn - 1 - places
            places = _ops.where(places < length, places, back)
        x = x.index_select(axis, places)
    return x


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    first, last = _tensor(start), _tensor(stop)
    first, last = (each if each.is_floating_point() else each.float() for each in (first, last))
    gaps = builtins.max(num - 1 if endpoint else num, 1)
    step = (last - first) / gaps
    places = _ops.arange(num, dtype=step.dtype, device=step.device).reshape([-1] + [1] * step.dim())
    made = (first + places * step).movedim(0, axis)
    made = made if dtype is None else made.to(_settings.as_dtype(dtype))
    return (made, step) if retstep else made


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    from pyburn import linalg

    return linalg.norm(_tensor(x), ord, _axes(axis), keepdim=keepdims)


def _two(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x1, x2: compute(_tensor(x1), _like(x2, x1))


def _one(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: compute(_tensor(x))


_TABLE += [
    ("Abs", "abs", _one(_ops.abs)),
    ("All", "all", lambda x, axis=None, keepdims=False: _logical(_ops.all, x, axis, keepdims)),
    ("Any", "any", lambda x, axis=None, keepdims=False: _logical(_ops.any, x, axis, keepdims)),
    ("Arange", "arange", _arange),
    ("Argmin", "argmin", lambda x, axis=None, keepdims=False: _ops.argmin(_tensor(x), axis, keepdim=keepdims)),
    ("Argsort", "argsort", lambda x, axis=-1: _ops.argsort(_tensor(x), axis, stable=True)),
    ("BroadcastTo", "broadcast_to", lambda x, shape: _ops.broadcast_to(_tensor(x), tuple(shape))),
    ("Ceil", "ceil", _one(_ops.ceil)),
    ("Cumsum", "cumsum", lambda x, axis=None, dtype=None: _retyped(_flat_or(x, axis).cumsum(axis or 0), dtype)),
    ("Elu", "elu", lambda x, alpha=1.0: _functional.elu(_tensor(x), alpha)),
    ("Equal", "equal", _two(_ops.eq)),
    ("Erf", "erf", _one(_ops.erf)),
    ("Eye", "eye", lambda N, M=None, k=0, dtype=None: _eye(N, M, k, dtype)),
    ("Flip", "flip", lambda x, axis=None: _tensor(x).flip(*_listed(x, axis))),
    ("Floor", "floor", _one(_ops.floor)),
    ("FloorDivide", "floor_divide", _two(_ops.floor_divide)),
    ("Full", "full", lambda shape, fill_value, dtype=None: _filled(shape, fill_value, dtype)),
    ("Greater", "greater", _two(_ops.gt)),
    ("GreaterEqual", "greater_equal", _two(_ops.ge)),
    ("Isfinite", "isfinite", _one(_ops.isfinite)),
    ("Isinf", "isinf", _one(_ops.isinf)),
    ("Isnan", "isnan", _one(_ops.isnan)),
    ("LeakyRelu", "leaky_relu", lambda x, negative_slope=0.2: _functional.leaky_relu(_tensor(x), negative_slope)),
    ("Less", "less", _two(_ops.lt)),
    ("LessEqual", "less_equal", _two(_ops.le)),
    ("Linspace", "linspace", _linspace),
    ("Log1p", "log1p", _one(_ops.log1p)),
    ("LogicalAnd", "logical_and", _two(_ops.logical_and)),
    ("LogicalNot", "logical_not", _one(_ops.logical_not)),
    ("LogicalOr", "logical_or", _two(_ops.logical_or)),
    ("Logsumexp", "logsumexp", _reduced(lambda x, axis, keepdim: _ops.logsumexp(x, axis, keepdim))),
    ("Mod", "mod", _two(_ops.remainder)),
    ("Moveaxis", "moveaxis", lambda x, source, destination: _ops.movedim(_tensor(x), source, destination)),
    ("Norm", "norm", _norm),
    ("NotEqual", "not_equal", _two(_ops.ne)),
    ("Ones", "ones", _placed(lambda shape, dtype=None: _ops.ones(_shape(shape), dtype=dtype))),
    ("OnesLike", "ones_like", lambda x, dtype=None: _retyped(_ops.ones_like(_tensor(x)), dtype)),
    ("Pad", "pad", _pad),
    ("Prod", "prod", _product),
    ("Repeat", "repeat", lambda x, repeats, axis=None: _ops.repeat_interleave(_tensor(x), repeats, axis)),
    ("Roll", "roll", lambda x, shift, axis=None: _ops.roll(_tensor(x), shift, axis)),
    ("Round", "round", lambda x, decimals=0: _ops.round(_tensor(x), decimals=decimals)),
    ("Sign", "sign", _one(_ops.sign)),
    ("Softplus", "softplus", _one(_functional.softplus)),
    ("Sort", "sort", lambda x, axis=-1: _tensor(x).sort(axis).values),
    ("Split", "split", _split),
    ("Std", "std", _spread(True)),
    ("StopGradient", "stop_gradient", lambda variable: _tensor(variable).detach()),
    ("Swapaxes", "swapaxes", lambda x, axis1, axis2: _tensor(x).transpose(axis1, axis2)),
    ("Take", "take", _take),
    ("Tile", "tile", lambda x, repeats: _tensor(x).tile([repeats] if isinstance(repeats, int) else list(repeats))),
    ("Tril", "tril", lambda x, k=0: _ops.tril(_tensor(x), k)),
    ("Triu", "triu", lambda x, k=0: _ops.triu(_tensor(x), k)),
    ("Var", "var", _spread(False)),
    ("Zeros", "zeros", _placed(lambda shape, dtype=None: _ops.zeros(_shape(shape), dtype=dtype))),
    ("ZerosLike", "zeros_like", lambda x, dtype=None: _retyped(_ops.zeros_like(_tensor(x)), dtype)),
]


def _retyped(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(_settings.as_dtype(dtype))


def _eye(N: int, M: int | None, k: int, dtype: Any) -> Tensor:
    rows, columns = _ops.arange(N).unsqueeze(1), _ops.arange(N if M is None else M)
    return (columns == rows + k).to(_settings.as_dtype(dtype or _settings.floatx()))


def _shape(shape: Any) -> list[int]:
    return [shape] if isinstance(shape, int) else list(shape)


def _filled(shape: Any, value: Any, dtype: Any) -> Tensor:
    given: Tensor = _tensor(value)
    return given.to(_settings.as_dtype(dtype) if dtype is not None else given.dtype).expand(_shape(shape)).clone()


def _flat_or(x: Any, axis: Any) -> Tensor:
    flat: Tensor = _tensor(x)
    return flat.reshape([-1]) if axis is None else flat


def _listed(x: Any, axis: Any) -> list[int]:
    if axis is None:
        return list(range(_tensor(x).dim()))
    return [axis] if isinstance(axis, int) else list(axis)


def _logical(reduce: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    values = _tensor(x) != 0
    for each in sorted((place % values.dim() for place in _listed(x, axis)), reverse=True):
        values = reduce(values, each, keepdim=keepdims)
    return values


def _like(value: Any, other: Any) -> Tensor:
    """`value` as a tensor beside `other`: numbers of Python take its dtype, but for fractions beside whole numbers."""
    if isinstance(value, Tensor):
        return value
    other = _tensor(other)
    if not isinstance(value, (bool, int, float)):
        return _ops.as_tensor(value, device=other.device)
    whole = not other.is_floating_point() and not other.is_complex()
    if isinstance(value, bool) or (whole and (isinstance(value, float) or other.dtype == _settings.as_dtype("bool"))):
        return _ops.as_tensor(value, device=other.device)
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
    function.__wrapped__ = compute  # type: ignore[attr-defined]
    return function


_more = [*_more_ops.MORE, *_network_ops.NETWORK, *_signal_ops.SIGNAL, *_further_ops.FURTHER]
_TABLE += [("".join(part.title() for part in name.split("_")), name, compute) for name, compute in _more]

for _class, _name, _compute in _TABLE:
    _kind = type(_class, (Operation,), {"_function": (_compute,), "__doc__": f"`keras.ops.{_name}` as a layer."})
    _kind.__module__ = __name__
    globals()[_class] = _kind
    globals()[_name] = _function(_kind, _name, _compute)
    __all__ += [_class, _name] if _name not in __all__ else [_class]

# The class of `x[key]` has one name in files and the function another one.
for _name, _compute in {**_network_ops.CONTROL, **_further_ops.PLAIN, "get_item": globals()["getitem"]}.items():
    globals()[_name] = _compute
    __all__ += [_name]

# Keras groups its functions in modules too: `ops.nn.relu` is `ops.relu`.
image = SimpleNamespace()
for _name, _compute in {"resize": _network_ops.RESIZE, **_image_ops.IMAGE}.items():
    _class = "".join(part.title() for part in _name.split("_"))
    _kind = type(_class, (Operation,), {"_function": (_compute,), "__doc__": f"`ops.image.{_name}` as a layer."})
    setattr(image, _name, _function(_kind, _name, _compute))
linalg = nn = numpy = SimpleNamespace(**{_name: globals()[_name] for _name in __all__ if _name[0].islower()})
__all__ += ["image", "linalg", "nn", "numpy"]
