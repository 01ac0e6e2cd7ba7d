"""torchvision.datasets.utils: files from the network, whole and checked, and archives that are unpacked safely."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from pyburn._files import replacing
from pyburn.data import download
from pyburn.data.download import check_integrity

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_url",
    "extract_archive",
    "list_dir",
    "list_files",
    "verify_str_arg",
]

Path = str | os.PathLike[str]
_OPENERS: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}  # type: ignore[dict-item]
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz")


def calculate_md5(fpath: Path, chunk_size: int = 1024 * 1024) -> str:
    """The md5 of a file in hexadecimal digits.

    Args:
        fpath: The file.
        chunk_size: Accepted as by torchvision.
    """
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def check_md5(fpath: Path, md5: str, **kwargs: Any) -> bool:
    """Whether the file has this md5."""
    return md5 == calculate_md5(fpath, **kwargs)


def download_url(
    url: str, root: Path, filename: Path | None = None, md5: str | None = None, max_redirect_hops: int = 3
) -> None:
    """Nothing; the file is in `root` afterwards, whole and with the right checksum.

    Args:
        url: Where it comes from.
        root: The folder it goes to, made if need be.
        filename: Its name there; the last part of the address when left out.
        md5: Its checksum.
        max_redirect_hops: Accepted as by torchvision.

    Raises:
        RuntimeError: There is no network, the server refused, or the bytes are not the expected ones.
    """
    download.download_url(url, root, None if filename is None else os.fspath(filename), md5)


def _ending(path: str) -> str:
    """How the name of an archive ends."""
    name = os.path.basename(path).lower()
    for end in (*sorted(_TARS, key=len, reverse=True), ".zip", *_OPENERS):
        if name.endswith(end):
            return end
    known = ", ".join(sorted({*_TARS, ".zip", *_OPENERS}))
    raise RuntimeError(f"extract_archive: {path} ends with none of {known}.")


def _unzip(path: str, folder: str) -> None:
    with zipfile.ZipFile(path) as archive:
        # ZipFile makes names that lead out of the folder harmless.
        archive.extractall(folder)


def _untar(path: str, folder: str) -> None:
    with tarfile.open(path) as archive:
        # No links out of the folder, no devices, no absolute names.
        archive.extractall(folder, filter="data")


def extract_archive(from_path: Path, to_path: Path | None = None, remove_finished: bool = False) -> str:
    """The folder that the archive was unpacked to, or the file that a single packed file became.

    Args:
        from_path: A .zip, a .tar, packed or not, or a file packed as .gz, .bz2 or .xz.
        to_path: The folder or file; where the archive is when left out.
        remove_finished: Whether the archive is removed afterwards.

    Raises:
        RuntimeError: The file is no such archive, is cut off, or would write outside of the folder.
    """
    source = os.fspath(from_path)
    end = _ending(source)
    single = end in _OPENERS
    default = source[: -len(end)] if single else os.path.dirname(source)
    target = default if to_path is None else os.fspath(to_path)
    try:
        if single:
            with _OPENERS[end](source, "rb") as packed, replacing(target) as file:
                shutil.copyfileobj(packed, file)
        else:
            (_unzip if end == ".zip" else _untar)(source, target or ".")
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, EOFError, OSError) as error:
        raise RuntimeError(f"extract_archive: {source} cannot be unpacked: {error}") from error
    if remove_finished:
        os.remove(source)
    return target


def download_and_extract_archive(
    url: str,
    download_root: Path,
    extract_root: Path | None = None,
    filename: Path | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Nothing; an archive is fetched and unpacked. See `download_url` and `extract_archive`."""
    folder = os.path.expanduser(download_root)
    path = download.download_url(url, folder, None if filename is None else os.fspath(filename), md5)
    extract_archive(path, folder if extract_root is None else extract_root, remove_finished)


def list_dir(root: Path, prefix: bool = False) -> list[str]:
    """The names of the folders in a folder, or their paths with `prefix`."""
    folder = os.path.expanduser(os.fspath(root))
    names = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name))]
    return [os.path.join(folder, name) for name in names] if prefix else names


def list_files(root: Path, suffix: str | tuple[str, ...], prefix: bool = False) -> list[str]:
    """The names of the files in a folder that end with `suffix`, or their paths with `prefix`."""
    folder = os.path.expanduser(os.fspath(root))
    names = [
        name for name in os.listdir(folder) if name.endswith(suffix) and os.path.isfile(os.path.join(folder, name))
    ]
    return [os.path.join(folder, name) for name in names] if prefix else names


def verify_str_arg(
    value: Any, arg: str | None = None, valid_values: Iterable[str] | None = None, custom_msg: str | None = None
) -> str:
    """`value`, if it is one of the texts that are allowed.

    Args:
        value: What was given.
        arg: The argument's name.
        valid_values: The texts; any when left out.
        custom_msg: Another message.

    Raises:
        ValueError: It is none of them, or no text.

    Example:
        >>> verify_str_arg("train", "split", ("train", "test"))
        'train'
    """
    if not isinstance(value, str):
        about = "" if arg is None else f" for argument {arg}"
        raise ValueError(f"Expected type str{about}, but got type {type(value)}.")
    if valid_values is None or value in (allowed := list(valid_values)):
        return value
    known: Sequence[str] = [f"'{text}'" for text in allowed]
    about = "" if arg is None else f" for argument {arg}"
    raise ValueError(custom_msg or f"Unknown value '{value}'{about}. Valid values are {{{', '.join(known)}}}.")
