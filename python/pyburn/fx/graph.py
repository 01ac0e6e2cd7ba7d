"""torch.fx.graph: a program as a list of nodes."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyburn.fx._codegen import (
    CodeGen,
    PythonCode,
    TransformCodeFunc,
    _format_target,
    _PyTreeCodeGen,
    _PyTreeInfo,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from pyburn.fx._names import portable, unported
from pyburn.fx._namespace import _Namespace, _snake_case
from pyburn.fx.immutable_collections import immutable_dict
from pyburn.fx.node import Argument, Node, Target, _legal_ops, map_arg

if TYPE_CHECKING:
    from pyburn.nn import Module

__all__ = [
    "CodeGen",
    "Graph",
    "PythonCode",
    "_Namespace",
    "_PyTreeCodeGen",
    "_PyTreeInfo",
    "_format_target",
    "inplace_methods",
    "magic_methods",
    "reflectable_magic_methods",
]


class _InsertPoint:
    """Where new nodes go, until the context ends."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph in order; nodes may be put in and taken out on the way."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Any]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Any]:
        return iter(_node_list(self.graph, "_next" if self.direction == "_prev" else "_prev"))


class Graph:
    """A program as nodes, each of which may use those before it.

    Example:
        >>> import pyburn
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> result = graph.output(graph.call_function(pyburn.relu, (x,)))
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=pyburn.relu](args = (%x,), kwargs = {})
            return relu
    """

    def __init__(
        self,
        owning_module: Module | None = None,
        tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._positions: dict[Node, int] | None = None

    def _moved(self) -> None:
        self._positions = None

    def _position(self, node: Node) -> int:
        if self._positions is None:
            self._positions = {each: index for index, each in enumerate(self.nodes)}
        return self._positions.get(node, -1)

    @property
    def owning_module(self) -> Any:
        """The module that runs this graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The last node, which is the output."""
        last: Node = next(iter(reversed(self.nodes)))
        if last.op != "output":
            raise AssertionError(f"Expected output node, got op={last.op}")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, in order; with a target, those of that target."""
        if op == "call_function" and target is None:
            raise AssertionError("target must be given for call_function")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A new node: at the end, unless `inserting_before` or `inserting_after` says else."""
        args = args or ()
        kwargs = kwargs or immutable_dict()
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        if op == "root":
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        chosen = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, chosen, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(chosen, node)
        self._insert(node)
        self._moved()
        self._len += 1
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Nothing; the node is gone from the graph.

        Raises:
            RuntimeError: If other nodes use it, or it is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase._args, _nothing), map_arg(to_erase._kwargs, _nothing))

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes go before `n`, or to the start of the graph."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes go after `n`, or to the end of the graph."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """A node for an input."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """A node for a parameter, a buffer or a submodule of the module."""
        if self.owning_module is not None and not _has_member(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A node that calls a submodule."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """A node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """The node that ends the graph."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """A copy of a node of another graph; `arg_transform` gives this graph's node for each of its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        if not isinstance(args, tuple):
            raise AssertionError(f"Expected args to be tuple, got {type(args)}")
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Any, Any], return_output_node: bool = False) -> Any:
        """What stands at the output of `g`; its other nodes are copied to this graph, and `val_map` is filled."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        found = made.graph_copy(self, {} if memo is None else memo, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            value, old = found
            made.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    def __reduce__(self) -> Any:
        order = {node: index for index, node in enumerate(self.nodes)}
        steps = []
        for node in order:
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: _Step(order[n]))
            steps.append((node.op, node.name, portable(node.target), args, kwargs, node.type))
        tracer = self._tracer_cls
        kept = tracer if tracer is not None and "<locals>" not in tracer.__qualname__ else None
        return _rebuild, (steps, self._codegen, kept)

    def _target_to_str(self, target: Target | None) -> str:
        if callable(target):
            return _snake_case(getattr(target, "__name__", type(target).__name__))
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        is_magic = target.startswith("__") and target.endswith("__")
        return _snake_case(target[2:-2] if is_magic else target)

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What a call gives for the values of the output."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, **looks: Any) -> PythonCode:
        """The code of the graph; `root_module` is what it calls the module."""
        namespace = _Namespace()
        before = {node: node._repr_fn for node in self.nodes}
        for node in before:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, **looks)
        finally:
            for node, shown in before.items():
                node._repr_fn = shown

    def set_codegen(self, codegen: CodeGen) -> None:
        """Nothing; the code is written by `codegen` from now on."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]) -> Any:
        """A context; from now on, and until it ends where it is entered, the lines of the code pass a function."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until()

    def print_tabular(self) -> None:
        """Nothing; prints the nodes as a table."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            print("`print_tabular` needs the library `tabulate`; install it with `pip install tabulate`.")
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def lint(self) -> None:
        """Nothing; checks that the nodes stand in order and that the module has what they name.

        Raises:
            RuntimeError: If something does not fit.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                self._check_arg(arg, node, seen)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._check_target(node)

    def _check_arg(self, arg: Node, node: Node, seen: set[Node]) -> None:
        if arg.graph is not self:
            raise RuntimeError(
                f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap "
                f"values\n{self}"
            )
        if arg not in seen:
            raise RuntimeError(
                f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes in "
                f"the graph are topologically ordered\n{self}"
            )

    def _check_target(self, node: Node) -> None:
        if not (callable(node.target) if node.op == "call_function" else isinstance(node.target, str)):
            raise ValueError(f"Node {node} target {node.target} has the wrong type {type(node.target).__name__}")
        if node.op not in ("get_attr", "call_module"):
            return
        found, parts = self.owning_module, str(node.target).split(".")
        for index, part in enumerate(parts):
            found = getattr(found, part, None)
            place = ".".join(parts[:index])
            if found is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of {place}"
                )
            if node.op == "call_module" and not hasattr(found, "named_modules"):
                raise RuntimeError(
                    f"Node {node} target {node.target} {part} of {place} does not reference an nn.Module"
                )

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Whether nodes were taken out: those whose value nothing uses and that have no effect."""
        self.lint()
        changed = False
        for node in list(reversed(self.nodes)):
            stays = is_impure_node(node) if is_impure_node is not None else node.is_impure()
            if not stays and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def _clear_nodes(self) -> None:
        for node in list(reversed(self.nodes)):
            node.meta.clear()
            self.erase_node(node)

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(text for node in self.nodes if (text := node.format_node()))])


