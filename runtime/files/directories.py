"""Makes directories with all missing parents, each with the requested mode.

`os.makedirs` gives its mode only to the last directory, and the umask reduces it. Here every new directory has the
mode. Existing directories keep theirs, and may be links, such as /var/run. Below the first new directory no link is
followed: another process may have put one in its place. Calls may hang on a sick disk and raise OSError.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

Pause = Callable[[str], None]

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def no_pause(step: str) -> None:
    """The `pause` of callers without interference."""


def make_directories(path: str, mode: int, *, pause: Pause = no_pause) -> None:
    """Make the directory and what is missing above it. One that is there is no error.

    `pause`: called before each step, for tests that interfere.
    """
    missing: list[str] = []
    above = os.path.abspath(path)
    while True:
        try:
            directory = os.open(above, _PLACE)
            break
        except FileNotFoundError:
            if os.path.islink(above):
                raise FileExistsError(errno.EEXIST, "it is a link that leads nowhere", above) from None
            above, name = os.path.split(above)
            missing.append(name)
    try:
        for name in reversed(missing):
            pause(f"make {name}")
            below = make_directory_in(directory, name, mode)
            os.close(directory)
            directory = below
    except OSError as failure:
        failure.filename = path
        raise
    finally:
        os.close(directory)


def make_directory_in(directory: int, name: str, mode: int) -> int:
    """A descriptor of the directory of that name in an open one; made with this mode where it is missing.

    Raises OSError for a link or a file that is there instead.
    """
    try:
        os.mkdir(name, mode, dir_fd=directory)
        is_new = True
    except FileExistsError:
        is_new = False  # somebody was faster; it is looked at like anything else
    if is_new:
        set_new_mode(directory, name, mode)
    return os.open(name, _OPEN, dir_fd=directory)


def make_file(path: str, mode: int, *, pause: Pause = no_pause) -> None:
    """Make an empty file in a directory that is there.

    Raises FileExistsError for anything that stands there, a link too.
    """
    above, name = os.path.split(path)
    directory = os.open(above or ".", _PLACE)
    try:
        pause(f"make {name}")
        made = os.open(name, _NEW_FILE, mode, dir_fd=directory)
    except OSError as failure:
        failure.filename = path
        raise
    finally:
        os.close(directory)
    try:
        os.fchmod(made, mode)
    finally:
        os.close(made)


def set_new_mode(directory: int, name: str, mode: int) -> None:
    """Give a new directory what the umask has taken.

    One that was put in its place meanwhile keeps its mode.
    """
    try:
        made = os.open(name, _OPEN, dir_fd=directory)
    except OSError:
        return
    try:
        info = os.fstat(made)
        if stat.S_IMODE(info.st_mode) != mode and info.st_uid == os.geteuid() and not os.listdir(made):
            os.fchmod(made, mode)
    finally:
        os.close(made)
