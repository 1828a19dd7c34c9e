"""What becomes of characters that a terminal, a log or a page would obey, or show as nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.values.harmless_text import harmless_html, harmless_json, harmless_line, harmless_lines

CASES = [
    # What is printable stays.
    ("", ""),
    ("nginx:1.27 <a> 100% [red]", "nginx:1.27 <a> 100% [red]"),
    ("größer, 容器, контейнер, שלום, 🚢", "größer, 容器, контейнер, שלום, 🚢"),
    ("e\u0301 combines", "e\u0301 combines"),
    (r"C:\new \x1b", r"C:\new \x1b"),
    # Sequences for terminals: title, clear screen, clipboard, the same in one byte, bell and backspace.
    ("\x1b]0;mine\x07", r"\x1b]0;mine\x07"),
    ("\x1b[2J\x1b[H", r"\x1b[2J\x1b[H"),
    ("\x1b]52;c;cm0=\x1b\\", r"\x1b]52;c;cm0=\x1b" + "\\"),
    ("\x9b31m \x9d0;mine\x9c", r"\x9b31m \x9d0;mine\x9c"),
    ("a\x08\x7f\x00", r"a\x08\x7f\x00"),
    # Line breaks of all kinds.
    ("a\nI0102 b\r\nc", r"a\nI0102 b\r\nc"),
    ("\t\v\f\x1c\x85\u2028\u2029", r"\t\x0b\x0c\x1c\x85\u2028\u2029"),
    # Marks of direction.
    ("\u202eexe.txt\u202c \u2066x\u2069 \u200e\u200f\u061c", r"\u202eexe.txt\u202c \u2066x\u2069 \u200e\u200f\u061c"),
    # What nobody sees.
    ("a\u200b\u200d\u2060\ufeff\xad\u180e", r"a\u200b\u200d\u2060\ufeff\xad\u180e"),
    ("\xa0\u3000\u2003", r"\xa0\u3000\u2003"),
    ("\u3164\u115f\uffa0\u2800\u034f", r"\u3164\u115f\uffa0\u2800\u034f"),
    ("\ufe0f\U000e0001\U000e0041\U000e0100", r"\ufe0f\U000e0001\U000e0041\U000e0100"),
    # No character at all: half a pair, for private use, not assigned.
    ("\ud800 \ue000 \uffff \U0010ffff", r"\ud800 \ue000 \uffff \U0010ffff"),
]


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_a_line_shows_what_would_be_obeyed_or_unseen_as_an_escape(text: str, shown: str) -> None:
    assert harmless_line(text) == shown


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_of_several_lines_the_breaks_and_tabs_stay(text: str, shown: str) -> None:
    assert harmless_lines(text, 1000) == "\n".join(
        "\t".join(harmless_line(part) for part in line.split("\t")) for line in text.split("\n")
    )
    assert harmless_lines(text, 1000).replace("\n", r"\n").replace("\t", r"\t") == shown


@pytest.mark.parametrize(("text", "_"), CASES)
def test_json_keeps_the_true_text_and_has_none_of_it_raw(text: str, _: str) -> None:
    for document in (json.dumps({text: text}, ensure_ascii=False), json.dumps([text], ensure_ascii=False, indent=1)):
        shown = harmless_json(document)
        assert json.loads(shown) == json.loads(document)
        assert harmless_lines(shown, 10_000) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>&\"'", "&lt;b&gt;&amp;&quot;&#x27;"),
        ("\u202e<i>\n", r"\u202e&lt;i&gt;\n"),
    ],
)
def test_a_page_gets_no_markup_and_no_mark_of_direction(text: str, shown: str) -> None:
    assert harmless_html(text) == shown


@given(st.text())
def test_a_second_time_changes_nothing(text: str) -> None:
    line = harmless_line(text)
    assert line.isprintable()
    assert harmless_line(line) == line
    assert harmless_lines(line, 10**6) == harmless_json(line) == line


@pytest.mark.parametrize("letter", ["x", "\x1b", "\U000e0001"])
@pytest.mark.parametrize("length", [99, 100, 101, 10**6])
def test_a_line_is_bounded_however_long_its_escapes_are(letter: str, length: int) -> None:
    for shown in (harmless_line(letter * length, 100), harmless_lines(letter * length, 100)):
        assert len(shown) <= 100
        assert (shown == letter * length) == (letter == "x" and length <= 100)
        assert shown.endswith(f"... ({length} characters)") == (shown != letter * length)
