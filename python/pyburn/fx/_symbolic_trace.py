"""torch.fx._symbolic_trace: a program's graph, found by running it once with stand-ins for its inputs."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import math
import threading
import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn._utils import _assert
from pyburn.fx._patching import (
    _autowrap_check,
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _new_patcher,
    _patch_tensor_methods,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    wrap,
)
from pyburn.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from pyburn.fx.graph_module import GraphModule
from pyburn.fx.node import Argument, base_types
from pyburn.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from pyburn.utils import _pytree as pytree

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "_Patcher",
    "_autowrap_check",
    "_create_wrapped_func",
    "_create_wrapped_method",
    "_find_proxy",
    "_new_patcher",
    "_wrapped_fns_to_patch",
    "_wrapped_methods_to_patch",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_orig_module_call: Callable[..., Any] = nn.Module.__call__
_orig_module_getattr: Callable[..., Any] = nn.Module.__getattr__
_proxyable_classes: dict[type, None] = {}
_state = threading.local()
_LEAVES = ("torch.nn", "pyburn.nn", "torch.ao.nn", "pyburn.ao.nn")


def is_fx_tracing() -> bool:
    """Whether a trace runs on this thread.

    Example:
        >>> is_fx_tracing()
        False
    """
    return bool(getattr(_state, "tracing", False))


def is_fx_symbolic_tracing() -> bool:
    """Whether a trace runs on this thread."""
    return is_fx_tracing()


class ProxyableClassMeta(type):
    """The class of classes whose construction from proxies is one step of a graph."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """Stands in `concrete_args` for an input that stays one."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """As `PH`, with attributes that the node gets."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _transfer_attrs(fr: object, to: object) -> None:
    for name, value in vars(fr).items():
        if not hasattr(to, name):
            setattr(to, name, value)


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _patch_function(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with all its arguments by position, also those behind ``*`` and ``**``."""
    flags = fn.__code__.co_flags & ~HAS_VARSTUFF
    code = fn.__code__.replace(co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
    return FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class Tracer(TracerBase):
    """Makes the graph of a module or a function.

    Args:
        autowrap_modules: Python modules whose functions are single steps.
        autowrap_functions: Functions that are single steps.
        param_shapes_constant: Whether shapes of parameters are known to the program while it is traced.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        members = chain.from_iterable(vars(module).items() for module in autowrap_modules)
        found = {id(value) for name, value in members if not name.startswith("_") and callable(value)}
        self._autowrap_function_ids = found | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.root: Any = None
        self.tensor_attrs: dict[Any, str] = {}

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name for an attribute that the root has not."""
        count = 0
        while hasattr(self.root, f"{prefix}{count}"):
            count += 1
        return f"{prefix}{count}"

    def create_arg(self, a: Any) -> Argument:
        """What stands in a node for an argument: parameters, buffers and modules become nodes that read them."""
        if isinstance(a, nn.Parameter):
            for name, value in self.root.named_parameters():
                if a is value:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor | nn.Module):
            members = self.root.named_buffers() if isinstance(a, Tensor) else self.root.named_modules()
            for name, value in members:
                if a is value:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if isinstance(a, Tensor | pytree.TreeSpec):
            name = self.tensor_attrs.get(a, "")
            if not name:
                name = self.get_fresh_qualname("_tensor_constant" if isinstance(a, Tensor) else "_tree_spec_constant")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a call of this module is one step: those of `nn` are, but for Sequential."""
        return type(m).__module__.startswith(_LEAVES) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """The dotted name of a module in the root."""
        paths = self.submodule_paths or {module: name for name, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a call of a module gives: a stand-in if it is one step, else what its `forward` gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            count = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{count}" if count > 0 else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = count + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem(last=True)
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """What a program gets that reads an attribute of a module: a stand-in for a parameter, or the value."""
        if isinstance(attr_val, nn.Parameter):
            found = self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            if found is not None:
                return found
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            if found is not None:
                return found
        return attr_val

    def _proxy_of(self, value: Any, members: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Proxy | None:
        name = next((name for name, member in members if member is value), None)
        if name is None:
            return None
        if name not in cache:
            extra: dict[str, Any] = {}
            if self.param_shapes_constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                extra["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
            cache[name] = self.create_proxy("get_attr", name, (), {}, **extra)
        return cache[name]

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function that is run, and the stand-ins with which it is."""
        plain: Any = inspect.unwrap(root_fn)
        code = plain.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        if is_module and total == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        signature = inspect.signature(plain)
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & HAS_VARSTUFF and total == 1:
            return root_fn, [*args, *self._numbered(concrete_args)]
        names = list(code.co_varnames[int(is_module) : total])
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args))
        rest = list(code.co_varnames[total:])
        starred = []
        if code.co_flags & inspect.CO_VARARGS:
            starred.append("*" + rest.pop(0))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            starred.append("**" + rest.pop(0))
        args += [self._proxy_placeholder(name, concrete_args, signature, plain) for name in (*names, *starred)]
        if code.co_kwonlyargcount > 0 or starred:
            root_fn = _patch_function(root_fn, len(args))  # type: ignore[arg-type]
        return self._flattened(root_fn, args, list(code.co_varnames[:total]))

    def _numbered(self, concrete_args: tuple[Any, ...]) -> list[Proxy]:
        made = []
        for index, value in enumerate(concrete_args):
            made.append(self.create_proxy("placeholder", f"input_{index}", (), {}))
            if isinstance(value, PHBase) and value is not PH:
                _transfer_attrs(value, made[-1].node)
        return made

    def _flattened(
        self, root_fn: Callable[..., Any], args: list[Any], names: list[str]
    ) -> tuple[Callable[..., Any], list[Any]]:
        flat, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))
        self.graph._codegen = codegen

        def flatten_fn(*values: Any) -> Any:
            leaves, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(values), in_spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return leaves

        return flatten_fn, flat

    def _proxy_placeholder(
        self, name: str, concrete_args: dict[str, Any] | None, sig: inspect.Signature, fn_for_analysis: Any
    ) -> Any:
        parameter = sig.parameters.get(name)
        given = parameter is not None and parameter.default is not inspect.Parameter.empty
        default = (parameter.default,) if given and parameter is not None else ()
        if concrete_args is None or name not in concrete_args:
            kind = getattr(fn_for_analysis, "__annotations__", {}).get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        count = 0

        def replace(value: Any) -> Any:
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            return self._specialized(name, value, made)

        return pytree.tree_map(replace, concrete_args[name])

    def _specialized(self, name: str, value: Any, made: Proxy) -> Any:
        if isinstance(value, PHBase):
            if value is not PH:
                _transfer_attrs(value, made.node)
            return made
        if type(value) is bool or (type(value) in base_types and not isinstance(value, Tensor)):
            told = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", _assert, (made == value, told), {})
        elif value is None:
            told = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (made, told), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                "the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=2,
            )
        return value

    def _collect_tensor_attrs(self, module: nn.Module, path: list[str]) -> None:
        for name, value in vars(module).items():
            if isinstance(value, Tensor | pytree.TreeSpec):
                self.tensor_attrs[value] = ".".join([*path, name])
        for name, child in module.named_children():
            self._collect_tensor_attrs(child, [*path, name])

    def trace(self, root: nn.Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of a module or a function.

        Args:
            root: The module or function.
            concrete_args: Values of inputs that are known, by name; the graph holds for these alone.

        Raises:
            TraceError: If what the program does depends on values.
        """
        before = is_fx_tracing()
        _state.tracing = True
        try:
            return self._trace(root, concrete_args)
        finally:
            _state.tracing = before

    def _trace(self, root: nn.Module | Callable[..., Any], concrete_args: Any) -> Graph:
        fn: Any = root
        is_module = isinstance(root, nn.Module)
        self.root = root if is_module else nn.Module()
        if isinstance(root, nn.Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        self._collect_tensor_attrs(self.root, [])
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        fn_globals = fn.__globals__
        run, args = self.create_args_for_root(fn, is_module, concrete_args)
        returned = inspect.get_annotations(inspect.unwrap(run)).get("return") if run is fn else None
        with _new_patcher() as patcher:
            self._patch_modules(patcher)
            _patch_tensor_methods(patcher)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(run(*args)),), {}, type_expr=returned)
        self.submodule_paths = None
        return self.graph

    def _patch_modules(self, patcher: _Patcher) -> None:
        cache: dict[str, Proxy] = {}
        plain_getattr, plain_call = nn.Module.__getattr__, nn.Module.__call__

        @functools.wraps(plain_getattr)
        def read(mod: nn.Module, attr: str) -> Any:
            return self.getattr(attr, _orig_module_getattr(mod, attr), cache)

        @functools.wraps(plain_call)
        def call(mod: nn.Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(mod, *args, **kwargs)

            found = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, found, self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        patcher.patch_method(nn.Module, "__getattr__", read, deduplicate=False)
        patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = Tracer.__new__(Tracer)
        for name, value in self.__dict__.items():
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


def symbolic_trace(root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The module that does what `root` does, with its graph.

    Args:
        root: A module or a function.
        concrete_args: Values of inputs that are known, by name.

    Example:
        >>> import pyburn
        >>> traced = symbolic_trace(lambda x: pyburn.relu(x) + 1)
        >>> [node.name for node in traced.graph.nodes]
        ['x', 'relu', 'add', 'output']
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
