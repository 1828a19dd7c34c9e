"""`PressureNotices`: notices of cgroup v2, which knows no marks.

What it has instead: the kernel says when processes have waited for memory (PSI) for a part of a second, and it changes
`memory.events` of a group that is at its limit. Neither is the threshold of an eviction; both mean that memory runs
short now, and that it is time to look. Both are descriptors in one epoll set, which is watched on a loop that runs
anyway.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import threading
from collections.abc import Callable

from runtime.cgroups.names import pods_paths
from runtime.files.descriptor_watch import DescriptorWatch
from runtime.io.event_loop import LoopThread
from runtime.memory_notices.capability import MemoryMark

PRESSURE = "proc/pressure/memory"
PODS_PATHS = pods_paths()
GROUPS = "sys/fs/cgroup"
STALL_US, WINDOW_US = 300_000, 2_000_000
"""Some process has waited for so long of that: the share is that of the kernel's own example, well above the noise; a
shorter window is for those who may manage resources (CAP_SYS_RESOURCE)."""
READ_BYTES = 4096
_MODIFIED = 0x2


class PressureNotices:
    """See the module; `MemoryWatch` of cgroup v2. `root`: of the file system; `pods`: paths that the group of all pods
    may have.
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
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._trigger = -1
        with contextlib.ExitStack() as undo:
            self._changes = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if self._changes >= 0:
                undo.callback(os.close, self._changes)
            self._epoll = select.epoll()
            undo.callback(self._epoll.close)
            if self._changes >= 0:
                self._epoll.register(self._changes, select.EPOLLIN)
            # The watch closes a descriptor of its own; the set is closed once nobody polls it any more.
            self._watch = DescriptorWatch(loop, os.dup(self._epoll.fileno()), self._told, self._release)
            undo.pop_all()
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
        with self._lock:  # what is opened meanwhile would be closed by nobody
            self._closed = True
        self._watch.close()

    def _release(self) -> None:
        self._epoll.close()
        for each in (self._trigger, self._changes):
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
        """The group of pods may come later, and come anew."""
        groups = (os.path.join(self._root, GROUPS, name.lstrip("/"), "memory.events") for name in self._pods_paths)
        path = next((path for path in groups if os.path.exists(path)), "")
        if path and self._libc.inotify_add_watch(self._changes, os.fsencode(path), _MODIFIED) < 0:
            return [f"{path} cannot be watched: {os.strerror(ctypes.get_errno())}"]
        return []

    def _told(self) -> None:
        """On the loop."""
        for descriptor, event in self._epoll.poll(0):
            if descriptor == self._changes:
                with contextlib.suppress(BlockingIOError):
                    os.read(descriptor, READ_BYTES)
            elif event & (select.EPOLLERR | select.EPOLLHUP):
                self._epoll.unregister(descriptor)
        self._on_short()
