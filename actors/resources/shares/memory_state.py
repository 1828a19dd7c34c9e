"""`memory_manager_state`, as a kubelet 1.36 writes it, so that either can take the node over. Pure.

JSON (spec 10.9) with the policy, what each NUMA node has left, and the blocks of each container. With the gate
PodLevelResourceManagers it has those of each pod as a whole, too. What nodes have left is for kubelets: this agent
works it out of the blocks. The checksum is an FNV-1a over Go's dump of the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from actors.model.shares import MemoryBlock
from actors.resources.memory.amounts import NodeMemory
from actors.resources.shares.file_faults import StateFileError, check_policy
from actors.resources.topology.masks import nodes_of
from config.values.fnv import fnv1a_32

T = TypeVar("T")

FILE = "memory_manager_state"
MANAGER = "memory"


class MemoryState(msgspec.Struct, frozen=True):
    """`containers`: UID -> name -> blocks. `pods`: UID -> the blocks of the pod as a whole."""

    policy: str
    containers: Mapping[str, Mapping[str, tuple[MemoryBlock, ...]]] = {}
    pods: Mapping[str, tuple[MemoryBlock, ...]] = {}


class _Block(msgspec.Struct, rename="camel"):
    numa_affinity: list[int]
    type: str
    size: int


class _Table(msgspec.Struct, rename="camel"):
    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class _Node(msgspec.Struct, rename="camel"):
    number_of_assignments: int
    memory_map: dict[str, _Table]
    cells: list[int]


class _PodEntry(msgspec.Struct, rename="camel", omit_defaults=True):
    memory_blocks: list[_Block] = []


class _Document(msgspec.Struct, rename="camel"):
    policy_name: str = ""
    machine_state: dict[int, _Node] = {}
    entries: dict[str, dict[str, list[_Block] | None]] = {}
    pod_entries: dict[str, _PodEntry] = {}
    checksum: int = 0


def write_memory_state(state: MemoryState, nodes: Mapping[int, NodeMemory], *, pod_level: bool) -> bytes:
    """The content of the file.

    `nodes`: what each has left. `pod_level`: the gate PodLevelResourceManagers, which changes the format.
    """
    document = _Document(
        state.policy,
        {number: _node(nodes[number]) for number in sorted(nodes)},
        {
            uid: {name: _blocks(blocks) for name, blocks in sorted(containers.items())}
            for uid, containers in sorted(state.containers.items())
        },
        {uid: _PodEntry(_blocks(blocks)) for uid, blocks in sorted(state.pods.items())} if pod_level else {},
    )
    written: dict[str, object] = {
        "policyName": document.policy_name,
        "machineState": dict(sorted((str(number), node) for number, node in document.machine_state.items())),
    }
    if document.entries:
        written["entries"] = document.entries
    if document.pod_entries:
        written["podEntries"] = document.pod_entries
    return msgspec.json.encode({**written, "checksum": _checksum(document, pod_level=pod_level)})


_decode_document = msgspec.json.Decoder(_Document).decode


def read_memory_state(content: bytes, path: str, policy: str) -> MemoryState:
    """The state in the file at `path`. Raises StateFileError."""
    try:
        document = _decode_document(content)
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise StateFileError(MANAGER, path, f"the file cannot be read: {fault}") from fault
    fitting = [_checksum(document, pod_level=each) for each in (True, False)]
    if document.checksum not in fitting and (document.checksum or document.pod_entries):
        raise StateFileError(MANAGER, path, "checkpoint is corrupted")
    check_policy(MANAGER, path, policy, document.policy_name)
    containers = {
        uid: {name: _read(blocks or ()) for name, blocks in containers.items()}
        for uid, containers in document.entries.items()
    }
    pods = {uid: _read(entry.memory_blocks) for uid, entry in document.pod_entries.items()}
    return MemoryState(document.policy_name, containers, pods)


def _node(node: NodeMemory) -> _Node:
    tables = {
        kind: _Table(each.total, each.reserved, each.allocatable, each.allocatable - each.free, each.free)
        for kind, each in sorted(node.kinds.items())
    }
    return _Node(node.blocks, tables, list(nodes_of(node.group)))


def _blocks(blocks: Iterable[MemoryBlock]) -> list[_Block]:
    return [_Block(list(each.nodes), each.kind, each.size_bytes) for each in blocks]


def _read(blocks: Iterable[_Block]) -> tuple[MemoryBlock, ...]:
    return tuple(MemoryBlock(tuple(sorted(each.numa_affinity)), each.type, each.size) for each in blocks)


def _checksum(document: _Document, *, pod_level: bool) -> int:
    """Of Go's dump of the object, whose checksum is 0. Both formats have the same name there."""
    pods = " ".join(
        f"{uid}:{{MemoryBlocks:([]state.Block){_pod(each)}}}" for uid, each in _sorted(document.pod_entries)
    )
    nodes = " ".join(f"{number}:<*>{_dumped_node(node)}" for number, node in sorted(document.machine_state.items()))
    entries = " ".join(
        f"{uid}:map[{' '.join(f'{name}:{_dumped(blocks)}' for name, blocks in _sorted(containers))}]"
        for uid, containers in _sorted(document.entries)
    )
    dump = (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){document.policy_name} "
        f"MachineState:(state.NUMANodeMap)map[{nodes}] Entries:(state.ContainerMemoryAssignments)map[{entries}]"
        + (f" PodEntries:(state.PodMemoryAssignments)map[{pods}]" if pod_level else "")
        + " Checksum:(checksum.Checksum)0}"
    )
    return fnv1a_32(dump.encode())


def _dumped_node(node: _Node) -> str:
    tables = " ".join(f"{kind}:<*>{_dumped_table(table)}" for kind, table in _sorted(node.memory_map))
    return (
        f"{{NumberOfAssignments:(int){node.number_of_assignments} "
        f"MemoryMap:(map[v1.ResourceName]*state.MemoryTable)map[{tables}] Cells:([]int){_numbers(node.cells)}}}"
    )


def _dumped_table(table: _Table) -> str:
    return (
        f"{{TotalMemSize:(uint64){table.total} SystemReserved:(uint64){table.system_reserved} "
        f"Allocatable:(uint64){table.allocatable} Reserved:(uint64){table.reserved} Free:(uint64){table.free}}}"
    )


def _dumped(blocks: Sequence[_Block] | None) -> str:
    if blocks is None:
        return "<nil>"
    each = (
        f"{{NUMAAffinity:([]int){_numbers(block.numa_affinity)} Type:(v1.ResourceName){block.type} "
        f"Size:(uint64){block.size}}}"
        for block in blocks
    )
    return f"[{' '.join(each)}]"


def _pod(entry: _PodEntry) -> str:
    return _dumped(entry.memory_blocks or None)


def _numbers(numbers: Iterable[int]) -> str:
    return f"[{' '.join(map(str, numbers))}]"


def _sorted(entries: Mapping[str, T]) -> list[tuple[str, T]]:
    return sorted(entries.items(), key=lambda each: each[0])
