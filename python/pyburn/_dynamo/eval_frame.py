"""torch._dynamo.eval_frame: the classes of compiled modules, of which there are none."""

from typing import Any

from pyburn._absent import absent_class

__all__ = ["OptimizedModule"]

OptimizedModule: Any = absent_class(
    "_dynamo.eval_frame.OptimizedModule", "pyburn compiles no modules", "use the module itself"
)
