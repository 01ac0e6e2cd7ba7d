"""pyburn.vision by a name of its own: models, datasets, transforms, and Keras's Sequential, Input and Dense.

    from p_vision import Sequential, Input, Dense, Backend, googlenet
    model = googlenet(Backend.NDARRAY, num_classes=10)

Every module below it is pyburn's own: `p_vision.models is pyburn.vision.models`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pyburn import vision as _vision

# Python must not find files below this one.
__path__.clear()


class _Alias(MetaPathFinder, Loader):
    """Gives pyburn's modules for the names below this one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of pyburn's module of this name, or None where there is none."""
        root, _, below = fullname.partition(".")
        if root != __name__ or not below or find_spec(f"pyburn.vision.{below}") is None:
            return None
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Puts pyburn's module in the place of the empty one."""
        below = module.__name__.partition(".")[2]
        sys.modules[module.__name__] = importlib.import_module(f"pyburn.vision.{below}")


sys.meta_path.append(_Alias())


def __getattr__(name: str) -> Any:
    return getattr(_vision, name)


def __dir__() -> list[str]:
    return dir(_vision)
