"""How graphs write torch's functions: their dotted names, the names of their nodes, the form of their arguments.

torch writes its functions that are Python with their defaults spelled out, and the built-in ones as they were called;
graphs here do the same, so that they can be compared.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from pyburn import _core, _overriding
from pyburn._core import Tensor

# Functions of nn.functional that are built into torch.
_BUILT_IN_NAMES = (
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d "
    "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ "
    "leaky_relu_ linear logsigmoid native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle "
    "pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ softplus softshrink threshold_"
)
_BUILT_IN = frozenset(_BUILT_IN_NAMES.split())
# Those of them whose home is torch._C._nn.
_IN_NN_NAMES = (
    "avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus "
    "softshrink"
)
_IN_NN = frozenset(_IN_NN_NAMES.split())
# Functions of torch that are Python and spell their defaults out.
_SPELLED_NAMES = (
    "cdist istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index"
)
_SPELLED = frozenset(_SPELLED_NAMES.split())
# They make tensors of numbers, which may be proxies.
_MAKERS = "arange empty eye full linspace logspace ones rand randint randn randperm range zeros"
# Arguments that torch leaves out.
_NOT_TORCHS = {"nn.functional.l1_loss": "weight", "nn.functional.log_softmax": "out", "nn.functional.softmax": "out"}
_NODE_NAMES = {"nn.functional.logsigmoid": "log_sigmoid", "nn.functional.threshold": "_threshold"}


@functools.cache
def _dotted() -> dict[Any, str]:
    """The public path of each function, without the library's name; the shortest where there are several."""
    found: dict[Any, str] = {}
    for namespace in _overriding.NAMESPACES:
        prefix = namespace.removeprefix("pyburn").removeprefix(".")
        for name, value in list(vars(importlib.import_module(namespace)).items()):
            if not name.startswith("_") and isinstance(value, types.FunctionType | types.BuiltinFunctionType):
                found.setdefault(value, f"{prefix}.{name}" if prefix else name)
    for value, path in list(found.items()):
        for layer in _layers(value):
            found.setdefault(layer, path)
    return found


def _layers(function: Any) -> Iterator[Any]:
    """A function and those inside it: autocast and `__torch_function__` wrap them when they are first used."""
    while function is not None:
        yield function
        function = vars(function).get("__wrapped__") if isinstance(function, types.FunctionType) else None


def _path_of(function: Any) -> str | None:
    known = _dotted()
    return next((known[layer] for layer in _layers(function) if layer in known), None)


def is_function(target: Any) -> bool:
    """Whether it is a function of one of the library's namespaces."""
    return _path_of(target) is not None


def public_path(function: Any) -> str | None:
    """The dotted name under which the library gives a function or a class, as ``torch.relu``; None for others."""
    library = _core._library()
    if function is Tensor:
        return f"{library}.Tensor"
    try:
        path = _path_of(function)
    except TypeError:
        return None
    name = getattr(function, "__name__", "")
    root = importlib.import_module("pyburn")
    if path is None:
        is_public = bool(name) and str(getattr(function, "__module__", "")).startswith("pyburn")
        return f"{library}.{name}" if is_public and getattr(root, name, None) is function else None
    if name in _IN_NN and path.removeprefix("nn.functional.") == name:
        return f"{library}._C._nn.{name}"
    if name in _BUILT_IN and path.startswith("nn.") and getattr(root, name, None) is function:
        return f"{library}.{name}"
    if "." not in path and getattr(importlib.import_module("pyburn.functional"), path, None) is function:
        return f"{library}.functional.{path}"
    return f"{library}.{path}"


def qualified_name(function: Any) -> str:
    """The dotted name of any function, as graphs print it."""
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return str(name)
    known = public_path(function)
    if known is not None:
        return known
    if getattr(Tensor, name, None) is function:
        return f"{_core._library()}.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    return f"{getattr(function, '__module__', None) or 'builtins'}.{name}"


def node_name(function: Callable[..., Any]) -> str:
    """What a node that calls this function is named after."""
    name = str(getattr(function, "__name__", type(function).__name__))
    path = _path_of(function) or name
    if path in _NODE_NAMES:
        return _NODE_NAMES[path]
    space, _, own = path.partition(".")
    return f"{space}_{own}" if space in ("linalg", "fft", "special") and own else name


class Path(str):
    """The public path of a function in a pickled graph: functions are not pickled under the names of their files."""


def portable(target: Any) -> Any:
    """What is pickled for the target of a node."""
    path = None if isinstance(target, str) else _path_of(target)
    return target if path is None else Path(path)


def unported(target: Any) -> Any:
    """The target of a node that was pickled."""
    if not isinstance(target, Path):
        return target
    found: Any = importlib.import_module("pyburn")
    for part in target.split("."):
        found = getattr(found, part)
    return found


def method_of(function: Callable[..., Any]) -> str | None:
    """The method that a function of torch is nothing but a call of."""
    path = _path_of(function) or ""
    return path.rpartition(".")[2] if path in ("nn.functional.sigmoid", "nn.functional.tanh") else None


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def spelled(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as torch writes them: what must be given by position, all else by name."""
    path = _path_of(function) or ""
    space, _, name = path.rpartition(".")
    if path == "einsum" and len(args) == 2 and isinstance(args[1], list | tuple):
        return (args[0], *args[1]), kwargs
    if not (name in _SPELLED if not space else space == "nn.functional" and name not in _BUILT_IN):
        return args, kwargs
    signature = _signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    bound.apply_defaults()
    first: list[Any] = []
    by_name: dict[str, Any] = {}
    for key, parameter in signature.parameters.items():
        value = bound.arguments[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            first.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            by_name.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            first.append(value)
        elif key != _NOT_TORCHS.get(path) or value is not None:
            by_name[key] = value
    return tuple(first), by_name


def arm_makers() -> None:
    """Lets functions that make tensors of sizes, and `_assert`, see proxies among their arguments."""
    _overriding.arm()
    root = importlib.import_module("pyburn")
    for name in (*_MAKERS.split(), "_assert"):
        function = getattr(root, name)
        if isinstance(function, types.FunctionType) and function not in _overriding._armed:
            _overriding._arm_one(function)
