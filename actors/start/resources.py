"""The resources of a container in the units of the kernel (spec 3.8, 10.3, 10.6). Pure.

`ResourceRules` say how the node turns requests into limits. Quantities repeat from pod to pod, so each text is parsed
once. `unified` has the settings that only cgroup v2 knows, by the kernel's file names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from config.caches import KIB, kept
from config.objects import Container, Pod
from config.pods.identity import QosClass, is_critical, is_node_critical, is_sidecar, qos_class
from config.values.quantity import parse_quantity
from runtime.cgroups.names import page_name
from runtime.cri.messages import HugepageLimit, LinuxContainerResources

DEFAULT_PERIOD_US = 100_000


class SwapRules(msgspec.Struct, frozen=True):
    """How much containers may swap where the kernel limits swap (spec 9.8).

    `limited`: LimitedSwap; else none.

    `capacity_bytes`: the machine's swap.
    """

    limited: bool = False
    capacity_bytes: int = 0


class MemoryRules(msgspec.Struct, frozen=True):
    """MemoryQoS (spec 10.3).

    `tiered`: requested memory is reserved for the container. `throttling`: the fraction of the range from request to
    limit at which a container is slowed down. `allocatable_bytes`: the limit of containers without one.
    """

    tiered: bool = False
    throttling: float = 0.9
    allocatable_bytes: int = 0


class ResourceRules(msgspec.Struct, frozen=True):
    """See the module.

    `memory_capacity_bytes` 0: unknown. `page_sizes`: of huge pages, in bytes. `swap`, `memory`: None if the kernel or
    the configuration has no such thing.
    """

    cpu_quota: bool = True
    cpu_period_us: int = DEFAULT_PERIOD_US
    memory_capacity_bytes: int = 0
    cgroup_version: int = 2
    single_process_oom_kill: bool = False
    page_sizes: tuple[int, ...] = ()
    swap: SwapRules | None = None
    memory: MemoryRules | None = None


@kept(256 * KIB)
def milli_cpu(text: str) -> int:
    """Thousandths of a CPU, rounded up."""
    return parse_quantity(text).milli_value()


@kept(256 * KIB)
def amount_bytes(text: str) -> int:
    """Whole bytes, rounded up."""
    return parse_quantity(text).value()


PAGE_BYTES = 4096
OOM_GROUP, SWAP_MAX = "memory.oom.group", "memory.swap.max"
MEMORY_MIN, MEMORY_LOW, MEMORY_HIGH = "memory.min", "memory.low", "memory.high"
_NONE: Mapping[str, str] = {}


def unified(pod: Pod, container: Container, rules: ResourceRules) -> dict[str, str]:
    """File -> text. Empty on cgroup v1."""
    if rules.cgroup_version != 2:
        return {}
    found = {} if rules.single_process_oom_kill else {OOM_GROUP: "1"}
    if rules.swap is not None:
        found[SWAP_MAX] = str(swap_bytes(pod, container, rules))
    if rules.memory is not None:
        found |= {file: str(amount) for file, amount in _memory(pod, container, rules.memory).items() if amount}
    return found


def swap_bytes(pod: Pod, container: Container, rules: ResourceRules) -> int:
    """The swap limit in proportion to the memory request, if the container may swap at all."""
    request, limit = _amounts(container)
    swap, capacity_bytes = rules.swap, rules.memory_capacity_bytes
    may = swap is not None and swap.limited and qos_class(pod) is QosClass.BURSTABLE and not is_critical(pod)
    if swap is None or not may or not request or request == limit or not capacity_bytes:
        return 0
    return request * swap.capacity_bytes // capacity_bytes


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
    """The memory request and limit; 0 for none."""
    own = container.resources
    requests, limits = (own.requests, own.limits) if own is not None else (_NONE, _NONE)
    limit = amount_bytes(limits["memory"]) if "memory" in limits else 0
    return amount_bytes(requests["memory"]) if "memory" in requests else limit, limit


MINIMUM_SHARES = 2
MAXIMUM_SHARES = 262_144
MINIMUM_QUOTA_US = 1_000

HUGE_PAGES = "hugepages-"

PROTECTED_OOM_SCORE = -997
BEST_EFFORT_OOM_SCORE = 1_000

_NO_AMOUNTS: Mapping[str, str] = {}
_Amount: TypeAlias = Callable[[Container], int]
_Reader: TypeAlias = Callable[[str], int]


def cpu_shares(milli: int) -> int:
    """The weight for that much CPU; no request gives the least weight."""
    return max(MINIMUM_SHARES, min(MAXIMUM_SHARES, milli * 1024 // 1000))


def cpu_quota_us(milli: int, period_us: int = DEFAULT_PERIOD_US) -> int:
    """CPU time per period; 0 for no limit."""
    return max(MINIMUM_QUOTA_US, milli * period_us // 1000) if milli else 0


def container_resources(pod: Pod, container: Container, rules: ResourceRules) -> LinuxContainerResources:
    """Weight, limits and OOM score of one container.

    The pod's limits apply to containers without their own.
    """
    own = container.resources
    requests = own.requests if own is not None else _NO_AMOUNTS
    limits = own.limits if own is not None else _NO_AMOUNTS
    whole = pod.spec.resources.limits if pod.spec.resources is not None else _NO_AMOUNTS
    cpu_limit = limits.get("cpu") or whole.get("cpu")
    memory_limit = limits.get("memory") or whole.get("memory")
    cpu_request = requests.get("cpu") or cpu_limit
    quota_us = 0
    if cpu_limit:
        quota_us = cpu_quota_us(milli_cpu(cpu_limit), rules.cpu_period_us) if rules.cpu_quota else -1
    return LinuxContainerResources(
        cpu_shares=cpu_shares(milli_cpu(cpu_request)) if cpu_request else MINIMUM_SHARES,
        cpu_quota=quota_us,
        cpu_period=rules.cpu_period_us if rules.cpu_quota else 0,
        memory_limit_in_bytes=amount_bytes(memory_limit) if memory_limit else 0,
        oom_score_adj=oom_score(pod, container, rules.memory_capacity_bytes),
        hugepage_limits=_huge_pages({**whole, **limits}, rules.page_sizes),
        unified=unified(pod, container, rules),
    )


def _huge_pages(limits: Mapping[str, str], sizes: tuple[int, ...]) -> tuple[HugepageLimit, ...]:
    """For each existing page size the requested limit, or 0."""
    wanted = {
        amount_bytes(name.removeprefix(HUGE_PAGES)): amount_bytes(text)
        for name, text in limits.items()
        if name.startswith(HUGE_PAGES)
    }
    return tuple(HugepageLimit(page_size=page_name(size), limit=wanted.get(size, 0)) for size in sizes)


def pod_sum(pod: Pod, rules: ResourceRules) -> LinuxContainerResources:
    """The sum over the pod, passed to the runtime with the sandbox (spec 3.9).

    Containers and sidecars run together. A regular init container runs before them, beside the sidecars started
    earlier. A pod limit exists only if every container has one. What the pod as a whole asks for takes the place of
    the sum.
    """
    limit_milli = _limit(pod, "cpu", milli_cpu)
    whole = pod.spec.resources.requests.get("cpu") if pod.spec.resources is not None else None
    request_milli = milli_cpu(whole) if whole is not None else _together(pod, _cpu_request) or limit_milli
    limit_bytes = _limit(pod, "memory", amount_bytes)
    return LinuxContainerResources(
        cpu_shares=cpu_shares(request_milli),
        cpu_quota=cpu_quota_us(limit_milli, rules.cpu_period_us) if rules.cpu_quota else 0,
        cpu_period=rules.cpu_period_us if limit_milli and rules.cpu_quota else 0,
        memory_limit_in_bytes=limit_bytes,
    )


def pod_overhead(pod: Pod, rules: ResourceRules) -> LinuxContainerResources:
    """The overhead of the sandbox (spec 3.9): `spec.overhead`, as request and limit."""
    cpu, memory = pod.spec.overhead.get("cpu"), pod.spec.overhead.get("memory")
    milli = milli_cpu(cpu) if cpu else 0
    return LinuxContainerResources(
        cpu_shares=cpu_shares(milli) if milli else 0,
        cpu_quota=cpu_quota_us(milli, rules.cpu_period_us) if rules.cpu_quota else 0,
        cpu_period=rules.cpu_period_us if milli and rules.cpu_quota else 0,
        memory_limit_in_bytes=amount_bytes(memory) if memory else 0,
    )


def oom_score(pod: Pod, container: Container, memory_capacity_bytes: int) -> int:
    """The OOM score: the kernel kills the highest first.

    A sidecar never scores above the container it serves.
    """
    if is_node_critical(pod):
        return PROTECTED_OOM_SCORE
    quality = qos_class(pod)
    if quality is QosClass.GUARANTEED:
        return PROTECTED_OOM_SCORE
    if quality is QosClass.BEST_EFFORT or not memory_capacity_bytes:
        return BEST_EFFORT_OOM_SCORE
    share = _share_of_the_rest(pod)
    score = _burstable_score(_memory_request(container) + share, memory_capacity_bytes)
    if is_sidecar(container) and pod.spec.containers:
        least = min(_memory_request(each) for each in pod.spec.containers)
        score = min(score, _burstable_score(least + share, memory_capacity_bytes))
    return score


def _share_of_the_rest(pod: Pod) -> int:
    """The container's equal part of the memory that the pod requests beyond its containers (spec 10.6)."""
    whole = pod.spec.resources.requests.get("memory") if pod.spec.resources is not None else None
    if whole is None:
        return 0
    together = [*pod.spec.containers, *(each for each in pod.spec.init_containers if is_sidecar(each))]
    return max(0, amount_bytes(whole) - sum(map(_memory_request, together))) // len(together)


