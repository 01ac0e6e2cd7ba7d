"""The containers of torch's files: the zip archive since 1.6, and the row of pickles before it."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from pyburn._core import Tensor
from pyburn.serialization import _allowed
from pyburn.serialization._pickle import Pickler
from pyburn.serialization._storages import Memory, Storage, StorageType, Unread
from pyburn.serialization._unpickle import Source, Unpickler

# torch's own pickles have a few hundred bytes for a tensor.
_MAX_PICKLE = 1 << 29
_ALIGNMENT = 64
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_VERSION = 1001

# Gives the device for a storage that was saved on the named one.
Place = Callable[[str, bytearray], Any]
# Gives what a global name stands for.
Find = Callable[[str, str], Any]


def _no_persistent(value: Any) -> Any:
    raise UnpicklingError("load: a storage is named where none can be.")


def _no_build(target: Any, state: Any) -> None:
    raise UnpicklingError("load: an object stands where only numbers can be.")


def _no_global(module: str, name: str) -> Any:
    raise UnpicklingError(f"load: the file names {module}.{name} where only numbers can be; nothing was executed.")


def _parse_id(value: Any) -> tuple[StorageType, str, str, int, Any]:
    """The parts of ``('storage', class, key, location, length[, view])``."""
    if not isinstance(value, tuple) or len(value) not in (5, 6) or value[0] != "storage":
        raise UnpicklingError("load: a persistent id is not that of a storage.")
    kind, key, location, length = value[1:5]
    if not isinstance(kind, StorageType) or not isinstance(key, str) or not isinstance(location, str):
        raise UnpicklingError("load: a storage's id has parts of the wrong kinds.")
    if type(length) is not int or not 0 <= length < 2**62:
        raise UnpicklingError(f"load: a storage has the length {str(length)[:40]}.")
    return kind, key, location, length, value[5] if len(value) == 6 else None


class _Zip:
    """Storages of an archive, each read once, together never more than the file has bytes."""

    def __init__(self, archive: zipfile.ZipFile, root: str, size: int, place: Place) -> None:
        self.archive = archive
        self.root = root
        self.left = size
        self.place = place
        self.memories: dict[str, Memory] = {}

    def __call__(self, value: Any) -> Storage:
        kind, key, location, length, _ = _parse_id(value)
        needed = length * (kind.dtype.itemsize if kind.dtype is not None else 1)
        if key not in self.memories:
            data = self.read(f"data/{key}", self.left)
            self.left -= len(data)
            self.memories[key] = Memory(data, self.place(location, data))
        if len(self.memories[key].data) < needed:
            raise RuntimeError(
                f"load: storage {key!r} needs {needed} bytes but the archive has {len(self.memories[key].data)}."
            )
        return Storage(self.memories[key], kind.dtype)

    def read(self, name: str, limit: int) -> bytearray:
        """A record of at most `limit` bytes."""
        try:
            info = self.archive.getinfo(f"{self.root}/{name}")
        except KeyError:
            raise RuntimeError(f"load: the archive has no record {name!r}; it is damaged.") from None
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise RuntimeError(f"load: record {name!r} is compressed or encrypted, which torch never writes.")
        if info.file_size > limit or info.file_size != info.compress_size:
            raise RuntimeError(f"load: record {name!r} claims {info.file_size} bytes, more than the file can hold.")
        with self.archive.open(info) as record:
            data = bytearray(record.read(info.file_size))
        if len(data) != info.file_size:
            raise RuntimeError(f"load: record {name!r} ends after {len(data)} of {info.file_size} bytes.")
        return data


def load_zip(file: IO[bytes], size: int, place: Place, find: Find = _allowed.find) -> Any:
    """The object in an archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if len(set(names)) != len(names):
                raise RuntimeError("load: the archive has two records of one name.")
            roots = [name[: -len("/data.pkl")] for name in names if name.endswith("/data.pkl") and name.count("/") == 1]
            if len(roots) != 1:
                raise RuntimeError("load: the archive has no data.pkl; it is no file of torch.save.")
            if f"{roots[0]}/constants.pkl" in names:
                raise NotImplementedError(
                    "load: this is a TorchScript archive, which holds code; in torch, save module.state_dict() of it."
                )
            storages = _Zip(archive, roots[0], size, place)
            if f"{roots[0]}/byteorder" in names and storages.read("byteorder", 16) != b"little":
                raise RuntimeError("load: the file is of a big-endian machine; save it again on an ordinary one.")
            data = bytes(storages.read("data.pkl", min(size, _MAX_PICKLE)))
            return Unpickler(Source(io.BytesIO(data), len(data)), find, storages, _allowed.build).load()
    except (
        zipfile.BadZipFile,
        EOFError,
        struct.error,
        OverflowError,
        ValueError,
        NotImplementedError,
        OSError,
    ) as error:
        if isinstance(error, NotImplementedError) and "TorchScript" in str(error):
            raise
        raise RuntimeError(f"load: failed reading the zip archive, it is damaged or truncated: {error}") from error


