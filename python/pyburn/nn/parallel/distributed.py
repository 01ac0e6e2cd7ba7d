"""torch's name of the module that holds DistributedDataParallel."""

from pyburn.nn.parallel import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
