"""The patterns of schemas, which are written for Go (RE2), as Python reads them.

Owns the differences that people meet: flags in the middle (`^(?i)(on|off)$`), named classes (`[[:alnum:]]`), `\\z`, and
`$`, which is the very end. A pattern with classes of Unicode (`\\p{L}`) or quotes (`\\Q`) is not read: what it is for
is not checked. Pure. What can fail is a pattern that is none (`re.error`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_NOT_READ = re.compile(r"(?<!\\)(?:\\\\)*\\[pPQC]")
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\]|\(\?(?P<flags>[imsU]*(?:-[imsU]+)?)\)|\(|\)|\||\$|.", re.DOTALL
)
_NAMED = re.compile(r"\[:([a-z]+):\]")


def is_read(pattern: str) -> bool:
    """Whether there is a way to say it in Python."""
    return _NOT_READ.search(pattern) is None


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern; None for one that is not read. Raises re.error."""
    return re.compile("".join(_translated(pattern)), re.ASCII) if is_read(pattern) else None


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text."""
    found = compiled(pattern)
    return found is None or found.search(text) is not None


def _translated(pattern: str) -> Iterator[str]:
    """In RE2 flags hold to the end of the group they stand in: each opens one of its own, in every branch of it."""
    open_flags: list[list[str]] = [[]]
    for match in _TOKEN.finditer(pattern):
        token, here = match[0], open_flags[-1]
        if match["flags"] is not None:
            flags = _flags(match["flags"])
            here.append(flags)
            yield flags
        elif token == "(":
            open_flags.append([])
            yield token
        elif token == ")":
            # One that closes nothing is left to whoever compiles.
            yield ")" * (len(open_flags.pop()) + 1) if len(open_flags) > 1 else token
        elif token == "|":
            yield ")" * len(here) + "|" + "".join(here)
        elif token == "$" or token == r"\z":
            yield r"\Z"
        elif token.startswith("[") and len(token) > 1:
            yield _NAMED.sub(lambda name: _CLASSES.get(name[1], name[0]), token)
        else:
            yield token
    yield ")" * len(open_flags[0])


def _flags(text: str) -> str:
    """Lazy repetition (U) makes no difference to whether something matches."""
    on, _, off = text.replace("U", "").partition("-")
    return f"(?{on}{'-' + off if off else ''}:"
