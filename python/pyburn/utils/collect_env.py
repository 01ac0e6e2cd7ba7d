"""torch.utils.collect_env: a text about this machine, for reports."""

from __future__ import annotations

import platform

from pyburn import _core
from pyburn.version import __version__

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions, system and processor threads.

    Example:
        >>> "Python version" in get_pretty_env_info()
        True
    """
    facts = {
        "PyTorch version": __version__,
        "Is CUDA available": "False",
        "OS": platform.platform(),
        "Python version": platform.python_version(),
        "Threads": str(_core.get_num_threads()),
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items())


def main() -> None:
    """Nothing; the text is printed."""
    print(get_pretty_env_info())
