"""Weights of which a part is held at zero by a mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pyburn._core import Tensor
from pyburn.nn.module import Module
from pyburn.ops import cat, kthvalue, ones_like, rand, rand_like, topk


class BasePruningMethod(ABC):
    """A way to choose what is pruned: the hook that multiplies `name_orig` by `name_mask` before each call.

    A subclass says in `compute_mask` what stays, and in `PRUNING_TYPE` whether single entries
    ("unstructured"), whole channels ("structured") or anything ("global") is chosen.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        """Nothing; the module's weight is computed anew."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where `t` stays and zeros elsewhere, at least where `default_mask` has them."""

    def apply_mask(self, module: Any) -> Tensor:
        """The pruned tensor."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        pruned: Tensor = original * mask.to(original.dtype)
        return pruned

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """The hook, after `name` of the module was pruned by this method, beyond what was pruned before.

        Args:
            module: Owns the tensor.
            name: Its name.
            *args: The method's settings.
            importance_scores: What the mask is computed from instead of the tensor.
            **kwargs: Further settings.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        for number, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
                container.add_pruning_method(method)
                method = container
                del module._forward_pre_hooks[number]
        value = getattr(module, name)
        scores = value if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(value.shape):
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if isinstance(method, PruningContainer):
            before = getattr(module, f"{name}_mask")
        else:
            original = module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            before = ones_like(value.detach())
        mask = method.compute_mask(scores.detach(), before)
        if isinstance(method, PruningContainer):
            module._buffers[f"{name}_mask"] = mask
        else:
            module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` with zeros where this method prunes."""
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    def remove(self, module: Any) -> None:
        """Nothing; the tensor is an ordinary parameter again, with its zeros."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if name in module.__dict__:
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.detach()
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one tensor, each of which prunes what the ones before have left.

    Args:
        *args: The methods.
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Nothing; `method` comes last."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer; found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        """How many methods."""
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        """The methods in order."""
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        """The method at a place."""
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, less what the last method prunes of the rest."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", -1) % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept = (mask.sum(others) != 0).nonzero().reshape(-1)
            part = method.compute_mask(t.index_select(dim, kept), mask.index_select(dim, kept))
            return mask.index_copy(dim, kept, part.to(mask.dtype))
        if method.PRUNING_TYPE == "unstructured":
            kept = (mask.reshape(-1) == 1).nonzero().reshape(-1)
            flat = mask.reshape(-1)
            part = method.compute_mask(t.reshape(-1).index_select(0, kept), flat.index_select(0, kept))
            return flat.index_copy(0, kept, part.to(mask.dtype)).reshape(mask.shape)
        if method.PRUNING_TYPE == "global":
            return mask * method.compute_mask(t, mask).to(mask.dtype)
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask`."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random.

    Args:
        amount: How many, or which part of all.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros at random places."""
        count = _count(self.amount, t.numel())
        return _without(default_mask, rand_like(t), count, largest=True)


class L1Unstructured(BasePruningMethod):
    """Prunes the entries of the smallest magnitude.

    Args:
        amount: How many, or which part of all.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros at the smallest entries."""
        return _without(default_mask, t.abs(), _count(self.amount, t.numel()), largest=False)


class RandomStructured(BasePruningMethod):
    """Prunes whole channels at random.

    Args:
        amount: How many, or which part of all.
        dim: The dimension of the channels.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        self.amount = _checked(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros in random channels."""
        channels = _channels(t, self.dim)
        count = _count(self.amount, channels)
        if count == 0:
            return default_mask
        draws = rand(channels)
        kept = draws > kthvalue(draws, count)[0]
        return default_mask * _along(kept.to(default_mask.dtype), t, self.dim)


class LnStructured(BasePruningMethod):
    """Prunes the channels of the smallest norm.

    Args:
        amount: How many, or which part of all.
        n: Which norm.
        dim: The dimension of the channels.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        self.amount = _checked(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros in the channels of the smallest norm."""
        channels = _channels(t, self.dim)
        count = _count(self.amount, channels)
        if count == 0:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        best = topk(t.norm(self.n, others), channels - count)[1]
        kept = t.new_zeros(channels).index_fill(0, best, 1)
        return default_mask * _along(kept.to(default_mask.dtype), t, self.dim)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says.

    Args:
        mask: Ones where the tensor stays.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` times the given mask."""
        if tuple(default_mask.shape) != tuple(self.mask.shape):
            raise AssertionError(
                f"mask has shape {list(self.mask.shape)} but the tensor {list(default_mask.shape)}; give one entry each"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """The module, prepared for pruning, with nothing pruned."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """The module, in which `amount` (a number or a part) random entries of `name` are zero.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.prune.random_unstructured(pyburn.nn.Linear(4, 2), "weight", 3)
        >>> int((layer.weight == 0).sum())
        3
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """The module, in which the `amount` (a number or a part) smallest entries of `name` are zero.

    Args:
        module: Owns the tensor.
        name: Its name.
        amount: How many, or which part of all.
        importance_scores: What is compared instead of the tensor.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(4, 2), "weight", 0.5)
        >>> sorted(layer.state_dict()), int((layer.weight == 0).sum())
        (['bias', 'weight_mask', 'weight_orig'], 4)
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """The module, in which `amount` random channels of `name` along `dim` are zero."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """The module, in which the `amount` channels of `name` along `dim` with the smallest n-norm are zero."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Nothing; all named tensors are pruned as if they were one.

    Args:
        parameters: Pairs of a module and a name.
        pruning_method: An unstructured method.
        importance_scores: What is compared instead of some of the tensors.
        **kwargs: The method's settings, such as `amount`.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    listed = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    values = [scores.get((module, name), getattr(module, name)).detach() for module, name in listed]
    masks = [
        getattr(module, f"{name}_mask", ones_like(value)) for (module, name), value in zip(listed, values, strict=True)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(cat([v.reshape(-1) for v in values]), cat([m.reshape(-1) for m in masks]))
    start = 0
    for (module, name), value in zip(listed, values, strict=True):
        custom_from_mask(module, name, final[start : start + value.numel()].reshape(value.shape))
        start += value.numel()


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """The module, in which `name` is zero where `mask` is."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """The module, in which `name` is an ordinary parameter again, with its zeros.

    Raises:
        ValueError: It is not pruned.

    Example:
        >>> import pyburn
        >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(4, 2), "weight", 3)
        >>> list(pyburn.nn.utils.prune.remove(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether anything in the module or its children is pruned.

    Example:
        >>> import pyburn
        >>> pyburn.nn.utils.prune.is_pruned(pyburn.nn.Linear(1, 1))
        False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for _, submodule in module.named_modules()
        for hook in submodule._forward_pre_hooks.values()
    )


def _checked(amount: Any) -> Any:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def _count(amount: Any, size: int) -> int:
    """How many of `size` are pruned."""
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


def _channels(t: Tensor, dim: int) -> int:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{list(t.shape)} with {t.dim()} dims"
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {list(t.shape)}")
    return int(t.shape[dim])


def _along(kept: Tensor, t: Tensor, dim: int) -> Tensor:
    shape = [1] * t.dim()
    shape[dim] = -1
    return kept.reshape(shape)


def _without(mask: Tensor, scores: Tensor, count: int, largest: bool) -> Tensor:
    """The mask with zeros at the `count` largest or smallest scores."""
    if count == 0:
        return mask.clone()
    places = topk(scores.reshape(-1), count, largest=largest)[1]
    return mask.reshape(-1).index_fill(0, places, 0).reshape(mask.shape)
