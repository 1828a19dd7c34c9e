"""Plain functions handed to the thread of a loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from runtime.event_loop import LoopThread

WAIT = 20


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("posted")
    yield loop
    loop.close()


def test_what_is_posted_runs_in_order_on_the_thread(loop: LoopThread) -> None:
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


def test_one_that_raises_does_not_stop_the_next(loop: LoopThread, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    loop.post(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    loop.post(done.set)
    assert done.wait(WAIT)
    assert "must not raise" in caplog.text


def test_later_is_after_what_is_posted_meanwhile(loop: LoopThread) -> None:
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
