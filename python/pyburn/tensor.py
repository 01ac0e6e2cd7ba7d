"""The module of `Tensor` and `Distribution` that is also torch's function: ``pyburn.tensor([1, 2])``."""

from __future__ import annotations

import sys
from types import ModuleType

from pyburn._core import Tensor
from pyburn._distribution import Distribution
from pyburn.ops.creation import tensor

__all__ = ["Distribution", "Tensor", "TensorPy"]

TensorPy = Tensor


class _CallableModule(ModuleType):
    """A module that makes tensors when it is called."""

    __call__ = staticmethod(tensor)


sys.modules[__name__].__class__ = _CallableModule
