"""Which rules a value must keep, and how a rule sees the value."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.validations.rules import MISSING, escaped, is_evaluated, rules_for, seen_by_cel

CEL = "x-kubernetes-validations"
NUMBER, TEXT = {"type": "number"}, {"type": "string"}


def ruled(rule: str, **schema: Any) -> dict[str, Any]:
    return {"type": "string", **schema, CEL: [{"rule": rule}]}


def places(schema: Any, now: Any, old: Any = MISSING) -> list[tuple[str, bool]]:
    """Place of each rule, and whether it has an old value."""
    return [(".".join(map(str, rule.at)), bool(rule.old)) for rule in rules_for(schema, now, old)]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("plain", "plain"),
        ("foo-bar", "foo__dash__bar"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("self", "self"),
    ],
)
def test_fields_have_words_in_rules(name: str, word: str) -> None:
    assert escaped(name) == word


def test_numbers_are_doubles_and_null_is_nothing() -> None:
    schema = {"type": "object", "properties": {"a": NUMBER, "b": {"type": "integer"}, "c": TEXT}}
    seen = seen_by_cel(schema, {"a": 1, "b": 1, "c": None, "d": 2})
    assert (seen, type(seen["a"]), type(seen["b"])) == ({"a": 1.0, "b": 1}, float, int)


def test_maps_keep_their_keys() -> None:
    assert seen_by_cel({"type": "object", "additionalProperties": NUMBER}, {"a-b": 2}) == {"a-b": 2.0}


def test_of_metadata_a_rule_sees_the_names_alone() -> None:
    value = {"kind": "Thing", "metadata": {"name": "a", "labels": {}}, "spec": {}}
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    assert seen_by_cel(schema, value, True) == {"kind": "Thing", "metadata": {"name": "a"}, "spec": {}}


def test_rules_stand_at_every_part() -> None:
    items = {"type": "array", "items": ruled("true")}
    schema = {"type": "object", "properties": {"a": ruled("true"), "b": items, "gone": ruled("true")}}
    assert places(schema, {"a": "x", "b": ["y", "z"]}) == [("a", False), ("b.0", False), ("b.1", False)]


def test_a_rule_about_a_change_waits_for_one() -> None:
    schema = {"type": "object", "properties": {"a": ruled("self == oldSelf")}}
    assert places(schema, {"a": "x"}) == []
    assert places(schema, {"a": "x"}, {}) == []
    assert places(schema, {"a": "x"}, {"a": "y"}) == [("a", True)]


def test_an_optional_old_value_may_be_missing() -> None:
    rule = {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True}
    schema = {"type": "object", "properties": {"a": {"type": "string", CEL: [rule]}}}
    assert places(schema, {"a": "x"}) == [("a", False)]


def test_parts_that_stay_are_not_checked_again() -> None:
    schema = {"type": "object", "properties": {"a": ruled("false"), "b": ruled("false")}}
    assert places(schema, {"a": "x", "b": "z"}, {"a": "x", "b": "y"}) == [("b", True)]


def test_a_rule_that_reads_the_old_value_is_checked_at_parts_that_stay_too() -> None:
    grows, optional = {"rule": "self > oldSelf"}, {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}
    part = {"type": "integer", CEL: [grows, {"rule": "self > 0"}, optional]}
    kept = {"type": "object", "properties": {"a": part, "items": {"type": "array", "items": part}}}
    schema = {"type": "object", "properties": {"kept": kept, "b": ruled("false")}}
    was = {"kept": {"a": 1, "items": [1]}, "b": "y"}
    checked = [(rule.at, rule.fields["rule"]) for rule in rules_for(schema, {**was, "b": "z"}, was)]
    assert checked == [
        (("kept", "a"), "self > oldSelf"),
        (("kept", "a"), "oldSelf.hasValue()"),
        (("kept", "items", 0), "oldSelf.hasValue()"),
        (("b",), "false"),
    ]


def test_only_items_of_a_map_by_keys_are_known_again() -> None:
    item = {"type": "object", "properties": {"k": TEXT, "v": ruled("self == oldSelf")}}
    listed: dict[str, Any] = {"type": "array", "items": item}
    keyed = {**listed, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    now, old = [{"k": "b", "v": "2"}, {"k": "a", "v": "9"}], [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}]
    assert places(keyed, now, old) == [("0.v", True), ("1.v", True)]
    assert places(listed, now, old) == []


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        ("self.all(x, x > 1)", True),
        ("self.exists_one(x, size(x) == f(x, 1))", True),
        ("self.all(i, x, x > i)", False),
        ("quantity(self).isGreaterThan(quantity('1'))", False),
        ("self.distinct().size() == 1", False),
        ("self.my_quantity > 1", True),
    ],
)
def test_rules_with_functions_that_are_not_here_are_known(rule: str, known: bool) -> None:
    assert is_evaluated({"rule": rule}) is known


@pytest.mark.parametrize(
    ("rule", "reads"),
    [
        ("self == oldSelf", True),
        ("has(oldSelf.oldSelf)", True),
        ("size(self)>0?oldSelf.a:''", True),
        ("self == 'x' + oldSelf + 'y'", True),
        (r"self == 'it\\' + oldSelf", True),
        ("// it's a change\nself == oldSelf", True),
        ('"""a""" + oldSelf == self', True),
        ("self.oldSelf == 'x'", False),
        ("self . ? oldSelf.hasValue()", False),
        ("self.?oldSelf.hasValue()", False),
        ("self['oldSelf'] == \"oldSelf\"", False),
        (r"self == 'it\'s oldSelf'", False),
        ("self == 1 // and not oldSelf", False),
        ("self.oldSelfish == myoldSelf", False),
    ],
)
def test_a_rule_reads_the_old_value_by_the_variable_and_not_by_a_field_or_a_text(rule: str, reads: bool) -> None:
    """Only a rule that does not read it is checked when the value is new."""
    assert bool(places(ruled(rule), "x")) != reads
