"""Image and feature layers against real Keras, and the random ones by what they must keep."""

from __future__ import annotations

import math

import numpy as np
import pyburn
import pytest
from keras_oracle import array, check_layer, forget_names, keras, plain
from pyburn import keras as ours

L = ours.layers
IMAGE = np.abs(array((2, 6, 8, 3)))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("Rescaling", (0.5,), {"offset": 1.0}),
        ("Resizing", (12, 4), {}),
        ("Resizing", (3, 5), {"interpolation": "nearest"}),
        ("Resizing", (4, 4), {"crop_to_aspect_ratio": True}),
        ("CenterCrop", (4, 5), {}),
        ("CenterCrop", (3, 8), {}),
    ],
)
def test_images(name, args, kwargs):
    check_layer(name, (2, 6, 8, 3), *args, inputs=IMAGE, tolerance=1e-4, gradient=False, **kwargs)


RANDOM = [
    ("RandomFlip", (), {}),
    ("RandomRotation", (0.2,), {}),
    ("RandomZoom", (0.3,), {}),
    ("RandomTranslation", (0.3, 0.2), {}),
    ("RandomBrightness", (0.3,), {}),
    ("RandomContrast", (0.3,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), RANDOM)
def test_random_layers_change_images_in_training_only(name, args, kwargs):
    forget_names()
    layer, theirs = getattr(L, name)(*args, **kwargs), getattr(keras.layers, name)(*args, **kwargs)
    mine, expected = plain(layer.get_config()), plain(theirs.get_config())
    assert {key: value for key, value in mine.items() if key != "data_format"} == {
        key: value for key, value in expected.items() if key != "data_format"
    }
    x = pyburn.tensor(IMAGE) * 50
    pyburn.testing.assert_close(layer(x, training=False), x)
    for changed in (layer(x, training=True), layer(x)):
        assert changed.shape == x.shape and not bool((changed == x).all())
    in_a_model = ours.Sequential([ours.Input(IMAGE.shape[1:]), layer])
    pyburn.testing.assert_close(in_a_model(x), x)
    row = pyburn.nn.Sequential(getattr(L, name)(*args, **kwargs)).eval()
    pyburn.testing.assert_close(row(x), x)
    assert layer(x[0]).shape == x[0].shape
    seeded = [getattr(L, name)(*args, seed=3, **kwargs)(x, training=True) for _ in range(2)]
    pyburn.testing.assert_close(seeded[0], seeded[1])


def test_a_flip_is_a_flip():
    x = pyburn.tensor(IMAGE)
    found = L.RandomFlip("horizontal")(x, training=True)
    for one, two in zip(found, x, strict=True):
        assert bool((one == two).all()) or bool((one == two.flip(1)).all())


def fixed(name, *args, **kwargs):
    """One image changed by a fixed amount, by ours and by Keras."""
    x = np.abs(array((1, 7, 7, 1)))
    mine = getattr(L, name)(*args, **kwargs)(pyburn.tensor(x), training=True)
    theirs = getattr(keras.layers, name)(*args, **kwargs)(x, training=True)
    return mine.numpy()[0, 1:-1, 1:-1, 0], theirs.cpu().numpy()[0, 1:-1, 1:-1, 0]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("RandomRotation", ((0.25, 0.25),)),
        ("RandomRotation", ((0.05, 0.05),)),
        ("RandomTranslation", ((1 / 7, 1 / 7), (-2 / 7, -2 / 7))),
        ("RandomZoom", ((-0.3, -0.3), (-0.2, -0.2))),
        ("RandomBrightness", ((0.01, 0.01),)),
    ],
)
def test_fixed_changes_are_keras_changes(name, args):
    found, expected = fixed(name, *args)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_random_crops():
    x = pyburn.arange(64.0).reshape(1, 8, 8, 1)
    layer = L.RandomCrop(3, 3)
    crops = {int(layer(x, training=True)[0, 0, 0, 0]) for _ in range(20)}
    assert len(crops) > 3 and all(corner % 8 <= 5 for corner in crops)
    assert int(layer(x, training=False)[0, 0, 0, 0]) == int(L.CenterCrop(3, 3)(x)[0, 0, 0, 0])


@pytest.mark.parametrize("axis", [-1, None, (1, 2)])
def test_normalization(axis):
    x = array((50, 4, 3)) * 3 + 1
    mine, theirs = L.Normalization(axis=axis), keras.layers.Normalization(axis=axis)
    mine.adapt(x)
    theirs.adapt(x)
    np.testing.assert_allclose(mine(pyburn.tensor(x)).numpy(), theirs(x).cpu().numpy(), atol=1e-4)
    assert [tuple(w.shape) for w in mine.weights] == [tuple(w.shape) for w in theirs.weights]
    given = [k.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0], invert=True) for k in (ours, keras)]
    np.testing.assert_allclose(given[0](pyburn.tensor(x)).numpy(), given[1](x).cpu().numpy(), atol=1e-5)


@pytest.mark.parametrize("mode", ["multi_hot", "count", "one_hot"])
def test_category_encoding(mode):
    x = array((3, 1) if mode == "one_hot" else (3, 4), 0, 0, 5)
    found = L.CategoryEncoding(5, mode)(pyburn.tensor(x))
    expected = keras.layers.CategoryEncoding(5, mode)(x)
    np.testing.assert_array_equal(found.numpy(), expected.cpu().numpy())
    with pytest.raises(ValueError, match="between 0 and 4"):
        L.CategoryEncoding(5)(pyburn.tensor([[7]]))


def test_discretization():
    x = array((4, 3))
    found = L.Discretization([-0.5, 0.0, 1.0])(pyburn.tensor(x))
    np.testing.assert_array_equal(found.numpy(), keras.layers.Discretization([-0.5, 0.0, 1.0])(x).cpu().numpy())
    layer = L.Discretization(num_bins=4)
    layer.adapt(array((1000,)))
    counts = np.bincount(layer(pyburn.tensor(array((1000,)))).numpy())
    assert counts.tolist() == pytest.approx([250] * 4, abs=5)


def test_a_pipeline_of_images():
    model = ours.Sequential(
        [
            ours.Input((8, 8, 3)),
            L.Rescaling(1 / 255),
            L.RandomFlip(),
            L.RandomRotation(0.1),
            L.Conv2D(4, 3),
            L.Flatten(),
        ]
    )
    model.add(ours.Dense(2))
    model.compile("sgd", keras_loss := ours.losses.SparseCategoricalCrossentropy(from_logits=True))
    assert keras_loss.name == "sparse_categorical_crossentropy"
    history = model.fit(pyburn.randint(0, 256, (8, 8, 8, 3)), pyburn.randint(0, 2, (8,)), verbose=0)
    assert math.isfinite(history.history["loss"][0])
