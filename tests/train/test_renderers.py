"""What a run shows: plain lines, a bar in a terminal, a table in a notebook."""

import io

import pyburn
import pytest
from pyburn import train
from pyburn.train.renderers.board import Board
from pyburn.train.renderers.notebook import NotebookRenderer
from pyburn.train.renderers.progress import ProgressRenderer
from pyburn.train.renderers.text import duration, number, sparkline, summary
from rich.console import Console

from train import runs


def test_plain_lines():
    text = io.StringIO()
    history = runs.fit(runs.learner(False, renderer=train.PlainRenderer(text)), 2)
    lines = text.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert f"valid_loss {history[1]['valid_loss']:.4g}" in lines[1]


def test_an_early_end_is_said():
    text = io.StringIO()
    made = runs.learner(False, renderer=train.PlainRenderer(text))
    made.on("before_step", lambda learner: stop())
    runs.fit(made)
    assert text.getvalue() == "stopped in epoch 1: enough\n"


def test_the_last_line_says_where_the_report_is(tmp_path):
    lines, screen = io.StringIO(), Console(file=io.StringIO(), force_terminal=True, width=60)
    for renderer, shown in ((train.PlainRenderer(lines), lines), (ProgressRenderer(screen), screen.file)):
        runs.fit(runs.learner(tmp_path, renderer=renderer), 1)
        assert shown.getvalue().splitlines()[-1].endswith(f"report: {tmp_path / 'report.html'}")


def stop():
    raise train.StopFit("enough")


def test_the_bar_of_a_terminal():
    screen = Console(file=io.StringIO(), force_terminal=True, width=160)
    history = runs.fit(runs.learner(False, renderer=ProgressRenderer(screen), metrics=["accuracy"]), 3)
    shown = screen.file.getvalue()
    for part in ("epoch 1/3 train", "accuracy", "0/8", f"{history[-1]['valid_loss']:.4g}"):
        assert part in shown


def test_numbers_are_whole_in_a_narrow_terminal():
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    names = ["accuracy", "f1", "precision", "recall", train.metrics.F1(average="micro", name="a_long_name_of_a_metric")]
    history = runs.fit(runs.learner(False, renderer=ProgressRenderer(screen), metrics=names), 2)
    shown = screen.file.getvalue()
    for name in ("valid_accuracy", "valid_recall", "train_loss"):
        assert f" {number(history[-1][name])} " in shown
    assert "more numbers do not fit here" in shown
    assert not [line for line in shown.splitlines() if line.startswith("    1 ") and "…" in line]


def test_the_bar_stands_still_after_an_error():
    screen = Console(file=io.StringIO(), force_terminal=True, width=160)
    made = runs.learner(False, renderer=ProgressRenderer(screen))
    made.on("before_step", lambda learner: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        runs.fit(made)
    assert "ZeroDivisionError" in screen.file.getvalue()


def test_the_table_of_a_notebook(tmp_path):
    shown = []

    class Handle:
        def update(self, content):
            shown.append(content._repr_html_())

    renderer = NotebookRenderer(lambda content, display_id: Handle(), every=0.0)
    history = runs.fit(runs.learner(tmp_path, renderer=renderer), 2)
    assert shown[-1].count("<tr>") == 3
    assert f"<td>{number(history[-1]['train_loss'])}</td>" in shown[-1]
    assert shown[-1].endswith("report.html</p>")
    assert "<progress value=3 max=8></progress> epoch 1/2 train 3/8  loss " in shown[2]
    assert any("epoch 2/2 valid 1/4" in each for each in shown)
    before = len(shown)
    made = runs.learner(False, renderer=NotebookRenderer(lambda content, display_id: Handle(), every=1e9))
    made.on("before_step", lambda learner: stop())
    runs.fit(made)
    assert shown[before:] == ["<p>stopped in epoch 1: enough</p>"]


def test_without_a_terminal_lines_are_plain():
    assert isinstance(train.default_renderer(), train.PlainRenderer)


def test_numbers_as_text():
    assert summary({"a": 0.5, "b": pyburn.tensor(2.0), "c": pyburn.zeros(3)}) == "a 0.5  b 2"
    assert duration(0.0004) == "0ms"
    assert (duration(59.96), duration(3600)) == ("60.0s", "1h00m")
    assert sparkline([]) == ""
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert sparkline([1.0, float("inf"), float("nan"), 2.0]) == "▁█"


class Stream(pyburn.utils.data.IterableDataset):
    """Samples without a number of them."""

    def __iter__(self):
        inputs, classes, _ = runs.problem()
        return iter(list(zip(inputs, classes, strict=True)))


@pytest.mark.parametrize("kind", ["bar", "board"])
def test_streams_have_no_length(kind):
    screen = Console(file=io.StringIO(), force_terminal=True, width=160)
    renderer = ProgressRenderer(screen) if kind == "bar" else Board()
    made = runs.learner(False, renderer=renderer)
    assert len(made.fit(Stream(), Stream(), 2)) == 2
