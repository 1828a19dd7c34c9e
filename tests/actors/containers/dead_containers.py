"""A container collector with a runtime and logs in memory."""

from __future__ import annotations

from typing import Any

from actors.containers.gc import ContainerGCActor
from actors.containers.gc_rules import GcPolicy, Places
from actors.containers.removal import GcTools
from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, broken, kept
from actors.messages.pods import CollectorStarted, KnownPods, PodCollected
from actors.messages.reclaim import ContainersReclaimed
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import (
    Container,
    ListContainersResponse,
    ListPodSandboxResponse,
    PodSandbox,
    RemoveContainerResponse,
    RemovePodSandboxResponse,
    StopContainerResponse,
    StopPodSandboxResponse,
)
from runtime.cri.verbs import (
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    REMOVE_CONTAINER,
    REMOVE_POD_SANDBOX,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
)
from runtime.logs.pod_logs import DeadLink
from tests.actors.containers.test_gc_rules import RUNNING, container
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
UID = "io.kubernetes.pod.uid"


class Runtime:
    """Containers and sandboxes in memory. `hanging` ids never answer, `refusing` ones fail."""

    def __init__(self) -> None:
        self.containers: dict[str, Container] = {}
        self.sandboxes: dict[str, PodSandbox] = {}
        self.hanging: set[str] = set()
        self.refusing: set[str] = set()
        self.operations: list[tuple[str, str]] = []
        self.lists = 0
        self.at_once = self.most_at_once = 0
        self.listing: Promise[Any] | None = None

    def add(self, *things: Container | PodSandbox) -> None:
        for thing in things:
            if isinstance(thing, Container):
                self.containers[thing.id] = thing
            else:
                self.sandboxes[thing.id] = thing

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if verb in (LIST_CONTAINERS, LIST_POD_SANDBOX):
            wanted = request.filter.label_selector.get(UID) if request.filter is not None else None
            if verb is LIST_CONTAINERS:
                self.lists += 1
                found = [c for c in self.containers.values() if wanted in (None, c.labels.get(UID))]
                answer: Promise[Any] = kept(ListContainersResponse(containers=tuple(found)))
                return answer if self.listing is None else self.listing
            items = [s for s in self.sandboxes.values() if wanted in (None, s.metadata and s.metadata.uid)]
            return kept(ListPodSandboxResponse(items=tuple(items)))
        return self._change(verb, request)

    def _change(self, verb: Any, request: Any) -> Promise[Any]:
        of_container = verb in (STOP_CONTAINER, REMOVE_CONTAINER)
        things: dict[str, Any] = self.containers if of_container else self.sandboxes
        id_ = request.container_id if of_container else request.pod_sandbox_id
        self.operations.append((verb.name, id_))
        if id_ in self.hanging:
            return Promise()
        if id_ not in things:
            return broken(CriError(StatusCode.NOT_FOUND, id_, verb.name))
        if verb is STOP_POD_SANDBOX:
            self.refusing.discard(id_)
        if id_ in self.refusing:
            return broken(CriError(StatusCode.UNKNOWN, "no", verb.name))
        if verb is REMOVE_CONTAINER:
            assert things[id_].state != RUNNING
            del things[id_]
            return kept(RemoveContainerResponse())
        if verb is REMOVE_POD_SANDBOX:
            del things[id_]
            self.containers = {key: each for key, each in self.containers.items() if each.pod_sandbox_id != id_}
            return kept(RemovePodSandboxResponse())
        return kept(StopContainerResponse() if verb is STOP_CONTAINER else StopPodSandboxResponse())

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class Logs:
    def __init__(self) -> None:
        self.pods: tuple[str, ...] = ()
        self.links: tuple[DeadLink, ...] = ()
        self.into: dict[str, tuple[DeadLink, ...]] = {}
        """Links that are dead once a directory is gone."""
        self.removed: list[Any] = []

    def list_pods(self) -> tuple[str, ...]:
        return self.pods

    def dead_links(self) -> tuple[DeadLink, ...]:
        return self.links

    def remove_pod(self, directory: str, links: tuple[str, ...] = ()) -> None:
        self.removed.append((directory, *links))
        self.pods = tuple(each for each in self.pods if each != directory)
        self.links += self.into.pop(directory, ())

    def remove_container(self, directory: str, attempt: int, others: tuple[str, ...] = ()) -> None:
        self.removed.append(f"{directory}/{attempt}.log")

    def remove_link(self, path: str) -> None:
        self.removed.append(path)
        self.links = tuple(each for each in self.links if each.path != path)


class World:
    def __init__(self, policy: GcPolicy | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.runtime = Runtime()
        self.logs = Logs()
        tools = GcTools(self.runtime, self.logs, policy or GcPolicy(), Places())
        sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", CollectorStarted)
        self.gc: ActorRef = self.system.spawn(ContainerGCActor, sync_loop, tools, name="gc")
        self.worker, self.answers = Recorder.spawn_in(self.system, "worker", PodCollected, ContainersReclaimed)

    def tell(self, *messages: Any, seconds: int = 0) -> None:
        for message in messages:
            self.gc.tell(message)
        self.dispatcher.run_for(seconds * SECOND_NS)

    def left(self) -> set[str]:
        return {*self.runtime.containers, *self.runtime.sandboxes}


def crashed(uid: str = "p", times: int = 3) -> list[Container]:
    return [container(f"{uid}{n}", f"{uid}/c", created=n) for n in range(times)]


def known(*uids: str) -> list[Any]:
    return [KnownPods(frozenset(uids))]
