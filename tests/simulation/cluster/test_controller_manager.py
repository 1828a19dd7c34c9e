"""A real kube-controller-manager beside the embedded API server.

`ACTORLET_TEST_CONTROL_PLANE` names a folder with one. Without it, only what needs none is tried.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actorlet.testing import ClusterError, cluster
from tests.simulation.cluster.plain_client import PODS, PlainClient

PROGRAM = Path(os.environ.get("ACTORLET_TEST_CONTROL_PLANE", "")) / "kube-controller-manager"
WAIT = 120
needs_it = pytest.mark.skipif(not PROGRAM.is_file(), reason="ACTORLET_TEST_CONTROL_PLANE names no folder with one")
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
WEB = f"{APPS}/deployments/web"
DEAD_NODE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
LEAVES_AT_ONCE = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}


def program(directory: Path, text: str) -> Path:
    path = directory / "kube-controller-manager"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_one_that_is_not_there_is_refused_in_one_sentence(tmp_path: Path):
    with pytest.raises(ClusterError, match=f"there is no file {tmp_path}/kcm; controller_manager is the path of"):
        cluster(time="real", controller_manager=tmp_path / "kcm")


def test_stepped_time_is_refused(tmp_path: Path):
    with pytest.raises(ClusterError, match=r"controller_manager works in real time, .* take time `auto`, or `real`"):
        cluster(controller_manager=program(tmp_path, "#!/bin/sh\n"))


def test_the_last_words_of_one_that_ends_are_the_answer_to_the_next_order(tmp_path: Path):
    path = program(tmp_path, '#!/bin/sh\necho "no such API: $*" >&2\nexit 3\n')
    with cluster(time="real", controller_manager=path) as found, pytest.raises(ClusterError) as refusal:
        found.until(lambda: False, within=f"{WAIT}s")
    text = str(refusal.value)
    assert "kube-controller-manager has ended with exit status 3; its last words:\nno such API: --kubeconfig=" in text


def test_it_ends_with_the_cluster_even_one_that_is_killed(tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    code = f"import os, signal\nos.write(os.open({str(fifo)!r}, os.O_WRONLY), b'up')\nsignal.pause()\n"
    found = cluster(time="real", controller_manager=program(tmp_path, f"#!{sys.executable}\n{code}"))
    try:
        assert select.select([pipe], [], [], WAIT)[0]
        assert os.read(pipe, 100) == b"up"
        os.kill(found.pid, signal.SIGKILL)
        assert select.select([pipe], [], [], WAIT)[0]
        assert os.read(pipe, 100) == b""
    finally:
        found.close()
        os.close(pipe)


def test_the_command_takes_one_too(tmp_path: Path):
    command = [sys.executable, "-m", "actorlet", "simulate-cluster", "--controller-manager", str(tmp_path / "kcm")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"actorlet simulate-cluster: there is no file {tmp_path}/kcm; ")
    assert ran.stderr.count("\n") == 1


# --- with a real one --------------------------------------------------------------------------------------------------


def template(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "app", "image": "registry.example/app:1"}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {"kind": kind, "metadata": {"name": "web"}, "spec": {"selector": selector, "template": template(), **spec}}


def images(api: PlainClient) -> list[str]:
    pods = api.pods().values()
    return [each["spec"]["containers"][0]["image"] for each in pods if "deletionTimestamp" not in each["metadata"]]


def has(api: PlainClient, path: str, **status: int) -> bool:
    found = api.ask("GET", path).get("status") or {}
    return all(found.get(name) == value for name, value in status.items())


@needs_it
def test_a_deployment_makes_its_pods_rolls_over_and_takes_them_along():
    with cluster(nodes=3, time="real", controller_manager=PROGRAM) as found:
        api = PlainClient(found)
        roll_over(api, found.until)
        api.ask("DELETE", WEB)
        found.until(lambda: not api.pods())


@needs_it
def test_in_the_mode_auto_a_deployment_rolls_over_and_leaves_a_dead_node():
    """Three hours of the cluster are minutes for the program: each look of `until` costs it a pause."""
    with cluster(nodes=3, time="auto", controller_manager=PROGRAM) as found:
        api = PlainClient(found)
        until = partial(found.until, within="3h", every="1s")
        roll_over(api, until, tolerations=[{**LEAVES_AT_ONCE, "key": key} for key in DEAD_NODE])
        victim = nodes_of(api)[0]
        found.kill_node(victim)
        until(lambda: victim not in nodes_of(api) and has(api, WEB, readyReplicas=3))
        assert len(nodes_of(api)) == 3


def roll_over(api: PlainClient, until: Callable[..., object], **spec: Any) -> None:
    """Make a Deployment of three pods, and change the image of its template."""
    api.ask("POST", f"{APPS}/deployments", workload("Deployment", replicas=3, template=template(**spec)))
    until(lambda: has(api, WEB, readyReplicas=3, observedGeneration=1))
    changed = api.ask("GET", WEB)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    api.ask("PUT", WEB, changed)
    done = {"readyReplicas": 3, "updatedReplicas": 3, "replicas": 3, "observedGeneration": 2}
    until(lambda: has(api, WEB, **done))
    until(lambda: images(api) == ["registry.example/app:2"] * 3)


def nodes_of(api: PlainClient) -> list[str]:
    """Of the pods that stay."""
    pods = api.pods().values()
    return sorted(each["spec"].get("nodeName", "") for each in pods if "deletionTimestamp" not in each["metadata"])


@needs_it
def test_the_other_workloads_get_their_pods_and_services_their_endpoints():
    with cluster(nodes=2, time="real", controller_manager=PROGRAM) as found:
        api = PlainClient(found)
        api.ask("POST", "/api/v1/namespaces/default/services", service())
        api.ask("POST", f"{APPS}/statefulsets", workload("StatefulSet", replicas=2, serviceName="web"))
        found.until(lambda: set(api.pods()) == {"web-0", "web-1"} and all(map(api.is_ready, ("web-0", "web-1"))))
        found.until(lambda: len(endpoints(api)) == 2)
        assert {each["nodeName"] for each in endpoints(api)} == {"node-0", "node-1"}
        assert len({address for each in endpoints(api) for address in each["addresses"]}) == 2
        api.ask("DELETE", f"{APPS}/statefulsets/web")
        found.until(lambda: not api.pods())
        api.ask("POST", f"{APPS}/daemonsets", workload("DaemonSet"))
        found.until(lambda: has(api, f"{APPS}/daemonsets/web", numberReady=2))
        found.reset()
        assert not api.ask("GET", PODS)["items"]
        found.behave("web-*", run_for="0s", exit_code=0)
        job = {"template": template(restartPolicy="Never"), "completions": 2}
        api.ask("POST", f"{BATCH}/jobs", {"kind": "Job", "metadata": {"name": "web"}, "spec": job})
        found.until(lambda: has(api, f"{BATCH}/jobs/web", succeeded=2))


def service() -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}


def endpoints(api: PlainClient) -> list[Any]:
    found = api.ask("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")["items"]
    return [each for one in found for each in one.get("endpoints") or ()]
