"""The progress bar that torch's `hub` exports: tqdm's where it is installed, else a plain count."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["tqdm"]


class _Count:
    """Counts on one line of stderr; takes what tqdm takes."""

    def __init__(self, iterable: Any = None, total: float | None = None, disable: bool = False, **kwargs: Any) -> None:
        self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

    def __iter__(self) -> Any:
        for item in self.iterable:
            yield item
            self.update(1)

    def update(self, n: int) -> None:
        """Nothing; `n` more are done."""
        self.n += n
        if not self.disable:
            share = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n}"
            sys.stderr.write(f"\r{share}")
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: a plain count has no text."""

    def close(self) -> None:
        """Nothing; the line ends here."""
        if not self.disable:
            sys.stderr.write("\n")
            self.disable = True

    def __enter__(self) -> _Count:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


try:
    tqdm: Any = importlib.import_module("tqdm").tqdm
except ImportError:
    tqdm = _Count
