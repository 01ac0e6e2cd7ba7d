"""Fractional maximum pooling (Graham, 2014) as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.module import Module

Size = int | Sequence[int]


class _FractionalMaxPool(Module):
    """Fractional maximum pooling over `_dims` dimensions."""

    _dims: int
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name, n = type(self).__name__, self._dims
        self.kernel_size = _spread(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _spread(output_size, n)
        self.output_ratio = None if output_ratio is None else _spread(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The pooled input, with the places of the maxima if they are wanted."""
        pool = F.fractional_max_pool2d if self._dims == 2 else F.fractional_max_pool3d
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


def _spread(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * n


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows that begin at random steps, so that a given number of them fits (Graham, 2014).

    Args:
        kernel_size: The size of the windows.
        output_size: The height and width of the result.
        output_ratio: They as parts of the input's, instead.
        return_indices: Whether the places of the maxima come too.
        _random_samples: (N, C, 2) in [0, 1), instead of new random numbers at each call.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.FractionalMaxPool2d(2, output_size=3)(pyburn.zeros(1, 1, 8, 8)).shape)
        (1, 1, 3, 3)
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """As `FractionalMaxPool2d` over three dimensions.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.FractionalMaxPool3d(2, output_ratio=0.5)(pyburn.zeros(1, 1, 4, 4, 4)).shape)
        (1, 1, 2, 2, 2)
    """

    _dims = 3
