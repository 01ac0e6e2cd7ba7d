"""Attention against torch: masks, causality, shared heads, first and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pyburn.ops.nn as ours
import pytest
import torch

from tests.oracle import check_op


def attend(lib: Any, *args: Any, **options: Any) -> Any:
    module = torch.nn.functional if lib is torch else ours
    if lib is torch:
        # The fused kernels have no second derivative.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return module.scaled_dot_product_attention(*args, **options)
    return module.scaled_dot_product_attention(*args, **options)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


Q, K, V = normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 6)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_plain(options: dict[str, Any]) -> None:
    check_op(lambda lib, q, k, v: attend(lib, q, k, v, **options), Q, K, V, gradgrad=True, rtol=1e-4, atol=1e-4)


def test_masks() -> None:
    seen = np.random.default_rng(0).random((4, 5)) > 0.4
    seen[0] = False
    check_op(lambda lib, q, k, v, m: attend(lib, q, k, v, m), Q, K, V, seen, rtol=1e-4, atol=1e-4)
    check_op(lambda lib, q, k, v, m: attend(lib, q, k, v, m), Q, K, V, normal(4, 5), rtol=1e-4, atol=1e-4)


def test_shared_heads() -> None:
    k, v = normal(2, 2, 5, 8), normal(2, 2, 5, 6)
    check_op(lambda lib, q, k, v: attend(lib, q, k, v, enable_gqa=True), normal(2, 4, 4, 8), k, v, rtol=1e-4, atol=1e-4)


def test_mistakes_are_named() -> None:
    q = pyburn.zeros(1, 2, 2)
    with pytest.raises(RuntimeError, match="is_causal"):
        ours.scaled_dot_product_attention(q, q, q, pyburn.zeros(2, 2), is_causal=True)
    with pytest.raises(RuntimeError, match="same dtype"):
        ours.scaled_dot_product_attention(q, q, q.double())


@pytest.mark.parametrize("options", [{}, {"dropout_p": 0.5}, {"is_causal": True}])
@pytest.mark.parametrize("shape", [(2, 2, 5, 4), (2, 5, 4), (5, 4)])
@pytest.mark.parametrize("values", [4, 3])
def test_writes_after_use(options, shape, values):
    """Only torch's own op keeps the result: after dropout, say, a residual may be added to it in place."""

    def outcome(lib, written):
        sizes = [shape, shape, (*shape[:-1], values)]
        tensors = [lib.ones(*size, requires_grad=True) * 1 for size in sizes]
        result = lib.nn.functional.scaled_dot_product_attention(*tensors, **options)
        with lib.no_grad():
            [*tensors, result][written].add_(1)
        try:
            result.sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return None

    for written in range(4):
        assert outcome(pyburn, written) == outcome(torch, written), written
