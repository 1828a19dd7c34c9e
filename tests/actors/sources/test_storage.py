"""`StorageActor` among its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.events import RecordEvent
from actors.messages.pods import (
    DuplicatePod,
    PodChanged,
    PublishAgain,
    ReadAgain,
    SourceChanged,
    SourceRead,
    SourceReady,
    SourceRemembered,
    StorageStarted,
)
from actors.sources.storage import StorageActor
from tests.actors.recorders import Recorder, only
from tests.actors.sources.test_merge import pod


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", PodChanged, SourceReady, StorageStarted)
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.storage: ActorRef = self.system.spawn(
            StorageActor, self.sync_loop, events, ("file", "http"), name="storage"
        )
        self.say(None)

    def say(self, message: Any) -> list[tuple[str, str]]:
        """Tell the storage; returns what the sync loop was told because of it."""
        before = len(self.told)
        if message is not None:
            self.storage.tell(message)
        self.dispatcher.run_until_idle()
        return [summary(each) for each in self.told[before:]]


def summary(message: Any) -> tuple[str, str]:
    if isinstance(message, PodChanged):
        return message.operation.value, message.pod.metadata.uid
    if isinstance(message, SourceReady):
        return "ready", f"{message.source} {message.all_ready}"
    return type(message).__name__, ""


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


# (spec 1.5.1)
def test_a_source_is_ready_after_its_pods_were_told(world: World):
    assert world.say(SourceRead("file", (pod("1"), pod("2")))) == [
        ("ADD", "1"),
        ("ADD", "2"),
        ("ready", "file False"),
    ]
    assert world.say(SourceRead("http", ())) == [("ready", "http True")]


def test_a_set_that_says_nothing_new_is_silent(world: World):
    pods = (pod("1"),)
    world.say(SourceRead("file", pods))
    assert world.say(SourceRead("file", pods)) == []
    assert world.say(SourceRead("file", (pod("1"),))) == []


# (spec 1.4.1)
def test_a_duplicate_is_reported_once_not_at_every_reading(world: World):
    for image in "abc":
        world.say(SourceRead("file", (pod("1", image=image), pod("2", name="pod-1"))))
    (event,) = only(world.events, RecordEvent)
    assert (event.type, event.reason, event.uid) == ("Warning", "FailedValidation", "2")
    world.say(SourceRead("file", (pod("1"),)))
    world.say(SourceRead("file", (pod("1"), pod("2", name="pod-1"))))
    assert len(world.events) == 2


def test_a_duplicate_that_the_source_left_out_is_reported_once(world: World):
    twin = DuplicatePod(pod("2", name="pod-1"), "/m/b: pod-1 is in /m/a too")
    for image in "abc":
        world.say(SourceRead("file", (pod("1", image=image),), (twin,)))
    (event,) = only(world.events, RecordEvent)
    assert (event.reason, event.uid, event.message) == ("FailedValidation", "2", twin.reason)


def test_a_full_republish_makes_sources_tell_what_they_held_back(world: World):
    source, asked = Recorder.spawn_in(world.system, "source", ReadAgain)
    world.say(SourceRead("http", (pod("1"),)))
    world.say(SourceChanged("http", (pod("1"),), frozenset(), source))
    assert asked == []
    world.say(PublishAgain(()))
    assert asked == [ReadAgain()]


def test_everything_is_told_again_on_request_and_the_end_of_what_is_gone(world: World):
    world.say(SourceRead("file", (pod("1"),)))
    assert world.say(PublishAgain((pod("1"), pod("gone")))) == [("ADD", "1"), ("ready", "file False")]
    # Before every source has spoken a pod that nobody desires may still be desired.
    assert world.say(SourceRead("http", ())) == [("ready", "http True"), ("REMOVE", "gone")]
    assert world.say(PublishAgain((pod("old"),))) == [
        ("ADD", "1"),
        ("ready", "file True"),
        ("ready", "http True"),
        ("REMOVE", "old"),
    ]


def test_a_source_ready_message_carries_the_number_of_the_last_answered_question(world: World):
    for message in (SourceRead("file", ()), PublishAgain((), 7), SourceRead("http", ())):
        world.say(message)
    assert [(each.source, each.asked) for each in only(world.told, SourceReady)] == [
        ("file", 0),
        ("file", 7),
        ("http", 7),
    ]


def test_a_restart_asks_the_sync_loop_what_it_knows(world: World):
    assert summary(world.told[0]) == ("StorageStarted", "")


def test_pods_from_memory_are_desired_and_make_their_source_not_ready(world: World):
    remembered = SourceRemembered("http", (pod("1"), pod("2")))
    assert world.say(remembered) == [("ADD", "1"), ("ADD", "2")]
    assert world.say(remembered) == []
    assert world.say(SourceRead("file", ())) == [("ready", "file False")]
    assert world.say(PublishAgain((pod("gone"),), 1)) == [("ADD", "1"), ("ADD", "2"), ("ready", "file False")]
    assert world.say(SourceRead("http", (pod("2"),))) == [
        ("REMOVE", "1"),
        ("ready", "http True"),
        ("REMOVE", "gone"),
    ]


def test_a_memory_that_comes_late_changes_nothing(world: World):
    world.say(SourceRead("http", (pod("1"),)))
    assert world.say(SourceRemembered("http", (pod("2"),))) == []
