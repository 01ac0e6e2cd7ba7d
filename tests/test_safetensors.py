"""The safetensors format in both directions with its own library, and files that mean harm."""

import json
import os
import stat
import struct

import pyburn
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyburn.safetensors import load, load_file, metadata, save, save_file

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (2, 0, 3), (2, 1, 3, 2)]


def pair(dtype, shape):
    """The same values as a tensor of pyburn and one of torch."""
    values = (torch.arange(24)[: torch.Size(shape).numel()].reshape(shape) % 5).to(getattr(torch, dtype))
    return pyburn.tensor(values.tolist(), dtype=getattr(pyburn, dtype)).reshape(shape), values


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_directions(dtype, tmp_path):
    mine, theirs = {}, {}
    for i, shape in enumerate(SHAPES):
        mine[f"t{i}"], theirs[f"t{i}"] = pair(dtype, shape)
    save_file(mine, tmp_path / "a.safetensors", metadata={"format": "pt", "ü": "ö"})
    read = safetensors.torch.load_file(tmp_path / "a.safetensors")
    assert set(read) == set(theirs)
    for name, value in theirs.items():
        assert read[name].dtype == value.dtype
        assert torch.equal(read[name], value)
    with safetensors.safe_open(tmp_path / "a.safetensors", "pt") as opened:
        assert opened.metadata() == {"format": "pt", "ü": "ö"}
    safetensors.torch.save_file(theirs, tmp_path / "b.safetensors", {"k": "v"})
    again = load_file(tmp_path / "b.safetensors")
    assert metadata(tmp_path / "b.safetensors") == {"k": "v"}
    for name, value in theirs.items():
        assert str(again[name].dtype).rpartition(".")[2] == dtype
        assert tuple(again[name].shape) == tuple(value.shape)
        assert again[name].tolist() == value.tolist()
    assert load(save(mine))["t4"].tolist() == theirs["t4"].tolist()


def test_views_are_saved_as_they_look(tmp_path):
    values = pyburn.tensor([[1.0, 2.0], [3.0, 4.0]])
    save_file({"t": values.t(), "row": values[1]}, tmp_path / "a")
    read = safetensors.torch.load_file(tmp_path / "a")
    assert read["t"].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert read["row"].tolist() == [3.0, 4.0]


def test_a_loaded_tensor_can_be_written_to():
    value = load(save({"w": pyburn.zeros(2)}))["w"]
    value += 1
    assert value.tolist() == [1.0, 1.0]


def test_a_models_state(tmp_path):
    model = pyburn.nn.Sequential(pyburn.nn.Linear(3, 4), pyburn.nn.BatchNorm1d(4))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = pyburn.nn.Sequential(pyburn.nn.Linear(3, 4), pyburn.nn.BatchNorm1d(4))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    for name, value in model.state_dict().items():
        assert other.state_dict()[name].tolist() == value.tolist()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    save_file({"w": pyburn.ones(1)}, path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_file({"w": pyburn.zeros(1)}, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a"]


def test_the_file_has_the_usual_mode(tmp_path):
    save_file({"w": pyburn.ones(1)}, tmp_path / "a")
    (tmp_path / "b").touch()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


def test_mistakes_of_the_writer_are_named(tmp_path):
    with pytest.raises(TypeError, match="only tensors can be saved"):
        save_file({"w": [1.0]}, tmp_path / "a")
    with pytest.raises(TypeError, match="cannot name a tensor"):
        save_file({"__metadata__": pyburn.ones(1)}, tmp_path / "a")
    with pytest.raises(TypeError, match="dict of strings"):
        save_file({"w": pyburn.ones(1)}, tmp_path / "a", metadata={"a": 1})
    assert os.listdir(tmp_path) == []


def file_of(header, values=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + values


def one(dtype="F32", shape=(1,), offsets=(0, 4), **more):
    return {"w": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}}


HOSTILE = {
    "empty": (b"", "has 0 bytes"),
    "short": (b"\x01\x00", "has 2 bytes"),
    "header-beyond-end": (file_of({}, length=99), "truncated"),
    "header-huge": (file_of({}, length=2**63), "more than the allowed"),
    "no-json": (file_of(b"hello"), "not a JSON object"),
    "list": (file_of([1]), "not a JSON object"),
    "broken-json": (file_of(b'{"w": '), "not valid JSON"),
    "not-utf8": (file_of(b'{"\xff": 1}'), "not valid JSON"),
    "deep": (file_of(b'{"w":' + b"[" * 100_000), "not valid JSON"),
    "duplicate": (file_of(b'{"w": 1, "w": 2}'), "occurs twice"),
    "no-object": (file_of({"w": 5}), "must have dtype, shape and data_offsets"),
    "extra-key": (file_of(one(extra=1), b"\0" * 4), "nothing else"),
    "dtype": (file_of(one("F99"), b"\0" * 4), "unknown dtype 'F99'"),
    "dtype-type": (file_of(one([1]), b"\0" * 4), "unknown dtype"),
    "negative-size": (file_of(one(shape=(-1,)), b"\0" * 4), "whole numbers"),
    "bool-size": (file_of(one(shape=(True,)), b"\0" * 4), "whole numbers"),
    "float-size": (file_of(one(shape=(1.0,)), b"\0" * 4), "whole numbers"),
    "huge-size": (file_of(one(shape=(2**62, 2**62)), b"\0" * 4), "needs"),
    "many-dims": (file_of(one(shape=(1,) * 65), b"\0" * 4), "no short list"),
    "rank-nine": (file_of(one(shape=(1,) * 9), b"\0" * 4), "tensor 'w' of shape"),
    "offsets-reversed": (file_of(one(offsets=(4, 0)), b"\0" * 4), "a begin and an end"),
    "offsets-three": (file_of(one(offsets=(0, 4, 8)), b"\0" * 4), "a begin and an end"),
    "offsets-wrong": (file_of(one(offsets=(0, 3)), b"\0" * 4), "needs 4 bytes but has 3"),
    "beyond-end": (file_of(one(), b"\0" * 3), "describes 4 bytes of values but 3"),
    "trailing": (file_of(one(), b"\0" * 5), "describes 4 bytes of values but 5"),
    "hole": (file_of(one(offsets=(4, 8)), b"\0" * 8), "leaves bytes unused"),
    "overlap": (file_of(one() | {"v": one(offsets=(2, 6))["w"]}, b"\0" * 6), "overlaps"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "object of strings"),
    "bool-values": (file_of(one("BOOL", (4,)), b"\0\1\2\1"), "bytes other than 0 and 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_raise_a_clear_value_error(name, tmp_path):
    data, text = HOSTILE[name]
    with pytest.raises(ValueError, match=text):
        load(data)
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match=text):
        load_file(tmp_path / "a")


GOOD = save({"a": pyburn.ones(2, 2), "b": pyburn.tensor([1, 2, 3])}, {"k": "v"})


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=4), st.integers(0, 40)
)
def test_damaged_bytes_give_tensors_or_a_value_error(changes, cut):
    data = bytearray(GOOD)
    for place, value in changes:
        data[place] = value
    try:
        tensors = load(bytes(data[: len(data) - cut]))
    except ValueError:
        return
    assert all(isinstance(value, pyburn.Tensor) for value in tensors.values())