class _Step(NamedTuple):
    """Stands for a node in a pickled graph."""

    place: int


def _restored(arg: Any, nodes: list[Node]) -> Any:
    if isinstance(arg, _Step):
        return nodes[arg.place]
    if isinstance(arg, tuple):
        items = [_restored(item, nodes) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    if isinstance(arg, list):
        return [_restored(item, nodes) for item in arg]
    if isinstance(arg, dict):
        return {key: _restored(value, nodes) for key, value in arg.items()}
    if isinstance(arg, slice):
        return slice(_restored(arg.start, nodes), _restored(arg.stop, nodes), _restored(arg.step, nodes))
    return arg


def _rebuild(steps: list[Any], codegen: CodeGen, tracer_cls: Any) -> Graph:
    """The graph that was pickled, made of its nodes."""
    graph = Graph(tracer_cls=tracer_cls)
    graph._codegen = codegen
    nodes: list[Node] = []
    for op, name, target, args, kwargs, kind in steps:
        given = _restored(args, nodes), _restored(kwargs, nodes)
        nodes.append(graph.create_node(op, unported(target), *given, name=name, type_expr=kind))
    return graph


def _nothing(_node: Node) -> None:
    return None


def _has_member(module: Any, path: str) -> bool:
    """Whether a module has a parameter, a buffer or a submodule of this dotted name."""
    above, _, name = path.rpartition(".")
    try:
        holder = module.get_submodule(above)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {above}!", stacklevel=3)
        return False
    return any(name in getattr(holder, kind) for kind in ("_parameters", "_buffers", "_modules"))
