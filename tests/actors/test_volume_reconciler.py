"""`VolumeReconcilerActor` with a simulated disk: what is made, taken down, shared, late, and what nobody knows."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.event_messages import RecordEvent
from actors.kernel import Actor, ActorRef, ActorSystem, SimulatedDispatcher, handles
from actors.messages import FollowNode, KnownPods
from actors.node_messages import VolumesInUseObserved
from actors.volume_calls import CALL_LIMIT_NS
from actors.volume_claim_messages import ClaimsChanged, ClaimsResolved, ForgetClaims, ResolveClaims, VolumeWait
from actors.volume_contents import ContentSources
from actors.volume_messages import (
    ListPodVolumes,
    PodVolume,
    PrepareVolumes,
    ReleaseVolumes,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volume_reconciler import VolumeReconcilerActor
from config.objects import (
    Container,
    CSIPersistentVolumeSource,
    EmptyDirVolumeSource,
    ISCSIVolumeSource,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    Volume,
    VolumeMount,
)
from runtime.volumes.capability import Say, VolumeError, VolumeSpec
from simulation.file_tree import FileTree
from simulation.node_volumes import SimulatedNodeVolumes
from tests.actors.probes import Recorder

SECOND_NS = 1_000_000_000
LATE = "it has not ended within 123 s and is still under way; its server or disk may be dead"
DATA = Volume(name="data", empty_dir=EmptyDirVolumeSource())
SHARE = Volume(name="share", iscsi=ISCSIVolumeSource())
DISK = Volume(name="disk", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="claim"))
DEVICE = "kubernetes.io/csi/driver^handle"
EMPTY_DIRS = "volumes/kubernetes.io~empty-dir"


def pod_with(*volumes: Volume, uid: str = "u", name: str = "p") -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in volumes)
    spec = PodSpec(volumes=volumes, containers=(Container(name="c", volume_mounts=mounts),))
    return Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=uid), spec=spec)


def disk(version: bytes = b"", modes: tuple[str, ...] = ("ReadWriteOnce",)) -> VolumeSpec:
    source = CSIPersistentVolumeSource(driver="driver", volume_handle="handle")
    return VolumeSpec(
        name="pv",
        volume=DISK,
        source="csi",
        persistent=PersistentVolume(metadata=ObjectMeta(name="pv"), spec=PersistentVolumeSpec(csi=source)),
        version=version,
        access_modes=modes,
        in_use=DEVICE,
    )


class Disk(SimulatedNodeVolumes):
    """The simulated disk, and what was done on it."""

    def __init__(self) -> None:
        self.tree = FileTree()
        super().__init__(self.tree, "/root")
        self.calls: list[str] = []
        self.broken: set[str] = set()

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        self._note("stage", spec.name)
        return super().stage(pod, spec, say)

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        self._note("prepare", f"{pod.metadata.uid}/{spec.name}")
        return super().prepare(pod, spec, say)

    def release(self, place: Any) -> None:
        self._note("release", f"{place.uid}/{place.name}")
        return super().release(place)

    def unstage(self, device: str) -> None:
        self._note("unstage", device)
        return super().unstage(device)

    def _note(self, deed: str, what: str) -> None:
        self.calls.append(f"{deed} {what}")
        if self.calls[-1] in self.broken:
            raise VolumeError("busy")


class Claims(Actor):
    """Resolves the claim of every pod in the same way."""

    def __init__(self, answers: dict[str, Any], forgotten: list[str]) -> None:
        super().__init__()
        self.answers = answers
        self.forgotten = forgotten

    @handles(ResolveClaims)
    def resolve(self, message: ResolveClaims) -> None:
        answer = self.answers["disk"]
        specs = {"disk": answer} if isinstance(answer, VolumeSpec) else {}
        waits = {"disk": answer} if isinstance(answer, VolumeWait) else {}
        message.reader.tell(ClaimsResolved(message.tag, specs, waits))

    @handles(ForgetClaims)
    def forget(self, message: ForgetClaims) -> None:
        self.forgotten.append(message.uid)


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.disk = Disk()
        self.answers: dict[str, list[Any]] = {}
        self.claims: dict[str, Any] = {"disk": disk()}
        self.forgotten: list[str] = []
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        node, in_use = Recorder.spawn_in(self.system, "node", FollowNode, VolumesInUseObserved)
        self.in_use: list[Any] = in_use
        claims = self.system.spawn(Claims, self.claims, self.forgotten, name="claims")
        sources = ContentSources(node=node, claims=claims)
        self.workers: dict[str, ActorRef] = {}
        self.actor: ActorRef = self.system.spawn(VolumeReconcilerActor, self.disk, events, sources, name="volumes")

    def run(self, seconds: float = 0) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def prepare(self, pod: Pod, seconds: float = 0, *, renewal: bool = False) -> list[Any]:
        uid = pod.metadata.uid
        if uid not in self.workers:
            kinds = (VolumesPrepared, VolumesReleased)
            self.workers[uid], self.answers[uid] = Recorder.spawn_in(self.system, f"worker-{uid}", *kinds)
        self.actor.tell(PrepareVolumes(self.workers[uid], pod, renewal))
        self.run(seconds)
        return self.answers[uid]

    def release(self, uid: str = "u", seconds: float = 0) -> None:
        self.actor.tell(ReleaseVolumes(self.workers.get(uid), uid))
        self.run(seconds)

    def know(self, *uids: str, seconds: float = 1) -> None:
        self.actor.tell(KnownPods(frozenset(uids)))
        self.run(seconds)

    def texts(self) -> list[str]:
        return [event.message for event in self.events]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


# --- the usual --------------------------------------------------------------------------------------------------------


def test_volumes_are_prepared_and_released(world: World):
    answers = world.prepare(pod_with(DATA))
    world.release()
    assert answers == [VolumesPrepared({"data": f"/root/pods/u/{EMPTY_DIRS}/data"}), VolumesReleased("u")]
    assert world.disk.list_uids() == ()
    calls = len(world.disk.calls)
    world.run(3600)
    assert len(world.disk.calls) == calls, "what is sound costs nothing more"


def test_a_pod_without_volumes_has_its_directory_and_loses_it(world: World):
    answers = world.prepare(pod_with())
    assert world.disk.list_uids() == ("u",)
    world.release()
    assert answers == [VolumesPrepared({}), VolumesReleased("u")]
    assert world.disk.list_uids() == ()


def test_what_is_wrong_with_a_volume_is_an_event_with_its_path_and_the_others_are_there(world: World):
    (answer,) = world.prepare(pod_with(DATA, SHARE))
    text = 'MountVolume.SetUp failed for volume "share" : volumes of type iscsi are not supported yet'
    assert answer == VolumesPrepared({"data": f"/root/pods/u/{EMPTY_DIRS}/data"}, text)
    (event,) = world.events
    told = (event.type, event.reason, event.message, event.field_path)
    assert told == ("Warning", "FailedMount", text, "spec.volumes[1].iscsi")


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


def test_the_directory_of_a_pod_that_cannot_be_made_is_said(world: World):
    world.disk.tree.fail("/root/pods/u", errno.ENOSPC)
    answers = world.prepare(pod_with(), seconds=1)
    assert "the directory of the pod cannot be made" in answers[0].error
    world.disk.tree.heal("/root/pods/u")
    world.run(2)
    assert answers[-1] == VolumesPrepared({})


def test_who_asks_again_is_answered_again_and_nothing_is_done_twice(world: World):
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
        assert answer == VolumesPrepared({}, f'MountVolume.SetUp failed for volume "data" : {LATE}')
    assert len([text for text in world.texts() if LATE in text]) >= 3
    assert len(world.disk.calls) == 103, "no second call is sent after one that hangs"
    world.release("u7")
    assert world.answers["u7"][-1] == VolumesReleased("u7")


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


def test_a_pod_with_a_volume_that_hangs_can_end_and_what_the_call_makes_later_is_removed(world: World):
    path = f"/root/pods/u/{EMPTY_DIRS}/data"
    promises = []
    gate = world.disk.tree.gate

    def only_the_first_hangs(where: str, deed: Any) -> Any:
        if where == path and not promises:
            world.disk.tree.hang(path)
            promises.append(gate(where, deed))
            hanging = world.disk.tree._hanging.pop(path)
            promises.extend(hanging)
            return promises[0]
        return gate(where, deed)

    world.disk.tree.gate = only_the_first_hangs  # type: ignore[method-assign]
    answers = world.prepare(pod_with(DATA), seconds=10)
    world.release(seconds=1)
    assert answers == [], "what is under way is waited for"
    world.run(CALL_LIMIT_NS / SECOND_NS)
    assert answers == [VolumesReleased("u")]
    assert world.disk.list_uids() == ()
    promise, deed = promises[1]
    promise.set_result(deed())
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


# --- devices ----------------------------------------------------------------------------------------------------------


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
    assert second == [VolumesPrepared({}, f'MountVolume.MountDevice failed for volume "disk" : {text}')]
    world.release("a", seconds=1)
    assert second[-1].error == ""


def test_of_a_volume_that_is_a_device_it_is_said_that_it_is_there_and_why_it_is_not(world: World):
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
    world.actor.tell(ClaimsChanged(frozenset({"u"})))
    world.run()
    assert world.disk.calls == ["stage pv", "prepare u/pv", "prepare u/pv"]
    assert len(answers) == 1


def test_a_claim_that_is_not_ready_is_an_event_and_is_taken_when_it_is(world: World):
    world.claims["disk"] = VolumeWait('persistentvolumeclaim "claim" not found')
    answers = world.prepare(pod_with(DISK), seconds=100)
    text = 'MountVolume.SetUp failed for volume "disk" : persistentvolumeclaim "claim" not found'
    assert answers == [VolumesPrepared({}, text)]
    world.claims["disk"] = VolumeWait("not attached yet", "FailedAttachVolume", DEVICE)
    world.actor.tell(ClaimsChanged(frozenset({"u"})))
    world.run()
    assert answers[1].error == 'AttachVolume.Attach failed for volume "disk" : not attached yet'
    assert world.events[-1].reason == "FailedAttachVolume"
    world.claims["disk"] = disk()
    world.actor.tell(ClaimsChanged(frozenset({"u"})))
    world.run()
    assert answers[2].error == ""


def test_a_claim_that_cannot_be_resolved_any_more_takes_nothing_from_a_running_pod(world: World):
    answers = world.prepare(pod_with(DISK))
    world.claims["disk"] = VolumeWait("the API server is away")
    world.prepare(pod_with(DISK))
    assert [answer.error for answer in answers] == ["", ""]
    assert answers[1].host_paths == answers[0].host_paths


def test_what_is_attached_or_to_be_attached_is_said_to_be_in_use_and_what_is_not_when_all_is_known(world: World):
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


# --- restarts, and what nobody knows ----------------------------------------------------------------------------------


def test_what_nobody_knows_is_removed_when_every_source_has_spoken(world: World):
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


def test_a_new_life_finds_all_volumes_keeps_those_of_living_pods_and_takes_the_others_down():
    old = World()
    for uid in ("lives", "gone"):
        old.prepare(pod_with(DATA, DISK, uid=uid))
    assert old.system.stop()
    new = World()
    new.disk.tree, new.disk._tree, new.disk.mounted = old.disk.tree, old.disk.tree, old.disk.mounted
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
