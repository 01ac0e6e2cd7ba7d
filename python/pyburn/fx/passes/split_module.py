"""torch.fx.passes.split_module: a graph taken apart into submodules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pyburn import nn
from pyburn.fx.graph import Graph
from pyburn.fx.graph_module import GraphModule, _get_attr
from pyburn.fx.node import Node, map_arg
from pyburn.fx.proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """One of the parts."""

    def __init__(self, name: str) -> None:
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


class _Splitter:
    """What is known while one graph is taken apart."""

    def __init__(self, module: GraphModule, split_callback: Callable[[Node], int], affix: str | None) -> None:
        self.module = module
        self.nodes: list[Node] = list(module.graph.nodes)
        self.parts: dict[str, Partition] = {}
        self.part_of: dict[Node, str] = {}
        for node in self.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            number = str(split_callback(node))
            name = number if affix is None else f"{affix}_{number}"
            self.parts.setdefault(name, Partition(name)).node_names.append(node.name)
            self.part_of[node] = name

    def find_uses(self) -> None:
        """Notes which values go from one part to another."""
        for user in self.nodes:
            if user.op in ("placeholder", "get_attr"):
                continue
            used = self.part_of.get(user)
            for node in user._input_nodes:
                made = self.part_of.get(node)
                if made == used:
                    continue
                if made is not None:
                    self.parts[made].outputs.setdefault(node.name)
                if used is not None:
                    self.parts[used].inputs.setdefault(node.name)
                if made is not None and used is not None:
                    self.parts[made].dependents.setdefault(used)
                    self.parts[used].dependencies.setdefault(made)

    def order(self) -> list[str]:
        """The parts, each behind those it needs."""
        waiting = {name: dict(part.dependencies) for name, part in self.parts.items()}
        ready = [name for name, needs in waiting.items() if not needs]
        done = []
        while ready:
            name = ready.pop()
            done.append(name)
            for dependent in self.parts[name].dependents:
                waiting[dependent].pop(name)
                if not waiting[dependent]:
                    ready.append(dependent)
        if len(done) != len(self.parts):
            raise RuntimeError("cycle exists between partitions!")
        return done

    def fill(self, names: list[str], qualnames: dict[str, str] | None, keep_names: bool, keep_inputs: bool) -> None:
        """Writes the graphs of the parts."""
        by_name = {node.name: node for node in self.nodes}
        for part in (self.parts[name] for name in names):
            self._add_inputs(part, by_name, keep_inputs)
        for node in self.nodes:
            if node not in self.part_of:
                continue
            part = self.parts[self.part_of[node]]
            target = node.target
            if node.op == "call_module":
                target = str(node.target).replace(".", "_")
                part.targets[target] = _get_attr(self.module, str(node.target))
                if qualnames is not None:
                    qualnames[f"{part.submod_name}.{target}"] = str(node.target)
            found = part.environment
            args, kwargs = (map_arg(given, lambda n: found[n]) for given in (node.args, node.kwargs))  # noqa: B023
            name = node.name if keep_names else None
            found[node] = part.graph.create_node(node.op, target, args, kwargs, name, node.type)
            found[node].meta = node.meta.copy()

    def _add_inputs(self, part: Partition, by_name: dict[str, Node], keep_inputs: bool) -> None:
        modules = [name for name in part.inputs if self._is_module(by_name[name])]
        values = [name for name in part.inputs if name not in modules]
        for index, name in enumerate([*values, *modules]):
            node = by_name[name]
            if name in modules:
                made = part.graph.get_attr(str(node.target))
                part.targets[str(node.target)] = _get_attr(self.module, str(node.target))
            else:
                made = part.graph.placeholder(name if keep_inputs else f"arg_{index}", type_expr=node.type)
            made.meta = node.meta.copy()
            part.environment[node] = made
        part.inputs = dict.fromkeys(values)

    def _is_module(self, node: Node) -> bool:
        return node.op == "get_attr" and isinstance(_get_attr(self.module, str(node.target)), nn.Module)

    def finish_parts(self, tuple_return: bool) -> None:
        """Writes what the parts give."""
        by_name = {node.name: node for node in self.nodes}
        for part in self.parts.values():
            given = tuple(part.environment[by_name[name]] for name in part.outputs)
            if given:
                part.graph.output(given[0] if len(given) == 1 and not tuple_return else given)
            else:
                part.graph.output(())


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """The module that does the same in submodules, one for each number that `split_callback` gives to nodes.

    Args:
        m: The module.
        root_m: The module that it was made of.
        split_callback: Gives each node the number of its part.
        qualname_map: Gets the path that each submodule had before, by its new path.
        keep_original_order: Whether parts stay in the order in which the graph first names them.
        keep_original_node_name: Whether nodes keep their names.
        keep_original_input_name: Whether the inputs of parts are named after the values they take.
        partition_affix: Stands before the number in the names of parts.
        tuple_return: Whether parts with one output give a tuple too.

    Raises:
        RuntimeError: If two parts need each other.
    """
    splitter = _Splitter(m, split_callback, partition_affix)
    splitter.find_uses()
    order = splitter.order()
    splitter.fill(order, qualname_map, bool(keep_original_node_name), keep_original_input_name)
    splitter.finish_parts(tuple_return)
    graph, members = Graph(), dict[str, Any]()
    known: dict[str, Node] = {}
    for node in splitter.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            target = node.name if keep_original_node_name else str(node.target)
            known[node.name] = graph.placeholder(target, type_expr=node.type, default_value=default)
        elif node.op == "get_attr":
            known[node.name] = graph.get_attr(str(node.target))
            members[str(node.target)] = _get_attr(m, str(node.target))
        if node.name in known:
            known[node.name].meta = node.meta.copy()
    for part in (splitter.parts[name] for name in (list(splitter.parts) if keep_original_order else order)):
        members[part.submod_name] = GraphModule(part.targets, part.graph)
        made = graph.call_module(part.submod_name, tuple(known[name] for name in part.inputs))
        if len(part.outputs) > 1 or tuple_return:
            stand_in: Any = Proxy(made)
            known.update({name: stand_in[index].node for index, name in enumerate(part.outputs)})
        elif part.outputs:
            known[next(iter(part.outputs))] = made
    graph.output(map_arg(m.graph.output_node().args[0], lambda n: known[n.name]))
    result = GraphModule(members, graph)
    result.meta["partition_names"] = {part.submod_name for part in splitter.parts.values()}
    return result
