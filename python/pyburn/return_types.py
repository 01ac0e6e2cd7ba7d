"""Named results of functions that return several tensors: tuples whose items have names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from pyburn import _core
from pyburn._core import Tensor

__all__ = [
    "Result",
    "aminmax",
    "cummax",
    "cummin",
    "frexp",
    "geqrf",
    "histogram",
    "histogramdd",
    "kthvalue",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_lstsq",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_polar",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "lu_unpack",
    "max",
    "median",
    "min",
    "mode",
    "nanmedian",
    "qr",
    "slogdet",
    "sort",
    "svd",
    "topk",
    "triangular_solve",
]


class Result(tuple[Tensor, ...]):
    """A tuple of tensors with a name for each, shown in torch's format."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, sequence: Iterable[Tensor]) -> Result:
        """A result from its items in order."""
        items = tuple(sequence)
        if len(items) != len(cls._fields):
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(items)}-sequence given)"
            )
        return super().__new__(cls, items)

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True))
        return f"{_core._library()}.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[type[Result], tuple[tuple[Tensor, ...]]]:
        return type(self), (tuple(self),)


class _Chosen(Result):
    """Values and where they stand along the dimension."""

    __slots__ = ()
    _fields = ("values", "indices")

    @property
    def values(self) -> Tensor:
        """The values."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where the values stand along the dimension."""
        return self[1]


class max(_Chosen):
    """What :func:`pyburn.max` returns along a dimension."""

    __slots__ = ()


class min(_Chosen):
    """What :func:`pyburn.min` returns along a dimension."""

    __slots__ = ()


class median(_Chosen):
    """What :func:`pyburn.median` returns along a dimension."""

    __slots__ = ()


class nanmedian(_Chosen):
    """What :func:`pyburn.nanmedian` returns along a dimension."""

    __slots__ = ()


class mode(_Chosen):
    """What :func:`pyburn.mode` returns."""

    __slots__ = ()


class kthvalue(_Chosen):
    """What :func:`pyburn.kthvalue` returns."""

    __slots__ = ()


class sort(_Chosen):
    """What :func:`pyburn.sort` returns."""

    __slots__ = ()


class topk(_Chosen):
    """What :func:`pyburn.topk` returns."""

    __slots__ = ()


class cummax(_Chosen):
    """What :func:`pyburn.cummax` returns."""

    __slots__ = ()


class cummin(_Chosen):
    """What :func:`pyburn.cummin` returns."""

    __slots__ = ()


class aminmax(Result):
    """What :func:`pyburn.aminmax` returns."""

    __slots__ = ()
    _fields = ("min", "max")

    @property
    def min(self) -> Tensor:
        """The least values."""
        return self[0]

    @property
    def max(self) -> Tensor:
        """The greatest values."""
        return self[1]


class frexp(Result):
    """What :func:`pyburn.frexp` returns."""

    __slots__ = ()
    _fields = ("mantissa", "exponent")

    @property
    def mantissa(self) -> Tensor:
        """The numbers in `[0.5, 1)`."""
        return self[0]

    @property
    def exponent(self) -> Tensor:
        """The powers of two."""
        return self[1]


class histogramdd(Result):
    """What :func:`pyburn.histogramdd` returns."""

    __slots__ = ()
    _fields = ("hist", "bin_edges")

    def __new__(cls, sequence: tuple[Tensor, tuple[Tensor, ...]]) -> histogramdd:
        """A result from the counts and the edges of each dimension."""
        return tuple.__new__(cls, sequence)

    @property
    def hist(self) -> Tensor:
        """The counts, or what the points weigh."""
        return self[0]

    @property
    def bin_edges(self) -> tuple[Tensor, ...]:
        """The edges along each dimension."""
        edges: Any = self[1]
        return tuple(edges)


class histogram(Result):
    """What :func:`pyburn.histogram` returns."""

    __slots__ = ()
    _fields = ("hist", "bin_edges")

    @property
    def hist(self) -> Tensor:
        """The count or weight in each bin."""
        return self[0]

    @property
    def bin_edges(self) -> Tensor:
        """The edges between bins, one more than bins."""
        return self[1]


def _item(place: int, what: str) -> property:
    def get(self: Result) -> Tensor:
        return self[place]

    return property(get, doc=what)


class geqrf(Result):
    """What :func:`pyburn.geqrf` returns."""

    __slots__ = ()
    _fields = ("a", "tau")
    a = _item(0, "R, and the reflectors below its diagonal.")
    tau = _item(1, "The factors of the reflectors.")


class linalg_cholesky_ex(Result):
    """What :func:`pyburn.linalg.cholesky_ex` returns."""

    __slots__ = ()
    _fields = ("L", "info")
    L = _item(0, "The factors.")
    info = _item(1, "The error codes.")


class linalg_eig(Result):
    """What :func:`pyburn.linalg.eig` returns."""

    __slots__ = ()
    _fields = ("eigenvalues", "eigenvectors")
    eigenvalues = _item(0, "The eigenvalues.")
    eigenvectors = _item(1, "The eigenvectors, as columns.")


