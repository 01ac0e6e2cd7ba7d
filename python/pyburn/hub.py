"""torch.hub: models from a folder on disk; what would come from the network must be downloaded by hand."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse as urlparse
from urllib.request import urlopen as urlopen

from pyburn._files import replacing
from pyburn._progress import tqdm
from pyburn.serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir", "tqdm"]

_HUBCONF = "hubconf.py"
# A file is named after the first digits of its hash: resnet18-bfd8deac.pth.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_directory: str | None = None


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder in which downloaded files are looked for: torch's own, so that its files are found."""
    return os.path.join(_get_torch_home(), "hub") if _directory is None else _directory


def set_dir(d: str | os.PathLike[str]) -> None:
    """Nothing; downloaded files are looked for here from now on."""
    global _directory
    _directory = os.path.expanduser(d)


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _hubconf(repo_or_dir: str, source: str) -> tuple[ModuleType, str]:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _no_network(f"the repository {repo_or_dir}", "clone it, and pass its folder with source='local'")
    folder = os.path.expanduser(repo_or_dir)
    path = os.path.join(folder, _HUBCONF)
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if not os.path.exists(path) or spec is None or spec.loader is None:
        raise FileNotFoundError(f"hub: there is no {_HUBCONF} in {folder}.")
    module = importlib.util.module_from_spec(spec)
    with _on_path(folder):
        spec.loader.exec_module(module)
    return module, folder


def _entry(module: ModuleType, name: str) -> Any:
    if not callable(getattr(module, name, None)):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return getattr(module, name)


def _no_network(what: str, instead: str) -> NoReturn:
    raise RuntimeError(f"hub: pyburn does not download {what}; {instead}.")


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, verbose: bool = True
) -> Any:
    """The names of the models that a folder's hubconf.py offers."""
    module, _ = _hubconf(github, "local" if os.path.isdir(os.path.expanduser(github)) else "github")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None
) -> str | None:
    """The docstring of a model in a folder's hubconf.py."""
    module, _ = _hubconf(github, "local" if os.path.isdir(os.path.expanduser(github)) else "github")
    text: str | None = _entry(module, model).__doc__
    return text


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What a model's function in a folder's hubconf.py returns.

    Args:
        repo_or_dir: The folder.
        model: The function's name.
        *args: Its arguments.
        source: "local"; "github" raises, since pyburn downloads nothing.
        trust_repo: Accepted.
        force_reload: Accepted.
        verbose: Accepted.
        skip_validation: Accepted.
        **kwargs: Its arguments by name.

    Raises:
        RuntimeError: The source is the network, or there is no such function.
        FileNotFoundError: The folder has no hubconf.py.
    """
    module, folder = _hubconf(repo_or_dir, source)
    with _on_path(folder):
        return _entry(module, model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Nothing; a ``file:`` address is copied to `dst`. Other addresses raise: pyburn downloads nothing.

    Raises:
        RuntimeError: The address is on the network, or the file is not the expected one.
    """
    parts = urllib.parse.urlparse(url)
    if parts.scheme != "file":
        _no_network(url, f"download it by hand to {dst}")
    with open(urllib.parse.unquote(parts.path), "rb") as source:
        data = source.read()
    digest = hashlib.sha256(data).hexdigest()
    if hash_prefix is not None and not digest.startswith(hash_prefix):
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    with replacing(dst) as target:
        target.write(data)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """The state dict of a file that was downloaded before, in `model_dir` or torch's cache.

    Raises:
        RuntimeError: The file is not there; the text says where to put it.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, file_name or os.path.basename(urllib.parse.urlparse(url).path))
    if not os.path.exists(path):
        if not url.startswith("file:"):
            _no_network(url, f"download it by hand to {path}")
        os.makedirs(folder, exist_ok=True)
        download_url_to_file(url, path)
    return _load_file(path, map_location=map_location)
