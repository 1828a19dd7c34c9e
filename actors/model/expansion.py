"""`$(NAME)` in commands, arguments and values (spec 13.4). Pure.

A known name gives its value. An unknown one is left as it stands. `$$` is a dollar that begins nothing.

The text comes from whoever may create a pod. So the work is linear in the length of the text, and the results together
are bounded: `A1=$(A0)$(A0)`, repeated, doubles with each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from actors.model.refusal import ContainerRefusedError

EXPANDED_AT_MOST = 2 * 1024 * 1024
"""Characters in all variables of a container, and in all words of a command.

Linux passes no program more bytes.
"""
PATH_AT_MOST = 4096
"""Characters of a path. Linux opens no longer one (`PATH_MAX`)."""
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class ExpansionTooLongError(ValueError):
    """The results would be longer than allowed."""


class Expansion:
    """Expands texts that together may become `at_most` characters long."""

    def __init__(self, at_most: int = EXPANDED_AT_MOST) -> None:
        self._at_most = self._left = at_most

    def expand(self, text: str, variables: Mapping[str, str]) -> str:
        """`text` with every known reference replaced once: what a value contains is not expanded again.

        Raises ExpansionTooLongError.
        """
        if "$" not in text:
            self.take(text)
            return text
        # After the last `)` no reference is closed. The expression would search the rest again at each `$(`.
        end = text.rfind(")") + 1
        tail = text[end:].replace("$$", "$")
        self.take(tail)
        parts: list[str] = []
        done = 0
        for match in _REFERENCE.finditer(text, 0, end):
            name = match[1]
            found = "$" if name is None else variables.get(name, match[0])
            parts += (text[done : match.start()], found)
            done = match.end()
            self.take(parts[-2])
            self.take(found)
        rest = text[done:end]
        self.take(rest)
        return "".join((*parts, rest, tail))

    def take(self, text: str) -> None:
        """Count a text that is not expanded. Raises ExpansionTooLongError."""
        self._left -= len(text)
        if self._left < 0:
            raise ExpansionTooLongError(f"longer than {self._at_most} characters after expansion of its references")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand one text. Raises ExpansionTooLongError."""
    return Expansion().expand(text, variables)


def expand_all(texts: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The words of one command, bounded together. Raises ExpansionTooLongError."""
    expansion = Expansion()
    return tuple([expansion.expand(text, variables) for text in texts])


def expand_strictly(text: str, variables: Mapping[str, str], path: str) -> str:
    """Expand a path, in which all names must be known. It has at most `PATH_AT_MOST` characters then.

    Raises ContainerRefusedError.
    """
    end = text.rfind(")") + 1
    names = {match[1] for match in _REFERENCE.finditer(text, 0, end)}
    missing = sorted(name for name in names if name is not None and name not in variables)
    if missing:
        raise ContainerRefusedError(path, f"missing value for {', '.join(missing)}: no variable is called so")
    try:
        return Expansion(PATH_AT_MOST).expand(text, variables)
    except ExpansionTooLongError as failure:
        raise ContainerRefusedError(path, f"is {failure}; shorten it") from failure
