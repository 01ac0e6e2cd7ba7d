"""The loader: batches of a dataset in order, prepared ahead by threads."""

from __future__ import annotations

import copy
import itertools
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from pyburn._core import _own_generator, int64
from pyburn.data._draws import Draws, Stream
from pyburn.data.collate import default_collate, default_convert
from pyburn.data.dataset import Dataset, Indexed, IterableDataset
from pyburn.data.rows import rows_at_once
from pyburn.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from pyburn.ops import empty

T_co = TypeVar("T_co", covariant=True)
_local = threading.local()
_Queue = queue.SimpleQueue[Any]
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class WorkerInfo(NamedTuple):
    """Which worker is asking: its number, how many there are, its seed and the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """What a worker is, when called inside of one while it fetches samples; None elsewhere.

    Example:
        >>> import pyburn
        >>> pyburn.data.get_worker_info() is None
        True
    """
    return getattr(_local, "info", None)


class DataLoader(Generic[T_co]):
    """Goes over a dataset in batches.

    Args:
        dataset: Anything with `__getitem__` and `__len__`, or an IterableDataset.
        batch_size: How many samples are in a batch; None for single samples.
        shuffle: Whether the order is random, anew for each epoch.
        sampler: The order of the indices, instead of `shuffle`.
        batch_sampler: The lists of indices, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: How many threads prepare batches ahead; 0 for none.
        collate_fn: What makes a batch of a list of samples; `default_collate` when left out.
        pin_memory: Accepted for torch's sake.
        drop_last: Whether a last batch that is smaller is left out.
        timeout: How many seconds a batch may take with workers; 0 for as long as it needs.
        worker_init_fn: Called in each worker with its number before it begins.
        multiprocessing_context: Accepted for torch's sake.
        generator: Where random orders and the workers' seeds come from.
        prefetch_factor: How many batches each worker prepares ahead, 2 when left out.
        persistent_workers: Whether the workers stay alive between epochs.
        pin_memory_device: Accepted for torch's sake.
        in_order: Accepted for torch's sake; batches always come in order.

    Differs from torch:
        Workers are threads of this process, not processes: they share the dataset and the global
        random generator, need no pickling, and run at once where the dataset releases the GIL, as
        reading files and pyburn's ops do.

    Example:
        >>> import pyburn
        >>> loader = pyburn.data.DataLoader(range(5), batch_size=2)
        >>> list(loader), len(loader)
        ([tensor([0, 1]), tensor([2, 3]), tensor([4])], 3)
    """

    _ready = False
    _kept: _Threads | None = None

    def __init__(
        self,
        dataset: Dataset[T_co] | Indexed[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset: Any = dataset
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self._draws = Draws()
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Nothing; the attribute is set, unless the batches depend on it."""
        if self._ready and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _default_sampler(self, shuffle: bool, generator: Any) -> Iterable[Any]:
        if self._streams:
            return itertools.repeat(None)
        return RandomSampler(self.dataset, generator=generator) if shuffle else SequentialSampler(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch."""
        if self._kept is not None:
            return self._kept.begin()
        # torch draws the workers' seed before the order, also without workers: so both orders agree.
        seed = int(empty((), dtype=int64).random_(generator=self.generator).item())
        if self.num_workers == 0:
            return self._without_workers()
        # A copy, so that the threads do not keep the loader alive that ends them.
        threads = _Threads(copy.copy(self), seed)
        if self.persistent_workers:
            self._kept = threads
        return threads.begin()

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _dataset_kind(self) -> int:
        return int(self._streams)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _index_lists(self) -> Iterator[Any]:
        return iter(self._index_sampler)

    def _without_workers(self) -> Iterator[Any]:
        fetch = _fetcher(self)
        for indices in self._index_lists():
            try:
                batch = fetch(indices)
            except _EndOfStream:
                return
            yield batch

    def __len__(self) -> int:
        """How many batches an epoch has."""
        if not self._streams:
            return len(self._index_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified with num_workers > 0; leave it out.")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError("prefetch_factor option should be positive")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


class _EndOfStream(Exception):
    """A stream has no more samples; its own StopIteration could not be told from a dataset's mistake."""


def _fetcher(loader: DataLoader[Any]) -> Callable[[Any], Any]:
    """A function from indices to a batch; for a stream it holds the iterator."""
    dataset, collate, batched = loader.dataset, loader.collate_fn, loader.batch_sampler is not None
    if isinstance(dataset, IterableDataset):
        return _stream_fetcher(iter(dataset), collate, batched, loader.drop_last)
    many = getattr(dataset, "__getitems__", None) if batched else None
    rows = rows_at_once(dataset, collate) if batched else None

    def fetch(indices: Any) -> Any:
        if rows is not None and (batch := rows(indices)) is not None:
            return batch
        if many is not None:
            return collate(many(indices))
        return collate([dataset[i] for i in indices] if batched else dataset[indices])

    return fetch


def _stream_fetcher(
    samples: Iterator[Any], collate: Callable[[Any], Any], batched: bool, drop_last: bool
) -> Callable[[Any], Any]:
    def fetch(places: Any) -> Any:
        if not batched:
            for sample in samples:
                return collate(sample)
            raise _EndOfStream
        batch = list(itertools.islice(samples, len(places)))
        if not batch or (drop_last and len(batch) < len(places)):
            raise _EndOfStream
        return collate(batch)

    return fetch


class _Worker:
    """A thread that turns lists of indices into batches, in the order in which it gets them."""

    def __init__(self, loader: DataLoader[Any], info: WorkerInfo, stream: Stream | None) -> None:
        self.tasks: _Queue = queue.SimpleQueue()
        self.results: _Queue = queue.SimpleQueue()
        # The thread knows the queues but not this object, so that dropping the iterator ends it.
        thread = threading.Thread(
            target=_work,
            args=(loader, info, stream, self.tasks, self.results),
            name=f"pyburn-data-{info.id}",
            daemon=True,
        )
        thread.start()


_TURN = 0.1  # seconds
_STOP = object()
_BEGIN = object()


def _work(loader: DataLoader[Any], info: WorkerInfo, stream: Stream | None, tasks: _Queue, results: _Queue) -> None:
    _local.info = info
    _own_generator(info.seed)
    fetch: Callable[[Any], Any] | None = None
    failure: BaseException | None = None
    try:
        if loader.worker_init_fn is not None:
            (loader.worker_init_fn if stream is None else stream.begun(loader.worker_init_fn))(info.id)
    except BaseException as error:
        failure = error
    while (task := tasks.get()) is not _STOP:
        try:
            if failure is not None:
                raise failure
            if task is _BEGIN or fetch is None:
                fetch = _fetcher(loader)
            if task is not _BEGIN:
                results.put((fetch(task) if stream is None else stream.fetch(fetch, task), None))
        except BaseException as error:
            # Whatever it is, even a SystemExit: the caller waits for an answer.
            if task is _BEGIN:
                failure = error
            else:
                results.put((None, error))


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.tasks.put(_STOP)


def _wait(results: _Queue, timeout: float | None) -> Any:
    """The next result, waited for in short turns.

    A signal that arrives just before a thread begins to wait does not wake it: in one long wait, Ctrl-C would be lost.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _TURN if end is None else min(_TURN, end - time.monotonic())
        try:
            return results.get(timeout=max(left, 0.0))
        except queue.Empty:
            if end is not None and time.monotonic() >= end:
                raise


class _Threads:
    """Batches from several workers: batch k of an epoch comes from worker k modulo their number."""

    def __init__(self, loader: DataLoader[Any], seed: int) -> None:
        count = loader.num_workers
        self.timeout = loader.timeout or None
        self.ahead = count * (loader.prefetch_factor or 2)
        self.keep = loader.persistent_workers
        self.loader = loader
        infos = [WorkerInfo(i, count, seed + i, loader.dataset) for i in range(count)]
        # A loader inside a worker draws what that worker draws; the samples of a stream cannot be read again.
        plain = get_worker_info() is not None or isinstance(loader.dataset, IterableDataset)
        self.draws = Draws(False) if plain else loader._draws
        self.draws.begin(count)
        self.workers = [_Worker(loader, info, None if plain else Stream(self.draws, seed, info.id)) for info in infos]
        self.asked: list[int] = []
        self._finalizer = weakref.finalize(self, _stop, self.workers)

    def begin(self) -> _Threads:
        """These threads, at the start of an epoch; what was asked for in one that was left is thrown away."""
        for turn in self.asked:
            _wait(self.workers[turn].results, None)
        self.asked, self.ended = [], set[int]()
        self.turns = itertools.cycle(range(len(self.workers)))
        self.indices = self.loader._index_lists()
        for worker in self.workers:
            worker.tasks.put(_BEGIN)
        for _ in range(self.ahead):
            self._ask()
        return self

    def _ask(self) -> None:
        """Nothing; the next worker that has samples left is given the next indices, if there are any."""
        if len(self.ended) == len(self.workers):
            return
        turn = next(turn for turn in self.turns if turn not in self.ended)
        for indices in self.indices:
            self.workers[turn].tasks.put(indices)
            self.asked.append(turn)
            return

    def __iter__(self) -> _Threads:
        return self

    def __next__(self) -> Any:
        while self.asked:
            turn = self.asked.pop(0)
            try:
                batch, error = _wait(self.workers[turn].results, self.timeout)
            except queue.Empty:
                self._finalizer()
                raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds") from None
            if isinstance(error, _EndOfStream):
                self.ended.add(turn)
                self._ask()
                continue
            self._ask()
            self.draws.delivered()
            if error is not None:
                error.add_note(f"in DataLoader worker {turn}, a thread")
                raise error
            return batch
        if not self.keep:
            self._finalizer()
        raise StopIteration
