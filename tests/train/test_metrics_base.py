"""What all metrics share: batches of unequal size, states, functions as metrics, names."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pyburn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyburn.train import metrics
from pyburn.train.metrics import Batch, Metric, metric

from .metric_checks import agree


class Largest(Metric):
    """As a user writes one: plain attributes, three methods."""

    name, higher_is_better = "largest", True

    def reset(self):
        self.seen = math.nan
        self.history = []

    def update(self, output, target):
        self.seen = max(output.max().item(), self.seen)
        self.history.append(output.max())

    def compute(self):
        return self.seen


def test_a_metric_of_a_user():
    largest = Largest()
    assert largest(pyburn.tensor([3.0]), None) == 3.0
    assert largest(pyburn.tensor([2.0]), None) == 2.0
    assert largest.compute() == 3.0
    other = Largest()
    other.load_state_dict(largest.state_dict())
    assert other.compute() == 3.0 and len(other.history) == 2
    with pytest.raises(NotImplementedError, match="must define reset"):
        Metric()


def test_functions_are_weighted_by_size():
    mean = metric(lambda output, target: (output - target).mean())
    mean.update(pyburn.tensor([1.0, 2.0, 3.0]), pyburn.zeros(3))
    mean.update(pyburn.tensor([10.0]), pyburn.zeros(1))
    assert mean.compute() == 4.0
    number = metric(lambda output, target: 2.5)
    number.observe(Batch(None, None, None, None, size=7))
    assert number.compute() == 2.5 and number.state_dict() == {"total": 17.5, "count": 7}
    with pytest.raises(ValueError, match=r"shape \[2\].*value.mean"):
        metric(lambda output, target: output).update(pyburn.zeros(2), pyburn.zeros(2))


def test_names():
    for name in metrics.names():
        assert isinstance(metric(name), Metric)
    assert metric("Top5").name == "top_5"
    known = metrics.Accuracy()
    assert metric(known) is known
    assert isinstance(metric(metrics.F1), metrics.F1)
    with pytest.raises(ValueError, match="'acuracy' is not known; expected one of accuracy"):
        metric("acuracy")
    with pytest.raises(TypeError, match="got a int"):
        metric(3)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 100))
def test_any_split_gives_one_value(sizes, seed):
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    output, target = rng.normal(size=(total, 3)).astype(np.float32), rng.integers(0, 3, total)
    for make in (metrics.Accuracy, metrics.F1, metrics.CohenKappa, lambda: metrics.TopK(2)):
        whole, split = make(), make()
        whole.update(pyburn.tensor(output), pyburn.tensor(target))
        for end, size in zip(np.cumsum(sizes), sizes, strict=True):
            split.update(pyburn.tensor(output[end - size : end]), pyburn.tensor(target[end - size : end]))
        agree(split.compute(), whole.compute())


def test_many_small_numbers_add_up():
    mean = metric(lambda output, target: output.mean())
    for _ in range(3):
        mean.observe(Batch(None, None, pyburn.tensor([0.1], dtype=pyburn.float16), None, size=100_000))
    agree(mean.compute(), float(np.float16(0.1)))  # half precision would overflow, float32 would be coarse


def test_the_page_lists_every_metric():
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    kinds = [value for value in vars(metrics).values() if isinstance(value, type) and issubclass(value, Metric)]
    abstract = {"Accumulated", "ClassScore", "CurveArea", "FunctionMetric", "MaskScore", "Mean", "Metric", "TextMetric"}
    missing = {kind.__name__ for kind in kinds if not re.search(rf"^\|.*`{kind.__name__}[`(]", page, re.MULTILINE)}
    assert missing == abstract
    arrows = {True: " ↑", False: " ↓", None: ""}
    for name in metrics.names():
        assert f"`{name}`{arrows[metric(name).higher_is_better]}" in page


@pytest.mark.parametrize(
    ("make", "output", "target"),
    [
        (metrics.Accuracy, pyburn.rand(5, 3), pyburn.tensor([0, 1, 2, 0, 1])),
        (metrics.F1, pyburn.rand(5, 3), pyburn.tensor([0, 1, 2, 0, 1])),
        (metrics.ConfusionMatrix, pyburn.rand(5), pyburn.tensor([0, 1, 1, 0, 1])),
        (metrics.Hamming, pyburn.rand(3, 2), pyburn.tensor([[0, 1], [1, 0], [1, 1]])),
        (metrics.AUROC, pyburn.rand(5), pyburn.tensor([0, 1, 1, 0, 1])),
        (metrics.AUCPR, pyburn.rand(5, 3), pyburn.tensor([0, 1, 2, 0, 1])),
        (metrics.RMSE, pyburn.rand(5), pyburn.rand(5)),
        (metrics.R2, pyburn.rand(5, 2), pyburn.rand(5, 2)),
        (metrics.Perplexity, pyburn.rand(5, 3), pyburn.tensor([0, 1, 2, 0, 1])),
        (metrics.PSNR, pyburn.rand(2, 1, 4, 4), pyburn.rand(2, 1, 4, 4)),
        (metrics.WER, ["a b"], ["a c"]),
        (metrics.BLEU, ["a b c d e"], ["a b c d f"]),
    ],
)
def test_a_batch_without_samples_changes_nothing(make, output, target):
    plain, padded = make(), make()
    plain.update(output, target)
    for o, t in ((output[:0], target[:0]), (output, target), (output[:0], target[:0])):
        padded.update(o, t)
    agree(padded.compute(), np.asarray(plain.compute()))
    nothing = make()
    nothing.update(output[:0], target[:0])
    assert make is metrics.ConfusionMatrix or math.isnan(nothing.compute())


def test_a_state_goes_through_a_device_without_wide_numbers():
    r2, matrix = metrics.R2(), metrics.ConfusionMatrix()
    r2.update(pyburn.rand(5, 2), pyburn.rand(5, 2))
    matrix.update(pyburn.rand(6, 3), pyburn.tensor([0, 1, 2, 0, 1, 1]))
    matrix._state["matrix"] *= 3_000_000_000  # more than 32 bits hold
    for found, again in ((r2, metrics.R2()), (matrix, metrics.ConfusionMatrix())):
        again.load_state_dict({key: on_wgpu(value) for key, value in found.state_dict().items()})
        assert np.array_equal(np.asarray(again.compute()), np.asarray(found.compute()))


def on_wgpu(value):
    """As a checkpoint that is loaded with map_location."""
    if isinstance(value, dict):
        return {key: on_wgpu(item) for key, item in value.items()}
    return value.to("wgpu") if isinstance(value, pyburn.Tensor) else value
