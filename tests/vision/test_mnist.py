"""MNIST's files, against torchvision; Fashion-MNIST on the real ones."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pyburn
import pytest
import torchvision
from image_files import fashion_folder, write_idx
from pyburn.data import DataLoader
from pyburn.vision.datasets import KMNIST, MNIST, FashionMNIST
from pyburn.vision.datasets.idx import read_idx


def write_set(folder, packed=False, count=7):
    rng = np.random.default_rng(3)
    end = ".gz" if packed else ""
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte{end}", rng.integers(0, 256, (count, 28, 28), np.uint8), packed)
        write_idx(folder / f"{part}-labels-idx1-ubyte{end}", rng.integers(0, 10, count, np.uint8), packed)


@pytest.mark.parametrize("kind", ["MNIST", "FashionMNIST", "KMNIST"])
@pytest.mark.parametrize("train", [True, False])
def test_same_as_torchvision(tmp_path, kind, train):
    write_set(tmp_path / kind / "raw")
    ours = {"MNIST": MNIST, "FashionMNIST": FashionMNIST, "KMNIST": KMNIST}[kind](str(tmp_path), train)
    theirs = getattr(torchvision.datasets, kind)(str(tmp_path), train)
    assert ours.data.numpy().tobytes() == theirs.data.numpy().tobytes() and ours.data.dtype == pyburn.uint8
    assert ours.targets.tolist() == theirs.targets.tolist() and ours.targets.dtype == pyburn.int64
    assert ours.classes == theirs.classes and ours.class_to_idx == theirs.class_to_idx
    assert repr(ours) == repr(theirs) and len(ours) == len(theirs) == 7
    (image, label), (image_too, label_too) = ours[2], theirs[2]
    assert (image.mode, image.size, image.tobytes(), label) == ("L", (28, 28), image_too.tobytes(), label_too)


def test_transforms_and_repr(tmp_path):
    write_set(tmp_path / "MNIST" / "raw")
    data = MNIST(tmp_path, transform=lambda image: image.size, target_transform=lambda label: -label)
    assert data[0] == ((28, 28), -int(data.targets[0]))
    assert "Transform: <function" in repr(data)


def test_packed_files_beside_each_other(tmp_path):
    write_set(tmp_path, packed=True)
    assert FashionMNIST(tmp_path).data.shape == (7, 28, 28)


def test_real_fashion_mnist():
    folder = fashion_folder()
    test = FashionMNIST(folder, train=False)
    assert test.data.shape == (10000, 28, 28)
    assert pyburn.bincount(test.targets).tolist() == [1000] * 10
    assert test.classes[int(test.targets[0])] == "Ankle boot"
    train = FashionMNIST(folder)
    assert pyburn.bincount(train.targets).tolist() == [6000] * 10
    assert train.data.float().mean().item() / 255 == pytest.approx(0.2860, abs=1e-4)
    images, labels = next(iter(DataLoader(pyburn.data.TensorDataset(train.data, train.targets), 16)))
    assert images.shape == (16, 28, 28) and labels.tolist() == train.targets[:16].tolist()


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("packed", [False, True])
def test_numbers_of_every_kind(tmp_path, kind, packed):
    values = np.random.default_rng(0).uniform(-100, 100, (3, 4)).astype(kind)
    write_idx(tmp_path / "file", values, packed)
    found = read_idx(tmp_path / "file")
    assert found.numpy().dtype == values.dtype and (found.numpy() == values).all()


def damaged(data):
    yield "starts with", b""
    yield "starts with", b"\0\0\x07\x01" + data[4:]
    yield "starts with", b"\0\0\x08\x09" + data[4:]
    yield "within its sizes", data[:6]
    yield "need 12 bytes", data[:-1]
    yield "bytes follow", data + b"x"
    yield "ask for", b"\0\0\x08\x02" + b"\xff" * 8
    yield "whole idx", gzip.compress(data)[:-12]
    yield "whole idx", gzip.compress(data)[:12] + b"\xff\xff\xff\xff"


def test_damaged_files(tmp_path):
    write_idx(tmp_path / "good", np.arange(12, dtype=np.uint8).reshape(3, 4))
    for text, data in damaged((tmp_path / "good").read_bytes()):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(RuntimeError, match=text) as failure:
            read_idx(tmp_path / "bad")
        assert "bad" in str(failure.value)


def test_absent_files_and_unequal_lengths(tmp_path):
    with pytest.raises(RuntimeError, match=r"Dataset not found\. You can use download=True"):
        MNIST(tmp_path)
    write_set(tmp_path)
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.zeros(6, np.uint8))
    with pytest.raises(RuntimeError, match="belong together"):
        MNIST(tmp_path)


def test_download_from_a_mirror(tmp_path, monkeypatch):
    write_set(tmp_path / "there", packed=True)
    files = sorted((tmp_path / "there").iterdir())
    sums = [(file.name, hashlib.md5(file.read_bytes()).hexdigest()) for file in files]
    monkeypatch.setattr(MNIST, "resources", tuple(sums))
    monkeypatch.setattr(MNIST, "mirrors", ("file:///no/such/place/", f"file://{tmp_path}/there/"))
    assert len(MNIST(tmp_path / "here", download=True)) == 7
    monkeypatch.setattr(MNIST, "mirrors", ())
    assert len(MNIST(tmp_path / "here", download=True)) == 7, "what is there is not fetched again"
    with pytest.raises(RuntimeError, match="Error downloading"):
        MNIST(tmp_path / "elsewhere", download=True)
