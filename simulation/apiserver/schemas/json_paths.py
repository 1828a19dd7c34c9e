"""The JSONPath of columns, scale parts and selectable fields.

Understood are names (`.spec.size`, `['a.b']`, `.labels.a\\.b`), places in lists (`[0]`, `[-1]`, `[-1:]`), everything
(`[*]`, `.*`) and filters by one comparison (`[?(@.type=="Ready")]`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from config.caches import KIB, MIB, kept

CHARACTERS_AT_MOST = 1000

_STEP = re.compile(
    r"""(?P<all>\[\s*\*\s*\]|\.\*)
    | \[\s*(?P<index>-?\d+)\s*\]
    | \[\s*(?P<start>-?\d+)?\s*:\s*(?P<end>-?\d+)?\s*\]
    | \[\s*(?P<quote>['"])(?P<quoted>(?:[^'"\\]|\\.)*)(?P=quote)\s*\]
    | \[\s*\?\(\s*@(?P<path>[^()'"=!<>]*)(?:(?P<comparison>==|!=)(?P<value>.+?))?\)\s*\]
    | \.(?P<name>(?:\\.|[^.\[\\'"\s])+)""",
    re.VERBOSE,
)


class Filter(msgspec.Struct, frozen=True):
    """Keeps items whose `path` compares so with `value`; without a comparison those that have the path."""

    path: Path
    comparison: str = ""
    value: Any = None

    def keeps(self, item: Any) -> bool:
        found = list(find_all(item, self.path))
        return (
            any((each == self.value) is (self.comparison == "==") for each in found) if self.comparison else any(found)
        )


class Slice(msgspec.Struct, frozen=True):
    """Items from one place to another; with neither, all items of a list or values of a map."""

    start: int | None = None
    end: int | None = None


Step = str | int | Filter | Slice
Path = tuple[Step, ...]


@kept(MIB, 16 * KIB)
def parse_path(text: str) -> Path:
    """Parse a path. Raises ValueError, which names the part that is not supported."""
    if len(text) > CHARACTERS_AT_MOST:
        raise ValueError(f"a JSONPath has at most {CHARACTERS_AT_MOST} characters")
    steps: list[Step] = []
    rest = text.strip().removeprefix("$").removeprefix("@")
    while rest:
        match = _STEP.match(rest)
        if match is None:
            raise ValueError(
                f"{rest!r} is not a JSONPath that is understood here, such as .spec.size or .status.list[0].name"
            )
        steps.append(_step(match))
        rest = rest[match.end() :]
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None or match["quoted"] is not None:
        return _unescaped(match["name"] or match["quoted"])
    if match["index"] is not None:
        return int(match["index"])
    if match["path"] is not None:
        return Filter(
            parse_path(match["path"]), match["comparison"] or "", _literal((match["value"] or "null").strip())
        )
    start, end = (None if bound is None else int(bound) for bound in (match["start"], match["end"]))
    return Slice(start, end)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _unescaped(text[1:-1])
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ValueError(f"{text!r} is neither a quoted text nor a number, true or false") from None


def find_all(value: Any, path: Path) -> Iterator[Any]:
    """The values at the path, in order."""
    if not path:
        yield value
        return
    for below in _below(value, path[0]):
        yield from find_all(below, path[1:])


def _below(value: Any, step: Step) -> Iterator[Any]:
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield value[step]
        return
    items = list(value.values()) if isinstance(value, dict) and not isinstance(step, int) else value
    if not isinstance(items, list):
        return
    if isinstance(step, int):
        yield from items[step : step + 1 or None]
    elif isinstance(step, Slice):
        yield from items[step.start : step.end]
    else:
        yield from filter(step.keeps, items)


def names_of(path: Path) -> tuple[str, ...] | None:
    """The path as names alone; None when it has other steps."""
    names = tuple(step for step in path if isinstance(step, str))
    return names if len(names) == len(path) else None
