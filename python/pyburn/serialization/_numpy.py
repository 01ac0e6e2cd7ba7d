"""numpy's arrays and scalars in checkpoints: numbers, bools and text, never objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

_KINDS = "biufcSU"


def _module() -> Any:
    try:
        import numpy
    except ImportError:
        raise UnpicklingError("load: the file holds a numpy array or number, and numpy is not installed.") from None
    return numpy


def _dtype(code: Any, align: Any = False, copy: Any = True) -> Any:
    numpy = _module()
    text = code.decode("ascii") if isinstance(code, bytes) else code
    if not isinstance(text, str) or len(text) > 8 or text.lstrip("<>|=")[:1] not in _KINDS:
        raise UnpicklingError(f"load: a numpy array is of dtype {str(code)[:40]!r}; only numbers and text are read.")
    # A copy always: the state that follows would otherwise change numpy's own object.
    return numpy.dtype(text, False, True)


def _array(kind: Any, shape: Any, code: Any) -> Any:
    if getattr(kind, "name", "") != "numpy.ndarray":
        raise UnpicklingError("load: a numpy array of a foreign class.")
    numpy = _module()
    return numpy.ndarray((0,), dtype=numpy.dtype("b"))


def _scalar(dtype: Any, data: Any) -> Any:
    numpy = _module()
    raw = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(dtype, numpy.dtype) or not isinstance(raw, bytes) or len(raw) != dtype.itemsize:
        raise UnpicklingError("load: a numpy number has bytes of another length than its dtype.")
    return numpy.frombuffer(raw, dtype=dtype)[0]


def _dtype_class(name: str) -> Callable[..., Any]:
    return lambda *_: _dtype(name)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.dtype": _dtype,
    "numpy.ndarray": lambda *_: _array(None, None, None),
    "numpy._core.multiarray._reconstruct": _array,
    "numpy._core.multiarray.scalar": _scalar,
    **{
        f"numpy.dtypes.{name}DType": _dtype_class(code)
        for name, code in (
            *(("Float64", "f8"), ("Float32", "f4"), ("Float16", "f2"), ("Int64", "i8"), ("Int32", "i4")),
            *(("Int16", "i2"), ("Int8", "i1"), ("UInt8", "u1"), ("Bool", "b1"), ("Complex64", "c8")),
        )
    },
}


def build(target: Any, state: Any) -> bool:
    """Sets the state of a dtype or an array; False when `target` is neither."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(target, numpy.dtype | numpy.ndarray):
        return False
    if isinstance(target, numpy.dtype):
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise UnpicklingError("load: a numpy dtype has an unknown byte order.")
        sizes = (-1, -1)
        if target.kind in "SU" and len(state) >= 7:
            sizes = state[5:7]
            if not all(type(size) is int and 0 < size < 2**20 for size in sizes):
                raise UnpicklingError("load: a numpy text has an impossible length.")
        target.__setstate__((3, state[1], None, None, None, *sizes, 0))
        return True
    if not isinstance(state, tuple) or len(state) != 5:
        raise UnpicklingError("load: a numpy array has a state of another form.")
    _, shape, dtype, fortran, data = state
    raw = data.encode("latin1") if isinstance(data, str) else data
    count = 1
    for size in shape if isinstance(shape, tuple) else (-1,):
        count *= size if type(size) is int and 0 <= size < 2**40 else -1
    if not isinstance(dtype, numpy.dtype) or not isinstance(raw, bytes) or count * dtype.itemsize != len(raw):
        raise UnpicklingError("load: a numpy array has bytes of another length than its shape and dtype.")
    target.__setstate__((1, shape, dtype, bool(fortran), raw))
    return True
