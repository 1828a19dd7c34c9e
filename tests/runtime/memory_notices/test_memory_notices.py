"""The kernel's notices of memory shortage.

On trees of files, and from this machine's kernel where it gives them.
"""

from __future__ import annotations

import errno
import os
import select
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.io.event_loop import LoopThread
from runtime.memory_notices import MemoryMark
from runtime.memory_notices.capability import MemoryWatch
from runtime.memory_notices.local import LocalMemoryNotices
from runtime.memory_notices.pressure import PressureNotices
from runtime.memory_notices.usage_marks import UsageMarks, usage_at
from tests.memory_group import MAY_BE_MADE, VERSION, MemoryGroup

WAIT = 120
MIB = 2**20
GIB = 2**30
PSI = Path("/proc/pressure/memory")


class Heard:
    def __init__(self) -> None:
        self.times = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self.times += 1
            self._changed.notify_all()

    def wait(self, times: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.times >= times, WAIT), "the kernel has said nothing"

    def wait_and_end(self, watch: MemoryWatch, process: subprocess.Popen[bytes]) -> None:
        """Wait for the notice of what the process does; then remove both."""
        try:
            self.wait()
        finally:
            watch.close()
            process.kill()
            process.wait(WAIT)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("kernel")
    yield loop
    loop.close()


