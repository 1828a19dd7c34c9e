"""The state files of a kubelet: read, written, and refused in its words."""

from __future__ import annotations

import pytest

from actors.model.shares import MemoryBlock, PodShares, Share, ShareBook
from actors.resources.cpus.static import CpuRules
from actors.resources.memory.amounts import Amount, MemoryRules, NodeMemory
from actors.resources.shares.cpu_state import CpuState, read_cpu_state, write_cpu_state
from actors.resources.shares.file_faults import StateFileError
from actors.resources.shares.memory_state import MemoryState, read_memory_state, write_memory_state
from actors.resources.shares.restoring import book_of, what_fits
from actors.resources.shares.rules import ShareRules
from config.frozen_map import FrozenMap
from simulation.host.topologies import topology_of

# Written by the code of kubelet 1.36; "with the gate" is PodLevelResourceManagers.
CPUS = (
    b'{"policyName":"static","defaultCpuSet":"0-1,5","entries":{"uid-a":{"side":"4,6-7","web":"1"},'
    b'"uid-b":{"c":"2-3"}},"checksum":902192149}'
)
CPUS_WITH_THE_GATE = (
    b'{"policyName":"static","defaultCpuSet":"","entries":{"u":{"c":"2-3"}},'
    b'"podEntries":{"b":{},"u":{"cpuSet":"2-3,11"}},"checksum":4289424840}'
)
MEMORY = (
    b'{"policyName":"Static","machineState":{"0":{"numberOfAssignments":3,"memoryMap":{"hugepages-2Mi":{"total":0,'
    b'"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":9,"systemReserved":1,'
    b'"allocatable":8,"reserved":3,"free":5}},"cells":[0,10]},"10":{"numberOfAssignments":0,"memoryMap":{"memory":'
    b'{"total":9,"systemReserved":1,"allocatable":8,"reserved":3,"free":5}},"cells":[10]},"2":{"numberOfAssignments":0,'
    b'"memoryMap":{},"cells":[2]}},"entries":{"a":{"b":null,"x":[]},"u":{"c":[{"numaAffinity":[0,10],"type":"memory",'
    b'"size":3},{"numaAffinity":[0],"type":"hugepages-2Mi","size":0}]}},"checksum":1849867461}'
)
MEMORY_NONE = b'{"policyName":"None","machineState":{},"checksum":4236770233}'
WEB, SIDE = frozenset({1}), frozenset({4, 6, 7})


# (spec 10.8.4)
def test_the_cpus_of_a_kubelet_are_read_and_written() -> None:
    state = read_cpu_state(CPUS, "file", "static")
    assert state == CpuState(
        "static",
        frozenset({0, 1, 5}),
        {"uid-a": {"side": SIDE, "web": WEB}, "uid-b": {"c": frozenset({2, 3})}},
    )
    assert write_cpu_state(state, pod_level=False) == CPUS


def test_the_cpus_of_whole_pods_are_read_and_written() -> None:
    state = read_cpu_state(CPUS_WITH_THE_GATE, "file", "static")
    assert state.pods == {"b": frozenset(), "u": frozenset({2, 3, 11})}
    assert write_cpu_state(state, pod_level=True) == CPUS_WITH_THE_GATE


# (spec 10.9.2)
def test_the_memory_of_a_kubelet_is_read() -> None:
    state = read_memory_state(MEMORY, "file", "Static")
    assert state.containers["u"]["c"] == (MemoryBlock((0, 10), "memory", 3), MemoryBlock((0,), "hugepages-2Mi", 0))


# (spec 10.9.2)
def test_memory_is_written_as_a_kubelet_does() -> None:
    state = MemoryState("Static", read_memory_state(MEMORY, "file", "Static").containers)
    nodes = {
        0: NodeMemory(1 | 1 << 10, 3, {"memory": Amount(9, 1, 8, 5), "hugepages-2Mi": Amount(0, 0, 0, 0)}),
        2: NodeMemory(1 << 2),
        10: NodeMemory(1 << 10, 0, {"memory": Amount(9, 1, 8, 5)}),
    }
    # Ours have no null; a kubelet reads an empty list as the same.
    again = write_memory_state(state, nodes, pod_level=False)
    assert again.replace(b'"b":[]', b'"b":null').rpartition(b":")[0] == MEMORY.rpartition(b":")[0]
    assert read_memory_state(again, "file", "Static") == state
    assert write_memory_state(MemoryState("None"), {}, pod_level=False) == MEMORY_NONE


