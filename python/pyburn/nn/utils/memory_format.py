"""Memory formats of convolution weights, which are accepted and change nothing."""

from __future__ import annotations

from typing import Any, TypeVar

from pyburn.nn.module import Module

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """The module as it is: the engine chooses the layout that it computes with."""
    return module


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """The module as it is: the engine chooses the layout that it computes with."""
    return module
