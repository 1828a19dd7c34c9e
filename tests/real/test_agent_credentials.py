"""Pulls from a registry that wants to know who asks, on containerd."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cli.embedded_api import ApiServerOptions, EmbeddedApi, embedded_api
from cli.node_start import open_lines
from config.api_resources import CONFIG_MAPS, PODS, SECRETS, Resource
from config.codec import from_builtins
from config.kubelet import KubeletConfiguration
from config.objects import ConfigMap, Pod, Secret
from runtime.api import create, get
from runtime.api.access import read_access
from runtime.event_loop import LoopThread
from tests.real.agent import NODE, Agent
from tests.real.containerd import Containerd
from tests.real.images import Recipe, build
from tests.real.pods import Truth, container, pod
from tests.real.registry import AUTH, Registry
from tests.real.waiting import until

HOST = "private.test"
IMAGE = f"{HOST}/team/app:1"


@pytest.fixture(scope="module")
def private(containerd: Containerd) -> Iterator[Registry]:
    """A registry with a password that containerd knows as `HOST`, and an image in it."""
    serving = Registry(containerd.directory / "private-registry", private=True)
    try:
        containerd.mirror(HOST, serving.address)
        serving.push(build(Recipe(IMAGE)), "team/app", "1")
        yield serving
    finally:
        serving.stop()


def test_the_nodes_docker_configuration_opens_a_private_registry_without_a_restart(
    agent: Agent, private: Registry
) -> None:
    agent.drop("app.json", pod("app", container(image=IMAGE, imagePullPolicy="Always")))
    agent.start()

    def refused() -> bool:
        status = agent.container("app")
        waiting = status.state.waiting if status is not None and status.state is not None else None
        return waiting is not None and waiting.reason in ("ErrImagePull", "ImagePullBackOff")

    agent.await_that(refused, "nobody may pull it, and that is not said")
    wrong = {"auth": "eDp5"}
    auths = {f"https://{HOST}/v2/": {"auth": AUTH}, f"{HOST}/team/app": wrong, "*.test/other": wrong}
    (agent.root / "config.json").write_text(json.dumps({"auths": auths}))
    agent.await_running("app", limit_s=30)


class Cluster:
    """An API server with the Node authorizer, in this process; `main` asks it as its admin."""

    def __init__(self, served: EmbeddedApi, loop: LoopThread) -> None:
        self.node_kubeconfig = served.node_kubeconfigs[NODE]
        self.lines = open_lines(read_access(served.kubeconfig), loop, KubeletConfiguration())

    def create(self, resource: Resource[Any], kind: type[Any], document: dict[str, Any]) -> None:
        self.lines.main.call(create(resource, "default", from_builtins(document, kind))).result(10)

    def phase(self, name: str) -> str | None:
        found = self.lines.main.call(get(PODS, "default", name)).result(10)
        return found.status.phase if found.status is not None else None


@pytest.fixture
def cluster(agent: Agent) -> Iterator[Cluster]:
    place = agent.directory / "api"
    place.mkdir()
    options = ApiServerOptions(str(place), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,))
    with embedded_api(options) as served, closing(LoopThread("admin")) as loop:
        cluster = Cluster(served, loop)
        with closing(cluster.lines):
            yield cluster
            agent.take_down()


def test_a_pod_of_a_cluster_takes_its_image_and_its_variables_from_what_it_refers_to(
    agent: Agent, private: Registry, cluster: Cluster, truth: Truth
) -> None:
    document = json.dumps({"auths": {HOST: {"auth": AUTH}}}).encode()
    meta = {"name": "pull", "namespace": "default"}
    kind = "kubernetes.io/dockerconfigjson"
    data = {".dockerconfigjson": base64.b64encode(document).decode()}
    cluster.create(SECRETS, Secret, {"metadata": meta, "type": kind, "data": data})
    cluster.create(
        CONFIG_MAPS, ConfigMap, {"metadata": {"name": "settings", "namespace": "default"}, "data": {"A": "1"}}
    )
    spec = {
        "nodeName": NODE,
        "imagePullSecrets": [{"name": "pull"}],
        "containers": [
            container(image=IMAGE, imagePullPolicy="Always", envFrom=[{"configMapRef": {"name": "settings"}}]),
        ],
    }
    name = f"app-{NODE}"  # as the pods of manifests are called, which the harness looks for
    cluster.create(PODS, Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
    agent.start("--kubeconfig", cluster.node_kubeconfig)
    until(lambda: cluster.phase(name) == "Running", 30, lambda: f"it does not run: {agent.said()[-3000:]}")
    found = truth.run(truth.running("app", "main"), "env").splitlines()
    assert "A=1" in found
    assert any(line.startswith("KUBERNETES_SERVICE_HOST=") for line in found)
