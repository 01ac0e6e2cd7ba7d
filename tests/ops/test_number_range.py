"""Numbers that a dtype cannot hold, and dtypes that an op does not take: refused where torch refuses."""

from __future__ import annotations

import math
from typing import Any

import pyburn
import pytest
import torch

from oracle import to_torch

NUMBERS = """
    lib.where(mask, 300, u8)
    lib.where(mask, -1, u8)
    lib.where(mask, 2**40, i32)
    lib.where(mask, 1e300, f32)
    lib.where(mask, 1e10, f32.half())
    lib.clamp(u8, 0, 300)
    lib.clamp(u8, -1, 2)
    lib.clamp(u8, min=300)
    lib.clamp(u8, max=-1)
    lib.clamp(i32, max=2**40)
    lib.clamp(i32, min=2**40)
    lib.clamp(f32, max=1e300)
    lib.clamp(f32, max=math.inf)
    lib.clamp(f32.half(), max=1e30)
    lib.pow(u8, 300)
    lib.pow(i32, 2**40)
    lib.add(u8, u8, alpha=300)
    lib.add(u8, u8, alpha=-1)
    lib.add(f32, f32, alpha=1e300)
    lib.sub(i32, i32, alpha=2**40)
    lib.addcmul(u8, u8, u8, value=300)
    lib.addcdiv(f32, f32, f32, value=1e300)
    lib.lerp(f32, f32, 1e300)
    lib.lerp(f32, f32, math.inf)
    lib.addmm(f32.view(1, 3), f32.view(1, 3), lib.eye(3), beta=1e300)
    lib.addmm(i32.view(1, 3), i32.view(1, 3), lib.eye(3, dtype=lib.int32), alpha=2**40)
    lib.linspace(0, 300, 4, dtype=lib.uint8)
    lib.linspace(-1, 2, 3, dtype=lib.uint8)
    lib.linspace(0, 300, 1, dtype=lib.uint8)
    lib.linspace(0, 300, 0, dtype=lib.uint8)
    lib.linspace(0, 1e300, 3)
    lib.linspace(0, 2**40, 3, dtype=lib.int32)
    lib.logspace(0, 1e300, 3)
    lib.histc(f32, 3, 0, 1e300)
    lib.nan_to_num(f32 * math.nan, nan=1e300)
    lib.hardshrink(f32, 1e300)
"""
DTYPES = """
    F.max_pool1d(ints(1, 1, 4), 2)
    F.adaptive_max_pool1d(ints(1, 1, 4), 2)
    F.adaptive_max_pool2d(ints(1, 1, 4, 4), 2)
    F.mse_loss(ints(3), ints(3), reduction="none")
    F.mse_loss(f32, ints(3))
    F.smooth_l1_loss(ints(3), ints(3))
    F.huber_loss(ints(3), ints(3))
    F.huber_loss(f32, f32.double())
    F.kl_div(ints(3), ints(3), reduction="sum")
    F.binary_cross_entropy(f32 / 4, ints(3))
    F.binary_cross_entropy_with_logits(f32, ints(3))
    F.cross_entropy(f32.view(1, 3), ints(1).int())
    F.cross_entropy(f32.view(1, 3), ints(1, 3))
    F.nll_loss(ints(1, 3), ints(1))
    F.nll_loss(f32.view(1, 3), ints(1).to(lib.uint8))
    F.gaussian_nll_loss(ints(3), ints(3), ints(3) + 1)
    F.hinge_embedding_loss(ints(3), ints(3))
    F.soft_margin_loss(ints(3), ints(3))
    F.multi_margin_loss(ints(1, 3), ints(1))
    F.multilabel_margin_loss(ints(1, 3), ints(1, 3))
    F.cosine_similarity(ints(1, 3), ints(1, 3))
    F.grid_sample(ints(1, 1, 2, 2), lib.zeros(1, 1, 1, 2), align_corners=True)
    F.grid_sample(lib.ones(1, 1, 2, 2), lib.zeros(1, 1, 1, 2).double(), align_corners=True)
    F.affine_grid(ints(1, 2, 3), (1, 1, 2, 2), align_corners=True)
    F.interpolate(ints(1, 1, 2), scale_factor=2)
    F.interpolate(ints(1, 1, 2).to(lib.uint8), scale_factor=2)
    F.glu(ints(4))
    F.batch_norm(ints(2, 3), lib.zeros(3), lib.ones(3))
    F.normalize(ints(1, 3))
    F.unfold(ints(1, 1, 2, 2), 2)
    F.fold(ints(1, 4, 1), (2, 2), 2)
    F.max_unpool2d(ints(1, 1, 1, 1), ints(1, 1, 1, 1), 2)
    lib.polar(ints(2), ints(2))
    lib.topk(mask, 1)
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def run(lib: Any, code: str) -> Any:
    names = {
        "lib": lib,
        "F": lib.nn.functional,
        "math": math,
        "mask": lib.tensor([True, False, True]),
        "u8": lib.arange(3, dtype=lib.uint8),
        "i32": lib.arange(3, dtype=lib.int32),
        "f32": lib.arange(3.0),
        "ints": lambda *shape: (lib.arange(math.prod(shape)) % 2).reshape(shape),
    }
    try:
        found = eval(code, names)
    except (RuntimeError, ValueError, TypeError):
        return None
    return found if isinstance(found, torch.Tensor) else to_torch(found)


@pytest.mark.parametrize("code", lines(NUMBERS) + lines(DTYPES))
def test_the_same_as_torch(code: str) -> None:
    expected, found = run(torch, code), run(pyburn, code)
    assert (found is None) == (expected is None), f"{found}, torch {expected}"
    if expected is not None:
        torch.testing.assert_close(found, expected, equal_nan=True)


def test_an_out_of_another_dtype_than_asked_for_is_refused() -> None:
    for make in (pyburn.linspace, pyburn.logspace, pyburn.arange):
        with pytest.raises(RuntimeError, match="does not match dtype of out"):
            make(0, 1, 3, dtype=pyburn.float32, out=pyburn.empty(3, dtype=pyburn.int64))
    with pytest.raises(RuntimeError, match="out_int32"):
        pyburn.bucketize(pyburn.ones(3), pyburn.ones(1), out_int32=True, out=pyburn.empty(3, dtype=pyburn.int64))


def test_complex_ranges() -> None:
    for code in ("lib.linspace(1 + 2j, 3, 5)", "lib.linspace(0, 1, 3, dtype=lib.complex128)", "lib.logspace(0, 1j, 3)"):
        torch.testing.assert_close(run(pyburn, code), run(torch, code))
    assert run(torch, "lib.linspace(0, 1j, 3, dtype=lib.float32)") is None
    assert run(pyburn, "lib.linspace(0, 1j, 3, dtype=lib.float32)") is None


def test_degrees_and_triangles_beyond_reach() -> None:
    with pytest.raises(ValueError, match="degree"):
        pyburn.special.legendre_polynomial_p(pyburn.tensor([0.5]), 2**40)
    assert pyburn.special.laguerre_polynomial_l(pyburn.tensor([-1e30]), 2**40).isnan().all()
    with pytest.raises(MemoryError):
        pyburn.tril_indices(2**31, 2**31)
    assert pyburn.tril_indices(2**62, 1, 1 - 2**62).tolist() == [[2**62 - 1], [0]]
    for row, col, offset in ((3, 4, -1), (4, 3, 2), (0, 3, 0), (2, 2, 5), (2, 2, -5)):
        for name in ("tril_indices", "triu_indices"):
            found, expected = (getattr(lib, name)(row, col, offset).tolist() for lib in (pyburn, torch))
            assert found == expected
