"""Damaged and hostile files: a clear error, little memory, and nothing of them executed."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import tracemalloc
import zipfile

import pyburn
import pytest
import torch

ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError)
MEGABYTE = 1 << 20


def archive(pickled: bytes, *, records: dict[str, bytes] | None = None, method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of torch's form around a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/version", b"3\n")
        for name, data in (records or {}).items():
            made.writestr(f"archive/{name}", data, compress_type=method)
    return file.getvalue()


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def tensor_pickle(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0, length: int = 4, key: str = "0"
) -> bytes:
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + number(length) + b"tQ"
    sizes = b"(" + b"".join(map(number, size)) + b"t"
    strides = b"(" + b"".join(map(number, stride)) + b"t"
    hooks = b"ccollections\nOrderedDict\n)R"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + number(offset)
        + sizes
        + strides
        + b"\x89"
        + hooks
        + b"tR."
    )


def load(data: bytes) -> object:
    return pyburn.load(io.BytesIO(data))


def refused(data: bytes, match: str | None = None) -> None:
    """The bytes raise an ordinary error and take no more memory than a few times their own size."""
    tracemalloc.start()
    try:
        with pytest.raises(ERRORS, match=match):
            load(data)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data) + 4 * MEGABYTE
    finally:
        tracemalloc.stop()


class Evil:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.system, ("touch /tmp/pyburn_was_here",)


class EvilNested:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return eval, ("__import__('os').system('touch /tmp/pyburn_was_here')",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("value", [Evil(), {"a": [Evil()]}, EvilNested()])
def test_code_in_a_file_is_never_run(value, protocol, monkeypatch):
    def run(*_: object) -> None:
        raise AssertionError("the file's code was run")

    data = archive(pickle.dumps(value, protocol))
    monkeypatch.setattr(os, "system", run)
    refused(data, "not allowed|damaged|opcode|protocol 0")


@pytest.mark.parametrize(
    "name",
    [
        *("os system", "posix system", "builtins exec", "builtins getattr", "subprocess Popen", "torch.hub load"),
        *("torch load", "torch._utils __class__", "torch._utils _rebuild_tensor_v2.__globals__", "numpy load"),
    ],
)
def test_names_outside_the_list_are_refused(name):
    module, _, attribute = name.partition(" ")
    refused(archive(f"\x80\x02c{module}\n{attribute}\n)R.".encode("latin1")), "not allowed")
    stacked = b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(attribute)])
    refused(archive(stacked + attribute.encode() + b"\x93)R."), "not allowed")


def good_file(zipped: bool) -> bytes:
    file = io.BytesIO()
    saved = {"w": torch.arange(40.0).reshape(5, 8), "o": [1, "text", (2.5, None)], "b": torch.ones(3).bool()}
    torch.save(saved, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


@pytest.mark.parametrize("zipped", [True, False])
def test_every_truncation_is_refused(zipped):
    data = good_file(zipped)
    load(data)
    for length in range(0, len(data), 7):
        refused(data[:length])


@pytest.mark.parametrize("zipped", [True, False])
def test_flipped_bytes_never_crash(zipped):
    data = good_file(zipped)
    failed = 0
    for position in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        try:
            load(bytes(damaged))
        except (*ERRORS, NotImplementedError):
            failed += 1
    assert failed > len(data) // 12


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((5,), (1,), 0),
        ((2, 2), (3, 1), 1),
        ((4,), (1,), 1),
        ((2**40,), (1,), 0),
        ((2**61, 2**61), (0, 0), 0),
        ((-1,), (1,), 0),
        ((2,), (-1,), 1),
        ((4,), (1,), -1),
        ((2, 2), (1,), 0),
        ((2,) * 70, (0,) * 70, 0),
    ],
)
def test_tensors_outside_their_storage_are_refused(size, stride, offset):
    data = archive(tensor_pickle(size, stride, offset), records={"data/0": struct.pack("<4f", 1, 2, 3, 4)})
    refused(data, "storage|whole numbers")


def test_the_same_tensor_inside_its_storage_is_read():
    data = archive(tensor_pickle((2, 2), (2, 1)), records={"data/0": struct.pack("<4f", 1, 2, 3, 4)})
    assert load(data).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("length", [5, 2**40, 2**63, -1])
def test_storages_longer_than_their_record_are_refused(length):
    refused(archive(tensor_pickle((1,), (1,), length=length), records={"data/0": bytes(16)}), "needs|length|damaged")


def test_missing_records_are_named():
    refused(archive(tensor_pickle((1,), (1,))), "no record 'data/0'")


@pytest.mark.parametrize("key", ["../0", "/etc/passwd", "..\\0", "a/../0", "0\x00"])
def test_keys_are_no_paths(key):
    refused(archive(tensor_pickle((1,), (1,), key=key), records={"data/0": bytes(16)}), "no record")


def test_a_zip_bomb_is_refused_before_it_grows():
    bomb = archive(tensor_pickle((1,), (1,)), records={"data/0": bytes(64 * MEGABYTE)}, method=zipfile.ZIP_DEFLATED)
    assert len(bomb) < MEGABYTE
    refused(bomb, "compressed")


def test_a_compressed_pickle_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", b"\x80\x02" + b"]" * (32 * MEGABYTE))
    refused(file.getvalue(), "compressed")


def test_records_that_lie_over_each_other_take_no_more_than_the_file():
    # Every entry of the directory points at the one record.
    value = MEGABYTE
    names = [f"data/{index}" for index in range(20)]
    pickled = b"".join(tensor_pickle((1,), (1,), length=value // 4, key=str(i))[2:-1] + b"0" for i in range(20))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", b"\x80\x02" + pickled + b"N.")
        made.writestr("archive/data/0", bytes(value))
        first = made.getinfo("archive/data/0")
        for name in names[1:]:
            copy = zipfile.ZipInfo(f"archive/{name}")
            for slot in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(copy, slot, getattr(first, slot))
            made.filelist.append(copy)
            made.NameToInfo[copy.filename] = copy
    refused(file.getvalue())


def test_two_records_of_one_name_are_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", b"\x80\x02N.")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("archive/data.pkl", b"\x80\x02].")
    refused(file.getvalue(), "two records")


@pytest.mark.parametrize(
    "pickled",
    [
        b"",
        b".",
        b"\x80\x02",
        b"\x80\x02(",
        b"\x80\x02t.",
        b"\x80\x02h\x05.",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.",
        b"\x80\x02\x8b\xff\xff\xff\x7f1.",
        b"\x80\x02\x8b\xff\xff\xff\xff1.",
        b"\x80\x02N)R.",
        b"\x80\x02NNb.",
        b"\x80\x02]N(u.",
        b"\x80\x02}](Nu.",
        b"\x80\x02}]Ns.",
        b"\x80\x02N(Ne.",
        b"\x80\x02NQ.",
        b"Pno-storage\n.",
        b"\x80\x02ccollections\nOrderedDict\nN\x85R.",
        b"\x80\x02ccollections\nOrderedDict\n)RNb.",
        b"\x80\x02ctorch\nSize\nK\x01\x85R.",
        b"\x80\x02ctorch\ndevice\nK\x01\x85R.",
        b"\x80\x02cargparse\nNamespace\n)\x81Nb.",
        b"\x80\x02cnumpy\ndtype\nX\x01\x00\x00\x00O\x85R.",
        b"\xff.",
        b"I12",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"\x80\x05\x97.",
        b"\x80\x02\x82\x01.",
        b"i" + b"os\nsystem\n.",
        b"(oNN.",
    ],
)
def test_damaged_pickles_are_refused(pickled):
    refused(archive(pickled))


def test_deep_nesting_does_not_end_the_process():
    depth = 100_000
    assert isinstance(load(archive(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b".")), list)
    # Hashing nested tuples is recursion in C without a guard.
    refused(archive(b"\x80\x02}N" + b"\x85" * depth + b"Ns."), "nested tuple")
    refused(archive(b"\x80\x04\x8f(N" + b"\x85" * depth + b"\x90."), "nested tuple")
    refused(archive(b"\x80\x02c__builtin__\nset\n](N" + b"\x85" * depth + b"e\x85R."), "nested tuple")


def test_a_memo_bomb_is_only_references():
    # Each list holds the one before it ten times: ten to the thirtieth leaves, thirty lists.
    steps = b"]q\x00" + b"".join(b"](" + (b"h" + bytes([i])) * 10 + b"eq" + bytes([i + 1]) for i in range(30))
    assert isinstance(load(archive(b"\x80\x02" + steps + b".")), list)


@pytest.mark.parametrize(
    "data", [b"\x00" * 100, b"PK\x03\x04" + b"\x00" * 100, b"\x89PNG\r\n\x1a\n", b"hello world", b"\x80"]
)
def test_other_files_are_named_as_such(data):
    refused(data)


def test_an_empty_file_and_a_missing_one(tmp_path):
    (tmp_path / "empty.pt").write_bytes(b"")
    with pytest.raises(EOFError):
        pyburn.load(tmp_path / "empty.pt")
    with pytest.raises(FileNotFoundError):
        pyburn.load(tmp_path / "none.pt")
    with pytest.raises(AttributeError, match="seek"):
        pyburn.load(3)


def test_legacy_storages_are_checked():
    data = good_file(zipped=False)
    # The count before the first storage's values claims more than there is.
    position = data.rindex(struct.pack("<q", 40))
    refused(data[:position] + struct.pack("<q", 2**50) + data[position + 8 :], "instead of")


def mutant(draw: random.Random, data: bytes) -> bytes:
    """The file with a few bytes changed, lost, doubled or replaced by large numbers."""
    made = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(max(len(made), 1))
        kind = draw.randrange(5)
        if kind == 0:
            made[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            del made[at : at + draw.choice((1, 8, 64))]
        elif kind == 2:
            made[at : at + 8] = struct.pack("<Q", draw.choice((0, 2**31, 2**40, 2**63 - 1, 2**64 - 1)))
        elif kind == 3:
            made[at:at] = made[draw.randrange(max(len(made), 1)) :][:16]
        else:
            made = made[: at + 1]
    return bytes(made)


def survive(seed: int, count: int) -> None:
    """Every mutant of every kind of file is read or refused; none is executed."""
    tensors = {"a": torch.ones(3, 2), "b": torch.zeros(2, dtype=torch.int8)}
    stored = pyburn.safetensors.save({name: pyburn.tensor(value.tolist()) for name, value in tensors.items()})
    files = {"zip": good_file(True), "legacy": good_file(False), "safetensors": stored}
    draw = random.Random(seed)
    refusals = 0
    for index in range(count):
        kind = draw.choice(list(files))
        data = mutant(draw, files[kind])
        try:
            pyburn.safetensors.load(data) if kind == "safetensors" else load(data)
        except (*ERRORS, NotImplementedError, ValueError) as error:
            assert "please report" not in str(error), f"{kind} {seed} {index}: {error}"
            refusals += 1
    assert refusals > count // 4


def test_random_mutants_are_read_or_refused():
    survive(0, 400)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_random_mutants_are_read_or_refused():
    survive(random.randrange(2**32), 20_000)
