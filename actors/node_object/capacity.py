"""The capacity of the node, and the part that pods may have, its allocatable (spec 9.5).

Capacity is what the machine has. Allocatable is capacity less what is reserved for the system, for the agent, and for
the hard eviction thresholds, never below zero. Huge pages are subtracted from allocatable memory. Resources that others
advertise are kept. An amount that cannot be read now keeps its last value.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from config.kubelet import KubeletConfiguration
from config.kubelet.eviction import hard_thresholds
from config.values.cpu_sets import parse_cpu_set
from config.values.quantity import ZERO, Quantity, Suffixes, add_all, of_value, parse_quantity
from runtime.host.machine import MachineFacts

CPU, MEMORY, PODS, EPHEMERAL_STORAGE = "cpu", "memory", "pods", "ephemeral-storage"
PIDS = "pid"
"""Process ids can be reserved, but a node's capacity does not list them."""
HUGE_PAGES = "hugepages-"
THRESHOLD_OF = {MEMORY: "memory.available", EPHEMERAL_STORAGE: "nodefs.available"}
"""The eviction signals that keep a part of a resource free."""


def capacity(
    existing: Mapping[str, str], machine: MachineFacts, disk_bytes: int | None, configuration: KubeletConfiguration
) -> dict[str, str]:
    """The capacity to publish. `disk_bytes` None: unknown now. Huge page sizes that are gone are left out."""
    own = {
        CPU: str(of_value(machine.cpus)),
        MEMORY: _size(machine.memory_bytes),
        PODS: str(of_value(pod_limit(machine.cpus, configuration))),  # 2k, as the API shows 2000
    }
    for size_bytes, count in machine.huge_pages:
        own[huge_page_resource(size_bytes)] = _size(size_bytes * count)
    if disk_bytes is not None and configuration.local_storage_capacity_isolation:
        own[EPHEMERAL_STORAGE] = _size(disk_bytes)
    foreign = {name: amount for name, amount in existing.items() if not name.startswith(HUGE_PAGES)}
    return {**foreign, **own}


def pod_limit(cpus: int, configuration: KubeletConfiguration) -> int:
    """How many pods may run at once."""
    if configuration.pods_per_core > 0:
        return min(configuration.pods_per_core * cpus, configuration.max_pods)
    return configuration.max_pods


def huge_page_resource(size_bytes: int) -> str:
    """The resource name, as in hugepages-2Mi or hugepages-1Gi."""
    return f"{HUGE_PAGES}{_size(size_bytes)}"


@lru_cache(maxsize=64)
def _size(size_bytes: int) -> str:
    """The text of a size. Cached: every look at the node asks, and a machine has few sizes."""
    return str(of_value(size_bytes, Suffixes.BINARY))


def allocatable(capacities: Mapping[str, str], configuration: KubeletConfiguration) -> dict[str, str]:
    """The part of `capacities` that pods may have."""
    kept = reservations(capacities, configuration)
    amounts = {name: parse_quantity(amount) for name, amount in capacities.items()}
    left = {name: _less(amount, kept.get(name, ZERO)) for name, amount in amounts.items()}
    if MEMORY in left:
        pages = add_all(amount for name, amount in amounts.items() if name.startswith(HUGE_PAGES))
        left[MEMORY] = _less(left[MEMORY], pages)
    return {name: str(amount) for name, amount in left.items()}


def reservations(capacities: Mapping[str, str], configuration: KubeletConfiguration) -> dict[str, Quantity]:
    """The reserved resources, which pods cannot have.

    They are reserved for the system, for the agent, and by the hard eviction thresholds.
    """
    kept = reserved(configuration)
    thresholds = hard_thresholds(configuration)
    for name, signal in THRESHOLD_OF.items():
        if signal in thresholds and name in capacities:
            kept[name] = kept[name] + _threshold(thresholds[signal], parse_quantity(capacities[name]))
    return kept


def reserved(configuration: KubeletConfiguration) -> dict[str, Quantity]:
    """The reservations for the system and the agent together, by resource, including process ids."""
    system, kube = reserved_amounts(configuration)
    return {
        name: parse_quantity(system.get(name, "0")) + parse_quantity(kube.get(name, "0"))
        for name in (CPU, MEMORY, EPHEMERAL_STORAGE, PIDS)
    }


def reserved_amounts(configuration: KubeletConfiguration) -> tuple[dict[str, str], dict[str, str]]:
    """The reservations for the system, and those for the agent."""
    system, kube = dict(configuration.system_reserved), dict(configuration.kube_reserved)
    if configuration.reserved_system_cpus:
        # A set of reserved CPUs overrides the amounts reserved of CPU.
        system[CPU] = str(len(parse_cpu_set(configuration.reserved_system_cpus)))
        kube.pop(CPU, None)
    return system, kube


def is_extended(resource: str) -> bool:
    """Whether device plugins or people advertise the resource.

    Its name then has a domain outside kubernetes.io.
    """
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not (domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))


def missing(capacities: Mapping[str, str], configuration: KubeletConfiguration) -> tuple[str, ...]:
    """Resources that a node needs to be ready and whose amounts are unknown."""
    needed = [CPU, MEMORY, PODS]
    if configuration.local_storage_capacity_isolation:
        needed.append(EPHEMERAL_STORAGE)
    return tuple(name for name in needed if name not in capacities)


def _less(amount: Quantity, taken: Quantity) -> Quantity:
    left = amount - taken
    return Quantity(max(left.nanos, 0), amount.suffixes)


def _threshold(text: str, whole: Quantity) -> Quantity:
    """A threshold as an amount; a percentage is taken of the whole."""
    if not text.endswith("%"):
        return parse_quantity(text)
    share_milli = round(float(text[:-1]) * 1000)
    return of_value(whole.value() * share_milli // 100_000, Suffixes.BINARY)
