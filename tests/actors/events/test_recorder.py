"""`EventRecorderActor`: what is kept, what is counted, what is said."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from actors.events.kept import GONE_BYTES, KEPT, PIECE, KeptEvents
from actors.events.recorder import FORGET_NS, EventRecorderActor, sentence
from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.events import MESSAGE_LIMIT, PodEventsOver, RecordedEvent, RecordEvent
from actors.messages.pods import ListEvents

SECOND_NS = 1_000_000_000


def event(message: str = "hello", kind: str = "Normal", name: str = "web", uid: str = "u") -> RecordEvent:
    return RecordEvent("Pod", uid, "default", name, kind, "Said", message, "spec.containers{c}")


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.recorder: ActorRef = self.system.spawn(EventRecorderActor, name="events")

    def tell(self, *events: RecordEvent) -> None:
        for each in events:
            self.recorder.tell(each)
        self.dispatcher.run_for(SECOND_NS)

    def over(self, *uids: str) -> None:
        """The node is done with these pods, and they have been forgotten since."""
        for uid in uids:
            self.recorder.tell(PodEventsOver(uid))
        self.dispatcher.run_for(2 * FORGET_NS)

    def kept(self) -> tuple[RecordedEvent, ...]:
        events: tuple[RecordedEvent, ...] = self.recorder.ask(ListEvents())
        return events


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_equal_events_are_one_with_a_count_and_the_last_comes_last(world: World):
    world.tell(event("a"))
    world.tell(event("b"))
    world.tell(event("a"))
    b, a = world.kept()
    assert (b.event.message, b.count) == ("b", 1)
    assert (a.event.message, a.count) == ("a", 2)
    assert a.last_wall_ns - a.first_wall_ns == 2 * SECOND_NS


def test_only_the_last_events_are_kept(world: World):
    world.tell(*(event(str(number)) for number in range(KEPT + 10)))
    kept = world.kept()
    assert len(kept) == KEPT
    assert kept[0].event.message == "10"


def test_events_of_pods_that_are_gone_are_kept_between_the_others(world: World):
    world.tell(event("a", uid="gone"), event("b", uid="here"))
    world.over("gone")
    world.tell(event("c", uid="here"))
    assert [each.event.message for each in world.kept()] == ["a", "b", "c"]
    assert world.kept()[0].event == event("a", uid="gone")


def test_events_of_many_pods_that_are_gone_make_room_for_newer_ones(world: World):
    for number in range(KEPT // 4):
        world.tell(*(event(str(each), uid=f"u{number}") for each in range(5)))
    world.over(*(f"u{number}" for number in range(KEPT // 4)))
    world.tell(*(event(f"new {each}") for each in range(10)))
    kept = world.kept()
    assert KEPT - PIECE <= len(kept) <= KEPT
    assert [each.event.message for each in kept[-10:]] == [f"new {each}" for each in range(10)]


def test_events_of_pods_that_are_gone_take_a_bounded_number_of_bytes():
    kept, text = KeptEvents(), "ü" * MESSAGE_LIMIT
    for number in range(KEPT):
        kept.add(event(f"{number}{text}", uid=f"u{number}"), number)
    assert len(kept.all()) == KEPT, "here they have to be looked at"
    kept.set_aside({f"u{number}" for number in range(KEPT)})
    left = kept.all()
    assert 0.8 * GONE_BYTES < sum(len(each.event.message.encode()) for each in left) <= GONE_BYTES
    assert left[-1].event.uid == f"u{KEPT - 1}"


def test_a_long_message_loses_its_middle(world: World):
    image = "a" * 1_000_000
    world.tell(event(f"cannot pull {image}: no such host"), event("a" * MESSAGE_LIMIT))
    long, short = (each.event.message for each in world.kept())
    assert short == "a" * MESSAGE_LIMIT
    assert len(long) == MESSAGE_LIMIT
    assert long.startswith("cannot pull aaa")
    assert " ...(1000026 characters)... " in long
    assert long.endswith("aaa: no such host")


def test_repeated_events_are_logged_less_and_less(world: World, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        world.tell(*(event("again", "Warning") for _ in range(100)), event("once"))
    lines = [(record.levelname, record.message) for record in caplog.records]
    assert lines[-1] == ("DEBUG", "Pod default/web spec.containers{c}: Said: once")
    assert lines[6] == ("WARNING", "Pod default/web spec.containers{c}: Said: again (x64)")
    assert len(lines) == 8


# (spec 15.5)
def test_the_good_news_of_pods_are_logged_only_with_everything_else(world: World, caplog: pytest.LogCaptureFixture):
    starting = RecordEvent("Node", "", "", "n1", "Normal", "Starting", "the node")
    with caplog.at_level(logging.INFO):
        world.tell(event("Started"), event("Failed", "Warning"), starting)
    assert [(record.levelname, record.message.split(": ")[-1]) for record in caplog.records] == [
        ("WARNING", "Failed"),
        ("INFO", "the node"),
    ]


def test_an_event_of_the_node_has_no_namespace():
    recorded = RecordedEvent(RecordEvent("Node", "", "", "n1", "Normal", "Starting", "x"), 1, 0, 0)
    assert sentence(recorded) == "Node n1: Starting: x"


def test_a_flood_drops_events_and_says_how_many(world: World, caplog: pytest.LogCaptureFixture):
    world.tell(*(event(str(number)) for number in range(EventRecorderActor.mailbox_capacity + 50)))
    assert "50 events came too fast" in caplog.text
    assert len(world.kept()) == KEPT
