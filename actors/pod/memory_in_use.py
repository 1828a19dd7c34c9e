"""What memory a pod uses, asked of the runtime before a limit is lowered (spec 10.16).

A limit below that would end processes. Of what the runtime tells nothing, nothing is known, and its limit is set.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.kernel import Actor
from actors.pod_rules.resize import Update
from actors.pod_rules.resize_words import below_usage
from runtime.cri import Cri
from runtime.cri.messages import ContainerStatsRequest, MemoryUsage, PodSandboxStatsRequest
from runtime.cri.verbs import CONTAINER_STATS, POD_SANDBOX_STATS


async def limits_too_low(
    worker: Actor, cri: Cri, sandbox_id: str, lowered_to: int, updates: Iterable[Update]
) -> tuple[str, ...]:
    """One text for each limit that is lowered below what is used. Raises CriError.

    `lowered_to`: the new memory limit of the pod in bytes; 0: it is not lowered.
    """
    found = []
    used = await _of_sandbox(worker, cri, sandbox_id) if lowered_to else None
    if used is not None and used >= lowered_to:
        found.append(below_usage("pod", lowered_to, used))
    for update in updates:
        used = await _of_container(worker, cri, update.id) if update.lowers_memory_to else None
        if used is not None and used >= update.lowers_memory_to:
            found.append(below_usage(f'container "{update.container.name}"', update.lowers_memory_to, used))
    return tuple(found)


async def _of_container(worker: Actor, cri: Cri, container_id: str) -> int | None:
    call = cri.call(CONTAINER_STATS, ContainerStatsRequest(container_id=container_id))
    stats = (await worker.wait(call, what=f"the memory of container {container_id[:13]}")).stats
    return _in_use(stats.memory) if stats is not None else None


async def _of_sandbox(worker: Actor, cri: Cri, sandbox_id: str) -> int | None:
    """Of all its containers together."""
    call = cri.call(POD_SANDBOX_STATS, PodSandboxStatsRequest(pod_sandbox_id=sandbox_id))
    stats = (await worker.wait(call, what=f"the memory of sandbox {sandbox_id[:13]}")).stats
    return _in_use(stats.linux.memory) if stats is not None and stats.linux is not None else None


def _in_use(memory: MemoryUsage | None) -> int | None:
    """In bytes, with the caches, as a limit counts them; None: the runtime does not say."""
    used = memory.usage_bytes if memory is not None else None
    return used.value if used is not None else None
