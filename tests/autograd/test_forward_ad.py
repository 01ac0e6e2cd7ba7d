"""Forward-mode differentiation: dual tensors give torch's tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch

# torch loads a deprecated part of itself with the first level.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script`:FutureWarning")

PROGRAMS = """
    x * y + x.sin()
    (x @ y.t()).softmax(-1)
    lib.nn.functional.layer_norm(x, (3,), y[0], y[1])
    lib.nn.functional.mse_loss(x, y)
    lib.nn.functional.cross_entropy(x, lib.tensor([0, 2]))
    lib.linalg.inv(x @ x.t() + lib.eye(2, dtype=lib.float64)).sum()
    x.cumsum(0).relu().norm()
    x[:, 1:].exp().clone().mul_(2)
    lib.where(x > 0, x, y).pow(3)
    lib.cat([x, y]).max(0).values
    y.detach() * 2
    lib.ones(2, dtype=lib.float64)
"""


def tangents(lib: Any, program: str, both: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    x, y, along, beside = (lib.tensor(rng.normal(size=(2, 3)).tolist(), dtype=lib.float64) for _ in range(4))
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(x, along)
        y = forward.make_dual(y, beside) if both else y
        primal, tangent = forward.unpack_dual(eval(program, {"lib": lib, "x": x, "y": y}))
    return [primal.requires_grad, *(None if part is None else part.tolist() for part in (primal, tangent))]


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("program", [line.strip() for line in PROGRAMS.strip().splitlines()])
def test_tangents(program: str, both: bool) -> None:
    found, expected = (tangents(lib, program, both) for lib in (pyburn, torch))
    assert found[0] == expected[0] and (found[2] is None) == (expected[2] is None)
    for mine, theirs in zip(found[1:], expected[1:], strict=True):
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_gradients_of_tangents(lib: Any) -> None:
    """Reverse over forward: the Hessian of x**3 + w * x**2 times a vector, and the parameter's gradient of it."""
    forward = lib.autograd.forward_ad
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    w = lib.tensor(3.0, requires_grad=True)
    with forward.dual_level():
        dual = forward.make_dual(x, lib.tensor([1.0, 10.0]))
        primal, tangent = forward.unpack_dual((dual**3 + w * dual**2).sum())
        tangent.backward()
    assert primal.requires_grad
    assert x.grad.tolist() == [12.0, 180.0]
    assert w.grad.tolist() == 42.0


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_a_module_of_dual_inputs(lib: Any) -> None:
    layer = lib.nn.Linear(2, 1, bias=False)
    with lib.no_grad():
        layer.weight.fill_(2.0)
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        out = layer(forward.make_dual(lib.ones(1, 2), lib.tensor([[1.0, 3.0]])))
        found = forward.unpack_dual(out)
    assert found.tangent.tolist() == [[8.0]] and found.primal.requires_grad


@pytest.mark.parametrize("lib", [pyburn, torch])
def test_levels(lib: Any) -> None:
    forward = lib.autograd.forward_ad
    with pytest.raises(RuntimeError, match="no level exists"):
        forward.make_dual(lib.ones(1), lib.ones(1))
    with forward.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            forward.enter_dual_level()
        with pytest.raises(RuntimeError, match="different size"):
            forward.make_dual(lib.ones(1), lib.ones(2))
        with pytest.raises(ValueError, match="floating point or complex"):
            forward.make_dual(lib.ones(1, dtype=lib.int64), lib.ones(1, dtype=lib.int64))
        dual = forward.make_dual(lib.ones(1), lib.ones(1))
    assert forward.unpack_dual(dual).tangent is None
    with pytest.raises(RuntimeError, match=r"AD level|positive number"):
        forward.exit_dual_level()
