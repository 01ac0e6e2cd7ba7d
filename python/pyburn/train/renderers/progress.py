"""A progress bar with the time left, the numbers so far and a table of the epochs, by the package `rich`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["ProgressRenderer", "fitting", "heading"]


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
        self._numbers = Text("", "dim", no_wrap=True, overflow="ellipsis")  # of the batches so far, below the bar
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
            console=self.console,
        )
        self._task = self._bar.add_task("", total=None)
        self._live = Live(self._view(learner), console=self.console, refresh_per_second=8, transient=False)
        self._live.start()

    def _begin(self, live: Live, learner: Learner, what: str, data: Any) -> None:
        total = text.length(data)
        description = f"epoch {learner.epoch}/{learner.last_epoch} {what}"
        self._bar.reset(self._task, total=total, description=description)
        self._numbers.plain = ""
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
            self._numbers.plain = text.summary(learner.values())
            self._shown = time.monotonic()

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the table has the epoch."""
        if self._live is not None:
            self._live.update(self._view(learner))

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the display stands still."""
        if self._live is not None:
            self._bar.update(self._task, visible=False)
            self._numbers.plain = ""
            self._live.update(self._view(learner), refresh=True)
            self._live.stop()
            self._live = None
        if learner.stopped:
            self.console.print(f"stopped in epoch {learner.epoch}: {learner.stopped}", highlight=False)
        if text.report(learner):
            self.console.print(text.report(learner), highlight=False, soft_wrap=True)

    def _view(self, learner: Learner) -> RenderableType:
        if not learner.history:
            return Group(self._bar, self._numbers)
        lines = learner.history[-self.epochs :]
        names = [name for name, value in lines[-1].items() if name != "step" and text.is_number(value)]
        cells = {name: [text.number(line[name]) if name in line else "" for line in lines] for name in names}
        shown = fitting(cells, self.console.width)
        table = Table(box=None, pad_edge=False)
        for name in shown:
            table.add_column(Text("\n".join(heading(name))), justify="right", vertical="bottom", no_wrap=True)
        for row in zip(*(cells[name] for name in shown), strict=True):
            table.add_row(*row)
        parts: list[RenderableType] = [table]
        if len(shown) < len(names):
            parts.append(
                Text(f"{len(names) - len(shown)} more numbers do not fit here; learner.history has all", "dim")
            )
        for name in (name for name in names if name.endswith("_loss")):
            curve = text.sparkline([line[name] for line in learner.history if name in line])
            parts.append(Text(f"{name} {curve}"))
        return Group(*parts, self._bar, self._numbers)


def heading(name: str, width: int = 10) -> list[str]:
    """The name of a column in lines that are no wider than its numbers need.

    Example:
        >>> heading("valid_accuracy"), heading("train_a_rather_long_name")
        (['valid', 'accuracy'], ['train', 'a_rather', 'long_name'])
    """
    split, _, rest = name.partition("_")
    lines = [split]
    for word in rest.split("_") if rest else []:
        joined = f"{lines[-1]}_{word}"
        if len(lines) > 1 and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    short = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    return short if len(short) <= 4 else [*short[:3], short[3][: width - 1] + "…"]


def fitting(cells: Mapping[str, Sequence[str]], width: int) -> list[str]:
    """The columns that fit: what validation says goes before what training says, losses before all.

    Example:
        >>> cells = {name: ["0.1234"] for name in ("epoch", "lr", "train_loss", "train_f1", "valid_loss", "valid_f1")}
        >>> fitting(cells, 32)
        ['epoch', 'train_loss', 'valid_loss', 'valid_f1']
    """

    def rank(name: str) -> int:
        if name == "epoch" or name.endswith("_loss"):
            return 0
        return 1 if name.startswith(("valid_", "val_")) else 2 if name in ("lr", "seconds") else 3

    chosen: set[str] = set()
    left = width
    for name in sorted(cells, key=rank):
        left -= 2 + max(len(each) for each in (*heading(name), *cells[name]))
        if left < -2:  # the last column has nothing after it
            break
        chosen.add(name)
    return [name for name in cells if name in chosen]
