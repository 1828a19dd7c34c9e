"""Patterns of Go as Python reads them."""

from __future__ import annotations

import re

import pytest

from simulation.apiserver.custom.patterns import compiled, is_read, matches


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^(?i)(abort|warn)?$", "WARN", "stop"),
        ("^((?i)january|february|[1-9])$", "FEBRUARY", "Marching"),
        ("a((?i)b)c", "aBc", "aBC"),
        ("(?i)a|b", "B", "c"),
        ("(?s)^a.b$", "a\nb", "ab"),
        ("(?U)^a+$", "aa", "b"),
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
def test_what_a_pattern_finds(pattern: str, good: str, bad: str) -> None:
    assert matches(pattern, good)
    assert not matches(pattern, bad)


@pytest.mark.parametrize("pattern", ["[", "(", ")", "a)b(", "*", "(?i"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(re.error):
        compiled(pattern)


def test_what_is_not_read_fits_everything() -> None:
    assert not is_read(r"^\p{L}+$")
    assert is_read(r"^\\p$")
    assert matches(r"^\p{L}+$", "1")
