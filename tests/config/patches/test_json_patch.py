"""JSON patches do what `evanphx/json-patch` does in an API server, all or nothing.

An error names its operation.
"""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.patches import PatchError, apply_json_patch
from config.patches.json_patch import MAX_OPERATIONS


def same_json(left: Any, right: Any) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


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
        ({"foo": 1}, [op("replace", "", {"bar": 1})], {"bar": 1}),
        ({"foo": [1, 2]}, [op("replace", "/foo/0", None)], {"foo": [None, 2]}),
        ({"foo": [1]}, [op("add", "/foo/1", 2)], {"foo": [1, 2]}),
        ({"foo": {"a": 1}}, [op("copy", "/bar", source="/foo")], {"foo": {"a": 1}, "bar": {"a": 1}}),
        ({"foo": 1}, [op("copy", "/foo", source="/foo")], None),
        ({"foo": 1}, [op("move", "/foo", source="/foo")], None),
        ({"": 1}, [op("replace", "/", 2)], {"": 2}),
        ({"a": {"1": 2}}, [op("remove", "/a/1")], {"a": {}}),
        ([{"a": 1}], [op("add", "/0/b", 2)], [{"a": 1, "b": 2}]),
        ({"o": {"a": 1, "b": 2}}, [op("test", "/o", {"b": 2, "a": 1})], None),
        ({"foo": 1}, [], None),
    ],
)
def test_documents_change_as_the_rfc_says(document: Any, operations: list[Any], result: Any) -> None:
    before = copy.deepcopy((document, operations))
    assert same_json(apply_json_patch(document, operations), document if result is None else result)
    assert (document, operations) == before


# Seen on a kube-apiserver 1.36.2 (kubevirt/kubevirt#7875, fabric8io/kubernetes-client#4158).
@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({}, [op("test", "/labels", None), op("add", "/labels", {"a": "b"})], {"labels": {"a": "b"}}),
        ({"a": {"b": None}}, [op("test", "/a/b", None), op("test", "/a/c", None)], None),
        ({"a": {}}, [op("test", "/a/b")], None),
        ({"data": {}}, [op("replace", "/data/absent", "x")], {"data": {"absent": "x"}}),
        ({"data": {}}, [op("copy", "/data/b", source="/data/a")], {"data": {"b": None}}),
        ({"l": [1, 2]}, [op("remove", "/l/-1")], {"l": [1]}),
        ({"l": [1, 2]}, [op("replace", "/l/-2", 3)], {"l": [3, 2]}),
        ({"l": [1, 2]}, [op("add", "/l/-1", 3)], {"l": [1, 2, 3]}),
        ({"l": [1, 2]}, [op("add", "/l/01", 3)], {"l": [1, 3, 2]}),
        ({"a": 1}, [op("add", "/b")], {"a": 1, "b": None}),
        ({"a": 1}, [op("add", "/a~2", 1)], {"a": 1, "a~2": 1}),
    ],
)
def test_what_is_absent_counts_as_null_and_an_index_from_the_end_is_taken(
    document: Any, operations: list[Any], result: Any
) -> None:
    assert same_json(apply_json_patch(document, operations), document if result is None else result)


