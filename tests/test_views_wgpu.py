"""Random programs of views and writes on wgpu beside torch: all aliases show every write, and gradients agree.

tests/test_views_stateful.py does the same on the CPU with more kinds of steps; the rules are shared, the memory is not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyburn
import pytest
import torch
from pyburn import _core

from oracle import from_torch, to_torch

Step = Callable[[Any, Any], Any]


def dim_of(draw: random.Random, x: torch.Tensor) -> int:
    return draw.randrange(x.dim()) if x.dim() else 0


def view(draw: random.Random, x: torch.Tensor) -> tuple[str, Step]:
    """A view that fits most shapes."""
    dim = dim_of(draw, x)
    size = x.shape[dim] if x.dim() else 1
    start = draw.randrange(size) if size else 0
    other = dim_of(draw, x)
    steps: dict[str, Step] = {
        "t": lambda lib, y: y.transpose(dim, other),
        "narrow": lambda lib, y: y.narrow(dim, start, size - start),
        "select": lambda lib, y: y.select(dim, start),
        "step": lambda lib, y: y[::2],
        "inner": lambda lib, y: y[..., 1:],
        "unsqueeze": lambda lib, y: y.unsqueeze(dim),
        "flat": lambda lib, y: y.view(-1),
        "detach": lambda lib, y: y.detach(),
        "expand": lambda lib, y: y.unsqueeze(0).expand(2, *y.shape),
        "diagonal": lambda lib, y: y.diagonal(),
        "unfold": lambda lib, y: y.unfold(dim, 1 + size // 2, 1),
        "split": lambda lib, y: y.narrow(dim, 0, max(size // 2, 1)),
    }
    name = draw.choice(list(steps))
    return f"{name}({dim}, {start})", steps[name]


def write(draw: random.Random, x: torch.Tensor) -> tuple[str, Step]:
    """A write in place that fits every shape."""
    number = draw.choice((-1.5, 0.5, 2.0))
    values = torch.tensor([draw.choice((-1.0, 0.0, 3.0)) for _ in range(x.numel())]).reshape(x.shape)
    mask = values > 0
    dim = dim_of(draw, x)

    def give(lib: Any, value: torch.Tensor) -> Any:
        return value.clone() if lib is torch else from_torch(value, "wgpu")

    def item(lib: Any, y: Any) -> None:
        y[..., :1] = number

    def rows(lib: Any, y: Any) -> None:
        y[[0]] += number

    steps: dict[str, Step] = {
        "add_": lambda lib, y: y.add_(number),
        "mul_": lambda lib, y: y.mul_(number),
        "add_ tensor": lambda lib, y: y.add_(give(lib, values)),
        "copy_": lambda lib, y: y.copy_(give(lib, values)),
        "zero_": lambda lib, y: y.zero_(),
        "masked_fill_": lambda lib, y: y.masked_fill_(give(lib, mask), number),
        "index_fill_": lambda lib, y: y.index_fill_(dim, give(lib, torch.tensor([0])), number),
        "scatter_add_": lambda lib, y: y.scatter_add_(
            dim, give(lib, torch.zeros(x.shape, dtype=torch.int64)), give(lib, values)
        ),
        "item": item,
        "rows": rows,
    }
    name = draw.choice(list(steps))
    return f"{name} {number}", steps[name]


def attempt(step: Step, lib: Any, x: Any) -> tuple[Any, Exception | None]:
    try:
        return step(lib, x), None
    except Exception as error:
        return None, error


class Program:
    """Pairs of a torch tensor and ours that stand for the same thing."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        shape = [self.draw.randrange(1, 4) for _ in range(self.draw.randrange(1, 4))]
        values = torch.tensor([self.draw.randrange(-3, 4) + 0.0 for _ in range(torch.Size(shape).numel())])
        self.leaf = values.reshape(shape).requires_grad_()
        self.ours = from_torch(self.leaf, "wgpu").requires_grad_()
        self.pairs = [(self.leaf * 1, self.ours * 1)]
        self.log = [f"leaf {shape}"]

    def run(self) -> None:
        for _ in range(self.draw.randrange(5, 12)):
            theirs, mine = self.draw.choice(self.pairs)
            is_view = self.draw.random() < 0.5
            text, step = (view if is_view else write)(self.draw, theirs)
            spread = any(s == 0 and n > 1 for s, n in zip(theirs.stride(), theirs.shape, strict=True))
            if not is_view and (overlaps(theirs) or spread):
                continue
            self.log.append(f"{text} on {tuple(theirs.shape)}")
            expected, error = attempt(step, torch, theirs)
            found, our_error = attempt(step, pyburn, mine)
            assert (error is None) == (our_error is None), f"{self.log}: torch {error}, pyburn {our_error}"
            if is_view and error is None:
                self.pairs.append((expected, found))
        self.compare()

    def compare(self) -> None:
        for theirs, mine in self.pairs:
            torch.testing.assert_close(to_torch(mine), theirs.detach(), msg=lambda text: f"{self.log}: {text}")
        ends = [pair for pair in self.pairs if pair[0].requires_grad]
        if not ends:
            return
        expected, error = attempt(
            lambda _, leaf: torch.autograd.grad([end for end, _ in ends], leaf, [end.detach() for end, _ in ends]),
            torch,
            self.leaf,
        )
        upstream = [pyburn.tensor(end.tolist()).to("wgpu") for end, _ in ends]
        found, our_error = attempt(
            lambda _, leaf: _core._backward([end for _, end in ends], upstream, False, False, [leaf]), pyburn, self.ours
        )
        assert (error is None) == (our_error is None), f"{self.log}: torch {error}, pyburn {our_error}"
        if error is None:
            torch.testing.assert_close(to_torch(found[0]), expected[0], msg=lambda text: f"{self.log}: grad {text}")


def overlaps(x: torch.Tensor) -> bool:
    """Whether windows share elements; torch does not notice, so that a write there has no meaning to compare."""
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(x.stride(), x.shape, strict=True) if n > 1):
        if 0 < stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


@pytest.mark.filterwarnings("ignore")
def test_random_programs() -> None:
    for seed in range(60):
        Program(seed).run()


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
def test_many_random_programs() -> None:
    for seed in range(60, 400):
        Program(seed).run()
