"""`PressureNotices`: notices of short memory with cgroup v2.

cgroup v2 has no thresholds for usage. But the kernel signals that processes waited for memory (PSI) for a part of a
second, and it changes `memory.events` of a group at its limit. Neither is the threshold of an eviction; at both the
eviction manager looks. The PSI trigger is a descriptor, watched on an existing loop; the file has a `FileWatch`.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable

from watchdog.events import FileModifiedEvent

from runtime.cgroups.names import pods_paths
from runtime.files.descriptor_watch import DescriptorWatch
from runtime.files.watch import FileWatch
from runtime.io.event_loop import LoopThread
from runtime.memory_notices.capability import MemoryMark

PRESSURE = "proc/pressure/memory"
PODS_PATHS = pods_paths()
GROUPS = "sys/fs/cgroup"
STALL_US, WINDOW_US = 300_000, 2_000_000
"""The trigger: a process has waited for STALL_US within WINDOW_US.

The share is that of the kernel's own example, well above the noise. Shorter windows need CAP_SYS_RESOURCE.
"""


class PressureNotices:
    """`MemoryWatch` of cgroup v2.

    `root`: of the file system. `pods`: possible paths of the cgroup of all pods.
    """

    def __init__(
        self,
        loop: LoopThread,
        marks: tuple[MemoryMark, ...],
        on_short: Callable[[], None],
        root: str = "/",
        stall_us: int = STALL_US,
        *,
        pods: tuple[str, ...] = PODS_PATHS,
    ) -> None:
        self._pods_paths = pods
        self._on_short = on_short
        self._root = root
        self._stall_us = stall_us
        self._of_machine = any(not mark.pods for mark in marks)
        self._of_pods = any(mark.pods for mark in marks)
        self._trigger = -1
        self._held = -1
        """`memory.events`, kept open: the kernel reports changes only of files that are in its cache."""
        with contextlib.ExitStack() as undo:
            self._epoll = select.epoll()
            undo.callback(self._epoll.close)
            # The watch closes a descriptor of its own; the set is closed once nobody polls it any more.
            self._watch = DescriptorWatch(loop, os.dup(self._epoll.fileno()), self._told, self._release)
            undo.pop_all()
        self._events = FileWatch(lambda _: on_short(), kinds=(FileModifiedEvent,))
        self._lock = threading.Lock()
        self._begun = self._closed = False

    def renew(self) -> tuple[str, ...]:
        with self._lock:
            return self._renew()

    def _renew(self) -> tuple[str, ...]:
        if self._closed:
            return ()
        problems = []
        if self._of_machine and self._trigger < 0:
            problems += self._pull_trigger()
        if self._of_pods:
            problems += self._follow_pods()
        if not self._begun:
            self._begun = True
            self._watch.begin()
        return tuple(problems)

    def close(self) -> None:
        with self._lock:  # otherwise `renew` could open a descriptor after this that is never closed
            self._closed = True
        self._events.close()
        self._watch.close()

    def _release(self) -> None:
        self._epoll.close()
        for each in (self._trigger, self._held):
            if each >= 0:
                os.close(each)

    def _pull_trigger(self) -> list[str]:
        path = os.path.join(self._root, PRESSURE)
        descriptor = -1
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            os.write(descriptor, f"some {self._stall_us} {WINDOW_US}\0".encode("ascii"))
            self._epoll.register(descriptor, select.EPOLLPRI)
        except OSError as failure:
            if descriptor >= 0:
                os.close(descriptor)
            return [f"the kernel does not tell when processes wait for memory: {path}: {failure.strerror or failure}"]
        self._trigger = descriptor
        return []

    def _follow_pods(self) -> list[str]:
        """Watch the cgroup of all pods, which may be created later or anew."""
        groups = (os.path.join(self._root, GROUPS, name.lstrip("/"), "memory.events") for name in self._pods_paths)
        path = next((path for path in groups if os.path.exists(path)), "")
        if not path:
            return []
        before = self._held
        try:
            self._held = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._events.move_to(path)
        except OSError as failure:
            return [f"{path} cannot be watched: {failure.strerror or failure}"]
        finally:
            if self._held != before and before >= 0:
                os.close(before)
        return []

    def _told(self) -> None:
        """The kernel has reported pressure. Runs on the loop."""
        for descriptor, event in self._epoll.poll(0):
            if event & (select.EPOLLERR | select.EPOLLHUP):
                self._epoll.unregister(descriptor)
        self._on_short()
