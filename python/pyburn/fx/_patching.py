"""Functions and methods that are replaced while a trace runs, and put back after it."""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from pyburn._core import Tensor
from pyburn._subclass import _METHOD_OF, methods
from pyburn.fx.node import map_aggregate
from pyburn.fx.proxy import Proxy

# By the globals they stand in and their name.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
_MISSING = object()


def _find_proxy(*objects_to_search: object) -> Proxy | None:
    """A proxy among the arguments, however deep."""
    found: list[Proxy] = []
    map_aggregate(objects_to_search, lambda value: found.append(value) if isinstance(value, Proxy) else None)
    return found[-1] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _create_wrapped_method(cls: type, name: str, recorded: str | None = None) -> Callable[..., Any]:
    method = getattr(cls, name)
    target = name if recorded is None else recorded

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", target, args, kwargs)

    return wrapped


class _Patcher:
    """Replaces entries of dicts and attributes of classes until `revert`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Nothing; `frame_dict[name]` is `new_fn` until the end."""
        before = frame_dict.get(name, _MISSING)
        if before is _MISSING and not hasattr(builtins, name):
            raise KeyError(name)
        if getattr(before, "__fx_already_patched", False):
            return
        vars(new_fn)["__fx_already_patched"] = deduplicate
        frame_dict[name] = new_fn
        self._undo.append(
            (lambda: frame_dict.pop(name)) if before is _MISSING else lambda: frame_dict.__setitem__(name, before)
        )

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Nothing; the class has `new_fn` as its method until the end."""
        if getattr(getattr(cls, name), "__fx_already_patched", False):
            return
        before = vars(cls).get(name, _MISSING)
        vars(new_fn)["__fx_already_patched"] = deduplicate
        setattr(cls, name, new_fn)
        self._undo.append((lambda: delattr(cls, name)) if before is _MISSING else lambda: setattr(cls, name, before))

    def visit_once(self, thing: object) -> bool:
        """Whether it is asked for this object for the first time."""
        first = id(thing) not in self._visited
        self._visited.add(id(thing))
        return first

    def revert(self) -> None:
        """Nothing; all is as it was."""
        while self._undo:
            self._undo.pop()()


@contextlib.contextmanager
def _new_patcher() -> Iterator[_Patcher]:
    patcher = _Patcher()
    try:
        yield patcher
    finally:
        patcher.revert()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    for (_, name), frame in list(_wrapped_fns_to_patch.items()):
        original = frame[name] if name in frame else getattr(builtins, name)
        patcher.patch(frame, name, _create_wrapped_func(original))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


@functools.cache
def _recorders(_now: object) -> list[tuple[str, Callable[..., Any]]]:
    """Tensor's methods that record calls with proxies; made anew when modes have replaced the methods."""
    return [(name, _create_wrapped_method(Tensor, name, _METHOD_OF.get(name))) for name in methods()]


def _patch_tensor_methods(patcher: _Patcher) -> None:
    """Lets methods of tensors that a program holds see proxies among their arguments."""
    if not getattr(Tensor.add, "__fx_already_patched", False):
        for name, recorder in _recorders(Tensor.add):
            patcher.patch_method(Tensor, name, recorder)


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))


def wrap(fn_or_name: Any) -> Any:
    """The function or its name itself; traces call it as one step from now on, and do not look inside.

    Must be called at the top of a module, as ``wrap("name")`` or as a decorator.
    """
    import inspect

    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if callable(fn_or_name):
        code = getattr(fn_or_name, "__code__", None)
        if isinstance(fn_or_name, str) or not isinstance(code, CodeType):
            raise AssertionError("wrap: functions that are not Python are wrapped by their name")
        name = code.co_name
    else:
        name = fn_or_name
    here = inspect.currentframe()
    frame = here.f_back if here is not None else None
    if frame is None:
        raise AssertionError("wrap must be called from Python code")
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name
