"""Automatic differentiation: backward passes, grad modes, functions with a backward of their own, checks."""

import importlib as _importlib

from pyburn.autograd import functional, graph
from pyburn.autograd.engine import backward, detect_anomaly, grad, set_detect_anomaly
from pyburn.autograd.function import Function, once_differentiable
from pyburn.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pyburn.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from pyburn.autograd.variable import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def __getattr__(name: str) -> object:
    if name in ("forward_ad", "profiler"):
        return _importlib.import_module(f"pyburn.autograd.{name}")
    raise AttributeError(f"module 'pyburn.autograd' has no attribute '{name}'")
