"""Variables in a file that a container has written for another (spec 13.3, `fileKeyRef`). Pure.

    NAME='value'

A value stands in single quotes and may span lines; within it nothing is special. Blank lines and lines that begin with
`#` are passed over. A value without quotes counts as empty, so that nobody takes shell syntax for supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class EnvFileError(ValueError):
    """The text is not a valid file; the message has the line number and no value."""


def read_env_file(text: str) -> Mapping[str, str]:
    """Every variable; the last value of one that occurs twice. Raises EnvFileError."""
    return dict(_variables(text))


def _variables(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    line = 1
    while at < len(text):
        end = _line_end(text, at)
        stripped = text[at:end].strip()
        if not stripped or stripped.startswith("#"):
            at, line = end + 1, line + 1
            continue
        equals = text.find("=", at, end)
        name = text[at:equals].lstrip() if equals >= 0 else ""
        if not name:
            raise EnvFileError(f"line {line}: must be NAME='value'")
        if name != name.rstrip():
            raise EnvFileError(f"line {line}: no space may stand before the '='")
        opening = text.find("'", equals, end)
        if opening < 0:
            yield name, ""
            at, line = end + 1, line + 1
            continue
        closing = text.find("'", opening + 1)
        if closing < 0:
            raise EnvFileError(f"line {line}: the quote is never closed")
        yield name, text[opening + 1 : closing]
        line += text.count("\n", at, closing) + 1
        at = _line_end(text, closing) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
