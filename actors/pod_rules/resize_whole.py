"""The resources of a whole pod during a resize, as the runtime gets them for its sandbox (spec 10.16).

Pure. The overhead of the pod is passed separately.
"""

from __future__ import annotations

import msgspec

from actors.start.resources import ResourceRules, pod_overhead, pod_sum
from config.objects import Pod
from runtime.cri.messages import LinuxContainerResources

NO_LIMIT = -1


def lowered_memory_of(before: Pod, pod: Pod, rules: ResourceRules) -> int:
    """The memory limit of the pod in bytes, with its overhead, if it is lower than before; else 0.

    Raises QuantityError.
    """
    had, has = (pod_sum(each, rules).memory_limit_in_bytes for each in (before, pod))
    return has + pod_overhead(pod, rules).memory_limit_in_bytes if has and (not had or has < had) else 0


def whole_numbers(pod: Pod, rules: ResourceRules) -> LinuxContainerResources:
    """Weight and limits of the pod. Raises QuantityError."""
    found = pod_sum(pod, rules)
    return msgspec.structs.replace(found, cpu_quota=found.cpu_quota or NO_LIMIT, cpu_period=rules.cpu_period_us)


def wider_numbers(one: LinuxContainerResources, other: LinuxContainerResources) -> LinuxContainerResources:
    """Numbers with room for containers of both forms. A memory limit of 0 means no limit."""
    quotas, limits = (one.cpu_quota, other.cpu_quota), (one.memory_limit_in_bytes, other.memory_limit_in_bytes)
    return msgspec.structs.replace(
        one,
        cpu_shares=max(one.cpu_shares, other.cpu_shares),
        cpu_quota=NO_LIMIT if NO_LIMIT in quotas else max(quotas),
        memory_limit_in_bytes=max(limits) if all(limits) else 0,
    )
