"""Writes to memory that is read at the same time: refused where torch refuses, and the same numbers elsewhere."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
import torch

# Programs of a library `lib` and a 4 by 4 matrix `x` of 0 to 15.
PROGRAMS = """
    x += x.T
    x += x
    x.add_(x.T, alpha=2)
    x += x[0]
    x.add_(x[0, 0])
    x[1:] += x[:-1]
    x[:2] += x[2:]
    x[0] += x[:, 0]
    x[1:] = x[:-1]
    x[1:] = x[0]
    x[0] = x[1]
    x.copy_(x.T)
    x.copy_(x)
    x.T.copy_(x.T)
    x.unsqueeze(0).add_(x)
    x.view(16)[0:8:2].add_(x.view(16)[1:9:2])
    x.lerp_(x.T, 0.5)
    x.addcmul_(x, x.T)
    x.clamp_(x.T)
    x.atan2_(x.T + 1)
    x.mul_(x > 2)
    x.masked_fill_((x > 3).T, 1.0)
    x.masked_scatter_(x > 3, x.T)
    x.index_add_(0, lib.tensor([0, 1]), x[:2])
    x.index_copy_(0, lib.tensor([2, 3]), x[:2].clone())
    x.index_copy_(0, lib.tensor([2, 3]), x[:2])
    x[0].scatter_(0, lib.tensor([0]), x[0])
    x[0].scatter_(0, lib.tensor([0]), x[1])
    x[0].scatter_add_(0, lib.tensor([0, 1]), x[0, :2])
    x[0].put_(lib.tensor([0]), x[0, :1])
    x[lib.tensor([0, 1])] = x[1:3]
    x[lib.tensor([0, 1])] += x[1:3]
    x[x > 3] = x[0, 0]
    x[x > 100] = x[0, :0]
    lib.add(x[:2], x[2:], out=x[:2])
    lib.add(x[:2], x[2:], out=x[1:3])
    lib.add(x[:2], x[2:], out=x[2:])
    lib.sin(x, out=x)
    lib.sin(x, out=x.T)
    lib.sin(x[:2], out=x[1:3])
    lib.where(x > 3, x, x.T, out=x)
    lib.clamp(x[:2], 0, 1, out=x[1:3])
    lib.mul(x[:2], 2, out=x[1:3])
    lib.eq(x[:2], x[2:], out=x[1:3])
    lib.mm(x, x, out=x.clone())
    lib.cumsum(x, 0, out=x)
    lib.stack([x[0], x[1], x[2], x[3]], out=x)
    lib.stack([x[0], x[1]], out=x[2:])
    lib.max(x, 0, keepdim=True, out=(x[:1], lib.zeros(1, 4, dtype=lib.int64)))
    lib.min(x[1:], 0, keepdim=True, out=(x[:1], lib.zeros(1, 4, dtype=lib.int64)))
    lib.sort(x[:2], 0, out=(x[1:3], lib.zeros(2, 4, dtype=lib.int64)))
    lib.sort(x, 1, True, out=(x, lib.zeros(4, 4, dtype=lib.int64)))
    lib.topk(x[:2], 4, 1, out=(x[1:3], lib.zeros(2, 4, dtype=lib.int64)))
    lib.cumsum(x[:2], 0, out=x[1:3])
    lib.logcumsumexp(x[:2], 0, out=x[1:3])
    lib.scatter(x, 0, lib.tensor([[0]]), x[:1, :1], out=x)
    lib.scatter(x, 0, lib.tensor([[0]]), lib.ones(1, 1), out=x)
    lib.scatter_add(x, 0, lib.tensor([[0]]), x, out=x)
    lib.index_add(x, 0, lib.tensor([0, 1, 2, 3]), x, out=x)
    lib.index_copy(x, 0, lib.tensor([3, 2, 1, 0]), x, out=x)
    lib.take_along_dim(x, lib.tensor([[0, 0, 0, 0]] * 4), 0, out=x)
    lib.outer(x[0], x[1], out=x)
    lib.cross(x[:3], x[1:], dim=0, out=x[:3])
    x.view(lib.int32)[:2].add_(x.view(lib.int32)[1:3])
"""


def run(lib: Any, program: str) -> Any:
    x = lib.arange(16.0).view(4, 4)
    try:
        exec(program, {"lib": lib, "x": x})
    except RuntimeError as error:
        assert "refer to a single memory location" in str(error), error
        return None
    return x.tolist()


@pytest.mark.parametrize("program", [line.strip() for line in PROGRAMS.strip().splitlines()])
def test_programs(program: str) -> None:
    found, expected = run(pyburn, program), run(torch, program)
    assert (found is None) == (expected is None)
    if expected is not None:
        last_digit = 2e-7 if "lib.sin" in program or "atan2" in program else 0.0
        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=last_digit, atol=0, equal_nan=True)


def test_a_product_is_read_before_it_is_written() -> None:
    # Where MKL has a kernel of its own for such a size, torch reads what it has written.
    x = pyburn.arange(16.0).reshape(4, 4)
    expected = (x + x @ x).tolist()
    assert x.addmm_(x, x).tolist() == expected


def test_the_graph_does_not_change_the_rule() -> None:
    x = pyburn.arange(4.0, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] += x[:-1]
    x[2:] += x[:2]
    assert x.tolist() == [0.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_a_value_for_nothing_must_fit(lib: Any) -> None:
    x = lib.ones(3)
    for value in (lib.ones(0, 3), lib.ones(1, 3), lib.ones(3), 2.0):
        x[(False,)] = value
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[(False,)] = lib.ones(2)
    assert x.tolist() == [1.0, 1.0, 1.0]
