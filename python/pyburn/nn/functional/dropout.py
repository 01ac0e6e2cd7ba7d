"""Functions that drop a random part of their input in training and change nothing otherwise."""

from __future__ import annotations

from pyburn._core import Tensor
from pyburn.ops import empty_like

# What SELU tends to for very negative inputs: the value that alpha dropout puts in.
_SELU_FLOOR = -1.7580993408473766


def _check(name: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")


def _keep(input: Tensor, shape: list[int] | None, p: float) -> Tensor:
    """Ones with probability `1 - p`, else zeros, in `input`'s dtype and device.

    Without a shape the mask lies in memory as `input` does: that decides which number falls to which element.
    """
    made = empty_like(input.detach()) if shape is None else input.detach().new_empty(shape)
    return made.bernoulli_(1.0 - p)


def _drop(input: Tensor, shape: list[int] | None, p: float, inplace: bool) -> Tensor:
    if p == 1.0:
        return input.mul_(0.0) if inplace else input * 0.0
    keep = _keep(input, shape, p).div_(1.0 - p)
    return input.mul_(keep) if inplace else input * keep


def _alpha_drop(input: Tensor, shape: list[int] | None, p: float, inplace: bool) -> Tensor:
    """Dropped entries become SELU's floor; the affine map keeps mean and variance."""
    if p == 1.0:
        return input.mul_(0.0) if inplace else input * 0.0
    scale = (1.0 / ((1.0 - p) * (1.0 + p * _SELU_FLOOR**2))) ** 0.5
    keep = _keep(input, shape, p)
    shift = (1.0 - keep) * (scale * _SELU_FLOOR) - scale * p * _SELU_FLOOR
    keep = keep * scale
    return input.mul_(keep).add_(shift) if inplace else input * keep + shift


def _channels(input: Tensor) -> list[int]:
    """The shape of a mask with one entry for each sample and channel."""
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input; reshape it or use dropout.")
    return [*input.shape[:2], *[1] * (input.dim() - 2)]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` with each element zero with probability `p` and the others divided by `1 - p`.

    Args:
        input: Any shape, floating.
        p: The probability of being dropped.
        training: Whether anything is done at all.
        inplace: Whether the result is written over `input`.

    Raises:
        ValueError: `p` is not a probability.

    Example:
        >>> import pyburn
        >>> sorted(set(pyburn.nn.functional.dropout(pyburn.ones(100), 0.5).tolist()))
        [0.0, 2.0]
    """
    _check("dropout", p)
    return _drop(input, None, p, inplace) if training and p > 0.0 and input.numel() else input


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of SELU networks; the arguments are those of `dropout`.

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.alpha_dropout(pyburn.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    _check("alpha_dropout", p)
    return _alpha_drop(input, None, p, inplace) if training and p > 0.0 and input.numel() else input


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` that drops whole channels (dim 1).

    Example:
        >>> import pyburn
        >>> pyburn.nn.functional.feature_alpha_dropout(pyburn.ones(1, 2), 0.5, training=False)
        tensor([[1., 1.]])
    """
    _check("feature_alpha_dropout", p)
    return _alpha_drop(input, _channels(input), p, inplace) if training and p > 0.0 and input.numel() else input


def _feature_dropout(name: str, input: Tensor, p: float, training: bool, inplace: bool, batched: int) -> Tensor:
    _check(name, p)
    if input.dim() not in (batched - 1, batched):
        raise RuntimeError(
            f"{name}: input has {input.dim()} dimensions but needs {batched - 1} (C, ...) or {batched} (N, C, ...); "
            "reshape the input or use dropout."
        )
    if not training or p == 0.0 or not input.numel():
        return input
    if input.dim() == batched:
        return _drop(input, _channels(input), p, inplace)
    return _drop(input, [input.shape[0], *[1] * (input.dim() - 1)], p, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` of shape (N, C, L) or (C, L) with whole channels dropped.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.dropout1d(pyburn.ones(1, 2, 3), 0.5, training=False).shape)
        (1, 2, 3)
    """
    return _feature_dropout("dropout1d", input, p, training, inplace, 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` of shape (N, C, H, W) or (N, C, L) with whole channels dropped.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.dropout2d(pyburn.ones(1, 2, 3, 3), 0.5, training=False).shape)
        (1, 2, 3, 3)
    """
    _check("dropout2d", p)
    return _drop(input, _channels(input), p, inplace) if training and p > 0.0 and input.numel() else input


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` of shape (N, C, D, H, W) or (C, D, H, W) with whole channels dropped.

    Example:
        >>> import pyburn
        >>> tuple(pyburn.nn.functional.dropout3d(pyburn.ones(1, 2, 3, 3, 3), 0.5, training=False).shape)
        (1, 2, 3, 3, 3)
    """
    return _feature_dropout("dropout3d", input, p, training, inplace, 5)
