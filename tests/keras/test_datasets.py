"""Keras's datasets from files in their usual place, and the words around models."""

from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest
from keras_oracle import keras
from pyburn import keras as ours


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of small files, which both libraries take for Keras's own."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    texts = np.empty(6, dtype=object)
    for place in range(6):
        texts[place] = list(range(1, place + 3))
    images = np.arange(5 * 4, dtype="uint8").reshape(5, 2, 2)
    np.savez(folder / "mnist.npz", x_train=images, y_train=np.arange(5), x_test=images[:2], y_test=np.arange(2))
    np.savez(folder / "imdb.npz", x_train=texts, y_train=np.arange(6) % 2, x_test=texts[:4], y_test=np.arange(4) % 2)
    np.savez(folder / "reuters.npz", x=texts, y=np.arange(6))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    for name in ("imdb", "mnist", "reuters"):
        module = importlib.import_module(f"keras.src.datasets.{name}")
        monkeypatch.setattr(module, "get_file", lambda fname=None, **kwargs: str(folder / fname))
    return folder


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mnist", {}),
        ("imdb", {"num_words": 6}),
        ("imdb", {"maxlen": 5, "skip_top": 2}),
        ("reuters", {"num_words": 7, "oov_char": None}),
        ("reuters", {"start_char": None, "test_split": 0.5}),
    ],
)
def test_files_are_read_as_keras_reads_them(name, options, home):
    expected = getattr(keras.datasets, name).load_data(**options)
    found = getattr(ours.datasets, name).load_data(**options)
    for one, two in zip(expected, found, strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in two]


def test_a_file_that_would_call_something_is_refused(home):
    class Harm:
        def __reduce__(self):
            return print, ("harm",)

    harmful = np.empty(1, dtype=object)
    harmful[0] = Harm()
    np.savez(home / "imdb.npz", x_train=harmful, y_train=np.zeros(1), x_test=harmful, y_test=np.zeros(1))
    with pytest.raises(RuntimeError, match="plain data needs not"):
        ours.datasets.imdb.load_data()


def test_a_picture_of_a_model(tmp_path):
    model = ours.Sequential([ours.Input((4,)), ours.layers.Dense(3), ours.layers.Dense(2)])
    graph = ours.utils.plot_model(model, str(tmp_path / "model.svg"), show_shapes=True)
    assert len(graph.nodes) == 4 and "Dense" in (tmp_path / "model.svg").read_text()
    with pytest.raises(ValueError, match="shapes of the inputs"):
        ours.utils.plot_model(ours.Sequential([ours.layers.Dense(2)]))


def test_a_file_that_is_there_is_not_fetched(home):
    path = ours.utils.get_file("mnist.npz", origin="https://example.invalid/mnist.npz")
    assert path == str(home / "mnist.npz")
    with pytest.raises(ValueError, match="give origin"):
        ours.utils.get_file("mnist.npz")


def test_words_at_the_top():
    assert ours.__version__ == ours.version() == keras.__version__
    with ours.device("cpu:0"), ours.name_scope("part"):
        assert ours.layers.Dense(2)(np.ones((1, 3), "float32")).device.type == "cpu"
    ours.config.disable_traceback_filtering()
    with pytest.raises(ValueError, match="never executed"):
        ours.config.enable_unsafe_deserialization()


def test_cifar_is_read_from_its_folder(tmp_path, monkeypatch):
    inside = tmp_path / "datasets" / "cifar-10-batches-py-target" / "cifar-10-batches-py"
    inside.mkdir(parents=True)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    rows = np.random.default_rng(0).integers(0, 256, (6, 3072)).astype("uint8")
    for number, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
        (inside / name).write_bytes(pickle.dumps({b"data": rows[[number, 0]], b"labels": [number, 7]}, 2))
    (x, y), (x_test, y_test) = ours.datasets.cifar10.load_data()
    assert x.shape == (10, 32, 32, 3) and y[:, 0].tolist() == [0, 7, 1, 7, 2, 7, 3, 7, 4, 7]
    assert np.array_equal(x_test[0], rows[5].reshape(3, 32, 32).transpose(1, 2, 0)) and y_test.shape == (2, 1)
