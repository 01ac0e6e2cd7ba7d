"""An input that a model takes, where nobody gave one: found from its first layer, by trying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyburn._core import int64
from pyburn.nn.conv import _ConvNd
from pyburn.nn.graph.trace import Edge, Node, trace
from pyburn.nn.linear import Linear
from pyburn.nn.module import Module
from pyburn.nn.normalization import LayerNorm
from pyburn.nn.parameter import UninitializedParameter
from pyburn.nn.rnn import RNNBase
from pyburn.nn.sparse import Embedding
from pyburn.nn.summary import arguments
from pyburn.ops import zeros

__all__ = ["trace_guessed"]

SIZES = (224, 32, 28, 64, 299, 16, 8)  # of images, the most usual ones first
LENGTH = 8  # of sequences


def trace_guessed(model: Module, depth: int | None) -> tuple[list[Node], list[Edge]]:
    """The nodes and edges of a model for the first input that it takes.

    Raises:
        ValueError: It takes none of those that its first layer suggests, or its lazy layers take any.
    """
    lazy = any(isinstance(weight, UninitializedParameter) for weight in model.parameters())
    for given in () if lazy else _inputs(model):
        try:
            return trace(model, given, {}, depth)
        except Exception:
            continue
    raise ValueError(
        f"plot: no input was given, and none was found that {type(model).__name__} takes; give a tensor, a tuple of "
        "arguments or a shape: plot(model, (1, 3, 224, 224))"
    )


def _inputs(model: Module) -> Iterator[tuple[Any, ...]]:
    """Arguments that the first layer with a known input would take."""
    for module in model.modules():
        shapes = list(_shapes(module))
        if isinstance(module, Embedding):
            yield (zeros(1, LENGTH, dtype=int64, device=module.weight.device),)
        for shape in shapes:
            yield arguments(model, shape)
        if shapes or isinstance(module, Embedding):
            return
    yield from (arguments(model, shape) for shape in ((1, LENGTH), (1, 3, SIZES[0], SIZES[0])))


def _shapes(module: Any) -> Iterator[tuple[int, ...]]:
    if isinstance(module, Linear):
        yield from ((1, module.in_features), (1, LENGTH, module.in_features))
    elif isinstance(module, RNNBase):
        yield from ((1, LENGTH, module.input_size),)
    elif isinstance(module, LayerNorm):
        yield from ((1, *module.normalized_shape), (1, LENGTH, *module.normalized_shape))
    elif isinstance(module, _ConvNd):
        dims = len(module.kernel_size)
        yield from ((1, module.in_channels, *[size] * dims) for size in SIZES if dims < 3 or size < 100)
    elif isinstance(getattr(module, "num_features", None), int):  # norms of channels
        yield from ((1, module.num_features), (1, module.num_features, LENGTH), (1, module.num_features, 32, 32))
