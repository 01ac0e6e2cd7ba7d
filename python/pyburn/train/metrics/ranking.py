"""Metrics of scores, whatever the threshold: the areas under the ROC and the precision-recall curve."""

from __future__ import annotations

import math
from typing import Any, Literal

from pyburn._core import Tensor, float64
from pyburn.ops import cat, tensor
from pyburn.train.metrics.base import Accumulated, State, divide, joined
from pyburn.train.metrics.labels import LabelReader, Task

__all__ = ["AUCPR", "AUROC", "CurveArea"]


class CurveArea(Accumulated):
    """The area under a curve of all thresholds; scores and targets of all batches are kept until `compute`.

    Args:
        task: "binary", "multiclass" (each class against the others) or "multilabel"; found from the shapes if None.
        average: "macro" is the mean over the classes that have an area, "weighted" weighs them by their number of
            targets, "micro" takes all scores together (multilabel only), "none" gives one value per class, where nan
            says that the class has no area.
        ignore_index: Targets of this value do not count.
        from_logits: Whether outputs are logits: then those of a multiclass task pass through softmax. Without it the
            Learner's loss says so where it can. Values outside of 0 to 1 are refused otherwise.
    """

    higher_is_better: bool | None = True
    _lacking = math.nan  # the area of a label whose samples are all of one kind

    def __init__(
        self,
        task: Task | None = None,
        *,
        num_classes: int | None = None,
        average: Literal["macro", "weighted", "micro", "none"] = "macro",
        ignore_index: int | None = None,
        from_logits: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or self.name
        if average not in ("macro", "weighted", "micro", "none"):
            raise ValueError(f"{self.name}: average is {average!r}; expected 'macro', 'weighted', 'micro' or 'none'.")
        self.average = average
        self._read = LabelReader(self.name, task, num_classes, ignore_index=ignore_index, from_logits=from_logits)
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(average={self.average!r})"

    def _area(self, scores: Tensor, positive: Tensor) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define _area(scores, positive).")

    def _statistics(self, output: Any, target: Any) -> State:
        task, scores, labels, bad = self._read.scores(output, target)
        if task == "multiclass" and self.average == "micro":
            raise ValueError(f"{self.name}: average='micro' is for multilabel tasks; choose 'macro' or 'weighted'.")
        return {"task": task, "scores": [scores], "targets": [labels], "bad_outputs": bad}

    def _check(self, found: State) -> None:
        targets = found["targets"][0]
        classes = found["scores"][0].shape[1] if found["task"] == "multiclass" else 2
        wrong = (
            (targets < 0)
            | (targets >= classes)
            | (targets != targets.round() if targets.is_floating_point() else False)
        )
        if self._read.ignore_index is not None:
            wrong = wrong & (targets != self._read.ignore_index)
        self._read.check(float(wrong.sum()), found["bad_outputs"])

    def _merge(self, old: State, new: State) -> State:
        widths = [state["scores"][0].shape[1] for state in (old, new)]
        if widths[0] != widths[1]:
            raise ValueError(
                f"{self.name}: this batch has {widths[1]} classes, but the batches before had {widths[0]}; call "
                "reset() in between."
            )
        return super()._merge(old, new)

    def _value(self, state: State) -> float | Tensor:
        scores, targets = joined(state["scores"]), joined(state["targets"])
        task, width = state["task"], scores.shape[1]
        columns = []
        for index in range(width):
            own = targets if task == "multiclass" else targets[:, index]
            columns.append(self._valid(scores[:, index], own, index if task == "multiclass" else 1))
        if self.average == "micro":
            columns = [(cat([pair[0] for pair in columns]), cat([pair[1] for pair in columns]))]
        areas = [self._area(*pair) for pair in columns]
        if task != "multiclass":
            areas = [
                self._lacking if math.isnan(area) and len(pair[0]) else area
                for area, pair in zip(areas, columns, strict=True)
            ]
        if len(areas) == 1:
            return areas[0]
        if self.average == "none":
            return tensor(areas, dtype=float64)
        weights = [float(pair[1].sum()) if self.average == "weighted" else 1.0 for pair in columns]
        known = [(area * weight, weight) for area, weight in zip(areas, weights, strict=True) if not math.isnan(area)]
        total = sum(pair[1] for pair in known)
        return divide(sum(pair[0] for pair in known), total) if total or not known else self._lacking

    def _valid(self, scores: Tensor, targets: Tensor, positive: int) -> tuple[Tensor, Tensor]:
        if self._read.ignore_index is not None:
            kept = targets != self._read.ignore_index
            scores, targets = scores[kept], targets[kept]
        return scores, targets == positive


def _steps(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """The true and false positives at each threshold, from the highest score down; equal scores are one threshold."""
    order = scores.argsort(descending=True)
    ranked, true = scores[order], positive[order].to(float64).cumsum(0)
    last = ranked[1:] != ranked[:-1]
    last = cat([last, last.new_ones([1])])
    count = (true * 0 + 1).cumsum(0)
    return true[last], (count - true)[last]


class AUROC(CurveArea):
    """The chance that a sample of the class has a higher score than one of the others; nan where one is missing.

    Arguments: see `CurveArea`.

    Example:
        >>> import pyburn
        >>> auroc = AUROC()
        >>> auroc.update(pyburn.tensor([0.1, 0.4, 0.35, 0.8]), pyburn.tensor([0, 0, 1, 1]))
        >>> auroc.compute()
        0.75
    """

    name = "auroc"

    def _area(self, scores: Tensor, positive: Tensor) -> float:
        if not len(scores):
            return math.nan
        true, false = _steps(scores, positive)
        start = true.new_zeros([1])
        heights, widths = cat([start, true]), cat([start, false])
        area = ((widths[1:] - widths[:-1]) * (heights[1:] + heights[:-1]) / 2).sum()
        return divide(area, true[-1] * false[-1])


class AUCPR(CurveArea):
    """The average precision: precision at each threshold, weighted by the gain of recall; 0 without a positive.

    This is scikit-learn's average_precision_score, which steps where the trapezoidal rule would be too optimistic. Of
    several classes one that does not occur is nan and left out of the mean, as in torchmetrics; scikit-learn counts 0.
    Arguments: see `CurveArea`.

    Example:
        >>> import pyburn
        >>> area = AUCPR()
        >>> area.update(pyburn.tensor([0.1, 0.4, 0.35, 0.8]), pyburn.tensor([0, 0, 1, 1]))
        >>> round(area.compute(), 4)
        0.8333
    """

    name = "auc_pr"
    _lacking = 0.0

    def _area(self, scores: Tensor, positive: Tensor) -> float:
        if not len(scores):
            return math.nan
        true, false = _steps(scores, positive)
        gained = true - cat([true.new_zeros([1]), true[:-1]])
        return divide((gained * true / (true + false)).sum(), true[-1])
