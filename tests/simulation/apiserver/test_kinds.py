"""What is special about each kind, asked without a network."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from simulation.apiserver.core import Options
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.strategies.pod_specs import on_node
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, STRATEGIC, Asked, Server, pod

CORE = "/api/v1/namespaces/default"


@pytest.fixture
def server() -> Server:
    return Server()


def bind(server: Server, node: str = "n1", **metadata: Any) -> Any:
    body = {"metadata": {"name": "web", **metadata}, "target": {"kind": "Node", "name": node}}
    return server.ask("POST", f"{PODS}/web/binding", body)


# --- pods -------------------------------------------------------------------------------------------------------------


def test_a_binding_gives_a_pod_its_node_once(server: Server) -> None:
    server.make_pod()
    assert bind(server, uid="other").code == 409
    assert bind(server).code == 201
    value = server.get(f"{PODS}/web").value
    assert value["spec"]["nodeName"] == "n1"
    assert [one["type"] for one in value["status"]["conditions"]] == ["PodScheduled"]
    again = bind(server, "n2")
    assert again.code == 409
    assert again.message.endswith('pod web is already assigned to node "n1"')


def test_an_eviction_is_a_deletion_with_grace(server: Server) -> None:
    server.make_pod(nodeName="n1")
    body = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web"}}
    assert server.ask("POST", f"{PODS}/web/eviction", body).code == 201
    assert server.get(f"{PODS}/web").value["metadata"]["deletionGracePeriodSeconds"] == 30


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(server: Server, phase: str) -> None:
    server.make_pod(nodeName="n1")
    server.ask("PATCH", f"{PODS}/web/status", {"status": {"phase": phase}}, content_type=MERGE)
    server.ask("DELETE", f"{PODS}/web")
    assert server.get(f"{PODS}/web").code == 404


def test_a_mirror_pod_gets_no_service_account(server: Server) -> None:
    body = pod(nodeName="n1")
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    made = server.ask("POST", PODS, body).value
    assert "serviceAccountName" not in made["spec"]
    assert "volumes" not in made["spec"]
    assert "tolerations" not in made["spec"]


@pytest.mark.parametrize("where", ["pod", "account"])
def test_the_token_volume_is_left_out_where_nobody_wants_it(server: Server, where: str) -> None:
    if where == "account":
        path = f"{CORE}/serviceaccounts/default"
        server.ask("PATCH", path, {"automountServiceAccountToken": False}, content_type=MERGE)
    fields: dict[str, Any] = {"automountServiceAccountToken": False} if where == "pod" else {}
    made = server.make_pod(**fields)
    assert "volumes" not in made["spec"]


def from_template(server: Server, name: str, spec: Any) -> Asked:
    """A pod that is sent as a document, as callers in the server's process send it."""
    body = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}
    return Asked(server.server.handle(ApiRequest("POST", PODS, (), body)))


def test_pods_of_one_template_get_what_their_service_account_says_when_they_come(server: Server) -> None:
    template = pod(automountServiceAccountToken=False)["spec"]
    before, account = copy.deepcopy(template), f"{CORE}/serviceaccounts/default"
    made = [from_template(server, name, template).value["spec"] for name in "ab"]
    assert made[0] == made[1]
    assert "imagePullSecrets" not in made[0]
    assert server.ask("PATCH", account, {"imagePullSecrets": [{"name": "key"}]}, content_type=MERGE).code == 200
    assert from_template(server, "c", template).value["spec"]["imagePullSecrets"] == [{"name": "key"}]
    assert server.ask("DELETE", account).code == 200
    assert from_template(server, "d", template).code == 403
    assert template == before


def test_a_service_account_that_is_not_there_is_named(server: Server) -> None:
    answer = server.ask("POST", PODS, pod(serviceAccountName="me"))
    assert answer.code == 403
    assert answer.message == (
        'pods "web" is forbidden: error looking up service account default/me: serviceaccount "me" not found'
    )


