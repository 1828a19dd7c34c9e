"""Trees as hostile containers write them: deeper than any path, and broad at every level."""

from __future__ import annotations

import os
from pathlib import Path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_deep(top: Path, depth: int, *, breadth: int = 0, name: str = "dir", file_bytes: int = 0) -> None:
    """`depth` directories in each other, with `breadth` empty ones beside each, and a file in the deepest.

    From 1,100 on the path of the deepest is longer than the kernel takes.
    """
    directory = os.open(top, DIRECTORY)
    for _ in range(depth):
        for number in range(breadth):
            os.mkdir(f"{number}", dir_fd=directory)
        os.mkdir(name, dir_fd=directory)
        below = os.open(name, DIRECTORY, dir_fd=directory)
        os.close(directory)
        directory = below
    file = os.open("deepest", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=directory)
    os.write(file, b"x" * file_bytes)
    os.close(file)
    os.close(directory)


def deepest(top: Path, name: str = "dir") -> int:
    """The deepest of them, open."""
    directory = os.open(top, DIRECTORY)
    while True:
        try:
            below = os.open(name, DIRECTORY, dir_fd=directory)
        except FileNotFoundError:
            return directory
        os.close(directory)
        directory = below
