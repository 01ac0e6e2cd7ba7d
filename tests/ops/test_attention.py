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


def outcome(
    lib: Any, arrays: list[np.ndarray[Any, Any]], mask: Any = None, **options: Any
) -> list[np.ndarray[Any, Any]]:
    """The result and the gradients of query, key and value."""
    tensors = [lib.tensor(array, requires_grad=True) for array in arrays]
    mask = None if mask is None else lib.tensor(mask)
    result = lib.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask, **options)
    slopes = lib.tensor(np.cos(np.arange(result.numel(), dtype="float32")).reshape(tuple(result.shape)))
    result.backward(slopes)
    return [x.detach().numpy() for x in (result, *(tensor.grad for tensor in tensors))]


def compare(arrays: list[np.ndarray[Any, Any]], mask: Any = None, **options: Any) -> None:
    ours, theirs = (outcome(lib, arrays, mask, **options) for lib in (pyburn, torch))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


SIZES = [
    (1, 1, 1),
    (4, 5, 8),
    (130, 5, 16),
    (5, 130, 64),
    (128, 128, 64),
    (150, 300, 33),
    (20, 1100, 40),
    (600, 600, 20),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys", "size"), SIZES)
def test_blocks(queries: int, keys: int, size: int, causal: bool) -> None:
    arrays = [normal(2, 2, queries, size), normal(2, 2, keys, size) + 0.1, normal(2, 2, keys, size) - 0.1]
    compare(arrays, is_causal=causal)
    compare([array[0] for array in arrays], is_causal=causal, scale=0.4)


@pytest.mark.parametrize("shape", [(150, 270), (1, 270), (150, 1), (1, 1, 270), (2, 1, 150, 270), (2, 3, 1, 1)])
def test_masks_of_blocks(shape: tuple[int, ...]) -> None:
    arrays = [normal(2, 3, 150, 24), normal(2, 3, 270, 24), normal(2, 3, 270, 24) + 1]
    compare(arrays, normal(*shape))
    seen = np.random.default_rng(1).random(shape) > 0.3
    compare(arrays, seen)
    compare(arrays, np.where(seen, np.float32(0.5), np.float32(-np.inf)))


def test_rows_that_see_nothing() -> None:
    arrays = [normal(1, 2, 20, 16), normal(1, 2, 600, 16), normal(1, 2, 600, 16)]
    seen = np.ones((20, 600), dtype=bool)
    seen[3], seen[7, :512], seen[19, 1:] = False, False, False
    compare(arrays, seen)
    assert not outcome(pyburn, arrays, seen)[0][:, :, 3].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_special_numbers(value: float) -> None:
    for place in range(3):
        arrays = [normal(1, 1, 20, 16), normal(1, 1, 30, 16), normal(1, 1, 30, 16)]
        arrays[place][0, 0, 4, 2] = value
        ours, theirs = (outcome(lib, arrays)[0] for lib in (pyburn, torch))
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_joined_heads() -> None:
    """Heads that were split from one dimension are joined again without a copy, and gradients lie as the inputs do."""

    def joined(lib: Any) -> Any:
        x = lib.tensor(normal(2, 70, 3, 4, 16), requires_grad=True)
        heads = lib.nn.functional.scaled_dot_product_attention(*x.transpose(1, 3).unbind(2), is_causal=True)
        result = heads.transpose(1, 2)
        result.view(2, 70, 64).square().sum().backward()
        return heads.stride(), result.detach().numpy(), x.grad.numpy()

    (strides, result, grad), (other_strides, other, other_grad) = joined(pyburn), joined(torch)
    assert strides == other_strides
    np.testing.assert_allclose(result, other, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(grad, other_grad, rtol=2e-4, atol=2e-5)


def test_second_derivatives() -> None:
    q, k, v = normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8)
    seen = np.random.default_rng(0).random((4, 5)) > 0.4
    seen[1] = False
    options = {"gradgrad": True, "rtol": 1e-4, "atol": 1e-4}
    check_op(lambda lib, q, k, v: attend(lib, q, k, v, is_causal=True), q, k, v, **options)
    check_op(lambda lib, q, k, v, m: attend(lib, q, k, v, m), q, k, v, normal(4, 5), **options)
    twice = []
    for lib in (pyburn, torch):
        tensors = [lib.tensor(array, requires_grad=True) for array in (q, k, v)]
        result = attend(lib, *tensors, attn_mask=lib.tensor(seen))
        (slope,) = lib.autograd.grad(result.square().sum(), tensors[0], create_graph=True)
        slope.square().sum().backward()
        twice.append([tensor.grad.numpy() for tensor in tensors])
    for mine, other in zip(*twice, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)


def test_threads_change_nothing() -> None:
    arrays = [normal(1, 3, 300, 24), normal(1, 3, 700, 24), normal(1, 3, 700, 24)]
    before, found = pyburn.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            found.append(outcome(pyburn, arrays, is_causal=True))
    finally:
        pyburn.set_num_threads(before)
    for other in found[1:]:
        for mine, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, same)
