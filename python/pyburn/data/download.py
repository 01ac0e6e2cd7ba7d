"""Files from the network, only when somebody asks: whole, checked, or not there at all."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from pyburn._files import replacing
from pyburn._progress import tqdm

__all__ = ["check_integrity", "download_and_extract", "download_url"]

_CHUNK = 1 << 16
_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}


def _digest(path: str | os.PathLike[str], length: int) -> str:
    if length not in _HASHES:
        raise ValueError(f"check_integrity: a checksum of {length} digits is none of {', '.join(_HASHES.values())}.")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(_HASHES[length], usedforsecurity=False)).hexdigest()


def check_integrity(fpath: str | os.PathLike[str], md5: str | None = None) -> bool:
    """Whether the file is there and, if a checksum is given, holds what it should.

    Args:
        fpath: The file.
        md5: Its checksum in hexadecimal digits; the length says whether md5, sha1 or sha256.

    Example:
        >>> check_integrity("/no/such/file")
        False
    """
    if not os.path.isfile(fpath):
        return False
    return md5 is None or _digest(fpath, len(md5)) == md5.lower()


def download_url(
    url: str,
    root: str | os.PathLike[str],
    filename: str | None = None,
    md5: str | None = None,
    progress: bool = True,
    timeout: float = 30.0,
) -> str:
    """The path of the file, fetched from `url` unless it is there already with the right checksum.

    The file appears under its name only when it is complete and its checksum is right.

    Args:
        url: Where it comes from.
        root: The folder it goes to, made if need be.
        filename: Its name there; the last part of the address when left out.
        md5: Its checksum: md5, sha1 or sha256 by its length.
        progress: Whether a bar on stderr shows how far it is.
        timeout: How many seconds the other side may be silent.

    Raises:
        RuntimeError: There is no network, the server refused, or the bytes are not the expected ones.
    """
    name = filename or os.path.basename(urllib.parse.urlparse(url).path)
    target = os.path.join(os.path.expanduser(root), name)
    if check_integrity(target, md5):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        _fetch(url, target, md5, progress, timeout)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"download_url: the server answered {error.code} ({error.reason}) for {url}.") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise RuntimeError(
            f"download_url: no network, or no way to {urllib.parse.urlparse(url).netloc} ({reason}). "
            f"Fetch {url} on a machine that is connected and put it at {target}."
        ) from error
    return target


def _fetch(url: str, target: str, md5: str | None, progress: bool, timeout: float) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "pyburn"})
    with urllib.request.urlopen(request, timeout=timeout) as answer, replacing(target) as file:
        size = int(answer.headers.get("Content-Length") or 0)
        known = _HASHES.get(len(md5 or ""), "md5")
        digest, count = hashlib.new(known, usedforsecurity=False), 0
        with tqdm(total=size or None, unit="B", unit_scale=True, disable=not progress) as bar:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                count += len(chunk)
                bar.update(len(chunk))
        if size and count != size:
            raise RuntimeError(f"download_url: {url} ended after {count} of {size} bytes; try again.")
        if md5 is not None and digest.hexdigest() != md5.lower():
            raise RuntimeError(
                f"download_url: {url} has the {known} {digest.hexdigest()} but {md5} was expected; nothing was kept."
            )


def download_and_extract(url: str, root: str | os.PathLike[str], filename: str, md5: str | None = None) -> None:
    """Nothing; a tar archive is fetched, and what it holds appears in `root` when all of it is unpacked.

    Args:
        url: Where it comes from.
        root: The folder it goes to, made if need be.
        filename: The archive's name there.
        md5: Its checksum.

    Raises:
        RuntimeError: It cannot be fetched, or is no archive that can be unpacked safely.
    """
    path = download_url(url, root, filename, md5)
    folder = os.path.dirname(path)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacked-") as temporary:
        try:
            with tarfile.open(path) as archive:
                # No links out of the folder, no devices, no absolute names.
                archive.extractall(temporary, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            raise RuntimeError(f"{path} is no archive that can be unpacked: {error}") from error
        for name in os.listdir(temporary):
            target = os.path.join(folder, name)
            if not os.path.exists(target):
                os.replace(os.path.join(temporary, name), target)
