"""What a report keeps of single samples while a run validates: who was taken for whom, and the worst predictions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyburn import nn
from pyburn._core import Tensor
from pyburn.autograd import no_grad
from pyburn.ops import arange, cat, log_softmax, sigmoid, softmax
from pyburn.train.metrics import Batch, ConfusionMatrix
from pyburn.utils._pytree import tree_leaves

__all__ = ["Sample", "Samples"]

CLASSES = 200  # more than these make no matrix that anyone reads
WAITING = 16  # batches whose worst samples wait to be compared


@dataclass(frozen=True)
class Sample:
    """One prediction: where it stands in the data, its loss, what came in and out, and what was wanted."""

    index: int
    loss: float
    input: Tensor | None
    output: Tensor
    target: Tensor


class Samples:
    """The confusion matrix and the `worst` samples of all batches that were seen.

    Args:
        loss: The loss of the run, which is asked for the loss of each sample.
        worst: How many samples are kept.

    Example:
        >>> import pyburn
        >>> samples = Samples(nn.CrossEntropyLoss(), worst=1)
        >>> scores, classes = pyburn.tensor([[2.0, 0.0], [3.0, 0.0]]), pyburn.tensor([0, 1])
        >>> samples.add(Batch(input=scores, target=classes, output=scores, loss=None, size=2))
        >>> samples.confusion(), [each.index for each in samples.worst()]
        ([[1, 0], [1, 0]], [1])
    """

    def __init__(self, loss: Any, worst: int = 12) -> None:
        self._loss, self._count = loss, worst
        self._seen = 0
        self._matrix: ConfusionMatrix | None = None
        self._measure: Callable[[Tensor, Tensor], Tensor] | None = None
        self._kept: list[dict[str, Tensor]] = []
        self.task: str | None = None
        self.probabilities = False

    def add(self, batch: Batch) -> None:
        """Nothing; the batch is taken into account where it is of a kind that can be shown."""
        output, target = batch.output, batch.target
        if not isinstance(output, Tensor) or not isinstance(target, Tensor) or not output.is_floating_point():
            return
        with no_grad():
            output, target = output.detach(), target.detach()
            if not self._seen:
                self._begin(output, target)
            if self._matrix is not None:
                self._matrix.update(output, target)
            if self._measure is not None and self._count:
                self._keep(batch, output, target)
        self._seen += batch.size

    def _begin(self, output: Tensor, target: Tensor) -> None:
        self.task = _task(self._loss, output, target)
        ignored = getattr(self._loss, "ignore_index", None)
        if self.task in ("classes", "maps"):
            self.probabilities = _are_shares(output)
            if output.shape[1] <= CLASSES:
                self._matrix = ConfusionMatrix("multiclass", ignore_index=ignored if isinstance(ignored, int) else None)
        elif self.task == "flags" and output.numel() == output.shape[0]:
            self._matrix = ConfusionMatrix("binary", from_logits=not isinstance(self._loss, nn.BCELoss))
        for measure in _measures(self._loss, self.task):
            try:
                found = measure(output, target)
            except Exception:  # the shapes are not what this loss takes one by one
                continue
            if isinstance(found, Tensor) and found.dim() and found.shape[0] == output.shape[0]:
                self._measure = measure
                break

    def _keep(self, batch: Batch, output: Tensor, target: Tensor) -> None:
        assert self._measure is not None
        losses = self._measure(output, target)
        losses = losses.flatten(1).mean(1) if losses.dim() > 1 else losses  # (N,)
        worst, place = losses.topk(min(self._count, losses.shape[0]))
        kept = {"loss": worst, "index": place + self._seen, "output": output[place], "target": target[place]}
        inputs = next((leaf for leaf in tree_leaves(batch.input) if isinstance(leaf, Tensor)), None)
        if inputs is not None and inputs.dim() and inputs.shape[0] == losses.shape[0]:
            kept["input"] = inputs.detach()[place]
        self._kept.append(kept)
        if len(self._kept) >= WAITING:
            self._merge()

    def _merge(self) -> None:
        try:
            whole = {key: cat([each[key] for each in self._kept]) for key in self._kept[0]}
        except (KeyError, RuntimeError, ValueError):  # sizes differ from batch to batch: the newest are kept
            whole = self._kept[-1]
        place = whole["loss"].topk(min(self._count, whole["loss"].shape[0])).indices
        self._kept = [{key: value[place] for key, value in whole.items()}]

    def confusion(self) -> list[list[int]] | None:
        """How often each true class (row) was taken for each class (column); None where there are no classes."""
        if self._matrix is None or not self._seen:
            return None
        matrix = self._matrix.compute()
        return [[int(count) for count in row] for row in matrix.tolist()] if isinstance(matrix, Tensor) else None

    def worst(self) -> list[Sample]:
        """The samples with the largest losses, the worst first."""
        if not self._kept:
            return []
        self._merge()
        kept = {key: value.cpu() for key, value in self._kept[0].items()}
        inputs = kept.get("input")
        return [
            Sample(
                int(kept["index"][place]),
                float(kept["loss"][place]),
                None if inputs is None else inputs[place],
                kept["output"][place],
                kept["target"][place],
            )
            for place in range(kept["loss"].shape[0])
        ]

    def shares(self, output: Tensor) -> Tensor:
        """The probabilities that one output of a classifier means."""
        if self.task == "flags":
            return output if isinstance(self._loss, nn.BCELoss) else sigmoid(output)
        return output if self.probabilities else softmax(output, 0)


def _task(loss: Any, output: Tensor, target: Tensor) -> str | None:
    """What outputs are: "classes" for scores (N, C), "maps" for a class at each place, "flags" or "numbers"."""
    if output.dim() == target.dim() + 1 > 1 and not target.is_floating_point() and output.shape[1] > 1:
        fits = output.shape[:1] + output.shape[2:] == target.shape
        return None if not fits else "classes" if output.dim() == 2 else "maps"
    if output.numel() != target.numel() or not output.dim():
        return None
    binary = isinstance(loss, (nn.BCELoss, nn.BCEWithLogitsLoss))
    return "flags" if binary or "binary_cross_entropy" in getattr(loss, "__name__", "") else "numbers"


def _are_shares(output: Tensor) -> bool:
    """Whether every row is a distribution already, as after a softmax."""
    return bool((output >= 0).all()) and bool(((output.sum(1) - 1).abs() < 1e-3).all())


def _measures(loss: Any, task: str | None) -> list[Callable[[Tensor, Tensor], Tensor]]:
    """Ways to the loss of each sample, the run's own loss before what it is likely to be.

    Only pyburn's own losses are asked a second time: one of the user's may draw random numbers or count its calls.
    """
    found: list[Callable[[Tensor, Tensor], Tensor]] = []
    ours = str(getattr(loss, "__module__", "")).startswith("pyburn.nn")  # of an object that of its class
    if ours and isinstance(loss, nn.Module):
        each: Any = copy.copy(loss)
        each.reduction = "none"
        found.append(each)
    elif ours:
        found.append(lambda output, target: loss(output, target, reduction="none"))
    if task == "classes":
        found.append(_surprise)
    elif task == "numbers":
        found.append(lambda output, target: (output - target.reshape(output.shape)) ** 2)
    return found


def _surprise(output: Tensor, target: Tensor) -> Tensor:
    rows = arange(output.shape[0], device=output.device)
    return -log_softmax(output, 1)[rows, target.clamp(0, output.shape[1] - 1)]
