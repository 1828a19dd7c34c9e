"""`SyncLoopActor` with workers played by hand, and a recorder for each other partner."""

from __future__ import annotations

from typing import Any

from actors.kernel import Actor, ActorRef, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages.events import RecordEvent
from actors.messages.history import NoteHistory
from actors.messages.mirrors import MirrorPodChanged, StaticPodDesired, StaticPodGone, StaticSourcesReady
from actors.messages.pods import (
    AnnounceYourself,
    KnownPods,
    Operation,
    PodChanged,
    PodWorkerStarted,
    PublishAgain,
    RuntimePod,
    RuntimeStateObserved,
    SourceReady,
    SyncLoopStarted,
    SyncPod,
    TerminatePod,
    UnknownPodsObserved,
    WorkersKnown,
)
from actors.messages.references import HoldObjects, ReadPodInputs, ReleaseObjects
from actors.messages.status import PodForgotten, PodLeftApi, PodReconciled, PodStatusChanged, StatusManagerStarted
from actors.pod.services import NodeFacts, PodServices
from actors.start.cri_configs import ContainerNodeRules
from actors.sync.loop import SyncLoopActor
from config.kubelet import KubeletConfiguration
from config.objects import ObjectMeta, Pod
from config.pods.identity import SOURCE_API, SOURCE_FILE
from simulation.cri import SimulatedCri
from simulation.host.host import SimulatedHost
from simulation.node.hook_caller import SimulatedHookCaller
from simulation.node.prober import SimulatedProber
from tests.actors.pod_pictures import PERIODS
from tests.actors.recorders import Recorder, only

SECOND_NS = 1_000_000_000
READY = RuntimeStateObserved("", "", "simulated")
ADD, UPDATE, REMOVE, DELETE = Operation.ADD, Operation.UPDATE, Operation.REMOVE, Operation.DELETE


class Told:
    """What the workers of all UIDs were told, and whether they obey the order to end."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Any]] = []
        self.lives: list[str] = []
        self.obey = True


class End(Message, frozen=True):
    """To a played worker: the pod has ended."""


class Fail(Message, frozen=True):
    """To the sync loop, or to a worker: a fault of the program."""


class PlayedWorker(Actor):
    """A pod's worker that does nothing but end when it is told to."""

    def __init__(self, uid: str, loop: ActorRef, told: Told) -> None:
        super().__init__()
        self._uid = uid
        self._loop = loop
        self._told = told
        told.lives.append(uid)

    @handles(SyncPod, RuntimeStateObserved, StatusManagerStarted)
    def told(self, message: Message) -> None:
        self._told.messages.append((self._uid, message))

    @handles(Fail)
    def fail(self, _: Fail) -> None:
        raise ZeroDivisionError("a fault of the program")

    @handles(AnnounceYourself)
    def announce(self, _: AnnounceYourself) -> None:
        self._loop.tell(PodWorkerStarted(self._uid, self.ref))

    @handles(TerminatePod)
    def terminate(self, message: TerminatePod) -> None:
        self._told.messages.append((self._uid, message))
        if self._told.obey:
            self.stop()


class Loop(SyncLoopActor):
    """The sync loop, with orders of the tests."""

    @handles(Fail)
    def fail(self, _: Fail) -> None:
        raise ZeroDivisionError("a fault of the program")

    @handles(End)
    def end(self, _: End) -> None:
        for worker in self.children.values():
            worker.tell(TerminatePod())


class World:
    def __init__(self, *sources: str, starts_at_once: int = 0) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.told = Told()
        everyone: dict[str, tuple[type[Any], ...]] = {
            "pleg": (WorkersKnown, SyncLoopStarted),
            "images": (),
            "volumes": (KnownPods,),
            "container_gc": (KnownPods,),
            "status_manager": (PodStatusChanged, PodForgotten, PodReconciled, PodLeftApi),
            "events": (RecordEvent,),
            "objects": (HoldObjects,),
            "tokens": (ReleaseObjects,),
            "ids": (),
            "cluster": (ReadPodInputs,),
            "historian": (NoteHistory,),
            "mirrors": (MirrorPodChanged, StaticPodDesired, StaticPodGone, StaticSourcesReady),
            "resources": (PodWorkerStarted, KnownPods),
            "storage": (PublishAgain,),
            "runtime_monitor": (SyncLoopStarted,),
        }
        partners = {name: Recorder.spawn_in(self.system, name, *kinds) for name, kinds in everyone.items()}
        refs: dict[str, Any] = {name: ref for name, (ref, _) in partners.items()}
        self.kept = {name: kept for name, (_, kept) in partners.items()}
        storage, monitor = refs.pop("storage"), refs.pop("runtime_monitor")
        host = SimulatedHost(pod_logs="/var/log/pods", container_logs="/var/log/containers")
        cri = SimulatedCri(self.dispatcher)
        services = PodServices(
            cri=cri,
            prober=SimulatedProber(self.dispatcher, cri, cri),
            hooks=SimulatedHookCaller(self.dispatcher, cri),
            files=host.pod_files,
            node=NodeFacts(
                "node",
                "/root",
                (),
                "simulated",
                2,
                2**30,
                ContainerNodeRules(root_directory="/root"),
                starts_at_once=starts_at_once,
            ),
            configuration=KubeletConfiguration(),
            crash_loop=PERIODS,
            sync_loop=storage,
            **refs,
        )

        def play_worker(loop: Actor, uid: str, _: PodServices, __: RuntimePod | None) -> ActorRef:
            return loop.spawn(PlayedWorker, uid, loop.ref, self.told, name=uid)

        self.loop = self.system.spawn(
            Loop, services, storage, monitor, sources or (SOURCE_FILE,), play_worker, name="sync-loop"
        )
        self.run()

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def tell(self, *messages: Message) -> None:
        for message in messages:
            self.loop.tell(message)
        self.run()

    def ready(self, *unknown: RuntimePod, source: str = SOURCE_FILE) -> None:
        """The source has spoken, and the runtime was listed."""
        self.tell(self.spoken(source), UnknownPodsObserved(unknown))

    def spoken(self, source: str = SOURCE_FILE) -> SourceReady:
        """That the source has spoken, as the storage says it now."""
        asked = [each.number for each in only(self.kept["storage"], PublishAgain)]
        return SourceReady(source, True, max(asked, default=0))

    def workers(self) -> list[str]:
        """UIDs of the living workers."""
        return [child.name for child in self.loop.actor_inbox.child_cells()]

    def said(self, uid: str) -> list[str]:
        """Kinds of the messages that the workers of that UID were told."""
        return [type(message).__name__ for whose, message in self.told.messages if whose == uid]

    def last_known(self) -> set[str]:
        return set(only(self.kept["volumes"], KnownPods)[-1].uids)


def pod(uid: str, name: str = "", *, static: bool = True, deleted: bool = False) -> Pod:
    source = {"kubernetes.io/config.source": "file"} if static else {"kubernetes.io/config.source": "api"}
    return Pod(
        metadata=ObjectMeta(
            name=name or uid,
            namespace="default",
            uid=uid,
            annotations=source,
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
        )
    )


def changed(operation: Operation, of: Pod, source: str = SOURCE_FILE) -> PodChanged:
    return PodChanged(operation, of, source)


def api(operation: Operation, of: Pod) -> PodChanged:
    return changed(operation, of, SOURCE_API)


def running(uid: str, name: str = "") -> RuntimePod:
    return RuntimePod(uid, name or uid, "default", True)
