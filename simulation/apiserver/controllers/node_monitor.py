"""Nodes: when one stops reporting, its conditions become Unknown, and its pods are not ready.

A node that is ready loses the taint of new nodes; all other taints, and evictions, are up to `node_lifecycle.py`. A
node reports by renewing its lease or writing its status. While there are nodes, the monitor looks every few seconds.
It uses the times at which it saw a change, not the nodes' clocks.
"""

from __future__ import annotations

from simulation.apiserver.admission.node_taints import is_not_ready
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
        self._arm()
        self._open(version)

    def _arm(self) -> None:
        options = self._core.options
        if not self._is_armed and options.node_grace_ns and options.node_monitor_every_ns:
            self._is_armed = True
            self._core.after(options.node_monitor_every_ns, self._look)

    def changed(self, old: Version, new: Version) -> None:
        self._open(new)

    def _open(self, new: Version) -> None:
        """Take the taint of new nodes from a node that is ready."""
        spec = new.object.get("spec") or {}
        left = [taint for taint in spec.get("taints") or () if not is_not_ready(taint)]
        if len(left) == len(spec.get("taints") or ()) or not _is_ready(new.object):
            return
        spec = {name: part for name, part in {**spec, "taints": left}.items() if name != "taints" or left}
        self._core.store.put(NODES.store_key, {**new.object, "metadata": dict(new.object["metadata"]), "spec": spec})

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
            self._arm()

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


def _is_ready(node: Json) -> bool:
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in _conditions(node))


def _conditions(value: Json) -> list[Json]:
    return list((value.get("status") or {}).get("conditions") or ())
