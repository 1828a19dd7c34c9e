"""A CPU of the host for each machine of user-mode Linux.

Its kernel and its processes take turns at each system call. On two CPUs each turn wakes another CPU, and where the host
is a virtual machine itself that costs more than the call. On one CPU a machine takes twice as many turns a second.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def a_cpu_of_its_own(locks: Path) -> Iterator[list[str]]:
    """The words that keep a command on a CPU that no other machine has; none while each CPU has one.

    `locks`: a directory that all sessions share.
    """
    locks.mkdir(parents=True, exist_ok=True)
    # The last first: what is bound to one CPU, such as interrupts, mostly has the first.
    for cpu in sorted(os.sched_getaffinity(0), reverse=True):
        with (locks / f"lock-cpu-{cpu}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield ["taskset", "--cpu-list", str(cpu)]
            return
    yield []
