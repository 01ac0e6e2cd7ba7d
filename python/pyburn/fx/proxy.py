"""torch.fx.proxy: stand-ins for values, which write what is done with them into a graph."""

from __future__ import annotations

import copy
import dis
import enum
import inspect
import operator
import traceback
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any, NoReturn

from pyburn.fx import _names
from pyburn.fx._codegen import magic_methods, reflectable_magic_methods
from pyburn.fx.graph import Graph
from pyburn.fx.node import Argument, Node, Target, base_types, map_aggregate, map_arg
from pyburn.overrides import is_tensor_method_or_property

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What a program did that depends on values, which a trace has not."""


class Scope:
    """The module whose `forward` runs."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which another module's `forward` runs."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._prev_scope = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *_error: object) -> None:
        self._scope.module_path, self._scope.module_type = self._prev_scope.module_path, self._prev_scope.module_type


class TracerBase:
    """Writes nodes for what is done with proxies."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A new node of the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = traceback.extract_stack()
            start = next((index for index, frame in enumerate(frames) if frame.name == "forward"), len(frames))
            kept = [frame for frame in frames[start:] if "/pyburn/" not in frame.filename]
            if kept:
                node.stack_trace = "".join(traceback.StackSummary.from_list(kept).format()).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for what a node gives."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """The stand-in for what a new node gives."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def _find_user_frame(self) -> FrameType | None:
        frame = inspect.currentframe()
        while frame is not None and "/pyburn/" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame

    def create_arg(self, a: Any) -> Argument:
        """What stands in a node for an argument of the program.

        Raises:
            NotImplementedError: If nothing can stand for it.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice | range):
            kind: Any = type(a)
            return kind(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            given = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), given)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_key(self, key: Any) -> Any:
        def refuse(node: Node) -> NoReturn:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")

        if not isinstance(key, str):
            key = self.create_arg(key)
            map_arg(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Nothing; raises where a program asks whether a value is true."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Nothing; raises where a program runs through a value."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. Loop over range(n) with a number that is known and index the value, or mark "
            "the function that has the loop with torch.fx.wrap"
        )

    def keys(self, obj: Proxy) -> Any:
        """What stands for ``obj.keys()``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends to a graph, outside of any trace."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x: object) -> None:
    """Nothing; raises unless `x` is true."""
    if not x:
        raise AssertionError("Assertion failed")


def _instruction(frame: FrameType) -> tuple[list[dis.Instruction], int]:
    """The instructions of a frame, and which of them runs."""
    instructions = list(dis.get_instructions(frame.f_code))
    return instructions, bisect_left(instructions, frame.f_lasti, key=lambda each: each.offset)


class Proxy:
    """A stand-in for a value: operators, functions and methods that it meets become nodes.

    Example:
        >>> graph = Graph()
        >>> x = Proxy(graph.placeholder("x"))
        >>> x.sum() + 1
        Proxy(add)
    """

    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = Proxy.__new__(type(self))
        made.__dict__.update({key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The stand-in for what a call of the value gives."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        instructions, index = _instruction(_caller_of(inspect.currentframe()))
        if instructions[index].opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(instructions[index].argval))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(_caller_of(inspect.currentframe())):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What stands for the keys, as ``**x`` asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        """The stand-in for what a function or a method of tensors gives."""
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(value: Any) -> None:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None

        map_aggregate((args, kwargs), note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        # Some methods of tensors are the functions themselves.
        if not _names.is_function(orig_method) and is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        method = _names.method_of(orig_method)
        if method is not None:
            return tracer.create_proxy("call_method", method, args, kwargs)
        args, kwargs = _names.spelled(orig_method, args, kwargs)
        name = tracer.graph._target_to_str(_names.node_name(orig_method))
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _caller_of(frame: FrameType | None) -> FrameType:
    if frame is None or frame.f_back is None:
        raise AssertionError("a proxy was asked outside of Python code")
    return frame.f_back


def _is_asserted(frame: FrameType) -> bool:
    """Whether the value that is asked for its truth stands in an `assert`."""
    instructions, index = _instruction(frame)
    jump, after = instructions[index], instructions[index + 1]
    starts = after.opname == "LOAD_ASSERTION_ERROR" or after.argval == "AssertionError"
    return jump.opname.startswith("POP_JUMP") and "IF_TRUE" in jump.opname and starts


class Attribute(Proxy):
    """A stand-in for an attribute of a value: a node once it is used, or a method's once it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """The stand-in for what a call of the method gives."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A stand-in for a parameter whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self, *dim: int) -> Any:
        """The parameter's size."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """The parameter's number of dimensions."""
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        """The parameter's number of dimensions."""
        return int(self.param.ndim)

    def numel(self) -> int:
        """The parameter's number of elements."""
        return int(self.param.numel())

    nelement = numel


def _operator(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name)

    def apply(self: Proxy, *args: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    apply.__name__ = apply.__qualname__ = f"__{name.strip('_')}__"
    return apply


def _reflected(name: str) -> Callable[[Proxy, Any], Proxy]:
    target = getattr(operator, name)

    def apply(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    apply.__name__ = apply.__qualname__ = f"__r{name.strip('_')}__"
    return apply


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
