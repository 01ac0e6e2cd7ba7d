"""The part of a dataset that one of several processes goes over."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sized

from pyburn._core import Generator
from pyburn.data.sampler import Sampler
from pyburn.ops import randperm


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index from `rank` on, in an order that is the same for all processes.

    Args:
        dataset: The dataset.
        num_replicas: How many processes there are; `pyburn.distributed` is asked when left out.
        rank: Which of them this is; likewise.
        shuffle: Whether the order is random.
        seed: What the random order begins with; the same in all processes.
        drop_last: Whether the last indices are left out that not every process gets; else some come twice.

    Example:
        >>> import pyburn
        >>> sampler = pyburn.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
        >>> list(sampler)
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group = importlib.import_module("pyburn.distributed")
            num_replicas = group.get_world_size() if num_replicas is None else num_replicas
            rank = group.get_rank() if rank is None else rank
        assert num_replicas is not None and rank is not None
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        """The indices of this process."""
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(count, generator=generator).tolist()
        else:
            order = list(range(count))
        if count:
            order = (order * math.ceil(self.total_size / count))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        """How many indices this process gets."""
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Nothing; the random order is that of `epoch`."""
        self.epoch = epoch
