"""torch's files: `save` writes what `torch.load(weights_only=True)` reads, `load` reads `.pt` and `.pth` files.

Reading executes nothing that a file holds: tensors, numbers, text and containers come out, and any other name raises.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Mapping
from pickle import UnpicklingError
from typing import IO, Any, TypeAlias

from pyburn import _core
from pyburn._files import replacing
from pyburn._storage import TypedStorage, UntypedStorage
from pyburn.serialization import _allowed, _archive
from pyburn.serialization._storages import Storage

__all__ = [
    "DEFAULT_PROTOCOL",
    "FILE_LIKE",
    "MAP_LOCATION",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
MapLocation: TypeAlias = _core.device | str | Mapping[str, str] | Callable[[Any, str], Any] | None
# torch's own names of these types and of the pickle protocol of its files.
FILE_LIKE: TypeAlias = FileLike
MAP_LOCATION: TypeAlias = MapLocation
DEFAULT_PROTOCOL = 2


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Nothing; the file has the object. A path is complete or as it was before, never half written.

    Tensors that share memory share it in the file, with their strides. What can be saved: tensors and parameters,
    numbers, text, bytes, None, lists, tuples, dicts, sets, Size, dtype, device, numpy's arrays and numbers,
    argparse.Namespace and paths, nested in any way, and whole modules, for pyburn's `load(weights_only=False)`. An
    object of another class is written as pickle writes it, which `load` refuses to rebuild: see `add_safe_globals`.

    Args:
        obj: What to save; for a model its `state_dict()`.
        f: A path or a binary file.
        pickle_module: Accepted for torch's sake; the writer is pyburn's own.
        pickle_protocol: Accepted; the file is always of the protocol that torch reads.
        _use_new_zipfile_serialization: Accepted; the file is always the archive of torch 1.6 and later.

    Raises:
        TypeError: A part of the object has no form for files: a lambda, a local class, a generator.

    Differs from torch:
        A whole Module is written with the name of its pyburn class, which torch cannot read: for torch save its
        `state_dict()`. Tensors on a GPU are written as CPU tensors, which any torch can read;
        `load(..., map_location=...)` puts them back.

    Example:
        >>> import io, pyburn
        >>> file = io.BytesIO()
        >>> pyburn.save({"weight": pyburn.ones(2), "step": 3}, file)
        >>> _ = file.seek(0)
        >>> pyburn.load(file)
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    if isinstance(f, str | os.PathLike):
        folder = os.path.dirname(f)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        with replacing(f) as file:
            _archive.save_zip(obj, file)
        return
    if not hasattr(f, "write"):
        raise AttributeError(f"save: expected a path or a file with write(), but got {type(f).__name__}.")
    data = io.BytesIO()
    _archive.save_zip(obj, data)
    f.write(data.getbuffer())


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """The object that `torch.save` or `pyburn.save` wrote.

    Args:
        f: A path, or a binary file that can seek.
        map_location: Where tensors go: a device, a dict from saved to wanted places, or a function of a storage and
            its saved place. None puts them where they were.
        pickle_module: Accepted for torch's sake; the reader is pyburn's own.
        weights_only: False also reads whole modules, of classes that the program itself has imported: an empty
            object is made and its attributes are set, and none of its methods is called. Other classes need
            `add_safe_globals`.
        mmap: Accepted; the file is read.
        **pickle_load_args: Accepted; text of Python 2 is read as utf-8.

    Raises:
        UnpicklingError: The file names something that is not allowed, or its pickle is damaged.
        RuntimeError: The archive is damaged or truncated, or a tensor's place is not here.
        FileNotFoundError: There is no such file.

    Differs from torch:
        `weights_only=False` executes nothing either; whole modules that torch itself saved are not read. Files of torch
        before 0.1.10 (tar) are not read.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load(file, map_location, weights_only)
    if not hasattr(f, "seek") or not hasattr(f, "read"):
        raise AttributeError(
            f"You can only torch.load from a file that is seekable, but got {type(f).__name__}. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        )
    return _load(f, map_location, weights_only)


def _load(file: IO[bytes], map_location: MapLocation, weights_only: bool | None) -> Any:
    begin = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(begin)
    head = file.read(4)
    file.seek(begin)
    if not head:
        raise EOFError("load: the file is empty.")

    def place(location: str, data: bytearray) -> Any:
        return _device_for(location, map_location, data)

    find = _allowed.find_with_modules if weights_only is False else _allowed.find
    if head == b"PK\x03\x04":
        return _as_storage(_archive.load_zip(file, size, place, find))
    if head[:1] == b"\x80":
        return _as_storage(_archive.load_legacy(file, size, place, find))
    raise UnpicklingError(
        "load: the file is neither an archive nor a pickle of torch.save (it may be a tar file of torch before 0.1.10, "
        "which torch can save again, or a .safetensors file, which pyburn.safetensors.load_file reads)."
    )


def _as_storage(made: Any) -> Any:
    """What was read; a storage by itself as the class that programs know."""
    if not isinstance(made, Storage):
        return made
    elements = made.memory.elements(made.dtype or _core.uint8)[made.offset :]
    return UntypedStorage(elements) if made.dtype is None else TypedStorage(elements)


def _device_for(location: str, wanted: MapLocation, data: bytearray) -> Any:
    """The device of a storage that was saved at `location`."""
    if isinstance(wanted, Mapping):
        location = wanted.get(location, location)
    elif callable(wanted) and not isinstance(wanted, _core.device):
        elements = _core._frombuffer(data, _core.uint8) if data else _core._full("load", (0,), 0, _core.uint8, "cpu")
        result = wanted(UntypedStorage(elements), location)
        if result is not None:
            return result.device
    elif wanted is not None:
        return _core.device(wanted)
    if location.startswith(("cuda", "mps", "xpu", "hip", "xla")):
        raise RuntimeError(
            f"Attempting to deserialize object on a {location} device, which is not here. Use "
            "torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    return _core.device(location)


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """The storage at a place, for functions that are given as `map_location`.

    Example:
        >>> import pyburn
        >>> default_restore_location(pyburn.zeros(1).untyped_storage(), "cpu").device
        device(type='cpu')
    """
    return UntypedStorage(storage._tensor.to(_core.device(location)))


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Nothing; from now on `load` may call these classes and functions, which must be ones that you trust.

    Args:
        safe_globals: Classes, or pairs of a class and the full name that files use for it.
    """
    for item in safe_globals:
        kind, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        _allowed.USER[name] = kind


def get_safe_globals() -> list[Any]:
    """The classes and functions that were added.

    Example:
        >>> get_safe_globals()
        []
    """
    return list(_allowed.USER.values())


def clear_safe_globals() -> None:
    """Nothing; what was added is no longer allowed."""
    _allowed.USER.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A block in which `load` may call these classes.

    Example:
        >>> from fractions import Fraction
        >>> with safe_globals([Fraction]):
        ...     get_safe_globals()
        [<class 'fractions.Fraction'>]
    """
    before = dict(_allowed.USER)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.USER.clear()
        _allowed.USER.update(before)
