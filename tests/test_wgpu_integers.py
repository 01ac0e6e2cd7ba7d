"""Integers on wgpu, where WGSL has 32-bit ones only: int64 keeps its name and its range is watched, others wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyburn
import pytest

BIG = 2**40


@pytest.mark.parametrize(
    "make",
    [
        lambda: pyburn.tensor([1, BIG]).to("wgpu"),
        lambda: pyburn.tensor([1, -BIG], device="wgpu"),
        lambda: pyburn.full((2,), BIG, device="wgpu"),
        lambda: pyburn.arange(BIG, BIG + 3, device="wgpu"),
        lambda: pyburn.randint(BIG, BIG + 5, (3,), device="wgpu"),
        lambda: pyburn.ones(2, dtype=pyburn.int64, device="wgpu") + BIG,
        lambda: pyburn.ones(2, dtype=pyburn.int64, device="wgpu").fill_(BIG),
        lambda: pyburn.ones(2, dtype=pyburn.int64, device="wgpu").masked_fill(
            pyburn.tensor([True, False]).to("wgpu"), BIG
        ),
        lambda: pyburn.as_tensor(np.array([2**31]), device="wgpu"),
    ],
)
def test_int64_that_does_not_fit_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="does not fit"):
        make()
    assert (pyburn.ones(2, device="wgpu") + 1).tolist() == [2.0, 2.0]


def test_the_ends_of_the_range_fit() -> None:
    ends = [2**31 - 1, -(2**31)]
    there = pyburn.tensor(ends).to("wgpu")
    assert there.dtype is pyburn.int64 and there.tolist() == ends


@pytest.mark.parametrize(
    "make",
    [
        lambda d: pyburn.arange(5, device=d),
        lambda d: pyburn.arange(6, device=d).reshape(2, 3).sum(1),
        lambda d: pyburn.tensor([True, False, True]).to(d).sum(),
        lambda d: pyburn.tensor([1, 2], dtype=pyburn.uint8).to(d).sum(),
        lambda d: pyburn.tensor([1, 2], dtype=pyburn.int8).to(d).cumsum(0),
        lambda d: pyburn.tensor([3.0, 1.0]).to(d).argmax(),
        lambda d: pyburn.tensor([3.0, 1.0]).to(d).sort().indices,
        lambda d: pyburn.tensor([3, 1]).to(d).prod(),
        lambda d: pyburn.full((2,), 7, device=d),
        lambda d: pyburn.tensor([7, -7]).to(d) // 2,
        lambda d: pyburn.tensor([7, -7]).to(d) % 4,
    ],
)
def test_int64_keeps_its_name(make: Callable[[str], Any]) -> None:
    here, there = make("cpu"), make("wgpu")
    assert there.dtype is here.dtype is pyburn.int64
    assert str(there.device) == "wgpu:0" and there.tolist() == here.tolist()


def test_randint_on_wgpu() -> None:
    drawn = pyburn.randint(-5, 5, (200,), device="wgpu")
    assert drawn.dtype is pyburn.int64 and str(drawn.device) == "wgpu:0"
    assert set(drawn.tolist()) <= set(range(-5, 5)) and len(set(drawn.tolist())) > 5


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "uint16"])
@pytest.mark.parametrize(
    "op",
    [
        lambda x: x + x,
        lambda x: x * x,
        lambda x: x - 100,
        lambda x: -x,
        lambda x: x.clone().mul_(3),
        lambda x: ~x,
        lambda x: (x.to(pyburn.int64) * 3).to(x.dtype),
        lambda x: x.abs(),
    ],
)
def test_other_integers_wrap_as_on_the_cpu(dtype: str, op: Callable[[Any], Any]) -> None:
    bounds = np.iinfo(dtype)
    values = [bounds.min, bounds.min + 1, 1, 5, bounds.max - 1, bounds.max]
    if dtype == "int32":
        values = [bounds.min // 4, -1, 1, 5, bounds.max // 4]
    x = pyburn.tensor(values, dtype=getattr(pyburn, dtype))
    try:
        here = op(x)
    except RuntimeError:
        pytest.skip("the CPU refuses it too")
    there = op(x.to("wgpu"))
    assert there.dtype is here.dtype and there.tolist() == here.tolist()


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "uint64", "complex64"])
def test_types_that_wgsl_lacks(dtype: str) -> None:
    kind = getattr(pyburn, dtype)
    for make in (
        lambda: pyburn.zeros(2, device="wgpu").to(kind),
        lambda: pyburn.zeros(2, dtype=kind, device="wgpu"),
    ):
        with pytest.raises(pyburn.DTypeError, match=dtype):
            make()


def test_division_by_a_zero_that_is_known() -> None:
    with pytest.raises((RuntimeError, ZeroDivisionError), match=r"[Zz]ero"):
        pyburn.tensor([1, 2]).to("wgpu") // 0


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("by", [-1, 0, 3, 31, 32, 100])
def test_shifts_by_any_number_of_places(dtype: str, by: int) -> None:
    x = pyburn.tensor([0, 1, 5, 100], dtype=getattr(pyburn, dtype))
    for here in (x, x if dtype == "uint8" else -x):
        there, places = here.to("wgpu"), pyburn.tensor([by % 128, 0, 2, by % 128], dtype=x.dtype)
        assert (there >> by).tolist() == (here >> by).tolist()
        assert (there >> places.to("wgpu")).tolist() == (here >> places).tolist()
        far = by if by < 8 else 100  # what lies between may need more than the 32 bits of an int64 there
        assert (there << far).tolist() == (here << far).tolist()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_powers_with_negative_exponents(dtype: str) -> None:
    kind = getattr(pyburn, dtype)
    base = pyburn.tensor([[0], [1], [-1], [3], [-7], [100]], dtype=kind)
    exponent = pyburn.tensor([-100, -3, -2, -1, 0, 1, 2], dtype=kind)
    assert (base.to("wgpu") ** exponent.to("wgpu")).tolist() == (base**exponent).tolist()
