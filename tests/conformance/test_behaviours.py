"""The list of behaviours is true: what it names as a test is one, and nothing is said twice."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.behaviours import COVERED, NOT_COVERED

TREE = Path(__file__).parents[2]


@cache
def _named_in(path: str) -> frozenset[str]:
    """Names of the test functions of a file."""
    nodes = ast.parse((TREE / path).read_text()).body
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


@pytest.mark.parametrize("behaviour", COVERED)
def test_the_tests_of_a_behaviour_exist(behaviour: str):
    assert COVERED[behaviour]
    for place in COVERED[behaviour]:
        path, _, name = place.partition("::")
        assert name in _named_in(path), place


def test_a_behaviour_is_shown_or_it_is_said_why_not():
    assert not COVERED.keys() & NOT_COVERED.keys()
    assert all(NOT_COVERED.values())
