"""torch.cuda.amp: automatic precision under its old name."""

from pyburn.amp import GradScaler as _GradScaler
from pyburn.amp import autocast as _autocast
from pyburn.amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """`pyburn.amp.autocast` for CUDA, of which there is none: the block runs in full precision.

    Example:
        >>> import pyburn
        >>> with autocast(enabled=False):
        ...     (pyburn.ones(2, 2) @ pyburn.ones(2, 2)).dtype
        pyburn.float32
    """

    def __init__(self, enabled: bool = True, dtype: object = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`pyburn.amp.GradScaler` for CUDA, of which there is none: it leaves losses and gradients as they are."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
