"""What `kubectl get` shows, by table: one row of each resource, and the document around the rows."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.documents.tables import table_of
from simulation.apiserver.kinds.table import SERVED, find

MADE = "2026-01-02T03:04:05Z"
WALL_NS = (1_767_323_045 + 300) * 10**9
META = {"name": "x", "namespace": "default", "creationTimestamp": MADE, "resourceVersion": "7"}


def table(
    plural: str, document: dict[str, Any], group: str = "", version: str = "v1", **options: Any
) -> dict[str, Any]:
    resource = find(group, version, plural)
    assert resource is not None
    metadata = {**META, **document.pop("metadata", {})}
    return table_of(resource, [{"metadata": metadata, **document}], wall_ns=WALL_NS, **options)


def shown(document: dict[str, Any], *, wide: bool = False) -> dict[str, Any]:
    """Column -> cell of the first row, without or with the columns of `-o wide`."""
    cells = document["rows"][0]["cells"]
    columns = document["columnDefinitions"]
    assert len(cells) == len(columns)
    return {
        column["name"]: cell
        for column, cell in zip(columns, cells, strict=True)
        if column["priority"] == 0 or (wide and column["priority"] == 1)
    }


def row(plural: str, document: dict[str, Any], group: str = "", *, wide: bool = False) -> list[Any]:
    return list(shown(table(plural, document, group), wide=wide).values())


POD = {
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    "status": {
        "phase": "Running",
        "podIP": "10.1.0.9",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": "c",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {}},
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T03:07:05Z"}},
            }
        ],
    },
}


def test_a_pod() -> None:
    assert shown(table("pods", dict(POD))) == {
        "Name": "x",
        "Ready": "1/1",
        "Status": "Running",
        "Restarts": "2 (2m ago)",
        "Age": "5m",
    }


def test_a_pod_in_wide_form() -> None:
    wide = shown(table("pods", dict(POD)), wide=True)
    assert (wide["IP"], wide["Node"]) == ("10.1.0.9", "n1")
    assert (wide["Nominated Node"], wide["Readiness Gates"]) == ("<none>", "<none>")


def test_a_pod_of_a_form_that_nobody_foresaw_does_not_spoil_the_listing() -> None:
    assert row("pods", {"spec": {"containers": "none"}}) == ["x", "0/0", "<unknown>", "0", "5m"]


@pytest.mark.parametrize(
    ("ready", "unschedulable", "word"),
    [
        ("True", False, "Ready"),
        ("False", False, "NotReady"),
        ("Unknown", False, "NotReady"),
        (None, False, "Unknown"),
        ("True", True, "Ready,SchedulingDisabled"),
    ],
)
def test_the_status_of_a_node(ready: str | None, unschedulable: bool, word: str) -> None:
    conditions = [{"type": "MemoryPressure", "status": "False"}]
    conditions += [{"type": "Ready", "status": ready}] if ready else []
    node = {"spec": {"unschedulable": unschedulable}, "status": {"conditions": conditions}}
    assert row("nodes", node)[1] == word


def test_a_node_in_wide_form() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge", "kubernetes.io/os": "linux"}
    info = {
        "kubeletVersion": "v1.36.0",
        "osImage": "Debian",
        "kernelVersion": "6.1",
        "containerRuntimeVersion": "containerd://2",
    }
    node = {
        "metadata": {"labels": labels},
        "status": {"nodeInfo": info, "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]},
    }
    assert row("nodes", node, wide=True) == [
        *("x", "Unknown", "edge,worker", "5m", "v1.36.0"),
        *("192.0.2.1", "<none>", "Debian", "6.1", "containerd://2"),
    ]
    assert row("nodes", {}, wide=True)[2:] == ["<none>", "5m", "", "<none>", "<none>"] + ["<unknown>"] * 3


def test_an_event_in_the_form_of_the_core_group() -> None:
    event = {
        "type": "Warning",
        "reason": "BackOff",
        "message": " pulling \n",
        "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": MADE,
        "lastTimestamp": "2026-01-02T03:08:05Z",
        "count": 3,
    }
    document = table("events", event)
    assert list(shown(document).values()) == ["60s", "Warning", "BackOff", "pod/web", "pulling"]
    wide = shown(document, wide=True)
    assert (wide["Subobject"], wide["Source"]) == ("spec.containers{c}", "kubelet, n1")
    assert (wide["First Seen"], wide["Count"], wide["Name"]) == ("5m", 3, "x")


def test_an_event_in_the_form_of_its_own_group() -> None:
    event = {
        "type": "Normal",
        "reason": "Scheduled",
        "note": "bound",
        "regarding": {"kind": "Pod", "name": "web"},
        "reportingController": "default-scheduler",
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "series": {"count": 4, "lastObservedTime": "2026-01-02T03:09:00.000000Z"},
    }
    wide = shown(table("events", event, "events.k8s.io"), wide=True)
    assert list(wide.values()) == [
        "5s",
        "Normal",
        "Scheduled",
        "pod/web",
        "",
        "default-scheduler",
        "bound",
        "5m",
        4,
        "x",
    ]


@pytest.mark.parametrize(
    ("plural", "group", "document", "expected"),
    [
        ("namespaces", "", {"status": {"phase": "Active"}}, ["x", "Active", "5m"]),
        ("configmaps", "", {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}}, ["x", 3, "5m"]),
        ("secrets", "", {"type": "Opaque", "data": {"a": "MQ=="}}, ["x", "Opaque", 1, "5m"]),
        ("serviceaccounts", "", {}, ["x", "5m"]),
        ("leases", "coordination.k8s.io", {"spec": {"holderIdentity": "n1"}}, ["x", "n1", "5m"]),
        ("runtimeclasses", "node.k8s.io", {"handler": "runsc"}, ["x", "runsc", "5m"]),
        ("csinodes", "storage.k8s.io", {"spec": {"drivers": [{"name": "d"}]}}, ["x", 1, "5m"]),
        ("csidrivers", "storage.k8s.io", {"spec": {}}, ["x", True, False, False, "<unset>", False, "<none>", "5m"]),
        (
            "csidrivers",
            "storage.k8s.io",
            {
                "spec": {
                    "attachRequired": False,
                    "podInfoOnMount": True,
                    "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                    "volumeLifecycleModes": ["Persistent", "Ephemeral"],
                }
            },
            ["x", False, True, False, "a,b", False, "Persistent,Ephemeral", "5m"],
        ),
        (
            "volumeattachments",
            "storage.k8s.io",
            {
                "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
                "status": {"attached": True},
            },
            ["x", "d", "pv", "n1", True, "5m"],
        ),
    ],
)
def test_simple_kinds_have_their_columns(
    plural: str, group: str, document: dict[str, Any], expected: list[Any]
) -> None:
    assert row(plural, document, group) == expected


@pytest.mark.parametrize(
    ("spec", "status", "external"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["198.51.100.7"]}, {}, "198.51.100.7"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "198.51.100.8"}]}}, "198.51.100.8"),
        ({"type": "ExternalName", "externalName": "example.org"}, {}, "example.org"),
    ],
)
def test_the_addresses_of_a_service_for_the_world(spec: Any, status: Any, external: str) -> None:
    assert row("services", {"spec": spec, "status": status})[3] == external


def test_a_service_in_wide_form() -> None:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]
    spec = {"type": "NodePort", "clusterIP": "10.0.0.9", "ports": ports, "selector": {"b": "2", "a": "1"}}
    expected = ["x", "NodePort", "10.0.0.9", "<none>", "80:30080/TCP,53/UDP", "5m", "a=1,b=2"]
    assert row("services", {"spec": spec}, wide=True) == expected
    assert row("services", {"spec": {"clusterIPs": ["None"], "clusterIP": "None"}})[2:5] == ["None", "<none>", "<none>"]


def test_a_volume_and_its_claim() -> None:
    volume = {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": "default", "name": "data"},
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Bound"},
    }
    first = ["x", "1Gi", "RWO,RWX", "Retain", "Bound", "default/data", "fast", "<unset>", "", "5m", "Filesystem"]
    assert row("persistentvolumes", volume, wide=True) == first
    claim: dict[str, Any] = {
        "spec": {"volumeName": "pv", "storageClassName": "fast"},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
    }
    second = ["x", "Bound", "pv", "1Gi", "RWO", "fast", "<unset>", "5m", "<unset>"]
    assert row("persistentvolumeclaims", dict(claim), wide=True) == second
    assert row("persistentvolumeclaims", {"status": {"phase": "Pending"}})[1:5] == ["Pending", "", "", ""]
    leaving = row("persistentvolumeclaims", {**claim, "metadata": {"deletionTimestamp": MADE}})
    assert leaving[1] == "Terminating"


@pytest.mark.parametrize(
    ("status", "condition"),
    [
        ({}, "Pending"),
        ({"conditions": [{"type": "Approved"}]}, "Approved"),
        ({"conditions": [{"type": "Approved"}], "certificate": "QQ=="}, "Approved,Issued"),
        ({"conditions": [{"type": "Denied"}]}, "Denied"),
        ({"conditions": [{"type": "Approved"}, {"type": "Failed"}]}, "Approved,Failed"),
    ],
)
def test_a_certificate_signing_request(status: Any, condition: str) -> None:
    spec = {"signerName": "kubernetes.io/kubelet-serving", "username": "system:node:n1", "expirationSeconds": 86400}
    cells = row("certificatesigningrequests", {"spec": spec, "status": status}, "certificates.k8s.io")
    assert cells == ["x", "5m", "kubernetes.io/kubelet-serving", "system:node:n1", "24h", condition]


def test_every_stored_resource_has_a_table_that_stands_an_empty_object() -> None:
    for resource in SERVED:
        if resource.stored:
            document = table_of(resource, [{}], wall_ns=WALL_NS)
            shown(document)
            assert resource.plural == "events" or document["rows"][0]["cells"][0] == ""


def test_rows_carry_as_much_of_the_object_as_was_asked_for() -> None:
    document = {"data": {"a": "1"}}
    some = table("configmaps", dict(document))["rows"][0]["object"]
    assert some == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": META}
    assert table("configmaps", dict(document), include_object="Object")["rows"][0]["object"]["data"] == {"a": "1"}
    assert "object" not in table("configmaps", dict(document), include_object="None")["rows"][0]


def test_a_table_says_where_its_list_stands() -> None:
    metadata = {"resourceVersion": "9", "continue": "more"}
    assert table("pods", {}, list_metadata=metadata)["metadata"] == metadata


def test_a_later_event_of_a_watch_repeats_no_columns_and_has_the_version_of_its_object() -> None:
    document = table("pods", {}, with_columns=False)
    assert (document["columnDefinitions"], document["metadata"]) == (None, {"resourceVersion": "7"})


REFERENCE = {"kind": "Deployment", "name": "web"}


def _resource(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", **target}}


@pytest.mark.parametrize(
    ("metrics", "current", "expected"),
    [
        ([], [], "<none>"),
        ([_resource(target={"averageUtilization": 80})], [], "cpu: <unknown>/80%"),
        (
            [_resource(target={"averageUtilization": 80})],
            [_resource(current={"averageUtilization": 5, "averageValue": "3m"})],
            "cpu: 5%/80%",
        ),
        (
            [{"type": "External", "external": {"metric": {"name": "a"}, "target": {"averageValue": "9"}}}],
            [{"type": "External", "external": {"metric": {"name": "a"}, "current": {"averageValue": "0"}}}],
            "0/9 (avg)",
        ),
        (
            [_resource(target={"averageValue": "1"}), {"type": "Odd"}, {"type": "Pods", "pods": {}}],
            [],
            "cpu: <unknown>/1, <unknown type> + 1 more...",
        ),
    ],
)
def test_an_autoscaler_shows_what_its_metrics_have_and_want(metrics: Any, current: Any, expected: str) -> None:
    value = {"spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3, "metrics": metrics}}
    document = table("horizontalpodautoscalers", {**value, "status": {"currentMetrics": current}}, "autoscaling", "v2")
    assert shown(document)["Targets"] == expected
