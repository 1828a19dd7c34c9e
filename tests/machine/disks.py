"""Disks of machines: sparse files on the host."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_ROOM_BYTES = 256 * 2**20


def bytes_of(size: str) -> int:
    """`4G`, `512M`, `64K` or a number of bytes. Raises ValueError for anything else."""
    found = re.fullmatch(r"(\d+)([KMG]?)", size)
    if found is None:
        raise ValueError(f"{size!r} is no size: write a number and K, M or G, such as 4G")
    return int(found[1]) * _UNITS[found[2]]


def make_file_system(image: Path, tree: Path) -> None:
    """An ext4 with the files of `tree`, a little larger than they are."""
    used = int(_run("du", "-s", "--block-size=1", str(tree)).split()[0])
    _sized(image, used * 5 // 4 + _ROOM_BYTES)
    _run("mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-L", "root", "-d", str(tree), str(image))


def copy_of(image: Path, to: Path, size: str) -> None:
    """A disk with the same file system, grown to `size`. Raises ValueError if that is smaller."""
    wanted = bytes_of(size)
    if wanted < image.stat().st_size:
        raise ValueError(f"a disk of {size} is too small: the root file system has {image.stat().st_size} bytes")
    _run("cp", "--sparse=always", str(image), str(to))
    _sized(to, wanted)
    subprocess.run(["e2fsck", "-f", "-y", str(to)], check=False, capture_output=True)  # resize2fs wants it
    _run("resize2fs", str(to))


def empty(path: Path, size: str) -> None:
    """A disk without anything on it."""
    _sized(path, bytes_of(size))


def swap_on(path: Path, size: str) -> None:
    """A disk made for swap, with the label `swap`."""
    empty(path, size)
    _run("mkswap", "-L", "swap", str(path))


def _sized(path: Path, size: int) -> None:
    with path.open("ab") as file:
        file.truncate(size)


def _run(*command: str) -> str:
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
