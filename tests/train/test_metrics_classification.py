"""Metrics of classes, against scikit-learn and torchmetrics."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
import sklearn.metrics
import torch
import torchmetrics.functional.classification as tm
from pyburn.train import metrics

from .metric_checks import agree, check_splits, ours

COUNTED = {
    "accuracy": (metrics.Accuracy, tm.accuracy, {}),
    "precision": (metrics.Precision, tm.precision, {}),
    "recall": (metrics.Recall, tm.recall, {}),
    "f1": (metrics.F1, tm.f1_score, {}),
    "f2": (lambda **options: metrics.FBeta(2.0, **options), tm.fbeta_score, {"beta": 2.0}),
    "hamming": (metrics.Hamming, tm.hamming_distance, {}),
}


def multiclass(seed=0, samples=60, classes=6, missing=4):
    """Scores with ties, and targets in which one class is missing."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, (samples, classes)) / 8 + rng.normal(0, 0.01, (samples, classes)).round(2)
    target = rng.integers(0, classes, samples)
    return scores.astype(np.float32), np.where(target == missing, 0, target)


def multilabel(seed=0, samples=40, labels=4):
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 2, (samples, labels))
    target[:, 1] = 0
    return rng.uniform(0, 1, (samples, labels)).astype(np.float32), target


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "none"])
@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("top_k", [1, 2])
def test_multiclass(name, average, top_k):
    make, reference, extra = COUNTED[name]
    scores, target = multiclass()
    if top_k > 1:  # which of equal scores is among the best is open there
        scores = scores + np.random.default_rng(1).normal(0, 0.2, scores.shape).astype(np.float32)
    options = {"average": average, "top_k": top_k}
    expected = reference(
        torch.tensor(scores), torch.tensor(target), task="multiclass", num_classes=6, **options, **extra
    )
    agree(check_splits(lambda: make(**options), ours(scores), ours(target)), expected)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "none"])
@pytest.mark.parametrize("name", COUNTED)
def test_multilabel(name, average):
    make, reference, extra = COUNTED[name]
    chances, target = multilabel()
    expected = reference(
        torch.tensor(chances), torch.tensor(target), task="multilabel", num_labels=4, average=average, **extra
    )
    agree(check_splits(lambda: make(average=average), ours(chances), ours(target)), expected)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("threshold", [0.5, 0.2])
def test_binary(name, threshold):
    make, reference, extra = COUNTED[name]
    chances, target = multilabel()
    chances, target = chances[:, 0], target[:, 0]
    expected = reference(torch.tensor(chances), torch.tensor(target), task="binary", threshold=threshold, **extra)
    agree(check_splits(lambda: make(threshold=threshold), ours(chances), ours(target)), expected)
    column = make(threshold=threshold)
    column.update(ours(chances[:, None]), ours(target.astype(np.float32)))
    agree(column.compute(), expected)


def test_binary_against_scikit_learn():
    chances, target = multilabel(3)
    chances, target = chances[:, 0], target[:, 0]
    guess = chances > 0.5
    for ours_, theirs in [
        (metrics.Accuracy(), sklearn.metrics.accuracy_score),
        (metrics.Precision(), sklearn.metrics.precision_score),
        (metrics.Recall(), sklearn.metrics.recall_score),
        (metrics.F1(), sklearn.metrics.f1_score),
        (metrics.Hamming(), sklearn.metrics.hamming_loss),
        (metrics.CohenKappa(), sklearn.metrics.cohen_kappa_score),
    ]:
        ours_.update(ours(chances), ours(target))
        agree(ours_.compute(), theirs(target, guess))


def test_predicted_classes_against_scikit_learn():
    rng = np.random.default_rng(5)
    guess, target = rng.integers(0, 5, 50), rng.integers(0, 4, 50)
    for average in ("micro", "macro", "weighted"):
        expected = sklearn.metrics.f1_score(target, guess, average=average)
        agree(check_splits(lambda a=average: metrics.F1(num_classes=7, average=a), ours(guess), ours(target)), expected)
    accuracy = metrics.Accuracy()
    accuracy.update(ours(guess), ours(target))
    agree(accuracy.compute(), sklearn.metrics.accuracy_score(target, guess))


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_top_k_against_scikit_learn(k):
    rng = np.random.default_rng(k)
    scores, target = rng.normal(size=(80, 6)).astype(np.float32), rng.integers(0, 6, 80)
    expected = sklearn.metrics.top_k_accuracy_score(target, scores, k=k, labels=range(6)) if k < 6 else 1.0
    agree(check_splits(lambda: metrics.TopK(k), ours(scores), ours(target)), expected)


