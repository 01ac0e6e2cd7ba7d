"""Numbers at the ends of their dtype, sizes beyond memory, forks at a bad moment: torch's answer or an exception."""

from __future__ import annotations

import os
import signal
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from oracle import to_torch

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32", "float64"]
NUMBERS = [300, -1, -300, 2**31, 2**63 - 1, -(2**63), 1e10, float("inf"), float("nan"), 2.7, -2.7, True, 70000, 3e38]
FILLS: dict[str, Callable[..., Any]] = {
    "fill_": lambda lib, x, v: x.fill_(v),
    "full_like": lambda lib, x, v: lib.full_like(x, v),
    "masked_fill": lambda lib, x, v: x.masked_fill(x > 1, v),
    "index_fill": lambda lib, x, v: x.index_fill(0, lib.tensor([0]), v),
    "scatter": lambda lib, x, v: x.scatter(0, lib.tensor([0]), v),
    "fill_diagonal_": lambda lib, x, v: lib.zeros(2, 2, dtype=x.dtype).fill_diagonal_(v),
    "one": lambda lib, x, v: x.__setitem__(0, v) or x,
    "slice": lambda lib, x, v: x.__setitem__(slice(1, None), v) or x,
    "mask": lambda lib, x, v: x.__setitem__(x > 1, v) or x,
    "list": lambda lib, x, v: x.__setitem__([0, 1], v) or x,
    "tensor": lambda lib, x, v: lib.tensor([v], dtype=x.dtype),
}


def outcome(name: str, lib: Any, dtype: str, number: Any) -> torch.Tensor | None:
    """What a fill makes of [1, 2, 3], None where it refuses the number."""
    return attempt(lambda: FILLS[name](lib, lib.tensor([1, 2, 3]).to(getattr(lib, dtype)), number))


def attempt(work: Callable[[], Any]) -> torch.Tensor | None:
    try:
        made = work()
    except (RuntimeError, ValueError, TypeError, OverflowError):
        return None
    return made if isinstance(made, torch.Tensor) else to_torch(made)


@pytest.mark.parametrize("name", FILLS)
def test_a_number_that_does_not_fit_is_refused(name: str) -> None:
    for dtype in DTYPES:
        for number in NUMBERS:
            theirs, ours = (outcome(name, lib, dtype, number) for lib in (torch, pyburn))
            assert (theirs is None) == (ours is None), f"{dtype} {number}: {ours}, torch {theirs}"
            if theirs is not None:
                torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64", "bool"])
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_floats_out_of_range_become_the_integers_torch_shows(source: str, target: str) -> None:
    values = [1e10, -1e10, np.inf, -np.inf, np.nan, -2.7, 300.7, -300.7, 70000.0, 2147483648.0, 9.3e18]
    theirs, ours = (
        lib.tensor(values, dtype=lib.float64).to(getattr(lib, source)).to(getattr(lib, target)).tolist()
        for lib in (torch, pyburn)
    )
    assert ours == theirs


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.filterwarnings("ignore:to - 1 is out of bounds", "ignore:from is out of bounds")
def test_integers_drawn_as_floats_stay_below_the_bound(dtype: str) -> None:
    for low, high in ((0, 300), (0, 257), (-300, 4000), (0, 2**25 + 1), (-(2**31), 2**40), (5, 70000), (0, 2**54 + 1)):

        def draw(lib: Any, low: int = low, high: int = high) -> Any:
            lib.manual_seed(1)
            return lib.zeros(20, dtype=getattr(lib, dtype)).random_(low, high)

        theirs, ours = attempt(lambda: draw(torch)), attempt(lambda: draw(pyburn))
        assert (theirs is None) == (ours is None), f"{low}, {high}"
        if theirs is not None:
            assert torch.equal(ours, theirs), f"{low}, {high}: {ours}, torch {theirs}"


def small(*shape: int) -> Any:
    return pyburn.ones(shape)


functional = pyburn.nn.functional
HUGE: dict[str, Callable[[int], Any]] = {
    "adaptive_avg_pool1d": lambda n: functional.adaptive_avg_pool1d(small(2, 3, 4), n),
    "adaptive_avg_pool3d": lambda n: functional.adaptive_avg_pool3d(small(1, 2, 4, 4, 4), (n, 7, None)),
    "adaptive_max_pool1d": lambda n: functional.adaptive_max_pool1d(small(4, 4), n),
    "adaptive_max_pool3d": lambda n: functional.adaptive_max_pool3d(small(1, 4, 4, 3, 5), (1, n, 1)),
    "replicate": lambda n: functional.pad(small(1, 3), (0, n), mode="replicate"),
    "constant": lambda n: functional.pad(small(1, 3), (0, n)),
    "nearest": lambda n: functional.interpolate(small(1, 2, 3, 3), size=(5, n)),
    "bilinear": lambda n: functional.interpolate(small(1, 2, 3, 3), size=(n, n), mode="bilinear"),
    "scale_factor": lambda n: functional.interpolate(small(1, 2, 3), scale_factor=float(n), mode="linear"),
    "randperm": lambda n: pyburn.randperm(n),
    "mvlgamma": lambda n: pyburn.special.multigammaln(small(2), n),
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("size", [2**40, 2**62, 2**63 - 1])
def test_sizes_beyond_memory_are_refused_at_once(name: str, size: int) -> None:
    with pytest.raises((MemoryError, RuntimeError, ValueError, OverflowError, TypeError)) as caught:
        HUGE[name](size)
    assert "please report" not in str(caught.value)


def test_code_without_builtins_meets_no_panic() -> None:
    def call(x: Any) -> Any:
        return x.expand(None)

    bare = types.FunctionType(call.__code__, {})
    with pytest.raises(TypeError):
        bare(pyburn.ones(5, 1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_while_another_thread_draws_numbers() -> None:
    stop = threading.Event()
    expected = torch.rand(1, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).item()

    def draw() -> None:
        while not stop.is_set():
            pyburn.randn(400, 400)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                pyburn.manual_seed(3)
                os._exit(0 if pyburn.rand(1, dtype=pyburn.float64).item() == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
