"""What differs between the end states of two runs, field by field. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import msgspec

_ABSENT = object()
_SHOWN_AT_MOST = 80


class Difference(msgspec.Struct, frozen=True, order=True):
    """`place`: of an object, as `pods default/web`. `field`: `.spec.replicas`; empty for the whole object."""

    place: str
    field: str
    told: str

    def __str__(self) -> str:
        return f"{self.place}{' ' if self.field else ''}{self.field} {self.told}"


def differences(
    wanted: Mapping[str, Any], found: Mapping[str, Any], unstable: Set[tuple[str, str]] = frozenset()
) -> tuple[Difference, ...]:
    """What is otherwise than wanted. `unstable`: (place, field) of what differs between any two runs."""
    return tuple(_differences(wanted, found, unstable))


def unstable_fields(one: Mapping[str, Any], other: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """What differs between two runs that should be the same."""
    return frozenset((each.place, each.field) for each in differences(one, other))


def _differences(
    wanted: Mapping[str, Any], found: Mapping[str, Any], unstable: Set[tuple[str, str]]
) -> Iterator[Difference]:
    for place in sorted({*wanted, *found}):
        if (place, "") in unstable:
            continue
        if place not in found:
            yield Difference(place, "", "is missing")
        elif place not in wanted:
            yield Difference(place, "", "is left over")
        else:
            for field, told in _fields(wanted[place], found[place], ""):
                if not _is_in(place, field, unstable):
                    yield Difference(place, field, told)


def _is_in(place: str, field: str, unstable: Set[tuple[str, str]]) -> bool:
    """Whether the field, or one that it is part of, is unstable."""
    return any(place == one and (field == part or field.startswith((f"{part}.", f"{part}["))) for one, part in unstable)


def _fields(wanted: Any, found: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for name in sorted({*wanted, *found}):
            yield from _fields(wanted.get(name, _ABSENT), found.get(name, _ABSENT), f"{field}.{name}")
    elif isinstance(wanted, list) and isinstance(found, list):
        for number in range(max(len(wanted), len(found))):
            yield from _fields(_at(wanted, number), _at(found, number), f"{field}[{number}]")
    elif wanted != found:
        if found is _ABSENT:
            yield field, f"is missing; it should be {_short(wanted)}"
        elif wanted is _ABSENT:
            yield field, f"is {_short(found)}; it should not be there"
        else:
            yield field, f"is {_short(found)}; it should be {_short(wanted)}"


def _at(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else _ABSENT


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_AT_MOST else f"{text[:_SHOWN_AT_MOST]}..."