def test_nan_is_the_largest_score():
    scores = torch.tensor([[0.5, math.nan, 1.0], [0.5, math.nan, 1.0], [0.5, math.nan, 1.0]])
    target = torch.tensor([0, 1, 2])
    expected = tm.accuracy(scores, target, task="multiclass", num_classes=3, top_k=2, average="micro")
    agree(metrics.TopK(2)(ours(scores), ours(target)), expected)


@pytest.mark.parametrize("name", COUNTED)
def test_ignored_targets(name):
    make, reference, extra = COUNTED[name]
    scores, target = multiclass(7)
    target[::5] = -100
    expected = reference(
        torch.tensor(scores), torch.tensor(target), task="multiclass", num_classes=6, ignore_index=-100,
        average="macro", **extra,
    )  # fmt: skip
    agree(check_splits(lambda: make(ignore_index=-100, average="macro"), ours(scores), ours(target)), expected)
    chances, flags = multilabel(2)
    flags[::3, 2] = -1
    expected = reference(
        torch.tensor(chances), torch.tensor(flags), task="multilabel", num_labels=4, ignore_index=-1,
        average="macro", **extra,
    )  # fmt: skip
    agree(check_splits(lambda: make(ignore_index=-1, average="macro"), ours(chances), ours(flags)), expected)


def test_images_are_samples_per_pixel():
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=(4, 3, 5, 6)).astype(np.float32), rng.integers(0, 3, (4, 5, 6))
    expected = tm.f1_score(
        torch.tensor(scores), torch.tensor(target), task="multiclass", num_classes=3, average="macro"
    )
    agree(check_splits(metrics.F1, ours(scores), ours(target)), expected)


def test_logits_are_asked_for():
    logits, target = ours(np.array([-2.0, 0.2, 3.0], np.float32)), ours(np.array([0, 1, 1]))
    with pytest.raises(ValueError, match=r"accuracy: 2 outputs are NaN or outside of 0 to 1.*from_logits=True"):
        metrics.Accuracy().update(logits, target)
    accuracy = metrics.Accuracy(from_logits=True)
    assert accuracy(logits, target) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        accuracy.update(logits * math.nan, target)
    assert accuracy.compute() == 1.0  # the refused batch left nothing


def test_soft_targets_when_the_task_is_given():
    accuracy = metrics.Accuracy("multiclass")
    assert accuracy(pyburn.tensor([[0.2, 0.8], [0.9, 0.1]]), pyburn.tensor([[0.0, 1.0], [0.3, 0.7]])) == 0.5


@pytest.mark.filterwarnings("ignore:.*NaN values found in confusion matrix")
@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrix(normalize):
    scores, target = multiclass(1)
    theirs = sklearn.metrics.confusion_matrix(target, scores.argmax(1), labels=range(6), normalize=normalize)
    make = lambda: metrics.ConfusionMatrix(normalize=normalize)  # noqa: E731
    agree(check_splits(make, ours(scores), ours(target)), theirs)
    chances, flags = multilabel(1)
    value = check_splits(make, ours(chances), ours(flags))
    theirs = tm.confusion_matrix(
        torch.tensor(chances), torch.tensor(flags), task="multilabel", num_labels=4, normalize=normalize
    )
    agree(value, theirs)
    binary = check_splits(make, ours(chances[:, 0]), ours(flags[:, 0]))
    agree(binary, sklearn.metrics.confusion_matrix(flags[:, 0], chances[:, 0] > 0.5, normalize=normalize))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_kappa(weights):
    scores, target = multiclass(2)
    expected = sklearn.metrics.cohen_kappa_score(target, scores.argmax(1), weights=weights)
    agree(check_splits(lambda: metrics.CohenKappa(weights=weights), ours(scores), ours(target)), expected)
    one = metrics.CohenKappa(num_classes=3, weights=weights)
    one.update(pyburn.tensor([1, 1]), pyburn.tensor([1, 1]))
    assert math.isnan(one.compute())


