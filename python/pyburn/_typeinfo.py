"""The numeric limits of dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

__all__ = ["finfo", "iinfo"]

# Bits, exponent bits and fraction bits of each floating-point format.
_FLOATS = {"float64": (64, 11, 52), "float32": (32, 8, 23), "float16": (16, 5, 10), "bfloat16": (16, 8, 7)}
# Eps, largest, smallest and smallest normal number of the formats of 8 bits, which follow no common rule.
_FLOATS8 = {
    "float8_e4m3fn": (2.0**-3, 448.0, -448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, -240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, -57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-2, 57344.0, -57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}
_PARTS = {"complex128": "float64", "complex64": "float32"}
_INTEGERS = {
    "int64": (64, True),
    "int32": (32, True),
    "int16": (16, True),
    "int8": (8, True),
    "uint64": (64, False),
    "uint32": (32, False),
    "uint16": (16, False),
    "uint8": (8, False),
}


def _name(dtype: object) -> str:
    return str(dtype).rsplit(".", 1)[-1]


class finfo:
    """The limits of a floating-point dtype; of its parts for a complex one.

    Attributes:
        bits: How many bits a number takes.
        eps: The distance from 1 to the next larger number.
        max: The largest finite number.
        min: The smallest finite number, which is ``-max``.
        tiny: The smallest positive number of full precision.
        smallest_normal: The same as ``tiny``.
        resolution: The power of ten that decimal digits are good for.
        dtype: The name of the dtype.

    Args:
        type: A dtype; the default dtype if none is given.

    Raises:
        TypeError: If the dtype is not a floating-point one.

    Example:
        >>> import pyburn
        >>> finfo(pyburn.float32).eps
        1.1920928955078125e-07
        >>> finfo(pyburn.bfloat16)
        finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, \
tiny=1.17549e-38, dtype=bfloat16)
    """

    bits: int
    dtype: str
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: object = None) -> None:
        if type is None:
            from pyburn import _core

            type = _core.get_default_dtype()
        name = _name(type)
        name = _PARTS.get(name, name)
        if name in _FLOATS8:
            self.dtype, self.bits, self.resolution = name, 8, 1.0
            self.eps, self.max, self.min, self.tiny = _FLOATS8[name]
            self.smallest_normal = self.tiny
            return
        if name not in _FLOATS:
            raise TypeError(f"finfo: expected a floating-point dtype but got {type}; use iinfo for integers.")
        self.dtype = name
        self.bits, exponent, fraction = _FLOATS[name]
        bias = 2 ** (exponent - 1) - 1
        self.eps = 2.0**-fraction
        self.max = (2.0 - self.eps) * 2.0**bias
        self.min = -self.max
        self.tiny = 2.0 ** (1 - bias)
        self.smallest_normal = self.tiny
        # As many decimal digits as survive a round trip: floor(fraction * log10(2)).
        self.resolution = float(f"1e-{fraction * 30103 // 100000}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((finfo, self.dtype))

    def __repr__(self) -> str:
        numbers = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in numbers)
        return f"finfo({shown}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype.

    Attributes:
        bits: How many bits a number takes.
        max: The largest number.
        min: The smallest number.
        dtype: The name of the dtype.

    Args:
        type: A dtype.

    Raises:
        TypeError: If the dtype is not an integer one.

    Example:
        >>> import pyburn
        >>> iinfo(pyburn.int8).min
        -128
    """

    def __init__(self, type: object) -> None:
        name = _name(type)
        if name not in _INTEGERS:
            raise TypeError(f"iinfo: expected an integer dtype but got {type}; use finfo for floats.")
        self.dtype: str = name
        self.bits, signed = _INTEGERS[name]
        self.max: int = 2 ** (self.bits - signed) - 1
        self.min: int = -(2 ** (self.bits - 1)) if signed else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((iinfo, self.dtype))

    def __repr__(self) -> str:
        # torch too shows them through a float.
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
