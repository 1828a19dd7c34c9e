"""Handlers that wait: without a thread, in order, and open to interrupts."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from actors.kernel import CancelledPromiseError, DeadlineExceededError, Interrupted, Promise, broken, kept
from actors.kernel.cell import Cell
from tests.actors.kernel.cast import MS, Bounded, Do, Ended, Hang, Interrupt, Later, Puppet, Say
from tests.actors.kernel.drivers import Driver, SimulatedDriver


def test_a_handler_waits_for_a_pending_and_gets_its_result(driver: Driver):
    promise: Promise[int] = Promise()
    ref = driver.spawn()
    answer = ref.ask(Later(lambda puppet: puppet.wait(promise)), block=False)
    driver.settle()
    promise.set_result(5)
    assert answer.get() == 5


def test_a_handler_gets_the_failure_of_what_it_waits_for(driver: Driver):
    async def meet_failure(puppet: Puppet) -> str:
        try:
            await puppet.wait(broken(OSError("disk")))
        except OSError as failure:
            return f"met {failure}"
        return "met nothing"

    assert driver.spawn().ask(Later(meet_failure)) == "met disk"


def test_awaiting_a_kept_promise_does_not_suspend(driver: Driver):
    async def sum_up(puppet: Puppet) -> int:
        return sum([await puppet.wait(kept(number)) for number in range(100)])

    assert driver.spawn().ask(Later(sum_up)) == 4950


def test_a_future_of_the_standard_library_can_be_awaited(driver: Driver):
    future: Future[str] = Future()
    answer = driver.spawn().ask(Later(lambda puppet: puppet.wait(future)), block=False)
    driver.settle()
    future.set_result("from a thread")
    assert answer.get() == "from a thread"


@pytest.mark.usefixtures("no_collections")
def test_a_result_that_has_come_is_freed_without_a_pass_of_the_garbage_collector(driver: Driver):
    future: Future[str] = Future()  # it keeps its callbacks, unlike a promise
    seen, only = weakref.ref(future), [future]
    answer = driver.spawn().ask(Later(lambda puppet: puppet.wait(only.pop())), block=False)
    driver.settle()
    future.set_result("from a thread")
    del future
    assert answer.get() == "from a thread"
    driver.until(lambda: seen() is None)


def test_later_messages_wait_in_order_while_a_handler_waits(driver: Driver):
    notes: list[Any] = []
    promise: Promise[None] = Promise()
    ref = driver.spawn(Puppet, notes)

    async def hold(puppet: Puppet) -> None:
        notes.append("begins")
        await puppet.wait(promise)
        notes.append("ends")

    ref.tell(Later(hold))
    for text in "abc":
        ref.tell(Say(text))
    driver.until(lambda: notes == ["begins"])
    driver.settle()
    assert notes == ["begins"]
    promise.set_result(None)
    driver.until(lambda: len(notes) == 5)
    assert notes == ["begins", "ends", "a", "b", "c"]


def test_many_actors_wait_at_once_on_no_thread(driver: Driver):
    promise: Promise[None] = Promise()
    done: list[str] = []

    async def hold(puppet: Puppet) -> None:
        await puppet.wait(promise)
        done.append(puppet.path)

    before = threading.active_count()
    for number in range(1_000):
        driver.spawn(name=f"n{number}").tell(Later(hold))
    driver.settle()
    assert sum(actor.state == "waiting" for actor in driver.system.report().actors) == 1_000
    assert threading.active_count() <= before
    promise.set_result(None)
    driver.settle()
    driver.until(lambda: len(done) == 1_000)


def test_sleep_takes_its_time(driver: Driver):
    async def nap(puppet: Puppet) -> int:
        began_ns = puppet.now_ns()
        await puppet.sleep(7 * MS)
        return puppet.now_ns() - began_ns

    slept_ns = driver.spawn().ask(Later(nap))
    assert slept_ns >= 7 * MS
    assert not isinstance(driver, SimulatedDriver) or slept_ns == 7 * MS


def test_a_deadline_ends_the_wait_and_cancels_the_effect(driver: Driver):
    promise: Promise[None] = Promise()
    ref = driver.spawn()
    with pytest.raises(DeadlineExceededError, match=r"the runtime did not end within 0\.005 s"):
        ref.ask(Later(lambda puppet: puppet.wait(promise, timeout_ns=5 * MS, what="the runtime")))
    assert promise.cancelled()


def test_a_result_in_time_leaves_no_deadline_behind(driver: Driver):
    async def twice(puppet: Puppet) -> str:
        await puppet.wait(later(puppet, MS), timeout_ns=30 * MS)
        await puppet.sleep(60 * MS)  # the first wait's deadline passes here, and must not be felt
        return "undisturbed"

    assert driver.spawn().ask(Later(twice)) == "undisturbed"


def test_a_late_result_of_an_interrupted_handler_does_not_wake_the_next_one(driver: Driver):
    old: Promise[str] = Promise()
    new: Promise[str] = Promise()
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)
    ref.tell(Later(lambda puppet: puppet.wait(old)))
    driver.settle()
    ref.tell(Interrupt())
    driver.until(lambda: notes == [Interrupt()])
    answer = ref.ask(Later(lambda puppet: puppet.wait(new)), block=False)
    driver.settle()
    old.set_result("old")
    driver.settle()
    assert not answer.done()
    new.set_result("new")
    assert answer.get() == "new"


def test_a_deadline_that_meets_its_result_does_not_disturb_the_next_wait(driver: Driver):
    """Deadline and result of a wait come at the same moment, over and over.

    Each wait ends once, with its own.
    """

    async def race(puppet: Puppet) -> int:
        mixed_up = 0
        for round_ in range(50):
            try:
                value = await puppet.wait(later(puppet, MS, round_), timeout_ns=MS)
                mixed_up += value != round_
            except (DeadlineExceededError, CancelledPromiseError):
                pass
            mixed_up += await puppet.wait(later(puppet, MS // 10, "mine")) != "mine"
        return mixed_up

    assert driver.spawn().ask(Later(race)) == 0


def test_an_interrupting_message_cancels_the_handler_that_waits_and_is_handled_next(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)

    async def hold(puppet: Puppet) -> None:
        try:
            await puppet.wait(Promise[None]())
        except Interrupted as order:
            notes.append(("interrupted by", order.cause))
            raise
        finally:
            notes.append("cleaned up")

    ref.tell(Later(hold))
    driver.settle()
    ref.tell(Say("waits its turn"))
    ref.tell(Interrupt("now"))
    driver.until(lambda: len(notes) == 4)
    assert notes == [("interrupted by", Interrupt("now")), "cleaned up", Interrupt("now"), "waits its turn"]


def test_a_handler_that_swallows_its_interrupt_is_not_interrupted_by_the_same_message_again(driver: Driver):
    notes: list[Any] = []
    promise: Promise[str] = Promise()

    async def stubborn(puppet: Puppet) -> None:
        try:
            await puppet.wait(Promise[None]())
        except Interrupted:
            notes.append("so what")
        notes.append(await puppet.wait(promise))

    ref = driver.spawn(Puppet, notes)
    ref.tell(Later(stubborn))
    driver.settle()
    ref.tell(Interrupt())
    driver.settle()
    driver.until(lambda: notes == ["so what"])
    promise.set_result("done")
    driver.until(lambda: notes == ["so what", "done", Interrupt()])


def test_an_actor_begins_wholly_before_an_interrupting_message_reaches_it(driver: Driver):
    notes: list[Any] = []

    async def begin(puppet: Puppet) -> None:
        await puppet.sleep(5 * MS)
        notes.append("begun")

    driver.spawn(Puppet, notes, begin).tell(Interrupt())
    driver.until(lambda: notes == ["begun", Interrupt()])


def test_a_stop_interrupts_a_handler_that_waits(driver: Driver):
    ref = driver.spawn(Hang)
    answer = ref.ask(Say("hang"), block=False)
    driver.settle()
    assert ref.stop()
    with pytest.raises(Exception, match="gave no answer to Say: Interrupted: stop"):
        answer.get()


def test_a_handler_that_does_not_end_when_stopped_is_abandoned_after_its_grace(driver: Driver):
    ref = driver.spawn(Hang, True)
    ref.tell(Say("hang"))
    driver.settle()
    began_ns = driver.dispatcher.now_ns()
    assert ref.stop()
    assert driver.dispatcher.now_ns() - began_ns >= Hang.stop_grace_ns


def test_awaiting_something_else_than_a_pending_fails_the_handler(driver: Driver):
    class Foreign:
        def __await__(self) -> Any:
            yield "something"

    ref = driver.spawn()
    with pytest.raises(TypeError, match=r"self\.wait\(\)"):
        ref.ask(Later(lambda puppet: Foreign()))
    with pytest.raises(AttributeError):
        ref.ask(Later(lambda puppet: puppet.wait("no pending")))
    assert ref.ask(Say("alive")) == "alive"


def test_gather_waits_for_all_and_says_how_each_ended(driver: Driver):
    async def all_three(puppet: Puppet) -> list[Any]:
        slow = later(puppet, 3 * MS, "slow")
        outcomes = await puppet.gather(slow, broken(OSError("bad")), kept("quick"))
        return [outcome.value or str(outcome.error) for outcome in outcomes]

    assert driver.spawn().ask(Later(all_three)) == ["slow", "bad", "quick"]


def test_gather_of_nothing_ends_at_once_and_of_too_much_at_its_deadline(driver: Driver):
    ref = driver.spawn()
    assert ref.ask(Later(lambda puppet: puppet.gather())) == []
    with pytest.raises(DeadlineExceededError, match="2 effects"):
        ref.ask(Later(lambda puppet: puppet.gather(kept(1), Promise(), timeout_ns=2 * MS)))


def test_effects_run_beside_the_messages_and_end_as_messages(driver: Driver):
    notes: list[Any] = []
    promise: Promise[str] = Promise()
    ref = driver.spawn(Puppet, notes)
    ref.tell(Do(lambda puppet: puppet.begin(lambda: promise, lambda done: Ended(done.result()))))
    ref.tell(Say("meanwhile"))
    driver.until(lambda: notes == ["meanwhile"])
    promise.set_result("pulled")
    driver.until(lambda: notes == ["meanwhile", Ended("pulled")])


def test_effects_in_flight_are_bounded_and_the_rest_wait_their_turn(driver: Driver):
    notes: list[Any] = []
    promises: dict[int, Promise[str]] = {}

    def make(number: int) -> Callable[[], Promise[str]]:
        return lambda: promises.setdefault(number, Promise())

    def start(puppet: Puppet) -> int:
        for number in range(5):
            puppet.begin(make(number), lambda done: Ended(done.result()))
        return puppet.effects()

    ref = driver.spawn(Bounded, notes)
    assert ref.ask(Do(start)) == 5
    assert sorted(promises) == [0, 1]
    for number in range(5):
        driver.until(partial(promises.__contains__, number))
        assert len(promises) <= number + 2
        promises[number].set_result(str(number))
    driver.until(lambda: len(notes) == 5)
    assert ref.ask(Do(lambda puppet: puppet.effects())) == 0


def test_an_effect_that_fails_or_cannot_even_begin_ends_like_any_other(driver: Driver):
    notes: list[Any] = []

    def cannot_begin() -> Any:
        raise OSError("no socket")

    def start(puppet: Puppet) -> None:
        puppet.begin(cannot_begin, lambda done: Ended("first", str(done.exception())))
        puppet.begin(lambda: broken(OSError("cut")), lambda done: Ended("second", str(done.exception())))
        puppet.begin(lambda: kept(1), lambda done: None)

    driver.spawn(Puppet, notes).tell(Do(start))
    driver.until(lambda: len(notes) == 2)
    assert notes == [Ended("first", "no socket"), Ended("second", "cut")]


def test_an_effect_of_an_earlier_incarnation_is_a_dead_letter(driver: Driver):
    notes: list[Any] = []
    promise: Promise[str] = Promise()
    ref = driver.spawn(Puppet, notes)
    ref.ask(Do(lambda puppet: puppet.begin(lambda: promise, lambda done: Ended("old"))))
    ref.tell(Do(lambda puppet: 1 / 0))
    ref.tell(Say("healed"))
    driver.until(lambda: notes == ["healed"])
    promise.set_result("late")
    driver.until(lambda: driver.system.dead_letters.total() == 1)
    assert driver.system.dead_letters.last()[0].reason == "its effect was started before a restart"
    assert notes == ["healed"]


def later(puppet: Puppet, ns: int, value: Any = None) -> Promise[Any]:
    """A promise that is kept in `ns` ns."""
    promise: Promise[Any] = Promise()
    cell = puppet.actor_inbox
    assert isinstance(cell, Cell)
    cell.dispatcher.schedule(ns, lambda: promise.set_result(value))
    return promise
