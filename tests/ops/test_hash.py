"""The hash of a tensor's bits, and other sizes over its memory, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch

VALUES = np.array([[1.5, -2.25, 0.0], [np.nan, 3.0, -0.0]])


def hashed(lib: Any, dtype: str, **kwargs: Any) -> Any:
    x = lib.tensor(np.nan_to_num(VALUES).tolist() if "int" in dtype else VALUES.tolist(), dtype=getattr(lib, dtype))
    return lib.hash_tensor(x, **kwargs).view(lib.int64).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
@pytest.mark.parametrize("kwargs", [{}, {"dim": 1}, {"dim": (0, 1)}, {"dim": -2, "keepdim": True}])
def test_the_same_bits(dtype: str, kwargs: dict[str, Any]) -> None:
    assert hashed(pyburn, dtype, **kwargs) == hashed(torch, dtype, **kwargs)


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_mistakes(lib: Any) -> None:
    for shape, kwargs in (((0,), {}), ((2, 0), {"dim": 1}), ((2, 2), {"dim": 2}), ((2,), {"mode": 1})):
        with pytest.raises((RuntimeError, IndexError)):
            lib.hash_tensor(lib.ones(shape), **kwargs)


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_other_sizes_over_the_same_memory(lib: Any) -> None:
    assert lib.resize_as_(lib.zeros(1), lib.ones(2, 3)).shape == (2, 3)
    assert lib.empty(0).resize_(2, 3, 4, 5, memory_format=lib.channels_last).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError):
        lib.zeros(2).resize_(3, memory_format=lib.preserve_format)
    x = lib.arange(6.0)
    y = x.view(6)
    assert x.as_strided_((2, 2), (3, 1), 1) is x
    y[1] = 9.0
    assert x.tolist() == [[9.0, 2.0], [4.0, 5.0]]
