"""Walks a directory tree of any depth and breadth by open directories.

Containers write trees that no path can name (PATH_MAX), that no recursion survives, and that change under the walk. So:

- An entry is known by an open directory and a name in it. Nothing is found by a path, and no link is followed.
- At most `HELD_LEVELS` directories are open. Below them only the current one is, and the way back up is `..`, whose
  device and inode must be those that the walk came from. If somebody has moved a directory meanwhile, the walk goes on
  at the deepest open level, and `strayed` says so.
- Entries are read in pieces of a few KiB. A level that is closed is three numbers: its device, its inode, and where
  reading goes on. So memory grows by 24 bytes for each level, and not with the breadth.

`TreeWalk` only walks; who uses it decides what to enter. `remove_tree` is the one way to remove a tree. It enters no
other mount. All calls touch the disk, may hang, and raise OSError.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

HELD_LEVELS = 32
BATCH_BYTES = 8192
STUCK_AT_MOST = 8
"""After so many tries without progress to empty a directory, its removal fails."""

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UP_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_HEAD = struct.Struct("=QqHB")
_MAYBE_DIRECTORIES = (0, 4)
"""Types of entries that may be directories: unknown, and directory."""
_ALL_BITS = (1 << 64) - 1
_FULL = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY)

_libc = ctypes.CDLL(None, use_errno=True)
_read_entries = getattr(_libc, "getdents64", None) or _libc.getdents  # musl has the second only
_read_entries.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_read_entries.restype = ctypes.c_ssize_t


class OtherMountError(PermissionError):
    """A part of the tree lies on another mount, which is never touched."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EXDEV, "it is another file system; it is not touched", path)


class TreeEntry(NamedTuple):
    """An entry of `TreeWalk.directory`. `may_be_directory`: False where the disk says that it is none.

    `again`: the walk was in it and has come back.
    """

    name: bytes
    may_be_directory: bool
    again: bool = False


class _Level:
    """One open directory and its last read entries."""

    __slots__ = ("again", "at", "batch", "descriptor", "index", "start")

    def __init__(self, descriptor: int, start: int = 0, *, again: bool = False) -> None:
        self.descriptor = descriptor
        self.start = start
        """Where the batch begins."""
        self.batch: list[tuple[bytes, int, int]] = []
        """Name, kind, and where the next entry begins."""
        self.index = 0
        self.at = start
        """Where the entry that was given last begins."""
        self.again = again
        """The next entry was given before."""


class TreeWalk:
    """Iterates over all entries below an open directory; the caller closes that, and the walk itself.

    `come_back`: an entry that was entered is given once more after all that is in it.
    """

    def __init__(self, root: int, *, come_back: bool = False) -> None:
        self._come_back = come_back
        self._held = [_Level(root)]
        self._level = self._held[0]
        """The current one: the last that is held, or one below it."""
        self._passed = array("Q")
        """Device, inode and place to go on of each level between those two, the deepest last."""
        self._buffer = ctypes.create_string_buffer(BATCH_BYTES)
        self.strayed = False
        """A directory was moved while the walk was in it, so entries may be missing."""

    @property
    def directory(self) -> int:
        """The open directory of the entry that was given last."""
        return self._level.descriptor

    def __iter__(self) -> Iterator[TreeEntry]:
        while True:
            entry = self._next()
            if entry is not None:
                yield entry
            elif not self._go_up():
                return

    def enter(self, descriptor: int) -> None:
        """Go on in the directory of the entry that was given last. The walk closes the descriptor."""
        here = self._level
        self._level = _Level(descriptor)
        if len(self._held) < HELD_LEVELS:
            self._held.append(self._level)
        elif here is not self._held[-1]:
            info = os.fstat(here.descriptor)
            place = here.at if self._come_back else here.batch[here.index - 1][2]
            self._passed.extend((info.st_dev, info.st_ino, place & _ALL_BITS))
            os.close(here.descriptor)

    def close(self) -> None:
        """Close what the walk has opened."""
        if self._level is not self._held[-1]:
            os.close(self._level.descriptor)
        while len(self._held) > 1:
            os.close(self._held.pop().descriptor)
        self._level = self._held[0]

    def _next(self) -> TreeEntry | None:
        level = self._level
        if level.index >= len(level.batch):
            start = level.batch[-1][2] if level.batch else level.start
            batch = self._read(level.descriptor, start)
            if not batch:
                return None
            level.start, level.batch, level.index = start, batch, 0
        name, kind, _ = level.batch[level.index]
        level.at = level.batch[level.index - 1][2] if level.index else level.start
        level.index += 1
        again, level.again = level.again, False
        return TreeEntry(name, kind in _MAYBE_DIRECTORIES, again)

    def _go_up(self) -> bool:
        if len(self._held) == 1 and self._level is self._held[0]:
            return False
        below = self._level
        if below is self._held[-1]:
            self._held.pop()
        try:
            self._level = (self._opened_above(below.descriptor) if self._passed else None) or self._resumed()
        finally:
            os.close(below.descriptor)
        return True

    def _resumed(self) -> _Level:
        """The deepest level that is open, where it was left."""
        level = self._held[-1]
        if self._come_back:
            level.index -= 1
            level.again = True
        return level

    def _opened_above(self, below: int) -> _Level | None:
        """The directory above, opened anew where it was left; None when it is another one than before."""
        place, inode, device = (self._passed.pop() for _ in range(3))
        with contextlib.suppress(OSError):
            above = os.open("..", _UP_FLAGS, dir_fd=below)
            info = os.fstat(above)
            if (info.st_dev, info.st_ino) == (device, inode):
                return _Level(above, place - (place >> 63 << 64), again=self._come_back)
            os.close(above)
        self.strayed = True
        del self._passed[:]
        return None

    def _read(self, descriptor: int, start: int) -> list[tuple[bytes, int, int]]:
        """The next entries from there on; none at the end."""
        os.lseek(descriptor, start, os.SEEK_SET)
        while True:
            size = _read_entries(descriptor, self._buffer, BATCH_BYTES)
            if size < 0:
                number = ctypes.get_errno()
                if number != errno.ENOENT:  # the directory itself was removed
                    raise OSError(number, os.strerror(number), shown(descriptor))
            if size <= 0:
                return []
            if found := _parsed(self._buffer.raw[:size]):
                return found


