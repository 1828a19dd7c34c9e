"""Real threads: a handler that never returns costs one actor, and the pool heals around it."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any

import pytest

from tests.actors.kernel.cast import MS, SECOND, Block, Do, Puppet, Say, Tick
from tests.actors.kernel.drivers import PoolDriver


def test_a_handler_that_blocks_its_thread_for_ever_is_named_replaced_and_others_run_on(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level(logging.ERROR)
    gate = threading.Event()
    driver = PoolDriver(workers=2, stuck_after_ns=500 * MS)  # so that a busy machine makes nobody else look stuck
    for number in range(3):  # more than there are workers
        driver.spawn(Block, gate, name=f"stuck{number}").tell(Say("block"))
    driver.until(lambda: len(driver.dispatcher.stuck()) == 3)
    assert sorted(path for path, _ in driver.dispatcher.stuck()) == ["/stuck0", "/stuck1", "/stuck2"]
    well = driver.spawn(name="well")
    for number in range(50):
        assert well.ask(Say(str(number)), timeout=120) == str(number)
    assert sorted(path for path, _ in driver.system.report().stuck) == ["/stuck0", "/stuck1", "/stuck2"]
    assert "/stuck0 has held a thread" in caplog.text
    gate.set()
    driver.until(lambda: driver.dispatcher.stuck() == ())
    workers = [thread for thread in threading.enumerate() if thread.name == "kernel-worker"]
    driver.until(lambda: sum(thread.is_alive() for thread in workers) <= sum(1 for _ in workers))
    assert driver.system.stop()


def test_a_worker_that_comes_back_while_it_is_replaced_leaves_none_too_many(monkeypatch: pytest.MonkeyPatch):
    earlier = threading.enumerate()

    def workers() -> int:
        new = [thread for thread in threading.enumerate() if thread not in earlier]
        return sum(thread.name == "kernel-worker" for thread in new)

    driver = PoolDriver(workers=1, stuck_after_ns=30 * MS)
    gate, replaced, start = threading.Event(), threading.Event(), threading.Thread.start
    well = driver.spawn(name="well")

    def come_back_first(thread: threading.Thread) -> None:
        if thread.name == "kernel-worker":
            gate.set()
            assert well.ask(Say("back"), timeout=120) == "back"
        start(thread)
        replaced.set()

    monkeypatch.setattr(threading.Thread, "start", come_back_first)
    driver.spawn(Block, gate, name="stuck").tell(Say("block"))
    assert replaced.wait(120)
    driver.until(lambda: workers() == 1)
    assert well.ask(Say("well"), timeout=120) == "well"
    assert driver.system.stop()


def test_a_machine_without_a_thread_left_is_asked_again_until_it_has_one(monkeypatch: pytest.MonkeyPatch):
    gate, refusals = threading.Event(), ["first", "second"]
    start = threading.Thread.start

    def start_or_refuse(thread: threading.Thread) -> None:
        if thread.name == "kernel-worker" and refusals:
            refusals.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    driver = PoolDriver(workers=1, stuck_after_ns=30 * MS)
    monkeypatch.setattr(threading.Thread, "start", start_or_refuse)
    driver.spawn(Block, gate, name="stuck").tell(Say("block"))
    driver.until(lambda: [path for path, _ in driver.dispatcher.stuck()] == ["/stuck"])
    assert driver.spawn(name="well").ask(Say("well"), timeout=120) == "well"
    gate.set()
    assert driver.system.stop()


def test_a_constructor_that_blocks_is_named_too():
    gate = threading.Event()

    class BlocksAtBirth(Puppet):
        def __init__(self) -> None:
            super().__init__()
            gate.wait(60)

    driver = PoolDriver(workers=1, stuck_after_ns=30 * MS)
    driver.spawn(BlocksAtBirth, name="stuck")
    driver.until(lambda: [path for path, _ in driver.dispatcher.stuck()] == ["/stuck"])
    assert driver.spawn(name="well").ask(Say("well"), timeout=120) == "well"
    gate.set()
    assert driver.system.stop()


def test_an_actor_that_is_busy_with_many_messages_is_not_stuck():
    driver = PoolDriver(workers=1, stuck_after_ns=SECOND)  # so long holds no message its thread on a busy machine
    busy = driver.spawn(name="busy")
    for _ in range(20):
        busy.tell(Do(lambda puppet: threading.Event().wait(0.1)))
    driver.until(lambda: driver.system.report().actors[1].handled >= 15)
    assert driver.dispatcher.stuck() == ()
    assert driver.system.stop()


def test_a_busy_actor_does_not_keep_its_worker_from_the_others():
    """The flood tells itself on and on; with one worker the other actor must get its turn nevertheless."""
    driver = PoolDriver(workers=1)
    notes: list[Any] = []

    class Endless(Puppet):
        def heard(self, message: Any) -> None:
            self.ref.tell(Tick())

    endless = driver.spawn(Endless, notes, name="endless")
    endless.tell(Tick())
    assert driver.spawn(name="other").ask(Say("my turn"), timeout=120) == "my turn"
    assert driver.system.stop()


def test_timers_fire_in_their_order_however_they_were_set():
    driver = PoolDriver(workers=1)
    fired: list[int] = []
    done = threading.Event()
    for after_ms in (15, 5, 10, 1):
        driver.dispatcher.schedule(after_ms * MS, partial(fired.append, after_ms))
    driver.dispatcher.schedule(20 * MS, done.set)
    assert done.wait(120)
    assert fired == [1, 5, 10, 15]
    assert driver.system.stop()


def test_a_scheduled_function_that_raises_does_not_end_the_timers(pool: PoolDriver):
    done = threading.Event()
    pool.dispatcher.schedule(0, lambda: 1 / 0)
    pool.dispatcher.schedule(MS, done.set)
    assert done.wait(120)


def test_an_actor_never_runs_on_two_threads_at_once():
    driver = PoolDriver(workers=4)
    inside = threading.Semaphore(1)
    overlaps: list[str] = []
    notes: list[Any] = []

    class Exclusive(Puppet):
        def heard(self, message: Any) -> None:
            if not inside.acquire(blocking=False):
                overlaps.append("two at once")
            notes.append(message)
            inside.release()

    ref = driver.spawn(Exclusive)

    def tell(me: int) -> None:
        for number in range(1_000):
            ref.tell(Tick(me * 10_000 + number))

    threads = [threading.Thread(target=tell, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    driver.until(lambda: len(notes) == 4_000)
    assert overlaps == []
    for me in range(4):
        mine = [note.number for note in notes if note.number // 10_000 == me]
        assert mine == sorted(mine)
    assert driver.system.stop(timeout_ns=10 * SECOND)
