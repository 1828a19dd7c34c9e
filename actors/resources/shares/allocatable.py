"""All CPUs and memory that pods may have for themselves, whether or not they are given. Pure."""

from __future__ import annotations

from actors.model.shares import MemoryBlock, Share
from actors.resources.memory.amounts import unused_memory
from actors.resources.shares.rules import ShareRules
from runtime.host.topology import MachineTopology


def allocatable_share(machine: MachineTopology, rules: ShareRules) -> Share:
    """CPUs and memory that are not reserved, the memory by NUMA node.

    Without a policy for it there is none of it.
    """
    cpus = machine.online - rules.cpus.reserved if rules.cpus is not None else frozenset[int]()
    nodes = unused_memory(machine, rules.memory) if rules.memory is not None else {}
    blocks = (
        MemoryBlock((number,), kind, amount.allocatable)
        for number, node in nodes.items()
        for kind, amount in node.kinds.items()
    )
    return Share(cpus, tuple(block for block in blocks if block.size_bytes))
