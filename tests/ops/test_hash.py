"""The hash of a tensor's bits, against torch."""

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


def test_resize_as() -> None:
    assert pyburn.resize_as_(pyburn.zeros(1), pyburn.ones(2, 3)).shape == (2, 3)
