"""In which order results lie in memory: as torch's do, for inputs in row-major and other orders."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from op_samples import CALLS
from sample_inputs import Make

from oracle import tensors_in


class Laid(Make):
    """Makes inputs that lie in memory in another order than the row-major one."""

    order = "plain"

    def _tensor(self, values: np.ndarray, dtype: str) -> Any:
        made = self.lib.tensor(values.tolist(), dtype=getattr(self.lib, dtype))
        n = made.dim()
        if self.order == "last" and n in (4, 5):
            return made.contiguous(memory_format=self.lib.channels_last if n == 4 else self.lib.channels_last_3d)
        if self.order == "permuted" and n >= 2:
            back = list(range(n))[::-1]
            return made.permute(*back).contiguous().permute(*back)
        return made


def strides(lib: Any, name: str, order: str) -> list[tuple[int, ...] | None]:
    make = Laid(lib, "float32")
    make.order = order
    return [tuple(x.stride()) if x.layout == lib.strided else None for x in tensors_in(CALLS[name](make))]


# torch leaves it to the sizes which kernel convolves volumes, and to the kernel in which order its results lie.
UNLIKE = {("conv3d_stride", "last"), ("conv_transpose3d", "last"), ("conv_transpose3d_stride", "last")}
# The powers of a number and `addr` lie in the order of the other operand; `newaxis` has another step of a size of one.
UNLIKE |= {("pow_base", "permuted"), ("addr", "permuted"), ("newaxis", "permuted")}


@pytest.mark.parametrize("order", ["plain", "permuted", "last"])
def test_results_lie_as_torchs(order: str) -> None:
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in CALLS:
            try:
                expected = strides(torch, name, order)
            except (NotImplementedError, RuntimeError, TypeError):
                continue  # no op of float32, or a view that torch refuses
            found = strides(pyburn, name, order)
            if (found != expected) != ((name, order) in UNLIKE):
                problems.append(f"{name}: torch {expected}, pyburn {found}")
    assert not problems, "\n".join(problems)
