"""Batches of (x, y, sample_weight) out of all that `fit` is given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from pyburn import data, ops
from pyburn._core import Tensor
from pyburn.keras import config as settings
from pyburn.keras.symbolic import flatten, map_structure

__all__ = ["Batches", "PyDataset", "Sequence", "batches_of", "pack_x_y_sample_weight", "unpack_x_y_sample_weight"]


class PyDataset:
    """Batches by number: a subclass has `__len__` and `__getitem__(index)`.

    Args:
        workers: Accepted for Keras's sake.
        use_multiprocessing: Accepted for Keras's sake.
        max_queue_size: Accepted for Keras's sake.
    """

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10) -> None:
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: a PyDataset must define __getitem__(index)")

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None where there is no end."""
        return len(self) if isinstance(self, Sized) else None

    def on_epoch_begin(self) -> None:
        """Nothing; called when an epoch begins."""

    def on_epoch_end(self) -> None:
        """Nothing; called when an epoch is over."""


Sequence = PyDataset


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """A tuple of those that are given."""
    if y is None:
        return x if not isinstance(x, (list, tuple)) else (x,)
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def step_data(batch: Any) -> Any:
    """What a `train_step` or `test_step` is given of a batch: `(x, y)` where there are no weights, as Keras does it.

    Example:
        >>> step_data((1, 2, None)), step_data((1, None, None)), step_data((1, 2, 3))
        ((1, 2), (1,), (1, 2, 3))
    """
    if not isinstance(batch, tuple) or len(batch) != 3 or batch[2] is not None:
        return batch
    return batch[:1] if batch[1] is None else batch[:2]


def unpack_x_y_sample_weight(batch: Any) -> tuple[Any, Any, Any]:
    """(x, y, sample_weight) of what a loader gave; what is not there is None.

    Example:
        >>> unpack_x_y_sample_weight((1, 2))
        (1, 2, None)
    """
    if not isinstance(batch, (list, tuple)):
        return batch, None, None
    if len(batch) > 3:
        raise ValueError(f"a batch must be x, (x, y) or (x, y, sample_weight), but has {len(batch)} parts")
    parts = (*batch, None, None)
    return parts[0], parts[1], parts[2]


def as_tensors(tree: Any) -> Any:
    """A nest of arrays, frames, lists of numbers and tensors as tensors; floats in the default dtype."""
    return map_structure(_tensor, _grouped(tree))


def _grouped(tree: Any) -> Any:
    """Lists of plain numbers, nested or not, as one tensor; lists of arrays stay lists."""
    if isinstance(tree, (list, tuple)) and tree and _is_numbers(tree):
        return ops.tensor(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)(_grouped(each) for each in tree)
    if isinstance(tree, dict):
        return {key: _grouped(value) for key, value in tree.items()}
    return tree


def _is_numbers(tree: Any) -> bool:
    while isinstance(tree, (list, tuple)) and tree:
        tree = tree[0]
    return isinstance(tree, (bool, int, float))


def _tensor(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Tensor):
        value = value.to_numpy() if hasattr(value, "to_numpy") else value
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if kind == "O":
            raise ValueError("fit: the data holds Python objects; convert its columns to numbers first")
        if kind in ("U", "S"):
            raise ValueError(
                "fit: the data holds texts; make numbers of them first, e.g. by keras.layers.TextVectorization (of "
                "texts) or keras.layers.StringLookup (of categories)"
            )
        value = ops.as_tensor(value, device="cpu")
    wanted = settings.as_dtype(settings.floatx())
    return value.to(wanted) if value.is_floating_point() and value.dtype != wanted else value


class Batches:
    """What can be iterated once for each epoch, and gives (x, y, sample_weight).

    Attributes:
        steps: How many batches an epoch has; None where that shows only at its end.
    """

    steps: int | None = None

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def first(self) -> Any:
        """A batch to learn shapes from; it is not lost."""
        return next(iter(self))

    def epoch_ends(self) -> None:
        """Nothing; the source may prepare its next epoch."""


class Arrays(Batches):
    """Batches cut from tensors."""

    def __init__(self, parts: tuple[Any, Any, Any], batch_size: int, shuffle: Any, steps: int | None) -> None:
        self.parts, self.batch_size, self.shuffle = parts, batch_size, shuffle
        sizes = {each.shape[0] for each in flatten(parts) if each is not None}
        if len(sizes) != 1:
            named = {name: [tuple(t.shape) for t in flatten(p)] for name, p in zip("xyw", parts) if p is not None}
            raise ValueError(f"fit: all arrays must have the same number of samples, but the shapes are {named}")
        self.count = sizes.pop()
        whole = math.ceil(self.count / batch_size)
        self.steps = whole if steps is None else min(steps, whole)

    def _cut(self, order: Any) -> Any:
        return map_structure(lambda each: None if each is None else each[order], self.parts)

    def first(self) -> Any:
        return self._cut(slice(0, self.batch_size))

    def __iter__(self) -> Iterator[Any]:
        starts = range(0, self.count, self.batch_size)
        if self.shuffle == "batch":
            starts = [starts[int(place)] for place in ops.randperm(len(starts))]  # type: ignore[assignment]
        order = ops.randperm(self.count, device="cpu") if self.shuffle and self.shuffle != "batch" else None
        for start in itertools.islice(starts, self.steps):
            part = slice(start, start + self.batch_size)
            yield self._cut(part if order is None else order[part])


