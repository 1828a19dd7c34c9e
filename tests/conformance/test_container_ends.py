"""The conformance behaviours of ends, restarts, init and ephemeral containers, on a simulated node.

A test has the name of its behaviour; `behaviours.py` has all of them with the place where each is shown.
"""

from __future__ import annotations

from typing import Any

import pytest

from runtime.cri.messages import NamespaceMode
from tests.conformance.clusters import (
    change,
    does,
    made,
    record,
    running,
    status_of,
)
from tests.simulation.node.test_api_server import MINUTE, Cluster, conditions
from tests.simulation.node.worlds import SECOND, container

# --- ends, restarts and what is said of them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "codes", "phase", "restarts"),
    [
        ("Always", "1,0,0", "Running", 2),
        ("OnFailure", "1,0,0", "Succeeded", 1),
        ("Never", "1,0,0", "Failed", 0),
        ("Never", "0", "Succeeded", 0),
    ],
)
def test_container_runtime_restart_policy_pod_phases(
    cluster: Cluster, policy: str, codes: str, phase: str, restarts: int
):
    behaviour = does(run_for="2s,2s,forever", exit_code=codes)
    cluster.create("web", restartPolicy=policy, annotations=behaviour)
    cluster.run(2 * MINUTE)
    assert cluster.phases()["web"] == phase
    status = status_of(cluster, "web")
    assert status["restartCount"] == restarts
    assert ("running" in status["state"]) == (phase == "Running")
    assert conditions(cluster.pods()["web"])["Ready"] == ("True" if phase == "Running" else "False")


@pytest.mark.parametrize(
    ("exit_code", "policy", "file", "log", "message"),
    [
        pytest.param("0", "FallbackToLogsOnError", "", "DONE", None, id="from log output of succeeding container"),
        pytest.param("0", "FallbackToLogsOnError", "OK", "DONE", "OK", id="from file of succeeding container"),
        pytest.param("1", "FallbackToLogsOnError", "", "DONE", "DONE", id="from log output of failing container"),
        pytest.param("1", "File", "", "DONE", None, id="no file of failing container, and its policy is File"),
        pytest.param("1", "FallbackToLogsOnError", "why", "DONE", "why", id="the file goes before the log"),
    ],
)
def test_container_runtime_termination_message(
    cluster: Cluster, exit_code: str, policy: str, file: str, log: str, message: str | None
):
    knobs = {"termination_message": file} if file else {}
    behaviour = does(run_for="1s", exit_code=exit_code, output=log, **knobs)
    app = container(terminationMessagePolicy=policy)
    cluster.create("web", restartPolicy="Never", annotations=behaviour, containers=[app])
    cluster.until(lambda: cluster.phases()["web"] in ("Succeeded", "Failed"))
    ended = status_of(cluster, "web")["state"]["terminated"]
    assert (ended.get("message") or "").strip() == (message or "")


def test_container_runtime_termination_message_path_non_default_path(cluster: Cluster):
    app = container(terminationMessagePath="/dev/own-log", securityContext={"runAsUser": 1000})
    behaviour = does(run_for="1s", termination_message="DONE")
    cluster.create("web", restartPolicy="Never", annotations=behaviour, containers=[app])
    cluster.until(lambda: cluster.phases()["web"] == "Succeeded")
    assert status_of(cluster, "web")["state"]["terminated"]["message"] == "DONE"
    assert any(mount.container_path == "/dev/own-log" for mount in record(cluster).config.mounts)


def test_kubelet_failed_pod_terminated_reason_and_delete(cluster: Cluster):
    cluster.create("web", restartPolicy="Never", annotations=does(run_for="1s", exit_code="1"))
    cluster.until(lambda: cluster.phases()["web"] == "Failed")
    ended = status_of(cluster, "web")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (1, "Error")
    cluster.delete("web")
    cluster.until(lambda: cluster.pods() == {}, 20 * SECOND)


def test_kubelet_log_output_default(cluster: Cluster):
    cluster.create("web", annotations=does(output="hello"))
    running(cluster)
    cluster.run(SECOND)
    one = record(cluster)
    log = cluster.node.host.tree.read(f"{one.sandbox.config.log_directory}/{one.config.log_path}").decode()
    assert log.rstrip().endswith("stdout F hello")


# --- init containers and sidecars -------------------------------------------------------------------------------------


def init_pod(cluster: Cluster, policy: str, behaviour: dict[str, str]) -> None:
    inits = [container("init1"), container("init2")]
    cluster.create("web", restartPolicy=policy, initContainers=inits, annotations=behaviour)


def test_init_container_starts_app_restart_always_pod(cluster: Cluster):
    init_pod(cluster, "Always", does(run_for__init1="1s", run_for__init2="1s"))
    running(cluster)
    pod = cluster.pods()["web"]
    assert conditions(pod)["Initialized"] == "True"
    for status in pod["status"]["initContainerStatuses"]:
        assert status["ready"] is True
        assert status["state"]["terminated"]["exitCode"] == 0
    assert record(cluster, "init1").finished_at <= record(cluster, "init2").started_at


def test_init_container_starts_app_restart_never_pod(cluster: Cluster):
    init_pod(cluster, "Never", does(run_for="1s"))
    cluster.until(lambda: cluster.phases()["web"] == "Succeeded", 2 * MINUTE)
    pod = cluster.pods()["web"]
    assert conditions(pod)["Initialized"] == "True"
    everyone = pod["status"]["initContainerStatuses"] + pod["status"]["containerStatuses"]
    assert [each["state"]["terminated"]["exitCode"] for each in everyone] == [0, 0, 0]


