"""`DescriptorWatch`: a file of the kernel that has something to say now and then, on an event loop that runs anyway.

It costs no thread. What can be read there, and how, is the business of who is called.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

from runtime.event_loop import LoopThread


class DescriptorWatch:
    """Calls `on_ready` on the loop whenever `descriptor` can be read, from `begin` to `close`, which closes it as well,
    and `others` with it.

    The descriptor does not block, and `poll` knows it: a plain file is none such.
    """

    def __init__(
        self, loop: LoopThread, descriptor: int, on_ready: Callable[[], None], others: tuple[int, ...] = ()
    ) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_ready = on_ready
        self._others = others
        self._lock = threading.Lock()
        self._closed = False

    def begin(self) -> None:
        """Once, on any thread."""
        self._loop.post(self._add)

    def close(self) -> None:
        """Call no more, except for a call that has begun. May be done more than once, on any thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        try:
            self._loop.post(self._end)
        except RuntimeError:  # the loop has ended before
            self._release()

    def _add(self) -> None:
        if not self._closed:
            asyncio.get_running_loop().add_reader(self._descriptor, self._ready)

    def _ready(self) -> None:
        if not self._closed:
            self._on_ready()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self._release()

    def _release(self) -> None:
        for each in (self._descriptor, *self._others):
            os.close(each)
