"""The files of simulated containers: their logs and their termination messages.

`ContainerFiles` is the interface for the runtime. `DirectoryFiles` writes to the disk of this machine, in real time;
the simulated host has its own. Without any, containers write nothing, which costs nothing.
"""

from __future__ import annotations

import os
from typing import Protocol


class LogFile(Protocol):
    """An open log. Output goes to the opened file, even if its path names another file since."""

    def write(self, data: bytes, /) -> object: ...

    def close(self) -> None: ...


class ContainerFiles(Protocol):
    """See the module. Every method may raise `OSError`."""

    def open_log(self, path: str) -> LogFile:
        """Open for appending; the file and its directories are made."""

    def write_message(self, path: str, data: bytes) -> None:
        """Write a termination message into a file that exists."""


class DirectoryFiles:
    """The disk of this machine; paths as the requests name them."""

    def open_log(self, path: str) -> LogFile:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "ab", buffering=0)

    def write_message(self, path: str, data: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
