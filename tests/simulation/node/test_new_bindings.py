"""A new pod whose binding the API server's authorizer has not seen yet."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel.promise import Promise, broken
from runtime.api.calls import ApiCall
from runtime.api.errors import ApiError
from tests.simulation.node.grants import GrantedApi
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container

REFERENCES = frozenset({"secrets", "configmaps", "serviceaccounts/token"})
OBJECTS = "/api/v1/namespaces/default"
VOLUMES = [
    {"name": "settings", "configMap": {"name": "settings"}},
    {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
]
MOUNTS = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in VOLUMES]
PASSWORD = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}}


class LaggingApi(GrantedApi):
    """Refuses what pods refer to, until a time."""

    refused_until_ns = 0
    refused_calls = 0

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        if call.what.partition(" ")[2] in REFERENCES and self._now_ns() < self.refused_until_ns:
            self.refused_calls += 1
            why = "no relationship found between node 'node' and this object"
            return broken(ApiError(403, "Forbidden", why, call.verb))
        return super().call(call, timeout_ns=timeout_ns)


class LaggingCluster(Cluster):
    api_class = LaggingApi
    api: LaggingApi

    def bind_a_pod(self, lag_ns: int) -> None:
        """Bind a pod with a Secret, a ConfigMap and a token. The authorizer learns of it later."""
        self.ask("POST", f"{OBJECTS}/secrets", {"metadata": {"name": "keys"}, "stringData": {"password": "p"}})
        self.ask("POST", f"{OBJECTS}/configmaps", {"metadata": {"name": "settings"}, "data": {"a": "1"}})
        self.run(SECOND)
        self.api.refused_until_ns = self.dispatcher.now_ns() + lag_ns
        self.create("web", volumes=VOLUMES, containers=[container(env=[PASSWORD], volumeMounts=MOUNTS)])

    def until_it_runs(self) -> int:
        """How long it took, ns."""
        return self.until(lambda: self.all_are("Running", 1), step_ns=MS)


@pytest.mark.parametrize("lag_ms", [5, 20, 100, 500])
def test_a_pod_that_the_authorizer_learns_of_late_starts_without_an_event_of_a_failure(lag_ms: int):
    prompt, late = LaggingCluster(), LaggingCluster()
    prompt.bind_a_pod(0)
    late.bind_a_pod(lag_ms * MS)
    usual_ns, took_ns = prompt.until_it_runs(), late.until_it_runs()
    assert late.api.refused_calls
    assert late.events("web") == prompt.events("web")
    assert took_ns < usual_ns + 2 * lag_ms * MS + 100 * MS


def test_a_pod_that_stays_refused_tells_why():
    world = LaggingCluster()
    world.bind_a_pod(600 * SECOND)
    world.run(30 * SECOND)
    messages = [each["message"] for each in world.ask("GET", "/api/v1/events")["items"]]
    assert any("no relationship found" in each for each in messages)
    assert world.phases() == {"web": "Pending"}
