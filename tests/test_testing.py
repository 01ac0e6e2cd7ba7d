"""torch.testing: which values are compared at all, and the random tensors of `make_tensor`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch

LIBS = [torch, pyburn]
DTYPES = ["float32", "float64", "float16", "int64", "int8", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("lib", LIBS)
def test_what_is_not_compared(lib: Any) -> None:
    x = lib.ones(2)
    for pair in [(x.numpy(), x), (x, [1.0, 1.0]), (lib.ones(()), 1.0)]:
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            lib.testing.assert_close(*pair)
    parameter = lib.nn.Parameter(x)
    lib.testing.assert_close(parameter, x)
    with pytest.raises(TypeError, match="No comparison pair"):
        lib.testing.assert_close(parameter, x, allow_subclasses=False)
    lib.testing.assert_close(np.ones(2), np.ones(2))
    lib.testing.assert_close([1.0, {"a": x}], [1.0, {"a": x + 1e-7}])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"noncontiguous": True}, {"low": 0, "high": 1.5, "exclude_zero": True}])
def test_made_tensors_are_torchs(dtype: str, options: dict[str, Any]) -> None:
    made = []
    for lib in LIBS:
        lib.manual_seed(3)
        made.append(lib.testing.make_tensor(4, 3, dtype=getattr(lib, dtype), device="cpu", **options))
    assert made[0].stride() == made[1].stride()
    np.testing.assert_allclose(made[1].numpy(), made[0].numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("lib", LIBS)
def test_an_empty_range_is_refused(lib: Any) -> None:
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        lib.testing.make_tensor(3, dtype=lib.int64, device="cpu", low=5, high=2)
