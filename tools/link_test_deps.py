"""Links the heavy test dependencies (torch and the other judges) from the user's cache into this virtual environment.

They are installed once per lock file and Python version, so that ten clones of the repository hold one torch. Several
clones may run this at the same moment: the first installs, the others wait for it, and an interrupted installation
leaves nothing behind that looks complete.

Run with the environment's own Python: `.venv/bin/python tools/link_test_deps.py requirements/test.txt ...`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def cache_root() -> Path:
    """The directory that all clones of pyburn share."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyburn"


def key_of(lock_file: Path) -> str:
    """A name that changes with the pins, the Python version and the platform, and with nothing else."""
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()[:16]
    return f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}-{digest}"


def install(lock_file: Path, target: Path) -> None:
    """Installs the pins of `lock_file` into `target`, which appears only when it is complete."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    print(f"Installing {lock_file.name} once into {target}; later clones link to it.", flush=True)
    # --prefix writes into place, where --target would copy gigabytes once more; the lock lists every dependency.
    options = ["--prefix", str(partial), "--ignore-installed", "--no-deps", "--no-warn-script-location", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--requirement", str(lock_file)], check=True)
    partial.rename(target)


def link(target: Path, name: str) -> None:
    """Puts the packages of `target` on the path of this environment, behind its own, in a file called after `name`."""
    packages = target / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if not packages.is_dir():
        raise SystemExit(f"{packages} is missing: remove {target} and try again.")
    link_file = Path(sysconfig.get_path("purelib")) / f"pyburn_deps_{name}.pth"
    link_file.write_text(f"{packages}\n")


def main(lock_file: Path) -> None:
    """Makes the packages of `lock_file` importable from this environment."""
    if sys.prefix == sys.base_prefix:
        raise SystemExit("link_test_deps: run this with the Python of a virtual environment.")
    store = cache_root() / "test-deps"
    store.mkdir(parents=True, exist_ok=True)
    target = store / key_of(lock_file)
    with (store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            install(lock_file, target)
    link(target, lock_file.stem)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(Path(argument))
