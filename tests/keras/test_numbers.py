"""Losses, metrics, optimizers, initializers and their like against real Keras."""

from __future__ import annotations

import json

import numpy as np
import pyburn
import pytest
import torch
from keras_oracle import array, forget_names, keras, plain
from pyburn import keras as ours

SCORES = torch.softmax(torch.tensor(array((8, 5))), -1).numpy()
ONE_HOT = np.eye(5, dtype="float32")[array((8,), 1, 0, 5)]
NUMBERS = array((8,), 1, 0, 5)
BINARY = array((8, 3), 2, 0, 2).astype("float32")
SHARES = torch.sigmoid(torch.tensor(array((8, 3), 3))).numpy()
WEIGHTS = np.abs(array((8,), 4))

LOSSES = [
    *((name, BINARY, SHARES, {}) for name in ("MeanSquaredError", "MeanAbsoluteError", "Poisson", "LogCosh", "Hinge")),
    *(
        (name, BINARY, SHARES, {})
        for name in ("SquaredHinge", "CosineSimilarity", "BinaryCrossentropy", "Dice", "Tversky")
    ),
    *(
        (name, np.abs(SHARES) + 1, SHARES, {})
        for name in ("MeanAbsolutePercentageError", "MeanSquaredLogarithmicError")
    ),
    ("Huber", BINARY, 3 * SHARES, {"delta": 0.5}),
    ("BinaryCrossentropy", BINARY, SHARES - 0.5, {"from_logits": True, "label_smoothing": 0.1}),
    ("BinaryFocalCrossentropy", BINARY, SHARES, {"apply_class_balancing": True}),
    ("CategoricalCrossentropy", ONE_HOT, SCORES, {"label_smoothing": 0.1}),
    ("CategoricalCrossentropy", ONE_HOT, array((8, 5)), {"from_logits": True}),
    ("CategoricalFocalCrossentropy", ONE_HOT, SCORES, {}),
    ("CategoricalHinge", ONE_HOT, SCORES, {}),
    ("KLDivergence", ONE_HOT, SCORES, {}),
    ("SparseCategoricalCrossentropy", NUMBERS, SCORES, {}),
    ("SparseCategoricalCrossentropy", NUMBERS, array((8, 5)), {"from_logits": True, "ignore_class": 2}),
]


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "sum", None])
@pytest.mark.parametrize(("name", "true", "pred", "kwargs"), LOSSES)
def test_losses(name, true, pred, kwargs, reduction, weight):
    if name in ("Dice", "Tversky") and weight is not None:
        pytest.skip("their loss is one number for the whole batch")
    one = getattr(ours.losses, name)(reduction=reduction, **kwargs)
    two = getattr(keras.losses, name)(reduction=reduction, **kwargs)
    mine = pyburn.tensor(pred, requires_grad=True)
    theirs = torch.tensor(pred, requires_grad=True)
    found = one(pyburn.tensor(true), mine, None if weight is None else pyburn.tensor(weight))
    expected = two(torch.tensor(true), theirs, None if weight is None else torch.tensor(weight))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6)
    found.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_losses_by_name_dictionary_and_function():
    for name in (
        "mse",
        "mae",
        "binary_crossentropy",
        "sparse_categorical_crossentropy",
        "huber",
        "kl_divergence",
        "Hinge",
    ):
        assert callable(ours.losses.get(name))
    assert isinstance(ours.losses.get({"class_name": "Huber", "config": {"delta": 2.0}}), ours.losses.Huber)
    with pytest.raises(ValueError, match=r"none called 'mean_sqared'.*mean_squared_error"):
        ours.losses.get("mean_sqared")


