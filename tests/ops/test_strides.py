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


VIEWS = {
    "turned": lambda lib: lib.arange(24.0).reshape(6, 4).t(),
    "permuted": lambda lib: lib.arange(24.0).reshape(4, 3, 2).permute(2, 0, 1),
    "exchanged": lambda lib: lib.arange(24.0).reshape(4, 3, 2).transpose(0, 1),
    "last": lambda lib: lib.arange(288.0).reshape(2, 4, 6, 6).contiguous(memory_format=lib.channels_last),
    "mixed": lambda lib: lib.arange(288.0).reshape(2, 4, 6, 6).permute(3, 1, 0, 2),
    "stepped": lambda lib: lib.arange(48.0).reshape(8, 6)[::2, 1:5],
}
READS = """
    x[lib.tensor([0, 1])]
    x[:, lib.tensor([0, 1])]
    x[..., lib.tensor([1, 0])]
    x[lib.tensor([0, 1]), ..., lib.tensor([0, 1])]
    x[lib.tensor([[0], [1]]), lib.tensor([[0, 1]])]
    x[:, lib.tensor([[0, 1], [1, 0]])]
    x[lib.tensor([[0, 1], [1, 0]]).t()]
    x[x > 3]
    x[lib.tensor([True, False] + [True] * (x.shape[0] - 2))]
    x.roll(1, 0)
    x.roll((1, 2), (0, 1))
    lib.nonzero(x)
    x.index_fill(0, lib.tensor([0]), 1.0)
    x.index_put((lib.tensor([0]),), lib.tensor(1.0))
    lib.nn.functional.pixel_shuffle(x[:, :4], 2) if x.dim() == 4 and x.shape[1] == 4 else x
"""


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("code", [line.strip() for line in READS.strip().splitlines()])
def test_reads_of_views(code: str, view: str) -> None:
    found, expected = (eval(code, {"lib": lib, "x": VIEWS[view](lib)}) for lib in (pyburn, torch))
    assert tuple(found.stride()) == expected.stride() and found.tolist() == expected.tolist()
