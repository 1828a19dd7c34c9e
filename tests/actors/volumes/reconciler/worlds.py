"""The world of the tests of `VolumeReconcilerActor`.

It has a disk that records operations, claims, and requesters.
"""

from __future__ import annotations

from typing import Any

from actors.kernel import Actor, ActorRef, ActorSystem, SimulatedDispatcher, handles
from actors.messages.claims import ClaimsChanged, ClaimsResolved, ForgetClaims, ResolveClaims, VolumeWait
from actors.messages.events import RecordEvent
from actors.messages.node import VolumesInUseObserved
from actors.messages.pods import FollowNode, KnownPods
from actors.messages.volumes import (
    PrepareVolumes,
    ReleaseVolumes,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.wishes.contents import ContentSources
from config.frozen_map import FrozenMap
from config.objects import (
    Container,
    CSIPersistentVolumeSource,
    EmptyDirVolumeSource,
    GitRepoVolumeSource,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    Volume,
    VolumeMount,
)
from runtime.volumes.capability import Say, VolumeFailedError, VolumeSpec
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
LATE = "it has not ended within 123 s and is still under way; its server or disk may be dead"
DATA = Volume(name="data", empty_dir=EmptyDirVolumeSource())
SHARE = Volume(name="share", git_repo=GitRepoVolumeSource())
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

    def _note(self, operation: str, what: str) -> None:
        self.calls.append(f"{operation} {what}")
        if self.calls[-1] in self.broken:
            raise VolumeFailedError("busy")


class Claims(Actor):
    """Resolves the claim of every pod in the same way."""

    def __init__(self, answers: dict[str, Any], forgotten: list[str], readers: dict[str, ActorRef]) -> None:
        super().__init__()
        self.readers = readers
        self.answers = answers
        self.forgotten = forgotten

    @handles(ResolveClaims)
    def resolve(self, message: ResolveClaims) -> None:
        self.readers[message.pod.metadata.uid] = message.reader
        answer = self.answers["disk"]
        specs = {"disk": answer} if isinstance(answer, VolumeSpec) else {}
        waits = {"disk": answer} if isinstance(answer, VolumeWait) else {}
        message.reader.tell(ClaimsResolved(message.tag, FrozenMap(specs), FrozenMap(waits)))

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
        self.readers: dict[str, ActorRef] = {}
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        node, in_use = Recorder.spawn_in(self.system, "node", FollowNode, VolumesInUseObserved)
        self.in_use: list[Any] = in_use
        claims = self.system.spawn(Claims, self.claims, self.forgotten, self.readers, name="claims")
        sources = ContentSources(node=node, claims=claims)
        self.workers: dict[str, ActorRef] = {}
        self.actor: ActorRef = self.system.spawn(VolumeReconcilerActor, self.disk, events, sources, name="volumes")

    def run(self, seconds: float = 0) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def prepare(self, pod: Pod, seconds: float = 0, *, renewal: bool = False) -> list[Any]:
        answers = self.ask_for(pod, renewal=renewal)
        self.run(seconds)
        return answers

    def ask_for(self, pod: Pod, *, renewal: bool = False) -> list[Any]:
        uid = pod.metadata.uid
        if uid not in self.workers:
            kinds = (VolumesPrepared, VolumesReleased)
            self.workers[uid], self.answers[uid] = Recorder.spawn_in(self.system, f"worker-{uid}", *kinds)
        self.actor.tell(PrepareVolumes(self.workers[uid], pod, renewal))
        return self.answers[uid]

    def release(self, uid: str = "u", seconds: float = 0) -> None:
        self.actor.tell(ReleaseVolumes(self.workers.get(uid), uid))
        self.run(seconds)

    def change_claims(self, uid: str = "u") -> None:
        """The resolver has news for its reader."""
        self.readers[uid].tell(ClaimsChanged(frozenset({uid})))
        self.run()

    def know(self, *uids: str, seconds: float = 1) -> None:
        self.actor.tell(KnownPods(frozenset(uids)))
        self.run(seconds)

    def texts(self) -> list[str]:
        return [event.message for event in self.events]
