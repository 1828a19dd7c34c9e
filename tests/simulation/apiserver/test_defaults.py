"""The defaults of built-in kinds: the rules of the table, and what a kube-apiserver 1.36.2 answered."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.kinds.defaults import DefaultRule, recorded_kinds, with_defaults
from simulation.apiserver.kinds.table import SERVED
from tests.simulation.apiserver.worlds import MERGE, Server

LABELS = {"a": "b"}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ENDING = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
WORKLOAD: dict[str, Any] = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
SCALED = {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}}
ROLLING = {"maxUnavailable": "25%", "maxSurge": "25%"}
PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"


@pytest.mark.parametrize(
    ("rules", "value", "made"),
    [
        ([DefaultRule(set={"a": 1})], {}, {"a": 1}),
        ([DefaultRule(set={"a": 1})], {"a": None}, {"a": 1}),
        ([DefaultRule(set={"a": 1})], {"a": 0}, {"a": 0}),
        ([DefaultRule(fill={"a": 1})], {"a": 0}, {"a": 1}),
        ([DefaultRule("b", set={"a": 1})], {}, {}),
        ([DefaultRule(set={"b": {}}), DefaultRule("b", set={"a": 1})], {}, {"b": {"a": 1}}),
        ([DefaultRule("b", set={"a": 1}), DefaultRule(set={"b": {}})], {}, {"b": {}}),
        ([DefaultRule("b.*", set={"a": 1})], {"b": [{}, {"a": 2}]}, {"b": [{"a": 1}, {"a": 2}]}),
        ([DefaultRule("b.*", set={"a": 1})], {"b": {"x": {}, "y": 3}}, {"b": {"x": {"a": 1}, "y": 3}}),
        ([DefaultRule(when={"t": "x"}, set={"a": 1})], {"t": "x"}, {"t": "x", "a": 1}),
        ([DefaultRule(when={"t": "x"}, set={"a": 1})], {"t": "y"}, {"t": "y"}),
        ([DefaultRule(when={"t": None}, set={"a": 1})], {}, {"a": 1}),
        ([DefaultRule("b.c", set={"a": 1})], {"b": "text"}, {"b": "text"}),
    ],
)
def test_a_rule_gives_values_where_there_are_none(rules: list[DefaultRule], value: Any, made: Any) -> None:
    assert with_defaults(value, rules) == made


def test_a_rule_shares_what_it_does_not_change_and_changes_nothing_itself() -> None:
    value = {"b": [{"a": 1}], "c": {}}
    made = with_defaults(value, [DefaultRule("b.*", set={"a": 2}), DefaultRule("c", set={"a": 2})])
    assert made["b"] is value["b"]
    assert (made["c"], value["c"]) == ({"a": 2}, {})


@pytest.mark.parametrize(
    ("path", "spec", "field", "made"),
    [
        (f"{APPS}/deployments", {"strategy": {}}, "strategy", {"type": "RollingUpdate", "rollingUpdate": ROLLING}),
        (
            f"{APPS}/deployments",
            {"strategy": {"type": "RollingUpdate"}},
            "strategy",
            {"type": "RollingUpdate", "rollingUpdate": ROLLING},
        ),
        (f"{APPS}/deployments", {"strategy": {"type": "Recreate"}}, "strategy", {"type": "Recreate"}),
        (
            f"{APPS}/deployments",
            {"strategy": {"rollingUpdate": {"maxSurge": 3}}},
            "strategy",
            {"type": "RollingUpdate", "rollingUpdate": {**ROLLING, "maxSurge": 3}},
        ),
        (
            f"{APPS}/daemonsets",
            {"updateStrategy": {"type": "RollingUpdate"}},
            "updateStrategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        ),
        (f"{APPS}/daemonsets", {"updateStrategy": {"type": "OnDelete"}}, "updateStrategy", {"type": "OnDelete"}),
        (
            f"{APPS}/statefulsets",
            {},
            "updateStrategy",
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        ),
        (
            f"{APPS}/statefulsets",
            {"updateStrategy": {"type": "RollingUpdate"}},
            "updateStrategy",
            {"type": "RollingUpdate"},
        ),
        (
            f"{APPS}/statefulsets",
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
            "persistentVolumeClaimRetentionPolicy",
            {"whenDeleted": "Delete", "whenScaled": "Retain"},
        ),
    ],
)
def test_workloads_are_completed_as_a_real_server_does(path: str, spec: Any, field: str, made: Any) -> None:
    answer = Server().ask("POST", path, {"metadata": {"name": "x"}, "spec": {**WORKLOAD, **spec}})
    assert answer.code == 201, answer.value
    assert answer.value["spec"][field] == made


@pytest.mark.parametrize(
    ("path", "spec", "made"),
    [
        (f"{BATCH}/jobs", {"template": ENDING}, {"parallelism": 1, "completions": 1, "backoffLimit": 6}),
        (f"{BATCH}/jobs", {"template": ENDING, "parallelism": 3}, {"parallelism": 3, "completions": None}),
        (
            f"{BATCH}/jobs",
            {"template": ENDING, "completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1},
            {"backoffLimit": 2147483647, "podReplacementPolicy": "TerminatingOrFailed"},
        ),
        (
            "/api/v1/namespaces/default/services",
            {"sessionAffinity": "ClientIP", "ports": [{"port": 80}]},
            {
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "internalTrafficPolicy": "Cluster",
            },
        ),
        (
            "/api/v1/namespaces/default/services",
            {"type": "ExternalName", "externalName": "a.b"},
            {"sessionAffinity": "None", "internalTrafficPolicy": None, "clusterIP": None},
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            {"podSelector": {}, "egress": [{"ports": [{"port": 3}]}]},
            {"policyTypes": ["Ingress", "Egress"], "egress": [{"ports": [{"port": 3, "protocol": "TCP"}]}]},
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            {"podSelector": {}},
            {"policyTypes": ["Ingress"]},
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {**SCALED, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3}}},
            {
                "behavior": {
                    "scaleUp": {
                        "stabilizationWindowSeconds": 0,
                        "selectPolicy": "Max",
                        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, PERCENT],
                    },
                    "scaleDown": {"stabilizationWindowSeconds": 3, "selectPolicy": "Max", "policies": [PERCENT]},
                }
            },
        ),
        (
            "/api/v1/persistentvolumes",
            {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
            {
                "hostPath": {"path": "/x", "type": ""},
                "persistentVolumeReclaimPolicy": "Retain",
                "volumeMode": "Filesystem",
            },
        ),
    ],
)
def test_specs_are_completed_as_a_real_server_does(path: str, spec: Any, made: Any) -> None:
    answer = Server().ask("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert answer.code == 201, answer.value
    assert {field: answer.value["spec"].get(field) for field in made} == made


def test_a_change_is_completed_like_a_new_object() -> None:
    server, path = Server(), f"{APPS}/deployments"
    server.ask("POST", path, {"metadata": {"name": "x"}, "spec": {**WORKLOAD, "strategy": {"type": "Recreate"}}})
    patch = {"spec": {"strategy": {"type": "RollingUpdate"}, "replicas": None}}
    spec = server.ask("PATCH", f"{path}/x", patch, content_type=MERGE).value["spec"]
    assert (spec["strategy"], spec["replicas"]) == ({"type": "RollingUpdate", "rollingUpdate": ROLLING}, 1)


def test_a_replication_controller_selects_by_the_labels_of_its_template() -> None:
    body = {"metadata": {"name": "x"}, "spec": {"template": TEMPLATE}}
    made = Server().ask("POST", "/api/v1/namespaces/default/replicationcontrollers", body).value
    assert (made["spec"]["selector"], made["metadata"]["labels"]) == (LABELS, LABELS)


def test_every_recorded_kind_is_served() -> None:
    assert set(recorded_kinds()) <= {f"{one.api_version}/{one.kind}" for one in SERVED}
