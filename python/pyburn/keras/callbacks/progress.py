"""Progress on the screen."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyburn.keras.callbacks.base import Callback, Logs

__all__ = ["Progbar", "ProgbarLogger"]


class Progbar:
    """A bar that fills.

    Args:
        target: The number of steps; None where it is not known.
        width: The width of the bar.
        verbose: 0 for silence, 1 for a bar, 2 for one line at the end.
        interval: The least number of seconds between two drawings.
        stateful_metrics: Accepted for Keras's sake: values are shown as they are given.
        unit_name: What a step is called.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 20,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval, self.unit_name = (
            target,
            width,
            verbose,
            interval,
            unit_name,
        )
        self._began = self._drawn = time.perf_counter()
        self._steps = 0

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """Nothing; the bar shows `current` steps and the values, which are pairs of names and numbers."""
        self._steps = current
        done = finalize if finalize is not None else self.target is not None and current >= self.target
        now = time.perf_counter()
        # A file or a pipe gets one line for each epoch: it cannot be drawn over.
        live = self.verbose == 1 and sys.stdout.isatty()
        if self.verbose == 0 or (not done and (not live or now - self._drawn < self.interval)):
            return
        self._drawn = now
        text = self._text(current, dict(values or {}), now - self._began, bool(done))
        sys.stdout.write(("\r\x1b[K" if live else "") + text + ("\n" if done else ""))
        sys.stdout.flush()

    def add(self, n: int, values: Any = None) -> None:
        """Nothing; the bar shows `n` steps more."""
        self.update(self._steps + n, values)

    def _text(self, current: int, values: dict[str, Any], seconds: float, done: bool) -> str:
        total = "?" if self.target is None else str(self.target)
        head = f"{current}/{total}"
        if self.verbose == 1:
            filled = self.width if done or not self.target else self.width * current // self.target
            head += " " + "━" * filled + "─" * (self.width - filled)
        each = seconds / max(current, 1)
        speed = f"{each:.0f}s" if each >= 1 else f"{each * 1e3:.0f}ms" if each >= 1e-3 else f"{each * 1e6:.0f}us"
        left = "" if done or self.target is None else f"{each * (self.target - current):.0f}s left "
        parts = [f"{head} {left or f'{seconds:.0f}s '}{speed}/{self.unit_name}"]
        parts += [f"{name}: {_number(value)}" for name, value in values.items()]
        return " - ".join(parts)


def _number(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{number:.4f}" if abs(number) > 1e-3 or number == 0 else f"{number:.4e}"


class ProgbarLogger(Callback):
    """Shows the numbers of each epoch, with a bar while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.bar: Progbar | None = None
        self._testing = False

    @property
    def _verbose(self) -> int:
        return int(self.params.get("verbose", 1))

    def _start(self, steps: int | None = None) -> None:
        self.bar = Progbar(self.params.get("steps") if steps is None else steps, verbose=self._verbose)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._start()
        epochs = self.params.get("epochs", 1)
        if self._verbose and epochs > 1:
            print(f"Epoch {epoch + 1}/{epochs}")

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._seen = batch + 1
        if self.bar is not None and (self.bar.target is None or batch + 1 < self.bar.target):
            self.bar.update(batch + 1, list((logs or {}).items()), finalize=False)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if self.bar is not None:
            self.bar.update(getattr(self, "_seen", 0), list((logs or {}).items()), finalize=True)
        self.bar = None

    def on_test_begin(self, logs: Logs = None) -> None:
        self._testing = self.bar is None
        if self._testing:
            self._start()

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._tested = batch + 1
        if self._testing and self.bar is not None:
            self.bar.update(batch + 1, list((logs or {}).items()), finalize=False)

    def on_test_end(self, logs: Logs = None) -> None:
        if self._testing and self.bar is not None:
            self.bar.update(getattr(self, "_tested", 0), list((logs or {}).items()), finalize=True)
            self.bar = None

    def on_predict_begin(self, logs: Logs = None) -> None:
        self._start()

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._tested = batch + 1
        if self.bar is not None:
            self.bar.update(batch + 1, finalize=False)

    def on_predict_end(self, logs: Logs = None) -> None:
        if self.bar is not None:
            self.bar.update(getattr(self, "_tested", 0), finalize=True)
            self.bar = None
