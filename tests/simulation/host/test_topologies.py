"""Machines of one line of text."""

import pytest

from config.values.cpu_sets import format_cpu_set
from runtime.host.topology import MachineTopology
from simulation.host.topologies import TopologyTextError, topology_of

GIB = 2**30
MIB = 2**20


def cpus(groups: MachineTopology, of: str) -> list[str]:
    return [format_cpu_set(each) for each in getattr(groups, of).values()]


def test_a_machine_has_packages_cores_and_threads() -> None:
    machine = topology_of("2x8x2")
    assert cpus(machine, "by_package") == ["0-7,16-23", "8-15,24-31"]
    assert cpus(machine, "by_node") == cpus(machine, "by_package")
    assert cpus(machine, "by_core")[:2] == ["0,16", "1,17"]
    assert [each.memory_bytes for each in machine.nodes] == [16 * GIB] * 2
    assert [each.distances for each in machine.nodes] == [(10, 21), (21, 10)]


@pytest.mark.parametrize(
    ("text", "groups", "are"),
    [
        ("1x4x2 threads=beside", "by_core", ["0-1", "2-3", "4-5", "6-7"]),
        ("1x8x1 nodes=2", "by_node", ["0-3", "4-7"]),
        ("4x2x1 nodes=2", "by_node", ["0-3", "4-7"]),
        ("1x8x1 caches=4", "by_cache", ["0-1", "2-3", "4-5", "6-7"]),
        ("2x2x1 nodes=2", "by_cache", ["0-1", "2-3"]),
        ("1x4x2 offline=1,4-5", "by_core", ["0", "2,6", "3,7"]),
        ("1x2x1 memory-only=1", "by_node", ["0-1"]),
    ],
)
def test_words_shape_the_machine(text: str, groups: str, are: list[str]) -> None:
    assert cpus(topology_of(text), groups) == are


def test_a_core_whose_first_thread_is_offline_is_numbered_by_the_other() -> None:
    assert sorted(topology_of("1x4x2 offline=1").by_core) == [0, 2, 3, 5]


def test_nodes_may_differ_in_memory() -> None:
    machine = topology_of("1x2x1 memory-only=1 memory=1Gi,2Gi huge=1Gi:1 huge=2Mi:4")
    assert [each.memory_bytes for each in machine.nodes] == [GIB, 2 * GIB]
    assert {each.huge_pages for each in machine.nodes} == {((2 * MIB, 4), (GIB, 1))}
    assert [each.distances for each in machine.nodes] == [(10, 28), (28, 10)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "write 2x8x2"),
        ("2x8", "write 2x8x2"),
        ("0x8x2", "write 2x8x2"),
        ("2x8x2 numa=2", "'numa=2' is not known"),
        ("2x8x2 nodes=3", "nodes=3"),
        ("2x8x2 nodes=0", "nodes=0"),
        ("1x8x1 caches=3", "caches=3"),
        ("1x8x1 offline=x", "offline=x"),
        ("1x8x1 memory=1Gi,2Gi,3Gi", "memory=1Gi,2Gi,3Gi"),
        ("1x8x1 memory=lots", "memory=lots"),
        ("1x8x1 huge=2Mi", "huge=2Mi"),
        ("1x8x1 threads=far", "threads=far"),
    ],
)
def test_a_text_that_is_no_machine_is_refused_by_its_word(text: str, word: str) -> None:
    with pytest.raises(TopologyTextError, match=word):
        topology_of(text)
