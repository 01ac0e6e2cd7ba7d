"""torch.utils.flop_counter: how many floating point operations matrix products and convolutions take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from pyburn import _ops, ops
from pyburn._core import Tensor
from pyburn.nn._global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from pyburn.nn.rnn import GRU, RNN, RNNBase
from pyburn.overrides import TorchFunctionMode

__all__ = ["FlopCounterMode"]

Shape = Sequence[int]
# The operator and its count; and, for the way back, the operator and its count for each tensor that wants a gradient.
Cost = tuple[str, int, str, list[tuple[Any, int]]]


def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The operations of a product of two matrices."""
    return a_shape[0] * a_shape[1] * b_shape[1] * 2


def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """The operations of a batch of products of two matrices."""
    return prod(a_shape) * b_shape[-1] * 2


def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """The operations of a product of two matrices; those of the sum are not counted."""
    return mm_flop(a_shape, b_shape)


def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """The operations of a batch of products; those of the sum are not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """The operations of a convolution of (N, C, ...) with (O, C / groups, ...), or of a transposed one."""
    places = prod((x_shape if transposed else out_shape)[2:])
    return x_shape[0] * places * prod(w_shape) * 2


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """The operations of attention: the products of queries and keys, and of weights and values."""
    *batch, length, width = query_shape
    return prod(batch) * length * key_shape[-2] * (width + value_shape[-1]) * 2


def _pair(name: str, back: str, count: int, a: Tensor, b: Tensor) -> Cost:
    return name, count, back, [(a, count), (b, count)]


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Cost:
    name = "mm" if bias is None or input.dim() == 1 else "addmm"
    return _pair(name, "mm", input.numel() * weight.shape[0] * 2, input, weight)


def _matmul(input: Tensor, other: Tensor, **_: Any) -> Cost | None:
    if min(input.dim(), other.dim()) < 2:
        return None
    name = "bmm" if other.dim() > 2 else "mm"
    batch = ops.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    count = prod(batch) * prod(input.shape[-2:]) * other.shape[-1] * 2
    return _pair(name, name, count, input, other)


def _added(input: Tensor, one: Tensor, two: Tensor, **_: Any) -> Cost:
    name, back = ("addmm", "mm") if one.dim() == 2 else ("baddbmm", "bmm")
    return _pair(name, back, prod(one.shape) * two.shape[-1] * 2, one, two)


def _conv(out: Tensor, transposed: bool, input: Tensor, weight: Tensor) -> Cost:
    x, y = list(input.shape), list(out.shape)
    if input.dim() < weight.dim():
        x, y = [1, *x], [1, *y]
    count = conv_flop_count(x, weight.shape, y, transposed)
    # The gradient of the filters is one convolution of all channels with all, whatever the groups.
    kernel, window = prod(weight.shape[2:]), prod((x if transposed else y)[2:])
    filters = kernel * window * x[0] * x[1] * y[1] * 2
    return "convolution", count, "convolution_backward", [(input, count), (weight, filters)]


def _attention(query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Cost:
    count = sdpa_flop_count(query.shape, key.shape, value.shape)
    name = "_scaled_dot_product_flash_attention_for_cpu"
    # The weights are computed again, and then four products.
    scores = sdpa_flop_count(query.shape, key.shape, [0])
    values = count - scores
    return name, count, f"{name}_backward", [((query, key, value), 3 * scores + 2 * values)]


_PRODUCTS: dict[str, Callable[..., Cost | None]] = {
    "addmm": _added,
    "baddbmm": _added,
    "bmm": _matmul,
    "linear": _linear,
    "matmul": _matmul,
    "mm": _matmul,
    "__matmul__": _matmul,
    "scaled_dot_product_attention": _attention,
}
_CONVOLUTIONS = {f"conv{way}{n}d" for n in (1, 2, 3) for way in ("", "_transpose")}
# Functions of functions: what they call is counted.
_OPENED = {"chain_matmul", "einsum", "multi_dot", "multi_head_attention_forward", "tensordot"}


class _Tracker:
    """The names of the modules whose forward runs, from the outermost in."""

    def __init__(self, count: Callable[[set[str], Any, int], None]) -> None:
        self.names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.running: list[str] = []
        self.recurrent = 0
        self.count = count

    def enter(self, module: Any, args: Any) -> None:
        if module not in self.names:
            root = type(module).__name__
            for name, child in module.named_modules():
                self.names[child] = f"{root}.{name}" if name else root
        self.running.append(self.names[module])
        self.recurrent += isinstance(module, RNNBase)

    def leave(self, module: Any, args: Any, result: Any) -> None:
        # A sequence is one call; torch sees its steps, but for the LSTM, which is one call there too.
        if isinstance(module, (GRU, RNN)) and result is not None:
            output = getattr(result[0], "data", result[0])
            weights = [weight for name, weight in module.named_parameters() if name.startswith("weight")]
            steps = prod(output.shape[:-1])
            self.count(self.parents(), _operator("addmm"), 2 * steps * sum(weight.numel() for weight in weights))
        self.recurrent -= isinstance(module, RNNBase)
        self.running.pop()

    def parents(self) -> set[str]:
        return {"Global", *self.running}


class FlopCounterMode(TorchFunctionMode):
    """A context that counts the operations of matrix products, convolutions and attention, by module.

    Args:
        mods: Accepted for torch's sake; modules are found by themselves.
        depth: How deep the table goes.
        display: Whether the table is printed at the end.
        custom_mapping: Functions and what counts their operations, called with shapes in place of tensors and
            `out_shape`.

    Differs from torch:
        Counted where functions are called, not below them; the way back through recurrent layers is left out.

    Example:
        >>> import pyburn
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = pyburn.nn.Linear(3, 4)(pyburn.ones(2, 3))
        >>> counter.get_total_flops()
        48
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self._custom = dict(custom_mapping or {})
        self._tracker = _Tracker(self._count)
        self._handles: list[Any] = []
        self._active = False

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        tracker = self._tracker
        self._handles = [
            register_module_forward_pre_hook(tracker.enter),
            register_module_forward_hook(tracker.leave, always_call=True),
        ]
        self._active = True
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._active = False
        for handle in self._handles:
            handle.remove()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The result of the call, whose operations are counted."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _OPENED:
            inside = getattr(func, "__wrapped__", func)
            with _reentered(self):
                return inside(*args, **kwargs)
        out = func(*args, **kwargs)
        if func in self._custom:
            shapes = [value.shape if isinstance(value, Tensor) else value for value in args]
            self._count(self._tracker.parents(), func, self._custom[func](*shapes, **kwargs, out_shape=out.shape))
            return out
        cost = None
        if name in _PRODUCTS:
            cost = _PRODUCTS[name](*args, **kwargs)
        elif name in _CONVOLUTIONS:
            given = {**dict(zip(("input", "weight"), args, strict=False)), **kwargs}
            cost = _conv(out, "transpose" in name, given["input"], given["weight"])
        if cost is not None and not self._tracker.recurrent:
            self._record(out, cost)
        return out

    def _record(self, out: Tensor, cost: Cost) -> None:
        name, count, back, sources = cost
        parents = self._tracker.parents()
        self._count(parents, _operator(name), count)
        later = sum(amount for tensors, amount in sources if _wants_gradient(tensors))
        if not out.requires_grad or not later:
            return

        def counted(grad: Tensor) -> None:
            if self._active:
                self._count(parents, _operator(back), later)

        out.register_hook(counted)

    def _count(self, parents: Iterable[str], operator: Any, count: int) -> None:
        for parent in parents:
            self.flop_counts[parent][operator] += count

    def get_total_flops(self) -> int:
        """How many operations there were."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The operations of each operator, by the module they belong to; ``Global`` has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, modules down to `depth`."""
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        power = min(len(str(total)) // 3, 4) if total else 0
        rows: list[tuple[str, str, str]] = []
        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < depth]
        for name in names:
            rows += self._rows(name, name.count("."), total, power)
        if "Global" in self.flop_counts and all(sum(self.flop_counts[name].values()) < total for name in names):
            rows = self._rows("Global", 0, total, power) + [(f" {label}", count, share) for label, count, share in rows]
        return _columns(("Module", "FLOP", "% Total"), rows or [("Global", "0", "0%")])

    def _rows(self, name: str, indent: int, total: int, power: int) -> list[tuple[str, str, str]]:
        pad = " " * indent

        def row(label: str, count: int) -> tuple[str, str, str]:
            suffix = ["", "K", "M", "B", "T"][power]
            return label, f"{count / 1000**power:.3f}{suffix}", f"{count / total:.2%}" if total else "0%"

        counts = self.flop_counts[name]
        return [row(pad + name, sum(counts.values()))] + [row(f"{pad} - {key}", value) for key, value in counts.items()]


class _reentered:
    """The mode once more, inside a call that came to it, without what its own context begins and ends."""

    def __init__(self, mode: FlopCounterMode) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        TorchFunctionMode.__enter__(self.mode)

    def __exit__(self, *error: Any) -> None:
        TorchFunctionMode.__exit__(self.mode, *error)


def _operator(name: str) -> Any:
    return getattr(_ops.namespace("aten"), name, f"aten.{name}")


def _wants_gradient(tensors: Any) -> bool:
    return any(tensor.requires_grad for tensor in (tensors if isinstance(tensors, tuple) else (tensors,)))


def _columns(header: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(3)]
    lines = [header, tuple("-" * width for width in widths), *rows]
    texts = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines]
    return "\n".join(texts)
