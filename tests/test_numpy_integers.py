"""Sizes, dims and counts may be numpy's integers wherever torch takes them."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import to_torch

ONE, TWO, THREE = np.int64(1), np.int32(2), np.int64(3)

# Each is called with the library, (2, 3, 4) numbers and an image (1, 1, 8, 8).
CALLS = {
    "flip": lambda lib, x, image: x.flip(ONE),
    "roll": lambda lib, x, image: x.roll(ONE, TWO),
    "repeat_interleave": lambda lib, x, image: x.repeat_interleave(TWO, ONE),
    "split": lambda lib, x, image: x.split([ONE, THREE], 2)[0],
    "tensordot": lambda lib, x, image: lib.tensordot(x, x, ([ONE], [ONE])),
    "norm": lambda lib, x, image: lib.linalg.norm(x, dim=ONE),
    "vector_norm": lambda lib, x, image: lib.linalg.vector_norm(x, TWO, dim=ONE),
    "fftshift": lambda lib, x, image: lib.fft.fftshift(x, dim=ONE),
    "var": lambda lib, x, image: x.var(dim=ONE),
    "conv": lambda lib, x, image: lib.nn.functional.conv2d(image, image[..., :3, :3], None, TWO, ONE, ONE, ONE),
    "max_pool": lambda lib, x, image: lib.nn.functional.max_pool2d(image, TWO, ONE, ONE),
    "avg_pool": lambda lib, x, image: lib.nn.functional.avg_pool2d(image, TWO, ONE),
    "lp_pool": lambda lib, x, image: lib.nn.functional.lp_pool2d(image, TWO, TWO),
    "interpolate": lambda lib, x, image: lib.nn.functional.interpolate(image, scale_factor=TWO),
    "unfold": lambda lib, x, image: lib.nn.functional.unfold(image, THREE),
    "Conv2d": lambda lib, x, image: lib.nn.Conv2d(ONE, TWO, THREE, ONE, ONE)(image),
    "ConvTranspose2d": lambda lib, x, image: lib.nn.ConvTranspose2d(ONE, TWO, THREE, TWO)(image),
    "LayerNorm": lambda lib, x, image: lib.nn.LayerNorm(np.int64(4))(x),
    "MaxPool2d": lambda lib, x, image: lib.nn.MaxPool2d(TWO)(image),
    "AvgPool2d": lambda lib, x, image: lib.nn.AvgPool2d(TWO, TWO)(image),
    "AdaptiveAvgPool1d": lambda lib, x, image: lib.nn.AdaptiveAvgPool1d(ONE)(x),
    "ZeroPad2d": lambda lib, x, image: lib.nn.ZeroPad2d(ONE)(image),
    "ReflectionPad2d": lambda lib, x, image: lib.nn.ReflectionPad2d(ONE)(image),
    "TransformerEncoderLayer": lambda lib, x, image: lib.nn.TransformerEncoderLayer(np.int64(4), TWO, THREE).eval()(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_integers(name):
    found = []
    for lib in (torch, pyburn):
        lib.manual_seed(0)
        found.append(CALLS[name](lib, lib.arange(24.0).reshape(2, 3, 4), lib.arange(64.0).reshape(1, 1, 8, 8)))
    torch.testing.assert_close(to_torch(found[1].detach()), found[0].detach(), rtol=1e-4, atol=1e-4)
