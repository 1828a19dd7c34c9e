"""kubectl on a cluster that a test has started: without TLS, with time that goes by itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from simulation.cluster import cluster
from tests.kubectl.cluster import PATIENCE_S, POD, missing


def test_kubectl_applies_waits_and_describes(tmp_path: Path) -> None:
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    with cluster(nodes=2, time="x60") as found:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": found.kubeconfig}

        def kubectl(*arguments: str, stdin: str = "") -> str:
            command = ["kubectl", *arguments]
            return subprocess.run(
                command, input=stdin, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
            ).stdout

        assert kubectl("get", "nodes", "-o", "name").split() == ["node/node-0", "node/node-1"]
        found.behave("web", run_for="30s,forever", exit_code=4)
        assert kubectl("apply", "-f", "-", stdin=POD) == "pod/web created\n"
        assert kubectl("wait", "--for=condition=Ready", "pod/web") == "pod/web condition met\n"
        kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/web")
        assert "Exit Code:    4" in kubectl("describe", "pod", "web")
        kubectl("delete", "pod", "web", "--wait")
        assert kubectl("get", "pods", "-o", "name") == ""
