"""Files that the agent writes for pods, on containerd.

They are in memory and read-only, change all at once, and go with their pod.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.real.agent import NODE, Agent
from tests.real.pods import Truth, container, pod

FIELDS = [
    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
    {"path": "deep/name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
]
LIMIT = {"resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}}
VOLUMES: list[dict[str, Any]] = [
    {"name": "down", "downwardAPI": {"items": FIELDS}},
    {"name": "all", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "limit", **LIMIT}]}}]}},
    {"name": "own", "emptyDir": {}},
]
MOUNTS = [
    {"name": "down", "mountPath": "/down"},
    {"name": "own", "mountPath": "/down/own"},
    {"name": "all", "mountPath": "/limit", "subPath": "limit"},
]


def test_files_about_the_pod_are_read_only_in_memory_and_gone_with_it(agent: Agent, truth: Truth) -> None:
    main = container("main", volumeMounts=MOUNTS, resources={"limits": {"memory": "64Mi"}})
    document = pod("down", main, volumes=VOLUMES, labels={"b": "x.y", "a": "1"}, securityContext={"fsGroup": 777})
    manifest = agent.drop("down.json", document)
    agent.start()
    agent.await_running("down")
    uid = agent.pod("down").metadata.uid
    inside = truth.running("down", "main")
    lines = truth.run(inside, "cat", "/down/labels").splitlines()
    assert [line for line in lines if line[0] in "ab"] == ['a="1"', 'b="x.y"']
    assert truth.run(inside, "cat", "/down/deep/name") == f"down-{NODE}"
    assert truth.run(inside, "cat", "/limit") == "64"
    assert truth.run(inside, "stat", "-L", "-c", "%a %g", "/down/deep/name", "/down/..data") == "440 777\n2755 777\n"
    assert "tmpfs" in truth.run(inside, "sh", "-c", "grep ' /down ' /proc/mounts")
    assert truth.run(inside, "sh", "-c", "touch /down/x 2>&1 || true").endswith("Read-only file system\n")
    truth.run(inside, "touch", "/down/own/file")

    (volume,) = agent.pod_directory(uid).glob("volumes/kubernetes.io~downward-api/down")
    version = os.readlink(volume / "..data")
    agent.kill()
    agent.start()
    agent.await_running("down")
    agent.await_that(lambda: agent.status("down").phase == "Running", "it is not shown again")
    assert os.readlink(volume / "..data") == version
    assert truth.running("down", "main") == inside

    manifest.unlink()
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")
    assert str(agent.pod_directory(uid)) not in Path("/proc/self/mountinfo").read_text()
