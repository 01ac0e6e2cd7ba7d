"""Every op of the bank on every backend, against torch: value, shape, dtype and (float32) gradient."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pyburn
import pyburn.nn.functional
import pytest
import torch
from op_samples import BASE, CALLS, DTYPES, Make
from pyburn import _core

from oracle import dtype_name, to_torch

pytestmark = pytest.mark.filterwarnings("ignore:index_reduce")  # torch calls it beta

NOT_ON_GPU = {"float64", "bfloat16"}
# What `make test` tries on the GPU backend; `make test-gpu` tries all.
QUICK_GPU = ("float32", "int64", "bool")
# Ops whose kernels burn tunes at their first call, for seconds on a software driver: of these `make test` runs the
# plain sample, and compares gradients of a few.
TUNED = (
    "conv", "matmul", "bmm", "baddbmm", "addbmm", "addmm", "addmv", "mv", "dot", "inner", "matrix", "linear",
    "bilinear", "einsum", "tensordot", "avg_pool", "adaptive_avg", "lp_pool", "interpolate", "attention", "scaled_dot",
    "fold4d", "unfold4d", "local_response", "affine_grid",
)  # fmt: skip
TUNED_GRADIENTS = {"matmul", "conv2d", "conv_transpose2d", "avg_pool2d", "scaled_dot_product_attention"}


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


def agree(name: str, mine: Any, reference: torch.Tensor) -> None:
    assert dtype_name(mine.dtype) == dtype_name(reference.dtype), name
    assert tuple(mine.shape) == tuple(reference.shape), name
    tolerance = {"float16": 4e-3, "bfloat16": 2e-2}.get(dtype_name(reference.dtype), 2e-5)
    left, right = (x.detach().to(torch.float64).numpy() for x in (to_torch(mine.detach().cpu()), reference))
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=name)


def compare(name: str, ours: list[Any], theirs: list[torch.Tensor]) -> None:
    assert len(ours) == len(theirs)
    for mine, reference in zip(ours, theirs, strict=True):
        agree(name, mine, reference)


def run(name: str, dtype: str, device: str) -> None:
    theirs = expected(name, dtype)
    if theirs is None:
        # torch has no kernel; ours either has one, or says so with an ordinary exception.
        with contextlib.suppress(Exception):
            CALLS[name](Make(pyburn, dtype, device))
        return
    compare(name, leaves(CALLS[name](Make(pyburn, dtype, device))), theirs)


def run_gradient(name: str, device: str) -> None:
    """Values and, by random cotangents, gradients of every float input."""
    theirs, ours = Make(torch, "float32", grad=True), Make(pyburn, "float32", device, grad=True)
    try:
        expected = leaves(CALLS[name](theirs))
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return  # no kernel of torch's for float32; the test of values looks at ours
    found = leaves(CALLS[name](ours))
    compare(name, found, expected)
    pairs = [pair for pair in zip(found, expected, strict=True) if pair[1].requires_grad]
    if not pairs or not theirs.leaves:
        return
    draw = np.random.default_rng(0)
    cotangents = [draw.standard_normal(tuple(one.shape)).astype("float32") for _, one in pairs]
    try:
        wanted = torch.autograd.grad(
            [one for _, one in pairs], theirs.leaves, [torch.tensor(c) for c in cotangents], allow_unused=True
        )
    except RuntimeError:
        return  # torch itself has no derivative
    assert all(mine.requires_grad for mine, _ in pairs), "torch's result has a gradient, ours has none"
    upstream = [pyburn.tensor(c.tolist()).reshape(c.shape).to(device) for c in cotangents]
    given = _core._backward([mine for mine, _ in pairs], upstream, False, False, ours.leaves)
    for index, (mine, reference) in enumerate(zip(given, wanted, strict=True)):
        leaf = theirs.leaves[index]
        # An absent gradient and one of zeros mean the same.
        zeros = pyburn.zeros(tuple(leaf.shape))
        agree(
            f"{name}: gradient {index}",
            zeros if mine is None else mine,
            torch.zeros_like(leaf) if reference is None else reference,
        )


# Known differences; strict, so that a fix shows. torch rounds the places of a 16-bit grid, ours are float32 inside.
GAPS = {("grid_sample_reflection", "float16"), ("grid_sample_reflection", "bfloat16")}
# torch's result is float64, which no GPU here has: `test_float_power_needs_float64` says what happens.
FLOAT64_RESULTS = {"float_power"}


def is_tuned(name: str) -> bool:
    return name.startswith(TUNED)


def cases(names: list[str], dtypes: tuple[str, ...], gaps: set[tuple[str, str]]) -> list[Any]:
    """Ops with every dtype, the known gaps marked."""
    marks = pytest.mark.xfail(strict=True, reason="a gap named in this file")
    return [
        pytest.param(name, dtype, marks=marks if (name, dtype) in gaps else ()) for name in names for dtype in dtypes
    ]


QUICK = [name for name in CALLS if (name in BASE or not is_tuned(name)) and name not in FLOAT64_RESULTS]
QUICK_GRADIENTS = [
    name for name in CALLS if (name in TUNED_GRADIENTS or not is_tuned(name)) and name not in FLOAT64_RESULTS
]


@pytest.mark.parametrize(("name", "dtype"), cases(list(CALLS), DTYPES, GAPS))
def test_cpu(name: str, dtype: str) -> None:
    run(name, dtype, "cpu")


@pytest.mark.parametrize("name", [name for name in CALLS if not name.endswith("_special")])
def test_gradient_cpu(name: str) -> None:
    run_gradient(name, "cpu")


@pytest.mark.parametrize(("name", "dtype"), cases(QUICK, QUICK_GPU, set()))
def test_wgpu(name: str, dtype: str) -> None:
    run(name, dtype, "wgpu")


@pytest.mark.parametrize("name", [name for name in QUICK_GRADIENTS if not name.endswith("_special")])
def test_gradient_wgpu(name: str) -> None:
    run_gradient(name, "wgpu")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in CALLS
        for dtype in DTYPES
        if dtype not in NOT_ON_GPU and not (name in QUICK and dtype in QUICK_GPU) and name not in FLOAT64_RESULTS
    ],
)
def test_wgpu_all(name: str, dtype: str) -> None:
    if dtype == "float16":
        try:
            Make(pyburn, dtype, "wgpu").x(1)
        except pyburn.DTypeError:
            return
    run(name, dtype, "wgpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in CALLS if is_tuned(name) and name not in TUNED_GRADIENTS])
def test_gradient_wgpu_all(name: str) -> None:
    run_gradient(name, "wgpu")


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype not in {*NOT_ON_GPU, "float16"}])
def test_float_power_needs_float64(dtype: str) -> None:
    with pytest.raises(pyburn.DTypeError, match="float64"):
        CALLS["float_power"](Make(pyburn, dtype, "wgpu"))


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
