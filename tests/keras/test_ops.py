"""Arithmetic on symbolic tensors, and keras.ops against real Keras."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours

X = array((3, 4))
HOLES = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)


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


MORE = [
    ("abs", (X,), {}),
    ("all", (X > 0,), {"axis": 1}),
    ("any", (X > 0,), {"axis": (0, 1), "keepdims": True}),
    ("any", (X > 0,), {}),
    ("arange", (5,), {}),
    ("arange", (), {"start": 0, "stop": 7, "step": 2}),
    ("arange", (1.0, 2.0, 0.25), {}),
    ("argmin", (X,), {"axis": 1}),
    ("argsort", (X,), {"axis": 0}),
    ("broadcast_to", (X[:1], (3, 4)), {}),
    ("ceil", (X,), {}),
    ("cumsum", (X,), {"axis": 1}),
    ("cumsum", (X,), {}),
    ("elu", (X,), {"alpha": 0.5}),
    ("equal", (X, X.T.reshape(X.shape)), {}),
    ("erf", (X,), {}),
    ("eye", (3,), {}),
    ("eye", (3, 2), {"dtype": "int32"}),
    ("flip", (X,), {"axis": 1}),
    ("flip", (X,), {}),
    ("floor", (X,), {}),
    ("floor_divide", (X, 0.3), {}),
    ("full", ((2, 3), 1.5), {}),
    ("greater", (X, 0.1), {}),
    ("greater_equal", (X, X), {}),
    ("isnan", (HOLES,), {}),
    ("isfinite", (HOLES,), {}),
    ("isinf", (HOLES,), {}),
    ("leaky_relu", (X,), {}),
    ("less", (X, 0.1), {}),
    ("less_equal", (X, 0.1), {}),
    ("linspace", (0.0, 1.0), {"num": 5}),
    ("log1p", (np.abs(X),), {}),
    ("logical_and", (X > 0, X < 0.5), {}),
    ("logical_not", (X > 0,), {}),
    ("logical_or", (X > 0, X < -0.5), {}),
    ("logsumexp", (X,), {"axis": 1, "keepdims": True}),
    ("logsumexp", (X,), {}),
    ("mod", (X, 0.4), {}),
    ("moveaxis", (X, 0, 1), {}),
    ("norm", (X,), {}),
    ("norm", (X,), {"ord": 1, "axis": 1}),
    ("not_equal", (X, X), {}),
    ("ones", ((2, 3),), {"dtype": "int32"}),
    ("ones_like", (X,), {}),
    ("pad", (X, ((1, 0), (0, 2))), {}),
    ("pad", (X, ((1, 1), (2, 2))), {"constant_values": 2.0}),
    ("prod", (X,), {"axis": 1}),
    ("prod", (X,), {}),
    ("repeat", (X, 2), {"axis": 1}),
    ("repeat", (X, 2), {}),
    ("roll", (X, 1), {"axis": 1}),
    ("round", (X,), {"decimals": 1}),
    ("sign", (X,), {}),
    ("softplus", (X,), {}),
    ("sort", (X,), {"axis": 0}),
    ("split", (X, 2), {"axis": 1}),
    ("split", (X, [1, 3]), {"axis": 1}),
    ("std", (X,), {"axis": 0}),
    ("stop_gradient", (X,), {}),
    ("swapaxes", (X, 0, 1), {}),
    ("take", (X, np.array([[0, -1], [1, 1]])), {"axis": 1}),
    ("take", (X, np.array([5, 0])), {}),
    ("tile", (X, (2, 1)), {}),
    ("tril", (X,), {}),
    ("triu", (X,), {"k": 1}),
    ("var", (X,), {}),
    ("var", (X,), {"axis": 1, "keepdims": True}),
    ("zeros", (4,), {}),
    ("zeros_like", (X,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), MORE, ids=[f"{case[0]}-{n}" for n, case in enumerate(MORE)])
def test_more_functions(name, args, kwargs):
    def both(library, tensor):
        given = [tensor(each) if isinstance(each, np.ndarray) else each for each in args]
        found = getattr(library.ops, name)(*given, **kwargs)
        return found if isinstance(found, (list, tuple)) else [found]

    theirs, mine = both(keras, keras.ops.convert_to_tensor), both(ours, pyburn.tensor)
    assert len(theirs) == len(mine)
    for expected, found in zip(theirs, mine):
        expected = keras.ops.convert_to_numpy(expected)
        assert tuple(found.shape) == expected.shape
        assert (found.is_floating_point(), found.dtype == pyburn.bool) == (
            expected.dtype.kind == "f",
            expected.dtype.kind == "b",
        )
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
