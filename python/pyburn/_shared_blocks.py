"""Pieces of memory that several processes see, and how one process tells another of them."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import secrets
import tempfile
import weakref
from multiprocessing import context, resource_sharer, resource_tracker
from typing import Any

from pyburn import _core

# Where named files live in memory; elsewhere they lie in the directory of temporary files.
_MEMORY = "/dev/shm"
_NAME = re.compile(r"pyburn_[0-9]+_[0-9a-f]{16}")
# The bytes behind the values of a named file: how many processes and messages know it.
_COUNT = 8

_by_address: weakref.WeakValueDictionary[int, Block] = weakref.WeakValueDictionary()
_by_file: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()


class Block(_core._SharedMemory):
    """Shared memory, mapped into this process; it goes with the last tensor over it."""

    nbytes: int
    file: tuple[int, int]

    def __new__(cls, descriptor: int, nbytes: int) -> Block:
        """The first `nbytes` bytes of an open file."""
        block = super().__new__(cls, descriptor, nbytes)
        block.nbytes, block.file = nbytes, _file(descriptor)
        _by_address[block.address()] = _by_file[block.file] = block
        return block

    def message(self) -> tuple[Any, ...]:
        """What another process opens the memory by."""
        raise NotImplementedError


class _Described(Block):
    """Memory of a file without a name, whose descriptor is kept open and sent."""

    descriptor: int

    def __new__(cls, descriptor: int, nbytes: int) -> _Described:
        try:
            block = super().__new__(cls, descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise
        assert isinstance(block, _Described)
        block.descriptor = descriptor
        weakref.finalize(block, os.close, descriptor).atexit = False
        return block

    def message(self) -> tuple[Any, ...]:
        popen: Any = context.get_spawning_popen()
        if popen is not None and popen.method == "spawn":
            popen.duplicate_for_child(self.descriptor)
            return _inherited, self.descriptor, self.file
        return _received, resource_sharer.DupFd(self.descriptor)


class _Named(Block):
    """Memory of a file with a name, which is removed when no process and no message knows it any more."""

    name: str

    def __new__(cls, descriptor: int, nbytes: int, name: str = "") -> _Named:
        block = super().__new__(cls, descriptor, nbytes)
        assert isinstance(block, _Named)
        block.name = name
        weakref.finalize(block, _forget, name, nbytes, os.getpid())
        return block

    def message(self) -> tuple[Any, ...]:
        _count(self.name, self.nbytes, 1)
        return _named, self.name


def find(address: int) -> Block | None:
    """The shared memory that begins at an address."""
    return _by_address.get(address)


def create(nbytes: int, strategy: str) -> Block:
    """New shared memory.

    Raises:
        RuntimeError: The system has no file descriptor left.
    """
    # Before any page is asked for: a system that has no more ends processes, perhaps others than this one.
    _core._check_allocation(nbytes)
    try:
        return _create_named(nbytes) if strategy == "file_system" else _create_described(nbytes)
    except OSError as error:
        raise RuntimeError(
            f"cannot make {nbytes} bytes of shared memory: {error}; where too many files are open, raise `ulimit -n` "
            "or call multiprocessing.set_sharing_strategy('file_system')."
        ) from error


def open_(message: tuple[Any, ...], nbytes: int) -> Block:
    """The memory that another process has sent.

    Raises:
        OSError: The sender has ended, or the memory is gone.
        RuntimeError: The memory has fewer bytes than the message says.
    """
    function, *arguments = message
    if not isinstance(nbytes, int) or nbytes < 0:
        raise RuntimeError(f"shared memory: {nbytes!r} is not a number of bytes.")
    if function not in (_inherited, _received, _named):
        raise RuntimeError(f"shared memory: the message {message!r} is damaged.")
    block: Block = function(nbytes, *arguments)
    if block.nbytes < nbytes:
        raise RuntimeError(f"shared memory has {block.nbytes} bytes but the message that describes it says {nbytes}.")
    return block


def _file(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _create_described(nbytes: int) -> Block:
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            file.truncate(max(nbytes, 1))
            return _Described(os.dup(file.fileno()), nbytes)
    descriptor = os.memfd_create("pyburn", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        _reserve(descriptor, max(nbytes, 1))
        # What cannot shrink cannot be read past its end, whoever has it.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(descriptor)
        raise
    return _Described(descriptor, nbytes)


def _reserve(descriptor: int, nbytes: int) -> None:
    # Without pages of its own the memory would end the process when it is written to and there are no more.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, nbytes)
    else:
        os.truncate(descriptor, nbytes)


def _inherited(nbytes: int, descriptor: int, file: tuple[int, int]) -> Block:
    """From a descriptor that a spawned process was born with."""
    known = _by_file.get(file)
    if known is not None:
        return known
    if _file(descriptor) != file:
        raise RuntimeError("shared memory: the descriptor that this process was started with is another file now.")
    return _Described(descriptor, nbytes)


def _received(nbytes: int, handle: Any) -> Block:
    """From a descriptor that the sender keeps until it is asked for."""
    try:
        descriptor: int = handle.detach()
    except (OSError, EOFError) as error:
        text = (
            f"{error}: the process that sent this tensor has ended or cannot be asked any more; it must live until the "
            "tensor was received (or use multiprocessing.set_sharing_strategy('file_system'))"
        )
        raise (type(error)(error.errno, text) if isinstance(error, OSError) else EOFError(text)) from error
    known = _by_file.get(_file(descriptor))
    if known is not None:
        os.close(descriptor)
        return known
    return _Described(descriptor, nbytes)


def _create_named(nbytes: int) -> Block:
    name = f"pyburn_{os.getpid()}_{secrets.token_hex(8)}"
    descriptor = os.open(_path(name), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        _track(name, resource_tracker.register)
        _reserve(descriptor, _counted(nbytes) + _COUNT)
        os.pwrite(descriptor, (1).to_bytes(_COUNT, "little"), _counted(nbytes))
        return _Named(descriptor, nbytes, name)
    except BaseException:
        _remove(name)
        raise
    finally:
        os.close(descriptor)


def _named(nbytes: int, name: str) -> Block:
    """From a file's name; the message's share in the file becomes this process's."""
    try:
        descriptor = os.open(_path(name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            error.errno, "the shared memory of this tensor is gone: the process that owned it has ended", name
        ) from error
    try:
        size, wanted = os.fstat(descriptor).st_size, _counted(nbytes) + _COUNT
        if size != wanted:
            raise RuntimeError(f"shared memory has {size} bytes but the message that describes it needs {wanted}.")
        known = _by_file.get(_file(descriptor))
        if known is None:
            return _Named(descriptor, nbytes, name)
        _count(name, nbytes, -1)
        return known
    finally:
        os.close(descriptor)


def _path(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RuntimeError(f"shared memory: {name!r} is not the name of a block.")
    return os.path.join(_MEMORY if os.path.isdir(_MEMORY) else tempfile.gettempdir(), name)


def _counted(nbytes: int) -> int:
    """Where the count is: behind the values, at least a page, so that no block is empty."""
    return -(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE


def _count(name: str, nbytes: int, change: int) -> None:
    """Adds to the number of those who know the file; the last one removes it."""
    descriptor = os.open(_path(name), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        count = int.from_bytes(os.pread(descriptor, _COUNT, _counted(nbytes)), "little") + change
        os.pwrite(descriptor, max(count, 0).to_bytes(_COUNT, "little"), _counted(nbytes))
        if count <= 0:
            _remove(name)
    finally:
        os.close(descriptor)


def _forget(name: str, nbytes: int, process: int) -> None:
    # A forked child has the memory but no share in the file.
    if os.getpid() == process:
        with contextlib.suppress(FileNotFoundError):
            _count(name, nbytes, -1)


def _remove(name: str) -> None:
    try:
        os.unlink(_path(name))
    except FileNotFoundError:
        return
    _track(name, resource_tracker.unregister)


def _track(name: str, change: Any) -> None:
    """Python's tracker removes what killed processes leave; it knows files in memory only."""
    if os.path.isdir(_MEMORY):
        change(f"/{name}", "shared_memory")
