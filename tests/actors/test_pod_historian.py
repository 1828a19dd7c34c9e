"""The historian keeps what it is told, also of pods that are gone, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest

from actors.history_messages import (
    HistoryEntry,
    HistoryKind,
    KnownPod,
    ListHistories,
    NoteHistory,
    PodStory,
    PodWait,
    TellHistory,
)
from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages import PodWorkerEnded
from actors.pod_historian import GONE_MAX, HistorianActor

WAIT = PodWait("the pod", "", "something", "it goes on")


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.historian: ActorRef = self.system.spawn(HistorianActor, name="historian")

    def tell(self, *messages: Any) -> None:
        for message in messages:
            self.historian.tell(message)
            self.dispatcher.run_for(0)

    def story(self, uid: str) -> PodStory | None:
        story: PodStory | None = self.historian.ask(TellHistory(uid))
        return story

    def known(self) -> tuple[KnownPod, ...]:
        known: tuple[KnownPod, ...] = self.historian.ask(ListHistories())
        return known


@pytest.fixture
def world() -> World:
    return World()


def note(uid: str, text: str = "", waits: tuple[PodWait, ...] | None = (), stage: str = "syncing") -> NoteHistory:
    entries = (HistoryEntry(HistoryKind.EVENT, text, "", 1, 1),) if text else ()
    return NoteHistory(uid, "shop", f"pod-{uid}", stage, 5, entries, waits)


def test_what_is_told_is_kept_in_order(world: World):
    world.tell(note("a", "first", (WAIT,)), note("a", "second", None), note("b", "other"))
    story = world.story("a")
    assert story is not None
    assert [entry.text for entry in story.entries] == ["first", "second"]
    assert (story.waits, story.stage, story.since_wall_ns, story.name) == ((WAIT,), "syncing", 5, "pod-a")
    assert world.story("nobody") is None


def test_waits_are_those_that_were_told_last(world: World):
    world.tell(note("a", waits=(WAIT,)), note("a", waits=()))
    story = world.story("a")
    assert story is not None
    assert story.waits == ()


def test_a_note_without_a_stage_leaves_the_stage(world: World):
    world.tell(note("a", "x"), note("a", "worker failed", stage=""))
    story = world.story("a")
    assert story is not None
    assert (story.stage, story.since_wall_ns) == ("syncing", 5)


def test_a_pod_that_is_gone_is_remembered_until_many_others_are(world: World):
    world.tell(note("a", "x", (WAIT,)), PodWorkerEnded("a"), PodWorkerEnded("never heard of"))
    story = world.story("a")
    assert story is not None
    assert story.waits == ()
    assert story.gone_wall_ns is not None
    assert world.known() == (KnownPod("a", "shop", "pod-a", gone=True),)
    for number in range(GONE_MAX):
        world.tell(note(f"n{number}", "x"), PodWorkerEnded(f"n{number}"))
    assert world.story("a") is None
    assert len(world.known()) == GONE_MAX


def test_a_pod_that_comes_back_is_not_gone(world: World):
    world.tell(note("a", "x"), PodWorkerEnded("a"), note("a", "again"))
    story = world.story("a")
    assert story is not None
    assert story.gone_wall_ns is None
    assert [entry.text for entry in story.entries] == ["x", "again"]
