"""Elementwise functions, conversions and folds over short rows in every order of memory, against torch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

SIZES = (1, 2, 3, 4, 5, 7, 9, 17, 40)
ORDERS = ("rows", "turned", "every other", "expanded", "moved")


def laid(shape: tuple[int, ...], order: str, generator: np.random.Generator) -> tuple[Any, torch.Tensor]:
    """The same numbers in both libraries, over the same steps in memory."""

    def numbers(sizes: tuple[int, ...]) -> torch.Tensor:
        return torch.from_numpy(generator.standard_normal(sizes, dtype=np.float32))

    if order == "turned":
        theirs = numbers(shape[::-1]).permute(*reversed(range(len(shape))))
    elif order == "every other":
        theirs = numbers((*shape[:-1], shape[-1] * 2 + 1))[..., 1::2]
    elif order == "expanded":
        theirs = numbers((1, *shape[1:])).expand(shape)
    elif order == "moved":
        theirs = numbers((*shape[1:], shape[0])).movedim(-1, 0)
    else:
        theirs = numbers(shape)
    base = torch.as_strided(theirs, (theirs.untyped_storage().nbytes() // 4,), (1,), 0)
    ours = pyburn.tensor(base.tolist()).as_strided(shape, theirs.stride(), theirs.storage_offset())
    return ours, theirs


def inside(lib: Any, a: Any) -> Any:
    """A copy between two columns of zeros, so that its rows do not lie one behind the other."""
    out = lib.zeros(*a.shape[:-1], a.shape[-1] + 2)[..., 1:-1]
    out.copy_(a)
    return out


FUNCTIONS = {
    "add": lambda lib, a, b, c: a + b,
    "lerp": lambda lib, a, b, c: lib.lerp(a, b, c),
    "where": lambda lib, a, b, c: lib.where(a > 0, b, c),
    "clamp": lambda lib, a, b, c: a.clamp(-0.5, 0.5),
    "exp": lambda lib, a, b, c: a.exp(),
    "remainder": lambda lib, a, b, c: lib.remainder(a.double(), b.double()),
    "half": lambda lib, a, b, c: a.half().float(),
    "double": lambda lib, a, b, c: a.half().double().bfloat16().float(),
    "contiguous": lambda lib, a, b, c: a.contiguous(),
    "addcmul": lambda lib, a, b, c: lib.addcmul(a, b, c, value=0.5),
    "compare": lambda lib, a, b, c: (a < b).int(),
    "signs": lambda lib, a, b, c: (a * 5).int().sign() * (b * 5).long(),
    "in place": lambda lib, a, b, c: inside(lib, a).mul_(b).add_(c),
    "masked_fill_": lambda lib, a, b, c: inside(lib, a).masked_fill_(b > 0, 2.0),
    "clamp_": lambda lib, a, b, c: inside(lib, a).clamp_(-0.5, 0.5),
    "relu_": lambda lib, a, b, c: a.clone().relu_(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    generator = np.random.default_rng(len(name))
    for _ in range(60):
        shape = tuple(generator.choice(SIZES, size=generator.integers(1, 5)).tolist())
        operands = [laid(shape, str(generator.choice(ORDERS)), generator) for _ in range(3)]
        found = FUNCTIONS[name](pyburn, *(ours for ours, _ in operands))
        expected = FUNCTIONS[name](torch, *(theirs for _, theirs in operands))
        made = torch.tensor(found.tolist(), dtype=expected.dtype)
        torch.testing.assert_close(made, expected, rtol=2e-6, atol=2e-6, msg=lambda m, s=shape: f"{name} {s}: {m}")


@pytest.mark.parametrize("step", [1, 2, 3])
def test_conversions_of_all_types(step: int) -> None:
    floats, whole = ("float16", "bfloat16", "float32", "float64"), ("int64", "int32", "uint8", "bool", "int16", "int8")
    for one, other in itertools.product((*floats, *whole), repeat=2):
        values = [0.0, 1.0, 2.5, 3.7, 100.2] if one in floats else [0, 1, 2, 3, 100]
        values += [-2.5, 6.1e4, -0.0, float("nan"), float("inf")] if {one, other} <= set(floats) else []
        results = []
        for lib in (pyburn, torch):
            rows = lib.tensor(values * 30).to(getattr(lib, one)).unsqueeze(1).expand(-1, 5)
            results.append(str(rows[::step, ::step].to(getattr(lib, other)).tolist()))
        assert results[0] == results[1], (one, other)


FOLDS = ("sum", "mean", "amax", "amin", "prod", "var", "logsumexp", "cumsum", "cumprod", "norm")
SHAPES = ((5000, 3), (1, 2), (33, 5), (4, 300, 7), (70001, 2), (17, 6, 4), (300, 1, 3), (100, 2, 2))


@pytest.mark.filterwarnings("ignore:var")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_folds(shape: tuple[int, ...], dtype: str) -> None:
    numbers = np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)
    ours, theirs = pyburn.from_numpy(numbers.copy()), torch.from_numpy(numbers)
    for dim, name in itertools.product(range(len(shape)), FOLDS):
        found, expected = getattr(ours, name)(dim=dim), getattr(theirs, name)(dim=dim)
        made = torch.tensor(found.tolist(), dtype=expected.dtype)
        torch.testing.assert_close(made, expected, rtol=3e-5, atol=3e-4, equal_nan=True)
    for dim, name in itertools.product(range(len(shape)), ("max", "min", "sort")):
        found, expected = getattr(ours, name)(dim=dim), getattr(theirs, name)(dim=dim)
        assert found[0].tolist() == expected[0].tolist()
        assert found[1].tolist() == expected[1].tolist()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("stable", [False, True])
def test_equal_numbers_of_short_lines_stay_in_order(descending: bool, stable: bool) -> None:
    numbers = np.random.default_rng(0).integers(-2, 3, (50, 16, 3)).astype("int32")
    for dim in range(3):
        found = pyburn.sort(pyburn.from_numpy(numbers), dim=dim, descending=descending, stable=stable)
        expected = torch.sort(torch.from_numpy(numbers), dim=dim, descending=descending, stable=stable)
        assert found[1].tolist() == expected[1].tolist()


def test_what_is_not_a_number_is_the_greatest() -> None:
    nan = float("nan")
    lines = [[1.0, nan, 2.0], [nan, 0.0, nan], [3.0, 3.0, 1.0]]
    for name in ("max", "min", "sort"):
        found, expected = getattr(pyburn.tensor(lines), name)(1), getattr(torch.tensor(lines), name)(1)
        assert found[1].tolist() == expected[1].tolist()


def test_expanded_dimensions_are_folded() -> None:
    numbers = np.random.default_rng(0).standard_normal((1, 6, 4))
    ours, theirs = pyburn.from_numpy(numbers).expand(5, 6, 4), torch.from_numpy(numbers).expand(5, 6, 4)
    for dim, name in itertools.product(range(3), ("sum", "amax", "prod", "argmax")):
        found, expected = getattr(ours, name)(dim), getattr(theirs, name)(dim)
        torch.testing.assert_close(torch.tensor(found.tolist(), dtype=expected.dtype), expected)
