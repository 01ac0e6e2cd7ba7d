"""torch._jit_internal: names that model code imports for its annotations and marks."""

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from pyburn.jit import _overload, _overload_method, export, ignore, is_scripting, unused

__all__ = [
    "Any",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
    "_overload",
    "_overload_method",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]