class linalg_eigh(Result):
    """What :func:`pyburn.linalg.eigh` returns."""

    __slots__ = ()
    _fields = ("eigenvalues", "eigenvectors")
    eigenvalues = _item(0, "The eigenvalues, rising.")
    eigenvectors = _item(1, "The eigenvectors, as columns.")


class linalg_inv_ex(Result):
    """What :func:`pyburn.linalg.inv_ex` returns."""

    __slots__ = ()
    _fields = ("inverse", "info")
    inverse = _item(0, "The inverses.")
    info = _item(1, "The error codes.")


class linalg_ldl_factor(Result):
    """What :func:`pyburn.linalg.ldl_factor` returns."""

    __slots__ = ()
    _fields = ("LD", "pivots")
    LD = _item(0, "Both factors packed.")
    pivots = _item(1, "The row exchanges.")


class linalg_ldl_factor_ex(Result):
    """What :func:`pyburn.linalg.ldl_factor_ex` returns."""

    __slots__ = ()
    _fields = ("LD", "pivots", "info")
    LD = _item(0, "Both factors packed.")
    pivots = _item(1, "The row exchanges.")
    info = _item(2, "The error codes.")


class linalg_lstsq(Result):
    """What :func:`pyburn.linalg.lstsq` returns."""

    __slots__ = ()
    _fields = ("solution", "residuals", "rank", "singular_values")
    solution = _item(0, "The solutions.")
    residuals = _item(1, "The squared lengths of what remains.")
    rank = _item(2, "The ranks.")
    singular_values = _item(3, "The singular values.")


class linalg_lu(Result):
    """What :func:`pyburn.linalg.lu` returns."""

    __slots__ = ()
    _fields = ("P", "L", "U")
    P = _item(0, "The permutations.")
    L = _item(1, "The lower triangles.")
    U = _item(2, "The upper triangles.")


class linalg_lu_factor(Result):
    """What :func:`pyburn.linalg.lu_factor` returns."""

    __slots__ = ()
    _fields = ("LU", "pivots")
    LU = _item(0, "Both triangles packed.")
    pivots = _item(1, "The row exchanges.")


class linalg_lu_factor_ex(Result):
    """What :func:`pyburn.linalg.lu_factor_ex` returns."""

    __slots__ = ()
    _fields = ("LU", "pivots", "info")
    LU = _item(0, "Both triangles packed.")
    pivots = _item(1, "The row exchanges.")
    info = _item(2, "The error codes.")


class linalg_polar(Result):
    """What :func:`pyburn.linalg.polar` returns."""

    __slots__ = ()
    _fields = ("U", "H")
    U = _item(0, "The factors with orthonormal columns.")
    H = _item(1, "The symmetric factors.")


class linalg_qr(Result):
    """What :func:`pyburn.linalg.qr` returns."""

    __slots__ = ()
    _fields = ("Q", "R")
    Q = _item(0, "The factors with orthonormal columns.")
    R = _item(1, "The upper triangles.")


class linalg_slogdet(Result):
    """What :func:`pyburn.linalg.slogdet` returns."""

    __slots__ = ()
    _fields = ("sign", "logabsdet")
    sign = _item(0, "The signs.")
    logabsdet = _item(1, "The logarithms of absolute values.")


class linalg_solve_ex(Result):
    """What :func:`pyburn.linalg.solve_ex` returns."""

    __slots__ = ()
    _fields = ("result", "info")
    result = _item(0, "The solutions.")
    info = _item(1, "The error codes.")


class linalg_svd(Result):
    """What :func:`pyburn.linalg.svd` returns."""

    __slots__ = ()
    _fields = ("U", "S", "Vh")
    U = _item(0, "The left singular vectors, as columns.")
    S = _item(1, "The singular values, falling.")
    Vh = _item(2, "The right singular vectors, as rows.")


class lu_unpack(Result):
    """What :func:`pyburn.lu_unpack` returns."""

    __slots__ = ()
    _fields = ("P", "L", "U")
    P = _item(0, "The permutations.")
    L = _item(1, "The lower triangles.")
    U = _item(2, "The upper triangles.")


class qr(Result):
    """What :func:`pyburn.qr` returns."""

    __slots__ = ()
    _fields = ("Q", "R")
    Q = _item(0, "The factors with orthonormal columns.")
    R = _item(1, "The upper triangles.")


class slogdet(Result):
    """What :func:`pyburn.slogdet` returns."""

    __slots__ = ()
    _fields = ("sign", "logabsdet")
    sign = _item(0, "The signs.")
    logabsdet = _item(1, "The logarithms of absolute values.")


class svd(Result):
    """What :func:`pyburn.svd` returns."""

    __slots__ = ()
    _fields = ("U", "S", "V")
    U = _item(0, "The left singular vectors, as columns.")
    S = _item(1, "The singular values, falling.")
    V = _item(2, "The right singular vectors, as columns.")


class triangular_solve(Result):
    """What :func:`pyburn.triangular_solve` returns."""

    __slots__ = ()
    _fields = ("solution", "cloned_coefficient")
    solution = _item(0, "The solutions.")
    cloned_coefficient = _item(1, "A copy of the matrices.")
