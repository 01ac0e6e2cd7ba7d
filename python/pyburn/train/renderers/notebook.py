"""A table that grows in a notebook's output cell."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["NotebookRenderer"]


class NotebookRenderer(Callback):
    """Shows the epochs as an HTML table that grows, and below it how far the present epoch is.

    Args:
        display: IPython's `display`, or what takes its place.
        every: The seconds between two looks at the batches.
    """

    order = 80

    def __init__(self, display: Any = None, every: float = 0.5) -> None:
        self._display, self._every = display, every
        self._handle: Any = None
        self._shown = 0.0

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the cell waits for the first epoch."""
        if self._display is None:
            from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

            self._display = display
        self._handle = self._display(_Table("training ..."), display_id=True)

    def after_batch(self, learner: Learner) -> None:
        """Nothing; now and then the cell says how far the epoch is."""
        batch = learner.batch
        if self._handle is None or batch is None or time.monotonic() - self._shown < self._every:
            return
        self._shown = time.monotonic()
        data = learner.train_data if learner.training else learner.valid_data
        total = text.length(data) if learner.split != "test" else None
        many = f" max={total}" if total else ""
        where = f"epoch {learner.epoch}/{learner.last_epoch} {learner.split} {batch.index + 1}" + f"/{total}" * bool(
            total
        )
        line = html.escape(f"{where}  {text.summary(learner.values())}")
        bar = f"<progress value={batch.index + 1}{many}></progress>" if total else ""
        self._handle.update(_Table(f"{table(learner.history)}<p>{bar} {line}</p>"))

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the table has the epoch."""
        if self._handle is not None:
            self._handle.update(_Table(table(learner.history)))

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the table is whole, an early end explained, and the report named."""
        if self._handle is None:
            return
        stopped = f"stopped in epoch {learner.epoch}: {learner.stopped}" if learner.stopped else ""
        lines = [line for line in (stopped, text.report(learner)) if line]
        notes = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
        self._handle.update(_Table(table(learner.history) + notes))
        self._handle = None


class _Table:
    def __init__(self, content: str) -> None:
        self.content = content

    def _repr_html_(self) -> str:
        return self.content


def table(history: list[dict[str, Any]]) -> str:
    """The epochs as an HTML table.

    Example:
        >>> table([{"epoch": 1, "train_loss": 0.5}])
        '<table><tr><th>epoch</th><th>train_loss</th></tr><tr><td>1</td><td>0.5</td></tr></table>'
    """
    if not history:
        return ""
    names = [name for name, value in history[-1].items() if name != "step" and text.is_number(value)]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{text.number(line[name]) if name in line else ''}</td>" for name in names) + "</tr>"
        for line in history
    )
    return f"<table><tr>{head}</tr>{rows}</table>"
