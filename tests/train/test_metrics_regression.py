"""Metrics of numbers, against scikit-learn and torchmetrics."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
import sklearn.metrics
import torch
import torchmetrics.functional.text as tm
from pyburn.nn import functional as F
from pyburn.train import metrics
from pyburn.train.metrics import Batch

from .metric_checks import agree, check_splits, ours


def numbers(shape, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    target = rng.normal(offset, 1, shape).astype(np.float32)
    return target + rng.normal(0, 0.5, shape).astype(np.float32), target


@pytest.mark.parametrize(
    ("make", "reference"),
    [
        (metrics.MAE, sklearn.metrics.mean_absolute_error),
        (metrics.MSE, sklearn.metrics.mean_squared_error),
        (metrics.RMSE, sklearn.metrics.root_mean_squared_error),
        (metrics.R2, sklearn.metrics.r2_score),
    ],
)
@pytest.mark.parametrize("shape", [(37,), (37, 1)])
def test_errors(make, reference, shape):
    output, target = numbers(shape)
    agree(check_splits(make, ours(output), ours(target)), reference(target, output))


@pytest.mark.parametrize("multioutput", ["uniform_average", "variance_weighted", "raw_values"])
def test_r2_of_several_outputs(multioutput):
    output, target = numbers((40, 3))
    target[:, 1] = 2.0
    expected = sklearn.metrics.r2_score(target, output, multioutput=multioutput)
    agree(check_splits(lambda: metrics.R2(multioutput), ours(output), ours(target)), expected)


def test_r2_keeps_its_digits_far_from_zero():
    output, target = numbers(200, offset=1e4)
    expected = sklearn.metrics.r2_score(target.astype(np.float64), output.astype(np.float64))
    agree(check_splits(metrics.R2, ours(output), ours(target), tolerance=1e-3), expected, 1e-3)


def test_r2_of_constants_and_of_one_sample():
    two = pyburn.tensor([2.0, 2.0])
    assert metrics.R2()(two, two) == sklearn.metrics.r2_score([2, 2], [2, 2]) == 1.0
    assert metrics.R2()(two + 1, two) == sklearn.metrics.r2_score([2, 2], [3, 3]) == 0.0
    assert math.isnan(metrics.R2()(two[:1], two[:1]))
    late = metrics.R2()
    late.update(pyburn.zeros(0), pyburn.zeros(0))
    late.update(pyburn.tensor([1.0, 3.0]), pyburn.tensor([1.0, 2.0]))
    agree(late.compute(), sklearn.metrics.r2_score([1, 2], [1, 3]))


def test_shapes_are_not_broadcast():
    with pytest.raises(pyburn.ShapeError, match=r"mae: output has shape \[5, 1\] and target \[5\].*squeeze"):
        metrics.MAE().update(pyburn.zeros(5, 1), pyburn.zeros(5))
    with pytest.raises(pyburn.ShapeError, match="every output needs its target"):
        metrics.R2().update(pyburn.zeros(5), pyburn.zeros(4))


def test_half_precision_and_integers():
    output = pyburn.full([3000], 100.0, dtype=pyburn.float16)
    assert metrics.MSE()(output, pyburn.zeros(3000, dtype=pyburn.int64)) == 10_000.0  # float16 ends at 65504
    assert math.isnan(metrics.MAE()(pyburn.tensor([math.nan]), pyburn.zeros(1)))


def test_loss_is_weighted_by_size():
    loss = metrics.Loss()
    for value, size in ((1.0, 30), (4.0, 10)):
        loss.observe(Batch(None, None, None, pyburn.tensor(value, requires_grad=True), size))
    assert loss.compute() == 1.75
    with pytest.raises(ValueError, match="the batch has no loss"):
        loss.observe(Batch(None, None, None, None, 3))
    with pytest.raises(ValueError, match=r"Loss\(function\)"):
        loss.update(pyburn.zeros(2), pyburn.zeros(2))
    output, target = numbers(21)
    agree(check_splits(lambda: metrics.Loss(F.mse_loss), ours(output), ours(target)), np.mean((output - target) ** 2))


@pytest.mark.parametrize("ignore_index", [None, -100])
def test_perplexity(ignore_index):
    rng = np.random.default_rng(0)
    logits, target = rng.normal(size=(6, 5, 11)).astype(np.float32), rng.integers(0, 11, (6, 5))
    if ignore_index is not None:
        target[rng.uniform(size=target.shape) < 0.3] = ignore_index
    expected = tm.perplexity(torch.tensor(logits), torch.tensor(target), ignore_index=ignore_index)
    agree(check_splits(lambda: metrics.Perplexity(ignore_index), ours(logits), ours(target)), expected, 1e-5)
    probabilities = torch.softmax(torch.tensor(logits), -1)
    agree(metrics.Perplexity(ignore_index, from_logits=False)(ours(probabilities), ours(target)), expected, 1e-5)


def test_perplexity_refuses():
    with pytest.raises(pyburn.ShapeError, match=r"perplexity: output has shape \[2, 9, 5\].*output.movedim\(1, -1\)"):
        metrics.Perplexity().update(pyburn.zeros(2, 9, 5), pyburn.zeros(2, 5, dtype=pyburn.int64))
    with pytest.raises(ValueError, match=r"1 targets are outside of the vocabulary.*ignore_index"):
        metrics.Perplexity().update(pyburn.zeros(2, 9), pyburn.tensor([3, -100]))
    assert metrics.Perplexity()(pyburn.tensor([[0.0, 2000.0]]), pyburn.tensor([0])) == math.inf
