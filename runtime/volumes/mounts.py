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
MNT_FORCE = 1
MNT_DETACH = 2
MS_RDONLY = 1
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_SHARED = 1 << 20
_KEPT_FLAGS = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8, os.ST_NOATIME: 1024, os.ST_NODIRATIME: 2048}
"""`statvfs` flag -> mount flag: a remount must keep the flags of the mount."""

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


class Mounts(Protocol):
    def below(self, path: str) -> tuple[str, ...]:
        """Mount points at or below `path`, in the order to unmount them.

        The latest mount comes first, and deeper ones before shallower.
        """

    def is_mount_point(self, path: str) -> bool:
        """Whether another file system is mounted at `path`.

        Takes two stat calls, however many mounts there are.
        """

    def mount_tmpfs(self, path: str, size_bytes: int) -> None:
        """Mount memory at `path`: at most `size_bytes` of it (0: the kernel's default).

        It is never swapped, where the kernel can promise that.
        """

    def mount(self, source: str, path: str, kind: str, options: str) -> None:
        """Mount a file system of this kind at `path`; `options` as for the kernel, such as `pagesize=2M`."""

    def bind(self, source: str, path: str, *, read_only: bool = False) -> None:
        """Make what is at `source` appear at `path`, which is of the same sort.

        Mounts below it do not come along.
        """

    def make_shared(self, path: str) -> bool:
        """Share mounts below `path` with its copies, in both directions; True if it became a mount."""

    def unmount(self, path: str, *, detach: bool = False, force: bool = False) -> None:
        """Undo the last mount at `path`; it is no error if nothing is mounted there.

        `detach`: it disappears at once and is unmounted when it is no longer used. `force`: the same, and calls that
        wait for its server fail.
        """


class KernelMounts:
    """The mounts of this process' namespace."""

    def __init__(self, mountinfo: str = "/proc/self/mountinfo") -> None:
        self._mountinfo = mountinfo
        self._libc = ctypes.CDLL(None, use_errno=True)

    def below(self, path: str) -> tuple[str, ...]:
        # Do not stat the path itself: it may be a dead mount.
        above, name = os.path.split(path)
        root = os.path.join(os.path.realpath(above), name)
        with open(self._mountinfo, "rb") as file:
            content = file.read()
        if _written(root) not in content:
            return ()  # the usual answer; it saves parsing thousands of mounts
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

    def mount(self, source: str, path: str, kind: str, options: str) -> None:
        self._mount(source, path, kind, 0, options)

    def bind(self, source: str, path: str, *, read_only: bool = False) -> None:
        self._mount(source, path, "", MS_BIND, "")
        if not read_only:
            return
        kept = os.statvfs(path).f_flag
        flags = sum(flag for said, flag in _KEPT_FLAGS.items() if kept & said)
        try:
            self._mount("", path, "", MS_BIND | MS_REMOUNT | MS_RDONLY | flags, "")
        except OSError:
            self.unmount(path)  # better no mount than a writable one
            raise

    def make_shared(self, path: str) -> bool:
        path = os.path.realpath(path)
        with open(self._mountinfo, "rb") as file:
            if is_shared(file.read(), path):
                return False
        self._mount(path, path, "", MS_BIND | MS_REC, "")
        self._mount("", path, "", MS_SHARED | MS_REC, "")
        return True

    def unmount(self, path: str, *, detach: bool = False, force: bool = False) -> None:
        if force:
            # Only ends what waits; whether it unmounts as well does not matter.
            self._libc.umount2(os.fsencode(path), UMOUNT_NOFOLLOW | MNT_FORCE)
        if self._libc.umount2(os.fsencode(path), UMOUNT_NOFOLLOW | (MNT_DETACH if detach or force else 0)) != 0:
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


def is_shared(mountinfo: bytes, path: str) -> bool:
    """Whether the mount that contains `path` is shared, so that mounts made in it propagate.

    `path` has no links.
    """
    shared, depth = False, -1
    for line in mountinfo.splitlines():
        fields = line.split(b" ")
        if len(fields) <= 6:
            continue
        point = os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match.group(1), 8)]), fields[4]))
        inside = path == point or path.startswith(point if point == "/" else f"{point}/")
        if inside and len(point) >= depth:
            optional = fields[6 : fields.index(b"-", 6)] if b"-" in fields[6:] else []
            shared, depth = any(each.startswith(b"shared:") for each in optional), len(point)
    return shared
