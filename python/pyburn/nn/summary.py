"""A model at a glance: its layers in the order of their calls, their outputs, weights and multiplications."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.nn.attention import MultiheadAttention
from pyburn.nn.conv import _ConvNd, _ConvTransposeNd
from pyburn.nn.linear import Bilinear, Linear
from pyburn.nn.module import Module
from pyburn.nn.parameter import UninitializedParameter
from pyburn.nn.rnn import RNNBase
from pyburn.nn.rnn_cell import RNNCellBase
from pyburn.ops import zeros
from pyburn.utils._pytree import tree_leaves

__all__ = ["Row", "Summary", "summary"]


@dataclass(frozen=True)
class Row:
    """One call of one layer.

    `parameters` are the layer's own, without those of the layers inside it, and each weight is counted at its first
    layer only. `macs` are the multiplications with an addition of one call; None where they are not known to matter.
    """

    name: str
    kind: str
    depth: int
    output: str
    parameters: int
    macs: int


@dataclass(frozen=True)
class Summary:
    """The table of a model, and its sums.

    Example:
        >>> import pyburn
        >>> print(pyburn.summary(pyburn.nn.Linear(3, 2), (1, 3)))
        layer   output  parameters  MACs
        Linear  [1, 2]           8     6
        parameters: 8 (8 trainable), 32 B
        MACs: 6
    """

    rows: tuple[Row, ...]
    parameters: int
    trainable: int
    size: int

    @property
    def macs(self) -> int:
        """The multiplications with an addition of one forward pass."""
        return sum(row.macs for row in self.rows)

    def cells(self) -> list[tuple[str, str, str, str]]:
        """The rows as text: layer, output, parameters, multiplications."""
        return [
            (
                "  " * row.depth + (f"{row.name} ({row.kind})" if row.name else row.kind),
                row.output,
                f"{row.parameters:,}" if row.parameters else "",
                f"{row.macs:,}" if row.macs else "",
            )
            for row in self.rows
        ]

    def sums(self) -> list[str]:
        """The lines below the table."""
        lines = [f"parameters: {self.parameters:,} ({self.trainable:,} trainable), {_bytes(self.size)}"]
        return [*lines, f"MACs: {self.macs:,}"] if self.macs else lines

    def __str__(self) -> str:
        cells = [("layer", "output", "parameters", "MACs"), *self.cells()]
        wide = [max(len(row[column]) for row in cells) for column in range(4)]
        lines = [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d:>{wide[3]}}".rstrip() for a, b, c, d in cells]
        return "\n".join([*lines, *self.sums()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "<tr><th>layer</th><th>output</th><th>parameters</th><th>MACs</th></tr>"
        rows = "".join(
            "<tr>" + "".join(f"<td style='white-space:pre'>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in self.cells()
        )
        return f"<table>{head}{rows}</table><p>{'<br>'.join(self.sums())}</p>"


def summary(model: Module, input: Any = None, **kwargs: Any) -> Summary:
    """The layers of a model with their outputs, weights and multiplications; print it, or let a notebook show it.

    Args:
        model: The model. It is run once, in eval mode and without gradients, and stays as it is.
        input: A tensor, a tuple or dictionary of the model's arguments, the shape of one float tensor, or a list of
            such shapes; without it nothing is run, and the table has no outputs and no multiplications.
        kwargs: More arguments of the model.

    Example:
        >>> import pyburn
        >>> from pyburn import nn
        >>> table = pyburn.summary(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), (1, 3, 32, 32))
        >>> table.parameters, table.macs
        (224, 194400)
    """
    input, kwargs = named_arguments(input, kwargs)
    counted: set[int] = set()
    rows: list[Row] = []
    names = {id(module): name for name, module in reversed(list(model.named_modules()))}
    if input is None:
        for name, module in model.named_modules():
            rows.append(_row(module, name, name.count(".") + bool(name), "", 0, counted))
    else:
        called: dict[str, int] = {}
        for module, depth, output, macs in _calls(model, arguments(model, input), kwargs):
            called.setdefault(names[id(module)], len(rows))
            rows.append(_row(module, names[id(module)], depth, output, macs, counted))
        _add_uncalled(model, rows, called, counted)
    weights = [weight for weight in model.parameters() if not isinstance(weight, UninitializedParameter)]
    return Summary(
        rows=tuple(rows),
        parameters=sum(weight.numel() for weight in weights),
        trainable=sum(weight.numel() for weight in weights if weight.requires_grad),
        size=sum(weight.numel() * weight.element_size() for weight in weights),
    )


def arguments(model: Module, given: Any) -> tuple[Any, ...]:
    """What a model is called with: a tensor, a tuple of arguments, zeros of a shape, or of each of several shapes."""
    if _is_shape(given):
        weight = next((each for each in model.parameters() if each.is_floating_point()), None)
        return (zeros(*given) if weight is None else zeros(*given, device=weight.device, dtype=weight.dtype),)
    if isinstance(given, (tuple, list)) and given and all(map(_is_shape, given)):
        return tuple(arguments(model, shape)[0] for shape in given)
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def named_arguments(given: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments by position and by name, where `given` may be a dictionary of the latter."""
    return ((), {**given, **kwargs}) if isinstance(given, Mapping) else (given, kwargs)