def _burstable_score(request_bytes: int, capacity_bytes: int) -> int:
    return max(3, min(999, 1000 - 1000 * request_bytes // capacity_bytes))


def _memory_request(container: Container) -> int:
    own = container.resources
    text = (own.requests.get("memory") or own.limits.get("memory")) if own is not None else None
    return amount_bytes(text) if text else 0


def _cpu_request(container: Container) -> int:
    own = container.resources
    text = (own.requests.get("cpu") or own.limits.get("cpu")) if own is not None else None
    return milli_cpu(text) if text else 0


def _together(pod: Pod, amount_of: _Amount) -> int:
    """The largest amount that runs at one time."""
    sidecars = most = 0
    for container in pod.spec.init_containers:
        if is_sidecar(container):
            sidecars += amount_of(container)
        else:
            most = max(most, sidecars + amount_of(container))
    return max(most, sidecars + sum(amount_of(container) for container in pod.spec.containers))


def _limit(pod: Pod, resource: str, read: _Reader) -> int:
    """The pod's own limit, or the sum if each container has one; 0 for none."""
    whole = pod.spec.resources.limits.get(resource) if pod.spec.resources is not None else None
    if whole:
        return read(whole)
    everyone = (*pod.spec.init_containers, *pod.spec.containers)
    if not all(each.resources is not None and each.resources.limits.get(resource) for each in everyone):
        return 0
    return _together(pod, lambda each: read(each.resources.limits[resource]) if each.resources is not None else 0)
