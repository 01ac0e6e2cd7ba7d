"""The table that `model.summary()` prints."""

from __future__ import annotations

from typing import Any

from pyburn import ops
from pyburn.keras.layer import Layer
from pyburn.keras.symbolic import KerasTensor, flatten

__all__ = ["text_of"]


def text_of(
    model: Any,
    line_length: int | None = None,
    expand_nested: bool = False,
    show_trainable: bool = False,
    layer_range: Any = None,
) -> str:
    """The layers of a model, their outputs and numbers of weights, and the sums."""
    if not model.built:
        raise ValueError(
            f"{model.name}: this model has not been built yet, so its weights are not known; begin it with "
            "Input(shape=...), "
            "call it on data, or build(input_shape) it"
        )
    connected = model._graph is not None and not _is_row(model)
    head = ["Layer (type)", "Output Shape", "Param #"]
    head += ["Connected to"] if connected else []
    head += ["Trainable"] if show_trainable else []
    rows = []
    for depth, layer in _layers(model, expand_nested, layer_range):
        row = [f"{'  ' * depth}{layer.name} ({type(layer).__name__})", _shape(layer), _count(layer)]
        row += [_sources(layer, model)] if connected else []
        row += ["Y" if getattr(layer, "trainable", True) else "N"] if show_trainable else []
        rows.append(row)
    return "\n".join([f'Model: "{model.name}"', *_table(head, rows, line_length), *_sums(model)])


def _is_row(model: Any) -> bool:
    """Whether each layer is fed by the one before only."""
    inner = [node for node in model._graph.nodes if node.inputs]
    single = all(len(node.inputs) == 1 for node in inner) and len({id(n.layer) for n in inner}) == len(inner)
    sources = [id(each) for node in inner for each in node.inputs]
    return single and len(set(sources)) == len(sources) and len(model._graph.inputs) == 1


def _layers(model: Any, expand: bool, between: Any, depth: int = 0) -> list[tuple[int, Any]]:
    layers = [each for each in model.layers if isinstance(each, Layer)]
    if between is not None:
        names = [each.name for each in layers]
        layers = layers[names.index(between[0]) : names.index(between[1]) + 1]
    found = []
    for layer in layers:
        found.append((depth, layer))
        if expand and getattr(layer, "_graph", None) is not None:
            found += _layers(layer, expand, None, depth + 1)
    return found


def _shape(layer: Any) -> str:
    if not layer._nodes:
        return _called_shape(layer)
    shapes = [each.shape for each in flatten(layer._nodes[-1].outputs) if isinstance(each, KerasTensor)]
    return str(shapes[0]) if len(shapes) == 1 else str(shapes)


def _called_shape(layer: Any) -> str:
    """The shape of what a layer gives that was called on data, for what it was built for."""
    built = getattr(layer, "_build_shapes", None)
    if built is None or not layer.built:
        return "?"
    try:
        return str(layer.compute_output_shape(built))
    except Exception:  # a call may need more than its first argument's shape
        return "?"


def _count(layer: Any) -> str:
    return f"{layer.count_params():,}" if layer.built else "0 (unbuilt)"


def _sources(layer: Any, model: Any) -> str:
    own = {id(node) for node in model._graph.nodes}
    found = []
    for node in layer._nodes:
        if id(node) in own:
            found += [f"{each.node.layer.name}[{each.node.number}][{each.index}]" for each in node.inputs if each.node]
    return ", ".join(found) or "-"


def _table(head: list[str], rows: list[list[str]], line_length: int | None) -> list[str]:
    wide = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    if line_length is not None:
        wide[0] = max(len(head[0]), line_length - sum(wide[1:]) - 3 * len(wide) - 1)

    def line(left: str, fill: str, middle: str, right: str) -> str:
        return left + middle.join(fill * (width + 2) for width in wide) + right

    def cells(row: list[str], bar: str) -> str:
        aligned = [f"{c:>{w}}" if place == 2 else f"{c:<{w}}" for place, (c, w) in enumerate(zip(row, wide))]
        return bar + bar.join(f" {cell} " for cell in aligned) + bar

    lines = [line("┏", "━", "┳", "┓"), cells(head, "┃"), line("┡", "━", "╇", "┩")]
    for number, row in enumerate(rows):
        lines += [line("├", "─", "┼", "┤")] if number else []
        lines.append(cells(row, "│"))
    return [*lines, line("└", "─", "┴", "┘")]


def _sums(model: Any) -> list[str]:
    def text(weights: Any) -> str:
        size = sum(each.numel() * each.element_size() for each in weights)
        return f"{sum(each.numel() for each in weights):,} ({_bytes(size)})"

    memory = _memory(model)
    lines = [
        f" Total params: {text([*model.weights, *memory])}",
        f" Trainable params: {text(model.trainable_weights)}",
        f" Non-trainable params: {text(model.non_trainable_weights)}",
    ]
    return [*lines, f" Optimizer params: {text(memory)}"] if memory else lines


def _memory(model: Any) -> list[Any]:
    """What the optimizer of a model that has trained remembers: of each weight, and its steps and rate."""
    optimizer = model.optimizer
    if not getattr(optimizer, "built", False):
        return []
    kept = [each for each in optimizer.variables if each.dim() or each.numel() > 1]
    return [*kept, ops.zeros(()), ops.zeros(())] if optimizer._iterations else []


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} TB"
