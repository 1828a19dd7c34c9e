"""`FairTurns` and `FairCalls`: pods take turns, with a limit for each and in total."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.cluster.fair_calls import FairCall, FairCalls
from actors.cluster.fair_turns import NODE, FairTurns
from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles
from config.api.resources import CONFIG_MAPS
from runtime.api import get
from tests.actors.manual_api import ManualApi, unreachable

LIMIT_NS = 10**9


def turns(*things: str, at_most: int = 4, of_pod: int = 2, urgent: str = "") -> FairTurns[str]:
    made = FairTurns[str](at_most=at_most, of_pod=of_pod, is_wanted=lambda each: not each.endswith("!"))
    for each in things:
        made.wait(each[0].strip("-"), each, urgent=each[0] in urgent)
    return made


def begun(made: FairTurns[str]) -> str:
    found: list[str] = []
    while (turn := made.begin()) is not None:
        found.append(turn[1])
    return " ".join(found)


@pytest.mark.parametrize(
    ("things", "urgent", "expected"),
    [
        ("a1 a2 a3", "", "a1 a2"),
        ("a1 a2 a3 b1", "", "a1 b1 a2"),
        ("a1 a2 b1 b2 c1", "", "a1 b1 c1 a2"),
        ("a1 a2 b1 b2 c1 c2", "c", "c1 c2 a1 b1"),
        ("a1! a2! a3! a4 b1", "", "a4 b1"),
        ("-1 -2 -3 -4 -5 a1", "", "-1 a1 -2 -3"),
    ],
)
def test_which_turns_begin(things: str, urgent: str, expected: str) -> None:
    assert begun(turns(*things.split(), urgent=urgent)) == expected


def test_a_pod_gets_its_next_turn_when_one_is_over() -> None:
    made = turns("a1", "a2", "a3", "b1", "b2", "b3")
    assert begun(made) == "a1 b1 a2 b2"
    made.over("b")
    assert begun(made) == "b3"
    made.forget("a")
    made.over("a")
    made.over("a")
    assert begun(made) == ""
    made.wait("a", "a4")
    assert begun(made) == "a4"


def test_the_node_has_no_limit_of_its_own() -> None:
    made = turns(at_most=3, of_pod=1)
    for number in range(5):
        made.wait(NODE, str(number))
    assert begun(made) == "0 1 2"


class Ask(Message, frozen=True):
    uid: str
    name: str


class Join(Message, frozen=True):
    uid: str
    name: str


class Drop(Message, frozen=True):
    name: str


class Caller(Actor):
    max_effects = 4

    def __init__(self, api: ManualApi) -> None:
        super().__init__()
        self.calls = FairCalls(self, api, at_most=4, of_pod=2)
        self.made: dict[str, FairCall[Any]] = {}

    @handles(Ask)
    def ask(self, message: Ask) -> None:
        call = get(CONFIG_MAPS, "shop", message.name)
        urgent = message.uid == "critical"
        self.made[message.name] = self.calls.begin(
            message.uid, call, lambda _: None, timeout_ns=LIMIT_NS, urgent=urgent
        )

    @handles(Join)
    def join(self, message: Join) -> None:
        self.calls.join(self.made[message.name], message.uid)

    @handles(Drop)
    def drop(self, message: Drop) -> None:
        self.made[message.name].drop()


class World:
    def __init__(self) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.caller = self.system.spawn(Caller, self.api, name="caller")

    def tell(self, *messages: Message) -> None:
        for each in messages:
            self.caller.tell(each)
        self.dispatcher.run_for(0)

    def made(self) -> str:
        """The calls since the last look: pod and name."""
        calls, self.api.calls = self.api.calls, []
        return " ".join(f"{each.turn_of}:{each.name}" for each in calls)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_an_end_well_or_not_makes_the_next_call(world: World) -> None:
    world.tell(*(Ask("a", f"a{number}") for number in range(4)), Ask("b", "b0"))
    assert world.made() == "a:a0 a:a1 b:b0"
    world.api.answer(None)
    world.tell()
    assert world.made() == "a:a2"
    world.api.fail(unreachable())
    world.tell()
    assert world.made() == "a:a3"


def test_a_call_that_two_pods_wait_for_is_made_in_the_turn_of_the_first(world: World) -> None:
    world.tell(*(Ask("a", f"a{number}") for number in range(4)), Join("b", "a3"), Join("c", "a3"))
    assert world.made() == "a:a0 a:a1 b:a3"
    world.api.answer(None)
    world.api.answer(None)
    world.tell()
    assert world.made() == "a:a2", "it is made once"


def test_a_call_that_nobody_wants_any_more_is_not_made(world: World) -> None:
    world.tell(*(Ask("a", f"a{number}") for number in range(4)), Drop("a2"))
    world.api.answer(None)
    world.tell()
    assert world.made() == "a:a0 a:a1 a:a3"
    world.tell(Join("b", "a2"))
    assert world.made() == ""


def test_calls_carry_the_pod_and_whether_it_is_critical(world: World) -> None:
    world.tell(Ask("critical", "x"), Ask("", "y"))
    assert [(each.turn_of, each.urgent) for each in world.api.calls] == [("critical", True), ("", False)]
