"""The image of `deploy/Containerfile` is built, and runs as `deploy/hollow-nodes.yaml` runs it.

On containerd.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.real.agent import Agent
from tests.real.container_image import ROOT, Builder
from tests.real.containerd import Containerd

IMAGE = "localhost/actorlet:test"
ENDED = ("Succeeded", "Failed")


def hollow_template() -> Any:
    """The pod template of `deploy/hollow-nodes.yaml`."""
    documents = yaml.safe_load_all((ROOT / "deploy" / "hollow-nodes.yaml").read_text())
    return next(each for each in documents if each["kind"] == "StatefulSet")["spec"]["template"]["spec"]


def running(name: str, *arguments: str) -> dict[str, Any]:
    """A pod of the image, held back as hollow nodes are: not root, no capabilities, read-only files."""
    template = hollow_template()
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": list(arguments),
        "securityContext": template["containers"][0]["securityContext"],
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "securityContext": template["securityContext"],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "containers": [container],
        },
    }


def test_the_image_runs_without_rights(agent: Agent, containerd: Containerd, tmp_path: Path) -> None:
    containerd.ctr("images", "import", str(Builder(tmp_path).build(IMAGE)))
    agent.start()
    agent.drop("version.json", running("version", "--version"))
    agent.drop("up.json", running("up", "up", "--once", "--output", "json"))
    names = ("version", "up")
    agent.await_that(lambda: all(agent.status(name).phase in ENDED for name in names), "not ended", limit_s=60)
    assert [agent.status(name).phase for name in names] == ["Succeeded"] * 2, "\n".join(agent.log("up"))
    assert agent.log("version") == ["actorlet 0.1.0 (kubelet 1.36)"]
    (document,) = agent.log("up")
    shown = json.loads(document)
    assert shown["arrived"] is True
    assert {pod["status"] for pod in shown["pods"]} <= {"Running", "Completed", "Succeeded"}
