"""Metrics of predicted classes: counts of right and wrong answers, and what is made of them."""

from __future__ import annotations

import math
from typing import Any, Literal

from pyburn._core import Tensor, float64, int64
from pyburn.ops import arange, as_tensor, stack, where
from pyburn.train.metrics.base import Accumulated, State, divide
from pyburn.train.metrics.labels import LabelReader, Labels, Task, count

__all__ = [
    "F1",
    "Accuracy",
    "ClassScore",
    "CohenKappa",
    "ConfusionMatrix",
    "FBeta",
    "Hamming",
    "Precision",
    "Recall",
    "TopK",
]

Average = Literal["micro", "macro", "weighted", "none"]
_NOTHING = {"task": "multiclass", "tp": 0, "fp": 0, "fn": 0, "tn": 0, "bad_targets": 0, "bad_outputs": 0}


class ClassScore(Accumulated):
    """A score of each class from its true and false positives and negatives, averaged over the classes.

    Args:
        task: "binary", "multiclass" or "multilabel". Found from the shapes where it is None: output (N, C, ...) of
            floats with target (N, ...) is multiclass; output and target with one column are binary; equal shapes (N, L)
            are multilabel; integer outputs are predicted classes.
        num_classes: Needed only for predicted classes instead of scores, unless the average is "micro".
        average: "micro" counts over all classes, "macro" is the mean over the classes that occur, "weighted" weighs
            them by their number of targets, "none" gives one value per class.
        threshold: Above it a probability means yes, in binary and multilabel tasks.
        top_k: A multiclass answer is right where the target is among the k best scores.
        ignore_index: Targets of this value do not count.
        from_logits: Whether outputs of binary and multilabel tasks are logits, not probabilities. Without it the
            Learner's loss says so where it can. Values outside of 0 to 1 are refused otherwise, so that the threshold
            cannot silently be the wrong one.
        zero_division: The score of a class where nothing is divided by nothing; nan leaves it out of the mean.
    """

    higher_is_better: bool | None = True
    _default_average: Average = "macro"
    _top_k_needs_targets = True  # for macro averages, as in torchmetrics; F and Hamming do not
    _known = 0  # how many classes the batches have that can be counted at once

    def __init__(
        self,
        task: Task | None = None,
        *,
        num_classes: int | None = None,
        average: Average | None = None,
        threshold: float = 0.5,
        top_k: int = 1,
        ignore_index: int | None = None,
        from_logits: bool | None = None,
        zero_division: float = 0.0,
        name: str | None = None,
    ) -> None:
        self.name = name or self.name
        self.average = average or self._default_average
        if self.average not in ("micro", "macro", "weighted", "none"):
            raise ValueError(f"{self.name}: average is {average!r}; expected 'micro', 'macro', 'weighted' or 'none'.")
        self.zero_division = zero_division
        self._read = LabelReader(self.name, task, num_classes, threshold, top_k, ignore_index, from_logits)
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(average={self.average!r})"

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _score(tp, fp, fn, tn, task).")

    def update(self, output: Any, target: Any) -> None:
        """Takes one batch into account."""
        known = self._known and isinstance(output, Tensor) and isinstance(target, Tensor)
        found = output._hits(target, self._known) if known else None
        if found is None:
            self._update_any(output, target)
            return
        # What most batches of most runs are: all that `_statistics` asks and counts is known of them.
        right, outside = found
        if outside:
            self._read.check(outside, 0)
        wrong, state = len(target) - right, self._state
        if not state:
            self._state = state = dict(_NOTHING)
        state["tp"], state["fp"], state["fn"] = state["tp"] + right, state["fp"] + wrong, state["fn"] + wrong

    def _update_any(self, output: Any, target: Any) -> None:
        """Takes one batch into account, and remembers its classes where the next one like it can be counted at once."""
        super().update(output, target)
        self._known = 0
        if self.average != "micro" or not self._read.simple or self._state.get("task") != "multiclass":
            return
        plain = isinstance(output, Tensor) and isinstance(target, Tensor) and output.is_cpu and target.is_cpu
        if plain and output.is_floating_point() and output.dim() == 2 and target.dtype is int64 and target.dim() == 1:
            self._known = output.shape[1]

    def _statistics(self, output: Any, target: Any) -> State:
        labels = self._read(output, target)
        if labels.task == "multiclass":
            tp, fp, fn, tn = self._class_counts(labels)
        else:
            tp, fp, fn, tn = (v.sum() if self.average == "micro" else v for v in _flag_counts(labels))
        bad = {"bad_targets": labels.bad_targets, "bad_outputs": labels.bad_outputs}
        return {"task": labels.task, "tp": tp, "fp": fp, "fn": fn, "tn": tn} | bad

    def _class_counts(self, labels: Labels) -> tuple[Tensor | int, Tensor | int, Tensor | int, Tensor | int]:
        right = labels.prediction == labels.target
        right = right if labels.valid is None else right & labels.valid
        total = labels.target.numel() if labels.valid is None else labels.valid.sum()
        if self.average == "micro":  # whatever the number of classes
            correct = right.sum()
            correct = correct.item() if correct.is_cpu else correct
            wrong = total - correct
            return correct, wrong, wrong, 0
        if labels.classes is None:
            raise ValueError(
                f"{self.name}: output holds predicted classes, so their number is not known for average="
                f"{self.average!r}; give num_classes, the scores of every class, or average='micro'."
            )
        tp = count(labels.target, right, labels.classes)
        fp = count(labels.prediction, labels.valid, labels.classes) - tp
        fn = count(labels.target, labels.valid, labels.classes) - tp
        return tp, fp, fn, total - tp - fp - fn

    def _check(self, found: State) -> None:
        self._read.check(found["bad_targets"], found["bad_outputs"])

    def _value(self, state: State) -> float | Tensor:
        tp, fp, fn, tn = (as_tensor(state[key]).to(float64).reshape([-1]) for key in ("tp", "fp", "fn", "tn"))
        if float((tp + fp + fn + tn).sum()) == 0:
            return math.nan
        scores = self._score(tp, fp, fn, tn, state["task"])
        if state["task"] == "binary":  # one score, which there is nothing to average
            return float(scores[0])
        if self.average == "none":
            return scores
        if self.average == "weighted":
            weights = tp + fn
        elif state["task"] == "multiclass" and self.average == "macro":
            needs_targets = self._read.top_k > 1 and self._top_k_needs_targets
            weights = ((tp + fn if needs_targets else tp + fp + fn) > 0).to(float64)
        else:
            weights = tp * 0 + 1
        if math.isnan(self.zero_division):  # scores that are not defined are left out, as in scikit-learn
            weights, scores = where(scores != scores, 0.0, weights), where(scores != scores, 0.0, scores)
        return divide((scores * weights).sum(), weights.sum()) if float(weights.sum()) else self.zero_division

    def _quotient(self, above: Tensor, below: Tensor) -> Tensor:
        return where(below == 0, self.zero_division, above / where(below == 0, 1.0, below))


