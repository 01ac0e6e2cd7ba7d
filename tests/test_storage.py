"""Storages beside torch's: bytes, pieces of them, and files mapped into memory."""

from __future__ import annotations

import pyburn
import pytest
import torch


@pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
def test_bytes_of_a_file(lib, tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(64)))
    whole = lib.UntypedStorage.from_file(str(path), False, nbytes=64)
    piece = whole[16:32]
    assert (len(whole), whole[3], list(whole[5:8]), piece.nbytes()) == (64, 3, [5, 6, 7], 16)
    values = lib.asarray(piece, dtype=lib.uint8)
    assert values.storage_offset() == 0 and values.untyped_storage().nbytes() == 16
    assert values.view(dtype=lib.int32).reshape([2, 2])[0, 1].item() == int.from_bytes(range(20, 24), "little")
    values[0] = 99
    assert whole[16] == 99 and path.read_bytes()[16] == 16
    assert lib.asarray(whole[17:25], dtype=lib.uint8).view(lib.int64).item() == int.from_bytes(range(17, 25), "little")


@pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
def test_a_shared_file_is_written(lib, tmp_path):
    path = tmp_path / "bytes"
    storage = lib.UntypedStorage.from_file(str(path), True, nbytes=8)
    storage[2] = 7
    assert path.read_bytes() == b"\0\0\7\0\0\0\0\0"
    with pytest.raises(RuntimeError):
        lib.UntypedStorage.from_file(str(path), False, nbytes=1000)


@pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_memory_is_shared_with_its_tensor(lib):
    x = lib.arange(4.0)
    x.untyped_storage()[0:4].copy_(lib.tensor([2.5]).untyped_storage())
    assert x.tolist() == [2.5, 1, 2, 3]
    x.storage()[1] = 5
    copy = x.untyped_storage().clone()
    x.untyped_storage().fill_(0)
    assert x.tolist() == [0, 0, 0, 0] and sum(copy) > 0
    with pytest.raises(RuntimeError, match="slices are only supported"):
        x.storage()[1:3]
    assert x.untyped_storage().__sizeof__() >= 16 and x.storage().__sizeof__() >= 16
    assert lib.UntypedStorage([1, 2]).tolist() == [1, 2] and len(lib.UntypedStorage(3)) == 3
