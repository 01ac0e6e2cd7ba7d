"""torch.onnx.symbolic_helper: marks on the functions that write operators into ONNX graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyburn._absent import absent_function

__all__ = ["parse_args", "quantized_args"]

F = TypeVar("F", bound=Callable[..., Any])

_WHY = ("pyburn does not write ONNX files yet", "save model.state_dict(), load it in torch and export there")

_get_tensor_rank = absent_function("onnx.symbolic_helper._get_tensor_rank", *_WHY)
_get_tensor_sizes = absent_function("onnx.symbolic_helper._get_tensor_sizes", *_WHY)
_is_none = absent_function("onnx.symbolic_helper._is_none", *_WHY)
_maybe_get_const = absent_function("onnx.symbolic_helper._maybe_get_const", *_WHY)


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """A decorator that notes on a function what its arguments are in a graph: v for values, i, f, s for constants.

    Example:
        >>> parse_args("v", "f")(lambda g, x, p: g.op("Elu", x, alpha_f=p))._arg_descriptors
        ('v', 'f')
    """

    def mark(function: F) -> F:
        vars(function)["_arg_descriptors"] = arg_descriptors
        return function

    return mark


def quantized_args(*arg_q_descriptors: bool, **kwargs: Any) -> Callable[[F], F]:
    """A decorator that notes which arguments may be quantized."""

    def mark(function: F) -> F:
        vars(function)["_quantized_args"] = arg_q_descriptors
        return function

    return mark
