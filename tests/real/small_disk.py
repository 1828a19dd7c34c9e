"""A small file system of its own, on a loop device.

Tests fill it without filling the machine's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 2**20


@contextmanager
def small_disk(image: Path, at: Path, mebibytes: int) -> Iterator[Path]:
    """An ext4 of that size at the directory `at`; `image` is the file that holds it.

    It is gone at the end.
    """
    with image.open("wb") as file:
        file.truncate(mebibytes * MIB)
    at.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(at)], check=True)
    try:
        yield at
    finally:
        # What is mounted below may be there for a moment longer; the device goes with the last that holds it.
        subprocess.run(["umount", "-l", str(at)], check=False, capture_output=True)
        image.unlink(missing_ok=True)


def used_percent(path: Path) -> float:
    """How full it is for others than root."""
    whole = os.statvfs(path)
    return 100 - whole.f_bavail * 100 / whole.f_blocks
