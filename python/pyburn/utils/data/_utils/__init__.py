"""torch.utils.data._utils, parts of which some projects import."""

from pyburn.utils.data._utils import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]

MP_STATUS_CHECK_INTERVAL = 5.0
