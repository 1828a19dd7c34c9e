"""A memory group of a test's own, on whichever version of cgroups this machine has. Needs root."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from runtime.host.machine import cgroup_version

VERSION = cgroup_version()
GROUPS = Path("/sys/fs/cgroup") if VERSION == 2 else Path("/sys/fs/cgroup/memory")
LIMIT = "memory.max" if VERSION == 2 else "memory.limit_in_bytes"
MAY_BE_MADE = os.access(GROUPS, os.W_OK) and (VERSION == 2 or (GROUPS / "cgroup.procs").exists())
WAIT_S = 120


class MemoryGroup:
    """Made on entry, with that limit; gone at the end, when all its processes have ended."""

    def __init__(self, limit_bytes: int) -> None:
        self.name = f"/actorlet-test-{uuid.uuid4().hex[:8]}"
        self.directory = GROUPS / self.name.lstrip("/")
        self.limit_bytes = limit_bytes

    def __enter__(self) -> MemoryGroup:
        self.directory.mkdir()
        (self.directory / LIMIT).write_text(str(self.limit_bytes))
        return self

    def __exit__(self, *_: object) -> None:
        self.directory.rmdir()

    def run(self, program: str) -> subprocess.Popen[bytes]:
        """A process in the group that runs the Python `program`, and ends when its input does."""
        enter = f"open('{self.directory}/cgroup.procs', 'w').write('0')"
        return subprocess.Popen([sys.executable, "-c", f"{enter}\n{program}\ninput()"], stdin=subprocess.PIPE)

    def have_one_killed(self) -> int:
        """The pid of a process that asked for more than the group may have."""
        process = self.run(f"bytearray({4 * self.limit_bytes})")
        process.communicate(timeout=WAIT_S)
        assert process.returncode == -9, "the kernel has given it the memory"
        return process.pid
