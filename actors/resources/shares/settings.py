"""The settings of the CPU, memory and topology managers as rules for one machine. Pure (spec 10.8).

A policy that does not fit the machine is a fault at the start, as with a kubelet. Options that are unknown, or held
back by their gates, are faults of the configuration alone (`config.kubelet.node_resources`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actors.node_object.capacity import CPU, HUGE_PAGES, MEMORY, reservations, reserved
from actors.resources.cpus.static import CpuRules, take_cpus
from actors.resources.memory.amounts import MemoryRules
from actors.resources.shares.rules import ShareRules
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from config.documents.codec import DocumentError
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from config.values.cpu_sets import parse_cpu_set
from config.values.quantity import ZERO, Quantity, Suffixes, of_value, parse_quantity
from runtime.host.topology import MachineTopology

NODES_AT_MOST = 16
"""A request is compared with each set of NUMA nodes: 2**16 of them at most."""
NODES_BY_DEFAULT = 8
_MAX_NODES = "max-allowable-numa-nodes"


def are_in_use(configuration: KubeletConfiguration) -> bool:
    """Whether any of the managers has a policy."""
    return (
        configuration.cpu_manager_policy != "none"
        or configuration.memory_manager_policy != "None"
        or configuration.topology_manager_policy != "none"
    )


def share_faults(configuration: KubeletConfiguration, machine: MachineTopology) -> Iterator[DocumentError]:
    """What keeps an agent with these settings from starting here. The configuration itself is valid."""
    if not are_in_use(configuration):
        return
    yield from _node_faults(configuration, machine)
    if configuration.cpu_manager_policy == "static":
        yield from _cpu_faults(configuration, machine)
    if configuration.memory_manager_policy == "Static":
        yield from _memory_faults(configuration, machine)


def share_rules(configuration: KubeletConfiguration, gates: FeatureGates, machine: MachineTopology) -> ShareRules:
    """The rules of settings without faults."""
    static_cpus = configuration.cpu_manager_policy == "static"
    static_memory = configuration.memory_manager_policy == "Static"
    return ShareRules(
        cpus=_cpu_rules(configuration, machine) if static_cpus else None,
        memory=MemoryRules(_reserved_memory(configuration)) if static_memory else None,
        topology=TopologyRules(
            policy=TopologyPolicy(configuration.topology_manager_policy),
            whole_pods=configuration.topology_manager_scope == "pod",
            closest=_is_on(configuration.topology_manager_policy_options, "prefer-closest-numa-nodes"),
        ),
        pod_level=gates.enabled("PodLevelResourceManagers"),
    )


def _node_faults(configuration: KubeletConfiguration, machine: MachineTopology) -> Iterator[DocumentError]:
    nodes = len(machine.nodes)
    if nodes > NODES_AT_MOST:
        path = "$.cpuManagerPolicy, $.memoryManagerPolicy, $.topologyManagerPolicy"
        reason = f"this machine has {nodes} NUMA nodes, and policies are for {NODES_AT_MOST} at most"
        yield DocumentError(path, reason, "set them to none, None and none")
    if configuration.topology_manager_policy == "none":
        return
    options = configuration.topology_manager_policy_options
    at_most = int(options.get(_MAX_NODES, NODES_BY_DEFAULT))
    if nodes > at_most:
        reason = f"unsupported on machines with more than {at_most} NUMA Nodes, and this machine has {nodes}"
        yield DocumentError("$.topologyManagerPolicy", reason, f"set topologyManagerPolicyOptions.{_MAX_NODES}")
    if _is_on(options, "prefer-closest-numa-nodes") and not all(node.distances for node in machine.nodes):
        path = "$.topologyManagerPolicyOptions.prefer-closest-numa-nodes"
        yield DocumentError(path, "this machine does not tell the distances of its NUMA nodes", "remove it")


def _cpu_faults(configuration: KubeletConfiguration, machine: MachineTopology) -> Iterator[DocumentError]:
    path = "$.cpuManagerPolicy"
    wanted = _reserved_count(configuration)
    if not wanted:
        reason = "the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than zero"
        yield DocumentError(path, reason, "reserve CPU, or name CPUs in reservedSystemCPUs")
    elif len(found := _reserved_cpus(configuration, machine)) != wanted:
        reason = f"{wanted} CPUs are to be reserved, and this machine has {len(found)} of them online"
        yield DocumentError(path, reason, "reserve fewer")
    packages, nodes = len(machine.by_package), len(machine.by_node)
    if _is_on(configuration.cpu_manager_policy_options, "align-by-socket") and packages > nodes:
        reason = f"is not for machines with more sockets ({packages}) than NUMA nodes ({nodes})"
        yield DocumentError("$.cpuManagerPolicyOptions.align-by-socket", reason, "remove it")


def _cpu_rules(configuration: KubeletConfiguration, machine: MachineTopology) -> CpuRules:
    options = configuration.cpu_manager_policy_options
    return _rules_with(_reserved_cpus(configuration, machine), options)


def _rules_with(reserved_cpus: frozenset[int], options: Mapping[str, str]) -> CpuRules:
    return CpuRules(
        reserved=reserved_cpus,
        strict=_is_on(options, "strict-cpu-reservation"),
        full_cores=_is_on(options, "full-pcpus-only"),
        across_nodes=_is_on(options, "distribute-cpus-across-numa"),
        across_cores=_is_on(options, "distribute-cpus-across-cores"),
        by_package=_is_on(options, "align-by-socket"),
        by_cache=_is_on(options, "prefer-align-cpus-by-uncorecache"),
    )


def _reserved_count(configuration: KubeletConfiguration) -> int:
    return reserved(configuration)[CPU].value()


def _reserved_cpus(configuration: KubeletConfiguration, machine: MachineTopology) -> frozenset[int]:
    """The CPUs that are reserved: those named, else those that the policy itself would take first."""
    if configuration.reserved_system_cpus:
        return parse_cpu_set(configuration.reserved_system_cpus) & machine.online
    wanted = min(_reserved_count(configuration), len(machine.online))
    options = configuration.cpu_manager_policy_options
    return take_cpus(machine, _rules_with(frozenset(), options), machine.online, wanted)


def _memory_faults(configuration: KubeletConfiguration, machine: MachineTopology) -> Iterator[DocumentError]:
    path = "$.reservedMemory"
    there = {node.number for node in machine.nodes}
    for index, reservation in enumerate(configuration.reserved_memory):
        if reservation.numa_node not in there:
            reason = f"this machine has no NUMA node {reservation.numa_node}"
            hint = f"use one of {', '.join(map(str, sorted(there)))}"
            yield DocumentError(f"{path}[{index}].numaNode", reason, hint)
    by_kind: dict[str, Quantity] = {}
    for reservation in configuration.reserved_memory:
        for kind, text in reservation.limits.items():
            by_kind[kind] = by_kind.get(kind, ZERO) + parse_quantity(text)
    total = of_value(sum(node.memory_bytes for node in machine.nodes), Suffixes.BINARY)
    kept = reservations({MEMORY: str(total)}, configuration)
    for kind in sorted({MEMORY, *by_kind}):
        given = by_kind.get(kind, ZERO)
        # Huge pages cannot be reserved otherwise, so none may be reserved here.
        expected = kept.get(kind, ZERO) if not kind.startswith(HUGE_PAGES) else ZERO
        if given.nanos != expected.nanos:
            reason = (
                f'the total amount "{given}" of type "{kind}" is not equal to the value "{expected}" that '
                "systemReserved, kubeReserved and evictionHard reserve together"
            )
            yield DocumentError(path, reason, f"let the limits of all NUMA nodes add up to {expected}")
    if not by_kind.get(MEMORY, ZERO).nanos:
        yield DocumentError(path, "the Static policy needs memory that is reserved for the system", "reserve memory")


def _reserved_memory(configuration: KubeletConfiguration) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for reservation in configuration.reserved_memory:
        amounts = found.setdefault(reservation.numa_node, {})
        amounts.update({kind: parse_quantity(text).value() for kind, text in reservation.limits.items()})
    return found


def _is_on(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"
