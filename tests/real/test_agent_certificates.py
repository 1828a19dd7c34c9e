"""The agent's serving certificate, signed by the cluster after a person has approved it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.real.agent import NODE, Agent
from tests.real.kubectl import Kubectl, kubectl_on, port_of
from tests.real.pods import container, pod
from tests.real.waiting import until


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent, serverTLSBootstrap=True) as found:
        yield found


def shown(agent: Agent, name: str) -> dict[str, object]:
    """The certificate that the agent shows to a client that trusts the cluster and wants this name.

    Raises ssl.SSLError.
    """
    trusting = ssl.create_default_context(cafile=str(agent.directory / "api" / "ca.crt"))
    with (
        socket.create_connection(("127.0.0.1", port_of(agent)), 120) as plain,
        trusting.wrap_socket(plain, server_hostname=name) as secure,
    ):
        return dict(secure.getpeercert() or {})


# (spec 17.2.2)
def test_a_certificate_is_asked_for_approved_by_kubectl_and_shown(agent: Agent, kubectl: Kubectl) -> None:
    until(lambda: "Pending" in kubectl("get", "csr"), 30, "none is asked for")
    assert "kubernetes.io/kubelet-serving" in kubectl("get", "csr")
    assert f"system:node:{NODE}" in kubectl("get", "csr")
    with pytest.raises(ssl.SSLError):
        shown(agent, NODE)
    # Nothing else waits for it.
    name = kubectl.run(pod("web", container(script="echo hello; sleep 1000000")))
    assert kubectl.attempt("logs", name)[0]

    kubectl("certificate", "approve", kubectl("get", "csr", "-o", "name").strip())
    until((agent.directory / "pki" / "kubelet-server-current.pem").exists, 30, "it does not arrive")

    def is_shown() -> bool:
        try:
            return bool(shown(agent, NODE))
        except ssl.SSLError:
            return False

    until(is_shown, 15, "it is not shown")
    assert kubectl("logs", name) == "hello\n"
    assert "Approved,Issued" in kubectl("get", "csr")
