"""Results lie in memory as torch's do: the operands' order of dimensions is kept (`preserve_format`)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch

OPS = {
    "add": lambda lib, a, b: a + b,
    "scalar": lambda lib, a, b: a * 2,
    "compare": lambda lib, a, b: a > b,
    "where": lambda lib, a, b: lib.where(a > 0, a, b),
    "exp": lambda lib, a, b: a.exp(),
    "relu": lambda lib, a, b: lib.relu(a),
    "clone": lambda lib, a, b: a.clone(),
    "contiguous": lambda lib, a, b: a.contiguous(),
    "zeros_like": lambda lib, a, b: lib.zeros_like(a),
    "empty_like": lambda lib, a, b: lib.empty_like(a),
    "randn_like": lambda lib, a, b: lib.randn_like(a),
    "float": lambda lib, a, b: a.float(),
    "to": lambda lib, a, b: a.to(lib.int64),
    "neg": lambda lib, a, b: -a,
    "pow": lambda lib, a, b: a**2,
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "clamp": lambda lib, a, b: a.clamp(0, 1),
    "addcmul": lambda lib, a, b: lib.addcmul(a, b, b),
    "sigmoid": lambda lib, a, b: a.sigmoid(),
    "masked_fill": lambda lib, a, b: a.masked_fill(a > 0, 1.0),
    "flip": lambda lib, a, b: a.flip(0),
    "flip_all": lambda lib, a, b: a.flip(tuple(range(a.dim()))),
    "sort": lambda lib, a, b: a.sort(0)[0],
    "argsort": lambda lib, a, b: a.argsort(-1),
    "topk": lambda lib, a, b: a.topk(1, 0)[0],
    "lerp": lambda lib, a, b: lib.lerp(a, b, 0.25),
    "lerp_far": lambda lib, a, b: lib.lerp(a, b, 0.75),
    "logsigmoid": lambda lib, a, b: lib.nn.functional.logsigmoid(a),
    "repeat_interleave": lambda lib, a, b: a.repeat_interleave(2, 0),
    "layer_norm": lambda lib, a, b: lib.nn.functional.layer_norm(a, a.shape[-1:]),
}  # fmt: skip


def arranged(draw: random.Random, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor of this shape in some memory order, perhaps with gaps or repeats."""
    kind = draw.choice(("plain", "permuted", "permuted", "gaps", "expanded"))
    values = torch.tensor(np.random.default_rng(draw.randrange(99)).standard_normal(shape))
    axes = draw.sample(range(len(shape)), len(shape))
    if kind == "permuted":
        return values.permute(axes).contiguous().permute([axes.index(dim) for dim in range(len(shape))])
    if kind == "gaps":
        wide = torch.zeros(*shape[:-1], 2 * shape[-1], dtype=torch.float64)[..., ::2]
        wide.copy_(values)
        return wide
    if kind == "expanded":
        return values[:1].expand(shape)
    return values


def as_ours(tensor: torch.Tensor) -> Any:
    """The same values at the same strides."""
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return from_torch(storage).as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


@pytest.mark.parametrize("name", OPS)
def test_strides_are_torchs(name: str) -> None:
    draw = random.Random(name)
    for _ in range(40):
        shape = tuple(draw.choice((1, 2, 3)) for _ in range(draw.choice((1, 2, 3, 4))))
        other = tuple(draw.choice((size, size, size, 1)) for size in shape)[draw.choice((0, 0, 0, 1)) :]
        a, b = arranged(draw, shape), arranged(draw, other or (1,))
        expected, found = OPS[name](torch, a, b), OPS[name](pyburn, as_ours(a), as_ours(b))
        text = f"{a.stride()} {tuple(a.shape)}, {b.stride()} {tuple(b.shape)}"
        assert tuple(found.shape) == tuple(expected.shape)
        # What a dimension of size 1 says of its stride has no meaning.
        steps = [[s for s, n in zip(x.stride(), expected.shape, strict=True) if n > 1] for x in (expected, found)]
        assert steps[0] == steps[1], f"{text}: {found.stride()}, torch {expected.stride()}"


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_gradients_lie_as_their_leaves(shape: tuple[int, ...]) -> None:
    grads = []
    for lib in (torch, pyburn):
        x = lib.ones(shape, dtype=lib.float64).transpose(0, 1).requires_grad_()
        (x * 2).sum().backward()
        first = x.grad.stride()
        (x.contiguous() * 2).sum().backward()
        gaps = lib.ones(4, 6, dtype=lib.float64)[:, ::2].requires_grad_()
        (gaps * 2).sum().backward()
        grads.append((tuple(first), tuple(x.grad.stride()), tuple(gaps.grad.stride())))
    assert grads[0] == grads[1]