METRICS = [
    ("BinaryAccuracy", BINARY, SHARES, {"threshold": 0.4}),
    ("CategoricalAccuracy", ONE_HOT, SCORES, {}),
    ("SparseCategoricalAccuracy", NUMBERS, SCORES, {}),
    ("TopKCategoricalAccuracy", ONE_HOT, SCORES, {"k": 2}),
    ("SparseTopKCategoricalAccuracy", NUMBERS, SCORES, {"k": 3}),
    ("MeanSquaredError", BINARY, SHARES, {}),
    ("MeanAbsoluteError", BINARY, SHARES, {}),
    ("RootMeanSquaredError", BINARY, SHARES, {}),
    ("CosineSimilarity", BINARY, SHARES, {}),
    ("BinaryCrossentropy", BINARY, SHARES, {}),
    ("CategoricalCrossentropy", ONE_HOT, SCORES, {}),
    ("SparseCategoricalCrossentropy", NUMBERS, SCORES, {}),
    ("Precision", BINARY, SHARES, {}),
    ("Precision", BINARY, SHARES, {"thresholds": [0.3, 0.6]}),
    ("Recall", BINARY, SHARES, {"class_id": 1}),
    ("AUC", BINARY, SHARES, {}),
    ("AUC", BINARY, SHARES, {"curve": "PR"}),
    ("AUC", BINARY, SHARES, {"curve": "PR", "summation_method": "majoring", "num_thresholds": 20}),
    ("AUC", BINARY, SHARES, {"multi_label": True}),
    ("AUC", BINARY, SHARES, {"multi_label": True, "curve": "PR", "num_labels": SHARES.shape[1]}),
    ("AUC", BINARY, SHARES, {"multi_label": True, "label_weights": [float(n) for n in range(1, 1 + SHARES.shape[1])]}),
    ("AUC", BINARY, SHARES, {"label_weights": [float(n) for n in range(1, 1 + SHARES.shape[1])]}),
    ("TruePositives", BINARY, SHARES, {}),
    ("FalsePositives", BINARY, SHARES, {}),
    ("TrueNegatives", BINARY, SHARES, {}),
    ("FalseNegatives", BINARY, SHARES, {}),
    ("F1Score", ONE_HOT, SCORES, {"average": "macro"}),
    ("FBetaScore", BINARY, SHARES, {"threshold": 0.5, "beta": 2.0}),
    ("R2Score", BINARY, SHARES, {}),
    ("MeanIoU", NUMBERS, array((8,), 6, 0, 5), {"num_classes": 5}),
    ("BinaryIoU", BINARY, SHARES, {"threshold": 0.4}),
    ("OneHotMeanIoU", ONE_HOT, SCORES, {"num_classes": 5}),
    ("Mean", WEIGHTS, None, {}),
    ("Sum", WEIGHTS, None, {}),
]


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize(("name", "true", "pred", "kwargs"), METRICS)
def test_metrics(name, true, pred, kwargs, weight):
    if "IoU" in name and weight is not None:
        pytest.skip("Keras's confusion matrix takes whole numbers only")
    forget_names()
    one, two = getattr(ours.metrics, name)(**kwargs), getattr(keras.metrics, name)(**kwargs)
    assert one.name == two.name
    for part in (slice(0, 5), slice(5, 8)):
        given = [each[part] for each in (true, pred) if each is not None]
        extra = {} if weight is None else {"sample_weight": weight[part]}
        one.update_state(*(pyburn.tensor(each) for each in given), **{k: pyburn.tensor(v) for k, v in extra.items()})
        two.update_state(*given, **extra)
    np.testing.assert_allclose(np.asarray(one.result()), np.asarray(two.result().cpu()), rtol=1e-4, atol=1e-5)
    one.reset_state()
    again = type(one).from_config(one.get_config())
    assert again.name == one.name


