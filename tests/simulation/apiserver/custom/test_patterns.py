"""Patterns of Go as Python reads them."""

from __future__ import annotations

import re

import pytest

from simulation.apiserver.schemas.formats import SLOW_TEXT_AT_MOST, compiled, takes_long


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^(?i)(abort|warn)?$", "WARN", "stop"),
        ("(?i)a|b", "B", "c"),
        ("(?s)^a.b$", "a\nb", "ab"),
        ("^[[:alpha:]_]+$", "a_b", "a1"),
        (r"^\d+$", "12", "\N{ARABIC-INDIC DIGIT ONE}"),
        (r"\Aa\z", "a", "a\n"),
        ("^a$", "a", "a\n"),
        ("^[$|()]+$", "(|$)", "a"),
        (r"^\$\(x\)$", "$(x)", "x"),
        ("^[]a]+$", "]a", "b"),
        (r"^[^\]]+$", "ab", "a]"),
        ("^(?P<name>x)(?:y)?$", "xy", "y"),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, good: str, bad: str) -> None:
    expression = compiled(pattern)
    assert expression is not None
    assert expression.search(good)
    assert not expression.search(bad)


@pytest.mark.parametrize("pattern", ["[", "(", ")", "a)b(", "*", "(?i"])
def test_an_invalid_pattern_is_an_error(pattern: str) -> None:
    with pytest.raises(re.error):
        compiled(pattern)


def test_patterns_that_python_lacks_are_not_compiled() -> None:
    assert compiled(r"^\p{L}+$") is None
    assert compiled(r"^\\p$")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|aa)*b$", "(x+x+)+y", "(" * 2000 + ")" * 2000, "[" * 4096, "a" * 5000]
)
def test_a_pattern_that_would_hold_the_server_is_refused(pattern: str) -> None:
    with pytest.raises(re.error):
        compiled(pattern)


def test_a_pattern_that_is_not_linear_reads_short_texts_only() -> None:
    expression = compiled(r"^.*foo.*bar$")
    assert expression is not None
    assert not takes_long(expression, "x" * SLOW_TEXT_AT_MOST)
    assert takes_long(expression, "x" * (SLOW_TEXT_AT_MOST + 1))
    linear = compiled("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    assert linear is not None
    assert not takes_long(linear, "x" * 10**6)
