"""From the outputs of a network and its targets to predicted and true labels: the shapes that classification takes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

from pyburn import nn
from pyburn._core import ShapeError, Tensor, int64
from pyburn._core import bool as bool_
from pyburn.nn import functional as F
from pyburn.ops import arange, bincount, full_like, ones_like, sigmoid, softmax, where, zeros
from pyburn.train.metrics.base import to_tensor

__all__ = ["LabelReader", "Labels", "Task", "count", "outside"]

Task = Literal["binary", "multiclass", "multilabel"]


@dataclass(slots=True)
class Labels:
    """Predicted and true labels of one batch: one row per sample (or pixel, or token).

    Binary and multilabel: bools of shape (M, L), with L = 1 for binary. Multiclass: classes of shape (M,). `valid` says
    which of them count, None that all do. `bad_targets` and `bad_outputs` are how many values cannot be judged.
    """

    task: Task
    prediction: Tensor
    target: Tensor
    valid: Tensor | None
    classes: int | None
    bad_targets: Tensor | int
    bad_outputs: Tensor | int


class LabelReader:
    """Reads batches into labels, with the options that all classification metrics share.

    Example:
        >>> import pyburn
        >>> read = LabelReader("accuracy")
        >>> labels = read(pyburn.tensor([[0.1, 2.0, 0.3], [4.0, 1.0, 0.0]]), pyburn.tensor([1, 2]))
        >>> labels.task, labels.prediction, labels.classes
        ('multiclass', tensor([1, 0]), 3)
    """

    def __init__(
        self,
        name: str,
        task: Task | None = None,
        num_classes: int | None = None,
        threshold: float = 0.5,
        top_k: int = 1,
        ignore_index: int | None = None,
        from_logits: bool | None = None,
    ) -> None:
        if task not in (None, "binary", "multiclass", "multilabel"):
            raise ValueError(f"{name}: task is {task!r}; expected 'binary', 'multiclass', 'multilabel' or None.")
        if top_k < 1:
            raise ValueError(f"{name}: top_k is {top_k}; expected 1 or more.")
        self.name = name
        self.task = task
        self.num_classes = num_classes
        self.threshold = threshold
        self.top_k = top_k
        self.ignore_index = ignore_index
        self.from_logits = from_logits
        self._legal = "0 and 1"  # what the targets of the last batch could be

    @property
    def simple(self) -> bool:
        """Whether the best score says the class, and every class counts."""
        return self.top_k == 1 and self.ignore_index is None and self.num_classes is None

    def __call__(self, output: Any, target: Any) -> Labels:
        """The labels of one batch."""
        output, target = to_tensor(self.name, "output", output), to_tensor(self.name, "target", target)
        task = self.task or self._task_of(output, target)
        return self._classes_of(output, target) if task == "multiclass" else self._flags_of(task, output, target)

    def learn(self, loss: Any) -> None:
        """Nothing; what outputs and targets are is known from the loss of the run, where nobody has said it."""
        while isinstance(loss, functools.partial):
            loss = loss.func
        loss = getattr(loss, "given", loss)  # what a loss by its name stands for
        if self.from_logits is None:
            self.from_logits = takes_logits(loss)
        if self.task is None and any(_is(loss, each) for each in _OF_CLASSES):
            self.task = "multiclass"  # also where a target has a share for each class, as a label for each would look

    def scores(self, output: Any, target: Any) -> tuple[Task, Tensor, Tensor, Tensor | int]:
        """Scores (M, C), targets (M,) or (M, L), and how many scores cannot be judged, for metrics of the ranking."""
        output, target = to_tensor(self.name, "output", output), to_tensor(self.name, "target", target)
        task = self.task or self._task_of(output, target)
        if task == "multiclass":
            if not output.is_floating_point():
                raise self._wrong(output, target, "scores of every class, e.g. probabilities, of shape (N, C)")
            scores, labels = self._rows(output, target)
            if self.from_logits:
                return task, softmax(scores, -1), labels, (scores != scores).sum()
        else:
            scores, labels = self._columns(task, output, target)
            if self.from_logits:  # the order of scores is what counts, which sigmoid keeps and rounds
                return task, scores, labels, (scores != scores).sum()
        return task, scores, labels, ((scores >= 0) & (scores <= 1)).logical_not().sum()

    def check(self, bad_targets: float, bad_outputs: float) -> None:
        """Raises where a batch had labels that are no class, or outputs that are no probability."""
        if bad_targets:
            raise ValueError(
                f"{self.name}: {int(bad_targets)} labels are no class; expected {self._legal}. If such targets mark "
                "what should not count, give their value as ignore_index."
            )
        if bad_outputs:
            raise ValueError(
                f"{self.name}: {int(bad_outputs)} outputs are NaN or outside of 0 to 1, so they are no probabilities; "
                "give from_logits=True if they are the logits of the last layer."
            )

    def _task_of(self, output: Tensor, target: Tensor) -> Task:
        labels = not output.is_floating_point() and output.dtype != bool_
        if labels:
            return "multiclass"
        one = output.ndim > 1 and output.shape[1] == 1
        if output.numel() == target.numel() and (one or output.ndim <= 1):
            return "binary"
        if output.ndim == target.ndim + 1:
            return "multiclass"
        if output.shape == target.shape and output.ndim != 3:
            return "multilabel"
        wanted = "output (N, C) with target (N,), or task= where the shapes leave it open"
        raise self._wrong(output, target, wanted)

    def _wrong(self, output: Tensor, target: Tensor, wanted: str) -> ShapeError:
        given = (
            f"output has shape {list(output.shape)} ({output.dtype}) and target {list(target.shape)} ({target.dtype})"
        )
        return ShapeError(f"{self.name}: {given}; expected {wanted}.")

    def _rows(self, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of shape (M, C) and classes of shape (M,)."""
        if output.shape == target.shape and output.ndim > 1:  # one-hot or soft targets
            target = target.argmax(1)
        self._check_rows(output, target)
        return output.movedim(1, -1).reshape([-1, output.shape[1]]), target.reshape([-1])

    def _check_rows(self, output: Tensor, target: Tensor) -> None:
        if output.ndim == 2 and target.ndim == 1 and len(output) == len(target) and self.num_classes is None:
            return  # what nearly every batch is
        if output.ndim < 2 or list(output.shape[:1] + output.shape[2:]) != list(target.shape):
            fix = "target (N,) for output (N, C), (N, H, W) for (N, C, H, W)"
            if list(output.shape[:-1]) == list(target.shape):
                fix += "; here the classes seem to be last: give output.movedim(-1, 1)"
            elif target.ndim == output.ndim and target.shape[1] == 1:
                fix += "; give target.squeeze(1)"
            raise self._wrong(output, target, fix)
        if self.num_classes not in (None, output.shape[1]):
            raise self._wrong(output, target, f"{self.num_classes} classes, as num_classes says")

    def _columns(self, task: Task, output: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and targets of shape (M, L), for binary (M, 1)."""
        if task == "binary" and output.numel() == target.numel():
            return output.reshape([-1, 1]), target.reshape([-1, 1])
        if task == "binary" or output.shape != target.shape or output.ndim < 2:
            wanted = "as many outputs as targets" if task == "binary" else "output and target of one shape (N, L)"
            raise self._wrong(output, target, wanted)
        width = output.shape[1]
        return output.movedim(1, -1).reshape([-1, width]), target.movedim(1, -1).reshape([-1, width])

    def _classes_of(self, output: Tensor, target: Tensor) -> Labels:
        classes = self.num_classes
        if output.is_floating_point():
            classes, prediction, target = self._best(output, target)
        elif output.shape != target.shape:
            raise self._wrong(output, target, "predicted and true classes of one shape")
        elif self.top_k > 1:
            raise self._wrong(output, target, "scores of every class, not predicted classes, for top_k")
        else:
            prediction, target = output.reshape([-1]), target.reshape([-1])
        self._legal = "0 or more" if classes is None else f"0 to {classes - 1}"
        valid, bad = self._legal_of(target, None if classes is None else classes - 1)
        if not output.is_floating_point() and classes is not None:
            wrong = (prediction < 0) | (prediction >= classes)
            bad = bad + (wrong if valid is None else wrong & valid).sum()
            prediction = where(wrong, 0, prediction)  # so that counting does not fail before the check has its say
        if target.is_floating_point():
            between = target != target.round()
            bad = bad + (between if valid is None else between & valid).sum()
        return Labels("multiclass", prediction.to(int64), target.to(int64), valid, classes, bad, 0)

    def _best(self, output: Tensor, target: Tensor) -> tuple[int, Tensor, Tensor]:
        """The number of classes, the predicted and the true ones."""
        if self.top_k == 1 and output.ndim == target.ndim + 1:
            self._check_rows(output, target)
            found = output.argmax(1)
            return output.shape[1], found if found.ndim == 1 else found.reshape([-1]), target.reshape([-1])
        scores, target = self._rows(output, target)
        prediction = scores.argmax(1) if self.top_k == 1 else self._among_best(scores, target)
        return scores.shape[1], prediction, target

    def _among_best(self, scores: Tensor, target: Tensor) -> Tensor:
        """The true class where it is among the k best, else the best one; of equal scores the first is better."""
        classes = scores.shape[1]
        index = target.to(int64).clamp(0, classes - 1).unsqueeze(1)
        own = scores.gather(1, index)
        before = arange(classes, device=scores.device) < index
        unknown, own_unknown = scores != scores, own != own  # NaN is the largest, as for argmax and topk
        same = (scores == own) | (unknown & own_unknown)
        better = (scores > own) | (unknown & own_unknown.logical_not()) | (same & before)
        return where(better.sum(1) < self.top_k, index.squeeze(1), scores.argmax(1))

    def _flags_of(self, task: Task, output: Tensor, target: Tensor) -> Labels:
        output, target = self._columns(task, output, target)
        bad_outputs: Tensor | int = 0
        if output.is_floating_point():
            chances = sigmoid(output) if self.from_logits else output
            bad_outputs = outside(chances, 0, 1)
            prediction = chances > self.threshold
        else:
            prediction = output != 0
        self._legal = "0 and 1"
        valid, bad_targets = self._legal_of(target, 1)
        if target.is_floating_point():
            between = (target > 0) & (target < 1)
            bad_targets = bad_targets + (between if valid is None else between & valid).sum()
        return Labels(task, prediction, target == 1, valid, output.shape[1], bad_targets, bad_outputs)

    def _legal_of(self, target: Tensor, largest: int | None) -> tuple[Tensor | None, Tensor | int]:
        """Which targets count, None for all of them, and how many are no class."""
        if self.ignore_index is None:
            bad = outside(target, 0, largest)
            if isinstance(bad, int):
                return None, bad
        legal = target >= 0 if largest is None else (target >= 0) & (target <= largest)
        valid = ones_like(legal) if self.ignore_index is None else target != self.ignore_index
        return valid & legal, (valid & legal.logical_not()).sum()


_OF_LOGITS = (
    *(nn.CrossEntropyLoss, nn.NLLLoss, nn.BCEWithLogitsLoss, nn.MultiLabelSoftMarginLoss),
    *(F.cross_entropy, F.nll_loss, F.binary_cross_entropy_with_logits, F.multilabel_soft_margin_loss),
)
_OF_CHANCES = (nn.BCELoss, F.binary_cross_entropy)
_OF_CLASSES = (nn.CrossEntropyLoss, nn.NLLLoss, F.cross_entropy, F.nll_loss)


def _is(loss: Any, known: Any) -> bool:
    return loss is known or (isinstance(known, type) and isinstance(loss, known))


def takes_logits(loss: Any) -> bool | None:
    """Whether a loss is made for logits (or logarithms of probabilities, whose softmax they are) or for probabilities.

    Example:
        >>> takes_logits(nn.CrossEntropyLoss()), takes_logits(nn.BCELoss()), takes_logits(nn.MSELoss())
        (True, False, None)
    """
    for known, answer in ((_OF_LOGITS, True), (_OF_CHANCES, False)):
        if any(_is(loss, each) for each in known):
            return answer
    return None


def outside(values: Tensor, smallest: int, largest: int | None) -> Tensor | int:
    """How many values are NaN or not in a range; a look at the extremes says 0 where that costs no waiting."""
    if values.dtype == bool_ or not values.numel():
        return 0
    if values.device.type == "cpu":
        low, high = values.aminmax()
        if low.item() >= smallest and (largest is None or high.item() <= largest):
            return 0
    inside = values >= smallest if largest is None else (values >= smallest) & (values <= largest)
    return inside.logical_not().sum()


def count(index: Tensor, valid: Tensor | None, length: int) -> Tensor:
    """How often each of 0 to length - 1 occurs in `index` where `valid` holds; None says everywhere.

    Example:
        >>> import pyburn
        >>> count(pyburn.tensor([0, 2, 2, 9]), pyburn.tensor([True, True, True, False]), 3)
        tensor([1, 0, 2])
    """
    if valid is None and index.device.type == "cpu":
        return bincount(index, minlength=length)
    slots = index if valid is None else where(valid, index, length)
    ones = full_like(slots, 1)
    return zeros([length + 1], dtype=int64, device=index.device).scatter_add(0, slots, ones)[:length]
