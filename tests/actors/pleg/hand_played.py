"""A `PlegActor` whose runtime is played by hand.

Lists come, hang and fail; events come, storm and break.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, kept
from actors.messages.node import RuntimeListed
from actors.messages.pods import (
    ContainersDied,
    LookAgain,
    PlegStarted,
    PodWorkerStarted,
    RuntimeTold,
    UnknownPodsObserved,
)
from actors.pleg.pleg import LIST_TIMEOUT_NS, PlegActor
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import (
    Container,
    ContainerEventResponse,
    ContainerEventType,
    ContainerState,
    ContainerStatus,
    ListContainersResponse,
    ListPodSandboxResponse,
    PodSandboxMetadata,
    PodSandboxStatus,
)
from runtime.cri.verbs import LIST_CONTAINERS, LIST_POD_SANDBOX
from tests.actors.recorders import Recorder, only

SECOND_NS = 1_000_000_000
RUNNING, EXITED = ContainerState.CONTAINER_RUNNING, ContainerState.CONTAINER_EXITED
CREATED = ContainerEventType.CONTAINER_CREATED_EVENT


class Stream:
    def __init__(self, on_item: Callable[[Any], None], on_end: Callable[[CriError | None], None]) -> None:
        self.on_item = on_item
        self.on_end = on_end
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self.on_end(None)


class Runtime:
    """Lists what it is told to have. `hangs`: answers of lists stay open; `error`: they fail."""

    def __init__(self) -> None:
        self.containers: dict[str, ContainerState] = {}
        self.hangs = False
        self.error: CriError | None = None
        self.lists = 0
        self.open: list[tuple[Any, Promise[Any]]] = []
        self.streams: list[Stream] = []
        self.serves_events = True

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        assert timeout_ns == LIST_TIMEOUT_NS
        self.lists += verb is LIST_CONTAINERS
        promise: Promise[Any] = Promise()
        if self.hangs:
            self.open.append((verb, promise))
        elif self.error is not None:
            promise.set_exception(self.error)
        else:
            return kept(self.answer(verb))
        return promise

    def answer(self, verb: Any) -> Any:
        if verb is LIST_POD_SANDBOX:
            return ListPodSandboxResponse()
        listed = tuple(
            Container(
                id=f"{uid}-c",
                state=state,
                labels={
                    "io.kubernetes.pod.uid": uid,
                    "io.kubernetes.container.name": "web",
                    "io.kubernetes.pod.name": f"pod-{uid}",
                    "io.kubernetes.pod.namespace": "default",
                },
            )
            for uid, state in self.containers.items()
        )
        return ListContainersResponse(containers=listed)

    def let_go(self) -> None:
        self.hangs = False
        for verb, promise in self.open:
            if not promise.done():
                promise.set_result(self.answer(verb))
        self.open.clear()

    def stream(self, verb: Any, request: Any, on_item: Any, on_end: Any) -> Stream:
        stream = Stream(on_item, on_end)
        self.streams.append(stream)
        if not self.serves_events:
            on_end(CriError(StatusCode.UNIMPLEMENTED, "no such verb", "GetContainerEvents"))
        return stream


class World:
    def __init__(self, *, serves_events: bool = True) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.runtime = Runtime()
        self.runtime.serves_events = serves_events
        self.sync_loop, self.loop = Recorder.spawn_in(self.system, "loop", PlegStarted, UnknownPodsObserved)
        self.gc, self.died = Recorder.spawn_in(self.system, "gc", ContainersDied)
        self.node, self.listed = Recorder.spawn_in(self.system, "node", RuntimeListed)
        self.hints: dict[str, list[Any]] = {}
        self.workers: dict[str, ActorRef] = {}

    def start(self) -> World:
        self.pleg: ActorRef = self.system.spawn(
            PlegActor, self.runtime, self.sync_loop, self.gc, self.node, name="pleg"
        )
        self.run()
        return self

    def worker(self, uid: str) -> list[Any]:
        self.workers[uid], self.hints[uid] = Recorder.spawn_in(self.system, uid, LookAgain, RuntimeTold)
        self.pleg.tell(PodWorkerStarted(uid, self.workers[uid]))
        self.run()
        return self.hints[uid]

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def event(self, uid: str, *containers: ContainerStatus, of: str = "", kind: ContainerEventType = CREATED) -> None:
        status = PodSandboxStatus(metadata=PodSandboxMetadata(uid=uid)) if uid else None
        event = ContainerEventResponse(
            container_id=of,
            container_event_type=kind,
            pod_sandbox_status=status,
            containers_statuses=containers,
        )
        self.runtime.streams[-1].on_item(event)

    def unknown(self) -> list[list[str]]:
        return [[pod.uid for pod in each.pods] for each in only(self.loop, UnknownPodsObserved)]
