"""The parts of the observer's view about CPUs and memory that pods have for themselves. Pure.

    numa/N            a NUMA node: its CPUs by socket and core, and who has them; its memory
    share/UID         what the containers of a pod have

There are none on a node whose policies are all `none`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from actors.messages.shares import NodeShares
from actors.model.shares import PodShares, Share, counted_blocks, exclusive_cpus
from config.values.cpu_sets import format_cpu_set
from runtime.host.topology import Cpu, NumaNode

NUMA, SHARE = "numa/", "share/"
GIVEN, SHARED, RESERVED = "given", "shared", "reserved"
WHOLE = "the pod as a whole"


def share_parts(shares: NodeShares) -> Mapping[str, Any]:
    """All of these parts, key -> part."""
    if not shares.machine.cpus:
        return {}
    owners = {cpu: uid for uid, pod in shares.book.items() for cpu in exclusive_cpus(pod)}
    nodes = {f"{NUMA}{node.number}": _numa_node(node, shares, owners) for node in shares.machine.nodes}
    pods = {f"{SHARE}{uid}": list(_containers(pod)) for uid, pod in shares.book.items()}
    return {**nodes, **pods}


def _numa_node(node: NumaNode, shares: NodeShares, owners: Mapping[int, str]) -> Mapping[str, Any]:
    sockets: dict[int, dict[int, list[Mapping[str, Any]]]] = {}
    for cpu in shares.machine.cpus:
        if cpu.node == node.number:
            cores = sockets.setdefault(cpu.package, {})
            cores.setdefault(cpu.core, []).append(_cpu(cpu, shares, owners))
    return {
        "sockets": [{"number": package, "cores": list(cores.values())} for package, cores in sorted(sockets.items())],
        "memory": _memory(node, shares),
    }


def _cpu(cpu: Cpu, shares: NodeShares, owners: Mapping[int, str]) -> Mapping[str, Any]:
    uid = owners.get(cpu.number)
    if uid is not None:
        return {"cpu": cpu.number, "state": GIVEN, "pod": uid}
    # Without a CPU policy all CPUs are shared.
    reserved = bool(shares.allocatable.cpus) and cpu.number not in shares.allocatable.cpus
    return {"cpu": cpu.number, "state": RESERVED if reserved else SHARED}


def _memory(node: NumaNode, shares: NodeShares) -> list[Mapping[str, Any]]:
    """Each kind that may be given.

    A block on several nodes counts on each: nobody knows where its pages are.
    """
    found: list[Mapping[str, Any]] = []
    for block in shares.allocatable.memory:
        if block.nodes != (node.number,) or not block.size_bytes:
            continue
        blocks = (each for pod in shares.book.values() for each in counted_blocks(pod))
        given = sum(each.size_bytes for each in blocks if each.kind == block.kind and node.number in each.nodes)
        found.append({"kind": block.kind, "given": given, "most": block.size_bytes})
    return found


def _containers(pod: PodShares) -> Iterator[Mapping[str, Any]]:
    if pod.whole is not None:
        yield _has(WHOLE, pod.whole)
    for name, share in pod.containers.items():
        yield _has(name, share)


def _has(name: str, share: Share) -> Mapping[str, Any]:
    memory = [
        {"kind": each.kind, "bytes": each.size_bytes, "nodes": each.nodes} for each in share.memory if each.size_bytes
    ]
    return {"name": name, "cpus": format_cpu_set(share.cpus), "memory": memory}
