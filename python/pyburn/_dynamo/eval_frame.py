"""torch._dynamo.eval_frame: the class of what `compile` makes of a module."""

import importlib

__all__ = ["OptimizedModule"]

OptimizedModule = importlib.import_module("pyburn.nn._compiled").OptimizedModule
