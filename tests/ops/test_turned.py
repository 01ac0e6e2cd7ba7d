"""Copies and functions of tensors whose neighbours are not neighbours in the result: every order of dimensions."""

from itertools import permutations

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import from_torch, to_torch

SHAPES = [(16, 64), (33, 47), (3, 40, 50), (2, 3, 20, 31), (8, 130, 1, 9), (300, 301)]
DTYPES = ["float32", "float64", "int64", "int16", "uint8", "bfloat16", "complex64", "complex128", "bool"]


def drawn(shape, dtype="float32", seed=0):
    numbers = torch.from_numpy(np.random.default_rng(seed).integers(-99, 99, shape))
    return numbers.to(getattr(torch, dtype))


def strided(x):
    """The same tensor of pyburn's with the same strides."""
    whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    return from_torch(whole).as_strided(x.shape, x.stride(), x.storage_offset())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_copies(shape, dtype):
    x = drawn(shape, dtype)
    for order in permutations(range(len(shape))):
        for view in (x.permute(order), x[1:].permute(order), x[..., ::2].permute(order)):
            assert torch.equal(to_torch(strided(view).contiguous()), view.contiguous())


def test_copies_into_a_part():
    x, target = drawn((70, 90)), torch.zeros(100, 120)
    own = from_torch(target.clone())
    for z, source in ((target, x), (own, from_torch(x))):
        z[3:93, 5:75].copy_(source.t())
        z[:, 100:].copy_(source[:20, :].t()[:1].expand(100, 20))
    assert torch.equal(to_torch(own), target)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "atan2"])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) < 4])
def test_functions_of_two(name, shape):
    x, function = drawn(shape), getattr(torch, name)
    x.view(-1)[7], x.view(-1)[70] = np.nan, np.inf
    for order in permutations(range(len(shape))):
        turned = drawn(tuple(shape[dim] for dim in np.argsort(order)), seed=1).permute(order)
        assert turned.shape == x.shape
        pairs = [(x, turned), (turned, x), (turned, turned), (turned, x[..., :1]), (turned[..., 3:], x[..., 3:])]
        for a, b in pairs:
            own = getattr(pyburn, name)(*(strided(part) for part in (a, b)))
            torch.testing.assert_close(to_torch(own), function(a, b), rtol=2e-7, atol=0, equal_nan=True)


def test_functions_of_one():
    x = drawn((5, 70, 90)) / 30
    for order in permutations(range(3)):
        for name in ("tanh", "relu", "sigmoid"):
            found = getattr(strided(x.permute(order)), name)()
            torch.testing.assert_close(to_torch(found), getattr(x.permute(order), name)())


def test_what_is_written_to_while_it_is_read():
    x = drawn((64, 64))
    own = from_torch(x.clone())
    own.add_(own.t().clone())
    assert torch.equal(to_torch(own), x + x.t())


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_above_with_narrower_vectors(width):
    check_file(__file__, width)
