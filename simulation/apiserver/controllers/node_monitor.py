"""Nodes: when one stops reporting, its conditions become Unknown, and its pods are not ready.

Taints and evictions are up to `node_lifecycle.py`. A node reports by renewing its lease or writing its
status. While there are nodes, the monitor looks every few seconds. It uses the times at which it saw a change, not the
nodes' clocks.
"""

from __future__ import annotations

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import LEASES, NODES, PODS, ServedResource
from simulation.apiserver.pipeline.context import Follower
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version

_OBSERVED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_UNKNOWN = {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


class NodeMonitor(Follower):
    def __init__(self, core: Core) -> None:
        self._core = core
        self._seen: dict[str, tuple[tuple[str, int, object], int]] = {}
        """The last report of each node, and when it came."""
        self._is_armed = False

    def created(self, version: Version) -> None:
        options = self._core.options
        if not self._is_armed and options.node_grace_ns and options.node_monitor_every_ns:
            self._is_armed = True
            self._core.after(options.node_monitor_every_ns, self._look)

    def removed(self, last: Version) -> None:
        self._seen.pop(last.name, None)

    def _look(self) -> None:
        self._is_armed = False
        now_ns = self._core.now_ns()
        nodes = tuple(self._core.store.of[NODES.store_key].all())
        for node in nodes:
            sign = self._sign_of_life(node)
            known = self._seen.get(node.name)
            if known is None or known[0] != sign:
                self._seen[node.name] = (sign, now_ns)
            elif now_ns - known[1] >= self._core.options.node_grace_ns:
                self._give_up(node)
        if nodes:
            self.created(nodes[0])

    def _sign_of_life(self, node: Version) -> tuple[str, int, object]:
        lease = self._core.store.get(LEASES.store_key, "kube-node-lease", node.name)
        heard = [one.get("lastHeartbeatTime") for one in _conditions(node.object)]
        return node.uid, 0 if lease is None else lease.revision, heard

    def _give_up(self, node: Version) -> None:
        now, conditions = self._core.timestamp(), _conditions(node.object)
        changed = [
            {**one, **_UNKNOWN, "lastTransitionTime": now}
            if one.get("type") in _OBSERVED and one.get("status") != "Unknown"
            else one
            for one in conditions
        ]
        if changed == conditions:
            return
        self._put(NODES, node.object, changed)
        for pod in tuple(self._core.store.of[PODS.store_key].on_node(node.name)):
            before = _conditions(pod)
            after = [
                {**one, "status": "False", "lastTransitionTime": now}
                if one.get("type") == "Ready" and one.get("status") == "True"
                else one
                for one in before
            ]
            if after != before:
                self._put(PODS, pod, after)

    def _put(self, resource: ServedResource, value: Json, conditions: list[Json]) -> None:
        status = {**(value.get("status") or {}), "conditions": conditions}
        self._core.store.put(resource.store_key, {**value, "metadata": dict(value["metadata"]), "status": status})


def _conditions(value: Json) -> list[Json]:
    return list((value.get("status") or {}).get("conditions") or ())
