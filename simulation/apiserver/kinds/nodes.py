"""Nodes and leases: made by agents; watched over by a monitor."""

from __future__ import annotations

from config.objects import ApiStruct, Lease, Node
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.node_monitor import NodeMonitor
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import NODES
from simulation.apiserver.status import Json, forbidden_field, invalid
from simulation.apiserver.store import Version


class NodeRules(KindRules):
    """See the module."""

    struct: type[ApiStruct] | None = Node
    has_status = True

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._monitor = NodeMonitor(core)

    def created(self, version: Version) -> None:
        self._monitor.arm()

    def prepare(self, call: Call, value: Json) -> None:
        value.setdefault("spec", {})
        value.setdefault("status", {})

    def change(self, call: Call, old: Json, new: Json) -> None:
        before, after = old.get("spec") or {}, new.get("spec") or {}
        causes = [
            forbidden_field(f"spec.{field}", "node updates may not change what was set")
            for field in ("podCIDR", "podCIDRs", "providerID")
            if before.get(field) and before[field] != after.get(field)
        ]
        if causes:
            raise invalid(NODES, call.name, causes)
        new["spec"] = after


class LeaseRules(KindRules):
    """An update of a lease says which version it replaces: two holders must not both believe in it."""

    struct: type[ApiStruct] | None = Lease
    create_on_update = True
    unconditional_update = False
