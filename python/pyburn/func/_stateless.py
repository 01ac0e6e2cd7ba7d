"""functorch's older functions: a module as a function of its parameters, given as tuples."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.func._modules import functional_call

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModuleWithBuffers:
    """A module that is called with its parameters and its buffers first, in the order of their names."""

    def __init__(self, module: Any, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        self.stateless_model, self.param_names, self.buffer_names = module, param_names, buffer_names

    def __call__(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module computes with these."""
        named = dict(zip(self.param_names, params)) | dict(zip(self.buffer_names, buffers))
        return functional_call(self.stateless_model, named, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers that is called with its parameters first."""

    def __init__(self, module: Any, param_names: tuple[str, ...]) -> None:
        super().__init__(module, param_names, ())

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module computes with these."""
        return super().__call__(params, (), *args, **kwargs)


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A function of the parameters and the inputs, and copies of the parameters.

    Args:
        model: A module without buffers.
        disable_autograd_tracking: Whether the copies need no gradients.

    Raises:
        RuntimeError: The module has buffers.

    Example:
        >>> import pyburn, warnings
        >>> warnings.simplefilter("ignore", FutureWarning)
        >>> function, values = make_functional(pyburn.nn.Linear(2, 1))
        >>> function(values, pyburn.ones(3, 2)).shape
        pyburn.Size([3, 1])
    """
    _warn("make_functional", "functional_call")
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    module, params, _ = _copied(model, disable_autograd_tracking)
    return FunctionalModule(module, tuple(params)), tuple(params.values())


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of the parameters, the buffers and the inputs, and copies of the parameters and the buffers.

    Args:
        model: A module.
        disable_autograd_tracking: Whether the copies need no gradients.
    """
    _warn("make_functional_with_buffers", "functional_call")
    module, params, buffers = _copied(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(module, tuple(params), tuple(buffers))
    return function, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The function of one module, and the parameters and buffers of all modules, each stacked: for `vmap`.

    Raises:
        RuntimeError: There is no module, or they differ in class or mode.
    """
    _warn("combine_state_for_ensemble", "stack_module_state")
    said = "combine_state_for_ensemble: Expected"
    if len(models) == 0:
        raise RuntimeError(f"{said} at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(f"{said} all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"{said} all models to be of the same class.")
    made = [_copied(model, False) for model in models]
    module, params, buffers = made[0]
    function = FunctionalModuleWithBuffers(module, tuple(params), tuple(buffers))
    return function, _stacked([each[1] for each in made]), _stacked([each[2] for each in made])


def _copied(model: Any, disable: bool) -> tuple[Any, dict[str, Tensor], dict[str, Tensor]]:
    module = copy.deepcopy(model)
    params: dict[str, Tensor] = dict(module.named_parameters())
    if disable:
        for value in params.values():
            value.requires_grad_(False)
    return module, params, dict(module.named_buffers())


def _stacked(parts: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
    return tuple(ops.stack([part[name].detach() for part in parts]) for name in parts[0])


def _warn(name: str, instead: str) -> None:
    text = f"functorch.{name} is deprecated, since functorch is a part of torch: use torch.func.{instead}."
    warnings.warn(text, FutureWarning, stacklevel=3)