def _parsed(data: bytes) -> list[tuple[bytes, int, int]]:
    """The kernel's `struct linux_dirent64`s, without `.` and `..`."""
    found: list[tuple[bytes, int, int]] = []
    at = 0
    while at < len(data):
        _, following, length, kind = _HEAD.unpack_from(data, at)
        name = data[at + _HEAD.size : data.index(b"\0", at + _HEAD.size)]
        if name not in (b".", b".."):
            found.append((name, kind, following))
        at += length
    return found


def shown(directory: int, name: bytes = b"") -> str:
    """The path of an entry of an open directory, for people; only its end where it is too long for a path."""
    try:
        path = os.readlink(f"/proc/self/fd/{directory}")
    except OSError:
        path = "..."
    return f"{path}/{os.fsdecode(name)}" if name else path


def mount_of(descriptor: int) -> bytes:
    """The mount of an open file or directory.

    A bind mount has its source's device number, so that cannot tell.
    """
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        return next(line for line in file if line.startswith(b"mnt_id:"))


# --- removal ----------------------------------------------------------------------------------------------------------


def remove_tree(path: str) -> None:
    """Remove the file or the whole directory at `path`.

    A missing path is no error.

    Everything must be on the same mount as the parent directory. Raises OtherMountError, OSError.
    """
    try:
        above = os.open(os.path.dirname(path) or ".", _UP_FLAGS)
    except FileNotFoundError:
        return
    try:
        _remove(above, os.path.basename(path), path)
    finally:
        os.close(above)


def _remove(above: int, name: str, path: str) -> None:
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=above)
            return
        top = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except FileNotFoundError:
        return
    try:
        mount = mount_of(above)
        if mount_of(top) != mount:
            raise OtherMountError(path)
        while True:
            removed = _empty(top, mount)
            try:
                os.rmdir(name, dir_fd=above)
            except FileNotFoundError:
                return
            except OSError as failure:
                # What came in meanwhile, or what a directory that changes under the reader did not show.
                if failure.errno not in _FULL or not removed:
                    failure.filename = path
                    raise
            else:
                return
    finally:
        os.close(top)


def _empty(top: int, mount: bytes) -> int:
    """Remove all that is in an open directory; how many entries that were."""
    removed = removed_before = stuck = 0
    with contextlib.closing(TreeWalk(top, come_back=True)) as walk:
        for entry in walk:
            if _remove_entry(walk.directory, entry):
                removed += 1
                continue
            if entry.again:
                stuck = stuck + 1 if removed == removed_before else 0
                removed_before = removed
                if stuck >= STUCK_AT_MOST:
                    path = shown(walk.directory, entry.name)
                    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
            try:
                below = os.open(entry.name, DIRECTORY_FLAGS, dir_fd=walk.directory)
            except FileNotFoundError:
                continue
            if mount_of(below) != mount:
                os.close(below)
                raise OtherMountError(shown(walk.directory, entry.name))
            walk.enter(below)
    return removed


def _remove_entry(directory: int, entry: TreeEntry) -> bool:
    """Remove a file, a link, or an empty directory; False for one that is not empty, or is a mount point."""
    try:
        if entry.may_be_directory:
            os.rmdir(entry.name, dir_fd=directory)
        else:
            os.unlink(entry.name, dir_fd=directory)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        os.unlink(entry.name, dir_fd=directory)
    except IsADirectoryError:
        return False
    except OSError as failure:
        if failure.errno in _FULL and entry.may_be_directory:
            return False
        failure.filename = shown(directory, entry.name)
        raise
    return True
