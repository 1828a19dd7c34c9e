"""Selectors mean what the API says they mean, and what cannot be read is told with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.api.selectors import (
    FieldQuery,
    FieldRequirement,
    SelectorError,
    escape_field_value,
    label_query,
    parse_field_selector,
    parse_label_selector,
)
from config.documents.codec import from_builtins
from config.objects.selectors import LabelSelector

WEB = {"app": "web", "tier": "front", "weight": "10", "empty": "", "example.com/a": "b"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web ", True),
        ("app=db", False),
        ("other=web", False),
        ("app!=db", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web,db)", True),
        ("app in ( db , cache )", False),
        ("app in(web)", True),
        ("other in (web)", False),
        ("app notin (db)", True),
        ("app notin (db,web)", False),
        ("other notin (web)", True),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("! other", True),
        ("!app", False),
        ("empty=", True),
        ("empty in ()", True),
        ("empty in (,x)", True),
        ("app=", False),
        ("app=,tier", False),
        ("weight>9", True),
        ("weight>10", False),
        ("weight<11", True),
        ("app<11", False),
        ("other>1", False),
        ("example.com/a=b", True),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app in (web,db),!other,weight>1", True),
        ("in=x", False),
        ("in in (in)", False),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    query = parse_label_selector(selector)
    assert query.matches(WEB) is matches
    assert parse_label_selector(str(query)) == query


@pytest.mark.parametrize(
    ("selector", "character", "reason"),
    [
        ("app=web,", 9, "the end where the key of a label is expected"),
        (",app=web", 1, "',' where the key of a label is expected"),
        ("app=web tier=front", 9, "'tier' where a comma or the end is expected"),
        ("app in web", 8, "'web' where ( is expected"),
        ("app in (web", 12, "the end where a comma or ) is expected"),
        ("app=we/b", 5, "'we/b' is not the value of a label"),
        ("-app=web", 1, "'-app' is not a qualified name"),
        ("app>ten", 5, "'ten' is not a whole number"),
        ("app>", 4, "'' is not a whole number"),
        ("!=web", 1, "'!=' where the key of a label is expected"),
        ("app=(web)", 5, "'(' where a comma or the end is expected"),
        ("app=web!", 8, "'!' where a comma or the end is expected"),
    ],
)
def test_a_fault_of_a_label_selector_says_where_and_what(selector: str, character: int, reason: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(selector)
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"selector {selector!r}, character {character}: ")


names = st.from_regex(r"\A[a-z]([-a-z0-9_.]{0,5}[a-z0-9])?\Z")
values = names | st.just("")
label_texts = st.one_of(
    st.builds("{}={}".format, names, values),
    st.builds("{} != {}".format, names, values),
    st.builds(lambda k, v: f"{k} in ({','.join(v)})", names, st.lists(values, min_size=1, max_size=3)),
    st.builds(lambda k, v: f"{k} notin ({','.join(v)})", names, st.lists(values, min_size=1, max_size=3)),
    names,
    names.map("!{}".format),
)


@given(st.lists(label_texts, max_size=4), st.dictionaries(names, values, max_size=4))
def test_a_label_selector_and_its_text_mean_the_same(parts: list[str], labels: dict[str, str]) -> None:
    query = parse_label_selector(",".join(parts))
    assert parse_label_selector(str(query)) == query
    assert query.matches(labels) is all(parse_label_selector(part).matches(labels) for part in parts)


@given(st.text(alphabet="ab!=<>(), in\\", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_label_selector, parse_field_selector):
        try:
            assert parse(text).matches({}) in (True, False)
        except SelectorError as error:
            refusal = str(error)
        else:
            continue
        assert repr(text) in refusal


POD = {"metadata.name": "web", "spec.nodeName": "n1", "odd": "a,b=c\\"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name!=web", False),
        ("metadata.name!=db,spec.nodeName=n1", True),
        ("metadata.name=web,spec.nodeName=n2", False),
        ("spec.nodeName=", False),
        ("status.phase=", True),
        ("status.phase!=Running", True),
        ("odd=a\\,b\\=c\\\\", True),
        ("metadata.name=web,", True),
        (",,metadata.name=web", True),
        ("spec.nodeName!=", True),
    ],
)
def test_field_selectors(selector: str, matches: bool) -> None:
    query = parse_field_selector(selector)
    assert query.matches(POD) is matches
    assert parse_field_selector(str(query)) == query


@pytest.mark.parametrize(
    ("selector", "character", "reason"),
    [
        ("metadata.name", 1, "no =, == or !="),
        ("a=b,metadata.name", 5, "no =, == or !="),
        ("a=b,=c", 5, "no field"),
        ("a=b=c", 4, "an = in it"),
        ("a=b\\n", 4, "backslash escapes nothing"),
        ("a=b\\", 4, "backslash escapes nothing"),
    ],
)
def test_a_fault_of_a_field_selector_says_where_and_what(selector: str, character: int, reason: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(selector)
    assert reason in caught.value.reason
    assert f"character {character}: " in str(caught.value)


@given(st.lists(st.tuples(names, st.text(max_size=6), st.booleans()), max_size=3))
def test_every_value_can_be_escaped(parts: list[tuple[str, str, bool]]) -> None:
    query = FieldQuery(tuple(FieldRequirement(*part) for part in parts))
    assert parse_field_selector(str(query)) == query
    for _, value, _ in parts:
        assert parse_field_selector(f"a={escape_field_value(value)}").exact("a") == value


def test_an_exact_field_selector_can_use_an_index() -> None:
    query = parse_field_selector("spec.nodeName=n1,metadata.name!=web")
    assert query.exact("spec.nodeName") == "n1"
    assert query.exact("metadata.name") is None
    assert query.paths == {"spec.nodeName", "metadata.name"}


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a in (1),b in (2)"),
        (
            {
                "matchExpressions": [
                    {"key": "d", "operator": "NotIn", "values": ["x", "y"]},
                    {"key": "c", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                ]
            },
            "!e,c,d notin (x,y)",
        ),
    ],
)
def test_a_selector_of_an_object_is_the_query_of_its_text(selector: dict[str, Any], text: str) -> None:
    query = label_query(from_builtins(selector, LabelSelector))
    assert str(query) == text
    assert query == parse_label_selector(text)


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "Is"},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["x"]},
        {"key": "", "operator": "Exists"},
        {"key": "a", "operator": "In", "values": ["-"]},
    ],
)
def test_a_broken_expression_of_an_object_is_refused(expression: dict[str, Any]) -> None:
    with pytest.raises(SelectorError):
        label_query(from_builtins({"matchExpressions": [expression]}, LabelSelector))
