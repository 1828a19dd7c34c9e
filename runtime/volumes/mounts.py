"""Mounts as the kernel does them: mount, unmount, and what is mounted where.

The only module that knows the system calls. Everything here may hang on a dead server; nothing here retries. Errors are
OSError with the path.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from typing import Protocol

UMOUNT_NOFOLLOW = 8

_OCTAL = re.compile(rb"\\([0-7]{3})")


class Mounts(Protocol):
    """See the module."""

    def below(self, path: str) -> tuple[str, ...]:
        """Mount points at or below `path`, in the order to unmount them: the latest mount first, deeper ones first."""
        ...

    def is_mount_point(self, path: str) -> bool:
        """Whether another file system is mounted at `path`. Costs two looks, however many mounts there are."""
        ...

    def mount_tmpfs(self, path: str, size_bytes: int) -> None:
        """Mount memory at `path`, at most `size_bytes` of it (0: what the kernel gives), never swapped where it can."""
        ...

    def unmount(self, path: str) -> None:
        """Unmount what was last mounted at `path`; that nothing is mounted there is no error."""
        ...


class KernelMounts:
    """The mounts of this process' namespace."""

    def __init__(self, mountinfo: str = "/proc/self/mountinfo") -> None:
        self._mountinfo = mountinfo
        self._libc = ctypes.CDLL(None, use_errno=True)

    def below(self, path: str) -> tuple[str, ...]:
        root = os.path.realpath(path)
        with open(self._mountinfo, "rb") as file:
            content = file.read()
        if _written(root) not in content:
            return ()  # the usual answer on a node with thousands of mounts, and then without looking at each
        points = parse_mount_points(content)
        found = [point for point in points if point == root or point.startswith(f"{root}/")]
        # Later lines are later mounts; a mount below another can only have come after it.
        return tuple(reversed(found))

    def is_mount_point(self, path: str) -> bool:
        return os.path.ismount(path)

    def mount_tmpfs(self, path: str, size_bytes: int) -> None:
        options = f"size={size_bytes}" if size_bytes else ""
        try:
            self._mount("tmpfs", path, "tmpfs", 0, f"{options},noswap" if options else "noswap")
        except OSError as failure:
            if failure.errno != errno.EINVAL:
                raise
            self._mount("tmpfs", path, "tmpfs", 0, options)  # a kernel before 6.4

    def unmount(self, path: str) -> None:
        if self._libc.umount2(os.fsencode(path), UMOUNT_NOFOLLOW) != 0:
            number = ctypes.get_errno()
            if number not in (errno.EINVAL, errno.ENOENT):
                raise OSError(number, os.strerror(number), path)

    def _mount(self, source: str, path: str, kind: str, flags: int, options: str) -> None:
        arguments = (os.fsencode(source), os.fsencode(path), os.fsencode(kind))
        if self._libc.mount(*arguments, ctypes.c_ulong(flags), os.fsencode(options)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)


def _written(path: str) -> bytes:
    """The path as the kernel writes it in mountinfo."""
    return b"".join(b"\\%03o" % byte if byte in b" \t\n\\" else bytes([byte]) for byte in os.fsencode(path))


def parse_mount_points(mountinfo: bytes) -> list[str]:
    """The mount points in the order of `/proc/self/mountinfo`; blanks in them are written in octal there."""
    points: list[str] = []
    for line in mountinfo.splitlines():
        fields = line.split(b" ")
        if len(fields) > 4:
            points.append(os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match.group(1), 8)]), fields[4])))
    return points
