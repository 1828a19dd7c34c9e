"""`$(NAME)` in commands, arguments and values (spec 13.4). Pure.

A known name gives its value, an unknown one is left as it stands, `$$` is a dollar that begins nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from actors.model.refusal import ContainerRefusedError

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


def expand_strictly(text: str, variables: Mapping[str, str], path: str) -> str:
    """The same where an unknown name must not stand for itself: in a path. Raises StartRefusedError."""
    missing = sorted({match[1] for match in _REFERENCE.finditer(text) if match[1] not in {None, *variables}})
    if missing:
        raise ContainerRefusedError(
            path, f"missing value for {', '.join(map(repr, missing))}: no variable is called so"
        )
    return expand(text, variables)
