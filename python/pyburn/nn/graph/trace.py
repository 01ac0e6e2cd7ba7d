"""What a model does with its inputs, seen while it runs: layers and functions are nodes, tensors are edges."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyburn._core import Tensor
from pyburn._subclass import briefly
from pyburn.autograd import no_grad
from pyburn.nn.attention import MultiheadAttention
from pyburn.nn.module import Module
from pyburn.ops import get_rng_state, set_rng_state
from pyburn.utils._pytree import tree_leaves

__all__ = ["Edge", "Node", "trace"]

# These give the same values in another form, and would only make a picture longer.
_SILENT = {"detach", "contiguous", "requires_grad_", "clone", "to", "type_as", "float", "alias", "view_as", "expand_as"}


@dataclass(frozen=True)
class Node:
    """A layer, a function, an input or an output: `kind` is its class or function, `name` its path in the model."""

    id: int
    name: str
    kind: str
    family: str
    detail: str = ""
    collapsed: bool = False


@dataclass(frozen=True)
class Edge:
    """A tensor of `shape` that goes from one node to another."""

    source: int
    target: int
    shape: tuple[int, ...]


class _Tracer:
    """Keeps who made which tensor; tensors are kept too, so that none gets the number of another."""

    def __init__(self, names: Mapping[int, str], depth: int | None) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._names, self._depth = names, depth
        self._makers: dict[int, int] = {}
        self._alive: list[Tensor] = []
        self._open: list[tuple[Module, bool]] = []
        self._closed = 0  # layers around us whose inside is not shown

    def node(self, name: str, kind: str, family: str, detail: str = "", collapsed: bool = False) -> int:
        """The number of a new node."""
        self.nodes.append(Node(len(self.nodes), name, kind, family, detail, collapsed))
        return len(self.nodes) - 1

    def made(self, tensor: Tensor, node: int) -> None:
        """Nothing; the tensor comes from that node."""
        self._makers[id(tensor)] = node
        self._alive.append(tensor)

    def connect(self, values: Any, node: int) -> None:
        """Nothing; the tensors in `values` go to that node."""
        for tensor in _tensors(values):
            maker = self._makers.get(id(tensor))
            edge = None if maker is None or maker == node else Edge(maker, node, tuple(tensor.shape))
            if edge is not None and edge not in self.edges[-8:]:
                self.edges.append(edge)

    def _known(self, values: Any) -> bool:
        return any(id(tensor) in self._makers for tensor in _tensors(values))

    def before(self, module: Module, args: Any, kwargs: Any) -> None:
        """Nothing; the call of a layer has begun."""
        depth = len(self._open)
        leaf = not list(module.children()) or isinstance(module, MultiheadAttention)  # whose own it does not call
        # A layer of ours that is the whole model is a box too; inside of the user's own there are functions to show.
        shown = depth > 0 or type(module).__module__.startswith("pyburn.nn.")
        shut = (leaf and shown) or (self._depth is not None and depth >= self._depth)
        self._open.append((module, shut))
        self._closed += shut

    def after(self, module: Module, args: Any, kwargs: Any, made: Any) -> Any:
        """What the layer gives, under a name of its own where it is what came in."""
        _, shut = self._open.pop()
        self._closed -= shut
        if not shut or self._closed:
            return None
        inputs = _tensors((args, kwargs))
        collapsed = bool(list(module.children())) and not isinstance(module, MultiheadAttention)
        detail = "" if list(module.children()) else _detail(module)
        node = self.node(self._names.get(id(module), ""), type(module).__name__, _family(module), detail, collapsed)
        self.connect((args, kwargs), node)
        if isinstance(made, Tensor) and any(made is each for each in inputs) and not getattr(module, "inplace", False):
            made = made.view(made.shape)  # a layer that does nothing is a node all the same
            self.made(made, node)
            return made
        for tensor in _tensors(made):
            self.made(tensor, node)
        return None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._closed or not self._open:
            return result
        name = getattr(func, "__name__", str(func))
        found, inputs = _tensors(result), _tensors((args, kwargs))
        if not found or not self._known((args, kwargs)):
            return result
        same = any(found[0] is each for each in inputs)
        changes = name.endswith("_") and not name.endswith("__")
        if name in _SILENT or (same and not changes):
            maker = next(self._makers[id(each)] for each in inputs if id(each) in self._makers)
            for tensor in found:
                self.made(tensor, maker)
            return result
        shown = name.strip("_")
        node = self.node(self._scope(), "index" if shown == "getitem" else shown, "function")
        self.connect((args, kwargs), node)
        for tensor in found:
            self.made(tensor, node)
        return result

    def _scope(self) -> str:
        return self._names.get(id(self._open[-1][0]), "")


def trace(
    model: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], depth: int | None = None
) -> tuple[list[Node], list[Edge]]:
    """The nodes and edges of one run of the model in eval mode, without gradients; the model stays as it is.

    Args:
        model: The model.
        args: What it is called with.
        kwargs: The same by name.
        depth: Layers inside so many others are one node each; None shows all.
    """
    names = {id(module): name for name, module in reversed(list(model.named_modules()))}
    tracer = _Tracer(names, depth)
    given = [*enumerate(args), *kwargs.items()]
    leaves = [(key, tensor) for key, value in given for tensor in _tensors(value)]
    for number, (key, tensor) in enumerate(leaves):
        name = key if isinstance(key, str) else "input" if len(leaves) == 1 else f"input {number}"
        tracer.made(tensor, tracer.node(name, "input", "input"))
    with _watched(model, tracer), no_grad(), briefly(tracer):
        made = model(*args, **kwargs)
    outputs = _tensors(made)
    for number, tensor in enumerate(outputs):
        node = tracer.node("output" if len(outputs) == 1 else f"output {number}", "output", "output")
        tracer.connect(tensor, node)
    return _used(tracer.nodes, tracer.edges)


@contextlib.contextmanager
def _watched(model: Module, tracer: _Tracer) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    state = get_rng_state()
    handles: list[Any] = []
    for module, _ in modes:
        handles.append(module.register_forward_pre_hook(tracer.before, with_kwargs=True))
        handles.append(module.register_forward_hook(tracer.after, with_kwargs=True))
    try:
        model.eval()
        yield
    finally:
        set_rng_state(state)
        for module, mode in modes:
            module.training = mode
        for handle in handles:
            handle.remove()


def _used(nodes: list[Node], edges: list[Edge]) -> tuple[list[Node], list[Edge]]:
    """Without the nodes that no output depends on, such as masks that were made and not used."""
    wanted = {node.id for node in nodes if node.family == "output"}
    before: dict[int, list[int]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge.source)
    waiting = list(wanted)
    while waiting:
        for source in before.get(waiting.pop(), ()):
            if source not in wanted:
                wanted.add(source)
                waiting.append(source)
    wanted |= {node.id for node in nodes if node.family == "input"}
    return (
        [node for node in nodes if node.id in wanted],
        [edge for edge in edges if edge.source in wanted and edge.target in wanted],
    )


def _tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]


_FAMILIES = {
    "conv": ("Conv",),
    "linear": ("Linear", "Bilinear", "Embedding", "LSTM", "GRU", "RNN", "Attention", "Transformer"),
    "norm": ("Norm",),
    "pool": ("Pool", "Flatten", "Upsample", "Pad", "Unflatten", "Shuffle"),
    "active": ("ReLU", "GELU", "ELU", "SiLU", "Sigmoid", "Tanh", "Softmax", "Mish", "Hardswish", "Dropout", "GLU"),
}


def _family(module: Module) -> str:
    if list(module.children()):
        return "group"
    kind = type(module).__name__
    return next((name for name, parts in _FAMILIES.items() if any(part in kind for part in parts)), "other")


def _detail(module: Module) -> str:
    """The sizes that say most about a layer."""
    get: Callable[..., Any] = lambda name: getattr(module, name, None)  # noqa: E731
    ends = next(
        (pair for pair in (("in_channels", "out_channels"), ("in_features", "out_features")) if get(pair[0])), None
    )
    parts = [] if ends is None else [f"{get(ends[0])}→{get(ends[1])}"]
    kernel, stride = get("kernel_size"), get("stride")
    if kernel is not None:
        parts.append("x".join(map(str, kernel)) if isinstance(kernel, tuple) else str(kernel))
    if stride is not None and stride not in (1, (1,), (1, 1), (1, 1, 1)):
        parts.append(f"/{stride[0] if isinstance(stride, tuple) else stride}")
    return " ".join(parts)
