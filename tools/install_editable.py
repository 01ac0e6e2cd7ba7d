"""Installs pyburn into this virtual environment as an editable package, without building it.

`maturin develop` would do the same and build as well, but it configures PyO3 differently from a plain `cargo build` and
passes other flags, so that each of the two undoes the work of the other in the shared build directory.

Run with the environment's own Python from the root of the repository.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def main(root: Path) -> None:
    """Makes `import pyburn` find `python/pyburn` of this clone, known to pip under its name and version."""
    with tempfile.TemporaryDirectory() as directory:
        metadata = Path(directory, "metadata")
        write = ["pep517", "write-dist-info", "--metadata-directory", str(metadata), "--interpreter", sys.executable]
        # Its log is only of interest when it fails.
        done = subprocess.run([sys.executable, "-m", "maturin", *write], cwd=root, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        wheel = pack(metadata, root / "python", Path(directory))
        install = ["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)


def pack(metadata: Path, sources: Path, directory: Path) -> Path:
    """A wheel in `directory` that holds `metadata` and a path file which points to `sources`."""
    members = {str(file.relative_to(metadata)): file.read_text() for file in metadata.rglob("*") if file.is_file()}
    (dist_info,) = {name.partition("/")[0] for name in members}
    members["pyburn.pth"] = f"{sources.resolve()}\n"
    record = f"{dist_info}/RECORD"
    members[record] = "".join(f"{name},,\n" for name in [*members, record])
    wheel = directory / f"{dist_info.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return wheel


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[1])
