"""torch.distributed.optim: with one process there is nothing to split."""

from typing import Any

from pyburn._absent import absent_class

ZeroRedundancyOptimizer: Any = absent_class(
    "distributed.optim.ZeroRedundancyOptimizer", "pyburn computes in one process", "use the optimizer itself"
)
