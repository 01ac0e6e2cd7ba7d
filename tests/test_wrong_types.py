"""Public functions and constructors called with what they are not for: an ordinary exception or a result, at once."""

from __future__ import annotations

import inspect
import math
import operator
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyburn
import pytest
import torch
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


NAMESPACES = ("", "linalg", "fft", "nn.functional")
# What they are given they hand on, or make a tensor of; numpy's arrays have their own `diagonal`.
LENIENT = {"diagonal", "diagonal_copy", "get_device"}
# Layers call it in every step.
LENIENT |= {"dropout"}
LENIENT |= {"alpha_dropout", "conj", "conj_physical", "feature_alpha_dropout", "i0", "imag", "positive", "real"}
LENIENT |= {"is_conj", "is_neg", "resolve_conj", "resolve_neg", "round", "squeeze", "to_dlpack"}
# They change what the other tests see.
SETTINGS = ("_", "autocast", "init", "manual_seed", "seed", "set_", "use_")


def _raised(function: Any, *arguments: Any) -> Exception | None:
    try:
        function(*arguments)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda name: name or "torch")
@pytest.mark.parametrize("given", [5, [1, 2], np.ones(3), None, "a"], ids=lambda given: type(given).__name__)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_tensor_is_a_type_error(namespace: str, given: Any) -> None:
    theirs, ours = (operator.attrgetter(namespace)(lib) if namespace else lib for lib in (torch, pyburn))
    compared, different = 0, []
    for name in sorted(set(dir(theirs)) & set(dir(ours)) - LENIENT):
        function = getattr(theirs, name)
        if name.startswith(SETTINGS) or inspect.isclass(function) or not callable(function):
            continue
        if "(position 1) must be Tensor" in str(_raised(function, given)):
            compared += 1
            error = _raised(getattr(ours, name), given)
            if not isinstance(error, TypeError):
                different.append((name, error))
    assert compared > 10
    assert not different


NOT_TENSORS: list[tuple[str, tuple[Any, ...]]] = [
    ("exp", (5,)),
    ("arccos_", ([1.0],)),
    ("sqrt", (np.float64(2.0),)),
    ("sum", ([1, 2],)),
    ("softmax", (np.ones(3), 0)),
    ("argmax", (None,)),
    ("isnan", (5.0,)),
    ("relu", ("a",)),
    ("mv", (np.ones((2, 2)), torch.ones(2, 2))),
    ("linalg.det", ([[1.0]],)),
    ("fft.fft", ([1.0],)),
    ("nn.functional.gelu", (5,)),
    ("nn.functional.relu", (np.ones(3),)),
]


@pytest.mark.parametrize(("name", "given"), NOT_TENSORS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_tensor_is_named(name: str, given: tuple[Any, ...]) -> None:
    find = operator.attrgetter(name)
    with pytest.raises(TypeError, match="must be Tensor, not") as theirs:
        find(torch)(*given)
    ours = [pyburn.ones(2, 2) if isinstance(value, torch.Tensor) else value for value in given]
    with pytest.raises(TypeError) as caught:
        find(pyburn)(*ours)
    said, wanted = str(caught.value), str(theirs.value)
    assert said == wanted


def test_an_error_that_is_no_arguments_stays_what_it_is() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'dim'"):
        pyburn.atleast_1d([5])


def test_functions_can_be_pickled() -> None:
    names = "sum exp relu absolute softmax linalg.det linalg.norm fft.fft nn.functional.relu nn.functional.gelu"
    for name in names.split():
        function = operator.attrgetter(name)(pyburn)
        assert pickle.loads(pickle.dumps(function)) is function
