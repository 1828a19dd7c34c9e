"""The conformance behaviours of what containers are started with, on a simulated node.

A test has the name of its behaviour; `behaviours.py` has all of them with the place where each is shown.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.clusters import (
    CORE,
    config_map,
    record,
    running,
    secret,
    variables,
)
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND, container

# --- what a container is started with ---------------------------------------------------------------------------------


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


# --- what else a container is given -----------------------------------------------------------------------------------


def security(cluster: Cluster, name: str = "app") -> Any:
    linux = record(cluster, name).config.linux
    assert linux is not None
    return linux.security_context


# (spec 3.8.8)
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
