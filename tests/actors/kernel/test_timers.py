"""Timers of actors, and the heap below them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.kernel import Promise
from actors.kernel.timers import TimerHandle, TimerHeap
from tests.actors.kernel.cast import MS, QUICK, SECOND, Do, Interrupt, Later, Puppet, Say, Tick
from tests.actors.kernel.drivers import Driver, SimulatedDriver


def test_a_timer_tells_its_message_when_it_is_due(simulated: SimulatedDriver):
    notes: list[Any] = []
    ref = simulated.spawn(Puppet, notes)
    ref.ask(Do(lambda puppet: puppet.after(5 * SECOND, Tick(1))))
    simulated.pass_time(5 * SECOND - 1)
    assert notes == []
    simulated.pass_time(1)
    assert notes == [Tick(1)]
    simulated.pass_time(60 * SECOND)
    assert notes == [Tick(1)]


def test_a_periodic_timer_keeps_its_period_and_may_begin_earlier(simulated: SimulatedDriver):
    times_ns: list[int] = []

    class Clock(Puppet):
        def heard(self, message: Any) -> None:
            times_ns.append(self.now_ns())

    simulated.spawn(Clock, None, lambda puppet: puppet.every(3 * SECOND, Tick(), first_ns=SECOND))
    simulated.pass_time(10 * SECOND)
    assert times_ns == [1 * SECOND, 4 * SECOND, 7 * SECOND, 10 * SECOND]


def test_timers_fire_on_both_dispatchers(driver: Driver):
    notes: list[Any] = []
    driver.spawn(Puppet, notes, lambda puppet: puppet.every(2 * MS, Tick()))
    driver.until(lambda: len(notes) >= 5)


def test_a_timer_of_the_same_key_is_replaced_and_others_are_not(driver: Driver):
    notes: list[Any] = []

    def start(puppet: Puppet) -> None:
        puppet.after(4 * MS, Tick(1))
        puppet.after(6 * MS, Tick(2))  # same key: the type
        puppet.after(4 * MS, Tick(3), key="other")

    driver.spawn(Puppet, notes, start)
    driver.until(lambda: len(notes) == 2)
    driver.pass_time(10 * MS)
    assert notes == [Tick(3), Tick(2)]


def test_a_cancelled_timer_does_not_fire_and_cancelling_nothing_is_no_error(driver: Driver):
    notes: list[Any] = []

    def start(puppet: Puppet) -> None:
        puppet.every(2 * MS, Tick())
        puppet.cancel_timer(Tick)
        puppet.cancel_timer("never started")

    driver.spawn(Puppet, notes, start)
    driver.pass_time(12 * MS)
    assert notes == []


def test_a_tick_that_waits_in_the_mailbox_ends_with_its_timer(driver: Driver):
    """Not even the tick that was posted before `cancel_timer` is handled after it."""
    notes: list[Any] = []

    async def cancel_while_ticks_wait(puppet: Puppet) -> None:
        puppet.every(MS, Tick())
        puppet.after(MS, Say("one shot"))
        puppet.every(MS, Interrupt(), key="interrupting")
        await puppet.sleep(5 * MS)  # in `on_start`, which only a stop interrupts
        for key in (Tick, Say, "interrupting"):
            puppet.cancel_timer(key)

    ref = driver.spawn(Puppet, notes, cancel_while_ticks_wait)
    driver.pass_time(20 * MS)
    assert ref.ask(Say("the end")) == "the end"
    assert notes == ["the end"]


def test_ticks_of_a_busy_actor_are_not_doubled(driver: Driver):
    notes: list[Any] = []

    async def be_busy(puppet: Puppet) -> None:
        await puppet.sleep(30 * MS)
        notes.append("was busy")
        puppet.ref.tell(Do(lambda puppet: puppet.cancel_timer("beat")))
        puppet.ref.tell(Say("cancelled"))

    ref = driver.spawn(Puppet, notes)
    ref.ask(Do(lambda puppet: puppet.every(5 * MS, Tick(), key="beat")))
    ref.tell(Later(be_busy))
    driver.until(lambda: "cancelled" in notes)
    assert notes[notes.index("was busy") :] == ["was busy", Tick(), "cancelled"]


def test_timers_end_with_the_incarnation(driver: Driver):
    starts: list[str] = []
    notes: list[Any] = []

    def start(puppet: Puppet) -> None:
        starts.append("start")
        if len(starts) == 1:
            puppet.every(MS, Tick())

    ref = driver.spawn(Puppet, notes, start, strategy=QUICK)
    driver.until(lambda: len(notes) >= 2)
    ref.tell(Do(lambda puppet: 1 / 0))
    driver.until(lambda: len(starts) == 2)
    ticks = len(notes)
    driver.pass_time(10 * MS)
    assert len(notes) == ticks


def test_timers_end_with_the_actor(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes, lambda puppet: puppet.every(MS, Tick()))
    driver.until(lambda: bool(notes))
    ref.stop()
    ticks = len(notes)
    driver.pass_time(10 * MS)
    assert len(notes) == ticks


def test_a_one_shot_timer_may_be_started_again_from_its_own_message(driver: Driver):
    notes: list[Any] = []

    class Chain(Puppet):
        def heard(self, message: Any) -> None:
            self.notes.append(message)
            if message.number < 5:
                self.after(MS, Tick(message.number + 1))

    driver.spawn(Chain, notes, lambda puppet: puppet.after(MS, Tick(1)))
    driver.until(lambda: notes == [Tick(number) for number in range(1, 6)])


def test_a_period_in_which_time_would_stand_still_is_refused(driver: Driver):
    ref = driver.spawn()
    with pytest.raises(ValueError, match="at least 1 ns"):
        ref.ask(Do(lambda puppet: puppet.every(0, Tick())))


def test_a_timer_does_not_interrupt_what_waits(driver: Driver):
    promise: Promise[str] = Promise()
    notes: list[Any] = []

    async def hold(puppet: Puppet) -> str:
        puppet.after(MS, Tick())
        return await puppet.wait(promise)

    ref = driver.spawn(Puppet, notes)
    answer = ref.ask(Later(hold), block=False)
    driver.pass_time(5 * MS)
    assert notes == []
    promise.set_result("undisturbed")
    assert answer.get() == "undisturbed"
    driver.until(lambda: notes == [Tick()])


TIMES = st.one_of(st.integers(0, 50), st.integers(0, 50).map(lambda number: number * SECOND // 5))
"""Of one moment, and over seconds: what is due later is kept elsewhere."""
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), TIMES),
        st.tuples(st.just("cancel"), st.integers(0, 200)),
        st.tuples(st.just("pop"), TIMES),
    ),
    max_size=200,
)


@given(OPERATIONS, st.booleans())
def test_the_timer_heap_returns_uncancelled_timers_in_order(operations: list[tuple[str, int]], looks: bool):
    heap = TimerHeap()
    handles: list[TimerHandle] = []
    model: list[tuple[int, int]] = []
    fired: list[int] = []
    for what, number in operations:
        if what == "push":
            serial = len(handles)
            handles.append(heap.push(number, partial(fired.append, serial)))
            model.append((number, serial))
        elif what == "cancel" and handles:
            serial = number % len(handles)
            handles[serial].cancel()
            model = [entry for entry in model if entry[1] != serial]
        elif what == "pop":
            model.sort()
            due = heap.pop_due(number)
            if model and model[0][0] <= number:
                assert due is not None
                due()
                assert fired[-1] == model.pop(0)[1]
            else:
                assert due is None
        if looks:
            assert heap.next_due_ns() == (min(model)[0] if model else None)


@pytest.mark.parametrize(
    ("popped_ns", "then_ns"), [(30, 40), (34, 40), (40, 50), (99, 100)], ids=["in time", "late", "one late", "six late"]
)
def test_a_periodic_timer_stays_on_its_grid_and_skips_missed_ticks(popped_ns: int, then_ns: int):
    heap = TimerHeap()
    handle = heap.push(30, int, every_ns=10)
    assert heap.pop_due(29) is None
    assert heap.pop_due(popped_ns) is int
    assert heap.pop_due(popped_ns) is None
    assert heap.next_due_ns() == then_ns
    assert heap.pop_due(then_ns) is int
    assert heap.pop_due(then_ns + 9) is None
    handle.cancel()
    assert heap.next_due_ns() is None


def test_a_period_ends_with_its_cancelling_also_by_what_it_calls():
    heap = TimerHeap()
    handle = heap.push(1, lambda: handle.cancel(), every_ns=1)
    due = heap.pop_due(1)
    assert due is not None
    due()
    assert heap.next_due_ns() is None


def test_a_period_goes_on_beyond_the_second_in_which_it_began():
    heap = TimerHeap()
    heap.push(SECOND, int, every_ns=20 * SECOND)
    heap.push(30 * SECOND, str)
    fired = [(due_ns, heap.pop_due(due_ns)) for _ in range(4) if (due_ns := heap.next_due_ns()) is not None]
    assert fired == [(1 * SECOND, int), (21 * SECOND, int), (30 * SECOND, str), (41 * SECOND, int)]
    assert len(heap) == 1


@pytest.mark.parametrize("apart_ns", [1, MS, SECOND])
def test_cancelled_timers_do_not_fill_the_heap(apart_ns: int):
    heap = TimerHeap()
    kept = [heap.push(10**9 + number, int) for number in range(100)]
    for number in range(10_000):
        heap.push(10**6 + number * apart_ns, int).cancel()
        assert len(heap) <= 2_048
    assert all(handle.fn is not None for handle in kept)