OPTIMIZERS = [
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"momentum": 0.5, "weight_decay": 0.1, "clipnorm": 0.5}),
    ("Adam", {"amsgrad": True, "epsilon": 1e-3}),
    ("Adam", {"clipvalue": 0.1}),
    ("AdamW", {"weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {}),
    ("Adadelta", {"learning_rate": 1.0}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Lion", {}),
    ("Lamb", {"weight_decay": 0.1}),
    ("Ftrl", {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2, "beta": 0.1}),
    ("Adafactor", {}),
    ("Adam", {"global_clipnorm": 0.3, "gradient_accumulation_steps": 2}),
]


@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS)
def test_optimizers(name, kwargs):
    one, two = getattr(ours.optimizers, name)(**kwargs), getattr(keras.optimizers, name)(**kwargs)
    start = array((3, 4))
    mine, theirs = pyburn.nn.Parameter(pyburn.tensor(start)), keras.Variable(start)
    for step in range(6):
        if step == 3:
            one.learning_rate = two.learning_rate = float(one.learning_rate) / 3
        grad = array((3, 4), 10 + step)
        one.apply([pyburn.tensor(grad)], [mine])
        two.apply([torch.tensor(grad)], [theirs])
    np.testing.assert_allclose(mine.detach().numpy(), theirs.numpy(), rtol=2e-4, atol=2e-5)
    wanted = plain(two.get_config())
    found = plain(one.get_config())
    for key in set(found) - {"learning_rate", "name"}:
        assert found[key] == pytest.approx(wanted[key]), key
    again = ours.optimizers.get({"class_name": name, "config": json.loads(json.dumps(wanted))})
    assert type(again) is type(one)


SCHEDULES = [
    ("ExponentialDecay", (0.1, 5, 0.5), {"staircase": True}),
    ("InverseTimeDecay", (0.1, 5, 0.5), {}),
    ("PiecewiseConstantDecay", ([3, 6], [1.0, 0.5, 0.1]), {}),
    ("PolynomialDecay", (0.1, 8), {"power": 2.0, "cycle": True}),
    ("CosineDecay", (0.0, 8), {"warmup_target": 0.1, "warmup_steps": 3, "alpha": 0.1}),
    ("CosineDecayRestarts", (0.1, 3), {"m_mul": 0.9}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), SCHEDULES)
def test_schedules(name, args, kwargs):
    one = getattr(ours.optimizers.schedules, name)(*args, **kwargs)
    two = getattr(keras.optimizers.schedules, name)(*args, **kwargs)
    steps = range(20)
    np.testing.assert_allclose(
        [one(step) for step in steps], [float(two(step)) for step in steps], rtol=1e-5, atol=1e-8
    )
    assert plain(one.get_config()) == plain(two.get_config())
    optimizer = ours.optimizers.SGD(one)
    again = ours.optimizers.SGD.from_config(json.loads(json.dumps(optimizer.get_config())))
    assert again.learning_rate == optimizer.learning_rate


INITIALIZERS = ["GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal", "LecunUniform", "LecunNormal", "RandomNormal"]


@pytest.mark.parametrize("name", [*INITIALIZERS, "RandomUniform", "TruncatedNormal"])
def test_initializers_have_keras_spread(name):
    one, two = getattr(ours.initializers, name)(seed=0), getattr(keras.initializers, name)(seed=0)
    mine, theirs = one((3, 3, 40, 50)).numpy(), two((3, 3, 40, 50)).cpu().numpy()
    for statistic in (np.mean, np.std, np.min, np.max):
        assert statistic(mine) == pytest.approx(statistic(theirs), abs=0.02 * float(theirs.std()) + 2e-3)
    assert bool((one((4,)) == one((4,))).all())
    assert plain(one.get_config()) == plain(two.get_config())


def test_initializers_of_values():
    made = ours.initializers.Orthogonal()((6, 4)).numpy()
    np.testing.assert_allclose(made.T @ made, np.eye(4), atol=1e-5)
    assert ours.initializers.get("ones")((2,)).tolist() == [1, 1]
    assert ours.initializers.Identity(2.0)((2, 2)).tolist() == [[2, 0], [0, 2]]


@pytest.mark.parametrize(
    ("family", "name", "kwargs"),
    [
        ("regularizers", "L1", {"l1": 0.1}),
        ("regularizers", "L2", {"l2": 0.1}),
        ("regularizers", "L1L2", {"l1": 0.1, "l2": 0.2}),
        ("regularizers", "OrthogonalRegularizer", {"mode": "columns"}),
        ("constraints", "MaxNorm", {"max_value": 0.5}),
        ("constraints", "MinMaxNorm", {"min_value": 0.5, "max_value": 0.7, "rate": 0.8}),
        ("constraints", "NonNeg", {}),
        ("constraints", "UnitNorm", {"axis": 1}),
    ],
)
def test_regularizers_and_constraints(family, name, kwargs):
    one, two = getattr(getattr(ours, family), name)(**kwargs), getattr(getattr(keras, family), name)(**kwargs)
    x = array((3, 4))
    found, expected = one(pyburn.tensor(x)), two(torch.tensor(x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected.cpu()), rtol=1e-5, atol=1e-6)
    assert plain(one.get_config()) == pytest.approx(plain(two.get_config()))


FUNCTIONS = [
    name
    for name in ours.activations.__all__
    if name not in ("deserialize", "get", "serialize", "sparsemax", "threshold")
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name):
    x = array((3, 6))
    found, expected = (
        getattr(ours.activations, name)(pyburn.tensor(x)),
        getattr(keras.activations, name)(torch.tensor(x)),
    )
    np.testing.assert_allclose(found.numpy(), expected.cpu().numpy(), rtol=1e-4, atol=1e-6)
    assert ours.activations.get(name) is getattr(ours.activations, name)


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    """Keras 3.15's own gives rows of zeros on torch: scipy judges instead."""
    optimize = pytest.importorskip("scipy.optimize")
    x = array((6,)).astype("float64")
    rule = {"type": "eq", "fun": lambda p: p.sum() - 1}
    best = optimize.minimize(lambda p: ((p - x) ** 2).sum(), np.full(6, 1 / 6), bounds=[(0, 1)] * 6, constraints=[rule])
    np.testing.assert_allclose(ours.activations.sparsemax(pyburn.tensor(x)).numpy(), best.x, atol=1e-3)


def test_utils():
    labels = [0, 2, 1]
    np.testing.assert_array_equal(ours.utils.to_categorical(labels), keras.utils.to_categorical(labels))
    rows = [[1, 2, 3], [4], [5, 6, 7, 8]]
    for kwargs in ({}, {"maxlen": 2}, {"maxlen": 3, "padding": "post", "truncating": "post", "value": 9}):
        np.testing.assert_array_equal(
            ours.utils.pad_sequences(rows, **kwargs), keras.utils.pad_sequences(rows, **kwargs)
        )
