"""Manifests handed to the agent with curl, on containerd.

They survive a restart, and have mirror pods in the API.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.agent import NODE, Agent
from tests.real.images import BUSYBOX
from tests.real.kubectl import Kubectl, kubectl_on, port_of
from tests.real.waiting import until

YAML = f"""
apiVersion: v1
kind: PodList
items:
- metadata: {{name: one}}
  spec: &spec
    terminationGracePeriodSeconds: 1
    containers:
    - {{name: main, image: "{BUSYBOX}", imagePullPolicy: Never, command: [sleep, "1000000"]}}
- metadata: {{name: two}}
  spec: *spec
"""


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent, "--accept-manifests") as found:
        yield found


class Curl:
    """curl with the token of the admin; `token` empty: without."""

    def __init__(self, agent: Agent, kubectl: Kubectl) -> None:
        self._url = f"https://127.0.0.1:{port_of(agent)}"
        found = re.search(r"token: \"?([\w-]+)", Path(kubectl.kubeconfig).read_text())
        assert found is not None
        self._token = found[1]

    def __call__(self, path: str, *arguments: str, stdin: str = "", known: bool = True) -> tuple[int, Any]:
        """Status and document."""
        who = ["-H", f"Authorization: Bearer {self._token}"] if known else []
        command = ["curl", "-sk", "-w", "\\n%{http_code}", *who, *arguments, self._url + path]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), json.loads(body) if body.startswith("{") else body


def test_pods_come_by_curl_survive_a_restart_and_go_by_curl(agent: Agent, kubectl: Kubectl) -> None:
    curl = Curl(agent, kubectl)
    take = ("-X", "POST", "--data-binary", "@-")
    assert curl("/manifests", *take, stdin=YAML, known=False)[0] == 401
    status, told = curl("/manifests", *take, stdin=YAML)
    assert status == 201, told
    assert [(pod["namespace"], pod["pod"], pod["change"]) for pod in told["pods"]] == [
        ("default", f"one-{NODE}", "created"),
        ("default", f"two-{NODE}", "created"),
    ]
    for name in ("one", "two"):
        kubectl("wait", f"pod/{name}-{NODE}", "--for=create", "--timeout=120s")
        kubectl("wait", f"pod/{name}-{NODE}", "--for=condition=Ready", "--timeout=120s")
    sees = "{.metadata.annotations.kubernetes\\.io/config\\.source} {.status.containerStatuses[0].containerID}"
    before = kubectl("get", "pod", f"one-{NODE}", "-o", f"jsonpath={sees}")
    assert before.startswith("http-push containerd://")

    status, told = curl("/manifests", *take, stdin=YAML.replace("name: main", "name: Main"))
    assert status == 422
    assert "$.items[0].spec.containers[0].name" in [each["field"] for each in told["details"]["causes"]], told
    assert curl("/manifests", *take, stdin="kind: [")[0] == 422

    agent.kill()
    agent.start(*agent.flags)
    until(lambda: [each["metadata"]["name"] for each in _held(curl)] == ["one", "two"], 30, "they are forgotten")
    kubectl("wait", f"pod/one-{NODE}", "--for=condition=Ready", "--timeout=120s")
    assert kubectl("get", "pod", f"one-{NODE}", "-o", f"jsonpath={sees}") == before

    assert curl("/manifests/default/one", "-X", "DELETE")[0] == 200
    assert curl("/manifests/default/one", "-X", "DELETE")[0] == 404
    kubectl("wait", f"pod/one-{NODE}", "--for=delete", "--timeout=120s")
    assert kubectl("get", "pods", "-o", "name") == f"pod/two-{NODE}\n"


def _held(curl: Curl) -> list[Any]:
    status, told = curl("/manifests", "--retry", "8", "--retry-connrefused")  # it may have begun just now
    assert status == 200
    items: list[Any] = told["items"]
    return items
