"""Models and helpers that run the same source on torch and on pyburn."""

from __future__ import annotations

import importlib
import operator

import numpy as np
import pyburn
import torch


def fx_of(t):
    """The library's torch.fx."""
    return importlib.import_module(f"{t.__name__}.fx")


def as_torch(text: object) -> str:
    """What is written about pyburn, with torch's name."""
    return str(text).replace("pyburn", "torch")


def steps(graph) -> list[tuple[str, ...]]:
    """The nodes of a graph, so that those of two libraries can be compared."""
    found = []
    for node in graph.nodes:
        target = node.target if isinstance(node.target, str) else node._pretty_print_target(node.target)
        given = (node.args, dict(node.kwargs))
        found.append((node.op, node.name, as_torch(target), as_torch(given), sorted(map(str, node.users))))
    return found


def numbers(value: object) -> object:
    """A tree of tensors as nested lists of numbers."""
    if isinstance(value, torch.Tensor | pyburn.Tensor):
        return np.asarray(value.detach().tolist())
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [numbers(each) for each in value]
    return value


def same(ours: object, theirs: object) -> None:
    """Both trees have the same shape and numbers."""
    ours, theirs = numbers(ours), numbers(theirs)
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            same(mine, other)
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
    else:
        assert ours == theirs


def drawn(t, *shape: int, seed: int = 0):
    """The same numbers in both libraries."""
    return t.tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def pair(make):
    """A module of each library, made by `make(t)`, with the same weights."""
    torch.manual_seed(0)
    theirs, ours = make(torch), make(pyburn)
    ours.load_state_dict({name: pyburn.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    return ours, theirs


def residual(t):
    """A small ResNet: submodules, in-place activations, a shortcut with layers of its own, flatten."""

    class Block(t.nn.Module):
        def __init__(self, inside, outside, stride):
            super().__init__()
            self.conv1 = t.nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.bn1 = t.nn.BatchNorm2d(outside)
            self.conv2 = t.nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.bn2 = t.nn.BatchNorm2d(outside)
            self.relu = t.nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1:
                self.downsample = t.nn.Sequential(t.nn.Conv2d(inside, outside, 1, stride), t.nn.BatchNorm2d(outside))

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    class Residual(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = t.nn.Sequential(t.nn.Conv2d(3, 4, 3), t.nn.ReLU())
            self.layer1 = t.nn.Sequential(Block(4, 4, 1), Block(4, 8, 2))
            self.pool = t.nn.AdaptiveAvgPool2d(1)
            self.fc = t.nn.Linear(8, 5)

        def forward(self, x: t.Tensor) -> t.Tensor:
            x = self.layer1(self.stem(x))
            x = t.flatten(self.pool(x), 1)
            return self.fc(x)

    return Residual()


def transformer(t):
    """A transformer block of plain functions: sizes, views, parameters, buffers, einsum, attention."""
    functional = t.nn.functional

    class Attend(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = t.nn.LayerNorm(8)
            self.qkv = t.nn.Linear(8, 24)
            self.scale = t.nn.Parameter(t.full((8,), 0.5))
            self.register_buffer("mask", t.tril(t.ones(4, 4)))
            self.rate = 0.0

        def forward(self, x, heads: int = 2):
            B, T, C = x.size()
            q, k, v = self.qkv(self.norm(x)).split(8, dim=2)
            q = q.view(B, T, 2, C // 2).transpose(1, 2)
            k = k.view(B, T, 2, C // 2).transpose(1, 2)
            v = v.view(B, T, 2, C // 2).transpose(1, 2)
            weights = (q @ k.transpose(-2, -1)) * 4**-0.5
            weights = weights.masked_fill(self.mask[:4, :4] == 0, float("-inf"))
            weights = functional.dropout(functional.softmax(weights, dim=-1), self.rate, self.training)
            mixed = t.einsum("bhts,bhsd->bhtd", weights, v).transpose(1, 2).contiguous().view(B, T, C)
            return x + self.scale * functional.gelu(mixed, approximate="tanh")

    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = t.nn.Embedding(11, 8)
            self.blocks = t.nn.ModuleList([Attend(), Attend()])
            self.head = t.nn.Linear(8, 3)

        def forward(self, index):
            x = self.embed(index)
            for block in self.blocks:
                x = block(x)
            return functional.log_softmax(self.head(x.mean(1)), dim=1)

    return Model()


def keywords(t):
    """Arguments by name, defaults, constants, several outputs."""

    class Keywords(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = t.nn.Linear(3, 3)
            self.constant = t.ones(3)
            self.param = t.nn.Parameter(t.arange(3.0))

        def forward(self, x, y=None, *, scale=2.0):
            z = self.lin(input=x) * scale + self.constant
            w = t.clamp(z, min=0.0, max=1.0) - self.param
            return {"sum": w.sum(dim=-1, keepdim=True), "both": (z, [self.constant + z, operator.neg(z)])}

    return Keywords()
