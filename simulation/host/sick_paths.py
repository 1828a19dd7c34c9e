"""Faults of named paths of a file system: operations on them fail or hang until they are healed.

A hanging operation uses the simulated lanes' way: `gate` returns a promise instead of the result. `heal` runs the
operation and keeps the promise.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from actors.kernel.promise import Promise
from simulation.host.file_paths import lies_in, normal

T = TypeVar("T")


class SickPaths:
    """Operations run one at a time."""

    def __init__(self) -> None:
        self._failing: dict[str, int] = {}
        self._hanging: dict[str, list[tuple[Promise[Any], Callable[[], Any]]]] = {}
        self._lock = threading.RLock()

    def gate(self, path: str, operation: Callable[[], T]) -> T:
        """Run `operation`, which touches `path`.

        With a fault on the path, raise, or return a promise of the result.
        """
        if self._failing or self._hanging:
            return self.gate_all((path,), operation)
        with self._lock:
            return operation()

    def gate_all(self, paths: Iterable[str], operation: Callable[[], T]) -> T:
        """Like `gate`, for an operation that touches several paths: the first one with a fault decides.

        Without any fault, it looks at no path.
        """
        with self._lock:
            for path in map(normal, paths) if self._failing or self._hanging else ():
                for prefix, number in self._failing.items():
                    if lies_in(path, prefix):
                        raise OSError(number, os.strerror(number), path)
                for prefix, waiting in self._hanging.items():
                    if lies_in(path, prefix):
                        promise: Promise[Any] = Promise()
                        waiting.append((promise, operation))
                        return promise  # type: ignore[return-value]  # what the simulated lane takes for a hang
            return operation()

    def fail(self, path: str, number: int = errno.EIO) -> None:
        """Everything at and below `path` fails with this errno from now on."""
        self._failing[normal(path)] = number

    def hang(self, path: str) -> None:
        """Everything at and below `path` hangs from now on."""
        self._hanging.setdefault(normal(path), [])

    def release_hanging(self, path: str) -> list[tuple[Promise[Any], Callable[[], Any]]]:
        """Let new calls through again. Return the calls that hang; the caller decides when they end."""
        with self._lock:
            return self._hanging.pop(normal(path), [])

    def heal(self, path: str) -> None:
        """End the fault on `path`, and run what hung there."""
        path = normal(path)
        with self._lock:
            self._failing.pop(path, None)
            waiting = self._hanging.pop(path, [])
        for promise, operation in waiting:
            if promise.done():
                continue
            try:
                result = operation()
            except OSError as error:
                promise.set_exception(error)
                continue
            if isinstance(result, Promise):  # another part of the operation hangs elsewhere
                result.add_done_callback(partial(_copy, promise))
            else:
                promise.set_result(result)


def _copy(promise: Promise[Any], ended: Promise[Any]) -> None:
    error = ended.exception()
    if error is None:
        promise.set_result(ended.result())
    else:
        promise.set_exception(error)