def _is_shape(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and bool(given) and all(isinstance(size, int) for size in given)


def _row(module: Module, name: str, depth: int, output: str, macs: int, counted: set[int]) -> Row:
    own = [weight for weight in module.parameters(recurse=False) if id(weight) not in counted]
    counted.update(id(weight) for weight in own)
    known = sum(weight.numel() for weight in own if not isinstance(weight, UninitializedParameter))
    return Row(name.rpartition(".")[2], type(module).__name__, depth, output, known, macs)


def _add_uncalled(model: Module, rows: list[Row], called: dict[str, int], counted: set[int]) -> None:
    """Nothing; weights of layers that no call showed stand below the layer that holds them: it may use them itself."""
    found = [(name, module) for name, module in model.named_modules() if name not in called]
    for name, module in reversed(found):
        row = _row(module, name, 0, "", 0, counted)
        if not row.parameters:
            continue
        holder = name.rpartition(".")[0]
        while holder not in called:
            holder = holder.rpartition(".")[0]
        place = called[holder]
        rows.insert(place + 1, replace(row, name=name[len(holder) :].lstrip("."), depth=rows[place].depth + 1))
        called.update({each: number + (number > place) for each, number in called.items()})


def _calls(model: Module, arguments: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Module, int, str, int]]:
    """Every call of a layer while the model runs: outer layers before those that they call."""
    calls: list[list[Any]] = []
    open_calls: list[list[Any]] = []

    def before(module: Module, given: Any) -> None:
        call = [module, len(open_calls), "", 0]
        calls.append(call)
        open_calls.append(call)

    def after(module: Module, given: tuple[Any, ...], named: dict[str, Any], made: Any) -> None:
        call = open_calls.pop()
        tensors = [leaf for leaf in tree_leaves(made) if isinstance(leaf, Tensor)]
        call[2] = ", ".join(str(list(tensor.shape)) for tensor in tensors)
        call[3] = _macs(module, (*given, *named.values()), tensors)

    modes = [(module, module.training) for module in model.modules()]
    handles = [module.register_forward_pre_hook(before) for module, _ in modes]
    handles += [module.register_forward_hook(after, with_kwargs=True) for module, _ in modes]
    try:
        with no_grad():
            model.eval()(*arguments, **kwargs)
    finally:
        for module, mode in modes:
            module.training = mode
        for handle in handles:
            handle.remove()
    return ((module, depth, output, macs) for module, depth, output, macs in calls)


def _macs(module: Module, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    for kinds, count in _COUNTS:
        if isinstance(module, kinds) and made:
            return count(module, given, made)
    return 0


def _linear(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    return made[0].numel() * int(module.in_features)


def _bilinear(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    return made[0].numel() * int(module.in1_features) * int(module.in2_features)


def _convolution(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    return int(made[0].numel() * math.prod(module.kernel_size) * (module.in_channels // module.groups))


def _transposed(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    return int(given[0].numel() * math.prod(module.kernel_size) * (module.out_channels // module.groups))


def _recurrent(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    sequence = given[0].data if hasattr(given[0], "batch_sizes") else given[0]
    steps = sequence.numel() // sequence.shape[-1]
    return int(steps * sum(weight.numel() for name, weight in module.named_parameters() if name.startswith("weight")))


def _attention(module: Any, given: Sequence[Any], made: Sequence[Tensor]) -> int:
    queries, keys = given[0], given[1] if len(given) > 1 else given[0]
    width = int(module.embed_dim)
    asked, known = queries.numel() // queries.shape[-1], keys.numel() // keys.shape[-1]
    length = keys.shape[1 if module.batch_first and keys.dim() == 3 else 0]
    # The output projection is a layer of its own only by name: attention calls its weight directly.
    return int(2 * width * (asked * width + known * width + asked * length))


_COUNTS: list[tuple[Any, Callable[[Any, Sequence[Any], Sequence[Tensor]], int]]] = [
    (Linear, _linear),
    (Bilinear, _bilinear),
    (_ConvTransposeNd, _transposed),
    (_ConvNd, _convolution),
    (RNNBase, _recurrent),
    (RNNCellBase, _recurrent),
    (MultiheadAttention, _attention),
]


def _bytes(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"
