"""The names that torchvision gives to what a model computes, found by tracing it."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pyburn import nn
from pyburn.fx import Graph, Interpreter, Node, Tracer
from pyburn.vision.models._blocks import MLP, Conv2dNormActivation, Permute, SqueezeExcitation, StochasticDepth

_WHOLE = (MLP, Conv2dNormActivation, Permute, SqueezeExcitation, StochasticDepth)


class Paths(Tracer):
    """A tracer that knows in which layer each node was made, and how often that name was used before."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.names = "", list[str]()
        self.nodes = list[Node]()
        self.used: dict[str, int] = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether nothing inside is of interest: as in torchvision, also blocks that several architectures share."""
        return isinstance(m, _WHOLE) or super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """What the layer gives; a node if it is a leaf."""
        before = self.inside
        self.inside = self.path_of_module(m)
        try:
            if not self.is_leaf_module(m, self.inside):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", self.inside, args, kwargs)
        finally:
            self.inside = before

    def create_proxy(self, kind: str, *args: Any, **kwargs: Any) -> Any:
        """A proxy whose node has a name here."""
        proxy: Any = super().create_proxy(kind, *args, **kwargs)
        own = re.sub(r"_\d+$", "", str(proxy.node))
        name = self.inside if kind == "call_module" else f"{self.inside}.{own}" if self.inside else own
        name = re.sub(r"_\d+$", "", name)
        count = self.used[name] = self.used.get(name, -1) + 1
        self.names.append(f"{name}_{count}" if count else name)
        self.nodes.append(proxy.node)
        return proxy


def features_graph(model: nn.Module, wanted: dict[str, str], concrete_args: dict[str, Any] | None) -> Graph:
    """The part of a model's graph that makes what is wanted, with a dictionary of it as its output.

    Args:
        model: The model, in the mode that is wanted.
        wanted: The names of layers and functions, each with its name in the dictionary. A layer that has others in it
            stands for the last that is computed in it.
        concrete_args: Arguments of the model that are fixed.

    Raises:
        ValueError: The model computes nothing of such a name.
    """
    tracer = Paths()
    graph = tracer.trace(model, concrete_args)
    found = {}
    for name, new in wanted.items():
        parts = name.split(".")
        places = [i for i, known in enumerate(tracer.names) if known.split(".")[: len(parts)] == parts]
        if not places:
            raise ValueError(
                f"create_feature_extractor: the model has no layer {name!r} and computes nothing of that name; see "
                "get_graph_node_names(model)"
            )
        found[new] = tracer.nodes[places[-1]]
    graph.erase_node(graph.output_node())
    graph.output(found)
    graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    return graph


def run_graph(model: nn.Module, graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a graph of this model gives."""
    bound = inspect.signature(model.forward).bind(*args, **kwargs)
    return Interpreter(model, graph=graph).run(*bound.args)
