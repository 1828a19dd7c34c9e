"""Of which pods nothing can have begun, so that their workers need not look first."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from actors.kernel import MailboxOverflowed
from actors.messages.pods import SyncPod, UnknownPodsObserved
from config.objects import PodStatus
from config.pods.identity import SOURCE_API, SOURCE_FILE
from tests.actors.sync.worlds import ADD, READY, REMOVE, SECOND_NS, UPDATE, End, Fail, World, api, changed, pod, running

NEW = pod("new", static=False)


def world_of_the_api(worlds: list[World], starts_at_once: int = 0) -> World:
    world = World(SOURCE_API, SOURCE_FILE, starts_at_once=starts_at_once)
    worlds.append(world)
    world.tell(READY)
    return world


def briefings(world: World, uid: str = "new") -> list[bool]:
    """Of each form that workers of that pod were told: whether nothing of it can have begun."""
    return [each.nothing_begun for whose, each in world.told.messages if whose == uid and isinstance(each, SyncPod)]


def test_a_pod_that_comes_after_all_pods_were_read_is_new_for_its_first_worker_only(worlds: list[World]):
    world = world_of_the_api(worlds)
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, NEW))
    world.tell(api(UPDATE, pod("new", "renamed", static=False)))
    assert briefings(world) == [True, False]


def first_set(world: World) -> None:
    world.tell(UnknownPodsObserved(()), api(ADD, NEW), world.spoken(SOURCE_API))


def runtime_unheard(world: World) -> None:
    world.tell(world.spoken(SOURCE_API), api(ADD, NEW))


def in_the_runtime(world: World) -> None:
    world.ready(running("new"), source=SOURCE_API)
    world.tell(api(ADD, NEW))


def messages_lost(world: World) -> None:
    """A pod of the first set may be among them, and comes again."""
    world.ready(source=SOURCE_API)
    world.tell(MailboxOverflowed(), api(ADD, NEW))


def taken_before(world: World) -> None:
    """The API server was behind when it told the first set."""
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, msgspec.structs.replace(NEW, status=PodStatus(start_time="2026-01-01T00:00:00Z"))))


def quarantined(world: World) -> None:
    """Whatever was done for it before it failed is unknown."""
    world.ready(source=SOURCE_API)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.sync.workers.PodStarts.start_or_wait", lambda *_: 1 // 0)
        world.tell(api(ADD, NEW))
    world.run(5 * SECOND_NS)


def loop_restarted(world: World) -> None:
    world.ready(source=SOURCE_API)
    world.tell(Fail())
    world.run(2 * SECOND_NS)
    world.tell(api(ADD, NEW))


@pytest.mark.parametrize(
    "comes", [first_set, runtime_unheard, in_the_runtime, messages_lost, taken_before, quarantined, loop_restarted]
)
def test_a_pod_that_an_earlier_agent_may_have_begun_is_not_new(worlds: list[World], comes: Callable[[World], None]):
    world = world_of_the_api(worlds)
    comes(world)
    assert set(briefings(world)) == {False}


def test_a_static_pod_is_not_new_for_its_uid_may_come_again(worlds: list[World]):
    world = world_of_the_api(worlds)
    world.ready()
    world.tell(changed(ADD, pod("new")))
    assert briefings(world) == [False]


def test_the_next_worker_of_a_pod_finds_nothing_new(worlds: list[World]):
    """It may find what the first has begun."""
    world = world_of_the_api(worlds)
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, NEW))
    world.loop.actor_inbox.child_cells()[0].ref.tell(Fail())
    world.run(2 * SECOND_NS)
    assert world.told.lives == ["new", "new"]
    assert briefings(world) == [True, False]


def test_a_pod_that_comes_back_while_it_ends_starts_anew_with_a_look(worlds: list[World]):
    world = world_of_the_api(worlds)
    world.ready(source=SOURCE_API)
    world.told.obey = False
    world.tell(api(ADD, NEW), api(REMOVE, NEW), api(ADD, NEW))
    for worker in world.loop.actor_inbox.child_cells():
        worker.ref.stop()
    world.run(2 * SECOND_NS)
    assert briefings(world) == [True, False]


def test_a_pod_that_has_waited_for_its_turn_is_still_new(worlds: list[World]):
    world = world_of_the_api(worlds, starts_at_once=1)
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, pod("ahead", static=False)), api(ADD, NEW))
    assert briefings(world) == []
    world.run(5 * SECOND_NS)
    assert briefings(world) == [True]


def test_a_pod_that_the_runtime_shows_while_it_waits_for_its_turn_is_not_new(worlds: list[World]):
    world = world_of_the_api(worlds, starts_at_once=1)
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, pod("ahead", static=False)), api(ADD, NEW))
    world.tell(UnknownPodsObserved((running("new"),)))
    world.run(20 * SECOND_NS)
    assert briefings(world) == [False]


def test_a_pod_whose_worker_ended_by_itself_is_not_new_to_the_next(worlds: list[World]):
    world = world_of_the_api(worlds)
    world.ready(source=SOURCE_API)
    world.tell(api(ADD, NEW))
    world.tell(End())
    world.run(5 * SECOND_NS)
    assert briefings(world) == [True, False]


def test_forms_that_wait_for_a_worker_say_together_that_nothing_has_begun():
    first, newer = SyncPod(NEW, ADD, nothing_begun=True), SyncPod(NEW, UPDATE)
    assert newer.merged(first).nothing_begun
