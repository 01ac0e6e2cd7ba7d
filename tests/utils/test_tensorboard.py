"""Event files, read back by a decoder that knows only the formats: records, checksums, protocol buffers, PNG."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pyburn
import pytest
from pyburn.utils.tensorboard import SummaryWriter, _records


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def message(data: bytes) -> dict[int, list[object]]:
    """The fields of a protocol-buffer message by number."""
    fields: dict[int, list[object]] = {}
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while place < len(data):
        key = varint()
        if key & 7 == 0:
            value: object = varint()
        elif key & 7 == 1:
            value, place = struct.unpack_from("<d", data, place)[0], place + 8
        elif key & 7 == 5:
            value, place = struct.unpack_from("<f", data, place)[0], place + 4
        else:
            length = varint()
            value, place = data[place : place + length], place + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def events(folder: Path) -> list[dict[int, list[object]]]:
    """The events of the one file in a folder, every checksum verified."""
    (path,) = [entry for entry in folder.iterdir() if entry.is_file()]
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        body = data[12 : 12 + length]
        assert struct.unpack("<I", data[12 + length : 16 + length])[0] == masked(body)
        found.append(message(body))
        data = data[16 + length :]
    assert found[0][3] == [b"brain.Event:2"]
    return found[1:]


def values(folder: Path) -> list[dict[int, list[object]]]:
    return [message(message(event[5][0])[1][0]) for event in events(folder)]


def decoded_png(data: bytes) -> np.ndarray:
    """The pixels of a PNG whose rows are not filtered, every chunk's checksum verified."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack_from(">I", data, place)
        body = data[place + 4 : place + 8 + length]
        assert struct.unpack_from(">I", data, place + 8 + length)[0] == zlib.crc32(body)
        chunks[body[:4]] = body[4:]
        place += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8 and place == len(data) and b"IEND" in chunks
    channels = {0: 1, 2: 3, 6: 4}[color]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    pixels = rows[:, 1:].reshape(height, width, channels)
    return pixels[..., 0] if channels == 1 else pixels


def test_checksum_is_crc32c():
    assert crc32c(b"123456789") == 0xE3069283
    record = _records.record(b"123456789")
    assert struct.unpack("<I", record[-4:])[0] == masked(b"123456789")


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", pyburn.tensor(0.5), 1)
        writer.add_scalar("loss", 0.25, global_step=2, walltime=7.5)
        writer.add_scalar("loss", np.float64(3.0))
    first, second, third = events(tmp_path)
    assert first[2] == [1] and second[1] == [7.5] and 2 not in third
    assert [(value[1], value[2]) for value in values(tmp_path)] == [([b"loss"], [n]) for n in (0.5, 0.25, 3.0)]


def test_several_curves_have_a_folder_each(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("run/loss", {"train": 1.0, "test": 2.0}, 3)
    assert values(tmp_path / "run_loss_train")[0][2] == [1.0]
    assert values(tmp_path / "run_loss_test")[0][1] == [b"run/loss"]


def test_histograms(tmp_path):
    numbers = pyburn.tensor([-1.0, 0.0, 0.5, 0.5, 2.0, 1e30])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", numbers, 4)
        writer.add_histogram("edges", numbers, bins=[0.0, 1.0, 3.0])
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("none", pyburn.zeros(0))
    whole, coarse = (message(value[5][0]) for value in values(tmp_path))
    assert (whole[1], whole[3], whole[4][0]) == ([-1.0], [6.0], pytest.approx(1e30))
    limits = struct.unpack(f"<{len(whole[6][0]) // 8}d", whole[6][0])
    counts = struct.unpack(f"<{len(whole[7][0]) // 8}d", whole[7][0])
    assert len(limits) == len(counts) and sum(counts) == 6.0 and list(limits) == sorted(limits)
    half = next(number for number, limit in enumerate(limits) if limit > 0.5)
    assert counts[half] == 2.0
    assert struct.unpack("<2d", coarse[7][0]) == (3.0, 1.0) and struct.unpack("<2d", coarse[6][0]) == (1.0, 3.0)


def test_pictures(tmp_path):
    colors = pyburn.zeros(3, 2, 4)
    colors[0] = 1.0
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("float", colors)
        writer.add_image("bytes", np.full((2, 4, 3), 7, dtype=np.uint8), dataformats="HWC")
        writer.add_image("gray", pyburn.ones(2, 4), dataformats="HW")
        writer.add_images("rows", pyburn.ones(10, 3, 2, 2))
        with pytest.raises(ValueError, match="dataformats"):
            writer.add_image("wrong", pyburn.ones(2, 4))
    pictures = [message(value[4][0]) for value in values(tmp_path)]
    decoded = [decoded_png(picture[4][0]) for picture in pictures]
    assert (pictures[0][1], pictures[0][2], pictures[0][3]) == ([2], [4], [3])
    assert (decoded[0] == [255, 0, 0]).all() and (decoded[1] == 7).all() and decoded[2].shape == (2, 4)
    assert decoded[3].shape == (4, 16, 3) and decoded[3][2:, 4:].max() == 0 and decoded[3][2:, :4].min() == 255


def test_texts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "grün **bold**", 1)
    (value,) = values(tmp_path)
    tensor = message(value[8][0])
    assert value[1] == [b"note/text_summary"] and tensor[1] == [7] and tensor[8] == ["grün **bold**".encode()]
    assert message(message(value[9][0])[1][0])[1] == [b"text"]


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "a", "fast": True}, {"accuracy": 0.9}, run_name="run")
        with pytest.raises(ValueError, match="one of"):
            writer.add_hparams({"lr": [1]}, {})
    experiment, start, end, metric = values(tmp_path / "run")
    assert metric[1] == [b"accuracy"] and end[1] == [b"_hparams_/session_end_info"]
    content = message(message(message(experiment[9][0])[1][0])[2][0])
    infos = [message(info) for info in message(content[2][0])[4]]
    assert [(info[1], info[4]) for info in infos] == [([b"lr"], [3]), ([b"name"], [1]), ([b"fast"], [2])]
    entries = message(message(message(message(start[9][0])[1][0])[2][0])[3][0])[1]
    assert [message(message(entry)[2][0]) for entry in entries] == [{2: [0.1]}, {3: [b"a"]}, {4: [1]}]


def test_values_are_on_disk_after_flush_and_files_stay_apart(tmp_path):
    writer, other = SummaryWriter(tmp_path / "a"), SummaryWriter(tmp_path / "a")
    writer.add_scalar("x", 1.0, 1)
    writer.flush()
    assert len(list((tmp_path / "a").iterdir())) == 2
    writer.close()
    other.close()
    writer.close()


def test_a_folder_is_made_when_none_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_mine") as writer:
        assert writer.get_logdir().startswith("runs/") and writer.get_logdir().endswith("_mine")
    assert (tmp_path / "runs").is_dir()
