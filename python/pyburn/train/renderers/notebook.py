"""A table that grows in a notebook's output cell."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from pyburn.train.events import Callback
from pyburn.train.renderers import text

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["NotebookRenderer"]


class NotebookRenderer(Callback):
    """Shows the epochs as an HTML table that is replaced after each epoch.

    Args:
        display: IPython's `display`, or what takes its place.
    """

    order = 80

    def __init__(self, display: Any = None) -> None:
        self._display = display
        self._handle: Any = None

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the cell waits for the first epoch."""
        if self._display is None:
            from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

            self._display = display
        self._handle = self._display(_Table("training ..."), display_id=True)

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the table has the epoch."""
        if self._handle is not None:
            self._handle.update(_Table(table(learner.history)))

    def after_fit(self, learner: Learner) -> None:
        """Nothing; an early end is explained."""
        if learner.stopped and self._handle is not None:
            reason = html.escape(learner.stopped)
            self._handle.update(_Table(table(learner.history) + f"<p>stopped in epoch {learner.epoch}: {reason}</p>"))


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
