"""Children of `ContainerGCActor` that list and remove, so that the parent never waits.

`DeadLister` lists the runtime and the disk. `Remover` removes a few victims, one after the other. `PodCollector`
removes everything of one pod. Each call has a deadline, and a runtime or a disk that hangs blocks only the child that
called it. What is gone already counts as removed.

Only logs of containers that do not run are removed here. The others belong to `LogRotationActor`, whose module explains
how the two avoid each other.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeVar

import msgspec

from actors.containers.gc_rules import (
    LOGS_LANE,
    DeadContainer,
    GcPolicy,
    Places,
    dead_containers,
    logs_key,
    removable_sandboxes,
    victim_of,
)
from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, Message, handles
from actors.messages.pods import CollectPod, Remains
from actors.node_object.events import node_event
from runtime.cri import Cri, CriError
from runtime.cri.identity import POD_UID
from runtime.cri.messages import (
    Container,
    ContainerFilter,
    ContainerState,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandbox,
    PodSandboxFilter,
    PodSandboxState,
    RemoveContainerRequest,
    RemovePodSandboxRequest,
    StopContainerRequest,
    StopPodSandboxRequest,
)
from runtime.cri.torn_network import has_torn_network, with_way_out
from runtime.cri.verbs import (
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    REMOVE_CONTAINER,
    REMOVE_POD_SANDBOX,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
    Req,
    Res,
    Verb,
)
from runtime.logs.pod_logs import DeadLink, PodLogs
from runtime.traces.spans import TraceContext, Tracer, below

T = TypeVar("T")

SECOND_NS = 1_000_000_000
GIVE_UP_NS = 300 * SECOND_NS
"""A deadline for runtime clients that do not keep the deadline of a verb."""
DISK_LIMIT_NS = 60 * SECOND_NS
STOP_SECONDS = 2

Failures = (CriError, DeadlineExceededError, LaneExhaustedError, OSError)


class GcTools(msgspec.Struct, frozen=True):
    """What the garbage collection works with."""

    cri: Cri
    logs: PodLogs
    policy: GcPolicy
    places: Places
    node: str = ""
    events: ActorRef | None = None
    tracer: Tracer | None = None

    def tell_failure(self, text: str) -> None:
        """Record an event about the node: dead containers could not be collected."""
        if self.events is not None:
            self.events.tell(node_event(self.node, "Warning", "ContainerGCFailed", text))


class ListDead(Message, frozen=True):
    """Parent -> DeadLister: list the containers of `uid` (empty: of all pods).

    With `disk`, all that a pass needs. `trace`: the span that the calls belong to.
    """

    uid: str
    disk: bool
    trace: TraceContext | None = None


class DeadListed(Message, frozen=True):
    """DeadLister -> parent: the lists. `error` is empty when they are complete."""

    asked: ListDead
    containers: tuple[Container, ...] = ()
    sandboxes: tuple[PodSandbox, ...] = ()
    log_directories: tuple[str, ...] = ()
    dead_links: tuple[DeadLink, ...] = ()
    error: str = ""

    def orphaned_links(self) -> tuple[str, ...]:
        """Dead links of containers that no longer exist."""
        if not self.dead_links:
            return ()
        alive = {each.id for each in self.containers}
        return tuple(link.path for link in self.dead_links if link.container_id not in alive)


class Remove(Message, frozen=True):
    """Parent -> Remover: remove these, in this order. `trace`: the span that the calls belong to."""

    containers: tuple[DeadContainer, ...] = ()
    sandboxes: tuple[str, ...] = ()
    log_directories: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    trace: TraceContext | None = None

    def is_nothing(self) -> bool:
        return not (self.containers or self.sandboxes or self.log_directories or self.links)


class Removed(Message, frozen=True):
    """Remover -> parent: done as far as possible; the next pass finds what is left."""

    remover: ActorRef
    removed: int
    errors: tuple[str, ...]


class Collected(Message, frozen=True):
    """PodCollector -> parent: nothing of the pod is left, or `error` says why."""

    collector: ActorRef
    uid: str
    error: str


class GcChild(Actor):
    """The common part of the children: short calls that raise one of `Failures`."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 2 * GIVE_UP_NS

    def __init__(self, parent: ActorRef, tools: GcTools) -> None:
        super().__init__()
        self.parent = parent
        self.tools = tools

    def call(self, verb: Verb[Req, Res], request: Req) -> Awaitable[Res]:
        return self.wait(self.tools.cri.call(verb, request), timeout_ns=GIVE_UP_NS, what=verb.name)

    async def remove_container(self, victim: DeadContainer) -> None:
        """Remove the container, then its files.

        A later pass finds a log without its container, but not the reverse.
        """
        await self.remove_from_runtime(victim)
        logs = self.tools.logs
        key = logs_key(os.path.dirname(victim.log_directory))
        files = (victim.link, victim.message) if victim.message else (victim.link,)
        await self.on_disk(key, logs.remove_container, victim.log_directory, victim.attempt, files)

    async def remove_from_runtime(self, victim: DeadContainer) -> None:
        """Remove only the container."""
        if victim.stop_first:
            await self.gone_or(STOP_CONTAINER, StopContainerRequest(container_id=victim.id, timeout=STOP_SECONDS))
        await self.gone_or(REMOVE_CONTAINER, RemoveContainerRequest(container_id=victim.id))

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox.

        A runtime may refuse while part of the network is left: then stop it and try again.
        """
        request = RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        try:
            await self.gone_or(REMOVE_POD_SANDBOX, request)
        except CriError:
            await self.gone_or(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
            await self.gone_or(REMOVE_POD_SANDBOX, request)

    async def gone_or(self, verb: Verb[Req, Res], request: Req) -> None:
        """Call the verb; "not found" counts as success."""
        try:
            await self.call(verb, request)
        except CriError as failure:
            if not failure.not_found:
                raise

    def on_disk(self, key: str, operation: Callable[..., T], *args: Any) -> Awaitable[T]:
        """Run a call of `PodLogs` on the lane, after all earlier calls with that key."""
        lane = self.lane(LOGS_LANE, size=1, per_key=1)
        return self.wait(lane.submit(key, operation, *args, deadline_ns=DISK_LIMIT_NS), what=operation.__name__)


class DeadLister(GcChild):
    @handles(ListDead)
    async def list_dead(self, message: ListDead) -> None:
        """Work: one reference to each that is listed."""
        try:
            self.parent.tell(await below(message.trace, self._listed(message)))
        except Failures as failure:
            self.parent.tell(DeadListed(message, error=str(failure)))

    async def _listed(self, message: ListDead) -> DeadListed:
        labels = {POD_UID: message.uid} if message.uid else {}
        if not message.disk:
            request = ListContainersRequest(filter=ContainerFilter(label_selector=labels))
            return DeadListed(message, (await self.call(LIST_CONTAINERS, request)).containers)
        logs = self.tools.logs
        # Logs and sandboxes before containers, so that what is made meanwhile has its container in the later list.
        directories = await self.on_disk(self.path, logs.list_pods)
        links = await self.on_disk(self.path, logs.dead_links)
        sandboxes = (await self.call(LIST_POD_SANDBOX, ListPodSandboxRequest())).items
        containers = (await self.call(LIST_CONTAINERS, ListContainersRequest())).containers
        return DeadListed(message, containers, sandboxes, directories, links)


class Remover(GcChild):
    def __init__(self, parent: ActorRef, tools: GcTools) -> None:
        super().__init__(parent, tools)
        self._errors: list[str] = []
        self._removed = 0

    @handles(Remove)
    async def remove(self, message: Remove) -> None:
        """Work: a few containers, or what a pass has found of sandboxes and logs."""
        self._errors, self._removed = [], 0
        await below(message.trace, self._remove(message))
        self.parent.tell(Removed(self.ref, self._removed, tuple(self._errors)))

    async def _remove(self, message: Remove) -> None:
        for victim in message.containers:
            await self._try(self.remove_container(victim), f"container {victim.name} ({victim.id[:13]})")
        for sandbox_id in message.sandboxes:
            await self._try(self.remove_sandbox(sandbox_id), f"sandbox {sandbox_id[:13]}")
        for directory in message.log_directories:
            await self._try(self.on_disk(logs_key(directory), self.tools.logs.remove_pod, directory), directory)
        for link in message.links:
            await self._try(self.on_disk(link, self.tools.logs.remove_link, link), link)

    async def _try(self, operation: Awaitable[object], what: str) -> None:
        try:
            await operation
            self._removed += 1
        except Failures as failure:
            self._errors.append(f"{what}: {with_way_out(failure)}")


class PodCollector(GcChild):
    """Removes everything of one ended pod, and tells the parent.

    With `keep_content` it removes only what the policy allows.
    """

    @handles(CollectPod)
    async def collect_pod(self, message: CollectPod) -> None:
        """Work: the remains of one pod; it collects no other meanwhile."""
        try:
            error = await self._collect(message)
        except Failures as failure:
            error = str(failure)
        self.parent.tell(Collected(self.ref, message.uid, error))

    async def _collect(self, request: CollectPod) -> str:
        if request.remains is not None and not request.keep_content:
            await self._take(request, request.remains)
            return ""
        labels = {POD_UID: request.uid}
        listing = self.tools.cri.call(
            LIST_CONTAINERS, ListContainersRequest(filter=ContainerFilter(label_selector=labels))
        )
        sandboxes = await self.call(
            LIST_POD_SANDBOX, ListPodSandboxRequest(filter=PodSandboxFilter(label_selector=labels))
        )
        containers = (await self.wait(listing, timeout_ns=GIVE_UP_NS, what="the list of its containers")).containers
        if request.keep_content:
            return await self._collect_surplus(containers, sandboxes.items)
        for container in containers:
            if container.state == ContainerState.CONTAINER_RUNNING:
                return f"container {victim_of(container, self.tools.places).name} still runs"
        for sandbox in sandboxes.items:
            if sandbox.state == PodSandboxState.SANDBOX_READY:
                return f"sandbox {sandbox.id[:13]} is still up"
        victims = [victim_of(container, self.tools.places) for container in containers]
        here = [sandbox.id for sandbox in sandboxes.items]
        for container, victim in zip(containers, victims, strict=True):
            if victim.stop_first or container.pod_sandbox_id not in here:  # the others go with their sandbox
                await self.remove_from_runtime(victim)
        await self._take(request, Remains(tuple(here), tuple([victim.link for victim in victims])))
        return ""

    async def _take(self, request: CollectPod, remains: Remains) -> None:
        for sandbox_id in remains.sandboxes:
            try:
                await self.remove_sandbox(sandbox_id)
            except CriError as failure:
                if not has_torn_network(failure):
                    raise
                # The pod has ended; the sandbox is left to the regular passes, which tell of it until it is gone.
        if request.log_directory:
            remove = self.tools.logs.remove_pod
            await self.on_disk(logs_key(request.log_directory), remove, request.log_directory, remains.links)

    async def _collect_surplus(self, containers: tuple[Container, ...], sandboxes: tuple[PodSandbox, ...]) -> str:
        tools = self.tools
        for container in dead_containers(containers, tools.policy, self.wall_ns(), _nobody):
            await self.remove_container(victim_of(container, tools.places))
        for sandbox_id in removable_sandboxes(sandboxes, containers, _nobody):
            await self.remove_sandbox(sandbox_id)
        return ""


def _nobody(_: str) -> bool:
    return False
