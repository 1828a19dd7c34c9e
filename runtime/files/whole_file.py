"""Writes files as a whole: after a crash they have the new content or the old.

It is the one way to replace a file, a kubeconfig beside the files of other users included. The content goes into a new
file beside the old one, whose name nobody can guess (`O_EXCL`, no link followed), and takes its place by one rename.
Both happen in the directory that was opened first, even if its path leads elsewhere by now.

The new file stays locked while it is written. A crash can leave it behind; the next write in its directory removes
unlocked ones of ours. All calls may hang on a sick disk and raise OSError.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEFT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PARTIAL = re.compile(r"\.actorlet-[0-9a-f]{32}\.new", re.ASCII)


def write_whole(path: str, content: bytes, *, mode: int = 0o600, lasting: bool = True) -> None:
    """Give a file this content and mode, whatever the umask; its directory is there.

    A link that stands at `path` is replaced, not followed. `lasting`: it outlives a crash of the machine, too, once
    this returns.
    """
    with _opened_above(path) as (directory, name):
        _remove_partials(directory)
        partial, descriptor = _make_partial(directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(content)
                file.flush()
                if lasting:
                    os.fsync(descriptor)
                os.rename(partial, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial, dir_fd=directory)
            raise
        if lasting:
            os.fsync(directory)


def link_whole(path: str, target: str) -> None:
    """Make, or turn in one moment, the symbolic link at `path`; its directory is there."""
    with _opened_above(path) as (directory, name):
        aside = _new_name()
        os.symlink(target, aside, dir_fd=directory)
        try:
            os.rename(aside, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError:
            os.unlink(aside, dir_fd=directory)
            raise


def remove_partials(directory: str) -> None:
    """Remove what writers that died have left in a directory, for those who must remove the directory."""
    descriptor = os.open(directory, _DIRECTORY)
    try:
        _remove_partials(descriptor)
    finally:
        os.close(descriptor)


def settle(directory: str) -> None:
    """Make names in a directory, come or gone, outlive a crash of the machine."""
    descriptor = os.open(directory, _DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_above(path: str) -> Iterator[tuple[int, str]]:
    """The directory of a file, open, and the name in it. Errors name the file."""
    try:
        above, name = os.path.split(path)
        directory = os.open(above or ".", _DIRECTORY)
        try:
            yield directory, name
        finally:
            os.close(directory)
    except OSError as failure:
        failure.filename, failure.filename2 = path, None
        raise


def _new_name() -> str:
    return f".actorlet-{os.urandom(16).hex()}.new"


def _make_partial(directory: int) -> tuple[str, int]:
    """Name and descriptor of a new file that this writer holds locked."""
    while True:
        name = _new_name()
        descriptor = os.open(name, _NEW, 0o600, dir_fd=directory)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)  # another writer took it for a leftover before it was locked


def _remove_partials(directory: int) -> None:
    with os.scandir(directory) as entries:
        left = [entry.name for entry in entries if _PARTIAL.fullmatch(entry.name)]
    for name in left:
        with contextlib.suppress(OSError):
            _remove_partial(directory, name)


def _remove_partial(directory: int, name: str) -> None:
    """Remove one partial file of ours, unless its writer still holds it."""
    descriptor = os.open(name, _LEFT, dir_fd=directory)
    try:
        info = os.fstat(descriptor)
        if stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=directory)
    finally:
        os.close(descriptor)
