"""A running system can be looked into, and health names who is late."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from actors.kernel import ActorInfo, Heartbeat, Promise, handles
from actors.kernel.cell import Cell
from tests.actors.kernel.cast import MS, QUICK, Block, Crash, Do, Fail, Hang, Later, Parent, Puppet, Say, Tick, Watchful
from tests.actors.kernel.drivers import Driver, PoolDriver, SimulatedDriver


class Asked(Watchful):
    """Notes that it was asked whether it lives."""

    @handles(Heartbeat)
    def asked(self, _: Heartbeat) -> None:
        self.notes.append(self.ref.name)


class Asking(Parent):
    """Asks those below it."""

    @handles(Do)
    def do(self, message: Do) -> None:
        message.what(self)


class Resting(Asked):
    rests_unasked: ClassVar[bool] = True


def info(driver: Driver, path: str) -> ActorInfo:
    return next(actor for actor in driver.system.report().actors if actor.path == path)


def test_the_report_is_the_tree_depth_first_by_name(driver: Driver):
    driver.spawn(Parent, [], (("b", Puppet, ()), ("a", Puppet, ())), name="left")
    driver.spawn(name="right")
    driver.settle()
    assert [actor.path for actor in driver.system.report().actors] == ["", "/left", "/left/a", "/left/b", "/right"]
    assert info(driver, "/left").children == 2
    assert info(driver, "/left/a").actor_class == "Puppet"


def test_the_report_tells_what_each_actor_waits_for_and_since_when(driver: Driver):
    promise: Promise[None] = Promise()
    ref = driver.spawn()
    ref.tell(Later(lambda puppet: puppet.wait(promise, what="the runtime")))
    driver.settle()
    for number in range(3):
        ref.tell(Tick(number))
    driver.pass_time(5 * MS)
    seen = info(driver, "/it")
    assert (seen.state, seen.handling, seen.waiting_for, seen.mailbox_depth) == ("waiting", "Later", "the runtime", 3)
    assert seen.handling_for_ns >= 5 * MS
    assert seen.oldest_age_ns >= 5 * MS
    promise.set_result(None)
    driver.until(lambda: info(driver, "/it").handled == 4)


def test_the_report_counts_failures_and_restarts(driver: Driver):
    ref = driver.spawn(Crash, [], strategy=QUICK)
    ref.tell(Fail())
    assert ref.ask(Say("")) == 2
    seen = info(driver, "/it")
    assert (seen.restarts, seen.last_failure) == (1, "ValueError: as told")


def test_the_report_has_the_slowest_message_without_waiting_time(pool: PoolDriver):
    ref = pool.spawn(name="slow")
    ref.ask(Later(lambda puppet: puppet.sleep(50 * MS)))
    ref.ask(Do(lambda puppet: threading.Event().wait(0.01)))
    seen = info(pool, "/slow")
    assert seen.slowest_handler == "Do"
    assert 10 * MS <= seen.slowest_ns < 50 * MS


def test_the_report_counts_drops_effects_and_dead_letters(driver: Driver):
    class Small(Puppet):
        mailbox_capacity = 2

    ref = driver.spawn(Small)
    promise: Promise[None] = Promise()
    ref.ask(Do(lambda puppet: puppet.begin(lambda: promise, lambda done: None)))
    ref.tell(Later(lambda puppet: puppet.wait(promise)))
    driver.settle()
    for number in range(5):
        ref.tell(Tick(number))
    seen = info(driver, "/it")
    assert (seen.mailbox_dropped, seen.effects) == (3, 1)
    assert driver.system.report().dead_letters == 3
    promise.set_result(None)


def test_health_names_exactly_the_frozen_actor(driver: Driver):
    for number in range(20):
        driver.spawn(Watchful, name=f"well{number}")
    frozen = driver.spawn(Hang, name="frozen")
    assert driver.system.late_actors() == ()
    frozen.tell(Say("hang"))
    frozen.tell(Say("waits for ever"))
    driver.until(lambda: bool(driver.system.late_actors()))
    (late,) = driver.system.late_actors()
    assert (late.path, late.limit_ns, late.doing) == ("/frozen", 50 * MS, "Say, waiting for what never comes")
    assert late.age_ns > 50 * MS


def test_health_names_a_frozen_actor_with_an_empty_mailbox(simulated: SimulatedDriver, monkeypatch: pytest.MonkeyPatch):
    """Only a question tells an idle actor from a frozen one."""
    above = simulated.spawn(Asking, [], (("frozen", Watchful, ()), ("well", Watchful, ())), name="above")
    simulated.settle()
    dispatcher, held = simulated.system.dispatcher, set[Cell]()
    enqueue = dispatcher.enqueue
    with monkeypatch.context() as patched:
        patched.setattr(dispatcher, "enqueue", lambda it: held.add(it) if it.name == "frozen" else enqueue(it))
        for _ in range(3):
            above.tell(Do(Asking.ask_around))
            simulated.pass_time(60_000 * MS)
        assert [late.path for late in simulated.system.late_actors()] == ["/above/frozen"]
        assert info(simulated, "/above/frozen").mailbox_depth == 1  # asked again in vain, it is asked no more
    for cell in held:
        enqueue(cell)
    simulated.settle()
    assert simulated.system.late_actors() == ()


def test_the_health_check_asks_neither_busy_actors_nor_those_that_opt_out(simulated: SimulatedDriver):
    notes: list[Any] = []
    children = (("busy", Asked, (notes,)), ("idle", Asked, (notes,)), ("resting", Resting, (notes,)))
    above = simulated.spawn(Asking, [], children, name="above")
    busy = above.ask(Say("busy"))
    for number in range(5):
        busy.tell(Tick(number))
        simulated.settle()
        above.tell(Do(Asking.ask_around))
        simulated.settle()
    assert notes == [Tick(0), Tick(1), "idle", Tick(2), Tick(3), "idle", Tick(4)]  # to answer is to do something


def test_health_names_an_actor_whose_handler_holds_its_thread_even_with_an_empty_mailbox(pool: PoolDriver):
    gate = threading.Event()
    pool.spawn(Watchful, name="well")
    pool.spawn(Block, gate, name="blocked").tell(Say("block"))
    pool.until(lambda: [late.path for late in pool.system.late_actors()] == ["/blocked"])
    gate.set()
    pool.until(lambda: pool.system.late_actors() == ())


def test_health_names_an_actor_that_is_parked_while_mail_waits(simulated: SimulatedDriver):
    class Doomed(Watchful):
        def on_start(self) -> Any:
            raise RuntimeError("never")

    simulated.spawn(Doomed, name="doomed").tell(Say("help"))
    simulated.pass_time(60_000 * MS)
    assert [(late.path, late.doing) for late in simulated.system.late_actors()] == [("/doomed", "parked")]


def test_health_names_the_actor_that_does_not_end_and_not_those_waiting_for_it(
    simulated: SimulatedDriver, monkeypatch: pytest.MonkeyPatch
):
    children: list[Any] = []
    parent = simulated.spawn(Watchful, name="parent")
    parent.tell(Do(lambda it: children.append(it.spawn(Watchful, name="child"))))
    simulated.settle()
    dispatcher, held = simulated.system.dispatcher, []
    enqueue = dispatcher.enqueue
    with monkeypatch.context() as patched:
        patched.setattr(dispatcher, "enqueue", lambda it: held.append(it) if it.name == "child" else enqueue(it))
        children[0].tell(Tick(1))
        parent.stop(block=False)
        parent.tell(Tick(2))
        simulated.pass_time(60_000 * MS)
        assert [late.path for late in simulated.system.late_actors()] == ["/parent/child"]
    for cell in held:
        enqueue(cell)


def test_looking_disturbs_nobody_while_all_are_at_work(pool: PoolDriver):
    notes: list[Any] = []
    refs = [pool.spawn(Puppet, notes, name=f"n{number}") for number in range(10)]

    def tell_all() -> None:
        for number in range(1_000):
            refs[number % 10].tell(Tick(number))

    teller = threading.Thread(target=tell_all)
    teller.start()
    while teller.is_alive() or len(notes) < 1_000:
        assert len(pool.system.report().actors) == 11
        pool.system.late_actors()
    teller.join()
    assert len(notes) == 1_000
