"""Checkpoints of a run: when they are written, which ones stay."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyburn import serialization
from pyburn._files import replacing
from pyburn.train.events import Callback
from pyburn.train.metrics import Metric
from pyburn.train.schedule import watched_in
from pyburn.train.state import history_of

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["Checkpoints", "Keep", "KeepAll", "KeepBest", "KeepLast", "Record", "better"]

INDEX = "index.json"


@dataclass(frozen=True)
class Record:
    """One checkpoint: its file, where in the run it stands, and the numbers of its epoch."""

    file: str
    step: int
    epoch: int
    values: dict[str, float]


_MORE = {"acc", "accuracy", "ap", "auc", "auroc", "bleu", "dice", "f1", "iou", "kappa", "map", "precision", "psnr"}
_MORE |= {"r2", "recall", "reward", "return", "rouge", "score", "ssim"}
_LESS = {"cer", "err", "error", "fid", "loss", "lpips", "mae", "mape", "mse", "nll", "perplexity", "ppl"}
_LESS |= {"rmse", "wer"}


def better(name: str, mode: str, metrics: Iterable[Metric] = ()) -> int:
    """1 where more is better, -1 where less is: by `mode` ("max", "min"), else as the metric of that name says.

    What a module logs by itself has no metric: there a word of its name says it.

    Example:
        >>> better("val_acc", "auto"), better("train/rec_loss", "auto"), better("val_foo", "min")
        (1, -1, -1)
    """
    if mode not in ("auto", "min", "max"):
        raise ValueError(f"mode is {mode!r}, but must be 'auto', 'min' or 'max'")
    if mode != "auto":
        return 1 if mode == "max" else -1
    found = next((each for each in metrics if name.partition("_")[2] == each.name), None)
    if found is not None and found.higher_is_better is not None:
        return 1 if found.higher_is_better else -1
    words = [] if found is not None else [word for word in re.split("[^a-z0-9]+", name.lower()) if word]
    for word in reversed(words):  # "recall_loss" is a loss
        if word in _MORE or word in _LESS:
            return 1 if word in _MORE else -1
    raise ValueError(
        f"no metric says whether more or less of {name!r} is better; say mode='max' or 'min' to what watches it, such "
        f"as Learner(checkpoints=KeepBest({name!r}, mode='max'))"
    )


class Keep:
    """Which checkpoints stay; two joined by `|` keep what either keeps."""

    def kept(self, records: list[Record]) -> set[str]:
        """The files that stay, of `records` in the order of their writing."""
        raise NotImplementedError(f"{type(self).__name__}: a Keep must define kept(records).")

    def begin(self, metrics: Iterable[Metric]) -> None:
        """Nothing; the run has these metrics."""

    def __or__(self, other: Keep) -> Keep:
        return _Either(self, other)


class _Either(Keep):
    def __init__(self, one: Keep, other: Keep) -> None:
        self.parts = (one, other)

    def kept(self, records: list[Record]) -> set[str]:
        return self.parts[0].kept(records) | self.parts[1].kept(records)

    def begin(self, metrics: Iterable[Metric]) -> None:
        for part in self.parts:
            part.begin(metrics)


class KeepAll(Keep):
    """Every checkpoint stays."""

    def kept(self, records: list[Record]) -> set[str]:
        """All files."""
        return {record.file for record in records}


class KeepLast(Keep):
    """The newest `count` checkpoints stay.

    Example:
        >>> records = [Record(f"{step}.pt", step, step, {}) for step in range(4)]
        >>> sorted(KeepLast(2).kept(records))
        ['2.pt', '3.pt']
    """

    def __init__(self, count: int = 1) -> None:
        if count < 1:
            raise ValueError(f"KeepLast: count is {count}, but a run without its last checkpoint cannot go on")
        self.count = count

    def kept(self, records: list[Record]) -> set[str]:
        """The files of the newest."""
        return {record.file for record in records[-self.count :]}


class KeepBest(Keep):
    """The best `count` checkpoints stay, by the number `monitor` of their epochs.

    Args:
        monitor: A name of an epoch's line, such as "valid_accuracy"; where a run has no validation, "train_..." counts.
            Epochs that were not validated are not the best; where one was and lacks the number, it is an error.
        count: How many.
        mode: "max", "min", or "auto" to go by the metric's `higher_is_better`.

    Example:
        >>> records = [Record(f"{i}.pt", i, i, {"valid_loss": loss}) for i, loss in enumerate([3.0, 1.0, 2.0])]
        >>> KeepBest("valid_loss", mode="min").kept(records)
        {'1.pt'}
    """

    def __init__(self, monitor: str = "valid_loss", count: int = 1, mode: str = "auto") -> None:
        self.monitor, self.count, self.mode = monitor, count, mode
        self.sign = 0 if mode == "auto" else better(monitor, mode)
        self.needed = True  # whether an epoch that was validated must have the number

    def begin(self, metrics: Iterable[Metric]) -> None:
        """Nothing; the metric of the monitored number has said what is better."""
        self.sign = better(self.monitor, self.mode, metrics)

    def kept(self, records: list[Record]) -> set[str]:
        """The files of the best; of equals the first."""
        numbers = [(self._number(record), -place, record.file) for place, record in enumerate(records)]
        known = [each for each in numbers if not math.isnan(each[0])]
        return {file for *_, file in sorted(known, reverse=True)[: self.count]}

    def _number(self, record: Record) -> float:
        value = watched_in(record.values, self.monitor)
        if value is None and self.needed and any(name.startswith(("val_", "valid_")) for name in record.values):
            raise ValueError(f"KeepBest: an epoch has no {self.monitor!r}; it has {', '.join(record.values)}")
        return math.nan if value is None else self.sign * value


class Checkpoints(Callback):
    """Writes a checkpoint after each epoch, and one more where a run is interrupted.

    Args:
        keep: Which ones stay. The newest always does.
        every: Also one after each so many batches.
    """

    order = 100  # after everyone who changes what is written

    def __init__(self, keep: Keep | None = None, every: int | None = None) -> None:
        self.keep = keep or KeepLast(2)
        self.every = every
        self.records: list[Record] = []
        self.folder: Path | None = None

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the folder is there, and the checkpoints that it holds are known."""
        if learner.folder is None:
            raise ValueError("Checkpoints: this run has no folder; give the Learner folder=...")
        self.folder = learner.folder.path / "checkpoints"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.records = [each for each in read_index(self.folder) if each.step <= learner.step]
        self.keep.begin(learner.metrics)

    def after_batch(self, learner: Learner) -> None:
        """Nothing; one in `every` batches leaves a checkpoint."""
        if learner.training and self.every and learner.batches_done % self.every == 0:
            self.write(learner)

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the epoch is kept."""
        self.write(learner)

    def after_fit(self, learner: Learner) -> None:
        """Nothing; a run that was interrupted within an epoch is kept where it stands."""
        if learner.interrupted and learner.batches_done:
            self.write(learner)

    def write(self, learner: Learner) -> Path:
        """The file of a new checkpoint."""
        if self.folder is None:
            raise RuntimeError("Checkpoints: the run has not begun")
        within = f"-batch-{learner.batches_done:06d}" if learner.batches_done else ""
        epoch = learner.finished + (1 if within else 0)
        name = f"epoch-{epoch:04d}{within}.pt"
        serialization.save(learner.state_dict(), self.folder / name)
        line = learner.history[-1] if learner.history and not within else {}
        self.records = [each for each in self.records if each.file != name]
        self.records.append(Record(name, learner.step, epoch, _numbers(line)))
        self._forget()
        return self.folder / name

    def _forget(self) -> None:
        """Nothing; the index names what stays, and the other files are gone."""
        assert self.folder is not None
        stays = self.keep.kept(self.records) | {self.records[-1].file}
        gone = [each for each in self.records if each.file not in stays]
        self.records = [each for each in self.records if each.file in stays]
        # Not waited for: should a loss of power spoil it, the checkpoints themselves tell what stood in it.
        with replacing(self.folder / INDEX, durable=False) as file:
            file.write(json.dumps([vars(each) for each in self.records]).encode())
        for record in gone:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folder / record.file)

    def best(self) -> Path | None:
        """The file of the best checkpoint where the rule knows one, else of the newest."""
        if not self.records or self.folder is None:
            return None
        rules = self.keep.parts if isinstance(self.keep, _Either) else (self.keep,)
        for rule in rules:
            kept = rule.kept(self.records) if isinstance(rule, KeepBest) else set()
            if kept:
                return self.folder / sorted(kept)[0]
        return self.folder / self.records[-1].file


def read_index(folder: Path) -> list[Record]:
    """The checkpoints that the folder's index names and that are there."""
    try:
        entries: list[dict[str, Any]] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        records = [Record(**entry) for entry in entries]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError):  # a loss of power left half of it
        records = _read_files(folder)
    return [record for record in records if (folder / record.file).is_file()]


def _read_files(folder: Path) -> list[Record]:
    """The records of the checkpoints in the folder, from the checkpoints themselves: what the index was made of."""
    found = []
    for path in sorted(folder.glob("epoch-*.pt")):
        state = serialization.load(path, map_location="cpu")
        history = history_of(state)
        line = history[-1] if history and not state["batch"] else {}
        epoch = state["finished"] + (1 if state["batch"] else 0)
        found.append(Record(path.name, state["step"], epoch, _numbers(line)))
    return sorted(found, key=lambda record: record.step)


def _numbers(line: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in line.items() if isinstance(value, (int, float))}
