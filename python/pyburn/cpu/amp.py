"""torch.cpu.amp: automatic precision under its old name."""

from pyburn._core import bfloat16, dtype
from pyburn.amp import GradScaler as _GradScaler
from pyburn.amp import autocast as _autocast

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """`pyburn.amp.autocast` for the CPU.

    Example:
        >>> import pyburn
        >>> with autocast():
        ...     (pyburn.ones(2, 2) @ pyburn.ones(2, 2)).dtype
        pyburn.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`pyburn.amp.GradScaler` for the CPU."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
