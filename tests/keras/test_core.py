"""Dense, Embedding and their like against real Keras; what every layer can do."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, check_layer, forget_names, keras
from pyburn import keras as ours
from pyburn import nn


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"activation": "relu", "use_bias": False},
        {"activation": "softmax", "kernel_regularizer": "l2", "kernel_constraint": "non_neg", "name": "d"},
    ],
)
@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 4)])
def test_dense(kwargs, shape):
    check_layer("Dense", shape, 3, **kwargs)


def test_dense_of_whole_numbers():
    check_layer("Dense", (2, 4), 3, inputs=array((2, 4), 0, 0, 9))


@pytest.mark.parametrize(
    ("equation", "shape", "kwargs"),
    [
        ("ab,bc->ac", (2, 4), {"output_shape": 3, "bias_axes": "c"}),
        ("abc,cd->abd", (2, 3, 4), {"output_shape": (None, 5), "bias_axes": "d", "activation": "relu"}),
        ("...x,xy->...y", (2, 3, 4), {"output_shape": 5, "bias_axes": "y"}),
        ("abc,cde->abde", (2, 3, 4), {"output_shape": (None, 2, 6), "bias_axes": "de"}),
    ],
)
def test_einsum_dense(equation, shape, kwargs):
    check_layer("EinsumDense", shape, equation, **kwargs)


def test_embedding():
    check_layer("Embedding", (2, 5), 10, 4, inputs=array((2, 5), 0, 0, 10))


def test_embedding_says_which_number_is_too_large():
    with pytest.raises(ValueError, match=r"embedding.*between 0 and 2.*from 1 to 7"):
        ours.layers.Embedding(3, 2, name="embedding")(pyburn.tensor([[1, 7]]))


@pytest.mark.parametrize(
    "name", ["relu", "gelu", "tanh", "softmax", "selu", "silu", "softsign", "hard_sigmoid", "mish"]
)
def test_activation(name):
    check_layer("Activation", (2, 5), name)


def test_identity_and_masking():
    check_layer("Identity", (2, 5))
    x = array((2, 4, 3))
    x[:, 2:] = 0
    check_layer("Masking", (2, 4, 3), inputs=x)


def test_lambda():
    layer = ours.layers.Lambda(lambda x: x * 2 + 1)
    assert layer(pyburn.ones(2)).tolist() == [3, 3]
    assert layer(ours.Input((3,))).shape == (None, 3)


def test_layers_print_and_train_by_default():
    layer = ours.Dense(8, activation="relu", name="hidden")
    assert repr(layer) == "Dense(8, activation='relu', name='hidden')"
    layer.build((None, 4))
    assert layer.trainable and [w.requires_grad for w in layer.weights] == [True, True]


def test_names_are_keras_names():
    forget_names()
    names = [(ours.Dense(1).name, keras.layers.Dense(1).name) for _ in range(3)]
    assert all(one == two for one, two in names)


def test_weights_are_made_at_the_first_call():
    layer = ours.Dense(3)
    assert layer.weights == [] and not layer.built
    with pytest.raises(ValueError, match="not built"):
        layer.count_params()
    layer(np.zeros((2, 4)))
    assert layer.count_params() == 15


def test_freezing():
    layer = ours.Dense(3)
    layer.build((None, 2))
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2
    layer.trainable = True
    assert len(layer.trainable_weights) == 2


def test_wrong_shapes_say_the_layer_the_rule_what_came_and_the_fix():
    layer = ours.Dense(3, name="head")
    layer.build((None, 4))
    with pytest.raises(ValueError, match=r"head \(Dense\) needs size 4 in axis -1.*\(2, 5\).*make a new Dense\(3\)"):
        layer(pyburn.zeros(2, 5))
    with pytest.raises(pyburn.ShapeError, match=r"at least 2 dimensions.*\(4,\)"):
        layer(pyburn.zeros(4))


class Scale(ours.Layer):
    def __init__(self, power=1, **kwargs):
        super().__init__(**kwargs)
        self.power = power

    def build(self, input_shape):
        self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones", regularizer="l2")
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x, training=None):
        if training:
            self.seen += 1
        return x * self.factor**self.power


def test_a_layer_of_ones_own():
    layer = Scale(power=2)
    x = pyburn.full((2, 3), 2.0)
    assert layer(x).tolist() == [[2.0] * 3] * 2
    layer(x, training=True)
    assert float(layer.seen) == 1.0
    assert [name for name, _ in layer.named_parameters()] == ["factor"]
    assert list(layer.state_dict()) == ["factor", "seen"]
    assert layer.get_config()["power"] == 2
    assert float(layer.losses[0]) == pytest.approx(0.03)
    assert layer.compute_output_shape((None, 3)) == (None, 3)


class Block(ours.Layer):
    def __init__(self):
        super().__init__()
        self.inner = [ours.Dense(4), ours.Dense(2)]
        self.skip = nn.Linear(3, 2)

    def call(self, x):
        y = x
        for layer in self.inner:
            y = layer(y)
        return y + self.skip(x)


def test_layers_in_lists_and_modules_are_found():
    layer = Block()
    layer(pyburn.zeros(2, 3))
    assert len(layer.weights) == 6 and len(list(layer.parameters())) == 6
    assert layer(ours.Input((3,))).shape == (None, 2)


def test_mixed_precision_keeps_weights_in_float32():
    layer = ours.Dense(3, dtype="mixed_bfloat16")
    assert layer(pyburn.zeros(2, 4)).dtype == pyburn.bfloat16
    assert layer.kernel.dtype == pyburn.float32
