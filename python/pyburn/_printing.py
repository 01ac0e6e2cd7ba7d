"""How tensors are shown: torch's text format, and a small table for notebooks.

Everything here works on the values of ``tolist()``: a large tensor is first cut down to its
corners, so that at most a few hundred numbers ever leave the device.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_html", "tensor_str"]


class Printable(Protocol):
    """What printing needs of a tensor."""

    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def dtype(self) -> object: ...
    @property
    def device(self) -> object: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def grad_fn(self) -> Any: ...
    def numel(self) -> int: ...
    def detach(self) -> Printable: ...
    def narrow(self, dim: int, start: int, length: int, /) -> Printable: ...
    def tolist(self) -> Any: ...


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
# The name under which torch._tensor_str has them.
PRINT_OPTS = _options

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Nothing; tensors are shown in the given way from now on.

    Args:
        precision: Digits after the point.
        threshold: Tensors with more elements than this are summarised.
        edgeitems: How many items a summary shows at both ends of a dimension.
        linewidth: Characters in a line before it is broken.
        profile: ``"default"``, ``"short"`` or ``"full"``; the other arguments override it.
        sci_mode: Whether to use scientific notation; by default, and after every call that
            does not say so, the values decide.

    Raises:
        ValueError: If there is no such profile.

    Example:
        >>> set_printoptions(precision=2)
        >>> get_printoptions()["precision"]
        2
        >>> set_printoptions(profile="default")

    Differs from torch:
        An unknown profile is an error.
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: profile is {profile!r} but must be one of {', '.join(_PROFILES)}.")
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = _PROFILES[profile] if profile is not None else {}
    for name, value in given.items():
        setting = chosen.get(name) if value is None else value
        if setting is not None:
            setattr(_options, name, setting)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as arguments for `set_printoptions`.

    Example:
        >>> get_printoptions()["linewidth"]
        80
    """
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A context in which tensors are shown with other options.

    Args:
        **options: The arguments of `set_printoptions`.

    Example:
        >>> with printoptions(edgeitems=1):
        ...     get_printoptions()["edgeitems"]
        1
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Formatter:
    """Turns numbers into strings of one width, chosen from all values that are shown."""

    def __init__(self, values: Sequence[Any], floating: bool) -> None:
        self.floating = floating
        self.whole = True
        self.scientific = False
        self.width = 1
        if floating:
            self._choose_float_style([v for v in values if v != 0 and math.isfinite(v)])
        else:
            self.width = max((len(str(value)) for value in values), default=1)

    def _choose_float_style(self, values: list[float]) -> None:
        if not values:
            return
        smallest, largest = min(map(abs, values)), max(map(abs, values))
        self.whole = all(value == math.floor(value) for value in values)
        if _options.sci_mode is None:
            self.scientific = largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4
        else:
            self.scientific = _options.sci_mode
        self.width = max(len(self._digits(value)) for value in values)

    def _digits(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        if self.whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{_options.precision}f}"

    def __call__(self, value: Any) -> str:
        text = self._digits(value) if self.floating else str(value)
        return text.rjust(self.width)


