"""A directory that lives as long as its process.

When the process is killed, the next one removes it.

Each holds a file that its process keeps locked (`flock` ends with the process). Before a new directory is made,
unlocked ones of the same user and prefix are removed. Only making a directory can fail (OSError, LockFileError);
leftovers that cannot be removed stay.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from runtime.files.lock_file import LockFile, LockFileError
from runtime.files.tree import remove_tree

LOCK = ".lock"


@contextmanager
def passing_directory(prefix: str, parent: str = "") -> Iterator[str]:
    """A new directory, only for this user, as long as the context lasts. `parent` empty: the system's."""
    parent = parent or tempfile.gettempdir()
    remove_leftovers(prefix, parent)
    while True:
        path = tempfile.mkdtemp(prefix=prefix, dir=parent)
        with closing(LockFile(os.path.join(path, LOCK))) as lock:
            try:
                # Another one that looks for leftovers may have been quicker than we are with our lock.
                held = lock.try_acquire() and os.path.exists(lock.path)
            except LockFileError:
                if os.path.exists(path):
                    raise
                held = False
            if not held:
                continue
            try:
                yield path
            finally:
                _remove(path)
            return


def remove_leftovers(prefix: str, parent: str) -> tuple[str, ...]:
    """Remove what dead processes have left; its paths."""
    removed = []
    for name in sorted(os.listdir(parent)):
        path = os.path.join(parent, name)
        if not name.startswith(prefix) or not _is_ours(path) or not os.path.exists(os.path.join(path, LOCK)):
            continue
        with closing(LockFile(os.path.join(path, LOCK))) as lock:
            try:
                if lock.try_acquire():
                    _remove(path)
                    removed.append(path)
            except LockFileError:
                continue
    return tuple(removed)


def _remove(path: str) -> None:
    with suppress(OSError):
        remove_tree(path)


def _is_ours(path: str) -> bool:
    """A directory of this user, and no link to one: the parent is open to everybody."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
