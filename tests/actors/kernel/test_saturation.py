"""Saturation: what the kernel costs and how it behaves when there is far too much of everything."""

from __future__ import annotations

import gc
import resource
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from actors.kernel import Actor, MailboxOverflowed, handles
from actors.kernel.cell import Cell
from tests.actors.kernel.cast import (
    MS,
    QUICK,
    Block,
    Counter,
    Crash,
    Do,
    Fail,
    FailsToStart,
    Flood,
    Hang,
    Latest,
    Puppet,
    Say,
    Tick,
)
from tests.actors.kernel.drivers import Driver, PoolDriver, SimulatedDriver

FLOOD = 400_000
CYCLES = 40_000
MIB = 1 << 20
IDLE_ACTOR_BYTES = 5 * 1024


def resident_bytes() -> int:
    """What the process holds of the machine's memory, bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def count_cells() -> int:
    return sum(type(thing) is Cell for thing in gc.get_objects())


class Measured:
    """Python's own memory between two moments, in bytes; garbage collected first."""

    def __init__(self) -> None:
        gc.collect()
        tracemalloc.start()
        self.began = tracemalloc.get_traced_memory()[0]

    def grown(self) -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - self.began

    def peak(self) -> int:
        return tracemalloc.get_traced_memory()[1] - self.began

    def __enter__(self) -> Measured:
        return self

    def __exit__(self, *_: object) -> None:
        tracemalloc.stop()


def test_a_flood_into_one_actor_is_bounded_counted_and_survived(driver: Driver):
    notes: list[Any] = []
    victim = driver.spawn(Counter, notes, name="victim")

    grown: list[int] = []

    def flood(actor: Flood) -> None:
        before = resident_bytes()
        for number in range(FLOOD):
            victim.tell(TICK)
            if number % 20_000 == 0:
                grown.append(resident_bytes() - before)

    driver.spawn(Flood, name="flood").ask(Do(flood))
    driver.settle()
    assert max(grown) < 16 * MIB
    dropped = sum(note.dropped for note in notes if isinstance(note, MailboxOverflowed))
    assert sum(note == TICK.number for note in notes) + dropped == FLOOD
    assert driver.system.dead_letters.total() == dropped
    victim.tell(Tick(-1))
    driver.until(lambda: notes[-1] == -1)


TICK = Tick(7)


