"""Every op of the bank on every backend, against torch: value, shape and dtype. Gradients are tested by family."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyburn
import pyburn.nn.functional
import pytest
import torch
from op_samples import CALLS, DTYPES, Make
from pyburn import _core

from oracle import dtype_name, to_torch

NOT_ON_GPU = {"float64", "bfloat16"}
# WGSL leaves the precision of these to the driver, to 2^-11 at worst.
DRIVER_PRECISION = {"sin", "cos", "tan", "acos"}
# What `make test` tries on the GPU backend; `make test-gpu` tries all.
QUICK_GPU = ("float32", "int64", "bool")


def leaves(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def expected(name: str, dtype: str) -> list[torch.Tensor] | None:
    """torch's result, or None where torch refuses the dtype."""
    try:
        return leaves(CALLS[name](Make(torch, dtype)))
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None


def compare(name: str, ours: list[Any], theirs: list[torch.Tensor], device: str) -> None:
    assert len(ours) == len(theirs)
    for mine, reference in zip(ours, theirs, strict=True):
        assert dtype_name(mine.dtype) == dtype_name(reference.dtype), name
        assert tuple(mine.shape) == tuple(reference.shape), name
        plain = 1e-3 if device == "wgpu" and name in DRIVER_PRECISION else 2e-5
        tolerance = {"float16": 4e-3, "bfloat16": 2e-2}.get(dtype_name(reference.dtype), plain)
        left = to_torch(mine.cpu()).to(torch.float64).numpy()
        np.testing.assert_allclose(
            left, reference.to(torch.float64).numpy(), rtol=tolerance, atol=tolerance, err_msg=name
        )


def run(name: str, dtype: str, device: str) -> None:
    theirs = expected(name, dtype)
    if theirs is None:
        # torch has no kernel; ours either has one, or says so with an ordinary exception.
        with contextlib.suppress(Exception):
            CALLS[name](Make(pyburn, dtype, device))
        return
    compare(name, leaves(CALLS[name](Make(pyburn, dtype, device))), theirs, device)


# torch's integer paths that differ from the rounded float result, or that we refuse; strict, so that a fix shows.
GAPS = {("fold4d", "bool"), ("interpolate", "uint8"), ("avg_pool1d", "int64"), ("avg_pool2d", "int64")}


# cubecl has no integer convolution and no integer max-pool with indices.
GPU_GAPS = GAPS | {
    (name, "int64")
    for name in ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "max_pool2d"]
}


def cases(dtypes: tuple[str, ...], gaps: set[tuple[str, str]]) -> list[Any]:
    """Every op with every dtype, the known gaps marked."""
    marks = pytest.mark.xfail(strict=True, reason="a gap named in this file")
    return [
        pytest.param(name, dtype, marks=marks if (name, dtype) in gaps else ()) for name in CALLS for dtype in dtypes
    ]


@pytest.mark.parametrize(("name", "dtype"), cases(DTYPES, GAPS))
def test_cpu(name: str, dtype: str) -> None:
    run(name, dtype, "cpu")


@pytest.mark.parametrize(("name", "dtype"), cases(QUICK_GPU, GPU_GAPS))
def test_wgpu(name: str, dtype: str) -> None:
    run(name, dtype, "wgpu")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype not in QUICK_GPU and dtype not in NOT_ON_GPU])
@pytest.mark.parametrize("name", CALLS)
def test_wgpu_all(name: str, dtype: str) -> None:
    if dtype == "float16":
        try:
            Make(pyburn, dtype, "wgpu").x(1)
        except pyburn.DTypeError:
            return
    run(name, dtype, "wgpu")


@pytest.mark.parametrize("dtype", sorted(NOT_ON_GPU))
def test_wgpu_names_what_it_lacks(dtype: str) -> None:
    with pytest.raises(pyburn.DTypeError, match=dtype):
        pyburn.ones(2, dtype=getattr(pyburn, dtype)).to("wgpu")


def test_int64_on_wgpu_refuses_what_does_not_fit() -> None:
    x = pyburn.tensor([2**40])
    with pytest.raises(RuntimeError, match="does not fit"):
        x.to("wgpu")
    assert pyburn.tensor([7]).to("wgpu").dtype is pyburn.int64


def test_devices_do_not_mix() -> None:
    with pytest.raises(pyburn.DeviceError, match="same device"):
        pyburn.ones(2) + pyburn.ones(2).to("wgpu")


def test_a_cpu_scalar_meets_a_gpu_tensor() -> None:
    out = pyburn.ones(2).to("wgpu") * pyburn.tensor(3.0)
    assert str(out.device) == "wgpu:0"
    assert out.cpu().tolist() == [3.0, 3.0]


def test_scalars_and_empty_tensors_on_wgpu() -> None:
    scalar = pyburn.tensor(2.0).to("wgpu")
    assert (scalar * scalar + 1).item() == 5.0
    assert (scalar * scalar).shape == ()
    empty = pyburn.ones(0, 3).to("wgpu")
    assert (empty + 1).shape == (0, 3)
    assert empty.sum().item() == 0.0


def test_writes_through_views_on_wgpu() -> None:
    base = pyburn.zeros(3, 4).to("wgpu")
    base.t()[1:3].fill_(9.0)
    base[::2, ::3] = 5.0
    base.view(-1).as_strided((3,), (5,), 0).add_(1.0)
    same = torch.zeros(3, 4)
    same.t()[1:3].fill_(9.0)
    same[::2, ::3] = 5.0
    same.view(-1).as_strided((3,), (5,), 0).add_(1.0)
    assert base.cpu().tolist() == same.tolist()


def test_adapters_are_listed_with_their_names() -> None:
    adapters = _core._adapters()
    assert adapters, "the tests bring a software driver with them"
    assert all(name.startswith("wgpu:") and label for name, label, _ in adapters)
