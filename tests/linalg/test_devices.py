"""Linear algebra of tensors on a GPU: the CPU computes, results and gradients come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyburn
import pytest

from tests.linalg.samples import definite, normal, regular
from tests.oracle import check_error, check_op

OPS: dict[str, tuple[Callable[..., Any], Any]] = {
    "inv": (lambda lib, a: lib.linalg.inv(a), regular(2, 3, 3)),
    "det": (lambda lib, a: lib.linalg.det(a), regular(2, 3, 3)),
    "slogdet": (lambda lib, a: lib.linalg.slogdet(a), regular(2, 3, 3)),
    "solve": (lambda lib, a: lib.linalg.solve(a, a.mT), regular(2, 3, 3)),
    "cholesky": (lambda lib, a: lib.linalg.cholesky(a), definite(2, 3, 3)),
    "lu": (lambda lib, a: lib.linalg.lu(a), regular(2, 3, 3)),
    "qr": (lambda lib, a: lib.linalg.qr(a), normal(2, 4, 3)),
    "svdvals": (lambda lib, a: lib.linalg.svdvals(a), normal(2, 4, 3)),
    "eigvalsh": (lambda lib, a: lib.linalg.eigvalsh(a), definite(2, 3, 3)),
    "pinv": (lambda lib, a: lib.linalg.pinv(a), normal(2, 4, 3)),
    "matrix_exp": (lambda lib, a: lib.matrix_exp(a), normal(2, 3, 3)),
    "empty": (lambda lib, a: lib.linalg.inv(a), regular(0, 3, 3)),
}


# Each op compiles its own shaders, which a software driver does slowly.
QUICK = ("inv",)
CHOICES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in OPS]


@pytest.mark.parametrize("name", CHOICES)
def test_on_wgpu(name: str) -> None:
    function, a = OPS[name]
    check_op(function, a, dtypes=["float32"], devices=("wgpu",), rtol=1e-3, atol=1e-3)


def test_results_stay_on_the_device() -> None:
    a = pyburn.tensor(regular(3, 3).astype("float32")).to("wgpu")
    for result in (*pyburn.linalg.svd(a), *pyburn.linalg.lu_factor(a), pyburn.linalg.inv(a), pyburn.logdet(a @ a.mT)):
        assert str(result.device) == "wgpu:0"


def test_errors_of_a_device() -> None:
    check_error(lambda lib, a: lib.linalg.inv(a), np.zeros((2, 2)), devices=("wgpu",), match="singular")
    with pytest.raises(RuntimeError, match="same device"):
        pyburn.linalg.solve(pyburn.eye(2).to("wgpu"), pyburn.ones(2, 1))
