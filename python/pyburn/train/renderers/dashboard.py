"""A full-screen view of a run in a terminal, by the package `textual`: plots, numbers, speed, keys that stop it."""

from __future__ import annotations

import contextlib
import contextvars
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal
from textual.widgets import Footer, RichLog, Static

from pyburn.train.interrupt import Interrupts
from pyburn.train.learner import Learner
from pyburn.train.metrics import CPUMemory, CPUUse
from pyburn.train.renderers import text
from pyburn.train.renderers.board import Board
from pyburn.train.renderers.braille import curve_lines

__all__ = ["Dashboard", "run"]

COLOURS = {"train": "#6ea2ff", "valid": "#ff9a66"}
PLOTS = 4


class Plot(Static):
    """One picture: the curves of one number."""

    def __init__(self, board: Board, number: int) -> None:
        super().__init__(classes="further" if number >= PLOTS // 2 else None)
        self.board, self.number = board, number

    def render(self) -> RenderableType:
        """The curves in the size that there is."""
        name, series = _plotted(self.board, self.number)
        self.border_title = name
        width, height = self.size.width, self.size.height
        shown = Text(no_wrap=True)
        for row in curve_lines([(COLOURS[key], points) for key, points in series.items()], width, height):
            for sign, colour in row:
                shown.append(sign, style=colour)
            shown.append("\n")
        return shown


def _plotted(board: Board, number: int) -> tuple[str, dict[str, list[tuple[float, float]]]]:
    """The title and the points of the plot of that number: first the batches, then a metric each."""
    if number == 0:
        return "loss of each batch", {"train": [(float(step), loss) for step, loss in list(board.batches)]}
    names = _metric_names(board)
    if number > len(names):
        return "", {}
    name = names[number - 1]
    series = {}
    for split in COLOURS:
        key = f"{split}_{name}"
        lines = [line for line in board.history if key in line and text.is_number(line[key])]
        series[split] = [(float(line["epoch"]), float(line[key])) for line in lines]
    return f"{name} by epoch", series


def _metric_names(board: Board) -> list[str]:
    found = {
        name: None for values in list(board.values.values()) for name, value in values.items() if text.is_number(value)
    }
    return list(found)


class Dashboard(App[None]):
    """The screen of a run; it reads a `Board` a few times a second and lets the keys change it.

    Args:
        board: What it shows.
        work: The run itself, started in a thread of its own as soon as the screen is there.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "Pause / go on"),
        Binding("q,s", "stop", "Stop with a checkpoint"),
        Binding("ctrl+c", "interrupt", "Stop (twice: at once)", priority=True),
    ]
    CSS = """
    Screen { layout: vertical; }
    #top { height: 2; padding: 0 1; }
    #plots { grid-size: 2 2; grid-gutter: 0 1; height: 1fr; }
    Plot { border: round $surface-lighten-2; border-title-color: $text; height: 100%; width: 100%; }
    #below { height: 9; }
    #numbers, #machine { width: 1fr; border: round $surface-lighten-2; padding: 0 1; height: 100%;
        border-title-color: $text; }
    RichLog { height: 4; padding: 0 1; background: $surface; }
    Screen.-low #plots { grid-size: 2 1; }
    Screen.-low .further { display: none; }
    Screen.-low RichLog { height: 2; }
    """
    # Four plots in 24 lines would show nothing.
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012

    def __init__(self, board: Board, work: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.board, self.work = board, work
        self.started = False
        self._use, self._memory = CPUUse("machine"), CPUMemory("process")
        self._uses: deque[float] = deque(maxlen=40)
        self._speeds: deque[float] = deque(maxlen=40)

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        yield Static(id="top")
        with Grid(id="plots"):
            for number in range(PLOTS):
                yield Plot(self.board, number)
        with Horizontal(id="below"):
            yield Static(id="numbers")
            yield Static(id="machine")
        yield RichLog(wrap=True, max_lines=200)
        yield Footer()

    def on_mount(self) -> None:
        """Nothing; the run begins."""
        self.query_one("#numbers", Static).border_title = "metrics"
        self.query_one("#machine", Static).border_title = "speed and machine"
        self.begin_capture_print(self)
        self.set_interval(0.2, self.refresh_all)
        self.set_interval(1.0, self.measure)
        if self.work is not None:
            self.started = True
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(self.work,), name="pyburn-training", daemon=True).start()

    def on_print(self, event: events.Print) -> None:
        """Nothing; what the run prints stands in the log."""
        self.board.messages.extend(line for line in event.text.splitlines() if line.strip())

    def action_pause(self) -> None:
        """Nothing; the run stands still, or goes on."""
        self.board.pause()
        self.refresh_all()

    def action_stop(self) -> None:
        """Nothing; the run ends after this batch."""
        self.board.stop()

    def action_interrupt(self) -> None:
        """Nothing; the run ends after this batch, the second time at once."""
        self.board.interrupt()

    def measure(self) -> None:
        """Nothing; the use of the machine is noted."""
        self._use.update(None, None)
        value = self._use.compute()
        self._use.reset()
        self._uses.append(float(value))
        self._speeds.append(self.board.speed()[1])

    def refresh_all(self) -> None:
        """Nothing; the screen shows the run as it stands, and ends with it."""
        if self.board.finished.is_set():
            self.exit()
            return
        self.query_one("#top", Static).update(self._top())
        self.query_one("#numbers", Static).update(self._numbers())
        self.query_one("#machine", Static).update(self._machine())
        for plot in self.query(Plot):
            plot.refresh()
        log = self.query_one(RichLog)
        while self.board.messages:
            log.write(self.board.messages.popleft())

    def _top(self) -> Text:
        board = self.board
        gone, left = board.times()
        state = "paused" if board.paused else board.phase
        total = "" if board.total is None else f"/{board.total}"
        shown = Text(f"{board.title}  ", style="bold")
        shown.append(f"epoch {board.epoch}/{board.epochs}  {state} {board.done}{total}  ", style="not bold")
        shown.append(f"{gone} gone, {left} left\n", style="not bold dim")
        width = max(10, self.size.width - 8)
        filled = round(board.share() * width)
        shown.append("━" * filled, style=COLOURS["train"])
        shown.append("━" * (width - filled), style="dim")
        shown.append(f" {board.share():4.0%}")
        return shown

    def _numbers(self) -> Table:
        table = Table(box=None, pad_edge=False, expand=True)
        table.add_column("")
        for name in ("train", "valid", "best"):
            table.add_column(name, justify="right", style=COLOURS.get(name, ""))
        for name in _metric_names(self.board):
            cells = [self.board.values.get(split, {}).get(name, "") for split in COLOURS]
            numbers = [text.number(cell) if cell != "" else "" for cell in cells]
            table.add_row(name, *numbers, self.board.best(f"valid_{name}"))
        return table

    def _machine(self) -> Table:
        batches, samples = self.board.speed()
        memory = self._memory
        memory.reset()
        memory.update(None, None)
        used = f"{self._uses[-1]:.0f} %" if self._uses else ""
        table = Table(box=None, pad_edge=False, show_header=False, expand=True)
        table.add_row("batches per second", f"{batches:.1f}", "")
        table.add_row("samples per second", f"{samples:.0f}", text.sparkline(list(self._speeds)))
        table.add_row("processor", used, text.sparkline([0.0, 100.0, *list(self._uses)[-20:]])[2:])
        table.add_row("memory", f"{float(memory.compute()):.2f} GiB", "")
        table.add_row("learning rate", text.number(self.board.learning_rate), "")
        table.add_row("step", f"{self.board.step:,}", "")
        return table


def run(learner: Learner, board: Board, body: Callable[[], None]) -> None:
    """Nothing; the run is over. It went on in a thread while this one, which has the terminal, showed it.

    What the run raises is raised here; the terminal is as it was before.
    """
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            body()
        except BaseException as error:
            outcome.append(error)
        finally:
            board.finished.set()

    board.finished.clear()
    app = Dashboard(board, work)
    with Interrupts(say=board.messages.append) as learner.interrupts, _ended_by(signal.SIGTERM, board.stop):
        try:
            app.run(mouse=False)
        except BaseException:
            learner.interrupts.asked = True  # the screen is gone: the run may not go on unseen
            raise
        finally:
            if app.started:
                _wait(board)
    if not app.started:
        body()  # the screen could not be made, and has said why
    if outcome:
        raise outcome[0]
    _say_end(learner)


def _wait(board: Board) -> None:
    """Nothing; the run is over. Signals are still heard meanwhile."""
    if board.paused:
        board.pause()
    while not board.finished.wait(0.2):
        pass


def _say_end(learner: Learner) -> None:
    line = learner.history[-1] if learner.history else {}
    shown = {name: value for name, value in line.items() if name not in ("epoch", "step", "seconds")}
    if line:
        print(f"epoch {line['epoch']}/{learner.last_epoch}  {text.summary(shown)}", flush=True)
    if learner.stopped:
        print(f"stopped in epoch {learner.epoch}: {learner.stopped}", flush=True)
    if text.report(learner):
        print(text.report(learner), flush=True)


@contextlib.contextmanager
def _ended_by(number: int, stop: Callable[[], None]) -> Iterator[None]:
    """While the block runs, the signal stops the run in good order instead of leaving a broken terminal."""
    before: Any = signal.signal(number, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(number, before)


def possible() -> bool:
    """Whether a full screen can be had: a terminal on both sides, and the main thread."""
    streams = (sys.__stdin__, sys.__stderr__)
    here = threading.current_thread() is threading.main_thread()
    return here and all(stream is not None and stream.isatty() for stream in streams)
