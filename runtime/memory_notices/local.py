"""`LocalMemoryNotices`: notices of this machine, with either version of cgroups."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cgroups.names import pods_paths
from runtime.host.machine import cgroup_version
from runtime.io.event_loop import LoopThread
from runtime.memory_notices.capability import MemoryMark, MemoryWatch
from runtime.memory_notices.pressure import PressureNotices
from runtime.memory_notices.usage_marks import UsageMarks


class LocalMemoryNotices:
    """`root`: of the file system. `cgroup_root`: the parent of the cgroup of all pods."""

    def __init__(self, loop: LoopThread, root: str = "/", cgroup_root: str = "/") -> None:
        self._loop = loop
        self._pods = pods_paths(cgroup_root)
        self._root = root
        self._watch: MemoryWatch | None = None

    def watch(self, marks: tuple[MemoryMark, ...], on_short: Callable[[], None]) -> MemoryWatch:
        if self._watch is not None:
            self._watch.close()
        kind = PressureNotices if cgroup_version(self._root) == 2 else UsageMarks
        self._watch = kind(self._loop, marks, on_short, self._root, pods=self._pods)
        return self._watch
