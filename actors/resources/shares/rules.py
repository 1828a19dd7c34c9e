"""The settings of a node for CPUs, memory and NUMA nodes together. Values, pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.resources.cpus.static import CpuRules
from actors.resources.memory.amounts import MemoryRules
from actors.resources.topology.hints import TopologyRules


@dataclass(frozen=True, slots=True)
class ShareRules:
    """`cpus` and `memory` None: that policy is `none`. `pod_level`: the gate PodLevelResourceManagers."""

    cpus: CpuRules | None = None
    memory: MemoryRules | None = None
    topology: TopologyRules = field(default_factory=TopologyRules)
    pod_level: bool = False
