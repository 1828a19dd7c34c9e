"""Which CPUs are taken of those that are free."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.resources.cpus.distributing import take_distributed
from actors.resources.cpus.packing import take_packed
from config.values.cpu_sets import format_cpu_set, parse_cpu_set
from simulation.host.topologies import topology_of


def free(text: str, without: str) -> frozenset[int]:
    return topology_of(text).online - (parse_cpu_set(without) if without else frozenset())


@pytest.mark.parametrize(
    ("machine", "without", "wanted", "taken"),
    [
        ("2x4x2", "", 8, "0-3,8-11"),  # a whole package
        ("2x4x2", "0", 8, "4-7,12-15"),  # the other, since one CPU of the first is in use
        ("2x4x2", "0", 3, "1,8-9"),  # a whole core where fewest CPUs are free, and the thread that is alone
        ("2x4x2", "", 3, "0-1,8"),
        ("1x8x1 nodes=2", "0", 4, "4-7"),  # a whole NUMA node
        ("1x8x1 nodes=2", "0,4-5", 2, "6-7"),  # where fewest CPUs are free
        ("4x2x1 nodes=2", "", 4, "0-3"),  # a NUMA node of two packages
        ("2x4x2", "0-7", 4, "8-11"),
        ("2x2x2", "1-3,5-7", 2, "0,4"),
        ("1x2x1", "", 0, ""),
    ],
)
# (spec 10.8.3)
def test_cpus_lie_close_together(machine: str, without: str, wanted: int, taken: str) -> None:
    assert format_cpu_set(take_packed(topology_of(machine), free(machine, without), wanted)) == taken


# (spec 10.8.3)
def test_threads_of_different_cores_can_be_preferred() -> None:
    machine = topology_of("1x4x2")
    assert format_cpu_set(take_packed(machine, machine.online, 3, spread=True)) == "0-2"
    assert format_cpu_set(take_packed(machine, machine.online, 6, spread=True)) == "0-5"


@pytest.mark.parametrize(
    ("without", "wanted", "taken"),
    [
        ("", 4, "0-3"),  # a whole cache
        ("0", 4, "4-7"),
        ("0,4", 3, "1-3"),  # within one cache
        ("0,4,8,12", 6, "1-3,5-7"),  # no cache has so many: cores, as without the option
        ("0-2", 5, "3-7"),
    ],
)
# (spec 10.8.3)
def test_one_cache_can_be_preferred(without: str, wanted: int, taken: str) -> None:
    text = "1x16x1 caches=4"
    assert format_cpu_set(take_packed(topology_of(text), free(text, without), wanted, by_cache=True)) == taken


@pytest.mark.parametrize(
    ("without", "wanted", "group", "counts"),
    [
        ("", 4, 1, [4, 0]),  # one node is enough
        ("", 10, 1, [5, 5]),
        ("", 11, 1, [6, 5]),
        ("", 10, 2, [6, 4]),  # cores stay whole
        ("0", 12, 1, [6, 6]),
        ("0-3,8-9", 7, 1, [0, 7]),
        ("0-3,8-10", 9, 1, [1, 8]),  # no even split is possible
    ],
)
# (spec 10.8.3)
def test_nodes_give_the_same_number(without: str, wanted: int, group: int, counts: list[int]) -> None:
    machine = topology_of("2x4x2")
    found = take_distributed(machine, free("2x4x2", without), wanted, group=group)
    assert [len(found & cpus) for cpus in machine.by_node.values()] == counts


def test_the_first_of_equally_good_sets_of_nodes_is_taken() -> None:
    # A kubelet takes nodes 0, 1, 2 and 5: its list of the best set is overwritten by those that it looks at later.
    machine = topology_of("6x2x1")
    found = take_distributed(machine, machine.online, 8)
    assert {machine.by_number[cpu].node for cpu in found} == {0, 1, 2, 3}


def test_pieces_of_cores_are_taken_if_there_are_too_few_whole_ones() -> None:
    machine = topology_of("4x4x2 threads=beside")
    left = machine.online - {0, 2, 8, 9, 10, 12}
    assert len(take_distributed(machine, left, 22, group=2)) == 22


@given(
    st.sampled_from(["2x4x2", "1x8x1 nodes=2 caches=2", "4x2x1 nodes=2", "2x2x2 offline=3", "1x3x4 threads=beside"]),
    st.data(),
)
def test_any_number_of_free_cpus_can_be_taken(text: str, data: st.DataObject) -> None:
    machine = topology_of(text)
    available = data.draw(st.sets(st.sampled_from(sorted(machine.online)), min_size=1).map(frozenset))
    wanted = data.draw(st.integers(0, len(available)))
    for found in (
        take_packed(machine, available, wanted),
        take_packed(machine, available, wanted, spread=True),
        take_packed(machine, available, wanted, by_cache=True),
        take_distributed(machine, available, wanted),
        take_distributed(machine, available, wanted, group=2),
    ):
        assert len(found) == wanted
        assert found <= available