@pytest.mark.parametrize(
    ("operations", "where", "reason"),
    [
        ([op("test", "/spec/nodeName", "n2")], "operation 0 (test /spec/nodeName)", 'there is "n1", not "n2"'),
        ([op("test", "/spec/on", 1)], "operation 0 (test /spec/on)", "there is true, not 1"),
        ([op("test", "/list/0", 1.0)], "operation 0 (test /list/0)", "there is 1, not 1.0"),
        ([op("test", "/spec/none", 1)], "operation 0 (test /spec/none)", "there is null, not 1"),
        ([op("test", "/list/0", None)], "operation 0 (test /list/0)", "there is 1, not null"),
        ([op("test", "/none/a", None)], "operation 0 (test /none/a)", "no map or list at /none"),
        ([op("add", "/a", 1), op("remove", "/spec/a~1b")], "operation 1 (remove /spec/a~1b)", "no 'a/b' to remove"),
        ([op("add", "/status/phase", "x")], "operation 0 (add /status/phase)", "no map or list at /status"),
        ([op("add", "/spec/nodeName/x", 1)], "operation 0 (add /spec/nodeName/x)", "no map or list at /spec/nodeName"),
        ([op("add", "/spec/on/x/y", 1)], "operation 0 (add /spec/on/x/y)", "no map or list at /spec/on"),
        ([op("add", "/list/3", 1)], "operation 0 (add /list/3)", "has 2 items, so it takes no index 3"),
        ([op("add", "/list/x", 1)], "operation 0 (add /list/x)", "'x' is no index"),
        ([op("remove", "/list/-3")], "operation 0 (remove /list/-3)", "takes no index -3"),
        ([op("remove", "/list/-")], "operation 0 (remove /list/-)", "'-' is no index"),
        ([op("remove", "/list/2")], "operation 0 (remove /list/2)", "takes no index 2"),
        ([op("replace", "/list/2", 1)], "operation 0 (replace /list/2)", "takes no index 2"),
        ([op("remove", "")], "operation 0 (remove the whole document)", "it needs a path"),
        ([op("add", "", [1])], "operation 0 (add the whole document)", "it needs a path"),
        ([op("replace", "", 1)], "operation 0 (replace the whole document)", "only a map or a list"),
        ([op("move", "/spec/a", source="/spec")], "operation 0 (move /spec/a)", "no map or list at /spec"),
        ([op("move", "/a", source="/b")], "operation 0 (move /a)", "no 'b' to remove"),
        ([op("copy", "/a", source="/b/c")], "operation 0 (copy /a)", "no map or list at /b"),
        ([op("test", "/list", [1, 2]), {"path": "/a"}], "operation 1 (None /a)", "None is none of add, remove"),
        ([op("merge", "/a", 1)], "operation 0 (merge /a)", "'merge' is none of add, remove"),
        ([{"op": ["add"], "path": "/a"}], "operation 0 (['add'] /a)", "is none of add, remove"),
        ([{"op": "remove"}], "operation 0 (remove the whole document)", "no 'path' that is text"),
        ([op("remove", "a")], "operation 0 (remove a)", "a path begins with /"),
        ([op("move", "/a")], "operation 0 (move /a)", "no 'from' that is text"),
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
        ({}, "it is not a list of operations"),
        (["add"], "operation 0: it is not an object"),
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


@given(documents.filter(bool).filter(lambda one: isinstance(one, dict | list)), documents, st.data())
def test_a_replaced_value_is_found_in_its_place(document: Any, value: Any, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(pointers(document)[1:]))
    changed = apply_json_patch(document, [op("replace", place, value), op("test", place, value)])
    assert place in pointers(changed)


@given(st.lists(documents, min_size=1, max_size=4), documents, st.data())
def test_an_added_list_item_can_be_removed(items: list[Any], value: Any, data: st.DataObject) -> None:
    place = f"/a/{data.draw(st.integers(0, len(items)))}"
    added = apply_json_patch({"a": items}, [op("add", place, value), op("test", place, value)])
    assert len(added["a"]) == len(items) + 1
    assert same_json(apply_json_patch(added, [op("remove", place)]), {"a": items})


@given(st.lists(documents, min_size=1, max_size=4), st.data())
def test_a_moved_value_can_be_moved_back(items: list[Any], data: st.DataObject) -> None:
    one, other = (f"/{data.draw(st.integers(0, len(items) - 1))}" for _ in range(2))
    there_and_back = [op("move", other, source=one), op("move", one, source=other)]
    assert same_json(apply_json_patch(items, there_and_back), items)


def test_copies_that_double_the_document_are_refused() -> None:
    operations = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(40)]
    with pytest.raises(PatchError, match="copy more than 3145728 bytes") as caught:
        apply_json_patch({"a": {"x": "y" * 100}}, operations)
    assert caught.value.where == "operation 14 (copy /a/14)"


def test_moves_that_nest_the_document_without_end_are_refused() -> None:
    operations = []
    for number in range(3000):
        operations.append({"op": "add", "path": f"/n{number + 1}", "value": {}})
        operations.append({"op": "move", "from": f"/n{number}", "path": f"/n{number + 1}/x"})
    with pytest.raises(PatchError, match="nested too deeply"):
        apply_json_patch({"n0": {}}, operations)
