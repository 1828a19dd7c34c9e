"""JSON patches do what RFC 6902 says, all or nothing, and what cannot be done is told with its operation."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.patches import PatchError, apply_json_patch
from config.patches.json_patch import MAX_OPERATIONS, same_json


def op(name: str, path: str, *value: Any, source: str | None = None) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": name, "path": path}
    if value:
        operation["value"] = value[0]
    if source is not None:
        operation["from"] = source
    return operation


# The examples of RFC 6902, appendix A, and what they leave open.
@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({"foo": "bar"}, [op("add", "/baz", "qux")], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("replace", "/baz", "boo")], {"baz": "boo", "foo": "bar"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [op("move", "/qux/thud", source="/foo/waldo")],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        ({"foo": [1, 2, 3, 4]}, [op("move", "/foo/3", source="/foo/1")], {"foo": [1, 3, 4, 2]}),
        ({"baz": "qux", "foo": ["a", 2]}, [op("test", "/baz", "qux"), op("test", "/foo/1", 2)], None),
        ({"foo": "bar"}, [op("add", "/child", {"grandchild": {}})], {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": "bar"}, [{**op("add", "/baz", "qux"), "xyz": 123}], {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [op("test", "/~01", 10), op("test", "/~1", 9)], None),
        ({"foo": ["bar"]}, [op("add", "/foo/-", ["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
        ({"foo": 1}, [op("add", "/foo", 2)], {"foo": 2}),
        ({"foo": 1}, [op("add", "", [1])], [1]),
        ({"foo": 1}, [op("replace", "", {"bar": 1})], {"bar": 1}),
        ({"foo": [1, 2]}, [op("replace", "/foo/0", None)], {"foo": [None, 2]}),
        ({"foo": [1]}, [op("add", "/foo/1", 2)], {"foo": [1, 2]}),
        ({"foo": {"a": 1}}, [op("copy", "/bar", source="/foo")], {"foo": {"a": 1}, "bar": {"a": 1}}),
        ({"foo": 1}, [op("copy", "/foo", source="/foo")], None),
        ({"foo": 1}, [op("move", "/foo", source="/foo")], None),
        ({"": 1}, [op("replace", "/", 2)], {"": 2}),
        ({"a": {"1": 2}}, [op("remove", "/a/1")], {"a": {}}),
        ([{"a": 1}], [op("add", "/0/b", 2)], [{"a": 1, "b": 2}]),
        ({"n": 1}, [op("test", "/n", 1.0)], None),
        ({"o": {"a": 1, "b": 2}}, [op("test", "/o", {"b": 2, "a": 1})], None),
        ({"foo": 1}, [], None),
    ],
)
def test_documents_change_as_the_rfc_says(document: Any, operations: list[Any], result: Any) -> None:
    before = copy.deepcopy((document, operations))
    assert same_json(apply_json_patch(document, operations), document if result is None else result)
    assert (document, operations) == before


@pytest.mark.parametrize(
    ("operations", "where", "reason"),
    [
        ([op("test", "/spec/nodeName", "n2")], "operation 0 (test /spec/nodeName)", "the value there is another one"),
        ([op("test", "/spec/on", 1)], "operation 0 (test /spec/on)", "the value there is another one"),
        ([op("test", "/spec/none", None)], "operation 0 (test /spec/none)", "there is no /spec/none"),
        (
            [op("add", "/a", 1), op("remove", "/spec/a~1b")],
            "operation 1 (remove /spec/a~1b)",
            "there is no /spec/a~1b",
        ),
        ([op("replace", "/status", {})], "operation 0 (replace /status)", "there is no /status"),
        ([op("add", "/status/phase", "x")], "operation 0 (add /status/phase)", "there is no /status"),
        ([op("add", "/spec/nodeName/x", 1)], "operation 0 (add /spec/nodeName/x)", "/spec/nodeName is 'n1'"),
        ([op("add", "/spec/on/x/y", 1)], "operation 0 (add /spec/on/x/y)", "there is no /spec/on/x"),
        ([op("add", "/list/3", 1)], "operation 0 (add /list/3)", "the list has 2 items"),
        ([op("add", "/list/x", 1)], "operation 0 (add /list/x)", "'x' is no index of a list"),
        ([op("add", "/list/01", 1)], "operation 0 (add /list/01)", "'01' is no index of a list"),
        ([op("remove", "/list/-1")], "operation 0 (remove /list/-1)", "'-1' is no index of a list"),
        ([op("remove", "/list/-")], "operation 0 (remove /list/-)", "'-' is no index of a list"),
        ([op("remove", "/list/2")], "operation 0 (remove /list/2)", "there is no /list/2"),
        ([op("remove", "")], "operation 0 (remove the whole document)", "cannot be taken away"),
        ([op("move", "/spec/a", source="/spec")], "operation 0 (move /spec/a)", "cannot move into itself"),
        ([op("copy", "/a", source="/b")], "operation 0 (copy /a)", "there is no /b"),
    ],
)
def test_an_operation_that_the_document_cannot_take_is_told(operations: list[Any], where: str, reason: str) -> None:
    document = {"spec": {"nodeName": "n1", "on": True}, "list": [1, 2]}
    with pytest.raises(PatchError) as caught:
        apply_json_patch(document, operations)
    assert caught.value.where == where
    assert reason in caught.value.reason
    assert not caught.value.malformed


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({}, "it is no list of operations"),
        (["add"], "operation 0: it is no object"),
        ([op("test", "", {}), {"path": "/a"}], "operation 1: op None is not known; use one of add, remove, replace"),
        ([op("merge", "/a", 1)], "operation 0: op 'merge' is not known"),
        ([{"op": "remove"}], "operation 0: path is missing"),
        ([op("remove", "a")], "operation 0: path 'a' is no JSON pointer; write it like /spec"),
        ([op("remove", "/a~2")], "operation 0: path '/a~2' is no JSON pointer"),
        ([op("remove", "/a~")], "no JSON pointer"),
        ([op("add", "/a")], "operation 0 (add /a): value is missing; null has to be written"),
        ([op("test", "")], "value is missing"),
        ([op("move", "/a")], "operation 0 (move /a): from is missing"),
        ([op("copy", "/a", source="b")], "from 'b' is no JSON pointer"),
        ([op("test", "", {})] * (MAX_OPERATIONS + 1), "at most 10000 are taken"),
    ],
)
def test_a_patch_that_is_none_is_told(patch: Any, reason: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch({}, patch)
    assert reason in str(caught.value)
    assert caught.value.malformed


keys = st.sampled_from(["a", "b", "c/d", "~", "0"])
documents = st.recursive(
    st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def pointers(value: Any, prefix: str = "") -> list[str]:
    found = [prefix]
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in steps:
        found += pointers(part, f"{prefix}/{str(step).replace('~', '~0').replace('/', '~1')}")
    return found


@given(documents, documents, st.data())
def test_what_replaces_something_is_found_in_its_place(document: Any, value: Any, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(pointers(document)))
    changed = apply_json_patch(document, [op("replace", place, value), op("test", place, value)])
    assert place in pointers(changed)


@given(st.lists(documents, min_size=1, max_size=4), documents, st.data())
def test_what_was_added_to_a_list_leaves_it_again(items: list[Any], value: Any, data: st.DataObject) -> None:
    place = f"/a/{data.draw(st.integers(0, len(items)))}"
    added = apply_json_patch({"a": items}, [op("add", place, value), op("test", place, value)])
    assert len(added["a"]) == len(items) + 1
    assert same_json(apply_json_patch(added, [op("remove", place)]), {"a": items})


@given(st.lists(documents, min_size=1, max_size=4), st.data())
def test_what_was_moved_can_be_moved_back(items: list[Any], data: st.DataObject) -> None:
    one, other = (f"/{data.draw(st.integers(0, len(items) - 1))}" for _ in range(2))
    there_and_back = [op("move", other, source=one), op("move", one, source=other)]
    assert same_json(apply_json_patch(items, there_and_back), items)
