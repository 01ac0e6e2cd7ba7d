"""Hooks that every module runs, whichever it is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pyburn.nn._hooks import RemovableHandle

Hook = Callable[..., Any]

FORWARD_PRE: OrderedDict[int, Hook] = OrderedDict()
FORWARD: OrderedDict[int, Hook] = OrderedDict()
WITH_KWARGS: OrderedDict[int, bool] = OrderedDict()
ALWAYS_CALLED: OrderedDict[int, bool] = OrderedDict()
BACKWARD_PRE: OrderedDict[int, Hook] = OrderedDict()
BACKWARD: OrderedDict[int, Hook] = OrderedDict()
PARAMETER_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()
BUFFER_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()
MODULE_REGISTRATION: OrderedDict[int, Hook] = OrderedDict()


def registered(hooks: OrderedDict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """`value`, or what a hook gives in its place, for something that a module is about to register."""
    for hook in [*hooks.values()]:
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


def _add(hooks: OrderedDict[int, Hook], hook: Hook, *flags: OrderedDict[int, bool]) -> RemovableHandle:
    handle = RemovableHandle(hooks, *flags)
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, args)` is called before every module's `forward`.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.modules.module import register_module_forward_pre_hook
        >>> names = []
        >>> with register_module_forward_pre_hook(lambda module, args: names.append(type(module).__name__)):
        ...     output = pyburn.nn.Sequential(pyburn.nn.ReLU())(pyburn.ones(1))
        >>> names
        ['Sequential', 'ReLU']
    """
    return _add(FORWARD_PRE, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """A handle; `hook(module, args, output)` is called after every module's `forward`.

    Args:
        hook: Gives None or the new output.
        with_kwargs: Whether it is called as `hook(module, args, kwargs, output)`.
        always_call: Whether it is called when `forward` raises too.
    """
    flags = [WITH_KWARGS] if with_kwargs else []
    return _add(FORWARD, hook, *flags, *([ALWAYS_CALLED] if always_call else []))


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, grad_output)` sees the gradients of every module's output first."""
    return _add(BACKWARD_PRE, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, grad_input, grad_output)` is called when a module's gradients are known."""
    return _add(BACKWARD, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """A handle; the older name of `register_module_full_backward_hook`."""
    return register_module_full_backward_hook(hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, name, param)` sees each parameter that a module registers, and may replace it."""
    return _add(PARAMETER_REGISTRATION, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, name, buffer)` sees each buffer that a module registers, and may replace it."""
    return _add(BUFFER_REGISTRATION, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """A handle; `hook(module, name, submodule)` sees each child that a module registers, and may replace it."""
    return _add(MODULE_REGISTRATION, hook)
