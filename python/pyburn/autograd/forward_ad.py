"""torch.autograd.forward_ad: no tensor of pyburn is a dual number, which can be asked, and none can be made."""

from __future__ import annotations

from typing import NamedTuple

from pyburn._absent import absent_class, absent_function
from pyburn._core import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_WHY = ("pyburn has no dual numbers", "use pyburn.func.jvp or pyburn.autograd.functional.jvp")


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor, and None for its tangent: it is no dual number.

    Example:
        >>> import pyburn
        >>> pyburn.autograd.forward_ad.unpack_dual(pyburn.ones(1)).tangent is None
        True
    """
    return UnpackedDualTensor(tensor, None)


dual_level = absent_class("autograd.forward_ad.dual_level", *_WHY)
enter_dual_level = absent_function("autograd.forward_ad.enter_dual_level", *_WHY)
exit_dual_level = absent_function("autograd.forward_ad.exit_dual_level", *_WHY)
make_dual = absent_function("autograd.forward_ad.make_dual", *_WHY)
