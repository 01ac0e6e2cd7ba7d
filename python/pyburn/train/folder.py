"""The folder of a run: settings, numbers of every batch and epoch, messages, checkpoints."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pyburn._files import replacing
from pyburn.train.checkpoints import read_index
from pyburn.train.events import Callback

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["RunFolder", "newest_in"]

RUNS = Path("runs")
ROWS = 64  # batches whose lines are written together


class RunFolder(Callback):
    """Writes `config.json`, `metrics.jsonl` (a line for each batch and epoch), `metrics.csv` (epochs) and `log.txt`.

    Args:
        path: The folder; without it, a new one under `runs/` that is named by the time.
    """

    order = 90

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path).expanduser()
        self._lines: IO[str] | None = None
        self._offset: int | None = None
        self._table: IO[str] | None = None
        self._columns: list[str] = []
        self._rows: list[tuple[int, int, int, float | None]] = []  # of batches, whose lines are written together

    @property
    def path(self) -> Path:
        """The folder; the first question decides the name of a new one."""
        if self._path is None:
            name = time.strftime("%Y-%m-%d_%H-%M-%S")
            taken = [RUNS / name, *(RUNS / f"{name}_{number}" for number in range(2, 1000))]
            self._path = next(each for each in taken if not each.exists())
        return self._path

    def newest_checkpoint(self) -> Path | None:
        """The newest checkpoint of this folder, or, where no folder was named, of the newest run that has one."""
        folders = [self._path] if self._path is not None else sorted(RUNS.glob("*/"), reverse=True)
        for folder in folders:
            records = read_index(folder / "checkpoints")
            if records:
                self._path = folder
                return folder / "checkpoints" / records[-1].file
        return None

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the folder is there and its files are open."""
        if learner.config is not None:
            learner.config.save(self.path / "config.json")
        else:
            with replacing(self.path / "config.json", durable=False) as file:
                file.write((json.dumps(_settings(learner), indent=2) + "\n").encode())
        lines = self.path / "metrics.jsonl"
        if learner.step == 0 and not learner.history:
            self._offset = 0  # as the table and the checkpoints, these are of this run alone
        if self._offset is not None and lines.exists():
            # What came after the checkpoint comes again.
            os.truncate(lines, min(self._offset, lines.stat().st_size))
        self._offset, self._columns, self._rows = None, [], []  # the table is written anew once
        self._lines = open(lines, "a", encoding="utf-8")  # noqa: SIM115
        self.log(f"fit: epochs {learner.finished + 1} to {learner.last_epoch}, step {learner.step}")

    def make(self) -> None:
        """Nothing; the folder is there.

        Raises:
            OSError: It cannot be made; the text says where to put it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise type(error)(
                error.errno,
                f"Learner: the folder of the run cannot be made ({error.strerror}); give folder= a place where you may "
                "write, or folder=False for no files",
                str(self.path),
            ) from None

    def log(self, message: str) -> None:
        """Nothing; `log.txt` ends with the message."""
        with open(self.path / "log.txt", "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}\n")

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the batch has its line, which is written with those of its neighbours."""
        batch = learner.batch
        if self._lines is None or batch is None or not learner.training:
            return
        self._rows.append((batch.epoch, batch.index + 1, learner.step, batch.value))
        if len(self._rows) >= ROWS:
            self._write_rows()

    def _write_rows(self) -> None:
        """Nothing; the lines of the batches so far are in the file's buffer."""
        if self._lines is not None and self._rows:
            # As json.dumps would write it, at a tenth of the time: what is no finite number has ended the run.
            self._lines.writelines(
                f'{{"epoch": {epoch}, "batch": {batch}, "step": {step}, "loss": {loss!r}}}\n'
                for epoch, batch, step, loss in self._rows
            )
            self._rows.clear()

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the epoch has its line, and the table is whole."""
        line = {name: _plain(value) for name, value in learner.history[-1].items()}
        if self._lines is not None:
            self._write_rows()
            self._lines.write(json.dumps(_finite(line)) + "\n")
        self._tabulate(line, learner.history)

    def _tabulate(self, line: dict[str, Any], history: list[dict[str, Any]]) -> None:
        """Nothing; `metrics.csv` ends with the line, and is written anew where its columns are not those of before."""
        if self._table is not None and list(line) == self._columns:
            csv.writer(self._table).writerow(line.values())
            self._table.flush()
            return
        self._close_table()
        text = io.StringIO(newline="")
        names = list(dict.fromkeys(name for each in history for name in each))
        table = csv.DictWriter(text, names)
        table.writeheader()
        table.writerows([{name: _plain(value) for name, value in each.items()} for each in history])
        with replacing(self.path / "metrics.csv", durable=False) as whole:
            whole.write(text.getvalue().encode())
        self._table = open(self.path / "metrics.csv", "a", encoding="utf-8", newline="")  # noqa: SIM115
        self._columns = names

    def _close_table(self) -> None:
        if self._table is not None:
            self._table.close()
            self._table = None

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the files are closed."""
        self._close_table()
        if self._lines is not None:
            self._write_rows()
            self._lines.close()
            self._lines = None
            self.log(f"end: {learner.stopped or 'all epochs done'}")

    def flush(self) -> None:
        """Nothing; all lines so far can be read."""
        if self._lines is not None:
            self._write_rows()
            self._lines.flush()

    def state_dict(self) -> dict[str, Any]:
        """How far the file of lines goes."""
        if self._lines is None:
            return {}
        self.flush()
        return {"offset": self._lines.tell()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        self._offset = state.get("offset")


def newest_in(folder: str | os.PathLike[str]) -> Path:
    """The newest checkpoint of a run's folder.

    Raises:
        FileNotFoundError: It has none.
    """
    found = RunFolder(folder).newest_checkpoint()
    if found is None:
        raise FileNotFoundError(f"fit: resume is {os.fspath(folder)!r}, but there is no checkpoint in that folder")
    return found


def _settings(learner: Learner) -> dict[str, Any]:
    """What a Learner without a `Config` was told, for the reader of the folder."""
    groups = [
        {name: _plain(value) for name, value in group.items() if name != "params"}
        for group in learner.optimizer.param_groups
    ]
    gradients, scheduler = learner.gradients, learner.schedule.scheduler
    return {
        "model": type(learner.model).__name__,
        "parameters": sum(weight.numel() for weight in learner.model.parameters()),
        "loss": None if learner.loss is None else getattr(learner.loss, "__name__", type(learner.loss).__name__),
        "optimizer": type(learner.optimizer).__name__,
        "groups": groups,
        "lr_scheduler": None if scheduler is None else type(scheduler).__name__,
        "epochs": learner.last_epoch,
        "metrics": [each.name for each in learner.metrics],
        "device": str(learner.device),
        "seed": learner.seed,
        "accumulate": gradients.accumulate,
        "clip_norm": gradients.clip_norm,
        "clip_value": gradients.clip_value,
        "precision": None if gradients.dtype is None else str(gradients.dtype).rpartition(".")[2],
        "recompute": list(learner.recompute),
        "monitor": learner.monitor,
    }


def _plain(value: Any) -> Any:
    """A number or a list of numbers that JSON can hold."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if value is None or isinstance(value, (int, float, str, list)) else str(value)


def _finite(value: Any) -> Any:
    """The same with null for NaN and inf, which JSON has no words for."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
