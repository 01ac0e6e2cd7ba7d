"""Vocabularies: what Keras's documentation shows (the layers themselves need TensorFlow there)."""

from __future__ import annotations

import numpy as np
import pyburn
import pytest
from pyburn import keras

L = keras.layers
WORDS = ["a", "b", "c", "d"]
ROWS = [["a", "c", "d", "d"], ["d", "z", "b", "z"]]


@pytest.mark.parametrize("given", [ROWS, np.array(ROWS), tuple(map(tuple, ROWS)), np.array(ROWS).astype("S1")])
def test_strings_are_looked_up(given):
    assert L.StringLookup(vocabulary=WORDS)(given).tolist() == [[1, 3, 4, 4], [4, 0, 2, 0]]
    assert L.StringLookup(vocabulary=WORDS, output_mode="multi_hot")(given).tolist() == [
        [0, 1, 0, 1, 1],
        [1, 0, 1, 0, 1],
    ]
    assert L.StringLookup(vocabulary=WORDS, output_mode="count")(given).tolist() == [[0, 1, 0, 1, 2], [2, 0, 1, 0, 1]]
    weighted = L.StringLookup(vocabulary=WORDS, output_mode="tf_idf", idf_weights=[0.25, 0.75, 0.6, 0.4])
    np.testing.assert_allclose(weighted(given), [[0, 0.25, 0, 0.6, 0.8], [1.0, 0, 0.75, 0, 0.4]], rtol=1e-6)


def test_a_vocabulary_is_found_and_turned_round():
    layer = L.StringLookup()
    layer.adapt([["a", "c", "d"], ["d", "z", "b"]])
    assert layer.get_vocabulary() == ["[UNK]", "d", "z", "c", "b", "a"] and layer.vocabulary_size() == 6
    back = L.StringLookup(vocabulary=layer.get_vocabulary(), invert=True)
    assert back(layer([["a", "q"]])) == [["a", "[UNK]"]]
    few = L.StringLookup(max_tokens=3)
    few.adapt(iter([(["x", "x", "y"], 0), (["z", "z", "z"], 1)]))
    assert few.get_vocabulary() == ["[UNK]", "z", "x"]
    masked = L.StringLookup(vocabulary=["a"], mask_token="")
    assert masked([["", "a", "q"]]).tolist() == [[0, 2, 1]] and masked.get_vocabulary() == ["", "[UNK]", "a"]
    spread = L.StringLookup(vocabulary=["a"], num_oov_indices=5)([str(number) for number in range(50)])
    assert sorted(set(spread.tolist())) == [0, 1, 2, 3, 4]


def test_numbers_are_looked_up_also_in_a_model():
    layer = L.IntegerLookup()
    layer.adapt(np.array([[12, 1138, 42], [42, 1000, 36]]))
    assert layer.get_vocabulary() == [-1, 42, 1138, 1000, 36, 12]
    x = keras.Input((3,), dtype="int64")
    model = keras.Model(x, L.IntegerLookup(vocabulary=[12, 36, 1138, 42], mask_token=0)(x))
    again = keras.Model.from_config(model.get_config())
    for each in (model, again):
        assert each.predict(np.array([[12, 1138, 0], [42, 1000, 36]]), verbose=0).tolist() == [[2, 4, 0], [5, 1, 3]]
    rows = L.IntegerLookup(vocabulary=[5, 7], output_mode="one_hot")(x)
    assert rows.shape == (None, 3, 3)
    assert L.IntegerLookup(vocabulary=[5, 7], invert=True)([[0, 2]]).tolist() == [[-1, 7]]


