"""`VolumeReconcilerActor` with a simulated disk: volumes made, removed, late, or unknown."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from actors.messages.volumes import (
    ListPodVolumes,
    PodVolume,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volumes.calls import CALL_LIMIT_NS, LookForLate
from config.frozen_map import FrozenMap
from config.objects import (
    EmptyDirVolumeSource,
    Volume,
)
from runtime.volumes.capability import VolumeSpec
from simulation.host.volumes import SimulatedNodeVolumes
from tests.actors.volumes.reconciler.worlds import (
    DATA,
    DEVICE,
    DISK,
    EMPTY_DIRS,
    LATE,
    SECOND_NS,
    SHARE,
    World,
    disk,
    pod_with,
)

# --- the usual --------------------------------------------------------------------------------------------------------


# (spec 2.9.1, 8.3.6)
def test_volumes_are_prepared_and_released(world: World):
    answers = world.prepare(pod_with(DATA))
    world.release()
    assert answers == [VolumesPrepared(FrozenMap({"data": f"/root/pods/u/{EMPTY_DIRS}/data"})), VolumesReleased("u")]
    assert world.disk.list_uids() == ()
    calls = len(world.disk.calls)
    world.run(3600)
    assert len(world.disk.calls) == calls, "what is sound costs nothing more"


def test_a_pod_without_volumes_has_its_directory_and_loses_it(world: World):
    answers = world.prepare(pod_with())
    assert world.disk.list_uids() == ("u",)
    world.release()
    assert answers == [VolumesPrepared(FrozenMap()), VolumesReleased("u")]
    assert world.disk.list_uids() == ()


# (spec 8.6.1)
def test_volumes_that_nobody_knew_of_are_taken_down_before_the_directory_of_their_pod(world: World):
    world.prepare(pod_with(DATA), seconds=1)
    strange = SimulatedNodeVolumes(world.disk.tree, "/root")
    spec = VolumeSpec(name="other", volume=DATA, source="empty_dir")
    strange.prepare(pod_with(DATA), spec, lambda *_: None)
    world.release(seconds=1)
    assert world.disk.calls == ["prepare u/data", "release u/data", "release u/other"]
    assert world.answers["u"][-1] == VolumesReleased("u")
    assert not world.disk.tree.exists("/root/pods/u")


def test_a_volume_that_comes_back_whenever_it_is_taken_down_is_said(world: World, monkeypatch: pytest.MonkeyPatch):
    world.prepare(pod_with(DATA), seconds=1)
    with monkeypatch.context() as patched:
        patched.setattr(world.disk.tree, "remove_all", lambda _: None)
        world.release(seconds=2)
    assert world.answers["u"][-1].error == "volumes that were taken down are there again"
    assert len(world.disk.calls) < 10
    world.run(seconds=10)
    assert world.answers["u"][-1] == VolumesReleased("u")


# (spec 8.4.4)
def test_a_faulty_volume_is_an_event_with_its_path_and_the_others_are_made(world: World):
    (answer,) = world.prepare(pod_with(DATA, SHARE))
    text = 'MountVolume.SetUp failed for volume "share" : volumes of type gitRepo are not supported yet'
    assert answer == VolumesPrepared(FrozenMap({"data": f"/root/pods/u/{EMPTY_DIRS}/data"}), text)
    (event,) = world.events
    told = (event.type, event.reason, event.message, event.field_path)
    assert told == ("Warning", "FailedMount", text, "spec.volumes[1].gitRepo")


# (spec 8.1.1)
def test_a_volume_that_fails_is_tried_again_ever_more_slowly_and_the_others_are_not_touched(world: World):
    world.disk.broken.add("prepare u/data")
    other = Volume(name="other", empty_dir=EmptyDirVolumeSource())
    answers = world.prepare(pod_with(DATA, other), seconds=63)
    assert world.disk.calls.count("prepare u/data") == 7
    assert world.disk.calls.count("prepare u/other") == 1
    assert answers[0].error == 'MountVolume.SetUp failed for volume "data" : busy'
    assert len(answers) == 1, "the same news is told once"
    assert len(world.events) == 7
    world.disk.broken.clear()
    world.run(70)
    assert answers[1].error == ""


# (spec 2.7.5)
def test_the_directory_of_a_pod_that_cannot_be_made_is_said(world: World):
    world.disk.tree.fail("/root/pods/u", errno.ENOSPC)
    answers = world.prepare(pod_with(), seconds=1)
    assert "the directory of the pod cannot be made" in answers[0].error
    world.disk.tree.heal("/root/pods/u")
    world.run(2)
    assert answers[-1] == VolumesPrepared(FrozenMap())


def test_a_repeated_volume_request_is_answered_without_repeating_work(world: World):
    pod = pod_with(DATA)
    world.prepare(pod)
    answers = world.prepare(pod)
    assert len(answers) == 2
    world.prepare(pod, renewal=True)
    assert len(answers) == 2
    assert world.disk.calls == ["prepare u/data"]


def test_a_release_that_fails_says_why_and_is_tried_again(world: World):
    answers = world.prepare(pod_with(DATA))
    world.disk.broken.add("release u/data")
    world.release(seconds=4)
    assert answers[1:] == [VolumesReleased("u", 'volume "data": busy')]
    world.release()
    assert answers[2:] == [VolumesReleased("u", 'volume "data": busy')], "who asks is answered at once"
    world.disk.broken.clear()
    world.run(122)
    assert answers[3:] == [VolumesReleased("u")], "though nobody has asked again"


def test_the_volumes_that_a_pod_has_are_told_to_who_asks(world: World):
    world.prepare(pod_with(DATA, DISK, SHARE))
    place = "/root/pods/u/volumes/kubernetes.io~csi/pv/mount"
    assert world.actor.ask(ListPodVolumes()) == (
        PodVolume("u", "data", "kubernetes.io/empty-dir", f"/root/pods/u/{EMPTY_DIRS}/data"),
        PodVolume("u", "disk", "kubernetes.io/csi", place),
    )
    assert world.actor.ask(ListPodVolumes("other")) == ()


# --- calls that hang --------------------------------------------------------------------------------------------------


def test_dead_mounts_cost_their_own_pods_alone_and_are_said(world: World):
    for number in range(3):
        world.disk.tree.hang(f"/root/pods/dead{number}/{EMPTY_DIRS}/data")
        world.prepare(pod_with(DATA, uid=f"dead{number}"))
    for number in range(100):
        world.prepare(pod_with(DATA, uid=f"u{number}"))
    world.run(1)
    assert all(len(world.answers[f"u{number}"]) == 1 for number in range(100))
    assert all(world.answers[f"dead{number}"] == [] for number in range(3))
    world.run(130)
    for number in range(3):
        (answer,) = world.answers[f"dead{number}"]
        assert answer == VolumesPrepared(FrozenMap(), f'MountVolume.SetUp failed for volume "data" : {LATE}')
    assert len([text for text in world.texts() if LATE in text]) >= 3
    assert len(world.disk.calls) == 103, "no second call is sent after one that hangs"
    world.release("u7")
    assert world.answers["u7"][-1] == VolumesReleased("u7")


def test_a_look_for_late_calls_that_was_lost_on_the_way_is_made_up_for(world: World):
    world.disk.tree.hang(f"/root/pods/u/{EMPTY_DIRS}/data")
    answers = world.prepare(pod_with(DATA))
    actor = world.actor.actor_inbox.actor
    assert actor is not None
    actor.cancel_timer(LookForLate)  # as a mailbox that is full does it
    world.run(CALL_LIMIT_NS // SECOND_NS + 61)
    assert answers == [VolumesPrepared(FrozenMap(), f'MountVolume.SetUp failed for volume "data" : {LATE}')]
    world.disk.tree.hang(f"/root/pods/other/{EMPTY_DIRS}/data")
    others = world.prepare(pod_with(DATA, uid="other"), seconds=CALL_LIMIT_NS // SECOND_NS)
    assert [LATE in answer.error for answer in others] == [True], "later calls have a timer again"


def test_a_dead_mount_does_not_keep_the_other_volumes_of_its_pod_from_being_made(world: World):
    world.disk.tree.hang(f"/root/pods/u/{EMPTY_DIRS}/data")
    other = Volume(name="other", empty_dir=EmptyDirVolumeSource())
    world.prepare(pod_with(DATA, other), seconds=1)
    assert world.disk.tree.exists(f"/root/pods/u/{EMPTY_DIRS}/other")


def test_a_call_that_ends_late_is_made_sure_of(world: World):
    world.disk.tree.hang(f"/root/pods/u/{EMPTY_DIRS}/data")
    answers = world.prepare(pod_with(DATA), seconds=600)
    assert len(answers) == 1
    world.disk.tree.heal(f"/root/pods/u/{EMPTY_DIRS}/data")
    world.run(1)
    assert answers[-1].error == ""
    assert world.disk.calls == ["prepare u/data", "prepare u/data"]


def test_a_pod_with_a_volume_that_hangs_can_end_and_what_the_call_makes_later_is_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    path = f"/root/pods/u/{EMPTY_DIRS}/data"
    promises: list[Any] = []
    gate = world.disk.tree.gate

    def only_the_first_hangs(where: str, operation: Any) -> Any:
        if where == path and not promises:
            world.disk.tree.hang(path)
            promises.append(gate(where, operation))
            promises.extend(world.disk.tree.release_hanging(path))
            return promises[0]
        return gate(where, operation)

    monkeypatch.setattr(world.disk.tree, "gate", only_the_first_hangs)
    answers = world.prepare(pod_with(DATA), seconds=10)
    world.release(seconds=1)
    assert answers == [], "what is under way is waited for"
    world.run(CALL_LIMIT_NS / SECOND_NS)
    assert answers == [VolumesReleased("u")]
    assert world.disk.list_uids() == ()
    promise, operation = promises[1]
    promise.set_result(operation())
    assert world.disk.list_uids() == ("u",), "the call has made it after all was removed"
    world.run(1)
    assert world.disk.list_uids() == ()
    assert answers == [VolumesReleased("u")]


def test_a_release_that_hangs_is_said_and_goes_on_when_it_can(world: World):
    answers = world.prepare(pod_with(DATA))
    world.disk.tree.hang("/root/pods/u/volumes")
    world.release(seconds=130)
    (answer,) = answers[1:]
    assert answer == VolumesReleased("u", f'volume "data": {LATE}')
    world.run(3600)
    assert world.disk.calls.count("release u/data") == 2, "one more, and no more threads than that"
    world.disk.tree.heal("/root/pods/u/volumes")
    world.run(200)
    assert answers[-1] == VolumesReleased("u")
    assert world.disk.list_uids() == ()


# --- restarts, and what nobody knows ----------------------------------------------------------------------------------


# (spec 2.10.3)
def test_volumes_of_unknown_pods_are_removed_once_every_source_has_reported(world: World):
    for uid in ("known", "orphan", "stuck", "new"):
        world.disk.make_pod(uid)
    world.disk.tree.fail("/root/pods/stuck")
    world.know("known", seconds=0)
    answers = world.prepare(pod_with(DATA, uid="new"), seconds=1)
    assert world.disk.list_uids() == ("known", "new", "stuck")
    world.disk.tree.heal("/root/pods/stuck")
    world.know("known", "new", seconds=5)
    assert world.disk.list_uids() == ("known", "new")
    assert [answer.error for answer in answers] == [""]


# (spec 8.5.1)
def test_a_new_life_finds_all_volumes_keeps_those_of_living_pods_and_takes_the_others_down():
    old = World()
    for uid in ("lives", "gone"):
        old.prepare(pod_with(DATA, DISK, uid=uid))
    assert old.system.stop()
    new = World()
    new.disk.tree, new.disk.mounted = old.disk.tree, old.disk.mounted
    mounted = set(new.disk.mounted)
    answers = new.prepare(pod_with(DATA, DISK, uid="lives"), renewal=True)
    new.know("lives", seconds=5)
    assert answers == old.answers["lives"]
    assert new.disk.list_uids() == ("lives",)
    assert new.disk.mounted == {path for path in mounted if "gone" not in path}
    new.release("lives", seconds=1)
    assert new.disk.mounted == set()
    assert new.disk.scan().devices == ()
    assert new.system.stop()


def test_a_device_of_a_former_life_that_nobody_uses_goes(world: World):
    world.disk.stage(pod_with(DISK), disk(), lambda *_: None)
    world.run(1)
    assert world.disk.scan().devices == (DEVICE,)
    world.know()
    assert world.disk.scan().devices == ()
