"""A stop goes down the tree as a request and comes back up as a fact."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from actors.kernel import RESTART, ActorStopped, ActorSystem, Promise, SimulatedDispatcher
from tests.actors.kernel.cast import MS, QUICK, SECOND, Block, Crash, Do, Fail, Hang, Later, Parent, Puppet, Say, Tick
from tests.actors.kernel.drivers import Driver, PoolDriver


def family(notes: list[Any]) -> tuple[Any, ...]:
    """A grandparent with two parents of two children each, which note their end."""
    kids = (("a", Parent, (notes, ())), ("b", Parent, (notes, ())))
    return (("left", Parent, (notes, kids)), ("right", Parent, (notes, kids)))


def test_no_actor_stops_before_everything_below_it_has(driver: Driver):
    notes: list[Any] = []
    top = driver.spawn(Parent, notes, family(notes), name="top")
    driver.until(lambda: notes.count("parent started") == 7)
    assert top.stop()
    ends = [note for note in notes if isinstance(note, str) and note.endswith("stopped")]
    assert len(ends) == 7
    for place, end in enumerate(ends):
        path = end.removesuffix(" stopped")
        assert not any(later.startswith(path + "/") for later in ends[place:])


def test_a_stop_goes_before_what_waits_and_nothing_is_handled_after_it(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Puppet, notes)

    def stop_then_tell(puppet: Puppet) -> None:
        puppet.stop()
        puppet.ref.tell(Say("too late"))

    ref.tell(Do(stop_then_tell))
    driver.until(lambda: not ref.is_alive())
    driver.settle()
    assert notes == []
    assert driver.system.dead_letters.counts() == {("STOPPED", "Say"): 1}


def test_on_stop_may_wait(driver: Driver):
    notes: list[Any] = []

    class Tidy(Puppet):
        def on_stop(self) -> Any:
            return self.tidy_up()

        async def tidy_up(self) -> None:
            await self.sleep(3 * MS)
            self.notes.append("tidied up")

    ref = driver.spawn(Tidy, notes)
    driver.settle()
    assert ref.stop()
    assert notes == ["tidied up"]


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_an_on_stop_that_fails_does_not_keep_the_actor_alive(driver: Driver, kind: type[BaseException]):
    class Messy(Puppet):
        def on_stop(self) -> None:
            raise kind("no")

    class MessyLater(Puppet):
        def on_stop(self) -> Any:
            return self.tidy_up()

        async def tidy_up(self) -> None:
            await self.sleep(MS)
            raise kind("no")

    for actor_class in (Messy, MessyLater):
        ref = driver.spawn(actor_class)
        assert ref.ask(Say("alive")) == "alive"
        assert ref.stop()


def test_an_on_stop_that_never_ends_is_abandoned_after_its_grace(driver: Driver):
    class Clinging(Hang):
        def on_stop(self) -> Any:
            return self.tidy_up()

        async def tidy_up(self) -> None:
            await self.wait(Promise[None]())

    ref = driver.spawn(Clinging)
    driver.settle()
    assert ref.stop()


def test_on_stop_has_its_own_grace_after_a_handler_has_used_up_one(driver: Driver):
    notes: list[Any] = []

    class Slow(Hang):
        def on_stop(self) -> Any:
            return self.tidy_up()

        async def tidy_up(self) -> None:
            await self.sleep(15 * MS)  # within the grace of 20, which the handler before has used up
            notes.append("tidied up")

    ref = driver.spawn(Slow, True)
    ref.tell(Say("hang"))
    driver.settle()
    assert ref.stop()
    assert notes == ["tidied up"]


def test_an_actor_that_is_stopped_before_it_ever_lived_is_never_made(driver: Driver):
    made: list[str] = []
    reserved = driver.system.root.reserve(Puppet, "reserved", RESTART)
    assert reserved.ref.stop()
    reserved.start(([], lambda puppet: made.append("alive")), None)
    driver.settle()
    assert made == []
    failing = driver.spawn(Crash, made, name="failing", strategy=QUICK)
    failing.tell(Fail())
    driver.until(lambda: driver.system.report().actors[1].restarts == 1)
    assert failing.stop()


def test_an_actor_that_fails_while_it_is_told_to_stop_stops(driver: Driver):
    made: list[str] = []

    class Bad(Crash):
        def fail(self, message: Fail) -> None:
            self.stop()
            super().fail(message)

    ref = driver.spawn(Bad, made, strategy=QUICK)
    ref.tell(Fail())
    driver.until(lambda: not ref.is_alive())
    driver.pass_time(10 * MS)
    assert len(made) == 1


def test_a_stopping_actor_takes_no_more_children(driver: Driver):
    notes: list[Any] = []

    class Late(Puppet):
        def on_stop(self) -> None:
            try:
                self.spawn(Puppet, name="kid")
            except Exception as failure:
                self.notes.append(str(failure))

    ref = driver.spawn(Late, notes)
    driver.settle()
    assert ref.stop()
    assert notes == ["/it is stopping and takes no more children"]


def test_stopping_twice_and_from_many_sides_is_one_stop(driver: Driver):
    notes: list[Any] = []

    class Once(Puppet):
        def on_stop(self) -> None:
            self.notes.append("stopped")

    ref = driver.spawn(Once, notes)
    driver.settle()
    futures = [ref.stop(block=False) for _ in range(5)]
    assert [future.get() for future in futures] == [True] * 5
    assert notes == ["stopped"]


def test_the_whole_system_stops_leaves_first(driver: Driver):
    notes: list[Any] = []
    driver.spawn(Parent, notes, family(notes), name="top")
    driver.settle()
    assert driver.system.stop()
    assert notes[-1] == "/top stopped"
    assert driver.system.stop(), "once more is no error"


def test_the_system_says_so_when_an_actor_does_not_end(pool: PoolDriver):
    gate = threading.Event()
    stuck = PoolDriver()
    stuck.spawn(Block, gate).tell(Say("block"))
    stuck.settle()
    assert not stuck.system.stop(timeout_ns=30 * MS)
    gate.set()


def test_a_stopped_actor_leaves_nothing_behind_whoever_keeps_its_reference(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(driver.system.logger, "disabled", True)  # pytest keeps what is logged, tracebacks included

    class Heavy:
        pass

    heavy = Heavy()
    seen = weakref.ref(heavy)
    ref = driver.spawn(Crash, [heavy], strategy=QUICK)
    ref.tell(Fail())  # its back-off is running when it is stopped
    driver.until(lambda: driver.system.report().actors[1].restarts == 1)
    ref.stop()
    del heavy
    driver.settle()
    gc.collect()
    assert seen() is None


def test_watchers_that_have_stopped_are_forgotten_by_the_one_they_watched(driver: Driver):
    star = driver.spawn(name="star")
    for number in range(200):
        fan = driver.spawn(name=f"fan{number}")
        fan.ask(Do(lambda puppet: puppet.watch(star)))
        fan.stop()
    assert len(star.actor_inbox.watchers) <= 20


def test_an_actor_that_waits_for_a_dead_one_hears_of_it(driver: Driver):
    notes: list[Any] = []
    ref = driver.spawn(Hang, name="hang")
    driver.spawn(Puppet, notes, lambda puppet: puppet.watch(ref), name="watcher")
    driver.settle()
    ref.stop()
    driver.until(lambda: notes == [ActorStopped(ref, "/hang", "")])


def test_nothing_runs_after_the_dispatcher_is_closed():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    notes: list[Any] = []
    ref = system.spawn(Puppet, notes, lambda puppet: puppet.every(SECOND, Tick()), name="it")
    dispatcher.run_for(SECOND)
    assert system.stop()
    ref.tell(Say("late"))
    dispatcher.run_for(10 * SECOND)
    assert notes == [Tick()]
    assert not dispatcher.step()


def test_threads_end_with_their_dispatcher():
    before = set(threading.enumerate())
    driver = PoolDriver()
    ref = driver.spawn()
    assert ref.ask(Later(lambda puppet: puppet.wait(puppet.lane("l").submit("k", int)))) == 0
    ours = set(threading.enumerate()) - before
    assert len(ours) == 5  # three workers, the timers, one lane thread
    assert driver.system.stop()
    for thread in ours:
        thread.join(120)
    assert not any(thread.is_alive() for thread in ours)
