"""Transforms of lines that lie side by side, a vector of them at a time, against torch."""

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_width

from oracle import from_torch, to_torch

LENGTHS = [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 25, 27, 30, 60, 125, 128, 243, 500, 1000, 7, 14, 22]


def values(shape, complex=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0)
    return torch.from_numpy(x.astype(np.complex64 if complex else np.float32))


def agree(f, x):
    found = to_torch(f(pyburn, from_torch(x)))
    exact = f(torch, x.to(torch.complex128 if x.is_complex() else torch.float64))
    scale = exact.abs().max().item() + 1e-30
    torch.testing.assert_close(found / scale, exact.to(found.dtype) / scale, rtol=1e-6, atol=3e-6)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("columns", [8, 15, 16, 33])
def test_every_kind_of_line(length, columns):
    for complex in (False, True):
        x = values((length, columns), complex)
        agree(lambda lib, x: lib.fft.fft(x, dim=0), x)
        agree(lambda lib, x: lib.fft.ifft(x, dim=0), x)
    agree(lambda lib, x: lib.fft.rfft(x, dim=0), values((length, columns)))
    agree(lambda lib, x: lib.fft.ihfft(x, dim=0), values((length, columns)))


@pytest.mark.parametrize("norm", ["forward", "backward", "ortho"])
def test_scales(norm):
    x = values((20, 17))
    agree(lambda lib, x: lib.fft.rfft(x, dim=0, norm=norm), x)
    agree(lambda lib, x: lib.fft.ifft(x, dim=0, norm=norm), x)
    agree(lambda lib, x: lib.fft.fft(x, dim=0, norm=norm), values((20, 17), True))


@pytest.mark.parametrize("n", [3, 12, 40])
@pytest.mark.parametrize("complex", [False, True])
def test_lines_that_are_cut_or_lengthened(n, complex):
    x = values((20, 17), complex)
    agree(lambda lib, x: lib.fft.fft(x, n, dim=0), x)
    agree(lambda lib, x: lib.fft.ifft(x, n, dim=0), x)


def test_more_dimensions_and_other_layouts():
    x = values((3, 10, 4, 18), True)
    for dim in range(4):
        agree(lambda lib, x, dim=dim: lib.fft.fft(x, dim=dim), x)
        agree(lambda lib, x, dim=dim: lib.fft.fft(x.transpose(1, 3), dim=dim), x)
        agree(lambda lib, x, dim=dim: lib.fft.fft(x[:, 1:, :, 1:], dim=dim), x)
    agree(lambda lib, x: lib.fft.fft2(x), x)
    agree(lambda lib, x: lib.fft.irfft2(lib.fft.rfft2(x)), values((5, 12, 30)))
    agree(lambda lib, x: lib.fft.fft(x.expand(12, 20), dim=0), values((20,)))


def test_large_and_by_any_number_of_threads():
    x = values((400, 300))
    agree(lambda lib, x: lib.fft.fft(x, dim=0), x)
    own, before = from_torch(x), pyburn.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            found.append(pyburn.fft.fft(own, dim=0))
    finally:
        pyburn.set_num_threads(before)
    assert all(pyburn.equal(found[0], other) for other in found[1:])


def test_nan_stays_in_its_line():
    x = values((20, 32))
    x[3, 5], x[4, 6] = np.nan, np.inf
    found, expected = to_torch(pyburn.fft.fft(from_torch(x), dim=0)), torch.fft.fft(x, dim=0)
    assert torch.equal(torch.isfinite(found.abs()), torch.isfinite(expected.abs()))


PROGRAM = """
import pyburn
x = (pyburn.arange(60 * 37) % 97 - 48).float().reshape(60, 37) / 7
y = pyburn.complex(x, x.flip(0))
parts = [pyburn.fft.fft(x, dim=0), pyburn.fft.rfft(x, dim=0), pyburn.fft.fft(y, dim=0), pyburn.fft.ifft(y, dim=0)]
print(pyburn.cat([pyburn.view_as_real(part).reshape(-1) for part in parts]).double().tolist())
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_width(PROGRAM, width, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("rows", [7, 8, 16, 33])
def test_every_kind_of_line_whose_elements_are_neighbours(length, rows):
    real, both = values((rows, length)), values((rows, length), True)
    for name in ("fft", "ifft", "rfft", "ihfft"):
        agree(lambda lib, x, name=name: getattr(lib.fft, name)(x), real)
    for name in ("fft", "ifft", "irfft", "hfft"):
        if length > 1 or name in ("fft", "ifft"):
            agree(lambda lib, x, name=name: getattr(lib.fft, name)(x), both)
            agree(lambda lib, x, name=name: getattr(lib.fft, name)(x, length + 4, norm="ortho"), both)
    agree(lambda lib, x: lib.fft.rfft(x.unfold(1, 2, 1), dim=-1), values((rows, length + 1)))


def test_neighbours_in_other_places():
    x = values((9, 3, 40))
    agree(lambda lib, x: lib.fft.rfft(x[:, :, 3:33]), x)
    agree(lambda lib, x: lib.fft.rfft(x[:, 1].expand(9, 40)), x)
    agree(lambda lib, x: lib.fft.rfft(x.transpose(0, 1)), x)
    y = values((16, 20))
    y[3, 5], y[4, 6] = np.nan, np.inf
    found, expected = to_torch(pyburn.fft.rfft(from_torch(y))), torch.fft.rfft(y)
    assert torch.equal(torch.isfinite(found.abs()), torch.isfinite(expected.abs()))
