"""Volumes while everything fails, in an order drawn by a seed.

In the end every file has the right content.
"""

from __future__ import annotations

from random import Random

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages.events import RecordEvent
from actors.messages.pods import KnownPods
from actors.messages.references import ObjectRef, ObjectsChanged, TokenIssued
from actors.messages.volumes import (
    ReleaseVolumes,
    RenewVolumes,
    VolumeReconcilerStarted,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.wishes.contents import ContentSources
from actors.volumes.wishes.pod_volumes import PodVolumesActor
from config.objects import ConfigMap, ConfigMapVolumeSource, Pod, Volume
from tests.actors.recorders import Recorder, only, replace_handler
from tests.actors.volumes.test_contents import (
    LABELS,
    SECOND_NS,
    TOKEN,
    Cluster,
    Disk,
    Objects,
    Tokens,
    Worker,
    pod_with,
)

PODS = 12
NAMES = ("one", "two", "three")


class Fail(Message, frozen=True):
    """To an actor: fail."""


def fail(_: Actor, message: Fail) -> None:
    raise RuntimeError("as the test wants it")


class Workers(Actor):
    """Stands in for the sync loop: tells all workers to ask again."""

    def __init__(self, workers: dict[str, ActorRef]) -> None:
        super().__init__()
        self.workers = workers

    @handles(VolumeReconcilerStarted)
    def started(self, _: VolumeReconcilerStarted) -> None:
        for worker in self.workers.values():
            worker.tell(RenewVolumes())


class World:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.cluster = Cluster()
        self.disk = Disk()
        self.pods: dict[str, Pod] = {}
        self.refers: dict[str, str] = {}
        self.workers: dict[str, ActorRef] = {}
        self.answers: dict[str, list[VolumesPrepared | VolumesReleased]] = {}
        events, _ = Recorder.spawn_in(self.system, "events", RecordEvent)
        loop = self.system.spawn(Workers, self.workers, name="sync-loop")
        objects = self.system.spawn(Objects, self.cluster, name="objects")
        tokens = self.system.spawn(Tokens, self.cluster, name="tokens")
        sources = ContentSources(objects, tokens)
        self.actor = self.system.spawn(VolumeReconcilerActor, self.disk, events, sources, loop, name="volumes")
        self.issue()

    def issue(self) -> None:
        now_ns = self.dispatcher.wall_ns()
        number = self.chance.randrange(1_000_000)
        self.cluster.token = TokenIssued(
            None, f"token {number}", now_ns + 3600 * SECOND_NS, now_ns + self.chance.randrange(5, 60) * SECOND_NS
        )

    def add(self, number: int) -> None:
        uid = f"u{number}"
        name = self.chance.choice(NAMES)
        volume = Volume(name="cfg", config_map=ConfigMapVolumeSource(name=name))
        self.pods[uid] = pod_with(volume, TOKEN, LABELS, uid=uid, labels={"n": "0"})
        self.refers[uid] = name
        self.answers[uid] = []
        self.workers[uid] = self.system.spawn(
            Worker, self.pods, uid, self.actor, self.answers[uid], name=f"worker-{uid}"
        )

    def trouble(self) -> None:
        """One thing happens."""
        operation = self.chance.randrange(9)
        if operation <= 1:
            ref = ObjectRef("ConfigMap", "ns", self.chance.choice(NAMES))
            self.cluster.objects[ref] = ConfigMap(data={f"key{self.chance.randrange(3)}": str(self.chance.random())})
            self.tell_changed()
        elif operation == 2:
            self.cluster.objects.pop(ObjectRef("ConfigMap", "ns", self.chance.choice(NAMES)), None)
            self.tell_changed()
        elif operation == 3:
            self.cluster.away = self.chance.choice(("", "timeout"))
        elif operation == 4:
            self.cluster.silent = self.chance.random() < 0.3
        elif operation == 5:
            self.issue()
        elif operation == 6:
            uid = self.chance.choice(sorted(self.pods))
            cfg, token, labels = self.pods[uid].spec.volumes
            number = str(self.chance.randrange(100))
            self.pods[uid] = pod_with(cfg, token, labels, uid=uid, labels={"n": number})
            self.workers[uid].tell(RenewVolumes())
        elif operation == 7:
            # The actor fails, or the child that it has for a pod, and everything that it knew is lost.
            child = self.system.find(f"/volumes/{self.chance.choice(sorted(self.pods))}")
            self.chance.choice([ref for ref in (self.actor, child) if ref is not None]).tell(Fail())
        elif len(self.pods) > PODS // 2:
            uid = self.chance.choice(sorted(self.pods))
            del self.pods[uid]
            self.actor.tell(ReleaseVolumes(self.workers.pop(uid), uid))

    def tell_changed(self) -> None:
        if self.chance.random() < 0.8:  # the others are found out by looking again
            self.actor.tell(ObjectsChanged(frozenset(self.pods)))

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def read(self, uid: str, path: str) -> str:
        return self.disk.tree.read(f"/root/pods/{uid}/volumes/kubernetes.io~{path}").decode()


@pytest.mark.parametrize("seed", range(15))
def test_after_any_problems_every_volume_file_is_right_in_the_end(seed: int, monkeypatch: pytest.MonkeyPatch):
    for actor_class in (VolumeReconcilerActor, PodVolumesActor):
        replace_handler(monkeypatch, actor_class, Fail, fail)
    world = World(seed)
    for number in range(PODS):
        world.add(number)
    for _ in range(60):
        world.trouble()
        world.run(world.chance.choice((0, 0.01, 1, 20)))
    world.cluster.away, world.cluster.silent = "", False
    for name in NAMES:
        world.cluster.objects[ObjectRef("ConfigMap", "ns", name)] = ConfigMap(data={"end": f"of {name}"})
    world.issue()
    # A release that the actor has forgotten is one of a pod that nobody knows.
    world.actor.tell(KnownPods(frozenset(world.pods)))
    world.run(400)
    assert world.disk.list_uids() == tuple(sorted(world.pods))
    token = world.cluster.token
    for uid, pod in world.pods.items():
        assert only(world.answers[uid], VolumesPrepared)[-1].error == "", uid
        assert world.disk.tree.names_in(f"/root/pods/{uid}/volumes/kubernetes.io~configmap/cfg") == ["end"]
        assert world.read(uid, "configmap/cfg/end") == f"of {world.refers[uid]}"
        assert world.read(uid, "projected/token/token") == getattr(token, "token", "")
        assert world.read(uid, "downward-api/down/labels") == f'n="{pod.metadata.labels["n"]}"'
    assert world.system.stop()
