"""A live agent at its highest verbosity logs no secret, though every use of them fails.

The pull is refused, the storage driver repeats its secret, probe and hook find nobody, and no server has manifests.
`tests/simulation/node/test_secrets.py` shows the same with a runtime that repeats what it is told.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec

from config.api.resources import CSI_DRIVERS, EVENTS, SECRETS
from runtime.api import list_objects
from tests.csi_driver.process import NAME, DriverProcess
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import container, pod

MARK = "S3CR3T"
PULL_SECRET = "kubernetes.io/dockerconfigjson"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def plant(cluster: Cluster) -> None:
    """Pods that fail with each kind of secret."""
    auths = {"auths": {"127.0.0.1:9": {"auth": encoded(f"ann:{MARK}-pull")}}}
    cluster.create(SECRETS, "pull", type=PULL_SECRET, data={".dockerconfigjson": encoded(json.dumps(auths))})
    cluster.create(SECRETS, "login", data={"key": encoded(f"{MARK}-key")})
    headers = [{"name": "Authorization", "value": f"Bearer {MARK}-header"}]
    web = {"httpGet": {"path": "/", "port": 9, "httpHeaders": headers}}
    env = [
        {"name": "PLAIN", "value": f"{MARK}-plain"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "login", "key": "key"}}},
    ]
    mounts = [{"name": "keys", "mountPath": "/keys"}]
    volumes: list[dict[str, Any]] = [{"name": "keys", "secret": {"secretName": "login"}}]
    probed = container(env=env, volumeMounts=mounts, readinessProbe={**web, "periodSeconds": 1})
    cluster.run(pod("probed", probed, volumes=volumes))
    cluster.run(pod("hooked", container(env=env, lifecycle={"postStart": web})))
    cluster.run(pod("unstarted", container(env=env, command=["/no/such/program"])))
    pulled = {**container(), "image": "127.0.0.1:9/app:1"}
    cluster.run(pod("pulls", pulled, imagePullSecrets=[{"name": "pull"}]))
    inline = {"driver": NAME, "nodePublishSecretRef": {"name": "login"}}
    cluster.run(pod("mounts", container(volumeMounts=mounts), volumes=[{"name": "keys", "csi": inline}]))


def test_nothing_that_a_live_agent_says_has_a_secret(cluster: Cluster, agent: Agent) -> None:
    driver = DriverProcess(agent.directory / "d", agent.root / "plugins_registry")
    try:
        cluster.create(CSI_DRIVERS, NAME, spec={"volumeLifecycleModes": ["Ephemeral"]})
        driver.start()
        driver.order(NodePublishVolume={"code": "INTERNAL", "message": f"no disk for {MARK}-key"})
        plant(cluster)
        cluster.join("-v=10", f"--manifest-url=http://node:{MARK}-url@127.0.0.1:9/pods?token={MARK}-query")
        told = {
            "probed": "Unhealthy",
            "hooked": "FailedPostStartHook",
            "unstarted": "Failed",
            "pulls": "Failed",
            "mounts": "FailedMount",
        }
        for name, reason in told.items():
            agent.await_that(lambda: agent.events_of(name, reason), f"nothing says {reason} of {name}")  # noqa: B023
        agent.await_that(lambda: "no disk for ***" in agent.said(), "the driver's words are not passed on")
        agent.await_that(agent.problems, "the server of manifests is not missed")
        events = cluster.lines.main.call(list_objects(EVENTS, "default")).result(120)
        shown = [agent.said(), agent.told("actors"), repr(events), repr(agent.events()), repr(agent.problems())]
        shown += [agent.told("explain", f"{name}-node-1") for name in told]
        shown += [msgspec.json.encode(agent.status(name)).decode() for name in told]
        text = "\n".join(shown)
    finally:
        driver.take_down()
    assert [text[max(at - 300, 0) : at + 60] for at in range(len(text)) if text.startswith(MARK, at)] == []
    assert encoded(MARK)[:8] not in text
