"""Index expressions of every kind, well formed or not, read and written by torch and pyburn side by side."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle import from_torch, to_torch


class Late:
    """An integer only by `__index__`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def bound(draw: random.Random, size: int) -> Any:
    return draw.choice([None, None, *range(-size - 2, size + 3)])


def position(draw: random.Random, size: int) -> int:
    """An index that is seldom out of range."""
    if size == 0 or draw.random() < 0.03:
        return draw.randrange(-size - 2, size + 2)
    return draw.randrange(-size, size)


def nested(draw: random.Random, size: int, shape: tuple[int, ...]) -> Any:
    if not shape:
        return position(draw, size)
    return [nested(draw, size, shape[1:]) for _ in range(shape[0])]


def mask(draw: random.Random, sizes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if draw.random() < 0.05:
        sizes = tuple(size + draw.choice((0, 1)) for size in sizes)
    return np.array([draw.random() < 0.5 for _ in range(int(np.prod(sizes)))], dtype=bool).reshape(sizes)


def item(draw: random.Random, shape: tuple[int, ...], dim: int) -> tuple[str, Any, int]:
    """A kind of item, its plain value, and how many dimensions it uses."""
    size = shape[dim] if dim < len(shape) else 2
    kinds = ["int"] * 5 + ["slice"] * 6 + ["none", "ellipsis", "list", "tensor", "tensor", "mask", "mask"]
    kinds += ["numpy", "range", "tuple", "scalar", "bool", "bytes", "late", "int32", "flag tensor", "nested", "wrong"]
    kind = draw.choice(kinds)
    if kind in ("int", "scalar", "late"):
        return kind, position(draw, size), 1
    if kind == "slice":
        if draw.random() < 0.02:
            return "wrong", slice(bound(draw, size), bound(draw, size), draw.choice((0, -1))), 1
        return kind, slice(bound(draw, size), bound(draw, size), draw.choice((None, None, 1, 2, 3))), 1
    if kind in ("none", "ellipsis"):
        return kind, None if kind == "none" else Ellipsis, 0
    if kind in ("list", "numpy", "tuple", "int32"):
        return kind, [position(draw, size) for _ in range(draw.choice((0, 1, 2, 2, 3)))], 1
    if kind in ("tensor", "nested"):
        sizes = draw.choice([(), (1,), (2,), (2,), (1, 2), (2, 1), (2, 2), (0,)])
        return kind, nested(draw, size, sizes), 1
    if kind == "range":
        return kind, range(draw.randrange(size + 1)), 1
    if kind in ("bool", "flag tensor"):
        return kind, draw.random() < 0.6, 0
    if kind in ("mask", "bytes"):
        rank = draw.choice((1, 1, 2))
        sizes = shape[dim : dim + rank] or (2,)
        return kind, mask(draw, sizes), len(sizes)
    return kind, draw.choice((1.5, "a", object, {}, 2**70, b"x", complex(1), -(2**63))), 1


def made(lib: Any, kind: str, value: Any) -> Any:
    """The item as the library takes it."""
    if kind in ("tensor", "scalar", "flag tensor"):
        dtype = lib.bool if kind == "flag tensor" else lib.int64
        return lib.tensor(value, dtype=dtype)
    if kind == "int32":
        return lib.tensor(value, dtype=lib.int32)
    if kind in ("mask", "bytes"):
        return lib.tensor(value.tolist(), dtype=lib.bool if kind == "mask" else lib.uint8).reshape(value.shape)
    if kind == "numpy":
        return np.array(value, dtype="int64")
    if kind == "tuple":
        return tuple(value)
    if kind == "late":
        return Late(value)
    return value


def expression(draw: random.Random, shape: tuple[int, ...]) -> list[tuple[str, Any]]:
    out, dim = [], 0
    for _ in range(draw.choice((1, 1, 2, 2, 3, 4))):
        kind, value, used = item(draw, shape, dim)
        if kind == "ellipsis" and any(known == "ellipsis" for known, _ in out) and draw.random() < 0.7:
            continue
        out.append((kind, value))
        dim += used
        if dim >= len(shape) and draw.random() < 0.9:
            break
    return out


def index_for(lib: Any, items: list[tuple[str, Any]], form: str) -> Any:
    values = [made(lib, kind, value) for kind, value in items]
    if form == "single" and len(values) == 1:
        return values[0]
    return values if form == "list" else tuple(values)


def attempt(work: Any) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work(), None
        except Exception as error:
            return None, error


def agree_on_errors(theirs: Exception | None, ours: Exception | None, text: str) -> bool:
    """Whether both succeeded; fails where only one did, or where code that catches torch's class misses ours."""
    assert (theirs is None) == (ours is None), f"{text}: torch {theirs!r}, pyburn {ours!r}"
    if theirs is None or ours is None:
        return True
    assert "please report" not in str(ours), f"{text}: {ours!r}"
    # With two mistakes in one expression it is open which one is found first.
    for kind in () if "'wrong'" in text else (IndexError, TypeError):
        if isinstance(theirs, kind):
            assert isinstance(ours, kind), f"{text}: torch {theirs!r}, pyburn {ours!r}"
    return False


def compare(seed: int) -> None:
    draw = random.Random(seed)
    shape = tuple(draw.choice((0, 1, 2, 2, 3, 3, 4)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 3, 4))))
    dtype = draw.choice((torch.float64, torch.float64, torch.int64, torch.bool))
    base = torch.arange(int(np.prod(shape, dtype=int))).reshape(shape).to(dtype)
    grad = dtype == torch.float64 and draw.random() < 0.6
    one, other = base.clone().requires_grad_(grad), from_torch(base).requires_grad_(grad)
    if draw.random() < 0.3 and len(shape) > 1:
        one, other, shape = one.transpose(0, 1), other.transpose(0, 1), (shape[1], shape[0], *shape[2:])
    items = expression(draw, shape)
    form = draw.choice(("tuple", "tuple", "single", "single", "list"))
    if form == "list" and any(kind in ("late", "wrong") for kind, _ in items):
        form = "tuple"
    text = f"seed {seed}: {dtype} {shape} {form} {items}"
    expected, error = attempt(lambda: one[index_for(torch, items, form)])
    found, ours = attempt(lambda: other[index_for(pyburn, items, form)])
    if isinstance(ours, IndexError) and error is None and (0 in shape or expected.numel() == 0):
        return  # torch looks at no index where there is nothing to fetch
    if error is None and "too many indices" in str(ours) and sum(kind == "ellipsis" for kind, _ in items) > 1:
        return  # a second ellipsis skips the last dimension, and torch compares the slice with a size beyond it
    if agree_on_errors(error, ours, f"get {text}"):
        same_result(expected, found, (one, other), grad, text)
    if not any(kind == "bytes" for kind, _ in items):
        # torch refuses some writes by uint8 masks that it reads by.
        compare_writes(draw, (one, other), (items, form), None if error else tuple(expected.shape), text)


