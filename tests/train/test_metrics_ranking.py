"""Areas under curves, against scikit-learn and torchmetrics."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
import sklearn.metrics
import torch
import torchmetrics.functional.classification as tm
from pyburn import nn, train
from pyburn.train import metrics

from . import runs
from .metric_checks import agree, check_splits, ours

KINDS = {
    "auroc": (metrics.AUROC, sklearn.metrics.roc_auc_score),
    "auc_pr": (metrics.AUCPR, sklearn.metrics.average_precision_score),
}


def chances(shape, seed=0):
    """Few distinct values, so that many scores are equal."""
    return (np.random.default_rng(seed).integers(0, 12, shape) / 11).astype(np.float32)


@pytest.mark.parametrize("name", KINDS)
def test_binary(name):
    make, reference = KINDS[name]
    scores, target = chances(70), np.random.default_rng(1).integers(0, 2, 70)
    agree(check_splits(make, ours(scores), ours(target)), reference(target, scores))
    logits = make(from_logits=True)
    logits.update(ours(scores * 20 - 10), ours(target[:, None].astype(np.float32)))
    agree(logits.compute(), reference(target, scores))


@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "none"])
@pytest.mark.parametrize("name", KINDS)
def test_multilabel(name, average):
    make, reference = KINDS[name]
    scores, target = chances((50, 3)), np.random.default_rng(2).integers(0, 2, (50, 3))
    expected = reference(target, scores, average=None if average == "none" else average)
    agree(check_splits(lambda: make(average=average), ours(scores), ours(target)), expected)


@pytest.mark.parametrize("average", ["macro", "weighted", "none"])
def test_multiclass(average):
    rng = np.random.default_rng(3)
    logits, target = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 4, 60)
    probabilities = torch.softmax(torch.tensor(logits), 1).numpy()
    expected = sklearn.metrics.roc_auc_score(
        target, probabilities.astype(np.float64), average=None if average == "none" else average, multi_class="ovr"
    )
    agree(check_splits(lambda: metrics.AUROC(average=average), ours(probabilities), ours(target)), expected)
    agree(metrics.AUROC(average=average, from_logits=True)(ours(logits), ours(target)), expected)
    expected = tm.average_precision(
        torch.tensor(probabilities), torch.tensor(target), task="multiclass", num_classes=4, average=average
    )
    agree(check_splits(lambda: metrics.AUCPR(average=average), ours(probabilities), ours(target)), expected)


def test_ignored_targets():
    scores, target = chances(40), np.random.default_rng(4).integers(0, 2, 40)
    target[::4] = -1
    kept = target >= 0
    expected = sklearn.metrics.roc_auc_score(target[kept], scores[kept])
    agree(check_splits(lambda: metrics.AUROC(ignore_index=-1), ours(scores), ours(target)), expected)


def test_classes_that_are_missing():
    same = pyburn.tensor([0.1, 0.4])
    assert math.isnan(metrics.AUROC()(same, pyburn.tensor([1, 1])))  # scikit-learn: nan
    assert math.isnan(metrics.AUROC()(same, pyburn.tensor([0, 0])))
    assert metrics.AUCPR()(same, pyburn.tensor([0, 0])) == 0.0  # scikit-learn and torchmetrics: 0
    assert metrics.AUCPR()(same, pyburn.tensor([1, 1])) == 1.0
    scores = pyburn.tensor([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.6, 0.1, 0.3]])
    each = metrics.AUROC(average="none")(scores, pyburn.tensor([0, 1, 1]))
    assert each[:2].tolist() == [1.0, 0.5] and math.isnan(each[2].item())
    assert metrics.AUROC()(scores, pyburn.tensor([0, 1, 1])) == 0.75  # over the classes that have an area
    assert metrics.AUCPR()(scores, pyburn.tensor([0, 1, 1])) == pytest.approx((1 + 5 / 6) / 2)  # torchmetrics likewise
    with pytest.warns(UserWarning, match="No positive class"):
        expected = sklearn.metrics.average_precision_score([[0, 1], [0, 0]], [[0.1, 0.4], [0.2, 0.3]], average="macro")
    labels = pyburn.tensor([[0.1, 0.4], [0.2, 0.3]]), pyburn.tensor([[0, 1], [0, 0]])
    agree(metrics.AUCPR()(*labels), expected)
    assert metrics.AUCPR(average="weighted")(labels[0], labels[1] * 0) == 0.0


def test_wrong_values_say_what_to_do():
    with pytest.raises(ValueError, match=r"auroc: 2 outputs are NaN or outside.*from_logits=True"):
        metrics.AUROC().update(pyburn.tensor([-3.0, 0.2, 4.0]), pyburn.tensor([0, 1, 0]))
    with pytest.raises(ValueError, match="auc_pr: 1 labels are no class"):
        metrics.AUCPR().update(pyburn.tensor([0.3, 0.2]), pyburn.tensor([0, 2]))
    with pytest.raises(ValueError, match="micro"):
        metrics.AUROC(average="micro").update(pyburn.rand(4, 3), pyburn.tensor([0, 1, 2, 1]))
    area = metrics.AUROC()
    area.update(pyburn.rand(4, 3), pyburn.tensor([0, 1, 2, 1]))
    with pytest.raises(ValueError, match="this batch has 4 classes"):
        area.update(pyburn.rand(4, 4), pyburn.tensor([0, 1, 2, 1]))
    with pytest.raises(pyburn.ShapeError, match="scores of every class"):
        metrics.AUROC().update(pyburn.tensor([1, 2]), pyburn.tensor([1, 2]))


def test_a_learner_knows_logits_by_its_loss():
    inputs, classes, valid = runs.problem()
    made = runs.learner(False, metrics=["auroc", "auc_pr"])
    line = runs.fit(made, 1)[-1]
    chances = pyburn.softmax(made.predict(valid[0]), 1)
    expected = sklearn.metrics.roc_auc_score(valid[1].tolist(), chances.double().numpy().round(12), multi_class="ovr")
    assert line["valid_auroc"] == pytest.approx(expected, abs=1e-6)
    flags = (classes > 0).float().unsqueeze(1)
    for loss, last in ((nn.BCEWithLogitsLoss(), nn.Identity()), (nn.BCELoss(), nn.Sigmoid())):
        model = nn.Sequential(nn.Linear(8, 1), last)
        made = train.Learner(
            model, loss, "sgd", lr=0.1, metrics=["accuracy", "f1", "auroc"], folder=False, renderer=None
        )
        line = made.fit((inputs, flags), (inputs, flags), 2)[-1]
        output, threshold = made.predict(inputs), 0.0 if isinstance(last, nn.Identity) else 0.5
        right = ((output > threshold) == (flags > 0.5)).float().mean().item()
        assert line["valid_accuracy"] == pytest.approx(right)
        assert line["valid_auroc"] == pytest.approx(sklearn.metrics.roc_auc_score(flags.flatten(), output.flatten()))
    wrong = train.Learner(
        nn.Linear(8, 1), nn.BCEWithLogitsLoss(), metrics=[metrics.AUROC(from_logits=False)], folder=False
    )
    with pytest.raises(ValueError, match="so they are no probabilities"):
        wrong.evaluate((inputs * 9, flags))
