"""Lanes: calls that hang cost slots of their own key, and threads only while there is work."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from actors.kernel import DeadlineExceededError, Promise, lanes
from tests.actors.kernel.cast import MS, Do, Later, Puppet, Say, Unknown
from tests.actors.kernel.drivers import Driver, PoolDriver, SimulatedDriver
from tests.actors.kernel.gates import Gates, report_of

BEGUN_BY_THEN = 300 * MS
"""A call that hangs is written off no later than this.

A call that had no thread by then, on a busy machine, would only be late.
"""


def test_an_actor_waits_for_a_call_on_a_lane(driver: Driver):
    ref = driver.spawn()
    assert ref.ask(Later(lambda puppet: puppet.wait(puppet.lane("lane").submit("pod", divmod, 7, 2)))) == (3, 1)


@pytest.mark.parametrize("kind", [OSError, SystemExit])
def test_a_failed_lane_call_raises_in_the_waiting_handler(driver: Driver, kind: type[BaseException]):
    def fail() -> None:
        raise kind("from the lane")

    async def call(puppet: Puppet) -> str:
        try:
            await puppet.wait(puppet.lane("lane").submit("pod", fail))
        except BaseException as failure:
            return str(failure)
        return ""

    assert driver.spawn().ask(Later(call)) == "from the lane"


@pytest.fixture
def endless_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give lanes endless patience: a busy test machine may stop for longer than the real one allows."""
    monkeypatch.setattr(lanes, "PATIENCE_NS", 3_600_000 * MS)


@pytest.mark.usefixtures("endless_patience")
def test_no_more_than_its_size_run_at_a_time(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=3, per_key=3)
    calls = [lane.submit(f"pod{number}", gates.call, str(number)) for number in range(8)]
    driver.until(lambda: len(gates.begun) == 3)
    driver.settle()
    assert (report_of(driver).running, report_of(driver).waiting) == (3, 5)

    def has_begun(number: int) -> bool:
        return len(gates.begun) > number

    def have_ended(count: int) -> bool:
        return sum(call.done() for call in calls) == count

    for opened in range(8):
        driver.until(partial(has_begun, opened))
        gates.open(gates.begun[opened])
        driver.until(partial(have_ended, opened + 1))
    assert [call.result() for call in calls] == [str(number) for number in range(8)]


def test_no_more_than_its_share_of_one_key_run_at_a_time_and_others_pass_it(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=4, per_key=2)
    for number in range(5):
        lane.submit("greedy", gates.call, f"greedy{number}")
    lane.submit("modest", gates.call, "modest")
    driver.until(lambda: len(gates.begun) == 3)
    driver.settle()
    assert sorted(gates.begun) == ["greedy0", "greedy1", "modest"]


def test_a_call_past_its_deadline_is_written_off_and_costs_one_slot_of_its_key_only(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=1, per_key=2)
    hung = lane.submit("hung", gates.call, "hung", deadline_ns=BEGUN_BY_THEN)
    driver.until(hung.done)
    with pytest.raises(DeadlineExceededError, match="call for hung"):
        hung.result()
    report = report_of(driver)
    assert [(key, call.rpartition(".")[2]) for key, call, _ in report.written_off] == [("hung", "call")]
    # The lane has its one slot again, for other keys and for this key.
    for key in ("other", "hung"):
        again = lane.submit(key, int)
        driver.until(again.done)
    gates.open("hung")
    driver.until(lambda: not report_of(driver).written_off)
    assert report_of(driver).running == 0


def test_the_timeout_of_a_wait_writes_off_the_call_it_waited_for(driver: Driver, gates: Gates):
    async def impatient(puppet: Puppet) -> None:
        lane = puppet.lane("lane", size=1, per_key=1)
        await puppet.wait(lane.submit("pod", gates.call, "slow"), timeout_ns=5 * MS)

    ref = driver.spawn()
    with pytest.raises(DeadlineExceededError):
        ref.ask(Later(impatient))
    assert [key for key, _, _ in report_of(driver).written_off] == ["pod"]
    other = driver.dispatcher.lane("lane", size=1, per_key=1).submit("other", int)
    driver.until(other.done)


