"""What reaches the GPU: how many kernels, what tuning prints, and what the caller hears of a device that fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyburn
import pytest

CHAIN = """
import pyburn
x = pyburn.tensor([1.0, 2.0, 3.0, 4.0]).to(pyburn.Backend.FUSIONJITBACKEND)
y = (((x * 2 + 1).sqrt() - x / 3).abs() * x + 0.5).relu()
print([round(value, 4) for value in (3.0 - y).tolist()])
"""

TUNED = """
import pyburn
from pyburn.nn import functional as F
x = pyburn.arange(2 * 3 * 6 * 6.0).reshape(2, 3, 6, 6).to("wgpu") / 216
w = pyburn.ones(4, 3, 3, 3).to("wgpu")
print(round(F.conv2d(x, w).sum().item(), 2), (pyburn.ones(9, 7).to("wgpu") @ pyburn.ones(7, 5).to("wgpu")).sum().item())
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYBURN_QUIET": "1", **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_a_chain_of_elementwise_ops_is_one_kernel(tmp_path: Path) -> None:
    log = tmp_path / "kernels.log"
    done = run(CHAIN, CUBECL_DEBUG_LOG=str(log))
    x = pyburn.tensor([1.0, 2.0, 3.0, 4.0])
    y = (((x * 2 + 1).sqrt() - x / 3).abs() * x + 0.5).relu()
    assert done.stdout.strip() == str([round(value, 4) for value in (3.0 - y).tolist()]), done.stderr
    names = [line.rsplit("::", 1)[-1] for line in log.read_text().splitlines() if line.startswith("name: ")]
    assert len(names) == 1 and names[0].startswith("ElemwiseFuse"), names


def test_tuning_prints_nothing() -> None:
    done = run(TUNED)
    x = pyburn.arange(2 * 3 * 6 * 6.0).reshape(2, 3, 6, 6) / 216
    total = pyburn.nn.functional.conv2d(x, pyburn.ones(4, 3, 3, 3)).sum().item()
    assert (done.returncode, done.stderr) == (0, "")
    found = re.fullmatch(r"(\S+) (\S+)\n", done.stdout)
    assert found is not None and float(found[1]) == pytest.approx(total, abs=0.05) and float(found[2]) == 315.0


NUMBERS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x + 0.1,
    lambda x: 0.1 + x,
    lambda x: x - 0.1,
    lambda x: 0.1 - x,
    lambda x: x * 0.3,
    lambda x: x / 0.3,
    lambda x: 0.3 / x,
    lambda x: x * float("inf"),
    lambda x: x + float("nan"),
    lambda x: x / 0,
    lambda x: x + True,
    lambda x: x < 0.5,
    lambda x: x > 0.5,
    lambda x: x <= 0.5,
    lambda x: x >= 0.5,
    lambda x: (x == 0.5).logical_or(x != 2),
    lambda x: pyburn.gt(x, 0.5).logical_and(pyburn.ge(x, 2)),
    lambda x: x > float("-inf"),
    lambda x: x == float("nan"),
    lambda x: x.t().add(1.5, alpha=2),
    lambda x: x[:, 1:].clone().mul_(0.7).sub_(0.2),
    lambda x: pyburn.ones(2, 2, dtype=pyburn.float32, device=x.device).add_(0.1),
)


def test_numbers_beside_tensors() -> None:
    x = pyburn.tensor([[0.5, -1.25, 2.0], [float("inf"), 0.0, -0.0]])
    for index, function in enumerate(NUMBERS):
        here, there = function(x), function(x.to("wgpu"))
        assert there.dtype is here.dtype and there.shape == here.shape, index
        assert pyburn.allclose(there.cpu().float(), here.float(), rtol=1e-6, atol=0.0, equal_nan=True), index


def test_gradients_beside_numbers() -> None:
    grads = []
    for device in ("cpu", "wgpu"):
        x = pyburn.tensor([0.5, -1.25, 2.0]).to(device).requires_grad_()
        (((2.0 - x) * 3 + 1) / 4 - x * (x > 0.6)).sum().backward()
        assert x.grad is not None
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


FOLDED = ((0, 2, 3), (2, 3), (0, 1), (0, 1, 2, 3), (0,), (0, 3), (-1, -2, -3))
# All orders in which cubek's own comparison of axes went wrong are among these.
ORDERS = ((0, 1, 2, 3), (0, 3, 2, 1), (3, 1, 2, 0), (2, 0, 3, 1))


@pytest.mark.parametrize("order", ORDERS)
def test_folds_of_permuted_values(order: tuple[int, ...]) -> None:
    here = ((pyburn.arange(120) * 7 % 31) / 8 - 1.5).reshape(2, 3, 4, 5)
    there = here.to("wgpu").permute(order)
    here = here.permute(order)
    for dims in FOLDED:
        for name in ("sum", "mean", "amax", "var"):
            one, other = (getattr(value, name)(dims, keepdim=True) for value in (here, there))
            assert other.shape == one.shape
            assert pyburn.allclose(other.cpu(), one, rtol=1e-5, atol=1e-5), (name, dims)


@pytest.mark.parametrize("order", ORDERS[1:3])
def test_every_reduction_of_a_permuted_value(order: tuple[int, ...]) -> None:
    here = ((pyburn.arange(120) * 7 % 31) / 8 - 1.5).reshape(2, 3, 4, 5)
    there = here.to("wgpu").permute(order)
    here = here.permute(order)
    for dim in range(4):
        for function in REDUCTIONS:
            one, other = function(here, dim), function(there, dim)
            assert pyburn.allclose(other.cpu().float(), one.float(), rtol=1e-5, atol=1e-5), (dim, function)


