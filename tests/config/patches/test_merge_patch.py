"""Merge patches merge as RFC 7386 says."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.patches import merge_patch


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_documents_merge_as_the_rfc_says(original: Any, patch: Any, result: Any) -> None:
    assert merge_patch(original, patch) == result


_JSON = st.recursive(
    st.one_of(st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_merging_twice_changes_nothing_more(original: Any, patch: Any) -> None:
    once = merge_patch(original, patch)
    assert merge_patch(once, patch) == once


@given(_JSON, _JSON)
def test_neither_input_changes(original: Any, patch: Any) -> None:
    before = copy.deepcopy((original, patch))
    merge_patch(original, patch)
    assert (original, patch) == before