def test_calls_given_up_while_they_wait_for_a_slot_leave_the_queue_and_never_run(driver: Driver, gates: Gates):
    ran: list[str] = []
    lane = driver.dispatcher.lane("lane", size=2, per_key=1)
    lane.submit("pod", gates.call, "first")
    driver.until(lambda: gates.begun == ["first"])
    late = [lane.submit("pod", ran.append, "late", deadline_ns=3 * MS) for _ in range(50)]
    cancelled = lane.submit("pod", ran.append, "cancelled")
    assert cancelled.cancel()
    driver.until(lambda: all(call.done() for call in late))
    assert report_of(driver).waiting == 0
    gates.open("first")
    last = lane.submit("pod", int)
    driver.until(last.done)
    assert ran == []


def test_a_hanging_lane_leaves_actors_alone(driver: Driver, gates: Gates):
    def hang(puppet: Puppet) -> Any:
        return puppet.wait(puppet.lane("lane", size=2, per_key=1).submit(puppet.path, gates.call, puppet.path))

    refs = [driver.spawn(name=f"n{number}") for number in range(20)]
    for ref in refs[:10]:
        ref.tell(Later(hang))
    driver.settle()
    for ref in refs[10:]:
        assert ref.ask(Say("alive")) == "alive"


def test_threads_of_a_lane_end_when_it_is_idle(pool: PoolDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lanes, "IDLE_THREAD_SECONDS", 0.02)
    lane = pool.dispatcher.lane("lane", size=8, per_key=8)
    calls = [lane.submit("pod", threading.Event().wait, 0.005) for _ in range(8)]
    pool.until(lambda: all(call.done() for call in calls))
    pool.until(lambda: report_of(pool).threads == 0)
    again = lane.submit("pod", int)
    pool.until(again.done)


def test_an_idle_thread_is_used_before_a_new_one_is_made(pool: PoolDriver):
    lane = pool.dispatcher.lane("lane", size=8, per_key=8)
    for _ in range(50):
        pool.until(lane.submit("pod", int).done)
        pool.until(lambda: report_of(pool).running == 0)
    assert report_of(pool).threads <= 2


