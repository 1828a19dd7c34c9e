"""A node joins a cluster as kubeadm lets it.

Its first credentials are good for a certificate request only.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from cli.simulated.embedded_api import ApiServerOptions, embedded_api
from tests.real.agent import NODE, Agent
from tests.real.kubectl import Kubectl
from tests.real.waiting import until


# (spec 17.3.3)
def test_a_node_asks_for_a_certificate_and_joins_once_it_is_approved(agent: Agent) -> None:
    place = agent.directory / "api"
    place.mkdir()
    options = ApiServerOptions(str(place), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,))
    with embedded_api(options) as served:
        kubectl = Kubectl(served.kubeconfig)
        kubeconfig, pki = agent.directory / "kubelet.conf", agent.directory / "pki"
        bootstrap = agent.directory / "bootstrap.conf"
        shutil.copy(served.node_kubeconfigs[NODE], bootstrap)
        agent.configure(rotateCertificates=True)
        flags = ["--kubeconfig", str(kubeconfig), "--bootstrap-kubeconfig", str(bootstrap), "--cert-dir", str(pki)]
        agent.begin(*flags)
        until(lambda: "kube-apiserver-client-kubelet" in kubectl("get", "csr"), 30, agent.said)
        assert not kubeconfig.exists()
        kubectl("certificate", "approve", kubectl("get", "csr", "-o", "name").strip())
        agent.await_answer()
        token = [line for line in bootstrap.read_text().splitlines() if "token" in line]
        assert token
        assert "token" not in kubeconfig.read_text()
        assert str(pki / "kubelet-client-current.pem") in kubeconfig.read_text()
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        kubectl("wait", f"node/{NODE}", "--for=create", "--timeout=120s")
        kubectl("wait", f"node/{NODE}", "--for=condition=Ready", "--timeout=120s")

        # What is valid is used: the bootstrap is needed no more, and nothing is asked for.
        agent.terminate()
        Path(bootstrap).unlink()
        agent.start(*flags)
        assert len(kubectl("get", "csr", "-o", "name").split()) == 1
        agent.take_down()
