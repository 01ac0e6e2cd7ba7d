"""How a list of samples becomes a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyburn._core import Tensor, float64
from pyburn.ops import as_tensor, stack, tensor

# How samples of further classes are joined: a program may add `cls: function(batch, *, collate_fn_map=None)`.
default_collate_fn_map: dict[Any, Callable[..., Any]] = {}


def default_collate(batch: Sequence[Any]) -> Any:
    """The samples as one: tensors stacked, numbers as a tensor, and dicts, tuples and lists of those.

    Args:
        batch: Samples that are built alike.

    Raises:
        TypeError: The samples are of a kind that cannot be joined.
        RuntimeError: Sequences in the samples differ in length.

    Example:
        >>> import pyburn
        >>> pyburn.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
        {'x': tensor([1., 2.], dtype=pyburn.float64), 'name': ['a', 'b']}
    """
    first = batch[0]
    for kind, join in default_collate_fn_map.items():
        if isinstance(first, kind):
            return join(batch, collate_fn_map=default_collate_fn_map)
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if _is_array(first):
        return stack([as_tensor(value) for value in batch], 0)
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(values) for values in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        return _collate_sequences(first, batch)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def _collate_sequences(first: Sequence[Any], batch: Sequence[Any]) -> Any:
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(values) for values in zip(*batch, strict=True)]
    if isinstance(first, tuple | range):
        return columns  # torch gives a list here, not a tuple
    try:
        return type(first)(columns)  # type: ignore[call-arg]
    except TypeError:
        return columns


def default_convert(data: Any) -> Any:
    """`data` with its arrays as tensors; what a loader does that makes no batches.

    Example:
        >>> import pyburn
        >>> pyburn.data.default_convert(["a", 1])
        ['a', 1]
    """
    if _is_array(data):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        try:
            return type(data)([default_convert(value) for value in data])  # type: ignore[call-arg]
        except TypeError:
            return [default_convert(value) for value in data]
    return data


def _is_array(value: Any) -> bool:
    """Whether it is numpy's, told by its module so that numpy is not imported."""
    if type(value).__module__.partition(".")[0] != "numpy" or not hasattr(value, "__array__"):
        return False
    if value.dtype.kind in "SUO":
        raise TypeError(f"default_collate: a numpy array of dtype {value.dtype} holds no numbers.")
    return True


def _like_mapping(original: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    try:
        return type(original)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
