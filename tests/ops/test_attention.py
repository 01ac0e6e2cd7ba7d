"""Attention against torch: masks, causality, shared heads, dropout, first and second derivatives."""

from __future__ import annotations

import os
import subprocess
import sys
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
    (1, 1100, 64),
    (2, 700, 37),
    (3, 21, 129),
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


def dropped(lib: Any, arrays: list[np.ndarray[Any, Any]], mask: Any = None, **options: Any) -> Any:
    """As `outcome` from one seed, and the numbers that are drawn after it."""
    lib.manual_seed(3)
    return [*outcome(lib, arrays, mask, **options), lib.rand(3).numpy()]


def compare_dropped(arrays: list[np.ndarray[Any, Any]], mask: Any = None, **options: Any) -> None:
    for mine, other in zip(*(dropped(lib, arrays, mask, **options) for lib in (pyburn, torch)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(("queries", "keys", "size"), SIZES)
def test_dropout_drops_what_torch_drops(queries: int, keys: int, size: int, p: float) -> None:
    arrays = [normal(2, 2, queries, size), normal(2, 2, keys, size) + 0.1, normal(2, 2, keys, size + 3)]
    compare_dropped(arrays, dropout_p=p)
    compare_dropped([array[0] for array in arrays], dropout_p=p, is_causal=True)
    compare_dropped([array[0, 0] for array in arrays], dropout_p=p, scale=-0.4)
    compare_dropped([array[None] for array in arrays], normal(queries, keys), dropout_p=p)
    seen = np.random.default_rng(1).random((2, 1, queries, keys)) > 0.3
    seen[0, 0, queries // 2] = False
    compare_dropped(arrays, seen, dropout_p=p)
    compare_dropped(arrays, np.where(seen, np.float32(0.5), np.float32(-np.inf)), dropout_p=p)


def test_dropout_of_shared_heads() -> None:
    arrays = [normal(2, 6, 70, 16), normal(2, 3, 50, 16), normal(2, 3, 50, 16)]
    compare_dropped(arrays, dropout_p=0.3, enable_gqa=True)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_other_types_drop_the_same(dtype: str, p: float) -> None:
    found = []
    for lib in (pyburn, torch):
        lib.manual_seed(4)
        kind = getattr(lib, dtype)
        tensors = [lib.tensor(normal(2, 2, n, 16)).to(kind).requires_grad_() for n in (70, 530, 530)]
        mask = lib.tensor(normal(70, 530)).to(kind)
        # By torch's parts: its own kernel of bfloat16 has instructions that not every processor can do.
        result = attend(lib, *tensors, attn_mask=mask, dropout_p=p)
        assert result.dtype == kind
        result.float().square().sum().backward()
        found.append([x.detach().double().numpy() for x in (result, *(tensor.grad for tensor in tensors))])
    precision = {"float64": 1e-9, "float16": 2e-3, "bfloat16": 1.5e-2}[dtype]
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=precision, atol=precision * np.abs(other).max())


def test_dropout_of_special_numbers() -> None:
    for place in range(3):
        for value in (np.nan, np.inf, -np.inf):
            arrays = [normal(1, 1, 20, 16), normal(1, 1, 30, 16), normal(1, 1, 30, 16)]
            arrays[place][0, 0, 4, 2] = value
            for p in (0.9, 1.0):
                found = [dropped(lib, arrays, dropout_p=p)[0] for lib in (pyburn, torch)]
                np.testing.assert_allclose(*found, rtol=2e-4, atol=2e-5)


def test_derivatives_of_dropout() -> None:
    """The kernel's against those of the parts in float64, which finite differences confirm; the second ones too."""
    arrays = [normal(2, 4, 8), normal(2, 11, 8), normal(2, 11, 5)]
    seen = np.random.default_rng(0).random((4, 11)) > 0.4
    seen[1] = False

    def attended(*tensors: Any, **options: Any) -> Any:
        pyburn.manual_seed(2)
        return pyburn.nn.functional.scaled_dot_product_attention(*tensors, dropout_p=0.3, **options)

    for options in ({}, {"is_causal": True}, {"attn_mask": pyburn.tensor(seen)}):
        found = []
        for dtype in (pyburn.float32, pyburn.float64):
            tensors = [pyburn.tensor(array).to(dtype).requires_grad_() for array in arrays]
            (slope,) = pyburn.autograd.grad(attended(*tensors, **options).square().sum(), tensors[0], create_graph=True)
            slope.square().sum().backward()
            found.append([slope.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)])
            first = pyburn.autograd.grad(attended(*tensors, **options).square().sum(), tensors)
            found[-1] += [grad.numpy() for grad in first]
        for mine, other in zip(*found, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)
        assert pyburn.autograd.gradcheck(lambda *x, o=options: attended(*x, **o), tensors)


def test_threads_drop_the_same() -> None:
    arrays = [normal(1, 3, 300, 24), normal(1, 3, 700, 24), normal(1, 3, 700, 24)]
    before, found = pyburn.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            found.append([x.tobytes() for x in dropped(pyburn, arrays, dropout_p=0.2)])
    finally:
        pyburn.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("learns", [False, True])
def test_gradients_of_rows_that_see_nothing(dtype: str, learns: bool, p: float) -> None:
    summands = normal(2, 4, 5).astype(dtype)
    summands[0, 2], summands[1, :, 3] = -np.inf, -np.inf
    found = []
    for lib in (pyburn, torch):
        lib.manual_seed(4)
        tensors = [lib.tensor(normal(2, n, 6).astype(dtype), requires_grad=True) for n in (4, 5, 5)]
        mask = lib.tensor(summands, requires_grad=learns)
        result = attend(lib, *tensors, attn_mask=mask, dropout_p=p)
        result.square().sum().backward()
        found.append([x.detach().numpy() for x in (result, *(x.grad for x in [*tensors, mask][: 3 + learns]))])
    for mine, other in zip(*found, strict=True):
        assert np.isfinite(other).all()
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


def test_a_mask_that_is_written_before_backward_is_refused() -> None:
    q, mask = pyburn.ones(1, 2, 3, 4, requires_grad=True), pyburn.zeros(3, 3)
    result = pyburn.nn.functional.scaled_dot_product_attention(q, q, q, mask, dropout_p=0.5)
    mask.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_probabilities_that_are_none(p: float) -> None:
    q = pyburn.ones(1, 2, 2)
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        pyburn.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=p)


MEMORY = """
import re, pathlib, pyburn
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
q = pyburn.randn(2, 4096, 8, requires_grad=True)
before = peak()
pyburn.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.1).sum().backward()
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_dropout_never_holds_all_scores() -> None:
    """They would have 128 MiB; the bits have 4."""
    environment = os.environ | {"PYBURN_QUIET": "1"}
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, env=environment, check=True)
    assert int(run.stdout) < 40 * 1024
