"""A pod that is resized gets other CPUs near to those that it has, and others keep theirs."""

from __future__ import annotations

import random

import pytest

from actors.model.shares import NO_SHARES, PodShares, Share, ShareBook, exclusive_cpus
from actors.resources.cpus.static import CpuRules
from actors.resources.memory.amounts import MemoryRules
from actors.resources.shares.assigning import assign
from actors.resources.shares.book import shared_cpus, with_pod
from actors.resources.shares.resizing import either, resized
from actors.resources.shares.rules import ShareRules
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.values.cpu_sets import parse_cpu_set
from simulation.host.topologies import topology_of
from tests.actors.resources.shares.test_assigning import CPU_0, MEMORY, box, given, nodes, pod

SINGLE, RESTRICTED, BEST, ANY = (
    TopologyRules(policy)
    for policy in (
        TopologyPolicy.SINGLE_NODE,
        TopologyPolicy.RESTRICTED,
        TopologyPolicy.BEST_EFFORT,
        TopologyPolicy.NONE,
    )
)
CORES = CpuRules(frozenset({0, 8}), full_cores=True)


def book_of(**pods: str) -> ShareBook:
    """UID -> the CPUs of its container `app`."""
    return FrozenMap({uid: PodShares(FrozenMap({"app": Share(parse_cpu_set(cpus))})) for uid, cpus in pods.items()})


def becomes(book: ShareBook, cpu: str, rules: ShareRules, topology: str = "2x4x1") -> str:
    """The CPUs of the pod `u` that asks for so many."""
    found = resized(topology_of(topology), book, pod(box("app", cpu)), rules)
    return found.reason if isinstance(found, Rejected) else given(found)["app"]


@pytest.mark.parametrize(
    ("cpus", "others", "cpu", "topology", "after"),
    [
        ("1-2", "", "4", ANY, "1-3,4"),
        ("4-5", "", "4", ANY, "4-7"),
        ("4-5", "6", "4", ANY, "1,4-5,7"),
        ("4-5", "6", "4", BEST, "1,4-5,7"),
        ("4-5", "6", "4", RESTRICTED, "TopologyAffinityError"),
        ("4-5", "6", "4", SINGLE, "TopologyAffinityError"),
        ("4-5", "6", "3", SINGLE, "4-5,7"),
        ("4-7", "", "5", SINGLE, "TopologyAffinityError"),
        ("4-7", "", "5", RESTRICTED, "1,4-7"),
        ("4-7", "", "2", SINGLE, "4-5"),
        ("3-5", "", "2", ANY, "4-5"),
        ("1-3,4-6", "", "3", ANY, "1-3"),
        ("4-5", "6", "2", SINGLE, "4-5"),
        ("4-5", "1-3,6-7", "3", ANY, "UnexpectedAdmissionError"),
    ],
)
def test_a_container_keeps_what_it_has_and_grows_where_it_is(
    cpus: str, others: str, cpu: str, topology: TopologyRules, after: str
) -> None:
    pods = {"u": cpus, "v": others} if others else {"u": cpus}
    found = becomes(book_of(**pods), cpu, ShareRules(cpus=CPU_0, topology=topology))
    assert (found if "Error" in found else parse_cpu_set(found)) == (
        after if "Error" in after else parse_cpu_set(after)
    )


@pytest.mark.parametrize(
    ("cpus", "cpu", "after"),
    [("1,9", "4", "1-2,9-10"), ("1-2,9-10", "2", "1,9"), ("1,9", "3", "SMTAlignmentError")],
)
def test_whole_cores_stay_whole(cpus: str, cpu: str, after: str) -> None:
    assert becomes(book_of(u=cpus), cpu, ShareRules(cpus=CORES), "2x4x2") == after


def test_memory_stays_and_keeps_the_cpus_near() -> None:
    rules = ShareRules(cpus=CPU_0, memory=MemoryRules({0: {"memory": 2**30}}), topology=SINGLE)
    machine = topology_of("2x4x1 memory=4Gi")
    first = assign(machine, NO_SHARES, pod(box("app", "2", "2Gi")), rules)
    assert isinstance(first, PodShares)
    book = with_pod(NO_SHARES, "u", first)
    more = resized(machine, book, pod(box("app", "3", "2Gi")), rules)
    assert given(more) == {"app": "1-3"}
    assert nodes(more) == nodes(first)
    assert isinstance(resized(machine, book, pod(box("app", "4", "2Gi")), rules), Rejected)


def test_one_container_may_have_at_once_what_another_of_its_pod_gives_back() -> None:
    rules, machine = ShareRules(cpus=CPU_0), topology_of("1x7x1")
    first = assign(machine, NO_SHARES, pod(box("a", "4"), box("b", "2")), rules)
    assert isinstance(first, PodShares)
    found = resized(machine, with_pod(NO_SHARES, "u", first), pod(box("b", "4"), box("a", "2")), rules)
    assert given(found) == {"a": "1-2", "b": "3-6"}
    assert isinstance(found, PodShares)
    assert exclusive_cpus(either(found, first)) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("seed", range(200))
def test_nothing_is_given_twice_and_the_size_is_right_whatever_is_asked_for(seed: int) -> None:
    chance = random.Random(seed)
    machine = topology_of(chance.choice(["1x8x1", "2x4x2", "4x2x2", "2x8x2 caches=2", "2x4x2 offline=3"]))
    scope = chance.random() < 0.5
    topology = TopologyRules(chance.choice(list(TopologyPolicy)), whole_pods=scope)
    cpus = CpuRules(frozenset({0}), full_cores=chance.random() < 0.3, across_nodes=chance.random() < 0.2)
    rules, book = ShareRules(cpus=cpus, memory=MEMORY if chance.random() < 0.3 else None, topology=topology), NO_SHARES
    for number in range(40):
        uid = f"u{chance.randrange(4)}"
        wanted = pod(*(box(name, str(chance.choice([1, 2, 3, 4, 6]))) for name in "ab"[: 1 + scope]), uid=uid)
        if uid not in book:
            admitted = assign(machine, book, wanted, rules)
            book = book if isinstance(admitted, Rejected) else with_pod(book, uid, admitted)
            continue
        has = book[uid]
        if has.containers.keys() != {each.name for each in wanted.spec.containers}:
            continue
        found = resized(machine, book, wanted, rules)
        if isinstance(found, Rejected):
            continue
        others = {cpu for other, each in book.items() if other != uid for cpu in exclusive_cpus(each)}
        for each in wanted.spec.containers:
            before, after = has.containers[each.name].cpus, found.containers[each.name].cpus
            assert each.resources is not None
            assert len(after) == int(each.resources.requests["cpu"]), (seed, number)
            assert before <= after or after <= before
            assert not after & (others | cpus.reserved)
            assert after <= machine.online
            if topology.policy is TopologyPolicy.SINGLE_NODE:
                assert len({machine.by_number[cpu].node for cpu in after}) == 1
        assert sum(len(each.cpus) for each in found.containers.values()) == len(exclusive_cpus(found))
        book = with_pod(book, uid, found)
        assert shared_cpus(machine, rules, book).isdisjoint(exclusive_cpus(found))
