"""torch.fx.node: one step of a graph, and the values that may stand among its arguments."""

from __future__ import annotations

import inspect
import operator
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pyburn import _core
from pyburn._core import Tensor, device, dtype
from pyburn._formats import layout, memory_format
from pyburn._utils import _assert
from pyburn.fx._names import qualified_name as _get_qualified_name
from pyburn.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from pyburn.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "base_types", "has_side_effect", "map_aggregate", "map_arg"]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
BaseArgumentTypes: TypeAlias = str | int | float | bool | complex | dtype | Tensor | device | memory_format | layout
base_types = typing.get_args(BaseArgumentTypes)
F = TypeVar("F", bound=Callable[..., Any])

_legal_ops = dict.fromkeys(["call_function", "call_method", "get_attr", "call_module", "placeholder", "output", "root"])
_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem, _assert}


def has_side_effect(fn: F) -> F:
    """The function itself; from now on calls of it stay in graphs though nothing uses what they give.

    Example:
        >>> has_side_effect(print) is print
        True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """The argument with each value inside its tuples, lists, dicts and slices replaced by what `fn` makes of it.

    Example:
        >>> map_aggregate([1, {"a": (2, 3)}], lambda value: value * 10)
        [10, {'a': (20, 30)}]
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """The argument with each node in it replaced by what `fn` makes of the node."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def _type_repr(obj: object) -> str:
    """How a type is written in a graph."""
    if obj is Tensor:
        return f"{_core._library()}.Tensor"
    if isinstance(obj, type):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    return obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    if isinstance(arg, list | tuple):
        shown = [_format_arg(item) for index, item in enumerate(arg) if index < max_list_len]
        more = "" if len(arg) <= max_list_len else f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{', '.join(shown)}{more}]"
        return f"({', '.join(shown)}{',' if len(arg) == 1 else ''}{more})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One step of a `Graph`: an input, a value of the module, a call, or the output.

    Attributes:
        op: ``placeholder``, ``get_attr``, ``call_function``, ``call_method``, ``call_module`` or ``output``.
        name: The name of its value in the generated code.
        target: The function, or the name of the method, the attribute or the input.
        users: The nodes that have this one among their arguments.
        meta: What passes note about it.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            wanted = "Callable" if op == "call_function" else "str"
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a "
                f"{wanted} is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._update_args_kwargs(args, kwargs)

    def _update_args_kwargs(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def note(value: Argument) -> Argument:
            if isinstance(value, Node):
                inputs.setdefault(value)
                value.users.setdefault(self)
            return value

        self._args, self._kwargs = map_aggregate(args, note), map_aggregate(kwargs, note)
        self._input_nodes = inputs

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position; assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def next(self) -> Node:
        """The node after it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where the program made it, if the tracer noted that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._moved()

    def prepend(self, x: Node) -> None:
        """Nothing; `x` stands before this node from now on."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Nothing; `x` stands after this node from now on."""
        if x is not self._next:
            self._next.prepend(x)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Nothing; one argument by position is replaced."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Nothing; an argument by position is put in."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Nothing; one argument by name is replaced."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Nothing; one node among the arguments is replaced by another."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """The nodes that had this one among their arguments; they have `replace_with` from now on."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay though nothing uses its value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(self.graph.owning_module.get_submodule(str(self.target)), "_is_impure", False))
        return self.op == "call_function" and self.target in _side_effectful_functions

    def normalized_arguments(
        self,
        root: Any,
        arg_types: Any = None,
        kwarg_types: Any = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Its arguments by name where a signature is known; see `operator_schemas`."""
        from pyburn.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            only = normalize_to_only_use_kwargs
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, only)  # type: ignore[arg-type]
        if self.op == "call_module":
            return normalize_module(root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    @staticmethod
    def _pretty_print_target(target: object) -> str:
        if isinstance(target, str):
            return target
        name, module = getattr(target, "__name__", None), getattr(target, "__module__", None)
        if name is not None and module in ("builtins", "_operator"):
            return f"{'builtins' if module == 'builtins' else 'operator'}.{name}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node in one line."""
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        kind = f"{_type_repr(self.type)} " if self.type else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            return f"{start}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        start = f"{start}[target={self._pretty_print_target(self.target)}]"
        if self.op == "get_attr":
            return start
        return f"{start}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def __lt__(self, other: Node) -> bool:
        return self.graph._position(self) < other.graph._position(other)

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or other < self

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name


def _annotation_of(function: Callable[..., Any], name: str) -> Any:
    return inspect.get_annotations(inspect.unwrap(function)).get(name)
