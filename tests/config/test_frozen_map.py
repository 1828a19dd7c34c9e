"""`FrozenMap` reads like a dict, keeps nothing of what it was made from, and cannot be changed."""

from __future__ import annotations

from typing import Any

import pytest

from config.frozen_map import FrozenMap


def test_it_reads_like_the_mapping_that_it_was_made_from() -> None:
    frozen = FrozenMap({"b": 1, "a": 2})
    assert (frozen["a"], frozen.get("c"), "b" in frozen, len(frozen)) == (2, None, True, 2)
    assert (list(frozen), list(frozen.values()), list(frozen.items())) == (["b", "a"], [1, 2], [("b", 1), ("a", 2)])
    assert {**frozen, "c": 3} == {"b": 1, "a": 2, "c": 3}


def test_it_equals_every_mapping_with_the_same_items() -> None:
    frozen = FrozenMap([("a", 1)])
    assert frozen == FrozenMap({"a": 1}) == {"a": 1}
    assert frozen == {"a": 1}
    assert frozen != {"a": 2}
    assert frozen != FrozenMap()
    assert hash(frozen) == hash(FrozenMap({"a": 1}))


def test_a_frozen_map_is_independent_of_its_source() -> None:
    source = {"a": 1}
    frozen = FrozenMap(source)
    source["a"] = 2
    assert frozen == {"a": 1}


def test_it_cannot_be_changed() -> None:
    frozen: Any = FrozenMap({"a": 1})
    with pytest.raises(TypeError):
        frozen["a"] = 2
    with pytest.raises(TypeError):
        del frozen["a"]
    with pytest.raises(AttributeError):
        frozen.extra = 1
