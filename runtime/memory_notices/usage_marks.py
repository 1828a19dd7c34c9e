"""`UsageMarks`: notices of cgroup v1, when the usage of a group crosses a mark, up or down.

The kernel's usage includes the page cache, which does not count as used while nobody reads it. So the mark is raised by
the present size of that cache, and must be renewed when the cache grows or shrinks. A signal is an eventfd, watched on
an existing loop.
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
"""A smaller move does not renew a mark."""


class UsageMarks:
    """`MemoryWatch` of cgroup v1.

    `root`: of the file system. `pods`: possible paths of the cgroup of all pods.
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
            before.close()  # the kernel drops its marks with it
        return problems

    def close(self) -> None:
        with self._lock:  # otherwise `renew` could open a descriptor after this that is never closed
            self._closed = True
            if self._watch is not None:
                self._watch.close()

    def usages(self) -> dict[str, list[int]]:
        """The usages to signal, in bytes, by the directory of the group. A group without a limit has none."""
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
    """The usage at which a group of that size crosses the mark."""
    return max(0, size_bytes - mark.left_of(size_bytes) + idle_cache_bytes)


def _register(group: str, signal: int, usages: list[int]) -> str:
    """Register the marks. Returns why the kernel refused, or empty."""
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
