"""New pods start a few at a time, those of higher priority first, and none holds up others for long."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.messages.history import NoteHistory
from actors.messages.pods import StartOver, UnknownPodsObserved
from actors.messages.status import PodForgotten
from actors.sync.start_window import most_starts
from actors.sync.state import has_begun
from actors.sync.turns import TURN_NS, StartTurns
from config.objects import Pod, PodSpec, PodStatus
from tests.actors.recorders import only
from tests.actors.sync.worlds import ADD, DELETE, REMOVE, UPDATE, End, Fail, World, api, changed, pod, running


@pytest.fixture
def world() -> Iterator[World]:
    """Two pods at a time."""
    world = World(starts_at_once=2)
    world.ready()
    yield world
    world.system.stop()


def new(uid: str, status: PodStatus | None = None, *, priority: int | None = None, deleted: bool = False) -> Pod:
    plain = pod(uid, static=False, deleted=deleted)
    return msgspec.structs.replace(plain, spec=PodSpec(priority=priority), status=status)


def come(world: World, *uids: str) -> None:
    world.tell(*(api(ADD, new(uid)) for uid in uids))


def test_pods_beyond_those_at_a_time_start_in_order_as_others_run(world: World):
    come(world, "1", "2", "3", "4", "5")
    assert world.workers() == ["1", "2"]
    world.tell(StartOver("2"))
    assert world.workers() == ["1", "2", "3"]
    world.tell(StartOver("1"), StartOver("3"), StartOver("never heard of"))
    assert world.workers() == ["1", "2", "3", "4", "5"]


def test_a_pod_of_higher_priority_starts_before_those_that_came_earlier(world: World):
    come(world, "1", "2", "3", "4")
    world.tell(api(ADD, new("5", priority=1000)), api(ADD, new("6", priority=-1)), api(ADD, new("7", priority=1000)))
    world.tell(StartOver("1"), StartOver("2"))
    assert world.workers() == ["1", "2", "5", "7"]
    world.tell(StartOver("5"), StartOver("7"))
    assert world.workers() == ["1", "2", "5", "7", "3", "4"]
    world.tell(StartOver("3"))
    assert world.workers()[-1] == "6"


def test_pods_that_hang_hold_up_others_for_a_second(world: World):
    come(world, "1", "2", "3", "4", "5")
    world.run(TURN_NS - 1)
    assert world.workers() == ["1", "2"]
    world.run(1)
    assert world.workers() == ["1", "2", "3", "4"]
    world.run(TURN_NS)
    assert world.workers() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "urgent",
    [
        new("9", priority=2_000_000_000),
        new("9", PodStatus(phase="Running")),
        new("9", PodStatus(phase="Succeeded")),
        new("9", PodStatus(phase="Pending", start_time="2026-01-01T00:00:00Z")),
        pod("9"),
    ],
)
def test_static_and_critical_pods_and_those_that_have_begun_never_wait(world: World, urgent: Pod):
    come(world, "1", "2", "3")
    world.tell(changed(ADD, urgent))
    assert world.workers() == ["1", "2", "9"]


def test_a_pod_that_the_runtime_runs_waits_no_longer_than_until_the_first_list():
    world = World(starts_at_once=2)
    come(world, "1", "2", "3", "4")
    assert world.workers() == ["1", "2"]
    world.tell(UnknownPodsObserved((running("3"), running("5"))))
    assert world.workers() == ["1", "2", "3"]
    come(world, "5")
    assert world.workers() == ["1", "2", "3", "5"]
    world.system.stop()


def test_a_pod_that_comes_in_order_to_end_never_waits(world: World):
    come(world, "1", "2", "3")
    world.tell(api(ADD, new("9", deleted=True)))
    assert "TerminatePod" in world.said("9")


def test_a_pod_that_waits_and_is_deleted_ends_at_once_and_one_that_is_removed_is_forgotten(world: World):
    come(world, "1", "2", "3", "4", "5")
    world.tell(api(DELETE, new("4", deleted=True)), api(REMOVE, new("3")))
    assert "TerminatePod" in world.said("4")
    assert PodForgotten("3") in world.kept["status_manager"]
    world.run(2 * TURN_NS)
    assert world.said("3") == []
    assert "5" in world.workers()


def test_a_pod_that_waits_starts_in_its_newest_form_and_keeps_its_place(world: World):
    come(world, "1", "2", "3", "4")
    newest = msgspec.structs.replace(new("3"), spec=PodSpec(hostname="b"))
    world.tell(api(UPDATE, newest), StartOver("1"))
    assert world.workers() == ["1", "2", "3"]
    (told,) = (message for uid, message in world.told.messages if uid == "3")
    assert told.pod.spec.hostname == "b"


def test_a_worker_that_ended_by_mistake_is_replaced_although_others_wait(world: World):
    come(world, "1", "2", "3", "4", "5", "6", "7")
    world.tell(StartOver("1"), End())
    world.run(TURN_NS)
    assert world.told.lives.count("1") == 2


def test_a_restart_of_the_sync_loop_starts_pods_that_waited_once_they_are_told_again(world: World):
    come(world, "1", "2", "3")
    world.tell(Fail())
    world.run(60 * TURN_NS)
    world.ready()
    come(world, "1", "2", "3")
    world.run(TURN_NS)
    assert sorted(world.workers()) == ["1", "2", "3"]


def test_explain_says_how_many_come_before_a_pod_that_has_waited_for_a_second(world: World):
    come(world, "1", "2", "3", "4", "5", "6")
    assert only(world.kept["historian"], NoteHistory) == []
    world.run(TURN_NS)
    said = {note.uid: note.waits[0].text for note in only(world.kept["historian"], NoteHistory) if note.waits}
    assert said == {
        "5": "0 pods come before it, and 2 start at a time",
        "6": "1 pods come before it, and 2 start at a time",
    }


def test_without_turns_all_start_at_once():
    world = World()
    world.ready()
    come(world, *map(str, range(200)))
    assert len(world.workers()) == 200
    world.system.stop()


@pytest.mark.parametrize(("cpus", "expected"), [(0, 32), (1, 32), (2, 64), (8, 256), (128, 256)])
def test_the_number_of_turns_follows_the_cpus(cpus: int, expected: int):
    assert most_starts(cpus) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, False),
        (PodStatus(), False),
        (PodStatus(phase="Pending", qos_class="BestEffort"), False),
        (PodStatus(phase="Pending", start_time="2026-01-01T00:00:00Z"), True),
        (PodStatus(phase="Running"), True),
        (PodStatus(phase="Failed"), True),
    ],
)
def test_what_the_api_shows_of_a_pod_that_has_begun(status: PodStatus | None, expected: bool):
    assert has_begun(new("1", status)) is expected


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["join", "leave"]), st.integers(0, 9), st.integers(0, TURN_NS)), max_size=60),
    st.lists(st.integers(0, 2), min_size=10, max_size=10),
)
def test_every_pod_that_waits_gets_its_turn_in_order_and_never_too_many_have_one(
    at_once: int, steps: list[tuple[str, int, int]], priorities: list[int]
):
    turns, now_ns, line = StartTurns(at_once), 0, list[str]()
    busy: dict[str, int] = {}

    def start() -> None:
        while (uid := turns.next(now_ns)) is not None:
            first = max(line, key=lambda each: priorities[int(each)])  # of several, the one that came first
            assert uid == first
            line.remove(first)
            busy[uid] = now_ns
            assert sum(now_ns - since < TURN_NS for since in busy.values()) <= at_once

    for what, number, pause_ns in steps:
        uid = str(number)
        if what == "join" and uid not in busy:
            turns.join(uid, priorities[number], now_ns)
            line += [] if uid in line else [uid]
        elif what == "leave":
            turns.leave(uid)
            busy.pop(uid, None)
            line = [each for each in line if each != uid]
        start()
        now_ns += pause_ns
    while (in_ns := turns.next_in_ns(now_ns)) is not None:
        now_ns += in_ns
        start()
    assert line == []
