"""`DirectoryWatch`: inotify on a directory and all below it, on an event loop that runs anyway: it costs no thread.

It says that something has come or gone, and nothing else: whoever hears it looks. Directories that come later are
watched from the next `renew` on, which is called before each look; so nothing that comes is missed, as it is either
seen by the look or told after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import threading
from collections.abc import Callable

from runtime.io.event_loop import LoopThread

_CREATED, _DELETED, _SELF_DELETED, _SELF_MOVED = 0x100, 0x200, 0x400, 0x800
_MOVED_FROM, _MOVED_TO = 0x40, 0x80
_ONLY_DIRECTORIES = 0x01000000
MASK = _CREATED | _DELETED | _SELF_DELETED | _SELF_MOVED | _MOVED_FROM | _MOVED_TO | _ONLY_DIRECTORIES
READ_BYTES = 64 * 1024


class DirectoryWatch:
    """See the module. `on_change` is called on the loop. Names that begin with a dot are passed over."""

    def __init__(self, directory: str, loop: LoopThread, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._loop = loop
        self._on_change = on_change
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._lock = threading.Lock()
        self._descriptor = -1
        self._closed = False

    def renew(self) -> str:
        """Watch the directory, which exists, and all below it as they are now; why that cannot be, or empty."""
        with self._lock:
            if self._closed:
                return "the watch is closed"
            try:
                if self._descriptor < 0:
                    self._begin()
                # What is watched already stays so: the kernel knows directories, not names.
                for directory, below, _ in os.walk(self._directory):
                    below[:] = [name for name in below if not name.startswith(".")]
                    self._add(directory)
            except OSError as failure:
                return f"{self._directory} cannot be watched: {failure.strerror or failure}"
            return ""

    def close(self) -> None:
        """Tell no more."""
        with self._lock:
            self._closed = True
            descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                self._loop.post(lambda: _end(descriptor))
            except RuntimeError:  # the loop has ended before
                os.close(descriptor)

    def _begin(self) -> None:
        descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._descriptor = descriptor
        self._loop.post(lambda: asyncio.get_running_loop().add_reader(descriptor, self._readable, descriptor))

    def _add(self, directory: str) -> None:
        """One that has gone meanwhile is none."""
        if self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), MASK) < 0:
            number = ctypes.get_errno()
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                raise OSError(number, os.strerror(number), directory)

    def _readable(self, descriptor: int) -> None:
        """On the loop. What has happened is not read: everybody looks at all of it."""
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, READ_BYTES)
        if not self._closed:
            self._on_change()


def _end(descriptor: int) -> None:
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)
