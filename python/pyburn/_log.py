"""The few things that the core says by itself, through logging's logger `pyburn`.

Silence them with ``logging.getLogger("pyburn").setLevel("WARNING")`` or the environment variable ``PYBURN_QUIET=1``.
"""

from __future__ import annotations

import logging
import os


def announce(message: str) -> None:
    """Says `message` on standard error, unless the program has set logging up its own way."""
    logger = logging.getLogger("pyburn")
    if os.environ.get("PYBURN_QUIET"):
        return
    if logger.level == logging.NOTSET and not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    logger.info(message)
