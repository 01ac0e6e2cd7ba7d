"""Public functions and constructors called with what they are not for: an ordinary exception or a result, at once."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Iterator
from typing import Any

import pyburn
import pytest
from pyburn import distributions, nn, sparse

CALLS = 12
BAD: list[Any] = [None, -1, 0, 1.5, 2**62, 2**63, -(2**63), math.nan, math.inf, "x", b"x", [], [1, 2], (), (1, -1), {}]
BAD += [object(), True, range(3), pyburn.float32, pyburn.Size([2]), nn.Linear(1, 1), lambda x: x]
BAD += [pyburn.tensor(values) for values in ([1.0, 2.0], [], 1.0, [1], [-1.0, math.nan], [[1.0, 2.0]], [True], [1j])]
# Slow with their defaults, and right.
HEAVY = {"Transformer"}


def functions(module: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(set(module.__all__) - HEAVY):
        function = getattr(module, name)
        if callable(function):
            yield name, function


def counts(function: Any) -> list[int]:
    """How many arguments there must and may be."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [1, 2]
    places = [one for one in given if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = sum(one.default is one.empty for one in places)
    return [needed, min(needed + 1, len(places)), min(needed + 2, len(places))]


@pytest.mark.parametrize("module", [distributions, distributions.transforms, sparse, nn], ids=lambda m: m.__name__)
@pytest.mark.filterwarnings("ignore")
def test_nothing_but_an_exception(module: Any) -> None:
    ordinary = 0
    for name, function in functions(module):
        rng = random.Random(name)
        for _ in range(CALLS):
            arguments = [rng.choice(BAD) for _ in range(rng.choice(counts(function)))]
            try:
                function(*arguments)
            except Exception as error:
                assert "the engine failed" not in str(error), f"{name}{arguments}: {error}"
                ordinary += 1
    assert ordinary > CALLS


def test_a_layer_is_needed_before_it_is_copied() -> None:
    with pytest.raises(TypeError, match="not a Module"):
        nn.TransformerEncoder(True, 2**40)  # type: ignore[arg-type]
