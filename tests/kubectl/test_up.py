"""`actorlet up` and the commands that it suggests: a cluster for kubectl.

Nothing of it is left afterwards.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.simulated.embedded_api import EmbeddedApi
from tests.kubectl.cluster import PATIENCE_S, Kubectl, missing

ROOT = Path(__file__).parents[2]
STATIC = """
apiVersion: v1
kind: Pod
metadata: {name: static}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
"""


class Up:
    """The command at work, and kubectl as it told us to use it."""

    def __init__(self, process: subprocess.Popen[str], kubectl: Kubectl) -> None:
        self.process = process
        self.kubectl = kubectl


@contextmanager
def up(directory: Path) -> Iterator[Up]:
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    manifests, home, passing = (directory / name for name in ("manifests", "home", "passing"))
    for place in (manifests, home, passing):
        place.mkdir(exist_ok=True)
    (manifests / "static.yaml").write_text(STATIC)
    command = [sys.executable, "-m", "actorlet", "up", "--manifests", str(manifests)]
    environment = {**os.environ, "TMPDIR": str(passing)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        _, assignment = shlex.split(process.stdout.readline())
        name, _, path = assignment.partition("=")
        assert name == "KUBECONFIG"
        kubectl = Kubectl(EmbeddedApi(None, "", path, {}), home, "default")  # type: ignore[arg-type]  # it is elsewhere
        kubectl("wait", "node/demo", "--for=create", "--timeout=120s")
        kubectl("wait", "node/demo", "--for=condition=Ready", "--timeout=120s")
        yield Up(process, kubectl)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_output_of_up_is_all_that_kubectl_needs(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        kubectl = running.kubectl
        kubectl("wait", "pod/static-demo", "--for=create", "--timeout=120s")
        kubectl("wait", "pod/static-demo", "--for=condition=Ready", "--timeout=120s")
        kubectl("run", "web", "--image=nginx:1.27")
        kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s")
        rows = kubectl("get", "pods", "-o", "wide")
        assert [rows.row(name)["NODE"] for name in ("static-demo", "web")] == ["demo", "demo"]
        assert "Container started" in kubectl("describe", "pod", "web").out
        kubectl("delete", "pod", "web")
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE_S) == 0
    assert list((tmp_path / "passing").iterdir()) == []


def test_a_deleted_mirror_comes_back(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        kubectl = running.kubectl
        kubectl("wait", "pod/static-demo", "--for=create", "--timeout=120s")
        with kubectl.following("get", "pod", "static-demo", "--watch", "--output-watch-events") as lines:
            assert next(lines).split()[0] == "EVENT"
            assert next(lines).split()[0] == "ADDED"
            kubectl("delete", "pod", "static-demo", "--wait=false")
            for kind in ("DELETED", "ADDED"):
                while next(lines).split()[0] != kind:
                    pass
        kubectl("wait", "pod/static-demo", "--for=condition=Ready", "--timeout=120s")


def test_a_new_run_removes_the_leftovers_of_a_killed_one(tmp_path: Path) -> None:
    with up(tmp_path) as killed:
        killed.process.kill()
        killed.process.wait()
        left = Path(killed.kubectl.api.kubeconfig)
        assert left.exists()
    with up(tmp_path):
        assert not left.exists()


TALKS = """
apiVersion: v1
kind: Pod
metadata:
  name: talks
  annotations: {simulated.actorlet.dev/output: "one\\ntwo"}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
"""


def test_logs_come_from_the_simulated_disk_and_sessions_are_refused_in_words(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        kubectl = running.kubectl
        kubectl.running("talks", TALKS)
        assert kubectl("logs", "talks").lines == ["one", "two"]
        assert kubectl("logs", "talks", "--tail=1").lines == ["two"]
        assert "this container runtime serves no sessions" in kubectl.refused("exec", "talks", "--", "ls")
        assert kubectl("get", "--raw", "/api/v1/nodes/demo/proxy/healthz").out == "ok"


def test_kubectl_top_shows_the_use_of_nodes_and_pods(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        kubectl = running.kubectl
        kubectl("wait", "pod/static-demo", "--for=create", "--timeout=120s")
        kubectl("wait", "pod/static-demo", "--for=condition=Ready", "--timeout=120s")
        row = kubectl("top", "pods").row("static-demo")
        assert row["MEMORY(bytes)"] == "16Mi"
        assert row["CPU(cores)"] in ("10m", "11m"), "a rate between two moments of real time, rounded up by kubectl"
        assert kubectl("top", "pods", "--containers").row("static-demo")["NAME"] == "main"
        assert kubectl("top", "nodes").row("demo")["MEMORY(%)"].endswith("%")
        summary = kubectl("get", "--raw", "/api/v1/nodes/demo/proxy/stats/summary").json()
        assert summary["node"]["nodeName"] == "demo"
