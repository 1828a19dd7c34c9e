"""Hints: on which NUMA nodes a request could be met (spec 10.10). Values and options, pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec

from actors.resources.topology.masks import NodeMask

Hints: TypeAlias = Mapping[NodeMask, bool] | None
"""For one resource: the sets of nodes that can meet the request, and whether each is preferred.

None: no preference. Empty: no set of nodes can meet it.
"""


class Hint(msgspec.Struct, frozen=True):
    """The choice for all resources. `mask` None: any nodes."""

    mask: NodeMask | None = None
    preferred: bool = False


class TopologyPolicy(StrEnum):
    """`topologyManagerPolicy`: what is done with a pod whose hints do not fit together."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NODE = "single-numa-node"


@dataclass(frozen=True, slots=True)
class TopologyRules:
    """Settings of the topology manager.

    `whole_pods`: one hint for all containers of a pod (`topologyManagerScope: pod`). `closest`: of sets with equally
    many nodes, prefer the one with the shortest distances (`prefer-closest-numa-nodes`).
    """

    policy: TopologyPolicy = TopologyPolicy.NONE
    whole_pods: bool = False
    closest: bool = False
