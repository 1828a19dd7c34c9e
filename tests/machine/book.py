"""A page of `docs/` as orders: what it tells a reader to type, and which files to write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PART = re.compile(r"^## (?P<title>[^\n]+)$|^```(?P<language>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`(/[^`]+)`:\s*\Z")


@dataclass(frozen=True)
class Order:
    """A block of a page. `path`: of the file that it is; empty for commands."""

    section: str
    text: str
    path: str = ""


def orders(page: Path) -> list[Order]:
    """All blocks of a page in their order.

    A block in another language than `sh` is a file: the sentence before it ends with the path. Raises ValueError where
    that is missing.
    """
    text, section, after, found = page.read_text(encoding="utf-8"), "", 0, []
    for part in _PART.finditer(text):
        if part["title"]:
            section = part["title"]
        elif part["language"] == "sh":
            found.append(Order(section, part["text"]))
        else:
            path = _PATH.search(text[after : part.start()])
            if path is None:
                line = text.count("\n", 0, part.start()) + 1
                raise ValueError(f"{page}:{line}: the sentence before a file must end with its path and a colon")
            found.append(Order(section, part["text"], path[1]))
        after = part.end()
    return found
