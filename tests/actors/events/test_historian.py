"""The historian keeps what it is told, also of pods that are gone, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest

from actors.events.historian import ASK_NS, BEGAN, GONE_BYTES, GONE_MAX, SECOND_NS, HistorianActor
from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.history import (
    WAITING_FIRST,
    WAITING_LAST,
    HistorianStarted,
    HistoryEntry,
    HistoryKind,
    KnownPod,
    ListHistories,
    NoteHistory,
    PodStory,
    PodWait,
    TellHistory,
    gone,
)
from actors.messages.pods import KnownPods, WantKnownPods
from tests.actors.recorders import Recorder

WAIT = PodWait("the pod", "", "something", "it goes on")


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", HistorianStarted, WantKnownPods)
        self.historian: ActorRef = self.system.spawn(HistorianActor, sync_loop, name="historian")
        self.dispatcher.run_for(0)

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


def test_notes_are_kept_in_order(world: World):
    world.tell(note("a", "first", (WAIT,)), note("a", "second", None), note("b", "other"))
    story = world.story("a")
    assert story is not None
    assert [entry.text for entry in story.entries] == ["first", "second"]
    assert (story.waits, story.stage, story.since_wall_ns, story.name) == ((WAIT,), "syncing", 5, "pod-a")
    assert world.story("nobody") is None


def test_the_latest_note_decides_what_a_pod_waits_for(world: World):
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
    world.tell(note("a", "x", (WAIT,)), gone("a", 7), gone("never heard of", 7))
    story = world.story("a")
    assert story is not None
    assert story.waits == ()
    assert story.gone_wall_ns == 7
    assert world.known() == (KnownPod("a", "shop", "pod-a", gone=True),)
    for number in range(GONE_MAX):
        world.tell(note(f"n{number}", "x"), gone(f"n{number}", 7))
    assert world.story("a") is None
    assert len(world.known()) == GONE_MAX


def test_pods_with_long_histories_that_are_gone_make_room_for_each_other(world: World):
    world.tell(note("a", "x" * GONE_BYTES), gone("a", 7), note("small", "y"), gone("small", 7))
    assert world.story("a") is None
    assert world.story("small") is not None
    long = "x" * (GONE_BYTES // 4)
    for number in range(10):
        world.tell(note(f"n{number}", long), gone(f"n{number}", 7), note(f"n{number}", "back"), gone(f"n{number}", 8))
    assert [each.uid for each in world.known()] == ["n7", "n8", "n9"]
    story = world.story("n9")
    assert story is not None
    assert [entry.text for entry in story.entries] == [long, "back"]


def test_a_pod_that_comes_back_is_not_gone(world: World):
    world.tell(note("a", "x"), gone("a", 7), note("a", "again"))
    story = world.story("a")
    assert story is not None
    assert story.gone_wall_ns is None
    assert [entry.text for entry in story.entries] == ["x", "again"]


def test_a_pod_whose_end_was_lost_in_a_full_mailbox_is_gone_all_the_same(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(world.historian.actor_inbox.mailbox, "capacity", 2)
    world.tell(note("here"), note("lost", waits=(WAIT,)))
    world.dispatcher.run_for(2 * SECOND_NS)
    world.told.clear()
    world.tell(note("here", "busy"), note("other"), gone("lost", 1))
    world.dispatcher.run_for(2 * ASK_NS + 2 * SECOND_NS)
    assert world.told == [WantKnownPods(world.historian)] * 2, "nobody has answered"
    world.tell(KnownPods(frozenset({"here", "other"})))
    assert {each.uid: each.gone for each in world.known()} == {"here": False, "lost": True, "other": False}
    story = world.story("lost")
    assert story is not None
    assert (story.waits, story.gone_wall_ns) == ((), world.dispatcher.wall_ns())
    world.dispatcher.run_for(10 * ASK_NS)
    assert len(world.told) == 2


def test_notes_of_one_moment_merge_into_one_message_without_loss():
    first, second = note("a", "first", (WAIT,)), note("a", "second", None, stage="")
    both = second.merged(first)
    assert [entry.text for entry in both.entries] == ["first", "second"]
    assert (both.name, both.stage, both.since_wall_ns, both.waits) == ("pod-a", "syncing", 5, (WAIT,))
    ended = gone("a", 7).merged(both)
    assert (ended.name, ended.stage, ended.waits, ended.gone_wall_ns) == ("pod-a", "syncing", (), 7)
    assert note("a", "again").merged(ended).gone_wall_ns is None
    seen = past("a", 1)
    assert first.merged(seen).past == seen.past


def test_a_starved_historian_has_a_bounded_backlog():
    waiting = note("a", "0")
    for number in range(1, 1_000):
        waiting = note("a", str(number)).merged(waiting)
    texts = [entry.text for entry in waiting.entries]
    assert texts == [str(number) for number in (*range(WAITING_FIRST), *range(1_000 - WAITING_LAST, 1_000))]


def past(uid: str, *times: int) -> NoteHistory:
    entries = tuple(HistoryEntry(HistoryKind.EVENT, f"at {time}", "", time, time) for time in times)
    return NoteHistory(uid, "shop", f"pod-{uid}", "syncing", 5, (), (), entries)


def test_the_historian_asks_for_the_current_state_when_it_begins(world: World):
    assert world.told == [HistorianStarted()]


def test_entries_from_before_the_agent_are_taken_once_and_end_with_a_marker(world: World):
    began = world.dispatcher.wall_ns()
    world.tell(past("a", began - 20, began - 10, began + 10), past("a", began - 20), note("b", "new"))
    story = world.story("a")
    assert story is not None
    assert [entry.text for entry in story.entries] == [f"at {began - 20}", f"at {began - 10}", BEGAN]
    other = world.story("b")
    assert other is not None
    assert [entry.text for entry in other.entries] == ["new"]


def test_a_pod_that_came_after_the_historian_has_no_earlier_entries(world: World):
    world.dispatcher.run_for(100)
    world.tell(past("a", world.dispatcher.wall_ns()))
    story = world.story("a")
    assert story is not None
    assert story.entries == ()
