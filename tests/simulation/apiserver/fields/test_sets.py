"""Sets of fields: their algebra, by example and against plain sets of paths."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.fields.sets import (
    NONE,
    Fields,
    Path,
    common,
    has,
    key_step,
    paths,
    read_fields,
    shown_path,
    text_of,
    united,
    value_step,
    without,
    without_all_below,
    written,
)

STEPS = ("f:a", "f:b", 'k:{"name":"x"}', "v:1")
PATHS = st.sets(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3).map(tuple), max_size=8)


def tree(wanted: set[Path]) -> Fields:
    made: Fields = {}
    for path in wanted:
        node = made
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return read_fields(made)


@given(PATHS, PATHS)
def test_sets_behave_as_sets_of_their_paths(one: set[Path], other: set[Path]) -> None:
    a, b = tree(one), tree(other)
    assert set(paths(a)) == one
    assert united(a, b) == tree(one | other)
    assert without(a, b) == tree(one - other)
    assert common(a, b) == tree(one & other)
    below = {path for path in one if not any(path[:end] in other for end in range(1, len(path) + 1))}
    assert without_all_below(a, b) == tree(below)
    assert all(has(a, path) == (path in one) for path in one | other)
    assert tree(one) == a, "an operand has changed"


@given(PATHS)
def test_a_set_that_stays_as_it_is_is_not_copied(one: set[Path]) -> None:
    a = tree(one)
    assert united(a, tree(one)) is a
    assert without(a, tree({("f:c",)})) is a
    assert read_fields(written(a)) == a
    assert list(msgspec.json.decode(text_of(a)).items()) == list(written(a).items())


def test_steps_are_written_as_go_writes_them() -> None:
    assert key_step({"port": 53, "protocol": "UDP"}) == 'k:{"port":53,"protocol":"UDP"}'
    assert value_step("a<b>&c") == r'v:"a\u003cb\u003e\u0026c"'
    assert read_fields({'k:{"protocol":"UDP","port":53}': {}}) == {'k:{"port":53,"protocol":"UDP"}': {}}


def test_a_path_is_shown_as_in_conflicts() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":53,"protocol":"UDP"}', "f:name")
    assert shown_path(path) == '.spec.ports[port=53,protocol="UDP"].name'
    assert shown_path(("f:metadata", "f:finalizers", 'v:"a/b"')) == '.metadata.finalizers[="a/b"]'


def test_keys_are_ordered_by_value_and_not_as_text() -> None:
    ports: Fields = {f'k:{{"port":{port}}}': {} for port in (8080, 53, 443)}
    assert list(written({"f:ports": ports})["f:ports"]) == [f'k:{{"port":{port}}}' for port in (53, 443, 8080)]


def test_steps_of_a_later_version_are_left_out() -> None:
    assert read_fields({"z:new": {}, "f:a": {}}) == {"f:a": {}}
    assert read_fields(None) == NONE


@pytest.mark.parametrize("wrong", ["text", ["f:a"], {"name": {}}, {"k:[1]": {}}, {"v:{": {}}, {"i:x": {}}, {"f:a": 1}])
def test_what_is_no_set_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="fieldsV1"):
        read_fields(wrong)
