"""`report.html`: a run at a glance, written while it goes and when it ends."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyburn import nn
from pyburn._core import Tensor, get_num_threads
from pyburn._files import replacing
from pyburn.nn.graph import plot
from pyburn.nn.summary import Summary, summary
from pyburn.ops import get_rng_state, set_rng_state
from pyburn.train.checkpoints import better
from pyburn.train.events import Callback
from pyburn.train.renderers.text import is_number
from pyburn.train.report.page import Content, Prediction, page, picture
from pyburn.train.report.samples import Sample, Samples
from pyburn.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from pyburn.train.learner import Learner

__all__ = ["Report"]

LAYERS = 60  # more make no picture that fits a page
CURVE = 1000  # points of the curve of batches; more cannot be told apart


class Report(Callback):
    """Writes `report.html` into the run's folder: curves, confusion matrix, worst predictions, model, settings.

    The page is one file without a need for others. It is written after an epoch, unless writing would take more than a
    two-hundredth of the time, and always when the run ends, whatever ends it. Single samples are looked at in epochs
    after which it is written; where the last such epoch is not the last of all, the page says which it was.

    Args:
        classes: The names of the classes; without them those of the validation data (`classes`), else their numbers.
        worst: How many of the worst predictions are shown.
    """

    order = 95  # after the folder's files are written

    def __init__(self, classes: Sequence[str] | None = None, worst: int = 12) -> None:
        self.classes = None if classes is None else [str(name) for name in classes]
        self.worst = worst
        self._samples: Samples | None = None
        self._split = "valid"
        self._summary: Summary | None = None
        self._graph = ""
        self._asked = False
        self._batches: list[tuple[int, float]] = []
        self._read = 0
        self._written, self._cost = 0.0, 0.0
        self._looks, self._looked = True, 0

    def before_fit(self, learner: Learner) -> None:
        """Nothing; the curve of batches begins anew from the folder's file."""
        self._batches, self._read, self._written = [], 0, 0.0
        self._split = "train" if learner.valid_data is None else "valid"

    def before_train(self, learner: Learner) -> None:
        """Nothing; a run without validation is judged by its training."""
        if self._split == "train":
            self._begin(learner)

    def before_validate(self, learner: Learner) -> None:
        """Nothing; the samples of the validation before are forgotten."""
        if learner.split == self._split:
            self._begin(learner)

    def _begin(self, learner: Learner) -> None:
        self._looks = self._is_due() or learner.epoch >= learner.last_epoch
        if self._looks:
            self._samples, self._looked = Samples(learner.loss, self.worst), learner.epoch

    def _is_due(self) -> bool:
        """Whether writing the page is cheap beside what was done since the last time."""
        return time.perf_counter() - self._written >= 200 * self._cost

    def after_batch(self, learner: Learner) -> None:
        """Nothing; the samples of the batch are known."""
        if not self._looks or learner.batch is None or learner.split != self._split or self._samples is None:
            return
        try:
            self._samples.add(learner.batch)
        except Exception as error:  # a picture of the run must not end it
            self._samples = None
            self._complain(learner, error)

    def after_epoch(self, learner: Learner) -> None:
        """Nothing; the page has the epoch, where writing it is cheap beside training."""
        if self._looks:
            self.write(learner)

    def after_fit(self, learner: Learner) -> None:
        """Nothing; the page is whole."""
        if learner.folder is not None and learner.folder.path.is_dir():
            self.write(learner)

    def write(self, learner: Learner) -> Path | None:
        """The file of the page."""
        if learner.folder is None:
            raise ValueError("Report: this run has no folder; give the Learner folder=...")
        began = time.perf_counter()
        target = learner.folder.path / "report.html"
        try:
            text = page(self.content(learner))
        except Exception as error:
            self._complain(learner, error)
            return None
        with replacing(target, durable=False) as file:
            file.write(text.encode())
        self._written = time.perf_counter()
        self._cost = self._written - began
        return target

    def _complain(self, learner: Learner, error: Exception) -> None:
        message = f"report.html could not be written whole: {type(error).__name__}: {error}"
        if learner.folder is not None:
            learner.folder.log(message)
        warnings.warn(message, stacklevel=3)

    def content(self, learner: Learner) -> Content:
        """What the page shows of the run as it stands."""
        assert learner.folder is not None
        if not self._asked:
            self._asked = True
            self._summary, self._graph = _model(learner)
        self._read_batches(learner)
        samples = self._samples
        counts = None if samples is None else samples.confusion()
        names = self._names(learner, len(counts) if counts else 0)
        done = f"{len(learner.history)} of {learner.last_epoch} epochs"
        return Content(
            title=f"{type(learner.model).__name__} · {learner.folder.path.resolve().name}",
            status=f"{done}, {time.strftime('%Y-%m-%d %H:%M')}",
            history=learner.history,
            batches=_thinned(self._batches),
            monitor=learner.monitor,
            best=_best_epoch(learner),
            stopped=learner.stopped,
            split=self._split if self._looked == learner.epoch else f"{self._split}, epoch {self._looked}",
            confusion=counts,
            classes=names,
            worst=[] if samples is None else [_prediction(each, samples, names) for each in samples.worst()],
            layers=[] if self._summary is None else self._summary.cells(),
            sums=[] if self._summary is None else self._summary.sums(),
            graph=self._graph,
            settings=_settings(learner),
            environment=_environment(learner),
        )

    def _names(self, learner: Learner, count: int) -> list[str]:
        data = learner.valid_data if self._split == "valid" else learner.train_data
        found = self.classes or getattr(getattr(data, "dataset", data), "classes", None)
        names = [str(name) for name in found] if isinstance(found, (list, tuple)) else []
        return names if len(names) == count else [str(number) for number in range(count)]

    def _read_batches(self, learner: Learner) -> None:
        """Nothing; the losses of the batches that were written since the last time are known."""
        assert learner.folder is not None
        learner.folder.flush()
        lines = learner.folder.path / "metrics.jsonl"
        if not lines.exists():
            return
        with open(lines, "rb") as file:
            file.seek(self._read)
            for line in file:
                entry = json.loads(line)
                if "batch" in entry and is_number(entry.get("loss")):
                    self._batches.append((entry["step"], entry["loss"]))
            self._read = file.tell()


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most `CURVE` points, each the mean of its neighbours."""
    width = -(-len(points) // CURVE)
    if width <= 1:
        return list(points)
    groups = [points[start : start + width] for start in range(0, len(points), width)]
    return [(group[-1][0], sum(loss for _, loss in group) / len(group)) for group in groups]


def _best_epoch(learner: Learner) -> int | None:
    try:
        sign = better(learner.monitor, "auto", learner.metrics)
    except ValueError:
        return None
    known = [line for line in learner.history if is_number(line.get(learner.monitor, ""))]
    known = [line for line in known if line[learner.monitor] == line[learner.monitor]]
    return max(known, key=lambda line: sign * float(line[learner.monitor]))["epoch"] if known else None


def _prediction(sample: Sample, samples: Samples, names: list[str]) -> Prediction:
    lines = []
    image = None if sample.input is None else picture(sample.input)
    if samples.task == "classes":
        shares = samples.shares(sample.output)
        given, wanted = int(shares.argmax()), int(sample.target)
        label = names.__getitem__ if names else str
        lines = [
            f"true {label(wanted)}, {float(shares[wanted]):.1%}",
            f"predicted {label(given)}, {float(shares[given]):.1%}",
        ]
    elif samples.task == "maps":
        right = (sample.output.argmax(0) == sample.target).float().mean()
        lines = [f"right in {float(right):.1%} of its places"]
    else:
        shown = samples.shares(sample.output) if samples.task == "flags" else sample.output
        lines = [f"true {_short(sample.target)}", f"predicted {_short(shown)}"]
    if image is None and sample.input is not None:
        lines.append(f"input {_short(sample.input)}")
    return Prediction(sample.index, sample.loss, lines, image)


def _short(values: Tensor, count: int = 6) -> str:
    numbers = values.flatten()[:count].tolist()
    text = ", ".join(f"{number:.4g}" for number in numbers)
    return text + (", ..." if values.numel() > count else "")


def _model(learner: Learner) -> tuple[Summary, str]:
    """The table and the picture of the model, with outputs where it takes the first sample of the last batch alone."""
    inputs = None if learner.batch is None else learner.batch.input
    if any(isinstance(leaf, Tensor) for leaf in tree_leaves(inputs)):
        one = tree_map(lambda leaf: leaf[:1].detach() if isinstance(leaf, Tensor) and leaf.dim() else leaf, inputs)
        named = dict(one) if isinstance(one, Mapping) else {}
        args = () if named else one if isinstance(one, tuple) else (one,)
        state = get_rng_state()
        try:
            table = summary(learner.model, args, **named)
            depth = next((depth for depth in (None, 3, 2, 1) if _shown(learner.model, depth) <= LAYERS), None)
            small = depth is not None or len(table.rows) <= LAYERS
            return table, plot(learner.model, args, depth=depth, **named).svg() if small else ""
        except Exception:  # a model that only its own steps know how to call: without outputs
            pass
        finally:
            set_rng_state(state)
    return summary(learner.model), ""


def _shown(model: nn.Module, depth: int | None) -> int:
    """How many layers a picture of that depth has, about."""
    return sum(depth is None or name.count(".") < depth for name, _ in model.named_modules())


def _settings(learner: Learner) -> dict[str, Any]:
    """The settings of the run: those that the user named, then the Learner's own."""
    gradients, schedule = learner.gradients, learner.schedule.scheduler
    group = learner.optimizer.param_groups[0]
    options = ", ".join(f"{key}={value}" for key, value in group.items() if key != "params" and value is not None)
    found = dict(learner.config.to_dict()) if learner.config is not None else {}
    own = {
        "optimizer": f"{type(learner.optimizer).__name__}({options})",
        "schedule": None if schedule is None else type(schedule).__name__,
        "loss": _name(learner.loss),
        "epochs": learner.last_epoch,
        "batch size": getattr(learner.train_data, "batch_size", None),
        "accumulate": gradients.accumulate if gradients.accumulate > 1 else None,
        "clip_norm": gradients.clip_norm,
        "clip_value": gradients.clip_value,
        "precision": None if gradients.dtype is None else str(gradients.dtype),
        "seed": learner.seed,
        "metrics": ", ".join(each.name for each in learner.metrics),
    }
    return found | {f"({key})" if key in found else key: value for key, value in own.items() if value is not None}


def _name(loss: Any) -> str | None:
    if isinstance(loss, nn.Module):
        return repr(loss)
    return None if loss is None else str(getattr(loss, "__name__", type(loss).__name__))


def _environment(learner: Learner) -> dict[str, str]:
    numpy = sys.modules.get("numpy")
    return {
        "pyburn": str(sys.modules["pyburn"].__version__),
        "device": str(learner.device),
        "Python": platform.python_version(),
        **({} if numpy is None else {"numpy": str(numpy.__version__)}),
        "system": platform.platform(),
        "processors": f"{os.cpu_count()} ({get_num_threads()} threads)",
        "command": " ".join(sys.argv),
        "folder": str(learner.folder.path.resolve()) if learner.folder is not None else "",
    }
