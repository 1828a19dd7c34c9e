"""`VolumeReconcilerActor` with a simulated disk: devices that pods share, and their claims."""

from __future__ import annotations

import msgspec

from actors.messages.claims import VolumeWait
from actors.messages.node import VolumesInUseObserved
from actors.messages.volumes import (
    VolumesPrepared,
)
from config.frozen_map import FrozenMap
from tests.actors.volumes.reconciler.worlds import (
    DATA,
    DEVICE,
    DISK,
    LATE,
    World,
    disk,
    pod_with,
)


# (spec 8.4.1)
def test_a_device_is_staged_once_for_all_pods_and_goes_after_the_last(world: World):
    world.know("a", "b")
    world.prepare(pod_with(DISK, uid="a"))
    world.prepare(pod_with(DISK, uid="b"))
    assert world.disk.calls == ["stage pv", "prepare a/pv", "prepare b/pv"]
    world.release("a")
    assert world.disk.scan().devices == (DEVICE,)
    world.release("b")
    assert world.disk.calls[-1] == f"unstage {DEVICE}"
    assert world.disk.scan().devices == ()
    assert world.disk.mounted == set()
    assert world.forgotten == ["a", "b"]


# (spec 1.5.2)
def test_no_device_goes_before_every_source_has_spoken(world: World):
    world.prepare(pod_with(DISK))
    world.release()
    assert world.disk.scan().devices == (DEVICE,)
    world.know()
    assert world.disk.scan().devices == ()


def test_a_device_that_cannot_be_staged_holds_up_its_pods_and_says_so(world: World):
    world.disk.broken.add("stage pv")
    answers = world.prepare(pod_with(DISK, DATA), seconds=1)
    assert answers[0].error == 'MountVolume.MountDevice failed for volume "disk" : busy'
    assert list(answers[0].host_paths) == ["data"]
    world.disk.broken.clear()
    world.run(2)
    assert answers[-1].error == ""


def test_a_device_that_hangs_holds_up_its_pods_and_no_other(world: World):
    world.disk.tree.hang("/root/plugins")
    first = world.prepare(pod_with(DISK, uid="a"))
    second = world.prepare(pod_with(DISK, uid="b"))
    third = world.prepare(pod_with(DATA, uid="c"), seconds=1)
    assert (first, second, len(third)) == ([], [], 1)
    world.run(130)
    text = f'MountVolume.MountDevice failed for volume "disk" : {LATE}'
    assert [answer.error for answer in (*first, *second)] == [text, text]
    assert world.disk.calls.count("stage pv") == 1
    world.disk.tree.heal("/root/plugins")
    world.run(130)
    assert (first[-1].error, second[-1].error) == ("", "")


def test_a_device_that_cannot_be_unstaged_is_tried_again(world: World):
    world.know()
    world.prepare(pod_with(DISK))
    world.disk.broken.add(f"unstage {DEVICE}")
    world.release(seconds=10)
    assert world.disk.scan().devices == (DEVICE,)
    world.disk.broken.clear()
    world.run(10)
    assert world.disk.scan().devices == ()


def test_a_volume_for_one_pod_waits_until_the_other_has_given_it_back(world: World):
    world.claims["disk"] = disk(modes=("ReadWriteOncePod",))
    world.know("a", "b")
    world.prepare(pod_with(DISK, uid="a"))
    second = world.prepare(pod_with(DISK, uid="b"), seconds=300)
    text = "volume uses the ReadWriteOncePod access mode and is already in use by pod a"
    assert second == [VolumesPrepared(FrozenMap(), f'MountVolume.MountDevice failed for volume "disk" : {text}')]
    world.release("a", seconds=1)
    assert second[-1].error == ""


# (spec 8.4.4)
def test_mapping_a_block_volume_is_reported_by_events(world: World):
    world.claims["disk"] = msgspec.structs.replace(disk(), block=True)
    world.disk.broken.add("prepare u/pv")
    world.prepare(pod_with(DISK), seconds=0.2)
    world.disk.broken.clear()
    world.run(2)
    path = "/root/pods/u/volumeDevices/kubernetes.io~csi/pv/mount"
    assert [(event.reason, event.message) for event in world.events] == [
        ("FailedMapVolume", 'MapVolume.MapPodDevice failed for volume "disk" : busy'),
        ("SuccessfulMountVolume", f'MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "{path}"'),
    ]


def test_another_version_of_a_volume_is_made_over_the_one_that_is_there(world: World):
    answers = world.prepare(pod_with(DISK))
    world.claims["disk"] = disk(b"larger")
    world.change_claims()
    assert world.disk.calls == ["stage pv", "prepare u/pv", "prepare u/pv"]
    assert len(answers) == 1


def test_a_claim_that_is_not_ready_is_an_event_and_is_taken_when_it_is(world: World):
    world.claims["disk"] = VolumeWait('persistentvolumeclaim "claim" not found')
    answers = world.prepare(pod_with(DISK), seconds=100)
    text = 'MountVolume.SetUp failed for volume "disk" : persistentvolumeclaim "claim" not found'
    assert answers == [VolumesPrepared(FrozenMap(), text)]
    world.claims["disk"] = VolumeWait("not attached yet", "FailedAttachVolume", DEVICE)
    world.change_claims()
    assert answers[1].error == 'AttachVolume.Attach failed for volume "disk" : not attached yet'
    assert world.events[-1].reason == "FailedAttachVolume"
    world.claims["disk"] = disk()
    world.change_claims()
    assert answers[2].error == ""


def test_a_claim_that_cannot_be_resolved_any_more_takes_nothing_from_a_running_pod(world: World):
    answers = world.prepare(pod_with(DISK))
    world.claims["disk"] = VolumeWait("the API server is away")
    world.prepare(pod_with(DISK))
    assert [answer.error for answer in answers] == ["", ""]
    assert answers[1].host_paths == answers[0].host_paths


def test_attached_volumes_are_reported_in_use_and_dropped_when_all_pods_are_known(world: World):
    world.claims["disk"] = VolumeWait("not attached yet", "FailedAttachVolume", DEVICE)
    world.prepare(pod_with(DISK))
    world.know("u")
    world.release()
    told = [message for message in world.in_use if isinstance(message, VolumesInUseObserved)]
    assert told == [
        VolumesInUseObserved((DEVICE,), complete=False),
        VolumesInUseObserved((DEVICE,)),
        VolumesInUseObserved(()),
    ]
