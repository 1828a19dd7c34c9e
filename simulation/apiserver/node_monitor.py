"""Nodes that nobody has heard of for a while: their conditions become Unknown, and their pods are not ready.

Plays the part of the node lifecycle controller, without taints and evictions. A node is heard of when its lease is
renewed or its status is written. One look every few seconds, as long as there are nodes.
"""

from __future__ import annotations

from simulation.apiserver.core import Core
from simulation.apiserver.resources import NODES
from simulation.apiserver.status import Json
from simulation.apiserver.store import Version

LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
_OBSERVED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_REASON = "NodeStatusUnknown"
_MESSAGE = "Kubelet stopped posting node status."


class NodeMonitor:
    """See the module. Judges by when it saw a change, not by the clocks of the nodes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._seen: dict[str, tuple[tuple[str, int, object], int]] = {}
        self._armed = False

    def arm(self) -> None:
        """There is a node: look from now on. May be called at any time."""
        every_ns = self._core.options.node_monitor_every_ns
        if not self._armed and self._core.options.node_grace_ns and every_ns:
            self._armed = True
            self._core.after(every_ns, self._look)

    def _look(self) -> None:
        self._armed = False
        now_ns = self._core.now_ns()
        nodes = tuple(self._core.store.of[NODES.store_key].all())
        names = {node.name for node in nodes}
        for gone in [name for name in self._seen if name not in names]:
            del self._seen[gone]
        for node in nodes:
            sign = self._sign_of_life(node)
            known = self._seen.get(node.name)
            if known is None or known[0] != sign:
                self._seen[node.name] = (sign, now_ns)
            elif now_ns - known[1] >= self._core.options.node_grace_ns:
                self._give_up(node)
        if nodes:
            self.arm()

    def _sign_of_life(self, node: Version) -> tuple[str, int, object]:
        lease = self._core.store.get(LEASES, LEASE_NAMESPACE, node.name)
        conditions = (node.object.get("status") or {}).get("conditions") or []
        heard = [one.get("lastHeartbeatTime") for one in conditions]
        return node.uid, 0 if lease is None else lease.revision, heard

    def _give_up(self, node: Version) -> None:
        status = node.object.get("status") or {}
        conditions = list(status.get("conditions") or [])
        unknown: list[Json] = []
        for kind in _OBSERVED:
            old = next((one for one in conditions if one.get("type") == kind), None)
            if old is not None and old.get("status") != "Unknown":
                unknown.append(
                    {
                        **old,
                        "status": "Unknown",
                        "reason": _REASON,
                        "message": _MESSAGE,
                        "lastTransitionTime": self._core.timestamp(),
                    }
                )
        if not unknown:
            return
        changed = {one["type"]: one for one in unknown}
        conditions = [changed.get(one.get("type"), one) for one in conditions]
        metadata = dict(node.object["metadata"])
        value = {**node.object, "metadata": metadata, "status": {**status, "conditions": conditions}}
        self._core.store.put(NODES.store_key, value)
        for pod in tuple(self._core.store.of["pods"].on_node(node.name)):
            self._mark_not_ready(pod)

    def _mark_not_ready(self, pod: Json) -> None:
        status = pod.get("status") or {}
        conditions = status.get("conditions") or []
        if not any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions):
            return
        changed = [
            {**one, "status": "False", "lastTransitionTime": self._core.timestamp()}
            if one.get("type") == "Ready"
            else one
            for one in conditions
        ]
        metadata = dict(pod["metadata"])
        self._core.store.put("pods", {**pod, "metadata": metadata, "status": {**status, "conditions": changed}})
