"""Folders of images, against torchvision."""

from __future__ import annotations

import numpy as np
import pytest
import torchvision
from PIL import Image
from pyburn.data import DataLoader
from pyburn.vision.datasets import DatasetFolder, ImageFolder
from pyburn.vision.datasets.folder import make_dataset


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for place in ("cat/b.png", "cat/a.PNG", "dog/deep/c.jpg", "dog/d.bmp", "eel/e.png"):
        path = tmp_path / "images" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (6, 5, 3), np.uint8)).save(path)
    (tmp_path / "images" / "cat" / "notes.txt").write_text("no image")
    return str(tmp_path / "images")


def test_same_as_torchvision(folder):
    ours, theirs = ImageFolder(folder), torchvision.datasets.ImageFolder(folder)
    assert ours.samples == ours.imgs == theirs.samples
    assert (ours.classes, ours.class_to_idx, ours.targets) == (theirs.classes, theirs.class_to_idx, theirs.targets)
    assert repr(ours) == repr(theirs)
    for (image, label), (image_too, label_too) in zip(ours, theirs, strict=True):
        assert image.mode == "RGB" and image.tobytes() == image_too.tobytes() and label == label_too


def test_own_loader_and_files(folder):
    def is_text(path):
        return path.endswith(".txt")

    ours = DatasetFolder(folder, str.upper, is_valid_file=is_text, allow_empty=True, transform=len)
    theirs = torchvision.datasets.DatasetFolder(
        folder, str.upper, is_valid_file=is_text, allow_empty=True, transform=len
    )
    assert list(ours) == list(theirs) and len(ours) == 1
    with pytest.raises(FileNotFoundError, match="dog, eel"):
        DatasetFolder(folder, str, is_valid_file=is_text)
    with pytest.raises(FileNotFoundError, match=r"Supported extensions are: \.gif"):
        DatasetFolder(folder, str, (".gif",))
    with pytest.raises(ValueError, match="extensions and is_valid_file"):
        make_dataset(folder)
    with pytest.raises(ValueError, match="at least one entry"):
        make_dataset(folder, {}, ".png")
    with pytest.raises(FileNotFoundError, match="class folder"):
        ImageFolder(folder + "/eel")


def test_damaged_image_is_named(folder, tmp_path):
    data = (tmp_path / "images" / "eel" / "e.png").read_bytes()
    for damaged in (data[:-30], b"no image", b""):
        (tmp_path / "images" / "eel" / "e.png").write_bytes(damaged)
        for kind in (RuntimeError, OSError):
            with pytest.raises(kind, match=r"e\.png is no image"):
                ImageFolder(folder)[4]


def test_workers_give_the_same(folder):
    data = ImageFolder(folder, transform=lambda image: image.tobytes())
    alone = list(DataLoader(data, 2, collate_fn=list))
    assert list(DataLoader(data, 2, collate_fn=list, num_workers=2)) == alone
