"""Weights as a direction times a length (Salimans & Kingma, 2016), computed before each call."""

from __future__ import annotations

from typing import Any, TypeVar

from pyburn._core import Tensor
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter
from pyburn.ops._arguments import publish

T = TypeVar("T", bound=Module)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice of `v` along `dim`, with the other sizes 1; of all of `v` for -1.

    Example:
        >>> import pyburn
        >>> from pyburn.nn.utils.weight_norm import norm_except_dim
        >>> norm_except_dim(pyburn.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[5.],
                [2.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


def weighted(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """`v` with the lengths `g` along `dim`."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that computes `name` from `name_g` and `name_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight as it is now."""
        return weighted(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        """Nothing; the module's weight is computed anew."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: T, name: str = "weight", dim: int | None = 0) -> T:
    """The module, whose weight is trained as a direction `name_v` and lengths `name_g`.

    Args:
        module: Owns the weight.
        name: The weight's name.
        dim: Each slice along it has its own length; None for one length of all.

    Raises:
        RuntimeError: The weight already has such a norm.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.weight_norm(pyburn.nn.Linear(2, 3))
        >>> tuple(layer.weight_g.shape), tuple(layer.weight_v.shape)
        ((3, 1), (3, 2))
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    made = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), 2, made.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, made.compute_weight(module))
    module.register_forward_pre_hook(made)
    return module


def remove_weight_norm(module: T, name: str = "weight") -> T:
    """The module, whose weight is an ordinary parameter again.

    Raises:
        ValueError: It has no such norm.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.weight_norm(pyburn.nn.Linear(2, 3))
        >>> list(pyburn.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            for part in ("g", "v"):
                del module._parameters[f"{name}_{part}"]
            setattr(module, name, Parameter(weight.detach()))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")


publish(globals(), ("norm_except_dim",))