class _ComplexFormatter:
    """The same for complex numbers: one format for all real, one for all imaginary parts."""

    def __init__(self, values: Sequence[complex]) -> None:
        self.real = _Formatter([value.real for value in values], floating=True)
        self.imag = _Formatter([value.imag for value in values], floating=True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        return self.real(value.real) + (imag if imag[0] in "+-" else "+" + imag)


_AnyFormatter = _Formatter | _ComplexFormatter


def _dtype_name(dtype: object) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def _formatter(tensor: Printable, values: Sequence[Any]) -> _AnyFormatter:
    name = _dtype_name(tensor.dtype)
    if name.startswith("complex"):
        return _ComplexFormatter(values)
    return _Formatter(values, floating=name.startswith(("float", "bfloat")))


def _is_cut(size: int, summarize: bool) -> bool:
    return summarize and size > 2 * _options.edgeitems


def _corners(tensor: Printable, dim: int, summarize: bool) -> Any:
    """The nested list of a tensor without what a summary leaves out of ``dim`` and later ones."""
    while dim < len(tensor.shape) and not _is_cut(tensor.shape[dim], summarize):
        dim += 1
    if dim >= len(tensor.shape):
        return tensor.tolist()
    size, edge = tensor.shape[dim], _options.edgeitems
    head = _corners(tensor.narrow(dim, 0, edge), dim + 1, summarize)
    tail = _corners(tensor.narrow(dim, size - edge, edge), dim + 1, summarize)
    return _join(head, tail, dim)


def _join(head: list[Any], tail: list[Any], depth: int) -> list[Any]:
    if depth == 0:
        return head + tail
    return [_join(first, second, depth - 1) for first, second in zip(head, tail)]


def _flatten(nested: Any, rank: int) -> list[Any]:
    values: list[Any] = [nested]
    for _ in range(rank):
        values = [item for part in values for item in part]
    return values


def _with_dots(items: list[str], cut: bool, dots: str) -> list[str]:
    if not cut:
        return items
    middle = len(items) // 2
    return [*items[:middle], dots, *items[middle:]]


def _vector_text(values: list[Any], size: int, indent: int, summarize: bool, form: _AnyFormatter) -> str:
    items = _with_dots([form(value) for value in values], _is_cut(size, summarize), " ...")
    per_line = max(1, (_options.linewidth - indent) // (form.width + 2))
    lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(nested: Any, shape: Sequence[int], indent: int, summarize: bool, form: _AnyFormatter) -> str:
    if not shape:
        return form(nested)
    if len(shape) == 1:
        return _vector_text(nested, shape[0], indent, summarize, form)
    parts = [_nested_text(part, shape[1:], indent + 1, summarize, form) for part in nested]
    parts = _with_dots(parts, _is_cut(shape[0], summarize), "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _is_meta(tensor: Printable) -> bool:
    return str(tensor.device) == "meta"


def _contents(tensor: Printable, indent: int) -> str:
    if _is_meta(tensor):
        return "..."
    if tensor.numel() == 0:
        return "[]"
    summarize = tensor.numel() > _options.threshold
    shape = tensor.shape
    if summarize and len(shape) > 0 and _options.edgeitems == 0:
        return "[...]"
    nested = _corners(tensor.detach(), 0, summarize)
    form = _formatter(tensor, _flatten(nested, len(shape)))
    return _nested_text(nested, shape, indent, summarize, form)


def _tensor_str(self: Printable, indent: int) -> str:
    """The numbers of a tensor without what stands around them.

    Example:
        >>> import pyburn
        >>> _tensor_str(pyburn.tensor([1.0, 2.0]), 0)
        '[1., 2.]'
    """
    return _contents(self, indent) if self.numel() else "[]"


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """The text of a tensor, closed by what else is to be said of it, on a line of its own where it does not fit.

    Example:
        >>> _add_suffixes("tensor([1.]", ["dtype=torch.float64"], 7, False)
        'tensor([1.], dtype=torch.float64)'
    """
    text, last = tensor_str, len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last + len(suffix) + 2 > _options.linewidth:
            text, last, force_newline = f"{text},\n{' ' * indent}{suffix}", indent + len(suffix), False
        else:
            text, last = f"{text}, {suffix}", last + len(suffix) + 2
    return text + ")"


def _grad_suffix(tensor: Printable) -> list[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view whose base was written in a way that left it without a valid history.
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def _suffixes(tensor: Printable, default_dtype: str) -> list[str]:
    found: list[str] = []
    device = str(tensor.device)
    if device != "cpu":
        found.append(f"device='{device}'")
    name = _dtype_name(tensor.dtype)
    meta = _is_meta(tensor)
    empty = meta or tensor.numel() == 0
    if meta or (empty and len(tensor.shape) != 1) or (not empty and _options.edgeitems == 0):
        found.append(f"size={tuple(tensor.shape)}")
    # Without elements nothing tells an integer or bool tensor from one of the default dtype.
    known = {default_dtype} if empty else {default_dtype, _complex_of(default_dtype), "int64", "bool"}
    if name not in known:
        found.append(f"dtype={tensor.dtype}")
    return found + _grad_suffix(tensor)


def _complex_of(default_dtype: str) -> str:
    return "complex128" if default_dtype == "float64" else "complex64"


def tensor_str(tensor: Printable, default_dtype: object = "float32") -> str:
    """The text that torch shows for a tensor with these values.

    Args:
        tensor: Any tensor; on a device other than the CPU only what is shown is read.
        default_dtype: The dtype that goes without saying.

    Example:
        >>> import pyburn
        >>> print(tensor_str(pyburn.tensor([[1.0, 2.5], [3.0, -4.0]])))
        tensor([[ 1.0000,  2.5000],
                [ 3.0000, -4.0000]])
    """
    kind = type(tensor).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else f"{kind}("
    text = prefix + _contents(tensor, len(prefix))
    return _add_suffixes(text, _suffixes(tensor, _dtype_name(default_dtype)), len(prefix), False)


def _row_html(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(cell.strip())}</td>" for cell in cells) + "</tr>"


def _table_html(tensor: Printable) -> str:
    summarize = tensor.numel() > _options.threshold
    shape = tensor.shape
    nested = _corners(tensor.detach(), 0, summarize)
    form = _formatter(tensor, _flatten(nested, len(shape)))
    rows = nested if len(shape) == 2 else [nested]
    table = [_with_dots([form(value) for value in row], _is_cut(shape[-1], summarize), "…") for row in rows]
    lines = [_row_html(row) for row in table]
    if len(shape) == 2 and _is_cut(shape[0], summarize):
        lines.insert(len(lines) // 2, _row_html(["…"] * len(table[0])))
    return '<table style="font-family: monospace; text-align: right">' + "".join(lines) + "</table>"


def tensor_html(tensor: Printable, default_dtype: object = "float32") -> str:
    """HTML for a notebook: what the tensor is, then its values, as a table up to two dimensions.

    Args:
        tensor: Any tensor; large ones are summarised as in `tensor_str`.
        default_dtype: The dtype that goes without saying in the text form.

    Example:
        >>> import pyburn
        >>> "<td>2</td>" in tensor_html(pyburn.tensor([[1, 2], [3, 4]]))
        True
    """
    sizes = "x".join(str(size) for size in tensor.shape) or "scalar"
    about = f"{type(tensor).__name__} {sizes}, {_dtype_name(tensor.dtype)}, {tensor.device}"
    about += "".join(f", {suffix}" for suffix in _grad_suffix(tensor))
    if len(tensor.shape) in (1, 2) and tensor.numel() > 0 and _options.edgeitems > 0 and not _is_meta(tensor):
        body = _table_html(tensor)
    else:
        body = f"<pre>{html.escape(tensor_str(tensor, default_dtype))}</pre>"
    return f"<div><small>{html.escape(about)}</small>{body}</div>"
