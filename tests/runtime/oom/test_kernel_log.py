"""The kernel's log as a device: on pipes, and with a real kill.

The kill happens on this machine in a cgroup of the test's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.io.event_loop import LoopThread
from runtime.oom import OomKill
from runtime.oom.kernel_log import DEVICE, KernelOomLog, kernel_texts
from tests.memory_group import MAY_BE_MADE, MemoryGroup

WAIT = 120
KILL = b"Out of memory: Killed process 7 (x) total-vm:4kB"


class Heard:
    """What comes, and waiting for it."""

    def __init__(self) -> None:
        self.kills: list[OomKill] = []
        self.ends: list[str] = []
        self._changed = threading.Condition()

    def kill(self, kill: OomKill) -> None:
        with self._changed:
            self.kills.append(kill)
            self._changed.notify_all()

    def end(self, reason: str) -> None:
        with self._changed:
            self.ends.append(reason)
            self._changed.notify_all()

    def wait_for(self, kills: int = 0, ends: int = 0) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.kills) >= kills and len(self.ends) >= ends, WAIT)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("kernel")
    yield loop
    loop.close()


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    os.mkfifo(tmp_path / "kmsg")
    return str(tmp_path / "kmsg")


def test_only_what_the_kernel_itself_says_counts() -> None:
    # Facility 0 is the kernel's; a process that writes to the device gets 1 at least.
    records = b"3,1,2,-;" + KILL + b"\n SUBSYSTEM=memory\n12,2,3,-;" + KILL + b"\nnonsense;" + KILL + b"\n"
    assert kernel_texts(records) == [KILL.decode()]
    assert kernel_texts(b"6,1,2,-;a line about a network\n") == []


def test_kills_are_told_as_they_come_and_the_end_is_told(loop: LoopThread, pipe: str) -> None:
    heard = Heard()
    KernelOomLog(loop, pipe).follow(heard.kill, heard.end)
    with open(pipe, "wb", buffering=0) as kernel:
        kernel.write(b"6,1,1,-;something else\n")
        kernel.write(b"3,2,2,-;" + KILL + b"\n")
        heard.wait_for(kills=1)
        kernel.write(b"3,3,3,-;a invoked oom-killer: b\n3,4,4,-;Memory cgroup out of memory: Killed process 8 (y) t\n")
        heard.wait_for(kills=2)
    heard.wait_for(ends=1)
    assert heard.kills == [OomKill(7, "x", True), OomKill(8, "y", False)]
    assert heard.ends == ["it has ended"]


def test_a_closed_oom_log_calls_nothing_and_leaves_nothing_open(loop: LoopThread, pipe: str) -> None:
    heard, other = Heard(), Heard()
    log = KernelOomLog(loop, pipe)
    before = len(os.listdir("/proc/self/fd"))
    first = log.follow(heard.kill, heard.end)
    log.follow(other.kill, other.end)  # one listens at a time: an actor that has failed cannot close what it had
    first.close()
    with open(pipe, "wb", buffering=0) as kernel:
        kernel.write(b"3,2,2,-;" + KILL + b"\n")
        other.wait_for(kills=1)
    other.wait_for(ends=1)
    done = threading.Event()
    loop.post(done.set)
    assert done.wait(WAIT)
    assert (heard.kills, heard.ends) == ([], [])
    assert len(os.listdir("/proc/self/fd")) <= before + 4  # the loop's own


def test_a_device_that_is_not_there_is_an_error(loop: LoopThread, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        KernelOomLog(loop, str(tmp_path / "none")).follow(lambda kill: None, lambda reason: None)


@pytest.mark.skipif(
    not (MAY_BE_MADE and os.access(DEVICE, os.R_OK)), reason="needs memory groups, and to read the kernel's log"
)
def test_a_kill_on_this_machine_is_heard_of(loop: LoopThread) -> None:
    heard = Heard()
    following = KernelOomLog(loop).follow(heard.kill, heard.end)
    with MemoryGroup(limit_bytes=16 * 2**20) as group:
        pid = group.have_one_killed()
    while not any(kill.pid == pid for kill in heard.kills):  # other tests may make kills as well
        heard.wait_for(kills=len(heard.kills) + 1)
    following.close()
    (kill,) = [kill for kill in heard.kills if kill.pid == pid]
    assert (kill.node_wide, kill.cgroup, kill.limited) == (False, group.name, group.name)
