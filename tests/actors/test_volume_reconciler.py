"""`VolumeReconcilerActor` with a disk in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.event_messages import RecordEvent
from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher
from actors.messages import KnownPods
from actors.volume_messages import PrepareVolumes, ReleaseVolumes, VolumesPrepared, VolumesReleased
from actors.volume_reconciler import VolumeReconcilerActor
from config.objects import ObjectMeta, Pod
from runtime.volumes.capability import Contents, PreparedVolumes, VolumeError, VolumeFault
from tests.actors.probes import Recorder

SECOND_NS = 1_000_000_000


class Disk:
    """Pods on disk by UID. Calls for a UID in `hanging` end when its promise does."""

    def __init__(self) -> None:
        self.pods: set[str] = set()
        self.hanging: dict[str, Promise[Any]] = {}
        self.faults: tuple[VolumeFault, ...] = ()
        self.broken: set[str] = set()
        self.calls: list[str] = []

    def prepare(self, pod: Pod, contents: Contents) -> Any:
        uid = pod.metadata.uid
        self.calls.append(f"prepare {uid} {pod.metadata.name}")
        if uid in self.hanging:
            return self.hanging[uid]
        self.pods.add(uid)
        return PreparedVolumes({"data": f"/pods/{uid}/{pod.metadata.name}"}, self.faults)

    def release(self, uid: str) -> Any:
        self.calls.append(f"release {uid}")
        if uid in self.hanging:
            return self.hanging[uid]
        if uid in self.broken:
            raise VolumeError("busy")
        self.pods.discard(uid)
        return None

    def list_uids(self) -> tuple[str, ...]:
        return tuple(sorted(self.pods))


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.disk = Disk()
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.worker, self.answers = Recorder.spawn_in(self.system, "worker", VolumesPrepared, VolumesReleased)
        self.actor: ActorRef = self.system.spawn(VolumeReconcilerActor, self.disk, events, name="volumes")

    def tell(self, *messages: Any, seconds: int = 0) -> None:
        for message in messages:
            self.actor.tell(message)
        self.dispatcher.run_for(seconds * SECOND_NS)

    def prepare(self, uid: str, name: str = "p") -> PrepareVolumes:
        return PrepareVolumes(self.worker, Pod(metadata=ObjectMeta(name=name, namespace="default", uid=uid)))

    def release(self, uid: str) -> ReleaseVolumes:
        return ReleaseVolumes(self.worker, uid)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_volumes_are_prepared_and_released(world: World):
    world.tell(world.prepare("u"))
    world.tell(world.release("u"))
    assert world.answers == [VolumesPrepared({"data": "/pods/u/p"}), VolumesReleased("u")]
    assert world.disk.pods == set()
    calls = len(world.disk.calls)
    world.tell(seconds=3600)
    assert len(world.disk.calls) == calls, "what is sound costs nothing more"


def test_what_is_wrong_with_a_volume_is_an_event_with_its_path(world: World):
    world.disk.faults = (VolumeFault("share", "spec.volumes[1].nfs", "not supported yet"),)
    world.tell(world.prepare("u"))
    text = 'MountVolume.SetUp failed for volume "share" : not supported yet'
    assert world.answers == [VolumesPrepared({"data": "/pods/u/p"}, text)]
    (event,) = world.events
    assert (event.type, event.reason, event.message, event.field_path) == (
        "Warning",
        "FailedMount",
        text,
        "spec.volumes[1].nfs",
    )


def test_of_what_is_asked_while_a_call_runs_the_newest_is_done(world: World):
    world.disk.hanging["u"] = Promise()
    world.tell(world.prepare("u", "first"))
    world.tell(world.prepare("u", "second"))
    world.tell(world.prepare("u", "third"))
    promise = world.disk.hanging.pop("u")
    promise.set_result(PreparedVolumes({}))
    world.tell()
    assert world.disk.calls == ["prepare u first", "prepare u third"]
    assert [each.host_paths for each in world.answers] == [{}, {"data": "/pods/u/third"}]


def test_a_dead_mount_costs_its_own_pod_alone_and_is_said(world: World):
    for number in range(3):
        world.disk.hanging[f"dead{number}"] = Promise()
        world.tell(world.prepare(f"dead{number}"))
    world.tell(*(world.prepare(f"u{number}") for number in range(100)), seconds=1)
    assert len(world.answers) == 100
    world.tell(seconds=130)
    assert [each.error.split(" for ")[0] for each in world.answers[100:]] == ["Disk.prepare"] * 3
    world.tell(world.release("dead0"), seconds=130)
    assert "did not end" in world.answers[-1].error
    world.disk.hanging.pop("dead0").set_result(None)
    world.tell(world.release("dead0"), seconds=1)
    assert world.answers[-1] == VolumesReleased("dead0")


def test_a_release_that_fails_says_why_and_can_be_asked_again(world: World):
    world.tell(world.prepare("u"))
    world.disk.broken.add("u")
    world.tell(world.release("u"))
    assert world.answers[-1] == VolumesReleased("u", "busy")
    world.disk.broken.clear()
    world.tell(world.release("u"))
    assert world.answers[-1] == VolumesReleased("u")


def test_what_nobody_knows_is_removed_when_every_source_has_spoken(world: World):
    world.disk.pods = {"known", "orphan", "stuck", "new"}
    world.disk.broken = {"stuck"}
    world.tell(KnownPods(frozenset({"known"})), world.prepare("new"), seconds=1)
    assert world.disk.pods == {"known", "stuck", "new"}
    world.disk.broken.clear()
    world.tell(KnownPods(frozenset({"known", "new"})), seconds=1)
    assert world.disk.pods == {"known", "new"}
    assert world.answers == [VolumesPrepared({"data": "/pods/new/p"})]
