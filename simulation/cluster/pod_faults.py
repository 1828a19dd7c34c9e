"""The faults of a sweep that strike pods and their nodes, when a pod is Ready for the first time.

Some act from the beginning, on the pods of one name: they start late, or cannot be pulled at first. The others strike
five seconds after the moment, by what the simulated world can do. All are over in a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.store.store import DELETED, Version
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.explained import is_well
from simulation.cluster.orders import Behave, Exit, OrderError
from simulation.controllers.store_follower import StoreFollower, ask
from simulation.operators.faults import Fault
from simulation.operators.keys import READY, Counted, place, steady_name
from simulation.operators.records import Shown

SECOND_NS = 10**9
STRIKES_AFTER_NS = 5 * SECOND_NS
UNREADY_NS = 30 * SECOND_NS
DRAINED_NS, DEAD_NS = 120 * SECOND_NS, 600 * SECOND_NS
PASSES_AFTER_NS = 60 * SECOND_NS
"""How long after its end a fault still shows: nodes are late to be Ready, and to lose their taints."""
PODS_AT_MOST = 2000
_TOLD: Mapping[str, Mapping[str, str]] = {
    "pod-late": {"start-delay": "40s"},
    "pod-no-image": {"fail": "PullImage=not-found*3"},
    "pod-stuck": {"ignore-stop-signal": "true"},
}


class PodFaults:
    """See the module. `step`: the number of the scenario's step now."""

    def __init__(self, world: ClusterWorld, fault: Fault | None, step: Callable[[], int]) -> None:
        self._world = world
        self._fault = fault if fault is not None and fault.at.verb == READY else None
        self._step = step
        self._counted = Counted()
        self._known: set[str] = set()
        self._follower = StoreFollower(world.server, world.dispatcher, {"pods": self._pod})
        self.ready: list[Shown] = []
        self.struck = self._fault is None
        self.until_ns = 0
        """When what the fault has done is over, in the cluster's time."""

    def start(self) -> None:
        if self._fault is not None and self._fault.kind in _TOLD:
            namespace, _, name = self._fault.at.name.partition("/")
            self._world.behave(Behave(name=name, namespace=namespace, knobs=_TOLD[self._fault.kind]))
            if self._fault.kind == "pod-no-image":
                self._forget_images()
        self._follower.start()

    def _forget_images(self) -> None:
        """An earlier run in the same cluster may have left them on its nodes."""
        for node in self._world.nodes.values():
            for image in tuple(node.cri.state.images.values()):
                node.cri.state.drop_image(image)

    def stop(self) -> None:
        self._follower.stop()

    def _pod(self, kind: str, version: Version) -> None:
        pod = version.object
        if kind == DELETED or version.uid in self._known or not is_well(pod) or len(self.ready) >= PODS_AT_MOST:
            return
        self._known.add(version.uid)
        key = self._counted.key(READY, "pods", place(version.namespace, steady_name(pod["metadata"])))
        self.ready.append(Shown(key, self._step()))
        if not self.struck and self._fault is not None and self._fault.at == key:
            self.struck = True
            if self._fault.kind not in _TOLD:
                self._lasts(STRIKES_AFTER_NS)
                self._world.after(STRIKES_AFTER_NS, lambda: self._strike(self._fault, version))

    def _strike(self, fault: Fault | None, pod: Version) -> None:
        assert fault is not None
        world, namespace, name = self._world, pod.namespace, pod.name
        node = pod.object["spec"].get("nodeName", "")
        try:
            if fault.kind == "pod-oom":
                world.exit(Exit(pod=name, namespace=namespace, code=137, oom=True))
            elif fault.kind == "pod-unready":
                world.behave(Behave(name=name, namespace=namespace, knobs={"readiness-probe": "fail"}))
                self._later(UNREADY_NS, lambda: self._ready_again(namespace, name))
            elif fault.kind == "pod-evicted":
                self._evict(pod)
            elif fault.kind == "node-drained":
                self._cordon(node, True)
                for each in tuple(world.server.store.of["pods"].on_node(node)):
                    self._evict_object(each)
                self._later(DRAINED_NS, lambda: self._cordon(node, False))
            elif fault.kind == "node-dies":
                world.kill_node(node)
                self._later(DEAD_NS, lambda: world.start_node(node))
        except OrderError:
            self.struck = False  # the pod was gone by then

    def _ready_again(self, namespace: str, name: str) -> None:
        self._world.behave(Behave(name=name, namespace=namespace, knobs={"readiness-probe": "ok"}))

    def _later(self, ns: int, operation: Callable[[], object]) -> None:
        self._lasts(ns)
        self._world.after(ns, operation)

    def _lasts(self, ns: int) -> None:
        self.until_ns = max(self.until_ns, self._world.now_ns() + ns + PASSES_AFTER_NS)

    def _cordon(self, node: str, is_cordoned: bool) -> None:
        change: dict[str, Any] = {"spec": {"unschedulable": is_cordoned or None}}
        ask(self._world.server, ADMIN, "PATCH", f"/api/v1/nodes/{node}", change, MERGE)

    def _evict(self, pod: Version) -> None:
        self._evict_object(pod.object)

    def _evict_object(self, pod: Mapping[str, Any]) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
        ask(self._world.server, ADMIN, "POST", path, {"apiVersion": "policy/v1", "kind": "Eviction"})
