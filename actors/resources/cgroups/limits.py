"""The limits of the cgroups of pods, tiers and the node (spec 10.3 to 10.5). Pure.

A pod's cgroup bounds all its containers together. Its weight is the pod's request. It has a limit only where every
container has one, since a container without a limit has no known bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.start.resources import DEFAULT_PERIOD_US, MINIMUM_SHARES, cpu_quota_us, cpu_shares
from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.identity import QosClass
from config.pods.requests import Amounts, read_amounts, whole_limits
from config.values.quantity import NANOS, parse_quantity
from runtime.cgroups.capability import CgroupLimits

CPU, MEMORY, PID = "cpu", "memory", "pid"
HUGE_PAGES = "hugepages-"
_NOTHING: Mapping[str, int] = {}


class CgroupRules(msgspec.Struct, frozen=True):
    """How this node bounds pods.

    `pids_limit`: of a pod, -1 for none. `page_sizes`: of huge pages, in bytes.

    `keeps_memory`: whether requested memory is protected, by the policy of MemoryQoS; None: that gate is off.
    `held_back`: the percentage of the memory requested by better classes that lower classes cannot use; None: nothing
    (QOSReserved).
    """

    cpu_quota: bool = True
    cpu_period_us: int = DEFAULT_PERIOD_US
    pids_limit: int = -1
    page_sizes: tuple[int, ...] = ()
    keeps_memory: bool | None = None
    held_back: int | None = None


def without_quota(rules: CgroupRules) -> CgroupRules:
    """The rules for a pod that has CPUs for itself."""
    return msgspec.structs.replace(rules, cpu_quota=False)


class TierDemand(msgspec.Struct, frozen=True, gc=False):
    """The requests that a pod adds to its tier, in thousandths of a CPU and bytes of memory."""

    milli_cpu: int = 0
    memory_bytes: int = 0

    def plus(self, other: TierDemand) -> TierDemand:
        return TierDemand(self.milli_cpu + other.milli_cpu, self.memory_bytes + other.memory_bytes)

    def less(self, other: TierDemand) -> TierDemand:
        return TierDemand(self.milli_cpu - other.milli_cpu, self.memory_bytes - other.memory_bytes)


def pod_limits(pod: Pod, qos: QosClass, requests: Amounts, rules: CgroupRules) -> CgroupLimits:
    """The limits of one pod, by its class and requests. Raises QuantityError."""
    limits = whole_limits(pod.spec) if qos is not QosClass.BEST_EFFORT else _NOTHING
    quota = cpu_quota_us(_milli(limits[CPU]), rules.cpu_period_us) if CPU in limits else None
    memory = -(-limits[MEMORY] // NANOS) if MEMORY in limits else None
    return CgroupLimits(
        cpu_shares=cpu_shares(_milli(requests.get(CPU, 0))) if qos is not QosClass.BEST_EFFORT else MINIMUM_SHARES,
        cpu_quota_us=-1 if quota is None or not rules.cpu_quota else quota,
        cpu_period_us=None if quota is None else rules.cpu_period_us,
        memory_bytes=-1 if memory is None else memory,
        memory_min_bytes=_bytes(requests) if rules.keeps_memory and qos is QosClass.GUARANTEED else None,
        memory_low_bytes=_bytes(requests) if rules.keeps_memory and qos is QosClass.BURSTABLE else None,
        pids=rules.pids_limit if rules.pids_limit > 0 else -1,
        huge_pages=_huge_pages({**limits, **requests}, rules.page_sizes) if rules.page_sizes else FrozenMap(),
    )


def wider(one: CgroupLimits, other: CgroupLimits) -> CgroupLimits:
    """Limits with room for containers of both forms. Everything else is that of `one`."""
    return msgspec.structs.replace(
        one,
        cpu_quota_us=_wider(one.cpu_quota_us, other.cpu_quota_us),
        memory_bytes=_wider(one.memory_bytes, other.memory_bytes),
        cpu_shares=max(one.cpu_shares or MINIMUM_SHARES, other.cpu_shares or MINIMUM_SHARES),
    )


def _wider(one: int | None, other: int | None) -> int | None:
    """-1 is no bound, and None leaves what is there."""
    if one is None or other is None:
        return one
    return -1 if -1 in (one, other) else max(one, other)


def demand_of(requests: Amounts) -> TierDemand:
    return TierDemand(_milli(requests.get(CPU, 0)), _bytes(requests))


def tier_limits(
    guaranteed: TierDemand, burstable: TierDemand, rules: CgroupRules, memory_bytes: int = 0
) -> Mapping[QosClass, CgroupLimits]:
    """The limits of the three tiers, by what their pods request together (spec 10.4).

    Burstable pods weigh the sum of their requests, best-effort pods the minimum. Guaranteed pods carry their own
    weights: their tier is the cgroup of all pods. Huge pages are counted by pod. `memory_bytes`: what all pods may
    have; 0: not known.

    The cgroup of all pods protects what its tiers protect, since the kernel gives a cgroup no more protection than
    its parent has. A policy that protects nothing takes away what another one has left.
    """
    every_page = FrozenMap(dict.fromkeys(rules.page_sizes, -1))
    kept = requested = None
    if rules.keeps_memory is not None:
        requested = burstable.memory_bytes if rules.keeps_memory else 0
        kept = guaranteed.memory_bytes + requested if rules.keeps_memory else 0
    middle = low = None
    if rules.held_back is not None and memory_bytes:
        middle = max(0, memory_bytes - guaranteed.memory_bytes * rules.held_back // 100)
        low = max(0, middle - burstable.memory_bytes * rules.held_back // 100)
    return {
        QosClass.GUARANTEED: CgroupLimits(memory_min_bytes=kept, memory_low_bytes=requested),
        QosClass.BURSTABLE: CgroupLimits(
            cpu_shares=cpu_shares(burstable.milli_cpu),
            memory_bytes=middle,
            memory_low_bytes=requested,
            huge_pages=every_page,
        ),
        QosClass.BEST_EFFORT: CgroupLimits(cpu_shares=MINIMUM_SHARES, memory_bytes=low, huge_pages=every_page),
    }


def reserved_limits(
    reserved: Mapping[str, str], *, compressible_only: bool = False, keeps_memory: bool = False
) -> CgroupLimits:
    """The limits of a cgroup reserved for the system or the agent.

    `compressible_only`: no limit that can kill. `keeps_memory`: its memory is also protected (MemoryQoS).
    """
    kept = read_amounts(reserved)
    memory, pids = kept.get(MEMORY), kept.get(PID)
    memory_bytes = None if memory is None or compressible_only else memory // NANOS
    return CgroupLimits(
        cpu_shares=cpu_shares(_milli(kept[CPU])) if CPU in kept else None,
        memory_bytes=memory_bytes,
        memory_min_bytes=memory_bytes if keeps_memory else None,
        pids=None if pids is None or compressible_only else pids // NANOS,
    )


def node_limits(capacity: Mapping[str, str], reserved: Iterable[Mapping[str, str]], rules: CgroupRules) -> CgroupLimits:
    """The limits of all pods together: the capacity less what is reserved for the system and the agent.

    The eviction thresholds are not subtracted: pods may use that until they are evicted (spec 10.5).
    """
    left = read_amounts(capacity)
    for name, amount in (each for amounts in reserved for each in read_amounts(amounts).items()):
        if name in left:
            left[name] = max(0, left[name] - amount)
    pids = left.get(PID)
    return CgroupLimits(
        cpu_shares=cpu_shares(_milli(left[CPU])) if CPU in left else None,
        memory_bytes=left[MEMORY] // NANOS if MEMORY in left else None,
        pids=None if pids is None else pids // NANOS,
        huge_pages=_huge_pages(left, rules.page_sizes),
    )


def _bytes(requests: Amounts) -> int:
    return -(-requests.get(MEMORY, 0) // NANOS)


def _huge_pages(amounts: Mapping[str, int], sizes: tuple[int, ...]) -> FrozenMap[int, int]:
    """Page size -> the requested bytes, 0 for sizes that are not requested."""
    paged = {name: amount for name, amount in amounts.items() if name.startswith(HUGE_PAGES)}
    wanted = {parse_quantity(name.removeprefix(HUGE_PAGES)).value(): amount for name, amount in paged.items()}
    return FrozenMap((size, wanted.get(size, 0) // NANOS) for size in sizes)


def _milli(nanos: int) -> int:
    return -(-nanos * 1000 // NANOS)
