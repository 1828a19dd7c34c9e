"""What of a container's limits only cgroup v2 can say, by the kernel's own file names (spec 3.8, 9.8, 10.3). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from actors.start.resource_rules import MemoryRules, ResourceRules, SwapRules, amount_bytes
from config.objects import Container, Pod
from config.pods.identity import QosClass, is_critical, qos_class

PAGE_BYTES = 4096
OOM_GROUP, SWAP_MAX = "memory.oom.group", "memory.swap.max"
MEMORY_MIN, MEMORY_LOW, MEMORY_HIGH = "memory.min", "memory.low", "memory.high"
_NONE: Mapping[str, str] = {}


def unified(pod: Pod, container: Container, rules: ResourceRules) -> dict[str, str]:
    """File -> text. Nothing on v1."""
    if rules.cgroup_version != 2:
        return {}
    found = {} if rules.single_process_oom_kill else {OOM_GROUP: "1"}
    if rules.swap is not None:
        found[SWAP_MAX] = str(_swap_bytes(pod, container, rules.swap, rules.memory_capacity_bytes))
    if rules.memory is not None:
        found |= {file: str(amount) for file, amount in _memory(pod, container, rules.memory).items() if amount}
    return found


def _swap_bytes(pod: Pod, container: Container, swap: SwapRules, memory_capacity_bytes: int) -> int:
    """In proportion to what the container asks for of memory, where it may swap at all."""
    request, limit = _amounts(container)
    may = swap.limited and qos_class(pod) is QosClass.BURSTABLE and not is_critical(pod)
    if not may or not request or request == limit or not memory_capacity_bytes:
        return 0
    return request * swap.capacity_bytes // memory_capacity_bytes


def _memory(pod: Pod, container: Container, rules: MemoryRules) -> dict[str, int]:
    qos = qos_class(pod)
    if qos is QosClass.BEST_EFFORT:
        return {}
    request, limit = _amounts(container)
    found = {MEMORY_MIN if qos is QosClass.GUARANTEED else MEMORY_LOW: request} if rules.tiered else {}
    most = limit or rules.allocatable_bytes
    if request != limit and most > request:
        between = int(rules.throttling * (most - request))
        found[MEMORY_HIGH] = (request + between) // PAGE_BYTES * PAGE_BYTES
    return found


def _amounts(container: Container) -> tuple[int, int]:
    """What it asks for of memory, and its limit; 0 for none."""
    own = container.resources
    requests, limits = (own.requests, own.limits) if own is not None else (_NONE, _NONE)
    limit = amount_bytes(limits["memory"]) if "memory" in limits else 0
    return amount_bytes(requests["memory"]) if "memory" in requests else limit, limit
