"""Pods with thousands of volumes: what they cost the reconciler, and what others notice of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import actors.volumes.making
import actors.volumes.release
from actors.kernel import Promise
from actors.messages.volumes import ReleaseVolumes, VolumesReleased
from actors.volumes.actual import ActualWorld
from actors.volumes.calls import AT_ONCE, CALL_LIMIT_NS, HELD_UP, MAKES_AT_ONCE, PACE_PER_SECOND, REMOVALS_AT_ONCE
from actors.volumes.making import PLANS_AT_ONCE
from actors.volumes.orders import ORDERS_AT_ONCE
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.release import LOOKS_AT_ONCE
from config.objects import EmptyDirVolumeSource, NFSVolumeSource, Pod, Volume
from runtime.volumes.capability import Say, VolumeSpec
from tests.actors.recorders import replace_handler
from tests.actors.volumes.reconciler.worlds import DATA, LATE, SECOND_NS, World, pod_with

NFS = "volumes/kubernetes.io~nfs"
MOST = max(PLANS_AT_ONCE, ORDERS_AT_ONCE, LOOKS_AT_ONCE)
TOUCHES = 12
"""How often a handler asks the books about one volume, at most."""


def many(count: int) -> tuple[Volume, ...]:
    return tuple(Volume(name=f"v{number}", empty_dir=EmptyDirVolumeSource()) for number in range(count))


def shares(count: int, name: str = "s") -> tuple[Volume, ...]:
    return tuple(Volume(name=f"{name}{number}", nfs=NFSVolumeSource(server="s", path="/")) for number in range(count))


def paced_s(count: int) -> int:
    """The seconds that so many calls of one pod take, and one more."""
    return count // PACE_PER_SECOND + 1


class Work:
    """Counts the work of the reconciler: messages by type, and what each of them touches of its books."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.messages = Counter[str]()
        self.most = Counter[str]()
        self.plans = 0
        self.touches = 0
        patched.setattr(ActualWorld, "thing", self._counted(ActualWorld.thing))
        patched.setattr(ActualWorld, "meet", self._counted(ActualWorld.meet))
        for module, names in (
            (actors.volumes.making, ("plan_volume", "plan_directory")),
            (actors.volumes.release, ("plan_removal",)),
        ):
            for name in names:
                patched.setattr(module, name, self._counted(getattr(module, name), plans=1))
        for message_type, handler in list(VolumeReconcilerActor.message_handlers.items()):
            replace_handler(patched, VolumeReconcilerActor, message_type, self._watched(message_type.__name__, handler))

    def _counted(self, function: Callable[..., Any], plans: int = 0) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.touches += 1
            self.plans += plans
            return function(*args, **kwargs)

        return counted

    def _watched(self, name: str, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def handle(actor: Any, message: Any) -> Any:
            before = self.touches
            try:
                return handler(actor, message)
            finally:
                self.messages[name] += 1
                self.most[name] = max(self.most[name], self.touches - before)

        return handle


def make_and_remove(count: int, work: Work) -> tuple[int, int, int]:
    """How many messages, plans and touches a pod of so many volumes costs, for each of them in hundredths."""
    world = World()
    before = work.messages.total(), work.plans, work.touches
    answers = world.prepare(pod_with(*many(count)), seconds=paced_s(count))
    assert len(answers[0].host_paths) == count
    world.release(seconds=paced_s(count))
    assert answers[1:] == [VolumesReleased("u")]
    assert world.disk.list_uids() == ()
    after = work.messages.total(), work.plans, work.touches
    assert world.system.stop()
    first, second, third = (100 * (now - then) // count for now, then in zip(after, before, strict=True))
    return first, second, third


def test_a_pod_costs_messages_and_steps_in_proportion_to_its_volumes(monkeypatch: pytest.MonkeyPatch):
    work = Work(monkeypatch)
    small, large = make_and_remove(500, work), make_and_remove(5000, work)
    for of_small, of_large in zip(small, large, strict=True):
        assert of_large <= 1.2 * of_small, "and a timer for each few calls beyond the first of a large pod"
    assert large[0] <= 350, "messages of a volume: the end of its making and of its removal, and shares of others"
    assert large[1] <= 600, "plans of a volume: when it is ordered, has room, is made, is removed and is gone"


def test_no_message_touches_more_than_its_bound(monkeypatch: pytest.MonkeyPatch):
    work = Work(monkeypatch)
    make_and_remove(5000, work)
    assert work.most["OrderVolumes"] >= ORDERS_AT_ONCE, "the count counts"
    assert {name: most for name, most in work.most.items() if most > TOUCHES * MOST} == {}


# (spec 8.5.1)
def test_what_an_earlier_agent_left_is_recorded_and_removed_bit_by_bit(monkeypatch: pytest.MonkeyPatch):
    old = World()
    old.prepare(pod_with(*many(2000), uid="gone"), seconds=1)
    assert old.system.stop()
    work = Work(monkeypatch)
    new = World()
    new.disk.tree = old.disk.tree
    new.know(seconds=5)
    assert new.disk.list_uids() == ()
    assert {name: most for name, most in work.most.items() if most > TOUCHES * MOST} == {}
    assert new.system.stop()


def test_volumes_without_a_record_are_found_and_removed_bit_by_bit(monkeypatch: pytest.MonkeyPatch):
    old = World()
    old.prepare(pod_with(*many(2000)), seconds=1)
    assert old.system.stop()
    work = Work(monkeypatch)
    new = World()
    monkeypatch.setattr(new.disk, "scan", Promise)  # it hangs
    new.disk.tree = old.disk.tree
    new.release(seconds=5)
    assert new.disk.list_uids() == ()
    assert {name: most for name, most in work.most.items() if most > TOUCHES * MOST} == {}
    assert new.system.stop()


def test_a_large_pod_does_its_work_at_a_pace_that_leaves_time_to_others(world: World):
    world.ask_for(pod_with(*many(5000), uid="large"))
    for after_s in (1, 2, 3):
        world.run(1)
        assert len(done(world, "prepare")) <= AT_ONCE + after_s * PACE_PER_SECOND
    assert len(done(world, "prepare")) > 0.9 * 3 * PACE_PER_SECOND


@pytest.mark.parametrize("word", ["prepare", "release"])
def test_volumes_of_other_pods_are_made_between_those_of_a_large_one(world: World, word: str):
    world.ask_for(pod_with(*many(2000), uid="large"))
    if word == "release":
        world.run(1)
        world.actor.tell(ReleaseVolumes(None, "large"))
    assert world.dispatcher.run_until(lambda: len(done(world, word)) >= 50, SECOND_NS)
    answers = world.ask_for(pod_with(DATA, uid="small"))
    assert world.dispatcher.run_until(lambda: bool(answers), SECOND_NS)
    assert len(done(world, word)) < 50 + 2 * PLANS_AT_ONCE


def done(world: World, word: str) -> list[str]:
    return [call for call in world.disk.calls if call.startswith(f"{word} large/")]


def test_a_renewal_costs_the_reconciler_nothing_if_nothing_is_new(world: World, monkeypatch: pytest.MonkeyPatch):
    pod = pod_with(*many(1000))
    world.prepare(pod, seconds=paced_s(1000))
    work = Work(monkeypatch)
    world.prepare(pod, renewal=True, seconds=1)
    assert work.messages == {"PrepareVolumes": 1}


def test_every_volume_of_a_large_pod_that_fails_is_tried_again_and_few_are_named(world: World):
    volumes = many(AT_ONCE)
    world.disk.broken.update(f"prepare u/{volume.name}" for volume in volumes)
    (answer,) = world.prepare(pod_with(*volumes), seconds=0.1)
    assert answer.error.endswith(f"; and {AT_ONCE - 16} more")
    assert len(world.events) == 16
    world.disk.broken.clear()
    world.run(5)
    assert len(world.answers["u"][-1].host_paths) == AT_ONCE


# --- servers that do not answer ---------------------------------------------------------------------------------------


def dead(world: World, monkeypatch: pytest.MonkeyPatch, count: int = 200) -> None:
    """A pod with volumes of a dead server, a second after its start."""
    make = world.disk.prepare

    def prepare(pod: Pod, spec: VolumeSpec, say: Say) -> Any:
        if pod.metadata.uid == "dead" and spec.source == "nfs":
            world.disk.calls.append(f"hang {spec.name}")
            return Promise()  # what a simulated lane takes for a call that hangs
        return make(pod, spec, say)

    monkeypatch.setattr(world.disk, "prepare", prepare)
    world.prepare(pod_with(*shares(count), DATA, uid="dead"), seconds=1)


def test_a_dead_server_of_two_hundred_volumes_holds_up_no_volume_of_another(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    dead(world, monkeypatch)
    (answer,) = world.prepare(pod_with(*shares(5), uid="good"), seconds=2)
    assert (len(answer.host_paths), answer.error) == (5, "")
    assert world.disk.tree.exists("/root/pods/dead/volumes/kubernetes.io~empty-dir/data")


def test_only_a_few_of_its_calls_begin_and_what_was_never_begun_is_not_late(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    dead(world, monkeypatch)
    world.run(CALL_LIMIT_NS / SECOND_NS)
    assert len([call for call in world.disk.calls if call.startswith("hang")]) == MAKES_AT_ONCE
    (answer,) = world.answers["dead"]
    assert list(answer.host_paths) == ["data"]
    assert answer.error.count(LATE) == MAKES_AT_ONCE
    assert answer.error.count(HELD_UP.text) == 13
    assert len({event.message for event in world.events}) == MAKES_AT_ONCE, "people hear of the calls that hang"


def test_all_of_them_are_made_when_the_server_answers_again(world: World):
    world.disk.tree.hang(f"/root/pods/u/{NFS}")
    answers = world.prepare(pod_with(*shares(200)), seconds=600)
    world.disk.tree.heal(f"/root/pods/u/{NFS}")
    world.run(10)
    assert (len(answers[-1].host_paths), answers[-1].error) == (200, "")


def test_a_pod_whose_server_never_answers_can_be_removed(world: World, monkeypatch: pytest.MonkeyPatch):
    dead(world, monkeypatch)
    world.release("dead", seconds=CALL_LIMIT_NS / SECOND_NS + 1)
    assert world.answers["dead"] == [VolumesReleased("dead")]
    assert len([call for call in world.disk.calls if call.startswith("release")]) == MAKES_AT_ONCE + 1


def test_volumes_whose_unmounting_hangs_are_said_at_once_and_removed_when_it_ends(world: World):
    answers = world.prepare(pod_with(*shares(50), DATA), seconds=1)
    world.disk.tree.hang(f"/root/pods/u/{NFS}")
    world.release(seconds=CALL_LIMIT_NS / SECOND_NS + 1)
    error = answers[-1].error
    assert error.count(LATE) == REMOVALS_AT_ONCE
    assert error.endswith("and 34 more")
    assert not world.disk.tree.exists("/root/pods/u/volumes/kubernetes.io~empty-dir/data")
    world.run(3600)
    assert len([call for call in world.disk.calls if call.startswith("release u/s")]) == REMOVALS_AT_ONCE
    world.disk.tree.heal(f"/root/pods/u/{NFS}")
    world.run(130)
    assert answers[-1] == VolumesReleased("u")
    assert world.disk.list_uids() == ()


def test_a_call_that_waits_for_its_turn_too_long_is_said_to(world: World):
    world.disk.tree.hang(f"/root/pods/u/{NFS}")
    world.prepare(pod_with(*shares(4)), seconds=40)
    world.release(seconds=2 * CALL_LIMIT_NS / SECOND_NS + 1)
    error = world.answers["u"][-1].error
    assert LATE in error
    assert "it has waited 123 s for its turn; other calls of the pod or its lane hang" in error
