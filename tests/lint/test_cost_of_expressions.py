"""Which regular expressions may take longer than their text is long."""

from __future__ import annotations

import re

import pytest

from tests.expressions import Cost, Use, cost_of

FULLMATCH, MATCH, SEARCH = Use.FULLMATCH, Use.MATCH, Use.SEARCH


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        ("a*b", MATCH),
        ("(a|b)*c", FULLMATCH),
        ("a{0,62}b{0,62}c", FULLMATCH),
        ("[a-z]([-a-z]{0,61}[a-z])?(\\.[a-z]([-a-z]{0,61}[a-z])?)*", FULLMATCH),
        (r"\d+", SEARCH),
        (r'"(?:[^"\\]|\\.?)*"?', SEARCH),
        ("^(a|b)*$", SEARCH),
        ("x(ab)*y", SEARCH),
        ("(?i)[a-z]+:", MATCH),
        ("", SEARCH),
    ],
)
def test_an_expression_that_has_one_way_is_linear(pattern: str, use: Use) -> None:
    assert cost_of(pattern, use) is Cost.LINEAR


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        ("a*a*b", MATCH),
        ("(.*) at (.*)", FULLMATCH),
        ("a+b", SEARCH),
        (r"\s+$", SEARCH),
        (r"\$\(([^)]*)\)", SEARCH),
        ("(a*b|a*c)", SEARCH),
        (r"(?i)a+A+b", MATCH),
    ],
)
def test_ways_that_add_up_are_polynomial(pattern: str, use: Use) -> None:
    assert cost_of(pattern, use) is Cost.POLYNOMIAL


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(a*)*b", "(a|a)*b", "(a|ab|b)*c", r"(\w+\s?)*$", "(x+x+)+y", "((a{0,9}){0,9})*b", "(aa|[a-c])+d"],
)
def test_ways_that_multiply_are_exponential(pattern: str) -> None:
    assert cost_of(pattern, MATCH) is Cost.EXPONENTIAL


@pytest.mark.parametrize("pattern", [r"(a+)\1", "(?:" + "|".join(f"x{i}" for i in range(2000)) + ")*"])
def test_an_expression_too_large_to_judge_is_not_called_linear(pattern: str) -> None:
    assert cost_of(pattern, MATCH) is Cost.UNKNOWN


def test_an_invalid_expression_is_an_error() -> None:
    with pytest.raises(re.error):
        cost_of("(", MATCH)
