"""`actorlet up` on a real runtime, with kubectl as its output suggests.

A cluster of one real node.
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

from tests.kubectl.cluster import missing
from tests.real.containerd import Containerd
from tests.real.images import BUSYBOX

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {{name: settings, configMap: {{name: settings}}}}
  containers:
  - name: main
    image: {BUSYBOX}
    imagePullPolicy: Never
    command: [sleep, "1000000"]
    volumeMounts: [{{name: settings, mountPath: /etc/settings}}]
    readinessProbe: {{exec: {{command: [grep, -q, blue, /etc/settings/sky]}}, periodSeconds: 1}}
"""


@contextmanager
def up(containerd: Containerd, directory: Path) -> Iterator[dict[str, str]]:
    """The environment in which kubectl finds the cluster."""
    manifests, root, home = (directory / name for name in ("manifests", "root", "home"))
    for place in (manifests, home):
        place.mkdir()
    command = [sys.executable, "-m", "actorlet", "up", "--runtime", containerd.endpoint]
    command += ["--manifests", str(manifests), "--root-dir", str(root)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        _, assignment = shlex.split(process.stdout.readline())
        name, _, path = assignment.partition("=")
        yield {"PATH": os.environ["PATH"], "HOME": str(home), name: path}
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert not Path(path).exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_pod_of_kubectl_runs_on_containerd(containerd: Containerd, tmp_path: Path) -> None:
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    with up(containerd, tmp_path) as environment:

        def kubectl(*arguments: str, stdin: str = "") -> str:
            done = subprocess.run(
                ["kubectl", *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                env=environment,
                timeout=PATIENCE_S,
                check=False,
            )
            if done.returncode:
                pytest.fail(f"kubectl {' '.join(arguments)}\n{done.stdout}{done.stderr}")
            return done.stdout

        kubectl("create", "configmap", "settings", "--from-literal=sky=blue")
        kubectl("apply", "-f", "-", stdin=POD)
        kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=120s")
        assert "containerd://" in kubectl("get", "nodes", "-o", "wide")
        described = kubectl("describe", "pod", "web")
        for told in ("Successfully assigned default/web to", "Container created", "Container started"):
            assert told in described
        kubectl("delete", "pod", "web")
        assert kubectl("get", "pods", "-o", "name") == ""
