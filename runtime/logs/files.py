"""The files of one container's log, as rotation handles them (spec 3.13).

`LogFiles` is the capability, `LocalLogFiles` the real one. A log `0.log` has rotated ones beside it:
`0.log.20060102-150405`, and compressed `0.log.20060102-150405.gz`. Unfinished files end in `.tmp`, so an agent killed
at any moment leaves no partial file under the name of a log. A compressed file gets its name when all of it is on the
disk, and only then the plain one is removed.

Every call is disk work that may hang: actors run it on a lane. Pods may be able to write beside their logs (through a
hostPath volume), so no link is followed and nothing but a plain file is touched. Raises OSError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import zlib
from collections.abc import Sequence
from typing import Protocol

from runtime.files.plain_file import open_plain
from runtime.logs.source import LocalLogSource, LogSource

GZIP = ".gz"
HALF = ".tmp"
LEVEL = 3
"""The level of compression.

Logs shrink almost as well as at the usual 6, in half the time, next to pods that want the CPU.
"""
CHUNK_BYTES = 1 << 18
_GZIP_WINDOW = 31
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LogFiles(LogSource, Protocol):
    """See the module. They are read, and their names listed, as a `LogSource`."""

    def sizes(self, logs: Sequence[str]) -> tuple[int | None, ...]:
        """Bytes in each of these logs; None for one that is not there, 0 for what is no plain file."""

    def move_log(self, log: str, rotated: str) -> None:
        """Give the log another name, which nothing has."""

    def bring_back(self, rotated: str, log: str) -> bool:
        """Give the log its name back. False, and nothing changes, when that name has been taken or it is gone."""

    def remove(self, paths: Sequence[str]) -> None:
        """Remove these; what is gone already is no error."""

    def compress(self, rotated: str) -> None:
        """Turn a rotated log into its compressed form; one that is gone already is no error.

        When it fails nothing half is left, and the plain one stays.
        """


class LocalLogFiles(LocalLogSource):
    """Log files on the disk of this machine."""

    def sizes(self, logs: Sequence[str]) -> tuple[int | None, ...]:
        return tuple(map(_size, logs))

    def move_log(self, log: str, rotated: str) -> None:
        if os.path.lexists(rotated):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), rotated)
        os.rename(log, rotated)

    def bring_back(self, rotated: str, log: str) -> bool:
        try:
            # A second name, and not a rename: that would replace a log which the runtime has opened after all.
            os.link(rotated, log, follow_symlinks=False)
        except (FileExistsError, FileNotFoundError):
            return False
        os.unlink(rotated)
        return True

    def remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def compress(self, rotated: str) -> None:
        half = rotated + HALF
        try:
            source = open_plain(rotated)
        except FileNotFoundError:
            return
        try:
            found = os.fstat(source)
            self.remove((half,))
            write_compressed(source, half, stat.S_IMODE(found.st_mode))
            os.rename(half, rotated + GZIP)
            os.unlink(rotated)
        except BaseException:
            self.remove((half,))
            raise
        finally:
            os.close(source)


def _size(log: str) -> int | None:
    try:
        found = os.lstat(log)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def write_compressed(source: int, path: str, mode: int) -> None:
    target = os.open(path, _MAKE, 0o600)
    with os.fdopen(target, "wb", buffering=CHUNK_BYTES) as file:
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        while data := os.read(source, CHUNK_BYTES):
            file.write(packer.compress(data))
        file.write(packer.flush())
        file.flush()
        os.fchmod(target, mode)
        # Before it gets its name: after a loss of power there may be the plain log, or all of the compressed one.
        os.fsync(target)
