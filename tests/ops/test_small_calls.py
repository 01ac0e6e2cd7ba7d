"""Ops with a way of their own for small or usual arguments, against torch."""

from __future__ import annotations

import math
import random
from typing import Any

import pyburn
import pytest
import torch

from oracle import check_op

SHAPES = [(2, 3, 4), (1, 3, 4), (0, 3, 4), (7, 3, 4)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_parts_side_by_side(dtype: str, dim: int) -> None:
    parts = []
    for shape in SHAPES:
        turned = list(shape)
        turned[0], turned[dim] = turned[dim], turned[0]
        parts.append((torch.rand(turned) * 9).to(getattr(torch, dtype)))
    wanted = torch.cat(parts, dim)
    ours = [pyburn.tensor(part.tolist(), dtype=getattr(pyburn, dtype)).reshape(*part.shape) for part in parts]
    found = pyburn.cat(ours, dim)
    assert tuple(found.shape) == tuple(wanted.shape) and found.dtype == getattr(pyburn, dtype)
    assert found.tolist() == wanted.tolist()


def test_small_and_large_parts_are_joined_alike() -> None:
    for size in (8, 8192):  # below and above what the plain loop takes
        a, b = pyburn.randn(3, size), pyburn.randn(3, 2 * size)
        joined = pyburn.cat([a, b], 1)
        assert pyburn.equal(joined[:, :size], a) and pyburn.equal(joined[:, size:], b)


def test_views_are_stacked() -> None:
    x = torch.arange(24.0).reshape(4, 6)
    check_op(lambda lib, x: lib.stack([x, x], -1), x.t())
    check_op(lambda lib, x: lib.stack([x[0], x[::2][1]], 0), x)
    check_op(lambda lib, x: lib.cat([x[:, 1:3], x[:, :1]], 1), x)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weight", [None, [0.5, 0.0, 2.0]])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 5), (2, 3, 2, 2)])
def test_classes_are_picked(shape: tuple[int, ...], weight: list[float] | None, reduction: str) -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(shape, generator=generator)
    classes = shape[1:] if len(shape) == 1 else (shape[0], *shape[2:])
    target = torch.randint(0, 3, classes, generator=generator)
    given = target.reshape(-1).tolist()
    if len(shape) > 1:
        given[0] = -100
    for name in ("nll_loss", "cross_entropy"):

        def call(lib: Any, x: Any, name: str = name) -> Any:
            truth = lib.tensor(given).reshape(classes)
            weights = None if weight is None else lib.tensor(weight, dtype=x.dtype)
            return getattr(lib.nn.functional, name)(x, truth, weights, reduction=reduction)

        check_op(call, scores)
        check_op(call, scores.double())


def test_what_is_ignored_may_be_infinite() -> None:
    def call(lib: Any) -> Any:
        x = lib.tensor([[-math.inf, -1.0], [-2.0, -math.inf]], requires_grad=True)
        loss = lib.nn.functional.nll_loss(x, lib.tensor([-100, 0]))
        loss.backward()
        return loss.item(), x.grad.tolist()

    assert call(pyburn) == call(torch)


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_an_unknown_reduction_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="meen is not a valid value for reduction"):
        getattr(pyburn.nn.functional, name)(pyburn.zeros(2, 2), pyburn.tensor([0, 1]), reduction="meen")


@pytest.mark.parametrize("value", [0, 1.5, True, -math.inf, math.nan])
def test_numbers_fill_where_the_mask_is_true(value: float) -> None:
    mask = [[True], [False]]
    check_op(lambda lib, x: x.masked_fill(lib.tensor(mask), value), torch.randn(2, 3))
    check_op(
        lambda lib, x: x.masked_fill(lib.tensor([True, False, True]), value), torch.randn(2, 3).double().t()[:3, :1]
    )


def test_equations_of_two_operands() -> None:
    choice = random.Random(0)
    for _ in range(150):
        sizes = {letter: choice.choice([0, 1, 2, 3]) for letter in "abcde"}
        names = ["".join(choice.sample("abcde", choice.randint(0, 4))) for _ in range(2)]
        every = sorted(set("".join(names)))
        equation = ",".join(names) + "->" + "".join(choice.sample(every, choice.randint(0, len(every))))
        shapes = [[1 if choice.random() < 0.1 else sizes[letter] for letter in name] for name in names]
        left, right = (torch.randn(shape) for shape in shapes)
        wanted = torch.einsum(equation, left, right)
        for _ in range(2):  # the second call finds the plan of the first
            ours = [pyburn.tensor(x.tolist()).reshape(x.shape) for x in (left, right)]
            found = pyburn.einsum(equation, *ours)
            assert tuple(found.shape) == tuple(wanted.shape), equation
            assert torch.allclose(torch.tensor(found.tolist()).reshape(wanted.shape), wanted, atol=1e-5), equation
