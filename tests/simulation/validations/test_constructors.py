"""Constructors become calls, of which users never hear."""

from __future__ import annotations

import pytest

from simulation.validations.constructors import plain


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("object.a", "object.a"),
        ("{'a': {1: 2}}", "{'a': {1: 2}}"),
        ("Object{}", "object__({})"),
        ("Object{a: 1, ?b: x}", 'object__({"a": 1, ?"b": x})'),
        ("Object{a: Object.a{b: {'c': 1}}}", 'object__({"a": part__("Object.a",{"b": {\'c\': 1}})})'),
        ("Object{a: f(1, 2), b: [1, 2]}", 'object__({"a": f(1, 2), "b": [1, 2]})'),
        ("Object . a {\n b // c {\n : 1}", 'part__("Object.a",{\n "b": 1})'),
        ('\'Object{a: 1}\' + r\'\\\' + """Object{"""', '\'Object{a: 1}\' + r\'\\\' + """Object{"""'),
        ("other.Object{a: 1}", "other.Object{a: 1}"),
        ("JSONPatch{op: 'a', value: 1}", 'patch__({"op":field__op( \'a\'), "value": 1})'),
        ("JSONPatch{odd: 1}", 'patch__({"odd":field__other( 1)})'),
        ("Object{a", "object__({a"),
    ],
)
def test_constructors_become_calls(expression: str, written: str) -> None:
    assert plain(expression).text == written


def test_a_fault_has_the_place_and_the_line_that_were_written() -> None:
    expression = "Object{\n  a: Object.a{b: foo}}"
    rewritten = plain(expression)
    column = rewritten.text.split("\n")[1].index("foo") + 1
    said = rewritten.told(f"ERROR: <input>:2:{column}: undeclared reference to 'foo' (in container '')", ())
    why = "undeclared reference to 'foo' (in container '')"
    assert said == f"ERROR: <input>:2:18: {why}\n |   a: Object.a{{b: foo}}}}\n | {'.' * 17}^"


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        ("request.odd.more", "ERROR: <input>:1:8: undefined field 'odd'"),
        ("params.a.b", "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')"),
    ],
)
def test_an_unknown_field_is_told_from_an_unknown_variable(unknown: str, told: str) -> None:
    said = f"ERROR: <input>:1:{unknown.rindex('.') + 1}: undeclared reference to '{unknown}' (in container '')"
    assert plain(unknown).told(said, ("request",)).startswith(told)
