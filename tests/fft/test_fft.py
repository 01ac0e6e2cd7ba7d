"""Fourier transforms against torch: every function, any length, norms, sizes, gradients and refusals."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import check_error, check_op

RNG = np.random.default_rng(8)
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 60, 97, 128, 210]


def real(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def both(*shape):
    return real(*shape) + 1j * real(*shape)[..., ::-1]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft", "irfft", "hfft"])
@pytest.mark.parametrize("length", LENGTHS)
def test_any_length(name, length):
    if name in ("fft", "ifft", "irfft", "hfft") and not (length == 1 and name in ("irfft", "hfft")):
        check_op(lambda lib, x: getattr(lib.fft, name)(x), both(2, length), rtol=1e-9, atol=1e-9)
    if name not in ("irfft", "hfft"):
        check_op(lambda lib, x: getattr(lib.fft, name)(x), real(2, length), rtol=1e-9, atol=1e-9)
    check_op(lambda lib, x: getattr(lib.fft, name)(x, n=length + 2), real(2, 5), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft", "irfft", "hfft"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_one_dimension(name, norm, dim):
    values = real(6, 5, 4) if name in ("rfft", "ihfft") else both(6, 5, 4)
    for n in [None, 3, 9]:
        call = lambda lib, x, n=n: getattr(lib.fft, name)(x, n, dim, norm)  # noqa: E731
        check_op(call, values, gradgrad=n == 3, rtol=1e-9, atol=1e-9)
        check_op(call, values.transpose(2, 0, 1), dtypes=["float32"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
@pytest.mark.parametrize(
    "arguments", [{}, {"s": (3, 4)}, {"dim": (0, 2)}, {"s": (5, -1), "dim": (-1, 0)}, {"norm": "ortho"}, {"dim": (1,)}]
)
def test_several_dimensions(name, arguments):
    values = real(4, 3, 5) if name in ("rfftn", "ihfftn") else both(4, 3, 5)
    check_op(lambda lib, x: getattr(lib.fft, name)(x, **arguments), values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_dimensions(name):
    values = real(2, 4, 6) if name in ("rfft2", "ihfft2") else both(2, 4, 6)
    check_op(lambda lib, x: getattr(lib.fft, name)(x), values, gradgrad=True, rtol=1e-9, atol=1e-9)
    check_op(lambda lib, x: getattr(lib.fft, name)(x, (3, 5), norm="forward"), values, rtol=1e-9, atol=1e-9)


def test_integers_and_float32():
    check_op(lambda lib, x: lib.fft.fft(x), [[1, 2, 3]], grad=False)
    check_op(lambda lib, x: lib.fft.rfft(x), [True, False, True], grad=False)
    check_op(lambda lib, x: lib.fft.irfft(x), np.array([1, 2, 3]), grad=False)
    check_op(lambda lib, x: lib.fft.fft(x), real(3, 1000).astype(np.float32), rtol=1e-4, atol=1e-4)


def test_many_lines_on_several_threads():
    values = torch.tensor(real(300, 3, 257))
    for dim in range(3):
        ours = pyburn.fft.fft(pyburn.from_numpy(values.numpy()), dim=dim)
        np.testing.assert_allclose(ours.numpy(), torch.fft.fft(values, dim=dim).numpy(), rtol=1e-9, atol=1e-9)


def test_there_and_back():
    values = pyburn.from_numpy(real(3, 45))
    assert pyburn.allclose(pyburn.fft.irfft(pyburn.fft.rfft(values), n=45), values)
    assert pyburn.allclose(pyburn.fft.ifft(pyburn.fft.fft(values)).real, values)


def test_frequencies_and_shifts():
    for n in [1, 2, 5, 8]:
        check_op(lambda lib, n=n: lib.fft.fftfreq(n, d=0.25))
        check_op(lambda lib, n=n: lib.fft.rfftfreq(n, 2.0, dtype=lib.float64))
    for shape in [(4,), (5,), (4, 5)]:
        for name in ("fftshift", "ifftshift"):
            check_op(lambda lib, x, name=name: getattr(lib.fft, name)(x), both(*shape))
            check_op(lambda lib, x, name=name: getattr(lib.fft, name)(x, dim=-1), real(*shape))


def test_out():
    x = pyburn.from_numpy(real(4))
    out = pyburn.empty(4, dtype=pyburn.complex128)
    assert pyburn.fft.fft(x, out=out) is out and out.equal(pyburn.fft.fft(x))


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x: lib.fft.fft(x, norm="no"),
        lambda lib, x: lib.fft.fft(x, n=0),
        lambda lib, x: lib.fft.fft(x, dim=3),
        lambda lib, x: lib.fft.rfft(x * 1j),
        lambda lib, x: lib.fft.fftn(x, dim=(0, 0)),
        lambda lib, x: lib.fft.fftn(x, s=(1, 2, 3)),
        lambda lib, x: lib.fft.fftn(x, s=(1,), dim=(0, 1)),
        lambda lib, x: lib.fft.fft(lib.tensor(1.0)),
        lambda lib, x: lib.fft.irfft(x[:, :1]),
        lambda lib, x: lib.fft.fft(lib.zeros(0)),
        lambda lib, x: lib.fft.fft(x.to(lib.bfloat16)),
    ],
)
def test_refusals(fn):
    check_error(fn, real(3, 4))