def test_undefined_scores():
    precision = metrics.Precision()
    assert precision(pyburn.tensor([0.1, 0.2]), pyburn.tensor([1, 0])) == 0.0
    assert metrics.Precision(zero_division=1.0)(pyburn.tensor([0.1, 0.2]), pyburn.tensor([1, 0])) == 1.0
    everything = metrics.Accuracy(ignore_index=0)
    everything.update(pyburn.tensor([[0.5, 0.1]]), pyburn.tensor([0]))
    assert math.isnan(everything.compute())
    assert math.isnan(metrics.F1().compute())


@pytest.mark.parametrize(
    ("output", "target", "message"),
    [
        ([8, 3], [7], r"accuracy: output has shape \[8, 3\].*target \[7\].*expected target \(N,\)"),
        ([8, 5, 3], [8, 5], r"classes seem to be last: give output.movedim\(-1, 1\)"),
        ([8, 3], [8, 1], r"give target.squeeze\(1\)|expected output \(N, C\)"),
        ([4, 5, 5], [4, 5, 5], "task="),
        ([], [3], "expected"),
    ],
)
def test_wrong_shapes_say_what_to_do(output, target, message):
    with pytest.raises(pyburn.ShapeError, match=message):
        metrics.Accuracy().update(pyburn.zeros(output), pyburn.zeros(target, dtype=pyburn.int64))


def test_wrong_values_say_what_to_do():
    with pytest.raises(ValueError, match=r"accuracy: 1 labels are no class; expected 0 to 1.*ignore_index"):
        metrics.Accuracy().update(pyburn.zeros(2, 2), pyburn.tensor([0, 2]))
    with pytest.raises(ValueError, match=r"recall: 1 labels are no class; expected 0 and 1"):
        metrics.Recall().update(pyburn.zeros(2), pyburn.tensor([0, 2]))
    with pytest.raises(ValueError, match="give num_classes"):
        metrics.Recall().update(pyburn.tensor([1]), pyburn.tensor([1]))
    with pytest.raises(ValueError, match="average is 'mean'"):
        metrics.Recall(average="mean")
    with pytest.raises(TypeError, match="accuracy: output is a dict"):
        metrics.Accuracy().update({"logits": 1}, pyburn.tensor([1]))
    recall = metrics.Recall()
    recall.update(pyburn.rand(4, 3), pyburn.tensor([0, 1, 2, 0]))
    with pytest.raises(ValueError, match="same number of classes"):
        recall.update(pyburn.rand(4, 5), pyburn.tensor([0, 1, 2, 0]))


def test_gradients_are_not_kept():
    scores = pyburn.rand(4, 3, requires_grad=True)
    matrix = metrics.ConfusionMatrix()
    matrix.update(scores * 2, pyburn.tensor([0, 1, 2, 0]))
    assert not matrix.compute().requires_grad


@pytest.mark.gpu
def test_statistics_wait_on_the_gpu():
    scores, target = multiclass(4, samples=140)
    accuracy, matrix = metrics.Accuracy(), metrics.ConfusionMatrix()
    for begin in range(0, 140, 2):  # 70 batches: more than wait there
        accuracy.update(ours(scores[begin : begin + 2], "wgpu"), ours(target[begin : begin + 2], "wgpu"))
    assert len(accuracy._waiting) == 70 - 64
    agree(accuracy.compute(), sklearn.metrics.accuracy_score(target, scores.argmax(1)))
    matrix.update(ours(scores, "wgpu"), ours(target, "wgpu"))
    agree(matrix.compute(), sklearn.metrics.confusion_matrix(target, scores.argmax(1), labels=range(6)))


