"""Which containers have CPUs for themselves alone, and so no CPU quota. Pure.

That is the gate DisableCPUQuotaWithExclusiveCPUs: a quota would cut the time of CPUs that nobody else may use.
"""

from __future__ import annotations

from actors.model.shares import PodShares
from actors.resources.shares.wanted import wanted_of
from config.objects import Pod


def pinned_containers(pod: Pod, shares: PodShares) -> frozenset[str]:
    """Their names. One that shares the CPUs of its pod is not pinned."""
    if not shares.containers:
        return frozenset()
    exclusive = {want.name for want in wanted_of(pod).containers if want.cpus}
    return frozenset(name for name, share in shares.containers.items() if share.cpus and name in exclusive)


def is_pinned_pod(pod: Pod, shares: PodShares) -> bool:
    """Whether the pod as a whole has no quota.

    With CPUs of the pod, only if no container shares them.
    """
    pinned = pinned_containers(pod, shares)
    if shares.whole is None:
        return bool(pinned)
    return all(want.name in pinned for want in wanted_of(pod).containers)
