"""What a resize asks the runtime about a whole pod, and tells it (spec 10.16).

Before memory limits are lowered, what is used is looked at: a limit below that would end processes. Of what the runtime
tells nothing, nothing is known, and its limit is set.

Before the cgroup of the pod changes, plugins of the runtime hear of it (`UpdatePodSandboxResources`), and may refuse. A
runtime that does not know the call is as good as one that agrees.
"""

from __future__ import annotations

from actors.kernel import Actor
from actors.model.observed import ObservedPod, ObservedSandbox
from actors.pod_rules.resize import ResizePlan
from actors.pod_rules.resize_whole import lowered_memory_of, whole_numbers, wider_numbers
from actors.pod_rules.resize_words import below_usage, memory_not_lowered, sandbox_refused
from actors.start.resources import ResourceRules, pod_overhead
from config.objects import Pod
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import (
    ContainerStatsRequest,
    LinuxContainerResources,
    MemoryUsage,
    PodSandboxStatsRequest,
    UpdatePodSandboxResourcesRequest,
)
from runtime.cri.verbs import CONTAINER_STATS, POD_SANDBOX_STATS, UPDATE_POD_SANDBOX_RESOURCES

NOT_IMPLEMENTED = "not implemented"
"""Containerd 2.2 answers this with the code UNKNOWN."""


class ResizeError(Exception):
    """The pod or a container uses more memory than it is to have, or the runtime refuses."""


class ResizeCalls:
    """Of one worker.

    `before`: its pod with the resources that the runtime was told; `pod`: as it is given.
    """

    def __init__(self, worker: Actor, cri: Cri) -> None:
        self._worker = worker
        self._cri = cri

    async def check_memory(
        self, before: Pod, pod: Pod, observed: ObservedPod, plan: ResizePlan, rules: ResourceRules
    ) -> None:
        """Raises ResizeError where a new limit would be below what is used, and CriError.

        A container that restarts for its memory frees it first. So the pod is judged after the restarts.
        """
        found, sandbox = [], _ready(observed)
        if sandbox is not None and not plan.restarts and (lowered := lowered_memory_of(before, pod, rules)):
            used = await self._used_by_sandbox(sandbox.id)
            if used is not None and used >= lowered:
                found.append(below_usage("pod", lowered, used))
        for update in plan.updates:
            used = await self._used_by_container(update.id) if update.lowers_memory_to else None
            if used is not None and used >= update.lowers_memory_to:
                found.append(below_usage(f'container "{update.container.name}"', update.lowers_memory_to, used))
        if found:
            raise ResizeError(memory_not_lowered(found))

    async def tell_sandbox(
        self,
        before: Pod,
        pod: Pod,
        observed: ObservedPod,
        told: LinuxContainerResources | None,
        rules: ResourceRules,
        *,
        both: bool,
    ) -> LinuxContainerResources | None:
        """Tell what the pod has from now on, if that is news; return what was told. Raises ResizeError.

        `told`: what it was told since the resize began. `both`: it has room for its containers before and after.
        """
        sandbox = _ready(observed)
        if sandbox is None:
            return told
        had, wanted = whole_numbers(before, rules), whole_numbers(pod, rules)
        wanted = wider_numbers(wanted, had) if both else wanted
        had = told or had
        if wanted == had:
            return had
        request = UpdatePodSandboxResourcesRequest(
            pod_sandbox_id=sandbox.id, overhead=pod_overhead(pod, rules), resources=wanted
        )
        call = self._cri.call(UPDATE_POD_SANDBOX_RESOURCES, request)
        try:
            await self._worker.wait(call, what=f"the resize of sandbox {sandbox.id[:13]}")
        except CriError as failure:
            if not _is_unknown(failure):
                resource = "cpu" if wanted.memory_limit_in_bytes == had.memory_limit_in_bytes else "memory"
                raise ResizeError(sandbox_refused(resource, sandbox.id, failure.in_go)) from failure
        return wanted

    async def _used_by_container(self, container_id: str) -> int | None:
        call = self._cri.call(CONTAINER_STATS, ContainerStatsRequest(container_id=container_id))
        stats = (await self._worker.wait(call, what=f"the memory of container {container_id[:13]}")).stats
        return _in_use(stats.memory) if stats is not None else None

    async def _used_by_sandbox(self, sandbox_id: str) -> int | None:
        """By all its containers together."""
        call = self._cri.call(POD_SANDBOX_STATS, PodSandboxStatsRequest(pod_sandbox_id=sandbox_id))
        stats = (await self._worker.wait(call, what=f"the memory of sandbox {sandbox_id[:13]}")).stats
        return _in_use(stats.linux.memory) if stats is not None and stats.linux is not None else None


def _ready(observed: ObservedPod) -> ObservedSandbox | None:
    return next((each for each in observed.sandboxes if each.ready), None)


def _in_use(memory: MemoryUsage | None) -> int | None:
    """In bytes, with the caches, as a limit counts them; None: the runtime does not say."""
    used = memory.usage_bytes if memory is not None else None
    return used.value if used is not None else None


def _is_unknown(failure: CriError) -> bool:
    """Whether the runtime does not know the call."""
    said = failure.code == StatusCode.UNKNOWN and NOT_IMPLEMENTED in failure.message
    return said or failure.code == StatusCode.UNIMPLEMENTED
