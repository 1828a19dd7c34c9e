"""What holds for any machine, any settings, and pods in any order."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.model.shares import NO_SHARES, PodShares, ShareBook, counted_blocks, exclusive_cpus
from actors.resources.memory.amounts import memory_left, unused_memory
from actors.resources.shares.assigning import assign
from actors.resources.shares.book import shared_cpus, with_pod, with_started, without_pod
from actors.resources.shares.cpu_state import read_cpu_state, write_cpu_state
from actors.resources.shares.memory_state import read_memory_state, write_memory_state
from actors.resources.shares.restoring import book_of, states_of, what_fits
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import PodWants, wanted_of
from actors.resources.topology.hints import TopologyPolicy
from config.objects import Pod
from runtime.host.topology import MachineTopology
from tools.share_cases.cases import case_of
from tools.share_cases.ours import machine_of, rules_of

SEEDS = st.integers(0, 2**32)
Step = tuple[MachineTopology, ShareRules, ShareBook, PodWants | None, PodShares | None]


def life(seed: int, *, pod_level: bool) -> Iterator[Step]:
    """The book after each operation of a random case, and the pod that was admitted by it."""
    case = case_of(seed, pod_level=pod_level)
    machine = machine_of(case)
    rules = rules_of(case, machine, pod_level=pod_level)
    book = NO_SHARES
    wants: dict[str, PodWants] = {}
    for operation in case["ops"]:
        uid, admitted = operation["uid"], None
        if operation["op"] == "admit":
            pod = msgspec.convert({**operation["pod"], "metadata": {"uid": uid}}, Pod)
            wants[uid] = wanted_of(pod)
            shares = assign(machine, book, pod, rules)
            if isinstance(shares, PodShares):
                admitted = shares
                book = with_pod(book, uid, shares)
        elif operation["op"] == "release":
            book = without_pod(book, uid)
        else:
            book = with_started(book, uid, wants[uid], operation["container"])
        yield machine, rules, book, wants[uid] if admitted is not None else None, admitted


def nothing_is_given_twice(machine: MachineTopology, rules: ShareRules, book: ShareBook) -> None:
    taken = [cpu for pod in book.values() for cpu in exclusive_cpus(pod)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= machine.online
    if rules.cpus is not None:
        assert rules.cpus.reserved.isdisjoint(taken)
    if rules.memory is not None:
        sizes: dict[tuple[tuple[int, ...], str], int] = {}
        groups = {block.nodes for pod in book.values() for block in counted_blocks(pod)}
        assert sum(map(len, groups)) == len({node for group in groups for node in group}), "a node is in two groups"
        for pod in book.values():
            for block in counted_blocks(pod):
                key = block.nodes, block.kind
                sizes[key] = sizes.get(key, 0) + block.size_bytes
        usable = unused_memory(machine, rules.memory)
        for (nodes, kind), size in sizes.items():
            assert size <= sum(usable[node].allocatable(kind) for node in nodes)


def lasting_containers_share_nothing(wants: PodWants, shares: PodShares) -> None:
    own = [shares.containers[each.name].cpus for each in wants.containers if each.cpus and not each.ends_first]
    assert sum(map(len, own)) == len(frozenset().union(*own))


def alignment_holds(machine: MachineTopology, rules: ShareRules, wants: PodWants, shares: PodShares) -> None:
    if rules.cpus is not None and rules.cpus.full_cores and shares.whole is None:
        for share in shares.containers.values():
            assert all(machine.by_core[machine.by_number[cpu].core] <= share.cpus for cpu in share.cpus)
    if rules.topology.policy is TopologyPolicy.SINGLE_NODE:
        scopes = [list(shares.containers.values())] if rules.topology.whole_pods else []
        for group in scopes or [[share] for share in shares.containers.values()]:
            nodes = {machine.by_number[cpu].node for share in group for cpu in share.cpus}
            nodes |= {node for share in group for block in share.memory for node in block.nodes}
            assert len(nodes) < 2


@given(SEEDS, st.booleans())
@settings(max_examples=60)
def test_nothing_is_given_twice_and_alignment_holds(seed: int, pod_level: bool) -> None:
    for machine, rules, book, wants, admitted in life(seed, pod_level=pod_level):
        nothing_is_given_twice(machine, rules, book)
        if wants is not None and admitted is not None and admitted.containers:
            lasting_containers_share_nothing(wants, admitted)
            alignment_holds(machine, rules, wants, admitted)


@given(SEEDS, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_all_comes_back_in_any_order(seed: int, pod_level: bool, random: object) -> None:
    *_, (machine, rules, book, _, _) = life(seed, pod_level=pod_level)
    uids = list(book)
    random.shuffle(uids)  # type: ignore[attr-defined]
    half = uids[: len(uids) // 2]
    one, other = book, book
    for uid in half:
        one = without_pod(one, uid)
    for uid in reversed(half):
        other = without_pod(other, uid)
    assert one == other
    for uid in uids:
        one = without_pod(one, uid)
    assert one == NO_SHARES
    assert shared_cpus(machine, rules, one) == shared_cpus(machine, rules, NO_SHARES)
    if rules.memory is not None:
        assert memory_left(machine, rules.memory, one) == unused_memory(machine, rules.memory)


@given(SEEDS, st.booleans())
@settings(max_examples=30)
def test_a_restart_changes_nothing(seed: int, pod_level: bool) -> None:
    *_, (machine, rules, book, _, _) = life(seed, pod_level=pod_level)
    cpus, memory = states_of(rules, book, shared_cpus(machine, rules, book))
    left = memory_left(machine, rules.memory, book) if rules.memory is not None else {}
    cpu_file = write_cpu_state(cpus, pod_level=pod_level)
    memory_file = write_memory_state(memory, left, pod_level=pod_level)
    again = book_of(
        read_cpu_state(cpu_file, "cpu_manager_state", cpus.policy),
        read_memory_state(memory_file, "memory_manager_state", memory.policy),
    )
    assert again == book
    assert what_fits(machine, rules, again) == (book, {})
