"""Opening what lies beneath a directory, and nothing else, whatever links lie on the way.

The path is walked part by part from an open directory, so that nobody who moves things meanwhile leads the walk astray.
A link is followed where its target lies beneath the root as well, written relative to itself or as a path that begins
with the root's; every other link is refused (PermissionError). Calls touch the disk and may hang. Raises OSError.
"""

from __future__ import annotations

import errno
import os
import stat

LINKS_AT_MOST = 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ENTER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_beneath(root: str, path: str) -> int:
    """A descriptor of the file or directory at `path`, relative to `root`, for reading."""
    root = os.path.realpath(root)
    left = [part for part in path.split("/") if part not in ("", ".")]
    way: list[int] = [os.open(root, _ENTER)]
    links = 0
    try:
        while left:
            part = left.pop(0)
            if part == "..":
                _up(way, path)
                continue
            target = _link(part, way[-1])
            if target is None:
                way.append(os.open(part, _OPEN, dir_fd=way[-1]))
                continue
            links += 1
            if links > LINKS_AT_MOST:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                target = _relative(target, root, path)
                while len(way) > 1:
                    os.close(way.pop())
            left = [each for each in target.split("/") if each not in ("", ".")] + left
        return way.pop()
    finally:
        for each in way:
            os.close(each)


def is_directory(descriptor: int) -> bool:
    """Whether it is one. Raises PermissionError for what is neither directory nor plain file."""
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise PermissionError(errno.EACCES, "it is neither a plain file nor a directory")
    return stat.S_ISDIR(mode)


def _up(way: list[int], path: str) -> None:
    if len(way) == 1:
        raise PermissionError(errno.EACCES, "it leads out of the directory", path)
    os.close(way.pop())


def _link(name: str, directory: int) -> str | None:
    """Where the link leads; None when it is none."""
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _relative(target: str, root: str, path: str) -> str:
    if target != root and not target.startswith(f"{root}/"):
        raise PermissionError(errno.EACCES, "it leads out of the directory", path)
    return target[len(root) :]
