"""Files that are complete or as they were before, never half written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import IO

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(filename: str | os.PathLike[str], durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `filename` when the block ends well and is removed otherwise.

    Whoever dies meanwhile leaves the old file. A `durable` one also outlives a loss of power, for which the disk is
    waited for: what can be made again from other files needs no such wait.
    """
    target = os.path.abspath(filename)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:64]}-", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.chmod(temporary, _usual_mode())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _usual_mode() -> int:
    """The mode that `open` would give a new file; a temporary file's own is for one user only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
