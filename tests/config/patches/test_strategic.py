"""Strategic merge patches change what they name, and merge keyed lists.

They can be made from two documents.
"""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.patches import PatchError, Schema, apply_strategic, make_strategic, schema_for
from config.patches.strategic_schema import FieldRule

POD = schema_for("v1", "Pod")
# A kind of our own, for strategies that no kind of the core has in this form.
OURS: dict[str, FieldRule] = {}
OURS.update(
    items=FieldRule(OURS, merge=True, key="name"),
    kept=FieldRule(OURS, merge=True, key="name", retain_keys=True),
    words=FieldRule(merge=True),
    whole=FieldRule(replace=True),
    union=FieldRule(OURS, retain_keys=True),
)


def named(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        # maps and plain values
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"b": {"c": 2, "d": None}, "e": None}, {"a": 1, "b": {"c": 2}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": {"b": 1}}, {"a": None}, {}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}),
        ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"whole": {"a": 1}}, {"whole": {"b": 2}}, {"whole": {"b": 2}}),
        # directives in maps
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {"a": {}}),
        ({"a": 1}, {"b": {"$patch": "delete"}}, {"a": 1}),
        ({"a": 1}, {"$patch": "replace", "b": 2}, {"b": 2}),
        # lists by key
        ({"items": named("a", "b")}, {"items": [{"name": "b", "v": 1}]}, {"items": [*named("a"), *named("b", v=1)]}),
        ({}, {"items": [{"name": "a", "v": None}, {"name": "b", "$patch": "delete"}]}, {"items": named("a")}),
        ({"items": named("a", "b")}, {"items": [{"name": "a", "$patch": "delete"}]}, {"items": named("b")}),
        ({"items": named("a", "a", "b")}, {"items": [{"name": "a", "$patch": "delete"}]}, {"items": named("b")}),
        ({"items": named("a")}, {"items": [{"name": "x", "$patch": "delete"}]}, {"items": named("a")}),
        ({"items": named("a", "b")}, {"items": [*named("c"), {"$patch": "replace"}]}, {"items": named("c")}),
        ({"items": named("a")}, {"items": [{"$patch": "replace"}]}, {"items": []}),
        ({"items": named("a")}, {"items": []}, {"items": named("a")}),
        ({"items": named("a", w=1)}, {"items": [{"name": "a", "$patch": "replace"}]}, {"items": []}),
        (
            {"items": [{"name": "a", "items": named("x", "y")}]},
            {"items": [{"name": "a", "items": [{"name": "y", "v": 1}, {"name": "x", "$patch": "delete"}]}]},
            {"items": [{"name": "a", "items": named("y", v=1)}]},
        ),
        # without an order, what is new comes first; with one, as it says
        ({"items": named("a", "b")}, {"items": named("c")}, {"items": named("c", "a", "b")}),
        (
            {"items": named("a", "b")},
            {"items": named("c"), "$setElementOrder/items": named("a", "c", "b")},
            {"items": named("a", "c", "b")},
        ),
        ({"items": named("a", "b")}, {"$setElementOrder/items": named("b", "a")}, {"items": named("b", "a")}),
        (
            {"items": named("a", "theirs", "b", "last")},
            {"items": [{"name": "c"}], "$setElementOrder/items": named("a", "b", "c")},
            {"items": named("a", "theirs", "b", "c", "last")},
        ),
        (
            {"items": named("a", "theirs")},
            {"items": [{"name": "a", "$patch": "delete"}], "$setElementOrder/items": []},
            {"items": named("theirs")},
        ),
        ({}, {"$setElementOrder/items": named("a")}, {}),
        (
            {},
            {"items": named("b", "a"), "$setElementOrder/items": named("b", "a")},
            {"items": named("b", "a")},
        ),
        # sets of plain values
        ({"words": ["a", "b"]}, {"words": ["b", "c"]}, {"words": ["a", "b", "c"]}),
        ({"words": ["a", "b", "b"]}, {"$deleteFromPrimitiveList/words": ["b", "x"]}, {"words": ["a"]}),
        ({}, {"$deleteFromPrimitiveList/words": ["b"]}, {}),
        ({}, {"words": ["a"]}, {"words": ["a"]}),
        (
            {"words": ["a", "b", "theirs"]},
            {"words": ["c"], "$deleteFromPrimitiveList/words": ["a"], "$setElementOrder/words": ["c", "b"]},
            {"words": ["c", "b", "theirs"]},
        ),
        ({"words": ["a"]}, {"words": None}, {}),
        # unions: the patch names the fields that remain
        (
            {"union": {"a": 1, "b": 2}},
            {"union": {"$retainKeys": ["a", "c"], "c": 3, "b": None}},
            {"union": {"a": 1, "c": 3}},
        ),
        (
            {"kept": [{"name": "v", "emptyDir": {}}]},
            {"kept": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]},
            {"kept": [{"name": "v", "hostPath": {"path": "/"}}]},
        ),
        ({}, {"union": {"$retainKeys": ["a"], "a": 1}}, {"union": {"a": 1}}),
        # fields without a rule
        ({"other": named("a")}, {"other": named("b")}, {"other": named("b")}),
    ],
)
def test_a_strategic_patch_changes_a_document(original: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((original, patch))
    assert apply_strategic(original, patch, OURS) == result
    assert (original, patch) == before


@pytest.mark.parametrize(
    ("patch", "where", "reason", "malformed"),
    [
        ({"items": [{"v": 1}]}, "$.items[0]", "has no name", False),
        ({"items": ["a"]}, "$.items[0]", "must be a map", False),
        ({"items": [{"name": []}]}, "$.items[0]", "has no name", False),
        ({"items": [{"$patch": "delete"}]}, "$.items[0]", "has no name", False),
        ({"$setElementOrder/items": [{"$patch": "replace"}]}, "$.items[0]", "has no name", False),
        ({"items": [{"name": "a", "$patch": "merge"}]}, "$.items[]", "'merge' is not known", False),
        ({"union": {"$patch": "merge"}}, "$.union", "'merge' is not known", False),
        ({"items": [{"name": "a", "items": [{}]}]}, "$.items[name=a].items[0]", "has no name", False),
        ({"words": [{}]}, "$.words[0]", "must be a plain value", False),
        ({"words": [1]}, "$.words", "of several types", False),
        ({"$setElementOrder/items": "a"}, "$.$setElementOrder/items", "must be a list", True),
        ({"$deleteFromPrimitiveList/words": {}}, "$.$deleteFromPrimitiveList/words", "must be a list", True),
        ({"items": named("b", "a"), "$setElementOrder/items": named("a", "b")}, "$.items", "the order", True),
        ({"items": named("c"), "$setElementOrder/items": named("a", "b")}, "$.items", "the order", True),
        ({"words": ["c"], "$setElementOrder/words": ["a", "b"]}, "$.words", "the order", True),
        ({"union": {"$retainKeys": "a"}}, "$.union.$retainKeys", "must be a list", True),
        ({"union": {"$retainKeys": ["a"], "b": 1}}, "$.union.$retainKeys", "the patch sets b", True),
    ],
)
def test_a_patch_that_cannot_be_applied_is_reported_with_its_place(
    patch: Any, where: str, reason: str, malformed: bool
) -> None:
    original = {"items": named("a", "b"), "words": ["a", "b"], "union": {"a": 1}}
    with pytest.raises(PatchError) as caught:
        apply_strategic(original, patch, OURS)
    assert caught.value.where == where
    assert reason in caught.value.reason
    assert caught.value.malformed is malformed


@pytest.mark.parametrize(
    ("original", "modified", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1, "b": 2}, {"a": 2}, {"a": 2, "b": None}),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": True}, {"a": 1}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({}, {"items": named("a")}, {"items": named("a")}),
        ({"items": []}, {"items": named("a")}, {"items": named("a")}),
        ({"items": named("a")}, {"items": []}, {"items": [{"name": "a", "$patch": "delete"}]}),
        ({"items": named("a")}, {}, {"items": None}),
        ({"items": named("a", "b")}, {"items": named("b", "a")}, {"$setElementOrder/items": named("b", "a")}),
        (
            {"items": [*named("a", "b"), {"name": "c", "v": 1}]},
            {"items": [{"name": "c", "v": 2}, *named("d", "a")]},
            {
                "items": [{"name": "c", "v": 2}, *named("d"), {"name": "b", "$patch": "delete"}],
                "$setElementOrder/items": named("c", "d", "a"),
            },
        ),
        (
            {"words": ["a", "b"]},
            {"words": ["c", "a"]},
            {"words": ["c"], "$deleteFromPrimitiveList/words": ["b"], "$setElementOrder/words": ["c", "a"]},
        ),
        ({"words": ["a"]}, {"words": []}, {"$deleteFromPrimitiveList/words": ["a"]}),
        ({"whole": {"a": 1, "b": 1}}, {"whole": {"a": 1}}, {"whole": {"a": 1}}),
        (
            {"kept": [{"name": "v", "emptyDir": {}}]},
            {"kept": [{"name": "v", "hostPath": {}}]},
            {
                "kept": [{"name": "v", "hostPath": {}, "emptyDir": None, "$retainKeys": ["hostPath", "name"]}],
                "$setElementOrder/kept": named("v"),
            },
        ),
        ({"items": named("a", "a")}, {"items": named("a", v=1)}, {"items": [*named("a", v=1), {"$patch": "replace"}]}),
    ],
)
def test_the_patch_that_is_made_of_two_documents(original: Any, modified: Any, patch: Any) -> None:
    assert make_strategic(original, modified, OURS) == patch
    assert apply_strategic(original, patch, OURS) == modified


