"""`KernelOomLog`: OOM kills in the kernel's log, `/dev/kmsg`.

Every read gives one record, `priority,number,microseconds,flags;text`, and lines of details that begin with a blank.
Only records of the kernel itself count: any process with access may write to the device. Reading begins with the next
record, so that a restarted agent does not report old kills again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from runtime.files.descriptor_watch import DescriptorWatch
from runtime.io.event_loop import LoopThread
from runtime.io.pending import Subscription
from runtime.oom.capability import OomKill
from runtime.oom.lines import MARKS, OomLines

DEVICE = "/dev/kmsg"
READ_BYTES = 16 * 1024
"""Longer than any record."""
AT_ONCE = 256
"""Records to read before other work of the loop gets its turn."""
_FACILITY_SHIFT = 3
_OF_THE_KERNEL = 0


class KernelOomLog:
    """`device` may be a pipe."""

    def __init__(self, loop: LoopThread, device: str = DEVICE) -> None:
        self._loop = loop
        self._device = device
        self._follower: DescriptorWatch | None = None

    def follow(self, on_kill: Callable[[OomKill], None], on_end: Callable[[str], None]) -> Subscription:
        descriptor = os.open(self._device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # a pipe has no old records
            os.lseek(descriptor, 0, os.SEEK_END)
        if self._follower is not None:
            self._follower.close()
        self._follower = _Reader(self._loop, descriptor, on_kill, on_end).watch
        self._follower.begin()
        return self._follower


class _Reader:
    def __init__(
        self, loop: LoopThread, descriptor: int, on_kill: Callable[[OomKill], None], on_end: Callable[[str], None]
    ) -> None:
        self._descriptor = descriptor
        self._on_kill = on_kill
        self._on_end = on_end
        self._lines = OomLines()
        self.watch = DescriptorWatch(loop, descriptor, self._read)

    def _read(self) -> None:
        for _ in range(AT_ONCE):
            try:
                content = os.read(self._descriptor, READ_BYTES)
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # records were overwritten before they could be read; the next read gives those after them
            except OSError as failure:
                self._end(failure.strerror or str(failure))
                return
            if not content:
                self._end("it has ended")
                return
            for text in kernel_texts(content):
                kill = self._lines.told(text)
                if kill is not None:
                    self._on_kill(kill)

    def _end(self, reason: str) -> None:
        self.watch.close()
        self._on_end(reason)


def kernel_texts(content: bytes) -> list[str]:
    """The texts of the kernel's own records that may report a kill."""
    if not any(mark in content for mark in MARKS):
        return []
    found = []
    for line in content.splitlines():
        prefix, semicolon, text = line.partition(b";")
        priority = prefix.partition(b",")[0]
        if semicolon and priority.isdigit() and int(priority) >> _FACILITY_SHIFT == _OF_THE_KERNEL:
            found.append(text.decode("utf-8", errors="replace"))
    return found
