"""torch.nn.utils._named_member_accessor: a module's tensors by their dotted names, to be put in and taken out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyburn._core import Tensor
from pyburn.nn.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_tensor"]

_MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """The tensor of that name, whose place `tensor` takes; a plain tensor may stand for a parameter.

    Raises:
        KeyError: The name is empty or dotted.
        TypeError: What is there, or is to come there, is no tensor.
        AttributeError: There is none, and that is not allowed.
    """
    if not name or "." in name:
        raise KeyError(f'tensor name can\'t contain "." or be empty, got {name!r}')
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for held in (module._parameters, module._buffers):
        if name in held:
            before = held.pop(name) if tensor is _MISSING else held[name]
            if tensor is not _MISSING:
                held[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Nothing; `tensor` takes the place of that name, which may be new."""
    swap_tensor(module, name, tensor, allow_missing=True)


class NamedMemberAccessor:
    """The tensors of a module and of those below it, by dotted names.

    Example:
        >>> import pyburn
        >>> names = NamedMemberAccessor(pyburn.nn.Sequential(pyburn.nn.Linear(1, 1)))
        >>> names.set_tensor("0.weight", pyburn.ones(1, 1))
        >>> names.get_tensor("0.weight")
        tensor([[1.]])
    """

    def __init__(self, module: Module) -> None:
        self.module = module

    def _place(self, name: str) -> tuple[Module, str]:
        path, _, last = name.rpartition(".")
        return self.module.get_submodule(path), last

    def get_submodule(self, name: str) -> Module:
        """The module of that name."""
        return self.module.get_submodule(name)

    def get_tensor(self, name: str) -> Any:
        """The tensor of that name."""
        module, last = self._place(name)
        return getattr(module, last)

    def set_tensor(self, name: str, value: Any) -> None:
        """Nothing; the tensor of that name is `value`."""
        set_tensor(*self._place(name), value)

    def del_tensor(self, name: str) -> None:
        """Nothing; there is no tensor of that name any more."""
        swap_tensor(*self._place(name), _MISSING)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """The tensor of that name, whose place `value` takes."""
        return swap_tensor(*self._place(name), value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """The tensors of those names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors_dict(self, named_tensors: Mapping[str, Any]) -> None:
        """Nothing; each name has its tensor."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """The tensors whose places the given ones take, and the names that had none."""
        before = {name: self.swap_tensor(name, value, allow_missing) for name, value in named_tensors.items()}
        return before, [name for name, value in before.items() if value is _MISSING]

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among `keys`, and those of `keys` that are no tensors' names."""
        given = set(keys)
        known = {name for name, _ in (*self.module.named_parameters(), *self.module.named_buffers())}
        return sorted(known - given), sorted(given - known)
