"""Step: running containers have the CPUs that the node's book says (spec 10.8).

A container is created with its CPUs and memory nodes. Those without CPUs of their own have the shared pool, which
changes while they run. So each pass compares what the runtime shows with what the node has told, and updates what
differs. The node has workers compare each `cpuManagerReconcilePeriod`, too. Nothing is guessed: the book is the only
source. A failed update is tried again at the next comparison.

A runtime shows what it was told, not what the kernel has. So a comparison also reads the cgroups of the containers.
"""

from __future__ import annotations

from collections.abc import Iterator

from actors.kernel import Message, handles
from actors.messages.shares import CompareCpus, ContainerBegins, SharesGiven, SharesInForce
from actors.model.observed import ObservedContainer, ObservedPod
from actors.model.shares import NOTHING
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.steps.admitted import PodAdmission
from actors.pod.view import PodView
from actors.resources.shares.pinned import is_pinned_pod, pinned_containers
from actors.start.shares import NO_SHARE, ContainerShare
from config.objects import Pod
from config.values.cpu_sets import format_cpu_set, parse_cpu_set
from runtime.cgroups.names import container_of
from runtime.cri import CriError
from runtime.cri.messages import LinuxContainerResources

WAITS = PassWait("the node is asked which CPUs and memory it has for itself", "its containers start then")


class CgroupsRead(Message, frozen=True):
    """To the worker itself: the CPUs in the cgroups of its containers, see `CgroupTree.cpu_sets`.

    None: they could not be read, for the reason in `error`.
    """

    cpu_sets: tuple[tuple[str, str], ...] | None
    error: str


class PodCpus:
    """See the module. Pods have it where a policy is in use."""

    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        observer: PodObserver,
        calls: PodCalls,
        admission: PodAdmission,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._observer = observer
        self._calls = calls
        self._admission = admission
        self._given: SharesGiven | None = None
        self._told: dict[str, frozenset[int]] = {}
        """Container id -> the CPUs that the runtime was told, where it does not show them."""
        self._in_cgroups: dict[str, frozenset[int]] = {}
        """Container id -> the CPUs that its cgroup had at the last comparison; none after an update."""
        self._reads = False

    async def step(self, this: PodPass) -> Outcome:
        """Update running containers; new ones wait until it is known what the pod has."""
        if self._given is None:
            return WAITS if this.actions.starts else CONTINUE
        updates = list(self._to_update(this.observed))
        for each, wanted in updates:
            await self._update(each, wanted)
        if self._given.gives_back and not updates:
            self._services.resources.tell(SharesInForce(self._view.uid, self._given.shares))
        return CONTINUE

    @property
    def is_pinned(self) -> bool:
        """Whether the pod has CPUs for itself, and so no CPU quota."""
        given, pod = self._given, self._view.pod
        return given is not None and pod is not None and not given.quota and is_pinned_pod(pod, given.shares)

    def without_quota(self, pod: Pod) -> frozenset[str]:
        """The names of the containers that have CPUs for themselves, and so no CPU quota."""
        given = self._given
        return frozenset() if given is None or given.quota else pinned_containers(pod, given.shares)

    def of(self, pod: Pod, name: str) -> ContainerShare:
        """What a container of the pod is created with."""
        given = self._given
        if given is None:
            return NO_SHARE
        share = given.shares.containers.get(name, NOTHING)
        nodes = {node for block in share.memory for node in block.nodes}
        pinned = name in self.without_quota(pod)
        return ContainerShare(format_cpu_set(share.cpus or given.pool), format_cpu_set(nodes), no_quota=pinned)

    def begins(self, pod: Pod, name: str) -> None:
        """A container was created: init containers before it have given back their memory."""
        if self._given is not None and self._given.shares.containers and pod.spec.init_containers:
            self._services.resources.tell(ContainerBegins(pod, name))

    def _to_update(self, observed: ObservedPod) -> Iterator[tuple[ObservedContainer, frozenset[int]]]:
        given = self._given
        if given is None or not given.pool:
            return
        shares = given.shares.containers
        for name, (newest, *_) in observed.by_name.items():
            wanted = shares.get(name, NOTHING).cpus or given.pool
            if newest.running and not self._has(newest, wanted):
                yield newest, wanted

    def _has(self, container: ObservedContainer, wanted: frozenset[int]) -> bool:
        shown = container.resources.cpuset_cpus if container.resources is not None else ""
        told = parse_cpu_set(shown) if shown else self._told.get(container.id, frozenset())
        return told == wanted == self._in_cgroups.get(container.id, wanted)

    async def _update(self, container: ObservedContainer, cpus: frozenset[int]) -> None:
        resources = LinuxContainerResources(cpuset_cpus=format_cpu_set(cpus))
        try:
            await self._calls.update_container(container.name, container.attempt, container.id, resources)
        except CriError as failure:
            self._worker.log.warning(
                "the CPUs of container %s of pod %s cannot be set to %s: %s",
                *(container.name, self._view.name, resources.cpuset_cpus, failure),
            )
        else:
            self._told = {each: self._told[each] for each in self._told if each != container.id}
            self._told[container.id] = cpus
            self._in_cgroups.pop(container.id, None)

    # --- what the node tells ----------------------------------------------------------------------------------------

    @handles(SharesGiven)
    def shares_given(self, message: SharesGiven) -> Pass | None:
        before, self._given = self._given, message
        return None if before == message else self._worker.go_on()

    @handles(CompareCpus)
    def compare(self, _: CompareCpus) -> Pass | None:
        """Look at each running container once more."""
        running = [newest for newest, *_ in self._view.seen().by_name.values() if newest.running]
        self._told = {each.id: self._told[each.id] for each in running if each.id in self._told}
        for each in running:
            self._observer.doubt(each.id)
        if running:
            self._read_cgroups()
        return self._worker.go_on() if running else None

    def _read_cgroups(self) -> None:
        tree, parent = self._services.cgroup_tree, self._admission.parent
        if tree is not None and parent and not self._reads:
            self._reads = True
            self._worker.attempt(lambda: self._view.on_disk(tree.cpu_sets, parent), CgroupsRead)

    @handles(CgroupsRead)
    def cgroups_read(self, message: CgroupsRead) -> Pass | None:
        """Update the containers whose CPUs somebody else has changed."""
        self._reads = False
        if message.error:
            self._worker.log.warning("the cgroups of pod %s cannot be read: %s", self._view.name, message.error)
        texts = {container_of(name): text for name, text in message.cpu_sets or ()}
        running = [newest.id for newest, *_ in self._view.seen().by_name.values() if newest.running]
        self._in_cgroups = {each: parse_cpu_set(texts[each]) for each in running if each in texts}
        return self._worker.go_on() if any(self._to_update(self._view.seen())) else None
