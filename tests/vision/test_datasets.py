"""CIFAR, VOC, COCO, SVHN and random images, from files that the tests write, against torchvision."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import pickletools
import tarfile
from contextlib import nullcontext

import numpy as np
import PIL.Image
import pytest
import scipy.io
import torchvision
from pyburn.data import DataLoader
from pyburn.data.download import download_and_extract
from pyburn.data.pickled import read_pickle
from pyburn.vision.datasets import (
    CIFAR10,
    CIFAR100,
    SVHN,
    CocoCaptions,
    CocoDetection,
    FakeData,
    SegmentationFolder,
    VOCDetection,
    VOCSegmentation,
)


def batch(seed, key, classes, count=4):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count).tolist()
    return {"data": rng.integers(0, 256, (count, 3072), np.uint8), key: labels, "batch_label": "a batch"}


def write_cifar(root, hundred=False, protocol=2):
    folder = root / ("cifar-100-python" if hundred else "cifar-10-batches-py")
    folder.mkdir(parents=True)
    names = ["train", "test"] if hundred else [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    for seed, name in enumerate(names):
        made = batch(seed, "fine_labels" if hundred else "labels", 100 if hundred else 10)
        made["filenames"] = [f"picture {i}.png" for i in range(4)]
        (folder / name).write_bytes(pickle.dumps(made, protocol=protocol))
    key = "fine_label_names" if hundred else "label_names"
    meta = {key: [f"class {i}" for i in range(100 if hundred else 10)]}
    (folder / ("meta" if hundred else "batches.meta")).write_bytes(pickle.dumps(meta, protocol=protocol))
    return folder


@pytest.mark.parametrize("hundred", [False, True])
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("train", [True, False])
def test_cifar(tmp_path, hundred, protocol, train, monkeypatch):
    write_cifar(tmp_path, hundred, protocol)
    kind = torchvision.datasets.CIFAR100 if hundred else torchvision.datasets.CIFAR10
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda *args: True)
    theirs = kind(str(tmp_path), train)
    ours = (CIFAR100 if hundred else CIFAR10)(str(tmp_path), train)
    assert type(ours.data) is type(theirs.data) and (ours.data == theirs.data).all() and ours.targets == theirs.targets
    assert ours.classes == theirs.classes and ours.class_to_idx == theirs.class_to_idx and repr(ours) == repr(theirs)
    (image, label), (image_too, label_too) = ours[1], theirs[1]
    assert image.mode == "RGB" and image.tobytes() == image_too.tobytes() and label == label_too
    again = (CIFAR100 if hundred else CIFAR10)(tmp_path / ours.base_folder, train)
    assert again.targets == ours.targets


@pytest.mark.parametrize("hundred", [False, True])
def test_binary_cifar(tmp_path, hundred):
    folder = tmp_path / ("cifar-100-binary" if hundred else "cifar-10-batches-bin")
    folder.mkdir()
    names = ["train", "test"] if hundred else [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    expected = []
    for seed, name in enumerate(names):
        made = batch(seed, "labels", 10)
        before = b"\7" if hundred else b""
        rows = [
            before + bytes([label]) + row.tobytes() for label, row in zip(made["labels"], made["data"], strict=True)
        ]
        (folder / f"{name}.bin").write_bytes(b"".join(rows))
        expected.append(made)
    text = "\n".join(f"class {i}" for i in range(10)) + "\n\n"
    (folder / ("fine_label_names.txt" if hundred else "batches.meta.txt")).write_text(text)
    data = (CIFAR100 if hundred else CIFAR10)(tmp_path, train=False)
    assert data.targets == expected[-1]["labels"] and data.classes[3] == "class 3"
    assert (data.data == expected[-1]["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)).all()
    (folder / f"{names[-1]}.bin").write_bytes(b"\0" * 100)
    with pytest.raises(RuntimeError, match="100 bytes, which is no multiple"):
        (CIFAR100 if hundred else CIFAR10)(tmp_path, train=False)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/pyburn-was-here",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_nothing_is_called(tmp_path, protocol):
    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps({"data": Evil(), "labels": [1]}, protocol=protocol))
    with pytest.raises(RuntimeError, match=r"wants to call (posix|nt)\.system"):
        read_pickle(path)
    assert not os.path.exists("/tmp/pyburn-was-here")
    path.write_bytes(pickle.dumps(np.array([Evil()], dtype=object), protocol=protocol))
    with pytest.raises(RuntimeError, match="no pickle of plain data"):
        read_pickle(path)


def test_damaged_pickles(tmp_path):
    good = pickle.dumps(batch(0, "labels", 10), protocol=2)
    path, rng = tmp_path / "bad", np.random.default_rng(0)
    assert pickletools.genops(good)
    for cut in (0, 1, 10, 50, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:cut])
        with pytest.raises(RuntimeError, match="bad is no pickle"):
            read_pickle(path)
    for _ in range(300):
        bent = bytearray(good)
        for place in rng.integers(0, 200, 3):
            bent[place] = rng.integers(0, 256)
        path.write_bytes(bytes(bent))
        try:
            read_pickle(path)
        except RuntimeError as error:
            assert "no pickle of plain data" in str(error)


def test_damaged_cifar(tmp_path):
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
        CIFAR10(tmp_path)
    folder = write_cifar(tmp_path)
    for wrong in ({"labels": [1]}, [1, 2], {**batch(0, "labels", 10), "labels": [1]}):
        (folder / "data_batch_3").write_bytes(pickle.dumps(wrong))
        with pytest.raises(RuntimeError, match="data_batch_3 has not the pictures"):
            CIFAR10(tmp_path)
    (folder / "data_batch_3").write_bytes(pickle.dumps({**batch(0, "labels", 10), "labels": [1, 2, 3, 77]}))
    with pytest.raises(RuntimeError, match="the class 77"):
        CIFAR10(tmp_path)


def test_downloaded_archive(tmp_path, monkeypatch):
    write_cifar(tmp_path / "there")
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "there" / "cifar-10-batches-py", "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "url", f"file://{tmp_path}/cifar.tar.gz")
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5((tmp_path / "cifar.tar.gz").read_bytes()).hexdigest())
    assert len(CIFAR10(tmp_path / "here", download=True)) == 20
    assert sorted(os.listdir(tmp_path / "here")) == ["cifar-10-batches-py", "cifar-10-python.tar.gz"]
    monkeypatch.setattr(CIFAR10, "url", "file:///no/such/file")
    assert len(CIFAR10(tmp_path / "here", download=True)) == 20
    with pytest.raises(RuntimeError, match="no network"):
        CIFAR10(tmp_path / "elsewhere", download=True)


def test_archives_stay_in_their_folder(tmp_path):
    for name in ("../outside", "/tmp/pyburn-outside"):
        with tarfile.open(tmp_path / "evil.tar", "w") as archive:
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
        refused = pytest.raises(RuntimeError, match="no archive") if name.startswith("..") else nullcontext()
        with refused:
            download_and_extract(f"file://{tmp_path}/evil.tar", tmp_path / "in" / str(len(name)), "evil.tar")
        assert not (tmp_path / "in" / "outside").exists() and not (tmp_path / "outside").exists()
        assert not os.path.exists("/tmp/pyburn-outside")
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    with pytest.raises(RuntimeError, match="no archive"):
        download_and_extract(f"file://{tmp_path}/bad.tar", tmp_path / "in", "bad.tar")


XML = """<annotation><folder>VOC2012</folder><size><width>9</width><height>8</height></size>
<object><name>dog</name><bndbox><xmin>1</xmin></bndbox></object>{more}</annotation>"""


def write_voc(root):
    base = root / "VOCdevkit" / "VOC2012"
    rng = np.random.default_rng(0)
    for folder in ("JPEGImages", "SegmentationClass", "Annotations", "ImageSets/Segmentation", "ImageSets/Main"):
        (base / folder).mkdir(parents=True)
    for i, more in enumerate(("", "<object><name>cat</name></object>")):
        PIL.Image.fromarray(rng.integers(0, 256, (8, 9, 3), np.uint8)).save(base / "JPEGImages" / f"p{i}.jpg")
        mask = PIL.Image.fromarray(rng.integers(0, 21, (8, 9), np.uint8), "L")
        mask = mask.convert("P")
        mask.putpalette(rng.integers(0, 256, 768, np.uint8).tobytes())
        mask.save(base / "SegmentationClass" / f"p{i}.png")
        (base / "Annotations" / f"p{i}.xml").write_text(XML.format(more=more))
    for kind in ("Segmentation", "Main"):
        (base / "ImageSets" / kind / "train.txt").write_text("p0\np1\n")


def test_voc(tmp_path):
    write_voc(tmp_path)
    ours, theirs = VOCSegmentation(str(tmp_path)), torchvision.datasets.VOCSegmentation(str(tmp_path))
    assert ours.images == theirs.images and ours.masks == theirs.masks and repr(ours) == repr(theirs)
    for (image, mask), (image_too, mask_too) in zip(ours, theirs, strict=True):
        assert image.tobytes() == image_too.tobytes() and mask.mode == mask_too.mode == "P"
        assert mask.tobytes() == mask_too.tobytes()
    ours, theirs = VOCDetection(str(tmp_path)), torchvision.datasets.VOCDetection(str(tmp_path))
    assert [target for _, target in ours] == [target for _, target in theirs]
    with pytest.raises(ValueError, match="Unknown value '1999' for argument year"):
        VOCDetection(tmp_path, "1999")
    with pytest.raises(RuntimeError, match="Dataset not found"):
        VOCDetection(tmp_path, image_set="val")
    (tmp_path / "VOCdevkit" / "VOC2012" / "Annotations" / "p1.xml").write_text("<annotation>")
    with pytest.raises(RuntimeError, match=r"p1\.xml is no XML"):
        VOCDetection(tmp_path)[1]


def test_segmentation_folder(tmp_path):
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    with pytest.raises(FileNotFoundError, match="no image in images"):
        SegmentationFolder(tmp_path)
    PIL.Image.new("RGB", (4, 3), (9, 8, 7)).save(tmp_path / "images" / "a.jpg")
    with pytest.raises(FileNotFoundError, match="a have no mask in masks"):
        SegmentationFolder(tmp_path)
    PIL.Image.new("L", (4, 3), 5).save(tmp_path / "masks" / "a.png")
    image, mask = SegmentationFolder(tmp_path, target_transform=np.array)[0]
    assert image.size == (4, 3) and (mask == 5).all()


def write_coco(root):
    for i in (3, 1):
        PIL.Image.new("RGB", (4, 3), (i, 2, 3)).save(root / f"{i}.png")
    images = [{"id": i, "file_name": f"{i}.png", "width": 4, "height": 3} for i in (3, 1)]
    notes = [
        {"id": 10, "image_id": 3, "category_id": 1, "bbox": [0, 0, 2, 2], "iscrowd": 0, "area": 4, "caption": "one"},
        {"id": 11, "image_id": 3, "category_id": 2, "bbox": [1, 1, 2, 2], "iscrowd": 1, "area": 4, "caption": "two"},
    ]
    kinds = [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}]
    (root / "notes.json").write_text(json.dumps({"images": images, "annotations": notes, "categories": kinds}))
    return notes


def test_coco(tmp_path):
    notes = write_coco(tmp_path)
    data = CocoDetection(tmp_path, tmp_path / "notes.json", transform=lambda image: image.getpixel((0, 0)))
    assert data.ids == [1, 3] and data[0] == ((1, 2, 3), []) and data[1] == ((3, 2, 3), notes)
    assert data.coco.cats[2]["name"] == "cat"
    assert CocoCaptions(tmp_path, tmp_path / "notes.json")[1][1] == ["one", "two"]
    for text in ("", "[1]", '{"images": 5}', '{"images": [{}]}', '{"images": [], "annotations": [{"id": 1}]}'):
        (tmp_path / "notes.json").write_text(text)
        with pytest.raises(RuntimeError, match="no annotation file"):
            CocoDetection(tmp_path, tmp_path / "notes.json")


def test_random_images():
    ours, theirs = FakeData(5, (3, 6, 7), 4), torchvision.datasets.FakeData(5, (3, 6, 7), 4)
    for index in range(5):
        (image, label), (image_too, label_too) = ours[index], theirs[index]
        assert label == label_too and image.size == image_too.size
        far = np.abs(np.array(image).astype(int) - np.array(image_too)) % 255
        assert far.max() <= 1, "the same numbers, but for the last bit"
    with pytest.raises(IndexError):
        ours[5]
    loader = DataLoader(FakeData(8, (1, 4, 4), transform=np.array), 4, num_workers=2)
    assert [x.shape for x, _ in loader] == [(4, 4, 4), (4, 4, 4)]


def test_svhn(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    pictures, digits = (
        rng.integers(0, 256, (32, 32, 3, 6), np.uint8),
        np.array([[1], [10], [3], [10], [5], [9]], np.uint8),
    )
    scipy.io.savemat(tmp_path / "test_32x32.mat", {"X": pictures, "y": digits})
    monkeypatch.setattr("torchvision.datasets.svhn.check_integrity", lambda *args: True)
    ours, theirs = SVHN(str(tmp_path), "test"), torchvision.datasets.SVHN(str(tmp_path), "test")
    assert (
        type(ours.data) is type(theirs.data)
        and (ours.data == theirs.data).all()
        and ours.labels.tolist() == theirs.labels.tolist()
    )
    assert ours[1][0].tobytes() == theirs[1][0].tobytes() and ours[1][1] == 0 and repr(ours) == repr(theirs)
    with pytest.raises(RuntimeError, match="Dataset not found"):
        SVHN(tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(b"no matrices" * 50)
    with pytest.raises(RuntimeError, match="no file of SVHN"):
        SVHN(tmp_path)
    with pytest.raises(ValueError, match="Unknown value"):
        SVHN(tmp_path, "all")
