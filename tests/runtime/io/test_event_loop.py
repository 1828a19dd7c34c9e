"""Plain functions handed to the thread of a loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from runtime.io.event_loop import LoopThread

WAIT = 120


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("posted")
    yield loop
    loop.close()


def test_posted_calls_run_in_order_on_the_loop_thread(loop: LoopThread) -> None:
    ran: list[tuple[int, str]] = []
    done = threading.Event()
    for number in range(1000):
        loop.post(lambda number=number: ran.append((number, threading.current_thread().name)))  # type: ignore[misc]
    loop.post(done.set)
    assert done.wait(WAIT)
    assert ran == [(number, "posted") for number in range(1000)]


def test_nothing_is_lost_between_many_threads(loop: LoopThread) -> None:
    ran: list[int] = []
    done = threading.Event()

    def one() -> None:
        ran.append(1)
        if len(ran) == 8 * 2000:
            done.set()

    def post_many() -> None:
        for _ in range(2000):
            loop.post(one)

    threads = [threading.Thread(target=post_many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done.wait(WAIT)


def test_it_begins_as_soon_as_the_machine_has_a_thread_for_it(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    done = threading.Event()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            loop.post(lambda: ran.append("who posted it was told that it is not done"))
    loop.post(lambda: ran.append("next"))
    loop.post(done.set)
    assert done.wait(WAIT)
    assert ran == ["next"]


def test_one_that_raises_does_not_stop_the_next(loop: LoopThread, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    loop.post(lambda: 1 / 0)  # type: ignore[arg-type]
    loop.post(done.set)
    assert done.wait(WAIT)
    assert "must not raise" in caplog.text


def test_a_delayed_call_runs_after_calls_posted_during_its_delay(loop: LoopThread) -> None:
    ran: list[str] = []
    done = threading.Event()

    def end() -> None:
        ran.append("later")
        done.set()

    loop.post_later(1_000_000, end)
    loop.post(lambda: ran.append("now"))
    assert done.wait(WAIT)
    assert ran == ["now", "later"]


def test_a_closed_loop_takes_nothing() -> None:
    loop = LoopThread()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.post(lambda: None)


def test_a_coroutine_is_answered_with_its_result_or_its_failure(loop: LoopThread) -> None:
    async def half(number: int) -> int:
        await asyncio.sleep(0)
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number // 2

    answers = [loop.submit(half(number)) for number in range(100)]
    assert [answer.result(WAIT) for answer in answers[::2]] == list(range(50))
    for answer in answers[1::2]:
        with pytest.raises(ValueError, match="is odd"):
            answer.result(WAIT)


def test_cancelling_ends_the_coroutine_and_returns_at_once(loop: LoopThread) -> None:
    began, ended = threading.Event(), threading.Event()

    async def for_ever() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    answer = loop.submit(for_ever())
    assert began.wait(WAIT)
    assert answer.cancel()
    assert answer.cancelled()
    assert ended.wait(WAIT)
    assert loop.submit(_one()).result(WAIT) == 1


def test_a_coroutine_cancelled_before_it_began_never_begins(loop: LoopThread) -> None:
    ran: list[int] = []
    go_on = threading.Event()

    async def run() -> None:
        ran.append(1)

    def block() -> None:
        go_on.wait(WAIT)

    loop.post(block)
    answer = loop.submit(run())
    answer.cancel()
    go_on.set()
    assert loop.submit(_one()).result(WAIT) == 1
    assert ran == []


def test_a_loop_that_closes_cancels_what_runs(loop: LoopThread) -> None:
    answer = loop.submit(asyncio.Event().wait())
    assert loop.submit(_one()).result(WAIT) == 1
    loop.close()
    with pytest.raises(CancelledError):
        answer.result(WAIT)


async def _one() -> int:
    return 1
