"""Resizing and moving pixels against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pyburn.ops.nn as ours
import pytest
import torch

from tests.oracle import check_op

SHAPES = {1: (1, 2, 5), 2: (1, 2, 5, 6), 3: (1, 1, 3, 4, 5)}
TARGETS: list[dict[str, Any]] = [
    {"size": 7},
    {"size": 3},
    {"scale_factor": 1.7},
    {"scale_factor": 0.6},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
]


def of(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else ours


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize(("mode", "n"), [("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)])
@pytest.mark.parametrize("align_corners", [None, True])
@pytest.mark.parametrize("target", TARGETS)
def test_smooth_modes(mode: str, n: int, align_corners: bool | None, target: dict[str, Any]) -> None:
    def resized(lib: Any, x: Any) -> Any:
        return of(lib).interpolate(x, mode=mode, align_corners=align_corners, **target)

    check_op(resized, normal(*SHAPES[n]), gradgrad=True, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area"])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_other_modes(mode: str, n: int, target: dict[str, Any]) -> None:
    check_op(lambda lib, x: of(lib).interpolate(x, mode=mode, **target), normal(*SHAPES[n]), gradgrad=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [3, 4, 9])
def test_antialias(mode: str, size: int) -> None:
    def resized(lib: Any, x: Any) -> Any:
        return of(lib).interpolate(x, size=size, mode=mode, antialias=True)

    check_op(resized, normal(1, 2, 8, 7), rtol=1e-4, atol=1e-4)


def test_pixels_between_channels_and_places() -> None:
    check_op(lambda lib, x: of(lib).pixel_shuffle(x, 2), normal(2, 8, 3, 4), gradgrad=True)
    check_op(lambda lib, x: of(lib).pixel_unshuffle(x, 2), normal(2, 2, 4, 6), gradgrad=True)
    check_op(lambda lib, x: of(lib).channel_shuffle(x, 2), normal(2, 4, 3), grad=False)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ValueError),
        ({"size": 2, "scale_factor": 2.0}, ValueError),
        ({"size": 0}, RuntimeError),
        ({"size": 4, "mode": "linear"}, NotImplementedError),
        ({"size": 4, "mode": "nearest", "align_corners": True}, ValueError),
    ],
)
def test_contradictions_are_named(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ours.interpolate(pyburn.zeros(1, 1, 4, 4), **arguments)


def test_a_factor_of_one_still_copies():
    for lib in (torch, pyburn):
        x = lib.ones(1, 4, 2, 2)
        results = [
            lib.pixel_shuffle(x, 1),
            lib.pixel_unshuffle(x, 1),
            x.repeat_interleave(1, 1),
            lib.ones(1).repeat_interleave(3),
        ]
        for result in results:
            result.add_(1)
        assert x.sum().item() == 16.0


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "antialias", "corners", "factor"])
@pytest.mark.parametrize(("old", "new"), [((2, 640), (2, 1920)), ((2000, 2), (333, 2)), ((224, 5), (1000, 7))])
def test_places_in_large_images_are_torchs(mode, old, new):
    """In float32 the thousandth place is off by its last digit: torch's own digit is wanted."""
    named = {"antialias": "bilinear", "corners": "bilinear", "factor": "bilinear"}
    settings = {"mode": named.get(mode, mode), "antialias": mode == "antialias"}
    settings |= {"align_corners": True} if mode == "corners" else {}
    if mode == "factor":
        settings |= {"scale_factor": (new[0] / old[0] + 0.01, new[1] / old[1] + 0.003)}
    else:
        settings |= {"size": new}
    image = torch.randn(1, 1, *old, generator=torch.Generator().manual_seed(1))
    expected = torch.nn.functional.interpolate(image, **settings)
    found = pyburn.nn.functional.interpolate(pyburn.from_numpy(image.numpy()), **settings)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=4e-6)


@pytest.mark.parametrize("factor", [1.0, 1.1, 1.19, 2.1, 0.95])
@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("linear", (1, 1, 5)),
        ("bilinear", (1, 1, 5, 4)),
        ("trilinear", (1, 1, 3, 4, 5)),
        ("bicubic", (1, 1, 5, 4)),
        ("bilinear aa", (1, 1, 5, 4)),
        ("bicubic aa", (1, 1, 5, 4)),
        ("nearest", (1, 1, 5, 4)),
        ("nearest-exact", (1, 1, 5, 4)),
    ],
)
def test_a_factor_that_changes_no_size(mode, shape, factor):
    """A dimension that stays as long as it was is copied in most modes, though the factor is not 1."""
    image = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    settings = {"scale_factor": factor, "mode": mode.removesuffix(" aa"), "antialias": mode.endswith(" aa")}
    expected = torch.nn.functional.interpolate(image, **settings)
    found = pyburn.nn.functional.interpolate(pyburn.from_numpy(image.numpy()), **settings)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=2e-6)


@pytest.mark.parametrize("factor", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64", "complex128"])
def test_lines_of_pixels_between_each_other(factor, dtype):
    x = (normal(2, 2 * factor**2, 40, 67) * 20).astype(dtype)
    check_op(lambda lib, x: (torch.nn.functional if lib is torch else ours).pixel_shuffle(x, factor), x)
    check_op(lambda lib, x: (torch.nn.functional if lib is torch else ours).pixel_shuffle(x[..., 3:], factor), x)