def test_texts_are_places_of_words():
    layer = L.TextVectorization(vocabulary=["earth", "wind", "and", "fire"], output_sequence_length=4)
    for given in ([["earth, wind!"], ["Fire and water"]], np.array(["earth, wind!", "Fire and water"])):
        assert layer(given).tolist() == [[2, 3, 0, 0], [5, 4, 1, 0]]
    assert layer("wind").tolist() == [3, 0, 0, 0]
    pairs = L.TextVectorization(output_mode="count", ngrams=2, max_tokens=9, pad_to_max_tokens=True)
    pairs.adapt(["a b", "b c d", "b"])
    assert pairs.get_vocabulary() == ["[UNK]", "b", "d", "c d", "c", "b c", "a b", "a"]
    assert pairs(["a b a"]).tolist() == [[1, 1, 0, 0, 0, 0, 1, 2, 0]]
    letters = L.TextVectorization(standardize=None, split="character", vocabulary=["A", "b"])
    assert letters(["Ab", "ba?"]).tolist() == [[2, 3, 0], [3, 1, 1]]
    own = L.TextVectorization(standardize=str.upper, split=lambda text: text.split("-"), vocabulary=["X", "Y"])
    assert own(["x-y-z"]).tolist() == [[2, 3, 1]]


def test_texts_train_a_model():
    texts, labels = ["good film", "bad film", "good", "bad bad"], np.array([1.0, 0, 1, 0])
    words = L.TextVectorization(output_sequence_length=3)
    words.adapt(texts)
    inner = [L.Embedding(words.vocabulary_size(), 4, mask_zero=True), L.GlobalAveragePooling1D()]
    model = keras.Sequential([keras.Input((3,), dtype="int64"), *inner, L.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(words(texts), labels, epochs=40, verbose=0).history
    assert history["accuracy"][-1] == 1.0


def test_hashes_are_the_same_every_time():
    layer = L.Hashing(num_bins=3)
    assert layer(["A", "B", "C", "A"]).tolist() == L.Hashing(num_bins=3)(np.array(["A", "B", "C", "A"])).tolist()
    assert int(layer(["A", "B", "C"]).min()) >= 0 and int(layer(["A", "B", "C"]).max()) < 3
    masked = L.Hashing(num_bins=3, mask_value="")(["A", "", "B"]).tolist()
    assert masked[1] == 0 and 0 not in (masked[0], masked[2])
    assert L.Hashing(4, output_mode="one_hot")(pyburn.tensor([[1], [2]])).sum().item() == 2
    crossed = L.HashedCrossing(1000)((["A", "B", "A"], [1, 1, 1])).tolist()
    assert crossed[0] == crossed[2] != crossed[1]


def test_lists_of_numbers_are_taken():
    assert L.CategoryEncoding(4)([[0, 1], [3, 3]]).tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]
    assert L.Discretization(bin_boundaries=[0.0, 1.0])([[-1.5, 1.0, 3.4, 0.5]]).tolist() == [[0, 2, 2, 1]]
    assert L.Normalization(mean=1.0, variance=4.0)([[1.0, 3.0]]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: L.StringLookup(name="words")(["a"]), r"words \(StringLookup\): it has no vocabulary yet; call adapt"),
        (lambda: L.StringLookup(vocabulary=["a", "a"]), r"more than once: \['a'\]"),
        (lambda: L.StringLookup(vocabulary=["a"], num_oov_indices=0)(["q"]), "the string 'q' is not in the vocabulary"),
        (lambda: L.StringLookup(vocabulary=["a", "b"], max_tokens=2), "has 3 tokens, but max_tokens is 2"),
        (lambda: L.StringLookup(vocabulary=["a"], output_mode="tf_idf"), "idf_weights must be given"),
        (lambda: L.StringLookup(vocabulary=["a"], invert=True, output_mode="count"), "goes with output_mode='int'"),
        (lambda: L.StringLookup().adapt([]), "the data has no tokens"),
        (lambda: L.IntegerLookup(vocabulary=[1])([1.5]), "1.5 is not whole"),
        (lambda: L.IntegerLookup(vocabulary=[1], output_mode="some"), "output_mode is 'some'"),
        (lambda: L.TextVectorization(vocabulary=["a"])(pyburn.zeros(2)), "a tensor holds no texts"),
        (lambda: L.TextVectorization(split="comma"), "split is 'comma'"),
        (lambda: L.TextVectorization(vocabulary=["a"])([["a", "b"]]), "one string for each sample"),
        (lambda: L.Hashing(0), "num_bins is 0"),
        (lambda: L.HashedCrossing(3)((["a"], [1, 2])), r"lengths \[1, 2\]"),
    ],
)
def test_what_is_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