class _Rows:
    """Storages of a file of torch before 1.6, which follow the object."""

    def __init__(self, memories: dict[str, Memory] | None, place: Place) -> None:
        self.memories = memories
        self.place = place
        self.known: dict[str, tuple[StorageType, str, int]] = {}

    def __call__(self, value: Any) -> Storage | Unread:
        kind, key, location, length, view = _parse_id(value)
        if kind.dtype is None:
            raise UnpicklingError("load: untyped bytes in a file of torch before 1.6.")
        if self.memories is None:
            self.known[key] = (kind, location, length)
            return Unread()
        if key not in self.memories:
            raise UnpicklingError(f"load: the file has no storage {key[:40]!r}; it is damaged.")
        offset = view[1] if isinstance(view, tuple) and len(view) == 3 else 0
        if type(offset) is not int or offset < 0:
            raise UnpicklingError("load: a view of a storage begins nowhere.")
        return Storage(self.memories[key], kind.dtype, offset)


def load_legacy(file: IO[bytes], size: int, place: Place, find: Find = _allowed.find) -> Any:
    """The object in a file of torch before 1.6: five pickles in a row, then the storages' values.

    The object's pickle is read twice, since it stands before the values: first to learn which storages there are.
    """
    source = Source(file, size)

    def plain() -> Any:
        return Unpickler(source, _no_global, _no_persistent, _no_build).load()

    if plain() != _LEGACY_MAGIC or plain() != _LEGACY_VERSION:
        raise UnpicklingError("load: this is no file of torch.save.")
    about = plain()
    if not isinstance(about, dict) or about.get("little_endian") is not True:
        raise RuntimeError("load: the file is of a big-endian machine; save it again on an ordinary one.")
    begin = file.tell()
    first = _Rows(None, place)
    Unpickler(source, find, first, _allowed.build).load()
    keys = plain()
    if not isinstance(keys, list) or set(keys) != set(first.known) or len(keys) != len(first.known):
        raise UnpicklingError("load: the list of storages differs from those in use; the file is damaged.")
    memories: dict[str, Memory] = {}
    for key in keys:
        kind, location, length = first.known[key]
        (found,) = struct.unpack("<q", source.take(8))
        if found != length or kind.dtype is None:
            raise UnpicklingError(f"load: a storage has {found} elements instead of {length}; the file is damaged.")
        data = bytearray(source.take(length * kind.dtype.itemsize))
        memories[key] = Memory(data, place(location, data))
    file.seek(begin)
    return Unpickler(source, find, _Rows(memories, place), _allowed.build).load()


def save_zip(value: Any, file: IO[bytes]) -> None:
    """Writes the archive that torch writes: the pickle, the byte order, each storage, the version."""
    pickler = Pickler()
    data = pickler.dump(value)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "data.pkl", data)
        _add(archive, ".format_version", b"1")
        _add(archive, ".storage_alignment", str(_ALIGNMENT).encode())
        _add(archive, "byteorder", b"little")
        for number, tensor in enumerate(pickler.storages):
            _add(archive, f"data/{number}", _storage_bytes(tensor))
        _add(archive, "version", b"3\n")


def _storage_bytes(tensor: Tensor) -> bytes:
    return tensor.detach()._whole_storage().cpu()._bytes() if tensor._storage_nbytes() else b""


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Adds a record whose values begin at a multiple of 64 bytes, so that torch can map it into memory."""
    info = zipfile.ZipInfo(f"archive/{name}")
    start = archive.fp.tell() if archive.fp is not None else 0
    # A record above 2 GiB gets 20 bytes of zip64 sizes in front of this padding.
    wide = 20 if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0
    used = start + 30 + len(info.filename.encode()) + wide + 4
    padding = -used % _ALIGNMENT
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    archive.writestr(info, data)
