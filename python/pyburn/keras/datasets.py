"""Keras's small datasets as numpy arrays: read from `~/.keras/datasets`, and fetched when they are not there."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import zipfile
from types import SimpleNamespace
from typing import Any

from pyburn.data.download import download_and_extract, download_url
from pyburn.data.pickled import Array, parse_pickle, read_pickle
from pyburn.keras import config as settings

__all__ = [
    "boston_housing",
    "california_housing",
    "cifar10",
    "cifar100",
    "fashion_mnist",
    "imdb",
    "mnist",
    "reuters",
]

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_SUMS = {
    "mnist.npz": "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
    "imdb.npz": "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
    "imdb_word_index.json": "bfafd718b763782e994055a2d397834f",
    "reuters.npz": "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916",
    "reuters_word_index.json": "4d44cc38712099c9e383dc6e5f11a921",
    "boston_housing.npz": "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5",
    "california_housing.npz": "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f",
    "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    "cifar-100-python.tar.gz": "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
}
Pair = tuple[tuple[Any, Any], tuple[Any, Any]]


def folder(*below: str) -> str:
    """Where Keras keeps its data: `$KERAS_HOME`, or `~/.keras`."""
    return os.path.join(os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras"), *below)


def _numpy() -> Any:
    return importlib.import_module("numpy")


def _file(path: str, name: str, *below: str, origin: str = _ORIGIN) -> str:
    """A file that is there, or is fetched to where Keras keeps it."""
    if os.path.isabs(path):
        return path
    where = os.path.join(folder("datasets", *below), path)
    return (
        where if os.path.exists(where) else download_url(origin + name, os.path.dirname(where), path, _SUMS.get(name))
    )


def _objects(path: str) -> dict[str, Any]:
    """The arrays of an .npz whose entries may be lists of different lengths."""
    np, found = _numpy(), {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            raw = io.BytesIO(archive.read(entry))
            version = np.lib.format.read_magic(raw)
            head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = head(raw)
            if dtype.hasobject:
                array = parse_pickle(raw.read(), f"{entry} of {path}")
                if not isinstance(array, Array) or len(array.shape) != 1:
                    raise RuntimeError(f"datasets: {entry} of {path} is no array of lists")
                found[entry.removesuffix(".npy")] = values = np.empty(len(array.data), object)
                values[:] = array.data
            else:
                values = np.frombuffer(raw.read(), dtype)
                found[entry.removesuffix(".npy")] = values.reshape(shape, order="F" if fortran else "C")
    return found


def _mnist(path: str = "mnist.npz") -> Pair:
    """(x_train, y_train), (x_test, y_test) of handwritten digits, 28 by 28."""
    with _numpy().load(_file(path, "mnist.npz"), allow_pickle=False) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


def _fashion_mnist() -> Pair:
    """(x_train, y_train), (x_test, y_test) of clothes, 28 by 28."""
    np, parts = _numpy(), []
    for part in ("train", "t10k"):
        labels, images = f"{part}-labels-idx1-ubyte.gz", f"{part}-images-idx3-ubyte.gz"
        with gzip.open(_file(labels, labels, "fashion-mnist")) as file:
            y = np.frombuffer(file.read(), "uint8", offset=8)
        with gzip.open(_file(images, images, "fashion-mnist")) as file:
            x = np.frombuffer(file.read(), "uint8", offset=16).reshape(len(y), 28, 28)
        parts.append((x, y))
    return parts[0], parts[1]


def _cifar(name: str, inside: str, train: list[str], test: str, key: str) -> Pair:
    np, above = _numpy(), folder("datasets", f"{inside}-target")
    if not os.path.isdir(os.path.join(above, inside)):
        download_and_extract(f"https://www.cs.toronto.edu/~kriz/{name}", above, name, _SUMS[name])

    def batch(part: str) -> tuple[Any, Any]:
        entry = read_pickle(os.path.join(above, inside, part))
        entry = {name.decode() if isinstance(name, bytes) else name: value for name, value in entry.items()}
        x = np.frombuffer(entry["data"].data, "uint8").reshape(-1, 3, 32, 32)
        x = x.transpose(0, 2, 3, 1) if settings.image_data_format() == "channels_last" else x
        return x, np.array(entry[key], "uint8" if key == "labels" else "int64").reshape(-1, 1)

    several = [batch(part) for part in train]
    return (np.concatenate([x for x, _ in several]), np.concatenate([y for _, y in several])), batch(test)


def _cifar10() -> Pair:
    """(x_train, y_train), (x_test, y_test) of colour images of ten classes, 32 by 32."""
    parts = [f"data_batch_{number}" for number in range(1, 6)]
    return _cifar("cifar-10-python.tar.gz", "cifar-10-batches-py", parts, "test_batch", "labels")


def _cifar100(label_mode: str = "fine") -> Pair:
    """(x_train, y_train), (x_test, y_test) of colour images of 100 classes, or of 20 with "coarse"."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f"cifar100: label_mode is {label_mode!r}, but must be fine or coarse")
    return _cifar("cifar-100-python.tar.gz", "cifar-100-python", ["train"], "test", f"{label_mode}_labels")


