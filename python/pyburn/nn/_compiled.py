"""The module that `compile` gives: the original one inside, under the name that torch gives it in a state_dict."""

from __future__ import annotations

from typing import Any

from pyburn.nn.module import Module

__all__ = ["OptimizedModule"]

# Attributes of its own; all others are those of the original module.
_OWN = {"_orig_mod", "dynamo_ctx", "forward"}


class OptimizedModule(Module):
    """A module around another, which is called as it is: nothing is compiled.

    The keys of its `state_dict()` begin with `_orig_mod.`, and attributes are read from and written to the original.
    """

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        object.__setattr__(self, "_modules", {"_orig_mod": mod})
        mode = mod.training
        super().__init__()
        self._modules["_orig_mod"] = mod
        self.dynamo_ctx = dynamo_ctx
        self.training = mode

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the original module gives."""
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the original module is training."""
        return bool(self._orig_mod.training)

    @training.setter
    def training(self, value: bool) -> None:
        original = self._modules.get("_orig_mod")
        if original is not None:
            original.training = value

    def __len__(self) -> int:
        if hasattr(type(self._orig_mod), "__len__"):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self._orig_mod, self.dynamo_ctx)

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_modules"]["_orig_mod"]
        return original if name == "_orig_mod" else getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
