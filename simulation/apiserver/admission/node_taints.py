"""TaintNodesByCondition: a new node has the taint of nodes that are not ready.

So nothing is scheduled there before it says that it is ready. `controllers.node_monitor`, or a controller manager,
takes the taint away.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.kinds.table import NODES
from simulation.apiserver.status import Json

NOT_READY: Json = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def is_not_ready(taint: Json) -> bool:
    """Whether it is the taint that new nodes get."""
    return all(taint.get(name) == value for name, value in NOT_READY.items())


def admit(this: Attributes) -> None:
    spec = this.object.get("spec") or {}
    taints = spec.get("taints") or []
    if not any(map(is_not_ready, taints)):
        this.object["spec"] = {**spec, "taints": [*taints, NOT_READY]}


PLUGIN = Plugin("TaintNodesByCondition", frozenset({(NODES, "", CREATE)}), admit=admit)
