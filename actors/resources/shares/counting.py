"""What the metrics count of one admission: containers that asked, and what they got. Pure.

A kubelet counts while it gives, container by container. Of a refused pod only the refused container is counted here.
"""

from __future__ import annotations

from collections.abc import Iterator

from actors.model.shares import PodShares
from actors.resources.cpus.static import SMT_ALIGNMENT
from actors.resources.memory.static import OF_MEMORY
from actors.resources.shares.assigning import TOPOLOGY_AFFINITY
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import PodWants
from actors.resources.topology.hints import TopologyPolicy
from actors.resources.verdict import Rejected
from runtime.host.topology import MachineTopology
from runtime.metrics import shares as names
from runtime.metrics.families import Family

CONTAINER, POD = "container", "pod"
CORES, CACHE, NUMA = "physical_cpu", "uncore_cache", "numa_node"


def counted(
    machine: MachineTopology, rules: ShareRules, wants: PodWants, found: PodShares | Rejected
) -> Iterator[tuple[Family, tuple[str, ...]]]:
    """Each counter that goes up by one, with its labels."""
    yield names.ADMISSIONS, ()
    scope = POD if rules.topology.whole_pods else CONTAINER
    is_strict = rules.topology.policy is TopologyPolicy.SINGLE_NODE
    if isinstance(found, Rejected):
        yield names.ADMISSION_ERRORS, ()
        yield from _refused(rules, found, scope if is_strict else "")
        return
    for want in wants.containers:
        cpus = found.containers[want.name].cpus if want.name in found.containers else frozenset[int]()
        if rules.cpus is not None and want.cpus:
            yield names.CPU_REQUESTS, ()
            if rules.cpus.full_cores:
                yield names.ALIGNED, (CONTAINER, CORES)
            if cpus and len({machine.by_number[cpu].cache for cpu in cpus}) == 1:
                yield names.ALIGNED, (CONTAINER, CACHE)
        if rules.memory is not None and want.memory:
            yield names.MEMORY_REQUESTS, ()
        if is_strict and scope == CONTAINER:
            yield names.ALIGNED, (CONTAINER, NUMA)
    if is_strict and scope == POD:
        yield names.ALIGNED, (POD, NUMA)


def _refused(rules: ShareRules, why: Rejected, scope: str) -> Iterator[tuple[Family, tuple[str, ...]]]:
    """`scope`: of the policy single-numa-node; empty for other policies."""
    if why.reason == TOPOLOGY_AFFINITY:
        if scope:
            yield names.NOT_ALIGNED, (scope, NUMA)
    elif OF_MEMORY in why.message:
        yield names.MEMORY_REQUESTS, ()
        yield names.MEMORY_ERRORS, ()
    else:
        yield names.CPU_REQUESTS, ()
        yield names.CPU_ERRORS, ()
        if why.reason == SMT_ALIGNMENT or (rules.cpus is not None and rules.cpus.full_cores):
            yield names.NOT_ALIGNED, (CONTAINER, CORES)
