"""torch.fx.experimental.optimization: models that compute the same with fewer layers."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from pyburn import nn
from pyburn.fx._symbolic_trace import symbolic_trace
from pyburn.fx.graph import Graph
from pyburn.fx.graph_module import GraphModule
from pyburn.fx.interpreter import Transformer
from pyburn.fx.node import Argument, Node, Target
from pyburn.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_PATTERNS: list[tuple[type, type]] = [
    (nn.Conv1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.BatchNorm3d),
    (nn.Linear, nn.BatchNorm1d),
]


def _parent_name(target: str) -> tuple[str, str]:
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node calls a module of the second class on what one of the first class gives."""
    if not node.args:
        return False
    for kind, each in zip(pattern, (node.args[0], node)):
        if not isinstance(each, Node) or each.op != "call_module" or type(modules.get(str(each.target))) is not kind:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Nothing; the node calls `new_module` from now on."""
    parent, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """The model with each batch norm behind a convolution or a linear layer taken into that layer, for inference.

    Args:
        model: The model, in evaluation mode.
        inplace: Whether the model's own layers may change.
        no_trace: Whether a `GraphModule` is taken as it is.

    Example:
        >>> layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).eval()
        >>> [str(node.target) for node in fuse(layers).graph.nodes]
        ['input', '0', '2', 'output']
    """
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _PATTERNS:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before = node.args[0]
            norm = modules[node.target]
            if len(before.users) > 1 or not norm.track_running_stats:
                continue
            join: Any = fuse_linear_bn_eval if pattern[0] is nn.Linear else fuse_conv_bn_eval
            replace_node_module(before, modules, join(modules[before.target], norm))
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    return GraphModule(traced, graph)


class _DropoutRemover(Transformer):
    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What goes into a dropout, or what another module gives."""
        if isinstance(self.submodules[str(target)], nn.Dropout):
            return args[0]
        return super().call_module(target, args, kwargs)


def remove_dropout(model: nn.Module) -> GraphModule:
    """The model without its dropout layers."""
    return _DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """The module that does what some nodes of another do."""
    graph = Graph()
    made: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        made[node] = graph.node_copy(node, lambda each: made[each])
    graph.output([made[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
