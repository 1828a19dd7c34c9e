"""Finds files beneath a directory, and nothing else, whatever links are on the way.

Theory of operation. A process that can write beneath the directory may put a symbolic link into the path, even between
a check and its use. So the path is walked one component at a time by open directories, and no component is followed
when it is opened. The target of a link is read and walked in the same way, from the directory of the link. `..` goes
back to the directory that the walk came from, even if it was moved meanwhile. A link that leads out is refused. The
result is the open descriptor, whatever the name means later.

Calls touch the disk and may hang. They raise OSError; `LeadsOutError` for a path that leads out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque

from runtime.files.directories import Pause, no_pause, set_new_mode

LINKS_AT_MOST = 40
DEPTH_AT_MOST = 256
"""Every directory on the way stays open, so the number of directories needs a limit."""
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class LeadsOutError(PermissionError):
    """A link on the way leads out of the directory."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EACCES, "it leads out of the directory", path)


def open_beneath(root: str, path: str) -> int:
    """A descriptor of the plain file or directory at `path`, relative to `root`, for reading.

    Links may say where they lead by a path that begins with the root's, too.
    """
    place = find_beneath(root, path, by_root=True)
    try:
        is_directory(place)  # before it is opened: opening a device may do something
        return os.open(f"/proc/self/fd/{place}", _READ)
    finally:
        os.close(place)


def find_beneath(
    root: str, path: str, *, by_root: bool = False, make_mode: int | None = None, pause: Pause = no_pause
) -> int:
    """A descriptor that says what is at `path` and serves for nothing else (O_PATH).

    It may be of any kind but a link.

    `by_root`: as for `open_beneath`; otherwise a link that is no relative path leads out. `make_mode`: what is missing
    is made, as directories of this mode. `pause`: called before each step, for tests that interfere.
    """
    root = os.path.realpath(root)
    way = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    ahead = deque(path.split("/"))
    links = 0
    try:
        while ahead:
            name = ahead.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                _up(way, path)
                continue
            if len(way) > DEPTH_AT_MOST:
                why = f"it leads through more than {DEPTH_AT_MOST} directories"
                raise OSError(errno.ENAMETOOLONG, why, path)
            pause(name)
            found = _find(way[-1], name, make_mode, pause)
            if not stat.S_ISLNK(os.fstat(found).st_mode):
                way.append(found)
                continue
            target = _target(found)
            links += 1
            if links > LINKS_AT_MOST:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                target = _relative(target, root if by_root else None, path)
                while len(way) > 1:
                    os.close(way.pop())
            ahead.extendleft(reversed(target.split("/")))
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
        raise LeadsOutError(path)
    os.close(way.pop())


def _target(link: int) -> str:
    """The target of an open link. The link is closed."""
    try:
        return os.readlink("", dir_fd=link)
    finally:
        os.close(link)


def _relative(target: str, root: str | None, path: str) -> str:
    if root is None or (target != root and not target.startswith(f"{root}/")):
        raise LeadsOutError(path)
    return target[len(root) :]


def _find(directory: int, name: str, make_mode: int | None, pause: Pause) -> int:
    """Open the entry of that name without following a link; make a missing directory if allowed."""
    try:
        return os.open(name, _LOOK, dir_fd=directory)
    except FileNotFoundError:
        if make_mode is None:
            raise
    try:
        os.mkdir(name, make_mode, dir_fd=directory)
    except FileExistsError:
        pass  # somebody was faster; whatever it is, it is looked at like anything else
    else:
        pause(f"made {name}")
        set_new_mode(directory, name, make_mode)
    return os.open(name, _LOOK, dir_fd=directory)