def _flag_counts(labels: Labels) -> list[Tensor]:
    yes, true, valid = labels.prediction, labels.target, labels.valid
    pairs = ((yes & true), (yes & ~true), (~yes & true), (~yes & ~true))
    return [(pair if valid is None else pair & valid).sum(0) for pair in pairs]


class Accuracy(ClassScore):
    """The share of right answers; with average="macro" the mean of the shares of each class.

    In multilabel tasks every label is an answer. Arguments: see `ClassScore`.

    Example:
        >>> import pyburn
        >>> accuracy = Accuracy()
        >>> accuracy.update(pyburn.tensor([[0.1, 2.0], [3.0, 0.0], [0.0, 1.0]]), pyburn.tensor([1, 0, 0]))
        >>> accuracy.update(pyburn.tensor([[0.1, 2.0]]), pyburn.tensor([1]))
        >>> accuracy.compute()
        0.75
    """

    name = "accuracy"
    _default_average = "micro"

    def _value(self, state: State) -> float | Tensor:
        right, wrong = state["tp"], state["fn"]
        plain = self.average == "micro" and state["task"] == "multiclass" and type(right) is type(wrong) is int
        if plain and type(self)._score is Accuracy._score:
            return right / (right + wrong) if right + wrong else math.nan
        return super()._value(state)

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        if task == "multiclass":
            return self._quotient(tp, tp + fn)
        return self._quotient(tp + tn, tp + fp + fn + tn)