def same_result(expected: Any, found: Any, leaves: tuple[Any, Any], grad: bool, text: str) -> None:
    assert tuple(found.shape) == tuple(expected.shape), f"get {text}: {found.shape}, torch {expected.shape}"
    assert torch.equal(to_torch(found), expected.detach()), f"get {text}: {found} {expected}"
    shared = expected.untyped_storage().data_ptr() == leaves[0].untyped_storage().data_ptr()
    ours = found._storage_ptr() == leaves[1]._storage_ptr()
    assert shared == ours or expected.numel() == 0, f"get {text}: a view in one library only"
    if shared and expected.numel() > 0:
        assert tuple(found.stride()) == expected.stride(), f"get {text}: {found.stride()} {expected.stride()}"
    if grad:
        weight = torch.arange(1.0, 1 + expected.numel(), dtype=torch.float64).reshape(expected.shape)
        (theirs,) = torch.autograd.grad(expected, leaves[0], weight)
        (mine,) = pyburn.autograd.grad(found, leaves[1], from_torch(weight))
        assert torch.equal(to_torch(mine), theirs), f"grad {text}"


def value_for(draw: random.Random, shape: tuple[int, ...] | None, dtype: torch.dtype) -> Any:
    """A number, or a tensor that mostly fits the place."""
    if shape is None or draw.random() < 0.3:
        return draw.choice((7, 2.5, True, -1))
    sizes = tuple(size if draw.random() < 0.8 else 1 for size in shape)
    sizes = sizes[draw.randrange(len(sizes) + 1) :] if draw.random() < 0.3 else sizes
    sizes = (1, *sizes) if draw.random() < 0.1 else sizes
    sizes = tuple(size + 1 for size in sizes) if draw.random() < 0.05 else sizes
    wanted = torch.float32 if draw.random() < 0.05 else dtype
    return (torch.arange(int(np.prod(sizes, dtype=int))) + 50).reshape(sizes).to(wanted)


