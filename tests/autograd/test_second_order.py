"""Second derivatives of every op of the bank against finite differences of the first, in float64."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from op_samples import CALLS, Make
from pyburn.autograd import gradcheck, gradgradcheck

from oracle import tensors_in

# Its result is float32: too coarse for differences.
COARSE = {"to"}
# By torch's definition the padding row of a table gets no gradient, which differences do see.
CUT = {"embedding_padding"}


@dataclass
class Leaves(Make):
    """Makes the inputs of a call once; float ones are moved apart, so that no two are equal and no kink is hit."""

    made: list[Any] = field(default_factory=list)

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        if dtype != "float64":
            return super()._tensor(values, dtype)
        apart = 1e-3 * np.arange(1, values.size + 1).reshape(values.shape) * (1 + len(self.made) / 7)
        self.made.append(super()._tensor(values + apart, dtype))
        return self.made[-1]


@dataclass
class Replay(Make):
    """Hands out given tensors instead of making them."""

    given: list[Any] = field(default_factory=list)

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        if dtype != "float64":
            return super()._tensor(values, dtype)
        return self.given.pop(0) * 1


def prepared(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The op as a function of its float inputs, and those."""
    leaves = Leaves(pyburn, "float64")
    CALLS[name](leaves)
    inputs = tuple(tensor.requires_grad_() for tensor in leaves.made)

    def call(*tensors: Any) -> Any:
        found = tensors_in(CALLS[name](Replay(pyburn, "float64", given=list(tensors))))
        return tuple(tensor for tensor in found if tensor.requires_grad)

    return call, inputs


def has_gradient(name: str) -> bool:
    """Whether torch differentiates the op: some results ask for a gradient, and have none when it is wanted."""
    leaves = Leaves(torch, "float64")
    try:
        CALLS[name](leaves)
    except (RuntimeError, TypeError):
        return False  # not for floats
    given = [tensor.requires_grad_() for tensor in leaves.made]
    results = [x for x in tensors_in(CALLS[name](Replay(torch, "float64", given=list(given)))) if x.requires_grad]
    try:
        torch.autograd.grad([x.sum() for x in results], given, allow_unused=True)
    except RuntimeError:
        return False
    return bool(results)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch calls some of its functions beta
    DIFFERENTIABLE = [
        name
        for name in CALLS
        # Samples of NaN and infinity have no finite differences.
        if name not in COARSE and not name.endswith("_special") and has_gradient(name)
    ]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivative(name: str) -> None:
    call, inputs = prepared(name)
    assert call(*inputs), f"{name}: torch's result has a gradient, pyburn's has none"
    if name not in CUT:
        assert gradcheck(call, inputs, fast_mode=True)
    assert gradgradcheck(call, inputs, fast_mode=True, atol=1e-4)
