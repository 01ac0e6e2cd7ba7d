"""A write to a tensor after an op has used it: refused in backward where torch refuses, harmless where torch allows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from op_samples import CALLS
from sample_inputs import FLOATS, Make

from oracle import tensors_in, to_torch


class Computed(Make):
    """Makes inputs that are computed from leaves, so that they may be written to."""

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        made = self.lib.tensor(values.tolist(), dtype=getattr(self.lib, dtype))
        if dtype in FLOATS:
            self.leaves.append(made.requires_grad_())
            made = made * 1.0
        self.inputs.append(made)
        return made

    @property
    def inputs(self) -> list[Any]:
        return self.__dict__.setdefault("_inputs", [])


def _outcome(lib: Any, call: Callable[[Make], Any], written: str, place: int) -> Any:
    """The leaves' gradients after a write to one input or result, or the word for why there are none."""
    make = Computed(lib, "float64")
    results = tensors_in(call(make))
    pool = make.inputs if written == "input" else results
    outputs = [tensor for tensor in results if tensor.requires_grad]
    if place >= len(pool) or not outputs:
        return None
    # Taken before the write, and finite, so that only what was kept for backward can change.
    weights = [output.detach().real.sin().nan_to_num(0.5).clone() for output in outputs]
    with lib.no_grad():
        try:
            target = pool[place]
            target.mul_(3.0) if target.is_floating_point() else target.copy_(target.clone())
        except RuntimeError:
            return "unwritable"
    total = sum((output.real * weight).sum() for output, weight in zip(outputs, weights, strict=True))
    try:
        total.backward()
    except RuntimeError as error:
        return "refused" if "modified by an inplace" in str(error) else f"error: {error}"
    return [leaf.grad for leaf in make.leaves]


def _difference(expected: Any, found: Any, values: bool) -> str:
    if isinstance(expected, str) or isinstance(found, str):
        shown = [value if isinstance(value, str) else "allowed" for value in (expected, found)]
        return "" if shown[0] == shown[1] else f"torch {shown[0]}, pyburn {shown[1]}"
    if not values:
        return ""  # torch's gradients at NaN depend on where in memory it stands
    for want, got in zip(expected, found, strict=True):
        known = want is not None and got is not None
        close = known and torch.allclose(want, to_torch(got), rtol=1e-6, atol=1e-8, equal_nan=True)
        if not close and (want is not None or got is not None):
            return f"torch's gradient {want}, pyburn's {got}"
    return ""


def _problems(name: str, written: str) -> list[str]:
    found: list[str] = []
    place = 0
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, got = (_outcome(lib, CALLS[name], written, place) for lib in (torch, pyburn))
        if expected is None or got is None:
            assert expected is got, f"{name}: torch {expected}, pyburn {got}"
            return found
        if difference := _difference(expected, got, values="special" not in name):
            found.append(f"{written} {place}: {difference}")
        place += 1


# What pyburn refuses though torch does not: torch copies before it multiplies, or (kron) looks at the new values.
STRICTER = {"kron", "matmul_broadcast", "matmul_vector"}


def _is_differentiable(name: str) -> bool:
    try:
        return any(tensor.requires_grad for tensor in tensors_in(CALLS[name](Computed(torch, "float64"))))
    except (NotImplementedError, TypeError):
        return False


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    NAMES = [name for name in sorted(CALLS) if _is_differentiable(name)]


@pytest.mark.parametrize("name", NAMES)
def test_write_after_use(name: str) -> None:
    problems = _problems(name, "input") + _problems(name, "result")
    if name in STRICTER:
        assert problems and all(problem.endswith("torch allowed, pyburn refused") for problem in problems)
    else:
        assert not problems, "\n".join(problems)
