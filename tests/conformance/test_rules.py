"""The list of rules is true: what it names as a test is one, and says of which section it is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.rules import NOT_HERE, RULES

TREE = Path(__file__).parents[2]
SECTIONS = ("2.6", "3.1", "3.2", "3.3", "3.4", "3.10", "4.1", "4.2", "4.3", "4.4", "5")
"""Those of which the table tests of a pod's life have every rule."""


@cache
def _rows(path: str) -> dict[str, frozenset[str]]:
    """The test functions of a file, each with the ids of its rows."""
    nodes = ast.parse((TREE / path).read_text()).body
    tests = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return {test.name: frozenset(_ids(test)) for test in tests}


def _ids(test: ast.FunctionDef) -> list[str]:
    calls = [node for each in test.decorator_list for node in ast.walk(each) if isinstance(node, ast.Call)]
    given = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "id"]
    return [str(value.value) for value in given if isinstance(value, ast.Constant)]


@pytest.mark.parametrize(("section", "number"), [(name, at) for name in RULES for at in range(len(RULES[name]))])
def test_the_tests_of_a_rule_exist(section: str, number: int):
    rule, tests = RULES[section][number]
    assert tests, rule
    for place in tests:
        path, _, test = place.partition("::")
        name, _, row = test.rstrip("]").partition("[")
        assert name in _rows(path), f"{section} {rule}: {place}"
        assert not row or row in _rows(path)[name], f"{section} {rule}: {place}"


def test_every_section_has_its_rules_and_no_rule_stands_twice():
    assert tuple(RULES) == SECTIONS
    for section, rules in RULES.items():
        texts = [rule for rule, _ in rules]
        assert len(set(texts)) == len(texts), section
    assert NOT_HERE.keys() <= RULES.keys()


def _name(place: str) -> str:
    return place.partition("::")[2].partition("[")[0]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_test_that_carries_a_section_in_its_name_shows_one_of_its_rules(section: str):
    said = re.compile(rf"spec_{section.replace('.', '_')}(?!\d|_\d)")
    files = {place.partition("::")[0] for rules in RULES.values() for _, tests in rules for place in tests}
    carriers = {name for path in files for name in _rows(path) if said.search(name)}
    used = {_name(place) for rules in RULES.values() for _, tests in rules for place in tests}
    assert carriers, "nobody says so"
    assert carriers - used == set()


def test_names_of_tests_say_the_section_but_for_those_of_whole_nodes():
    silent = {
        place
        for rules in RULES.values()
        for _, tests in rules
        for place in tests
        if "spec_" not in place and not place.startswith("tests/simulation/node/")
    }
    assert silent == set()
