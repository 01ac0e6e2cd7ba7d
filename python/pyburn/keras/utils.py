"""Small helpers: labels, seeds, sequences, custom objects."""

from __future__ import annotations

import random
from collections.abc import Sequence as _Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras._naming import forget_names
from pyburn.keras._registry import (
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
    serialize_keras_object,
)
from pyburn.keras.callbacks.progress import Progbar
from pyburn.keras.config import (
    disable_interactive_logging,
    enable_interactive_logging,
    is_interactive_logging_enabled,
)
from pyburn.keras.folders import (
    image_dataset_from_directory,
    text_dataset_from_directory,
    timeseries_dataset_from_array,
)
from pyburn.keras.images import array_to_img, img_to_array, load_img, save_img
from pyburn.keras.symbolic import is_keras_tensor
from pyburn.keras.training.feeding import (
    PyDataset,
    Sequence,
    pack_x_y_sample_weight,
    unpack_x_y_sample_weight,
)

__all__ = [
    "CustomObjectScope",
    "Progbar",
    "PyDataset",
    "Sequence",
    "array_to_img",
    "clear_session",
    "custom_object_scope",
    "deserialize_keras_object",
    "disable_interactive_logging",
    "enable_interactive_logging",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "image_dataset_from_directory",
    "img_to_array",
    "is_interactive_logging_enabled",
    "is_keras_tensor",
    "load_img",
    "normalize",
    "pack_x_y_sample_weight",
    "pad_sequences",
    "register_keras_serializable",
    "save_img",
    "serialize_keras_object",
    "set_random_seed",
    "split_dataset",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
    "to_categorical",
    "unpack_x_y_sample_weight",
]

CustomObjectScope = custom_object_scope


def clear_session(free_memory: bool = True) -> None:
    """Nothing; layers are numbered anew."""
    forget_names()


def set_random_seed(seed: int) -> None:
    """Nothing; Python, numpy and pyburn draw the same numbers from now on each time.

    Example:
        >>> import pyburn
        >>> set_random_seed(3); a = pyburn.rand(1)
        >>> set_random_seed(3); bool(a == pyburn.rand(1))
        True
    """
    random.seed(seed)
    ops.manual_seed(seed)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed(seed)


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """One-hot rows of class numbers; an array for an array, a tensor for a tensor.

    Example:
        >>> import pyburn
        >>> to_categorical(pyburn.tensor([0, 2]))
        tensor([[1., 0., 0.], [0., 0., 1.]])
    """
    given = x if isinstance(x, Tensor) else ops.as_tensor(x)
    label = given.long()
    if label.dim() > 1 and label.shape[-1] == 1:
        label = label.squeeze(-1)
    classes = int(label.max()) + 1 if num_classes is None else num_classes
    if label.numel() and (int(label.min()) < 0 or int(label.max()) >= classes):
        raise ValueError(
            f"to_categorical: labels go from {int(label.min())} to {int(label.max())}, but must be between 0 and "
            f"{classes - 1}"
        )
    made = ops.zeros(*label.shape, classes, device=label.device).scatter_(-1, label.unsqueeze(-1), 1.0)
    return made if isinstance(x, Tensor) else made.numpy()


def normalize(x: Any, axis: int = -1, order: float = 2) -> Any:
    """`x` with norm 1 along `axis`."""
    given = x if isinstance(x, Tensor) else ops.as_tensor(x)
    given = given if given.is_floating_point() else given.float()
    norms = given.norm(order, axis, keepdim=True)
    made = given / ops.where(norms == 0, ops.ones_like(norms), norms)
    return made if isinstance(x, Tensor) else made.numpy()


def pad_sequences(
    sequences: _Sequence[_Sequence[Any]],
    maxlen: int | None = None,
    dtype: str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> Any:
    """An array of sequences of one length, padded and cut.

    Args:
        sequences: Lists of numbers.
        maxlen: The length; that of the longest when left out.
        dtype: The dtype of the array.
        padding: "pre" or "post".
        truncating: "pre" or "post": where longer ones are cut.
        value: What stands in the padding.

    Example:
        >>> pad_sequences([[1], [2, 3]]).tolist()
        [[0, 1], [2, 3]]
    """
    for name, where in (("padding", padding), ("truncating", truncating)):
        if where not in ("pre", "post"):
            raise ValueError(f"pad_sequences: {name} is {where!r}, but must be 'pre' or 'post'")
    import numpy

    rows = [numpy.asarray(each, dtype=dtype) for each in sequences]
    length = max((len(row) for row in rows), default=0) if maxlen is None else maxlen
    tail = next((row.shape[1:] for row in rows if len(row)), ())
    made = numpy.full((len(rows), length, *tail), value, dtype=dtype)
    for place, row in enumerate(rows):
        cut = row[len(row) - length :] if truncating == "pre" and len(row) > length else row[:length]
        if len(cut) and padding == "post":
            made[place, : len(cut)] = cut
        elif len(cut):
            made[place, -len(cut) :] = cut
    return made


def split_dataset(
    dataset: Any, left_size: Any = None, right_size: Any = None, shuffle: bool = False, seed: Any = None
) -> Any:
    """Two parts of arrays (or a tuple of arrays): sizes are numbers of samples or shares."""
    parts = dataset if isinstance(dataset, (tuple, list)) else (dataset,)
    count = len(parts[0])
    left = _size(left_size, count)
    right = _size(right_size, count)
    left = count - right if left is None and right is not None else left
    if left is None:
        raise ValueError("split_dataset: give left_size or right_size")
    right = count - left if right is None else right
    order = list(range(count))
    if shuffle:
        random.Random(seed).shuffle(order)

    def part(which: list[int]) -> Any:
        made = tuple(each[which] for each in parts)
        return made if isinstance(dataset, (tuple, list)) else made[0]

    return part(order[:left]), part(order[left : left + right])


def _size(given: Any, count: int) -> int | None:
    return None if given is None else int(given * count) if isinstance(given, float) else int(given)
