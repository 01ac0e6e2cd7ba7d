"""torch.fx.subgraph_rewriter: parts of a graph replaced by others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyburn import nn
from pyburn.fx._symbolic_trace import symbolic_trace
from pyburn.fx.graph import Graph
from pyburn.fx.graph_module import GraphModule, _assign_attr, _get_attr
from pyburn.fx.node import Node, map_arg
from pyburn.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place that was replaced."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place that was replaced, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """The places of a module's graph that looked like `pattern`; they do what `replacement` does from now on.

    Args:
        gm: The module.
        pattern: A function or a module; what it does is looked for.
        replacement: A function or a module with the same inputs and outputs.

    Example:
        >>> import pyburn
        >>> traced = symbolic_trace(lambda x, y: pyburn.relu(x + y) * 2)
        >>> matches = replace_pattern(traced, lambda a, b: pyburn.relu(a + b), lambda a, b: a - b)
        >>> len(matches), [node.name for node in traced.graph.nodes]
        (1, ['x', 'y', 'sub', 'mul', 'output'])
    """
    return [Match(found.anchor, found.nodes_map) for found in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for the places that all filters let pass.

    Args:
        gm: The module.
        pattern: What is looked for.
        replacement: What stands there instead.
        match_filters: Functions of the match, the graph and the pattern.
        ignore_literals: Whether numbers and strings may differ.
        replacement_callback: Makes the graph that stands there instead, for each place.
        node_name_match: Nodes with this in their name fit any step.
    """
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    graph, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    matches = matcher.match(graph, node_name_match=node_name_match)
    matches = [match for match in matches if all(keep(match, graph, wanted) for keep in match_filters or ())]
    common = None if replacement is None else _graph_of(replacement)
    changed: dict[Node, Node] = {}
    results = []
    for match in matches:
        other = replacement_callback(match, graph, wanted) if replacement_callback is not None else common
        if other is not None:
            results.append(_replace(graph, wanted, match, other, changed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _adopt(gm, replacement)
    return results


def _replace(
    graph: Graph, wanted: Graph, match: InternalMatch, other: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in other.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    values: dict[Any, Any] = {}
    own = [node for node in wanted.nodes if node.op == "placeholder"]
    for index, (node, given) in enumerate(zip(inputs, match.placeholder_nodes)):
        # A place before this one may have replaced what it takes.
        values[node] = map_arg(given, lambda each: changed.get(each, each))
        match.placeholder_nodes[index] = match.nodes_map[own[index]] = values[node]
    with graph.inserting_before(_first_after(graph, match)):
        given_back = graph.graph_copy(other, values)
    results = (given_back,) if isinstance(given_back, Node) else tuple(given_back)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    taken = {id(node) for node in match.placeholder_nodes}
    made = [node for node in values.values() if isinstance(node, Node) and id(node) not in taken]
    for old, new in zip(match.returning_nodes, results):
        old.replace_all_uses_with(new)
        changed[old] = new
    for node in reversed(wanted.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _first_after(graph: Graph, match: InternalMatch) -> Node:
    """The first node that uses what a match gives, or that follows it."""
    users = {user for node in match.returning_nodes for user in node.users}
    for node in graph.nodes:
        if node in users:
            return node  # type: ignore[no-any-return]
    return max(match.returning_nodes).next


def _adopt(gm: GraphModule, replacement: nn.Module) -> None:
    """Gives the module what new nodes name and only the replacement has."""
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        try:
            _get_attr(gm, node.target)
        except AttributeError:
            value = copy.deepcopy(_get_attr(replacement, node.target))
            if isinstance(value, nn.Module):
                gm.add_submodule(node.target, value)
            else:
                _assign_attr(value, gm, node.target)
    gm.graph.lint()
