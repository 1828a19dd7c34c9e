"""The files of one container's log, as they are read while they are written and rotated.

`LogSource` is the capability, `LocalLogSource` the real one. Every call is disk work that may hang: callers have
threads for that. An open file stays readable after it is renamed or removed. Raises OSError.

Pods may be able to write beside their logs (through a hostPath volume), so no link is followed and nothing but a plain
file is opened, with one exception. With Docker, a log is a link to Docker's own file, which has the container's id in
its name. A link to such a file is followed: a process that can create that file can read its content anyway.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable
from typing import Protocol

from runtime.files.plain_file import open_plain

ID_AT_LEAST = 32
"""Characters that an id has to have, so that no file has it in its name by chance."""


class OpenLog(Protocol):
    """One file. `identity` is equal for the same file under any name."""

    @property
    def identity(self) -> Hashable: ...

    def size(self) -> int:
        """Bytes in it now."""

    def read(self, offset: int, limit_bytes: int) -> bytes:
        """Read from `offset` on; empty at the end."""

    def close(self) -> None: ...


class LogSource(Protocol):
    def find(self, log: str, container_id: str) -> str:
        """The path of that container's log: the given one, or the target of an allowed link."""

    def open(self, path: str) -> OpenLog:
        """A plain file."""

    def identity(self, path: str) -> Hashable | None:
        """The identity of the file that has this name now; None without one."""

    def names_beside(self, log: str) -> tuple[str, ...]:
        """Names in the log's directory that begin with its own and a dot, sorted."""


class LocalLogSource:
    """Log files on the disk of this machine."""

    def find(self, log: str, container_id: str) -> str:
        return find_log(log, container_id)

    def open(self, path: str) -> OpenLog:
        return _LocalLog(path)

    def identity(self, path: str) -> Hashable | None:
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_dev, found.st_ino

    def names_beside(self, log: str) -> tuple[str, ...]:
        directory, name = os.path.split(log)
        try:
            return tuple(sorted(each for each in os.listdir(directory) if each.startswith(f"{name}.")))
        except FileNotFoundError:
            return ()


def find_log(log: str, container_id: str) -> str:
    """See `LogSource.find`. Open the result without following a link again."""
    if not os.path.islink(log):
        return log
    target = os.path.realpath(log, strict=True)
    if len(container_id) < ID_AT_LEAST or container_id not in os.path.basename(target):
        raise OSError(errno.ELOOP, "it is a link to a file without the container's id in its name", log)
    return target


def open_log(path: str) -> int:
    """A descriptor of a plain file."""
    return open_plain(path)


class _LocalLog:
    def __init__(self, path: str) -> None:
        self._descriptor = open_log(path)
        found = os.fstat(self._descriptor)
        self._identity = found.st_dev, found.st_ino

    @property
    def identity(self) -> Hashable:
        return self._identity

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, limit_bytes: int) -> bytes:
        return os.pread(self._descriptor, limit_bytes, offset)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
