"""torch.fx.graph_module: a module whose `forward` is written from a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from pyburn import nn
from pyburn._core import Tensor
from pyburn.fx.graph import Graph, PythonCode, _PyTreeCodeGen
from pyburn.fx.node import Node

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_counter = itertools.count()
# What belongs to hooks of a graph, and survives copies.
_KEPT: tuple[str, ...] = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_replace_hooks", "_create_node_hooks")
_KEPT += ("_erase_node_hooks", "_deepcopy_hooks")


class _Source:
    """Gives tracebacks the lines of generated code."""

    def __init__(self, src: str) -> None:
        self.src = src

    def get_source(self, name: str) -> str:
        return self.src


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: Any = None) -> Callable[..., Any]:
    """The function that code written from a graph defines; no code from elsewhere comes here."""
    key = f"<eval_with_key>.{next(_counter)}"
    found: dict[str, Any] = {**globals, "__name__": key, "__loader__": _Source(src)}
    exec(compile(src, key, "exec"), found)
    made: Callable[..., Any] = found.pop("forward")
    return made


class _CodeOnlyModule(nn.Module):
    """A module that is nothing but attributes."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: nn.Module, to_module: nn.Module, target: str) -> None:
    """Nothing; the second module has what the first has at this path."""
    *prefix, field = target.split(".")
    source: Any = from_module
    for item in prefix:
        source, below = getattr(source, item), getattr(to_module, item, None)
        if source is below:
            return
        if below is None:
            below = nn.Module()
            setattr(to_module, item, below)
        to_module = below
    value = getattr(source, field)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        to_module.register_buffer(field, value, persistent=field not in source._non_persistent_buffers_set)
    else:
        setattr(to_module, field, value)


def _assign_attr(from_obj: object, to_module: nn.Module, target: str) -> None:
    """Nothing; the module has this value at this path."""
    *prefix, field = target.split(".")
    for item in prefix:
        below = getattr(to_module, item, None)
        if below is None:
            below = nn.Module()
            setattr(to_module, item, below)
        to_module = below
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, nn.Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def _get_attr(model: nn.Module, attr_name: str) -> Any:
    found: Any = model
    for part in attr_name.split("."):
        found = getattr(found, part)
    return found


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(("    " + line) for line in rest)])


class GraphModule(nn.Module):
    """A module that runs a graph; each has a class of its own, whose `forward` is the graph's code.

    Args:
        root: The module, or the dict by path, that has the parameters, buffers and submodules that the graph names.
        graph: The graph.
        class_name: The name of the module's class.

    Example:
        >>> import pyburn
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> end = graph.output(graph.call_method("neg", (x,)))
        >>> module = GraphModule({}, graph)
        >>> module(pyburn.ones(2))
        tensor([-1., -1.])
        >>> print(module.code.strip())
        def forward(self, x):
            neg = x.neg();  x = None
            return neg
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """An instance of a new subclass."""
        base: Any = next(kind for kind in cls.__mro__ if not kind.__qualname__.endswith("GraphModuleImpl"))

        class GraphModuleImpl(base):  # type: ignore[misc]
            pass

        made: GraphModule = super().__new__(GraphModuleImpl)
        return made

    def __init__(self, root: nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        named = [node for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            self.training = getattr(root, "training", True)
            if isinstance(root, _CodeOnlyModule):
                kinds = (root.named_children(), root.named_buffers(), root.named_parameters())
                for name, _ in itertools.chain(*(list(kind) for kind in kinds)):
                    _copy_attr(root, self, name)
            for node in named:
                _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            for node in named:
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            for target in sorted((node.target for node in named), key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[[Node], Any]] = []
        self._erase_node_hooks: list[Callable[[Node], Any]] = []
        self._deepcopy_hooks: list[Callable[[GraphModule], Any]] = []

    @property
    def graph(self) -> Graph:
        """The graph that it runs; call `recompile` after changing it."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """The code of the graph as it is now; `forward` runs it from now on."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            info = self._graph._codegen.pytree_info
            self._in_spec, self._out_spec = info.in_spec, info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        kind: Any = type(self)
        kind.forward = _forward_from_src(code.src, code.globals)
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return code

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> NoReturn:
        """Nothing: raises."""
        raise NotImplementedError(
            "to_folder: pyburn writes no programs to disk; save the state_dict, and keep `code` as text if you need it."
        )

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Whether the module could be put at this dotted path."""
        *prefix, field = target.split(".")
        holder: Any = self
        for item in prefix:
            below = getattr(holder, item, None)
            if below is None:
                below = nn.Module()
                setattr(holder, item, below)
            if not isinstance(below, nn.Module):
                return False
            holder = below
        holder.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Whether there was a module at this dotted path; it is gone."""
        *prefix, field = target.split(".")
        holder: Any = self
        for item in prefix:
            holder = getattr(holder, item, None)
            if not isinstance(holder, nn.Module):
                return False
        if not isinstance(getattr(holder, field, None), nn.Module):
            return False
        delattr(holder, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Nothing; submodules that no node names are gone."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                used.update(itertools.accumulate(node.target.split("."), lambda above, part: f"{above}.{part}"))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    below = [name for name, _ in self.get_submodule(node.target).named_modules() if name]
                    used.update(f"{node.target}.{name}" for name in below)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **looks: Any,
    ) -> str:
        """The code as a class, with shapes where a pass has noted them; it is printed unless told otherwise."""
        text = _readable(self, self._get_name())
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])

    def __reduce__(self) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        base = next(kind for kind in type(self).__mro__ if not kind.__qualname__.endswith("GraphModuleImpl"))
        return _rebuild, (base, type(self).__name__, state, self._graph)

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        body = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, body, body.__dict__["_graph"])
        for name in _KEPT:
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in getattr(self, "_deepcopy_hooks", ()):
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._erase_node_hooks.remove(f)


def _readable(module: GraphModule, name: str) -> str:
    from pyburn import _core

    code = module.graph.python_code(root_module="self", verbose=True).src.lstrip("\n")
    text = _indented(f"class {name}({_core._library()}.nn.Module):\n{code}")
    inner = [_readable(child, path) for path, child in module.named_children() if isinstance(child, GraphModule)]
    return (text + _indented("\n".join(["", *inner]))).rstrip(" ")


def _rebuild(base: type[GraphModule], name: str, state: dict[str, Any], graph: Graph) -> GraphModule:
    """The module that was pickled: its code is written anew from the graph."""
    made = base.__new__(base)
    nn.Module.__init__(made)
    made.__dict__.update(state)
    type(made).__name__ = name
    made.graph = graph
    return made


def _make_graph_module(*args: Any, graph_module_cls: Any = None, **kwargs: Any) -> GraphModule:
    return (graph_module_cls or GraphModule)(*args, **kwargs)
