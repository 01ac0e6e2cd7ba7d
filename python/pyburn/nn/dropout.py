"""Layers that drop a random part of their input in training."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.nn import functional as F
from pyburn.nn.module import Module


class _DropoutNd(Module):
    """What the dropout layers share; `_drop` names the function they call."""

    _drop: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training with a part of it dropped."""
        result: Tensor = getattr(F, self._drop)(input, self.p, self.training, self.inplace)
        return result

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Makes each element zero with probability `p` and divides the others by `1 - p`.

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Dropout(0.2).eval()(pyburn.ones(1, 2)).sum().item()
        2.0
    """

    _drop = "dropout"


class Dropout1d(_DropoutNd):
    """Drops whole channels of (N, C, L) or (C, L).

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Dropout1d(0.2).eval()(pyburn.ones(1, 2, 3)).sum().item()
        6.0
    """

    _drop = "dropout1d"


class Dropout2d(_DropoutNd):
    """Drops whole channels of (N, C, H, W).

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Dropout2d(0.2).eval()(pyburn.ones(1, 2, 3, 3)).sum().item()
        18.0
    """

    _drop = "dropout2d"


class Dropout3d(_DropoutNd):
    """Drops whole channels of (N, C, D, H, W).

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.Dropout3d(0.2).eval()(pyburn.ones(1, 2, 3, 3, 3)).sum().item()
        54.0
    """

    _drop = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Drops elements so that a SELU network keeps its mean and variance.

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.AlphaDropout(0.2).eval()(pyburn.ones(1, 2)).sum().item()
        2.0
    """

    _drop = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """Drops whole channels so that a SELU network keeps its mean and variance.

    Args:
        p: The probability of being dropped.
        inplace: Whether the result is written over the input.

    Example:
        >>> import pyburn
        >>> pyburn.nn.FeatureAlphaDropout(0.2).eval()(pyburn.ones(1, 2)).sum().item()
        2.0
    """

    _drop = "feature_alpha_dropout"
