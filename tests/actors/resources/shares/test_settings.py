"""Settings of the CPU, memory and topology managers: faults at the start, and rules, by table."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from actors.resources.cpus.static import CpuRules
from actors.resources.memory.amounts import MemoryRules
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.settings import share_faults, share_rules
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from config.flags.command_line import parse_flags
from config.kubelet.drop_ins import NamedBytes
from config.start_configuration import StartConfiguration, load_kubelet_configuration
from runtime.host.topology import MachineTopology
from simulation.host.topologies import topology_of

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
MACHINE = topology_of("2x4x2")
CPU = "cpuManagerPolicy: static\n"
RESERVED_CPU = "systemReserved: {cpu: 500m}\nkubeReserved: {cpu: 700m}\n"
MEMORY = "memoryManagerPolicy: Static\nsystemReserved: {memory: 1Gi}\nevictionHard: {memory.available: 100Mi}\n"
EVEN = "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 100Mi}}]\n"


def start(body: str) -> StartConfiguration:
    return load_kubelet_configuration(parse_flags([]), NamedBytes("/k", (HEADER + body).encode()))


def faults(body: str, machine: MachineTopology = MACHINE) -> list[str]:
    return [str(each) for each in share_faults(start(body).configuration, machine)]


def rules(body: str, machine: MachineTopology = MACHINE) -> ShareRules:
    started = start(body)
    assert not list(share_faults(started.configuration, machine))
    return share_rules(started.configuration, started.gates, machine)


@pytest.mark.parametrize(
    ("body", "machine", "told"),
    [
        (CPU, "2x4x2", "$.cpuManagerPolicy: the static policy requires systemReserved.cpu + kubeReserved.cpu to be"),
        (
            f"{CPU}systemReserved: {{cpu: '17'}}\n",
            "2x4x2",
            "$.cpuManagerPolicy: 17 CPUs are to be reserved, and this machine has 16 of them online",
        ),
        (
            f"{CPU}{RESERVED_CPU}featureGates: {{CPUManagerPolicyAlphaOptions: true}}\n"
            "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n",
            "2x4x2 nodes=1",
            "$.cpuManagerPolicyOptions.align-by-socket: is not for machines with more sockets (2) than NUMA nodes (1)",
        ),
        (
            MEMORY,
            "2x4x2",
            '$.reservedMemory: the total amount "0" of type "memory" is not equal to the value "1124Mi" that',
        ),
        (
            f"{MEMORY}reservedMemory: [{{numaNode: 7, limits: {{memory: 1124Mi}}}}]\n",
            "2x4x2",
            "$.reservedMemory[0].numaNode: this machine has no NUMA node 7; use one of 0, 1",
        ),
        (
            f"{MEMORY}reservedMemory: [{{numaNode: 0, limits: {{memory: 1124Mi, hugepages-2Mi: 4Mi}}}}]\n",
            "2x4x2",
            '$.reservedMemory: the total amount "4Mi" of type "hugepages-2Mi" is not equal to the value "0" that',
        ),
        (
            "memoryManagerPolicy: Static\nevictionHard: {nodefs.available: 10%}\n",
            "2x4x2",
            "$.reservedMemory: the Static policy needs memory that is reserved for the system; reserve memory",
        ),
        (
            "topologyManagerPolicy: restricted\n",
            "1x16x1 nodes=16",
            "$.topologyManagerPolicy: unsupported on machines with more than 8 NUMA Nodes, and this machine has 16; "
            "set topologyManagerPolicyOptions.max-allowable-numa-nodes",
        ),
        (
            "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '20'}\n",
            "1x17x1 nodes=17",
            "$.cpuManagerPolicy, $.memoryManagerPolicy, $.topologyManagerPolicy: this machine has 17 NUMA nodes, and "
            "policies are for 16 at most; set them to none, None and none",
        ),
    ],
)
def test_a_policy_that_does_not_fit_the_machine_stops_the_start(body: str, machine: str, told: str) -> None:
    (fault, *_) = faults(body, topology_of(machine))
    assert fault.startswith(told)


def test_a_machine_without_distances_cannot_prefer_the_closest_nodes() -> None:
    nodes = tuple(dataclasses.replace(node, distances=()) for node in MACHINE.nodes)
    body = "topologyManagerPolicy: best-effort\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
    (fault,) = faults(body, MachineTopology(MACHINE.cpus, nodes))
    assert fault.startswith("$.topologyManagerPolicyOptions.prefer-closest-numa-nodes: this machine does not tell")
    assert not faults(body)


@pytest.mark.parametrize(
    "body",
    [
        "",
        f"{CPU}{RESERVED_CPU}",
        f"{CPU}reservedSystemCPUs: 0,8\n",
        f"{MEMORY}{EVEN}",
        "topologyManagerPolicy: single-numa-node\n",
    ],
)
def test_policies_that_fit_the_machine_start(body: str) -> None:
    assert faults(body) == []


def test_nothing_is_asked_of_the_machine_without_a_policy() -> None:
    assert faults("", topology_of("1x64x1 nodes=64")) == []


OPTIONS: dict[str, dict[str, Any]] = {
    "strict-cpu-reservation": {"strict": True},
    "full-pcpus-only": {"full_cores": True},
    "prefer-align-cpus-by-uncorecache": {"by_cache": True},
    "distribute-cpus-across-numa": {"across_nodes": True},
    "distribute-cpus-across-cores": {"across_cores": True},
    "align-by-socket": {"by_package": True},
}


@pytest.mark.parametrize("option", OPTIONS)
def test_cpu_manager_policy_options_become_rules(option: str) -> None:
    gates = "featureGates: {CPUManagerPolicyAlphaOptions: true}\nreservedSystemCPUs: 0,8\n"
    on = rules(f"{CPU}{gates}cpuManagerPolicyOptions: {{{option}: 'true'}}\n")
    off = rules(f"{CPU}{gates}cpuManagerPolicyOptions: {{{option}: 'false'}}\n")
    assert (on.cpus, off.cpus) == (CpuRules(frozenset({0, 8}), **OPTIONS[option]), CpuRules(frozenset({0, 8})))


def test_reserved_cpus_are_those_that_are_named_else_as_many_as_the_amount_needs() -> None:
    # 1200m are two CPUs, and a core has two.
    named, counted = rules(f"{CPU}reservedSystemCPUs: 1,9\n").cpus, rules(f"{CPU}{RESERVED_CPU}").cpus
    assert [each.reserved for each in (named, counted) if each is not None] == [{1, 9}, {0, 8}]


def test_memory_and_topology_settings_become_rules() -> None:
    body = (
        f"{MEMORY}{EVEN}topologyManagerPolicy: restricted\ntopologyManagerScope: pod\n"
        "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"
    )
    assert rules(body) == ShareRules(
        memory=MemoryRules({0: {"memory": 2**30}, 1: {"memory": 100 * 2**20}}),
        topology=TopologyRules(TopologyPolicy.RESTRICTED, whole_pods=True, closest=True),
    )
    assert rules("") == ShareRules()


def test_pod_level_resources_are_served_where_their_gate_is_on() -> None:
    assert rules(f"{CPU}{RESERVED_CPU}featureGates: {{PodLevelResourceManagers: true}}\n").pod_level
    assert not rules(f"{CPU}{RESERVED_CPU}").pod_level
