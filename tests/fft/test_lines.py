"""Transforms along and across memory, of even and odd lengths, real and complex: torch's numbers."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import from_torch, to_torch


@pytest.mark.parametrize("length", [2, 7, 16, 50, 125, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("norm", ["backward", "ortho"])
def test_transforms(length, dtype, dim, norm):
    rng = np.random.default_rng(length)
    shape = [3, 37]
    shape.insert(dim, length)
    real = torch.from_numpy(rng.standard_normal(shape)).to(dtype)
    whole = torch.complex(real, torch.from_numpy(rng.standard_normal(shape)).to(dtype))
    tolerance = 2e-5 if dtype == torch.float32 else 1e-12
    cases = [("fft", real, {}), ("ifft", real, {}), ("rfft", real, {}), ("ihfft", real, {}), ("fft", whole, {})]
    cases += [
        ("ifft", whole, {}),
        ("irfft", whole, {}),
        ("irfft", whole, {"n": length}),
        ("hfft", whole, {"n": length}),
    ]
    for name, x, options in cases:
        for view in (x, x.transpose(0, 2).contiguous().transpose(0, 2)):
            expected = getattr(torch.fft, name)(view, dim=dim, norm=norm, **options)
            found = to_torch(getattr(pyburn.fft, name)(from_torch(view), dim=dim, norm=norm, **options))
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance * length)


def test_one_element_and_many_threads():
    x = torch.randn(700, 300, generator=torch.Generator().manual_seed(0))
    for dim in (0, 1):
        expected = torch.fft.fft(x, dim=dim)
        torch.testing.assert_close(to_torch(pyburn.fft.fft(from_torch(x), dim=dim)), expected, rtol=1e-4, atol=1e-3)
    one = torch.randn(3, 1, 2)
    torch.testing.assert_close(to_torch(pyburn.fft.fft(from_torch(one), dim=1)), torch.fft.fft(one, dim=1))
