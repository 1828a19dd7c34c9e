"""What a schema finds wrong, in the words and with the reasons of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.schemas.validation import faults_of

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}


def list_of(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NUMBER, 3),
        (NUMBER, 3.0),
        ({"type": "number"}, 3),
        ({"type": "number"}, 2.5),
        ({"type": "boolean"}, False),
        ({**TEXT, "nullable": True, "enum": ["a"]}, None),
        (INT_OR_STRING, 80),
        (INT_OR_STRING, "80%"),
        ({"x-kubernetes-preserve-unknown-fields": True}, ["anything"]),
        ({**TEXT, "pattern": "^[a-z]+$"}, "abc"),
        ({**TEXT, "pattern": "b"}, "abc"),
        ({**TEXT, "pattern": r"^[[:alpha:]]\d\z"}, "a1"),
        ({**NUMBER, "minimum": 1, "maximum": 3}, 3),
        ({"type": "number", "multipleOf": 0.1}, 0.3),
        ({**NUMBER, "format": "int64"}, 2**63 - 1),
        (list_of(TEXT, **{"x-kubernetes-list-type": "set"}), ["a", "b"]),
        ({"type": "object", "additionalProperties": TEXT}, {"any": "thing"}),
        ({**TEXT, "oneOf": [{"pattern": "a"}, {"pattern": "b"}]}, "a"),
        ({**TEXT, "not": {"enum": ["a"]}}, "b"),
        ({**TEXT, "enum": ["1"]}, "1"),
        ({"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "nullable": True}}}, {"a": None}),
    ],
)
def test_a_valid_value_has_no_faults(schema: Any, value: Any) -> None:
    assert faults_of(value, schema, ("spec", "x")) == []


@pytest.mark.parametrize(
    ("schema", "value", "reason", "message"),
    [
        (NUMBER, "a", "TypeInvalid", 'Invalid value: "string": spec.x in body must be of type integer: "string"'),
        (NUMBER, True, "TypeInvalid", 'Invalid value: "boolean": spec.x in body must be of type integer: "boolean"'),
        (NUMBER, 2.5, "TypeInvalid", 'Invalid value: "number": spec.x in body must be of type integer: "number"'),
        (TEXT, None, "TypeInvalid", 'Invalid value: "null": spec.x in body must be of type string: "null"'),
        (TEXT, {}, "TypeInvalid", 'Invalid value: "object": spec.x in body must be of type string: "object"'),
        (
            INT_OR_STRING,
            True,
            "TypeInvalid",
            'Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"',
        ),
        ({**TEXT, "enum": ["a", "b"]}, "c", "NotSupported", 'Unsupported value: "c": supported values: "a", "b"'),
        ({**NUMBER, "enum": [1, 2]}, 3, "NotSupported", 'Unsupported value: 3: supported values: "1", "2"'),
        ({**TEXT, "pattern": "^a$"}, "b", "Invalid", "Invalid value: \"b\": spec.x in body should match '^a$'"),
        ({**TEXT, "pattern": "^a$"}, "a\n", "Invalid", "Invalid value: \"a\\n\": spec.x in body should match '^a$'"),
        (
            {**TEXT, "minLength": 2},
            "b",
            "Invalid",
            'Invalid value: "b": spec.x in body should be at least 2 chars long',
        ),
        ({**TEXT, "maxLength": 2}, "bcd", "TooLong", "Too long: may not be more than 2 bytes"),
        ({**NUMBER, "maximum": 2}, 3, "Invalid", "Invalid value: 3: spec.x in body should be less than or equal to 2"),
        (
            {**NUMBER, "maximum": 3, "exclusiveMaximum": True},
            3,
            "Invalid",
            "Invalid value: 3: spec.x in body should be less than 3",
        ),
        (
            {**NUMBER, "minimum": 0},
            -1,
            "Invalid",
            "Invalid value: -1: spec.x in body should be greater than or equal to 0",
        ),
        ({**NUMBER, "multipleOf": 2}, 3, "Invalid", "Invalid value: 3: spec.x in body should be a multiple of 2"),
        (
            {**NUMBER, "format": "int32"},
            2**31,
            "Invalid",
            "Invalid value: 2147483648: Checked value must be of type integer with format int32 in spec.x in body",
        ),
        (
            {**TEXT, "format": "date-time"},
            "today",
            "TypeInvalid",
            'Invalid value: "today": spec.x in body must be of type date-time: "today"',
        ),
        (list_of(TEXT, maxItems=1), ["a", "b"], "TooMany", "Too many: 2: must have at most 1 items"),
        (list_of(TEXT, minItems=1), [], "Invalid", "Invalid value: 0: spec.x in body should have at least 1 items"),
        ({"type": "object", "maxProperties": 0}, {"a": 1}, "TooMany", "Too many: 1: must have at most 0 items"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid",
            "Invalid value: 0: spec.x in body should have at least 1 properties",
        ),
        (
            {**TEXT, "anyOf": [{"enum": []}, {"enum": []}]},
            "a",
            "Invalid",
            'Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
        ),
        (
            {**TEXT, "oneOf": [{"pattern": "a"}, {"pattern": "b"}]},
            "ab",
            "Invalid",
            'Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        (
            {**TEXT, "allOf": [{"pattern": "b"}]},
            "a",
            "Invalid",
            'Invalid value: "": "spec.x" must validate all the schemas (allOf)',
        ),
        (
            {**TEXT, "not": {"pattern": "a"}},
            "a",
            "Invalid",
            'Invalid value: "": "spec.x" must not validate the schema (not)',
        ),
    ],
)
def test_an_invalid_value_has_a_fault_with_its_message(schema: Any, value: Any, reason: str, message: str) -> None:
    assert faults_of(value, schema, ("spec", "x"))[0].cause == (f"FieldValue{reason}", message, "spec.x")


def test_missing_and_duplicate_values_are_faults_at_their_own_path() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": TEXT}}
    assert [fault.cause for fault in faults_of({}, schema, ("spec",))] == [
        ("FieldValueRequired", "Required value", "spec.a")
    ]
    of_maps = list_of(
        {"type": "object", "properties": {"port": NUMBER, "protocol": {**TEXT, "default": "TCP"}}},
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
    )
    items = [{"port": 1}, {"port": 2}, {"port": 1, "protocol": "TCP"}]
    assert [fault.cause for fault in faults_of(items, of_maps, ("spec", "ports"))] == [
        ("FieldValueDuplicate", 'Duplicate value: {"port":1,"protocol":"TCP"}', "spec.ports[2]")
    ]


def test_every_fault_is_told() -> None:
    schema = {"type": "object", "properties": {"a": NUMBER, "b": list_of(TEXT)}}
    places = [fault.cause[2] for fault in faults_of({"a": "x", "b": ["good", 1, 2]}, schema, ("spec",))]
    assert places == ["spec.a", "spec.b[1]", "spec.b[2]"]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date-time", "2026-01-02T03:04:05.6Z", "2026-01-02"),
        ("date", "2026-01-02", "2026-13-02"),
        ("duration", "1h30m", "long"),
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("ipv6", "fe80::1", "10.0.0.1"),
        ("cidr", "10.0.0.1/8", "10.0.0.1"),
        ("mac", "00:11:22:aa:bb:cc", "00:11"),
        ("uuid", "022b829c-b7a1-4c64-a5ce-6cff276001aa", "022b829c"),
        ("uri", "https://example.com/a", "example"),
        ("email", "a@example.com", "a"),
        ("hostname", "example.com", "-a"),
        ("byte", "YWJj", "a"),
        ("hexcolor", "#aabbcc", "red"),
        ("of-tomorrow", "anything", None),
    ],
)
def test_formats_of_text(form: str, good: str, bad: str | None) -> None:
    assert faults_of(good, {**TEXT, "format": form}) == []
    assert bad is None or faults_of(bad, {**TEXT, "format": form})
