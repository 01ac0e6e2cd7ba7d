"""torch.onnx: exporting raises for now; it can be imported, and keeps what is registered for it."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyburn._absent import absent_class, absent_function

__all__ = [
    "ExportOptions",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "dynamo_export",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

_WHY = ("pyburn does not write ONNX files yet", "save model.state_dict(), load it in torch and export there")

export = absent_function("onnx.export", *_WHY)
dynamo_export = absent_function("onnx.dynamo_export", *_WHY)
ExportOptions: Any = absent_class("onnx.ExportOptions", *_WHY)

_symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


class TrainingMode(enum.Enum):
    """Whether a model is exported as it trains or as it is used."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """What becomes of operators that ONNX has not."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TensorProtoDataType(enum.IntEnum):
    """ONNX's numbers for the types of tensors."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


def is_in_onnx_export() -> bool:
    """False: nothing is being exported.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Nothing; the function is kept as the way to write this operator from an ONNX version on.

    Example:
        >>> register_custom_op_symbolic("mine::op", lambda g, x: g.op("Relu", x), 11)
        >>> unregister_custom_op_symbolic("mine::op", 11)

    Raises:
        RuntimeError: If the name has no namespace.
    """
    if "::" not in symbolic_name:
        raise RuntimeError(f"Failed to register operator {symbolic_name}: the symbolic name must match 'domain::name'.")
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing; what was registered for this operator and version is forgotten."""
    _symbolics.pop((symbolic_name, opset_version), None)


class _Opset(ModuleType):
    """One version's functions, by which a graph would be written."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent_function(f"{self.__name__.removeprefix('torch.')}.{name}", *_WHY)


def __getattr__(name: str) -> Any:
    if re.fullmatch(r"symbolic_opset\d+", name):
        module = globals()[name] = _Opset(f"torch.onnx.{name}")
        return module
    raise AttributeError(f"module 'torch.onnx' has no attribute '{name}'")