def test_submitting_from_many_threads_loses_and_doubles_nothing(pool: PoolDriver):
    lane = pool.dispatcher.lane("lane", size=4, per_key=2)
    ran: list[int] = []

    def submit(me: int) -> None:
        for number in range(200):
            lane.submit(f"pod{number % 7}", ran.append, me * 1_000 + number)

    threads = [threading.Thread(target=submit, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    pool.until(lambda: len(ran) == 800)
    assert len(set(ran)) == 800
    pool.until(lambda: (report_of(pool).running, report_of(pool).waiting) == (0, 0))
    assert report_of(pool).threads <= 4


def test_slow_calls_hold_up_nobody_else_long_before_their_deadlines(
    driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lanes, "PATIENCE_NS", 50 * MS)
    lane = driver.dispatcher.lane("lane", size=2, per_key=1)
    hung = [lane.submit(f"dead{number}", gates.call, f"dead{number}") for number in range(5)]
    quick = [lane.submit(f"pod{number}", divmod, 7, 2) for number in range(20)]
    driver.until(lambda: all(call.done() for call in quick))
    assert len(gates.begun) == 5
    assert not any(call.done() for call in hung)
    assert report_of(driver).written_off == ()
    gates.open_all()
    driver.until(lambda: all(call.done() for call in hung))


def test_a_thing_that_hangs_holds_others_up_once(driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lanes, "PATIENCE_NS", 50 * MS)
    lane = driver.dispatcher.lane("lane", size=1, per_key=3)
    hung = [lane.submit("dead", gates.call, "call 0")]
    first = lane.submit("pod", divmod, 7, 2)
    driver.until(first.done)
    monkeypatch.setattr(lanes, "PATIENCE_NS", 3_600_000 * MS)
    hung += [lane.submit("dead", gates.call, f"call {number}") for number in (1, 2)]
    next_one = lane.submit("pod", divmod, 7, 2)
    driver.until(next_one.done)
    driver.until(lambda: len(gates.begun) == 3)
    assert not any(call.done() for call in hung)
    gates.open_all()
    driver.until(lambda: all(call.done() for call in hung) and report_of(driver).running == 0)


def test_a_call_that_has_hung_for_long_holds_up_nobody_who_comes_later():
    dispatcher = SimulatedDriver(1).dispatcher
    lane = dispatcher.lane("lane", size=1, per_key=1)
    lane.submit("dead", lambda: Promise[str]())
    dispatcher.run_for(lanes.PATIENCE_NS)
    later = lane.submit("pod", divmod, 7, 2)
    dispatcher.run_until_idle()
    assert later.done()


def test_extra_threads_for_slow_calls_end_afterwards(gates: Gates, monkeypatch: pytest.MonkeyPatch, driver: Driver):
    if isinstance(driver, SimulatedDriver):
        return  # it has no threads
    monkeypatch.setattr(lanes, "PATIENCE_NS", 20 * MS)
    lane = driver.dispatcher.lane("lane", size=1, per_key=1)
    calls = [lane.submit(f"dead{number}", gates.call, f"dead{number}") for number in range(4)]
    driver.until(lambda: len(gates.begun) == 4)
    assert report_of(driver).threads == 4
    gates.open_all()
    driver.until(lambda: all(call.done() for call in calls) and report_of(driver).threads <= 1)


def orders_of_calls(seed: int) -> list[str]:
    """What happens around calls that an actor submits one after the other, each in a turn of its own."""
    simulated, seen = SimulatedDriver(seed, late_calls=0.2), list[str]()

    async def call(puppet: Puppet) -> None:
        for number in range(64):
            pending = puppet.lane("lane").submit("pod", lambda number=number: seen.append(f"call {number}"))
            seen.append("the caller goes on" if pending.done() else "the caller waits")
            await puppet.wait(pending)

    simulated.spawn().ask(Later(call))
    assert [line for line in seen if line.startswith("call")] == [f"call {number}" for number in range(64)]
    return seen


def test_the_seed_decides_whether_a_simulated_call_ends_before_its_caller_goes_on():
    seen = orders_of_calls(seed=1)
    assert seen.count("the caller goes on") > seen.count("the caller waits") > 0
    assert seen == orders_of_calls(seed=1)
    assert seen != orders_of_calls(seed=2)


@pytest.mark.parametrize("seed", range(5))
def test_simulated_calls_begin_in_the_order_in_which_they_come(seed: int):
    dispatcher, begun = SimulatedDriver(seed, late_calls=0.2).dispatcher, list[int]()
    for number in range(64):
        dispatcher.lane("lane", size=2, per_key=1).submit(number % 3, begun.append, number)
        if number % 16 == 15:
            dispatcher.run_for(MS)
    assert begun == list(range(64))


def test_a_simulated_call_that_is_made_at_once_is_no_part_of_its_callers_turn():
    """Its messages have no sender in the system, like those from a thread."""
    simulated, seen = SimulatedDriver(late_calls=0), list[object]()
    listener = simulated.spawn(name="listener")

    def work() -> None:
        seen.append("the call")
        listener.tell(Unknown())

    def call(puppet: Puppet) -> None:
        puppet.lane("lane").submit("pod", work)
        seen.append("the caller goes on")
        listener.tell(Unknown())

    simulated.spawn().ask(Do(call))
    simulated.settle()
    assert seen == ["the call", "the caller goes on"]
    assert [letter.sender for letter in simulated.system.dead_letters.last()] == ["outside", "/it"]
