"""Layers over images leave their results in memory as torch's do: with channels last if they were given so."""

from __future__ import annotations

import pyburn
import pytest
import torch

from oracle import Case, check_op

FUNCTIONS = {
    "conv2d": lambda F, x, w: F.conv2d(x, w, padding=1, stride=2),
    "conv2d same": lambda F, x, w: F.conv2d(x, w, padding="same"),
    "conv2d depthwise": lambda F, x, w: F.conv2d(x, w[:, :1], groups=6),
    "conv_transpose2d": lambda F, x, w: F.conv_transpose2d(x, w),
    "max_pool2d": lambda F, x, w: F.max_pool2d(x, 2),
    "max_pool2d indices": lambda F, x, w: list(F.max_pool2d(x, 2, return_indices=True)),
    "avg_pool2d": lambda F, x, w: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda F, x, w: F.adaptive_avg_pool2d(x, 3),
    "adaptive_max_pool2d": lambda F, x, w: F.adaptive_max_pool2d(x, 3),
    "nearest": lambda F, x, w: F.interpolate(x, scale_factor=2),
    "bilinear": lambda F, x, w: F.interpolate(x, size=5, mode="bilinear", antialias=True),
    "bicubic": lambda F, x, w: F.interpolate(x, size=11, mode="bicubic"),
    "group_norm": lambda F, x, w: F.group_norm(x, 2),
    "pad": lambda F, x, w: F.pad(x, (1, 2, 0, 1)),
}


@pytest.mark.parametrize("order", ["rows", "channels last", "a view"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_results_lie_in_memory_as_torchs(function, order):
    torch.manual_seed(0)
    if order == "rows":
        x = torch.randn(2, 6, 8, 7)
    elif order == "channels last":
        x = torch.randn(2, 6, 8, 7).contiguous(memory_format=torch.channels_last)
    else:
        x = torch.randn(2, 56, 6).transpose(1, 2).view(2, 6, 8, 7)
    w = Case(torch.randn(6, 6, 3, 3))
    check_op(lambda lib, x, w: function(lib.nn.functional, x, w), Case(x), w, rtol=1e-4, atol=1e-4, same_stride=True)


@pytest.mark.parametrize(
    "x",
    [torch.randn(2, 1, 8, 8), torch.randn(2, 6, 1, 1), torch.randn(2, 8, 6, 8).transpose(1, 2), torch.randn(6, 8, 8)],
)
def test_doubtful_orders_are_torchs(x):
    w = torch.randn(3, x.shape[-3], 1, 1)
    check_op(lambda lib, x, w: lib.conv2d(x, w), Case(x), Case(w), rtol=1e-4, atol=1e-4, same_stride=True)


def test_volumes():
    x = torch.randn(2, 4, 3, 5, 5).contiguous(memory_format=torch.channels_last_3d)
    w = Case(torch.randn(3, 4, 2, 2, 2))
    check_op(lambda lib, x, w: lib.conv3d(x, w), Case(x), w, rtol=1e-4, atol=1e-4, same_stride=True)
    for name in ("avg_pool3d", "max_pool3d"):
        check_op(lambda lib, x, name=name: getattr(lib.nn.functional, name)(x, 2), Case(x), same_stride=True)


@pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
def test_modules_take_a_memory_format(lib):
    nn = lib.nn
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 2))
    model.to(memory_format=lib.channels_last)
    assert model[0].weight.is_contiguous(memory_format=lib.channels_last) and model[3].weight.is_contiguous()
    assert tuple(model[0](lib.ones(2, 3, 4, 4)).stride()) == (16, 1, 8, 4)
    model(lib.ones(2, 3, 4, 4)).sum().backward()
    assert tuple(model[0].weight.grad.stride()) == (27, 1, 9, 3)


def test_dropout_after_a_convolution_drops_torchs_elements():
    def run(lib):
        lib.manual_seed(0)
        tokens = lib.arange(2 * 16 * 4, dtype=lib.float32).view(2, 16, 4) + 1
        image = tokens.transpose(1, 2).view(2, 4, 4, 4)
        return lib.nn.functional.dropout(lib.conv2d(image, lib.ones(4, 1, 1, 1), groups=4), 0.5).tolist()

    assert run(pyburn) == run(torch)
