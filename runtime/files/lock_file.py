"""`--lock-file`: one agent at a time (spec 12.3).

With `--exit-on-lock-contention` the older one makes way.

The lock is `flock`, so it ends with the process. Another agent that wants it opens or removes the file, and a watch on
the file shows that.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable

from watchdog.events import FileDeletedEvent, FileMovedEvent, FileOpenedEvent, FileSystemEvent

from runtime.files.watch import FileWatch


class LockFileError(Exception):
    """The file cannot be opened or watched; the text says why."""


class LockFile:
    """Holds `path` locked from `try_acquire` (when it gives True) until `close`."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._descriptor: int | None = None
        self._watch: FileWatch | None = None

    def try_acquire(self) -> bool:
        """False when another process holds it. Raises LockFileError."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise LockFileError(f"--lock-file: {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def on_contention(self, call: Callable[[], None]) -> None:
        """Call, on another thread, each time somebody opens or removes the file. Raises LockFileError."""
        name = os.path.basename(self.path)

        def changed(event: FileSystemEvent) -> None:
            if os.path.basename(os.fsdecode(event.src_path)) == name:
                call()

        watch = FileWatch(changed, kinds=(FileOpenedEvent, FileDeletedEvent, FileMovedEvent))
        try:
            watch.move_to(os.path.dirname(self.path))
        except OSError as error:
            raise LockFileError(f"--exit-on-lock-contention: {self.path} cannot be watched: {error}") from None
        self._watch = watch

    def close(self) -> None:
        """Watch no more and let the lock go; the file stays, as others may wait on it."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
