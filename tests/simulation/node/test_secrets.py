"""No output of a node has a secret, whatever fails and whoever repeats the secret.

Every secret of these pods has a mark. The runtime, the storage driver and the API server repeat what they were told in
their errors. Then everything that the agent has said is searched: the log at its highest verbosity, the trace, events,
statuses, `explain`, `actorlet actors`, dead letters, metrics, and the observer page.
"""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import msgspec
import pytest

from cli.inspect.local_views import ACTORS, EVENTS, HEALTH, PROBLEMS, explanation, views_of
from cli.run.node_server import NodeWindow
from cli.run.observer_view import look, timeline
from config.objects import Pod
from runtime.cri import CriError
from runtime.cri.errors import StatusCode
from runtime.cri.verbs import CREATE_CONTAINER, PULL_IMAGE
from runtime.volumes.capability import VolumeFailedError
from simulation.cri import Settings
from simulation.cri.simulated_cri import DoVerb
from tests.simulation.node.storage_cluster import DRIVER, StorageCluster
from tests.simulation.node.test_config_volumes_of_api import TOKEN_DIRECTORY, files
from tests.simulation.node.test_references import MAPS, SECRETS, put
from tests.simulation.node.worlds import SECOND, container

MARK = "S3CR3T"
REGISTRY = "r.example.com"


def secret(name: str) -> str:
    """A secret that is found again."""
    return f"{MARK}-{name}-9f2c"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def repeats_what_it_is_told(name: str, request: Any, do: DoVerb) -> Any:
    """A runtime whose errors hold the request."""
    if name == PULL_IMAGE.name and request.auth is not None:
        auth = request.auth
        both = encoded(f"{auth.username}:{auth.password}")
        told = f"401 for {auth.username}:{auth.password}, Basic {both}, token {auth.registry_token}"
        raise CriError(StatusCode.UNAUTHENTICATED, told, name)
    if name == CREATE_CONTAINER.name and "fails" in request.sandbox_config.metadata.name:
        told = " ".join(f"{each.key}={each.value.decode()}" for each in request.config.envs)
        raise CriError(StatusCode.UNKNOWN, f"cannot create it with {told}", name)
    return do(name, request)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that an agent with these pods says, as one text."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="actorlet")
    trace: list[str] = []
    cluster = StorageCluster(
        attach=False, settings=Settings(images=("busybox",)), trace=lambda *what: trace.append(repr(what))
    )
    cluster.node.cri.intercept(repeats_what_it_is_told)
    _plant(cluster)
    _let_the_driver_repeat(cluster, monkeypatch)
    cluster.run(120 * SECOND)
    cluster.node.cri.go_down()
    cluster.run(30 * SECOND)
    cluster.node.restart_agent()
    cluster.run(60 * SECOND)
    node = cluster.node.node
    views = views_of(node)
    window = NodeWindow(node)
    pods: tuple[Pod, ...] = node.pods()
    shown = [views[view]().body for view in (ACTORS, EVENTS, PROBLEMS, HEALTH)]
    shown += [msgspec.json.encode(explanation(node, pod.metadata.name)) for pod in pods]
    shown += [page for pod in pods if (page := timeline(node, pod.metadata.uid)) is not None]
    shown += [msgspec.json.encode(pod.status) for pod in pods]
    shown += [window.metrics(), window.cadvisor(), window.resource(), window.probes(), *look(node, "1").values()]
    shown += [json.dumps(cluster.ask("GET", f"/api/v1/{kind}")).encode() for kind in ("events", "nodes")]
    shown += [json.dumps(pod["status"]).encode() for pod in cluster.pods().values()]
    assert len(pods) == 5
    shown += [repr(each).encode() for each in node.report().ended]
    token = files(cluster, "runs", TOKEN_DIRECTORY)["token"]
    assert token.encode() not in b"".join(shown)
    assert token not in caplog.text
    return "\n".join([caplog.text, *trace, *(each.decode() for each in shown)])


def _plant(cluster: StorageCluster) -> None:
    login = {"password": encoded(secret("env")), "url": encoded(f"https://ann:{secret('in-a-url')}@db")}
    put(cluster, SECRETS, "Secret", "login", data=login)
    put(cluster, SECRETS, "Secret", "disk", data={"key": encoded(secret("csi"))})
    auths = {"auths": {REGISTRY: {"auth": encoded(f"ann:{secret('pull')}")}}}
    kind = "kubernetes.io/dockerconfigjson"
    put(cluster, SECRETS, "Secret", "pull", type=kind, data={".dockerconfigjson": encoded(json.dumps(auths))})
    put(
        cluster,
        SECRETS,
        "Secret",
        "broken",
        type=kind,
        data={".dockerconfigjson": encoded(json.dumps({"auths": secret("broken")}))},
    )
    put(cluster, MAPS, "ConfigMap", "settings", data={"color": "blue"})
    cluster.claim()
    reference = {"name": "disk", "namespace": "default"}
    cluster.bind(csi={"driver": DRIVER, "volumeHandle": "disk-claim", "nodePublishSecretRef": reference})
    headers = [{"name": "Authorization", "value": f"Bearer {secret('header')}"}]
    web = {"httpGet": {"path": "/", "port": 80, "httpHeaders": headers}}
    plain = {"name": "PLAIN", "value": secret("plain-env")}
    from_secret = {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}}
    asked = container(env=[plain], readinessProbe=web, lifecycle={"postStart": web})
    cluster.create("runs", containers=[asked], automountServiceAccountToken=True)
    one = container(env=[from_secret], envFrom=[{"secretRef": {"name": "login", "prefix": "DB_"}}])
    cluster.create("fails", containers=[one])
    image = container(image=f"{REGISTRY}/app:1")
    cluster.create("pulls", containers=[image], imagePullSecrets=[{"name": "pull"}, {"name": "broken"}])
    volumes = [{"name": "s", "secret": {"secretName": "odd"}}, {"name": "t", "secret": {"secretName": "login"}}]
    cluster.create("mounts", volumes=volumes)
    cluster.make("claims")


def _let_the_driver_repeat(cluster: StorageCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = cluster.node.volumes.prepare

    def repeat(pod: Pod, spec: Any, say: Any) -> str:
        if pod.metadata.name == "claims":
            raise VolumeFailedError(f"the driver knows no volume {spec.name}")
        return prepare(pod, spec, say)

    monkeypatch.setattr(cluster.node.volumes, "prepare", repeat)


def test_no_secret_is_in_anything_that_the_agent_says(said: str) -> None:
    for expected in ("401 for", "cannot create it with", "the driver knows no volume"):
        assert expected in said, f"the failure was never told: {expected}"
    leaks = sorted({said[max(at - 200, 0) : at + 60] for at in _places(said, MARK)} | _in_base64(said))
    assert leaks == []


def _places(text: str, part: str) -> list[int]:
    places, at = [], text.find(part)
    while at >= 0:
        places.append(at)
        at = text.find(part, at + 1)
    return places


def _in_base64(text: str) -> set[str]:
    """The mark as it stands in base64, at each of the three offsets."""
    forms = {encoded("ab"[:shift] + MARK)[4 if shift else 0 : -4] for shift in range(3)}
    return {form for form in forms if form in text}
