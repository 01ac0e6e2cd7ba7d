"""torch.multiprocessing.reductions: what tensors become on their way to another process."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

from pyburn._sharing import init_reductions, rebuild_tensor, reduce_tensor

__all__ = ["ForkingPickler", "init_reductions", "rebuild_tensor", "reduce_tensor"]
