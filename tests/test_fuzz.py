"""Random ops with random arguments: whatever happens must be a result or an ordinary exception."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from typing import Any

import pyburn
import pytest
from pyburn import Tensor

COUNT = 6000
HUGE: tuple[Any, ...] = (2**40, 2**62, -(2**63), 10**30)
# Sizes that some machines have room for: drawn only under a limit on memory.
LARGE = (2**29, 2**31 - 1, 2**31, 2**32 + 1, 2**33, 2**35, (2**31,), (2**16, 2**15), (2**30, 2), [2**33], -(2**31))
# Calls that wait, print, change global state or need a running graph are not drawn.
SKIPPED = {
    "backward", "register_hook", "register_post_accumulate_grad_hook", "set_", "share_memory_", "storage",
    "untyped_storage", "data_ptr", "numpy", "__dlpack__", "__array__",
}  # fmt: skip


def methods() -> list[str]:
    """Public methods of Tensor."""
    return [name for name in dir(Tensor) if not name.startswith("_") and name not in SKIPPED]


def tensor(draw: random.Random) -> Tensor:
    """A small tensor of any rank, dtype and layout."""
    shape = [draw.choice((0, 1, 2, 3)) for _ in range(draw.randrange(5))]
    dtype = draw.choice(("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"))
    made = pyburn.ones(shape, dtype=getattr(pyburn, dtype))
    return made.transpose(0, 1) if len(shape) > 1 and draw.random() < 0.3 else made


def argument(draw: random.Random) -> Any:
    """Anything that a careless caller might pass."""
    choices = (
        lambda: tensor(draw),
        lambda: draw.randrange(-4, 5),
        lambda: draw.choice((0.5, -1.0, float("nan"), float("inf"))),
        lambda: draw.choice(HUGE),
        lambda: tuple(draw.randrange(-2, 4) for _ in range(draw.randrange(4))),
        lambda: [draw.randrange(4) for _ in range(draw.randrange(3))],
        lambda: draw.choice((None, True, "sum", "cpu", b"x", object(), pyburn.float32, {})),
    )
    return draw.choice(choices)()


@pytest.mark.parametrize("seed", range(4))
def test_methods_never_crash(seed: int) -> None:
    draw = random.Random(seed)
    names = methods()
    survived = 0
    panics: list[str] = []
    for _ in range(COUNT // 4):
        name = draw.choice(names)
        subject = tensor(draw)
        arguments = [argument(draw) for _ in range(draw.randrange(4))]
        try:
            attribute = getattr(subject, name)
            if callable(attribute):
                attribute(*arguments)
            survived += 1
        except Exception as error:
            if "please report" in str(error):
                panics.append(f"{name}{tuple(arguments)!r} on {tuple(subject.shape)}: {error}")
    assert survived > 50
    assert not panics


@pytest.mark.parametrize("seed", range(4))
def test_functions_never_crash(seed: int) -> None:
    draw = random.Random(seed)
    names = [name for name in pyburn.ops.__dict__ if not name.startswith("_") and callable(getattr(pyburn.ops, name))]
    panics: list[str] = []
    for _ in range(COUNT // 4):
        name = draw.choice(names)
        arguments = [argument(draw) for _ in range(draw.randrange(4))]
        try:
            getattr(pyburn.ops, name)(*arguments)
        except Exception as error:
            if "please report" in str(error):
                panics.append(f"{name}{tuple(arguments)!r}: {error}")
    assert not panics


def attempt(draw: random.Random, functions: list[str]) -> str | None:
    """One random call; the text of a panic of the engine, if it was one."""
    arguments = [argument(draw) for _ in range(draw.randrange(4))]
    if draw.random() < 0.5:
        name, subject = draw.choice(methods()), tensor(draw)
        call = lambda: getattr(subject, name)  # noqa: E731
    else:
        name, subject = draw.choice(functions), None
        call = lambda: getattr(pyburn.ops, name)  # noqa: E731
    try:
        found = call()
        if callable(found):
            found(*arguments)
    except Exception as error:
        if "please report" in str(error):
            return f"{name}{tuple(arguments)!r} on {subject}: {error}"
    return None


def limited(seed: int, count: int) -> None:
    """Random calls with large sizes where the process may use only a few gigabytes; prints what went wrong."""
    import resource

    global HUGE
    HUGE = (*HUGE, *LARGE, *LARGE)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
    functions = [name for name in pyburn.ops.__dict__ if not name.startswith("_")]
    functions = [name for name in functions if callable(getattr(pyburn.ops, name))]
    draw = random.Random(seed)
    panics = [text for text in (attempt(draw, functions) for _ in range(count)) if text]
    print("\n".join(panics) or "survived")


def under_limit(seed: int, count: int) -> str:
    """What `limited` printed in a process of its own, which a crash would end."""
    here = os.path.dirname(__file__)
    code = f"import sys; sys.path.insert(0, {here!r}); import test_fuzz; test_fuzz.limited({seed}, {count})"
    environment = {**os.environ, "PYBURN_DEVICE": "cpu", "PYBURN_QUIET": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-2000:]}"


def test_large_sizes_within_a_memory_limit() -> None:
    assert under_limit(0, 3000) == "survived"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_large_sizes_within_a_memory_limit() -> None:
    for _ in range(10):
        seed = random.randrange(2**32)
        assert under_limit(seed, 5000) == "survived", f"seed {seed}"


@pytest.mark.parametrize("sizes", [(2**40, 2**40), (2**62,), (-1,), (2**33, 2**10)])
def test_absurd_sizes_are_refused(sizes: tuple[int, ...]) -> None:
    for make in (pyburn.zeros, pyburn.ones, pyburn.empty, pyburn.rand):
        with pytest.raises((RuntimeError, MemoryError, ValueError, TypeError, OverflowError)):
            make(sizes)


def test_an_expanded_giant_is_refused_not_built() -> None:
    giant = pyburn.ones(1).expand(2**45)
    for work in (lambda: giant + 1, lambda: giant.clone(), lambda: giant.contiguous(), lambda: giant.exp()):
        with pytest.raises((RuntimeError, MemoryError)):
            work()


@pytest.mark.parametrize("count", [2**40, 2**62])
def test_absurd_repeats_are_refused(count: int) -> None:
    with pytest.raises((MemoryError, RuntimeError, TypeError)):
        pyburn.ones(2).repeat_interleave(count)


@pytest.mark.parametrize("bins", [2**40, 2**62])
def test_absurd_bins_are_refused(bins: int) -> None:
    with pytest.raises(MemoryError):
        pyburn.ones(2).histc(bins)
