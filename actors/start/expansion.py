"""`$(NAME)` in commands, arguments and values (spec 13.4). Pure.

A known name gives its value, an unknown one is left as it stands, `$$` is a dollar that begins nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with every known reference replaced once: what a value contains is not expanded again."""
    if "$" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        return variables.get(name, match[0])

    return _REFERENCE.sub(value, text)
