"""Prints the size of a wheel, packed and unpacked, and fails when one is over the limit that the README promises."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

MEGABYTE = 1_000_000
WHEEL_LIMIT = 25 * MEGABYTE
INSTALLED_LIMIT = 120 * MEGABYTE


def main(wheel: Path) -> None:
    """Exits with a message when `wheel` is too large."""
    packed = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    print(f"{wheel.name}: {packed / MEGABYTE:.1f} MB, installed {unpacked / MEGABYTE:.1f} MB")
    if packed > WHEEL_LIMIT:
        raise SystemExit(f"the wheel is over its limit of {WHEEL_LIMIT // MEGABYTE} MB")
    if unpacked > INSTALLED_LIMIT:
        raise SystemExit(f"the installed package is over its limit of {INSTALLED_LIMIT // MEGABYTE} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
