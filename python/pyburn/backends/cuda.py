"""torch.backends.cuda: there is no CUDA; its switches are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    fp32_precision="none",
)
cufft_plan_cache = SimpleNamespace(size=0, max_size=0, clear=lambda: None)
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """False: there is no CUDA in pyburn.

    Example:
        >>> is_built()
        False
    """
    return False


def preferred_linalg_library(backend: Any = None) -> str:
    """The library that was asked for; matrices are solved on the CPU."""
    return "default" if backend is None else str(backend)


def enable_flash_sdp(enabled: bool) -> None:
    """Nothing; attention has one implementation."""
    _attention["flash"] = enabled


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was given."""
    return _attention["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Nothing; attention has one implementation."""
    _attention["mem_efficient"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was given."""
    return _attention["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Nothing; attention has one implementation."""
    _attention["math"] = enabled


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was given."""
    return _attention["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Nothing; attention has one implementation."""
    _attention["cudnn"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was given."""
    return _attention["cudnn"]


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """A block in which these implementations of attention would be allowed; there is one."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)
