"""Rules of built-in kinds: each form of the data, the spelling of names, and the types of fields."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from simulation.apiserver.rules.engine import CHECKS, Kind, Rule, causes_of, kind_rules, known_rules
from simulation.apiserver.rules.metadata import causes_of_change
from simulation.apiserver.rules.spelling import FORMS
from simulation.apiserver.schemas.go_types import GoTypeError, check_types, with_amounts_as_text

STORAGE = "storage.k8s.io/v1"


def told(rule: dict[str, Any], value: Any, before: Any = None) -> list[str]:
    return [f"{field}: {message}" for _, message, field in causes_of([msgspec.convert(rule, Rule)], value, before)]


@pytest.mark.parametrize(
    ("rule", "value", "causes"),
    [
        ({"at": "a", "required": "why"}, {"a": ""}, ["a: Required value: why"]),
        ({"at": "a.b", "required": ""}, {}, ["a.b: Required value"]),
        ({"at": "a", "present": ""}, {"a": {}}, []),
        ({"at": "a.*", "least": 2}, {"a": [1, 2]}, ["a[0]: Invalid value: 1: must be greater than or equal to 2"]),
        ({"at": "a.*", "least": 2}, {"a": {"x": 1}}, ["a[x]: Invalid value: 1: must be greater than or equal to 2"]),
        ({"at": "a", "range": [1, 3]}, {"a": 4}, ["a: Invalid value: 4: must be between 1 and 3, inclusive"]),
        ({"at": "a", "least": 1}, {}, []),
        ({"at": "a", "least": 1, "absent": 0, "says": "no"}, {}, ["a: Invalid value: 0: no"]),
        ({"at": "a", "enum": ["X"]}, {"a": "Y"}, ['a: Unsupported value: "Y": supported values: "X"']),
        ({"at": "a", "enum": ["X"]}, {"a": ""}, []),
        ({"at": "a", "enum": ["X"], "absent": ""}, {}, ['a: Unsupported value: "": supported values: "X"']),
        ({"at": "a", "forbidden": "no", "when": {"b": 1}}, {"a": 1, "b": 1}, ["a: Forbidden: no"]),
        ({"at": "a", "forbidden": "no", "when": {"b": [1, None]}}, {"a": 1}, ["a: Forbidden: no"]),
        ({"at": "a", "forbidden": "no", "unless": {"b": 1}}, {"a": 1, "b": 1}, []),
        ({"at": "a", "wrong": "no", "has": ["b"], "lacks": ["c"]}, {"a": 1, "b": 1}, ["a: Invalid value: 1: no"]),
        ({"at": "a", "unique": "n"}, {"a": [{"n": "x"}, {"n": "x"}]}, ['a[1].n: Duplicate value: "x"']),
        ({"at": "a", "unique": "."}, {"a": ["x", "x"]}, ['a[1]: Duplicate value: "x"']),
        ({"at": "a", "items": 1}, {"a": [1, 2]}, ["a: Too many: 2: must have at most 1 items"]),
        ({"at": "a", "longest": 1}, {"a": "é"}, ["a: Too long: may not be more than 1 bytes"]),
        ({"at": "a", "one_of": {"fields": ["x", "y"], "none": "one"}}, {"a": {}}, ["a: Required value: one"]),
        (
            {"at": "a", "one_of": {"fields": ["x", "y"], "more": "two"}},
            {"a": {"x": {}, "y": {}}},
            ["a.y: Forbidden: two"],
        ),
        ({"at": "a", "above": "b"}, {"a": 1, "b": 1}, ["a: Invalid value: 1: must be greater than b"]),
    ],
)
def test_each_form_says_what_is_wrong_where(rule: dict[str, Any], value: Any, causes: list[str]) -> None:
    assert told(rule, value) == causes


@pytest.mark.parametrize(
    ("rule", "now", "was", "causes"),
    [
        ({"at": "a", "immutable": True}, {"a": 2}, {"a": 1}, ["a: Invalid value: 2: field is immutable"]),
        ({"at": "a", "immutable": "no"}, {"a": 2}, {"a": 1}, ["a: Forbidden: no"]),
        ({"at": "a", "immutable": True}, {"a": {}}, {}, []),
        ({"at": "a", "immutable": True, "once": True}, {"a": 2}, {}, []),
        ({"at": "a", "immutable": "no", "but": ["x"]}, {"a": {"x": 1}}, {"a": {"x": 2}}, []),
        ({"at": "a", "immutable": "no", "only": ["x"]}, {"a": {"x": 1, "y": 1}}, {"a": {"x": 1}}, []),
        ({"at": "a", "write": "create", "wrong": "no"}, {"a": 1}, {"a": 1}, []),
    ],
)
def test_what_may_not_change_is_compared_as_go_compares(rule: Any, now: Any, was: Any, causes: list[str]) -> None:
    assert told(rule, now, was) == causes


def test_of_several_sources_the_first_is_judged_and_the_others_are_refused() -> None:
    types = {"emptyDir": "EmptyDirVolume", "nfs": "NfsVolume"}
    rule = {"one_of": {"types": types, "more": "one is enough", "none": "none is too few"}}
    assert told(rule, {"nfs": {"path": "/", "server": ""}}) == ["nfs.server: Required value"]
    assert told(rule, {"emptyDir": {}, "nfs": {}}) == ["nfs: Forbidden: one is enough"]
    assert told(rule, {"a": 1}) == [": Required value: none is too few"]


def test_a_refused_change_shows_what_differs() -> None:
    (said,) = told({"at": "a", "immutable": "no", "differs": True}, {"a": 2}, {"a": 1})
    assert said == "a: Forbidden: no\n@@ -1 +1 @@\n-1\n+2\n"


def test_a_rule_of_some_kinds_is_for_those_alone() -> None:
    rule = {"at": "a", "kinds": ["Pod"], "wrong": "no"}
    assert told(rule, {"kind": "Job", "a": 1}) == []
    assert told(rule, {"kind": "Pod", "a": 1}) == ["a: Invalid value: 1: no"]


def test_the_data_names_only_what_there_is() -> None:
    types, kinds = known_rules()
    rules = [rule for one in (*types.values(), *(kind.rules for kind in kinds.values())) for rule in one]
    assert {rule.check for rule in rules if rule.check} == set(CHECKS)
    used = {rule.type for rule in rules if rule.type}
    used |= {name for rule in rules if rule.one_of is not None for name in rule.one_of.types.values()}
    assert used | {"Pod"} == set(types)
    assert {rule.form for rule in rules if rule.form} <= set(FORMS)
    assert {kind.metadata.name for kind in kinds.values()} <= set(FORMS)


def test_a_kind_without_rules_has_those_of_metadata() -> None:
    assert kind_rules("example.com/v1", "Widget") == Kind(kind_rules("example.com/v1", "Widget").metadata)


@pytest.mark.parametrize(
    ("form", "text", "faults"),
    [
        ("label", "a.b", 1),
        ("label", "a" * 64, 1),
        ("label", "A" * 64, 2),
        ("subdomain", "a.b-c", 0),
        ("label-key", "a.b/c", 0),
        ("label-key", "Not Valid/", 3),
        ("label-key", "a/b/c", 1),
        ("label-value", "", 0),
        ("path-segment", "a/b%", 2),
        ("port-name", "-1-", 2),
        ("key-of-data", "..a", 1),
        ("address", "10.0.0.1", 0),
        ("network", "10.0.0.0", 1),
    ],
)
def test_a_form_finds_each_fault_of_a_text(form: str, text: str, faults: int) -> None:
    assert len(FORMS[form](text)) == faults


def test_changed_metadata_is_refused_as_often_as_upstream_looks_at_it() -> None:
    before = {"name": "a", "uid": "u"}
    rules = kind_rules("v1", "ConfigMap").metadata
    causes = causes_of_change(rules, {**before, "labels": {"a": "Not Valid/"}}, before)
    assert [field for _, _, field in causes] == ["metadata.labels"] * 4
    assert causes_of_change(rules, before, before) == []


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (
            "apps/v1/Deployment",
            {"spec": {"paused": "yes"}},
            "string into Go struct field DeploymentSpec.spec.paused",
        ),
        ("apps/v1/Deployment", {"spec": []}, "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        (
            "v1/PersistentVolume",
            {"spec": {"nfs": {"readOnly": 1}}},
            "number into Go struct field NFSVolumeSource.spec.PersistentVolumeSource.nfs.readOnly of type bool",
        ),
        (
            "apps/v1/Deployment",
            {"spec": {"replicas": 2**31}},
            "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("v1/Secret", {"data": {"a": "%"}}, "illegal base64 data at input byte 0"),
        (
            "v1/Event",
            {"eventTime": "2026-01-02T03:04:05Z"},
            'parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
        (f"{STORAGE}/CSIStorageCapacity", {"capacity": "one"}, "quantities must match the regular expression"),
    ],
)
def test_a_wrong_type_is_refused_in_the_words_of_go(kind: str, value: Any, words: str) -> None:
    api_version, _, name = kind.rpartition("/")
    with pytest.raises(GoTypeError) as wrong:
        check_types(api_version, name, value)
    assert words in str(wrong.value)


def test_nulls_and_right_types_are_taken() -> None:
    check_types("apps/v1", "Deployment", {"spec": {"replicas": None, "template": {"spec": {"containers": None}}}})
    check_types("v1", "Event", {"eventTime": "2026-01-02T03:04:05.000000Z", "firstTimestamp": "2026-01-02T03:04:05Z"})


def test_amounts_are_kept_as_texts() -> None:
    value = {"spec": {"hard": {"pods": 4, "cpu": "1"}}}
    assert with_amounts_as_text("v1", "ResourceQuota", value) == {"spec": {"hard": {"pods": "4", "cpu": "1"}}}
    assert with_amounts_as_text("v1", "ConfigMap", value) is value