def put(root: Path, path: str, text: str = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def machine_v1(root: Path, idle: int = 0, pods_limit: int | None = None) -> None:
    put(root, "proc/meminfo", f"MemTotal: {GIB // 1024} kB\n")
    put(root, "sys/fs/cgroup/memory/memory.stat", f"total_inactive_file {idle}\n")
    if pods_limit is not None:
        put(root, "sys/fs/cgroup/memory/kubepods/memory.stat", "total_inactive_file 1024\n")
        put(root, "sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes", f"{pods_limit}\n")


@pytest.mark.parametrize(
    ("mark", "size", "idle", "usage"),
    [
        (MemoryMark(left_bytes=100 * MIB), GIB, 0, 924 * MIB),
        (MemoryMark(left_bytes=100 * MIB), GIB, 50 * MIB, 974 * MIB),
        (MemoryMark(left_percent=25.0), GIB, 0, 768 * MIB),
        (MemoryMark(left_bytes=2 * GIB), GIB, 0, 0),
    ],
)
def test_a_mark_leaves_the_idle_cache_out_of_what_is_used(mark: MemoryMark, size: int, idle: int, usage: int) -> None:
    assert usage_at(mark, size, idle) == usage


def test_marks_are_of_the_root_group_and_of_that_of_pods_where_it_has_a_limit(tmp_path: Path, loop: LoopThread) -> None:
    marks = (MemoryMark(False, 100 * MIB), MemoryMark(False, 300 * MIB), MemoryMark(True, 100 * MIB))
    watch = UsageMarks(loop, marks, lambda: None, str(tmp_path))
    root = str(tmp_path / "sys/fs/cgroup/memory")
    machine_v1(tmp_path)
    assert watch.usages() == {root: [924 * MIB, 724 * MIB]}
    machine_v1(tmp_path, idle=10 * MIB, pods_limit=2**63 - 4096)  # no limit, as the kernel writes it
    assert watch.usages() == {root: [934 * MIB, 734 * MIB]}
    machine_v1(tmp_path, pods_limit=512 * MIB)
    assert watch.usages()[f"{root}/kubepods"] == [412 * MIB + 1024]


def test_marks_are_written_as_the_kernel_wants_them_and_only_when_they_have_moved(
    tmp_path: Path, loop: LoopThread
) -> None:
    machine_v1(tmp_path)
    put(tmp_path, "sys/fs/cgroup/memory/memory.usage_in_bytes")
    control = put(tmp_path, "sys/fs/cgroup/memory/cgroup.event_control")
    watch = UsageMarks(loop, (MemoryMark(False, 24 * MIB),), lambda: None, str(tmp_path))
    assert watch.renew() == ()
    signal, usage, mark = control.read_text().split()
    assert (signal != usage, mark) == (True, str(1000 * MIB))
    control.write_text("")
    machine_v1(tmp_path, idle=MIB // 2)
    assert watch.renew() == ()
    assert control.read_text() == ""
    machine_v1(tmp_path, idle=10 * MIB)
    assert watch.renew() == ()
    assert control.read_text().split()[2] == str(1010 * MIB)
    watch.close()


def test_a_kernel_that_takes_no_marks_is_told_of(tmp_path: Path, loop: LoopThread) -> None:
    machine_v1(tmp_path)
    watch = UsageMarks(loop, (MemoryMark(False, MIB),), lambda: None, str(tmp_path))
    assert watch.renew() == (f"{tmp_path}/sys/fs/cgroup/memory cannot be watched: No such file or directory",)
    watch.close()


def test_a_group_of_pods_that_changes_its_events_is_heard_also_when_it_comes_later(
    tmp_path: Path, loop: LoopThread
) -> None:
    heard = Heard()
    put(tmp_path, "sys/fs/cgroup/cgroup.controllers", "memory\n")
    notices = LocalMemoryNotices(loop, str(tmp_path))
    watch = notices.watch((MemoryMark(True, 1),), heard)
    assert watch.renew() == ()
    events = put(tmp_path, "sys/fs/cgroup/kubepods.slice/memory.events", "max 0\n")
    assert watch.renew() == ()
    events.write_text("max 1\n")
    heard.wait()
    watch.close()
    done = threading.Event()
    loop.post(done.set)
    assert done.wait(WAIT)
    before = heard.times
    events.write_text("max 2\n")
    assert heard.times == before


def test_a_kernel_without_pressure_is_told_of(tmp_path: Path, loop: LoopThread) -> None:
    watch = PressureNotices(loop, (MemoryMark(False, 1),), lambda: None, str(tmp_path))
    assert watch.renew() == (
        "the kernel does not tell when processes wait for memory: "
        f"{tmp_path}/proc/pressure/memory: No such file or directory",
    )
    watch.close()


# --- this machine's kernel --------------------------------------------------------------------------------------------

NEEDS_V1 = pytest.mark.skipif(VERSION != 1 or not MAY_BE_MADE, reason="needs memory groups of cgroup v1")
NEEDS_PSI = pytest.mark.skipif(
    not (MAY_BE_MADE and os.access(PSI, os.W_OK)), reason="needs memory groups, and a kernel that measures pressure"
)


@NEEDS_V1
def test_this_kernel_says_when_a_group_passes_a_mark(loop: LoopThread, tmp_path: Path) -> None:
    heard = Heard()
    with MemoryGroup(limit_bytes=256 * MIB) as group:
        # The group stands for all pods, on a machine that is made of files otherwise.
        groups = tmp_path / "sys/fs/cgroup/memory"
        groups.mkdir(parents=True)
        (groups / "kubepods").symlink_to(group.directory)
        put(tmp_path, "proc/meminfo", f"MemTotal: {GIB // 1024} kB\n")
        watch = LocalMemoryNotices(loop, str(tmp_path)).watch((MemoryMark(True, 192 * MIB),), heard)
        assert watch.renew() == ()
        process = group.run(f"x = bytearray({96 * MIB})")
        heard.wait_and_end(watch, process)


@NEEDS_PSI
def test_this_kernel_says_when_processes_wait_for_memory(loop: LoopThread, tmp_path: Path) -> None:
    heard = Heard()
    watch = PressureNotices(loop, (MemoryMark(False, 1),), heard, stall_us=1_000)
    assert watch.renew() == ()
    assert watch.renew() == ()  # the trigger is pulled once
    # Reading again what was just thrown out for want of room is what the kernel calls waiting for memory.
    program = (
        f"f = open({str(tmp_path / 'more than fits')!r}, 'wb+', 0)\n"
        f"for _ in range(96): f.write(bytes({MIB}))\n"
        "import os\nos.fsync(f.fileno())\n"
        f"while True:\n    f.seek(0)\n    while f.read({MIB}): pass"
    )
    with MemoryGroup(limit_bytes=32 * MIB) as group:
        process = group.run(program)
        heard.wait_and_end(watch, process)


@pytest.mark.parametrize("missing", ["epoll", "dup"])
def test_a_process_that_has_no_descriptor_left_loses_none_by_trying(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(select if missing == "epoll" else os, missing, fail)
        for _ in range(5):
            with pytest.raises(OSError, match="Too many open files"):
                PressureNotices(loop, (MemoryMark(False, 1),), lambda: None)
    assert len(os.listdir("/proc/self/fd")) == before


def settle(loop: LoopThread) -> None:
    """All that it was given to do is done."""
    done = threading.Event()
    loop.post(done.set)
    assert done.wait(WAIT)


@pytest.mark.parametrize("kind", [PressureNotices, UsageMarks])
def test_renewing_a_watch_during_its_close_opens_nothing(
    tmp_path: Path, loop: LoopThread, kind: type[PressureNotices] | type[UsageMarks]
) -> None:
    """Whoever watches may fail while the kernel is asked on a lane."""
    machine_v1(tmp_path)
    put(tmp_path, "proc/pressure/memory")
    settle(loop)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        watch = kind(loop, (MemoryMark(False, MIB),), lambda: None, str(tmp_path))
        renewing = threading.Thread(target=watch.renew)
        renewing.start()
        watch.close()
        renewing.join()
        watch.renew()
    settle(loop)
    assert len(os.listdir("/proc/self/fd")) == before
