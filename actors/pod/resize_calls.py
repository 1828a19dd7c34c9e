"""The runtime calls of a resize about a whole pod (spec 10.16).

Before a memory limit is lowered, the memory in use is checked: a limit below it would end processes. If the runtime
does not report the use, the limit is set anyway.

Before the cgroup of the pod changes, plugins of the runtime are asked (`UpdatePodSandboxResources`) and may refuse. A
runtime without that call counts as agreeing.
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
    """The resize calls of one worker.

    `before`: its pod with the resources that the runtime was told; `pod`: with the new ones.
    """

    def __init__(self, worker: Actor, cri: Cri) -> None:
        self._worker = worker
        self._cri = cri

    async def check_memory(
        self, before: Pod, pod: Pod, observed: ObservedPod, plan: ResizePlan, rules: ResourceRules
    ) -> None:
        """Check new limits. Raises ResizeError if one is below the memory in use, and CriError.

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
        """Tell the runtime the pod's new resources, if they are news. Raises ResizeError.

        Returns those that the runtime has been told by now.

        `told`: those it was told since the resize began. `both`: with room for the containers before and after.
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
        """The memory in use by all containers of the sandbox."""
        call = self._cri.call(POD_SANDBOX_STATS, PodSandboxStatsRequest(pod_sandbox_id=sandbox_id))
        stats = (await self._worker.wait(call, what=f"the memory of sandbox {sandbox_id[:13]}")).stats
        return _in_use(stats.linux.memory) if stats is not None and stats.linux is not None else None


def _ready(observed: ObservedPod) -> ObservedSandbox | None:
    return next((each for each in observed.sandboxes if each.ready), None)


def _in_use(memory: MemoryUsage | None) -> int | None:
    """The memory in use in bytes, caches included as for a limit; None: the runtime does not report it."""
    used = memory.usage_bytes if memory is not None else None
    return used.value if used is not None else None


def _is_unknown(failure: CriError) -> bool:
    """Whether the runtime does not know the call."""
    said = failure.code == StatusCode.UNKNOWN and NOT_IMPLEMENTED in failure.message
    return said or failure.code == StatusCode.UNIMPLEMENTED
