"""A failure in an actor stays its own.

It is restarted, parked, stopped or escalated, and no other actor feels it.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from actors.kernel import ESCALATE, STOP, ActorStopped, ChildFailed, NameTakenError, RestartStrategy
from tests.actors.kernel.cast import (
    MS,
    QUICK,
    SECOND,
    Crash,
    Do,
    Fail,
    FailsToStart,
    Hang,
    Later,
    Parent,
    Puppet,
    Say,
    Tick,
)
from tests.actors.kernel.drivers import Driver, SimulatedDriver

EVERY_KIND = [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, StopIteration, RecursionError]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_handler_may_fail_with_anything_and_the_actor_comes_back(driver: Driver, kind: type[BaseException]):
    made: list[str] = []
    ref = driver.spawn(Crash, made, strategy=QUICK)
    ref.tell(Fail(kind))
    assert ref.ask(Say("")) == 2


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_handler_may_fail_after_waiting_and_the_actor_comes_back(driver: Driver, kind: type[BaseException]):
    starts: list[str] = []

    async def fail(puppet: Puppet) -> None:
        await puppet.sleep(MS)
        raise kind("as told")

    ref = driver.spawn(Puppet, None, lambda puppet: starts.append("start"), strategy=QUICK)
    ref.tell(Later(fail))
    ref.tell(Say("after"))
    driver.until(lambda: starts == ["start", "start"])
    assert ref.ask(Say("well")) == "well"


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_timer_handler_may_fail_and_the_actor_comes_back(driver: Driver, kind: type[BaseException]):
    made: list[str] = []

    class TimeBomb(Crash):
        def on_start(self) -> None:
            if len(self.made) == 1:
                self.after(MS, Fail(kind))

    ref = driver.spawn(TimeBomb, made, strategy=QUICK)
    driver.until(lambda: len(made) == 2)
    assert ref.ask(Say("")) == 2


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_result_handler_of_an_effect_may_fail_and_the_actor_comes_back(driver: Driver, kind: type[BaseException]):
    starts: list[str] = []

    def raise_it(_: Any) -> None:
        raise kind("as told")

    ref = driver.spawn(Puppet, None, lambda puppet: starts.append("start"), strategy=QUICK)
    ref.tell(Do(lambda puppet: puppet.begin(lambda: puppet.lane("l").submit("k", int), raise_it)))
    driver.until(lambda: starts == ["start", "start"])
    assert ref.ask(Say("well")) == "well"


@pytest.mark.parametrize("where", ["constructor", "on_start", "async on_start"])
def test_an_actor_that_fails_to_start_is_tried_again(driver: Driver, where: str):
    attempts: list[int] = []
    ref = driver.spawn(FailsToStart, attempts, 3, where, strategy=QUICK)
    assert ref.ask(Say("at last")) == "at last"
    assert len(attempts) == 4


def test_a_constructor_that_forgets_its_base_is_a_failure_that_says_so(driver: Driver):
    class Forgetful(Puppet):
        def __init__(self) -> None:
            pass

    ref = driver.spawn(Forgetful, strategy=STOP)
    driver.until(lambda: not ref.is_alive())


def test_failures_whose_text_raises_are_failures_like_others(driver: Driver):
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

        __repr__ = __str__

    made: list[str] = []
    ref = driver.spawn(Crash, made, strategy=QUICK)
    ref.tell(Fail(UnspeakableError))
    assert ref.ask(Say("")) == 2


def test_on_failure_hears_of_the_failure_and_may_itself_fail(driver: Driver):
    heard: list[str] = []

    class Mourner(Crash):
        def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
            heard.append(f"{exception_type.__name__}: {exception_value}")
            raise SystemExit("and I fail too")

    ref = driver.spawn(Mourner, [], strategy=QUICK)
    ref.tell(Fail())
    assert ref.ask(Say("")) == 2
    assert heard == ["ValueError: as told"]


def test_a_restart_keeps_reference_mailbox_children_and_watchers(driver: Driver):
    notes: list[Any] = []
    watcher = driver.spawn(Puppet, notes, name="watcher")
    parent_notes: list[Any] = []
    parent = driver.spawn(Parent, parent_notes, (("kid", Crash, ([],)),), name="parent", strategy=QUICK)
    kid = parent.ask(Say("kid"))
    assert kid.ask(Say("")) == 1
    watcher.ask(Do(lambda puppet: puppet.watch(parent)))
    parent.tell(Fail())
    assert parent.ask(Say("kid")) is kid
    assert kid.ask(Say("")) == 1, "the child did not notice"
    assert parent_notes == ["parent started", "parent started"]
    parent.stop()
    driver.until(lambda: bool(notes))
    assert notes == [ActorStopped(parent, "/parent", "")]


def test_a_failure_is_told_to_the_parent_with_cause_count_and_last_message(driver: Driver):
    notes: list[Any] = []
    parent = driver.spawn(Parent, notes, (("kid", Crash, ([],)),), name="parent")
    kid = parent.ask(Say("kid"))
    kid.tell(Fail())
    driver.until(lambda: len(notes) == 2)
    assert notes[1] == ChildFailed(kid, "kid", "ValueError: as told", 1, 2 * MS, False, "Fail")


def test_a_failure_is_logged_with_cause_count_and_last_message(driver: Driver, caplog: pytest.LogCaptureFixture):
    ref = driver.spawn(Crash, [], strategy=QUICK)
    ref.tell(Fail())
    assert ref.ask(Say("")) == 2
    assert "/it failed on Fail: ValueError: as told; restart 1 in 0.00 s" in caplog.text


def test_restarts_back_off_and_past_the_budget_the_actor_is_parked_and_retried_slowly(simulated: SimulatedDriver):
    times_ns: list[int] = []
    strategy = RestartStrategy(
        budget=3, window_ns=60 * SECOND, initial_ns=SECOND, max_ns=3 * SECOND, jitter=0.0, parked_retry_ns=100 * SECOND
    )

    class Doomed(Puppet):
        def on_start(self) -> None:
            times_ns.append(self.now_ns() // SECOND)
            raise RuntimeError("again")

    simulated.spawn(Doomed, strategy=strategy)
    simulated.pass_time(220 * SECOND)
    # Waits 1, 2 and 3 (the limit) seconds, then parked; the window has passed when it is tried again: a new budget.
    assert times_ns == [0, 1, 3, 6, 106, 107, 109, 112, 212, 213, 215, 218]


def test_a_parked_actor_is_reported_and_heals_when_its_cause_does(driver: Driver):
    attempts: list[int] = []
    ref = driver.spawn(FailsToStart, attempts, 8, strategy=QUICK)
    driver.until(lambda: any(actor.state == "parked" for actor in driver.system.report().actors))
    ref.tell(Tick())
    assert ref.ask(Say("healed")) == "healed"
    assert len(attempts) == 9


def test_back_off_is_jittered_by_the_dispatchers_chance():
    def first_restart_ns(seed: int) -> int:
        driver = SimulatedDriver(seed)
        notes: list[Any] = []
        parent = driver.spawn(Parent, notes, (), name="parent")
        del parent
        ref = driver.spawn(Crash, [], strategy=RestartStrategy(initial_ns=SECOND, jitter=0.5))
        ref.tell(Fail())
        driver.until(lambda: driver.system.report().actors[1].restarts == 1)
        ref.ask(Say(""))
        return driver.dispatcher.now_ns()

    delays = {first_restart_ns(seed) for seed in range(8)}
    assert len(delays) == 8
    assert all(SECOND <= delay < 3 * SECOND // 2 for delay in delays)


def test_a_child_that_stops_on_failure_is_gone_and_its_watchers_hear_why(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Crash, [], name="once", strategy=STOP)
    watcher = driver.spawn(Puppet, notes, lambda puppet: puppet.watch(ref), name="watcher")
    watcher.ask(Say("watching"))
    ref.tell(Fail())
    driver.until(lambda: len(notes) == 2)
    assert notes[1] == ActorStopped(ref, "/once", "ValueError: as told")


def test_an_escalating_child_fails_its_parent_with_its_cause(driver: Driver):
    notes: list[Any] = []
    reasons: list[str] = []

    class Family(Puppet):
        def on_start(self) -> None:
            self.notes.append("start")
            if "kid" not in self.children:
                self.spawn(Crash, [], name="kid", strategy=ESCALATE)

        def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
            reasons.append(str(exception_value))

    ref = driver.spawn(Family, notes, strategy=QUICK)
    ref.ask(Do(lambda puppet: puppet.children["kid"].tell(Fail())))
    driver.until(lambda: notes == ["start", "start"])
    assert reasons == ["as told"]
    assert ref.ask(Do(lambda puppet: puppet.children["kid"])).ask(Say("")) == 1


def test_an_escalation_does_not_wait_for_what_the_parent_waits_for(driver: Driver):
    class Waiting(Hang):
        def on_start(self) -> None:
            if "kid" not in self.children:
                self.spawn(Crash, [], name="kid", strategy=ESCALATE).tell(Say("x"))

        async def hang(self, message: Say) -> None:
            self.children["kid"].tell(Fail())
            await super().hang(message)

    ref = driver.spawn(Waiting, strategy=QUICK)
    ref.tell(Say("hang"))
    driver.until(lambda: driver.system.report().actors[1].restarts == 1)


def test_one_pod_whose_worker_always_fails_does_not_touch_the_others(driver: Driver):
    made: list[str] = []
    bad = driver.spawn(Crash, made, name="bad", strategy=QUICK)
    good = [driver.spawn(name=f"good{number}") for number in range(20)]
    for round_ in range(10):
        bad.tell(Fail(SystemExit))
        for ref in good:
            assert ref.ask(Say(str(round_))) == str(round_)
    assert all(actor.restarts == 0 for actor in driver.system.report().actors if actor.path != "/bad")


def test_a_taken_name_is_refused_and_the_name_of_the_dead_is_free_again(driver: Driver):
    first = driver.spawn(name="same")
    with pytest.raises(NameTakenError, match="same"):
        driver.spawn(name="same")
    first.stop()
    second = driver.spawn(name="same")
    assert second.ask(Say("again")) == "again"
    assert not first.is_alive()


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_that_could_not_be_found_again_is_refused(driver: Driver, name: str):
    with pytest.raises(ValueError, match="name"):
        driver.spawn(name=name)


def test_watching_tells_once_however_often_it_was_asked_for_and_at_once_for_the_dead(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(name="mortal")
    watcher = driver.spawn(Puppet, notes, name="watcher")
    for _ in range(3):
        watcher.ask(Do(lambda puppet: puppet.watch(ref)))
    ref.stop()
    driver.until(lambda: bool(notes))
    assert watcher.ask(Say("that is all"))
    assert len(notes) == 2
    watcher.ask(Do(lambda puppet: puppet.watch(ref)))
    driver.until(lambda: len(notes) == 3)
    assert notes[0] == notes[2] == ActorStopped(ref, "/mortal", "")


def test_the_log_shows_the_stack_of_the_first_failure_only(driver: Driver, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.ERROR)
    ref = driver.spawn(Crash, [], strategy=QUICK)
    for _ in range(3):
        ref.tell(Fail())
    assert ref.ask(Say("")) == 4
    assert caplog.text.count("Traceback") == 1
    assert caplog.text.count("failed on Fail") == 3
