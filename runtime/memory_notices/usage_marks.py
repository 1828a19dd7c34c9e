"""`UsageMarks`: notices of cgroup v1, which signals when the usage of a group passes a mark, up or down.

Usage has the cache of files in it, which does not count as used while nobody reads them. So the mark lies above what
is to be left by as much of that cache as there is now, and has to be renewed as the cache grows and shrinks. A signal
is an eventfd; it is watched on a loop that runs anyway.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from runtime.cgroups.names import pods_paths
from runtime.files.descriptor_watch import DescriptorWatch
from runtime.files.text_file import text_or_empty
from runtime.host.machine import memory_sizes
from runtime.io.event_loop import LoopThread
from runtime.memory_notices.capability import MemoryMark
from runtime.stats import kernel_files as files

PODS_PATHS = pods_paths()
GROUPS = "sys/fs/cgroup/memory"
SLACK_BYTES = 1024 * 1024
"""A mark that has moved by less stays where it is."""


class UsageMarks:
    """See the module; `MemoryWatch` of cgroup v1. `root`: of the file system; `pods`: paths that the group of all pods
    may have.
    """

    def __init__(
        self,
        loop: LoopThread,
        marks: tuple[MemoryMark, ...],
        on_short: Callable[[], None],
        root: str = "/",
        *,
        pods: tuple[str, ...] = PODS_PATHS,
    ) -> None:
        self._loop = loop
        self._pods_paths = pods
        self._marks = marks
        self._on_short = on_short
        self._root = root
        self._set: dict[str, list[int]] = {}
        """By group, the usages at which the kernel signals now."""
        self._watch: DescriptorWatch | None = None
        self._lock = threading.Lock()
        self._closed = False

    def renew(self) -> tuple[str, ...]:
        with self._lock:
            return self._renew()

    def _renew(self) -> tuple[str, ...]:
        wanted = self.usages()
        if self._closed or (self._watch is not None and _close_enough(wanted, self._set)):
            return ()
        signal = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        problems = tuple(
            f"{group} cannot be watched: {failure}"
            for group, usages in wanted.items()
            if (failure := _register(group, signal, usages))
        )
        before, self._watch = self._watch, DescriptorWatch(self._loop, signal, lambda: self._signalled(signal))
        self._set = wanted
        self._watch.begin()
        if before is not None:
            before.close()  # the kernel forgets its marks with it
        return problems

    def close(self) -> None:
        with self._lock:  # what is opened meanwhile would be closed by nobody
            self._closed = True
            if self._watch is not None:
                self._watch.close()

    def usages(self) -> dict[str, list[int]]:
        """By the directory of the group, the usages in bytes to be signalled. A group without a limit has none."""
        memory = memory_sizes(self._root).get("MemTotal", 0)
        found: dict[str, list[int]] = {}
        for mark in self._marks:
            group = self._pods() if mark.pods else os.path.join(self._root, GROUPS)
            if not group:
                continue
            limit = files.whole(text_or_empty(os.path.join(group, "memory.limit_in_bytes"))) if mark.pods else memory
            if limit is None or limit > memory:
                continue
            idle = files.flat(text_or_empty(os.path.join(group, "memory.stat"))).get("total_inactive_file", 0)
            found.setdefault(group, []).append(usage_at(mark, limit, idle))
        return found

    def _pods(self) -> str:
        groups = (os.path.join(self._root, GROUPS, name.lstrip("/")) for name in self._pods_paths)
        return next((group for group in groups if os.path.isdir(group)), "")

    def _signalled(self, signal: int) -> None:
        os.eventfd_read(signal)
        self._on_short()


def usage_at(mark: MemoryMark, size_bytes: int, idle_cache_bytes: int) -> int:
    """The usage of a group of that size at which the mark is passed."""
    return max(0, size_bytes - mark.left_of(size_bytes) + idle_cache_bytes)


def _register(group: str, signal: int, usages: list[int]) -> str:
    """Why the kernel will not signal these, or empty."""
    try:
        usage = os.open(os.path.join(group, "memory.usage_in_bytes"), os.O_RDONLY | os.O_CLOEXEC)
        try:
            for each in usages:
                control = os.open(os.path.join(group, "cgroup.event_control"), os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(control, f"{signal} {usage} {each}".encode("ascii"))
                finally:
                    os.close(control)
        finally:
            os.close(usage)  # the kernel keeps what it needs of it
    except OSError as failure:
        return failure.strerror or str(failure)
    return ""


def _close_enough(wanted: dict[str, list[int]], there: dict[str, list[int]]) -> bool:
    return wanted.keys() == there.keys() and all(
        len(usages) == len(there[group])
        and all(abs(one - other) < SLACK_BYTES for one, other in zip(usages, there[group], strict=True))
        for group, usages in wanted.items()
    )
