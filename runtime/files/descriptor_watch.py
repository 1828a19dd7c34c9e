"""`DescriptorWatch`: tells a running event loop when a file of the kernel can be read.

It costs no thread. The callback reads the file.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

from runtime.io.event_loop import LoopThread


class DescriptorWatch:
    """Calls `on_ready` on the loop whenever `descriptor` can be read, from `begin` to `close`.

    `close` also closes the descriptor.

    `on_closed` comes last of all, when nothing is called any more. The descriptor does not block, and `poll` knows it:
    a plain file is none such.
    """

    def __init__(
        self,
        loop: LoopThread,
        descriptor: int,
        on_ready: Callable[[], None],
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_ready = on_ready
        self._on_closed = on_closed
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
        os.close(self._descriptor)
        self._on_closed()
