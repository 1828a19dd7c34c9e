"""Built-in kinds in two versions: both show the same objects, and neither loses what the other says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.documents.tables import table_of
from simulation.apiserver.kinds.table import SERVED, find
from simulation.apiserver.versions.autoscalers import BEHAVIOUR, CONDITIONS, CURRENT, METRICS, to_v1, to_v2
from simulation.apiserver.versions.conversions import conversion_of
from tests.simulation.apiserver.test_protobuf import message
from tests.simulation.apiserver.worlds import MERGE, Server

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
APPLY = "application/apply-patch+yaml"
REFERENCE = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
SPEC = {"maxReplicas": 3, "scaleTargetRef": REFERENCE}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 60}}


def cpu(percent: int) -> Any:
    return {"type": "Resource", "resource": {"name": "cpu", "target": _utilization(percent)}}


def _utilization(percent: int) -> Any:
    return {"type": "Utilization", "averageUtilization": percent}


def autoscaler(version: str, **spec: Any) -> Any:
    head = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    return {**head, "spec": {**SPEC, **spec}}


@pytest.fixture
def server() -> Server:
    return Server()


def test_every_second_version_of_a_built_in_kind_says_how_it_is_made() -> None:
    assert [one.api_version for one in SERVED if one.storage and conversion_of(one) is None] == []


def test_an_autoscaler_of_v1_is_read_in_v2(server: Server) -> None:
    made = server.ask("POST", V1, autoscaler("v1", targetCPUUtilizationPercentage=50))
    assert (made.code, made.value["apiVersion"]) == (201, "autoscaling/v1")
    read = server.get(f"{V2}/web").value
    assert read["apiVersion"] == "autoscaling/v2"
    assert read["spec"] == {**SPEC, "minReplicas": 1, "metrics": [cpu(50)]}
    assert read["metadata"] == made.value["metadata"]


def test_without_any_metric_the_cpu_is_the_one(server: Server) -> None:
    assert server.ask("POST", V1, autoscaler("v1")).value["spec"]["targetCPUUtilizationPercentage"] == 80
    assert server.get(f"{V2}/web").value["spec"]["metrics"] == [cpu(80)]


def test_a_client_of_v1_keeps_what_only_v2_has_fields_for(server: Server) -> None:
    server.ask("POST", V2, autoscaler("v2", metrics=[MEMORY, cpu(60)], behavior=BEHAVIOR))
    before = server.get(f"{V2}/web").value["spec"]
    read = server.get(f"{V1}/web").value
    assert read["spec"]["targetCPUUtilizationPercentage"] == 60
    assert set(read["metadata"]["annotations"]) == {METRICS, BEHAVIOUR}
    put = server.ask("PUT", f"{V1}/web", {**read, "spec": {**read["spec"], "maxReplicas": 7}})
    assert put.code == 200
    after = server.get(f"{V2}/web").value
    assert after["spec"] == {**before, "maxReplicas": 7}
    assert "annotations" not in after["metadata"]


def test_a_change_of_the_spec_in_v1_leaves_the_status_that_stands_in_annotations(server: Server) -> None:
    server.ask("POST", V2, autoscaler("v2"))
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 0, "averageValue": "0"}},
    }
    status = {"desiredReplicas": 2, "currentReplicas": 1, "currentMetrics": [metric], "conditions": [condition]}
    server.ask("PUT", f"{V2}/web/status", {**autoscaler("v2"), "status": status})
    read = server.get(f"{V1}/web").value
    assert read["status"] == {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 0}
    assert set(read["metadata"]["annotations"]) == {CURRENT, CONDITIONS}
    assert server.ask("PUT", f"{V1}/web", autoscaler("v1", maxReplicas=9)).code == 200
    after = server.get(f"{V2}/web").value
    assert after["status"] == status
    assert after["spec"]["maxReplicas"] == 9


def test_a_change_of_the_status_in_v1_leaves_the_spec_that_stands_in_annotations(server: Server) -> None:
    server.ask("POST", V2, autoscaler("v2", metrics=[MEMORY]))
    before = server.get(f"{V2}/web").value["spec"]
    change = {"metadata": {"annotations": {METRICS: "[]"}}, "status": {"currentCPUUtilizationPercentage": 5}}
    assert server.ask("PATCH", f"{V1}/web/status", change, content_type=MERGE).code == 200
    after = server.get(f"{V2}/web").value
    assert after["spec"] == before
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5}}}
    assert after["status"]["currentMetrics"] == [current]


def test_an_unchanged_object_is_not_written_again_in_either_version(server: Server) -> None:
    server.ask("POST", V2, autoscaler("v2", metrics=[MEMORY, cpu(60)], behavior=BEHAVIOR))
    for path in (V1, V2):
        read = server.get(f"{path}/web").value
        assert server.ask("PUT", f"{path}/web", read).value == read


@pytest.mark.parametrize(
    "text", ["no JSON", "{}", "3", '[{"type":"Resource","resource":{"name":3}}]', "[null]", "[" * 100_000]
)
def test_an_annotation_that_does_not_fit_is_left_out(server: Server, text: str) -> None:
    sent = autoscaler("v1")
    sent["metadata"]["annotations"] = dict.fromkeys((METRICS, BEHAVIOUR, CURRENT, CONDITIONS), text)
    made = server.ask("POST", V1, sent)
    assert made.code == 201
    assert "annotations" not in made.value["metadata"]
    assert server.get(f"{V2}/web").value["spec"]["metrics"] == [cpu(80)]


def test_a_fault_has_the_path_of_the_version_that_is_checked(server: Server) -> None:
    sent = autoscaler("v1")
    sent["metadata"]["annotations"] = {METRICS: '[{"type":"Odd"}]'}
    refused = server.ask("POST", V1, sent)
    assert refused.code == 422
    assert refused.value["details"]["causes"][0]["field"] == "spec.metrics[0].type"


def test_an_object_of_the_other_version_is_refused(server: Server) -> None:
    refused = server.ask("POST", V1, autoscaler("v2"))
    assert (refused.code, refused.message) == (
        400,
        "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)",
    )


def test_fields_are_owned_in_the_version_in_which_they_were_set(server: Server) -> None:
    first = server.ask("PATCH", f"{V1}/web", autoscaler("v1"), content_type=APPLY, fieldManager="old")
    assert first.code == 201
    wanted = autoscaler("v2", metrics=[MEMORY])
    wanted["spec"]["maxReplicas"] = 5
    conflict = server.ask("PATCH", f"{V2}/web", wanted, content_type=APPLY, fieldManager="new")
    assert conflict.code == 409
    assert [one["field"] for one in conflict.value["details"]["causes"]] == [".spec.maxReplicas"]
    forced = server.ask("PATCH", f"{V2}/web", wanted, content_type=APPLY, fieldManager="new", force="true").value
    owners = {one["manager"]: one["apiVersion"] for one in forced["metadata"]["managedFields"]}
    assert owners == {"old": "autoscaling/v1", "new": "autoscaling/v2"}


def test_a_watch_of_v1_tells_of_changes_in_v2(server: Server) -> None:
    watched = server.watch(V1)
    server.ask("POST", V2, autoscaler("v2", metrics=[MEMORY]))
    (kind, value), *more = watched.events
    assert (kind, value["apiVersion"], more) == ("ADDED", "autoscaling/v1", [])
    assert "targetCPUUtilizationPercentage" not in value["spec"]


def test_both_versions_show_the_same_columns(server: Server) -> None:
    server.ask("POST", V2, autoscaler("v2", metrics=[MEMORY, cpu(60)]))
    rows = []
    for version, path in (("v1", V1), ("v2", V2)):
        resource = find("autoscaling", version, "horizontalpodautoscalers")
        assert resource is not None
        (row,) = table_of(resource, [server.get(f"{path}/web").value], wall_ns=0)["rows"]
        rows.append(row["cells"][:5])
    assert rows == [["web", "Deployment/web", "memory: <unknown>/1Gi, cpu: <unknown>/60%", "1", 3]] * 2


def test_an_autoscaler_of_v1_may_be_sent_in_protobuf(server: Server) -> None:
    spec = ((1, message((1, "Deployment"), (2, "web"), (3, "apps/v1"))), (3, 3), (4, 50))
    value = message((1, message((1, "web"))), (2, message(*spec)))
    body = b"k8s\x00" + message((1, message((1, "autoscaling/v1"), (2, "HorizontalPodAutoscaler"))), (2, value))
    made = server.ask("POST", V1, body, content_type="application/vnd.kubernetes.protobuf")
    assert made.code == 201, made.value
    assert made.value["spec"]["targetCPUUtilizationPercentage"] == 50


# --- any object -----------------------------------------------------------------------------------------------------

names = st.text("abc<&é", min_size=1, max_size=3)
amounts = st.sampled_from(["1", "20m", "3Gi", "1500"])
percents = st.integers(1, 200)
selectors: st.SearchStrategy[Any] = st.just({}) | st.just({"selector": {"matchLabels": {"a": "b"}}})
identifiers = st.builds(lambda name, selector: {"name": name, **selector}, names, selectors)
values = amounts.map(lambda amount: {"type": "Value", "value": amount})
averages = amounts.map(lambda amount: {"type": "AverageValue", "averageValue": amount})
utilizations = percents.map(_utilization)


def metrics(source: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields).map(lambda part: {"type": source[:1].upper() + source[1:], source: part})


others = st.lists(
    metrics("object", describedObject=st.just(REFERENCE), metric=identifiers, target=values | averages)
    | metrics("pods", metric=identifiers, target=averages)
    | metrics("external", metric=identifiers, target=values | averages)
    | metrics("resource", name=st.just("memory"), target=averages | utilizations)
    | metrics("containerResource", name=st.just("cpu"), container=names, target=averages | utilizations),
    max_size=4,
)


@given(others, st.none() | percents)
def test_metrics_survive_the_way_through_v1(found: list[Any], percent: int | None) -> None:
    wanted = [*found, *([] if percent is None else [cpu(percent)])] or [cpu(80)]
    stored = {**autoscaler("v2"), "spec": {**SPEC, "minReplicas": 1, "metrics": wanted}}
    before = msgspec.json.encode(stored)
    assert to_v2(to_v1(stored)) == stored
    assert msgspec.json.encode(stored) == before, "what was given is unchanged"
