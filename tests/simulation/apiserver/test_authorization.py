"""What the agent of a node may do, and who is recognised."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.access.authentication import user_named
from simulation.apiserver.core import Options
from simulation.apiserver.status import StatusError
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, Server, pod

AGENT = user_named("system:node:n1")
CORE = "/api/v1/namespaces/default"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@pytest.fixture
def server() -> Server:
    """With two nodes, a pod on each, and something that the pod of the first refers to."""
    server = Server(Options(authorization="Node", tokens={"secret": "admin"}))
    for name in ("n1", "n2"):
        server.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    for name in ("used", "pulled", "other"):
        server.ask("POST", f"{CORE}/secrets", {"metadata": {"name": name}})
        server.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": name}})
    container = {
        "name": "main",
        "image": "nginx:1",
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "used", "key": "a"}}}],
        "envFrom": [{"configMapRef": {"name": "used"}}],
    }
    server.make_pod("mine", nodeName="n1", containers=[container], imagePullSecrets=[{"name": "pulled"}])
    server.make_pod("theirs", nodeName="n2")
    return server


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/api/v1/nodes/n1", {}),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name=n1"}),
        ("GET", "/api/v1/pods", {"fieldSelector": "spec.nodeName=n1"}),
        ("GET", f"{PODS}/mine", {}),
        ("GET", f"{CORE}/secrets/used", {}),
        ("GET", f"{CORE}/secrets/pulled", {}),
        ("GET", f"{CORE}/secrets", {"fieldSelector": "metadata.name=used"}),
        ("GET", f"{CORE}/configmaps/used", {}),
        ("GET", f"{CORE}/configmaps/kube-root-ca.crt", {}),
        ("GET", "/api/v1/services", {}),
        ("GET", "/apis/node.k8s.io/v1/runtimeclasses", {}),
        ("GET", "/apis/storage.k8s.io/v1/csidrivers", {}),
        ("DELETE", f"{PODS}/mine", {}),
    ],
)
def test_an_agent_may_do_what_its_node_needs(server: Server, method: str, path: str, query: dict[str, str]) -> None:
    assert server.ask(method, path, user=AGENT, **query).code == 200


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/api/v1/nodes", {}),
        ("GET", "/api/v1/nodes/n2", {}),
        ("GET", "/api/v1/pods", {}),
        ("GET", "/api/v1/pods", {"fieldSelector": "spec.nodeName=n2"}),
        ("GET", f"{PODS}/theirs", {}),
        ("DELETE", f"{PODS}/theirs", {}),
        ("GET", f"{CORE}/secrets", {}),
        ("GET", f"{CORE}/secrets/other", {}),
        ("GET", f"{CORE}/configmaps/other", {}),
        ("GET", f"{CORE}/serviceaccounts", {}),
        ("GET", "/api/v1/namespaces", {}),
        ("GET", f"{LEASES}/n2", {}),
        ("DELETE", "/api/v1/nodes/n1", {}),
    ],
)
def test_an_agent_may_not_touch_objects_of_other_nodes(
    server: Server, method: str, path: str, query: dict[str, str]
) -> None:
    answer = server.ask(method, path, user=AGENT, **query)
    assert (answer.code, answer.value["reason"]) == (403, "Forbidden")
    assert 'User "system:node:n1" cannot ' in answer.message
    assert list(server.server.denied) == [answer.message]


def test_an_agent_may_write_the_status_of_its_node_and_its_pods(server: Server) -> None:
    status = {"status": {"phase": "Running"}}
    assert server.ask("PATCH", f"{PODS}/mine/status", status, content_type=MERGE, user=AGENT).code == 200
    assert server.ask("PATCH", f"{PODS}/theirs/status", status, content_type=MERGE, user=AGENT).code == 403
    assert server.ask("PATCH", f"{PODS}/mine", {"spec": {}}, content_type=MERGE, user=AGENT).code == 403
    for name, code in (("n1", 200), ("n2", 403)):
        path = f"/api/v1/nodes/{name}/status"
        body = {"status": {"phase": "x"}}
        assert server.ask("PATCH", path, body, content_type=MERGE, user=AGENT).code == code


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ({"topology.kubernetes.io/zone": "a"}, 200),
        ({"mine.example.com/a": "b"}, 200),
        ({"kubelet.kubernetes.io/a": "b"}, 200),
        ({"node-role.kubernetes.io/control-plane": ""}, 403),
        ({"node-restriction.kubernetes.io/a": "b"}, 403),
        ({"x.node-restriction.kubernetes.io/a": "b"}, 403),
    ],
)
def test_labels_that_it_may_give_itself(server: Server, labels: dict[str, str], code: int) -> None:
    body = {"metadata": {"labels": labels}}
    assert server.ask("PATCH", "/api/v1/nodes/n1", body, content_type=MERGE, user=AGENT).code == code


def test_an_agent_may_not_remove_taints_from_its_node(server: Server) -> None:
    body = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    assert server.ask("PATCH", "/api/v1/nodes/n1", body, content_type=MERGE, user=AGENT).code == 403


def mirror_pod(**spec: Any) -> Any:
    value = pod("static-n1", nodeName="n1", **spec)
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": True}
    value["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "hash"}, "ownerReferences": [owner]}
    return value


def test_an_agent_may_create_only_mirror_pods(server: Server) -> None:
    assert server.ask("POST", PODS, mirror_pod(), user=AGENT).code == 201
    assert server.ask("POST", PODS, pod("a", nodeName="n1"), user=AGENT).code == 403
    secret = [{"name": "s", "secret": {"secretName": "other"}}]
    refused = server.ask("POST", PODS, mirror_pod(volumes=secret), user=AGENT)
    assert refused.code == 403
    assert "a mirror pod may not reference secrets" in refused.message


def test_an_agent_gets_tokens_only_for_accounts_of_its_pods(server: Server) -> None:
    server.ask("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "other"}})
    for name, code in (("default", 201), ("other", 403)):
        assert server.ask("POST", f"{CORE}/serviceaccounts/{name}/token", {"spec": {}}, user=AGENT).code == code


def test_an_agent_may_read_node_secrets_of_claimed_volumes_and_no_controller_secrets(server: Server) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]
    server.ask("POST", PODS, pod("claims", nodeName="n1", volumes=volumes))
    secrets = {"nodeStageSecretRef": "stage", "controllerPublishSecretRef": "controller"}
    csi = {name: {"namespace": "default", "name": secret} for name, secret in secrets.items()}
    claim = {"namespace": "default", "name": "claim"}
    size = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    spec = {**size, "csi": {"driver": "d", "volumeHandle": "h", **csi}, "claimRef": claim}
    server.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "pv"}, "spec": spec})
    for name, code in (("stage", 200), ("controller", 403)):
        server.ask("POST", f"{CORE}/secrets", {"metadata": {"name": name}})
        assert server.ask("GET", f"{CORE}/secrets/{name}", user=AGENT).code == code


def test_leases_and_events(server: Server) -> None:
    assert server.ask("POST", LEASES, {"metadata": {"name": "n1"}}, user=AGENT).code == 201
    assert server.ask("POST", LEASES, {"metadata": {"name": "n2"}}, user=AGENT).code == 403
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "mine"}}
    assert server.ask("POST", f"{CORE}/events", event, user=AGENT).code == 201
    assert server.ask("PATCH", f"{CORE}/events/e", {"count": 2}, content_type=MERGE, user=AGENT).code == 200


def test_access_can_be_asked_for(server: Server) -> None:
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

    def allowed(user: str, verb: str, resource: str, **more: str) -> bool:
        attributes = {"verb": verb, "resource": resource, **more}
        spec = {"user": user, "groups": ["system:nodes"], "resourceAttributes": attributes}
        return bool(server.ask("POST", path, {"spec": spec}).value["status"]["allowed"])

    assert allowed("system:node:n1", "get", "nodes", name="n1")
    assert not allowed("system:node:n1", "get", "nodes", name="n2")
    assert not allowed("somebody", "get", "pods")


# --- tokens -----------------------------------------------------------------------------------------------------------


def token_of(server: Server, **spec: Any) -> str:
    answer = server.ask("POST", f"{CORE}/serviceaccounts/default/token", {"spec": spec})
    assert answer.code == 201, answer.value
    return str(answer.value["status"]["token"])


def test_a_static_token_and_a_token_of_an_account_are_recognised(server: Server) -> None:
    assert server.server.user_of("Bearer secret").name == "kubernetes-admin"
    user = server.server.user_of(f"Bearer {token_of(server)}")
    assert user.name == "system:serviceaccount:default:default"
    assert "system:serviceaccounts:default" in user.groups
    assert server.server.user_of("", ("system:node:n1", ("system:nodes",))).node == "n1"
    assert server.server.user_of("").name == "system:anonymous"


@pytest.mark.parametrize("how", ["nonsense", "forged", "expired", "account gone", "other audience", "secret unknown"])
def test_a_token_that_is_not_good_is_refused(server: Server, how: str) -> None:
    token = token_of(server, expirationSeconds=600, audiences=["x"] if how == "other audience" else [])
    if how == "nonsense":
        token = "nonsense"
    elif how == "forged":
        token = f"{token[:-4]}AAAA"
    elif how == "expired":
        server.world.run_for(601 * SECOND_NS)
    elif how == "account gone":
        server.ask("DELETE", f"{CORE}/serviceaccounts/default")
    elif how == "secret unknown":
        token = "secret2"
    with pytest.raises(StatusError) as refusal:
        server.server.user_of(f"Bearer {token}")
    assert refusal.value.code == 401


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"expirationSeconds": 599}, 422),
        ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nobody"}}, 404),
        ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "mine", "uid": "other"}}, 409),
        ({"boundObjectRef": {"kind": "Thing", "apiVersion": "v1", "name": "mine"}}, 400),
    ],
)
def test_a_token_that_cannot_be_had(server: Server, spec: dict[str, Any], code: int) -> None:
    assert server.ask("POST", f"{CORE}/serviceaccounts/default/token", {"spec": spec}).code == code
