"""Turns at a disk: callers may leave, and the last operation runs after all others.

It releases what the others have opened.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime.files.disk_turns import DiskTurns


def test_a_operation_gives_what_it_gives_or_its_failure() -> None:
    async def walk() -> None:
        turns = DiskTurns(threads)
        assert await turns.take(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await turns.take(lambda: 1 // 0)

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(walk())


@pytest.mark.parametrize("shut", [False, True])
def test_the_last_operation_waits_for_one_that_nobody_waits_for_any_more(shut: bool) -> None:
    begun, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        go_on.wait(120)
        done.append("opened")

    async def walk() -> None:
        turns = DiskTurns(threads)
        waiting = asyncio.create_task(turns.take(slow))
        await asyncio.to_thread(begun.wait, 10)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        turns.end(lambda: done.append("given back"))
        assert done == []

    # Two: there is room for the last operation beside the slow one.
    with ThreadPoolExecutor(2) as threads:
        asyncio.run(walk())
        if shut:
            threads.shutdown(wait=False, cancel_futures=True)
        go_on.set()
    assert done == ["opened", "given back"]


def test_a_disk_that_takes_too_long_is_a_fault_of_the_disk() -> None:
    go_on, closed = threading.Event(), threading.Event()

    async def walk() -> None:
        turns = DiskTurns(threads, seconds=0.01)
        with pytest.raises(OSError):
            await turns.take(lambda: go_on.wait(120))
        turns.end(closed.set)

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(walk())
        assert not closed.is_set()
        go_on.set()
    assert closed.is_set()


def test_a_operation_that_never_had_its_turn_is_not_waited_for() -> None:
    go_on = threading.Event()
    done: list[str] = []

    async def walk() -> None:
        turns = DiskTurns(threads)
        waiting = asyncio.create_task(turns.take(lambda: done.append("opened")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        turns.end(lambda: done.append("given back"))

    with ThreadPoolExecutor(1) as threads:
        threads.submit(go_on.wait, 10)
        asyncio.run(walk())
        go_on.set()
    assert done == ["given back"]


def test_an_operation_that_has_not_begun_may_end() -> None:
    done: list[str] = []
    with ThreadPoolExecutor(1) as threads:
        DiskTurns(threads).end(lambda: done.append("given back"))
    assert done == ["given back"]
