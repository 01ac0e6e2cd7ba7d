"""A progress bar with the time left, the numbers so far and a table of the epochs, by the package `rich`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["ProgressRenderer"]


class ProgressRenderer(Callback):
    """Shows each epoch as a bar and, when it ends, as a line of a table.

    Args:
        console: The terminal; without it, standard error's.
        epochs: How many of the last epochs the table shows.
    """

    order = 80

    def __init__(self, console: Console | None = None, epochs: int = 12) -> None:
        self.console = console or Console(stderr=True)
        self.epochs = epochs
        self._live: Live | None = None
        self._shown = 0.0

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the display is there."""
        if learner.config is not None and learner.finished == 0:
            self.console.print(str(learner.config), highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=self.console,
        )
        self._task = self._bar.add_task("", total=None, numbers="")
        self._live = Live(self._view(learner), console=self.console, refresh_per_second=8, transient=False)
        self._live.start()

    def _begin(self, live: Live, learner: Learner, what: str, data: Any) -> None:
        total = text.length(data)
        description = f"epoch {learner.epoch}/{learner.last_epoch} {what}"
        self._bar.reset(self._task, total=total, description=description, numbers="")
        live.refresh()

    def before_train(self, learner: Learner) -> None:
        """Nothing; the bar counts the training batches."""
        if self._live is not None:
            self._begin(self._live, learner, "train", learner.train_data)
            self._bar.update(self._task, completed=learner.batches_done)

    def before_validate(self, learner: Learner) -> None:
        """Nothing; the bar counts the validation batches."""
        if self._live is not None:
            self._begin(self._live, learner, learner.split, learner.valid_data)

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the bar is one further."""
        if self._live is None:
            return
        self._bar.advance(self._task)
        # Numbers are read eight times a second at most: on a GPU reading waits for the device.
        if time.monotonic() - self._shown > 0.125:
            self._bar.update(self._task, numbers=text.summary(learner.values()))
            self._shown = time.monotonic()

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the table has the epoch."""
        if self._live is not None:
            self._live.update(self._view(learner))

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the display stands still."""
        if self._live is not None:
            self._bar.update(self._task, visible=False)
            self._live.update(self._view(learner), refresh=True)
            self._live.stop()
            self._live = None
        if learner.stopped:
            self.console.print(f"stopped in epoch {learner.epoch}: {learner.stopped}", highlight=False)
        if text.report(learner):
            self.console.print(text.report(learner), highlight=False, soft_wrap=True)

    def _view(self, learner: Learner) -> RenderableType:
        if not learner.history:
            return self._bar
        names = [name for name, value in learner.history[-1].items() if name != "step" and text.is_number(value)]
        table = Table(box=None, pad_edge=False)
        for name in names:
            table.add_column(name, justify="right")
        for line in learner.history[-self.epochs :]:
            table.add_row(*(text.number(line[name]) if name in line else "" for name in names))
        watched = [name for name in names if name.endswith("_loss")]
        curves = [text.sparkline([line[name] for line in learner.history if name in line]) for name in watched]
        lines = [f"{name} {curve}" for name, curve in zip(watched, curves, strict=True)]
        return Group(table, "\n".join(lines), self._bar)
