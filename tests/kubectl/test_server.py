"""What kubectl learns of the server, and what it says of things that are not there, as on any cluster."""

from __future__ import annotations

import pytest

from tests.kubectl.cluster import POD, Kubectl

NOT_FOUND = "the server could not find the requested resource"


def test_resources(kubectl: Kubectl) -> None:
    lines = kubectl("api-resources").lines
    assert lines[0].split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:] if "metrics.k8s.io" not in line}
    assert rows["pods"] == ["po", "v1", "true", "Pod"]
    assert rows["nodes"] == ["no", "v1", "false", "Node"]
    assert rows["leases"] == ["coordination.k8s.io/v1", "true", "Lease"]
    everything = kubectl("api-resources", "--categories=all", "-o", "name").lines
    workloads = ["daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps"]
    scaled = ["horizontalpodautoscalers.autoscaling", "cronjobs.batch", "jobs.batch"]
    assert everything == ["pods", "replicationcontrollers", "services", *workloads, *scaled]


def test_versions(kubectl: Kubectl) -> None:
    assert {"v1", "storage.k8s.io/v1", "coordination.k8s.io/v1"} <= set(kubectl("api-versions").lines)
    shown = kubectl.attempt("version", "-o", "json").json()
    assert shown["serverVersion"]["gitVersion"].startswith("v1.36.")
    assert "Kubernetes control plane" in kubectl("cluster-info").out
    assert kubectl("get", "--raw", "/readyz").out == "ok"


def test_fields_are_explained(kubectl: Kubectl) -> None:
    out = kubectl("explain", "pod.spec").out
    assert "KIND:       Pod\nVERSION:    v1\n\nFIELD: spec <PodSpec>" in out
    assert "  containers\t<[]Container> -required-\n" in out
    assert "  nodeSelector\t<map[string]string>\n" in out
    assert "FIELD: image <string>" in kubectl("explain", "pods.spec.containers.image").out
    assert "GROUP:      coordination.k8s.io" in kubectl("explain", "lease.spec").out
    assert "  spec\t<NodeSpec>" in kubectl("explain", "nodes", "--recursive").out
    assert 'field "nothing" does not exist' in kubectl.refused("explain", "pod.nothing")


def test_kubectl_auth_shows_the_user_and_its_rights(kubectl: Kubectl) -> None:
    assert kubectl("auth", "whoami").row("Username")["VALUE"] == "kubernetes-admin"
    assert kubectl("auth", "can-i", "create", "pods").out == "yes\n"
    assert "*.*" in kubectl("auth", "can-i", "--list").out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("get widgets", 'error: the server doesn\'t have a resource type "widgets"'),
        ("scale widget/web --replicas=2", 'error: the server doesn\'t have a resource type "widget"'),
        ("rollout status deployment/web", 'Error from server (NotFound): deployments.apps "web" not found'),
        ("top nodes", "error: metrics not available yet"),
        ("get --raw /nowhere", f"Error from server (NotFound): {NOT_FOUND}"),
    ],
)
def test_missing_features_are_reported_as_on_any_cluster(kubectl: Kubectl, command: str, said: str) -> None:
    assert kubectl.refused(*command.split()) == said


def test_a_name_that_cannot_be_found_is_the_same_error_everywhere(kubectl: Kubectl) -> None:
    for words in ("describe pod nobody", "get pod nobody", "label pod nobody a=b", "logs nobody", "exec nobody -- ls"):
        assert 'pods "nobody" not found' in kubectl.refused(*words.split())


def test_logs_say_which_agent_does_not_answer(kubectl: Kubectl) -> None:
    kubectl.running()
    said = kubectl.refused("logs", "web")
    assert said.startswith("Error from server")
    assert "demo" in said


def test_a_debugging_container_is_added(kubectl: Kubectl) -> None:
    kubectl.running(document=POD)
    ran = kubectl.attempt("debug", "web", "--image=busybox:1.36", "--profile=general", "--container=probe")
    assert ran.code == 0, ran.err
    names = kubectl("get", "pod", "web", "-o", "jsonpath={.spec.ephemeralContainers[*].name}").out
    assert names == "probe"
