"""torch.utils.data._utils.worker: which worker a dataset is read by."""

from __future__ import annotations

from pyburn.data.loader import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "_generate_state", "get_worker_info"]


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four 32-bit numbers by which a worker seeds numpy: those of numpy's own sequence of seeds."""
    import numpy

    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    state: list[int] = numpy.random.SeedSequence(entropy).generate_state(4).tolist()
    return state
