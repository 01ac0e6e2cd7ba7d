"""Layers that add a border to the last one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from pyburn._core import Tensor
from pyburn._integers import is_integer
from pyburn.nn import functional as F
from pyburn.nn.module import Module


class _Pad(Module):
    """What the padding layers share: `_dims` dimensions are padded in the way `_mode`."""

    _dims: int
    _mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if is_integer(padding) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The input with its border."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """How much is added: left, right, top, bottom, front, back."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """A border of one value."""

    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with its border."""
        return F.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        """How much is added, and which value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    """A border of zeros."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """How much is added."""
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    """A border that is a mirror image without the edge."""

    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    """A border of copies of the edge."""

    _mode = "replicate"


class _CircularPadNd(_Pad):
    """A border of what stands at the other end."""

    _mode = "circular"


class ConstantPad1d(_ConstantPadNd):
    """Adds a border of `value` to the last dimension.

    Args:
        padding: How much on every side, or for each side: left, right.
        value: What stands in the border.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConstantPad1d(1, 5.0)(pyburn.zeros(1, 1, 3)).shape)
        (1, 1, 5)
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds a border of `value` to the last two dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom.
        value: What stands in the border.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConstantPad2d(1, 5.0)(pyburn.zeros(1, 1, 3, 3)).shape)
        (1, 1, 5, 5)
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds a border of `value` to the last three dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom, front, back.
        value: What stands in the border.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ConstantPad3d(1, 5.0)(pyburn.zeros(1, 1, 3, 3, 3)).shape)
        (1, 1, 5, 5, 5)
    """

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Adds a border of zeros to the last dimension.

    Args:
        padding: How much on every side, or for each side: left, right.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ZeroPad1d(1)(pyburn.zeros(1, 1, 3)).shape)
        (1, 1, 5)
    """

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Adds a border of zeros to the last two dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ZeroPad2d(1)(pyburn.zeros(1, 1, 3, 3)).shape)
        (1, 1, 5, 5)
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Adds a border of zeros to the last three dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom, front, back.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ZeroPad3d(1)(pyburn.zeros(1, 1, 3, 3, 3)).shape)
        (1, 1, 5, 5, 5)
    """

    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Adds a mirror image without the edge to the last dimension.

    Args:
        padding: How much on every side, or for each side: left, right.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReflectionPad1d(1)(pyburn.zeros(1, 1, 3)).shape)
        (1, 1, 5)
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Adds a mirror image without the edge to the last two dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReflectionPad2d(1)(pyburn.zeros(1, 1, 3, 3)).shape)
        (1, 1, 5, 5)
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Adds a mirror image without the edge to the last three dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom, front, back.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReflectionPad3d(1)(pyburn.zeros(1, 1, 3, 3, 3)).shape)
        (1, 1, 5, 5, 5)
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Adds copies of the edge to the last dimension.

    Args:
        padding: How much on every side, or for each side: left, right.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReplicationPad1d(1)(pyburn.zeros(1, 1, 3)).shape)
        (1, 1, 5)
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Adds copies of the edge to the last two dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReplicationPad2d(1)(pyburn.zeros(1, 1, 3, 3)).shape)
        (1, 1, 5, 5)
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Adds copies of the edge to the last three dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom, front, back.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.ReplicationPad3d(1)(pyburn.zeros(1, 1, 3, 3, 3)).shape)
        (1, 1, 5, 5, 5)
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    """Adds what stands at the other end to the last dimension.

    Args:
        padding: How much on every side, or for each side: left, right.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.CircularPad1d(1)(pyburn.zeros(1, 1, 3)).shape)
        (1, 1, 5)
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Adds what stands at the other end to the last two dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.CircularPad2d(1)(pyburn.zeros(1, 1, 3, 3)).shape)
        (1, 1, 5, 5)
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Adds what stands at the other end to the last three dimensions.

    Args:
        padding: How much on every side, or for each side: left, right, top, bottom, front, back.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.CircularPad3d(1)(pyburn.zeros(1, 1, 3, 3, 3)).shape)
        (1, 1, 5, 5, 5)
    """

    _dims = 3