def test_batches_that_are_counted_at_once_are_checked():
    accuracy = metrics.Accuracy()
    scores, target = pyburn.eye(3), pyburn.tensor([0, 1, 2])
    accuracy.update(scores, target)
    with pytest.raises(ValueError, match=r"accuracy: 1 labels are no class; expected 0 to 2"):
        accuracy.update(scores, pyburn.tensor([0, 1, 7]))
    accuracy.reset()
    accuracy.update(scores, target)  # the classes are known from before
    accuracy.update(scores, pyburn.tensor([0, 0, 0]))
    assert accuracy.state_dict() == {"task": "multiclass", "tp": 4, "fp": 2, "fn": 2, "tn": 0} | {
        "bad_targets": 0,
        "bad_outputs": 0,
    }
    assert accuracy.compute() == pytest.approx(4 / 6)
    accuracy.reset()
    many = pyburn.zeros(5000, dtype=pyburn.int64)
    accuracy.update(pyburn.eye(3)[many], many)
    with pytest.raises(ValueError, match=r"5000 labels are no class"):
        accuracy.update(pyburn.eye(3)[many], many - 1)


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float64])
def test_counting_at_once_agrees_with_argmax(dtype):
    generator = pyburn.Generator().manual_seed(0)
    scores = pyburn.randint(0, 4, (400, 700), generator=generator).to(dtype)  # many equals: the first one counts
    scores[::7, 3], scores[::7, 5], scores[1::7, 650] = float("nan"), float("nan"), float("nan")
    scores[2::7], scores[3::7] = float("-inf"), float("inf")
    best = scores.argmax(1)
    for target in (best, (best + 1) % 700, best.flip(0), pyburn.full((400,), 5), pyburn.full((400,), 650)):
        assert scores._hits(target, 700) == ((best == target).sum().item(), 0)
        assert scores.t().contiguous().t()._hits(target, 700) == ((best == target).sum().item(), 0)
    assert scores._hits(best - 3, 700)[1] == (best < 3).sum().item()
    assert scores._hits(best + 699, 700)[1] == (best > 0).sum().item()
    for wrong in (best[:-1], best.unsqueeze(1), best.to(pyburn.int32)):
        assert scores._hits(wrong, 700) is None
    assert scores._hits(best, 699) is None and scores.to(pyburn.int64)._hits(best, 700) is None


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "none"])
def test_one_label_has_nothing_to_average(average):
    """Also where no target is positive, whose weight would be nothing."""
    chances, target = pyburn.tensor([0.1, 0.2, 0.9, 0.4]), pyburn.tensor([0, 0, 0, 0])
    assert metrics.Accuracy("binary", average=average)(chances, target) == 0.75
    assert metrics.Hamming("binary", average=average)(chances, target) == 0.25
    assert metrics.F1("binary", average=average)(chances, target) == 0.0


@pytest.mark.parametrize("make", [metrics.F1, metrics.Accuracy, metrics.ConfusionMatrix])
@pytest.mark.parametrize("wrong", [5, -1])
def test_predictions_that_are_no_class_are_named(make, wrong):
    options = {} if make is metrics.ConfusionMatrix else {"average": "macro"}
    with pytest.raises(ValueError, match="1 labels are no class; expected 0 to 2"):
        make(num_classes=3, **options).update(pyburn.tensor([1, wrong]), pyburn.tensor([1, 1]))


def test_classes_between_classes_are_named():
    scores = pyburn.tensor([[0.1, 0.9], [0.8, 0.2]])
    assert metrics.Accuracy()(scores, pyburn.tensor([1.0, 0.0])) == 1.0
    with pytest.raises(ValueError, match="1 labels are no class"):
        metrics.Accuracy().update(scores, pyburn.tensor([1.0, 0.5]))


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_scores_that_are_not_defined_can_be_left_out(average):
    predicted, true = [0, 0, 1, 1], [0, 2, 1, 0]
    options = {"average": average, "zero_division": math.nan}
    for make, oracle in (
        (metrics.Precision, sklearn.metrics.precision_score),
        (metrics.Recall, sklearn.metrics.recall_score),
        (metrics.F1, sklearn.metrics.f1_score),
    ):
        found = make(num_classes=3, **options)(pyburn.tensor(predicted), pyburn.tensor(true))
        agree(found, oracle(true, predicted, **options))
