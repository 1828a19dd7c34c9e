"""The JSONPath of definitions: where a column or a number of replicas is found in an object.

Understood are names (`.spec.size`, `['a.b']`, `.labels.a\\.b`), at any depth (`..name`), places in lists (`[0]`,
`[-1]`, `[-1:]`, `[0,2]`), everything (`[*]`, `.*`) and filters by one comparison (`[?(@.type=="Ready")]`). Pure. What
can fail is reading the text (ValueError).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

_NAME = re.compile(r"\.((?:\\.|[^.\[\\'\"\s])+)")
_QUOTED = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]")
_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")
_INDEXES = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)+)\s*\]")
_SLICE = re.compile(r"\[\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(\d+)?\s*)?\]")
_ANYWHERE = re.compile(r"\.(?=\.[^.])")
_ALL = re.compile(r"\[\s*\*\s*\]|\.\*")
_FILTER = re.compile(r"\[\s*\?\(\s*@((?:[^()'\"=!<>]|\[[^\]]*\])*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)\s*\]")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Filter(msgspec.Struct, frozen=True):
    """Items of a list of which `path` compares so with `value`; without a comparison: those that have it."""

    path: Path
    comparison: str = ""
    value: Any = None

    def keeps(self, item: Any) -> bool:
        for found in find_all(item, self.path):
            if not self.comparison:
                return True
            try:
                if _COMPARISONS[self.comparison](found, self.value):
                    return True
            except TypeError:
                continue
        return False


class Slice(msgspec.Struct, frozen=True):
    """Items of a list from one place to another."""

    start: int | None
    end: int | None
    step: int | None


class Everything:
    """All items of a list, all values of a map."""


class Anywhere:
    """The value itself and everything in it, at any depth."""


EVERYTHING = Everything()
ANYWHERE = Anywhere()
Step = str | int | Filter | Everything | Anywhere | Slice | tuple[int, ...]
Path = tuple[Step, ...]


@lru_cache(maxsize=1024)
def parse_path(text: str) -> Path:
    """Raises ValueError, which says what is not understood."""
    steps: list[Step] = []
    rest = text.strip()
    rest = rest.removeprefix("$").removeprefix("@")
    while rest:
        step, length = _first(rest)
        steps.append(step)
        rest = rest[length:]
    return tuple(steps)


def _first(text: str) -> tuple[Step, int]:
    """The first step of a path, and how long it is."""
    if match := _ALL.match(text):
        return EVERYTHING, match.end()
    if match := _INDEX.match(text):
        return int(match[1]), match.end()
    if match := _INDEXES.match(text):
        return tuple(map(int, match[1].split(","))), match.end()
    if match := _SLICE.match(text):
        start, end, step = (None if part is None else int(part) for part in match.groups())
        return Slice(start, end, step or None), match.end()
    if match := _ANYWHERE.match(text):
        return ANYWHERE, match.end()
    if match := _QUOTED.match(text):
        return _plain(match[1] if match[1] is not None else match[2]), match.end()
    if match := _FILTER.match(text):
        return Filter(parse_path(match[1]), match[2] or "", _literal(match[3]) if match[2] else None), match.end()
    if match := _NAME.match(text):
        return _plain(match[1]), match.end()
    raise ValueError(f"{text!r} is no JSONPath that is understood here, such as .spec.size or .status.list[0].name")


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _plain(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a quoted text nor a number, true or false") from None


def find_all(value: Any, path: Path) -> Iterator[Any]:
    """What stands at the path, in order; nothing where there is nothing."""
    if not path:
        yield value
        return
    for below in _below(value, path[0]):
        yield from find_all(below, path[1:])


def _below(value: Any, step: Step) -> Iterator[Any]:
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield value[step]
    elif isinstance(step, int | tuple):
        if isinstance(value, list):
            places = (step,) if isinstance(step, int) else step
            yield from (value[place] for place in places if -len(value) <= place < len(value))
    elif isinstance(step, Slice):
        if isinstance(value, list):
            yield from value[step.start : step.end : step.step]
    elif isinstance(step, Anywhere):
        yield value
        for below in _below(value, EVERYTHING):
            yield from _below(below, step)
    else:
        items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        yield from items if isinstance(step, Everything) else filter(step.keeps, items)


def names_of(path: Path) -> tuple[str, ...] | None:
    """The path as names alone; None when it is more than that."""
    names = tuple(step for step in path if isinstance(step, str))
    return names if len(names) == len(path) else None
