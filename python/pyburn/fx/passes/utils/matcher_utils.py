"""torch.fx.passes.utils.matcher_utils: places in a graph that look like another graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyburn._core import Tensor
from pyburn.fx.graph import Graph
from pyburn.fx.graph_module import _get_attr
from pyburn.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: which node stands for which node of the pattern."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def steps(self) -> list[Node]:
        """The nodes that compute something."""
        return [node for pattern, node in self.nodes_map.items() if pattern.op not in ("placeholder", "output")]


class SubgraphMatcher:
    """Finds the places of a graph that look like `pattern`; its inputs may be anything.

    Args:
        pattern: The graph to look for.
        match_output: Whether its output must be the output of the graph.
        match_placeholder: Whether its inputs must be inputs of the graph.
        remove_overlapping_matches: Whether no node may be in two places.
        ignore_literals: Whether numbers and strings may differ.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with a pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        end = pattern.output_node()
        self.pattern_returning_nodes = end.all_input_nodes
        own = [node for node in end.all_input_nodes if len(node.users) == 1]
        self.pattern_anchors = [end] if match_output else own

    def _alike(self, pattern: Node, node: Node, name: str) -> bool:
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if name and name in node.name:
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            values = [_get_attr(each.graph.owning_module, str(each.target)) for each in (pattern, node)]
            return type(values[0]) is type(values[1]) and isinstance(values[0], Tensor)
        return pattern.target == node.target

    def _match_value(self, pattern: Any, value: Any, found: dict[Node, Any]) -> bool:
        if isinstance(pattern, Node) and isinstance(value, Node):
            return self._match_node(pattern, value, found)
        if isinstance(pattern, list | tuple) and isinstance(value, list | tuple):
            pairs = zip(pattern, value)
            return len(pattern) == len(value) and all(self._match_value(*pair, found) for pair in pairs)
        if isinstance(pattern, Node):
            fits = pattern.op == "placeholder" and found.setdefault(pattern, value) == value
        else:
            fits = type(pattern) is type(value) and pattern == value
        return fits or self.ignore_literals

    def _match_node(self, pattern: Node, node: Node, found: dict[Node, Any], name: str = "") -> bool:
        if pattern in found:
            return found[pattern] is node
        if any(node is other for other in found.values()) or not self._alike(pattern, node, name):
            return False
        found[pattern] = node
        if pattern.op == "placeholder":
            return True
        if list(pattern.kwargs) != list(node.kwargs):
            return False
        given, seen = [*pattern.args, *pattern.kwargs.values()], [*node.args, *node.kwargs.values()]
        return self._match_value(given, seen, found)

    def _search(self, candidates: list[tuple[Node, list[Node]]], found: dict[Node, Any], name: str) -> list[Any]:
        if not candidates:
            return [found]
        (anchor, nodes), *rest = candidates
        results = []
        for node in nodes:
            trial = dict(found)
            if self._match_node(anchor, node, trial, name):
                results += self._search(rest, trial, name)
        return results

    def _is_contained(self, match: InternalMatch) -> bool:
        """Whether nothing outside uses what is inside, but for what the pattern gives."""
        inside = {node for pattern, node in match.nodes_map.items() if pattern.op != "placeholder"}
        inner = inside.difference(match.returning_nodes)
        return all(user in inside for node in inner for user in node.users)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places of `graph` that look like the pattern, in the order of the graph."""
        candidates = []
        for anchor in self.pattern_anchors:
            nodes = [node for node in graph.nodes if self._alike(anchor, node, node_name_match)]
            if nodes:
                candidates.append((anchor, nodes))
        matches = []
        for found in self._search(candidates, {}, node_name_match) if candidates else []:
            if any(node not in found for node in (*self.pattern_placeholder_nodes, *self.pattern_returning_nodes)):
                continue
            match = InternalMatch(self.pattern_anchors, found)
            match.placeholder_nodes = [found[node] for node in self.pattern_placeholder_nodes]
            match.returning_nodes = [found[node] for node in self.pattern_returning_nodes]
            if self._is_contained(match) and not _comes_back(match.steps()):
                matches.append(match)
        return _apart(matches) if self.remove_overlapping_matches else matches


def _comes_back(inside: list[Node]) -> bool:
    """Whether a value leaves these nodes and comes back to them through others."""
    own = set(inside)
    todo = [user for node in inside for user in node.users if user not in own]
    seen = set(todo)
    while todo:
        for user in todo.pop().users:
            if user in own:
                return True
            if user not in seen:
                seen.add(user)
                todo.append(user)
    return False


def _apart(matches: list[InternalMatch]) -> list[InternalMatch]:
    """The matches that share no node with one before them."""
    kept: list[InternalMatch] = []
    used: set[Node] = set()
    for match in matches:
        if used.isdisjoint(match.steps()):
            kept.append(match)
            used.update(match.steps())
    return kept
