"""What makes the objects of two runs comparable."""

from __future__ import annotations

from typing import Any

from simulation.sweep.state import state_of

OWNER = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


def thing(name: str, uid: str = OTHER, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": "7", **rest.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **rest}


def test_uids_become_names_and_those_of_nothing_are_told() -> None:
    owned = thing("notes", metadata={"ownerReferences": [{"uid": OWNER}]}, data={"of": OTHER.replace("2", "3")})
    state = state_of([("configmaps", owned), ("sites.example.com", thing("shop", OWNER))])
    found = state["configmaps default/notes"]
    assert found["metadata"]["ownerReferences"] == [{"uid": "<uid of sites.example.com default/shop>"}]
    assert found["data"] == {"of": "<uid of nothing>"}


def test_moments_are_one_word() -> None:
    state = state_of([("configmaps", thing("notes", data={"at": "made at 2026-01-01T00:00:02Z by me"}))])
    assert state["configmaps default/notes"]["data"] == {"at": "made at <a moment> by me"}


def test_generated_names_are_numbered_and_what_refers_to_them_follows() -> None:
    made = thing("web-x7k2p", OWNER, metadata={"generateName": "web-"})
    state = state_of([("configmaps", made), ("configmaps", thing("list", data={"first": "web-x7k2p"}))])
    assert set(state) == {"configmaps default/web-*0", "configmaps default/list"}
    assert state["configmaps default/list"]["data"] == {"first": "web-*0"}


def test_of_a_pod_stay_its_phase_and_whether_it_is_ready() -> None:
    status = {
        "phase": "Running",
        "podIPs": [{"ip": "10.1.0.3"}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"restartCount": 3}],
    }
    spec = {"nodeName": "node-1", "containers": [{"name": "a", "volumeMounts": [{"name": "kube-api-access-abcde"}]}]}
    notes = thing("notes", OWNER, data={"address": "10.1.0.3", "node": "node-1"})
    state = state_of([("pods", thing("web", spec=spec, status=status)), ("configmaps", notes)])
    assert state["pods default/web"]["status"] == {"phase": "Running", "ready": True}
    assert state["pods default/web"]["spec"] == {"containers": [{"name": "a", "volumeMounts": []}]}
    assert state["configmaps default/notes"]["data"] == {"address": "<an address of a pod>", "node": "<a node>"}


def test_when_the_endpoints_of_a_service_changed_is_no_difference() -> None:
    moment = {"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:02Z"}
    for before, after in (({"team": "a"}, {"annotations": {"team": "a"}}), ({}, {})):
        state = state_of([("endpoints", thing("web", metadata={"annotations": {**moment, **before}}))])
        assert state["endpoints default/web"]["metadata"] == after


def test_an_object_that_is_terminating_says_so() -> None:
    state = state_of([("configmaps", thing("notes", metadata={"deletionTimestamp": "2026-01-01T00:00:02Z"}))])
    assert state["configmaps default/notes"]["metadata"] == {"terminating": True}


def test_conditions_in_another_order_are_the_same() -> None:
    available, progressing = {"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}
    one = state_of([("deployments.apps", thing("web", status={"conditions": [available, progressing]}))])
    other = state_of([("deployments.apps", thing("web", status={"conditions": [progressing, available]}))])
    assert one == other


def test_conditions_without_types_stay_as_they_are() -> None:
    state = state_of([("sites.example.com", thing("shop", status={"conditions": ["late", "closed"]}))])
    assert state["sites.example.com default/shop"]["status"] == {"conditions": ["late", "closed"]}


def test_ports_with_names_in_another_order_are_the_same() -> None:
    amqp, management = {"name": "amqp", "port": 5672}, {"name": "management", "port": 15672}
    one = state_of([("services", thing("queue", spec={"ports": [amqp, management]}))])
    assert one == state_of([("services", thing("queue", spec={"ports": [management, amqp]}))])


def test_a_reference_to_an_object_is_to_none_of_its_versions() -> None:
    reference = {"name": "data", "uid": "0b0c2a0e-5a3c-4a57-8a5b-111111111111", "resourceVersion": "87"}
    state = state_of([("persistentvolumes", thing("disk", spec={"claimRef": reference}))])
    assert state["persistentvolumes default/disk"]["spec"]["claimRef"] == {"name": "data", "uid": "<uid of nothing>"}
