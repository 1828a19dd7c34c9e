"""Patterns in definitions are those of Go."""

from __future__ import annotations

import pytest

from config.values.go_pattern import GoPattern, InvalidGoPatternError
from simulation.apiserver.schemas import formats
from simulation.apiserver.schemas.formats import compiled
from tests.simulation.apiserver.custom.made import WIDGETS, define, version, widget
from tests.simulation.apiserver.worlds import Asked, Server


def with_pattern(server: Server, pattern: str) -> Asked:
    field = {"type": "string", "pattern": pattern}
    return define(server, version(schema={"type": "object", "properties": {"field": field}}))


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^(?i)(abort|warn)?$", "WARN", "stop"),
        ("^((?i)monday|tuesday)$", "TUESDAY", "day"),
        ("^[!-~]+([ ]?[!-~]+)*$", "a b", "a  b"),
        ("(a+)+$", "aaaa", "aaab"),
        (r"^\p{L}+$", "\N{LATIN SMALL LETTER E WITH ACUTE}", "1"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        ("^[[:alpha:]_]+$", "a_b", "a1"),
        (r"^\d+$", "12", "\N{ARABIC-INDIC DIGIT ONE}"),
        (r"\Aa\z", "a", "a\n"),
        ("^a$", "a", "a\n"),
        ("^(?P<name>x)(?:y)?$", "xy", "y"),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, good: str, bad: str) -> None:
    server = Server()
    assert with_pattern(server, pattern).code == 201
    assert server.ask("POST", WIDGETS, widget(field=good)).code == 201
    refused = server.ask("POST", WIDGETS, widget("other", field=bad))
    assert refused.code == 422
    assert "field in body should match" in refused.message


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[", "missing closing ]: `[`"),
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a\\", "trailing backslash at end of expression"),
    ],
)
def test_an_invalid_pattern_is_refused_in_the_words_of_go(pattern: str, why: str) -> None:
    answer = with_pattern(Server(), pattern)
    assert answer.code == 422
    assert f"must be a valid regular expression, but isn't: error parsing regexp: {why}" in answer.message


def test_without_re2_a_pattern_is_kept_and_the_answer_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(text: str) -> GoPattern:
        raise ImportError("no module named re2")

    monkeypatch.setattr(formats, "GoPattern", missing)
    formats.PATTERNS.clear()
    answer = with_pattern(Server(), "^only-here$")
    assert answer.code == 201
    assert any("does not evaluate patterns, as the library google-re2 would" in each for each in answer.warnings)


def test_patterns_of_definitions_are_not_kept_without_end() -> None:
    for number in range(2000):
        assert compiled(f"^a{number}$") is not None
    assert formats.PATTERNS.size_bytes <= formats.PATTERNS_BYTES
    with pytest.raises(InvalidGoPatternError):
        compiled("(" * 3)
