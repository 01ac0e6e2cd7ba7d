"""Every layer against real Keras: config, shapes, outputs and gradients from the same weights."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, check_layer, compare, keras
from pyburn import keras as ours

CONVOLUTIONS = [
    ("Conv1D", (2, 9, 3), (4, 3), {}),
    ("Conv1D", (2, 10, 3), (4, 3), {"strides": 2, "padding": "same", "activation": "relu"}),
    ("Conv1D", (2, 9, 3), (4, 3), {"padding": "causal", "dilation_rate": 2}),
    ("Conv2D", (2, 9, 8, 3), (4, 3), {}),
    ("Conv2D", (2, 9, 8, 3), (4, (3, 2)), {"strides": 2, "padding": "same", "use_bias": False}),
    ("Conv2D", (2, 9, 8, 4), (6, 3), {"groups": 2, "dilation_rate": 2, "padding": "same"}),
    ("Conv2D", (2, 3, 9, 8), (4, 3), {"data_format": "channels_first", "strides": (2, 1)}),
    ("Conv3D", (1, 5, 6, 7, 2), (3, 2), {"padding": "same", "strides": 2}),
    ("Conv1DTranspose", (2, 5, 3), (4, 3), {"strides": 2}),
    ("Conv2DTranspose", (2, 5, 4, 3), (4, 3), {"activation": "tanh"}),
    ("Conv2DTranspose", (2, 5, 4, 3), (4, 4), {"strides": 2, "padding": "same"}),
    ("Conv2DTranspose", (2, 5, 4, 3), (4, 3), {"padding": "same"}),
    ("Conv2DTranspose", (2, 5, 4, 3), (4, 3), {"strides": 2, "output_padding": 1}),
    ("Conv3DTranspose", (1, 3, 4, 3, 2), (3, 3), {"strides": 2}),
    ("DepthwiseConv1D", (2, 9, 3), (3,), {"depth_multiplier": 2}),
    ("DepthwiseConv2D", (2, 9, 8, 3), (3,), {"strides": 2, "padding": "same", "depth_multiplier": 2}),
    ("SeparableConv1D", (2, 9, 3), (4, 3), {"padding": "same"}),
    ("SeparableConv2D", (2, 9, 8, 3), (4, 3), {"depth_multiplier": 2, "padding": "same", "activation": "relu"}),
]


@pytest.mark.parametrize(("name", "shape", "args", "kwargs"), CONVOLUTIONS)
def test_convolutions(name, shape, args, kwargs):
    check_layer(name, shape, *args, **kwargs)


def test_transposed_convolutions_have_tensorflows_sizes():
    """Sizes on which Keras's torch backend warns that it differs from the others."""
    layer = ours.layers.Conv2DTranspose(2, 3, strides=2, padding="same")
    assert layer.compute_output_shape((None, 5, 7, 3)) == (None, 10, 14, 2)
    assert ours.layers.Conv1DTranspose(2, 2, strides=3).compute_output_shape((None, 5, 3)) == (None, 15, 2)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("size", "stride"), [(3, 2), (5, 2), (4, 3), (2, 3), (3, 1)])
def test_a_transposed_convolution_is_the_gradient_of_one(size, stride, padding):
    """What TensorFlow defines it as, also where Keras's torch backend differs."""
    spread = ours.layers.Conv2DTranspose(2, size, strides=stride, padding=padding, use_bias=False)
    x = pyburn.tensor(array((1, 4, 5, 3)))
    found = spread(x)
    convolution = ours.layers.Conv2D(3, size, strides=stride, padding=padding, use_bias=False)
    image = pyburn.zeros_like(found).requires_grad_()
    convolution.build(tuple(image.shape))
    convolution.set_weights(spread.get_weights())
    result = convolution(image)
    assert result.shape == x.shape
    result.backward(x)
    pyburn.testing.assert_close(image.grad, found.detach(), rtol=1e-4, atol=1e-5)


POOLS = [
    (f"{kind}Pooling{rank}D", (2, *(9, 7, 5)[:rank], 3), kwargs)
    for kind in ("Max", "Average")
    for rank in (1, 2, 3)
    for kwargs in ({"pool_size": 2}, {"pool_size": 3, "strides": 2, "padding": "same"}, {"pool_size": 2, "strides": 1})
]
POOLS += [("MaxPooling2D", (2, 3, 9, 8), {"data_format": "channels_first", "padding": "same"})]
POOLS += [
    (f"Global{kind}Pooling{rank}D", (2, *(5, 4, 3)[:rank], 3), kwargs)
    for kind in ("Max", "Average")
    for rank in (1, 2, 3)
    for kwargs in ({}, {"keepdims": True})
]


@pytest.mark.parametrize(("name", "shape", "kwargs"), POOLS)
def test_pools(name, shape, kwargs):
    check_layer(name, shape, **kwargs)


