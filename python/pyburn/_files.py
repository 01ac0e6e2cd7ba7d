"""Files that are complete or as they were before, never half written."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import IO

__all__ = ["replacing"]

_COUNT = itertools.count()


@contextlib.contextmanager
def replacing(filename: str | os.PathLike[str], durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `filename` when the block ends well and is removed otherwise.

    Whoever dies meanwhile leaves the old file. A `durable` one also outlives a loss of power, for which the disk is
    waited for: what can be made again from other files needs no such wait.
    """
    target = os.path.abspath(filename)
    handle, temporary = _new_file(os.path.dirname(target), os.path.basename(target))
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = target  # a full disk is told without a name
        raise


def _new_file(folder: str, name: str) -> tuple[int, str]:
    """A file beside `name` that was not there before, with the mode that `open` would give it."""
    while True:
        path = os.path.join(folder, f".{name[:64]}-{os.getpid()}-{next(_COUNT)}")
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), path
        except FileExistsError:  # of a process that died, whose number has come again
            continue