# (spec 10.8.4)
def test_a_changed_policy_stops_the_agent_and_says_the_way_out() -> None:
    with pytest.raises(StateFileError) as fault:
        read_cpu_state(CPUS, "/var/lib/kubelet/cpu_manager_state", "none")
    assert str(fault.value) == (
        'could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy '
        '"static", please drain this node and delete the CPU manager checkpoint file '
        '"/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
    )
    with pytest.raises(StateFileError, match="memory manager checkpoint file"):
        read_memory_state(MEMORY, "file", "None")


@pytest.mark.parametrize("content", [b"", b"{", CPUS.replace(b"902192149", b"902192148"), CPUS.replace(b"2-3", b"x")])
# (spec 10.8.4)
def test_a_torn_file_of_cpus_is_refused(content: bytes) -> None:
    with pytest.raises(StateFileError):
        read_cpu_state(content, "file", "static")


@pytest.mark.parametrize("content", [b"[]", MEMORY.replace(b'"size":3', b'"size":4')])
# (spec 10.9.2)
def test_a_torn_file_of_memory_is_refused(content: bytes) -> None:
    with pytest.raises(StateFileError):
        read_memory_state(content, "file", "Static")


GIB = 2**30
RULES = ShareRules(CpuRules(frozenset({0})), MemoryRules({0: {"memory": GIB}}))


def shares(cpus: set[int], *blocks: MemoryBlock) -> PodShares:
    return PodShares(FrozenMap({"c": Share(frozenset(cpus), blocks)}))


def memory(size_gib: int, *nodes: int, kind: str = "memory") -> MemoryBlock:
    return MemoryBlock(nodes, kind, size_gib * GIB)


def test_pods_that_fit_a_changed_machine_keep_what_they_have() -> None:
    book: ShareBook = FrozenMap({
        "fits": shares({1}, memory(2, 0)),
        "offline": shares({2, 3}),
        "reserved": shares({0}),
        "twice": shares({1}),
        "gone": shares(set(), memory(1, 7)),
        "no-pages": shares(set(), memory(1, 1, kind="hugepages-1Gi")),
        "too-large": shares(set(), memory(2, 0)),
        "mixed": shares(set(), memory(1, 0, 1)),
    })  # fmt: skip
    machine = topology_of("2x4x1 offline=3 memory=4Gi")
    kept, misfits = what_fits(machine, RULES, book)
    assert list(kept) == ["fits"]
    assert misfits == {
        "offline": "its CPUs 3 are not online on this machine",
        "reserved": "its CPUs 0 are reserved for the system",
        "twice": "its CPUs 1 belong to another pod",
        "gone": "this machine has no memory on NUMA nodes 7",
        "no-pages": "this machine has no hugepages-1Gi on NUMA nodes 1",
        "too-large": f"it has {2 * GIB} bytes of memory on NUMA nodes 0, where {GIB} are left",
        "mixed": "NUMA nodes 0-1 are in use as parts of another group",
    }


def test_memory_that_grew_a_little_is_no_reason_to_stop() -> None:
    # kubernetes/kubernetes#131253, #140473
    book: ShareBook = FrozenMap({"u": shares(set(), memory(2, 1))})
    assert what_fits(topology_of("2x4x1 memory=4100Mi,4097Mi"), RULES, book) == (book, {})


def test_the_book_has_what_both_files_say() -> None:
    cpus = CpuState("static", frozenset({0}), {"u": {"c": frozenset({1})}}, {"u": frozenset({1, 2})})
    found = book_of(cpus, MemoryState("Static", {"u": {"d": (memory(1, 0),)}}))
    assert found == {
        "u": PodShares(
            FrozenMap({"c": Share(frozenset({1})), "d": Share(memory=(memory(1, 0),))}), Share(frozenset({1, 2}))
        )
    }
    assert book_of(None, None) == {}
