"""`GoPattern`: what Go takes and refuses, and patterns that attack."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.values.go_pattern import GoPattern, InvalidGoPatternError
from tests.work import calls_of

ATTACKS = (
    "(?i)" + "[ -\ufffd]" * 160,
    "(?i)" + r"\pL" * 300,
    "(?i)" + r"\PN" * 300,
    "(.*)" * 240,
    "(x+x+)+y",
    "((a*)*)*b",
    "(?:a?){500}a{500}",
    "(a|aa)+$",
    "(" * 400 + "a" + ")" * 400,
    "[01]*1" + "[01]" * 200,
    ".{1000}",
    r"[[:^alpha:]\pL]{999}",
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("err.r", "an error", True),
        ("^err", "an error", False),
        ("(?i)ERR", "an error", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\pL+\d", "ä7", True),
        (r"\x{1F600}", "\U0001f600", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Q\C\E", r"a\Cb", True),
        (r"\\C", r"a\Cb", True),
        (r"\z", "", True),
        ("(?P<n>a)(?s:.)b", "a\nb", True),
        ("(?P<n>a).b", "a\nb", False),
        ("^$", "\n", False),
        ("(?m)^$", "\n", True),
        ("", "anything", True),
        (".", "\ud800", True),
        ("\ufffd", "\ud800", True),
    ],
)
def test_a_pattern_is_looked_for_as_go_does(pattern: str, text: str, found: bool) -> None:
    assert GoPattern(pattern).is_in(text) is found


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing closing )"),
        ("a)", "unexpected )"),
        ("[b-a]", "invalid character class range"),
        ("*", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        (r"(?=a)", "invalid or unsupported Perl syntax"),
        (r"(?<!a)b", "invalid"),
        (r"(a)\1", "invalid escape sequence"),
        (r"\Z", "invalid escape sequence"),
        (r"\C", "invalid escape sequence"),
        (r"a\\\C", "invalid escape sequence"),
        (r"[\Q]\E]\C", "invalid escape sequence"),
        ("a{1001}", "invalid repeat count"),
        ("(a{1000}){1000}", "invalid repeat count"),
        (r"(?:\pL{1,100}){1,10}", "too large"),
        ("\ud800", "invalid UTF-8"),
    ],
)
def test_what_go_refuses_is_refused_with_its_fault(pattern: str, why: str) -> None:
    with pytest.raises(InvalidGoPatternError, match="(?i)" + re.escape(why)):
        GoPattern(pattern)


def made(pattern: str) -> GoPattern | str:
    """The pattern, or why it is refused."""
    try:
        return GoPattern(pattern)
    except InvalidGoPatternError as error:
        return str(error)


@pytest.mark.parametrize("pattern", ATTACKS, ids=range(len(ATTACKS)))
def test_a_pattern_that_attacks_ends_or_is_refused(pattern: str) -> None:
    """With Python's `re` half of them do not end within this test's life."""
    found = made(pattern)
    if isinstance(found, str):
        assert "too large" in found
        return
    for text in ("x" * 100_000, "a" * 100_000, "01" * 50_000):
        found.is_in(text)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, text: str) -> None:
    found = made(pattern)
    assert found != ""
    if isinstance(found, GoPattern):
        found.is_in(text)


def test_no_pattern_is_kept() -> None:
    """Making one again is as much work as before: nothing of strangers stays in memory."""
    made("something else")
    first = calls_of(lambda: GoPattern("abc"))
    assert calls_of(lambda: GoPattern("abc")) == first