def _shuffled(seed: int, *arrays: Any) -> list[Any]:
    np = _numpy()
    order = np.arange(len(arrays[0]))
    np.random.RandomState(seed).shuffle(order)
    return [array[order] for array in arrays]


def _divided(x: Any, y: Any, test_split: float) -> Pair:
    if not 0 <= test_split < 1:
        raise ValueError(f"load_data: test_split is {test_split}, but must be from 0 to below 1")
    cut = int(len(x) * (1 - test_split))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def _boston(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Pair:
    """(x_train, y_train), (x_test, y_test) of 13 numbers about places and the prices of houses there."""
    with _numpy().load(_file(path, "boston_housing.npz"), allow_pickle=False) as file:
        x, y = _shuffled(seed, file["x"], file["y"])
    return _divided(x, y, test_split)


def _california(
    version: str = "large", path: str = "california_housing.npz", test_split: float = 0.2, seed: int = 113
) -> Pair:
    """(x_train, y_train), (x_test, y_test) of 8 numbers about districts and the prices of houses there."""
    if version not in ("small", "large"):
        raise ValueError(f"california_housing: version is {version!r}, but must be small or large")
    with _numpy().load(_file(path, "california_housing.npz"), allow_pickle=False) as file:
        x, y = (file[name][: 600 if version == "small" else None] for name in ("x", "y"))
    x, y = _shuffled(seed, x, y)
    return _divided(x, y, test_split)


def _words(xs: Any, labels: Any, options: dict[str, Any]) -> tuple[list[list[int]], list[Any]]:
    """Sequences with their start and shifted words, without those that are too long."""
    start, shift, longest = options["start_char"], options["index_from"] or 0, options["maxlen"]
    first = [] if start is None else [start]
    made = [[*first, *(word + shift for word in x)] for x in xs]
    kept = [(x, y) for x, y in zip(made, labels, strict=True) if not longest or len(x) < longest]
    if not kept:
        raise ValueError(f"load_data: no sequence is shorter than maxlen={longest}; give a larger one")
    return [x for x, _ in kept], [y for _, y in kept]


def _limited(xs: list[list[int]], options: dict[str, Any]) -> Any:
    """Sequences in which rare and very frequent words are the unknown one, or missing."""
    np = _numpy()
    most, least, unknown = options["num_words"] or max(map(max, xs)), options["skip_top"], options["oov_char"]
    found = np.empty(len(xs), dtype=object)
    for place, x in enumerate(xs):
        if unknown is None:
            found[place] = [word for word in x if least <= word < most]
        else:
            found[place] = [word if least <= word < most else unknown for word in x]
    return found


def _imdb(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> Pair:
    """(x_train, y_train), (x_test, y_test) of reviews of films as numbers of words, and whether they are kind."""
    np, options = _numpy(), dict(locals())
    file = _objects(_file(path, "imdb.npz"))
    random = np.random.RandomState(seed)
    parts = []
    for part in ("train", "test"):
        order = np.arange(len(file[f"x_{part}"]))
        random.shuffle(order)
        parts.append(_words(file[f"x_{part}"][order], file[f"y_{part}"][order], options))
    (train, y_train), (test, y_test) = parts
    xs = _limited(train + test, options)
    return (xs[: len(train)], np.array(y_train)), (xs[len(train) :], np.array(y_test))


def _reuters(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int | None = 3,
) -> Pair:
    """(x_train, y_train), (x_test, y_test) of news as numbers of words, and which of 46 subjects they have."""
    options, file = dict(locals()), _objects(_file(path, "reuters.npz"))
    x, y = _shuffled(seed, file["x"], file["y"])
    xs, labels = _words(x, y, options)
    return _divided(_limited(xs, options), _numpy().array(labels), test_split)


def _index(name: str) -> Any:
    def get_word_index(path: str = name) -> dict[str, int]:
        """The numbers of words."""
        with open(_file(path, name), encoding="utf-8") as file:
            found: dict[str, int] = json.load(file)
        return found

    return get_word_index


mnist = SimpleNamespace(load_data=_mnist)
fashion_mnist = SimpleNamespace(load_data=_fashion_mnist)
cifar10 = SimpleNamespace(load_data=_cifar10)
cifar100 = SimpleNamespace(load_data=_cifar100)
boston_housing = SimpleNamespace(load_data=_boston)
california_housing = SimpleNamespace(load_data=_california)
imdb = SimpleNamespace(load_data=_imdb, get_word_index=_index("imdb_word_index.json"))
reuters = SimpleNamespace(load_data=_reuters, get_word_index=_index("reuters_word_index.json"))