class Stream(Batches):
    """Batches of something that can be iterated, or of an iterator that goes on from epoch to epoch."""

    def __init__(self, source: Any, steps: int | None) -> None:
        self.source, self.goes_on = source, isinstance(source, Iterator)
        if steps is None and hasattr(source, "__len__"):
            steps = len(source)
        self.steps = steps
        self._limit = steps
        self._waiting: list[Any] = []
        self._kept: Iterator[Any] | None = source if self.goes_on else None

    def first(self) -> Any:
        if not self._waiting:
            iterator = self._kept if self._kept is not None else iter(self.source)
            try:
                batch = next(iterator)
            except StopIteration:
                raise ValueError("fit: there is no data: the source gave no batch") from None
            if not self.goes_on:
                return self._ready(batch)
            self._waiting = [batch]
        return self._ready(self._waiting[0])

    def _ready(self, batch: Any) -> Any:
        return tuple(as_tensors(part) for part in unpack_x_y_sample_weight(batch))

    def __iter__(self) -> Iterator[Any]:
        if self._kept is None and self._limit is not None and not self.goes_on:
            source: Iterator[Any] = iter(self.source)
        else:
            source = self._kept if self._kept is not None else iter(self.source)
        waiting, self._waiting = self._waiting, []
        for batch in itertools.islice(itertools.chain(waiting, source), self._limit):
            yield self._ready(batch)

    def epoch_ends(self) -> None:
        if hasattr(self.source, "on_epoch_end"):
            self.source.on_epoch_end()


class Kept(Batches):
    """The batches of a source that is gone through again and again; those of an iterator are remembered."""

    def __init__(self, inner: Stream) -> None:
        self.inner, self.steps = inner, inner.steps
        self.seen: list[Any] | None = None

    def first(self) -> Any:
        return self.inner.first()

    def __iter__(self) -> Iterator[Any]:
        if not self.inner.goes_on or self.steps is None:
            return iter(self.inner)
        if self.seen is None:
            self.seen = list(self.inner)
        return iter(self.seen)


class Continued(Batches):
    """Batches of a source whose epochs are shorter than it is: each goes on where the one before it ended.

    As in Keras, an epoch ends early where the source does, and the next one begins it anew.
    """

    def __init__(self, inner: Batches, steps: int) -> None:
        self.inner, self.steps = inner, steps
        self.whole = inner.steps if isinstance(inner, Arrays) else _length(inner)
        self._going: Iterator[Any] | None = None
        self._seen = 0

    def first(self) -> Any:
        return self.inner.first()

    def epoch_ends(self) -> None:
        self.inner.epoch_ends()

    def __iter__(self) -> Iterator[Any]:
        if self._going is None:
            self._going, self._seen = iter(self.inner), 0
        for batch in itertools.islice(self._going, self.steps):
            self._seen += 1
            # Keras knows the length, and begins anew as soon as all batches were seen.
            if self._seen == self.whole:
                self._going = None
                yield batch
                return
            yield batch


def _length(inner: Batches) -> int | None:
    source = getattr(inner, "source", None)
    return source.num_batches if isinstance(source, PyDataset) else len(source) if isinstance(source, Sized) else None


class Numbered(Stream):
    """Batches of a PyDataset."""

    def __init__(self, source: Any, steps: int | None, shuffle: bool) -> None:
        super().__init__(source, steps if steps is not None else source.num_batches)
        self.shuffle = shuffle

    def first(self) -> Any:
        return self._ready(self.source[0])

    def __iter__(self) -> Iterator[Any]:
        count = self.source.num_batches
        order: Iterable[int] = itertools.count() if count is None else range(count)
        if self.shuffle and count is not None:
            order = [int(place) for place in ops.randperm(count)]
        for place in itertools.islice(order, self._limit):
            yield self._ready(self.source[place])