def test_init_container_fails_stops_app_restart_never_pod(cluster: Cluster):
    init_pod(cluster, "Never", does(run_for="1s", exit_code__init2="1"))
    cluster.until(lambda: cluster.phases()["web"] == "Failed", 2 * MINUTE)
    cluster.run(MINUTE)
    pod = cluster.pods()["web"]
    assert conditions(pod)["Initialized"] == "False"
    first, second = pod["status"]["initContainerStatuses"]
    assert (first["state"]["terminated"]["exitCode"], second["state"]["terminated"]["exitCode"]) == (0, 1)
    assert "containerID" not in pod["status"]["containerStatuses"][0], "it was never made"


def test_init_container_fails_stops_app_restart_always_pod(cluster: Cluster):
    init_pod(cluster, "Always", does(run_for="1s", exit_code__init1="1"))
    cluster.run(2 * MINUTE)
    pod = cluster.pods()["web"]
    assert pod["status"]["phase"] == "Pending"
    found = {each["type"]: each for each in pod["status"]["conditions"]}["Initialized"]
    assert (found["status"], found["reason"]) == ("False", "ContainersNotInitialized")
    assert found["message"] == "containers with incomplete status: [init1 init2]"
    first, second = pod["status"]["initContainerStatuses"]
    assert first["restartCount"] >= 3
    assert second["state"]["waiting"]["reason"] == "PodInitializing"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"


def test_sidecars_run_beside_the_app_and_end_after_it(cluster: Cluster):
    side = container("side", restartPolicy="Always")
    behaviour = does(run_for__app="5s")
    cluster.create("web", restartPolicy="Never", initContainers=[side], annotations=behaviour)
    running(cluster)
    assert status_of(cluster, "web", "side", "initContainerStatuses")["started"] is True
    cluster.until(lambda: cluster.phases()["web"] == "Succeeded", MINUTE)
    assert record(cluster, "side").finished_at >= record(cluster, "app").finished_at


# --- ephemeral containers ---------------------------------------------------------------------------------------------


def debugger(name: str, **fields: Any) -> dict[str, Any]:
    return container(name, terminationMessagePolicy="File", **fields)


def test_ephemeral_container_creation(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    app = record(cluster)
    change(cluster, "web", "ephemeralcontainers", ephemeralContainers=[debugger("debug", targetContainerName="app")])
    cluster.until(lambda: bool(cluster.pods()["web"]["status"].get("ephemeralContainerStatuses")), 5 * SECOND)
    cluster.until(
        lambda: "running" in status_of(cluster, "web", "debug", "ephemeralContainerStatuses")["state"], 5 * SECOND
    )
    security = record(cluster, "debug").config.linux.security_context  # type: ignore[union-attr]
    assert security is not None
    options = security.namespace_options
    assert options is not None
    assert (options.pid, options.target_id) == (NamespaceMode.TARGET, app.id)
    assert record(cluster).id == app.id, "the app runs on"


def test_ephemeral_container_update_ephemeral_containers(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    change(cluster, "web", "ephemeralcontainers", ephemeralContainers=[debugger("one")])
    cluster.run(5 * SECOND)
    change(cluster, "web", "ephemeralcontainers", ephemeralContainers=[debugger("one"), debugger("two")])
    cluster.run(5 * SECOND)
    pod = cluster.pods()["web"]
    statuses = pod["status"]["ephemeralContainerStatuses"]
    assert [each["name"] for each in statuses] == ["one", "two"]
    assert all("running" in each["state"] and each["restartCount"] == 0 for each in statuses)
    assert conditions(pod)["Ready"] == "True"
    assert pod["status"]["observedGeneration"] == pod["metadata"]["generation"]


def test_ephemeral_container_that_ends_is_never_restarted_and_does_not_change_the_phase(cluster: Cluster):
    cluster.create("web", annotations=does(run_for__debug="1s", exit_code__debug="3"))
    running(cluster)
    change(cluster, "web", "ephemeralcontainers", ephemeralContainers=[debugger("debug")])
    cluster.run(3 * MINUTE)
    cluster.node.restart_agent()
    cluster.run(MINUTE)
    status = status_of(cluster, "web", "debug", "ephemeralContainerStatuses")
    assert (status["state"]["terminated"]["exitCode"], status["restartCount"]) == (3, 0)
    assert cluster.phases()["web"] == "Running"
    assert made(cluster, "debug") == [0]


# (spec 3.7.3)
def test_ephemeral_container_whose_target_is_not_there_says_so(cluster: Cluster):
    cluster.create("web", restartPolicy="Never", containers=[container(), container("other")],
                   annotations=does(run_for__other="1s"))  # fmt: skip
    running(cluster)
    cluster.run(3 * SECOND)
    change(cluster, "web", "ephemeralcontainers", ephemeralContainers=[debugger("debug", targetContainerName="other")])
    cluster.run(5 * SECOND)
    waiting = status_of(cluster, "web", "debug", "ephemeralContainerStatuses")["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerConfigError"
    assert "$.spec.ephemeralContainers[0].targetContainerName: container other" in waiting["message"]