REDUCTIONS: tuple[Callable[[Any, int], Any], ...] = (
    lambda x, dim: x.max(dim).values,
    lambda x, dim: x.min(dim).indices,
    lambda x, dim: x.argmax(dim),
    lambda x, dim: x.prod(dim),
    lambda x, dim: x.softmax(dim),
    lambda x, dim: x.log_softmax(dim),
    lambda x, dim: x.logsumexp(dim),
    lambda x, dim: (x > 1).any(dim),
    lambda x, dim: (x > -1).all(dim),
    lambda x, dim: (x > 1).sum(dim),
    lambda x, dim: x.count_nonzero(dim),
    lambda x, dim: x.norm(dim=dim),
    lambda x, dim: x.cumsum(dim),
    lambda x, dim: x.relu().contiguous().sum(dim),
    lambda x, dim: pyburn.nn.functional.layer_norm(x.transpose(dim, 3), (int(x.shape[dim]),)),
)


def test_a_view_is_folded_in_place() -> None:
    base = pyburn.arange(60.0).reshape(3, 4, 5)
    assert base.to("wgpu")[1:].sum((1, 2)).tolist() == base[1:].sum((1, 2)).tolist()
    assert base.to("wgpu")[:, 1:].sum((1, 2)).tolist() == base[:, 1:].sum((1, 2)).tolist()


# What burn may compute in place and in vectors: a value that is not used again, beside others of its shape.
CHAINS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.clamp(-1, 2),
    lambda x: pyburn.nn.functional.celu(x),
    lambda x: pyburn.where(x > 0, x, x.exp()),
    lambda x: x.clamp(min=0) + x.clamp(max=0) * 3,
)
# Permuted, and with a dimension of size 1 that no element needs.
THIN: tuple[Callable[[Any], Any], ...] = (
    lambda x: x[:, :4].t().unsqueeze(1),
    lambda x: x[:, :8:2].t().reshape(4, 1, 1, 6),
    lambda x: (x[:, :4].t() + 1).unsqueeze(1),
    lambda x: (x[:, :4].t() + 1).unsqueeze(-1),
    lambda x: (x[:, :4].t() + 1).reshape(1, 2, 2, 6),
    lambda x: x.reshape(6, 1, 8).transpose(0, 2),
    lambda x: x.reshape(3, 2, 1, 8).permute(3, 2, 0, 1),
    lambda x: x.reshape(3, 1, 2, 8).sum(0, keepdim=True).transpose(2, 3),
)


@pytest.mark.parametrize("thin", THIN)
def test_chains_of_permuted_values_with_dimensions_of_one(thin: Callable[[Any], Any]) -> None:
    here = ((pyburn.arange(48) * 7 % 31) / 8 - 1.5).reshape(6, 8)
    there = here.to("wgpu")
    for index, chain in enumerate(CHAINS):
        one, other = chain(thin(here)), chain(thin(there))
        assert pyburn.allclose(other.cpu(), one, rtol=1e-5, atol=1e-5), index


def test_a_convolution_to_one_channel_beside_a_target() -> None:
    here = ((pyburn.arange(2 * 3 * 8 * 8) * 7 % 31) / 16 - 1).reshape(2, 3, 8, 8)
    weight = ((pyburn.arange(27) * 5 % 13) / 8 - 0.75).reshape(1, 3, 3, 3)
    target = ((pyburn.arange(128) * 3 % 17) / 8 - 1).reshape(2, 1, 8, 8)
    found = []
    for device in ("cpu", "wgpu"):
        values = [value.to(device) for value in (here, weight, target)]
        # Nothing holds the convolution's result, so that the sum may be written over it.
        found.append((pyburn.nn.functional.conv2d(*values[:2], padding=1) * values[2] + values[2]).cpu())
    assert pyburn.allclose(found[1], found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [7, 9, 40])
def test_more_tensors_are_joined_than_a_kernel_binds(count: int) -> None:
    parts = [pyburn.arange(3.0).add(index).requires_grad_() for index in range(count)]
    there = [part.detach().to("wgpu").requires_grad_() for part in parts]
    for join in (pyburn.cat, pyburn.stack):
        assert join(there).tolist() == join(parts).tolist()
    (pyburn.stack(there).cumsum(0)[count // 2] ** 2).sum().backward()
    (pyburn.stack(parts).cumsum(0)[count // 2] ** 2).sum().backward()
    for part, other in zip(parts, there, strict=True):
        assert part.grad is not None and other.grad is not None and other.grad.tolist() == part.grad.tolist()


def test_the_gradient_of_many_pieces() -> None:
    grads = []
    for device in ("cpu", "wgpu"):
        x = pyburn.arange(33.0).to(device).requires_grad_()
        pieces = x.split(2)
        (pieces[3] * 2 + pieces[-1]).sum().backward()
        assert x.grad is not None
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.int64])
def test_long_running_sums(dtype: pyburn.dtype) -> None:
    here = (pyburn.arange(3 * 5000) % 7 - 3).reshape(3, 5000).to(dtype)
    there = here.to("wgpu").cumsum(1)
    assert there.dtype is dtype and str(there.device) == "wgpu:0" and there.cpu().equal(here.cumsum(1))
