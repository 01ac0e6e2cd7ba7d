"""Short-time transforms and windows against torch."""

import numpy as np
import pytest

from oracle import check_error, check_op


def signal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


CALLS = [
    {},
    {"hop_length": 3},
    {"win_length": 6},
    {"center": False},
    {"normalized": True},
    {"onesided": False},
    {"pad_mode": "constant"},
    {"pad_mode": "replicate", "hop_length": 8},
    {"win_length": 5, "center": False},
]


@pytest.mark.parametrize("arguments", CALLS)
@pytest.mark.parametrize("shape", [(40,), (2, 37)])
def test_stft(arguments, shape):
    length = arguments.get("win_length", 8)

    def call(lib, x, window):
        return lib.stft(x, 8, window=window, return_complex=True, **arguments)

    check_op(call, signal(*shape), np.hanning(length + 2)[1:-1], rtol=1e-9, atol=1e-9)
    check_op(lambda lib, x, w: lib.view_as_real(call(lib, x, w)), signal(*shape), np.hanning(length + 2)[1:-1])


def test_stft_other_forms():
    window = np.hanning(10)[1:-1]
    check_op(lambda lib, x, w: x.stft(8, window=w, return_complex=True), signal(30), window)
    check_op(lambda lib, x, w: lib.stft(x, 8, window=w), signal(30) + 1j * signal(30)[::-1], window)
    check_op(lambda lib, x, w: lib.stft(x, 7, 2, window=w, return_complex=True), signal(30), np.hanning(9)[1:-1])


@pytest.mark.parametrize("arguments", [{}, {"hop_length": 3}, {"normalized": True}, {"onesided": False}])
@pytest.mark.parametrize("length", [None, 33])
def test_istft(arguments, length):
    def call(lib, x, window):
        spectrum = lib.stft(x, 8, window=window, return_complex=True, **arguments)
        return lib.istft(spectrum * 2, 8, window=window, length=length, **arguments)

    check_op(call, signal(2, 40), np.hanning(10)[1:-1], rtol=1e-8, atol=1e-8)


def test_istft_undoes_stft():
    def call(lib, x, window):
        return lib.stft(x, 8, 2, window=window, return_complex=True).istft(8, 2, window=window, length=32) - x

    check_op(call, signal(32), np.hanning(10)[1:-1], atol=1e-9)


def test_istft_of_complex_signals():
    def call(lib, x, window):
        spectrum = lib.stft(x, 8, window=window)
        return lib.istft(spectrum, 8, window=window, return_complex=True, onesided=False)

    check_op(call, signal(40) + 1j * signal(40)[::-1], np.hanning(10)[1:-1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name):
    for length in [0, 1, 2, 3, 8, 101]:
        for periodic in (True, False):
            check_op(lambda lib, n=length, p=periodic: getattr(lib, f"{name}_window")(n, p))
            check_op(lambda lib, n=length, p=periodic: getattr(lib, f"{name}_window")(n, periodic=p, dtype=lib.float64))
    check_op(lambda lib: lib.hamming_window(7, True, 0.6, 0.3))
    check_op(lambda lib: lib.kaiser_window(7, True, 3.5))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bartlett", {}),
        ("blackman", {}),
        ("cosine", {}),
        ("exponential", {"tau": 2.5}),
        ("gaussian", {"std": 1.5}),
        ("general_cosine", {"a": [0.46, 0.23, 0.31]}),
        ("general_hamming", {"alpha": 0.6}),
        ("hamming", {}),
        ("hann", {}),
        ("kaiser", {"beta": 5.0}),
        ("nuttall", {}),
    ],
)
def test_signal_windows(name, arguments):
    for length in [0, 1, 2, 7, 10]:
        for sym in (True, False):
            call = lambda lib, n=length, s=sym: getattr(lib.signal.windows, name)(n, sym=s, **arguments)  # noqa: E731
            check_op(call, atol=1e-6)


@pytest.mark.parametrize(
    "fn",
    [
        lambda lib, x: lib.stft(x, 8),
        lambda lib, x: lib.stft(x, 8, 0, window=lib.ones(8), return_complex=True),
        lambda lib, x: lib.stft(x, 100, window=lib.ones(100), center=False, return_complex=True),
        lambda lib, x: lib.stft(x, 8, window=lib.ones(7), return_complex=True),
        lambda lib, x: lib.istft(x, 8),
        lambda lib, x: lib.stft(x, 8, win_length=9, window=lib.ones(9), return_complex=True),
        lambda lib, x: lib.hann_window(-1),
        lambda lib, x: lib.hann_window(4, dtype=lib.int64),
        lambda lib, x: lib.stft(x * 1j, 8, window=lib.ones(8), onesided=True),
    ],
)
def test_refusals(fn):
    check_error(fn, signal(20))