def test_faults_of_a_pod_are_told_with_their_places(server: Server) -> None:
    answer = server.ask("POST", PODS, pod(restartPolicy="Sometimes"))
    assert (answer.code, answer.value["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in answer.value["details"]["causes"]] == ["spec.restartPolicy"]
    wrong = server.ask("POST", PODS, pod(hostNetwork="yes"))
    assert wrong.code == 400
    assert 'Pod in version "v1" cannot be handled as a Pod' in wrong.message


def test_the_owners_of_a_pod_are_named_in_full(server: Server) -> None:
    owned = {**pod(), "metadata": {"name": "web", "ownerReferences": [{"kind": "ReplicaSet", "name": "r"}]}}
    told = server.ask("POST", PODS, owned).value["details"]["causes"]
    assert [cause["field"] for cause in told] == [
        "metadata.ownerReferences.apiVersion",
        "metadata.ownerReferences.uid",
    ]


def test_annotations_are_measured_in_bytes(server: Server) -> None:
    annotated = {**pod(), "metadata": {"name": "web", "annotations": {"a": "é" * 131_072}}}
    assert "Too long" in server.ask("POST", PODS, annotated).message


def test_a_container_that_ended_for_good_does_not_come_back(server: Server) -> None:
    server.make_pod(restartPolicy="Never")

    def status(state: Any) -> Any:
        body = {"status": {"containerStatuses": [{"name": "main", "state": state}]}}
        return server.ask("PATCH", f"{PODS}/web/status", body, content_type=MERGE)

    ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
    assert status(ended).code == 200
    refused = status({"running": {"startedAt": "2026-01-01T00:00:00Z"}, "terminated": None})
    assert refused.code == 422
    assert "may not be transitioned to non-terminated state" in refused.message


def test_priority_comes_from_the_class_alone(server: Server) -> None:
    made = server.make_pod(priorityClassName="system-node-critical")
    assert made["spec"]["priority"] == 2_000_001_000
    assert server.ask("POST", PODS, pod("x", priorityClassName="nobodys")).code == 403
    assert server.ask("POST", PODS, pod("y", priority=5)).code == 403


def test_resources_change_through_resize_and_nothing_else(server: Server) -> None:
    server.make_pod(containers=[{"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "2"}}}])
    resources = {"requests": {"cpu": "1"}}
    body = {"spec": {"containers": [{"name": "main", "image": "other", "resources": resources}]}}
    changed = server.ask("PATCH", f"{PODS}/web/resize", body, content_type=STRATEGIC)
    [container] = changed.value["spec"]["containers"]
    assert (container["resources"], container["image"]) == (resources, "nginx:1")
    assert changed.value["metadata"]["generation"] == 2


def test_a_trial_changes_nothing(server: Server) -> None:
    revision = server.server.store.revision
    assert server.ask("POST", PODS, pod(), dryRun="All").code == 201
    server_made = server.get(PODS).value
    assert server_made["items"] == []
    assert server.server.store.revision == revision


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_server_side_apply_creates_merges_and_removes_fields(server: Server) -> None:
    def apply(data: str, manager: str) -> Any:
        body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n".encode()
        kind = "application/apply-patch+yaml"
        return server.ask("PATCH", f"{CORE}/configmaps/c", body, content_type=kind, fieldManager=manager)

    assert apply("{a: b, e: f}", "me").code == 201
    other = apply("{c: d}", "another")
    assert (other.code, other.value["data"]) == (200, {"a": "b", "c": "d", "e": "f"})
    assert apply("{a: x}", "me").value["data"] == {"a": "x", "c": "d"}


def test_every_namespace_has_an_account_and_the_root_certificates() -> None:
    server = Server(Options(root_ca="PEM"))
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    assert server.get("/api/v1/namespaces/n/serviceaccounts/default").code == 200
    ca = server.get("/api/v1/namespaces/n/configmaps/kube-root-ca.crt").value["data"]
    assert ca == {"ca.crt": "PEM"}
    assert server.get("/api/v1/namespaces/n").value["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}


def test_a_namespace_goes_though_somebody_took_its_status(server: Server) -> None:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    server.ask("PATCH", "/api/v1/namespaces/n/status", {"status": None}, content_type=MERGE)
    assert server.ask("DELETE", "/api/v1/namespaces/n").code == 200
    server.world.run_for(60 * SECOND_NS)
    assert server.get("/api/v1/namespaces/n").code == 404


def test_pods_of_one_template_on_one_node_share_their_spec(server: Server) -> None:
    server.make_pod()
    spec = server.get(f"{PODS}/web").value["spec"]
    assert [on_node(spec, name)["nodeName"] for name in ("n1", "n2")] == ["n1", "n2"]
    assert on_node(spec, "n1") is on_node(dict(spec), "n1")
    assert "nodeName" not in spec


def test_pods_of_one_template_share_their_spec_with_the_name_of_the_token_volume(server: Server) -> None:
    template = pod()["spec"]
    for name in "ab":
        from_template(server, name, template)
    one, other = (version.object["spec"] for version in server.server.store.of["pods"].all())
    assert one is other
    assert on_node(one, "a-node-of-its-own")["containers"] is one["containers"]


@pytest.mark.parametrize("value", ["kube-api-access-", "kube-api-access-abcde"])
def test_a_text_like_the_name_of_a_token_volume_stays_what_it_is(server: Server, value: str) -> None:
    env = [{"name": "A", "value": value}]
    template = {"containers": [{"name": "main", "image": "nginx:1", "env": env}]}
    spec = from_template(server, "a", template).value["spec"]
    [container] = spec["containers"]
    assert container["env"] == env
    assert container["volumeMounts"][0]["name"] == spec["volumes"][0]["name"] != value


def test_specs_that_differ_have_token_volumes_of_different_names(server: Server) -> None:
    specs = [
        from_template(server, name, {"containers": [{"name": "main", "image": image}]}).value["spec"]
        for name, image in (("a", "nginx:1"), ("b", "nginx:2"))
    ]
    assert specs[0]["volumes"][0]["name"] != specs[1]["volumes"][0]["name"]


def test_services_get_addresses_of_their_own(server: Server) -> None:
    assert server.get(f"{CORE}/services/kubernetes").value["spec"]["clusterIP"] == "10.0.0.1"
    found = []
    for name in ("a", "b"):
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
        found.append(server.ask("POST", f"{CORE}/services", body).value["spec"])
    assert found[0]["clusterIP"] != found[1]["clusterIP"]
    assert found[0]["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    taken = {"metadata": {"name": "c"}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}
    assert server.ask("POST", f"{CORE}/services", taken).code == 422
    headless = {"metadata": {"name": "d"}, "spec": {"clusterIP": "None"}}
    assert server.ask("POST", f"{CORE}/services", headless).value["spec"]["clusterIP"] == "None"


def test_plain_text_of_a_secret_becomes_data(server: Server) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}}
    made = server.ask("POST", f"{CORE}/secrets", body).value
    assert (made["type"], made["data"]) == ("Opaque", {"a": "Yg==", "c": "ZA=="})
    assert "stringData" not in made
    assert server.ask("POST", f"{CORE}/secrets", {"metadata": {"name": "t"}, "data": {"a": "?"}}).code == 400


def test_an_immutable_config_map_cannot_change(server: Server) -> None:
    server.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "b"}, "immutable": True})
    answer = server.ask("PATCH", f"{CORE}/configmaps/c", {"data": {"a": "c"}}, content_type=MERGE)
    assert answer.code == 422
    assert "field is immutable when `immutable` is set" in answer.message


def test_events_are_the_same_in_both_groups_and_gone_after_an_hour(server: Server) -> None:
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
        "reason": "Pulled",
        "message": "text",
        "count": 2,
    }
    server.ask("POST", f"{CORE}/events", body)
    other = server.get("/apis/events.k8s.io/v1/namespaces/default/events/e").value
    assert (other["apiVersion"], other["note"], other["regarding"]["name"]) == ("events.k8s.io/v1", "text", "web")
    assert other["deprecatedCount"] == 2
    found = server.get(f"{CORE}/events", fieldSelector="involvedObject.name=web,reason=Pulled").value["items"]
    assert len(found) == 1
    server.world.run_for(1800 * SECOND_NS)
    server.ask("PATCH", f"{CORE}/events/e", {"count": 3}, content_type=MERGE)
    server.world.run_for(3000 * SECOND_NS)
    assert server.get(f"{CORE}/events/e").code == 200
    server.world.run_for(700 * SECOND_NS)
    assert server.get(f"{CORE}/events/e").code == 404


def test_a_watch_list_says_when_the_beginning_is_over(server: Server) -> None:
    server.make_pod()
    watched = server.watch(
        PODS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    assert watched.told == ["ADDED web", "BOOKMARK"]
    assert watched.events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert server.get(PODS, watch="true", sendInitialEvents="true").code == 422


def test_a_node_that_falls_silent_is_unknown(server: Server) -> None:
    server.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    server.ask("PATCH", "/api/v1/nodes/n1/status", {"status": {"conditions": conditions}}, content_type=MERGE)
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    server.ask("POST", leases, {"metadata": {"name": "n1"}, "spec": {"holderIdentity": "n1"}})

    def ready() -> str:
        return str(server.get("/api/v1/nodes/n1").value["status"]["conditions"][0]["status"])

    for second in range(10, 100, 10):
        renewed = {"spec": {"renewTime": f"2026-01-01T00:00:{second}.000000Z"}}
        server.ask("PATCH", f"{leases}/n1", renewed, content_type=MERGE)
        server.world.run_for(10 * SECOND_NS)
    assert ready() == "True"
    server.world.run_for(60 * SECOND_NS)
    assert ready() == "Unknown"


def test_a_certificate_request_notes_who_asks_and_is_approved_in_a_part_of_its_own(server: Server) -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    request = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----").decode()
    spec = {"request": request, "signerName": "x.io/y", "usages": ["client auth"], "username": "somebody"}
    made = server.ask("POST", path, {"metadata": {"name": "c"}, "spec": spec}).value
    assert made["spec"]["username"] == "kubernetes-admin"
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "y"}
    body = {"status": {"conditions": [condition], "certificate": "eA=="}}
    approved = server.ask("PATCH", f"{path}/c/approval", body, content_type=MERGE).value["status"]
    assert [one["type"] for one in approved["conditions"]] == ["Approved"]
    assert "certificate" not in approved
    signed = server.ask("PATCH", f"{path}/c/status", {"status": {"certificate": "eA=="}}, content_type=MERGE)
    assert signed.value["status"]["certificate"] == "eA=="


def test_a_service_of_another_type_loses_what_only_the_old_type_has(server: Server) -> None:
    path = f"{CORE}/services"
    made = {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    assert "nodePort" in server.ask("POST", path, made).value["spec"]["ports"][0]
    changed = server.ask("PATCH", f"{path}/s", {"spec": {"type": "ClusterIP"}}, content_type=MERGE)
    assert changed.code == 200, changed.value
    spec = changed.value["spec"]
    assert "nodePort" not in spec["ports"][0]
    assert not spec.keys() & {"allocateLoadBalancerNodePorts", "externalTrafficPolicy"}


@pytest.mark.parametrize(("kind", "field"), [("configmaps", "[]"), ("secrets", "data")])
def test_the_data_of_an_object_has_at_most_one_mebibyte(kind: str, field: str) -> None:
    server = Server()
    path = f"/api/v1/namespaces/default/{kind}"
    full = base64.b64encode(b"x" * 2**20).decode()
    name = "binaryData" if kind == "configmaps" else "data"
    assert server.ask("POST", path, {"metadata": {"name": "full"}, name: {"a": full}}).code == 201
    refused = server.ask("POST", path, {"metadata": {"name": "large"}, name: {"a": full, "b": "eA=="}})
    cause = refused.value["details"]["causes"][0]
    assert (refused.code, cause["reason"], cause["field"]) == (422, "FieldValueTooLong", field)


def test_zeros_that_go_leaves_out_are_not_stored_and_those_of_pointers_are() -> None:
    server = Server()
    zeros: dict[str, Any] = {
        "stdin": False,
        "tty": False,
        "workingDir": "",
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    zeros["volumeMounts"][0]["readOnly"] = False
    volumes = [{"name": "v", "emptyDir": {"medium": ""}}]
    spec = {"hostNetwork": False, "hostPID": False, "nodeName": "", "volumes": volumes}
    kept = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "shareProcessNamespace": False}
    containers = [{"name": "main", "image": "i", **zeros}]
    body = {"metadata": {"name": "web"}, "spec": {"containers": containers, **spec, **kept}}
    made = server.ask("POST", PODS, body).value["spec"]
    assert made.keys().isdisjoint(("hostNetwork", "hostPID", "nodeName"))
    assert made["containers"][0].keys().isdisjoint(("stdin", "tty", "workingDir"))
    assert made["containers"][0]["volumeMounts"] == [{"name": "v", "mountPath": "/v"}]
    assert made["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert {name: made[name] for name in kept} == kept