words = st.sampled_from("abcd")


def entry(pair: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {**pair[1], "name": pair[0]}


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Documents of our kind: no key twice in a list, no nulls."""
    inner: st.SearchStrategy[dict[str, Any]] = st.deferred(documents)
    pairs = st.lists(st.tuples(words, inner), max_size=3, unique_by=lambda pair: pair[0])
    entries = pairs.map(lambda found: [entry(pair) for pair in found])
    fields: dict[str, st.SearchStrategy[Any]] = {
        "items": entries,
        "kept": entries,
        "words": st.lists(words, max_size=3, unique=True),
        "whole": st.dictionaries(words, words, max_size=2),
        "union": inner,
        "plain": inner,
        "atomic": st.lists(inner, max_size=2),
        "text": words | st.integers(2, 5),
    }
    leaves: st.SearchStrategy[dict[str, Any]] = st.dictionaries(words, words, max_size=2)
    return leaves | st.fixed_dictionaries({}, optional=fields)


@given(documents(), documents())
def test_the_patch_made_of_two_documents_leads_from_one_to_the_other(original: Any, modified: Any) -> None:
    before = copy.deepcopy((original, modified))
    patch = make_strategic(original, modified, OURS)
    assert apply_strategic(original, patch, OURS) == modified
    assert make_strategic(modified, modified, OURS) == {}
    assert (patch == {}) is (original == modified)
    assert (original, modified) == before


@given(documents(), documents())
def test_applying_a_patch_again_changes_nothing_more(original: Any, modified: Any) -> None:
    patch = make_strategic(original, modified, OURS)
    once = apply_strategic(original, patch, OURS)
    assert apply_strategic(once, patch, OURS) == once


@given(st.lists(words, unique=True), st.lists(words, unique=True))
def test_a_patch_that_says_its_own_order_is_the_same_as_one_that_says_none(before: list[str], after: list[str]) -> None:
    original, patch = {"items": named(*before, old=1)}, {"items": named(*after, new=2)}
    told = {**patch, "$setElementOrder/items": named(*after)}
    assert apply_strategic(original, patch, OURS) == apply_strategic(original, told, OURS)


def test_a_condition_of_somebody_else_survives_the_patch_of_a_pods_status() -> None:
    def pod(**conditions: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": name, "status": value} for name, value in conditions.items()]}}

    patch = make_strategic(pod(Ready="False"), pod(Ready="True", Initialized="True"), POD)
    merged = apply_strategic(pod(Ready="False", theirs="True"), patch, POD)
    assert {c["type"]: c["status"] for c in merged["status"]["conditions"]} == {
        "Ready": "True",
        "Initialized": "True",
        "theirs": "True",
    }


def test_a_patch_shares_the_parts_that_it_does_not_change() -> None:
    pod: dict[str, Any] = {"spec": {"containers": named("a")}, "status": {"phase": "Pending", "conditions": []}}
    patched = apply_strategic(pod, {"status": {"phase": "Running"}}, POD)
    assert patched["spec"] is pod["spec"]
    assert patched["status"]["conditions"] is pod["status"]["conditions"]


def reference(schema: dict[str, Any]) -> str | None:
    found = schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", ())), None)
    return found.rpartition("/")[2] if found else None


def published(schemas: dict[str, Any], name: str) -> dict[str, Any]:
    """The rules of a type and of what a patch can reach below it, as the API publishes them."""
    rules = {}
    for field, schema in schemas[name].get("properties", {}).items():
        strategies = schema.get("x-kubernetes-patch-strategy", "").split(",")
        key = schema.get("x-kubernetes-patch-merge-key")
        target = reference(schema)
        if schema.get("type") == "array":
            target = reference(schema["items"]) if "merge" in strategies else None
        below = published(schemas, target) if target and "JSONSchema" not in target else {}
        if below or strategies != [""]:
            rules[field] = ("merge" in strategies, key, "retainKeys" in strategies, "replace" in strategies, below)
    return rules


def ours(schema: Schema) -> dict[str, Any]:
    rules = {
        field: (rule.merge, rule.key, rule.retain_keys, rule.replace, ours(rule.schema))
        for field, rule in schema.items()
    }
    return {field: rule for field, rule in rules.items() if rule != (False, None, False, False, {})}


KINDS = [
    "Binding",
    "ConfigMap",
    "Event",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Secret",
    "Service",
    "ServiceAccount",
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_what_the_api_publishes(kind: str, api_schemas: dict[str, Any]) -> None:
    # A stranger's clone has a schema of a few types only; what it has is compared.
    name = f"io.k8s.api.core.v1.{kind}"
    if name in api_schemas and "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in api_schemas:
        assert ours(schema_for("v1", kind)) == published(api_schemas, name)


def test_the_metadata_of_an_unknown_kind_has_a_schema() -> None:
    schema = schema_for("example.com/v1", "Custom")
    original = {"metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "1"}]}, "spec": {"containers": [{}]}}
    patch = {"metadata": {"finalizers": ["b"], "ownerReferences": [{"uid": "2"}]}, "spec": {"containers": []}}
    assert apply_strategic(original, patch, schema) == {
        "metadata": {"finalizers": ["b", "a"], "ownerReferences": [{"uid": "2"}, {"uid": "1"}]},
        "spec": {"containers": []},
    }
