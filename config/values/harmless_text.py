r"""Texts from outside, made harmless for terminals, log lines and pages. Pure.

An image name, a termination message or an error of a registry may hold escape sequences, line breaks, and characters
that hide text or turn its direction. Each way out to people calls one function of this module, which shows such a
character as an escape: `\x1b`, `\n`, `\u202e`. Printable text stays as it is, so a second call changes nothing. A
backslash stays, too: an escape and the same text written out look alike, and neither does harm.

The API, container logs and sessions get the true text, as from a kubelet.
"""

from __future__ import annotations

import html
import re

LINE_CHARACTERS_AT_MOST = 8192
"""Enough for the longest fault of a document with the path of its file."""

# `str.isprintable` refuses controls, format characters, separators and half characters. These it takes, though they are
# as empty: fillers, the braille blank, and variation selectors, which can carry a hidden text.
_EMPTY = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def harmless_line(text: str, at_most: int = LINE_CHARACTERS_AT_MOST) -> str:
    """One line of at most `at_most` characters. A longer one ends with the length of the text."""
    return _cut(_escaped(text[: at_most + 1], ""), text, at_most)


def harmless_lines(text: str, at_most: int) -> str:
    """The same for a text whose line breaks and tabs stay."""
    return _cut(_escaped(text[: at_most + 1], "\n\t"), text, at_most)


def cut_line(text: str, at_most: int = LINE_CHARACTERS_AT_MOST) -> str:
    """The true text, as bounded as a harmless line."""
    return _cut(text, text, at_most)


def harmless_html(text: str) -> str:
    """One line for a page: no markup, and nothing that turns or hides the text around it."""
    return html.escape(harmless_line(text))


def harmless_json(document: str) -> str:
    r"""The same JSON, with `\u` escapes instead of characters that a terminal would obey."""
    if _is_harmless(document):
        return document
    return document.translate({ord(each): _json_escape(each) for each in _harmful(document, "\n\t")})


def _escaped(text: str, kept: str) -> str:
    if _is_harmless(text):  # as nearly all are
        return text
    return text.translate({ord(each): each.encode("unicode_escape").decode() for each in _harmful(text, kept)})


def _is_harmless(text: str) -> bool:
    return text.isprintable() and (text.isascii() or _EMPTY.search(text) is None)


def _harmful(text: str, kept: str) -> list[str]:
    return [each for each in sorted(set(text)) if not _is_harmless(each) and each not in kept]


def _cut(shown: str, text: str, at_most: int) -> str:
    if len(shown) <= at_most:
        return shown
    end = f"... ({len(text)} characters)"
    return shown[: max(0, at_most - len(end))] + end


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
