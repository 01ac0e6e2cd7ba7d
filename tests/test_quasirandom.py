"""Sobol's sequences: torch's numbers, scrambled or not."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
import torch

from oracle import to_torch


def same(found: Any, expected: torch.Tensor) -> None:
    assert torch.equal(to_torch(found), expected)


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 40])
def test_points(dimension: int, scramble: bool) -> None:
    engines = [lib.quasirandom.SobolEngine(dimension, scramble, seed=5) for lib in (pyburn, torch)]
    for call in (
        lambda engine: engine.draw(1),
        lambda engine: engine.draw(),
        lambda engine: engine.draw(6),
        lambda engine: engine.draw_base2(3),
        lambda engine: engine.fast_forward(100).draw(3, dtype=engine_dtype(engine)),
        lambda engine: engine.reset().draw(9),
        lambda engine: engine.reset().fast_forward(4).draw(2),
    ):
        same(*(call(engine) for engine in engines))
    assert repr(engines[0]) == repr(engines[1])
    assert engines[0].num_generated == engines[1].num_generated


def engine_dtype(engine: Any) -> Any:
    return (pyburn if isinstance(engine, pyburn.quasirandom.SobolEngine) else torch).float64


def test_every_direction() -> None:
    most = pyburn.quasirandom.SobolEngine.MAXDIM
    engines = [lib.quasirandom.SobolEngine(most) for lib in (pyburn, torch)]
    same(engines[0].sobolstate, engines[1].sobolstate)
    same(*(engine.draw(5) for engine in engines))


def test_the_default_generator_scrambles() -> None:
    found = []
    for lib in (pyburn, torch):
        lib.manual_seed(3)
        found.append(lib.quasirandom.SobolEngine(3, scramble=True).draw(4))
    same(*found)


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_refusals(lib: Any) -> None:
    engine = lib.quasirandom.SobolEngine
    for wrong in (0, 30000):
        with pytest.raises(ValueError, match="Supported range of dimensionality"):
            engine(wrong)
    begun = engine(1)
    begun.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        begun.draw_base2(1)
    out = lib.empty(0)
    assert engine(2).draw(2, out=out) is out and out.tolist() == [[0.0, 0.0], [0.5, 0.5]]
