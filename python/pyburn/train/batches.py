"""From what a loader gives to the inputs and the target of a model, on the model's device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from pyburn._core import Tensor
from pyburn.ops import cat, stack

__all__ = ["call", "move", "size_of", "split"]

TARGET_NAMES = ("target", "targets", "label", "labels", "y")


def move(data: Any, device: Any) -> Any:
    """`data` with every tensor in it, however nested, on `device`."""
    if isinstance(data, Tensor):
        return data.to(device)
    if type(data) is list:  # what nearly every batch is
        return [each.to(device) if isinstance(each, Tensor) else move(each, device) for each in data]
    if isinstance(data, Mapping):
        return {key: move(value, device) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(move(value, device) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(move(value, device) for value in data)
    # What knows how to move itself does: graphs, packed sequences, batches of the user's own.
    return data.to(device) if hasattr(data, "to") else data


def split(data: Any) -> tuple[Any, Any]:
    """The inputs and the target of one batch.

    A pair is (input, target); of a longer tuple the last is the target; of a mapping it is the entry named "target",
    "label" or "y". Anything else has no target.

    Example:
        >>> split(("input", "target"))
        ('input', 'target')
        >>> split({"tokens": 1, "mask": 2, "label": 3})
        ({'tokens': 1, 'mask': 2}, 3)
    """
    if type(data) is list and len(data) == 2:  # what nearly every batch is
        return data[0], data[1]
    if isinstance(data, Mapping):
        for name in TARGET_NAMES:
            if name in data:
                return {key: value for key, value in data.items() if key != name}, data[name]
        return data, None
    if isinstance(data, (list, tuple)):
        if len(data) == 2:
            return data[0], data[1]
        if len(data) > 2:
            return tuple(data[:-1]), data[-1]
        if len(data) == 1:
            return data[0], None
    return data, getattr(data, "y", None)


def call(model: Any, inputs: Any) -> Any:
    """What the model makes of the inputs: entries of a mapping by name, of a tuple in order.

    A list, which is what a loader makes of nested tuples, is one argument unless the model needs several; so is a tuple
    of texts, which is a batch of them.
    """
    if isinstance(inputs, Tensor):
        return model(inputs)
    if isinstance(inputs, Mapping):
        return model(**inputs)
    if isinstance(inputs, tuple) and not hasattr(inputs, "_fields") and not (inputs and isinstance(inputs[0], str)):
        return model(*inputs)
    kind: Any = type(model)
    if type(inputs) is list and _needs_several(kind):
        return model(*inputs)
    return model(inputs)


@functools.cache
def _needs_several(kind: Any) -> bool:
    """Whether `forward` of this class of models has more than one argument without a default."""
    try:
        names = list(inspect.signature(kind.forward).parameters.values())[1:]
    except (AttributeError, TypeError, ValueError):
        return False
    return sum(each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in names) > 1


def size_of(data: Any) -> int:
    """How many samples a batch holds: the first size of the first tensor in it, else 1."""
    if isinstance(data, Tensor):
        return len(data) if data.dim() else 1
    if isinstance(data, Mapping):
        return next((size_of(value) for value in data.values()), 1)
    if isinstance(data, (list, tuple)):
        return size_of(data[0]) if data and not isinstance(data[0], str) else max(len(data), 1)
    return int(getattr(data, "num_graphs", 1))


def joined(parts: list[Any]) -> Any:
    """The outputs of many batches as one: tensors one after the other, containers entry by entry."""
    first = parts[0]
    if isinstance(first, Tensor):
        return cat(parts) if first.dim() else stack(parts)
    if isinstance(first, Mapping):
        return {key: joined([part[key] for part in parts]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(joined([part[i] for part in parts]) for i in range(len(first)))
    return parts
