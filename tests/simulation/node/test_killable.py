"""An agent that is frozen, whole or in one actor, loses nothing and does all its work afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, MailboxOverflowed, Message, SimulatedDispatcher, handles
from simulation.chance.sometimes import Sometimes
from simulation.faults.narrow_mailboxes import NarrowMailboxes
from simulation.node.killable import KillableApi, KillableDispatcher

SECOND = 10**9


class Note(Message, frozen=True):
    text: str


class Notes(Actor):
    """Notes what it is told, and each second that passes."""

    def __init__(self, noted: list[str]) -> None:
        super().__init__()
        self._noted = noted

    @handles(Note)
    def note(self, message: Note) -> None:
        self._noted.append(message.text)

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        self._noted.append("something was lost")


class World:
    def __init__(self, mailboxes: NarrowMailboxes | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.agent = KillableDispatcher(self.dispatcher)
        self.agent.mailboxes = mailboxes
        self.system = ActorSystem(self.agent)
        self.noted: list[str] = []

    def actor(self, name: str = "it") -> ActorRef:
        return self.system.spawn(Notes, self.noted, name=name)

    def run(self, ns: int = 0) -> list[str]:
        self.dispatcher.run_for(ns)
        return self.noted


def test_an_agent_that_stands_still_does_nothing_and_then_everything():
    world = World()
    ref = world.actor()
    world.run()
    world.agent.schedule(SECOND, lambda: ref.tell(Note("timer")))
    world.agent.pause()
    ref.tell(Note("told"))
    assert world.run(60 * SECOND) == []
    world.agent.resume()
    assert world.run() == ["told", "timer"]


def test_a_paused_agent_gets_one_late_tick_and_a_dead_one_none():
    world = World()
    ticks: list[int] = []
    world.agent.schedule(SECOND, lambda: ticks.append(world.dispatcher.now_ns() // SECOND), every_ns=SECOND)
    world.run(2 * SECOND)
    world.agent.pause()
    world.run(3 * SECOND + SECOND // 2)
    world.agent.resume()
    assert ticks == [1, 2, 5]
    world.run(SECOND)
    assert ticks == [1, 2, 5, 6]
    world.agent.kill()
    world.run(2 * SECOND)
    assert ticks == [1, 2, 5, 6]
    assert not world.dispatcher.step(), "nothing of it is left to come"


def test_an_agent_that_dies_while_it_stands_still_stays_dead():
    world = World()
    ref = world.actor()
    world.run()
    world.agent.pause()
    ref.tell(Note("told"))
    world.agent.kill()
    world.agent.resume()
    assert world.run(SECOND) == []


def test_an_agent_that_dies_in_a_call_of_a_lane_hears_nothing_of_it():
    """Whether the call is made within the turn that submits it, or later."""

    def die(world: World) -> None:
        world.agent.kill()
        raise OSError("what a process that is gone would have read")

    for late_calls in (0.0, 1.0):
        world = World()
        world.dispatcher.late_calls = late_calls
        pending = world.agent.lane("disk", size=2, per_key=1).submit("pod", die, world)
        assert world.agent.alive == bool(late_calls)
        assert not pending.done(), "the turn that has submitted it goes on, and is told nothing"
        world.run(SECOND)
        late = world.agent.lane("disk", size=2, per_key=1).submit("pod", world.noted.append, "late")
        assert (world.run(SECOND), late.done(), world.agent.alive) == ([], False, False)


def test_an_agent_that_dies_while_an_actor_of_it_is_frozen_stays_dead():
    world = World()
    frozen = world.actor("frozen")
    world.run()
    world.agent.freeze("/frozen")
    frozen.tell(Note("told"))
    world.agent.kill()
    world.agent.thaw()
    frozen.tell(Note("told late"))
    assert world.run(SECOND) == []


def test_a_frozen_actor_keeps_its_messages_and_the_others_go_on():
    world = World()
    frozen, well = world.actor("frozen"), world.actor("well")
    world.run()
    wanted: list[int] = []
    world.agent.freeze("/frozen", lambda: wanted.append(1))
    well.tell(Note("well"))
    assert (world.run(), wanted) == (["well"], [])
    frozen.tell(Note("frozen"))
    assert (world.run(SECOND), wanted) == (["well"], [1])
    world.agent.thaw()
    assert world.run() == ["well", "frozen"]


@pytest.mark.parametrize(
    ("sizes", "lost", "noted", "counted"),
    [
        ({}, {}, ["a", "b"], {}),
        ({"Notes": 1}, {}, ["something was lost", "a"], {"mailbox-full": 1}),
        ({"Others": 1}, {}, ["a", "b"], {}),
        ({}, {"Note": 1.0}, ["something was lost"], {"message-dropped": 2}),
        ({}, {"Other": 1.0}, ["a", "b"], {}),
    ],
)
def test_messages_refused_by_a_narrow_mailbox_are_counted(
    sizes: dict[str, int], lost: dict[str, float], noted: list[str], counted: dict[str, int]
):
    sometimes = Sometimes()
    world = World(NarrowMailboxes(sizes, lost, "1", sometimes))
    ref = world.actor()
    world.run()
    ref.tell(Note("a"))
    ref.tell(Note("b"))
    assert world.run() == noted
    assert {name: times for name, times in sometimes.counts.items() if times} == counted


def test_an_actor_that_is_frozen_stays_so_when_its_agent_was_paused_meanwhile():
    world = World()
    frozen, free = world.actor("frozen"), world.actor("free")
    world.run()
    world.agent.freeze("/frozen")
    world.agent.pause()
    frozen.tell(Note("frozen"))
    free.tell(Note("free"))
    assert world.run(SECOND) == []
    world.agent.resume()
    assert world.run(SECOND) == ["free"]
    world.agent.thaw()
    assert world.run() == ["free", "frozen"]


def test_an_actor_that_is_frozen_while_its_agent_is_paused_lets_nobody_else_run():
    world = World()
    free = world.actor("free")
    world.run()
    world.agent.pause()
    world.agent.freeze("/frozen")
    free.tell(Note("free"))
    assert world.run(SECOND) == []
    world.agent.thaw()
    assert world.run(SECOND) == []
    world.agent.resume()
    assert world.run() == ["free"]


def test_ended_watches_leave_nothing_behind():
    class Once:
        """An API server whose watches end at once, or when they are told to."""

        def __init__(self) -> None:
            self.ends: list[Any] = []

        def watch(self, call: Any, on_event: Any, on_end: Any) -> object:
            self.ends.append(on_end)
            return object()

    server, heard = Once(), list[object]()
    api = KillableApi(KillableDispatcher(SimulatedDispatcher(1)), server)  # type: ignore[arg-type]
    for _ in range(3):
        api.watch(None, heard.append, heard.append)  # type: ignore[arg-type]
    assert api.watches == 3
    server.ends[1](None)
    assert (api.watches, heard) == (2, [None])
