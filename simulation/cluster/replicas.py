"""A load as a Deployment makes it: a number of pods of one template; removed pods are replaced.

It follows the pods in the store and calls the server like any controller. It makes a few pods per turn, so that other
requests are served in between. It recognises its pods by their label; pods that are being deleted or have ended do not
count. A refused pod is tried again; a template that is invalid is reported at once to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.kernel import Dispatcher
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import DELETED, Version
from simulation.cluster.orders import OrderError
from simulation.controllers.store_follower import StoreFollower, ask
from simulation.world.invariants import ENDED
from simulation.world.statuses import is_ready

LABEL = "simulated.actorlet.dev/load"
PODS_A_TURN = 50
AGAIN_NS = 10**9


class Replicas:
    """See the module. `template`: labels, annotations and spec of a pod."""

    def __init__(
        self, server: ApiServer, clock: Dispatcher, namespace: str, name: str, template: Mapping[str, Any]
    ) -> None:
        self._server = server
        self._clock = clock
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._namespace = namespace
        self._name = name
        self._template = template
        self._wanted = 0
        self._made = 0
        self._live: dict[str, bool] = {}
        """Name -> whether it is ready, in the order of their making."""
        self._turn_is_due = False
        self._follower = StoreFollower(server, clock, {"pods": self._pod}, self._live.clear)

    def start(self, replicas: int) -> None:
        """Begin. Raises OrderError when the server will not have such a pod."""
        self._follower.start()
        if replicas:
            refusal = self._create()
            if refusal:
                raise OrderError(refusal)
        self.scale(replicas)

    def scale(self, replicas: int) -> None:
        """Change the number of pods."""
        self._wanted = replicas
        self._look()

    def stop(self) -> None:
        """Stop keeping the number of pods. Existing pods stay."""
        self._follower.stop()
        self._live.clear()
        self._wanted = 0

    @property
    def ready(self) -> int:
        """How many are Ready now."""
        return sum(self._live.values())

    def _pod(self, kind: str, version: Version) -> None:
        """Told by the store, under its lock."""
        pod = version.object
        labels = pod["metadata"].get("labels") or {}
        if version.namespace != self._namespace or labels.get(LABEL) != self._name:
            return
        status = pod.get("status") or {}
        if kind == DELETED or "deletionTimestamp" in pod["metadata"] or status.get("phase") in ENDED:
            if self._live.pop(version.name, None) is not None:
                self._look()
        else:
            self._live[version.name] = is_ready(status)

    def _look(self) -> None:
        if len(self._live) != self._wanted:
            self._take_turn_in(0)

    def _take_turn_in(self, ns: int) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._clock.schedule(ns, self._take_turn)

    def _take_turn(self) -> None:
        self._turn_is_due = False
        missing = self._wanted - len(self._live)
        for _ in range(min(missing, PODS_A_TURN)):
            if self._create():
                self._take_turn_in(AGAIN_NS)
                return
        if missing < 0:
            for name in list(self._live)[missing:][:PODS_A_TURN]:
                self._ask("DELETE", f"{self._path}/{name}", {})
        self._look()

    def _create(self) -> str:
        """Create one more pod; return the error, or ""."""
        name = f"{self._name}-{self._made}"
        self._made += 1
        labels = {**self._template["labels"], LABEL: self._name}
        metadata = {"name": name, "labels": labels, "annotations": self._template["annotations"]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self._template["spec"]}
        return self._ask("POST", self._path, body)

    def _ask(self, method: str, path: str, body: Mapping[str, Any]) -> str:
        """Send a request; return the refusal of the server, or ""."""
        return ask(self._server, ADMIN, method, path, msgspec.to_builtins(body))
