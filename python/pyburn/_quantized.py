"""Names of dtypes and schemes that torch has and pyburn has not: they can be named, compared and kept in tables.

No tensor has such a dtype: passing one to a function raises.
"""

from __future__ import annotations

from typing import Final

from pyburn._formats import _Name

__all__ = [
    "chalf",
    "complex32",
    "float4_e2m1fn_x2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qint8",
    "qint32",
    "qscheme",
    "quint2x4",
    "quint4x2",
    "quint8",
]


class _AbsentDtype(_Name):
    """The name of a dtype that no tensor has here."""

    __slots__ = ("is_complex", "is_floating_point", "itemsize")

    def __init__(self, name: str, itemsize: int, is_floating_point: bool = False, is_complex: bool = False) -> None:
        super().__init__(name)
        self.itemsize: Final = itemsize
        self.is_floating_point: Final = is_floating_point
        self.is_complex: Final = is_complex


class qscheme(_Name):
    """How the numbers of a quantized tensor would be read."""

    __slots__ = ()


complex32: Final = _AbsentDtype("complex32", 4, is_complex=True)
chalf: Final = complex32
float4_e2m1fn_x2: Final = _AbsentDtype("float4_e2m1fn_x2", 1, is_floating_point=True)
float8_e4m3fn: Final = _AbsentDtype("float8_e4m3fn", 1, is_floating_point=True)
float8_e4m3fnuz: Final = _AbsentDtype("float8_e4m3fnuz", 1, is_floating_point=True)
float8_e5m2: Final = _AbsentDtype("float8_e5m2", 1, is_floating_point=True)
float8_e5m2fnuz: Final = _AbsentDtype("float8_e5m2fnuz", 1, is_floating_point=True)
float8_e8m0fnu: Final = _AbsentDtype("float8_e8m0fnu", 1, is_floating_point=True)
qint8: Final = _AbsentDtype("qint8", 1)
qint32: Final = _AbsentDtype("qint32", 4)
quint8: Final = _AbsentDtype("quint8", 1)
quint2x4: Final = _AbsentDtype("quint2x4", 1)
quint4x2: Final = _AbsentDtype("quint4x2", 1)
per_channel_affine: Final = qscheme("per_channel_affine")
per_channel_affine_float_qparams: Final = qscheme("per_channel_affine_float_qparams")
per_channel_symmetric: Final = qscheme("per_channel_symmetric")
per_tensor_affine: Final = qscheme("per_tensor_affine")
per_tensor_symmetric: Final = qscheme("per_tensor_symmetric")
