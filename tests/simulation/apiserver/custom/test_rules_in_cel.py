"""Rules in CEL of a definition, as its clients meet them. A kube-apiserver 1.36 gives the same causes."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.validations.program import the_program
from tests.simulation.apiserver.custom.made import DEFINITIONS, NAME, WIDGETS, define, defined, make, version, widget
from tests.simulation.apiserver.worlds import MERGE, Server

pytestmark = pytest.mark.skipif(the_program() is None, reason="actorlet[cel] is not installed")
CEL = "x-kubernetes-validations"
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "min": INTEGER,
        "max": INTEGER,
        "name": {**TEXT, CEL: [{"rule": "self == oldSelf", "message": "name is immutable"}]},
        "size": {**INTEGER, CEL: [{"rule": "self % 2 == 0"}]},
        "flag": {"type": "boolean", CEL: [{"rule": "self", "reason": "FieldValueForbidden", "message": "must be on"}]},
        "ratio": {"type": "number", CEL: [{"rule": "self < 1.0", "messageExpression": "'%s is big'.format([self])"}]},
        "foo-bar": TEXT,
        "part": {"type": "object", "properties": {"a": INTEGER}, CEL: [{"rule": "self.a > 1"}]},
        "said": {**TEXT, CEL: [{"rule": "self.size() > 99", "messageExpression": "self"}]},
        "tags": {
            "type": "array",
            "items": {**TEXT, CEL: [{"rule": "self.startsWith('x')"}]},
            CEL: [{"rule": "self.size() < 3"}],
        },
        "opt": {
            **TEXT,
            CEL: [
                {
                    "rule": "!oldSelf.hasValue() || oldSelf.value() == self",
                    "optionalOldSelf": True,
                    "message": "opt is fixed",
                }
            ],
        },
    },
    CEL: [
        {"rule": "!has(self.max) && !has(self.min) || self.min <= self.max", "message": "min must not exceed max"},
        {"rule": "!has(self.foo__dash__bar) || self.foo__dash__bar == 'a'", "fieldPath": ".foo-bar", "message": "no"},
    ],
}
STATUS = {"type": "object", "properties": {"n": {**INTEGER, CEL: [{"rule": "self > 0"}]}}}
SCHEMA = {
    "type": "object",
    "properties": {"spec": SPEC, "status": STATUS},
    CEL: [{"rule": "self.metadata.name.size() < 6"}],
}
VERSION = version(schema=SCHEMA, subresources={"status": {}})


@pytest.fixture(scope="module")
def server() -> Server:
    return defined(VERSION)


def causes(asked: Any) -> list[tuple[str, str, str]]:
    assert asked.code == 422, asked.value
    return [(one["field"], one["reason"], one["message"]) for one in asked.value["details"]["causes"]]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"min": 3, "max": 2}, [("spec", "FieldValueInvalid", "Invalid value: min must not exceed max")]),
        (
            {"min": 3},
            [
                (
                    "spec",
                    "FieldValueInvalid",
                    'Invalid value: "object": no such key: max evaluating rule: min must not exceed max',
                )
            ],
        ),
        ({"size": 3}, [("spec.size", "FieldValueInvalid", "Invalid value: 3: failed rule: self % 2 == 0")]),
        ({"flag": False}, [("spec.flag", "FieldValueForbidden", "Forbidden: must be on")]),
        ({"ratio": 2}, [("spec.ratio", "FieldValueInvalid", "Invalid value: 2: 2 is big")]),
        (
            {"tags": ["y", "x", "z"]},
            [
                ("spec.tags", "FieldValueInvalid", "Invalid value: failed rule: self.size() < 3"),
                (
                    "spec.tags[0]",
                    "FieldValueInvalid",
                    """Invalid value: "y": failed rule: self.startsWith('x')""",
                ),
                (
                    "spec.tags[2]",
                    "FieldValueInvalid",
                    """Invalid value: "z": failed rule: self.startsWith('x')""",
                ),
            ],
        ),
        ({"foo-bar": "b"}, [("spec.foo-bar", "FieldValueInvalid", "Invalid value: no")]),
        (
            {"part": {}},
            [("spec.part", "FieldValueInvalid", 'Invalid value: "object": no such key: a evaluating rule: self.a > 1')],
        ),
        (
            {"said": "a\nb"},
            [("spec.said", "FieldValueInvalid", 'Invalid value: "a\\nb": failed rule: self.size() > 99')],
        ),
    ],
)
def test_an_object_that_breaks_a_rule_is_refused(server: Server, spec: Any, expected: Any) -> None:
    assert causes(server.ask("POST", WIDGETS, widget("bad", spec=spec))) == expected
    assert server.get(f"{WIDGETS}/bad").code == 404


def test_a_rule_at_the_root_reads_the_name(server: Server) -> None:
    broken = causes(server.ask("POST", WIDGETS, widget("toolong", spec={})))
    assert broken == [("<nil>", "FieldValueInvalid", "Invalid value: failed rule: self.metadata.name.size() < 6")]


def test_rules_are_not_checked_where_the_schema_is_broken(server: Server) -> None:
    first, second = causes(server.ask("POST", WIDGETS, widget("bad", spec={"min": "x", "size": 3})))
    assert first[0] == "spec.min"
    assert second[2].startswith("Invalid value: null: some validation rules were not checked")


@pytest.mark.parametrize(
    ("change", "path", "told"),
    [
        ({"spec": {"name": "y"}}, "", 'Invalid value: "y": name is immutable'),
        ({"spec": {"opt": "y"}}, "", 'Invalid value: "y": opt is fixed'),
        ({"spec": {"size": 1}}, "", "Invalid value: 1: failed rule: self % 2 == 0"),
        ({"status": {"n": 0}}, "/status", "Invalid value: 0: failed rule: self > 0"),
    ],
)
def test_changes_are_checked_against_the_old_object(change: Any, path: str, told: str) -> None:
    server = defined(VERSION)
    make(server, spec={"name": "x", "opt": "o"})
    broken = server.ask("PATCH", f"{WIDGETS}/lamp{path}", change, content_type=MERGE)
    assert [message for _, _, message in causes(broken)] == [told]


def test_what_was_stored_before_a_rule_may_stay() -> None:
    server = defined(
        version(
            schema={
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}},
            },
            subresources={},
        )
    )
    make(server, spec={"a": 1})
    fields = {"a": {**INTEGER, CEL: [{"rule": "self > 1"}]}, "b": INTEGER}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    spec = {"versions": [version(schema=schema, subresources={})]}
    assert server.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": spec}, content_type=MERGE).code == 200
    assert server.ask("PATCH", f"{WIDGETS}/lamp", {"spec": {"b": 1}}, content_type=MERGE).code == 200
    assert server.ask("PATCH", f"{WIDGETS}/lamp", {"spec": {"a": 0}}, content_type=MERGE).code == 422


def test_a_change_elsewhere_breaks_a_rule_about_the_change_of_a_part() -> None:
    counted = {**INTEGER, CEL: [{"rule": "self > oldSelf", "message": "must grow"}]}
    fields = {"count": counted, "other": TEXT}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    server = defined(version(schema=schema, subresources={}))
    make(server, spec={"count": 1})
    broken = server.ask("PATCH", f"{WIDGETS}/lamp", {"spec": {"other": "x"}}, content_type=MERGE)
    assert causes(broken) == [("spec.count", "FieldValueInvalid", "Invalid value: 1: must grow")]
    both = {"spec": {"count": 2, "other": "x"}}
    assert server.ask("PATCH", f"{WIDGETS}/lamp", both, content_type=MERGE).code == 200


@pytest.mark.parametrize(
    ("rule", "field", "told"),
    [
        ({"rule": "self.a >"}, "rule", "compilation failed: ERROR: <input>:1:9: Syntax error"),
        ({"rule": "nope(self.a)"}, "rule", "compilation failed: ERROR: <input>:1:5: undeclared reference to 'nope'"),
        ({"rule": "size(self.a)"}, "rule", "cel expression must evaluate to a bool"),
        ({"rule": "true", "messageExpression": "1"}, "messageExpression", "must evaluate to a string"),
        ({"rule": "true", "messageExpression": "x"}, "messageExpression", "messageExpression compilation failed"),
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        ({"rule": "true", "message": "a\nb"}, "message", "must not contain line breaks"),
        ({"rule": "true", "reason": "No"}, "reason", 'Unsupported value: "No"'),
    ],
)
def test_a_definition_with_a_bad_rule_is_refused(rule: Any, field: str, told: str) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": TEXT}, CEL: [rule]}}}
    ((where, _, message),) = causes(define(Server(), version(schema=schema, subresources={})))
    assert where == f"spec.versions[0].schema.openAPIV3Schema.properties[spec].{CEL}[0].{field}"
    assert told in message


@pytest.mark.parametrize("rule", [{"rule": 1}, {"rule": "true", "message": 1}])
def test_a_rule_of_another_type_cannot_be_read(rule: Any) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": TEXT}, CEL: [rule]}}}
    answer = define(Server(), version(schema=schema, subresources={}))
    assert answer.code == 400
    assert "json: cannot unmarshal number into Go struct field ValidationRule." in answer.message


def test_a_rule_with_a_function_that_is_not_here_is_told_of_and_not_evaluated() -> None:
    schema = {"type": "object", "properties": {"spec": {**TEXT, CEL: [{"rule": "isQuantity(self)"}]}}}
    server = Server()
    made = define(server, version(schema=schema, subresources={}))
    assert made.code == 201
    (warning,) = made.answer.warnings  # type: ignore[union-attr]
    assert warning.startswith(f"spec.versions[0].schema.openAPIV3Schema.properties[spec].{CEL}[0]: this simulated")
    make(server, spec="no quantity")


def test_an_object_that_costs_too_much_is_refused() -> None:
    grown = "self.replace('a', 'aaaaaaaaaa')" + ".replace('a', 'aaaaaaaaaa')" * 9
    schema = {"type": "object", "properties": {"spec": {**TEXT, CEL: [{"rule": f"{grown}.size() > 0"}]}}}
    server = defined(version(schema=schema, subresources={}))
    (cause,) = causes(server.ask("POST", WIDGETS, widget(spec="a" * 100)))
    assert "running out of cost budget" in cause[2]


LISTENERS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": TEXT, "port": INTEGER, "protocol": TEXT, "tls": {"type": "object"}},
    },
    CEL: [
        {"rule": "self.all(one, one.protocol in ['HTTP', 'TCP'] ? !has(one.tls) : true)", "message": "no tls here"},
        {
            "rule": "self.all(one, self.exists_one(two, one.port == two.port && one.protocol == two.protocol))",
            "message": "port and protocol must be unique",
        },
    ],
}
"""A gateway, as the Gateway API has it."""
REQUIREMENTS = {
    "type": "array",
    "items": {"type": "object", "properties": {"operator": TEXT, "values": {"type": "array", "items": TEXT}}},
    CEL: [
        {"rule": "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)", "message": "In needs values"},
        {
            "rule": "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt') ? "
            "(x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
            "message": "Gt and Lt need one number",
        },
    ],
}
"""Requirements for nodes, as Karpenter has them."""


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (LISTENERS, [{"name": "a", "port": 80, "protocol": "HTTP"}], ""),
        (LISTENERS, [{"name": "a", "port": 80, "protocol": "HTTP", "tls": {}}], "no tls here"),
        (LISTENERS, [{"name": one, "port": 80, "protocol": "HTTP"} for one in "ab"], "must be unique"),
        (REQUIREMENTS, [{"operator": "In", "values": ["a"]}], ""),
        (REQUIREMENTS, [{"operator": "In", "values": []}], "In needs values"),
        (REQUIREMENTS, [{"operator": "Gt", "values": ["-1"]}], "need one number"),
    ],
)
def test_rules_as_published_definitions_have_them(schema: Any, value: Any, told: str) -> None:
    server = defined(version(schema={"type": "object", "properties": {"spec": schema}}, subresources={}))
    made = server.ask("POST", WIDGETS, widget(spec=value))
    assert (made.code == 201) is (told == "")
    assert not told or told in causes(made)[0][2]
