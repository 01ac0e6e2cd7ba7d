"""Batches out of folders and long arrays: `image_dataset_from_directory` and its like, for `fit` and for loops."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyburn import ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras.images import img_to_array, load_img, middle
from pyburn.keras.training.feeding import PyDataset, as_tensors
from pyburn.nn import functional

__all__ = ["image_dataset_from_directory", "text_dataset_from_directory", "timeseries_dataset_from_array"]

IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")


class Dataset(PyDataset):
    """Batches that are made when they are asked for.

    Args:
        count: How many samples there are.
        make: From the numbers of samples to a batch.
        batch_size: How many samples a batch has.
        shuffle: Whether each epoch goes through them in a new order.
        seed: The seed of these orders.
    """

    class_names: list[str]
    file_paths: list[str]

    def __init__(
        self, count: int, make: Callable[[list[int]], Any], batch_size: int, shuffle: bool = False, seed: Any = None
    ) -> None:
        super().__init__()
        self._make, self._batch_size, self._shuffle = make, batch_size, shuffle
        self._random = importlib.import_module("random").Random(seed)
        self._order = list(range(count))
        self.on_epoch_end()

    def on_epoch_end(self) -> None:
        """Nothing; the next epoch has another order."""
        if self._shuffle:
            self._random.shuffle(self._order)

    def __len__(self) -> int:
        return math.ceil(len(self._order) / self._batch_size)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"there is no batch {index}: there are {len(self)}")
        return self._make(self._order[index * self._batch_size : (index + 1) * self._batch_size])

    def __iter__(self) -> Iterator[Any]:
        """All batches, once; the next time in another order if they are shuffled."""
        for index in range(len(self)):
            yield self[index]
        self.on_epoch_end()

    def map(self, function: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """The same with `function` of the parts of each batch."""

        def made(places: list[int]) -> Any:
            batch = self._make(places)
            return function(*batch) if isinstance(batch, tuple) else function(batch)

        return self._with(made, self._order)

    def take(self, count: int) -> Dataset:
        """The first batches only."""
        return self._with(self._make, self._order[: count * self._batch_size])

    def skip(self, count: int) -> Dataset:
        """All but the first batches."""
        return self._with(self._make, self._order[count * self._batch_size :])

    def prefetch(self, buffer_size: Any = None) -> Dataset:
        """The same; accepted for the sake of programs that were written for tf.data, as is `cache`."""
        return self

    def cache(self, filename: Any = None) -> Dataset:
        """The same."""
        return self

    def _with(self, make: Callable[[list[int]], Any], order: list[int]) -> Dataset:
        made = Dataset(0, make, self._batch_size, self._shuffle)
        made._order, made._random = list(order), self._random
        for name in ("class_names", "file_paths"):
            if hasattr(self, name):
                setattr(made, name, getattr(self, name))
        return made


def _files(folder: str, endings: tuple[str, ...], follow_links: bool) -> list[str]:
    found = []
    for place, _, names in sorted(os.walk(folder, followlinks=follow_links)):
        found += [os.path.join(place, name) for name in sorted(names) if name.lower().endswith(endings)]
    return found


def _indexed(
    directory: str, labels: Any, class_names: Any, endings: tuple[str, ...], follow_links: bool
) -> tuple[list[str], list[int] | None, list[str]]:
    """The files, the number of the class of each, and the names of the classes."""
    if not os.path.isdir(directory):
        raise ValueError(f"{directory!r} is no folder")
    if labels is not None and labels != "inferred":
        paths = _files(directory, endings, follow_links)
        if len(labels) != len(paths):
            raise ValueError(f"labels has {len(labels)} entries, but {directory!r} has {len(paths)} files")
        return paths, [int(each) for each in labels], [str(each) for each in sorted(set(labels))]
    if labels is None:
        return _files(directory, endings, follow_links), None, []
    present = [name for name in sorted(os.listdir(directory)) if os.path.isdir(os.path.join(directory, name))]
    present = [name for name in present if not name.startswith(".")]
    if class_names is not None and not set(class_names) <= set(present):
        raise ValueError(f"class_names is {list(class_names)}, but the folders of {directory!r} are {present}")
    chosen = list(class_names or present)
    paths, numbers = [], []
    for number, name in enumerate(chosen):
        own = _files(os.path.join(directory, name), endings, follow_links)
        paths += own
        numbers += [number] * len(own)
    return paths, numbers, chosen


def _split(
    paths: list[str], numbers: list[int] | None, shuffle: bool, seed: Any, share: float | None, subset: str | None
) -> list[tuple[list[str], list[int] | None]]:
    """The files and numbers of what was asked for: all, training, validation, or both of these."""
    if (share is None) != (subset is None):
        raise ValueError("validation_split and subset must be given together")
    if subset not in (None, "training", "validation", "both"):
        raise ValueError(f"subset is {subset!r}, but must be 'training', 'validation' or 'both'")
    if share is not None and not 0 < share < 1:
        raise ValueError(f"validation_split is {share}, but must be between 0 and 1")
    if share is not None and shuffle and seed is None:
        raise ValueError(
            "validation_split with shuffle=True needs a seed, so that training and validation have no file in common; "
            "give seed= the same number for both, or shuffle=False"
        )
    order = list(range(len(paths)))
    if shuffle:
        # numpy's order, so that the same seed splits as Keras does.
        numpy = importlib.import_module("numpy")
        numpy.random.RandomState(numpy.random.randint(1e6) if seed is None else seed).shuffle(order)
    cut = len(order) - int((share or 0) * len(order))
    parts = {None: [order], "training": [order[:cut]], "validation": [order[cut:]], "both": [order[:cut], order[cut:]]}
    return [
        ([paths[place] for place in part], None if numbers is None else [numbers[place] for place in part])
        for part in parts[subset]
    ]


def _labels(numbers: list[int], mode: str, classes: int) -> Tensor:
    made = ops.tensor(numbers)
    if mode == "categorical":
        return functional.one_hot(made, classes).float()
    return made.float().unsqueeze(-1) if mode == "binary" else made.int()


def _datasets(
    parts: list[tuple[list[str], list[int] | None]],
    mode: str | None,
    classes: list[str],
    read: Callable[[list[str]], Any],
    batch_size: int | None,
    shuffle: bool,
    seed: Any,
) -> Any:
    if mode not in (None, "int", "categorical", "binary"):
        raise ValueError(f"label_mode is {mode!r}, but must be 'int', 'categorical', 'binary' or None")
    if mode == "binary" and len(classes) != 2:
        raise ValueError(f"label_mode='binary' needs exactly 2 classes, but there are {len(classes)}: {classes}")
    made = []
    for paths, numbers in parts:
        if not paths:
            raise ValueError("no files were found for this dataset; look at the folder, the endings and the split")

        def batch(places: list[int], paths: list[str] = paths, numbers: list[int] | None = numbers) -> Any:
            x = read([paths[place] for place in places])
            if numbers is None or mode is None:
                return x
            return x, _labels([numbers[place] for place in places], mode, len(classes))

        dataset = Dataset(len(paths), batch, batch_size or 1, shuffle, seed)
        dataset.class_names, dataset.file_paths = classes, paths
        made.append(dataset)
    return made if len(made) > 1 else made[0]


def _fitted(image: Tensor, size: tuple[int, int], interpolation: str, crop: bool, pad: bool) -> Tensor:  # (H, W, C)
    H, W = image.shape[:2]
    if crop:
        left, top, right, bottom = middle(H, W, *size)
        image = image[top:bottom, left:right]
    if pad:
        high, wide = max(H, int(W * size[0] / size[1])), max(W, int(H * size[1] / size[0]))
        top, left = (high - H) // 2, (wide - W) // 2
        image = functional.pad(image, (0, 0, left, wide - W - left, top, high - H - top))
    planes = image.permute(2, 0, 1).unsqueeze(0)  # (1, C, H, W)
    if interpolation == "nearest":
        made = functional.interpolate(planes, size=size, mode="nearest-exact")
    else:
        made = functional.interpolate(planes, size=size, mode=interpolation, align_corners=False)
    return made.squeeze(0).permute(1, 2, 0)


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: tuple[int, int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    verbose: bool = True,
) -> Any:
    """Batches of images and labels out of a folder that has a folder for each class.

    Args:
        directory: The folder.
        labels: "inferred" from the folders, a number for each file in the order of their names, or None.
        label_mode: "int", "categorical" for rows of zeros and ones, "binary" for one float, or None for no labels.
        class_names: The folders that count, in this order; all, sorted, when left out.
        color_mode: "rgb", "rgba" or "grayscale".
        batch_size: How many images a batch has.
        image_size: Their height and width.
        shuffle: Whether each epoch goes through them in a new order.
        seed: The seed of the orders and of the split.
        validation_split: The share that is kept for validation.
        subset: "training", "validation", or "both" for two datasets.
        interpolation: "bilinear", "nearest", "bicubic" or "area".
        follow_links: Whether links to folders are followed.
        crop_to_aspect_ratio: Whether what does not fit is cut off around the middle instead of squeezed.
        pad_to_aspect_ratio: Whether zeros are put around the image instead.
        data_format: Where the channels are; the global setting when left out.
        verbose: Whether the number of files is said.

    Returns:
        A `PyDataset` of (images in floats up to 255, labels), with `class_names`, `file_paths`, `map` and `take`.

    Raises:
        ValueError: The folder, the labels or the split do not fit.
    """
    if color_mode not in ("rgb", "rgba", "grayscale"):
        raise ValueError(f"color_mode is {color_mode!r}, but must be 'rgb', 'rgba' or 'grayscale'")
    if interpolation not in ("bilinear", "nearest", "bicubic", "area"):
        raise ValueError(f"interpolation is {interpolation!r}, but must be bilinear, nearest, bicubic or area")
    first = settings.data_format_of(data_format) == "channels_first"
    size = (int(image_size[0]), int(image_size[1]))

    def read(paths: list[str]) -> Tensor:
        made = []
        for path in paths:
            image = ops.as_tensor(img_to_array(load_img(path, color_mode), "channels_last", "float32"), device="cpu")
            image = _fitted(image, size, interpolation, crop_to_aspect_ratio, pad_to_aspect_ratio)  # (H, W, C)
            made.append(image.permute(2, 0, 1) if first else image)
        return ops.stack(made)

    paths, numbers, classes = _indexed(os.fspath(directory), labels, class_names, IMAGES, follow_links)
    if verbose:
        print(f"Found {len(paths)} files" + (f" belonging to {len(classes)} classes." if classes else "."))
    parts = _split(paths, numbers, shuffle, seed, validation_split, subset)
    return _datasets(parts, label_mode, classes, read, batch_size, shuffle, seed)


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Batches of texts (lists of strings) and labels out of a folder that has a folder of .txt files for each class.

    Args:
        directory: The folder.
        labels: As for `image_dataset_from_directory`, as are the other arguments.
        label_mode: "int", "categorical", "binary" or None.
        class_names: The folders that count, in this order.
        batch_size: How many texts a batch has.
        max_length: The most bytes of a text that are read.
        shuffle: Whether each epoch goes through them in a new order.
        seed: The seed of the orders and of the split.
        validation_split: The share that is kept for validation.
        subset: "training", "validation", or "both".
        follow_links: Whether links to folders are followed.
        verbose: Whether the number of files is said.
    """

    def text(path: str) -> str:
        with open(path, "rb") as file:
            return file.read(-1 if max_length is None else max_length).decode("utf-8", "replace")

    paths, numbers, classes = _indexed(os.fspath(directory), labels, class_names, (".txt",), follow_links)
    if verbose:
        print(f"Found {len(paths)} files" + (f" belonging to {len(classes)} classes." if classes else "."))
    parts = _split(paths, numbers, shuffle, seed, validation_split, subset)
    return _datasets(parts, label_mode, classes, lambda own: [text(path) for path in own], batch_size, shuffle, seed)


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
) -> Dataset:
    """Batches of windows of a long array, each with the target at the window's first place.

    Args:
        data: The array; its first dimension is time.
        targets: What belongs to each time, or None.
        sequence_length: How many times a window has.
        sequence_stride: How far the next window begins after this one.
        sampling_rate: How far the times of a window are apart.
        batch_size: How many windows a batch has; None for one window at a time, without a dimension for the batch.
        shuffle: Whether the windows come in a new order each epoch.
        seed: The seed of these orders.
        start_index: The first time that is used.
        end_index: Behind the last one.

    Raises:
        ValueError: A number is not positive, or the array is too short.

    Example:
        >>> import pyburn
        >>> windows = timeseries_dataset_from_array(pyburn.arange(5), None, sequence_length=3)
        >>> windows[0].tolist()
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    for name, value in (("length", sequence_length), ("stride", sequence_stride)):
        if value <= 0:
            raise ValueError(f"sequence_{name} is {value}, but must be greater than 0")
    if sampling_rate <= 0:
        raise ValueError(f"sampling_rate is {sampling_rate}, but must be greater than 0")
    series = as_tensors(data)[start_index:end_index]
    wanted = None if targets is None else as_tensors(targets)[start_index:end_index]
    count = series.shape[0] - (sequence_length - 1) * sampling_rate
    count = count if wanted is None else min(count, wanted.shape[0])
    if count <= 0:
        raise ValueError(
            f"the data has {series.shape[0]} times, too few for a window of sequence_length={sequence_length} at "
            f"sampling_rate={sampling_rate}"
        )
    starts = list(range(0, count, sequence_stride))
    steps = ops.arange(sequence_length) * sampling_rate

    def batch(places: list[int]) -> Any:
        first = ops.tensor([starts[place] for place in places])
        x = series[first.unsqueeze(-1) + steps]  # (B, sequence_length, ...)
        y = None if wanted is None else wanted[first]
        if batch_size is None:
            x, y = x[0], None if y is None else y[0]
        return x if y is None else (x, y)

    return Dataset(len(starts), batch, batch_size or 1, shuffle, seed)
