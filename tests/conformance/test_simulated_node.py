"""The conformance behaviours of pods on a whole simulated node and the API server that it has joined, in virtual time.

A test has the name of its behaviour; `behaviours.py` has all of them with the place where each is shown.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from runtime.cri.enums import ContainerState, NamespaceMode
from simulation.cri.behaviour import PREFIX
from simulation.cri.state import ContainerRecord
from tests.simulation.node.test_api_server import MINUTE, Cluster, conditions
from tests.simulation.node.worlds import OTHER_IMAGE, SECOND, container

CORE = "/api/v1/namespaces/default"


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    return cluster


def does(**knobs: str) -> dict[str, str]:
    """What the simulated containers do. `run_for` is of all, `run_for__init` of the container `init`."""
    return {PREFIX + key.replace("__", ".").replace("_", "-"): value for key, value in knobs.items()}


def record(cluster: Cluster, name: str = "app", state: ContainerState | None = None) -> ContainerRecord:
    """The newest container of that name."""
    found = [
        each
        for each in cluster.node.containers()
        if each.config.metadata is not None
        and each.config.metadata.name == name
        and (state is None or each.state is state)
    ]
    assert found, f"there is no container {name}"
    return max(found, key=lambda each: each.attempt)


def made(cluster: Cluster, name: str) -> list[int]:
    """The attempts of the containers of that name that the runtime still knows."""
    known = [each.config.metadata for each in cluster.node.containers()]
    return sorted(each.attempt for each in known if each is not None and each.name == name)


def variables(cluster: Cluster, name: str = "app") -> dict[str, str]:
    return {each.key: each.value.decode() for each in record(cluster, name).config.envs}


def running(cluster: Cluster, *pods: str) -> None:
    phases = cluster.phases
    cluster.until(lambda: all(phases().get(pod) == "Running" for pod in pods or ("web",)), 5 * MINUTE)


def status_of(cluster: Cluster, pod: str, name: str = "app", group: str = "containerStatuses") -> dict[str, Any]:
    return next(dict(each) for each in cluster.pods()[pod]["status"][group] if each["name"] == name)


def config_map(cluster: Cluster, name: str, **data: str) -> None:
    cluster.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": name}, "data": data})


def secret(cluster: Cluster, name: str, **data: str) -> None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    cluster.ask("POST", f"{CORE}/secrets", {"metadata": {"name": name}, "data": encoded})


def change(cluster: Cluster, pod: str, part: str = "", **spec: Any) -> dict[str, Any]:
    """An update of the pod as a person would do it: read, change, write."""
    path = f"{CORE}/pods/{pod}" + (f"/{part}" if part else "")
    found = cluster.ask("GET", f"{CORE}/pods/{pod}")
    found["spec"].update(spec)
    return dict(cluster.ask("PUT", path, found))


# --- what a container is started with -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "args"),
    [
        pytest.param((), ("override", "arguments"), id="Containers, with arguments"),
        pytest.param(("/override",), (), id="Containers, with command"),
        pytest.param(("/override",), ("override", "arguments"), id="Containers, with command and arguments"),
        pytest.param((), (), id="Containers, without command and arguments"),
    ],
)
def test_containers_command_and_arguments(cluster: Cluster, command: tuple[str, ...], args: tuple[str, ...]):
    cluster.create("web", containers=[container(command=list(command), args=list(args))])
    running(cluster)
    config = record(cluster).config
    assert (config.command, config.args) == (command, args), "what is empty here the image says"


def test_environment_variables_expansion(cluster: Cluster):
    env = [
        {"name": "FOO", "value": "foo-value"},
        {"name": "BAR", "value": "bar-value"},
        {"name": "FOOBAR", "value": "$(FOO);;$(BAR)"},
        {"name": "KEPT", "value": "$$(FOO) $(NONE)"},
    ]
    command = ["sh", "-c", "echo $(FOO)"]
    cluster.create("web", containers=[container(env=env, command=command, args=["$(BAR)", "$$(BAR)"])])
    running(cluster)
    found, config = variables(cluster), record(cluster).config
    assert (found["FOOBAR"], found["KEPT"]) == ("foo-value;;bar-value", "$(FOO) $(NONE)")
    assert config.command == ("sh", "-c", "echo foo-value")
    assert config.args == ("bar-value", "$(BAR)")


def test_config_map_from_environment_field_and_from_environment_variables(cluster: Cluster):
    config_map(cluster, "settings", **{"data-1": "value-1", "data-2": "value-2"})
    one = {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "data-1"}}}
    sources = [{"configMapRef": {"name": "settings"}}, {"prefix": "p-", "configMapRef": {"name": "settings"}}]
    cluster.create("web", containers=[container(env=[one], envFrom=sources)])
    running(cluster)
    found = variables(cluster)
    assert found["ONE"] == "value-1"
    assert {found[key] for key in ("data-1", "p-data-1")} == {"value-1"}
    assert {found[key] for key in ("data-2", "p-data-2")} == {"value-2"}


@pytest.mark.parametrize("prefix", ["1-", "$_-", "a.b:", "!x@", "_", "#-"])
def test_config_map_from_environment_field_with_various_prefixes(cluster: Cluster, prefix: str):
    config_map(cluster, "settings", key="value")
    cluster.create("web", containers=[container(envFrom=[{"prefix": prefix, "configMapRef": {"name": "settings"}}])])
    running(cluster)
    assert variables(cluster)[f"{prefix}key"] == "value"


def test_secrets_pod_environment_field_and_from_source(cluster: Cluster):
    secret(cluster, "login", **{"data-1": "value-1"})
    one = {"name": "ONE", "valueFrom": {"secretKeyRef": {"name": "login", "key": "data-1"}}}
    cluster.create(
        "web",
        containers=[container(env=[one], envFrom=[{"prefix": "p_", "secretRef": {"name": "login"}}])],
    )
    running(cluster)
    found = variables(cluster)
    assert (found["ONE"], found["p_data-1"]) == ("value-1", "value-1")


@pytest.mark.parametrize("kind", ["configmaps", "secrets"])
def test_config_map_and_secrets_with_empty_key(cluster: Cluster, kind: str):
    with pytest.raises(AssertionError):
        cluster.ask("POST", f"{CORE}/{kind}", {"metadata": {"name": "empty"}, "data": {"": "dmFsdWU="}})


def of_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def of_resource(name: str, resource: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"resourceFieldRef": {"resource": resource}}}


def test_downward_api_environment_for_name_namespace_ips_and_uid(cluster: Cluster):
    paths = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "UID": "metadata.uid",
        "IP": "status.podIP",
        "HOST": "status.hostIP",
        "HOSTS": "status.hostIPs",
    }
    cluster.create("web", containers=[container(env=[of_field(name, path) for name, path in paths.items()])])
    running(cluster)
    cluster.until(lambda: bool(cluster.pods()["web"]["status"].get("podIP")))
    pod, found = cluster.pods()["web"], variables(cluster)
    assert (found["NAME"], found["NAMESPACE"], found["UID"]) == ("web", "default", pod["metadata"]["uid"])
    assert found["IP"] == pod["status"]["podIP"] == pod["status"]["podIPs"][0]["ip"]
    assert found["HOST"] == found["HOSTS"] == pod["status"]["hostIP"] == pod["status"]["hostIPs"][0]["ip"]


RESOURCES = ["limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]


def test_downward_api_environment_for_cpu_and_memory_limits_and_requests(cluster: Cluster):
    amounts = {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "1250m", "memory": "64Mi"}}
    cluster.create(
        "web", containers=[container(env=[of_resource(name, name) for name in RESOURCES], resources=amounts)]
    )
    running(cluster)
    found = variables(cluster)
    assert [found[name] for name in RESOURCES] == ["2", str(64 * 2**20), "1", str(32 * 2**20)]


def test_downward_api_environment_for_default_cpu_and_memory_limits_and_requests(cluster: Cluster):
    cluster.create("web", containers=[container(env=[of_resource(name, name) for name in RESOURCES])])
    running(cluster)
    node = cluster.ask("GET", "/api/v1/nodes/node")["status"]["allocatable"]
    found = variables(cluster)
    assert found["limits.cpu"] == node["cpu"], "without limits all that the node has to give"
    assert int(found["limits.memory"]) > 0
    assert [found[name] for name in RESOURCES[2:]] == ["0", "0"]


def test_pods_service_environment_variables(cluster: Cluster):
    ports = [{"port": 8765, "targetPort": 8080}]
    cluster.ask("POST", f"{CORE}/services", {"metadata": {"name": "fooservice"}, "spec": {"ports": ports}})
    cluster.run(2 * SECOND)
    cluster.create("web")
    running(cluster)
    found = variables(cluster)
    address = found["FOOSERVICE_SERVICE_HOST"]
    assert {key: value for key, value in found.items() if key.startswith("FOOSERVICE")} == {
        "FOOSERVICE_SERVICE_HOST": address,
        "FOOSERVICE_SERVICE_PORT": "8765",
        "FOOSERVICE_PORT": f"tcp://{address}:8765",
        "FOOSERVICE_PORT_8765_TCP": f"tcp://{address}:8765",
        "FOOSERVICE_PORT_8765_TCP_PROTO": "tcp",
        "FOOSERVICE_PORT_8765_TCP_PORT": "8765",
        "FOOSERVICE_PORT_8765_TCP_ADDR": address,
    }


# --- ends, restarts and what is said of them ------------------------------------------------------------------------


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


# --- init containers and sidecars -----------------------------------------------------------------------------------


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


# --- ephemeral containers -------------------------------------------------------------------------------------------


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


# --- pods -----------------------------------------------------------------------------------------------------------


def test_pods_update_image_in_place(cluster: Cluster):
    cluster.create("web", containers=[container(), container("other")])
    running(cluster)
    other = record(cluster, "other").id
    change(cluster, "web", containers=[container(image=OTHER_IMAGE), container("other")])
    cluster.until(lambda: status_of(cluster, "web")["restartCount"] == 1, MINUTE)
    cluster.until(lambda: "running" in status_of(cluster, "web")["state"], MINUTE)
    status = status_of(cluster, "web")
    assert status["image"] == OTHER_IMAGE
    assert "terminated" in status["lastState"]
    assert record(cluster, "other").id == other


def test_pods_update_of_labels(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    found = cluster.ask("GET", f"{CORE}/pods/web")
    found["metadata"]["labels"] = {"time": "now"}
    cluster.ask("PUT", f"{CORE}/pods/web", found)
    cluster.run(5 * SECOND)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["labels"] == {"time": "now"}
    assert status_of(cluster, "web")["restartCount"] == 0
    assert pod["metadata"]["generation"] == 1


def test_pods_generation_updates(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    assert cluster.pods()["web"]["status"]["observedGeneration"] == 1
    change(cluster, "web", containers=[container(image=OTHER_IMAGE)])
    change(cluster, "web", activeDeadlineSeconds=5000)
    cluster.until(lambda: cluster.pods()["web"]["status"]["observedGeneration"] == 3, MINUTE)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["generation"] == 3
    cluster.until(
        lambda: {each["observedGeneration"] for each in cluster.pods()["web"]["status"]["conditions"]} == {3}, MINUTE
    )


def test_pods_generation_500_updates(cluster: Cluster):
    cluster.create("web", activeDeadlineSeconds=10_000)
    running(cluster)
    for number in range(1, 500):
        change(cluster, "web", activeDeadlineSeconds=10_000 - number)
        cluster.run(SECOND // 50)
    cluster.until(lambda: cluster.pods()["web"]["status"]["observedGeneration"] == 500, MINUTE)
    assert cluster.pods()["web"]["metadata"]["generation"] == 500


def test_pods_generation_graceful_delete(cluster: Cluster):
    cluster.create("web", annotations=does(stop_delay="10s"), terminationGracePeriodSeconds=30)
    running(cluster)
    cluster.delete("web", 30)
    cluster.run(3 * SECOND)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["generation"] == 2
    assert pod["status"]["observedGeneration"] == 2, "the node says that it ends this form of it"
    cluster.until(lambda: cluster.pods() == {}, MINUTE)


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({"requests": {"cpu": "100m", "memory": "8Mi"}, "limits": {"cpu": "100m", "memory": "8Mi"}}, "Guaranteed"),
        ({"requests": {"cpu": "100m"}}, "Burstable"),
        ({}, "BestEffort"),
    ],
)
def test_pods_qos(cluster: Cluster, resources: dict[str, Any], qos: str):
    cluster.create("web", containers=[container(resources=resources)])
    running(cluster)
    assert cluster.pods()["web"]["status"]["qosClass"] == qos


def test_pods_active_deadline_seconds(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    change(cluster, "web", activeDeadlineSeconds=5)
    took = cluster.until(lambda: cluster.phases()["web"] == "Failed", MINUTE)
    assert took <= 20 * SECOND
    assert cluster.pods()["web"]["status"]["reason"] == "DeadlineExceeded"
    assert record(cluster).state is ContainerState.CONTAINER_EXITED


def test_pods_lifecycle(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    cluster.delete("web", 30)
    assert cluster.pods()["web"]["metadata"]["deletionTimestamp"]
    cluster.until(lambda: cluster.pods() == {}, MINUTE)
    cluster.until(lambda: cluster.node.containers() == (), MINUTE)


def test_pods_delete_a_collection(cluster: Cluster):
    for number in range(3):
        cluster.create(f"web-{number}")
    running(cluster, "web-0", "web-1", "web-2")
    cluster.ask("DELETE", f"{CORE}/pods")
    cluster.until(lambda: cluster.pods() == {}, MINUTE)


def test_pods_assigned_host_ip(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    [address] = [
        each["address"]
        for each in cluster.ask("GET", "/api/v1/nodes/node")["status"]["addresses"]
        if each["type"] == "InternalIP"
    ]
    status = cluster.pods()["web"]["status"]
    assert status["hostIP"] == address
    assert status["hostIPs"] == [{"ip": address}]


def test_pods_patching_status(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    found = cluster.ask("GET", f"{CORE}/pods/web")
    found["status"]["conditions"].append({"type": "StatusUpdated", "status": "True"})
    cluster.ask("PUT", f"{CORE}/pods/web/status", found)
    cluster.run(30 * SECOND)
    assert conditions(cluster.pods()["web"])["StatusUpdated"] == "True", "what others say of it is kept"


def test_pods_readiness_gates(cluster: Cluster):
    cluster.create("web", readinessGates=[{"conditionType": "example.com/gate"}])
    running(cluster)
    cluster.run(SECOND)
    found = {each["type"]: each for each in cluster.pods()["web"]["status"]["conditions"]}
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "ReadinessGatesNotReady")
    pod = cluster.ask("GET", f"{CORE}/pods/web")
    pod["status"]["conditions"].append({"type": "example.com/gate", "status": "True"})
    cluster.ask("PUT", f"{CORE}/pods/web/status", pod)
    cluster.until(lambda: conditions(cluster.pods()["web"])["Ready"] == "True", MINUTE)


# --- what else a container is given ---------------------------------------------------------------------------------


def security(cluster: Cluster, name: str = "app") -> Any:
    linux = record(cluster, name).config.linux
    assert linux is not None
    return linux.security_context


def test_security_context_reaches_the_runtime(cluster: Cluster):
    strict = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "privileged": False}
    own = container(securityContext={"runAsUser": 65534, "runAsGroup": 3000, **strict})
    cluster.create("web", containers=[own, container("other")], securityContext={"runAsGroup": 2000, "runAsUser": 1})
    running(cluster)
    app, other = security(cluster), security(cluster, "other")
    assert (app.run_as_user.value, app.run_as_group.value) == (65534, 3000)
    assert (other.run_as_user.value, other.run_as_group.value) == (1, 2000)
    assert (app.no_new_privs, app.readonly_rootfs, app.privileged) == (True, True, False)
    assert (other.no_new_privs, other.readonly_rootfs, other.privileged) == (False, False, False)
