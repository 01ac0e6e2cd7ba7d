"""The full-screen view: its keys, its plots, and the terminal that it leaves behind."""

import asyncio
import os
import pty
import select
import subprocess
import sys
import termios
import time

import pytest
from pyburn import train
from pyburn.train import building
from pyburn.train.renderers.board import Board
from pyburn.train.renderers.braille import Canvas, curve_lines
from pyburn.train.renderers.dashboard import Dashboard, Plot

from train import runs

LIMIT = 30


def shown(app):
    """The text on the screen."""
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def watched(tmp_path, session, pause, size=(110, 40)):
    """The learner after a run that stood still at step `pause`, steered by `session(app, pilot, board, learner)`."""
    made = runs.learner(tmp_path, metrics=["accuracy"])
    board = made.board = Board()
    made.events.add(board)
    made.on("after_batch", lambda learner: learner.training and learner.step == pause and board.pause())
    failures = []

    def work():
        try:
            runs.fit_here(made)
        except BaseException as error:
            failures.append(error)
        finally:
            board.finished.set()

    async def main():
        app = Dashboard(board, work)
        async with app.run_test(size=size) as pilot:
            await session(app, pilot, board, made)
        while not board.finished.is_set():  # the run outlives a screen that is gone
            board.stop()
            await asyncio.sleep(0.01)

    asyncio.run(main())
    return made, failures


async def until(pilot, condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        await pilot.pause(0.02)


def test_a_terminal_of_24_lines_has_plots_too(tmp_path):
    async def session(app, pilot, board, made):
        await until(pilot, board.waiting.is_set)
        app.refresh_all()
        await pilot.pause()
        screen = shown(app)
        assert "loss by epoch" in screen
        assert "accuracy by epoch" not in screen
        assert any(0x2800 < ord(sign) < 0x2900 for sign in screen)
        await pilot.press("p")
        await until(pilot, board.finished.is_set)

    watched(tmp_path, session, pause=20, size=(80, 24))


def test_a_run_is_paused_goes_on_and_is_shown(tmp_path):
    async def session(app, pilot, board, made):
        await until(pilot, board.waiting.is_set)
        stands = made.step, made.batches_done
        app.refresh_all()
        await pilot.pause()
        screen = shown(app)
        for part in ("epoch 3/4", "paused", "loss of each batch", "accuracy by epoch", "samples per second", "GiB"):
            assert part in screen
        assert any(0x2800 < ord(sign) < 0x2900 for sign in screen)
        assert f"{max(line['train_loss'] for line in made.history):.3g}" in screen
        await pilot.pause(0.3)
        assert (made.step, made.batches_done) == stands
        await pilot.press("p")
        assert not board.paused
        await until(pilot, board.finished.is_set)

    made, failures = watched(tmp_path, session, 19)
    assert not failures
    assert len(made.history) == 4
    assert made.stopped is None


@pytest.mark.parametrize("key", ["q", "s", "ctrl+c"])
def test_keys_stop_with_a_checkpoint(tmp_path, key):
    async def session(app, pilot, board, made):
        await until(pilot, board.waiting.is_set)
        await pilot.press(key)
        await until(pilot, board.finished.is_set)

    made, failures = watched(tmp_path, session, 11)
    assert not failures
    assert made.interrupted
    assert made.step == 11
    assert (tmp_path / "checkpoints" / "epoch-0002-batch-000003.pt").is_file()
    again = runs.learner(tmp_path, metrics=["accuracy"])
    runs.fit(again, resume=True)
    whole = runs.fit(runs.learner(False, metrics=["accuracy"]))
    assert [line["valid_loss"] for line in again.history] == [line["valid_loss"] for line in whole]


def test_plots_of_a_size_that_holds_none(tmp_path):
    async def session(app, pilot, board, made):
        await until(pilot, board.waiting.is_set)
        await pilot.resize_terminal(20, 8)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: max(plot.size.width for plot in app.query(Plot)) > 80)
        await pilot.press("p")

    watched(tmp_path, session, 11)


SCRIPT = """
import sys
from pyburn.train.renderers.dashboard import Dashboard
from train import runs
way, folder = sys.argv[1:]
made = runs.learner(folder, dashboard=True)
assert made.board is not None
if way == "error":
    made.on("after_batch", lambda learner: learner.step == 5 and 1 / 0)
if way == "twice":
    def busy(learner):
        print("busy now")  # what the run prints is shown
        while True:
            pass
    made.on("after_forward", busy)
try:
    runs.fit(made, 3 if way == "end" else 100_000)
finally:
    print("left", type(sys.exc_info()[1]).__name__, made.step)
"""


@pytest.mark.parametrize(
    ("way", "keys", "wanted"),
    [
        ("end", [], "left NoneType 24"),
        ("stop", [("samples per second", b"q")], "left NoneType"),
        ("error", [], "left ZeroDivisionError 5"),
        ("twice", [("busy now", b"\x03"), ("Stopping after this batch", b"\x03")], "left KeyboardInterrupt 0"),
    ],
)
def test_the_terminal_is_left_as_it_was(tmp_path, way, keys, wanted):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    before = termios.tcgetattr(theirs)
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join([*sys.path, "tests"])}
    command = [sys.executable, "-c", SCRIPT, way, str(tmp_path)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True)
    seen, since, end = "", 0, time.monotonic() + LIMIT
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            seen += os.read(ours, 65536).decode(errors="replace")
        elif process.poll() is not None:
            break
        if keys and keys[0][0] in seen[since:]:
            os.write(ours, keys.pop(0)[1])
            since = len(seen)
    process.kill()
    process.wait()
    after = termios.tcgetattr(theirs)
    os.close(ours)
    os.close(theirs)
    assert wanted in seen
    assert seen.rindex("\x1b[?1049l") < seen.rindex(wanted)  # first the usual screen, then the words
    assert after == before
    assert (tmp_path / "report.html").is_file()


def test_without_a_terminal_lines_are_plain():
    assert building.board() is None
    assert runs.learner(False, dashboard=True).board is None


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("textual", "pyburn.train.renderers.dashboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delattr(train.renderers, "dashboard", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pyburn\[dashboard\]'"):
        runs.learner(False, dashboard=True)


def test_a_board_counts():
    made = runs.learner(False)
    board = Board()
    made.events.add(board)
    runs.fit(made, 2)
    assert (board.epoch, board.epochs, board.step, board.share()) == (2, 2, 16, 1.0)
    assert [step for step, _ in board.batches] == list(range(1, 17))
    assert board.best("valid_loss") == f"{min(line['valid_loss'] for line in made.history):.4g}"
    assert board.speed()[1] > 0


def test_curves_of_signs():
    canvas = Canvas(1, 1)
    for x in range(2):
        for y in range(4):
            canvas.dot(x, y, "red")
    canvas.dot(5, 5, "red")
    assert canvas.rows() == [[("⣿", "red")]]
    assert curve_lines([], 40, 10) == []
    assert curve_lines([("red", [(1, float("nan"))])], 40, 10) == []
    flat = curve_lines([("red", [(1, 2.0), (5, 2.0)])], 40, 10)
    assert len(flat) == 10
    assert sum(sign != " " for row in flat[:-1] for sign, _ in row[1:]) > 30
