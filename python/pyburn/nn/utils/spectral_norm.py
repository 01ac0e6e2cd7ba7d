"""Weights divided by their largest singular value (Miyato et al., 2018), computed before each call."""

from __future__ import annotations

from typing import Any, TypeVar

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from pyburn.nn.functional.norm import normalize
from pyburn.nn.module import Module
from pyburn.nn.parameter import Parameter

T = TypeVar("T", bound=Module)


def default_dim(module: Module) -> int:
    """The dimension of the outputs of a layer's weight."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as (size of `dim`, all else)."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.shape[0], -1)


class SpectralNorm:
    """The hook that computes `name` from `name_orig`, with running estimates of the singular vectors."""

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight as it is now; the estimates become better by `n_power_iterations` steps, if wanted."""
        weight: Tensor = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # what the graph holds may not change with the next call
        divided: Tensor = weight / u.dot(matrix.mv(v))
        return divided

    def __call__(self, module: Any, inputs: Any) -> None:
        """Nothing; the module's weight is computed anew."""
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: T, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> T:
    """The module, whose weight is divided by its largest singular value.

    Args:
        module: Owns the weight.
        name: The weight's name.
        n_power_iterations: By how many steps the estimate becomes better with each training call.
        eps: What norms are at least divided by.
        dim: The dimension of the outputs; worked out when left out.

    Raises:
        RuntimeError: The weight already has such a norm.

    Example:
        >>> import pyburn
        >>> list(pyburn.nn.utils.spectral_norm(pyburn.nn.Linear(2, 3)).state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    made = SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        rows, columns = as_matrix(weight, made.dim).shape
        u = normalize(weight.detach().new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.detach().new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(made)
    return module


def remove_spectral_norm(module: T, name: str = "weight") -> T:
    """The module, whose weight is an ordinary parameter again.

    Raises:
        ValueError: It has no such norm.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.spectral_norm(pyburn.nn.Linear(2, 3))
        >>> list(pyburn.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with no_grad():
                weight = hook.compute_weight(module, do_power_iteration=False)
            for part in ("", "_u", "_v", "_orig"):
                delattr(module, f"{name}{part}")
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
