"""Random programs on wgpu without reading in between, so that burn fuses them, against the CPU; and careless calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyburn
import pytest
from pyburn import Tensor
from test_fuzz import argument, methods

SHAPES = ((3, 4), (3, 1), (1, 4), (4,), (1,), (2, 3, 4), (1, 1), (3, 2))


def numbers(shape: tuple[int, ...], device: str) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return pyburn.tensor([(at * 7 % 13 - 6) / 4 + 0.1 for at in range(count)]).reshape(shape).to(device)


def indices(x: Tensor, dim: int, count: int, start: int) -> Tensor:
    return pyburn.tensor([(start + at * 5) % x.shape[dim] for at in range(count)]).to(x.device)


def gathered(x: Tensor, dim: int, start: int) -> Tensor:
    index = indices(x, dim, x.numel(), start).reshape(tuple(x.shape))
    return x.gather(dim, index.narrow(dim, 0, 1) if start % 2 else index)


def doubled_slice(x: Tensor, dim: int) -> Tensor:
    out = x.clone()
    out.narrow(dim, 0, 1).mul_(2.0)
    return out


# Each step: two tensors, a dimension of the first, and a number.
STEPS: tuple[Callable[[Tensor, Tensor, int, int], Tensor], ...] = (
    lambda a, b, d, n: a + b,
    lambda a, b, d, n: a * b,
    lambda a, b, d, n: 1.0 - a,
    lambda a, b, d, n: pyburn.maximum(a, b),
    lambda a, b, d, n: a.sigmoid().tanh(),
    lambda a, b, d, n: a.index_select(d, indices(a, d, 1 + n % 3, n)),
    lambda a, b, d, n: gathered(a, d, n),
    lambda a, b, d, n: pyburn.cat([a, a * 2], d),
    lambda a, b, d, n: pyburn.stack([a, a], d),
    lambda a, b, d, n: a.sum(d, keepdim=bool(n % 2)),
    lambda a, b, d, n: a.mean(d, keepdim=True),
    lambda a, b, d, n: a.amax(d, keepdim=True),
    lambda a, b, d, n: a.narrow(d, n % a.shape[d], 1),
    lambda a, b, d, n: pyburn.where(a > 0, b, 0.5),
    lambda a, b, d, n: a.transpose(0, -1),
    lambda a, b, d, n: a.reshape(-1),
    lambda a, b, d, n: a.unsqueeze(n % (a.dim() + 1)),
    lambda a, b, d, n: a.expand(2, *a.shape),
    lambda a, b, d, n: a.cumsum(d),
    lambda a, b, d, n: a.flip(d),
    lambda a, b, d, n: a.softmax(d),
    lambda a, b, d, n: doubled_slice(a, d),
    lambda a, b, d, n: a.var(d, keepdim=True, unbiased=False),
    lambda a, b, d, n: a[..., None, 0] + 1,
)


def program(seed: int, device: str) -> list[Tensor]:
    """All values of a random program; steps that do not fit their operands are left out."""
    draw = random.Random(seed)
    values = [numbers(draw.choice(SHAPES), device) for _ in range(3)]
    for _ in range(draw.randrange(4, 12)):
        a, b, step = draw.choice(values), draw.choice(values), draw.choice(STEPS)
        dim, number = draw.randrange(a.dim()) if a.dim() else 0, draw.randrange(100)
        try:
            made = step(a, b, dim, number)
        except (RuntimeError, IndexError) as error:
            assert "please report" not in str(error) and "device failed" not in str(error), error
            continue
        if made.numel() <= 200 and made.dim() <= 5:
            values.append(made)
    return values


def check_programs(seeds: range) -> None:
    for seed in seeds:
        expected, found = program(seed, "cpu"), program(seed, "wgpu")
        assert len(expected) == len(found), seed
        # The last first: its reading runs everything that it needs in one go.
        for index in reversed(range(len(found))):
            mine = found[index].cpu()
            assert pyburn.allclose(mine, expected[index], rtol=1e-4, atol=1e-4, equal_nan=True), (seed, index)


def test_fused_programs() -> None:
    check_programs(range(150))


@pytest.mark.gpu
def test_many_fused_programs() -> None:
    check_programs(range(150, 800))


def tensor(draw: random.Random) -> Tensor:
    """A small tensor on wgpu of any rank, layout and dtype that is stored there."""
    shape = [draw.choice((0, 1, 2, 3)) for _ in range(draw.randrange(5))]
    dtype = draw.choice(("float32", "int64", "int32", "int8", "uint8", "bool"))
    made = pyburn.ones(shape, dtype=getattr(pyburn, dtype)).to("wgpu")
    return made.transpose(0, 1) if len(shape) > 1 and draw.random() < 0.3 else made


def careless(draw: random.Random) -> Any:
    made = argument(draw)
    return tensor(draw) if isinstance(made, Tensor) and draw.random() < 0.9 else made


def call(draw: random.Random, names: list[str], functions: list[str]) -> tuple[str, Callable[[], Any]]:
    arguments = [careless(draw) for _ in range(draw.randrange(4))]
    if draw.random() < 0.5:
        name, subject = draw.choice(names), tensor(draw)
        shown = f"{name}{tuple(arguments)!r} on {tuple(subject.shape)} {subject.dtype}"

        def act() -> Any:
            attribute = getattr(subject, name)
            return attribute(*arguments) if callable(attribute) else attribute

        return shown, act
    name = draw.choice(functions)
    return f"{name}{tuple(arguments)!r}", lambda: getattr(pyburn.ops, name)(*arguments)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_careless_calls_never_crash(seed: int) -> None:
    draw = random.Random(seed)
    names = [name for name in methods() if not name.startswith(("grad", "H", "T", "mH", "mT"))]
    functions = [name for name, value in vars(pyburn.ops).items() if not name.startswith("_") and callable(value)]
    failures: list[str] = []
    for _ in range(1500):
        shown, act = call(draw, names, functions)
        try:
            result = act()
            if isinstance(result, Tensor) and not result.is_cpu:
                result.cpu()
        except Exception as error:
            if "please report" in str(error) or "device failed" in str(error):
                failures.append(f"{shown}: {error}")
    assert not failures
