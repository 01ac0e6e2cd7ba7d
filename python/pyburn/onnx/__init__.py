"""torch.onnx: exporting raises for now; it can be imported."""

from enum import Enum
from typing import Any

from pyburn._absent import absent_function

_WHY = ("pyburn does not write ONNX files yet", "save model.state_dict(), load it in torch and export there")

export = absent_function("onnx.export", *_WHY)
dynamo_export = absent_function("onnx.dynamo_export", *_WHY)


def is_in_onnx_export() -> bool:
    """False: nothing is being exported.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Nothing; there is no export that would use it."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing; there is no export that would use it."""


class TrainingMode(Enum):
    """The mode in which a model would be exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """Which operators an export would write."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3