class Weighted(Batches):
    """The batches of another source whose samples weigh as their classes do."""

    def __init__(self, inner: Batches, class_weight: Mapping[int, float]) -> None:
        self.inner, self.steps = inner, inner.steps
        size = max(class_weight) + 1
        self.table = ops.tensor([float(class_weight.get(each, 1.0)) for each in range(size)])

    def first(self) -> Any:
        return self.inner.first()

    def epoch_ends(self) -> None:
        self.inner.epoch_ends()

    def __iter__(self) -> Iterator[Any]:
        for x, y, weight in self.inner:
            if not isinstance(y, Tensor):
                raise ValueError("fit: class_weight is only for models with a single output")
            label = y.argmax(-1) if y.dim() > 1 and y.shape[-1] > 1 else y.reshape(y.shape[0], -1)[:, 0]
            label = ops.round(label).long() if label.is_floating_point() else label.long()
            table = self.table.to(y.device)
            own = ops.where(label < len(table), table[ops.clamp(label, max=len(table) - 1)], ops.ones_like(table[:1]))
            yield x, y, own if weight is None else weight * own


def batches_of(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    batch_size: int | None = None,
    steps: int | None = None,
    shuffle: Any = False,
    class_weight: Mapping[int, float] | None = None,
    continues: bool = False,
) -> Batches:
    """The batches of what `fit`, `evaluate` or `predict` was given; with `continues`, epochs of `steps` go on."""
    if batch_size is not None and (isinstance(batch_size, bool) or batch_size != int(batch_size) or batch_size < 1):
        raise ValueError(f"fit: batch_size is {batch_size!r}, but must be a positive whole number, or None")
    if class_weight is not None and not isinstance(class_weight, Mapping):
        raise ValueError(
            f"fit: class_weight is a {type(class_weight).__name__}, but must be a dictionary such as {{0: 1.0, 1: 2.0}}"
        )
    if continues and steps is not None and not isinstance(x, Iterator):
        size = _size_of_steps(x, batch_size, steps)
        found: Batches = Continued(_source(x, y, sample_weight, size, None, shuffle), steps)
    else:
        found = _source(x, y, sample_weight, batch_size, steps, shuffle)
    return found if class_weight is None else Weighted(found, class_weight)


def _source(x: Any, y: Any, sample_weight: Any, batch_size: int | None, steps: int | None, shuffle: Any) -> Batches:
    if isinstance(x, PyDataset):
        _alone(x, y)
        return Numbered(x, steps, bool(shuffle))
    if isinstance(x, data.Dataset) and not isinstance(x, data.DataLoader):
        _alone(x, y)
        stream = isinstance(x, data.IterableDataset)
        x = data.DataLoader(x, batch_size=batch_size or 32, shuffle=None if stream else bool(shuffle))
    if hasattr(x, "shape") or hasattr(x, "to_numpy") or isinstance(x, (list, tuple, dict)):
        parts = (as_tensors(x), as_tensors(y), as_tensors(sample_weight))
        batch_size = _size_of_steps(x, batch_size, steps)
        return Arrays(parts, batch_size or 32, shuffle, steps)
    if isinstance(x, Iterable):
        _alone(x, y)
        return Stream(x, steps)
    raise ValueError(
        f"fit: x is a {type(x).__name__}; give arrays, tensors, a frame, a Dataset, a DataLoader, a PyDataset or a "
        "generator"
    )


def _size_of_steps(x: Any, batch_size: int | None, steps: int | None) -> int | None:
    """The size of batches; as in Keras, steps without one go through all samples of arrays."""
    if batch_size is not None or not steps or not (hasattr(x, "shape") or isinstance(x, (list, tuple, dict))):
        return batch_size
    count = max((each.shape[0] for each in flatten(as_tensors(x)) if each is not None), default=0)
    return max(1, math.ceil(count / steps))


def _alone(x: Any, y: Any) -> None:
    if y is not None:
        raise ValueError(f"fit: y must be left out where x is a {type(x).__name__}, which gives (x, y) itself")


def split_off(parts: tuple[Any, Any, Any], share: float) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """The arrays without their last `share`, and that share."""
    if not isinstance(parts[0], (list, tuple, dict)) and not any(hasattr(parts[0], n) for n in ("shape", "to_numpy")):
        raise ValueError(
            f"fit: validation_split cuts arrays, but x is a {type(parts[0]).__name__}; give validation_data="
        )
    tensors = tuple(as_tensors(part) for part in parts)
    count = flatten(tensors[0])[0].shape[0]
    cut = math.floor(count * (1.0 - share))
    if not 0 < cut < count:
        raise ValueError(
            f"fit: validation_split={share} of {count} samples leaves {cut} for training and {count - cut} for "
            "validation; "
            "give more samples or another split"
        )

    def part(which: slice) -> Any:
        return map_structure(lambda each: None if each is None else each[which], tensors)

    return part(slice(0, cut)), part(slice(cut, None))
