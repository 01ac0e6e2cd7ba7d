"""Normalization against torch: values, running statistics, first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pyburn.ops.nn as ours
import pytest
import torch

from tests.oracle import check_op


def of(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else ours


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4)])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    def normalized(lib: Any, x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
        mean, var = mean.detach().clone(), var.detach().clone()
        out = of(lib).batch_norm(x, mean, var, w, b, training, 0.3, 1e-5)
        return out, mean, var

    check_op(
        normalized,
        normal(*shape),
        normal(3),
        normal(3),
        normal(3),
        np.abs(normal(3)) + 1,
        gradgrad=True,
        rtol=1e-4,
        atol=1e-3,
    )


@pytest.mark.parametrize("dims", [1, 2])
def test_layer_and_rms_norm(dims: int) -> None:
    size = (4, 5)[-dims:]
    check_op(
        lambda lib, x, w, b: of(lib).layer_norm(x, size, w, b),
        normal(2, 3, 4, 5),
        normal(*size),
        normal(*size),
        gradgrad=True,
        rtol=1e-4,
        atol=1e-3,
    )
    check_op(
        lambda lib, x, w: of(lib).rms_norm(x, size, w),
        normal(2, 3, 4, 5),
        normal(*size),
        gradgrad=True,
        rtol=1e-4,
        atol=1e-3,
    )


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_and_instance_norm(groups: int) -> None:
    check_op(
        lambda lib, x, w, b: of(lib).group_norm(x, groups, w, b),
        normal(2, 4, 3, 3),
        normal(4),
        normal(4),
        gradgrad=True,
        rtol=1e-4,
        atol=1e-3,
    )
    check_op(
        lambda lib, x, w, b: of(lib).instance_norm(x, weight=w, bias=b),
        normal(2, 4, 3, 3),
        normal(4),
        normal(4),
        gradgrad=True,
        rtol=1e-4,
        atol=1e-3,
    )


def test_mistakes_are_named() -> None:
    with pytest.raises(RuntimeError, match="normalized_shape"):
        ours.layer_norm(pyburn.zeros(2, 3), (4,))
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        ours.group_norm(pyburn.zeros(2, 3), 2)
    with pytest.raises(RuntimeError, match="must be given"):
        ours.batch_norm(pyburn.zeros(2, 3), None, None)


@pytest.mark.parametrize("size", [1001, 5, 1 << 20])
def test_results_past_the_caches(size: int) -> None:
    rows = (7 << 20) // 4 // size + 1
    x, weight, bias = normal(rows, size), normal(size), normal(size)
    x[-1, 2] = np.nan
    mine, theirs = (
        (
            lib.nn.functional.layer_norm(x, (size,), weight, bias),
            lib.nn.functional.rms_norm(x, (size,)),
            lib.nn.functional.group_norm(x[:, :1000].reshape(-1, 5, 1), 1),
            lib.nn.functional.batch_norm(x.reshape(1, rows, size), None, None, training=True),
        )
        for lib, x, weight, bias in ((lib, *map(lib.from_numpy, (x, weight, bias))) for lib in (pyburn, torch))
    )
    for own, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
