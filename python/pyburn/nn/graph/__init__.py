"""`pyburn.plot(model, input)`: the graph of a model as a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pyburn._files import replacing
from pyburn.nn.graph import draw
from pyburn.nn.graph.guess import trace_guessed
from pyburn.nn.graph.trace import Edge, Node, trace
from pyburn.nn.module import Module
from pyburn.nn.summary import arguments, named_arguments

__all__ = ["Graph", "plot"]


@dataclass(frozen=True)
class Graph:
    """The nodes and edges of a model; a notebook shows it, `save` writes it, `svg()` is its text."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def svg(self) -> str:
        """The picture as SVG, for light and dark pages."""
        return draw.svg(self.nodes, self.edges)

    def png(self, scale: float = 2.0) -> bytes:
        """The picture as PNG, by the package Pillow."""
        return draw.png(self.nodes, self.edges, scale)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Nothing; the file at `path` holds the picture, as SVG or PNG by its ending."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending not in (".svg", ".png"):
            raise ValueError(f"plot: {os.fspath(path)!r} must end in .svg or .png")
        data = self.svg().encode() if ending == ".svg" else self.png()
        with replacing(path) as file:
            file.write(data)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Graph({len(self.nodes)} nodes, {len(self.edges)} edges)"


def plot(
    model: Module,
    input: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    depth: int | None = None,
    **kwargs: Any,
) -> Graph:
    """The graph of a model: layers and functions as boxes, tensors with their shapes as lines between them.

    Args:
        model: The model. It is run once, in eval mode and without gradients, and stays as it is.
        input: A tensor, a tuple or dictionary of the model's arguments, the shape of one float tensor, or a list of
            such shapes. Without it, a shape that the model takes is looked for, starting from its first layer.
        path: A file for the picture, `.svg` or `.png`.
        depth: Layers inside so many others are one box each: 1 shows the model's own parts; None shows all.
        kwargs: More arguments of the model.

    Example:
        >>> import pyburn
        >>> from pyburn import nn
        >>> graph = pyburn.plot(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), (1, 3))
        >>> [node.kind for node in graph.nodes]
        ['input', 'Linear', 'ReLU', 'Linear', 'output']
        >>> [edge.shape for edge in graph.edges]
        [(1, 3), (1, 8), (1, 8), (1, 2)]
    """
    if depth is not None and depth < 1:
        raise ValueError(f"plot: depth is {depth}, but at least the model's own parts must be shown; give 1 or more")
    if input is None and not kwargs:
        nodes, edges = trace_guessed(model, depth)
    else:
        input, kwargs = named_arguments(() if input is None else input, kwargs)
        nodes, edges = trace(model, arguments(model, input), kwargs, depth)
    graph = Graph(tuple(nodes), tuple(edges))
    if path is not None:
        graph.save(path)
    return graph
