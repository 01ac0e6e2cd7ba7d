"""torch.compiler and torch.compile: programs run as the Python that they are, on kernels that are compiled already."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nonstrict_trace",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

T = TypeVar("T")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """The function itself, or a module around the given one, or a decorator that gives these.

    The module has the given one as `_orig_mod`, which also stands in the keys of its `state_dict()`, as in torch.

    Differs from torch:
        Nothing is compiled; the operations are compiled kernels of their own.

    Example:
        >>> import pyburn
        >>> @pyburn.compile
        ... def double(x):
        ...     return x * 2
        >>> double(pyburn.ones(1))
        tensor([2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if disable:
        return (lambda function: function) if model is None else model
    return _wrapped if model is None else _wrapped(model)


def _wrapped(model: Any) -> Any:
    layers = importlib.import_module("pyburn.nn._compiled")
    return layers.OptimizedModule(model) if isinstance(model, layers.Module) else model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator that leaves one as it is."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """The function itself."""
    return fn


def assume_constant_result(fn: T) -> T:
    """The function itself."""
    return fn


def is_compiling() -> bool:
    """False: nothing is compiled.

    Example:
        >>> is_compiling()
        False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def reset() -> None:
    """Nothing; there is no compiled code to forget."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """An empty list: there is no compiler to choose."""
    return []


def cudagraph_mark_step_begin() -> None:
    """Nothing; there are no CUDA graphs."""


@contextlib.contextmanager
def set_stance(stance: Any = "default", **kwargs: Any) -> Iterator[None]:
    """A block that runs as everywhere else."""
    yield


_default_backend: list[str | Callable[..., Any]] = ["inductor"]


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Nothing; `get_default_backend` gives this name from now on. None brings torch's back.

    Raises:
        TypeError: It is neither a name nor a function.
    """
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _default_backend[0] = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """The name that was set last; no compiler stands behind it.

    Example:
        >>> get_default_backend()
        'inductor'
    """
    return _default_backend[0]


def nonstrict_trace(traceable_fn: T) -> T:
    """The function itself."""
    return traceable_fn


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[T], T]:
    """A decorator that leaves a function as it is: nothing is compiled, so that the original is called."""
    return lambda traceable_fn: traceable_fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which gets numpy arrays in place of tensors.

    Example:
        >>> import pyburn
        >>> wrap_numpy(lambda a: a.max())(pyburn.arange(3)).item()
        2
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tree = importlib.import_module("pyburn.utils._pytree")
        tensor = importlib.import_module("pyburn._core").Tensor
        given, named = tree.tree_map(lambda x: x.numpy() if isinstance(x, tensor) else x, (args, kwargs))
        return fn(*given, **named)

    return wrapped
