"""Words that act on the terminal, the log or the page that shows them as they are."""

from __future__ import annotations

import unicodedata

TITLE = "\x1b]0;owned\x07"
CLEAR = "\x1b[2J\x1b[H"
CLIPBOARD = "\x1b]52;c;b3duZWQ=\x1b\\"
IN_ONE_BYTE = "\x9d0;owned\x9c"
FORGED = "\nE0102 03:04:05.678901       1 forged.py:1] actorlet.Forged: the node is on fire"
TURNED = "\u202eexe.txt\u202c\u2066\u200b"
MARKUP = "[red][/][link=http://evil.example]<b>x</b>"
WORDS = f"{TITLE}{CLEAR}{CLIPBOARD}{IN_ONE_BYTE}{FORGED}{TURNED}{MARKUP}"
SHOWN = r"\x1b]0;owned\x07\x1b[2J"
"""How its beginning is shown."""


def raw_characters(text: str) -> set[str]:
    """Those that a terminal obeys, that turn the text, or that nobody sees. A line break is none."""
    return {each for each in text if each != "\n" and unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def forged_lines(text: str) -> list[str]:
    """Lines of a log that words have made."""
    return [line for line in text.splitlines() if line.startswith("E0102 ")]
