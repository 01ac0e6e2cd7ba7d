"""The decompositions that distributions of vectors need, loaded when first used."""

from __future__ import annotations

import importlib
from typing import Any

from pyburn._core import Tensor


def _linalg() -> Any:
    return importlib.import_module("pyburn.linalg")


def cholesky(matrix: Tensor) -> Tensor:
    """The lower Cholesky factor."""
    result: Tensor = _linalg().cholesky(matrix)
    return result


def cholesky_info(matrix: Tensor) -> Tensor:
    """0 where the matrix is positive definite."""
    result: Tensor = _linalg().cholesky_ex(matrix).info
    return result


def eigvalsh(matrix: Tensor) -> Tensor:
    """The eigenvalues of a symmetric matrix."""
    result: Tensor = _linalg().eigvalsh(matrix)
    return result


def solve_triangular(factor: Tensor, right: Tensor, *, upper: bool) -> Tensor:
    """The inverse of a triangular matrix times `right`."""
    result: Tensor = _linalg().solve_triangular(factor, right, upper=upper)
    return result
