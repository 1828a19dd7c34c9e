"""What a check sees: a place in an object, with the object before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from simulation.apiserver.rules.causes import Cause


class Seen(msgspec.Struct, frozen=True):
    """A place in an object: its value, the value before, its path, and the whole objects."""

    value: Any
    before: Any
    path: str
    root: Any
    root_before: Any
    outer: Seen | None = None
    """The place of the object or list that holds this one."""

    def join(self, names: str) -> str:
        """The path of what stands below this place."""
        return f"{self.path}.{names}" if self.path and names else names or self.path

    def at_field(self, name: str) -> Seen:
        return self._at(field_of(self.value, name), field_of(self.before, name), self.join(name))

    def each(self) -> Iterator[Seen]:
        """The items of a list, or the values of a map."""
        if isinstance(self.value, list):
            was = self.before if isinstance(self.before, list) else []
            for number, item in enumerate(self.value):
                yield self._at(item, was[number] if number < len(was) else None, f"{self.path}[{number}]")
        elif isinstance(self.value, dict):
            for name, item in self.value.items():
                yield self._at(item, field_of(self.before, name), f"{self.path}[{name}]")

    def _at(self, value: Any, before: Any, path: str) -> Seen:
        return Seen(value, before, path, self.root, self.root_before, self)

    def shown_at(self, path: str) -> Seen:
        """The same place, which causes call otherwise."""
        return Seen(self.value, self.before, path, self.root, self.root_before, self.outer)

    def around(self, name: str) -> Any:
        """The nearest object around this place that has such a field; None for none."""
        place = self.outer
        while place is not None and field_of(place.value, name) is None:
            place = place.outer
        return None if place is None else place.value


def field_of(value: Any, name: str) -> Any:
    """A field of an object; None where there is none."""
    return value.get(name) if isinstance(value, dict) else None


def at(value: Any, path: str) -> Any:
    """What stands at a path of names; None for nothing."""
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def is_empty(value: Any) -> bool:
    """Whether Go's `len` of it is 0, or it is a nil."""
    return value is None or (isinstance(value, str | list | dict) and not value)


def same(one: Any, other: Any) -> bool:
    """Whether Go's `Semantic.DeepEqual` finds no difference: an absent field is an empty one."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(name), other.get(name)) for name in {*one, *other})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return (is_empty(one) and is_empty(other)) or bool(one == other and type(one) is type(other))


Check: TypeAlias = Callable[[Seen], Iterator[Cause]]


def registry(checks: dict[str, Check]) -> Callable[[Check], Check]:
    """A decorator that lets rules use a function by its name."""

    def check(function: Check) -> Check:
        checks[function.__name__] = function
        return function

    return check
