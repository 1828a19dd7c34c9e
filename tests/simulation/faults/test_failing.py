"""Actors that fail by chance: which, how often, at which messages, and until when.

And an agent that does not recover.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.containers.gc import ContainerGCActor
from actors.kernel import Actor, ActorSystem, Message, Promise, SimulatedDispatcher, handles
from actors.status.manager import StatusManagerActor
from simulation.chance.sometimes import Sometimes
from simulation.faults.failing import FailingActors, MeantToFailError, handled_until
from simulation.node.killable import KillableDispatcher
from simulation.play.play import Play
from simulation.scenarios.faults import ActorFailures
from simulation.scenarios.scenario import read_scenario
from simulation.world.chronicle import Chronicle
from tests.simulation.mutants import is_found_out

SECOND_NS = 10**9


class Add(Message, frozen=True):
    number: int


class Ask(Message, frozen=True):
    pass


class Sum(Actor):
    """Adds up what it is told, in a place that outlives it."""

    def __init__(self, done: list[int]) -> None:
        super().__init__()
        self.done = done

    @handles(Add)
    def add(self, message: Add) -> None:
        self.done.append(message.number)

    @handles(Ask)
    def asked(self, _: Ask) -> int:
        return sum(self.done)


class OtherSum(Sum):
    pass


class Node:
    """Two actors, on a dispatcher on which some fail."""

    def __init__(self, *faults: ActorFailures, seed: str = "1") -> None:
        self.told: list[str] = []
        self.sometimes = Sometimes()
        self.failing = FailingActors(faults, seed, self.sometimes, self.told.append)
        world = SimulatedDispatcher(1)
        agent = KillableDispatcher(world)
        agent.failing = self.failing
        self.dispatcher = world
        self.system = ActorSystem(agent)
        self.done: dict[str, list[int]] = {"one": [], "other": []}
        self.one = self.system.spawn(Sum, self.done["one"], name="one")
        self.other = self.system.spawn(OtherSum, self.done["other"], name="other")

    def add(self, count: int) -> None:
        for number in range(count):
            self.one.tell(Add(number))
            self.other.tell(Add(number))
        self.dispatcher.run_for(3600 * SECOND_NS)


@pytest.mark.parametrize(
    ("fault", "who"),
    [
        (ActorFailures(share=1.0, times=8), {"/one", "/other"}),
        (ActorFailures(share=1.0, times=3, actor="OtherSum"), {"/other"}),
        (ActorFailures(share=1.0, times=3, path="/on*"), {"/one"}),
        (ActorFailures(share=1.0, times=3, message="Add", path="/one"), {"/one"}),
        (ActorFailures(share=1.0, times=3, message="Ask"), set()),
        (ActorFailures(share=0.0), set()),
    ],
)
def test_a_named_actor_fails_as_often_as_ordered_and_recovers(fault: ActorFailures, who: set[str]):
    node = Node(fault)
    node.add(20)
    assert set(node.told) == who
    assert len(node.told) == node.sometimes.counts["actor-failed"] == (fault.times if who else 0)
    # What it failed on may be lost, or done before it failed; nothing else is.
    assert sum(20 - len(done) for done in node.done.values()) <= len(node.told)
    assert node.one.ask(Ask(), block=False) is not None


def test_the_seed_decides_who_fails_and_at_what():
    def failed(seed: str) -> tuple[list[str], dict[str, list[int]]]:
        node = Node(ActorFailures(share=0.3), seed=seed)
        node.add(30)
        return node.told, node.done

    assert failed("1") == failed("1") != failed("2")


def test_some_fail_before_their_work_and_some_after_it():
    node = Node(ActorFailures(share=1.0, times=60))
    node.add(60)
    lost = 120 - sum(map(len, node.done.values()))
    assert 0 < lost < len(node.told)


def test_a_healed_world_has_no_failing_actors():
    node = Node(ActorFailures(share=1.0))
    node.failing.heal()
    node.add(5)
    assert node.told == []
    assert node.done == {"one": [*range(5)], "other": [*range(5)]}


def test_an_actor_that_fails_too_often_is_parked_and_retried():
    node = Node(ActorFailures(share=1.0, times=10, actor="Sum"))
    node.add(20)
    assert node.sometimes.counts["actor-parked"] > 0
    assert node.done["one"][-1] == 19


def test_where_nobody_is_to_fail_handlers_are_the_actors_own():
    dispatcher = SimulatedDispatcher(1)
    assert KillableDispatcher(dispatcher).handlers_of(Sum) is dispatcher.handlers_of(Sum)


class Wait(Message, frozen=True):
    pass


class Patient(Actor):
    """Waits twice; fails after so many waits."""

    def __init__(self, until: int, done: list[str], answers: list[Promise[str]]) -> None:
        super().__init__()
        self.until, self.done, self.answers = until, done, answers

    async def work(self) -> None:
        try:
            for answer in self.answers:
                self.done.append(await self.wait(answer))
        finally:
            self.done.append("left in order")

    @handles(Wait)
    async def waits(self, _: Wait) -> None:
        await handled_until(self.work(), self.until, lambda: MeantToFailError("now"))


@pytest.mark.parametrize(
    ("waits", "answers", "done"),
    [
        (1, ("a", "b"), []),
        (2, ("a", "b"), ["a"]),
        (9, ("a", "b"), ["a", "b"]),
        (1, ("a",), []),
    ],
)
def test_a_failure_amid_the_work_comes_when_what_was_waited_for_has_come(
    waits: int, answers: tuple[str, ...], done: list[str]
):
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    promises, seen = [Promise[str]() for _ in answers], list[str]()
    patient = system.spawn(Patient, waits, seen, promises, name="patient")
    asked = patient.ask(Wait(), block=False)
    dispatcher.run_for(SECOND_NS)
    assert seen == []
    for promise, answer in zip(promises, answers, strict=True):
        promise.set_result(answer)
        dispatcher.run_for(SECOND_NS)
    with pytest.raises(MeantToFailError):
        asked.get()
    assert seen == [*done, "left in order"]


def test_an_actor_stopped_while_waiting_stops():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    seen = list[str]()
    patient = system.spawn(Patient, 2, seen, [Promise[str]()], name="patient")
    patient.tell(Wait())
    dispatcher.run_for(SECOND_NS)
    patient.stop(block=False)
    dispatcher.run_for(SECOND_NS)
    assert seen == ["left in order"]
    assert not patient.is_alive()


def test_an_unplanned_failure_of_an_actor_is_a_violation():
    chronicle = Chronicle(lambda: 0)
    chronicle.means_to_fail("node-0/node/pleg")
    for actor in ("node-0/node/pleg", "node-1/node/pleg", "node-0/node/pleg"):
        chronicle.actor_failed(actor, "Relist", "failed: MeantToFailError")
    assert [each.what.partition(" ")[0] for each in chronicle.violations] == ["node-1/node/pleg", "node-0/node/pleg"]


def test_the_actors_of_a_new_agent_fail_as_well():
    text = """
about: x
pods: [{name: a, count: 2, arrives: [30s, 40s]}]
faults: [{fault: agent-kills, at: [10s], away: [0s, 0s]}, {fault: actor-failures, actor: PodWorker, share: 0.2}]
lasts: 60s
"""
    play = Play(read_scenario(text.encode()), 3)
    while not play.done:
        play.advance(10 * SECOND_NS)
    outcome = play.outcome()
    assert outcome.violations == ()
    assert outcome.sometimes["actor-failed"] > 0


def _nothing(*_: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("actor", "method"), [(StatusManagerActor, "on_start"), (ContainerGCActor, "on_start")], ids=lambda each: str(each)
)
def test_an_agent_whose_actors_do_not_ask_again_what_they_forgot_is_found_out(
    actor: type[Actor], method: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(actor, method, _nothing)
    assert is_found_out("failing-actors", 28, "unsettled")
