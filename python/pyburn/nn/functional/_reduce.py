"""How the losses turn one value for each element into what was asked for."""

from __future__ import annotations

import warnings

from pyburn._core import Tensor


def reduction_of(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, or what torch's two older arguments say together."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses, their mean or their sum.

    Raises:
        ValueError: `reduction` is none of "none", "mean" and "sum".
    """
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise ValueError(f"{reduction} is not a valid value for reduction; give 'none', 'mean' or 'sum'.")


def warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    """Nothing; warns as torch does when a loss is given two different shapes."""
    if target.shape != input.shape:
        warnings.warn(
            f"{name}: using a target size ({list(target.shape)}) that is different to the input size "
            f"({list(input.shape)}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