def test_joining_keeps_channels_last() -> None:
    for lib in (torch, pyburn):
        x = lib.ones(2, 3, 4, 5).contiguous(memory_format=lib.channels_last)
        joined = [lib.cat([x, x], 1), lib.cat([x, lib.ones(2, 3, 4, 5)], 1)]
        assert [y.stride() for y in joined] == [(120, 1, 30, 6), (120, 20, 5, 1)], lib


CHANNELS_LAST = {
    "conv2d": lambda nn, x, w: nn.conv2d(x, w, padding=1),
    "conv2d_weight": lambda nn, x, w: nn.conv2d(x.contiguous(), w.to(memory_format=x_format(w))),
    "conv_transpose2d": lambda nn, x, w: nn.conv_transpose2d(x, w.transpose(0, 1)),
    "max_pool2d": lambda nn, x, w: nn.max_pool2d(x, 2),
    "places": lambda nn, x, w: nn.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda nn, x, w: nn.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda nn, x, w: nn.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool2d": lambda nn, x, w: nn.adaptive_max_pool2d(x, 2),
    "batch_norm": lambda nn, x, w: nn.batch_norm(x, None, None, training=True),
    "group_norm": lambda nn, x, w: nn.group_norm(x, 2),
    "nearest": lambda nn, x, w: nn.interpolate(x, scale_factor=2),
    "bilinear": lambda nn, x, w: nn.interpolate(x, scale_factor=2, mode="bilinear"),
    "pad": lambda nn, x, w: nn.pad(x, (1, 1, 1, 1)),
    "dropout": lambda nn, x, w: nn.dropout(x),
    "unshuffle": lambda nn, x, w: nn.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda nn, x, w: nn.channel_shuffle(x, 2),
    "unpool": lambda nn, x, w: nn.max_unpool2d(*nn.max_pool2d(x, 2, return_indices=True), 2),
    "attention": lambda nn, x, w: nn.scaled_dot_product_attention(*[x.contiguous().transpose(1, 2)] * 3),
    "attention_of_columns": lambda nn, x, w: nn.scaled_dot_product_attention(x, x, x),
}


def x_format(tensor: Any) -> Any:
    return (torch if isinstance(tensor, torch.Tensor) else pyburn).channels_last


@pytest.mark.parametrize("name", CHANNELS_LAST)
def test_channels_last_stays(name: str) -> None:
    results = []
    for lib in (torch, pyburn):
        lib.manual_seed(0)
        x, w = lib.randn(2, 4, 6, 6).to(memory_format=lib.channels_last), lib.randn(5, 4, 3, 3)
        results.append(CHANNELS_LAST[name](lib.nn.functional, x, w))
    theirs, ours = results
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_modules_and_what_fills_them_follow_the_memory_format() -> None:
    weights = []
    for lib in (torch, pyburn):
        lib.manual_seed(0)
        net = lib.nn.Sequential(lib.nn.Conv2d(2, 3, 2), lib.nn.Linear(3, 3)).to(memory_format=lib.channels_last)
        lib.nn.init.kaiming_normal_(net[0].weight)
        weights.append(net[0].weight.detach())
    assert weights[1].stride() == weights[0].stride() == (8, 1, 4, 2)
    np.testing.assert_allclose(weights[1].numpy(), weights[0].numpy(), rtol=1e-6)


def test_complex_numbers_lie_as_their_parts() -> None:
    for lib in (torch, pyburn):
        part = lib.ones(4, 3).t()
        assert lib.complex(part, part).stride() == lib.polar(part, part).stride() == (1, 3)
