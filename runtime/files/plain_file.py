"""Opens plain files at paths where containers may have put something else.

Looking at a name must not touch the file. Opening a device may reset it (a watchdog then restarts the machine), and
opening a pipe wakes its writer. So the file is first opened with O_PATH, which only tells what it is, and then opened
through that descriptor: no other file can take its place between the two. No link is followed.
"""

from __future__ import annotations

import errno
import os
import stat

_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def open_plain(path: str, *, dir_fd: int | None = None) -> int:
    """A descriptor for reading, of a plain file.

    Raises OSError: ELOOP for a link, EINVAL for anything else.
    """
    place = os.open(path, _LOOK, dir_fd=dir_fd)
    try:
        mode = os.fstat(place).st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, "it is a link", path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a plain file", path)
        return os.open(f"/proc/self/fd/{place}", _READ)
    finally:
        os.close(place)
