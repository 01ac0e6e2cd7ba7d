"""Handles that take a hook off again, and the taps that let a module see its gradients."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import Function, is_grad_enabled

_next_id = itertools.count()


class RemovableHandle:
    """What registering a hook gives back: `remove()` takes the hook off, as does leaving a `with` block.

    Args:
        hooks: The dict the hook is put in; held weakly, so that a handle keeps no module alive.
        extra: Further dicts in which the hook's id may stand as a flag.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.Identity()
        >>> with layer.register_forward_hook(lambda module, args, output: output + 1):
        ...     layer(pyburn.zeros(1))
        tensor([1.])
        >>> layer(pyburn.zeros(1))
        tensor([0.])
    """

    def __init__(self, hooks: OrderedDict[int, Any], *extra: OrderedDict[int, bool]) -> None:
        self.id = next(_next_id)
        self._dicts = [weakref.ref(entries) for entries in (hooks, *extra)]

    def remove(self) -> None:
        """Nothing; the hook is not called any more. Removing twice is allowed."""
        for reference in self._dicts:
            entries = reference()
            if entries is not None:
                entries.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        """This handle."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing; the hook is removed."""
        self.remove()


class _Tap(Function):
    """Identity whose backward shows the passing gradients to a callback, which may replace them."""

    @staticmethod
    def forward(ctx: Any, callback: Callable[[tuple[Any, ...]], Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.callback = callback
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        return (None, *ctx.callback(grads))


class BackwardTaps:
    """The two taps of one call of a module that has backward hooks: on its inputs and on its outputs.

    Args:
        module: The module, given to each hook as its first argument.
        hooks: Called with `(module, grad_input, grad_output)`; a result replaces `grad_input`.
        pre_hooks: Called with `(module, grad_output)`; a result replaces `grad_output`.
    """

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs_tapped = False
        self.input_count = 0

    def tap_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, their tensors replaced by tapped aliases where a gradient can arrive."""
        self.input_count = len(args)
        tapped, self.inputs_tapped = _tap(args, self._on_grad_input)
        return tapped

    def tap_outputs(self, result: Any) -> Any:
        """The module's result, its tensors replaced by tapped aliases."""
        if isinstance(result, Tensor):
            return _tap((result,), self._on_grad_output)[0][0]
        if isinstance(result, tuple | list):
            tapped, _ = _tap(tuple(result), self._on_grad_output)
            if hasattr(result, "_fields"):
                return type(result)(*tapped)
            return type(result)(tapped)
        return result

    def _on_grad_output(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.pre_hooks:
            replaced = hook(self.module, grads)
            if replaced is not None:
                grads = _same_length("grad_output", _as_tuple(replaced), grads)
        self.grad_outputs = grads
        if not self.inputs_tapped:
            # No gradient goes on to the inputs, so this is the last moment to call the hooks.
            self._run((None,) * self.input_count)
        return grads

    def _on_grad_input(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:
            return grads
        return self._run(grads)

    def _run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is not None:
                grads = _same_length("grad_input", _as_tuple(replaced), grads)
        self.grad_outputs = None
        return grads


def _tap(values: tuple[Any, ...], callback: Callable[[tuple[Any, ...]], Any]) -> tuple[tuple[Any, ...], bool]:
    """The values with tensors tapped, and whether there was any tensor that needs a gradient."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, False

    def of_all_values(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        spread: list[Any] = [None] * len(values)
        for place, grad in zip(places, grads, strict=True):
            spread[place] = grad
        answered = callback(tuple(spread))
        return tuple(answered[place] for place in places)

    aliases = _Tap.apply(of_all_values, *(values[i] for i in places))
    tapped = list(values)
    for place, alias in zip(places, aliases, strict=True):
        tapped[place] = alias
    return tuple(tapped), True


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _same_length(what: str, given: tuple[Any, ...], expected: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(given) != len(expected):
        raise RuntimeError(
            f"backward hook: returned {len(given)} gradients for {what}, but the module has {len(expected)}; "
            "return one entry (a tensor or None) for each, or None to change nothing."
        )
    return given
