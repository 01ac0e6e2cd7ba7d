"""One line for each epoch: for logs, pipes and machines that nobody watches."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["PlainRenderer"]


class PlainRenderer(Callback):
    """Prints a line for each epoch, and why the run ended where it did not reach its last.

    Args:
        file: Where to print; standard output without it.
    """

    order = 80

    def __init__(self, file: IO[str] | None = None) -> None:
        self.file = file

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the settings of the run are shown."""
        if learner.config is not None and learner.finished == 0:
            self._print(str(learner.config))

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the epoch is shown."""
        line = dict(learner.history[-1])
        seconds = line.pop("seconds")
        shown = {name: value for name, value in line.items() if name not in ("epoch", "step")}
        self._print(f"epoch {learner.epoch}/{learner.last_epoch}  {text.summary(shown)}  {text.duration(seconds)}")

    def after_fit(self, learner: Learner) -> None:
        """Nothing; an early end is explained."""
        if learner.stopped:
            self._print(f"stopped in epoch {learner.epoch}: {learner.stopped}")
        if text.report(learner):
            self._print(text.report(learner))

    def _print(self, line: str) -> None:
        print(line, file=self.file, flush=True)
