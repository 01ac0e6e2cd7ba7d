"""Small helpers: labels, seeds, sequences, custom objects."""

from __future__ import annotations

import os
import random
import shutil
import tarfile
from collections.abc import Sequence as _Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.data.download import download_url
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
    as_dtype,
    disable_interactive_logging,
    enable_interactive_logging,
    is_interactive_logging_enabled,
)
from pyburn.keras.datasets import folder
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
    "get_file",
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
    "plot_model",
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


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: str | None = None,
    force_download: bool = False,
) -> str:
    """The path of a file that is fetched from `origin` unless it is there; of its folder when it is unpacked.

    Args:
        fname: Its name; the last part of the address when left out.
        origin: Where it comes from.
        untar: The same as `extract`.
        md5_hash: The same as `file_hash`.
        file_hash: Its checksum: md5, sha1 or sha256 by its length.
        cache_subdir: The folder in `cache_dir`.
        hash_algorithm: Accepted for Keras's sake: the length of the checksum says which.
        extract: Whether an archive (tar or zip) is unpacked.
        archive_format: Accepted for Keras's sake: the file says which.
        cache_dir: `$KERAS_HOME`, or `~/.keras`, when left out.
        force_download: Whether a file that is there is fetched again.
    """
    if origin is None:
        raise ValueError("get_file: give origin, the address that the file comes from")
    name = os.path.basename(fname or origin.split("?")[0])
    root = os.path.join(cache_dir or folder(), cache_subdir)
    if force_download and os.path.exists(os.path.join(root, name)):
        os.remove(os.path.join(root, name))
    path = download_url(origin, root, name, file_hash or md5_hash)
    if not (extract or untar):
        return path
    target = f"{path}_extracted"
    if not os.path.isdir(target):
        if tarfile.is_tarfile(path):
            shutil.unpack_archive(path, target, "tar", filter="data")  # no links or names that lead out of the folder
        else:
            shutil.unpack_archive(path, target)
    return target


def plot_model(
    model: Any,
    to_file: str = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = False,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    **kwargs: Any,
) -> Any:
    """The graph of a model, which is also drawn into a file.

    Args:
        model: The model, built.
        to_file: The picture, `.png` or `.svg`.
        show_shapes: Accepted for Keras's sake, as are the rest: shapes stand at the lines, names in the boxes.
        show_dtype: Accepted for Keras's sake.
        show_layer_names: Accepted for Keras's sake.
        rankdir: Accepted for Keras's sake.
        expand_nested: Whether the layers of models inside are drawn.
        dpi: Accepted for Keras's sake.
        show_layer_activations: Accepted for Keras's sake.
        show_trainable: Accepted for Keras's sake.
        **kwargs: Accepted for Keras's sake.
    """
    from pyburn.nn.graph import plot

    if not model.built or not getattr(model, "inputs", None):
        raise ValueError(
            f"{model.name}: plot_model needs the shapes of the inputs; begin the model with Input(shape=...)"
        )
    stand_ins = [
        ops.zeros([2 if size is None else size for size in each.shape], dtype=as_dtype(each.dtype))
        for each in model.inputs
    ]
    given = stand_ins[0] if len(stand_ins) == 1 else stand_ins
    return plot(model, (given,), to_file, depth=None if expand_nested else 1)
