"""torch.utils.data.distributed: its sampler under torch's module name."""

from pyburn.data.distributed import DistributedSampler

__all__ = [
    "DistributedSampler",
]
