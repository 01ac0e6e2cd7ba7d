"""How a run is shown: each renderer is a callback and knows nothing of training."""

from __future__ import annotations

import importlib.util
import sys

from pyburn.train.events import Callback
from pyburn.train.renderers.plain import PlainRenderer

__all__ = ["PlainRenderer", "default_renderer"]


def default_renderer() -> Callback:
    """In a notebook its own output, in a terminal a bar (where the package `rich` is installed), else plain lines."""
    if "ipykernel" in sys.modules:
        from pyburn.train.renderers.notebook import NotebookRenderer

        return NotebookRenderer()
    if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
        from pyburn.train.renderers.progress import ProgressRenderer

        return ProgressRenderer()
    return PlainRenderer()