def test_a_flood_of_updates_is_one_waiting_message_per_key(driver: Driver):
    seen: list[int] = []

    class Slow(Actor):
        @handles(Latest)
        async def latest(self, message: Latest) -> None:
            seen.append(message.seen)
            await self.sleep(MS)

    victim = driver.spawn(Slow, name="victim")
    messages = [Latest(str(key), 1) for key in range(10)]

    def flood(actor: Flood) -> None:
        for number in range(FLOOD // 4):
            victim.tell(messages[number % 10])

    with Measured() as memory:
        driver.spawn(Flood, name="flood").ask(Do(flood))
        driver.until(lambda: sum(seen) == FLOOD // 4)
        assert memory.peak() < MIB
    assert driver.system.dead_letters.total() == 0


def test_actors_that_come_and_go_leave_no_memory_and_no_threads(driver: Driver):
    stopped: list[int] = []

    class Nursery(Actor):
        """Spawns a child, tells it to stop, and goes on when it is gone."""

        def on_start(self) -> None:
            self.ref.tell(Tick(0))

        @handles(Tick)
        def next_batch(self, message: Tick) -> None:
            for number in range(100):
                child = self.spawn(Mayfly, name=f"{message.number}-{number}")
                child.tell(TICK)
            if message.number + 100 < self.cycles:
                self.after(0, Tick(message.number + 100))

        def __init__(self, cycles: int) -> None:
            super().__init__()
            self.cycles = cycles

    class Mayfly(Actor):
        @handles(Tick)
        def tick(self, message: Tick) -> None:
            self.after(60_000 * MS, TICK)
            self.stop()

        def on_stop(self) -> None:
            stopped.append(1)

    def live_and_die(cycles: int) -> None:
        stopped.clear()
        nursery = driver.spawn(Nursery, cycles, name="nursery")
        driver.until(lambda: len(stopped) == cycles)
        assert nursery.stop()

    live_and_die(2_000)
    threads = threading.active_count()
    gc.collect()
    cells, objects, resident = count_cells(), len(gc.get_objects()), resident_bytes()
    live_and_die(CYCLES)
    gc.collect()
    # A thread that waits for work still has the last cell that it ran in hand.
    assert count_cells() <= cells + threads
    assert len(gc.get_objects()) < objects + CYCLES // 10
    assert resident_bytes() - resident < 16 * MIB
    assert threading.active_count() <= threads


def test_an_idle_actor_costs_at_most_five_kibibytes():
    driver = SimulatedDriver()
    driver.spawn(name="first")
    driver.settle()
    with Measured() as memory:
        refs = [driver.spawn(Plain, name=f"n{number}") for number in range(5_000)]
        driver.settle()
        assert memory.grown() / len(refs) <= IDLE_ACTOR_BYTES
    assert driver.system.stop()


class Plain(Actor):
    """Nothing of its own."""


def test_a_crash_loop_heals_and_its_mail_is_kept(driver: Driver):
    attempts: list[int] = []
    ref = driver.spawn(FailsToStart, attempts, 30, strategy=QUICK, name="loop")
    answer = ref.ask(Say("healed"), block=False)
    assert answer.get(timeout=120) == "healed"
    assert len(attempts) == 31


def test_one_that_raises_at_every_message_leaves_a_hundred_others_undisturbed(driver: Driver):
    made: list[str] = []
    bad = driver.spawn(Crash, made, name="bad", strategy=QUICK)
    counts: list[list[Any]] = [[] for _ in range(100)]
    good = [driver.spawn(Counter, count, name=f"good{number}") for number, count in enumerate(counts)]

    def work(actor: Flood) -> None:
        for round_ in range(100):
            bad.tell(Fail(SystemExit if round_ % 2 else ValueError))
            for ref in good:
                ref.tell(Tick(round_))

    driver.spawn(Flood, name="work").ask(Do(work))
    driver.until(lambda: len(made) >= 10)
    driver.until(lambda: all(len(count) == 100 for count in counts))
    assert all(count == list(range(100)) for count in counts)
    restarted = [actor.path for actor in driver.system.report().actors if actor.restarts]
    assert restarted == ["/bad"]


def test_a_thousand_handlers_that_never_return_cost_no_thread_and_stop_when_told(driver: Driver):
    threads = threading.active_count()
    hanging = [driver.spawn(Hang, name=f"hang{number}") for number in range(1_000)]
    for ref in hanging:
        ref.tell(Say("hang"))
        ref.tell(Say("waits"))
    driver.settle()
    assert threading.active_count() <= threads
    assert driver.spawn(name="well").ask(Say("well")) == "well"
    for ref in hanging:
        ref.stop(block=False)
    driver.settle()
    driver.until(lambda: not any(ref.is_alive() for ref in hanging))


def test_handlers_that_block_their_threads_cost_those_actors_only():
    gate = threading.Event()
    driver = PoolDriver(workers=2, stuck_after_ns=20 * MS)
    for number in range(6):
        driver.spawn(Block, gate, name=f"stuck{number}").tell(Say("block"))
    counts: list[list[Any]] = [[] for _ in range(50)]
    good = [driver.spawn(Counter, count, name=f"good{number}") for number, count in enumerate(counts)]
    for round_ in range(100):
        for ref in good:
            ref.tell(Tick(round_))
    driver.until(lambda: all(len(count) == 100 for count in counts))
    stuck = [f"/stuck{number}" for number in range(6)]
    driver.until(lambda: sorted(path for path, _ in driver.dispatcher.stuck()) == stuck)
    gate.set()
    assert driver.system.stop()


@pytest.mark.parametrize("actors", [1_000, 8_000])
def test_the_work_of_a_world_grows_with_what_happens_in_it_and_not_with_who_is_idle(actors: int):
    """Steps, not time: idle actors are never looked at, however many they are."""
    driver = SimulatedDriver()
    for number in range(actors):
        driver.spawn(Plain, name=f"n{number}")
    notes: list[Any] = []
    driver.spawn(Puppet, notes, lambda puppet: puppet.every(1_000 * MS, Tick()))
    driver.settle()
    before = driver.dispatcher.steps
    driver.pass_time(100_000 * MS)
    assert len(notes) == 100
    assert driver.dispatcher.steps - before == 100
    assert driver.system.stop()
