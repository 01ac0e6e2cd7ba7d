"""Segments and rounding to a grid, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle import check_error, check_op

DATA = np.array([3.0, -1.0, 2.0, 2.5, 5.0], dtype=np.float64)


@pytest.mark.parametrize("reduce", ["max", "min", "mean", "sum", "prod"])
@pytest.mark.parametrize("initial", [None, 1.0])
def test_segment_reduce(reduce: str, initial: float | None) -> None:
    def by_lengths(lib: Any, x: Any) -> Any:
        return lib.segment_reduce(x, reduce, lengths=lib.tensor([1, 0, 4]), initial=initial)

    def by_offsets(lib: Any, x: Any) -> Any:
        offsets = lib.tensor([[0, 2, 5], [0, 4, 5]])
        return lib.segment_reduce(lib.stack([x, x * 2]), reduce, offsets=offsets, axis=1, initial=initial)

    check_op(by_lengths, DATA, dtypes=["float64"])
    check_op(by_offsets, DATA, dtypes=["float64"])


def test_mistakes() -> None:
    check_error(lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([1, 1])), DATA)
    check_error(lambda lib, x: lib.segment_reduce(x, "sum", lengths=lib.tensor([-1, 6])), DATA)
    check_error(lambda lib, x: lib.segment_reduce(x, "sum"), DATA)
    check_error(lambda lib, x: lib.segment_reduce(x, "median", lengths=lib.tensor([5])), DATA)


def test_fake_quantize() -> None:
    values = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)

    def whole(lib: Any, x: Any) -> Any:
        return lib.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)

    def given(lib: Any, x: Any) -> Any:
        zero = lib.tensor([3], dtype=lib.int32)
        return lib.fake_quantize_per_tensor_affine(x, lib.tensor([0.1]), zero, 0, 15)

    def channels(lib: Any, x: Any) -> Any:
        zeros = lib.tensor([0, 1, 2], dtype=lib.int32)
        return lib.fake_quantize_per_channel_affine(x, lib.tensor([0.1, 0.2, 0.3]), zeros, 0, 0, 15)

    for function in (whole, given, channels):
        check_op(function, values, dtypes=["float32"])
    check_error(lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.1, 3, 15, 0), values)
