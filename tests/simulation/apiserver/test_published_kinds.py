"""Built-in kinds that are stored as published: each is served, checked and kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from simulation.apiserver.core import Options
from simulation.apiserver.documents.openapi_schemas import schema_name
from simulation.apiserver.kinds.table import SERVED, ServedResource
from simulation.apiserver.schemas.protobuf import knows
from simulation.apiserver.schemas.published import components
from simulation.apiserver.versions.conversions import conversion_of
from tests.simulation.apiserver.worlds import SECOND_NS, STRATEGIC, Server, pod
from tools.recordings.corpus import seeds

PUBLISHED = [resource for resource in SERVED if resource.described is not None]
WRITTEN = [resource for resource in PUBLISHED if "create" in resource.verbs]
STABLE = {
    "": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io": "SelfSubjectReview TokenReview",
    "authorization.k8s.io": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
    "SubjectAccessReview",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "certificates.k8s.io": "CertificateSigningRequest",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.k8s.io": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
}
"""The kinds that a server of 1.36 has without any option: those of the stable versions."""
CONTAINERS = [{"name": "main", "image": "nginx"}]
SEEDS = seeds("")
MORE: Mapping[str, Any] = {
    "apps/v1/controllerrevisions": {"data": {}},
    "networking.k8s.io/v1/ipaddresses": {
        "$name": "10.9.0.1",
        "spec": {"parentRef": {"resource": "services", "name": "a"}},
    },
    "storage.k8s.io/v1/volumeattributesclasses": {"parameters": {"a": "b"}},
}
"""What the seeds of the recordings lack."""


def test_every_stable_kind_of_kubernetes_is_served() -> None:
    served = {(one.group, one.kind) for one in SERVED if "alpha" not in one.version and "beta" not in one.version}
    assert served == {(group, kind) for group, kinds in STABLE.items() for kind in kinds.split()}


def test_every_built_in_kind_may_be_sent_in_protobuf() -> None:
    unknown = {one.kind for one in SERVED if "create" in one.verbs and not knows(one.api_version, one.kind)}
    assert unknown == set()


def smallest(resource: ServedResource) -> dict[str, Any]:
    """The smallest object that a real server takes."""
    place = f"{resource.api_version}/{resource.plural}"
    text = json.dumps({**SEEDS.get(place, {}), **MORE.get(place, {})})
    seed = json.loads(text.replace("NAMESPACE", "default").replace("NAME", "one"))
    return {"metadata": {"name": seed.pop("$name", "one")}, **seed}


def path_of(resource: ServedResource) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/namespaces/default/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"


@pytest.mark.parametrize("resource", WRITTEN, ids=lambda one: one.group_resource)
def test_each_kind_is_kept_with_what_it_requires(resource: ServedResource) -> None:
    server, path = Server(Options(quota_usage=False)), path_of(resource)
    made = server.ask("POST", path, smallest(resource))
    assert made.code == 201, made.value
    name = made.value["metadata"]["name"]
    again = server.get(f"{path}/{name}").value
    assert again == made.value
    assert again["kind"] == resource.kind
    names = [one["metadata"]["name"] for one in server.get(path).value["items"]]
    assert [each for each in names if not each.startswith("system-")] == [name]
    if "status" in resource.subresources:
        first = {} if resource.first_status is None else {"status": resource.first_status}
        conversion = conversion_of(resource)
        shown = first if conversion is None else conversion.from_stored(first)
        assert resource.kind == "APIService" or again.get("status") == shown.get("status")
        server.ask("PUT", f"{path}/{name}/status", {**again, "status": {}})
    patched = server.ask("PATCH", f"{path}/{name}", {"metadata": {"labels": {"a": "b"}}}, content_type=STRATEGIC)
    assert (patched.code, patched.value["metadata"]["labels"]["a"]) == (200, "b")
    assert server.ask("DELETE", f"{path}/{name}").code == 200
    server.world.run_for(SECOND_NS)  # what protects storage is taken away a moment later
    assert server.get(f"{path}/{name}").code == 404


@pytest.mark.parametrize("resource", PUBLISHED, ids=lambda one: one.group_resource)
def test_openapi_describes_each_kind_and_all_that_it_refers_to(resource: ServedResource) -> None:
    found = components(schema_name(resource))
    assert found[schema_name(resource)]["x-kubernetes-group-version-kind"] == [
        {"group": resource.group, "version": resource.version, "kind": resource.kind}
    ]


def test_wrong_values_and_unknown_fields_are_refused() -> None:
    server = Server()
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    rule = {"http": {"paths": [{"pathType": 7, "backend": {}}]}}
    refused = server.ask("POST", path, {"metadata": {"name": "in"}, "spec": {"rules": [rule]}})
    assert refused.code == 400
    field = "Go struct field HTTPIngressPath.spec.rules.IngressRuleValue.http.paths.pathType of type string"
    assert f"json: cannot unmarshal number into {field}" in refused.message
    unknown = {"metadata": {"name": "in"}, "spec": {"rule": []}}
    assert server.ask("POST", path, unknown, fieldValidation="Strict").message.endswith('unknown field "spec.rule"')
    named = server.ask("POST", path, {"metadata": {"name": "No Name"}, "spec": {}})
    assert (named.code, "metadata.name" in named.message) == (422, True)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("deployments", {}),
        ("replicasets", {"replicas": 0}),
        ("statefulsets", {"replicas": 0, "availableReplicas": 0}),
    ],
)
def test_a_new_workload_has_the_status_of_a_real_server_and_not_what_is_sent(kind: str, status: Any) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, "serviceName": "web"}
    body = {"metadata": {"name": "web"}, "spec": spec, "status": {"replicas": 7}}
    server = Server()
    made = server.ask("POST", f"/apis/apps/v1/namespaces/default/{kind}", body, fieldValidation="Ignore")
    assert (made.code, made.value["status"]) == (201, status)


def test_the_scale_of_a_workload_is_read_and_written() -> None:
    server, path = Server(), "/apis/apps/v1/namespaces/default/deployments"
    deployment = next(one for one in PUBLISHED if one.kind == "Deployment")
    server.ask("POST", path, smallest(deployment))
    assert server.get(f"{path}/one/scale").value["spec"] == {"replicas": 1}
    scale = {"metadata": {"name": "one"}, "spec": {"replicas": 4}}
    assert server.ask("PUT", f"{path}/one/scale", scale).code == 200
    found = server.get(f"{path}/one").value
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)


def test_a_template_names_its_account_twice_and_leaves_ports_of_the_host_to_its_pods() -> None:
    server = Server()
    one = {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}
    for field, other in (
        ("serviceAccountName", {}),
        ("serviceAccount", {}),
        ("serviceAccountName", {"serviceAccount": "b"}),
    ):
        spec = {field: "a", **other, "hostNetwork": True, "containers": [one]}
        labels = {"matchLabels": {"a": "b"}}
        sets = "/apis/apps/v1/namespaces/default/daemonsets"
        body = {
            "metadata": {"generateName": "d"},
            "spec": {"selector": labels, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}},
        }
        made = server.ask("POST", sets, body).value["spec"]["template"]["spec"]
        assert (made["serviceAccountName"], made["serviceAccount"]) == ("a", "a")
        (container,) = made["containers"]
        assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
        assert container["resources"] == one["resources"]


def test_amounts_are_shown_as_go_writes_them() -> None:
    server, amounts = Server(), {"limits": {"cpu": "1000m", "memory": "2048Mi"}, "requests": {"cpu": 0.5, "memory": 1}}
    one = {"name": "c", "image": "i", "resources": amounts}
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [one]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    made = server.ask("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}, "spec": spec})
    pod = server.ask(
        "POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [one]}}
    )
    for found in (made.value["spec"]["template"]["spec"], pod.value["spec"]):
        resources = found["containers"][0]["resources"]
        assert resources == {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "1"}}


def test_a_claim_template_may_have_the_name_of_a_volume_of_its_template() -> None:
    server, path = Server(), "/apis/apps/v1/namespaces/default/statefulsets"
    container = {**CONTAINERS[0], "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    kept = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    value = smallest(next(one for one in PUBLISHED if one.kind == "StatefulSet"))
    value["spec"]["volumeClaimTemplates"] = [
        {"metadata": {"name": "data"}, "spec": SEEDS["v1/persistentvolumeclaims"]["spec"]}
    ]
    for volumes in ([], [kept]):
        value["metadata"]["name"] = f"with-{len(volumes)}"
        value["spec"]["template"]["spec"] = {"containers": [container], "volumes": volumes}
        made = server.ask("POST", path, value)
        assert made.code == 201, made.value
        assert [one["name"] for one in made.value["spec"]["template"]["spec"].get("volumes") or ()] == [
            one["name"] for one in volumes
        ]


def test_objects_owned_by_a_deployment_are_deleted_with_it() -> None:
    server = Server(Options(garbage_collection=True))
    path, pods = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/pods"
    deployment = next(one for one in PUBLISHED if one.kind == "Deployment")
    uid = server.ask("POST", path, smallest(deployment)).value["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one", "uid": uid}
    pod = {"metadata": {"name": "p", "ownerReferences": [owner]}, "spec": {"containers": CONTAINERS}}
    assert server.ask("POST", pods, pod).code == 201
    server.world.run_for(2 * 10**9)
    assert server.get(f"{pods}/p").code == 200
    server.ask("DELETE", f"{path}/one")
    server.world.run_for(2 * 10**9)
    assert server.get(f"{pods}/p").code == 404


def test_a_pod_has_the_priority_of_its_class() -> None:
    server = Server()
    made = {"metadata": {"name": "late"}, "value": -5, "preemptionPolicy": "Never"}
    assert server.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", made).code == 201
    spec = {"containers": CONTAINERS, "priorityClassName": "late"}
    pod = server.ask("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec}).value
    assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (-5, "Never")


def test_protobuf_of_typed_clients_is_read() -> None:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    def body(data: bytes) -> bytes:
        return b"k8s\x00" + field(1, field(1, b"batch/v1") + field(2, b"Job")) + field(2, data)

    volume = field(1, b"tmp") + field(2, field(2, b""))  # A volume source stands in JSON beside the name.
    limits = field(1, field(1, b"cpu") + field(2, field(1, b"500m")))
    container = field(1, b"main") + field(2, b"busybox") + field(8, limits)
    pod = field(1, volume) + field(2, container) + field(3, b"Never")
    spec = b"\x08\x03" + field(6, field(2, pod))  # 3 at a time
    server, path = Server(), "/apis/batch/v1/namespaces/default/jobs"
    sent = body(field(1, field(1, b"once")) + field(2, spec))
    made = server.ask("POST", path, sent, content_type="application/vnd.kubernetes.protobuf")
    assert made.code == 201, made.value
    assert made.value["spec"]["parallelism"] == 3
    template = made.value["spec"]["template"]["spec"]
    assert template["volumes"] == [{"name": "tmp", "emptyDir": {}}]
    assert template["containers"][0]["resources"]["limits"] == {"cpu": "500m"}
    broken = server.ask("POST", path, body(b"\xff"), content_type="application/vnd.kubernetes.protobuf")
    assert (broken.code, "cannot be read" in broken.message) == (400, True)


@pytest.mark.parametrize(
    ("kind", "kept"), [("StatefulSet", set()), ("Deployment", {"labels"}), ("FlowSchema", {"labels", "annotations"})]
)
def test_a_change_of_a_status_keeps_the_metadata_that_its_kind_keeps(kind: str, kept: set[str]) -> None:
    server, resource = Server(), next(one for one in PUBLISHED if one.kind == kind)
    path = path_of(resource)
    assert server.ask("POST", path, smallest(resource)).code == 201
    asked = {"labels": {"part": "new"}, "annotations": {"part": "new"}}
    changed = server.ask("PATCH", f"{path}/one/status", {"metadata": asked}, content_type=STRATEGIC)
    assert changed.code == 200, changed.value
    assert {name for name in asked if "part" not in (changed.value["metadata"].get(name) or {})} == kept
