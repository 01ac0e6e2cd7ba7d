"""Every element type turned into every other, in rows of odd lengths and in strided ones."""

from __future__ import annotations

import pyburn
import pytest
import torch

from oracle import from_torch, to_torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
VALUES = [0.0, -0.0, 1.0, 0.4, -0.6, 2.5, 7.0, 99.5, 1e-8, 0.1, 127.0, 3.0, 65504.0, 1e4, 12.0, 1.0000001]
LENGTHS = [1, 7, 255, 256, 257, 1000, 70_000]


def row(dtype: str, length: int) -> torch.Tensor:
    """Values that both types hold: what becomes of others is the machine's affair."""
    values = torch.tensor(VALUES, dtype=torch.float64).repeat(length // len(VALUES) + 1)[:length]
    if dtype in ("bool", "uint8", "int8"):
        values = values.clamp(0, 127)
    elif dtype == "int16":
        values = values.clamp(-32768, 32767)
    return values.to(getattr(torch, dtype))


def narrowed(values: torch.Tensor, to: str) -> torch.Tensor:
    limits = {"uint8": (0, 127), "int8": (-127, 127), "int16": (-32768, 32767)}.get(to)
    return values if limits is None or values.dtype == torch.bool else values.clamp(*limits)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs(dtype, to):
    for length in LENGTHS:
        values = narrowed(row(dtype, length), to)
        theirs = values.to(getattr(torch, to))
        assert torch.equal(to_torch(from_torch(values).to(getattr(pyburn, to))), theirs), length
        strided = to_torch(from_torch(values)[::3].to(getattr(pyburn, to)))
        assert torch.equal(strided, theirs[::3]), length


def test_large_integers_are_rounded_once():
    """float64 cannot hold these: a step through it would round twice."""
    values = torch.tensor([2**60 + 2**36 + 1, 2**53 + 1, 2**24 + 1, -(2**61) - 2**37 - 1] * 5)
    assert torch.equal(to_torch(from_torch(values).float()), values.float())


def test_doubles_are_rounded_as_torch_does():
    """By way of float32, which decides these ties."""
    values = torch.tensor([1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, 1e-45, 65519.99999999], dtype=torch.float64)
    for to in ("float16", "bfloat16"):
        ours = to_torch(from_torch(values).to(getattr(pyburn, to)))
        assert torch.allclose(ours.double(), values.to(getattr(torch, to)).double(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("to", DTYPES)
def test_what_does_not_fit(to):
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e9, -3e9, 1e20, 70000.0, 300.0, -300.0]).repeat(
        7
    )
    theirs = values.to(getattr(torch, to)).double()
    assert torch.allclose(to_torch(from_torch(values).to(getattr(pyburn, to))).double(), theirs, equal_nan=True)
    assert torch.allclose(
        to_torch(from_torch(values)[::2].to(getattr(pyburn, to))).double(), theirs[::2], equal_nan=True
    )
