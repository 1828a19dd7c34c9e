"""A pod that says nothing gets what the API server would give it, and nothing else."""

from typing import Any

import pytest

from config.documents.codec import from_builtins, to_builtins
from config.objects import Pod
from config.pods.defaults import default_pod, default_pull_policy, default_spec


def defaulted(**spec: Any) -> dict[str, Any]:
    """The spec after defaulting, without what every pod gets."""
    result: dict[str, Any] = to_builtins(default_pod(from_builtins({"spec": spec}, Pod)))["spec"]
    return result


def container(**fields: Any) -> dict[str, Any]:
    """The only container of a pod after defaulting."""
    result: dict[str, Any] = defaulted(containers=[{"name": "c", "image": "i:1", **fields}])["containers"][0]
    return result


def volume(**source: Any) -> dict[str, Any]:
    """The only volume of a pod after defaulting."""
    result: dict[str, Any] = defaulted(volumes=[{"name": "v", **source}])["volumes"][0]
    return result


# (spec 1.1.10)
def test_a_minimal_pod_gets_the_defaults_of_the_api() -> None:
    assert defaulted(containers=[{"name": "c", "image": "nginx"}]) == {
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_explicit_values_win_over_defaults() -> None:
    said = {
        "dnsPolicy": "Default",
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "schedulerName": "mine",
        "terminationGracePeriodSeconds": 0,
    }
    assert {key: value for key, value in defaulted(**said).items() if key in said} == said


def test_defaulting_a_pod_again_gives_the_very_same_object() -> None:
    once = default_pod(
        from_builtins({"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 8000}]}]}}, Pod)
    )
    assert default_pod(once) is once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "Always"),
        ("nginx:1@sha256:abc", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy


def test_ports_are_tcp_and_on_the_network_of_the_node_they_are_its_own() -> None:
    assert container(ports=[{"containerPort": 80}])["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    on_host = defaulted(
        hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]
    )
    assert on_host["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}]


def test_probes_and_hooks_are_completed() -> None:
    got = container(
        livenessProbe={"httpGet": {"port": 80}},
        readinessProbe={"exec": {"command": ["x"]}, "periodSeconds": 3, "failureThreshold": 0},
        startupProbe={"grpc": {"port": 9}},
        lifecycle={"preStop": {"httpGet": {"port": 80}}},
    )
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert got["livenessProbe"] == {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, **numbers}
    assert got["readinessProbe"] == {"exec": {"command": ["x"]}, **numbers, "periodSeconds": 3}
    assert got["startupProbe"] == {"grpc": {"port": 9, "service": ""}, **numbers}
    assert got["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}


def test_limits_become_the_default_requests() -> None:
    got = container(resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
    assert got["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_a_template_leaves_ports_of_the_host_and_requests_to_its_pods() -> None:
    resources = {"limits": {"cpu": "1"}}
    one = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "resources": resources}
    spec = default_spec(from_builtins({"spec": {"hostNetwork": True, "containers": [one]}}, Pod).spec)
    got = to_builtins(spec)
    assert got["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert got["containers"][0]["resources"] == resources
    assert "enableServiceLinks" not in got
    (of_a_pod,) = defaulted(hostNetwork=True, containers=[one])["containers"]
    assert of_a_pod["ports"][0]["hostPort"] == 80
    assert of_a_pod["resources"]["requests"] == {"cpu": "1"}


# (spec 10.17.1)
def test_a_pod_as_a_whole_asks_for_what_its_containers_ask_for_else_for_its_limit() -> None:
    got = defaulted(
        resources={"limits": {"cpu": "4", "memory": "1Gi"}},
        initContainers=[
            {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
            {"name": "init", "resources": {"requests": {"cpu": "2"}}},
        ],
        containers=[{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
    )
    assert got["resources"]["requests"] == {"cpu": "2100m", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"medium": "Memory"}}, {"emptyDir": {"medium": "Memory"}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"configMap": {"name": "c", "defaultMode": 256}}, {"configMap": {"name": "c", "defaultMode": 256}}),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
        (
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [{"path": "n", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                }
            },
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}}
                }
            },
        ),
    ],
)
def test_volumes_are_completed(source: dict[str, Any], expected: dict[str, Any]) -> None:
    assert volume(**source) == {"name": "v", **expected}


def test_a_variable_refers_to_fields_of_version_one() -> None:
    got = container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
    assert got["env"][0]["valueFrom"]["fieldRef"] == {"apiVersion": "v1", "fieldPath": "metadata.name"}
