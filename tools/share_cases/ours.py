"""The answers of this agent to a case, in the shape of the judge's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.model.shares import NO_SHARES, MemoryBlock, PodShares, ShareBook
from actors.resources.cpus.static import CpuRules, take_cpus
from actors.resources.memory.amounts import MemoryRules, memory_left
from actors.resources.shares.assigning import assign
from actors.resources.shares.book import shared_cpus, with_pod, with_started, without_container, without_pod
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import wanted_of
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from actors.resources.topology.masks import nodes_of
from actors.resources.verdict import Rejected
from config.objects import Pod
from config.values.cpu_sets import format_cpu_set, parse_cpu_set
from runtime.host.topology import Cpu, MachineTopology, NumaNode
from tools.share_cases.cases import Case

Answer = dict[str, Any]


def answers(case: Case, *, pod_level: bool) -> list[Answer]:
    """One answer for each operation of the case."""
    machine = machine_of(case)
    rules = rules_of(case, machine, pod_level=pod_level)
    book = NO_SHARES
    pods: dict[str, Pod] = {}
    found = []
    for operation in case["ops"]:
        uid = operation["uid"]
        answer: Answer = {"admit": False}
        if operation["op"] == "admit":
            pod = msgspec.convert({**operation["pod"], "metadata": {"uid": uid}}, Pod)
            verdict = assign(machine, book, pod, rules)
            answer = _shown(verdict)
            if not isinstance(verdict, Rejected):
                pods[uid] = pod
                book = with_pod(book, uid, verdict)
        elif uid in pods:
            book = _changed(operation, book, pods[uid])
            if operation["op"] == "release":
                del pods[uid]
        answer["shared"] = format_cpu_set(shared_cpus(machine, rules, book)) if rules.cpus is not None else ""
        if rules.memory is not None:
            answer["free"] = _free(machine, rules.memory, book)
        found.append(answer)
    return found


def _changed(operation: Mapping[str, Any], book: ShareBook, pod: Pod) -> ShareBook:
    if operation["op"] == "release":
        return without_pod(book, operation["uid"])
    if operation["op"] == "remove":
        return without_container(book, operation["uid"], operation["container"])
    return with_started(book, operation["uid"], wanted_of(pod), operation["container"])


def _shown(verdict: PodShares | Rejected) -> Answer:
    if isinstance(verdict, Rejected):
        return {"admit": False, "reason": verdict.reason, "message": verdict.message}
    answer: Answer = {"admit": True}
    cpus = {name: format_cpu_set(share.cpus) for name, share in verdict.containers.items() if share.cpus}
    memory = {name: _blocks(share.memory) for name, share in verdict.containers.items() if share.memory}
    if cpus:
        answer["cpus"] = cpus
    if memory:
        answer["memory"] = memory
    if verdict.whole is not None:
        if verdict.whole.cpus:
            answer["podCpus"] = format_cpu_set(verdict.whole.cpus)
        if verdict.whole.memory:
            answer["podMemory"] = _blocks(verdict.whole.memory)
    return answer


def _blocks(blocks: tuple[MemoryBlock, ...]) -> list[Any]:
    return [
        {"numaAffinity": list(each.nodes), "type": each.kind, "size": each.size_bytes}
        for each in sorted(blocks, key=lambda each: each.kind)
    ]


def _free(machine: MachineTopology, rules: MemoryRules, book: ShareBook) -> dict[str, dict[str, int]]:
    """What is free of each kind, by groups of nodes."""
    free: dict[str, dict[str, int]] = {}
    for node in memory_left(machine, rules, book).values():
        group = free.setdefault(f"[{' '.join(map(str, nodes_of(node.group)))}]", {"assignments": 0})
        group["assignments"] += node.blocks
        for kind, amount in node.kinds.items():
            group[kind] = group.get(kind, 0) + amount.free
    return free


def machine_of(case: Case) -> MachineTopology:
    """The machine of a case."""
    cpus = []
    for node in case["nodes"]:
        cores: dict[tuple[int, int], int] = {}
        for number, core, package, _ in sorted(node["cpus"]):
            cores.setdefault((package, core), number)
        cpus += [
            Cpu(number, cores[package, core], package, node["id"], package if cache < 0 else cache)
            for number, core, package, cache in node["cpus"]
        ]
    nodes = [
        NumaNode(
            node["id"],
            node["memory"],
            tuple((size * 1024, pages) for size, pages in node["huge"]),
            tuple(node["distances"]),
        )
        for node in case["nodes"]
    ]
    return MachineTopology(tuple(sorted(cpus, key=lambda cpu: cpu.number)), tuple(nodes))


def rules_of(case: Case, machine: MachineTopology, *, pod_level: bool) -> ShareRules:
    """The settings of a case."""
    cpus = None
    if case["cpuPolicy"] == "static":
        on = case["cpuOptions"]
        given = parse_cpu_set(case["reservedSet"]) if case["reservedSet"] else None
        cpus = CpuRules(
            given or frozenset(),
            strict="strict-cpu-reservation" in on,
            full_cores="full-pcpus-only" in on,
            across_nodes="distribute-cpus-across-numa" in on,
            across_cores="distribute-cpus-across-cores" in on,
            by_package="align-by-socket" in on,
            by_cache="prefer-align-cpus-by-uncorecache" in on,
        )
        if given is None:
            reserved = take_cpus(machine, cpus, machine.online, case["reserved"])
            cpus = CpuRules(reserved, *(getattr(cpus, name) for name in CpuRules.__slots__[1:]))
    memory = None
    if case["memoryPolicy"] == "Static":
        memory = MemoryRules({int(node): amounts for node, amounts in case["reservedMemory"].items()})
    topology = TopologyRules(
        TopologyPolicy(case["topologyPolicy"]),
        whole_pods=case["topologyScope"] == "pod",
        closest="prefer-closest-numa-nodes" in case["topologyOptions"],
    )
    return ShareRules(cpus, memory, topology, pod_level=pod_level)
