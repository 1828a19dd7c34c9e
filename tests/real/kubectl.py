"""kubectl on the agent of a test: as the admin of an embedded API server that the agent has joined."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cli.simulated.embedded_api import ApiServerOptions, embedded_api
from tests.kubectl.cluster import missing
from tests.ports import free_port
from tests.real.agent import NODE, Agent

PATIENCE_S = 300
WEBSOCKETS = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "true"}
SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
"""What of the two kubectl speaks.

It speaks websockets when nothing is said, and SPDY where those are refused.
"""


class Kubectl:
    """kubectl with a kubeconfig. `environment` comes on top of the own."""

    def __init__(self, kubeconfig: str, **environment: str) -> None:
        self.kubeconfig = kubeconfig
        self.environment = {**os.environ, **environment, "KUBECONFIG": kubeconfig}

    def speaking(self, protocol: dict[str, str]) -> Kubectl:
        """The same with `WEBSOCKETS` or `SPDY`."""
        return Kubectl(self.kubeconfig, **protocol)

    def popen(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        own = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options}
        return subprocess.Popen(["kubectl", *arguments], env=self.environment, **own)

    def attempt(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Exit status, output and errors."""
        with self.popen(*arguments) as process:
            try:
                out, err = process.communicate(stdin, timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out, err

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Its output; it must succeed."""
        code, out, err = self.attempt(*arguments, stdin=stdin)
        assert code == 0, f"kubectl {' '.join(arguments)}: {code}\n{out}{err}"
        return out

    def run(self, document: dict[str, Any]) -> str:
        """A pod of this document, once it is ready; its name."""
        self("apply", "-f", "-", stdin=json.dumps(document))
        name: str = document["metadata"]["name"]
        self("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=120s")
        return name


@contextmanager
def following(process: subprocess.Popen[str]) -> Iterator[Iterator[str]]:
    """Its lines as they come; it is ended with the context."""
    assert process.stdout is not None
    try:
        yield iter(process.stdout)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def kubectl_on(agent: Agent, *flags: str, **fields: Any) -> Iterator[Kubectl]:
    """On a cluster of one node, which is started: what is asked of it goes through the API server.

    `flags` and `fields` of the configuration are more for the agent.
    """
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    place = agent.directory / "api"
    place.mkdir()
    options = ApiServerOptions(str(place), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,))
    with embedded_api(options) as served:
        own = {
            "enableServer": True,
            "port": free_port(),
            "healthzPort": free_port(),
            "authentication": {"x509": {"clientCAFile": served.authority}},
        }
        agent.configure(**{**own, **fields})
        joined = ["--kubeconfig", served.node_kubeconfigs[NODE], "--cert-dir", str(agent.directory / "pki")]
        agent.start(*joined, *flags)
        found = Kubectl(served.kubeconfig)
        found("wait", f"node/{NODE}", "--for=create", "--timeout=120s")
        found("wait", f"node/{NODE}", "--for=condition=Ready", "--timeout=120s")
        yield found
        agent.take_down()


def port_of(agent: Agent) -> int:
    """Of its server."""
    port: int = json.loads(agent.config.read_text())["port"]
    return port