class TopK(Accuracy):
    """The share of targets among the k best scores of their row; of equal scores the first is better.

    Example:
        >>> import pyburn
        >>> top = TopK(2)
        >>> top.update(pyburn.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]), pyburn.tensor([1, 2]))
        >>> top.name, top.compute()
        ('top_2', 0.5)
    """

    def __init__(self, k: int = 5, **options: Any) -> None:
        super().__init__("multiclass", **({"name": f"top_{k}"} | options), top_k=k)


class Precision(ClassScore):
    """The share of right answers among the samples that were given a class.

    Arguments: see `ClassScore`.

    Example:
        >>> import pyburn
        >>> precision = Precision()
        >>> precision.update(pyburn.tensor([0.9, 0.8, 0.2]), pyburn.tensor([1, 0, 1]))
        >>> precision.compute()
        0.5
    """

    name = "precision"

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        return self._quotient(tp, tp + fp)


class Recall(ClassScore):
    """The share of the samples of a class that were found.

    Arguments: see `ClassScore`.

    Example:
        >>> import pyburn
        >>> recall = Recall(from_logits=True)
        >>> recall.update(pyburn.tensor([4.0, 0.1, -3.0]), pyburn.tensor([1, 1, 1]))
        >>> round(recall.compute(), 3)
        0.667
    """

    name = "recall"

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        return self._quotient(tp, tp + fn)


class FBeta(ClassScore):
    """The weighted harmonic mean of precision and recall, where recall counts beta times as much.

    Other arguments: see `ClassScore`.

    Example:
        >>> import pyburn
        >>> score = FBeta(2.0)
        >>> score.update(pyburn.tensor([0.9, 0.8, 0.2]), pyburn.tensor([1, 0, 1]))
        >>> score.name, score.compute()
        ('f2', 0.5)
    """

    def __init__(self, beta: float = 1.0, task: Task | None = None, **options: Any) -> None:
        if not beta > 0:
            raise ValueError(f"FBeta: beta is {beta}; expected a number above 0.")
        self.beta = beta
        self._top_k_needs_targets = False
        super().__init__(task, **({"name": f"f{beta:g}"} | options))

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        square = self.beta**2
        return self._quotient((1 + square) * tp, (1 + square) * tp + square * fn + fp)


class F1(FBeta):
    """The harmonic mean of precision and recall; `FBeta` with beta = 1.

    Example:
        >>> import pyburn
        >>> f1 = F1(average="none")
        >>> f1.update(pyburn.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0]]), pyburn.tensor([0, 1, 1]))
        >>> f1.compute()
        tensor([0.6667, 0.6667], dtype=pyburn.float64)
    """

    def __init__(self, task: Task | None = None, **options: Any) -> None:
        super().__init__(1.0, task, **options)


class Hamming(Accuracy):
    """The share of wrong labels, as scikit-learn's hamming_loss; with `score=True` of right ones, as burn's.

    Other arguments: see `ClassScore`.

    Example:
        >>> import pyburn
        >>> hamming = Hamming()
        >>> hamming.update(pyburn.tensor([[0.9, 0.1], [0.8, 0.3]]), pyburn.tensor([[1, 0], [1, 1]]))
        >>> hamming.compute()
        0.25
    """

    name = "hamming"

    def __init__(self, task: Task | None = None, *, score: bool = False, **options: Any) -> None:
        self.score = score
        self._top_k_needs_targets = False
        self.higher_is_better = score
        super().__init__(task, **({"name": "hamming_score" if score else "hamming"} | options))

    def _score(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor, task: str) -> Tensor:
        right = super()._score(tp, fp, fn, tn, task)
        return right if self.score else 1 - right