def compare_writes(
    draw: random.Random,
    leaves: tuple[Any, Any],
    where: tuple[list[tuple[str, Any]], str],
    shape: tuple[int, ...] | None,
    text: str,
) -> None:
    items, form = where
    if any(kind in ("list", "tensor", "nested", "numpy", "tuple", "int32") for kind, _ in items):
        # With a place named twice the result is not defined: only equal values are written then.
        shape = None
    value = value_for(draw, shape, leaves[0].dtype)
    grad = leaves[0].requires_grad
    copies = leaves[0] * 1 if grad else leaves[0].clone(), leaves[1] * 1 if grad else leaves[1].clone()
    mine = from_torch(value) if isinstance(value, torch.Tensor) else value
    accumulate = draw.random() < 0.3

    def write(lib: Any, x: Any, v: Any) -> None:
        index = index_for(lib, items, form)
        if accumulate:
            x[index] += v
        else:
            x[index] = v

    text = f"set {text} {'+=' if accumulate else '='} {value}"
    _, error = attempt(lambda: write(torch, copies[0], value))
    _, ours = attempt(lambda: write(pyburn, copies[1], mine))
    if 0 in copies[0].shape and isinstance(ours, IndexError):
        return
    if not agree_on_errors(error, ours, text):
        return
    assert torch.equal(to_torch(copies[1]), copies[0].detach()), f"{text}: {copies[1]} {copies[0]}"
    if grad:
        weight = torch.arange(1.0, 1 + copies[0].numel(), dtype=torch.float64).reshape(copies[0].shape)
        (theirs,) = torch.autograd.grad(copies[0], leaves[0], weight)
        (found,) = pyburn.autograd.grad(copies[1], leaves[1], from_torch(weight))
        assert torch.equal(to_torch(found), theirs), f"grad {text}"


# torch warns of uint8 masks from its own threads.
@pytest.mark.filterwarnings("ignore:indexing with dtype")
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_random_expressions(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:indexing with dtype")
@pytest.mark.timeout(3600)
def test_many_random_expressions() -> None:
    for _ in range(30_000):
        compare(random.randrange(2**40))


@pytest.mark.parametrize(
    "value", [torch.tensor([]), torch.tensor(1.5), torch.tensor([1], dtype=torch.int32), torch.tensor(3)]
)
@pytest.mark.parametrize("index", [(False,), (True,), False, True, (..., ..., None)])
def test_flags_and_ellipses_in_tuples(index: Any, value: torch.Tensor) -> None:
    _, error = attempt(lambda: torch.ones(3, dtype=torch.int64).__setitem__(index, value))
    _, our_error = attempt(lambda: pyburn.ones(3, dtype=pyburn.int64).__setitem__(index, from_torch(value)))
    assert (error is None) == (our_error is None), (error, our_error)
