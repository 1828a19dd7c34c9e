"""Threads that hold nobody up: what they do, in which order, and that a process ends without them."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import closing

import pytest

from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import LoopThread

WAIT = 120.0

HANGING = """
import asyncio, threading
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import LoopThread

begun = threading.Semaphore(0)

def hang():
    begun.release()
    threading.Event().wait()

{does}
assert begun.acquire(timeout=120)
{ends}
print("the end")
"""


@pytest.mark.parametrize(
    ("does", "ends"),
    [
        ("threads = DaemonThreads(1, 'test'); threads.submit(hang)", "threads.shutdown(wait=False)"),
        ("loop = LoopThread('test'); loop.submit(asyncio.to_thread(hang))", "loop.close(0.1)"),
    ],
)
def test_a_process_ends_although_a_thread_hangs(does: str, ends: str) -> None:
    """A dead disk or name server must not stop the agent from ending, or the next one from starting."""
    program = HANGING.format(does=does, ends=ends)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"the end\n")


def test_operations_are_done_in_their_order_by_no_more_threads_than_there_may_be() -> None:
    done: list[int] = []
    names: set[str] = set()
    with DaemonThreads(1, "one") as threads:
        for number in range(100):
            threads.submit(done.append, number)
            threads.submit(lambda: names.add(threading.current_thread().name))
    assert done == list(range(100))
    assert len(names) == 1


def test_as_many_as_may_be_are_busy_at_once() -> None:
    met = threading.Barrier(3)
    with DaemonThreads(3, "three") as threads:
        for _ in range(20):
            first = [threads.submit(met.wait, WAIT) for _ in range(3)]
            assert sorted(each.result(WAIT) for each in first) == [0, 1, 2]


def test_a_failure_is_the_answer_and_costs_no_thread() -> None:
    with DaemonThreads(1, "test") as threads:
        with pytest.raises(ZeroDivisionError):
            threads.submit(lambda: 1 // 0).result(WAIT)
        assert threads.submit(lambda: 7).result(WAIT) == 7


def test_a_machine_that_has_no_thread_left_costs_no_thread_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, done = DaemonThreads(2, "test"), list[str]()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(5):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                threads.submit(done.append, "who asked was told that it is not done")
    threads.submit(done.append, "first").result(WAIT)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        later = [threads.submit(done.append, each) for each in ("second", "third")]
        for each in later:  # by the thread that there is
            each.result(WAIT)
    threads.shutdown()
    assert done == ["first", "second", "third"]


@pytest.mark.parametrize("cancel", [False, True])
def test_closing_daemon_threads_finishes_or_cancels_waiting_work(cancel: bool) -> None:
    go_on, begun = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        go_on.wait(WAIT)
        return "slow"

    threads = DaemonThreads(1, "test")
    running = threads.submit(slow)
    assert begun.wait(WAIT)
    waiting: Future[str] = threads.submit(lambda: "waited")
    unwanted = threads.submit(lambda: "unwanted")
    unwanted.cancel()
    threads.shutdown(wait=False, cancel_futures=cancel)
    with pytest.raises(RuntimeError, match="test takes no more"):
        threads.submit(slow)
    go_on.set()
    threads.shutdown()
    assert running.result(WAIT) == "slow"
    assert waiting.cancelled() if cancel else waiting.result(WAIT) == "waited"
    assert unwanted.cancelled()


def test_a_loop_has_such_threads_for_what_blocks() -> None:
    async def which() -> bool:
        import asyncio

        return await asyncio.to_thread(lambda: threading.current_thread().daemon)

    with closing(LoopThread("test")) as loop:
        assert loop.submit(which()).result(WAIT)
