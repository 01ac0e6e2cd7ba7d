"""Arithmetic on symbolic tensors, and keras.ops against real Keras."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours


def arithmetic(k):
    x, y = k.Input((4, 3), name="x"), k.Input((4, 3), name="y")
    z = (x + y) * 2.0 - x / 4.0
    z = -z + (1.0 - y) ** 2
    z = k.ops.relu(z) + k.ops.mean(z, axis=1, keepdims=True)
    out = k.layers.Dense(2)(z[:, 0])
    return k.Model([x, y], out)


def test_arithmetic_makes_a_model(tmp_path):
    forget_names()
    theirs, mine = arithmetic(keras), arithmetic(ours)
    mine.set_weights(theirs.get_weights())
    given = [array((5, 4, 3)), array((5, 4, 3), 1)]
    expected = theirs.predict(given, verbose=0)
    np.testing.assert_allclose(mine.predict(given, verbose=0), expected, rtol=1e-4, atol=1e-5)
    theirs.save(tmp_path / "theirs.keras")
    mine.save(tmp_path / "mine.keras")
    for path in ("theirs.keras", "mine.keras"):
        again = ours.models.load_model(tmp_path / path)
        np.testing.assert_allclose(again.predict(given, verbose=0), expected, rtol=1e-4, atol=1e-5)


CASES = [
    ("absolute", ()),
    ("argmax", (-1,)),
    ("clip", (-0.5, 0.5)),
    ("cos", ()),
    ("exp", ()),
    ("expand_dims", (1,)),
    ("gelu", ()),
    ("log_softmax", ()),
    ("max", (1,)),
    ("maximum", (0.2,)),
    ("mean", ()),
    ("min", (0,)),
    ("minimum", (0.2,)),
    ("negative", ()),
    ("power", (2,)),
    ("relu", ()),
    ("reshape", ((4, 3),)),
    ("sigmoid", ()),
    ("silu", ()),
    ("softmax", (0,)),
    ("square", ()),
    ("sum", (1,)),
    ("tanh", ()),
    ("transpose", ()),
    ("true_divide", (3.0,)),
]


@pytest.mark.parametrize(("name", "args"), CASES)
def test_functions(name, args):
    x = array((3, 4))
    found, expected = getattr(ours.ops, name)(pyburn.tensor(x), *args), getattr(keras.ops, name)(x, *args)
    np.testing.assert_allclose(found.numpy(), expected.cpu().numpy(), rtol=1e-5, atol=1e-6)


def test_functions_of_several():
    a, b = array((3, 4)), array((3, 4), 1)
    pa, pb = pyburn.tensor(a), pyburn.tensor(b)
    for name, given in (("concatenate", 1), ("stack", 0)):
        found, expected = getattr(ours.ops, name)([pa, pb], given), getattr(keras.ops, name)([a, b], given)
        np.testing.assert_array_equal(found.numpy(), expected.cpu().numpy())
    np.testing.assert_allclose(ours.ops.matmul(pa, pb.T).numpy(), a @ b.T, rtol=1e-5)
    np.testing.assert_allclose(ours.ops.einsum("ij,kj->ik", pa, pb).numpy(), a @ b.T, rtol=1e-5)
    assert ours.ops.one_hot([1, 0], 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert ours.ops.shape(ours.Input((3,))) == (None, 3)
    assert ours.ops.cast(pa, "int32").dtype == pyburn.int32


def test_symbols_have_no_values():
    x = ours.Input((3,))
    with pytest.raises(TypeError, match="cannot branch"):
        bool(x)
    with pytest.raises(TypeError, match="cannot be iterated"):
        list(x)
