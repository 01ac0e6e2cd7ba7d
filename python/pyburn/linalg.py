"""`torch.linalg`: norms, factorizations, solutions and functions of matrices, on the CPU by the faer crate."""

from pyburn.ops._arguments import publish as _publish
from pyburn.ops._methods import numpy_names as _numpy_names
from pyburn.ops.linalg import matmul, multi_dot
from pyburn.ops.matrices.checks import LinAlgError
from pyburn.ops.matrices.factor import cholesky, cholesky_ex, householder_product, lu, lu_factor, lu_factor_ex, qr
from pyburn.ops.matrices.functions import (
    cross,
    diagonal,
    matrix_exp,
    matrix_power,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from pyburn.ops.matrices.general import eig, eigvals
from pyburn.ops.matrices.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from pyburn.ops.matrices.norms import cond, matrix_norm, norm, vector_norm
from pyburn.ops.matrices.pseudo import lstsq, matrix_rank, matrix_sqrth, pinv, polar
from pyburn.ops.matrices.solve import det, inv, inv_ex, lu_solve, slogdet, solve, solve_ex
from pyburn.ops.matrices.spectrum import eigh, eigvalsh, svd, svdvals
from pyburn.ops.matrices.triangular import solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "multi_dot",
    "norm",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

for _name in ("cross", "diagonal", "matrix_norm", "norm", "vecdot", "vector_norm"):
    globals()[_name] = _numpy_names(globals()[_name])
_publish(globals(), __all__, space="linalg_")
