"""torch.utils.data._utils.worker: which worker a dataset is read by."""

from pyburn.data.loader import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
