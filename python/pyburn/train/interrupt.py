"""Ctrl-C during a run: the first one ends it after the current batch, the second at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """While the block runs, the first Ctrl-C only sets `asked`; the second raises KeyboardInterrupt.

    Signals reach Python in the main thread alone: in any other the block changes nothing.

    Args:
        say: Where the message of the first one goes; standard error without it.
    """

    def __init__(self, say: Callable[[str], object] | None = None) -> None:
        self.asked = False
        self._say = say
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # A program that handles or ignores Ctrl-C by itself keeps its own way.
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        message = "Stopping after this batch; press Ctrl-C again to stop at once."
        if self._say is not None:
            self._say(message)
        else:
            print(f"\n{message}", file=sys.stderr, flush=True)