def test_padding_does_not_count_in_averages():
    """Keras's torch backend repeats the edge where the padding is uneven; its others leave it out, as here."""
    x = pyburn.arange(4.0).reshape(1, 4, 1)
    found = ours.layers.AveragePooling1D(3, strides=2, padding="same")(x)
    assert found.flatten().tolist() == pytest.approx([1.0, 2.5])


@pytest.mark.parametrize("kind", ["Max", "Average"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_pools(kind, rank):
    check_layer(f"Adaptive{kind}Pooling{rank}D", (2, *(9, 8, 7)[:rank], 3), 3)


NORMS = [
    ("BatchNormalization", (6, 3), {}),
    ("BatchNormalization", (4, 5, 3), {"axis": 1, "center": False, "momentum": 0.9}),
    ("BatchNormalization", (2, 4, 5, 3), {"scale": False, "epsilon": 1e-2}),
    ("LayerNormalization", (4, 5), {}),
    ("LayerNormalization", (4, 5, 3), {"axis": [1, 2]}),
    ("GroupNormalization", (2, 5, 6), {"groups": 3}),
    ("GroupNormalization", (2, 4, 5, 6), {"groups": -1}),
    ("GroupNormalization", (2, 6, 4, 5), {"groups": 2, "axis": 1}),
    ("RMSNormalization", (4, 5), {}),
    ("UnitNormalization", (4, 5), {}),
]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("name", "shape", "kwargs"), NORMS)
def test_norms(name, shape, kwargs, training):
    extra = {"training": training} if name == "BatchNormalization" else {}
    check_layer(
        name, shape, tolerance=1e-4, config=name != "GroupNormalization" or kwargs["groups"] != -1, **extra, **kwargs
    )


def test_a_frozen_batch_norm_does_not_train():
    layer = ours.layers.BatchNormalization(trainable=False)
    layer(pyburn.randn(8, 3), training=True)
    assert layer.moving_mean.tolist() == [0, 0, 0] and layer.trainable_weights == []


def test_spectral_normalization():
    theirs = keras.layers.SpectralNormalization(keras.layers.Dense(3), power_iterations=2)
    mine = ours.layers.SpectralNormalization(ours.layers.Dense(3), power_iterations=2)
    compare(theirs, mine, (2, 4), training=True, gradient=False, config=False, tolerance=1e-4)


MERGES = ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"]


@pytest.mark.parametrize("name", MERGES)
def test_merges(name):
    check_layer(name, [(2, 3, 4), (2, 3, 4)])


def test_merges_of_shapes_that_broadcast():
    check_layer("Add", [(2, 3, 4), (2, 1, 4), (2, 4)])
    check_layer("Concatenate", [(2, 3, 4), (2, 5, 4)], axis=1)


@pytest.mark.parametrize(
    ("shapes", "kwargs"),
    [
        ([(2, 4), (2, 4)], {"axes": 1}),
        ([(2, 3, 4), (2, 5, 4)], {"axes": 2}),
        ([(2, 3, 4), (2, 4, 5)], {"axes": (2, 1), "normalize": True}),
    ],
)
def test_dot(shapes, kwargs):
    check_layer("Dot", shapes, **kwargs)


RESHAPES = [
    ("Flatten", (2, 3, 4), (), {}),
    ("Flatten", (2, 3, 4, 5), (), {"data_format": "channels_first"}),
    ("Reshape", (2, 12), ((3, 4),), {}),
    ("Reshape", (2, 3, 4), ((-1, 2),), {}),
    ("Permute", (2, 3, 4), ((2, 1),), {}),
    ("RepeatVector", (2, 3), (4,), {}),
    ("Cropping1D", (2, 6, 3), ((1, 2),), {}),
    ("Cropping2D", (2, 6, 5, 3), (((1, 2), (0, 1)),), {}),
    ("Cropping2D", (2, 3, 6, 5), (1,), {"data_format": "channels_first"}),
    ("Cropping3D", (2, 6, 5, 4, 3), (1,), {}),
    ("ZeroPadding1D", (2, 4, 3), ((1, 2),), {}),
    ("ZeroPadding2D", (2, 4, 3, 3), (((1, 2), (0, 3)),), {}),
    ("ZeroPadding2D", (2, 3, 4, 3), (2,), {"data_format": "channels_first"}),
    ("ZeroPadding3D", (1, 2, 3, 2, 2), (1,), {}),
    ("UpSampling1D", (2, 4, 3), (3,), {}),
    ("UpSampling2D", (2, 4, 3, 3), ((2, 3),), {}),
    ("UpSampling2D", (2, 4, 3, 3), (2,), {"interpolation": "bilinear"}),
    ("UpSampling3D", (1, 2, 3, 2, 2), (2,), {}),
    ("ReLU", (2, 5), (), {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.2}),
    ("LeakyReLU", (2, 5), (), {}),
    ("ELU", (2, 5), (), {"alpha": 0.7}),
    ("PReLU", (2, 4, 5), (), {"shared_axes": [1]}),
    ("Softmax", (2, 5), (), {}),
    ("ActivityRegularization", (2, 5), (), {"l1": 0.1, "l2": 0.2}),
]


@pytest.mark.parametrize(("name", "shape", "args", "kwargs"), RESHAPES)
def test_reshapes_and_activations(name, shape, args, kwargs):
    check_layer(name, shape, *args, **kwargs)


DROPOUTS = [
    ("Dropout", (0.4,), (200, 50)),
    ("GaussianDropout", (0.4,), (200, 50)),
    ("GaussianNoise", (0.5,), (200, 50)),
    ("AlphaDropout", (0.3,), (200, 50)),
    ("SpatialDropout1D", (0.4,), (200, 5, 50)),
    ("SpatialDropout2D", (0.4,), (200, 5, 2, 50)),
    ("SpatialDropout3D", (0.4,), (200, 2, 2, 2, 50)),
]


@pytest.mark.parametrize(("name", "args", "shape"), DROPOUTS)
def test_dropouts(name, args, shape):
    """Nothing happens outside of training; in training mean, spread and share of zeros are Keras's."""
    layer = check_layer(name, shape, *args, config="Spatial" not in name)
    x = np.ones(shape, dtype="float32") + 0.1 * array(shape)
    pyburn.manual_seed(0)
    found = layer(pyburn.tensor(x), training=True).numpy()
    expected = getattr(keras.layers, name)(*args, seed=1)(x, training=True).cpu().numpy()
    for statistic in (np.mean, np.std, lambda a: np.mean(a == 0)):
        assert statistic(found) == pytest.approx(statistic(expected), abs=0.06)
    seeded = [getattr(ours.layers, name)(*args, seed=3)(pyburn.tensor(x), training=True) for _ in range(2)]
    assert bool((seeded[0] == seeded[1]).all())


def test_spatial_dropout_drops_whole_channels():
    x = ours.layers.SpatialDropout2D(0.5)(pyburn.ones(4, 3, 3, 8), training=True)
    sums = x.sum((1, 2))
    assert bool(((sums == 0) | (sums == 18)).all())


def test_activities_are_part_of_the_loss():
    layer = ours.layers.ActivityRegularization(l2=0.5)
    layer(pyburn.full((2, 3), 2.0))
    assert float(layer.losses[0]) == pytest.approx(0.5 * 24 / 2)


BAD = [
    (lambda k: k.Conv2D(4, 3), (2, 8, 8), r"conv2d \(Conv2D\) needs an input of at least 4 dimensions.*\(2, 8, 8\)"),
    (lambda k: k.Conv2D(4, 9), (2, 8, 8, 1), r"conv2d \(Conv2D\): the window covers 9 steps.*padding='same'"),
    (lambda k: k.MaxPooling2D(9), (2, 8, 8, 1), r"max_pooling2d.*window covers 9 steps"),
    (lambda k: k.Reshape((5, 2)), (2, 8), r"reshape \(Reshape\).*8 numbers.*\(5, 2\)"),
    (lambda k: k.GroupNormalization(3), (2, 8), r"8 channels.*groups=3.*divisor"),
    (lambda k: k.Cropping1D(4), (2, 8, 1), r"cropping.*leaves nothing.*crop less"),
    (lambda k: k.Permute((2, 1)), (2, 8), r"needs an input of 3 dimensions"),
]


@pytest.mark.parametrize(("make", "shape", "text"), BAD)
def test_wrong_shapes(make, shape, text):
    ours.utils.clear_session()
    with pytest.raises(ValueError, match=text):
        make(ours.layers)(pyburn.zeros(*shape))


def test_wrong_merges():
    with pytest.raises(pyburn.ShapeError, match=r"\(2, 3\), \(2, 4\).*Concatenate"):
        ours.layers.Add()([pyburn.zeros(2, 3), pyburn.zeros(2, 4)])
    with pytest.raises(pyburn.ShapeError, match="differ along axis -1 only"):
        ours.layers.Concatenate()([pyburn.zeros(2, 3, 1), pyburn.zeros(2, 4, 1)])
    with pytest.raises(ValueError, match="takes a list of inputs"):
        ours.layers.Add()(pyburn.zeros(2, 3))


def test_unknown_sizes_stay_unknown():
    x = ours.Input((None, None, 3))
    assert ours.layers.Conv2D(4, 3, padding="same")(x).shape == (None, None, None, 4)
    assert ours.layers.GlobalAveragePooling2D()(x).shape == (None, 3)
    with pytest.raises(pyburn.ShapeError, match="size of axis -1 of the input must be known"):
        ours.Dense(3)(ours.Input((3, None)))
