"""What a container on containerd takes from config maps and secrets (spec 13.2).

Also what it waits for without them.
"""

from __future__ import annotations

import base64
from typing import Any

from config.api.resources import CONFIG_MAPS, SECRETS
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, container, pod


def test_13_2_variables_of_config_maps_and_secrets_and_those_that_are_missing(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    def of(kind: str, variable: str, name: str, key: str, **fields: Any) -> dict[str, Any]:
        return {"name": variable, "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **fields}}}

    cluster.create(CONFIG_MAPS, "settings", data={"A": "map", "B": "map"})
    cluster.create(SECRETS, "hidden", data={"B": base64.b64encode(b"secret").decode()})
    full = container(
        envFrom=[
            {"configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "hidden"}},
            {"prefix": "P_", "configMapRef": {"name": "settings"}},
            {"configMapRef": {"name": "nowhere", "optional": True}},
        ],
        env=[
            {"name": "A", "value": "own"},
            of("configMap", "C", "settings", "B"),
            of("secret", "D", "hidden", "B"),
            of("configMap", "E", "settings", "nobody", optional=True),
            of("secret", "F", "nowhere", "B", optional=True),
            {"name": "G", "value": "$(P_A) $(D)"},
        ],
    )
    cluster.run(pod("full", full))
    cluster.run(pod("no-map", container(env=[of("configMap", "A", "later", "A")])))
    cluster.run(pod("no-key", container(env=[of("secret", "A", "hidden", "nobody")])))
    cluster.run(pod("no-from", container(envFrom=[{"secretRef": {"name": "nowhere"}}])))
    cluster.join()
    cluster.await_phase("Running", "full")
    found = truth.variables("full")
    expected = {"A": "own", "B": "secret", "P_A": "map", "P_B": "map", "C": "map", "D": "secret", "G": "map secret"}
    assert {name: found.get(name) for name in expected} == expected
    assert not {"E", "F"} & found.keys()
    # The API server itself is always there to be found.
    assert found.keys() >= {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_PORT_443_TCP_ADDR"}
    for name, word in (("no-map", "later"), ("no-key", "nobody"), ("no-from", "nowhere")):
        agent.await_that(lambda: agent.waiting(name)[0] == "CreateContainerConfigError", f"{name} waits for nothing")  # noqa: B023
        assert word in agent.waiting(name)[1], agent.waiting(name)
    cluster.create(CONFIG_MAPS, "later", data={"A": "at last"})
    cluster.await_phase("Running", "no-map")
    assert truth.variables("no-map")["A"] == "at last"
