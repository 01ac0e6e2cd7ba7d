"""Layers find their function in `nn.functional` when they are called: a replacement there reaches them."""

from __future__ import annotations

from typing import Any

import pyburn
import pytest
import torch

IMAGE, ROWS = (2, 4, 6, 6), (2, 4)
LAYERS: list[tuple[str, str, tuple[Any, ...], tuple[int, ...]]] = [
    ("Linear", "linear", (4, 3), ROWS),
    ("Conv2d", "conv2d", (4, 3, 3), IMAGE),
    ("ConvTranspose2d", "conv_transpose2d", (4, 3, 3), IMAGE),
    ("MaxPool2d", "max_pool2d", (2,), IMAGE),
    ("AvgPool2d", "avg_pool2d", (2,), IMAGE),
    ("LPPool2d", "lp_pool2d", (2, 2), IMAGE),
    ("AdaptiveAvgPool2d", "adaptive_avg_pool2d", (2,), IMAGE),
    ("AdaptiveMaxPool2d", "adaptive_max_pool2d", (2,), IMAGE),
    ("Dropout", "dropout", (0.5,), ROWS),
    ("Dropout2d", "dropout2d", (0.5,), IMAGE),
    ("BatchNorm2d", "batch_norm", (4,), IMAGE),
    ("LayerNorm", "layer_norm", (4,), ROWS),
    ("GroupNorm", "group_norm", (2, 4), IMAGE),
    ("ReLU", "relu", (), ROWS),
    ("GELU", "gelu", (), ROWS),
    ("Softplus", "softplus", (), ROWS),
    ("PixelShuffle", "pixel_shuffle", (2,), IMAGE),
    ("Upsample", "interpolate", (None, 2), IMAGE),
]


@pytest.mark.parametrize(("layer", "function", "settings", "shape"), LAYERS)
@pytest.mark.parametrize("lib", [pyburn, torch])
def test_replaced_functions_are_called(
    monkeypatch: pytest.MonkeyPatch,
    lib: Any,
    layer: str,
    function: str,
    settings: tuple[Any, ...],
    shape: tuple[int, ...],
) -> None:
    module = getattr(lib.nn, layer)(*settings)
    calls: list[tuple[int, ...]] = []

    def replacement(input: Any, *_: Any, **__: Any) -> Any:
        calls.append(tuple(input.shape))
        return input

    monkeypatch.setattr(lib.nn.functional, function, replacement)
    assert tuple(module(lib.ones(*shape)).shape) == shape and calls == [shape]