class ConfusionMatrix(Accumulated):
    """How often a true class (row) was given a predicted class (column); (L, 2, 2) for L labels.

    Args:
        task: As in `ClassScore`, like `num_classes`, `threshold`, `top_k`, `ignore_index` and `from_logits`.
        normalize: "true" divides by the sum of each row, "pred" of each column, "all" of the matrix.

    Example:
        >>> import pyburn
        >>> matrix = ConfusionMatrix(num_classes=3)
        >>> matrix.update(pyburn.tensor([0, 1, 2, 2]), pyburn.tensor([0, 2, 2, 2]))
        >>> matrix.compute()
        tensor([[1, 0, 0],
                [0, 0, 0],
                [0, 1, 2]])
    """

    name = "confusion_matrix"

    def __init__(
        self,
        task: Task | None = None,
        *,
        num_classes: int | None = None,
        normalize: Literal["true", "pred", "all"] | None = None,
        threshold: float = 0.5,
        top_k: int = 1,
        ignore_index: int | None = None,
        from_logits: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or self.name
        if normalize not in (None, "true", "pred", "all"):
            raise ValueError(f"{self.name}: normalize is {normalize!r}; expected 'true', 'pred', 'all' or None.")
        self.normalize = normalize
        self._read = LabelReader(self.name, task, num_classes, threshold, top_k, ignore_index, from_logits)
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(normalize={self.normalize!r})"

    def _statistics(self, output: Any, target: Any) -> State:
        labels = self._read(output, target)
        bad = {"bad_targets": labels.bad_targets, "bad_outputs": labels.bad_outputs}
        if labels.task != "multiclass":
            tp, fp, fn, tn = _flag_counts(labels)
            shape = [2, 2] if labels.task == "binary" else [-1, 2, 2]
            matrix = stack([tn, fp, fn, tp], -1).reshape(shape)
            return {"task": labels.task, "matrix": matrix} | bad
        if labels.classes is None:
            raise ValueError(f"{self.name}: output holds predicted classes; give num_classes, the size of the matrix.")
        cells = labels.target * labels.classes + labels.prediction
        valid = labels.valid
        if not isinstance(labels.bad_targets, int):  # predictions that are no class would count in other rows
            inside = (labels.prediction >= 0) & (labels.prediction < labels.classes)
            valid = inside if valid is None else valid & inside
        matrix = count(cells, valid, labels.classes**2).reshape([labels.classes, labels.classes])
        return {"task": "multiclass", "matrix": matrix} | bad

    def _check(self, found: State) -> None:
        self._read.check(found["bad_targets"], found["bad_outputs"])

    def _value(self, state: State) -> float | Tensor:
        matrix: Tensor = state["matrix"]
        if self.normalize is None:
            return matrix
        dims: dict[str, int | tuple[int, ...]] = {"true": -1, "pred": -2, "all": (-2, -1)}
        total = matrix.sum(dims[self.normalize], keepdim=True)
        return matrix / total.clamp(min=1)


class CohenKappa(ConfusionMatrix):
    """How far two labellings agree beyond chance: 1 is full agreement, 0 chance; nan where only one class occurs.

    Args:
        weights: None, or "linear" or "quadratic" where the distance between classes matters.
        task: As in `ClassScore`, like the other options.

    Example:
        >>> import pyburn
        >>> kappa = CohenKappa()
        >>> kappa.update(pyburn.tensor([0.9, 0.2, 0.8, 0.1]), pyburn.tensor([1, 0, 0, 0]))
        >>> kappa.compute()
        0.5
    """

    name = "cohen_kappa"
    higher_is_better = True

    def __init__(
        self, task: Task | None = None, *, weights: Literal["linear", "quadratic"] | None = None, **options: Any
    ) -> None:
        if weights not in (None, "linear", "quadratic"):
            raise ValueError(f"cohen_kappa: weights is {weights!r}; expected 'linear', 'quadratic' or None.")
        self.weights = weights
        super().__init__(task, **options)

    def _statistics(self, output: Any, target: Any) -> State:
        found = super()._statistics(output, target)
        if found["task"] == "multilabel":
            raise ValueError(f"{self.name}: multilabel targets have no kappa; compare one label at a time.")
        return found

    def _value(self, state: State) -> float | Tensor:
        matrix = state["matrix"].to(float64)
        expected = matrix.sum(1, keepdim=True) * matrix.sum(0, keepdim=True) / matrix.sum()
        steps = arange(matrix.shape[0], dtype=float64)
        distance = (steps.unsqueeze(0) - steps.unsqueeze(1)).abs()
        if self.weights is None:
            distance = (distance != 0).to(float64)
        elif self.weights == "quadratic":
            distance = distance**2
        return 1 - divide((distance * matrix).sum(), (distance * expected).sum())
