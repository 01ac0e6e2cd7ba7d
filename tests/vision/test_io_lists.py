"""Lists of JPEG images, GIF with several images, and archives, as torchvision has them."""

import gzip
import io
import tarfile
import zipfile

import PIL.Image
import pyburn
import pytest
import torch
import torchvision.io as theirs
from pyburn.vision import io as ours
from pyburn.vision.datasets import utils

from oracle import from_torch, to_torch

pytestmark = pytest.mark.filterwarnings("ignore:The image decoding:DeprecationWarning")


def packed(pictures, kind, **options):
    target = io.BytesIO()
    pictures[0].save(target, kind, append_images=pictures[1:], save_all=len(pictures) > 1, **options)
    return torch.frombuffer(bytearray(target.getvalue()), dtype=torch.uint8)


def pictures(count):
    return [PIL.Image.new("RGB", (6, 5), (40 * number, 10, 200 - number)) for number in range(count)]


@pytest.mark.parametrize("count", [1, 3])
def test_images_of_a_gif(count):
    data = packed(pictures(count), "GIF")
    found, expected = ours.decode_gif(from_torch(data)), theirs.decode_gif(data)
    assert torch.equal(to_torch(found), expected)
    with pytest.raises(RuntimeError, match="decode_gif: the input is no image"):
        ours.decode_gif(from_torch(data[:9]))


def test_lists_of_jpeg():
    images = [from_torch(theirs.decode_jpeg(packed([one], "JPEG"))) for one in pictures(2)]
    files = ours.encode_jpeg(images, quality=90)
    found = ours.decode_jpeg(files, ours.ImageReadMode.GRAY, "cpu")
    assert [tuple(one.shape) for one in found] == [(1, 5, 6)] * 2
    with pytest.raises(ValueError, match="at least one"):
        ours.decode_jpeg([])


def test_archives_are_unpacked(tmp_path):
    plain = tmp_path / "note.txt"
    plain.write_text("hello")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(plain, "inside/note.txt")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(plain, "inside/note.txt")
    for name in ("a.zip", "b.tar.gz"):
        folder = tmp_path / f"from_{name}"
        assert utils.extract_archive(tmp_path / name, folder) == str(folder)
        assert (folder / "inside" / "note.txt").read_text() == "hello"
    (tmp_path / "note.gz").write_bytes(gzip.compress(b"packed"))
    assert utils.extract_archive(tmp_path / "note.gz", remove_finished=True) == str(tmp_path / "note")
    assert (tmp_path / "note").read_bytes() == b"packed" and not (tmp_path / "note.gz").exists()
    assert sorted(utils.list_dir(tmp_path)) == ["from_a.zip", "from_b.tar.gz"]
    assert utils.list_files(tmp_path, ".txt", prefix=True) == [str(plain)]
    assert utils.check_md5(plain, utils.calculate_md5(plain))


@pytest.mark.parametrize("name", ["a.zip", "b.tar", "c.tar.gz", "d.gz", "e.xz"])
def test_damaged_archives_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"no archive at all")
    with pytest.raises(RuntimeError, match="cannot be unpacked"):
        utils.extract_archive(tmp_path / name)


def test_archives_do_not_write_elsewhere(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(RuntimeError, match="cannot be unpacked"):
        utils.extract_archive(tmp_path / "a.tar", tmp_path / "folder")
    assert not (tmp_path / "outside").exists()
    with pytest.raises(RuntimeError, match="ends with none of"):
        utils.extract_archive(tmp_path / "a.rar")


def test_texts_are_checked():
    assert utils.verify_str_arg("test", "split", ("train", "test")) == "test"
    with pytest.raises(ValueError, match="Unknown value 'valid' for argument split"):
        utils.verify_str_arg("valid", "split", ("train", "test"))
    with pytest.raises(ValueError, match="Expected type str for argument split"):
        utils.verify_str_arg(pyburn.ones(1), "split")
