"""Files that are written as a whole: after a crash there is all of the new content, or what was there before."""

from __future__ import annotations

import os

_PARTIAL = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(path: str, content: bytes, *, lasting: bool = True) -> None:
    """Write a file that only its owner can read, over one that is there; its directory is there. Raises OSError.

    `lasting`: it outlives a crash of the machine, too, once this returns.
    """
    directory, name = os.path.split(path)
    partial = os.path.join(directory, f".{name}.new")
    with os.fdopen(os.open(partial, _PARTIAL, 0o600), "wb") as file:
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    os.replace(partial, path)
    if lasting:
        settle(directory)


def settle(directory: str) -> None:
    """Make names in a directory, come or gone, outlive a crash of the machine. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
